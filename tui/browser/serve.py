"""``housequest serve``: the screen in a browser, by textual-serve's page, or a room for two people (extra ``[serve]``)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import typer

from housequest.tui import terminal
from housequest.tui.commands import options
from housequest.tui.commands.play import play
from housequest.worlds.errors import ConfigurationError

if TYPE_CHECKING:
    from housequest.agent.config import Settings
    from housequest.agent.models.base import Model
    from housequest.tui.browser.guests import RoomServer
    from housequest.tui.browser.room import GuestRoom

STAND_IN = "expert"
"""The default agent for people who leave: it needs no model."""


@options.described
def serve(
    arguments: list[str] | None = None,
    together: str | None = None,
    host: str = options.LOOPBACK[0],
    port: int = 8000,
    public_url: str | None = None,
    windows: int = 8,
) -> None:
    """Show the screen in a browser, a game in each window, until Ctrl-C.

    With --together, two people play one game in one house: it prints an invitation for each, to open in a browser or to give to
    `housequest join`. If one leaves, the --agent among ARGUMENTS plays for them [expert].
    """
    import asyncio
    import sys
    from contextlib import suppress

    from housequest.agent.config import configure
    from housequest.agent.integrations.names import OwnNames

    given = arguments or []
    # What `housequest play` would not understand is refused here, before a browser has to.
    alone = typer.Typer(add_completion=False, rich_markup_mode=None)
    alone.command()(play)
    said = typer.main.get_command(alone).make_context("housequest play", list(given)).params
    # A wrong configuration is better reported here than in a browser, and who trusts a folder is asked here.
    settings = configure({name: said[name] for name in options.SETTINGS if name in said})
    names = OwnNames(host, public_url)
    try:
        from housequest.tui.browser.guests import RoomServer
        from housequest.tui.browser.server import BrowserServer
    except ImportError as error:
        raise ConfigurationError(
            f'The screen in a browser needs {error.name}; install it with: pip install "housequest[serve]"'
        ) from None
    # -P: a folder is no place to import from, whatever lies in it.
    command = [sys.executable, "-P", "-c", "from housequest.tui.cli import main; main()"]
    if together is not None:
        room, model = open_room(together, settings, said)
        here = "127.0.0.1" if host in ("0.0.0.0", "::", "localhost") else host
        look = [f"--{name}={said[name]}" for name in ("pixels", "moves")]
        guests = RoomServer(room, [*command, "join", OwnNames(here).address(port), *look], names, port, most=windows)
        with suppress(KeyboardInterrupt):
            asyncio.run(_serve_room(guests, room, model))
        return
    server = BrowserServer([*command, "play", *given], names, port, most=windows)

    def announce() -> None:
        if host not in options.LOOPBACK:
            terminal.note(
                "Anybody with this address can play, with your models and at your cost, and read your records. Without "
                "https (--public-url), so can anybody who listens on the way."
            )
        terminal.note(f"The screen is at {server.address} until you press Ctrl-C.")

    with suppress(KeyboardInterrupt):
        asyncio.run(server.serve(announce))


def open_room(named: str, settings: Settings, said: Mapping[str, Any]) -> tuple[GuestRoom, Model | None]:
    """The room of a task or of a recorded unfinished game, and the stand-in's model.

    Args:
        named: The task, or the record's file.
        settings: As configured.
        said: The flags of `housequest play`.

    Raises:
        HousequestError: The game cannot begin.
    """
    from housequest.agent.agents.spec import default_agent
    from housequest.agent.config import check_habits, world_of
    from housequest.agent.episodes.events import Started
    from housequest.agent.episodes.record import leave_out, part_of, read_sound
    from housequest.agent.setup import HUMAN, set_up_guests
    from housequest.tui.browser.room import GuestRoom
    from housequest.tui.commands.play import choose_task
    from housequest.tui.home.catalogue import load_recent
    from housequest.tui.play.company import PATIENCE
    from housequest.tui.play.game import ChosenGame, settings_for
    from housequest.worlds.paths import given_path

    if (unfit := next((name for name in ("task", "mode", "random", "speed", "plain") if said.get(name)), None)) is not None:
        raise ConfigurationError(f"With --together, {unfit} has no meaning; leave it out.")
    path, recorded = given_path(named), ()
    if path.suffix in {".part", ".jsonl"}:
        part = part_of(path)
        sound = read_sound(part)
        started = sound.events[0].body if sound.events else None
        if not isinstance(started, Started) or not any(one.stand_in for one in started.players or ()):
            raise ConfigurationError(f"{part} is no unfinished game of two people.")
        if sound.fault:
            terminal.note(f"{sound.fault} What followed is kept in {leave_out(part, len(sound.events))}.")
        settings, recorded = settings_for(started, settings, load_recent().recent), sound.events
        world = world_of(settings)
        task, agent = world.task(started.task), settings.agent
    else:
        path, world = None, world_of(settings)
        task = choose_task(world, settings, named)
        agent = settings.agent
    check_habits(settings.habits, task.split, world)
    agent = agent or (STAND_IN if settings.model is None else default_agent(settings.model, settings.world))
    game = ChosenGame(world, task, HUMAN, settings, bool(said.get("record", True)), beside=True)
    game.patience = PATIENCE if said.get("pace") == "go-on" else None
    setup = set_up_guests(settings, world, agent)
    for sentence in setup.destinations():
        terminal.note(sentence)
    model = setup.each[0].make_model()
    return GuestRoom(game, setup, setup.share(task), recorded, path), model


async def _serve_room(server: RoomServer, room: GuestRoom, model: Model | None) -> None:
    """Serve a room until its game is over and both have left, or Ctrl-C. Raises what ended its game."""
    import asyncio

    over = asyncio.Event()
    game = asyncio.ensure_future(room.run(model))
    game.add_done_callback(lambda _: over.set())

    def announce() -> None:
        if server.names.host not in options.LOOPBACK and not (server.names.url or "").startswith("https:"):
            terminal.note("Without https (--public-url), anybody who listens on the way can take the seats.")
        for name, address in server.addresses.items():
            terminal.note(f"{name} plays at {address}")
        terminal.note(
            "Each address is for one person: open it in a browser, or give it to `housequest join`. The game begins once both "
            "are there, and ends with Ctrl-C."
        )

    try:
        await server.serve(announce, over)
    finally:
        await room.close()
        if model is not None:
            await model.aclose()
        if room.record is not None:
            terminal.note_record(room.record)
    if game.done() and not game.cancelled():
        game.result()
