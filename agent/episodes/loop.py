"""The loop: an env, an agent and an overseer become a stream of events.

A failed episode is data, not a crash: whatever breaks ends it with an ``Ended`` event that names the boundary. Only
cancellation passes through. While a person attends, a failed model is theirs to deal with, and they may go back to the end of
any turn, of any branch, also once a branch has ended.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, NoReturn, TypeVar

from agent.base import (
    Act,
    Agent,
    Decision,
    GiveUp,
    Grants,
    Idle,
    Leave,
    Memory,
    ParseFailure,
    Turn,
)
from agent.episodes import curiosity as whim
from agent.episodes import events
from agent.episodes.checkpoints import Checkpoints, EpisodeState
from agent.episodes.emitter import Consulting, EventEmitter, EventListener, ListenerError
from agent.episodes.ending import EpisodeOver, attributed, unless, wait_for_end
from agent.episodes.events import CallTiming, Event
from agent.episodes.overseer import (
    Accept,
    Again,
    Before,
    Change,
    Overseer,
    Play,
    Proceed,
    Replace,
    Rewind,
    Stop,
    Unattended,
    Verdict,
)
from agent.roles.base import clean
from worlds.base import Env, Step, Task, Transition, World
from worlds.errors import ModelError

if TYPE_CHECKING:
    from agent.episodes.rule_selector import RuleSelector
    from knowledge.choosing import RuleBudget

R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class EpisodeConfig:
    """On what terms an episode is played; all of it is recorded.

    ``max_turns``: an executed command and an unreadable reply spend one each. ``inline``: the env is quick enough to be
    stepped in the event loop. The grants ``admissible``, ``type`` and ``diagnosis`` show the agent more than text; the
    diagnosis itself is the env's, made with it. With the probability ``curiosity`` a turn is chance's instead of the agent's.
    The agent is told the ``rule_statements`` at once, and of the rules in ``choice`` those that matter, once they do.
    """

    engine: str
    grants: frozenset[str] = frozenset()
    max_turns: int = 50
    seed: int = 0
    model: str | None = None
    rules: str | None = None
    habits: str | None = None
    rule_statements: tuple[str, ...] = ()
    choice: RuleBudget | None = None
    settings: Mapping[str, str | int | float | bool] = field(default_factory=dict[str, str | int | float | bool])
    inline: bool = True
    curiosity: float | None = None

    def open(self, world: World, task: Task) -> Env:
        """A new env over ``task``, with the diagnosis where that is granted. Raises ``GameError`` and ``Unsupported``."""
        return world.open(task, diagnosis="diagnosis" in self.grants)


async def run_episode(
    env: Env, agent: Agent, terms: EpisodeConfig, listener: EventListener, overseer: Overseer | None = None
) -> events.Ended:
    """Play one episode to its end and return how it ended, or its last branch; ``listener`` is told every event.

    ``env`` stays the caller's to close; copies that were made of it are closed here.
    """
    return await _Episode(env, agent, terms, listener, overseer or Unattended()).run()


async def play(
    world: World,
    task: Task,
    agent: Agent,
    *,
    max_turns: int = 50,
    grants: frozenset[str] = frozenset(),
    overseer: Overseer | None = None,
    rules: tuple[str, ...] = (),
) -> AsyncIterator[Event]:
    """Play ``task`` with ``agent`` and yield each event as it happens; leaving the loop early ends the episode."""
    queue: asyncio.Queue[Event | None] = asyncio.Queue()

    def listen(event: Event | CallTiming) -> None:
        if isinstance(event, Event):
            queue.put_nowait(event)

    terms = EpisodeConfig(world.engine, grants, max_turns, rule_statements=rules, inline=world.inline)
    env = terms.open(world, task)
    episode = asyncio.create_task(run_episode(env, agent, terms, listen, overseer))
    episode.add_done_callback(lambda _: queue.put_nowait(None))
    try:
        while (event := await queue.get()) is not None:
            yield event
        await episode
    finally:
        episode.cancel()
        try:
            await wait_for_end(episode)
        finally:
            env.close()


class _Back(Exception):
    """The person goes back to the event ``to``."""

    def __init__(self, to: int) -> None:
        super().__init__(to)
        self.to = to


class _Episode:
    """The running state of one episode.

    ``anchor`` is the event that ended the last turn, or the start: where a rewind to this turn goes to.
    """

    def __init__(self, env: Env, agent: Agent, terms: EpisodeConfig, listener: EventListener, overseer: Overseer) -> None:
        self.given = self.env = env
        self.agent = agent
        self.terms = terms
        self.teller = EventEmitter(listener)
        self.overseer = overseer
        self.grants = Grants()
        self.counsel: RuleSelector | None = None
        self.ids: dict[str, str] = {}
        self.stand = EpisodeState()
        self.checkpoints = Checkpoints()
        self.anchor = 0

    async def run(self) -> events.Ended:
        begin = self._open
        try:
            while True:
                try:
                    await begin()
                    await self._play()
                except EpisodeOver as over:
                    ended = self._end(over)
                    to = await self._after(ended)
                    if to is None:
                        return ended
                except _Back as back:
                    to = back.to
                begin = partial(self._go_back, to)
        except ListenerError as unheard:
            raise unheard.error from None
        finally:
            if self.env is not self.given:
                self.env.close()
            self.checkpoints.close()

    async def _open(self) -> None:
        opening = await self._world(self.env.reset)
        task = self.env.task
        self.grants = Grants(
            admissible="admissible" in self.terms.grants,
            diagnosis="diagnosis" in self.terms.grants,
            task_type=task.type if "type" in self.terms.grants else None,
        )
        self.teller.tell(
            events.Started(
                world=task.world,
                engine=self.terms.engine,
                task=task.id,
                split=task.split,
                number=task.number,
                type=task.type,
                goal=task.goal,
                wording=task.wording,
                agent=self.agent.name,
                settings=dict(self.terms.settings),
                model=self.terms.model,
                rules=self.terms.rules,
                rules_budget=self.terms.choice.budget if self.terms.choice else None,
                habits=self.terms.habits,
                curiosity=self.terms.curiosity,
                grants=tuple(sorted(self.terms.grants)),
                max_turns=self.terms.max_turns,
                seed=self.terms.seed,
                opening=opening.observation.text,
            )
        )
        with attributed("agent"):
            self.stand = EpisodeState(self.agent.begin(task.goal, opening.observation, self.grants))
        if self.terms.choice is not None:
            from agent.episodes.rule_selector import RuleSelector

            with attributed("knowledge"):
                granted = self.grants.task_type
                self.counsel = RuleSelector(self.terms.choice, task.world, task.goal, granted, opening.observation)
                self.stand.belief = self.counsel.opening
        _judge(opening)

    async def _play(self) -> NoReturn:
        while self.stand.turn < self.terms.max_turns:
            await self._take_turn(self.stand.turn + 1)
        raise EpisodeOver("lost", f"out of turns ({self.terms.max_turns})")

    def _end(self, over: EpisodeOver) -> events.Ended:
        ended = events.Ended(
            outcome=over.outcome,
            reason=over.reason,
            turns=self.stand.turn,
            steps=self.stand.steps,
            refused=self.stand.refused,
            assisted=self.teller.assisted,
            boundary=over.boundary,
            message=over.message,
        )
        self.teller.tell(ended)
        return ended

    async def _after(self, ended: events.Ended) -> int | None:
        """Where the person goes back to now that a branch has ended, if anywhere."""
        while self.overseer.attended:
            match await self._possible(await self.overseer.over(ended)):
                case Rewind(to=to):
                    return to
                case None | Stop():
                    return None
                case _:
                    pass
        return None

    async def _go_back(self, to: int) -> None:
        self.stand = self.checkpoints.stand(to)
        self.teller.last = self.anchor = to
        self.teller.intervene("rewind", f"to turn {self.stand.turn + 1}")
        with attributed("world"):
            env = await self.checkpoints.house(to, self.env, inline=self.terms.inline)
        if self.env is not env and self.env is not self.given:
            self.env.close()
        self.env = env

    async def _take_turn(self, number: int) -> None:
        attended = self.overseer.attended
        if attended:
            await self._world(partial(self.checkpoints.keep, self.anchor, self.stand, self.env))
        possible = await self._world(self.env.admissible_commands) if attended or self.grants.admissible else None
        if not attended and (command := await self._whim(number)) is not None:
            return await self._execute(command, "curiosity")
        word: Before | None = None
        while True:
            if word is None:
                word = await self._possible(await self.overseer.before(number, possible if attended else None))
            match word:
                case Proceed(hints=hints):
                    for hint in hints:
                        self._hint("hint", hint)
                    decided = await self._decide(number, possible)
                    if isinstance(decided, _Decided):
                        return await self._carry_out(decided, number)
                    word = decided
                case Stop(reason=reason):
                    self.teller.intervene("stop", reason)
                    raise EpisodeOver("stopped", reason)
                case Rewind(to=to):
                    raise _Back(to)
                case Play(command=command):
                    self.teller.intervene("play", command)
                    return await self._execute(clean(command), "person")
                case Change(agent=agent, model=model):
                    self.teller.intervene("model", model)
                    self.agent = agent
                    word = None

    async def _decide(self, number: int, possible: tuple[str, ...] | None) -> _Decided | Before | None:
        """Ask the agent, and the overseer about its proposal, until there is a decision that stands.

        Else what the person says in its stead, or None where they interrupted and are to be asked.
        """
        self._consult()
        before = self.teller.last
        while True:
            turn = Turn(
                number=number,
                left=self.terms.max_turns - self.stand.turn,
                transitions=self.stand.untold,
                hints=self.stand.hints,
                rules=self.stand.rules,
                admissible=possible if self.grants.admissible else None,
            )
            asking = partial(self._ask, turn)
            answer = await (unless(self.overseer.interruption, asking) if self.overseer.attended else asking())
            # Wherever the agent's answer does not stand, its old memory is as good as new; what was just said stays in the
            # record as a branch of its own.
            if answer is None:
                self.teller.last = before
                self.teller.intervene("interrupt")
                return None
            if isinstance(answer, ModelError):
                return await self._failed(answer, number, before)
            if not isinstance(answer.decision, Act):
                return answer
            verdict = await self._review(number, answer.decision.command)
            match verdict:
                case Accept():
                    return answer
                case Replace(command=command):
                    self.teller.intervene("replace", command)
                    return replace(answer, decision=Act(clean(command)), by="person")
                case Again(hint=hint):
                    self.teller.last = before
                    self._hint("again", hint)
                    before = self.teller.last
                case Stop() | Rewind():
                    return verdict
                case Play() | Change():  # said on being told that there is no way back
                    self.teller.last = before
                    return verdict

    async def _ask(self, turn: Turn) -> _Decided | ModelError:
        consulting = Consulting(self.teller.emit, self.stand.shown, self.ids)
        with attributed("agent"):
            try:
                decision, memory = await self.agent.decide(self.stand.memory, turn, consulting)
            except ModelError as error:
                if not self.overseer.attended:
                    raise
                return error
        return _Decided(decision, memory, consulting.shown)

    async def _failed(self, error: ModelError, number: int, before: int | None) -> Before:
        self.teller.tell(events.Failed(turn=number, boundary=error.boundary, message=clean(error.recorded)))
        word = await self._possible(await self.overseer.failed(number, clean(str(error))))
        if not isinstance(word, Stop):
            self.teller.last = before
        if isinstance(word, Proceed):
            self.teller.intervene("retry")
        return word

    async def _review(self, number: int, command: str) -> Verdict | Play | Change:
        self.teller.tell(events.Proposed(turn=number, command=command))
        while True:
            verdict = await self._possible(await self.overseer.review(number, command))
            if not isinstance(verdict, Proceed):
                return verdict

    async def _possible(self, word: R | Rewind) -> R | Before:
        """``word``, or where it is a way back to nowhere, what the person says on being told."""
        answer: R | Before = word
        while isinstance(answer, Rewind) and answer.to not in self.checkpoints:
            answer = await self.overseer.failed(self.stand.turn + 1, self.checkpoints.refusal(answer.to))
        return answer

    async def _carry_out(self, decided: _Decided, number: int) -> None:
        stand = self.stand
        stand.memory, stand.shown, stand.hints, stand.untold = decided.memory, decided.shown, (), ()
        match decided.decision:
            case Leave(reason=reason):
                raise EpisodeOver("stopped", reason)
            case GiveUp(reason=reason):
                raise EpisodeOver("lost", f"gave up: {reason}")
            case ParseFailure():
                stand.turn = number
                self.anchor = self.teller.tell(events.TurnSpent(turn=number))
            case Idle(reason=reason):
                stand.turn = number
                self.anchor = self.teller.tell(events.TurnSpent(turn=number, reason=clean(reason)))
            case Act(command=command):
                await self._execute(command, decided.by)

    async def _execute(self, command: str, by: events.Player) -> None:
        stand = self.stand
        stand.turn += 1
        stand.steps += 1
        step: Step = await self._world(partial(self.env.step, command))
        met = await self._world(self.env.goal_conditions)
        stand.refused += not step.observation.accepted
        transition = Transition(command, step.observation)
        stand.untold += (transition,)
        stand.played += (transition,)
        if self.counsel is not None:
            with attributed("knowledge"):
                stand.belief = self.counsel.update(stand.belief, command, step.observation)
        self.anchor = self.teller.tell(
            events.Stepped(
                turn=stand.turn,
                command=command,
                by=by,
                observation=step.observation.text,
                accepted=step.observation.accepted,
                explanation=step.observation.explanation,
                won=step.won,
                terminated=step.terminated,
                truncated=step.truncated or (stand.turn >= self.terms.max_turns and not step.terminated),
                met=met[0] if met else None,
                conditions=met[1] if met else None,
            )
        )
        _judge(step)

    async def _world(self, call: Callable[[], R]) -> R:
        with attributed("world"):
            return call() if self.terms.inline else await asyncio.to_thread(call)

    async def _whim(self, number: int) -> str | None:
        """The command that curiosity has instead of the agent's in this turn, if any."""
        chance = self.terms.curiosity
        if not chance or not whim.strikes(chance, self.terms.seed, self.env.task.id, number):
            return None
        possible = await self._world(self.env.admissible_commands)
        with attributed("world"):
            return whim.choose(possible, self.terms.seed, self.env.task.id, number)

    def _consult(self) -> None:
        """Choose the rules that the agent may show its model now, besides those before."""
        stand = self.stand
        stand.rules += tuple(rule for rule in self.terms.rule_statements if rule not in stand.rules)
        if self.counsel is None:
            return
        with attributed("knowledge"):
            chosen = self.counsel.rules(stand.belief, stand.rules)
        stand.rules += tuple(rule.statement for rule in chosen)
        self.ids |= {rule.statement: rule.id for rule in chosen}

    def _hint(self, action: events.Action, hint: str) -> None:
        self.teller.intervene(action, hint)
        if hint:
            self.stand.hints += (clean(hint),)


@dataclass(frozen=True, slots=True)
class _Decided:
    """A decision that stands, the memory and the rules shown by then that go with it, and whose it is."""

    decision: Decision
    memory: Memory
    shown: tuple[str, ...]
    by: events.Player = "agent"


def _judge(step: Step) -> None:
    if step.won:
        raise EpisodeOver("won", "the task is done")
    if step.terminated:
        raise EpisodeOver("lost", "the world ended the episode")
    if step.truncated:
        raise EpisodeOver("lost", "the world's own limit ended the episode")
