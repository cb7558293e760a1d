"""A server of the Model Context Protocol: one client plays at a pipe, or several over HTTP. Needs the extra ``mcp``.

Its tools are thin: `housequest.agent.integrations.games` has the games and decides what clients may see. Clients get the
messages of their own mistakes, but a general one for a broken game, since its error names files.

HTTP clients are on this machine and are not trusted to behave well. The server keeps nothing of a client but its games: a
session is just a name that the client repeats, so none has to be ended. A connection that keeps the server waiting is closed,
and so is the oldest of too many.
"""

from __future__ import annotations

import asyncio
import importlib.util
import json
import logging
import secrets
import signal
import socket
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, TypeVar

from pydantic import Field

from housequest.agent.config import Seed, TextGrant
from housequest.agent.evaluation.runs.spec import installed_version
from housequest.agent.integrations import games
from housequest.agent.integrations.games import MOST_LISTED, CommandResult, GameHost, GameRequest, HostOptions, TaskListing
from housequest.agent.integrations.names import OwnNames
from housequest.worlds.errors import ConfigurationError, HousequestError
from housequest.worlds.systems import on_signals

try:
    import uvicorn
    from mcp.types import ToolAnnotations
    from starlette.datastructures import Headers, MutableHeaders
    from starlette.requests import ClientDisconnect, Request
    from starlette.responses import Response
    from starlette.types import ASGIApp, Message, Receive, Scope, Send
    from uvicorn.protocols.http.h11_impl import H11Protocol
except ImportError:
    raise ConfigurationError('This needs the MCP SDK; install it with: pip install "housequest[mcp]"') from None

NEWEST = importlib.util.find_spec("mcp.server.mcpserver") is not None
"""True if the SDK is version 2, which also speaks the protocol of July 2026. Openenv still needs 1."""

if TYPE_CHECKING or NEWEST:
    from mcp.server.mcpserver import Context, MCPServer
    from mcp.server.mcpserver.exceptions import ToolError
    from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS as SESSION_PROTOCOLS

    CallContext = Context[Any, Any]

    def _empty_server(name: str, version: str, instructions: str) -> MCPServer:
        return MCPServer(name, version=version, instructions=instructions, log_level="ERROR", subscriptions=False)

    def http_app(server: MCPServer) -> ASGIApp:
        # Stateless: nothing of a client is kept between two requests.
        return server.streamable_http_app(stateless_http=True, json_response=True)

else:
    from mcp.server.fastmcp import Context as CallContext
    from mcp.server.fastmcp import FastMCP as MCPServer
    from mcp.server.fastmcp.exceptions import ToolError
    from mcp.shared.version import SUPPORTED_PROTOCOL_VERSIONS as SESSION_PROTOCOLS

    def _empty_server(name, version, instructions):
        server = MCPServer(name, instructions, log_level="ERROR", stateless_http=True, json_response=True)
        server._mcp_server.version = version  # there is no public way; the SDK's own version would be reported
        return server

    def http_app(server):
        return server.streamable_http_app()


SESSION_HEADER = "mcp-session-id"
MANUAL = "housequest://manual"

_INSTRUCTIONS = """\
Tasks in a household, played in text. Call new_game, read the goal and the opening, then call act with one command at a time \
until the answer says that the game is over. Names carry numbers, as the text shows them (fridge 1). A command that is \
refused changes nothing and spends a turn. What a closed or a distant place holds is not told until you look.

The forms of a command:
"""

T = TypeVar("T")
GameId = Annotated[str, Field(max_length=64, description="The id that new_game told.")]
Name = Annotated[str, Field(max_length=200)]
HOST = "127.0.0.1"
"""The only address listened on: HTTP clients must be on the same machine."""
PATIENCE = 30
"""Seconds for a client to send its whole next request, or to read more of a long answer."""
MOST_WAITING = 64
"""The most connections that wait for a request; most systems allow more than 250 open files."""
LARGEST_REQUEST = 256 * 1024
_PLAIN: Any = {"level": logging.ERROR, "format": "%(message)s"}
"""Settings of the log. The SDK's own formatter opens source files, which crashes if too many files are open."""


def make_server(host: GameHost) -> MCPServer:
    """Make the server with its tools, without starting it."""
    manual = host.options.world.info.manual
    server = _empty_server("housequest", installed_version("housequest") or "", f"{_INSTRUCTIONS}{manual}")

    @server.resource(MANUAL, name="manual", description="The forms of a command, one a line.", mime_type="text/plain")
    def read_manual() -> str:  # pyright: ignore[reportUnusedFunction]
        return manual

    @server.tool(annotations=_annotations("List tasks", reads=True))
    async def list_tasks(  # pyright: ignore[reportUnusedFunction]
        split: Annotated[Name | None, Field(description="Which split; the first one where none is given.")] = None,
        first: Annotated[int, Field(ge=1, le=1 << 62, description="The place in the split to begin at.")] = 1,
        count: Annotated[int, Field(ge=1, le=MOST_LISTED)] = 20,
    ) -> TaskListing:
        """List tasks by name and goal, and the splits that there are."""
        return await _reported(host.tasks(split, first, count))

    @server.tool(annotations=_annotations("Begin a game", again=False))
    async def new_game(  # pyright: ignore[reportUnusedFunction]
        context: CallContext,
        task: Annotated[
            Name | None, Field(description="A task by name, as list_tasks has it; without one, it is drawn.")
        ] = None,
        split: Annotated[Name | None, Field(description="The split to draw from.")] = None,
        type: Annotated[Name | None, Field(description="The type to draw, where types are granted.")] = None,
        seed: Annotated[Seed | None, Field(description="Draws the same task each time.")] = None,
        grants: Annotated[
            list[TextGrant] | None,
            Field(max_length=3, description="What the player sees beyond text; all that is granted here."),
        ] = None,
    ) -> games.GameOpening:
        """Begin a game: the id to play it with, the goal, and what is seen at the start."""
        request = GameRequest(task, split, type, seed, None if grants is None else tuple(grants))
        return await _reported(host.new(request, _client(context)))

    @server.tool(
        description=f"Play one command and read what it came to. The forms of a command:\n{manual}",
        annotations=_annotations("Play a command", again=False),
    )
    async def act(  # pyright: ignore[reportUnusedFunction]
        game: GameId, command: Annotated[str, Field(max_length=games.LONGEST_COMMAND)]
    ) -> CommandResult:
        return await _reported(host.act(game, command))

    @server.tool(annotations=_annotations("Give up a game", destroys=True))
    async def give_up(game: GameId) -> CommandResult:  # pyright: ignore[reportUnusedFunction]
        """End a game as lost."""
        return await _reported(host.give_up(game))

    if "admissible" in host.options.grants:

        @server.tool(annotations=_annotations("List the commands that are possible now", reads=True))
        async def commands(game: GameId) -> games.PossibleCommands:  # pyright: ignore[reportUnusedFunction]
            """List the commands that would be accepted now."""
            return await _reported(host.commands(game))

    return server


async def serve_stdio(options: HostOptions) -> None:
    """Serve the client at standard input and output until it disconnects or an interrupt ends the process."""
    logging.basicConfig(**_PLAIN)
    leaving: list[asyncio.Task[None]] = []
    async with GameHost(options) as host:
        # A thread reads standard input, and an interrupt does not wake it: the process would wait for the next line.
        with on_signals(lambda: leaving.append(asyncio.ensure_future(_leave(host))), signal.SIGINT):
            await make_server(host).run_stdio_async()


async def _leave(host: GameHost) -> None:
    """End the games, then the process, like an interrupt."""
    await host.close()
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.raise_signal(signal.SIGINT)


def _annotations(title: str, *, reads: bool = False, destroys: bool = False, again: bool = True) -> ToolAnnotations:
    """The effects of a tool on the games; ``again``: it is idempotent. No tool has effects outside this program."""
    hints = {"readOnlyHint": reads, "destructiveHint": destroys, "idempotentHint": again, "openWorldHint": False}
    return ToolAnnotations.model_validate({"title": title, **hints})


def _client(context: CallContext) -> str | None:
    """The client's session or else its connection; None on a pipe, which has only one client."""
    request = context.request_context.request
    if not isinstance(request, Request) or request.client is None:
        return None
    return request.headers.get(SESSION_HEADER) or f"{request.client.host}:{request.client.port}"


async def _reported(answer: Awaitable[T]) -> T:
    try:
        return await answer
    except HousequestError as error:
        raise ToolError(games.told_of(error)) from None


async def serve_http(options: HostOptions, port: int, announce: Callable[[str], None], *, patience: int = PATIENCE) -> None:
    """Serve clients of this machine until interrupted, and ``announce`` the address. Raises ``ConfigurationError``."""
    logging.basicConfig(**_PLAIN)
    try:
        listening = socket.create_server((HOST, port))
    except OSError as error:
        raise ConfigurationError(f"--http: port {port} of {HOST} is not available: {error.strerror}.") from None
    with listening:
        async with GameHost(options) as host:
            app = http_app(make_server(host))
            config = uvicorn.Config(
                _guarded(app),
                http=_Connection,
                ws="none",
                lifespan="on",
                log_config=None,
                access_log=False,
                backlog=MOST_WAITING,
                limit_concurrency=2 * MOST_WAITING,
                timeout_keep_alive=patience,
                timeout_graceful_shutdown=3,
            )
            server = _Server(config)
            server.tell = lambda: announce(f"http://{HOST}:{listening.getsockname()[1]}/mcp")
            await server.serve(sockets=[listening])


class _Server(uvicorn.Server):
    """uvicorn's server, which announces its start: Ctrl-C before that would interrupt the start halfway."""

    tell: Callable[[], None]

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.tell()


class _Connection(H11Protocol):
    """A connection that is closed if it keeps the server waiting, or sends requests far ahead of the answers. uvicorn would
    wait forever for the rest of a request or for a client that reads no answers, and would keep all its requests."""

    _waiting: ClassVar[dict[_Connection, asyncio.TimerHandle]] = {}
    """The timers that close waiting connections, oldest first."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        super().connection_made(transport)
        self._look()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if len(self.conn.trailing_data[0]) > LARGEST_REQUEST:
            self.transport.abort()
        self._look()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._look()

    def resume_writing(self) -> None:
        super().resume_writing()
        self._look()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._look()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._stop_waiting()

    def shutdown(self) -> None:
        super().shutdown()
        if self in self._waiting:
            # An unfinished request must not delay the shutdown.
            self.transport.abort()

    def _look(self) -> None:
        """Start or stop the timer for the rest of a request or the reading of an answer."""
        cycle = self.cycle  # None before the first request, though uvicorn declares otherwise
        if cycle and not cycle.more_body and not cycle.response_complete and not self.flow.write_paused:
            self._stop_waiting()
        elif self not in self._waiting and not self.transport.is_closing():
            self._waiting[self] = self.loop.call_later(self.timeout_keep_alive, self.transport.abort)
            if len(self._waiting) > MOST_WAITING:
                oldest = next(iter(self._waiting))
                oldest._stop_waiting()
                oldest.transport.abort()

    def _stop_waiting(self) -> None:
        if (deadline := self._waiting.pop(self, None)) is not None:
            deadline.cancel()


def _guarded(app: ASGIApp) -> ASGIApp:
    """Let ``app`` answer only whole POST requests under our names, and name a session for clients whose protocol has them."""
    names = OwnNames(HOST)

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await app(scope, receive, send)
            return
        shown = Headers(scope=scope)
        if (refused := names.refusal(shown.getlist("host"), shown.getlist("origin"))) is not None:
            status, text = refused
            await Response(text, status)(scope, receive, send)
            return
        if scope["method"] != "POST":
            await Response("Send requests by POST.", 405, {"Allow": "POST"})(scope, receive, send)
            return
        body = bytearray()
        try:
            async for part in Request(scope, receive).stream():
                body += part
                if len(body) > LARGEST_REQUEST:
                    await Response("This request is too large.", 413)(scope, receive, send)
                    return
            json.loads(body)
        except ClientDisconnect:
            return
        except (ValueError, RecursionError):
            # Version 1 of the SDK would treat some of this as an internal error.
            await Response("This request is not JSON.", 400)(scope, receive, send)
            return
        whole: list[Message] = [{"type": "http.request", "body": bytes(body), "more_body": False}]

        async def receive_again() -> Message:
            return whole.pop() if whole else await receive()

        async def send_named(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message)[SESSION_HEADER] = secrets.token_hex(16)
            await send(message)

        begins = shown.get("mcp-protocol-version") in {None, *SESSION_PROTOCOLS} and SESSION_HEADER not in shown
        await app(scope, receive_again, send_named if begins else send)

    return answer
