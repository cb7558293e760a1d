"""``housequest mcp``: lets clients of the Model Context Protocol play."""

from __future__ import annotations

from pathlib import Path
from typing import cast

from housequest.tui import terminal
from housequest.tui.commands import options
from housequest.worlds.paths import state_folder


@options.takes("world", "engine", "split", "type", "goals", "world_option", "seed", "grant", "max_steps")
def mcp(
    flags: options.Flags,
    http: int | None = None,
    data: Path | None = None,
    record: bool = True,
) -> None:
    """Let an MCP client play: list_tasks, new_game, act, give_up. It gets what you grant here and no more."""
    import asyncio

    from housequest.agent.config import configure, world_of
    from housequest.agent.integrations.games import HostOptions
    from housequest.agent.integrations.mcp.server import serve_stdio
    from housequest.worlds.tasks import split_tasks

    if data is not None:
        flags["world_option"] = [*cast("list[str]", flags["world_option"] or []), f"data={data}"]
    settings = configure(flags, uses=(*flags, "worlds"))
    world = world_of(settings)
    if settings.split is not None:
        split_tasks(world, settings.split)  # refuses an unknown split before a client connects
    served = HostOptions(
        world=world,
        split=settings.split,
        types=settings.type,
        grants=frozenset(settings.grant),
        max_turns=settings.max_steps or world.info.max_turns,
        seed=settings.seed,
        records=state_folder() / "episodes" if record else None,
    )
    if served.records is not None:
        terminal.note(f"Games are recorded in {served.records}")
    if http is not None:
        from housequest.agent.integrations.mcp.server import serve_http

        asyncio.run(
            serve_http(served, http, announce=lambda address: terminal.note(f"Listening on {address}; Ctrl-C ends it."))
        )
        return
    if terminal.interactive():
        terminal.note("Waiting for an MCP client on standard input; Ctrl-D ends it.")
    asyncio.run(serve_stdio(served))
