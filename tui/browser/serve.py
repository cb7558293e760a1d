"""``housequest serve``: the screen in a browser, with the page of textual-serve (extra ``[serve]``)."""

from __future__ import annotations

import typer

from housequest.tui import terminal
from housequest.tui.commands import options
from housequest.tui.commands.play import play
from housequest.worlds.errors import ConfigurationError


@options.described
def serve(
    arguments: list[str] | None = None,
    host: str = options.LOOPBACK[0],
    port: int = 8000,
    public_url: str | None = None,
    windows: int = 8,
) -> None:
    """Show the screen in a browser, a game in each window, until Ctrl-C."""
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
    configure({name: said[name] for name in options.SETTINGS if name in said})
    names = OwnNames(host, public_url)
    try:
        from housequest.tui.browser.server import BrowserServer
    except ImportError as error:
        raise ConfigurationError(
            f'The screen in a browser needs {error.name}; install it with: pip install "housequest[serve]"'
        ) from None
    # -P: a folder is no place to import from, whatever lies in it.
    command = [sys.executable, "-P", "-c", "from housequest.tui.cli import main; main()", "play", *given]
    server = BrowserServer(command, names, port, most=windows)

    def announce() -> None:
        if host not in options.LOOPBACK:
            terminal.note(
                "Whoever has this address can play, with your models and at your cost, and read what you recorded. Without "
                "https (--public-url), so can whoever listens on the way."
            )
        terminal.note(f"The screen is at {server.address} until you press Ctrl-C.")

    with suppress(KeyboardInterrupt):
        asyncio.run(server.serve(announce))
