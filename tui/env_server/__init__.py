"""``housequest env-server``: environments for trainers, over OpenEnv's protocol and AgentGym's (extra ``[env-server]``)."""

from __future__ import annotations

from housequest.tui import terminal
from housequest.tui.commands import options


@options.takes(
    *("world", "engine", "split", "type", "goals", "world_option", "max_steps"),
    grant="admissible, diagnosis or type: what the player sees beyond text; repeatable.",
    seed="Draw the same tasks again, where clients name no seed.",
)
def env_server(
    flags: options.Flags,
    host: str = options.LOOPBACK[0],
    port: int = 8000,
    public_url: str | None = None,
    sessions: int = 256,
    idle: float = 3600.0,
) -> None:
    """Serve environments to trainers, for OpenEnv and AgentGym. They get what you grant here and no more."""
    import asyncio

    from housequest.agent.config import configure, world_of
    from housequest.agent.integrations.env_server.server import serve
    from housequest.agent.integrations.names import OwnNames
    from housequest.agent.integrations.sessions import ServedTasks

    settings = configure(flags, uses=(*flags, "worlds"))
    world = world_of(settings)
    served = ServedTasks(
        world=world,
        split=settings.split or world.split_for("play"),
        types=settings.type,
        grants=frozenset(settings.grant),
        max_turns=settings.max_steps or world.info.max_turns,
        seed=settings.seed,
        sessions=sessions,
        idle=idle,
    )

    def announce(address: str) -> None:
        if host not in options.LOOPBACK:
            terminal.note("Whoever reaches this address can play, without a password; they can do nothing else.")
        terminal.note(f"Serving {world.name}, {served.split}, at {address} until you press Ctrl-C.")

    asyncio.run(serve(served, OwnNames(host, public_url), port, announce))
