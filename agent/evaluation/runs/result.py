"""The result of one episode: one line of a run's index, identical for identical episodes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from housequest.agent.episodes.events import Ended, Event, ModelCall, Outcome, ParseFailed, Started, Stepped, branch
from housequest.agent.evaluation.analysis.failures import Failure, failure_of
from housequest.worlds.base import Task
from housequest.worlds.errors import Boundary

_LARGEST = 1 << 53

Number = Annotated[int, Field(ge=0, le=_LARGEST)]
"""A count that a float can hold."""


class Frozen(BaseModel):
    """Base of everything written to a run's folder."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class SelectedTask(Frozen):
    """A selected task as the manifest keeps it; ``wording`` is None where only a result names it."""

    number: int
    id: str
    type: str
    wording: str | None = None

    @classmethod
    def of(cls, task: Task) -> SelectedTask:
        """The entry for ``task``."""
        return cls(number=task.number, id=task.id, type=task.type, wording=task.wording)


class Result(Frozen):
    """One finished episode; tokens are None where the model never counted them.

    ``wording`` says who wrote the goal sentence (``template``, ``human:N``); None if the episode never started. ``met`` of
    ``conditions`` goal conditions held after the last command; None if none was executed or the world does not say.
    ``enacted`` commands were carried out in a simulator too, by ``low_level`` actions; ``diverged`` of them could not be done
    there as in the world. All three are None where none was. ``repeated`` counts as `repeats` does. ``failure`` says why it was
    not won. ``plain`` counts the ``calls`` that were of plain text and no chat. ``episode_sha256`` is the digest of the
    episode's file; None before it is in the index.
    """

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
    repeated: Number = 0
    met: Number | None = None
    conditions: Number | None = None
    enacted: Number | None = None
    low_level: Number | None = None
    diverged: Number | None = None
    calls: Number = 0
    plain: Number | None = None
    unreadable: Number = 0
    prompt_tokens: Number | None = None
    completion_tokens: Number | None = None
    boundary: Boundary | None = None
    message: str | None = None
    failure: Failure | None = None
    episode_sha256: str | None = None

    @property
    def selected(self) -> SelectedTask:
        """The task, as far as the result names it."""
        return SelectedTask(number=self.number, id=self.task, type=self.type)

    @property
    def won(self) -> bool:
        """Whether the task was won."""
        return self.outcome == "won"

    @property
    def tokens(self) -> int | None:
        """Prompt and completion tokens; 0 without a call, None where the model did not count."""
        return total((self.prompt_tokens, self.completion_tokens)) if self.calls else 0


def result_of(task: SelectedTask, events: Sequence[Event]) -> Result | None:
    """The result on the branch that was played on; None before its end. Raises ``ValidationError`` for impossible events."""
    played = [event.body for event in branch(events)]
    ended = played[-1] if played else None
    if not isinstance(ended, Ended):
        return None
    started = next((body for body in played if isinstance(body, Started)), None)
    steps = [body for body in played if isinstance(body, Stepped)]
    enacted = [step.enacted for step in steps if step.enacted is not None]
    calls = [body for body in played if isinstance(body, ModelCall)]
    same = {"outcome", "reason", "assisted", "turns", "steps", "refused", "boundary", "message"}
    return Result(
        number=task.number,
        task=task.id,
        type=task.type,
        wording=started.wording if started else None,
        **ended.model_dump(include=same),
        repeated=repeats(steps),
        met=steps[-1].met if steps else None,
        conditions=steps[-1].conditions if steps else None,
        enacted=len(enacted) or None,
        low_level=sum(enacted) if enacted else None,
        diverged=sum(step.diverged is not None for step in steps) if enacted else None,
        calls=sum(call.calls or 1 for call in calls),
        plain=sum(call.calls or 1 for call in calls if call.plain) or None,
        unreadable=sum(isinstance(body, ParseFailed) for body in played),
        prompt_tokens=total(call.prompt_tokens for call in calls),
        completion_tokens=total(call.completion_tokens for call in calls),
        failure=failure_of(events),
    )


def repeats(steps: Iterable[Stepped]) -> int:
    """How many of ``steps`` were repeats: the same command had the same answer before, and nothing has changed since, that is,
    every answer in between was one that its command had had before.

    In ``look, look`` the second is a repeat. In A, B, A, B the second A is not, for B was new in between; the second B is, and
    so is each that follows.
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
    """The sum of the known values, at most what a `Number` may be; None where none is known."""
    known = [number for number in numbers if number is not None]
    return min(sum(known), _LARGEST) if known else None
