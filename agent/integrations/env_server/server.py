"""An environment server for trainers: the protocol of OpenEnv, and the HTTP interface of AgentGym's ALFWorld server.

OpenEnv's clients play over a WebSocket at ``/ws``, one session each. AgentGym's clients create a session by a request and send
its id, a random number, with every other one. Both get only what is granted. Needs the extra ``env-server``.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Annotated, Any, Literal, TypeGuard, TypeVar
from weakref import WeakKeyDictionary, WeakSet

from pydantic import BaseModel, Field, TypeAdapter, ValidationError

from housequest.agent.config import Seed
from housequest.agent.evaluation.runs.spec import installed_version
from housequest.agent.integrations.games import told_of
from housequest.agent.integrations.names import OwnNames
from housequest.agent.integrations.sessions import EnvSession, ServedTasks, Sessions, SessionState, TextObservation
from housequest.worlds.errors import ConfigurationError, HousequestError, OrderError, shown

try:
    from aiohttp import WSMsgType, web

    from housequest.agent.integrations.listening import MOST_STRANGERS, guard, serve_until_interrupted
except ImportError:
    raise ConfigurationError('This needs aiohttp; install it with: pip install "housequest[env-server]"') from None

LARGEST_REQUEST = 256 * 1024
"""The most bytes of a request or message: a hundred times a command."""
PATIENCE = 30.0
"""Seconds for a whole request to arrive."""
T = TypeVar("T", bound=BaseModel)
Handler = Callable[[web.Request], Awaitable[Any]]
_NO_STATE = "Nothing is kept between requests: ask for the state in the session that you play, at /ws."


class CommandAction(BaseModel, frozen=True, extra="forbid"):
    """An action: one command, which may be any text."""

    command: str
    metadata: dict[str, Any] = Field(default_factory=dict)


class _ResetData(BaseModel, frozen=True, extra="ignore"):
    """The data of a reset; anything else is ignored, as OpenEnv's own server does."""

    seed: Seed | None = None
    episode_id: Annotated[str, Field(max_length=255)] | None = None
    task: Annotated[str, Field(max_length=200)] | None = None


class _Reset(BaseModel, frozen=True, extra="forbid"):
    type: Literal["reset"]
    data: _ResetData = _ResetData()


class _Act(BaseModel, frozen=True, extra="forbid"):
    type: Literal["step"]
    data: CommandAction


class _Plain(BaseModel, frozen=True, extra="forbid"):
    type: Literal["state", "close"]


_Asked = TypeAdapter[_Reset | _Act | _Plain](Annotated[_Reset | _Act | _Plain, Field(discriminator="type")])
_Number = Annotated[int, Field(ge=0, lt=1 << 62)]


class _Named(BaseModel):
    id: _Number


class _AgentGymReset(_Named):
    game: _Number
    world_type: str = "Text"


class _AgentGymStep(_Named):
    action: str


async def serve(served: ServedTasks, names: OwnNames, port: int, announce: Callable[[str], None]) -> None:
    """Serve clients until interrupted, and ``announce`` the URL. Raises ``ConfigurationError`` if the address is taken."""
    async with Sessions(served) as sessions:
        server, most = EnvServer(sessions, names), served.sessions + MOST_STRANGERS
        await serve_until_interrupted(
            server.app, names.host, port, lambda port: announce(names.address(port)), known=server.playing, strangers=most
        )


class EnvServer:
    """The web application. ``playing`` are the connections with a session. Handlers return JSON or a whole response."""

    def __init__(self, sessions: Sessions, names: OwnNames) -> None:
        self.playing: WeakSet[asyncio.Transport] = WeakSet()
        self._sessions = sessions
        self._sockets: WeakKeyDictionary[web.WebSocketResponse, asyncio.Transport] = WeakKeyDictionary()
        self.app = web.Application(middlewares=[guard(names), _answering], client_max_size=LARGEST_REQUEST)
        served = sessions.served
        about = f"{served.world.name}, {served.split} ({sessions.tasks})"
        version = installed_version("housequest")
        models = {"action": CommandAction, "observation": TextObservation, "state": SessionState}
        no_tools = {"code": -32601, "message": "There are no tools here: play at /ws, or start `housequest mcp --http PORT`."}
        self.app.add_routes(
            [
                # OpenEnv
                _told("/", lambda _: f"This is housequest: {about}."),
                web.get("/ws", self._play),
                _told("/health", lambda _: {"status": "healthy"}),
                _told("/metadata", lambda _: {"name": "housequest", "description": about, "version": version}),
                _told("/schema", lambda _: {name: model.model_json_schema() for name, model in models.items()}),
                _told("/openapi.json", self._paths),
                _told("/state", lambda _: _refused(400, _NO_STATE)),
                _told("/mcp", lambda _: {"jsonrpc": "2.0", "id": None, "error": no_tools}, web.post),
                # AgentGym
                web.post("/create", self._create),
                web.post("/reset", self._reset),
                web.post("/step", self._step),
                web.post("/close", self._close),
                _told("/observation", lambda request: _agentgym(self._last(request))["observation"]),
                _told("/available_actions", lambda request: self._last(request).admissible_commands or ()),
                _told("/detail", lambda request: _agentgym(self._last(request))),
            ]
        )
        self.app.on_shutdown.append(self._leave)

    async def _play(self, request: web.Request) -> web.StreamResponse:
        """Play one session while its connection is open."""
        socket = web.WebSocketResponse(max_msg_size=LARGEST_REQUEST, compress=False, timeout=1.0)
        try:
            await socket.prepare(request)
        except ConnectionError:  # the client left before the answer
            return web.Response()
        with suppress(ConnectionError):  # the client left during the answer
            await self._session(socket, request.transport)
        return socket

    async def _session(self, socket: web.WebSocketResponse, transport: asyncio.Transport | None) -> None:
        """Answer every message of a client, or refuse it if there are too many sessions."""
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
            answer: str | None = ""
            while answer is not None:
                async with asyncio.timeout(self._sessions.served.idle):
                    message = await socket.receive()
                    heard = message.type in (WSMsgType.TEXT, WSMsgType.BINARY)
                    answer = await _answered(session, message.data) if heard else None
                    if answer is not None:
                        await socket.send_str(answer)
        except TimeoutError:  # the client neither asks nor reads answers
            if _is_deaf(transport):
                transport.abort()
            else:
                idle = f"Nobody used this session for {self._sessions.served.idle:,.0f} seconds, so it was closed."
                await socket.send_str(_error("SESSION_ERROR", idle))
        finally:
            await self._sessions.end(session.id)
            await socket.close()

    async def _leave(self, _: web.Application) -> None:
        open_ = dict(self._sockets)
        for transport in filter(_is_deaf, open_.values()):
            transport.abort()
        hearing = [socket for socket, transport in open_.items() if not transport.is_closing()]
        await asyncio.gather(*(socket.close(code=1001, message=b"the server was stopped") for socket in hearing))

    def _paths(self, _: web.Request) -> Any:
        """List the served paths for clients that check them."""
        paths: dict[str, dict[str, Any]] = {}
        for route in self.app.router.routes():
            if route.method != "HEAD" and route.resource is not None:
                paths.setdefault(route.resource.canonical, {})[route.method.lower()] = {"responses": {}}
        return {"openapi": "3.1.0", "info": {"title": "housequest", "version": "1.0.0"}, "paths": paths}

    async def _create(self, _: web.Request) -> Any:
        try:
            session = self._sessions.begin()
        except ConfigurationError as error:
            return _refused(503, str(error))
        self._sessions.keep(session)
        return {"id": session.id}

    async def _reset(self, request: web.Request) -> Any:
        asked = await _read(request, _AgentGymReset)
        if asked.world_type != "Text":
            raise ConfigurationError(f"The world_type {shown(asked.world_type)} cannot be played here; give Text.")
        told = await self._sessions.used(asked.id).reset(place=asked.game)
        opening = {"id": asked.id, "observation": _opening(told), "task_type": told.type or ""}
        return {**opening, "available_actions": told.admissible_commands or ()}

    async def _step(self, request: web.Request) -> Any:
        asked = await _read(request, _AgentGymStep)
        return _agentgym(await self._sessions.used(asked.id).step(asked.action))

    async def _close(self, request: web.Request) -> Any:
        session = self._sessions.used((await _read(request, _Named)).id)
        await self._sessions.end(session.id)
        return {"closed": True}

    def _last(self, request: web.Request) -> TextObservation:
        given = request.query.get("id", "")
        if not (given.isascii() and given.isdecimal() and len(given) < 20):
            raise _Misread("Give the id of a session, as /create told it: ?id=ID.")
        last = self._sessions.used(int(given)).last
        if last is None:
            raise OrderError("No episode is being played in this session: reset it first.")
        return last


def _is_deaf(transport: asyncio.Transport | None) -> TypeGuard[asyncio.Transport]:
    """True if the client does not read its answers, so a send would block."""
    return transport is not None and transport.get_write_buffer_size() > 0


class _Misread(Exception):
    """A malformed request."""


async def _answered(session: EnvSession, raw: str | bytes) -> str | None:
    """Answer one message; None if the client leaves."""
    try:
        match _Asked.validate_json(raw):
            case _Reset(data=asked):
                told = await session.reset(asked.seed, asked.task, episode_id=asked.episode_id)
            case _Act(data=action):
                told = await session.step(action.command)
            case _Plain(type="state"):
                return f'{{"type":"state","data":{session.state.model_dump_json()}}}'
            case _:
                return None
    except ValidationError as error:
        kind, complaint = _first(error)
        codes = {"json_invalid": "INVALID_JSON", "union_tag_invalid": "UNKNOWN_TYPE", "union_tag_not_found": "UNKNOWN_TYPE"}
        return _error(codes.get(kind, "VALIDATION_ERROR"), complaint)
    except ConfigurationError as error:
        return _error("VALIDATION_ERROR", str(error))
    except HousequestError as error:
        return _error("EXECUTION_ERROR", told_of(error))
    seen = told.model_dump_json(exclude={"reward", "done"})
    ended = "true" if told.done else "false"
    return f'{{"type":"observation","data":{{"observation":{seen},"reward":{json.dumps(told.reward)},"done":{ended}}}}}'


def _error(code: str, message: str, **more: int) -> str:
    return json.dumps({"type": "error", "data": {"message": message, "code": code, **more}})


def _first(error: ValidationError) -> tuple[str, str]:
    (first, *_) = error.errors(include_url=False, include_input=False)
    return first["type"], ": ".join(filter(None, (".".join(map(str, first["loc"])), first["msg"])))


def _agentgym(told: TextObservation) -> dict[str, Any]:
    return {
        "observation": told.text if told.reward is not None else _opening(told),
        "reward": told.reward or 0.0,
        "available_actions": told.admissible_commands or (),
        "done": told.done,
    }


def _opening(told: TextObservation) -> str:
    return "\n".join(part for part in told.text.split("\n\n") if not part.startswith("-= "))


async def _read(request: web.Request, form: type[T]) -> T:
    try:
        async with asyncio.timeout(PATIENCE):
            return form.model_validate_json(await request.read())
    except ValidationError as error:
        more = " OpenEnv's clients play at /ws." if request.path != "/close" else ""
        raise _Misread(f"{_first(error)[1]}. Send JSON with the id of a session, as /create told it.{more}") from None


def _told(
    path: str, read: Callable[[web.Request], Any], route: Callable[[str, Handler], web.RouteDef] = web.get
) -> web.RouteDef:
    """A route that answers ``path`` with the result of ``read``."""

    async def answer(request: web.Request) -> Any:
        return read(request)

    return route(path, answer)


def _refused(status: int, message: str) -> web.Response:
    return web.json_response({"error": message}, status=status)


@web.middleware
async def _answering(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Turn errors into answers, as AgentGym's server does."""
    try:
        answer = await handler(request)
        return answer if isinstance(answer, web.StreamResponse) else web.json_response(answer)
    except _Misread as error:
        return _refused(422, str(error))
    except TimeoutError:
        return _refused(408, "The request did not come to its end.")
    except HousequestError as error:
        return _refused(200, told_of(error))
