"""The figures of a run over ALFRED's instructions, in words and as JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean

from agent.evaluation.analysis.statistics import Interval, wilson
from agent.evaluation.render.report import percent, percents, table, wrapped
from agent.evaluation.runs.selection import counted
from agent.plans.run import WORLD, PlanManifest
from agent.plans.work import PlanResult
from worlds.alfred.goals import LEVELS, TASK_TYPES


@dataclass(frozen=True, slots=True)
class Share:
    """So many of how many instructions."""

    count: int
    total: int

    @property
    def value(self) -> float | None:
        """The share; None of nothing."""
        return self.count / self.total if self.total else None

    @property
    def interval(self) -> Interval | None:
        """Wilson's 95 % interval, as if no two instructions were of one demonstration."""
        return wilson(self.count, self.total) if self.total else None


@dataclass(frozen=True, slots=True)
class PlanFigures:
    """What a group of instructions came to. ``conditions`` is the mean share of goal conditions met."""

    total: int
    exact: Share
    reaches: Share
    wherever: Share
    conditions: float | None

    @classmethod
    def of(cls, rows: Sequence[PlanResult]) -> PlanFigures:
        """The figures of ``rows``."""
        total = len(rows)
        return cls(
            total=total,
            exact=Share(sum(row.exact for row in rows), total),
            reaches=Share(sum(row.reaches for row in rows), total),
            wherever=Share(sum(row.wherever for row in rows), total),
            conditions=fmean(row.met / row.conditions for row in rows) if rows else None,
        )


def groups(rows: Sequence[PlanResult]) -> Iterator[tuple[str, PlanFigures]]:
    """The rows of a table: each task type and each length that is there, then all."""
    for kind in TASK_TYPES:
        if chosen := [row for row in rows if row.type == kind]:
            yield kind, PlanFigures.of(chosen)
    for name in LEVELS:
        if chosen := [row for row in rows if row.level == name]:
            yield name, PlanFigures.of(chosen)
    yield "all", PlanFigures.of(rows)


def failures(rows: Sequence[PlanResult]) -> dict[str, int]:
    """Why plans did not reach their goal, the commonest first: no plan, why it was refused, or what was left undone."""
    return dict(Counter(_failure(row) for row in rows if not row.reaches).most_common())


def _failure(row: PlanResult) -> str:
    if row.outcome != "planned":
        return "model failed" if row.outcome == "error" else "unreadable reply"
    return f"refused: {row.cause}" if row.cause else "conditions left unmet"


def as_json(manifest: PlanManifest, rows: Sequence[PlanResult]) -> dict[str, object]:
    """The figures as plain data; shares lie in [0, 1], and what is not known is null."""
    config = manifest.configuration
    every = dict(groups(rows))
    return {
        "world": WORLD,
        "split": config.split,
        "split_size": manifest.of,
        "selected": len(manifest.tasks),
        "agent": config.agent,
        "model": config.model,
        "settings": config.settings.model_dump(),
        **_figures(every["all"]),
        "unfinished": len(manifest.tasks) - len(rows),
        "errors": sum(row.outcome == "error" for row in rows),
        "by_type": {name: _figures(figures) for name, figures in every.items() if name in TASK_TYPES},
        "by_length": {name: _figures(figures) for name, figures in every.items() if name in LEVELS},
        "failures": failures(rows),
        "calls": sum(row.calls for row in rows),
        "tokens": {
            "prompt": sum(row.prompt_tokens for row in rows),
            "completion": sum(row.completion_tokens for row in rows),
        },
    }


def _figures(figures: PlanFigures) -> dict[str, object]:
    shares = {"exact": figures.exact, "goal_reaching": figures.reaches, "wherever": figures.wherever}
    return {
        "instructions": figures.total,
        **{name: _share(share) for name, share in shares.items()},
        "goal_conditions": figures.conditions,
    }


def _share(share: Share) -> dict[str, object]:
    interval = share.interval
    return {
        "count": share.count,
        "share": share.value,
        "interval": [interval.low, interval.high] if interval else None,
    }


def as_text(manifest: PlanManifest, rows: Sequence[PlanResult]) -> str:
    """The figures in at most 80 columns."""
    parts = (_heading(manifest), _why(rows), _intervals(PlanFigures.of(rows)), _table(rows), _sentences(manifest, rows))
    return "\n\n".join("\n".join(lines) for part in parts if (lines := list(part))) + "\n"


def _heading(manifest: PlanManifest) -> Iterator[str]:
    config = manifest.configuration
    own = config.settings
    pool = "all of train" if own.pool is None else f"{own.pool} of train, stratified by task type"
    shown = f"; {own.shots} are shown, by {own.choose}" if config.agent == "in-context" else ""
    for name, value in (
        ("planner", config.agent),
        ("model", config.model or "none"),
        ("told", "the goal and the step-by-step instructions" if own.steps else "the goal alone"),
        ("examples", f"{pool}{shown}"),
        ("tasks", f"{counted(len(manifest.tasks), manifest.of)} instructions ({config.split}), seed {config.seed}"),
    ):
        yield from wrapped(value, f"{name:<10}")


def _table(rows: Sequence[PlanResult]) -> Iterator[str]:
    lines = [
        (
            name,
            str(figures.total),
            percent(figures.exact.value),
            percent(figures.reaches.value),
            percent(figures.wherever.value),
            percent(figures.conditions),
        )
        for name, figures in groups(rows)
    ]
    yield from table(("", "plans", "exact", "reaching", "wherever", "conditions"), lines)
    yield from wrapped(
        "reaching: executed on the symbolic model, the plan is never refused and meets the goal; a relaxed measure of our own. "
        "wherever: the same, wherever things lie. conditions: share of the goal's conditions met."
    )


def _intervals(figures: PlanFigures) -> Iterator[str]:
    if not figures.total:
        return
    named = (("exact match", figures.exact), ("goal-reaching", figures.reaches), ("goal-reaching wherever", figures.wherever))
    lines = [(name, f"{share.count}", percent(share.value), percents(share.interval)) for name, share in named]
    yield from table((f"over {figures.total} plans", "count", "share", "95 % interval"), lines)


def _why(rows: Sequence[PlanResult]) -> Iterator[str]:
    found = failures(rows)
    if found:
        yield f"Why plans did not reach their goal ({sum(found.values())}):"
        yield from (f"  {name:<34}{count:>6}" for name, count in found.items())


def _sentences(manifest: PlanManifest, rows: Sequence[PlanResult]) -> Iterator[str]:
    left = len(manifest.tasks) - len(rows)
    if left:
        yield from wrapped(f"Not finished: {left} of {len(manifest.tasks)} instructions, which are not in the figures.")
    calls = sum(row.calls for row in rows)
    if calls:
        read, written = sum(row.prompt_tokens for row in rows), sum(row.completion_tokens for row in rows)
        yield from wrapped(f"{calls:,} calls of the model, {read:,} tokens read, {written:,} written.")
