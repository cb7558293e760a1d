"""A room: one house with two people, each at a seat. The room plays the game and keeps its record; screens are remote.

A seat's screen gets what its player knows (`SeatView`) and nothing else, as JSON: each event, and the status whenever that
changes. So it can stall, leave and come back at any moment: it gets all events again, and the latest status.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Sequence
from contextlib import ExitStack, suppress
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, TypeAdapter, ValidationError

from housequest.agent import base
from housequest.agent.episodes.emitter import wait_for_end
from housequest.agent.episodes.events import CallTiming, Ended, Event, Frozen, Said, Stepped, TurnSpent
from housequest.agent.episodes.loop import MOST_SAID
from housequest.agent.episodes.record import EpisodeRecorder, part_of
from housequest.agent.episodes.resume import ResumedPartner, resume_together
from housequest.agent.episodes.seat_view import SeatView
from housequest.agent.episodes.together import end_of_round
from housequest.agent.models.base import Model
from housequest.agent.setup import Setup
from housequest.tui.base_screen import in_thread
from housequest.tui.episode.state import WAITED
from housequest.tui.play.company import PATIENCE, SharedPar, shares
from housequest.tui.play.game import ChosenGame, recording
from housequest.worlds.household.talk import LONGEST_SAID, free_text
from housequest.worlds.shared import Shared

GRACE = 3
"""After this many rounds, an agent plays for a person who left."""
CONSENT = 15.0
"""The other may agree to go back for so many seconds; no answer is a no."""
LONGEST_COMMAND = 500
LONGEST_FRAME = 8_192
"""The most bytes of a frame from a screen."""

Stage = Literal["opening", "turn", "deciding", "failed", "over"]


class Welcome(Frozen):
    """The game of a room, for the person who takes the seat of player ``name``."""

    name: str
    format: str
    world: str
    engine: str
    task: str
    wording: str


class SeatStatus(Frozen):
    """The state of the game for one seat, beside its events. ``news`` is that of the current turn. ``absent`` players are not
    there; the player ``asks`` wants to go back to the end of ``round``. ``note`` is the last one, number ``noted``.
    """

    kind: Literal["status"] = "status"
    waiting: Stage = "opening"
    number: int = 0
    possible: tuple[str, ...] | None = None
    news: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()
    asks: str | None = None
    round: int = 0
    note: str = ""
    noted: int = 0
    failure: str | None = None
    patience: float | None = None
    shares: tuple[str, ...] = ()


class Happened(Frozen):
    """An event, as this seat knows it."""

    kind: Literal["event"] = "event"
    event: Event


class Command(Frozen):
    """Execute this when the seat's turn comes."""

    kind: Literal["play"] = "play"
    command: str = Field(max_length=LONGEST_COMMAND)


class Utterance(Frozen):
    """Say this to the other."""

    kind: Literal["say"] = "say"
    text: str = Field(max_length=4 * LONGEST_SAID)


class GoBack(Frozen):
    """Go back to the end of the round of the event ``to``, if the other agrees."""

    kind: Literal["back"] = "back"
    to: int


class Consent(Frozen):
    """The answer to the other who asks to go back."""

    kind: Literal["consent"] = "consent"
    yes: bool


class Typing(Frozen):
    """The person types, or has stopped."""

    kind: Literal["typing"] = "typing"
    typing: bool


class Patience(Frozen):
    """Rounds go on after so many seconds in which the person types nothing; None: they wait."""

    kind: Literal["patience"] = "patience"
    seconds: float | None = Field(ge=1, le=3600)


class Retry(Frozen):
    """Ask the stand-in's model again after a failure."""

    kind: Literal["retry"] = "retry"


Wish = Command | Utterance | GoBack | Consent | Typing | Patience | Retry
"""A frame from a screen."""
WISHES: TypeAdapter[Wish] = TypeAdapter(Annotated[Wish, Field(discriminator="kind")])
TOLD: TypeAdapter[SeatStatus | Happened] = TypeAdapter(Annotated[SeatStatus | Happened, Field(discriminator="kind")])


def read_wish(frame: object) -> Wish:
    """The wish in a screen's frame. Raises ``ValueError`` for an invalid one."""
    if not isinstance(frame, str):
        raise ValueError("no text")
    try:
        return WISHES.validate_json(frame)
    except ValidationError as error:
        raise ValueError("no wish") from error


class Link:
    """One screen of a seat, until another one takes its place."""

    def __init__(self, place: RoomSeat) -> None:
        self._place = place
        self.woken = asyncio.Event()

    async def frames(self) -> AsyncIterator[str]:
        """The frames for the screen, as they come; it keeps only the events and the latest status."""
        told, shown = 0, None
        while self._place.link is self:
            self.woken.clear()
            while told < len(self._place.log):
                yield self._place.log[told]
                told += 1
            if (status := self._place.status) != shown:
                shown = status
                yield status.model_dump_json()
            elif told == len(self._place.log):
                await self.woken.wait()


class RoomSeat(base.Unattended):
    """A seat of the room: the overseer of its player, asked for each turn, with the events that its screen gets."""

    attended = True

    def __init__(self, room: GuestRoom, name: str) -> None:
        self._room, self.name = room, name
        self._view = SeatView(name)
        self.log: list[str] = []
        self.status = SeatStatus()
        self.link: Link | None = None
        self.words = deque[str]()
        self._command: str | None = None
        self._typing = self._retries = False
        self._said = (0, 0)
        self._missed = 0
        self._woken = asyncio.Event()

    def sit_down(self) -> Link:
        """Let a screen take this seat, in place of any other."""
        self.leave(self.link)
        self.link, self._missed, self._typing = Link(self), 0, False
        self._room.changed()
        return self.link

    def leave(self, link: Link | None) -> None:
        """A screen is gone; its seat stays with its key."""
        if link is not None and link is self.link:
            self.link = None
            link.woken.set()
            self._room.changed()

    def show(self, **changes: Any) -> None:
        """Change the status, and wake the screen."""
        self.status = self.status.model_copy(update=changes)
        if self.link is not None:
            self.link.woken.set()

    def note(self, text: str) -> None:
        """Tell the person something outside the game."""
        self.show(note=text, noted=self.status.noted + 1)

    def hear(self, event: Event) -> None:
        """Add an event of the game, if this player notices it."""
        if isinstance(event.body, Said) and event.player != self.name and self.status.waiting != "turn":
            self.note(f'{event.player} says: "{event.body.text}"')  # news of the next turn, but heard at once
        seen = self._view.of(event)
        if seen is None:
            return
        if isinstance(seen.body, Stepped):
            # The count of goals that are met would tell what the other does out of sight.
            seen = seen.model_copy(update={"body": seen.body.model_copy(update={"met": None, "conditions": None})})
        if isinstance(seen.body, Stepped | TurnSpent):
            self.show(news=())
        self.log.append(Happened(event=seen).model_dump_json(exclude_none=True))
        self.show()

    def wake(self) -> None:
        """Let the seat check again what it waits for."""
        self._woken.set()

    def take(self, wish: Wish) -> None:
        """Carry out the person's wish, now or in their turn."""
        room = self._room
        match wish:
            case Command(command=command):
                self._command = command
            case Utterance(text=text) if words := free_text(text):
                self._speak(words)
            case GoBack(to=to):
                room.ask_back(self, to)
            case Consent(yes=yes):
                room.consent(self, yes=yes)
            case Typing(typing=typing):
                self._typing = typing
            case Patience(seconds=seconds):
                self.show(patience=seconds)
            case Retry():
                room.retry()
            case _:
                pass
        room.wake()

    def _speak(self, words: str) -> None:
        if self._room.talk == "off":
            self.note("Nobody talks in this game.")
            return
        number = self._room.number
        self._said = (number, self._said[1] + 1 if self._said[0] == number else 1)
        if self._said[1] > MOST_SAID:
            self.note(f"That was not said: {MOST_SAID} messages a round are enough.")
        else:
            self.words.append(words)

    # The overseer, called by the episode's loop.

    async def before(self, turn: int, possible: tuple[str, ...] | None) -> base.TurnAnswer:
        """``Overseer.before``: go back if both agreed, else begin the turn."""
        if (back := self._room.going_back()) is not None:
            return back
        self._room.begin_turn(turn)
        self.show(possible=possible)
        return base.Proceed()

    async def interruption(self) -> None:
        """``Overseer.interruption``: return when the game goes back."""
        await self._room.interrupted.wait()

    async def failed(self, turn: int, message: str) -> base.TurnAnswer:
        """``Overseer.failed``: wait until somebody wants to ask the stand-in's model again."""
        del turn
        self._retries = False
        self._room.show_all(waiting="failed", failure=message)
        while not self._retries:
            if (back := self._room.going_back()) is not None:
                self._room.show_all(failure=None)
                return back
            await self._wait(None)
        self._room.show_all(waiting="deciding", failure=None)
        return base.Proceed()

    async def over(self, ended: Ended) -> base.Rewind | None:
        """``Overseer.over``: go back from the end, or end the game once nobody is there."""
        del ended
        self._room.show_all(waiting="over", news=())
        while self._room.inhabited:
            if (back := self._room.going_back()) is not None:
                return back
            await self._wait(None)
        return None

    async def ask(self, turn: base.Turn) -> str | base.Say | base.Overheard | base.Idle | base.Away:
        """Ask the person for their command, or for what they say or hear. Wait a while for somebody who left."""
        room = self._room
        self.show(waiting="turn", number=turn.number, news=turn.news)
        try:
            while True:
                if self.link is None:
                    if not room.inhabited:
                        await self._wait(None)
                    elif self._missed >= GRACE:
                        return base.Away()
                    elif await self._wait(room.grace) and self.link is None:
                        self._missed += 1
                        return base.Idle(WAITED)
                    continue
                if self._command is not None:
                    command, self._command = self._command, None
                    return command
                if self.words:
                    return base.Say(self.words.popleft())
                speaker = room.speaking(self) if room.talk == "free" else None
                if speaker is not None:
                    return base.Overheard(speaker.name, speaker.words.popleft())
                patience = self.status.patience
                if await self._wait(patience) and patience is not None and not self._typing:
                    return base.Idle(WAITED)
        finally:
            self.show(waiting="deciding")

    def forget(self) -> None:
        """Drop the person's next wish, since the game goes back."""
        self._command = None
        self.words.clear()

    def retry(self) -> None:
        """Ask the stand-in's model again."""
        self._retries = True

    async def _wait(self, seconds: float | None) -> bool:
        """Wait to be woken, at most so many ``seconds``. Returns True if nobody did."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._woken.wait()
        late = not self._woken.is_set()
        self._woken.clear()
        return late


class GuestRoom:
    """One game of two people.

    Args:
        game: The game; its record is kept unless it says otherwise.
        setup: Their seats, each with its stand-in.
        house: A new house for them.
        recorded: The events so far of an unfinished game in the file ``record``.
        grace: The seconds that a round waits for somebody who left.
        consent: The seconds in which the other may agree to go back.
    """

    def __init__(
        self,
        game: ChosenGame,
        setup: Setup,
        house: Shared,
        recorded: Sequence[Event] = (),
        record: Path | None = None,
        *,
        grace: float = PATIENCE,
        consent: float = CONSENT,
    ) -> None:
        self.game, self.grace = game, grace
        self._setup, self._house, self._recorded, self._record_file = setup, house, recorded, record
        self.consent_seconds = consent
        self.places = {name: RoomSeat(self, name) for name, _ in setup.players}
        self.talk = setup.company.talk
        self.interrupted = asyncio.Event()
        self.told: list[Event] = []
        self.begun = False
        """True once both have come."""
        self.number = 0
        self.record: Path | None = None
        self._come = asyncio.Event()
        self._recorder: EpisodeRecorder | None = None
        self._asked: tuple[RoomSeat, int, asyncio.TimerHandle] | None = None
        self._back: int | None = None
        self._task: asyncio.Task[Any] | None = None
        self._summing: asyncio.Future[None] | None = None
        for place in self.places.values():
            place.show(patience=game.patience)

    @property
    def inhabited(self) -> bool:
        """True if anybody is there."""
        return any(place.link is not None for place in self.places.values())

    async def run(self, model: Model | None = None) -> Ended:
        """Wait for both, and play the game until it is over and both have left. Raises an error that stops it."""
        self._task = asyncio.current_task()
        try:
            await self._come.wait()
            with ExitStack() as files:
                if self.game.record:
                    path = files.enter_context(recording(self.game, self._record_file))
                    self._recorder = files.enter_context(EpisodeRecorder(path, resume=part_of(path).exists()))
                    self.record = path
                for event in self._recorded:
                    self._tell(event)
                self.begun = True
                players = [
                    ResumedPartner(name, each.make_agent, each, self.places[name], model, self.places[name].ask)
                    for name, each in self._setup.players
                ]
                return await resume_together(self._house, players, self._recorded, self._emit, self._setup.company)
        finally:
            self._house.close()
            if self._summing is not None:
                self._summing.cancel()

    async def close(self) -> None:
        """End the room. Its record stays, and an unfinished game can be resumed."""
        for place in self.places.values():
            place.leave(place.link)
        if self._task is not None and not self._task.done():
            if not (self.told and isinstance(self.told[-1].body, Ended)):
                self._task.cancel()
            self.wake()
            with suppress(Exception):  # the caller of `run` gets it
                await wait_for_end(self._task)

    def changed(self) -> None:
        """Somebody came or left."""
        absent = [place.name for place in self.places.values() if place.link is None]
        for place in self.places.values():
            place.show(absent=tuple(name for name in absent if name != place.name))
        if not absent:
            self._come.set()
        if absent:
            self._answered()
        self.wake()

    def wake(self) -> None:
        """Let every seat check again what it waits for."""
        for place in self.places.values():
            place.wake()

    def show_all(self, **changes: Any) -> None:
        """Change everybody's status."""
        for place in self.places.values():
            place.show(**changes)

    def begin_turn(self, number: int) -> None:
        """A turn of this round begins."""
        self.interrupted.clear()
        self.number = number
        for place in self.places.values():
            place.show(number=number, waiting="deciding")

    def speaking(self, listener: RoomSeat) -> RoomSeat | None:
        """Another player with something to say."""
        return next((one for one in self.places.values() if one is not listener and one.words), None)

    def retry(self) -> None:
        for place in self.places.values():
            place.retry()

    def ask_back(self, asker: RoomSeat, to: int) -> None:
        """Ask the other whether to go back; if nobody else is there, go back."""
        turns = {event.id: event.body.turn for event in self.told if isinstance(event.body, Stepped | TurnSpent)}
        known = to in turns and any(event.id == to and event.player == asker.name for event in self.told)
        if not (known or to == 0) or self._asked is not None or not self.begun:
            asker.note("You cannot go back there now.")
            return
        others = [place for place in self.places.values() if place is not asker and place.link is not None]
        if not others:
            self._go_back(to)
            return
        timer = asyncio.get_running_loop().call_later(self.consent_seconds, self._refused)
        self._asked = asker, to, timer
        for place in others:
            place.show(asks=asker.name, round=turns.get(to, 0))
        asker.note(f"{' and '.join(place.name for place in others)} is asked to go back with you.")

    def consent(self, place: RoomSeat, *, yes: bool) -> None:
        """Take the other's answer."""
        if self._asked is None or place is self._asked[0]:
            return
        asker, to, _ = self._asked
        if not yes:
            self._refused()
            return
        self._answered()
        asker.note(f"{place.name} goes back with you.")
        self._go_back(to)

    def _refused(self) -> None:
        if self._asked is not None:
            self._asked[0].note("You go on: the other does not want to go back.")
            self._answered()

    def _answered(self) -> None:
        if self._asked is not None:
            self._asked[2].cancel()
            self._asked = None
        self.show_all(asks=None, round=0)

    def _go_back(self, to: int) -> None:
        self._back = end_of_round(self.told, to)
        for place in self.places.values():
            place.forget()
        self.interrupted.set()
        self.wake()

    def going_back(self) -> base.Rewind | None:
        """The rewind that everybody agreed to, given once."""
        back, self._back = self._back, None
        self.interrupted.clear()
        return None if back is None else base.Rewind(back)

    def _emit(self, event: Event | CallTiming) -> None:
        if not isinstance(event, Event):
            return
        if self._recorder is not None:
            try:
                self._recorder(event)
            except OSError as error:
                self._recorder = None
                for place in self.places.values():
                    place.note(f"No record is kept: it cannot be written ({error.strerror}).")
        self._tell(event)
        if isinstance(event.body, Ended):
            self._sum_up()

    def _tell(self, event: Event) -> None:
        self.told.append(event)
        for place in self.places.values():
            place.hear(event)

    def _sum_up(self) -> None:
        """Tell everybody who did what, and par."""
        told = tuple(self.told)

        async def tell() -> None:
            par = await in_thread(partial(SharedPar.of, self.game.world, self.game.task))
            for place in self.places.values():
                place.show(shares=(*shares(told, place.name), *([par.words] if par.words else [])))

        self._summing = asyncio.ensure_future(tell())
