"""What one episode came to, and many together.

An errored episode counts as not won and is named. So does a task that a run has selected and not finished: the denominator
is every selected task. Only episodes that a person touched are left out, by name, for they say nothing of the agent.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from pydantic import BaseModel, ConfigDict

from agent.evaluation.statistics import Interval, wilson
from agent.events import Called, Clocked, Ended, Event, Outcome, Unreadable
from worlds.errors import Boundary


class Selected(BaseModel):
    """A task that a run has selected, as the run remembers it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    number: int
    id: str
    type: str


class Result(BaseModel):
    """One finished episode, in one line; tokens are None where the model never counted them."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    number: int
    task: str
    type: str
    outcome: Outcome
    reason: str
    assisted: bool = False
    turns: int
    steps: int
    refused: int
    calls: int = 0
    unreadable: int = 0
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    boundary: Boundary | None = None
    message: str | None = None


@dataclass(frozen=True, slots=True)
class _Spent:
    """What was spent on the way to an event."""

    calls: int = 0
    unreadable: int = 0
    prompt: int | None = None
    completion: int | None = None


class Tally:
    """Counts an episode as it happens, or as it is read back: a listener. Only the branch that was played on counts."""

    def __init__(self, task: Selected) -> None:
        self._task = task
        self._ended: Ended | None = None
        self._spent: dict[int | None, _Spent] = {}
        self._last: int | None = None

    def __call__(self, event: Event | Clocked) -> None:
        """Count one event."""
        if isinstance(event, Clocked):
            return
        spent = self._spent.get(event.parent, _Spent())
        match event.body:
            case Called() as called:
                spent = replace(
                    spent,
                    calls=spent.calls + 1,
                    prompt=_plus(spent.prompt, called.prompt_tokens),
                    completion=_plus(spent.completion, called.completion_tokens),
                )
            case Unreadable():
                spent = replace(spent, unreadable=spent.unreadable + 1)
            case _:
                pass
        self._ended = event.body if isinstance(event.body, Ended) else None
        self._spent[event.id] = spent
        self._last = event.id

    def result(self) -> Result | None:
        """What the episode came to; None while it has not ended."""
        if self._ended is None:
            return None
        ended, spent = self._ended, self._spent[self._last]
        return Result(
            number=self._task.number,
            task=self._task.id,
            type=self._task.type,
            outcome=ended.outcome,
            reason=ended.reason,
            assisted=ended.assisted,
            turns=ended.turns,
            steps=ended.steps,
            refused=ended.refused,
            calls=spent.calls,
            unreadable=spent.unreadable,
            prompt_tokens=spent.prompt,
            completion_tokens=spent.completion,
            boundary=ended.boundary,
            message=ended.message,
        )


def _plus(total: int | None, more: int | None) -> int | None:
    return total if more is None else (total or 0) + more


@dataclass(frozen=True, slots=True)
class Count:
    """Episodes of one kind. ``steps`` is the sum over the finished ones, ``steps_won`` over those that were won."""

    episodes: int = 0
    won: int = 0
    lost: int = 0
    errors: int = 0
    unfinished: int = 0
    steps: int = 0
    steps_won: int = 0

    @property
    def finished(self) -> int:
        """How many episodes have ended."""
        return self.won + self.lost + self.errors

    @property
    def success(self) -> float:
        """The share of the tasks that was won, in [0, 1]."""
        return self.won / self.episodes if self.episodes else 0.0

    @property
    def interval(self) -> Interval:
        """The 95 % interval of ``success``."""
        return wilson(self.won, self.episodes)

    @property
    def mean_steps(self) -> float | None:
        """Executed commands an episode; None before one has finished."""
        return self.steps / self.finished if self.finished else None

    @property
    def mean_steps_won(self) -> float | None:
        """Executed commands a won episode; None before one was won."""
        return self.steps_won / self.won if self.won else None


@dataclass(frozen=True, slots=True)
class Summary:
    """A run in figures. ``episodes`` of ``overall`` is the denominator: the selected tasks, without assisted episodes."""

    overall: Count
    by_type: dict[str, Count]
    refused: int = 0
    calls: int = 0
    unreadable: int = 0
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    errored: tuple[Result, ...] = ()
    lost: tuple[Result, ...] = ()
    assisted: tuple[str, ...] = field(default=())


def summarise(tasks: Sequence[Selected], results: Iterable[Result]) -> Summary:
    """The figures of the selected ``tasks``; a task without a result is unfinished."""
    found = {result.task: result for result in results}
    assisted = tuple(task.id for task in tasks if task.id in found and found[task.id].assisted)
    counted = [task for task in tasks if task.id not in assisted]
    played = [found[task.id] for task in counted if task.id in found]
    types = sorted({task.type for task in counted})
    prompt, completion = None, None
    for result in played:
        prompt, completion = _plus(prompt, result.prompt_tokens), _plus(completion, result.completion_tokens)
    return Summary(
        overall=_count(counted, found),
        by_type={kind: _count([task for task in counted if task.type == kind], found) for kind in types},
        refused=sum(result.refused for result in played),
        calls=sum(result.calls for result in played),
        unreadable=sum(result.unreadable for result in played),
        prompt_tokens=prompt,
        completion_tokens=completion,
        errored=tuple(result for result in played if result.outcome == "error"),
        lost=tuple(result for result in played if result.outcome not in {"won", "error"}),
        assisted=assisted,
    )


def _count(tasks: Sequence[Selected], found: dict[str, Result]) -> Count:
    played = [found[task.id] for task in tasks if task.id in found]
    won = [result for result in played if result.outcome == "won"]
    errors = sum(result.outcome == "error" for result in played)
    return Count(
        episodes=len(tasks),
        won=len(won),
        lost=len(played) - len(won) - errors,
        errors=errors,
        unfinished=len(tasks) - len(played),
        steps=sum(result.steps for result in played),
        steps_won=sum(result.steps for result in won),
    )
