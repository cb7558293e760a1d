"""A seat in a remote room: how to take it, and the connection that brings what its player knows."""

from __future__ import annotations

import asyncio
import os
import secrets
from collections.abc import Callable, Iterator
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple
from urllib.parse import parse_qs, urlsplit

import aiohttp
from pydantic import ValidationError

from housequest.agent.config import Settings, SettingsSource, world_of
from housequest.agent.episodes.events import Event, Started, Stepped, TurnSpent, with_beliefs
from housequest.agent.setup import HUMAN
from housequest.tui.browser.room import TOLD, Happened, SeatStatus, Welcome, Wish
from housequest.tui.play.game import ChosenGame
from housequest.worlds.errors import ConfigurationError, shown
from housequest.worlds.household.base import Household
from housequest.worlds.household.belief import Belief
from housequest.worlds.paths import FORMAT, atomic_write, read_file, state_folder
from housequest.worlds.registry import replay_options

LONGEST_TOLD = 1 << 22
"""The most bytes of a frame from a room: an event may hold a whole prompt of a stand-in's model."""
LONGEST_WELCOME = 1 << 14
AGAIN = 1.0
"""The seconds before trying a lost connection again."""
TRIES = 60


class Invitation(NamedTuple):
    """The address of an invitation, and the key with which the person comes back to their seat."""

    base: str
    token: str
    key: str
    file: Path | None = None

    @classmethod
    def read(cls, url: str, key: str = "") -> Invitation:
        """Read the address of an invitation or, with a ``key``, of a room where it has a seat.

        The key of an invitation is saved in a file before its first use, so a lost connection loses no seat.

        Raises:
            ConfigurationError: It is no such address.
        """
        none = ConfigurationError(f"{shown(url)} is not an invitation; give the whole address that you were sent.")
        try:
            found = urlsplit(url.strip())
            token = parse_qs(found.query).get("token", [""])[0]
            known = found.scheme in {"http", "https"} and found.hostname and (found.port or True) and (token or key)
        except ValueError as error:
            raise none from error
        if not known:
            raise none
        base = f"{found.scheme}://{found.netloc}{found.path.rstrip('/')}"
        if key:
            return cls(base, token, key)
        file = state_folder() / "seats" / sha256(f"{base} {token}".encode()).hexdigest()[:32]
        if not file.exists():
            file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)  # nobody else may read it
            atomic_write(file, secrets.token_urlsafe(24).encode())
        return cls(base, token, read_file(file, 100).decode("ascii", "replace"), file)

    async def accept(self) -> Welcome:
        """Take the seat, or come back to it. Raises ``ConfigurationError`` if the room refuses."""
        headers = {"Authorization": f"Bearer {self.token}"}
        try:
            async with (
                aiohttp.ClientSession() as session,
                session.post(f"{self.base}/seat", data=self.key.encode(), headers=headers, allow_redirects=False) as answer,
            ):
                text = (await answer.content.read(LONGEST_WELCOME)).decode("utf-8", "replace")
        except (aiohttp.ClientError, OSError, TimeoutError) as error:
            raise ConfigurationError(f"The room at {shown(self.base)} cannot be reached: {shown(str(error))}.") from None
        if answer.status == 403:
            raise ConfigurationError(shown(text.strip(), 300)[1:-1])
        try:
            welcome = Welcome.model_validate_json(text)
        except ValidationError:
            raise ConfigurationError(f"{shown(self.base)} is not a room of this version of housequest.") from None
        if welcome.format != FORMAT:
            raise ConfigurationError("The room is of another version of housequest; both need the same one.")
        return welcome


def game_of(welcome: Welcome) -> ChosenGame:
    """A room's game, for the screen. Raises a ``HousequestError`` if it is unknown here."""
    split, _, number = welcome.task.rpartition(":")
    if not number.isdecimal() or not split.replace("-", "").replace("_", "").isalnum():
        raise ConfigurationError(f"The room plays {shown(welcome.task)}, which is no task.")
    options = {key: value for key, value in replay_options(welcome.world, welcome.engine).items() if key != "engine"}
    chosen = {"agent": HUMAN, "world": welcome.world, "goals": welcome.wording, "world_option": options}
    settings = Settings.read(chosen, dict.fromkeys(chosen, SettingsSource("the room", chosen)))
    world = world_of(settings)
    return ChosenGame(world, world.task(welcome.task), HUMAN, settings, record=False, beside=True)


class SeatMemory:
    """The events of a seat as they come, each once, with its player's belief after them."""

    def __init__(self, household: Household | None) -> None:
        self._household = household
        self._beliefs = dict[int | None, Belief | None]()
        self._coming: list[Event] = []
        self._believed = with_beliefs(self._next())
        self.belief: Belief | None = None
        """The belief after the last event."""

    def _next(self) -> Iterator[Event]:
        while True:
            yield self._coming.pop()

    def add(self, event: Event) -> Event | None:
        """The event with its belief; None for a known one."""
        if event.id in self._beliefs:
            return None
        self._coming.append(event)
        event = next(self._believed)
        belief = self._beliefs.get(event.parent)
        if isinstance(event.body, Started | Stepped):
            belief = event.belief
        elif isinstance(event.body, TurnSpent):
            belief = self.hearing(event.body.news or (), belief)
        self._beliefs[event.id] = self.belief = belief
        return event

    def hearing(self, news: tuple[str, ...], belief: Belief | None) -> Belief | None:
        """The belief after ``news``."""
        return belief if belief is None or self._household is None else self._household.hear(belief, news)


class SeatConnection:
    """A screen's connection to its seat. It passes frames to ``told``, and reconnects if it breaks."""

    def __init__(self, invitation: Invitation) -> None:
        self._invitation = invitation
        self._socket: aiohttp.ClientWebSocketResponse | None = None
        self._waiting = list[str]()
        self._sending = set[asyncio.Task[None]]()

    async def run(self, told: Callable[[SeatStatus | Happened], None], lost: Callable[[], None]) -> str:
        """Pass on frames until the room ends. Returns the reason; calls ``lost`` before trying again."""
        headers = {"Authorization": f"Bearer {self._invitation.key}"}
        async with aiohttp.ClientSession(headers=headers) as session:
            for _ in range(TRIES):
                try:
                    async with session.ws_connect(
                        f"{self._invitation.base}/seat", heartbeat=15.0, max_msg_size=LONGEST_TOLD
                    ) as self._socket:
                        for frame in self._waiting:
                            await self._socket.send_str(frame)
                        self._waiting.clear()
                        async for message in self._socket:
                            told(TOLD.validate_json(message.data))
                        if self._socket.close_code in {1001, 1003}:
                            return "The room is closed, or your seat is played in another window."
                except aiohttp.WSServerHandshakeError as error:
                    if error.status == 403:
                        return "This seat is not yours any more."
                except (aiohttp.ClientError, OSError, TimeoutError):
                    pass  # try again
                except ValidationError:
                    return "The room has another version of housequest; both need the same one."
                finally:
                    self._socket = None
                lost()
                await asyncio.sleep(AGAIN)
        return "The room cannot be reached any more."

    def send(self, wish: Wish) -> None:
        """Send the room the person's wish, now or once there is a connection again."""
        frame = wish.model_dump_json()
        if self._socket is None or self._socket.closed:
            self._waiting.append(frame)
        else:
            sending = asyncio.ensure_future(self._send(self._socket, frame))
            self._sending.add(sending)
            sending.add_done_callback(self._sending.discard)

    async def _send(self, socket: aiohttp.ClientWebSocketResponse, frame: str) -> None:
        with suppress(aiohttp.ClientError, ConnectionError):  # `run` notices, and tries again
            await socket.send_str(frame)

    async def sent(self) -> None:
        """Return once all is sent."""
        if self._sending:
            await asyncio.wait(self._sending)

    async def close(self) -> None:
        """Leave the seat."""
        if self._socket is not None:
            await self._socket.close()


def seat_key() -> str:
    """The key of the seat that this process shows in a browser's window; "" if none."""
    from housequest.tui.browser.guests import SEAT_KEY

    return os.environ.get(SEAT_KEY, "")
