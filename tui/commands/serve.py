"""``housequest serve``: the screen in a browser, through textual-serve (extra ``[serve]``)."""

from __future__ import annotations

from typing import Annotated

import typer

OWN = ("127.0.0.1", "localhost", "::1")
"""Names of this machine that no other can reach it by."""


def serve(
    arguments: Annotated[
        list[str] | None,
        typer.Argument(metavar="[-- ARGUMENTS]", help="What `housequest play` is given, after --.", show_default=False),
    ] = None,
    host: Annotated[
        str, typer.Option("--host", metavar="HOST", help="The address to listen at [127.0.0.1].", show_default=False)
    ] = OWN[0],
    port: Annotated[
        int, typer.Option("--port", metavar="N", min=1, max=65_535, help="The port to listen at [8000].", show_default=False)
    ] = 8000,
    url: Annotated[
        str | None, typer.Option("--url", metavar="URL", help="Where browsers find it, if not at that host and port.")
    ] = None,
) -> None:
    """Show the screen of `housequest play` in a browser, a game of its own in each window, until Ctrl-C."""
    import shlex
    import sys
    from urllib.parse import urlsplit

    from agent.config import configure
    from tui import terminal
    from worlds.errors import ConfigurationError, shown

    given = arguments or []
    _check(given)
    configure()  # what is wrong with it is better said here than in a browser
    address = url or f"http://{f'[{host}]' if ':' in host else host}:{port}"
    if urlsplit(address).scheme not in {"http", "https"} or not urlsplit(address).hostname:
        raise ConfigurationError(f"--url: {shown(address)} is no address; give one like https://play.example.org.")
    try:
        from tui.commands.browser import Browsers
    except ImportError as error:
        raise ConfigurationError(
            f'The screen in a browser needs {error.name}; install it with: pip install "housequest[serve]"'
        ) from None
    if host not in OWN:
        terminal.note(
            f"There is no password: whoever reaches {host}:{port} can play, with your models and at your cost, and read what "
            "you recorded."
        )
    program = "from tui.cli import main; main()"
    command = shlex.join([sys.executable, "-c", program, "play", *given])
    terminal.note(f"The screen is at {address} until you press Ctrl-C.")
    Browsers(command, host=host, port=port, title="housequest", public_url=address.rstrip("/")).serve()


def _check(arguments: list[str]) -> None:
    """Refuse what `housequest play` would not understand, before a browser has to."""
    from tui.commands.play import play

    alone = typer.Typer(add_completion=False, rich_markup_mode=None)
    alone.command()(play)
    typer.main.get_command(alone).make_context("housequest play", list(arguments))
