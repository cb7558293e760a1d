"""An environment server for trainers: the protocol of OpenEnv, and the HTTP interface of AgentGym's ALFWorld server.

OpenEnv's clients play over a WebSocket at ``/ws``, one session each. AgentGym's create a session by a request and show its
number in every other one. Both get what is granted, and no more. Needs the extra ``env-server``.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Annotated, Any, Literal, TypeGuard, TypeVar
from weakref import WeakKeyDictionary, WeakSet

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from housequest.agent.config import Seed
from housequest.agent.evaluation.runs.spec import installed_version
from housequest.agent.integrations.sessions import ServedTasks, Session, Sessions, SessionState, TextObservation
from housequest.worlds.errors import ConfigurationError, HousequestError, OrderError, shown

try:
    from aiohttp import WSMsgType, web

    from housequest.agent.integrations.listening import MOST_STRANGERS, serve_until_interrupted
except ImportError:
    raise ConfigurationError('This needs aiohttp; install it with: pip install "housequest[env-server]"') from None

LARGEST_REQUEST = 256 * 1024
"""Bytes of a request or message: a hundred times what a command needs."""

PATIENCE = 30.0
"""Seconds in which a request must have come, to the last byte."""

T = TypeVar("T", bound=BaseModel)
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]

_log = logging.getLogger("housequest")


class _Message(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class CommandAction(_Message):
    """An action: one command, any text at all."""

    command: str
    metadata: dict[str, Any] = Field(default_factory=dict)


class _ResetData(BaseModel):
    """What a reset may say; anything else is ignored, as OpenEnv's own server does."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    seed: Seed | None = None
    episode_id: Annotated[str, Field(max_length=255)] | None = None
    task: Annotated[str, Field(max_length=200)] | None = None


class _Reset(_Message):
    type: Literal["reset"]
    data: _ResetData = _ResetData()


class _Act(_Message):
    type: Literal["step"]
    data: CommandAction


class _AskState(_Message):
    type: Literal["state"]


class _Close(_Message):
    type: Literal["close"]


_Asked = TypeAdapter[_Reset | _Act | _AskState | _Close](
    Annotated[_Reset | _Act | _AskState | _Close, Field(discriminator="type")]
)


_Number = Annotated[int, Field(ge=0, lt=1 << 62)]


class _Named(BaseModel):
    id: _Number


class _AgentGymReset(_Named):
    game: _Number
    world_type: str = "Text"


class _AgentGymStep(_Named):
    action: str


async def serve(served: ServedTasks, host: str, port: int, announce: Callable[[str], None]) -> None:
    """Serve clients until interrupted; ``announce`` is called with the address.

    ``port`` 0 takes a free one. Raises ``ConfigurationError`` if the address is not available.
    """
    async with Sessions(served) as sessions:
        server = EnvServer(sessions)
        shown_host = f"[{host}]" if ":" in host else host
        await serve_until_interrupted(
            server.app,
            host,
            port,
            lambda port: announce(f"http://{shown_host}:{port}"),
            known=server.playing,
            strangers=served.sessions + MOST_STRANGERS,
        )


class EnvServer:
    """The application. ``playing`` are the connections that are sessions."""

    def __init__(self, sessions: Sessions) -> None:
        self.playing: WeakSet[asyncio.Transport] = WeakSet()
        self._sessions = sessions
        self._sockets: WeakKeyDictionary[web.WebSocketResponse, asyncio.Transport] = WeakKeyDictionary()
        self.app = web.Application(middlewares=[_guarded], client_max_size=LARGEST_REQUEST)
        self.app.add_routes(
            [
                web.get("/", self._hello),
                web.get("/ws", self._play),
                web.get("/health", self._health),
                web.get("/metadata", self._metadata),
                web.get("/schema", self._schema),
                web.get("/openapi.json", self._paths),
                web.get("/state", self._no_state),
                web.post("/mcp", self._no_tools),
                web.post("/create", self._create),
                web.post("/reset", self._reset),
                web.post("/step", self._step),
                web.post("/close", self._close),
                web.get("/observation", self._observation),
                web.get("/available_actions", self._available_actions),
                web.get("/detail", self._detail),
            ]
        )
        self.app.on_shutdown.append(self._leave)

    # OpenEnv

    async def _play(self, request: web.Request) -> web.StreamResponse:
        """One session, for as long as its connection is open."""
        socket = web.WebSocketResponse(max_msg_size=LARGEST_REQUEST, compress=False, timeout=1.0)
        try:
            await socket.prepare(request)
        except ConnectionError:  # the client has left before it was answered
            return web.Response()
        with suppress(ConnectionError):  # it left while it was answered
            await self._session(socket, request.transport)
        return socket

    async def _session(self, socket: web.WebSocketResponse, transport: asyncio.Transport | None) -> None:
        """Answer every message of a client, or say that there is no room for it."""
        try:
            session = self._sessions.begin()
        except ConfigurationError as error:
            full = {"active_sessions": len(self._sessions), "max_sessions": self._sessions.served.sessions}
            await socket.send_str(_error("CAPACITY_REACHED", str(error), **full))
            await socket.close()
            return
        if transport is not None:
            self.playing.add(transport)
            self._sockets[socket] = transport
        try:
            while await self._answer(session, socket):
                pass
        except TimeoutError:
            if _is_deaf(transport):
                transport.abort()
            else:
                idle = f"Nobody used this session for {self._sessions.served.idle:,.0f} seconds, so it was closed."
                await socket.send_str(_error("SESSION_ERROR", idle))
        finally:
            await self._sessions.end(session.number)
            await socket.close()

    async def _answer(self, session: Session, socket: web.WebSocketResponse) -> bool:
        """Answer one message; whether there may be another. Raises ``TimeoutError`` where none comes, or nobody reads."""
        async with asyncio.timeout(self._sessions.served.idle):
            message = await socket.receive()
            if message.type not in (WSMsgType.TEXT, WSMsgType.BINARY):
                return False
            answer = await _answered(session, message.data)
            if answer is not None:
                await socket.send_str(answer)
        return answer is not None

    async def _leave(self, _: web.Application) -> None:
        open_ = dict(self._sockets)
        for transport in filter(_is_deaf, open_.values()):
            transport.abort()
        hearing = [socket for socket, transport in open_.items() if not transport.is_closing()]
        await asyncio.gather(*(socket.close(code=1001, message=b"the server was stopped") for socket in hearing))

    async def _hello(self, _: web.Request) -> web.StreamResponse:
        return web.json_response(f"This is housequest: {self._served_here()}.")

    async def _health(self, _: web.Request) -> web.StreamResponse:
        return web.json_response({"status": "healthy"})

    async def _metadata(self, _: web.Request) -> web.StreamResponse:
        version = installed_version("housequest")
        return web.json_response({"name": "housequest", "description": self._served_here(), "version": version})

    async def _schema(self, _: web.Request) -> web.StreamResponse:
        models = {"action": CommandAction, "observation": TextObservation, "state": SessionState}
        return web.json_response({name: model.model_json_schema() for name, model in models.items()})

    async def _paths(self, _: web.Request) -> web.StreamResponse:
        """What is here, as far as clients look for it."""
        paths: dict[str, dict[str, Any]] = {}
        for route in self.app.router.routes():
            if route.method != "HEAD" and route.resource is not None:
                paths.setdefault(route.resource.canonical, {})[route.method.lower()] = {"responses": {}}
        info = {"title": "housequest", "version": "1.0.0"}
        return web.json_response({"openapi": "3.1.0", "info": info, "paths": paths})

    async def _no_state(self, _: web.Request) -> web.StreamResponse:
        return _refused(400, "Nothing is kept between requests: ask for the state in the session that you play, at /ws.")

    async def _no_tools(self, _: web.Request) -> web.StreamResponse:
        error = {"code": -32601, "message": "There are no tools here: play at /ws, or start `housequest mcp --http PORT`."}
        return web.json_response({"jsonrpc": "2.0", "id": None, "error": error})

    def _served_here(self) -> str:
        served = self._sessions.served
        return f"{served.world.name}, {served.split} ({self._sessions.tasks})"

    # AgentGym

    async def _create(self, _: web.Request) -> web.StreamResponse:
        try:
            session = self._sessions.begin()
        except ConfigurationError as error:
            return _refused(503, str(error))
        self._sessions.keep(session)
        return web.json_response({"id": session.number})

    async def _reset(self, request: web.Request) -> web.StreamResponse:
        asked = await _read(request, _AgentGymReset)
        if asked.world_type != "Text":
            raise ConfigurationError(f"The world_type {shown(asked.world_type)} cannot be played here; give Text.")
        told = await self._sessions.used(asked.id).reset(place=asked.game)
        opening = {"id": asked.id, "observation": _opening(told), "task_type": told.type or ""}
        return web.json_response({**opening, "available_actions": told.admissible_commands or ()})

    async def _step(self, request: web.Request) -> web.StreamResponse:
        asked = await _read(request, _AgentGymStep)
        return web.json_response(_agentgym(await self._sessions.used(asked.id).step(asked.action)))

    async def _close(self, request: web.Request) -> web.StreamResponse:
        session = self._sessions.used((await _read(request, _Named)).id)
        await self._sessions.end(session.number)
        return web.json_response({"closed": True})

    async def _observation(self, request: web.Request) -> web.StreamResponse:
        return web.json_response(_agentgym(self._last(request))["observation"])

    async def _available_actions(self, request: web.Request) -> web.StreamResponse:
        return web.json_response(self._last(request).admissible_commands or ())

    async def _detail(self, request: web.Request) -> web.StreamResponse:
        return web.json_response(_agentgym(self._last(request)))

    def _last(self, request: web.Request) -> TextObservation:
        given = request.query.get("id", "")
        if not (given.isascii() and given.isdecimal() and len(given) < 20):
            raise _Misread("Give the id of a session, as /create told it: ?id=1.")
        last = self._sessions.used(int(given)).last
        if last is None:
            raise OrderError("No episode is being played in this session: reset it first.")
        return last


def _is_deaf(transport: asyncio.Transport | None) -> TypeGuard[asyncio.Transport]:
    """Whether its client asks and does not read the answers: whoever waits for them to be sent waits for ever."""
    return transport is not None and transport.get_write_buffer_size() > 0


class _Misread(Exception):
    """A request that cannot be read, in words."""


async def _answered(session: Session, raw: str | bytes) -> str | None:
    """The answer to one message; None where the client says that it leaves."""
    try:
        match _Asked.validate_json(raw):
            case _Reset(data=asked):
                told = await session.reset(asked.seed, asked.task, episode_id=asked.episode_id)
            case _Act(data=action):
                told = await session.step(action.command)
            case _AskState():
                return f'{{"type":"state","data":{session.state.model_dump_json()}}}'
            case _Close():
                return None
    except ValidationError as error:
        (first, *_) = error.errors(include_url=False, include_input=False)
        codes = {"json_invalid": "INVALID_JSON", "union_tag_invalid": "UNKNOWN_TYPE", "union_tag_not_found": "UNKNOWN_TYPE"}
        return _error(codes.get(first["type"], "VALIDATION_ERROR"), _complaint(error))
    except ConfigurationError as error:
        return _error("VALIDATION_ERROR", str(error))
    except HousequestError as error:
        return _error("EXECUTION_ERROR", _told_of(error))
    seen = told.model_dump_json(exclude={"reward", "done"})
    ended = "true" if told.done else "false"
    return f'{{"type":"observation","data":{{"observation":{seen},"reward":{json.dumps(told.reward)},"done":{ended}}}}}'


def _error(code: str, message: str, **more: int) -> str:
    return json.dumps({"type": "error", "data": {"message": message, "code": code, **more}})


def _complaint(error: ValidationError) -> str:
    (first, *_) = error.errors(include_url=False, include_input=False)
    where = ".".join(map(str, first["loc"]))
    return f"{where}: {first['msg']}" if where else first["msg"]


def _told_of(error: HousequestError) -> str:
    """The message of a client's own mistake; of a broken game only that it is broken, since the error names files."""
    if isinstance(error, ConfigurationError | OrderError):
        return str(error)
    _log.error("A game cannot be played: %s", error)
    return "This game cannot be played; whoever runs this server finds the reason in its log."


def _agentgym(told: TextObservation) -> dict[str, Any]:
    return {
        "observation": told.text if told.reward is not None else _opening(told),
        "reward": told.reward or 0.0,
        "available_actions": told.admissible_commands or (),
        "done": told.done,
    }


def _opening(told: TextObservation) -> str:
    """The opening without its banner, each paragraph on a line of its own."""
    return "\n".join(part for part in told.text.split("\n\n") if not part.startswith("-= "))


async def _read(request: web.Request, form: type[T]) -> T:
    try:
        async with asyncio.timeout(PATIENCE):
            return form.model_validate_json(await request.read())
    except ValidationError as error:
        more = " OpenEnv's clients play at /ws." if request.path != "/close" else ""
        raise _Misread(f"{_complaint(error)}. Send JSON with the id of a session, as /create told it.{more}") from None


def _refused(status: int, message: str) -> web.Response:
    return web.json_response({"error": message}, status=status)


@web.middleware
async def _guarded(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Answer mistakes in words, as AgentGym's server does. A page in a browser is no client."""
    if "Origin" in request.headers:
        return _refused(403, "Pages in browsers are not served here.")
    try:
        return await handler(request)
    except _Misread as error:
        return _refused(422, str(error))
    except TimeoutError:
        return _refused(408, "The request did not come to its end.")
    except HousequestError as error:
        return _refused(200, _told_of(error))
