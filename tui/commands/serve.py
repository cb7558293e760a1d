"""``housequest serve``: the screen in a browser, through textual-serve (extra ``[serve]``)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import urlsplit

import typer

from tui import terminal
from tui.commands import options
from tui.commands.play import play
from worlds.errors import ConfigurationError, shown

if TYPE_CHECKING:
    from aiohttp import web

LOOPBACK = ("127.0.0.1", "localhost", "::1")
"""Names of this machine by which no other can reach it."""


def serve(
    arguments: Annotated[
        list[str] | None, typer.Argument(metavar="-- ARGUMENTS", help="Arguments of `housequest play`, after --.")
    ] = None,
    host: Annotated[
        str, options.value("--host", "HOST", "The address to listen at [127.0.0.1].", show_default=False)
    ] = LOOPBACK[0],
    port: Annotated[
        int, options.value("--port", "N", "The port to listen at [8000].", min=1, max=65_535, show_default=False)
    ] = 8000,
    url: Annotated[str | None, options.value("--url", "URL", "Where browsers find it, if not at that host and port.")] = None,
) -> None:
    """Show the screen of `housequest play` in a browser, a separate game in each window, until Ctrl-C."""
    import shlex
    import sys

    from agent.config import configure

    given = arguments or []
    # What `housequest play` would not understand is refused here, before a browser has to.
    alone = typer.Typer(add_completion=False, rich_markup_mode=None)
    alone.command()(play)
    typer.main.get_command(alone).make_context("housequest play", list(given))
    configure()  # a wrong configuration is better reported here than in a browser
    address = url or f"http://{f'[{host}]' if ':' in host else host}:{port}"
    if urlsplit(address).scheme not in {"http", "https"} or not urlsplit(address).hostname:
        raise ConfigurationError(f"--url: {shown(address)} is no address; give one like https://play.example.org.")
    program = "from tui.cli import main; main()"
    command = shlex.join([sys.executable, "-c", program, "play", *given])
    try:
        server = _server(command, host, port, address.rstrip("/"))
    except ImportError as error:
        raise ConfigurationError(
            f'The screen in a browser needs {error.name}; install it with: pip install "housequest[serve]"'
        ) from None
    if host not in LOOPBACK:
        terminal.note(
            f"There is no password: whoever reaches {host}:{port} can play, with your models and at your cost, and read what "
            "you recorded."
        )
    terminal.note(f"The screen is at {address} until you press Ctrl-C.")
    server.serve()


def _server(command: str, host: str, port: int, url: str) -> Any:
    """A server that runs ``command`` for each browser window, and answers only pages that it sent itself.

    A page of another site that is open in the same browser could otherwise connect here too, and play on this machine.
    """
    from aiohttp import web
    from textual_serve.server import Server

    public = urlsplit(url)
    own = {f"{public.scheme}://{public.netloc}", *(f"http://{name}:{port}" for name in ("127.0.0.1", "localhost", "[::1]"))}

    @web.middleware
    async def guarded(request: web.Request, handler: Any) -> web.StreamResponse:
        if request.headers.get("Origin") not in {None, *own}:
            raise web.HTTPForbidden(text="This page is not of housequest.")
        return await handler(request)

    class GuardedServer(Server):
        async def _make_app(self) -> web.Application:
            made = await super()._make_app()
            made.middlewares.append(guarded)
            return made

        async def on_startup(self, app: web.Application) -> None:
            """Print nothing: the command has said where the screen is."""

        def initialize_logging(self) -> None:
            """Log errors only."""

    return GuardedServer(command, host=host, port=port, title="housequest", public_url=url)
