"""The report on what each rule of a book is worth: its worth as it is stored, beside the other rules and alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean
from typing import NamedTuple

from housequest.agent.evaluation.analysis import statistics
from housequest.agent.evaluation.analysis.arms import Difference, TaskPair
from housequest.agent.evaluation.analysis.metrics import PlayedTask
from housequest.agent.evaluation.render.table import Column, Report, Section, Table, Warned, named_lines, wrapped
from housequest.agent.evaluation.runs.files import few
from housequest.agent.evaluation.runs.measurement import EachMeasurement, RuleTrials
from housequest.agent.evaluation.runs.sweep import SweepFolder
from housequest.agent.skills.contrary import Kinds, held_by_person, retire
from housequest.knowledge.choosing import RuleBudget
from housequest.knowledge.rulebook import Rulebook
from housequest.knowledge.rules import Beside, Interval, MeasuredChange, Rule, Worth, accepted
from housequest.worlds.base import Task
from housequest.worlds.text import many

TOTAL = "all accepted rules"
FEWEST = 6
"""Games below which no interval of steps is told: of five, all may change to one side by chance alone (p = 0.06)."""


class RuleWorth(NamedTuple):
    """A rule, or None for a whole book, with the number of games that it can change and its worth by each way of adding it;
    none without games."""

    rule: Rule | None
    games: int
    ways: Mapping[Beside, Worth]

    @property
    def costs(self) -> bool:
        """True if it costs, in either way."""
        return any(worth.costs for worth in self.ways.values())

    @property
    def changes(self) -> bool:
        """True if it made a difference in steps, or in who won, in the mean."""
        return any(worth.steps != MeasuredChange(0.0) or worth.success.value for worth in self.ways.values())

    @property
    def name(self) -> str:
        """The id of the rule."""
        return self.rule.id if self.rule else TOTAL


class WorthReport(Report):
    """The worth of each rule of a measurement that was played into ``folder``."""

    def __init__(self, plan: EachMeasurement, folder: SweepFolder) -> None:
        self.plan, self.folder = plan, folder
        played: dict[tuple[str, str], PlayedTask] = {}
        for trial in plan.trials:
            selected = {task.id: task for task in trial.spec.manifest.tasks}
            for result in folder.run(trial.folder).results(tuple(selected.values())):
                played[trial.folder, result.task] = PlayedTask(selected[result.task], result)
        self.errors = sum(each.result is not None and each.result.outcome == "error" for each in played.values())
        self.played = len(played)
        self._played = played
        self.whole = self._worth(plan.whole)
        self.each = tuple(map(self._worth, plan.each))

    def _worth(self, trials: RuleTrials) -> RuleWorth:
        ways: dict[Beside, Worth] = {}
        if trials.tasks:
            ways = {way: self._way(trials.tasks, way, rules) for way, rules in trials.ways.items()}
        return RuleWorth(trials.rule, len(trials.tasks), ways)

    def _way(self, tasks: Sequence[Task], way: Beside, rules: tuple[RuleBudget | None, RuleBudget | None]) -> Worth:
        config = self.plan.spec.config
        first, second = ([self._played[self.plan.folder_of(task.id, told), task.id] for task in tasks] for told in rules)
        success = Difference.of([TaskPair([before], [after]) for before, after in zip(first, second, strict=True)])
        steps = [self._steps(after) - self._steps(before) for before, after in zip(first, second, strict=True)]
        spread = statistics.bootstrap_mean(steps) if len(set(steps)) > 1 and len(steps) >= FEWEST else None
        numbers = [task.number for task in tasks]
        made_up = config.split in self.plan.spec.setup.world.info.endless_splits or ":" in config.split
        return Worth(
            steps=_change(fmean(steps), spread, 2),
            success=_change(success.value, success.interval, 4),
            games=len(tasks),
            beside=way,
            split=", ".join(filter(None, (config.split, config.habits))),
            tasks=f"{min(numbers)}..{max(numbers)}" if made_up else "",
            agent=config.agent,
            model=config.model or "",
        )

    def _steps(self, played: PlayedTask) -> int:
        """The steps of an episode; one that is not won counts its limit."""
        return played.result.steps if played.result is not None and played.won else self.plan.spec.config.max_turns

    def saved_in(self, book: Rulebook, *, judge: bool = False) -> Rulebook:
        """The ``book`` with the worth of the rules that still say the same.

        Args:
            book: It as it is now; it is not written.
            judge: Accept the rules that pay, and reject those that cost; but none that a person holds.

        Returns:
            The book to save, in which no two contrary rules are accepted by programs.

        Raises:
            KnowledgeError: The book cannot be changed.
        """
        measured = {each.name: each for each in self.each if each.rule and each.ways}
        changed: list[Rule] = []
        for rule in book.rules:
            found = measured.get(rule.id)
            if found is None or found.rule is None or found.rule.told != rule.told:
                continue
            valued, worth = rule.valued(found.ways.values()), found.ways["book"]
            decided = judge and not held_by_person(rule) and (worth.pays or worth.costs)
            changed.append(valued.judged("accepted" if worth.pays else "rejected", "evidence") if decided else valued)
        book, household = book.put(changed), self.plan.spec.setup.world.household
        return book.put(retire(book.rules, Kinds.of(household.counts()))) if judge and household else book

    def data(self) -> dict[str, object]:
        return {
            "book": self.plan.book.path.name,
            "games": self.whole.games,
            "played": self.played,
            "errors": self.errors,
            "whole": _data(self.whole),
            "rules": [{"id": each.name, **_data(each)} for each in self.each],
        }

    def sections(self) -> Iterator[Section]:
        config = self.plan.spec.config
        rules, games = many(len(self.each), "rule"), many(self.whole.games, "game")
        yield named_lines(
            [
                ("rules", f"{rules} of {self.plan.book.path.name}"),
                (
                    "games",
                    f"{games} of {config.split}, turns at most {config.max_turns}; one that is not won counts so many steps",
                ),
                ("agent", " with ".join(filter(None, (config.agent, config.model)))),
                ("played", f"{many(self.played, 'episode')}; arms that tell the agent the same share them"),
            ],
            width=10,
        )
        known = sorted((each for each in self.each if each.changes), key=lambda each: each.ways["book"].steps.value)
        rows = [(f"{'! ' if each.costs else ''}{each.name}", each) for each in known]
        rows += [(TOTAL, self.whole)] if accepted(self.plan.book.rules) else []
        yield Table.of("rule", _COLUMNS, rows, total=TOTAL)
        yield wrapped("Differences are with the rule less without it, over the games that it can change, with 95 % intervals.")
        if costly := [each.name for each in known if each.costs]:
            yield map(Warned, wrapped(f"They cost ({len(costly)}): {few(costly)}.", "! ", "  "))
        if idle := [each.name for each in self.each if each.ways and not each.changes]:
            yield wrapped(f"They changed nothing in any game ({len(idle)}): {few(idle)}.")
        if unknown := [each.name for each in self.each if not each.ways]:
            yield wrapped(f"No game is about what they say ({len(unknown)}): {few(unknown)}.")


def _change(value: float, interval: Interval | None, digits: int) -> MeasuredChange:
    if interval is None:
        return MeasuredChange(round(value, digits))
    return MeasuredChange(round(value, digits), round(interval.low, digits), round(interval.high, digits))


def _data(worth: RuleWorth) -> dict[str, object]:
    def change(of: MeasuredChange) -> dict[str, object]:
        return {"value": of.value, "interval": None if of.low is None else [of.low, of.high]}

    ways = {way: {"steps": change(each.steps), "success": change(each.success)} for way, each in worth.ways.items()}
    return {"games": worth.games, "costs": worth.costs, "beside": ways}


def _span(change: MeasuredChange) -> str:
    return f"{change.value:+.1f}" + (f" ({change.low:+.1f} to {change.high:+.1f})" if change.low is not None else "")


_COLUMNS: tuple[Column[RuleWorth], ...] = (
    Column("games", lambda each: each.games),
    Column("steps with the others", lambda each: _span(each.ways["book"].steps) if each.rule else ""),
    Column("steps alone", lambda each: _span(each.ways["nothing"].steps)),
    Column("success", lambda each: f"{each.ways['book' if each.rule else 'nothing'].success.value * 100:+.1f} points"),
)
