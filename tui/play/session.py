"""A live game as a screen holds it: its events come out, a person's wishes go in.

A session lives in the screen's event loop and never keeps it waiting: what takes time happens in a thread, in a process or at
the other end of a connection, and a wish is only put down where the episode will find it.
"""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from agent.base import Agent, Turn
from agent.episodes.emitter import EventListener
from agent.episodes.ending import wait_for_end
from agent.episodes.events import CallTiming, Ended, Event, Stepped, TurnSpent
from agent.episodes.loop import run_episode
from agent.episodes.overseer import (
    Accept,
    Again,
    Before,
    Change,
    Play,
    Proceed,
    Replace,
    Rewind,
    Stop,
    Verdict,
)
from agent.episodes.resume import resume_episode
from agent.models.base import Model
from tui.background import aside
from tui.play.game import HUMAN, GameConfig
from tui.play.setup import Table, lay, recorder
from tui.play.status import CALM, PACES, Seat, Status, Waiting
from worlds.errors import HousequestError

R = TypeVar("R")

Told = Event | CallTiming | Status
"""What a session tells."""


class Session:
    """One live game and the person at it, whose overseer it is.

    ``tell`` is called in the event loop with every event, clock and change of status. A wish that means nothing at the moment
    is dropped; the status says what is waited for.
    """

    attended = True

    def __init__(
        self, game: GameConfig, tell: Callable[[Told], None], *, seat: Seat = "watch", resume: Path | None = None
    ) -> None:
        self.game = game
        self.human = game.agent == HUMAN
        self.status = Status("you" if self.human else seat, pace=game.speed or PACES[CALM])
        self._resume = resume
        self._path: Path | None = None
        self._tell = tell
        self._record: EventListener | None = None
        self._models: list[Model] = []
        self._task: asyncio.Task[None] | None = None
        self._word: Before | Verdict | None = None
        self._change: Change | None = None
        self._paused = False
        self._decided = False
        self._stepped: float | None = None
        self._stirred = asyncio.Event()
        self._interrupted = asyncio.Event()

    @property
    def record(self) -> Path | None:
        """The file in which the game is recorded, as it is called at present; None where none is kept."""
        if self._path is None:
            return None
        part = self._path.with_name(f"{self._path.name}.part")
        return part if part.exists() else self._path

    async def run(self) -> None:
        """Open the game, play it, and wait at its end until it is left. What cannot be opened is told in the status."""
        self._task = asyncio.current_task()
        try:
            table = await self._opened()
            try:
                await self._play(table)
            finally:
                table.env.close()
        except HousequestError as error:
            self._set(trouble=str(error))
        except OSError as error:  # the record is no longer where it was
            self._unrecorded(error)
        finally:
            self._set(waiting="closed")
            for model in self._models:
                await model.aclose()

    async def close(self) -> None:
        """Leave the game where it stands; its record then replays up to the last step."""
        task = self._task
        if task is None or task.done():
            return
        if self.status.waiting == "over":
            self._say(Stop())
        else:
            task.cancel()
        await wait_for_end(task)

    def accept(self) -> None:
        """Let the proposal be executed."""
        if self.status.waiting == "verdict":
            self._say(Accept())

    def again(self, hint: str = "") -> None:
        """Have the agent decide again, with a hint or none."""
        if self.status.waiting == "verdict":
            self._say(Again(hint))

    def play(self, command: str) -> None:
        """Execute ``command`` in place of what the agent proposes, or would."""
        if self.status.waiting != "over":
            self._say(Play(command))

    def hint(self, text: str) -> None:
        """Tell the agent ``text``: at once where it has just proposed or waits to be asked, else at its next turn."""
        if self.status.waiting == "verdict":
            self._say(Again(text))
        elif self.status.playing:
            self._set(hints=(*self.status.hints, text))
            self.proceed()

    def proceed(self) -> None:
        """Ask the agent: go on after a pause, try again after a failure."""
        if self.status.waiting in {"paused", "failed"}:
            self._say(Proceed())

    def sit(self, seat: Seat) -> None:
        """Take another seat. To take over calls off what the agent is deciding."""
        if self.human or not self.status.playing:
            return
        self._set(seat=seat)
        if seat == "you":
            if self.status.waiting == "deciding":
                self._interrupted.set()
        else:
            self._paused = False
        self._stirred.set()

    def set_pace(self, pace: float) -> None:
        """Play at most ``pace`` turns a second while the person watches."""
        self._set(pace=pace)
        self._stirred.set()

    def interrupt(self) -> None:
        """Call off what the agent is deciding, and wait for the person."""
        if self.status.waiting == "deciding" and not self.human:
            self._pause()
            self._interrupted.set()

    def rewind(self, to: int) -> None:
        """Go back to just after the event ``to``, and wait there for the person."""
        if self.status.playing:
            self._pause()
            self._say(Rewind(to))

    def stop(self) -> None:
        """End the episode here."""
        self._say(Stop())

    async def change_model(self, name: str) -> None:
        """Have the agent go on with the model ``name``: now where it is deciding or failed, else from its next turn on.

        Raises ``ConfigurationError`` for what is no model.
        """
        agent, model = await aside(partial(self._other_agent, name))
        if self.status.playing:
            self._change = Change(agent, model)
            self._set(model=model)
            if self.status.waiting == "deciding":
                self._interrupted.set()
            self._stirred.set()

    async def before(self, turn: int, possible: tuple[str, ...] | None) -> Before:
        """``Overseer.before``: whose turn it is, and when."""
        del turn
        self._interrupted.clear()
        self._set(possible=possible)
        while True:
            if (change := self._changed()) is not None:
                return change
            match self._taken():
                case Play() | Rewind() | Stop() as word:
                    return self._acting(word)
                case Proceed():
                    self._paused = False
                case _:
                    pass
            if self.human:
                return self._asking()
            if self.status.seat == "you":
                await self._rest("turn")
            elif self._paused:
                await self._rest("paused")
            elif self.status.seat == "watch" and (early := self._early()) > 0:
                await self._rest("pace", early)
            else:
                return self._asking()

    async def review(self, turn: int, proposal: str) -> Verdict:
        """``Overseer.review``: what becomes of a proposal."""
        del turn, proposal
        self._interrupted.clear()
        if not self._decided:
            self._decided = True
            _settle()  # the first call has imported what calls need
        while True:
            match self._taken():
                case Play(command=command):
                    return self._acting(Replace(command))
                case Accept() | Rewind() | Stop() as word:
                    return self._acting(word)
                case Again() as word:
                    self._set(waiting="deciding")
                    return word
                case _:
                    pass
            if self.human or self.status.seat == "watch":
                return self._acting(Accept())
            self._paused = False
            await self._rest("turn" if self.status.seat == "you" else "verdict")

    async def interruption(self) -> None:
        """``Overseer.interruption``: returns when the agent is to stop deciding."""
        await self._interrupted.wait()

    async def failed(self, turn: int, message: str) -> Before:
        """``Overseer.failed``: what to do about a model that failed."""
        del turn
        self._set(failure=message)
        word: Before | None = None
        while word is None:
            word = self._changed()
            match self._taken():
                case Play() | Rewind() | Stop() as said:
                    word = self._acting(said)
                case Proceed():
                    word = word or self._asking()
                case _:
                    pass
            if word is None:
                await self._rest("turn" if self.status.seat == "you" else "failed")
        self._set(failure=None)
        return word

    async def over(self, ended: Ended) -> Rewind | None:
        """``Overseer.over``: whether the person goes back from the end, or leaves it at that."""
        del ended
        while True:
            match self._taken():
                case Rewind() as word:
                    return self._acting(word)
                case Stop():
                    return None
                case _:
                    await self._rest("over")

    async def _ask(self, turn: Turn) -> str:
        """The command of a person who plays without an agent."""
        del turn
        while True:
            if isinstance(self._word, Play):
                command, self._word = self._word.command, None
                return command
            await self._rest("turn")

    def _say(self, word: Before | Verdict) -> None:
        if not self.status.playing:
            return
        self._word = word
        # A person without an agent is the agent, and is called off to go back or to leave.
        called_off = self.human and self.status.waiting == "turn" and not isinstance(word, Play)
        if called_off or self.status.waiting == "deciding":
            self._interrupted.set()
        self._stirred.set()

    def _taken(self) -> Before | Verdict | None:
        word, self._word = self._word, None
        return word

    def _changed(self) -> Change | None:
        change, self._change = self._change, None
        return change

    def _pause(self) -> None:
        self._paused = True
        if self.status.seat == "watch":
            self._set(seat="step")

    def _asking(self) -> Proceed:
        hints = self.status.hints
        self._paused = False
        self._set(waiting="deciding", hints=())
        return Proceed(hints)

    def _acting(self, word: R) -> R:
        self._set(waiting="acting")
        return word

    def _early(self) -> float:
        """Seconds until the next turn is due."""
        if self._stepped is None:
            return 0.0
        return self._stepped + 1 / self.status.pace - asyncio.get_running_loop().time()

    async def _rest(self, waiting: Waiting, seconds: float | None = None) -> None:
        """Wait until the person stirs, or for so many seconds."""
        self._set(waiting=waiting)
        # Not `wait_for`: that of Python 3.11 loses a cancellation which comes just after a stir, and nobody could leave.
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._stirred.wait()
        self._stirred.clear()

    def _set(self, **changes: Any) -> None:
        status = replace(self.status, **changes)
        if status != self.status:
            self.status = status
            self._tell(status)

    async def _opened(self) -> Table:
        opening = asyncio.ensure_future(aside(partial(lay, self.game, self._ask, self._resume)))
        try:
            table = await asyncio.shield(opening)
        except asyncio.CancelledError:
            # A thread cannot be called off; what it opens is closed when it is there.
            opening.add_done_callback(_put_away)
            raise
        self._use(table.model)
        self._set(model=table.setup.episode.model)
        _settle()
        return table

    def _use(self, model: Model | None) -> None:
        self._models += [model] if model is not None else []

    def _other_agent(self, model_name: str) -> tuple[Agent, str]:
        setup = self.game.setup().with_model(model_name)
        model = setup.make_model()
        self._use(model)
        return setup.make_agent(model, self._ask), setup.episode.model or model_name

    async def _play(self, table: Table) -> None:
        with ExitStack() as files:
            if self.game.record:
                self._begin_record(files)
            for told in table.recorded:
                self._tell(told)
            recorded = [told for told in table.recorded if isinstance(told, Event)]
            if not recorded:
                await run_episode(table.env, table.agent, table.setup.episode, self._hear, self)
                return
            await resume_episode(
                table.env,
                table.setup.make_agent,
                table.setup.episode,
                recorded,
                self._hear,
                self,
                model=table.model,
                question=self._ask if self.human else None,
                listing=lambda possible: self._set(possible=possible),
            )

    def _begin_record(self, files: ExitStack) -> None:
        try:
            record = recorder(self.game, self._resume, files)
        except OSError as error:
            self._unrecorded(error)
        else:
            self._record, self._path = record, record.path

    def _hear(self, event: Event | CallTiming) -> None:
        if isinstance(event, Event) and isinstance(event.body, Stepped | TurnSpent):
            self._stepped = asyncio.get_running_loop().time()
        if self._record is not None:
            try:
                self._record(event)
            except OSError as error:
                self._unrecorded(error)
        self._tell(event)

    def _unrecorded(self, error: OSError) -> None:
        self._record = None
        self._path = None
        where = f"{error.filename} " if error.filename else ""
        self._set(trouble=f"No record is kept: {where}cannot be written ({error.strerror}).")


def _settle() -> None:
    """Spare the garbage collector what was imported and opened: to walk through all of it takes longer than a key press may."""
    gc.freeze()


def _put_away(opening: asyncio.Future[Table]) -> None:
    if not opening.cancelled() and opening.exception() is None:
        opening.result().env.close()
