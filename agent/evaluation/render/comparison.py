"""The report of two compared runs."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from housequest.agent.evaluation.analysis.card import card_differences, shared_card
from housequest.agent.evaluation.analysis.ceilings import CeilingFigures, prior_of
from housequest.agent.evaluation.analysis.compare import Comparison, PairedMean, Run, TaskPair, reference_of
from housequest.agent.evaluation.analysis.statistics import PairedCounts, paired_interval, wilson
from housequest.agent.evaluation.render.report import ceiling_data, ceiling_words, first_lines
from housequest.agent.evaluation.render.table import (
    WIDTH,
    Report,
    Section,
    Strong,
    Table,
    Warned,
    ends,
    many,
    one_line,
    percent,
    percents,
    plain_data,
    points,
    wrapped,
)
from housequest.agent.evaluation.runs.cost import money
from housequest.agent.evaluation.runs.result import Result
from housequest.worlds.errors import shown
from housequest.worlds.text import printable

_NAMED = 3
"""Tasks left out that are named."""


@dataclass(frozen=True, slots=True)
class ComparisonReport(Report):
    """Two runs, paired. Rates and differences are shares; differences are second less first."""

    comparison: Comparison

    def data(self) -> dict[str, object]:
        comparison, steps, ceilings = self.comparison, self.comparison.steps, self.comparison.ceilings
        measured = ("first", "second", "difference", "interval")
        return {
            "first": _run(comparison.first, [pair.first for pair in comparison.pairs], ceilings[0]),
            "second": _run(comparison.second, [pair.second for pair in comparison.pairs], ceilings[1]),
            "card": shared_card([comparison.first.card, comparison.second.card]),
            "unlike": comparison.unlike,
            "changes": comparison.changes,
            **_counts(comparison.counts),
            "p": comparison.p,
            "steps": steps and plain_data(steps, "tasks", *measured),
            "figures": {figure.key: plain_data(figure, *measured, "tasks", "missing") for figure in comparison.figures},
            "failures": {kind: {"first": ours, "second": theirs} for kind, (ours, theirs) in comparison.failures.items()},
            "by_type": {kind: _counts(of_type) for kind, of_type in comparison.by_type.items()},
            "flipped": [_flipped(pair) for pair in comparison.flipped],
            "left_out": [{"cause": cause, "tasks": tasks} for cause, tasks in comparison.left_out],
        }

    def sections(self) -> Iterator[Section]:
        parts = (_heading, _table, _verdict, _figures, _failures, _by_type, _flips, _left_out)
        return (part(self.comparison) for part in parts)


def _run(run: Run, results: Sequence[Result], ceiling: CeilingFigures | None) -> dict[str, object]:
    won = sum(result.won for result in results)
    return {
        **plain_data(run, "name", "label"),
        **plain_data(run.manifest.configuration, "agent", "model"),
        "won": won,
        "errors": sum(result.outcome == "error" for result in results),
        "success": won / len(results) if results else 0.0,
        "interval": ends(wilson(won, len(results))),
        "ceiling": ceiling_data(ceiling),
    }


def _counts(counts: PairedCounts) -> dict[str, object]:
    numbers = plain_data(counts, "both", "only_first", "only_second", "neither", "difference")
    return {"pairs": counts.total, **numbers, "interval": ends(paired_interval(counts))}


def _flipped(pair: TaskPair) -> dict[str, object]:
    sides = {"first": pair.first, "second": pair.second}
    return {
        **plain_data(pair.first, "number", "task", "type"),
        "won_by": pair.winner,
        **{side: plain_data(result, "outcome", "reason", "turns", "steps") for side, result in sides.items()},
    }


def heading_lines(names: Sequence[str], cards: Sequence[Mapping[str, str]], pairs: str) -> Iterator[str]:
    """Who is compared, what is unlike and alike in the two cards, and which ``pairs`` there are, in words."""
    for place, name in zip(("first", "second"), names, strict=True):
        yield from wrapped(name, f"{place:<8}")
    yield from _unlike_lines(card_differences(*cards))
    yield from wrapped("; ".join(f"{name} {line}" for name, line in shared_card(cards).items()), f"{'alike':<8}")
    yield from wrapped(pairs, f"{'pairs':<8}")


def _heading(comparison: Comparison) -> Iterator[str]:
    runs = (comparison.first, comparison.second)
    pairs = f"{many(len(comparison.pairs), 'task')} played by both"
    yield from heading_lines([f"{run.name}: {run.label}" for run in runs], [run.card for run in runs], pairs)
    for key, both in comparison.changes.items():
        first, second = ("not set" if value is None else shown(value, 40) for value in both)
        yield from wrapped(f"{key}: {first} and {second}", f"{'differs':<8}")


def _unlike_lines(found: Mapping[str, tuple[str, str]]) -> Iterator[str]:
    """The warning of what differs between the cards; nothing where they are alike."""
    told = "; ".join(f"{name} ({first} and {second})" for name, (first, second) in found.items())
    lines = textwrap.wrap(f"Not measured alike: {printable(told)}.", WIDTH - 2) if found else []
    yield from (Warned(f"! {line}" if not place else f"  {line}") for place, line in enumerate(lines))


def _table(comparison: Comparison) -> Iterator[str]:
    counts = comparison.counts
    yield Strong(f"{'':<14}{'second won':>12}{'second lost':>13}{'':>8}{'success':>10}{'95 % interval':>17}")
    rows = (
        ("first won", counts.both, counts.only_first, "first", counts.won_first),
        ("first lost", counts.only_second, counts.neither, "second", counts.won_second),
    )
    for name, one, other, run, won in rows:
        share = won / counts.total if counts.total else None
        yield f"{name:<14}{one:>12}{other:>13}{run:>8}{percent(share):>10}{percents(wilson(won, counts.total)):>17}"


def _verdict(comparison: Comparison) -> Iterator[str]:
    return (line for sentence in conclusions(comparison) for line in wrapped(sentence))


def conclusions(comparison: Comparison) -> Iterator[str]:
    """The conclusions from the pairs, one sentence each."""
    counts, within = comparison.counts, points(comparison.interval)
    yield f"Difference in success (second less first): {counts.difference * 100:+.1f} points, 95 % interval {within}."
    p = "under 0.001" if comparison.p < 0.001 else f"{comparison.p:.3f}"
    discordant = counts.only_first + counts.only_second
    yield f"McNemar's exact p: {p}, over {many(discordant, 'task')} that only one of them won."
    steps = comparison.steps
    if steps is None:
        yield "No task was won by both, so steps are not compared."
    else:
        means = f"{steps.first:.1f} and {steps.second:.1f}, difference {steps.difference:+.1f}"
        within = f"{steps.interval.low:+.1f} to {steps.interval.high:+.1f} (bootstrap)"
        yield f"Steps on {many(steps.tasks, 'task')} that both won: {means}, 95 % interval {within}."
    first, second = (sum(each.outcome == "error" for each in side) for side in sides(comparison))
    if first or second:
        yield f"Errors, counted as not won: {first} in the first, {second} in the second."
    runs = (("first", comparison.first), ("second", comparison.second))
    for (name, run), ceiling in zip(runs, comparison.ceilings, strict=True):
        if prior_of(run.manifest.configuration) is not None:
            yield f"Of the {name}: {ceiling_words(ceiling, run.manifest)}"


def sides(comparison: Comparison) -> tuple[tuple[Result, ...], tuple[Result, ...]]:
    """The paired results of the first and of the second run."""
    return tuple(pair.first for pair in comparison.pairs), tuple(pair.second for pair in comparison.pairs)


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
        return percent(first), percent(second), f"{difference * 100:+.1f} points", points(interval)
    if figure.key == "cost":
        return money(first), money(second), f"{difference:+.4f}", f"{interval.low:+.4f} to {interval.high:+.4f}"
    return f"{first:,.1f}", f"{second:,.1f}", f"{difference:+,.1f}", f"{interval.low:+,.1f} to {interval.high:+,.1f}"


def _failures(comparison: Comparison) -> Section:
    rows = tuple((kind.label, str(ours), str(theirs)) for kind, (ours, theirs) in comparison.failures.items())
    return Table(("why not won", "first", "second"), rows) if rows else ()


def _by_type(comparison: Comparison) -> Iterator[str]:
    yield Strong(f"{'':<32}{'both':>6}{'first':>7}{'second':>8}{'neither':>9}{'difference':>18}")
    for kind, counts in comparison.by_type.items():
        difference = f"{counts.difference * 100:+.1f} points"
        cells = f"{counts.both:>6}{counts.only_first:>7}{counts.only_second:>8}{counts.neither:>9}{difference:>18}"
        name = one_line(kind)
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
        named = ((f"{one_line(reference_of(pair.first)):<22} {one_line(pair.first.type):<31} ", pair) for pair in chosen)
        yield from first_lines([f"{name}{_played(pair.first):<11}{_played(pair.second)}" for name, pair in named], "  ")
    if flipped:
        yield f"See both beside each other: --show {flipped[0].first.number}, or --html FILE for all of them."


def _played(result: Result) -> str:
    return f"{result.outcome} {result.turns}"


def _left_out(comparison: Comparison) -> Iterator[str]:
    for cause, tasks in comparison.left_out:
        named = ", ".join(one_line(task) for task in tasks[:_NAMED])
        more = f", and {len(tasks) - _NAMED} more; --json names them all" if len(tasks) > _NAMED else ""
        yield from wrapped(f"{cause} ({len(tasks)}): {named}{more}", "Left out, ", "  ")
