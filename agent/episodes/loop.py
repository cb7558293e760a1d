"""The episode loop: an agent plays in an env, an overseer may step in, and everything becomes an event.

A failed episode is data, not a crash: any failure ends it with an ``Ended`` event that names the boundary. Only cancellation
passes through. A person who attends is asked what to do when a model fails, and may rewind to the end of any turn of any
branch, also after a branch has ended.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from copy import copy
from dataclasses import dataclass, field, replace
from functools import partial
from random import Random
from typing import TypeVar

from housequest.agent import base
from housequest.agent.episodes import emitter, events
from housequest.agent.episodes.drawing import Eyes, camera_view, photographed, room_to_see
from housequest.agent.episodes.emitter import EpisodeOver, EpisodeState, EventEmitter, EventListener, ListenerError, attributed
from housequest.agent.episodes.events import CallTiming, Event
from housequest.agent.roles.base import clean, notes_of_model
from housequest.agent.skills.searching import linger
from housequest.knowledge.choosing import RuleBudget, topic_of
from housequest.worlds.base import Demonstrated, Env, Pictured, Step, Task, Transition, World
from housequest.worlds.env import Enacted, enacted, open_env, unwrapped
from housequest.worlds.errors import GameError, ModelError, Unsupported
from housequest.worlds.household.base import Household, with_belief
from housequest.worlds.household.goals import Skill, Topic
from housequest.worlds.paths import FORMAT

R = TypeVar("R")

MOST_UNREAD = 5
"""An unattended episode is lost after this many turns in a row without a readable reply, to save the cost of more."""
VIEW = "view"
PLAN = "plan"
"""The grant that shows an agent the annotated plan."""


@dataclass(frozen=True, slots=True)
class EpisodeConfig:
    """The settings of an episode, all of which are recorded.

    Args:
        max_turns: Each executed command and each unreadable reply takes one turn.
        grants: ``admissible``, ``type``, ``diagnosis``, ``view`` and ``plan`` show the agent more than text.
        rules: Those that the agent may be shown.
        curiosity: The probability that a turn plays a random admissible command instead of the agent's (epsilon); or to
            linger, see `housequest.agent.skills.searching.linger`.
        attempts: Earlier attempts at a task, by the task's id.
    """

    world: World
    grants: frozenset[str] = frozenset()
    max_turns: int = 50
    seed: int = 0
    model: str | None = None
    rules: RuleBudget | None = None
    habits: str | None = None
    settings: Mapping[str, str | int | float | bool] = field(default_factory=dict[str, str | int | float | bool])
    curiosity: events.Curiosity | None = None
    attempts: Mapping[str, tuple[base.Attempt, ...]] = field(default_factory=dict[str, tuple[base.Attempt, ...]])

    @property
    def recorded_model(self) -> str | None:
        """The model's name in records."""
        return self.model

    def open(self, task: Task) -> Env:
        """Open a task, with the diagnosis if it is granted.

        Args:
            task: A task of ``world``.

        Returns:
            A new env.

        Raises:
            GameError: The game is missing or damaged.
            Unsupported: The world cannot give the diagnosis.
        """
        return open_env(self.world, task, diagnosis="diagnosis" in self.grants)

    def check_grants(self, tasks: Iterable[Task]) -> None:
        """Check before a run that the world can give all grants.

        Args:
            tasks: Tasks of a split, which are alike in this.

        Raises:
            Unsupported: The world cannot give one of the grants.
        """
        for task in tasks:
            with suppress(GameError):
                if "diagnosis" in self.grants:
                    self.open(task).close()
                if PLAN in self.grants:
                    _annotated(self.world, task)
                return


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
    given = (env, env, agent, config, EventEmitter(listener), overseer or base.Unattended(), watcher, halt)
    return await _Episode(*given).run()


async def play(
    world: World,
    task: Task,
    agent: base.Agent,
    *,
    max_turns: int = 50,
    grants: frozenset[str] = frozenset(),
    overseer: base.Overseer | None = None,
    rules: Sequence[str] = (),
) -> AsyncIterator[Event]:
    """Play a task, event by event. To end the episode early, leave the iteration.

    Args:
        world: The task's world.
        task: The task to play.
        agent: Plays it.
        max_turns: The most turns; each executed command and each unreadable reply takes one.
        grants: ``admissible``, ``type``, ``diagnosis``, ``view`` and ``plan`` show the agent more than text.
        overseer: A person who may step in.
        rules: Statements that are all shown to the agent.

    Yields:
        Each event when it happens.
    """
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
class _Decided:
    decision: base.Decision
    memory: base.Memory
    notes: frozenset[str]
    by: events.Player = "agent"


@dataclass(slots=True, eq=False)
class _Episode:
    """One running episode.

    ``turn_start`` is the event that ended the last turn, or ``Started``: a rewind goes there. ``checkpoints`` are the states of
    all branches after such events, each with a copy of the env, if it can be copied.
    """

    given_env: Env
    env: Env
    agent: base.Agent
    config: EpisodeConfig
    emitter: EventEmitter
    overseer: base.Overseer
    watcher: base.Watcher | None
    halt: Callable[[ModelError], None]
    grants: base.Grants = field(default_factory=base.Grants)
    household: Household | None = None
    eyes: Eyes | None = None
    topic: Topic | None = None
    state: EpisodeState = field(default_factory=EpisodeState)
    checkpoints: dict[int, tuple[EpisodeState, Env | None]] = field(default_factory=dict[int, tuple[EpisodeState, Env | None]])
    turn_start: int = 0

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
            while self.state.turn < self.config.max_turns:
                await self._take_turn(self.state.turn + 1)
            raise EpisodeOver("lost", f"out of turns ({self.config.max_turns})")
        except EpisodeOver as over:
            ended = self._end(over)
        while self.overseer.attended:
            if isinstance(await self._checked(await self.overseer.over(ended)), base.Stop | None):
                break
        return ended

    async def _start(self) -> None:
        opened, task, config = await self._in_world(self.env.reset), self.env.task, self.config
        with attributed("world"):
            self.household = config.world.household
            opening = with_belief(self.household, opened.observation)
        self.grants = base.Grants(
            admissible="admissible" in config.grants,
            diagnosis="diagnosis" in config.grants,
            task_type=task.type if "type" in config.grants else None,
            attempts=config.attempts.get(task.id, ()),
            plan=await self._in_world(partial(_annotated, config.world, task)) if PLAN in config.grants else None,
        )
        of_task = {name: getattr(task, name) for name in ("world", "split", "number", "type", "goal", "wording")}
        of_config = {name: getattr(config, name) for name in ("habits", "curiosity", "max_turns", "seed")}
        self.emitter.emit(
            events.Started(
                format=FORMAT,
                task=task.id,
                engine=config.world.engine,
                model=config.recorded_model,
                agent=self.agent.name,
                settings=dict(config.settings),
                rules=config.rules.label if config.rules else None,
                rules_budget=config.rules.budget if config.rules else None,
                grants=tuple(sorted(config.grants)),
                opening=opening.text,
                **of_task,
                **of_config,
            ),
            opening.belief,
        )
        with attributed("agent"):
            self.state = EpisodeState(self.agent.begin(task.goal, opening, self.grants), belief=opening.belief)
        if VIEW in config.grants and not isinstance(unwrapped(self.env), Pictured):
            with attributed("world"):
                self.eyes = Eyes(await asyncio.to_thread(room_to_see, config.world, task))
        if config.rules is not None:
            with attributed("knowledge"):
                self.topic = topic_of(task.goal, self.grants.task_type, opening.belief, self.household)
        _end_if_over(opened)

    def _end(self, over: EpisodeOver) -> events.Ended:
        told = {name: getattr(over, name) for name in ("outcome", "reason", "boundary", "message")}
        turns, steps = self.state.turn, self.state.steps
        refused = sum(not one.observation.accepted for one in self.state.played)
        ended = events.Ended(turns=turns, steps=steps, refused=refused, assisted=self.emitter.assisted, **told)
        self.emitter.emit(ended)
        return ended

    async def _rewind(self, to: int) -> None:
        saved, copied = self.checkpoints[to]
        self.state = copy(saved)
        self.emitter.last = self.turn_start = to
        self.emitter.intervene("rewind", f"to turn {self.state.turn + 1}")
        if copied is None:
            with attributed("world"):
                await asyncio.to_thread(emitter.replay, self.env, self.state.played)
        else:
            env = await self._in_world(copied.copy)
            if self.env is not self.given_env:
                self.env.close()
            self.env = env

    async def _take_turn(self, number: int) -> None:
        attended = self.overseer.attended
        if attended:
            await self._in_world(self._save)
        seed, task = self.config.seed, self.env.task.id
        curiosity = 0.0 if attended or self.config.curiosity is None else self.config.curiosity
        if curiosity == "linger":
            with attributed("knowledge"):
                command = self._lingering()
            if command is not None:
                return await self._execute(command, "curiosity")
        curious = curiosity != "linger" and is_random_turn(curiosity, seed, task, number)
        listed = attended or curious or self.grants.admissible
        possible = await self._in_world(self.env.admissible_commands) if listed else None
        if curious:
            with attributed("world"):
                command = random_command(possible, seed, task, number)
            if command is not None:
                return await self._execute(command, "curiosity")
        answer: _Answer | None = None
        while True:
            if answer is None:
                answer = await self._checked(await self.overseer.before(number, possible if attended else None))
            match answer:
                case base.Proceed(hints=hints):
                    for hint in hints:
                        self._hint("hint", hint)
                    decided = await self._decide(number, possible)
                    if isinstance(decided, _Decided):
                        return await self._carry_out(decided, number)
                    answer = decided
                case base.Stop(reason=reason):
                    self.emitter.intervene("stop", reason)
                    raise EpisodeOver("stopped", reason)
                case base.Play(command=command):
                    self.emitter.intervene("play", command)
                    return await self._execute(clean(command), "person")
                case base.SwitchModel(agent=agent, model=model):
                    self.emitter.intervene("model", model)
                    self.agent, self.state.notes = agent, frozenset()
                    for saved, _ in self.checkpoints.values():
                        saved.notes = frozenset()
                    answer = None

    def _lingering(self) -> str | None:
        household, belief = self.household, self.state.belief
        if household is None or belief is None:
            return None
        goal = household.read_goal(self.env.task.goal, belief.kinds)
        rules = () if self.config.rules is None else self.config.rules.rules
        refused = (one.command for one in self.state.played if not one.observation.accepted)
        return linger(goal, belief, rules, household.counts(), self.config.max_turns - self.state.turn, refused)

    def _save(self) -> None:
        if self.turn_start not in self.checkpoints:
            copied: Env | None = None
            with suppress(Unsupported):
                copied = self.env.copy()
            self.checkpoints[self.turn_start] = copy(self.state), copied

    async def _decide(self, number: int, possible: tuple[str, ...] | None) -> _Decided | _Answer | None:
        """Ask the agent and the overseer until a decision is accepted.

        Returns a person's answer instead, or None if they interrupted.
        """
        state = self.state
        if self.config.rules is not None and self.topic is not None:
            with attributed("knowledge"):
                state.rules += self.config.rules.select(self.topic, state.belief, state.rules)
        image = await self._in_world(partial(photographed, self.env)) if VIEW in self.config.grants else None
        if self.eyes is not None and state.belief is not None:
            with attributed("world"):
                image = await self.eyes.see(state.belief)
        frame, pose = await self._in_world(partial(camera_view, self.agent, self.env))
        before, declined = self.emitter.last, ()
        while True:
            turn = base.Turn(
                number=number,
                left=self.config.max_turns - state.turn,
                transitions=state.unseen,
                hints=state.hints,
                declined=declined,
                rules=state.rules,
                admissible=possible if self.grants.admissible else None,
                belief=state.belief,
                image=image,
                frame=frame,
                pose=pose,
            )
            asking = partial(self._ask, turn)
            answer = await (emitter.unless(self.overseer.interruption, asking) if self.overseer.attended else asking())
            # Until a decision is accepted the agent keeps its old memory; its events meanwhile are an abandoned branch.
            if answer is None:
                self.emitter.last = before
                self.emitter.intervene("interrupt")
                return None
            if isinstance(answer, ModelError):
                self.emitter.emit(events.ModelFailed(turn=number, boundary=answer.boundary, message=clean(answer.recorded)))
                wish = await self._checked(await self.overseer.failed(number, clean(str(answer))))
                if not isinstance(wish, base.Stop):
                    self.emitter.last = before
                if isinstance(wish, base.Proceed):
                    self.emitter.intervene("retry")
                return wish
            if not isinstance(answer.decision, base.Act):
                return answer
            self.emitter.emit(events.Proposed(turn=number, command=answer.decision.command))
            verdict = base.Proceed()
            while isinstance(verdict, base.Proceed):
                verdict = await self._checked(await self.overseer.review(number, answer.decision.command))
            match verdict:
                case base.Accept():
                    return answer
                case base.Replace(command=command):
                    self.emitter.intervene("replace", command)
                    return replace(answer, decision=base.Act(clean(command)), by="person")
                case base.Again(hint=hint):
                    self.emitter.last = before
                    self._hint("again", hint)
                    before = self.emitter.last
                case base.Another():
                    self.emitter.last = before
                    self.emitter.intervene("another")
                    before, declined = self.emitter.last, (*declined, answer.decision.command)
                case base.Stop():
                    return verdict
                case base.Play() | base.SwitchModel():  # a person's answer to a rewind that leads nowhere
                    self.emitter.last = before
                    return verdict

    async def _ask(self, turn: base.Turn) -> _Decided | ModelError:
        with attributed("agent"), notes_of_model(self.state.notes) as notes:
            watched = self.agent if self.watcher is not None and isinstance(self.agent, base.Watchable) else None
            if watched is not None:
                # Show what the agent sees while its model still thinks.
                self._show(watched, await watched.attend(self.state.memory, turn))
            try:
                decision, memory = await self.agent.decide(self.state.memory, turn, self.emitter.from_agent)
            except ModelError as error:
                if error.fatal:
                    self.halt(error)
                if self.overseer.attended:
                    return error
                if error.overflow and self.emitter.mostly_unread:
                    # Not an error: another try would end the same way.
                    raise EpisodeOver("lost", emitter.FILLED, message=clean(error.recorded)) from error
                raise
            if watched is not None:
                self._show(watched, memory)
        return _Decided(decision, memory, frozenset(notes))

    def _show(self, watched: base.Watchable, memory: base.Memory) -> None:
        if self.watcher is not None:
            self.watcher(base.Glimpse(self.turn_start, watched.doing(memory), partial(watched.impression, memory)))

    async def _checked(self, answer: R | base.Rewind) -> R | _Answer:
        """Return ``answer``. If it rewinds, raise ``_RewindTo``, or ask the person again if there is nothing to go back to."""
        checked: R | base.TurnAnswer = answer
        while isinstance(checked, base.Rewind):
            if checked.to in self.checkpoints:
                raise _RewindTo(checked.to)
            message = (
                f"There is no way back to event {checked.to}: give the id of the start, or of the end of a turn that another "
                "one followed."
            )
            checked = await self.overseer.failed(self.state.turn + 1, message)
        return checked

    async def _carry_out(self, decided: _Decided, number: int) -> None:
        state = self.state
        state.memory, state.notes, state.hints, state.unseen = decided.memory, decided.notes, (), ()
        match decided.decision:
            case base.Leave(reason=reason):
                raise EpisodeOver("stopped", reason)
            case base.GiveUp(reason=reason):
                raise EpisodeOver("lost", f"gave up: {reason}")
            case base.ParseFailure() | base.Idle() as spent:
                state.turn = number
                reason = clean(spent.reason) if isinstance(spent, base.Idle) else None
                self.turn_start = self.emitter.emit(events.TurnSpent(turn=number, reason=reason))
                state.unread = state.unread + 1 if isinstance(spent, base.ParseFailure) else 0
                if state.unread == MOST_UNREAD and not self.overseer.attended:
                    raise EpisodeOver("lost", f"{emitter.UNREAD}, {MOST_UNREAD} turns in a row")
            case base.Act(command=command):
                await self._execute(command, decided.by)

    async def _execute(self, command: str, by: events.Player) -> None:
        state = self.state
        state.turn += 1
        state.steps += 1
        state.unread = 0
        before = enacted(self.env) or Enacted()
        step: Step = await self._in_world(partial(self.env.step, command))
        after = enacted(self.env) or before
        met = await self._in_world(self.env.goal_conditions)
        with attributed("world"):
            answer = with_belief(self.household, step.observation, state.belief, command)
        transition = Transition(command, answer)
        state.unseen += (transition,)
        state.played += (transition,)
        state.belief = answer.belief
        self.turn_start = self.emitter.emit(
            events.Stepped(
                turn=state.turn,
                command=command,
                by=by,
                observation=answer.text,
                accepted=answer.accepted,
                explanation=answer.explanation,
                won=step.won,
                terminated=step.terminated,
                truncated=step.truncated or (state.turn >= self.config.max_turns and not step.terminated),
                met=met[0] if met else None,
                conditions=met[1] if met else None,
                enacted=after.actions - before.actions if after.commands > before.commands else None,
                diverged=after.divergences[-1].reason if len(after.divergences) > len(before.divergences) else None,
            ),
            answer.belief,
        )
        _end_if_over(step)

    async def _in_world(self, call: Callable[[], R]) -> R:
        with attributed("world"):
            return call() if self.config.world.info.inline else await asyncio.to_thread(call)

    def _hint(self, action: events.PersonAction, hint: str) -> None:
        self.emitter.intervene(action, hint)
        if hint:
            self.state.hints += (clean(hint),)


def _annotated(world: World, task: Task) -> tuple[Skill, ...]:
    plan = world.annotated_plan(task) if isinstance(world, Demonstrated) else None
    if plan is None:
        raise Unsupported(
            f"There is no annotated plan for {task.reference}; play one of a split that has them, as ALFRED's train and "
            "valid_seen do, or leave out --grant plan and planner=oracle."
        )
    return plan


def is_random_turn(chance: float, seed: int, task: str, turn: int) -> bool:
    """True if ``turn`` plays a random command, with probability ``chance``. A resumed episode draws the same."""
    return Random(f"{seed}/{task}/{turn}").random() < chance


def random_command(possible: Sequence[str] | None, seed: int, task: str, turn: int) -> str | None:
    """One of the ``possible`` commands; None if there are none. Raises ``Unsupported`` if the world cannot list them."""
    if possible is None:
        raise Unsupported("Curiosity needs a list of the possible commands, and this world has none; give --curiosity 0.")
    return Random(f"{task}/{turn}/{seed}").choice(sorted(possible)) if possible else None


def _end_if_over(step: Step) -> None:
    if step.won:
        raise EpisodeOver("won", "the task is done")
    if step.terminated:
        raise EpisodeOver("lost", "the world ended the episode")
    if step.truncated:
        raise EpisodeOver("lost", "the world's own limit ended the episode")
