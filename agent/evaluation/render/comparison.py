"""Compare two runs task by task, or two series of repeats by what each task's runs come to: who won what, and is it more than
chance?

Tasks differ far more than agents do, so the comparison is paired. Runs over different games, goals or turn limits are refused
with the reason.
"""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import attrgetter
from statistics import fmean
from typing import Any, NamedTuple

from housequest.agent.episodes.events import RulesShown
from housequest.agent.episodes.record import read_episode
from housequest.agent.evaluation.analysis import statistics
from housequest.agent.evaluation.analysis.arms import Arm, Difference, refuse_unlike
from housequest.agent.evaluation.analysis.failures import FailureKind
from housequest.agent.evaluation.analysis.metrics import CeilingFigures, PlayedTask
from housequest.agent.evaluation.analysis.run import (
    PriceList,
    Run,
    card_differences,
    find_task,
    prior_of,
    read_for_comparison,
    reference_of,
    shared_card,
)
from housequest.agent.evaluation.analysis.statistics import Interval, PairedCounts, paired_interval, ratio, wilson
from housequest.agent.evaluation.render import table
from housequest.agent.evaluation.render.report import ceiling_data, ceiling_words, chance_words, first_lines, learned_words
from housequest.agent.evaluation.render.table import Report, Section, Strong, Table, Warned, percent, plain_data, wrapped
from housequest.agent.evaluation.runs.files import few, flattened
from housequest.agent.evaluation.runs.folder import Result
from housequest.agent.evaluation.runs.spec import Manifest
from housequest.agent.evaluation.runs.sweep import Measurement, SweepFolder
from housequest.agent.evaluation.runs.usage import money
from housequest.worlds.base import Metric
from housequest.worlds.errors import ConfigurationError, shown
from housequest.worlds.text import many, printable


def _without(tasks: Sequence[str], others: Collection[str]) -> tuple[str, ...]:
    left_out = set(others)
    return tuple(task for task in tasks if task not in left_out)


def count(pairs: Sequence[TaskPair]) -> PairedCounts:
    """``pairs`` by who won."""
    won = [(pair.first.won, pair.second.won) for pair in pairs]
    return PairedCounts(won.count((True, True)), won.count((True, False)), won.count((False, True)), won.count((False, False)))


def _settings(manifest: Manifest) -> dict[str, object]:
    """Everything that may explain a difference, by name: the configuration, the engine's version and the prompts."""
    config = manifest.configuration.model_dump(mode="json", exclude={"types", "limit", "sample", "rules"})
    rules = manifest.configuration.rules
    flat = flattened({**config, "rules": rules.label if rules else None, "prompts": manifest.prompts})
    return {**flat, "engine": manifest.engine, "housequest": manifest.housequest}


class Comparison(Report):
    """``second`` against ``first``, task by task: rates and differences are shares, differences are second less first. Tasks
    that only one run selected or finished, and those where a person intervened, are left out and listed. Raises
    ``ConfigurationError`` where the runs cannot be paired.
    """

    def __init__(self, first: Run, second: Run) -> None:
        if first.folder.path.resolve() == second.folder.path.resolve():
            raise ConfigurationError(f"{first.folder.path} and {second.folder.path} are the same run; name two.")
        refuse_unlike(first.manifest, second.manifest)
        self.first, self.second = first, second
        ours, theirs = ({result.task: result for result in run.results} for run in (first, second))
        here, there = ([task.id for task in run.manifest.tasks] for run in (first, second))
        shared = _without(here, set(here) - set(there))
        if not shared:
            raise ConfigurationError(f"{first.name} and {second.name} have no task in common.")
        finished = [task for task in shared if task in ours and task in theirs]
        touched = [task for task in finished if ours[task].assisted or theirs[task].assisted]
        # The tasks left out, by cause.
        left_out = (
            (f"not selected in {second.name}", _without(here, there)),
            (f"not selected in {first.name}", _without(there, here)),
            ("not finished in both", _without(shared, finished)),
            ("assisted by a person", tuple(touched)),
        )
        self.left_out = tuple((cause, tasks) for cause, tasks in left_out if tasks)
        pairs = self.pairs = tuple(TaskPair(ours[task], theirs[task]) for task in _without(finished, touched))
        # The pairs by who won, also by type of task; an errored episode is not won.
        self.counts = count(pairs)
        types = sorted({pair.first.type for pair in pairs})
        self.by_type = {kind: count([pair for pair in pairs if pair.first.type == kind]) for kind in types}
        # The 95 % interval of the difference in success, and McNemar's two-sided mid-p.
        found = Difference.of(Arm(first.name, (first,)), Arm(second.name, (second,)))
        self.difference = found or Difference(0, 0.0, paired_interval(self.counts), 1.0)
        # What the expert reaches on the pairs with the location prior of each run; None of an agent that does not search.
        tasks = [pair.first.task for pair in pairs]
        self.ceilings = [run.extras.ceiling and run.extras.ceiling.of(tasks) for run in (first, second)]
        # How many of the pairs each run failed for one reason, without reasons that neither has.
        self.sides = (tuple(pair.first for pair in pairs), tuple(pair.second for pair in pairs))
        one, other = (Counter(each.failure.kind for each in side if each.failure) for side in self.sides)
        self.failures = {kind: (one[kind], other[kind]) for kind in FailureKind if one[kind] or other[kind]}
        # The tasks that only one of them won, in task order.
        self.flipped = tuple(pair for pair in pairs if pair.first.won != pair.second.won)
        # What differs between the runs' cards, so that the difference may not be the agents'.
        self.unlike = card_differences(first.card, second.card)
        # The settings that differ, None where a run has none: possible causes of a difference in success.
        before, now = (_settings(run.manifest) for run in (first, second))
        self.changes = {key: (before.get(key), now.get(key)) for key in {**before, **now} if before.get(key) != now.get(key)}

    @cached_property
    def steps(self) -> PairedMean | None:
        """The difference in steps (executed commands) on tasks that both won; None where there are none."""
        won = [(pair.first.steps, pair.second.steps) for pair in self.pairs if pair.first.won and pair.second.won]
        return PairedMean.of(Figure("steps", "steps", False, attrgetter("steps")), won)

    @cached_property
    def figures(self) -> tuple[PairedMean, ...]:
        """The other figures over all pairs that any has in both runs; calls, tokens and cost only where a model was called.
        What the world's benchmark computes stands in place of means of conditions and of path weights.
        """
        own, called = self.first.extras.metrics, any(pair.first.calls or pair.second.calls for pair in self.pairs)
        ours, theirs = ({each.task.id: each for each in run.summary.played} for run in (self.first, self.second))
        both = [(ours[one.task], theirs[other.task]) for one, other in self.pairs]
        known = (*map(_measured, own), *figures_of(called, own))
        found = (PairedMean.of(figure, [(figure.value(one), figure.value(other)) for one, other in both]) for figure in known)
        return tuple(each for each in found if each is not None)

    def pair(self, reference: str) -> TaskPair:
        """The pair of a task, named by its number, its id or ``split:number``. Raises ``ConfigurationError``."""
        tasks = {task.id: task for run in (self.first, self.second) for task in run.manifest.tasks}
        task = find_task(tuple(tasks.values()), reference)
        if task is None:
            pairs = self.flipped or self.pairs
            example = pairs[0].first.number if pairs else self.first.manifest.tasks[0].number
            raise ConfigurationError(
                f"{shown(reference)} is not a task of these runs; name one by its number, for example {example}."
            )
        found = next((pair for pair in self.pairs if pair.first.task == task.id), None)
        if found is None:
            causes = ", ".join(cause for cause, left in self.left_out if task.id in left)
            raise ConfigurationError(f"{shown(reference)} was left out of the comparison: {causes}.")
        return found

    def data(self) -> dict[str, object]:
        measured, ended = ("first", "second", "difference", "interval"), ("outcome", "reason", "turns", "steps")
        return {
            "first": _run(self.first, self.sides[0], self.ceilings[0]),
            "second": _run(self.second, self.sides[1], self.ceilings[1]),
            "card": shared_card([self.first.card, self.second.card]),
            "unlike": self.unlike,
            "changes": self.changes,
            **_counts(self.counts),
            "p": self.difference.p,
            "steps": self.steps and plain_data(self.steps, "tasks", *measured),
            "figures": {figure.key: plain_data(figure, *measured, "tasks", "missing") for figure in self.figures},
            "failures": {kind: {"first": ours, "second": theirs} for kind, (ours, theirs) in self.failures.items()},
            "by_type": {kind: _counts(of_type) for kind, of_type in self.by_type.items()},
            "flipped": [
                {
                    **plain_data(pair.first, "number", "task", "type"),
                    "won_by": pair.winner,
                    "first": plain_data(pair.first, *ended),
                    "second": plain_data(pair.second, *ended),
                }
                for pair in self.flipped
            ],
            "left_out": [{"cause": cause, "tasks": tasks} for cause, tasks in self.left_out],
        }

    def sections(self) -> Iterator[Section]:
        verdict = (line for sentence in conclusions(self) for line in wrapped(sentence))
        failures = tuple((kind.label, str(ours), str(theirs)) for kind, (ours, theirs) in self.failures.items())
        yield from (_heading(self), _table(self), verdict, _figures(self))
        yield Table(("why not won", "first", "second"), failures) if failures else ()
        yield from (_by_type(self), _flips(self), _left_out(self))


class TaskPair(NamedTuple):
    """One task as both runs played it."""

    first: Result
    second: Result

    @property
    def winner(self) -> str:
        """Which of them won a flipped task: ``first`` or ``second``."""
        return "first" if self.first.won else "second"


class PairedMean(NamedTuple):
    """The means of a figure (or ratios of sums) over paired tasks, and second less first with its 95 % bootstrap interval, None
    where equal differences tell no spread. ``share``: it lies in [0, 1]. ``tasks`` have the figure in both runs; ``missing``
    lack it in one and are left out.
    """

    key: str
    label: str
    share: bool
    first: float
    second: float
    difference: float
    interval: Interval | None
    tasks: int
    missing: int

    @classmethod
    def of(cls, figure: Figure, both: Sequence[tuple[Any, Any]]) -> PairedMean | None:
        """The means of pairs of values, of which some may be unknown; None where no pair is known."""
        known = [(one, other) for one, other in both if one is not None and other is not None]
        if not known:
            return None
        ours, theirs = [one for one, _ in known], [other for _, other in known]
        if figure.sums:
            first, second, spread = ratio(ours), ratio(theirs), len({*known}) > 1
            interval = statistics.bootstrap_ratio_difference(ours, theirs) if spread else None
        else:
            differences = [other - one for one, other in known]
            first, second, spread = fmean(ours), fmean(theirs), len({*differences}) > 1
            interval = statistics.bootstrap_mean(differences) if spread else None
        size = len(known)
        return cls(figure.key, figure.label, figure.share, first, second, second - first, interval, size, len(both) - size)


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure of each finished episode, None where it is unknown, by key and label. ``share``: it lies in [0, 1]. ``sums``: it
    is two terms, of whose sums the figure of several is the ratio.
    """

    key: str
    label: str
    share: bool
    value: Callable[[PlayedTask], Any]
    sums: bool = False


FIGURES = (
    Figure("goal", "goal conditions (GC)", True, attrgetter("goal")),
    Figure("success_by_path", "success by path (SR/path)", True, lambda each: each.weighted(float(each.won))),
    Figure("goal_by_path", "goal conditions by path (GC/path)", True, lambda each: each.weighted(each.goal)),
    Figure("steps", "steps an episode", False, attrgetter("result.steps")),
    Figure("refused", "refused commands", False, attrgetter("result.refused")),
    Figure("repeated", "repeated commands", False, attrgetter("result.repeated")),
    Figure("low_level", "low-level actions", False, attrgetter("result.low_level")),
    Figure("diverged", "divergences of the simulator", False, attrgetter("result.diverged")),
    Figure("calls", "calls of the model", False, attrgetter("result.calls")),
    Figure("tokens", "tokens", False, attrgetter("result.tokens")),
    Figure("cost", "cost", False, attrgetter("cost")),
)
SUCCESS = Figure("success", "success", True, lambda each: float(each.won))
"""The figure that series are compared by first."""


def _measured(metric: Metric) -> Figure:
    return Figure(metric.key, metric.label, True, lambda each: metric.terms(each.measured), sums=True)


def figures_of(called: bool, own: Collection[Metric]) -> list[Figure]:
    """The figures to compare: calls, tokens and cost only where a model was ``called``. What the world's benchmark computes,
    its ``own``, stands in place of means of conditions and of path weights.
    """
    left_out = {*(() if called else ("calls", "tokens", "cost")), *(("goal", "success_by_path", "goal_by_path") if own else ())}
    return [figure for figure in FIGURES if figure.key not in left_out]


def _run(run: Run, results: Sequence[Result], ceiling: CeilingFigures | None) -> dict[str, object]:
    won = sum(result.won for result in results)
    return {
        **plain_data(run, "name", "label"),
        **plain_data(run.manifest.configuration, "agent", "model"),
        "learned": run.manifest.learned,
        "won": won,
        "errors": sum(result.outcome == "error" for result in results),
        "success": won / len(results) if results else 0.0,
        "interval": table.ends(wilson(won, len(results))),
        "ceiling": ceiling_data(ceiling),
    }


def _counts(counts: PairedCounts) -> dict[str, object]:
    numbers = plain_data(counts, "both", "only_first", "only_second", "neither", "difference")
    return {"pairs": counts.total, **numbers, "interval": table.ends(paired_interval(counts))}


def _sides(compared: Comparison | RepeatsComparison, pairs: str) -> Iterator[str]:
    """Who is ``compared``, what is unlike and alike in their two cards, and which ``pairs`` there are, in words."""
    both = (compared.first, compared.second)
    for place, side in zip(("first", "second"), both, strict=True):
        yield from wrapped(f"{side.name}: {side.label}", f"{place:<8}")
    unlike = "; ".join(f"{name} ({first} and {second})" for name, (first, second) in compared.unlike.items())
    for side in both:
        runs = side.runs if isinstance(side, Arm) else (side,)
        words = learned_words(runs[0].manifest, side.name)
        yield from (Warned(line) for sentence in words for line in wrapped(sentence, rest="  "))
    lines = textwrap.wrap(f"Not measured alike: {printable(unlike)}.", table.WIDTH - 2) if unlike else []
    yield from (Warned(f"! {line}" if not place else f"  {line}") for place, line in enumerate(lines))
    yield from wrapped(
        "; ".join(f"{name} {line}" for name, line in shared_card([side.card for side in both]).items()), f"{'alike':<8}"
    )
    yield from wrapped(pairs, f"{'pairs':<8}")


def _heading(comparison: Comparison) -> Iterator[str]:
    yield from _sides(comparison, f"{many(len(comparison.pairs), 'task')} played by both")
    for key, both in comparison.changes.items():
        first, second = ("not set" if value is None else shown(value, 40) for value in both)
        yield from wrapped(f"{key}: {first} and {second}", f"{'differs':<8}")


def _table(comparison: Comparison) -> Iterator[str]:
    counts = comparison.counts
    yield Strong(f"{'':<14}{'second won':>12}{'second lost':>13}{'':>8}{'success':>10}{'95 % interval':>17}")
    rows = (
        ("first won", counts.both, counts.only_first, "first", counts.won_first),
        ("first lost", counts.only_second, counts.neither, "second", counts.won_second),
    )
    for name, one, other, run, won in rows:
        share = won / counts.total if counts.total else None
        yield f"{name:<14}{one:>12}{other:>13}{run:>8}{percent(share):>10}{table.percents(wilson(won, counts.total)):>17}"


def conclusions(comparison: Comparison) -> Iterator[str]:
    """The conclusions from the pairs, one sentence each."""
    counts, within = comparison.counts, table.points(comparison.difference.interval)
    yield f"Difference in success (second less first): {counts.difference * 100:+.1f} points, 95 % interval {within}."
    discordant = many(counts.only_first + counts.only_second, "task")
    yield f"McNemar's mid-p: {table.chance(comparison.difference.p)}, over {discordant} that only one of them won."
    yield from (f"{words[:1].upper()}{words[1:]}" for words in chance_words(comparison.difference))
    steps = comparison.steps
    if steps is None:
        yield "No task was won by both, so steps are not compared."
    else:
        means = f"{steps.first:.1f} and {steps.second:.1f}, difference {steps.difference:+.1f}"
        within = f"{_span(steps.interval, '+.1f')} (bootstrap)"
        yield f"Steps on {many(steps.tasks, 'task')} that both won: {means}, 95 % interval {within}."
    first, second = (sum(each.outcome == "error" for each in side) for side in comparison.sides)
    if first or second:
        yield f"Errors, counted as not won: {first} in the first, {second} in the second."
    runs = (("first", comparison.first), ("second", comparison.second))
    for (name, run), ceiling in zip(runs, comparison.ceilings, strict=True):
        if prior_of(run.manifest.configuration) is not None:
            yield f"Of the {name}: {ceiling_words(ceiling, run)}"


def _figures(comparison: Comparison) -> Iterator[str]:
    found = comparison.figures
    if not found:
        return
    rows = [(figure.label, *figure_cells(figure)) for figure in found]
    yield from Table(("over all pairs", "first", "second", "difference", "95 % interval"), tuple(rows)).text()
    for missing in sorted({figure.missing for figure in found if figure.missing}):
        names = ", ".join(figure.label for figure in found if figure.missing == missing)
        yield from wrapped(f"Without {many(missing, 'task')} where one of them lacks the figure: {names}.")


def figure_cells(figure: PairedMean) -> tuple[str, str, str, str]:
    """Both means, their difference and its interval."""
    first, second, difference, interval = figure.first, figure.second, figure.difference, figure.interval
    if figure.share:
        return percent(first), percent(second), f"{difference * 100:+.1f} points", table.points(interval)
    if figure.key == "cost":
        return money(first), money(second), f"{difference:+.4f}", _span(interval, "+.4f")
    return f"{first:,.1f}", f"{second:,.1f}", f"{difference:+,.1f}", _span(interval, "+,.1f")


def _span(interval: Interval | None, form: str) -> str:
    return "-" if interval is None else f"{interval.low:{form}} to {interval.high:{form}}"


def _by_type(comparison: Comparison) -> Iterator[str]:
    yield Strong(f"{'':<32}{'both':>6}{'first':>7}{'second':>8}{'neither':>9}{'difference':>18}")
    for kind, counts in comparison.by_type.items():
        difference = f"{counts.difference * 100:+.1f} points"
        cells = f"{counts.both:>6}{counts.only_first:>7}{counts.only_second:>8}{counts.neither:>9}{difference:>18}"
        name = table.one_line(kind)
        if len(name) > 31:
            yield from wrapped(name)
            name = ""
        yield f"{name:<32}{cells}"


def _flips(comparison: Comparison) -> Iterator[str]:
    flipped = comparison.flipped
    for name, won in (("first", True), ("second", False)):
        chosen = [pair for pair in flipped if pair.first.won == won]
        if chosen:
            yield f"Only the {name} won ({len(chosen)}):"
        lines: list[str] = []
        for pair in chosen:
            reference, kind = table.one_line(reference_of(pair.first)), table.one_line(pair.first.type)
            one, other = (f"{each.outcome} {each.turns}" for each in pair)
            lines.append(f"{reference:<22} {kind:<31} {one:<11}{other}")
        yield from first_lines(lines, "  ")
    if flipped:
        yield f"See both beside each other: --show {flipped[0].first.number}, or --html FILE for all of them."


def _left_out(comparison: Comparison) -> Iterator[str]:
    for cause, tasks in comparison.left_out:
        named = few([table.one_line(task) for task in tasks], ", and {} more; --json names them all")
        yield from wrapped(f"{cause} ({len(tasks)}): {named}", "Left out, ", "  ")


class RepeatsComparison(Report):
    """``second`` against ``first``: a task counts once on each side, with its mean over the runs. Raises ``ConfigurationError``
    where they share a run, or have no task that all their runs finished.
    """

    def __init__(self, first: Arm, second: Arm) -> None:
        self.first, self.second = first, second
        one, ours, theirs = first.runs[0], first.finished, second.finished
        refuse_unlike(one.manifest, second.runs[0].manifest)
        self.tasks = tuple(task for task in one.manifest.tasks if task.id in ours and task.id in theirs)
        if (difference := Difference.of(first, second)) is None:
            raise ConfigurationError(f"{first.name} and {second.name} have no task that all their runs finished.")
        self.difference = difference
        self._tries = [(ours[task.id], theirs[task.id]) for task in self.tasks]
        # The other tasks of either side.
        known, runs = {task.id for task in self.tasks}, (*first.runs, *second.runs)
        every = dict.fromkeys(task.id for run in runs for task in run.manifest.tasks)
        self.left_out = tuple(task for task in every if task not in known)
        # Success and the other figures that every episode has, with bootstrap intervals of the difference over tasks.
        known = (SUCCESS, *figures_of(any(run.summary.overall.calls for run in runs), one.extras.metrics))
        figures = (PairedMean.of(figure, self._means(figure)) for figure in known)
        self.figures = tuple(
            figure._replace(interval=difference.interval) if figure.key == SUCCESS.key else figure
            for figure in figures
            if figure is not None
        )
        # The success of both by type of task.
        types: dict[str, list[tuple[float, float]]] = {}
        for task, (mine, other) in zip(self.tasks, self._means(SUCCESS), strict=True):
            types.setdefault(task.type, []).append((mine or 0.0, other or 0.0))
        self.by_type = {
            kind: (fmean(mine for mine, _ in types[kind]), fmean(of for _, of in types[kind])) for kind in sorted(types)
        }
        # What differs between the cards, so that the difference may not be the agents'.
        self.unlike = card_differences(first.card, second.card)

    def _means(self, figure: Figure) -> list[tuple[float | None, float | None]]:
        """The means of a figure over the runs of each task, on both sides; None where a run lacks it."""

        def mean(tries: Sequence[PlayedTask]) -> float | None:
            values = [figure.value(each) for each in tries]
            return None if None in values else fmean(values)

        return [(mean(ours), mean(theirs)) for ours, theirs in self._tries]

    def data(self) -> dict[str, object]:
        measured = ("first", "second", "difference", "interval", "tasks", "missing")
        return {
            **{
                key: {
                    **{"name": side.name, "label": side.label, "runs": [run.name for run in side.runs]},
                    **{"learned": side.runs[0].manifest.learned, "card": dict(side.card)},
                }
                for key, side in (("first", self.first), ("second", self.second))
            },
            "card": shared_card([self.first.card, self.second.card]),
            "unlike": {name: list(lines) for name, lines in self.unlike.items()},
            "tasks": len(self.tasks),
            "p": self.difference.p,
            "figures": {figure.key: plain_data(figure, *measured) for figure in self.figures},
            "by_type": {kind: {"first": one, "second": other} for kind, (one, other) in self.by_type.items()},
            "left_out": list(self.left_out),
        }

    def sections(self) -> Iterator[Section]:
        """The sides and what is unlike, the figures, and what they mean."""
        often = " and ".join(many(len(side.runs), "time") for side in (self.first, self.second))
        yield _sides(self, f"{many(len(self.tasks), 'task')} played by both, {often}")
        rows = tuple((figure.label, *figure_cells(figure)) for figure in self.figures)
        yield Table(("over all tasks", "first", "second", "difference", "95 % interval"), rows)
        types = tuple(
            (kind, percent(one), percent(other), f"{(other - one) * 100:+.1f} points")
            for kind, (one, other) in self.by_type.items()
        )
        yield Table(("success", "first", "second", "difference"), types)
        value, within = f"{self.difference.value * 100:+.1f} points", table.points(self.difference.interval)
        yield [
            *wrapped(
                f"Difference in success (second less first): {value}, 95 % interval {within} (over tasks, of which each "
                "counts once, with its mean over the runs). By Fisher's test of paired differences (mid-p), p is "
                f"{table.chance(self.difference.p)}."
            ),
            *(line for words in chance_words(self.difference) for line in wrapped(f"{words[:1].upper()}{words[1:]}")),
        ]
        if left := self.left_out:
            yield [
                *wrapped(f"not finished by all runs of both ({len(left)}):", "Left out, "),
                *first_lines([table.one_line(task) for task in left], "  "),
            ]


def measured(measurement: Measurement, folder: SweepFolder, prices: PriceList | None = None) -> tuple[Comparison, int]:
    """The two runs of the measurement in ``folder`` compared, and in how many of their paired episodes the rules were told.
    Raises ``ConfigurationError``.
    """
    first, second = (read_for_comparison(folder.run(trial.folder), prices) for trial in measurement.trials)
    comparison = Comparison(first, second)
    ids, paired = {rule.id for rule in measurement.rules}, {pair.second.task for pair in comparison.pairs}
    tasks = [task for task in second.manifest.tasks if task.id in paired]
    episodes = ((event.body for event in read_episode(second.folder.episode(task))) for task in tasks)
    told = sum(any(isinstance(body, RulesShown) and not ids.isdisjoint(body.ids) for body in bodies) for bodies in episodes)
    return comparison, told
