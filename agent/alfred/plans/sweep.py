"""Sweeps over ALFRED's instructions: several planners, pools or numbers of examples, each a run, read as one table."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from housequest.agent.alfred.plans.report import CARD_WIDTH, MEASURES, PlanFigures, figures_data, plan_card
from housequest.agent.alfred.plans.run import PlanRun, make_run
from housequest.agent.alfred.plans.work import PlanResult, read_manifest, read_rows
from housequest.agent.evaluation.analysis.arms import arms_card
from housequest.agent.evaluation.analysis.run import shared_card
from housequest.agent.evaluation.render.table import Column, Report, Section, Table, named_lines, percent, percents, wrapped
from housequest.agent.evaluation.runs.sweep import ConfiguredArm, SweepFolder
from housequest.worlds.alfred import PLANS
from housequest.worlds.alfred.tasks import read_split
from housequest.worlds.errors import ConfigurationError


@dataclass(frozen=True, slots=True)
class PlanArm(ConfiguredArm):
    """One arm with one seed, whose plans can be asked for."""

    run: PlanRun


def plan_arms(arms: Iterable[ConfiguredArm]) -> tuple[PlanArm, ...]:
    """The runs of a sweep over plans. Raises ``ConfigurationError``, also where an arm plays games, and ``GameError``."""
    arms, read = tuple(arms), cache(read_split)
    if games := next((each.arm for each in arms if each.configuration.settings.world != PLANS), None):
        raise ConfigurationError(f"The arm {games!r} plays games, and others only plan ({PLANS}); write two sweeps.")
    return tuple(
        PlanArm(each.arm, each.seed, each.folder, each.configuration, make_run(each.configuration.settings, read=read))
        for each in arms
    )


@dataclass(frozen=True, slots=True)
class PlanArmFigures:
    """The figures of an arm over the instructions of all ``seeds`` that were begun; ``unfinished`` ones are not in them.

    ``card`` is that of its first run, empty where none was begun.
    """

    arm: str
    seeds: tuple[int, ...]
    unfinished: int
    replanned: bool
    figures: PlanFigures
    card: Mapping[str, str]


def read_plan_arms(folder: SweepFolder) -> tuple[PlanArmFigures, ...]:
    """The arms of a sweep over plans. Raises ``ConfigurationError``."""
    runs = folder.contents().runs
    return tuple(
        _arm(arm, [folder.run(each.folder).path for each in runs if each.arm == arm])
        for arm in dict.fromkeys(each.arm for each in runs)
    )


def _arm(arm: str, places: Iterable[Path]) -> PlanArmFigures:
    started = [place for place in places if (place / "run.json").is_file()]
    manifests = [read_manifest(place) for place in started]
    rows: list[PlanResult] = [row for place in started for row in read_rows(place)]
    left = sum(len(manifest.tasks) for manifest in manifests) - len(rows)
    replanned = any(manifest.configuration.settings.replanning for manifest in manifests)
    seeds = tuple(manifest.configuration.seed for manifest in manifests)
    card = plan_card(manifests[0]) if manifests else {}
    return PlanArmFigures(arm, seeds, left, replanned, PlanFigures.of(rows), card)


@dataclass(frozen=True, slots=True)
class PlanSweepReport(Report):
    """The arms of a sweep over plans, beside each other; shares lie in [0, 1]."""

    arms: tuple[PlanArmFigures, ...]

    def data(self) -> dict[str, object]:
        return {
            "card": shared_card([each.card for each in self.arms if each.card]),
            "world": PLANS,
            "arms": [
                {
                    **{"arm": each.arm, "seeds": list(each.seeds), "unfinished": each.unfinished},
                    **figures_data(each.figures, replanned=each.replanned),
                    "card": dict(each.card),
                }
                for each in self.arms
            ],
        }

    def sections(self) -> Iterator[Section]:
        card = arms_card({each.arm: each.card for each in self.arms if each.card})
        seeds = sorted({seed for each in self.arms for seed in each.seeds})
        yield named_lines([*card, ("seeds", ", ".join(map(str, seeds)))], CARD_WIDTH)
        columns = _COLUMNS if any(each.replanned for each in self.arms) else _COLUMNS[:-1]
        yield replace(Table.of("", columns, [(each.arm, each) for each in self.arms]), total=None)
        yield wrapped(f"{MEASURES} The interval is Wilson's 95 % of exact, over demonstrations.")
        if left := sum(each.unfinished for each in self.arms):
            yield wrapped(f"Not finished: {left} instructions, which are not in the figures.")
        if missing := [each.arm for each in self.arms if not each.seeds]:
            yield wrapped(f"Not begun: {', '.join(missing)}.")


_COLUMNS: tuple[Column[PlanArmFigures], ...] = (
    Column("plans", lambda each: each.figures.total),
    Column("exact", lambda each: each.figures.exact.value, percent),
    Column("interval", lambda each: each.figures.exact.interval, percents),
    Column("reaching", lambda each: each.figures.reaches.value, percent),
    Column("wherever", lambda each: each.figures.wherever.value, percent),
    Column("carried", lambda each: each.figures.executed.value if each.replanned else None, percent),
)
