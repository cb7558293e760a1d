"""The episode loop: an agent plays in an env, an overseer may step in, and everything becomes an event.

A failed episode is data, not a crash: any failure ends it with an ``Ended`` event that names the boundary. Only cancellation
passes through. An attending person decides what to do when a model fails, and may rewind to the end of any turn of any branch,
even of one that has ended.

One player plays an episode or, in `together.py`, several in one house. Each is an `EpisodeSeat`, which works in the same way
alone and in company.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import suppress
from copy import copy
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, TypeVar

from housequest.agent import base
from housequest.agent.agents.spec import check_is_agent, make_agent
from housequest.agent.episodes import emitter, events
from housequest.agent.episodes.config import PLAN, VIEW, EpisodeConfig, annotated_plan
from housequest.agent.episodes.curiosity import is_random_turn, random_command
from housequest.agent.episodes.drawing import Eyes, camera_view, photographed, room_to_see
from housequest.agent.episodes.emitter import (
    EpisodeOver,
    EpisodeState,
    EventEmitter,
    EventListener,
    ListenerError,
    SeatEmitter,
    attributed,
)
from housequest.agent.episodes.events import CallTiming, Event
from housequest.agent.models.base import Timing
from housequest.agent.roles.base import clean, notes_of_model
from housequest.agent.skills.searching import linger
from housequest.knowledge.choosing import RuleBudget, topic_of
from housequest.worlds.base import Env, Observation, Pictured, Step, Task, Transition, World
from housequest.worlds.env import Enacted, enacted, unwrapped
from housequest.worlds.errors import ModelError, Unsupported
from housequest.worlds.household.base import Household, with_belief
from housequest.worlds.household.goals import Topic
from housequest.worlds.paths import FORMAT
from housequest.worlds.registry import known_task

R = TypeVar("R")

TALKED = "talked"
"""The reason of a turn that a message cost."""
MOST_SAID = 8
"""The most messages of a player in one turn; more are not delivered, or cost the turn."""
MOST_UNREAD = 5
"""An unattended episode is lost after this many turns in a row without a readable reply, to save the cost of more."""


async def run_episode(
    env: Env,
    agent: base.Agent,
    config: EpisodeConfig,
    listener: EventListener,
    overseer: base.Overseer | None = None,
    *,
    watcher: base.Watcher | None = None,
    halt: Callable[[ModelError], None] = lambda _: None,
) -> events.Ended:
    """Play one episode to its end. The caller closes ``env``; the loop closes its copies.

    Args:
        env: A new env of ``config.world``.
        agent: Plays it.
        config: The turns, grants and rules.
        listener: Gets every event.
        overseer: A person who may step in.
        watcher: Gets what a `Watchable` agent recognises in each picture.
        halt: Called with a fatal error of a model before it ends the episode; a ``BaseException`` leaves it unfinished.

    Returns:
        The end of the last branch.
    """
    sent = EventEmitter(listener)
    seat = EpisodeSeat(env, agent, config, overseer or base.Unattended(), SeatEmitter(sent, None), watcher)
    return await RunningEpisode(env, (seat,), sent, halt).run()


async def play(
    world: World | str,
    task: Task | str,
    agent: base.Agent | str,
    *,
    max_turns: int = 50,
    grants: frozenset[str] = frozenset(),
    overseer: base.Overseer | None = None,
    rules: Sequence[str] = (),
) -> AsyncIterator[Event]:
    """Play a task, event by event. To end the episode early, leave the iteration.

    Args:
        world: The task's world, or its name.
        task: The task to play, or its reference such as ``generated:690``.
        agent: Plays it; an agent that needs no model may be named.
        max_turns: The most turns; each executed command and each unreadable reply takes one.
        grants: ``admissible``, ``type``, ``diagnosis``, ``view`` and ``plan`` show the agent more than text.
        overseer: A person who may step in.
        rules: Statements that are all shown to the agent.

    Yields:
        Each event when it happens.

    Raises:
        ConfigurationError: There is no such world, task or agent.
    """
    world, task = known_task(world, task)
    agent = make_agent(agent, world=world) if isinstance(agent, str) else check_is_agent(agent)
    queue: asyncio.Queue[Event | None] = asyncio.Queue()

    def listen(event: Event | CallTiming) -> None:
        if isinstance(event, Event):
            queue.put_nowait(event)

    config = EpisodeConfig(world, grants, max_turns, rules=RuleBudget.of_statements(rules))
    env = config.open(task)
    episode = asyncio.create_task(run_episode(env, agent, config, listen, overseer))
    episode.add_done_callback(lambda _: queue.put_nowait(None))
    try:
        while (event := await queue.get()) is not None:
            yield event
        await episode
    finally:
        episode.cancel()
        try:
            await emitter.wait_for_end(episode)
        finally:
            env.close()


_Answer = base.Proceed | base.Play | base.SwitchModel | base.Stop
"""A person's answer at a turn, other than to go back."""


class _RewindTo(Exception):
    """The person rewinds to this event."""


@dataclass(frozen=True, slots=True)
class Decided:
    """An agent's decision, with its memory if it is accepted."""

    decision: base.Decision
    memory: base.Memory
    notes: frozenset[str]
    by: events.Player = "agent"


@dataclass(slots=True, eq=False)
class EpisodeSeat:
    """One player's own part of an episode. In company its env is a ``Seat`` of the house."""

    env: Env
    agent: base.Agent
    config: EpisodeConfig
    overseer: base.Overseer
    emitter: SeatEmitter
    watcher: base.Watcher | None = None
    grants: base.Grants = field(default_factory=base.Grants)
    eyes: Eyes | None = None
    topic: Topic | None = None
    state: EpisodeState = field(default_factory=EpisodeState)
    answer: int | None = None  # the agent's last answer to a hint since it was last asked

    @property
    def name(self) -> str:
        """The player's name; "" if it plays alone."""
        return self.emitter.player or ""

    def accept(self, decided: Decided) -> None:
        """Go on from a decision, which takes all that the turn brought into account."""
        state = self.state
        state.memory, state.notes, state.unseen = decided.memory, decided.notes, ()
        state.hints, state.answered, state.proposed = (), 0, ()


@dataclass(slots=True, eq=False)
class RunningEpisode:
    """One running episode. The house is reached by the ``env`` of its first player, and is that env if nobody else plays.

    ``turn_start`` is the event that ended the last turn, or ``Started``: a rewind goes there. ``checkpoints`` are the states of
    all players on all branches after the last such event of a round, each with a copy of the env, if it can be copied.
    """

    given_env: Env
    seats: tuple[EpisodeSeat, ...]
    emitter: EventEmitter
    halt: Callable[[ModelError], None]
    household: Household | None = None
    checkpoints: dict[int, tuple[tuple[EpisodeState, ...], Env | None]] = field(
        default_factory=dict[int, tuple[tuple[EpisodeState, ...], "Env | None"]]
    )
    turn_start: int = 0

    @property
    def config(self) -> EpisodeConfig:
        """The settings that are the same for all players."""
        return self.seats[0].config

    @property
    def env(self) -> Env:
        """The first player's env."""
        return self.seats[0].env

    @property
    def attended(self) -> bool:
        """True if a person attends anybody."""
        return any(seat.overseer.attended for seat in self.seats)

    @property
    def turn(self) -> int:
        """The last turn that anybody took."""
        return max(seat.state.turn for seat in self.seats)

    async def run(self) -> events.Ended:
        begin = self._start
        try:
            while True:
                try:
                    return await self._branch(begin)
                except _RewindTo as rewind:
                    begin = partial(self._rewind, *rewind.args)
        except ListenerError as failure:
            raise failure.args[0] from None
        finally:
            if self.env is not self.given_env:
                self.env.close()
            for _, copied in self.checkpoints.values():
                if copied is not None:
                    copied.close()

    async def _branch(self, begin: Callable[[], Awaitable[None]]) -> events.Ended:
        try:
            await begin()
            while self.turn < self.config.max_turns:
                if self.attended:
                    await self._in_world(self._save)
                await self._play_round(self.turn + 1)
            raise EpisodeOver("lost", f"out of turns ({self.config.max_turns})")
        except EpisodeOver as over:
            ended = self._end(over)
        for seat in self.seats:
            while seat.overseer.attended:
                if isinstance(await self._checked(seat, await seat.overseer.over(ended)), base.Stop | None):
                    break
        return ended

    async def _start(self) -> None:
        steps = await self._in_world(self._open)
        task, config = self.env.task, self.config
        with attributed("world"):
            self.household = config.world.household
            openings = [with_belief(self.household, step.observation) for step in steps]
        opening = openings[0]
        of_task = {name: getattr(task, name) for name in ("world", "split", "number", "type", "goal", "wording")}
        of_config = {name: getattr(config, name) for name in ("habits", "curiosity", "max_turns", "seed")}
        self.emitter.emit(
            events.Started(
                format=FORMAT,
                task=task.id,
                engine=config.world.engine,
                agent=",".join(dict.fromkeys(seat.agent.name for seat in self.seats)),
                rules_budget=config.rules.budget if config.rules else None,
                grants=tuple(sorted(config.grants)),
                opening=opening.text,
                **self._played_by(openings),
                **of_task,
                **of_config,
            ),
            opening.belief,
        )
        for seat, opening in zip(self.seats, openings, strict=True):
            await self._begin(seat, task, opening)
        self._listen(None)
        for step in steps:
            _end_if_over(step)

    # `together.py` overrides these for several players.

    @property
    def talk(self) -> events.Talking:
        """The price of a message."""
        return "off"

    def _open(self) -> list[Step]:
        """The opening of each player."""
        return [self.env.reset()]

    def _played_by(self, openings: Sequence[Observation]) -> dict[str, Any]:
        """The fields of ``Started`` that say who plays."""
        del openings
        rules = self.config.rules.label if self.config.rules else None
        return {"model": self.config.recorded_model, "settings": dict(self.config.settings), "rules": rules}

    async def _play_round(self, number: int) -> None:
        """Let everybody take a turn. Raises ``EpisodeOver`` at the first step that wins: the others do not move any more."""
        await self._take_turn(self.seats[0], number)

    def _listen(self, actor: EpisodeSeat | None) -> None:
        """Add to the others' news what they can notice after a command of ``actor``."""

    def _say(self, seat: EpisodeSeat, says: Sequence[str], number: int) -> bool:
        """Tell the others what a player says. Returns True if that costs the turn."""
        del seat, says, number
        return False

    def _goes_on(self, seat: EpisodeSeat, decided: Decided, number: int) -> bool:
        """Carry out a decision that leaves a player its turn. Returns False for any other."""
        del seat, decided, number
        return False

    async def _wait(self, seat: EpisodeSeat) -> None:
        """Let the house know that a player's turn passes."""

    async def _give_up(self, seat: EpisodeSeat, number: int, reason: str) -> None:
        """A player gives up."""
        del number
        self._leave(seat, reason)

    def _leave(self, seat: EpisodeSeat, reason: str) -> None:
        """A player leaves the game. Raises ``EpisodeOver`` if nobody is left."""
        del seat
        raise EpisodeOver("lost", reason)

    def _reseat(self, env: Env) -> None:
        """Let everybody play on in a copy of the house."""
        self.seats[0].env = env

    async def _begin(self, seat: EpisodeSeat, task: Task, opening: Observation) -> None:
        config = seat.config
        seat.grants = base.Grants(
            admissible="admissible" in config.grants,
            diagnosis="diagnosis" in config.grants,
            task_type=task.type if "type" in config.grants else None,
            attempts=config.attempts.get(task.id, ()),
            plan=await self._in_world(partial(annotated_plan, config.world, task)) if PLAN in config.grants else None,
        )
        with attributed("agent"):
            seat.state = EpisodeState(seat.agent.begin(task.goal, opening, seat.grants), belief=opening.belief)
        if VIEW in config.grants and not isinstance(unwrapped(seat.env), Pictured):
            with attributed("world"):
                seat.eyes = Eyes(await asyncio.to_thread(room_to_see, config.world, task))
        if config.rules is not None:
            with attributed("knowledge"):
                seat.topic = topic_of(task.goal, seat.grants.task_type, opening.belief, self.household)

    def _end(self, over: EpisodeOver) -> events.Ended:
        told = {name: getattr(over, name) for name in ("outcome", "reason", "boundary", "message")}
        steps = sum(seat.state.steps for seat in self.seats)
        refused = sum(not one.observation.accepted for seat in self.seats for one in seat.state.played)
        ended = events.Ended(turns=self.turn, steps=steps, refused=refused, assisted=self.emitter.assisted, **told)
        self.emitter.emit(ended)
        return ended

    async def _rewind(self, asked: EpisodeSeat, to: int) -> None:
        saved, copied = self.checkpoints[to]
        for seat, state in zip(self.seats, saved, strict=True):
            seat.state = copy(state)
        self.emitter.last = self.turn_start = to
        asked.emitter.intervene("rewind", f"to turn {self.turn + 1}")
        if copied is None:
            with attributed("world"):
                await asyncio.to_thread(emitter.replay, asked.env, asked.state.played)
        else:
            env = await self._in_world(copied.copy)
            if self.env is not self.given_env:
                self.env.close()
            self._reseat(env)

    async def _take_turn(self, seat: EpisodeSeat, number: int) -> None:
        attended, config = seat.overseer.attended, seat.config
        seed, task = config.seed, seat.env.task.id
        curiosity = 0.0 if attended or config.curiosity is None else config.curiosity
        if curiosity == "linger":
            with attributed("knowledge"):
                command = self._lingering(seat)
            if command is not None:
                return await self._execute(seat, command, "curiosity")
        curious = curiosity != "linger" and is_random_turn(curiosity, seed, task, number)
        listed = attended or curious or seat.grants.admissible
        possible = await self._in_world(seat.env.admissible_commands) if listed else None
        if curious:
            with attributed("world"):
                command = random_command(possible, seed, task, number)
            if command is not None:
                return await self._execute(seat, command, "curiosity")
        answer: _Answer | None = None
        said = 0
        while True:
            if answer is None:
                answer = await self._checked(seat, await seat.overseer.before(number, possible if attended else None))
            match answer:
                case base.Proceed(hints=hints):
                    for hint in hints:
                        self._hint(seat, "hint", hint)
                    decided = await self._decide(seat, number, possible)
                    if not isinstance(decided, Decided):
                        answer = decided
                    elif said < MOST_SAID and self._goes_on(seat, decided, number):
                        answer, said = None, said + isinstance(decided.decision, base.Say)
                    else:
                        return await self._carry_out(seat, decided, number)
                case base.Stop(reason=reason):
                    seat.emitter.intervene("stop", reason)
                    raise EpisodeOver("stopped", reason)
                case base.Play(command=command):
                    seat.emitter.intervene("play", command)
                    return await self._execute(seat, clean(command), "person")
                case base.SwitchModel(agent=agent, model=model):
                    seat.emitter.intervene("model", model)
                    seat.agent, seat.state.notes = agent, frozenset()
                    place = self.seats.index(seat)
                    for saved, _ in self.checkpoints.values():
                        saved[place].notes = frozenset()
                    answer = None

    def _lingering(self, seat: EpisodeSeat) -> str | None:
        household, belief = self.household, seat.state.belief
        if household is None or belief is None:
            return None
        goal = household.read_goal(seat.env.task.goal, belief.kinds)
        rules = () if seat.config.rules is None else seat.config.rules.rules
        refused = (one.command for one in seat.state.played if not one.observation.accepted)
        return linger(goal, belief, rules, household.counts(), seat.config.max_turns - seat.state.turn, refused)

    def _save(self) -> None:
        if self.turn_start not in self.checkpoints:
            copied: Env | None = None
            with suppress(Unsupported):
                copied = self.env.copy()
            if copied is None and len(self.seats) > 1:
                return  # to play again what one player did would leave out the others
            self.checkpoints[self.turn_start] = tuple(copy(seat.state) for seat in self.seats), copied

    async def _turn(self, seat: EpisodeSeat, number: int, possible: tuple[str, ...] | None) -> base.Turn:
        """The input of this turn's decision."""
        state, config = seat.state, seat.config
        if config.rules is not None and seat.topic is not None:
            with attributed("knowledge"):
                state.rules += config.rules.select(seat.topic, state.belief, state.rules)
        image = await self._in_world(partial(photographed, seat.env)) if VIEW in config.grants else None
        if seat.eyes is not None and state.belief is not None:
            with attributed("world"):
                image = await seat.eyes.see(state.belief)
        frame, pose = await self._in_world(partial(camera_view, seat.agent, seat.env))
        return base.Turn(
            number=number,
            left=config.max_turns - state.turn,
            transitions=state.unseen,
            hints=state.hints,
            answered=state.answered,
            proposed=state.proposed,
            rules=state.rules,
            admissible=possible if seat.grants.admissible else None,
            belief=state.belief,
            image=image,
            frame=frame,
            pose=pose,
            news=state.shown,
        )

    async def _decide(self, seat: EpisodeSeat, number: int, possible: tuple[str, ...] | None) -> Decided | _Answer | None:
        """Ask the agent and the overseer until a decision is accepted.

        Returns a person's answer instead, or None if they interrupted.
        """
        overseer = seat.overseer
        turn = await self._turn(seat, number, possible)
        before = self.emitter.last
        while True:
            asking = partial(self._ask, seat, turn)
            answer = await (emitter.unless(overseer.interruption, asking) if overseer.attended else asking())
            # Until a decision is accepted the agent keeps its old memory; its events meanwhile are an abandoned branch.
            if answer is None:
                self.emitter.last = before
                seat.emitter.intervene("interrupt")
                return None
            if isinstance(answer, ModelError) and overseer.attended:
                seat.emitter.emit(events.ModelFailed(turn=number, boundary=answer.boundary, message=clean(answer.recorded)))
                wish = await self._checked(seat, await overseer.failed(number, clean(str(answer))))
                if not isinstance(wish, base.Stop):
                    self.emitter.last = before
                if isinstance(wish, base.Proceed):
                    seat.emitter.intervene("retry")
                return wish
            answer = self._unattended(seat, answer)
            if not isinstance(answer.decision, base.Act):
                return answer
            seat.emitter.emit(events.Proposed(turn=number, command=answer.decision.command))
            verdict = base.Proceed()
            while isinstance(verdict, base.Proceed):
                verdict = await self._checked(seat, await overseer.review(number, answer.decision.command))
            match verdict:
                case base.Accept():
                    return answer
                case base.Replace(command=command):
                    seat.emitter.intervene("replace", command)
                    return replace(answer, decision=base.Act(clean(command)), by="person")
                case base.Again() | base.Another():
                    # Answers stay, each below its hint.
                    self.emitter.last = before = seat.answer or before
                    seat.state.answered = len(turn.hints)
                    if isinstance(verdict, base.Again):
                        self._hint(seat, "again", verdict.hint, answer.decision.command)
                    else:
                        seat.emitter.intervene("another")
                        turn = replace(turn, declined=(*turn.declined, answer.decision.command))
                    before, state = self.emitter.last, seat.state
                    turn = replace(turn, hints=state.hints, answered=state.answered, proposed=state.proposed)
                case base.Stop():
                    return verdict
                case base.Play() | base.SwitchModel():  # a person's answer to a rewind that leads nowhere
                    self.emitter.last = before
                    return verdict

    async def _ask(self, seat: EpisodeSeat, turn: base.Turn) -> Decided | ModelError:
        agent, memory, seat.answer = seat.agent, seat.state.memory, None

        def emit(body: base.AgentEvent, timing: Timing | None = None) -> None:
            seat.emitter.from_agent(body, timing)
            if isinstance(body, events.Thought) and body.answers:
                seat.answer = self.emitter.last

        with attributed("agent"), notes_of_model(seat.state.notes) as notes:
            watched = agent if seat.watcher is not None and isinstance(agent, base.Watchable) else None
            if watched is not None:
                # Show what the agent sees while its model still thinks.
                self._show(seat, watched, await watched.attend(memory, turn))
            try:
                decision, memory = await base.decision_of(agent, memory, turn, emit)
            except ModelError as error:
                if error.fatal:
                    self.halt(error)
                return error
            if watched is not None:
                self._show(seat, watched, memory)
        return Decided(decision, memory, frozenset(notes))

    def _unattended(self, seat: EpisodeSeat, answer: Decided | ModelError) -> Decided:
        """The decision; a failed model ends the episode where nobody can be asked."""
        if isinstance(answer, Decided):
            return answer
        if answer.overflow and seat.emitter.mostly_unread:
            # Not an error: another try would end the same way.
            raise EpisodeOver("lost", emitter.FILLED, message=clean(answer.recorded)) from answer
        with attributed("agent"):
            raise answer

    def _show(self, seat: EpisodeSeat, watched: base.Watchable, memory: base.Memory) -> None:
        if seat.watcher is not None:
            seat.watcher(base.Glimpse(self.turn_start, watched.doing(memory), partial(watched.impression, memory)))

    async def _checked(self, seat: EpisodeSeat, answer: R | base.Rewind) -> R | _Answer:
        """Return ``answer``. If it rewinds, raise ``_RewindTo``, or ask the person again if there is nothing to go back to."""
        checked: R | base.TurnAnswer = answer
        while isinstance(checked, base.Rewind):
            if checked.to in self.checkpoints:
                raise _RewindTo(seat, checked.to)
            message = (
                f"There is no way back to event {checked.to}: give the id of the start, or of the end of a turn that another "
                "one followed."
            )
            checked = await seat.overseer.failed(seat.state.turn + 1, message)
        return checked

    async def _carry_out(self, seat: EpisodeSeat, decided: Decided, number: int) -> None:
        state = seat.state
        seat.accept(decided)
        match decided.decision:
            case base.Leave(reason=reason):
                raise EpisodeOver("stopped", reason)
            case base.GiveUp(reason=reason):
                await self._give_up(seat, number, f"gave up: {reason}")
            case base.ParseFailure() | base.Idle() as spent:
                await self._spend(seat, number, clean(spent.reason) if isinstance(spent, base.Idle) else None)
                state.unread = state.unread + 1 if isinstance(spent, base.ParseFailure) else 0
                if state.unread == MOST_UNREAD and not seat.overseer.attended:
                    self._leave(seat, f"{emitter.UNREAD}, {MOST_UNREAD} turns in a row")
            case base.Act(command=command, says=says):
                if not self._say(seat, says, number):
                    await self._execute(seat, command, decided.by)
                else:
                    await self._spend(seat, number, TALKED)
            case base.Say(text=text):
                self._say(seat, (text,), number)
                await self._spend(seat, number, TALKED)
            case base.Overheard() | base.HandOver():
                raise AssertionError("only a player in company hears others or hands over")

    async def _spend(self, seat: EpisodeSeat, number: int, reason: str | None) -> None:
        """Let a turn pass, in which nothing is executed."""
        seat.state.turn = number
        await self._wait(seat)
        self.turn_start = seat.emitter.emit(events.TurnSpent(turn=number, reason=reason, news=seat.state.shown or None))

    async def _execute(self, seat: EpisodeSeat, command: str, by: events.Player) -> None:
        state, env = seat.state, seat.env
        state.turn += 1
        state.steps += 1
        state.unread = 0
        before = enacted(env) or Enacted()
        step: Step = await self._in_world(partial(env.step, command))
        after = enacted(env) or before
        met = await self._in_world(env.goal_conditions)
        self._listen(seat)
        with attributed("world"):
            answer = with_belief(self.household, step.observation, state.belief, command)
        transition = Transition(command, answer)
        state.unseen += (transition,)
        state.played += (transition,)
        state.belief = answer.belief
        self.turn_start = seat.emitter.emit(
            events.Stepped(
                turn=state.turn,
                command=command,
                by=by,
                observation=answer.text,
                accepted=answer.accepted,
                explanation=answer.explanation,
                won=step.won,
                terminated=step.terminated,
                truncated=step.truncated or (state.turn >= seat.config.max_turns and not step.terminated),
                met=met[0] if met else None,
                conditions=met[1] if met else None,
                enacted=after.actions - before.actions if after.commands > before.commands else None,
                diverged=after.divergences[-1].reason if len(after.divergences) > len(before.divergences) else None,
                news=state.shown or None,
            ),
            answer.belief,
        )
        _end_if_over(step)

    async def _in_world(self, call: Callable[[], R]) -> R:
        with attributed("world"):
            return call() if self.config.world.info.inline else await asyncio.to_thread(call)

    def _hint(self, seat: EpisodeSeat, action: events.PersonAction, hint: str, proposed: str = "") -> None:
        seat.emitter.intervene(action, hint)
        if hint:
            seat.state.hints += (clean(hint),)
            seat.state.proposed += (proposed,)


def _end_if_over(step: Step) -> None:
    if step.won:
        raise EpisodeOver("won", "the task is done")
    if step.terminated:
        raise EpisodeOver("lost", "the world ended the episode")
    if step.truncated:
        raise EpisodeOver("lost", "the world's own limit ended the episode")
