"""The arms of a sweep beside each other, each over its seeds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from housequest.agent.evaluation.analysis.experts import ceiling_of
from housequest.agent.evaluation.analysis.metrics import Extras, Summary, joined, summarise
from housequest.agent.evaluation.analysis.run import PriceList, card, shared_card
from housequest.agent.evaluation.analysis.series import OWN_TASKS
from housequest.agent.evaluation.render.table import (
    Column,
    Report,
    Section,
    Table,
    named_lines,
    number,
    percent,
    percents,
    plain_data,
    wrapped,
)
from housequest.agent.evaluation.runs.sweep import SweepFolder
from housequest.agent.evaluation.runs.usage import money, timings_of
from housequest.worlds.errors import ConfigurationError

_MOST_VALUES = 6
"""How many values of a line are listed; of a large grid, the arms' names say what differs."""


@dataclass
class ArmFigures:
    """The figures of one ``arm`` over its begun ``runs``, one a seed, of as many ``tasks`` each, under one ``card``.

    Success counts each task once, however many seeds played it. ``steps`` are executed commands per episode; ``cost`` covers
    all runs, None where no price is known. ``same_tasks``: every seed played the same tasks; with ``sample``, each draws its
    own. ``ceiling`` is the share of tasks that the expert wins by the location ``prior``; None for an agent that does not
    search, and where the games are not here.
    """

    arm: str
    runs: Sequence[Summary]
    card: Mapping[str, str]

    def __post_init__(self) -> None:
        every = joined(self.runs)
        whole, ceiling = every.overall, every.ceiling
        costs = [run.overall.cost.total for run in self.runs if run.prices is not None]
        known = [cost for cost in costs if cost is not None]
        selections = {frozenset([each.task.id for each in run.overall.played] + list(run.assisted)) for run in self.runs}
        self.seeds, self.same_tasks = len(self.runs), len(selections) < 2
        self.tasks = max((run.overall.episodes for run in self.runs), default=0)
        self.success, self.interval, self.steps = whole.success, whole.interval, whole.commands.mean
        self.unfinished, self.errors, self.calls = whole.unfinished, whole.errors, whole.calls
        self.cost = sum(known) if known else None
        self.prior, self.ceiling = (ceiling.prior, ceiling.success) if ceiling else (None, None)


def read_arms(folder: SweepFolder, prices: PriceList) -> tuple[ArmFigures, ...]:
    """The begun runs of the sweep in ``folder`` by arm, in the order of its file. Raises ``ConfigurationError``."""
    by_arm: dict[str, list[Summary]] = {}
    cards: dict[str, dict[str, str]] = {}
    for kept in folder.contents().runs:
        summaries = by_arm.setdefault(kept.arm, [])
        run = folder.run(kept.folder)
        if run.manifest_file.exists():
            manifest = run.manifest()
            results, model = run.results(manifest.tasks), manifest.configuration.model
            clocks, ceiling = timings_of(run, manifest.tasks), ceiling_of(run, manifest, manifest.tasks)
            extras = Extras(clocks=clocks, prices=prices(model) if model else None, ceiling=ceiling)
            summaries.append(summarise(manifest.tasks, results, extras))
            cards[kept.arm] = cards.get(kept.arm, card(manifest, "")) | {"asked": joined(summaries).overall.asked}
    if not any(by_arm.values()):
        raise ConfigurationError(f"No run of the sweep in {folder.path} has begun; play it with `housequest eval --sweep`.")
    return tuple(ArmFigures(arm, summaries, cards.get(arm, {})) for arm, summaries in by_arm.items())


_COLUMNS: tuple[Column[ArmFigures], ...] = (
    Column("seeds", lambda arm: arm.seeds),
    Column("tasks", lambda arm: arm.tasks),
    Column("err", lambda arm: arm.errors),
    Column("success", lambda arm: arm.success, percent),
    Column("95 % interval", lambda arm: arm.interval, percents),
    Column("steps", lambda arm: arm.steps, number),
    Column("calls", lambda arm: arm.calls),
    Column("ceiling", lambda arm: arm.ceiling, percent),
    Column("cost", lambda arm: arm.cost, lambda cost: "-" if cost is None else money(cost)),
)


@dataclass(frozen=True, slots=True)
class SweepReport(Report):
    """The arms of a sweep; rates lie in [0, 1]."""

    arms: tuple[ArmFigures, ...]

    def data(self) -> dict[str, object]:
        figures = ("same_tasks", "unfinished", "errors", "success", "interval", "steps", "calls", "prior", "ceiling", "cost")
        return {
            "card": shared_card([arm.card for arm in self.arms if arm.card]),
            "arms": [
                {**plain_data(arm, "arm", "seeds"), "episodes": arm.tasks, **plain_data(arm, *figures), "card": dict(arm.card)}
                for arm in self.arms
            ],
        }

    def sections(self) -> Iterator[Section]:
        """The conditions that all arms share, and those in which they differ; the table and its notes."""
        yield named_lines(arms_card({arm.arm: arm.card for arm in self.arms if arm.card}), width=10)
        lacking = {name for name in ("ceiling", "cost") if all(getattr(each, name) is None for each in self.arms)}
        columns = [column for column in _COLUMNS if column.heading not in lacking]
        table = Table.of("", columns, [(each.arm, each) for each in self.arms])
        missing = {each.arm for each in self.arms if not each.seeds}
        rows = tuple((row[0], "0", *["-"] * (len(row) - 2)) if row[0] in missing else row for row in table.rows)
        yield Table(table.head, rows, total=None)
        yield self._notes()

    def _notes(self) -> Iterator[str]:
        if any(each.seeds > 1 for each in self.arms):
            yield from wrapped("The interval is over the tasks: one counts once, however many seeds played it.")
        if drawn := [each.arm for each in self.arms if not each.same_tasks]:
            yield from wrapped(f"{', '.join(drawn)}: {OWN_TASKS[0].lower()}{OWN_TASKS[1:]}")
        if unfinished := sum(each.unfinished for each in self.arms):
            yield f"Not finished: {unfinished} episodes; until they are, they count as not won."
        if by := sorted({each.prior for each in self.arms if each.prior is not None}):
            yield from wrapped(
                f"Ceiling: the share that the expert, which has no model, wins by the arm's location prior ({', '.join(by)}). "
                "With search=llm that is chance, where the model begins."
            )
        if missing := [each.arm for each in self.arms if not each.seeds]:
            yield f"Not begun: {', '.join(missing)}."


def arms_card(cards: Mapping[str, Mapping[str, str]]) -> list[tuple[str, str]]:
    """The cards of a sweep by arm as one: first what all arms share, then each line in which they differ."""
    shared = shared_card(list(cards.values()))
    others = dict.fromkeys(name for each in cards.values() for name in each if name not in shared)
    differ = [(name, _differing({arm: each.get(name, "-") for arm, each in cards.items()})) for name in others]
    return [*shared.items(), *differ]


def _differing(lines: Mapping[str, str]) -> str:
    by_value = {value: ", ".join(arm for arm, line in lines.items() if line == value) for value in lines.values()}
    if len(by_value) > _MOST_VALUES:
        return f"differs in {len(by_value)} ways; --json has each arm's card"
    return f"differs: {'; '.join(f'{value} ({arms})' for value, arms in by_value.items())}"
