"""The server of a room: invited people take their seats, in a browser or at another terminal.

An invitation is good for one seat and one person. The seat then belongs to their secret key, with which they may come back.
Only looking at the link, as mail programs do, takes no seat.
"""

from __future__ import annotations

import asyncio
import hmac
import re
import secrets
from collections.abc import Mapping, Sequence
from contextlib import suppress
from hashlib import sha256
from html import escape

from aiohttp import WSCloseCode, WSMsgType, web

from housequest.agent.integrations.listening import Handler, refusal
from housequest.agent.integrations.names import OwnNames
from housequest.tui.browser.room import LONGEST_FRAME, GuestRoom, Link, RoomSeat, Welcome, read_wish
from housequest.tui.browser.server import HEADERS, BrowserServer
from housequest.worlds.paths import FORMAT

SEAT_KEY = "SEAT_KEY"
"""The environment variable with the key of a browser's seat, for its window's process."""
HEARTBEAT = 15.0
"""A screen that does not answer for so many seconds counts as gone."""
_KEY = re.compile(r"[\w-]{22,64}")
_NOT_INVITED = "This address invites nobody. Use the whole address that you were given, or ask for another one."
_USED = "Somebody has taken this seat already: an invitation is good for one person. Ask the person who invited you."
_TAKE = """\
<!doctype html><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>housequest</title>
<style>
  body {{ background: #0c181f; color: #e6e6e6; font: 18px/1.5 sans-serif; margin: 15vh auto; max-width: 32em; padding: 0 1em }}
  button {{ background: #5e0ba7; border: 0; color: inherit; font: inherit; padding: .5em 1.5em }}
</style>
<form method="post" action="/"><h1>You are invited to play as {name}</h1><p>Two people in one house: {goal}.</p>
<input type="hidden" name="token" value="{token}"><p><button autofocus>Take the seat</button></p></form>
"""


class Invitations:
    """The invitation to each seat, and the key of the person who took it."""

    def __init__(self, names: Sequence[str]) -> None:
        self.tokens = {name: secrets.token_urlsafe(24) for name in names}
        self._keys = dict[str, bytes]()

    def invited(self, token: str) -> str | None:
        """The player whose seat this invitation is for; None if it is not valid."""
        found = [name for name, own in self.tokens.items() if hmac.compare_digest(_digest(own), _digest(token))]
        return found[0] if found else None

    def taken(self, name: str) -> bool:
        """True if somebody has taken the seat."""
        return name in self._keys

    def take(self, name: str, key: str) -> bool:
        """Give a seat to a key, even twice. Returns False if it belongs to another one."""
        return _KEY.fullmatch(key) is not None and self._keys.setdefault(name, _digest(key)) == _digest(key)

    def holder(self, key: str) -> str | None:
        """The player whose seat belongs to this key; None for no key."""
        found = [name for name, own in self._keys.items() if hmac.compare_digest(own, _digest(key))]
        return found[0] if found else None


def _digest(secret: str) -> bytes:
    return sha256(secret.encode("utf-8", "replace")).digest()


class RoomServer(BrowserServer):
    """Serves the seats of ``room``; ``command`` shows one in a window. ``heartbeat`` is as `HEARTBEAT`."""

    def __init__(
        self, room: GuestRoom, command: Sequence[str], names: OwnNames, port: int, *, most: int, heartbeat: float = HEARTBEAT
    ) -> None:
        super().__init__(command, names, port, most=most)
        self._room, self._heartbeat = room, heartbeat
        self._invitations = Invitations(tuple(room.places))
        seat = web.post("/seat", self._welcome), web.get("/seat", self._screen)
        self.app.add_routes([web.post("/", self._take), *seat])
        self.app.on_shutdown.append(self._empty)

    @property
    def addresses(self) -> Mapping[str, str]:
        """The invitation to each player's seat."""
        return {name: f"{self.base}/?token={token}" for name, token in self._invitations.tokens.items()}

    async def _empty(self, _: web.Application) -> None:
        await self._room.close()

    async def admit(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Answer those who have a seat, and let others take one."""
        if self._place(request) is not None:
            self.keep(request)
        elif request.path not in {"/", "/seat"}:
            return refusal(403, _NOT_INVITED)
        return await handler(request)

    def variables_of(self, request: web.Request) -> Mapping[str, str]:
        """The key of this window's seat."""
        return {SEAT_KEY: request.cookies.get(self.cookie, "")}

    async def page(self, request: web.Request) -> web.Response:
        """The page with a seat's screen; for somebody without a seat, the page that gives one."""
        if self._place(request) is not None:
            return await super().page(request)
        token = request.query.get("token", "")
        name = self._invitations.invited(token)
        if name is None or self._invitations.taken(name):
            return refusal(403, _NOT_INVITED if name is None else _USED)
        goal = escape(self._room.game.task.goal)
        text = _TAKE.format(name=name, goal=goal, token=self._invitations.tokens[name])
        return web.Response(text=text, headers=HEADERS, content_type="text/html")

    def _place(self, request: web.Request) -> RoomSeat | None:
        """The seat of this request's cookie or, from a terminal, key."""
        name = self._invitations.holder(_bearer(request) or request.cookies.get(self.cookie) or "")
        return self._room.places.get(name or "")

    async def _take(self, request: web.Request) -> web.Response:
        """Give a seat to a browser."""
        try:
            token = str((await request.post()).get("token", ""))
        except ValueError:
            return refusal(400, "No page of housequest sends this.")
        key = secrets.token_urlsafe(24)
        if (refused := self._refused(token, key)) is not None:
            return refused
        answer = web.Response(status=303, headers={"Location": "/", **HEADERS})
        # Not strict: a link in a mail leads back here from another site.
        self.set_cookie(answer, key, "Lax")
        return answer

    async def _welcome(self, request: web.Request) -> web.Response:
        """Give a seat to a terminal, or tell its owner again which game it is."""
        token = _bearer(request) or ""
        try:
            key = (await request.read()).decode("ascii")
        except ValueError:
            return refusal(400, "No program of housequest sends this.")
        name = self._invitations.holder(key)
        if name is None:
            if (refused := self._refused(token, key)) is not None:
                return refused
            name = self._invitations.holder(key)
        game = self._room.game
        task = game.task
        welcome = Welcome(
            name=name or "",
            format=FORMAT,
            world=task.world,
            engine=game.world.engine,
            task=task.reference,
            wording=task.wording,
        )
        return web.json_response(text=welcome.model_dump_json())

    def _refused(self, token: str, key: str) -> web.Response | None:
        """Give a seat to a key, unless the invitation is invalid or used."""
        name = self._invitations.invited(token)
        if name is None:
            return refusal(403, _NOT_INVITED)
        return None if self._invitations.take(name, key) else refusal(403, _USED)

    async def _screen(self, request: web.Request) -> web.StreamResponse:
        """Join a screen to its seat until it leaves, or another one takes the seat."""
        place = self._place(request)
        if place is None:
            return refusal(403, _NOT_INVITED)
        socket = web.WebSocketResponse(heartbeat=self._heartbeat, timeout=1.0, max_msg_size=LONGEST_FRAME)
        await socket.prepare(request)
        link = place.sit_down()
        sides = asyncio.create_task(_tell(link, socket)), asyncio.create_task(_hear(place, link, socket))
        try:
            await asyncio.wait(sides, return_when=asyncio.FIRST_COMPLETED)
        finally:
            place.leave(link)
            for side in sides:
                side.cancel()
            await asyncio.gather(*sides, return_exceptions=True)
            await socket.close()
        return socket


async def _tell(link: Link, socket: web.WebSocketResponse) -> None:
    """Send a screen its frames; one that does not read holds up nobody else."""
    with suppress(ConnectionError):
        async for frame in link.frames():
            await socket.send_str(frame)
        await socket.close(code=WSCloseCode.GOING_AWAY, message=b"The room is closed, or the seat is played elsewhere.")


async def _hear(place: RoomSeat, link: Link, socket: web.WebSocketResponse) -> None:
    """Pass a screen's wishes to its seat, until it leaves or sends an invalid frame."""
    async for message in socket:
        try:
            wish = read_wish(message.data if message.type is WSMsgType.TEXT else None)
        except ValueError:
            await socket.close(code=WSCloseCode.UNSUPPORTED_DATA, message=b"No screen of housequest sends this.")
            return
        if place.link is not link:
            return
        place.take(wish)


def _bearer(request: web.Request) -> str | None:
    kind, _, secret = request.headers.get("Authorization", "").partition(" ")
    return secret if kind == "Bearer" else None
