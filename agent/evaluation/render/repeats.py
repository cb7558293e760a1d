"""Two series of repeats compared, or one with a single run: task by task, by what each task's runs come to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from housequest.agent.evaluation.analysis.metrics import PlayedTask
from housequest.agent.evaluation.analysis.run import Run, card_differences, shared_card
from housequest.agent.evaluation.render.comparison import Kind, PairedMean, figure_cells, heading_lines, kinds_of, refuse_unlike
from housequest.agent.evaluation.render.report import first_lines
from housequest.agent.evaluation.render.table import (
    Report,
    Section,
    Table,
    many,
    one_line,
    percent,
    plain_data,
    points,
    wrapped,
)
from housequest.agent.evaluation.runs.folder import Result
from housequest.worlds.errors import ConfigurationError

SUCCESS = Kind("success", "success", True, lambda each, _: float(each.won))
"""The figure that is compared first."""


@dataclass(frozen=True, slots=True)
class Side:
    """What is compared: one or more ``runs`` of the same tasks under one ``card``, called by ``name``."""

    name: str
    runs: Sequence[Run]
    card: Mapping[str, str]

    @property
    def label(self) -> str:
        """Who played, in a few words, and with which seeds."""
        who = self.runs[0].label.rpartition(", seed")[0]
        return f"{who}, seeds {', '.join(str(run.seed) for run in self.runs)}"

    @property
    def finished(self) -> dict[str, list[tuple[PlayedTask, Result]]]:
        """The episodes of each task that every run has finished without a person's help."""
        found: dict[str, list[tuple[PlayedTask, Result]]] = {}
        for run in self.runs:
            for each in run.summary.overall.played:
                if each.result is not None:
                    found.setdefault(each.task.id, []).append((each, each.result))
        return {task: tries for task, tries in found.items() if len(tries) == len(self.runs)}


class RepeatsComparison(Report):
    """``second`` against ``first``: a task counts once on each side, with its mean over the runs. Raises ``ConfigurationError``
    where they share a run, or have no task that all their runs finished.
    """

    def __init__(self, first: Side, second: Side) -> None:
        self.first, self.second = first, second
        one, ours, theirs = first.runs[0], first.finished, second.finished
        if {run.folder.path.resolve() for run in first.runs} & {run.folder.path.resolve() for run in second.runs}:
            raise ConfigurationError(f"{first.name} and {second.name} share a run; name two series.")
        refuse_unlike(one.manifest, second.runs[0].manifest)
        self.tasks = tuple(task for task in one.manifest.tasks if task.id in ours and task.id in theirs)
        if not self.tasks:
            raise ConfigurationError(f"{first.name} and {second.name} have no task that all their runs finished.")
        self._tries = [[side[task.id] for task in self.tasks] for side in (ours, theirs)]
        # The other tasks of either side.
        known, runs = {task.id for task in self.tasks}, (*first.runs, *second.runs)
        every = dict.fromkeys(task.id for run in runs for task in run.manifest.tasks)
        self.left_out = tuple(task for task in every if task not in known)
        # Success and the other figures that every episode has, with bootstrap intervals of the difference over tasks.
        kinds = (SUCCESS, *kinds_of(any(run.summary.overall.calls for run in runs), one.extras.metrics))
        figures = (PairedMean.of(kind, self._means(kind)) for kind in kinds)
        self.figures = tuple(figure for figure in figures if figure is not None)
        # The success of both by type of task.
        types: dict[str, list[tuple[float, float]]] = {}
        for task, (mine, other) in zip(self.tasks, self._means(SUCCESS), strict=True):
            types.setdefault(task.type, []).append((mine or 0.0, other or 0.0))
        self.by_type = {
            kind: (fmean(mine for mine, _ in types[kind]), fmean(of for _, of in types[kind])) for kind in sorted(types)
        }
        # What differs between the cards, so that the difference may not be the agents'.
        self.unlike = card_differences(first.card, second.card)

    def _means(self, kind: Kind) -> list[tuple[float | None, float | None]]:
        """The means of a figure over the runs of each task, on both sides; None where a run lacks it."""

        def mean(tries: Sequence[tuple[PlayedTask, Result]]) -> float | None:
            values = [kind.value(each, result) for each, result in tries]
            return None if None in values else fmean(value or 0.0 for value in values)

        ours, theirs = ([mean(tries) for tries in side] for side in self._tries)
        return list(zip(ours, theirs, strict=True))

    def data(self) -> dict[str, object]:
        measured = ("first", "second", "difference", "interval", "tasks", "missing")
        return {
            **{
                key: {"name": side.name, "label": side.label, "runs": [run.name for run in side.runs], "card": dict(side.card)}
                for key, side in (("first", self.first), ("second", self.second))
            },
            "card": shared_card([self.first.card, self.second.card]),
            "unlike": {name: list(lines) for name, lines in self.unlike.items()},
            "tasks": len(self.tasks),
            "figures": {figure.key: plain_data(figure, *measured) for figure in self.figures},
            "by_type": {kind: {"first": one, "second": other} for kind, (one, other) in self.by_type.items()},
            "left_out": list(self.left_out),
        }

    def sections(self) -> Iterator[Section]:
        """The sides and what is unlike, the figures, and what they mean."""
        sides = (self.first, self.second)
        often = " and ".join(many(len(side.runs), "time") for side in sides)
        played = f"{many(len(self.tasks), 'task')} played by both, {often}"
        yield heading_lines([f"{side.name}: {side.label}" for side in sides], [side.card for side in sides], played)
        rows = tuple((figure.label, *figure_cells(figure)) for figure in self.figures)
        yield Table(("over all tasks", "first", "second", "difference", "95 % interval"), rows)
        types = tuple(
            (kind, percent(one), percent(other), f"{(other - one) * 100:+.1f} points")
            for kind, (one, other) in self.by_type.items()
        )
        yield Table(("success", "first", "second", "difference"), types)
        success = self.figures[0]
        difference = f"{success.difference * 100:+.1f} points, 95 % interval {points(success.interval)}"
        yield [
            *wrapped(
                f"Difference in success (second less first): {difference} (bootstrap over tasks, of which each counts once, "
                "with its mean over the runs)."
            ),
            *(["The interval has 0 in it: it may be chance."] if success.interval.low <= 0 <= success.interval.high else []),
        ]
        if left := self.left_out:
            yield [
                *wrapped(f"not finished by all runs of both ({len(left)}):", "Left out, "),
                *first_lines([one_line(task) for task in left], "  "),
            ]
