"""What one episode came to, in one line of a run's index: nothing but what equal episodes have alike."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from agent.episodes.events import (
    CallTiming,
    Ended,
    Event,
    ModelCall,
    Outcome,
    ParseFailed,
    Started,
    Stepped,
    branch,
)
from agent.evaluation.analysis.failures import Failure, failure_of
from worlds.base import Task
from worlds.errors import Boundary

Number = Annotated[int, Field(ge=0, le=1 << 53)]
"""A count of something, as far as a float can hold it."""


class SelectedTask(BaseModel):
    """A task that a run has selected, as the run remembers it; ``wording`` is None where it does not."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    number: int
    id: str
    type: str
    wording: str | None = None

    @classmethod
    def of(cls, task: Task) -> SelectedTask:
        """``task``, as a run remembers it."""
        return cls(number=task.number, id=task.id, type=task.type, wording=task.wording)


class Result(BaseModel):
    """One finished episode; tokens are None where the model never counted them.

    ``wording`` says whose sentence the goal was (``template``, ``human:N``); None of an episode that never started. ``met`` of
    ``conditions`` of the goal held after the last command; None where none was executed, or the world does not tell.
    ``repeated`` counts as `repeats` does; None in a line of an earlier version, which is made anew from its episode.
    ``failure`` says why it was not won.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    number: int
    task: str
    type: str
    wording: str | None = None
    outcome: Outcome
    reason: str
    assisted: bool = False
    turns: Number
    steps: Number
    refused: Number
    repeated: Number | None = None
    met: Number | None = None
    conditions: Number | None = None
    calls: Number = 0
    unreadable: Number = 0
    prompt_tokens: Number | None = None
    completion_tokens: Number | None = None
    boundary: Boundary | None = None
    message: str | None = None
    failure: Failure | None = None


class Tally:
    """Keeps an episode as it happens, or as it is read back, to say what it came to: a listener."""

    def __init__(self, task: SelectedTask) -> None:
        self._task = task
        self._events: list[Event] = []

    def __call__(self, event: Event | CallTiming) -> None:
        """Hear one event."""
        if isinstance(event, Event):
            self._events.append(event)

    def result(self) -> Result | None:
        """What the episode came to, on the branch that was played on; None while it has not ended."""
        return result_of(self._task, self._events)


def result_of(task: SelectedTask, events: Sequence[Event]) -> Result | None:
    """What the episode of these ``events`` came to, on the branch that was played on; None where it has not ended.

    Raises ``ValidationError`` for events that no episode has, such as a negative number of turns.
    """
    played = [event.body for event in branch(events)]
    ended = played[-1] if played else None
    if not isinstance(ended, Ended):
        return None
    started = next((body for body in played if isinstance(body, Started)), None)
    steps = [body for body in played if isinstance(body, Stepped)]
    calls = [body for body in played if isinstance(body, ModelCall)]
    return Result(
        number=task.number,
        task=task.id,
        type=task.type,
        wording=started.wording if started else None,
        outcome=ended.outcome,
        reason=ended.reason,
        assisted=ended.assisted,
        turns=ended.turns,
        steps=ended.steps,
        refused=ended.refused,
        repeated=repeats(steps),
        met=steps[-1].met if steps else None,
        conditions=steps[-1].conditions if steps else None,
        calls=sum(call.calls or 1 for call in calls),
        unreadable=sum(isinstance(body, ParseFailed) for body in played),
        prompt_tokens=total(call.prompt_tokens for call in calls),
        completion_tokens=total(call.completion_tokens for call in calls),
        boundary=ended.boundary,
        message=ended.message,
        failure=failure_of(events),
    )


def repeats(steps: Iterable[Stepped]) -> int:
    """How many of ``steps`` only repeated: the command was executed before and had the same answer, and nothing has changed
    since, that is, every answer in between was one that its command had had before.

    Of ``look, look`` the second is a repeat. Of two places that are visited in turn, A, B, A, B, the second visit to A is none,
    for B was new in between; the second visit to B is one, and so is each that follows.
    """
    last: dict[tuple[str, str], int] = {}
    changed, repeated = -1, 0
    for place, step in enumerate(steps):
        said = (step.command, step.observation)
        before = last.get(said)
        if before is None:
            changed = place
        elif changed <= before:
            repeated += 1
        last[said] = place
    return repeated


def total(numbers: Iterable[int | None]) -> int | None:
    """The sum of those that are known; None where none is."""
    known = [number for number in numbers if number is not None]
    return sum(known) if known else None
