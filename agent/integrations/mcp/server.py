"""A Model Context Protocol server with which any MCP client plays. Needs the extra ``mcp``.

Its tools are thin: `housequest.agent.integrations.games` has the games and decides what clients may see. Clients get the
messages of their own mistakes; of a broken game they get a general one, since the error itself names files.
"""

from __future__ import annotations

import asyncio
import logging
import signal
import sys
from collections.abc import Awaitable
from typing import Annotated, TypeVar

from pydantic import Field

from housequest.agent.config import Seed, TextGrant
from housequest.agent.evaluation.runs.spec import installed_version
from housequest.agent.integrations.games import MOST_LISTED, GameHost, GameRequest, HostOptions
from housequest.agent.integrations.hosted import CommandResult, GameOpening, PossibleCommands, TaskListing
from housequest.agent.integrations.mcp.sdk import CallContext, MCPServer, ToolAnnotations, ToolError, empty_server
from housequest.agent.integrations.offered import LONGEST_COMMAND
from housequest.agent.models.base import Request
from housequest.worlds.errors import ConfigurationError, HousequestError

SESSION_HEADER = "mcp-session-id"
MANUAL = "housequest://manual"

_INSTRUCTIONS = """\
Tasks in a household, played in text. Call new_game, read the goal and the opening, then call act with one command at a time \
until the answer says that the game is over. Names carry numbers, as the text shows them (fridge 1). A command that is \
refused changes nothing and spends a turn. What a closed or a distant place holds is not told until you look.

The forms of a command:
"""

_log = logging.getLogger("housequest")

T = TypeVar("T")
GameId = Annotated[str, Field(max_length=64, description="The id that new_game told.")]
Name = Annotated[str, Field(max_length=200)]


def make_server(games: GameHost) -> MCPServer:
    """Make the server of ``games`` with its tools, without starting it."""
    manual = games.options.world.manual
    server = empty_server("housequest", installed_version("housequest") or "", f"{_INSTRUCTIONS}{manual}")

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
        return await _reported(games.tasks(split, first, count))

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
    ) -> GameOpening:
        """Begin a game: the id to play it with, the goal, and what is seen at the start."""
        request = GameRequest(task, split, type, seed, None if grants is None else tuple(grants))
        return await _reported(games.new(request, _client(context)))

    @server.tool(
        description=f"Play one command and read what it came to. The forms of a command:\n{manual}",
        annotations=_annotations("Play a command", again=False),
    )
    async def act(  # pyright: ignore[reportUnusedFunction]
        game: GameId, command: Annotated[str, Field(max_length=LONGEST_COMMAND)]
    ) -> CommandResult:
        return await _reported(games.act(game, command))

    @server.tool(annotations=_annotations("Give up a game", destroys=True))
    async def give_up(game: GameId) -> CommandResult:  # pyright: ignore[reportUnusedFunction]
        """End a game as lost."""
        return await _reported(games.give_up(game))

    if "admissible" in games.options.grants:

        @server.tool(annotations=_annotations("List the commands that are possible now", reads=True))
        async def commands(game: GameId) -> PossibleCommands:  # pyright: ignore[reportUnusedFunction]
            """List the commands that would be accepted now."""
            return await _reported(games.commands(game))

    return server


def log_plainly() -> None:
    """Log errors to standard error. The SDK's own way opens source files, which ends the process where too many are open."""
    logging.basicConfig(level=logging.ERROR, format="%(message)s")


async def serve_stdio(options: HostOptions) -> None:
    """Serve the client at standard input and output until it disconnects or an interrupt ends the process."""
    log_plainly()
    leaving: list[asyncio.Task[None]] = []
    async with GameHost(options) as games:
        if sys.platform != "win32":
            # A thread reads standard input and no interrupt wakes it: the process would wait for the next line.
            loop = asyncio.get_running_loop()
            loop.add_signal_handler(signal.SIGINT, lambda: leaving.append(loop.create_task(_leave(games))))
        await make_server(games).run_stdio_async()


async def _leave(games: GameHost) -> None:
    """End the games, then the process, as an interrupt does."""
    await games.close()
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.raise_signal(signal.SIGINT)


def _annotations(title: str, *, reads: bool = False, destroys: bool = False, again: bool = True) -> ToolAnnotations:
    """What a tool does to the games; ``again`` says that calling it twice does no more than once. None leaves this program."""
    hints = {"readOnlyHint": reads, "destructiveHint": destroys, "idempotentHint": again, "openWorldHint": False}
    return ToolAnnotations.model_validate({"title": title, **hints})


def _client(context: CallContext) -> str | None:
    """Who asks: the session that the client shows or else its connection; None on a pipe, which has one client only."""
    request = context.request_context.request
    if not isinstance(request, Request) or request.client is None:
        return None
    return request.headers.get(SESSION_HEADER) or f"{request.client.host}:{request.client.port}"


async def _reported(answer: Awaitable[T]) -> T:
    """Give a client the answer, or the message of its own mistake; of any other failure only that it happened."""
    try:
        return await answer
    except ConfigurationError as error:
        raise ToolError(str(error)) from None
    except HousequestError as error:
        _log.error("A game cannot be played: %s", error)
        raise ToolError("This game cannot be played; whoever runs this server finds the reason in its log.") from None
