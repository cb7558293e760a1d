"""The report of a run over ALFRED's instructions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from operator import attrgetter
from statistics import fmean

from housequest.agent.alfred.plans.planners import PLANNERS
from housequest.agent.alfred.plans.run import PlanManifest
from housequest.agent.alfred.plans.work import PlanResult
from housequest.agent.evaluation.analysis.failures import counted, told
from housequest.agent.evaluation.analysis.statistics import Interval, clustered
from housequest.agent.evaluation.render.table import (
    Column,
    Report,
    Section,
    Table,
    ends,
    named_lines,
    percent,
    percents,
    wrapped,
)
from housequest.agent.evaluation.runs.spec import selection_text
from housequest.worlds.alfred import PLANS
from housequest.worlds.alfred.scoring import LEVELS, TASK_TYPES


def plan_card(manifest: PlanManifest) -> dict[str, str]:
    """Under what conditions plans were made, by name; where two runs differ in one, a line differs."""
    config, own = manifest.configuration, manifest.configuration.settings
    takes, asked = PLANNERS[config.agent].takes if config.agent in PLANNERS else frozenset[str](), config.model is not None
    part = "" if len(manifest.tasks) == manifest.of else ": not the whole split"
    pool = "all of train" if own.pool is None else f"{own.pool} of train, stratified by task type"
    by = f"{own.choose} ({own.embedder})" if own.embedder else own.choose
    shown = f"{own.shots} by {by}, of {pool}" if asked else f"the nearest by {by}, of {pool}"
    again = f"where a subgoal is refused, at most {own.revisions} times"
    told = "what was done, seen, held and refused" if own.feedback else "what was done and seen"
    return {
        "planner": config.agent,
        "model": config.model or "none",
        "split": config.split,
        "tasks": f"{selection_text(len(manifest.tasks), manifest.of)} instructions{part}",
        "told": "the goal and the step-by-step instructions" if own.steps else "the goal alone",
        "examples": shown if own.shots or not asked else "none",
        "replies": f"at most {own.max_tokens} tokens, temperature {own.temperature:g}" if asked else "none",
        "taken apart": own.decompose.replace("none", "not") if "decompose" in takes else "not",
        "bias": f"{own.bias:g} nats, where the model takes one" if own.bias else "none",
        "replanning": f"{again}, told {told}" if own.replanning else "none",
        "data": manifest.data[:16],
    }


@dataclass(frozen=True, slots=True)
class Share:
    """A count out of a total of plans. ``demonstrations`` has both for each: its instructions say the same in other words."""

    count: int
    total: int
    demonstrations: tuple[tuple[int, int], ...]

    @classmethod
    def of(cls, rows: Sequence[PlanResult], counts: Callable[[PlanResult], bool]) -> Share:
        """The share of ``rows`` that count."""
        found: dict[str, list[bool]] = {}
        for row in rows:
            found.setdefault(row.task.partition("#")[0], []).append(counts(row))
        each = tuple((sum(one), len(one)) for one in found.values())
        return cls(sum(count for count, _ in each), len(rows), each)

    @property
    def value(self) -> float | None:
        """The share; None where the total is 0."""
        return self.count / self.total if self.total else None

    @property
    def interval(self) -> Interval | None:
        """The 95 % interval over demonstrations, whose instructions count as one as far as they come out alike."""
        return clustered(self.demonstrations) if self.total else None


@dataclass(frozen=True, slots=True)
class PlanFigures:
    """The figures of a group of instructions. ``conditions`` is the mean share of goal conditions met.

    ``executed`` and ``executed_reaches`` are exact and goal-reaching of what was carried out, where failed plans were made
    again; else 0.
    """

    total: int
    exact: Share
    reaches: Share
    wherever: Share
    conditions: float | None
    executed: Share
    executed_reaches: Share
    revisions: int

    @classmethod
    def of(cls, rows: Sequence[PlanResult]) -> PlanFigures:
        """The figures of ``rows``."""
        named = ("exact", "reaches", "wherever", "executed_exact", "executed_reaches")
        exact, reaches, wherever, executed, executed_reaches = (Share.of(rows, attrgetter(name)) for name in named)
        conditions = fmean(row.met / row.conditions for row in rows) if rows else None
        revisions = sum(row.revisions for row in rows)
        return cls(len(rows), exact, reaches, wherever, conditions, executed, executed_reaches, revisions)


def plan_groups(rows: Sequence[PlanResult]) -> Iterator[tuple[str, PlanFigures]]:
    """The rows of a table: each task type, each plan length, then all."""
    for name in (*TASK_TYPES, *LEVELS):
        if chosen := [row for row in rows if name in (row.type, row.level)]:
            yield name, PlanFigures.of(chosen)
    yield "all", PlanFigures.of(rows)


def failures(rows: Sequence[PlanResult]) -> dict[str, int]:
    """Why plans missed their goal, most frequent first: no plan, the refusal's cause, or the conditions left unmet."""
    kinds = {"error": "model failed", "unreadable": "unreadable reply"}
    unmet = "conditions left unmet"
    missed = (row for row in rows if not row.reaches)
    causes = (kinds.get(row.outcome) or (f"refused: {row.cause}" if row.cause else unmet) for row in missed)
    return dict(Counter(causes).most_common())


@dataclass(frozen=True, slots=True)
class PlansReport(Report):
    """The report of a run over ALFRED's instructions; shares lie in [0, 1]."""

    manifest: PlanManifest
    rows: Sequence[PlanResult]

    def data(self) -> dict[str, object]:
        manifest, rows = self.manifest, self.rows
        config, every = manifest.configuration, dict(plan_groups(rows))
        again = config.settings.replanning
        return {
            "card": plan_card(manifest),
            "world": PLANS,
            "split": config.split,
            "split_size": manifest.of,
            "selected": len(manifest.tasks),
            "agent": config.agent,
            "model": config.model,
            "settings": asdict(config.settings),
            **figures_data(every["all"], replanned=again),
            "unfinished": len(manifest.tasks) - len(rows),
            "errors": sum(row.outcome == "error" for row in rows),
            "by_type": {name: figures_data(figures, replanned=again) for name, figures in every.items() if name in TASK_TYPES},
            "by_length": {name: figures_data(figures, replanned=again) for name, figures in every.items() if name in LEVELS},
            "failures": failures(rows),
            "lota_classes": counted(row.lota_class for row in rows),
            "calls": sum(row.calls for row in rows),
            "tokens": dict(zip(("prompt", "completion"), _tokens(rows), strict=True)),
        }

    def sections(self) -> Iterator[Section]:
        manifest, rows, figures = self.manifest, self.rows, PlanFigures.of(self.rows)
        own, selected = manifest.configuration.settings, len(manifest.tasks)
        yield named_lines({**plan_card(manifest), "seed": str(manifest.configuration.seed)}.items(), CARD_WIDTH)
        if found := failures(rows):
            causes = (f"  {name:<34}{count:>6}" for name, count in found.items())
            yield [f"Why plans did not reach their goal ({sum(found.values())}):", *causes]
            yield wrapped(told(counted(row.lota_class for row in rows)))
        if rows:
            shares = {
                "exact match": figures.exact,
                "goal-reaching": figures.reaches,
                "goal-reaching wherever": figures.wherever,
            }
            cells = tuple(
                (name, f"{each.count}", percent(each.value), percents(each.interval)) for name, each in shares.items()
            )
            yield Table((f"over {figures.total} plans", "count", "share", "95 % interval"), cells)
        columns = (*_COLUMNS, _CARRIED) if own.replanning else _COLUMNS
        yield [*Table.of("", columns, plan_groups(rows)).text(), *wrapped(MEASURES)]
        if own.replanning:
            yield wrapped(_dynamic(figures))
        left, calls, (read, written) = selected - len(rows), sum(row.calls for row in rows), _tokens(rows)
        unfinished = f"Not finished: {left} of {selected} instructions, which are not in the figures."
        spent = f"{calls:,} calls of the model, {read:,} tokens read, {written:,} written."
        yield [*(wrapped(unfinished) if left else ()), *(wrapped(spent) if calls else ())]


CARD_WIDTH = 12
"""Columns of the names on a card."""

_COLUMNS: tuple[Column[PlanFigures], ...] = (
    Column("plans", lambda figures: figures.total),
    Column("exact", lambda figures: figures.exact.value, percent),
    Column("reaching", lambda figures: figures.reaches.value, percent),
    Column("wherever", lambda figures: figures.wherever.value, percent),
    Column("conditions", lambda figures: figures.conditions, percent),
)
_CARRIED: Column[PlanFigures] = Column("carried out", lambda figures: figures.executed_reaches.value, percent)

MEASURES = (
    "reaching: executed on the symbolic model, the plan is never refused and meets the goal; a relaxed measure of our own. "
    "wherever: the same, wherever things lie. conditions: share of the goal's conditions met."
)


def _dynamic(figures: PlanFigures) -> str:
    return (
        f"Asked again where a subgoal was refused ({figures.revisions:,} times): exact between {percent(figures.exact.value)} "
        f"(the plans as first written) and {percent(figures.executed.value)} (what was carried out: LLM-Planner, section 5.2); "
        f"{percent(figures.executed_reaches.value)} of what was carried out reaches the goal."
    )


def _tokens(rows: Sequence[PlanResult]) -> tuple[int, int]:
    """The prompt and the completion tokens of all calls."""
    return sum(row.prompt_tokens for row in rows), sum(row.completion_tokens for row in rows)


def figures_data(figures: PlanFigures, *, replanned: bool) -> dict[str, object]:
    """The figures as plain data; those of what was carried out only where plans were made again."""
    named = {"exact": figures.exact, "goal_reaching": figures.reaches, "wherever": figures.wherever}
    if replanned:
        named |= {"executed_exact": figures.executed, "executed_goal_reaching": figures.executed_reaches}
    shares = {name: {"count": each.count, "share": each.value, "interval": ends(each.interval)} for name, each in named.items()}
    more = {"revisions": figures.revisions} if replanned else {}
    return {"instructions": figures.total, **shares, "goal_conditions": figures.conditions, **more}
