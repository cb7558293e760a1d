"""Compare two arms task by task: who won what, and is it more than chance?

An arm is a run, or several that differ only in their seed; a task counts once, with its mean over the runs. Tasks
differ far more than agents do, so the comparison is paired. Runs over different games are refused with the reason.
"""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cached_property
from statistics import fmean
from typing import Any, NamedTuple

from housequest.agent.episodes.events import RulesShown
from housequest.agent.episodes.record import read_episode
from housequest.agent.evaluation.analysis import metrics, statistics
from housequest.agent.evaluation.analysis.arms import Arm, Difference, Gain, PairedCounts, TaskPair, refuse_unlike, sides
from housequest.agent.evaluation.analysis.failures import FailureKind
from housequest.agent.evaluation.analysis.metrics import CeilingFigures, EpisodeFigure
from housequest.agent.evaluation.analysis.run import (
    PriceList,
    card_differences,
    find_task,
    prior_of,
    read_for_comparison,
    reference_of,
    shared_card,
)
from housequest.agent.evaluation.analysis.statistics import Interval, ratio, wilson
from housequest.agent.evaluation.render import table
from housequest.agent.evaluation.render.report import ceiling_data, ceiling_words, chance_words, first_lines, learned_words
from housequest.agent.evaluation.render.table import Report, Section, Table, Warned, wrapped
from housequest.agent.evaluation.runs.files import few, flattened
from housequest.agent.evaluation.runs.folder import Result
from housequest.agent.evaluation.runs.measurement import Measurement
from housequest.agent.evaluation.runs.spec import Manifest
from housequest.agent.evaluation.runs.sweep import SweepFolder
from housequest.agent.evaluation.runs.usage import money
from housequest.worlds.errors import ConfigurationError, shown
from housequest.worlds.text import many, printable


def _settings(manifest: Manifest) -> dict[str, object]:
    """Everything that may explain a difference, by name: the configuration, the engine's version and the prompts."""
    config = manifest.configuration.model_dump(mode="json", exclude={"types", "limit", "sample", "rules"})
    rules, players = manifest.configuration.rules, manifest.configuration.players
    named = {"players": "; ".join(one.words for one in players)} if players else {}
    flat = flattened({**config, **named, "rules": rules.label if rules else None, "prompts": manifest.prompts})
    return {**flat, "engine": manifest.engine, "housequest": manifest.housequest}


class Comparison(Report):
    """``second`` against ``first``, task by task: rates and differences are shares, differences are second less first.

    Tasks that only one side selected or finished, and those where a person intervened, are left out and listed. Raises
    ``ConfigurationError`` where the two cannot be paired.
    """

    def __init__(self, first: Arm, second: Arm) -> None:
        manifests = [arm.runs[0].manifest for arm in (first, second)]
        refuse_unlike(*manifests)
        self.first, self.second, self.arms = first, second, (first, second)
        here, there = ({task.id: task for task in manifest.tasks} for manifest in manifests)
        if not here.keys() & there.keys():
            raise ConfigurationError(f"{first.name} and {second.name} have no task in common.")
        self.tasks = {**there, **here}
        pairs = self.pairs = first.pairs(second)
        paired = {pair.task.id for pair in pairs}
        assisted = {task for arm in self.arms for run in arm.runs for task in run.summary.assisted}

        def cause(task: str) -> str:
            if task not in here or task not in there:
                return f"not selected in {second.name if task in here else first.name}"
            return "assisted by a person" if task in assisted else "not finished in both"

        # The tasks left out, by cause.
        self.left_out: dict[str, list[str]] = {}
        for task in (task for task in {**here, **there} if task not in paired):
            self.left_out.setdefault(cause(task), []).append(task)
        self.difference = Difference.of(pairs)
        types = sorted({pair.task.type for pair in pairs})
        self.by_type = {kind: tuple(pair for pair in pairs if pair.task.type == kind) for kind in types}
        # The expert's result on the pairs with the location prior of each side; None for an agent that does not search.
        self.ceilings = [
            CeilingFigures.of([(each.extras.ceiling, each.task.id) for tries in side for each in tries])
            for side in sides(pairs)
        ]
        # How many plays of the pairs each side failed for one reason, without reasons that neither has.
        one, other = (Counter(each.failure.kind for each in side if each.failure) for side in self.results)
        self.failures = {kind: (one[kind], other[kind]) for kind in FailureKind if one[kind] or other[kind]}
        # Each difference between the cards may explain the difference in success, whatever the agents are.
        self.unlike = card_differences(first.card, second.card)
        # The settings that differ, None where a side has none: possible causes of a difference in success.
        before, now = map(_settings, manifests)
        self.changes = {key: (before.get(key), now.get(key)) for key in {**before, **now} if before.get(key) != now.get(key)}

    @property
    def single(self) -> bool:
        """True if both sides are one run, in which a task is won or not."""
        return all(len(arm.runs) == 1 for arm in self.arms)

    @property
    def counts(self) -> PairedCounts:
        """The pairs by who won, of two single runs."""
        return PairedCounts.of(self.pairs)

    @property
    def results(self) -> list[list[Result]]:
        """All plays of the pairs by the first side, and by the second."""
        return [[each.result for tries in side for each in tries if each.result] for side in sides(self.pairs)]

    @cached_property
    def flipped(self) -> tuple[TaskPair, ...]:
        """The tasks that only one of two single runs won, in task order."""
        return tuple(pair for pair in self.pairs if self.single and pair.won[0] != pair.won[1])

    @cached_property
    def steps(self) -> PairedMean | None:
        """The difference in steps (executed commands) on tasks that both won; None if there are none."""
        return PairedMean.of(metrics.STEPS, [pair for pair in self.pairs if pair.won == (1.0, 1.0)])

    @cached_property
    def figures(self) -> tuple[PairedMean, ...]:
        """All figures over the pairs that have them on both sides; calls, tokens and cost only where a model was called."""
        use = metrics.USE if any(each.calls for side in self.results for each in side) else ()
        company = [bool(arm.company) for arm in self.arms]
        beside = metrics.TOGETHER if all(company) else (metrics.ROUNDS,) if any(company) else ()
        kinds = (metrics.SUCCESS, *self.first.summary.shares, *beside, *metrics.COUNTS, *use)
        intervals = {metrics.SUCCESS: self.difference.interval}
        found = (PairedMean.of(kind, self.pairs, intervals.get(kind)) for kind in kinds)
        return tuple(each for each in found if each is not None)

    @cached_property
    def gain(self) -> Gain | None:
        """The gain by company, if one side has one player and the other several; else None."""
        alone, several = sorted(self.arms, key=lambda arm: bool(arm.company))
        return Gain.of(alone, several) if several.company and not alone.company else None

    def pair(self, reference: str) -> TaskPair:
        """The pair of a task, named by its number, its id or ``split:number``. Raises ``ConfigurationError``."""
        task = find_task(tuple(self.tasks.values()), reference)
        if task is None:
            example = next((pair.task for pair in (*self.flipped, *self.pairs)), next(iter(self.tasks.values())))
            raise ConfigurationError(
                f"{shown(reference)} is not a task of these runs; name one by its number, for example {example.number}."
            )
        found = next((pair for pair in self.pairs if pair.task.id == task.id), None)
        if found is None:
            causes = ", ".join(cause for cause, left in self.left_out.items() if task.id in left)
            raise ConfigurationError(f"{shown(reference)} was left out of the comparison: {causes}.")
        return found

    def data(self) -> dict[str, object]:
        measured, ended = ("first", "second", "difference", "interval"), ("outcome", "reason", "turns", "steps")
        return {
            "first": self._side(0),
            "second": self._side(1),
            "card": shared_card([self.first.card, self.second.card]),
            "unlike": {name: list(lines) for name, lines in self.unlike.items()},
            "changes": {name: list(values) for name, values in self.changes.items()},
            **_difference_data(self.pairs, single=self.single),
            "p": self.difference.p,
            "steps": self.steps and table.plain_data(self.steps, "tasks", *measured),
            **({"gain": self.gain.data()} if self.gain else {}),
            "figures": {each.figure.key: table.plain_data(each, *measured, "tasks", "missing") for each in self.figures},
            "failures": {kind: {"first": ours, "second": theirs} for kind, (ours, theirs) in self.failures.items()},
            "by_type": {kind: _difference_data(pairs, single=self.single) for kind, pairs in self.by_type.items()},
            "flipped": [
                {
                    **table.plain_data(pair.task, "number"),
                    "task": pair.task.id,
                    "type": pair.task.type,
                    "won_by": pair.winner,
                    "first": table.plain_data(pair.first[0].result, *ended),
                    "second": table.plain_data(pair.second[0].result, *ended),
                }
                for pair in self.flipped
            ],
            "left_out": [{"cause": cause, "tasks": tasks} for cause, tasks in self.left_out.items()],
        }

    def _side(self, place: int) -> dict[str, object]:
        arm, results, tries = self.arms[place], self.results[place], sides(self.pairs)[place]
        return {
            **table.plain_data(arm, "name", "label"),
            "runs": [run.name for run in arm.runs],
            **table.plain_data(arm.runs[0].manifest.configuration, "agent", "model"),
            "learned": arm.runs[0].manifest.learned,
            "won": sum(result.won for result in results),
            "errors": sum(result.outcome == "error" for result in results),
            "success": fmean(pair.won[place] for pair in self.pairs) if self.pairs else 0.0,
            "interval": table.ends(statistics.clustered(list(map(metrics.wins, tries)))),
            "ceiling": ceiling_data(self.ceilings[place]),
        }

    def sections(self) -> Iterator[Section]:
        yield self._heading()
        if self.single:
            yield self._table()
        yield (line for sentence in self.conclusions() for line in wrapped(sentence))
        yield figures_table(self.figures)
        for missing in sorted({each.missing for each in self.figures if each.missing}):
            names = ", ".join(each.figure.label for each in self.figures if each.missing == missing)
            yield wrapped(f"Without {many(missing, 'task')} where one of them lacks the figure: {names}.")
        if self.failures:
            rows = ((kind.label, str(ours), str(theirs)) for kind, (ours, theirs) in self.failures.items())
            yield Table(("why not won", "first", "second"), tuple(rows))
        if self.pairs:
            yield types_table(self, intervals=False)
        yield self._flips()
        for cause, tasks in self.left_out.items():
            named = few([table.one_line(task) for task in tasks], ", and {} more; --json names them all")
            yield wrapped(f"{cause} ({len(tasks)}): {named}", "Left out, ", "  ")

    def _heading(self) -> Iterator[str]:
        for place, side in zip(("first", "second"), self.arms, strict=True):
            yield from wrapped(f"{side.name}: {side.label}", f"{place:<8}")
        for side in self.arms:
            words = learned_words(side.runs[0].manifest, side.name)
            yield from (Warned(line) for sentence in words for line in wrapped(sentence, rest="  "))
        unlike = "; ".join(f"{name} ({first} and {second})" for name, (first, second) in self.unlike.items())
        lines = textwrap.wrap(f"Not measured alike: {printable(unlike)}.", table.WIDTH - 2) if unlike else []
        yield from (Warned(f"! {line}" if not place else f"  {line}") for place, line in enumerate(lines))
        alike = shared_card([side.card for side in self.arms])
        yield from wrapped("; ".join(f"{name} {line}" for name, line in alike.items()), f"{'alike':<8}")
        often = "" if self.single else f", {' and '.join(many(len(side.runs), 'time') for side in self.arms)}"
        yield from wrapped(f"{many(len(self.pairs), 'task')} played by both{often}", f"{'pairs':<8}")
        for key, both in self.changes.items():
            first, second = ("not set" if value is None else shown(value, 40) for value in both)
            yield from wrapped(f"{key}: {first} and {second}", f"{'differs':<8}")

    def _table(self) -> Table:
        counts, tasks = self.counts, len(self.pairs)
        shares = [
            (name, table.percent(won / tasks if tasks else None), table.percents(wilson(won, tasks)))
            for name, won in zip(("first", "second"), counts.won, strict=True)
        ]
        rows = (
            ("first won", str(counts.both), str(counts.only_first), *shares[0]),
            ("first lost", str(counts.only_second), str(counts.neither), *shares[1]),
        )
        return Table(("", "second won", "second lost", "", "success", "95 % interval"), rows)

    def conclusions(self) -> Iterator[str]:
        """The conclusions from the pairs, one sentence each."""
        value, within = f"{self.difference.value * 100:+.1f} points", table.points(self.difference.interval)
        once = "" if self.single else " (over tasks, of which each counts once, with its mean over the runs)"
        yield f"Difference in success (second less first): {value}, 95 % interval {within}{once}."
        chance = table.chance(self.difference.p)
        if self.single:
            yield f"McNemar's mid-p: {chance}, over {many(len(self.flipped), 'task')} that only one of them won."
        else:
            yield f"By Fisher's test of paired differences (mid-p), p is {chance}."
        yield from (f"{words[:1].upper()}{words[1:]}" for words in chance_words(self.difference))
        if (steps := self.steps) is None:
            yield "No task was won by both, so steps are not compared."
        else:
            means = f"{steps.first:.1f} and {steps.second:.1f}, difference {steps.difference:+.1f}"
            within = f"{_span(steps.interval, '+.1f')} (bootstrap)"
            yield f"Steps on {many(steps.tasks, 'task')} that both won: {means}, 95 % interval {within}."
        yield from self.gain.sentences() if self.gain is not None else ()
        first, second = (sum(each.outcome == "error" for each in side) for side in self.results)
        if first or second:
            yield f"Errors, counted as not won: {first} in the first, {second} in the second."
        for name, arm, ceiling in zip(("first", "second"), self.arms, self.ceilings, strict=True):
            if prior_of(arm.runs[0].manifest.configuration) is not None:
                yield f"Of the {name}: {ceiling_words(ceiling, arm.runs[0])}"

    def _flips(self) -> Iterator[str]:
        for name in ("first", "second"):
            chosen = [pair for pair in self.flipped if pair.winner == name]
            if chosen:
                yield f"Only the {name} won ({len(chosen)}):"
            lines: list[str] = []
            for pair in chosen:
                reference, kind = table.one_line(reference_of(pair.task)), table.one_line(pair.task.type)
                one, other = (f"{each.outcome} {each.turns}" for each in pair.results)
                lines.append(f"{reference:<22} {kind:<31} {one:<11}{other}")
            yield from first_lines(lines, "  ")
        if self.flipped:
            yield f"See both beside each other: --show {self.flipped[0].task.number}, or --html FILE for all of them."


def _difference_data(pairs: Sequence[TaskPair], *, single: bool) -> dict[str, object]:
    difference = Difference.of(pairs)
    counts = PairedCounts.of(pairs)._asdict() if single else {}
    return {"pairs": len(pairs), **counts, "difference": difference.value, "interval": table.ends(difference.interval)}


class PairedMean(NamedTuple):
    """The means of a figure (or ratios of sums) over paired tasks, and second less first with its 95 % bootstrap interval, None
    where equal differences tell no spread. ``tasks`` have the figure on both sides; ``missing`` lack it on one and are left
    out.
    """

    figure: EpisodeFigure
    first: float
    second: float
    difference: float
    interval: Interval | None
    tasks: int
    missing: int

    @classmethod
    def of(cls, figure: EpisodeFigure, pairs: Sequence[TaskPair], interval: Interval | None = None) -> PairedMean | None:
        """The means over ``pairs``, of which some may lack the figure; None where all do. Without an ``interval``, it is a
        bootstrap's."""
        both = [(figure.mean(pair.first), figure.mean(pair.second)) for pair in pairs]
        told = [all(figure.by(each) is not None for each in (*pair.first, *pair.second)) for pair in pairs]
        known: list[tuple[Any, Any]] = [
            each for each, all_told in zip(both, told, strict=True) if all_told and None not in each
        ]
        if not known:
            return None
        ours, theirs = zip(*known, strict=True)
        if figure.sums:
            if not all(any(below for _, below in side) for side in (ours, theirs)):
                return None
            first, second = ratio(ours), ratio(theirs)
            if interval is None and len({*known}) > 1 and all(below for side in (ours, theirs) for _, below in side):
                interval = statistics.bootstrap_ratio_difference(ours, theirs)
        else:
            differences = [other - one for one, other in known]
            first, second = fmean(ours), fmean(theirs)
            if interval is None and len({*differences}) > 1:
                interval = statistics.bootstrap_mean(differences)
        return cls(figure, first, second, second - first, interval, len(known), len(both) - len(known))

    @property
    def cells(self) -> tuple[str, str, str, str]:
        """Both means, their difference and its interval."""
        if self.figure.share:
            return table.percent(self.first), table.percent(self.second), _points(self.difference), table.points(self.interval)
        if self.figure is metrics.COST:
            return money(self.first), money(self.second), f"{self.difference:+.4f}", _span(self.interval, "+.4f")
        return f"{self.first:,.1f}", f"{self.second:,.1f}", f"{self.difference:+,.1f}", _span(self.interval, "+,.1f")


def _points(difference: float) -> str:
    return f"{difference * 100:+.1f} points"


def _span(interval: Interval | None, form: str) -> str:
    return "-" if interval is None else f"{interval.low:{form}} to {interval.high:{form}}"


def figures_table(figures: Sequence[PairedMean]) -> Table | tuple[()]:
    """The means over all pairs; nothing without figures."""
    head = ("over all pairs", "first", "second", "difference", "95 % interval")
    return Table(head, tuple((each.figure.label, *each.cells) for each in figures)) if figures else ()


def types_table(comparison: Comparison, *, intervals: bool = True) -> Table:
    """The pairs of each type and of all: who won, of two single runs, or the success of both."""
    single = comparison.single

    def row(name: str, pairs: Sequence[TaskPair]) -> tuple[str, ...]:
        difference = Difference.of(pairs)
        shares = [fmean(each) for each in zip(*(pair.won for pair in pairs), strict=True)] or [None, None]
        cells = map(str, PairedCounts.of(pairs)) if single else map(table.percent, shares)
        within = [table.points(difference.interval)] if intervals else []
        return (name, str(len(pairs)), *cells, _points(difference.value), *within)

    columns = ("both", "first", "second", "neither") if single else ("first", "second")
    groups = (*comparison.by_type.items(), ("all", comparison.pairs))
    rows = tuple(row(name, pairs) for name, pairs in groups)
    return Table(("type", "tasks", *columns, "difference", *["95 % interval"] * intervals), rows)


def measured(measurement: Measurement, folder: SweepFolder, prices: PriceList | None = None) -> tuple[Comparison, int]:
    """The two runs of the measurement in ``folder`` compared, and in how many of their paired episodes the rules were told.
    Raises ``ConfigurationError``.
    """
    first, second = (read_for_comparison(folder.run(trial.folder), prices) for trial in measurement.trials)
    comparison = Comparison(Arm(first.name, (first,)), Arm(second.name, (second,)))
    ids = {rule.id for rule in measurement.rules}
    episodes = ((event.body for event in read_episode(second.folder.episode(pair.task))) for pair in comparison.pairs)
    told = sum(any(isinstance(body, RulesShown) and not ids.isdisjoint(body.ids) for body in bodies) for bodies in episodes)
    return comparison, told
