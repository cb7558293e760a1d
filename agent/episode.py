"""The loop: an env, an agent and an overseer become a stream of events.

A failed episode is data, not a crash: whatever breaks ends it with an ``Ended`` event that names the boundary. Only
cancellation passes through.
"""

from __future__ import annotations

import asyncio
import traceback
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TypeVar

from agent import events
from agent.agents.base import Act, Agent, Decision, GiveUp, Grants, Leave, Memory, Said, Turn, Unread
from agent.events import Clocked, Event
from agent.models.base import Timing
from agent.overseer import Accept, Again, Overseer, Play, Replace, Stop, Unattended
from agent.roles.base import clean
from worlds.base import Env, Step, Task, Transition, World
from worlds.errors import Boundary, HousequestError

R = TypeVar("R")

Listener = Callable[[Event | Clocked], None]
"""Is told what happens, as it happens."""


@dataclass(frozen=True, slots=True)
class Terms:
    """On what terms an episode is played; all of it is recorded.

    ``max_turns``: an executed command and an unreadable reply spend one each. ``inline``: the env is quick enough to be
    stepped in the event loop. The grants ``admissible``, ``type`` and ``diagnosis`` show the agent more than text; the
    diagnosis itself is the env's, made with it.
    """

    engine: str
    grants: frozenset[str] = frozenset()
    max_turns: int = 50
    seed: int = 0
    model: str | None = None
    rules: str | None = None
    habits: str | None = None
    rule_statements: tuple[str, ...] = ()
    settings: Mapping[str, str | int | float | bool] = field(default_factory=dict[str, str | int | float | bool])
    inline: bool = True


async def run_episode(
    env: Env, agent: Agent, terms: Terms, listener: Listener, overseer: Overseer | None = None
) -> events.Ended:
    """Play one episode to its end and return how it ended; ``listener`` is told every event."""
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

    def listen(event: Event | Clocked) -> None:
        if isinstance(event, Event):
            queue.put_nowait(event)

    env = world.open(task, diagnosis="diagnosis" in grants)
    terms = Terms(world.engine, grants, max_turns, rule_statements=rules, inline=world.inline)
    episode = asyncio.create_task(run_episode(env, agent, terms, listen, overseer))
    episode.add_done_callback(lambda _: queue.put_nowait(None))
    try:
        while (event := await queue.get()) is not None:
            yield event
        await episode
    finally:
        episode.cancel()
        with suppress(asyncio.CancelledError):
            await episode
        env.close()


class _Over(Exception):
    """The episode ends here, with this outcome."""

    def __init__(self, outcome: events.Outcome, reason: str, boundary: Boundary | None = None, message: str | None = None):
        super().__init__(reason)
        self.outcome: events.Outcome = outcome
        self.reason = reason
        self.boundary: Boundary | None = boundary
        self.message = message


class _Unheard(BaseException):
    """The listener failed while the agent was talking: no ``Exception``, so that it is not taken for a fault of the agent's."""

    def __init__(self, error: Exception) -> None:
        super().__init__(str(error))
        self.error = error


class _Episode:
    """The running state of one episode."""

    def __init__(self, env: Env, agent: Agent, terms: Terms, listener: Listener, overseer: Overseer) -> None:
        self.env = env
        self.agent = agent
        self.terms = terms
        self.listener = listener
        self.overseer = overseer
        self.next_id = 0
        self.parent: int | None = None
        self.turn = 0
        self.steps = 0
        self.refused = 0
        self.assisted = False
        self.hints: tuple[str, ...] = ()
        self.untold: tuple[Transition, ...] = ()

    async def run(self) -> events.Ended:
        try:
            await self._play()
            raise AssertionError("an episode ends by an outcome")
        except _Over as over:
            ended = events.Ended(
                outcome=over.outcome,
                reason=over.reason,
                turns=self.turn,
                steps=self.steps,
                refused=self.refused,
                assisted=self.assisted,
                boundary=over.boundary,
                message=over.message,
            )
            self._tell(ended)
            return ended
        except _Unheard as unheard:
            raise unheard.error from None

    async def _play(self) -> None:
        opening = await self._world(self.env.reset)
        task = self.env.task
        grants = Grants(
            admissible="admissible" in self.terms.grants,
            diagnosis="diagnosis" in self.terms.grants,
            task_type=task.type if "type" in self.terms.grants else None,
        )
        self._tell(
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
                habits=self.terms.habits,
                grants=tuple(sorted(self.terms.grants)),
                max_turns=self.terms.max_turns,
                seed=self.terms.seed,
                opening=opening.observation.text,
            )
        )
        with _attributed("agent"):
            memory: Memory = self.agent.begin(task.goal, opening.observation, grants)
        _judge(opening)
        while self.turn < self.terms.max_turns:
            memory = await self._take_turn(memory, grants)
        raise _Over("lost", f"out of turns ({self.terms.max_turns})")

    async def _take_turn(self, memory: Memory, grants: Grants) -> Memory:
        number = self.turn + 1
        word = await self.overseer.before(number)
        if isinstance(word, Stop):
            self._intervene("stop", word.reason)
            raise _Over("stopped", word.reason)
        if isinstance(word, Play):
            self._intervene("play", word.command)
            await self._execute(clean(word.command), "person")
            return memory
        for hint in word.hints:
            self._intervene("hint", hint)
        self.hints += word.hints
        decision, by, memory = await self._decide(memory, number, grants)
        self.hints, self.untold = (), ()
        if isinstance(decision, Leave):
            raise _Over("stopped", decision.reason)
        if isinstance(decision, GiveUp):
            raise _Over("lost", f"gave up: {decision.reason}")
        if isinstance(decision, Unread):
            self.turn = number
            self._tell(events.Spent(turn=number))
        else:
            await self._execute(decision.command, by)
        return memory

    async def _decide(self, memory: Memory, number: int, grants: Grants) -> tuple[Decision, events.Player, Memory]:
        """Ask the agent, and the overseer about its proposal, until there is a decision that stands."""
        before = self.parent
        while True:
            admissible = await self._world(self.env.admissible_commands) if grants.admissible else None
            turn = Turn(
                number=number,
                left=self.terms.max_turns - self.turn,
                transitions=self.untold,
                hints=self.hints,
                rules=self.terms.rule_statements,
                admissible=admissible,
            )
            with _attributed("agent"):
                decision, after = await self.agent.decide(memory, turn, self._emit)
            if not isinstance(decision, Act):
                return decision, "agent", after
            self._tell(events.Proposed(turn=number, command=decision.command))
            verdict = await self.overseer.review(number, decision.command)
            if isinstance(verdict, Accept):
                return decision, "agent", after
            if isinstance(verdict, Replace):
                self._intervene("replace", verdict.command)
                return Act(clean(verdict.command)), "person", after
            if isinstance(verdict, Again):
                # The old memory is as good as new; what was just said stays in the record as a branch of its own.
                self.parent = before
                self._intervene("again", verdict.hint)
                self.hints += (verdict.hint,) if verdict.hint else ()
                continue
            self._intervene("stop", verdict.reason)
            raise _Over("stopped", verdict.reason)

    async def _execute(self, command: str, by: events.Player) -> None:
        self.turn += 1
        self.steps += 1
        step: Step = await self._world(partial(self.env.step, command))
        met = await self._world(self.env.goal_conditions)
        self.refused += not step.observation.accepted
        truncated = step.truncated or (self.turn >= self.terms.max_turns and not step.terminated)
        self._tell(
            events.Stepped(
                turn=self.turn,
                command=command,
                by=by,
                observation=step.observation.text,
                accepted=step.observation.accepted,
                explanation=step.observation.explanation,
                won=step.won,
                terminated=step.terminated,
                truncated=truncated,
                met=met[0] if met else None,
                conditions=met[1] if met else None,
            )
        )
        self.untold += (Transition(command, step.observation),)
        _judge(step)

    async def _world(self, call: Callable[[], R]) -> R:
        with _attributed("world"):
            return call() if self.terms.inline else await asyncio.to_thread(call)

    def _intervene(self, action: events.Action, text: str) -> None:
        self.assisted = True
        self._tell(events.Intervened(action=action, text=clean(text)))

    def _emit(self, body: Said, timing: Timing | None = None) -> None:
        try:
            self._tell(body)
            if timing is not None and self.parent is not None:
                self.listener(Clocked(of=self.parent, seconds=timing.seconds, attempts=timing.attempts, cached=timing.cached))
        except Exception as error:
            raise _Unheard(error) from error

    def _tell(self, body: events.Body) -> None:
        event = Event(id=self.next_id, parent=self.parent, body=body)
        self.next_id += 1
        self.parent = event.id
        self.listener(event)


def _judge(step: Step) -> None:
    if step.won:
        raise _Over("won", "the task is done")
    if step.terminated:
        raise _Over("lost", "the world ended the episode")
    if step.truncated:
        raise _Over("lost", "the world's own limit ended the episode")


class _attributed:
    """Turns what breaks inside into the end of the episode, attributed to a boundary."""

    def __init__(self, boundary: Boundary) -> None:
        self.boundary: Boundary = boundary

    def __enter__(self) -> None:
        return None

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        if isinstance(error, HousequestError):
            raise _Over("error", "an error", error.boundary, clean(error.recorded)) from error
        if isinstance(error, Exception):
            where = traceback.extract_tb(error.__traceback__)[-1]
            place = f"{Path(where.filename).name}:{where.lineno}"
            message = f"{type(error).__name__} at {place}: {error}"
            raise _Over("error", "a fault in the code", self.boundary, clean(message)) from error
