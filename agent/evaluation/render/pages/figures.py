"""The figures that a page shows: the only page module that knows the fields of ``Summary``, ``Figures`` and ``Result``.

To add a figure, add a line to a table below.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

from agent.evaluation.analysis.metrics import Summary
from agent.evaluation.analysis.statistics import wilson
from agent.evaluation.render.pages.charts import RateBar, RateGroup
from agent.evaluation.render.report import pick
from agent.evaluation.render.table import Column, percent
from agent.evaluation.runs.result import Result
from agent.evaluation.runs.selection import counted
from agent.evaluation.runs.spec import Manifest

_BINS = 12


def _whole(value: int | None) -> str:
    return "-" if value is None else f"{value:,}"


BY_TYPE = pick(
    "tasks",
    "won",
    "lost",
    "errors",
    "unfinished",
    "success",
    "95 % interval",
    "GC",
    "SR/path",
    "GC/path",
    "steps",
    "steps, won",
)

OF_TASK: tuple[Column[Result], ...] = (
    Column("outcome", lambda result: result.outcome, number=False),
    Column("why", lambda result: f"{result.failure.label}: {result.failure.words}" if result.failure else "", number=False),
    Column("conditions", lambda result: "-" if result.met is None else f"{result.met}/{result.conditions}"),
    Column("turns", lambda result: result.turns),
    Column("steps", lambda result: result.steps),
    Column("refused", lambda result: result.refused),
    Column("repeated", lambda result: result.repeated, _whole),
    Column("calls", lambda result: result.calls),
    Column("tokens", lambda result: result.tokens, _whole),
)


def tokens_an_episode(results: Sequence[Result]) -> float | None:
    """The mean of the results' tokens; None where any is unknown."""
    known = [result.tokens for result in results if result.tokens is not None]
    return sum(known) / len(known) if known and len(known) == len(results) else None


def rate_bar(won: int, total: int) -> RateBar:
    """The success of ``won`` of ``total`` tasks for a chart."""
    share = won / total if total else 0.0
    return RateBar(share, wilson(won, total), f"{percent(share)} ({won}/{total})")


def rates(summary: Summary) -> list[RateGroup]:
    """Success by task type, then overall."""
    groups = [*summary.by_type.items(), ("all", summary.overall)]
    return [(name, (rate_bar(count.won, count.episodes),)) for name, count in groups]


def endings(summary: Summary) -> list[tuple[str, int]]:
    """How the episodes ended: won, the classes of failure, and not finished."""
    lost = [(kind.label, len(results)) for kind, results in summary.failures.items()]
    unfinished = summary.overall.unfinished
    return [("won", summary.overall.won), *lost, *([("not finished", unfinished)] if unfinished else [])]


def step_bins(results: Sequence[Result], most: int) -> list[tuple[str, tuple[int, int]]]:
    """Steps of won and of other episodes in up to twelve bins of equal width, up to ``most``."""
    width = max(1, -(-most // _BINS))
    bins = max(1, -(-most // width))
    found = [[0, 0] for _ in range(bins)]
    for result in results:
        place = min(bins - 1, max(0, result.steps - 1) // width)
        found[place][not result.won] += 1
    labels = [str(place + 1) if width == 1 else f"{place * width + 1}-{(place + 1) * width}" for place in range(bins)]
    return [(label, (won, others)) for label, (won, others) in zip(labels, found, strict=True)]


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
        ("curiosity", f"{config.curiosity:g}" if config.curiosity else ""),
        ("seed", str(config.seed)),
    )
    return [(name, value) for name, value in lines if value]


def configuration(manifest: Manifest) -> list[tuple[str, str]]:
    """Every entry of the manifest except the tasks, by name."""
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
