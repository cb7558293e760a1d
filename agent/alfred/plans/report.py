"""Reports of runs over ALFRED's instructions, and of sweeps over planners, pools or numbers of examples."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache
from pathlib import Path
from statistics import fmean

from housequest.agent.alfred.plans import work
from housequest.agent.alfred.plans.planners import PLANNERS
from housequest.agent.evaluation.analysis.failures import counted, told
from housequest.agent.evaluation.analysis.run import shared_card
from housequest.agent.evaluation.analysis.statistics import clustered
from housequest.agent.evaluation.parts import RunFamily
from housequest.agent.evaluation.render import table
from housequest.agent.evaluation.render.series import arms_card
from housequest.agent.evaluation.runs.spec import selection_text
from housequest.agent.evaluation.runs.sweep import ArmRun, SweepFolder
from housequest.worlds.alfred import PLANS
from housequest.worlds.alfred.tasks import LEVELS, TASK_TYPES, read_split
from housequest.worlds.errors import ConfigurationError


def plan_card(manifest: work.PlanManifest) -> dict[str, str]:
    """The conditions of a run, by name; two runs with different conditions differ in a line."""
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


class Share:
    """The count and share of plans for which a ``field`` of the result is true; None without plans."""

    def __init__(self, rows: Sequence[work.PlanResult], field: str) -> None:
        found: dict[str, list[bool]] = {}
        for row in rows:
            found.setdefault(row.task.partition("#")[0], []).append(getattr(row, field))
        each = tuple((sum(one), len(one)) for one in found.values())
        self.count = sum(count for count, _ in each)
        self.value = self.count / len(rows) if rows else None
        # Instructions of one demonstration say the same in other words, so they form a cluster.
        self.interval = clustered(each) if rows else None


class PlanFigures:
    """The figures of a group of instructions. ``conditions`` is the mean share of goal conditions met. With replanning
    (``replanned``), ``executed`` and ``executed_reaches`` are exact and goal-reaching of the executed steps; else 0."""

    def __init__(self, rows: Sequence[work.PlanResult], *, replanned: bool = False) -> None:
        self.total, self.replanned = len(rows), replanned
        self.exact, self.reaches, self.wherever = (Share(rows, name) for name in ("exact", "reaches", "wherever"))
        self.executed, self.executed_reaches = (Share(rows, name) for name in ("executed_exact", "executed_reaches"))
        self.conditions = fmean(row.met / row.conditions for row in rows) if rows else None
        self.revisions = sum(row.revisions for row in rows)

    def data(self) -> dict[str, object]:
        """The figures as plain data; those of executed steps only with replanning."""
        named = {"exact": self.exact, "goal_reaching": self.reaches, "wherever": self.wherever}
        if self.replanned:
            named |= {"executed_exact": self.executed, "executed_goal_reaching": self.executed_reaches}
        shares = {
            name: {"count": one.count, "share": one.value, "interval": table.ends(one.interval)} for name, one in named.items()
        }
        more = {"revisions": self.revisions} if self.replanned else {}
        return {"instructions": self.total, **shares, "goal_conditions": self.conditions, **more}


def _groups(rows: Sequence[work.PlanResult], *, replanned: bool) -> dict[str, PlanFigures]:
    chosen = {name: [row for row in rows if name in (row.type, row.level)] for name in (*TASK_TYPES, *LEVELS)}
    groups = {name: some for name, some in chosen.items() if some} | {"all": rows}
    return {name: PlanFigures(some, replanned=replanned) for name, some in groups.items()}


def failures(rows: Sequence[work.PlanResult]) -> dict[str, int]:
    """Count why plans missed their goal, most frequent first: no plan, the refusal's cause, or conditions left unmet."""
    kinds = {"error": "model failed", "unreadable": "unreadable reply"}
    unmet = "conditions left unmet"
    missed = (row for row in rows if not row.reaches)
    causes = (kinds.get(row.outcome) or (f"refused: {row.cause}" if row.cause else unmet) for row in missed)
    return dict(Counter(causes).most_common())


@dataclass(frozen=True, slots=True)
class PlansReport(table.Report):
    """The report of a run over ALFRED's instructions; shares lie in [0, 1]."""

    manifest: work.PlanManifest
    rows: Sequence[work.PlanResult]

    def data(self) -> dict[str, object]:
        manifest, rows, config = self.manifest, self.rows, self.manifest.configuration
        every = _groups(rows, replanned=config.settings.replanning)
        return {
            "card": plan_card(manifest),
            "world": PLANS,
            "split": config.split,
            "split_size": manifest.of,
            "selected": len(manifest.tasks),
            "agent": config.agent,
            "model": config.model,
            "settings": asdict(config.settings),
            **every["all"].data(),
            "unfinished": len(manifest.tasks) - len(rows),
            "errors": sum(row.outcome == "error" for row in rows),
            "by_type": {name: figures.data() for name, figures in every.items() if name in TASK_TYPES},
            "by_length": {name: figures.data() for name, figures in every.items() if name in LEVELS},
            "failures": failures(rows),
            "lota_classes": counted(row.lota_class for row in rows),
            "calls": self._sum("calls"),
            "tokens": {"prompt": self._sum("prompt_tokens"), "completion": self._sum("completion_tokens")},
        }

    def sections(self) -> Iterator[table.Section]:
        manifest, rows, again = self.manifest, self.rows, self.manifest.configuration.settings.replanning
        every = _groups(rows, replanned=again)
        yield table.named_lines({**plan_card(manifest), "seed": str(manifest.configuration.seed)}.items(), CARD_WIDTH)
        if found := failures(rows):
            causes = (f"  {name:<34}{count:>6}" for name, count in found.items())
            yield [f"Why plans did not reach their goal ({sum(found.values())}):", *causes]
            yield table.wrapped(told(counted(row.lota_class for row in rows)))
        figures = every["all"]
        if rows:
            shares = {
                "exact match": figures.exact,
                "goal-reaching": figures.reaches,
                "goal-reaching wherever": figures.wherever,
            }
            cells = (
                (name, f"{one.count}", table.percent(one.value), table.percents(one.interval)) for name, one in shares.items()
            )
            yield table.Table((f"over {figures.total} plans", "count", "share", "95 % interval"), tuple(cells))
        names = ("plans", "exact", "reaching", "wherever", "conditions", *(("carried out",) if again else ()))
        yield [*table.Table.of("", [_COLUMNS[name] for name in names], every.items()).text(), *table.wrapped(MEASURES)]
        if again:
            first, carried, reaches = (
                table.percent(one.value) for one in (figures.exact, figures.executed, figures.executed_reaches)
            )
            yield table.wrapped(
                f"Asked again where a subgoal was refused ({figures.revisions:,} times): exact between {first} (the plans as "
                f"first written) and {carried} (what was carried out: LLM-Planner, section 5.2); {reaches} of what was carried "
                "out reaches the goal."
            )
        selected, calls, read, written = len(manifest.tasks), *map(self._sum, ("calls", "prompt_tokens", "completion_tokens"))
        left = selected - len(rows)
        unfinished = f"Not finished: {left} of {selected} instructions, which are not in the figures."
        spent = f"{calls:,} calls of the model, {read:,} tokens read, {written:,} written."
        yield [*(table.wrapped(unfinished) if left else ()), *(table.wrapped(spent) if calls else ())]

    def _sum(self, field: str) -> int:
        return sum(getattr(row, field) for row in self.rows)


CARD_WIDTH = 12  # Columns of the names on a card.
_EVERY: tuple[table.Column[PlanFigures], ...] = (
    table.Column("plans", lambda figures: figures.total),
    table.Column("exact", lambda figures: figures.exact.value, table.percent),
    table.Column("interval", lambda figures: figures.exact.interval, table.percents),
    table.Column("reaching", lambda figures: figures.reaches.value, table.percent),
    table.Column("wherever", lambda figures: figures.wherever.value, table.percent),
    table.Column("conditions", lambda figures: figures.conditions, table.percent),
    table.Column("carried out", lambda figures: figures.executed_reaches.value, table.percent),
    table.Column("carried", lambda figures: figures.executed.value if figures.replanned else None, table.percent),
)
_COLUMNS = {one.heading: one for one in _EVERY}
MEASURES = (
    "exact: the plan is the demonstration's, in ALFRED's high-level actions, each walk with its place; papers' figures of "
    "plans that leave walks out are another measure. reaching: executed on the symbolic model, the plan is never refused "
    "and meets the goal; a relaxed measure of our own. wherever: the same, wherever things lie. conditions: share of the "
    "goal's conditions met."
)


def plan_arms(arms: Iterable[ArmRun]) -> tuple[tuple[ArmRun, work.PlanRun], ...]:
    """The run of each arm of a sweep over plans. Raises ``ConfigurationError``, also where an arm plays games, and
    ``GameError``."""
    arms, read = tuple(arms), cache(read_split)
    if games := next((each.arm for each in arms if each.settings.world != PLANS), None):
        raise ConfigurationError(f"The arm {games!r} plays games, and others only plan ({PLANS}); write two sweeps.")
    return tuple((each, work.make_run(each.settings, read=read)) for each in arms)


class PlanArmFigures:
    """The figures of an arm over all ``seeds`` that were begun, without ``unfinished`` instructions. ``card`` is that of its
    first run, or empty if none was begun."""

    def __init__(self, arm: str, folders: Sequence[Path]) -> None:
        begun = [(work.read_manifest(one), work.read_rows(one)) for one in folders if (one / "run.json").is_file()]
        manifests, rows = [manifest for manifest, _ in begun], [row for _, some in begun for row in some]
        self.arm, self.seeds = arm, [one.configuration.seed for one in manifests]
        self.unfinished = sum(len(one.tasks) for one in manifests) - len(rows)
        self.figures = PlanFigures(rows, replanned=any(one.configuration.settings.replanning for one in manifests))
        self.card = plan_card(manifests[0]) if manifests else {}


def read_plan_arms(folder: SweepFolder) -> tuple[PlanArmFigures, ...]:
    """The arms of a sweep over plans. Raises ``ConfigurationError``."""
    places: dict[str, list[Path]] = {}
    for each in folder.contents().runs:
        places.setdefault(each.arm, []).append(folder.run(each.folder).path)
    return tuple(PlanArmFigures(arm, folders) for arm, folders in places.items())


@dataclass(frozen=True, slots=True)
class PlanSweepReport(table.Report):
    """The arms of a sweep over plans side by side; shares lie in [0, 1]."""

    arms: tuple[PlanArmFigures, ...]

    def data(self) -> dict[str, object]:
        arms = [
            {"arm": each.arm, "seeds": each.seeds, "unfinished": each.unfinished, **each.figures.data(), "card": each.card}
            for each in self.arms
        ]
        return {"card": shared_card([each.card for each in self.arms if each.card]), "world": PLANS, "arms": arms}

    def sections(self) -> Iterator[table.Section]:
        card = arms_card({each.arm: each.card for each in self.arms if each.card})
        seeds = sorted({seed for each in self.arms for seed in each.seeds})
        yield table.named_lines([*card, ("seeds", ", ".join(map(str, seeds)))], CARD_WIDTH)
        again = any(each.figures.replanned for each in self.arms)
        names = ("plans", "exact", "interval", "reaching", "wherever", *(("carried",) if again else ()))
        pairs = [(each.arm, each.figures) for each in self.arms]
        yield replace(table.Table.of("", [_COLUMNS[name] for name in names], pairs), total=None)
        yield table.wrapped(f"{MEASURES} The interval is the 95 % one of exact, over demonstrations.")
        if left := sum(each.unfinished for each in self.arms):
            yield table.wrapped(f"Not finished: {left} instructions, which are not in the figures.")
        if missing := [each.arm for each in self.arms if not each.seeds]:
            yield table.wrapped(f"Not begun: {', '.join(missing)}.")


FAMILY = RunFamily(
    about="plans to score",
    report=lambda folder: PlansReport(work.read_manifest(folder), work.read_rows(folder)),
    sweep_report=lambda folder: PlanSweepReport(read_plan_arms(folder)),
    verify=work.verify_plans,
    commands="housequest.tui.alfred.plans",
)
