"""Every figure of a report, of two runs on the same tasks: both means, and their difference with its interval."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from agent.evaluation.analysis.failures import LABELS, FailureKind
from agent.evaluation.analysis.metrics import Extras, Played
from agent.evaluation.analysis.par import Par
from agent.evaluation.analysis.statistics import Interval, bootstrap_mean
from agent.evaluation.runs.result import Result, Selected
from agent.evaluation.runs.timing import Clock

Value = Callable[[Played], float | None]


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure of the paired tasks: its means, and the second's less the first's with its 95 % bootstrap interval over pairs.

    ``share``: it lies in [0, 1]. ``tasks`` have the figure in both runs, ``missing`` lack it in one and are left out.
    """

    key: str
    label: str
    share: bool
    first: float
    second: float
    difference: float
    interval: Interval
    tasks: int
    missing: int


@dataclass(frozen=True, slots=True)
class LostBoth:
    """How many of the paired tasks either run did not win for one reason."""

    kind: FailureKind
    first: int
    second: int

    @property
    def label(self) -> str:
        """The class in a few words."""
        return LABELS[self.kind]


@dataclass(frozen=True, slots=True)
class _Kind:
    key: str
    label: str
    share: bool
    value: Value


def _result(of: Callable[[Result], float | None]) -> Value:
    return lambda each: None if each.result is None else of(each.result)


def _tokens(each: Played) -> float | None:
    if each.result is not None and not each.result.calls:
        return 0.0
    return None if each.tokens is None else float(each.tokens.prompt + each.tokens.completion)


_KINDS = (
    _Kind("goal", "goal conditions (GC)", True, lambda each: each.goal),
    _Kind("success_by_path", "success by path (SR/path)", True, lambda each: each.weighted(float(each.won))),
    _Kind("goal_by_path", "goal conditions by path (GC/path)", True, lambda each: each.weighted(each.goal)),
    _Kind("steps", "steps an episode", False, _result(lambda result: result.steps)),
    _Kind("refused", "refused commands", False, _result(lambda result: result.refused)),
    _Kind("repeated", "repeated commands", False, _result(lambda result: result.repeated or 0)),
    _Kind("calls", "calls of the model", False, _result(lambda result: result.calls)),
    _Kind("tokens", "tokens", False, _tokens),
    _Kind("cost", "cost", False, lambda each: each.cost),
)


def played_by(results: Sequence[Result], extras: Extras) -> list[Played]:
    """The episodes with what is known of their tasks beside their results."""
    return [
        Played(
            Selected(number=result.number, id=result.task, type=result.type),
            result,
            extras.paths.get(result.task, Par()),
            extras.clocks.get(result.task, Clock()),
            extras.prices,
        )
        for result in results
    ]


def figures(first: Sequence[Played], second: Sequence[Played]) -> tuple[Figure, ...]:
    """The figures of the same tasks as both runs played them; one that no task has in both is left out.

    So are calls, tokens and cost where neither run called a model.
    """
    called = any(each.result is not None and each.result.calls for each in (*first, *second))
    kinds = [kind for kind in _KINDS if called or kind.key not in {"calls", "tokens", "cost"}]
    return tuple(found for kind in kinds if (found := _figure(kind, first, second)) is not None)


def _figure(kind: _Kind, first: Sequence[Played], second: Sequence[Played]) -> Figure | None:
    both = [(kind.value(one), kind.value(other)) for one, other in zip(first, second, strict=True)]
    known = [(one, other) for one, other in both if one is not None and other is not None]
    if not known:
        return None
    size = len(known)
    ours, theirs = sum(one for one, _ in known) / size, sum(other for _, other in known) / size
    interval = bootstrap_mean([other - one for one, other in known])
    return Figure(kind.key, kind.label, kind.share, ours, theirs, theirs - ours, interval, size, len(both) - size)


def failures(first: Sequence[Result], second: Sequence[Result]) -> tuple[LostBoth, ...]:
    """Why either run did not win the paired tasks, class by class; those that neither has are left out."""
    ours, theirs = (_by_kind(results) for results in (first, second))
    return tuple(LostBoth(kind, ours[kind], theirs[kind]) for kind in LABELS if ours[kind] or theirs[kind])


def _by_kind(results: Sequence[Result]) -> Mapping[FailureKind, int]:
    kinds = [result.failure.kind for result in results if result.failure is not None]
    return {kind: kinds.count(kind) for kind in LABELS}
