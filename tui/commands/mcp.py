"""``housequest mcp``: a door for any client of the Model Context Protocol."""

from __future__ import annotations

from typing import Annotated

import typer

from tui.commands import options


def mcp(
    http: Annotated[
        int | None,
        typer.Option("--http", metavar="PORT", min=0, max=65535, help="Listen on 127.0.0.1:PORT instead of standard input."),
    ] = None,
    world: options.World = None,
    engine: options.Engine = None,
    split: Annotated[str | None, typer.Option("--split", metavar="NAME", help="Offer the tasks of this split alone.")] = None,
    type: options.Type = None,
    goals: options.Goals = None,
    world_option: options.WorldOption = None,
    seed: options.Seed = None,
    grant: options.Grant = None,
    max_steps: options.MaxSteps = None,
    record: Annotated[bool, typer.Option("--record/--no-record", help="Keep a record of each game [--record].")] = True,
) -> None:
    """Let an MCP client play: list_tasks, new_game, act, give_up. What is granted here is all that a client can have."""
    import asyncio

    from agent.config import configure, world_of
    from agent.integrations.games import HostOptions
    from agent.integrations.mcp_server import serve_http, serve_stdio
    from tui import terminal
    from worlds.paths import state_folder

    settings = configure(options.settings(locals())).settings
    chosen = world_of(settings)
    if settings.split is not None:
        chosen.tasks(settings.split)  # an unknown split is told before any client comes
    offer = HostOptions(
        world=chosen,
        split=settings.split,
        types=settings.type,
        grants=frozenset(settings.grant),
        max_turns=settings.max_steps,
        seed=settings.seed,
        records=state_folder() / "episodes" if record else None,
    )
    if offer.records is not None:
        terminal.note(f"Games are recorded in {offer.records}")
    if http is not None:
        asyncio.run(serve_http(offer, http, tell=lambda address: terminal.note(f"Listening on {address}; Ctrl-C ends it.")))
        return
    if terminal.interactive():
        terminal.note("An MCP client is waited for at standard input; Ctrl-D ends it.")
    asyncio.run(serve_stdio(offer))
