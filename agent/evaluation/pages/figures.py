"""What a page shows of a run: the one place that knows the fields of ``Summary``, ``Count`` and ``Result``.

A new figure is one more line in a table below.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar, cast

from agent.evaluation.metrics import Count, Result, Selected, Summary
from agent.evaluation.pages.charts import Amount, Bin, Rate, Rates
from agent.evaluation.plan import Manifest
from agent.evaluation.selection import counted

T = TypeVar("T")

MOST_CAUSES = 12
_BINS = 12


@dataclass(frozen=True, slots=True)
class Column(Generic[T]):
    """A column of a table; ``number`` ones are set to the right."""

    name: str
    cell: Callable[[T], str]
    number: bool = True


def _mean(value: float | None) -> str:
    return "-" if value is None else f"{value:.1f}"


def _whole(value: int | None) -> str:
    return "-" if value is None else f"{value:,}"


def percent(share: float) -> str:
    """A share as a percentage."""
    return f"{share * 100:.1f} %"


def why(result: Result) -> str:
    """Why an episode was not won, in its own words."""
    if result.outcome == "won":
        return ""
    text = f"{result.boundary}: {result.message or result.reason}" if result.boundary else result.reason
    return text[:300]


BY_TYPE: tuple[Column[Count], ...] = (
    Column("tasks", lambda count: str(count.episodes)),
    Column("won", lambda count: str(count.won)),
    Column("lost", lambda count: str(count.lost)),
    Column("errors", lambda count: str(count.errors)),
    Column("unfinished", lambda count: str(count.unfinished)),
    Column("success", lambda count: percent(count.success)),
    Column("95 % interval", lambda count: f"{count.interval.low * 100:.1f}-{count.interval.high * 100:.1f} %"),
    Column("steps", lambda count: _mean(count.mean_steps)),
    Column("steps, won", lambda count: _mean(count.mean_steps_won)),
)

OF_RUN: tuple[Column[Summary], ...] = (
    Column("refused commands", lambda summary: _whole(summary.refused)),
    Column("calls of the model", lambda summary: _whole(summary.calls)),
    Column("unreadable replies", lambda summary: _whole(summary.unreadable)),
    Column("prompt tokens", lambda summary: _whole(summary.prompt_tokens)),
    Column("completion tokens", lambda summary: _whole(summary.completion_tokens)),
)

OF_TASK: tuple[Column[Result], ...] = (
    Column("outcome", lambda result: result.outcome, number=False),
    Column("why", why, number=False),
    Column("turns", lambda result: str(result.turns)),
    Column("steps", lambda result: str(result.steps)),
    Column("refused", lambda result: str(result.refused)),
    Column("calls", lambda result: str(result.calls)),
    Column("tokens", lambda result: _whole(tokens(result))),
)


def cause(result: Result) -> str:
    """The class of an ending, as few of them as can be told apart."""
    if result.outcome == "won":
        return "won"
    if result.outcome == "error":
        return f"error: {result.boundary or 'unknown'}"
    return result.reason.partition(":")[0].partition("(")[0].strip() or result.outcome


def tokens(result: Result) -> int | None:
    """What the model read and wrote; None where it did not count."""
    if result.calls == 0:
        return 0
    if result.prompt_tokens is None and result.completion_tokens is None:
        return None
    return (result.prompt_tokens or 0) + (result.completion_tokens or 0)


def tokens_an_episode(results: Sequence[Result]) -> float | None:
    """The mean of ``tokens``; None where any of them is not known."""
    known = [count for result in results if (count := tokens(result)) is not None]
    return sum(known) / len(known) if known and len(known) == len(results) else None


def rate(count: Count) -> Rate:
    """The success of ``count`` for a chart."""
    return Rate(count.success, count.interval, f"{percent(count.success)} ({count.won}/{count.episodes})")


def rates(summary: Summary) -> list[Rates]:
    """Success by task type, then overall."""
    groups = [Rates(kind, (rate(count),)) for kind, count in summary.by_type.items()]
    return [*groups, Rates("all", (rate(summary.overall),))]


def endings(tasks: Sequence[Selected], results: Sequence[Result]) -> list[Amount]:
    """How the episodes ended, the commonest first after the won ones; what was not played is unfinished."""
    causes = Counter(cause(result) for result in results)
    won, unfinished = causes.pop("won", 0), len(tasks) - len(results)
    common = causes.most_common(MOST_CAUSES)
    rest = causes.total() - sum(number for _, number in common)
    bars = [Amount("won", won), *(Amount(name, number, tone=1) for name, number in common)]
    bars += [Amount("other causes", rest, tone=1)] if rest else []
    return [*bars, Amount("not finished", unfinished, tone=1)] if unfinished else bars


def step_bins(results: Sequence[Result], most: int) -> list[Bin]:
    """Steps of won and of other episodes in up to twelve bins of equal width, up to ``most`` of any."""
    width = max(1, -(-most // _BINS))
    bins = max(1, -(-most // width))
    found = [[0, 0] for _ in range(bins)]
    for result in results:
        place = min(bins - 1, max(0, result.steps - 1) // width)
        found[place][result.outcome != "won"] += 1
    labels = [str(place + 1) if width == 1 else f"{place * width + 1}-{(place + 1) * width}" for place in range(bins)]
    return [Bin(label, (won, others)) for label, (won, others) in zip(labels, found, strict=True)]


def heading(manifest: Manifest) -> list[tuple[str, str]]:
    """The run in a few lines."""
    config = manifest.configuration
    tasks = f"{counted(len(manifest.tasks), manifest.of)} ({config.split})"
    lines = (
        ("agent", config.agent),
        ("model", config.model or "none"),
        ("tasks", f"{tasks}, goals: {config.goals}, at most {config.max_turns} turns"),
        ("engine", manifest.engine),
        ("rules", config.rules.label if config.rules else ""),
        ("grants", ", ".join(config.grants)),
        ("seed", str(config.seed)),
    )
    return [(name, value) for name, value in lines if value]


def configuration(manifest: Manifest) -> list[tuple[str, str]]:
    """Everything that the run's manifest says, but for the tasks, by name."""
    return _flat(manifest.model_dump(mode="json", exclude={"tasks"}))


def _flat(values: Mapping[str, object], above: str = "") -> list[tuple[str, str]]:
    lines: list[tuple[str, str]] = []
    for key, value in values.items():
        name = f"{above}{key}"
        if isinstance(value, Mapping):
            lines += _flat(cast("Mapping[str, object]", value), f"{name}.")
        elif isinstance(value, list):
            lines.append((name, "\n".join(str(item) for item in cast("list[object]", value)) or "none"))
        else:
            lines.append((name, setting(value)))
    return lines


def setting(value: object) -> str:
    """The value of a setting."""
    return "not set" if value is None else str(value)
