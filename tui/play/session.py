"""A live game in a screen's event loop, which it never blocks: it reports events, and stores what the person decides."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from functools import partial
from math import inf
from pathlib import Path
from time import monotonic
from typing import Any, Literal, NamedTuple, TypeVar

from housequest.agent import base as overseer
from housequest.agent.agents.spec import agent_spec
from housequest.agent.base import Glimpse, Turn
from housequest.agent.episodes.emitter import wait_for_end
from housequest.agent.episodes.events import CallTiming, Ended, Event, Stepped, TurnSpent
from housequest.agent.episodes.loop import run_episode
from housequest.agent.episodes.record import EpisodeRecorder, as_played, leave_out, part_of, read_sound
from housequest.agent.episodes.resume import RecordMisfit, resume_episode, resume_together
from housequest.agent.episodes.seat_view import SeatView
from housequest.agent.episodes.together import end_of_round
from housequest.agent.models.base import Model, ReplyProgress
from housequest.agent.setup import Setup
from housequest.agent.skills.language.directions import Directions
from housequest.tui.base_screen import in_thread
from housequest.tui.episode.state import WAITED
from housequest.tui.play.company import seats
from housequest.tui.play.game import HUMAN, ChosenGame, recording, timing_file
from housequest.worlds.base import Env
from housequest.worlds.errors import ConfigurationError, HousequestError, ModelError
from housequest.worlds.household.belief import Belief
from housequest.worlds.locks import InUse
from housequest.worlds.paths import open_file
from housequest.worlds.shared import Seat

PlayMode = Literal["watch", "step", "you", "together"]
"""The person watches the agent, decides on each of its commands, plays in its place, or plays beside it."""

Waiting = Literal["opening", "deciding", "acting", "pace", "paused", "verdict", "turn", "failed", "over", "closed"]
"""The thing that a game waits for.

The world to open, the agent, the world, the time of the next turn, the person to go on, their verdict on a proposal, their
turn, their answer to a failure, what they do at the end, or nothing any more.
"""

PACES = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 100.0)  # turns a second at most, while a person watches
DEFAULT_PACE = 2.0


@dataclass(frozen=True, slots=True)
class SessionStatus:
    """The status of a game between its events.

    ``possible`` is None if the world cannot list its commands; ``hints`` wait for the next turn; ``repeated``: the proposal was
    declined before; ``trouble`` says why there is no game, or no record; ``failure`` is a model's error to decide on; after
    ``patience`` seconds a round goes on without the person.
    """

    mode: PlayMode
    waiting: Waiting = "opening"
    pace: float = DEFAULT_PACE
    possible: tuple[str, ...] | None = None
    hints: tuple[str, ...] = ()
    repeated: bool = False
    model: str | None = None
    destinations: tuple[str, ...] = ()
    trouble: str | None = None
    failure: str | None = None
    patience: float | None = None

    @property
    def playing(self) -> bool:
        """True if there is a game that takes commands."""
        return self.waiting not in {"opening", "closed"}


def next_pace(paces: Sequence[float], pace: float, by: int) -> float:
    """The next of ``paces`` above ``pace``, or below it where ``by`` is negative; ``pace`` itself at either end."""
    further = [one for one in paces if (one - pace) * by > 0]
    return min(further, key=lambda one: abs(one - pace), default=pace)


R = TypeVar("R")

_Opened = tuple[Setup, Env, Sequence[Event | CallTiming]]
"""What is played, and the events and timings of an unfinished game that goes on."""
_LEFT_OUT = "{fault} The game goes on from the event before it; what followed is kept in {aside}."


class Noticed(NamedTuple):
    """News of the others at the beginning of a turn, and the belief with it."""

    news: tuple[str, ...]
    belief: Belief | None


SessionUpdate = Event | CallTiming | SessionStatus | Noticed


class Session:
    """One live game, and the overseer through which the person steps in; a decision that means nothing now is dropped.

    ``resume`` is the record of an unfinished game to go on with, or the file in which one begins; a new one by default.
    """

    attended = True
    own = True
    """True if the game is played in this process."""

    def __init__(
        self,
        game: ChosenGame,
        listener: Callable[[SessionUpdate], None],
        *,
        mode: PlayMode = "watch",
        resume: Path | None = None,
    ) -> None:
        self.game = game
        self.human = self.game.agent == HUMAN or self.game.beside
        self.status = SessionStatus("you" if self.human else mode, pace=self.game.speed or DEFAULT_PACE)
        self._resume = resume
        self._listener = listener
        self._recorder: EpisodeRecorder | None = None
        self._models: list[Model] = []
        self._task: asyncio.Task[None] | None = None
        self._decision: overseer.TurnAnswer | overseer.ProposalAnswer | None = None
        self._change: overseer.SwitchModel | None = None
        self._paused = False
        self._decided = False
        self._declined = set[str]()
        self._last_turn = -inf
        self._woken = asyncio.Event()
        self._interrupted = asyncio.Event()
        self.glimpses: dict[int, Glimpse] = {}
        """The camera agent's readings of its pictures, by the event after which each was seen."""
        self.reply = ReplyProgress()
        """The progress of the model's current call."""
        self._doing = ""
        self._orders: tuple[str, Directions | None] = ("", None)
        self._skill: str | None = None
        self._left_out: str | None = None
        self._through_skill = False
        self.told: list[Event] = []
        """All events, with those of other players: for the end, and for going back."""
        self._seat = SeatView(None)
        self._words: list[str] = []
        self.typing: Callable[[], bool] = lambda: False
        """True while the person types; a round then waits for them."""

    @property
    def partners(self) -> str:
        """The names of the other players; "" for none."""
        return " and ".join(name for name, _ in (self.game.setup.players[1:] if self.game.setup else ()))

    @property
    def me(self) -> str | None:
        """The person's own name in company."""
        return self._seat.player

    @property
    def record(self) -> Path | None:
        """The file the game is recorded in, by its present name; None where none is kept."""
        if self._recorder is None:
            return None
        unfinished = self._recorder.part
        return unfinished if unfinished.exists() else self._recorder.path

    async def run(self) -> None:
        """Open the game, play it, and wait at its end until it is left. The status says why a game could not be opened."""
        self._task = asyncio.current_task()
        try:
            with ExitStack() as files:
                path = self._hold(files)
                setup, env, recorded = await self._open(path)
                try:
                    for model in self._models:
                        await _check_model(setup.each[-1], model)
                    await self._play(setup, env, recorded, path)
                finally:
                    env.close()
        except HousequestError as error:
            self._set(trouble=str(error))
        except OSError as error:  # the record is no longer where it was
            self._stop_recording(error)
        finally:
            self._set(waiting="closed")
            for model in self._models:
                await model.aclose()

    async def close(self) -> None:
        """Leave the game where it stands; its record replays up to the last step."""
        task = self._task
        if task is None or task.done():
            return
        if self.status.waiting == "over":
            self._decide(overseer.Stop())
        else:
            task.cancel()
        await wait_for_end(task)

    def accept(self) -> None:
        """Execute the proposal."""
        self._decide(overseer.Accept(), "verdict")

    def play_skill(self) -> None:
        """Let the agent play on until it begins another skill."""
        if self.human or not self.status.playing or not self.glimpses:
            return
        self.set_mode("step")
        self._through_skill, self._skill = True, self._doing if self.status.waiting == "verdict" else None
        if self.status.waiting == "verdict":
            self.accept()
        else:
            self.proceed()

    def ask_for_another(self) -> None:
        """Have the agent propose something else."""
        self._decide(overseer.Another(), "verdict")

    def play(self, command: str, orders: Directions | None = None) -> None:
        """Execute ``command`` in place of the agent's, and then the ``orders``, until one is refused."""
        if self.status.waiting != "over":
            self._decide(overseer.Play(command))
            self._orders = (command, orders)

    def drop_orders(self) -> None:
        """Execute no more of a person's orders."""
        self._orders = ("", None)

    def _carry_on(self, event: Event) -> None:
        """Decide on the next command of the person's orders, after the last one."""
        sent, orders = self._orders
        if not isinstance(event.body, Stepped) or event.body.command != sent:
            return
        self.drop_orders()
        if orders is None or event.belief is None or not event.body.accepted or event.body.terminated:
            return
        if (step := orders.next(event.belief, "")) is not None:
            self.play(*step)

    def say(self, text: str) -> None:
        """Tell the others something, in this turn or at the beginning of the next one."""
        if self.status.playing and self.status.waiting != "over":
            self._words.append(text)
            self._woken.set()

    def set_patience(self, patience: float | None) -> None:
        """Let a round go on after so many seconds in which the person types nothing; None: it waits for them."""
        self.game.patience = patience
        self._set(patience=patience)
        self._woken.set()

    def hint(self, text: str) -> None:
        """Give the agent a hint: at once where it has just proposed or waits to be asked, else at its next turn."""
        if self.status.waiting == "verdict":
            self._decide(overseer.Again(text))
        elif self.status.playing:
            self._set(hints=(*self.status.hints, text))
            self.proceed()

    def proceed(self) -> None:
        """Ask the agent: go on after a pause, try again after a failure."""
        self._decide(overseer.Proceed(), "paused", "failed")

    def set_mode(self, mode: PlayMode) -> None:
        """Change how the person plays. Taking over interrupts the agent."""
        if self.human or not self.status.playing:
            return
        self._through_skill = False
        self._set(mode=mode)
        if mode == "you":
            if self.status.waiting == "deciding":
                self._interrupted.set()
        else:
            self._paused = False
        self._woken.set()

    def set_pace(self, pace: float) -> None:
        """Play at most ``pace`` turns a second while the person watches."""
        self._set(pace=pace)
        self._woken.set()

    def interrupt(self) -> None:
        """Stop the agent from deciding, and wait for the person."""
        if self.status.waiting == "deciding":
            self.hold()

    def hold(self) -> None:
        """Stop the agent's decision, and wait for the person before its next turn."""
        if not self.human and self.status.playing and self.status.waiting != "over":
            self._pause()
            if self.status.waiting == "deciding":
                self._interrupted.set()
            self._woken.set()

    def rewind(self, to: int) -> None:
        """Go back to just after the event ``to``, and wait there for the person."""
        if self.status.playing:
            self._pause()
            self._decide(overseer.Rewind(end_of_round(self.told, to)))

    async def change_model(self, name: str) -> None:
        """Go on with the model ``name``, now or from the next turn on. Raises ``ConfigurationError`` for one that cannot be."""
        if self.game.setup is None:
            return  # the game is not open yet, and another model is refused meanwhile
        setup = await in_thread(partial(self.game.setup.each[-1].with_model, name))
        made, model = await in_thread(partial(setup.make_model, watch=self._watch)), setup.recorded_model or name
        if made is not None:
            try:
                await _check_model(setup, made)
            except BaseException:
                await made.aclose()
                raise
            self._models.append(made)
        agent = await in_thread(lambda: setup.make_agent(made, self._ask))
        if self.status.playing:
            self._change = overseer.SwitchModel(agent, model)
            self._set(model=model, destinations=tuple(setup.destinations()))
            if self.status.waiting == "deciding":
                self._interrupted.set()
            self._woken.set()

    # The overseer, called by the episode's loop.

    async def before(self, turn: int, possible: tuple[str, ...] | None) -> overseer.TurnAnswer:
        """``Overseer.before``: wait until the turn begins."""
        del turn
        self._interrupted.clear()
        self._set(possible=possible)
        while True:
            if self._change is not None and not self.human:
                change, self._change = self._change, None
                return change
            if self.human and isinstance(self._decision, overseer.Play):
                return self._deciding()  # for this person's agent
            decision = self._take_decision()
            if isinstance(decision, overseer.Play | overseer.Rewind | overseer.Stop):
                return self._acting(decision)
            self._paused = self._paused and not isinstance(decision, overseer.Proceed)
            if self.human:
                return self._deciding()
            if self.status.mode == "you":
                await self._wait("turn")
            elif self._paused:
                await self._wait("paused")
            elif self.status.mode == "watch" and (early := self._last_turn + 1 / self.status.pace - monotonic()) > 0:
                await self._wait("pace", early)
            else:
                return self._deciding()

    async def review(self, turn: int, proposal: str) -> overseer.ProposalAnswer:
        """``Overseer.review``: wait for the person's verdict on a proposal."""
        del turn
        self._interrupted.clear()
        self._set(repeated=proposal in self._declined)
        if not self._decided:
            self._decided = True
            gc.freeze()  # the first call has imported what calls need
        while True:
            match self._take_decision():
                case overseer.Play(command=command):
                    return self._acting(overseer.Replace(command))
                case overseer.Accept() | overseer.Rewind() | overseer.Stop() as decision:
                    return self._acting(decision)
                case overseer.Again() | overseer.Another() as decision:
                    self._declined.update([proposal] if isinstance(decision, overseer.Another) else [])
                    self._set(waiting="deciding")
                    return decision
                case _:
                    pass
            # Whether the proposal belongs to the skill that is played through.
            self._skill = self._doing if self._skill is None else self._skill
            self._through_skill = self._through_skill and self._doing == self._skill and self.status.mode == "step"
            if self.human or self.status.mode == "watch" or self._through_skill:
                return self._acting(overseer.Accept())
            self._paused = False
            await self._wait("turn" if self.status.mode == "you" else "verdict")

    async def interruption(self) -> None:
        """``Overseer.interruption``: return when the agent is to stop deciding."""
        await self._interrupted.wait()

    async def failed(self, turn: int, message: str) -> overseer.TurnAnswer:
        """``Overseer.failed``: ask what to do about a model that failed."""
        del turn
        self._set(failure=message)
        while True:
            change, self._change = self._change, None
            decision: overseer.TurnAnswer | None = change
            match self._take_decision():
                case overseer.Play() | overseer.Rewind() | overseer.Stop() as given:
                    decision = self._acting(given)
                case overseer.Proceed() if change is None:
                    decision = self._deciding()
                case _:
                    pass
            if decision is not None:
                self._set(failure=None)
                return decision
            await self._wait("turn" if self.status.mode == "you" else "failed")

    async def over(self, ended: Ended) -> overseer.Rewind | None:
        """``Overseer.over``: go back from the end, or leave it at that."""
        del ended
        while not isinstance(decision := self._take_decision(), overseer.Rewind | overseer.Stop):
            await self._wait("over")
        return self._acting(decision) if isinstance(decision, overseer.Rewind) else None

    async def _ask(self, turn: Turn) -> str | overseer.Say | overseer.Idle:
        """The command or the words of a person who plays beside an agent."""
        if self.game.beside:
            self._listener(Noticed(turn.news, turn.belief))
        while not isinstance(self._decision, overseer.Play):
            if self._words:
                return overseer.Say(self._words.pop(0))
            patience = self.game.patience
            if await self._wait("turn", patience) and patience is not None and not self.typing():
                return overseer.Idle(WAITED)
        command, self._decision = self._decision.command, None
        return command

    def before_partner(self) -> overseer.TurnAnswer:
        """The turn of the person's partner; meanwhile the person may go back or leave."""
        self._interrupted.clear()
        if isinstance(self._decision, overseer.Rewind | overseer.Stop):
            decision, self._decision = self._decision, None
            return self._acting(decision)
        if self._change is not None:
            change, self._change = self._change, None
            return change
        self._set(waiting="deciding")
        return overseer.Proceed()

    def _decide(self, decision: overseer.TurnAnswer | overseer.ProposalAnswer, *waiting: Waiting) -> None:
        """Store ``decision`` for the episode to find, if it waits for what ``waiting`` lists, where that matters."""
        if not self.status.playing or (waiting and self.status.waiting not in waiting):
            return
        self._decision = decision
        # A person without an agent is the agent, and is interrupted to go back or to leave.
        interrupts = self.human and self.status.waiting == "turn" and not isinstance(decision, overseer.Play)
        given = self.human and isinstance(decision, overseer.Play)  # keep it for their turn
        if interrupts or (self.status.waiting == "deciding" and not given):
            self._interrupted.set()
        self._woken.set()

    def _take_decision(self) -> overseer.TurnAnswer | overseer.ProposalAnswer | None:
        decision, self._decision = self._decision, None
        return decision

    def _glimpsed(self, glimpse: Glimpse) -> None:
        self.glimpses[glimpse.at], self._doing = glimpse, glimpse.doing

    def _pause(self) -> None:
        self._paused, self._through_skill = True, False
        if self.status.mode == "watch":
            self._set(mode="step")

    def _deciding(self) -> overseer.Proceed:
        hints = self.status.hints
        self._paused = False
        self._set(waiting="deciding", hints=())
        return overseer.Proceed(hints)

    def _acting(self, decision: R) -> R:
        self._declined.clear()
        self._set(waiting="acting")
        return decision

    async def _wait(self, waiting: Waiting, seconds: float | None = None) -> bool:
        """Wait to be woken, at most so many ``seconds``. Returns True if nobody did."""
        self._set(waiting=waiting)
        # Not `wait_for`: in Python 3.11 it loses a cancellation that comes just after the event.
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._woken.wait()
        late = not self._woken.is_set()
        self._woken.clear()
        return late

    def _watch(self, reply: ReplyProgress) -> None:
        self.reply = reply

    def _set(self, **changes: Any) -> None:
        status = replace(self.status, **changes)
        if status != self.status:
            self.status = status
            self._listener(status)

    def _hold(self, files: ExitStack) -> Path | None:
        """Hold the record until ``files`` are closed, before it is read; None where none is kept. Raises ``InUse``."""
        try:
            return files.enter_context(recording(self.game, self._resume)) if self.game.record else None
        except OSError as error:
            self._stop_recording(error)
            return None
        except InUse:
            # Home has opened the game already.
            self._models += [self.game.opened_model] if self.game.opened_model is not None else []
            if self.game.env is not None:
                self.game.env.close()
            raise

    async def _open(self, path: Path | None) -> _Opened:
        def opened() -> _Opened:
            recorded = self._recorded(path)
            game, setup = self.game, self.game.open(resumed=bool(recorded))
            self._models += [game.opened_model] if game.opened_model is not None else []
            game.person, game.watch = self._ask, self._watch
            return setup, game.env or setup.open(game.task), recorded

        def close(opening: asyncio.Future[_Opened]) -> None:
            if not opening.cancelled() and opening.exception() is None:
                opening.result()[1].close()

        opening = asyncio.ensure_future(in_thread(opened))
        try:
            made = await asyncio.shield(opening)
        except asyncio.CancelledError:
            # A thread cannot be cancelled: what it opens is closed once it is there.
            opening.add_done_callback(close)
            raise
        setup, trouble = made[0], self._left_out or self.status.trouble
        model, patience = setup.each[-1].recorded_model, self.game.patience
        self._set(trouble=trouble, model=model, destinations=tuple(setup.destinations()), patience=patience)
        gc.freeze()  # a collection that walks all that was imported takes longer than a key press may
        return made

    def _recorded(self, path: Path | None) -> tuple[Event | CallTiming, ...]:
        """The events and timings of the game that goes on. If it is recorded in ``path``, what does not fit there is moved into
        a file beside it.
        """
        if self._resume is None or not (part := part_of(self._resume)).exists():
            return ()
        sound = read_sound(part)
        if sound.fault and path is not None:
            self._left_out = _LEFT_OUT.format(fault=sound.fault, aside=leave_out(part, len(sound.events)))
        return tuple(as_played(sound.events, timing_file(part)))

    async def _play(self, setup: Setup, env: Env, recorded: Sequence[Event | CallTiming], path: Path | None) -> None:
        with ExitStack() as files:
            if path is not None:
                try:
                    self._recorder = self._record(files, path)
                except OSError as error:
                    self._stop_recording(error)
            self._seat = SeatView(env.player if isinstance(env, Seat) else None)
            for update in recorded:
                self._report(update)
            events = [update for update in recorded if isinstance(update, Event)]
            if not (events or self.game.beside):
                agent = self.game.played_by or setup.make_agent(self.game.opened_model, self.game.ask)
                await run_episode(env, agent, setup, self._emit, self, watcher=self._glimpsed)
                return
            try:
                if self.game.house is not None:
                    players = seats(setup, self, self._ask, _Partner(self), self.game.opened_model)
                    await resume_together(self.game.house, players, events, self._emit, setup.company)
                    return
                await resume_episode(
                    env,
                    setup.make_agent,
                    setup,
                    events,
                    self._emit,
                    self,
                    model=self.game.opened_model,
                    question=self._ask if self.human else None,
                    listing=lambda possible: self._set(possible=possible),
                    watcher=self._glimpsed,
                )
            except RecordMisfit as misfit:
                # Where no turn fits, another version, model or rulebook is to blame and not the record.
                if path is None or not any(isinstance(event.body, Stepped) for event in events[: misfit.event]):
                    raise
                aside = leave_out(part_of(path), misfit.event)
                raise ConfigurationError(f"{misfit} r goes on from the event before it; what followed is in {aside}.") from None

    def _record(self, files: ExitStack, path: Path) -> EpisodeRecorder:
        """Record the game in ``path``, at the end of what is there, until ``files`` are closed."""
        path.parent.mkdir(parents=True, exist_ok=True)
        clock = (
            files.enter_context(open_file(timing_file(path), "ab")) if "model" in agent_spec(self.game.agent).needs else None
        )
        return files.enter_context(EpisodeRecorder(path, clock=clock, label=path.stem, resume=part_of(path).exists()))

    def _emit(self, event: Event | CallTiming) -> None:
        if isinstance(event, Event) and isinstance(event.body, Stepped | TurnSpent):
            self._last_turn = monotonic()
            if isinstance(event.body, TurnSpent) and self.status.mode == "step":
                self._paused = True  # who steps is asked after each turn, also after one without a proposal
        if isinstance(event, Event):
            self._carry_on(event)
        if self._recorder is not None:
            try:
                self._recorder(event)
            except OSError as error:
                self._stop_recording(error)
        self._report(event)

    def _report(self, event: Event | CallTiming) -> None:
        """Report an event as the person's seat knows it."""
        seen: Event | CallTiming | None
        if isinstance(event, Event):
            self.told.append(event)
            seen = self._seat.of(event)
        else:
            seen = self._seat.of(event)
        if seen is not None:
            self._listener(seen)

    def _stop_recording(self, error: OSError) -> None:
        self._recorder = None
        where = f"{error.filename} " if error.filename else ""
        self._set(trouble=f"No record is kept: {where}cannot be written ({error.strerror}).")


class _Partner(overseer.Unattended):
    """Oversees the person's partner; if its model fails, it asks the person."""

    attended = True

    def __init__(self, session: Session) -> None:
        self._session = session

    async def before(self, turn: int, possible: tuple[str, ...] | None) -> overseer.TurnAnswer:
        del turn, possible
        return self._session.before_partner()

    async def interruption(self) -> None:
        await self._session.interruption()

    async def failed(self, turn: int, message: str) -> overseer.TurnAnswer:
        return await self._session.failed(turn, message)


async def _check_model(setup: Setup, model: Model) -> None:
    """Raise ``Unsupported`` where ``model`` is known to take no images that it would be sent."""
    with suppress(ModelError):  # the first call says what is wrong, and can be tried again
        await setup.check_model(model)
