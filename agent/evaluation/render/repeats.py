"""Two series of repeats compared, or one with a single run: task by task, by what each task's runs come to."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import fmean

from housequest.agent.evaluation.analysis.metrics import PlayedTask
from housequest.agent.evaluation.analysis.run import Run, card_differences, shared_card
from housequest.agent.evaluation.render.comparison import KINDS, SHARES, PairedMean, figure_cells, heading_lines, refuse_unlike
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
from housequest.agent.evaluation.runs.files import SelectedTask
from housequest.agent.evaluation.runs.folder import Result
from housequest.worlds.errors import ConfigurationError

WON = "success"
"""The key of the figure that is compared first."""


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


@dataclass(frozen=True)
class RepeatsComparison(Report):
    """``second`` against ``first``: a task counts once on each side, with its mean over the runs."""

    first: Side
    second: Side

    def __post_init__(self) -> None:
        one, other = self.first.runs[0], self.second.runs[0]
        if {run.folder.path.resolve() for run in self.first.runs} & {run.folder.path.resolve() for run in self.second.runs}:
            raise ConfigurationError(f"{self.first.name} and {self.second.name} share a run; name two series.")
        refuse_unlike(one.manifest, other.manifest)
        if not self.tasks:
            raise ConfigurationError(f"{self.first.name} and {self.second.name} have no task that all their runs finished.")

    @cached_property
    def tasks(self) -> tuple[SelectedTask, ...]:
        """The tasks that all runs of both finished."""
        ours, theirs = self.first.finished, self.second.finished
        return tuple(task for task in self.first.runs[0].manifest.tasks if task.id in ours and task.id in theirs)

    @property
    def left_out(self) -> tuple[str, ...]:
        """The other tasks of either side."""
        every = dict.fromkeys(task.id for side in (self.first, self.second) for run in side.runs for task in run.manifest.tasks)
        known = {task.id for task in self.tasks}
        return tuple(task for task in every if task not in known)

    @cached_property
    def figures(self) -> tuple[PairedMean, ...]:
        """Success and the other figures that every episode has, with 95 % bootstrap intervals of the difference over tasks."""
        called = any(run.summary.overall.calls for side in (self.first, self.second) for run in side.runs)
        left_out = {*(() if called else ("calls", "tokens", "cost")), *(SHARES if self.first.runs[0].extras.metrics else ())}
        kinds = ((kind.key, kind.label, kind.share, kind.value) for kind in KINDS if kind.key not in left_out)
        success = self._figure(WON, WON, lambda each, _: float(each.won), share=True)
        rest = (self._figure(key, label, value, share=share) for key, label, share, value in kinds)
        return tuple(found for found in (success, *rest) if found is not None)

    def _figure(
        self, key: str, label: str, value: Callable[[PlayedTask, Result], float | None], *, share: bool
    ) -> PairedMean | None:
        sides = [self._means(side, value) for side in (self.first, self.second)]
        return PairedMean.of(key, label, share, list(zip(*sides, strict=True)))

    def _means(self, side: Side, value: Callable[[PlayedTask, Result], float | None]) -> list[float | None]:
        """The mean of a figure over the runs of each task; None where a run lacks it."""
        finished = side.finished
        values = ([value(each, result) for each, result in finished[task.id]] for task in self.tasks)
        return [None if None in mine else fmean(one or 0.0 for one in mine) for mine in values]

    @property
    def by_type(self) -> dict[str, tuple[float, float]]:
        """The success of both by type of task."""
        sides = [self._means(side, lambda each, _: float(each.won)) for side in (self.first, self.second)]
        kinds: dict[str, list[tuple[float, float]]] = {}
        for task, one, other in zip(self.tasks, *sides, strict=True):
            kinds.setdefault(task.type, []).append((one or 0.0, other or 0.0))
        return {
            kind: (fmean(one for one, _ in kinds[kind]), fmean(other for _, other in kinds[kind])) for kind in sorted(kinds)
        }

    @property
    def unlike(self) -> dict[str, tuple[str, str]]:
        """What differs between the cards, so that the difference may not be the agents'."""
        return card_differences(self.first.card, self.second.card)

    def data(self) -> dict[str, object]:
        measured = ("first", "second", "difference", "interval", "tasks", "missing")
        return {
            **{key: _side(side) for key, side in (("first", self.first), ("second", self.second))},
            "card": shared_card([self.first.card, self.second.card]),
            "unlike": {name: list(lines) for name, lines in self.unlike.items()},
            "tasks": len(self.tasks),
            "figures": {figure.key: plain_data(figure, *measured) for figure in self.figures},
            "by_type": {kind: {"first": one, "second": other} for kind, (one, other) in self.by_type.items()},
            "left_out": list(self.left_out),
        }

    def sections(self) -> Iterator[Section]:
        """The sides and what is unlike, the figures, and what they mean."""
        yield self._heading()
        rows = tuple((figure.label, *figure_cells(figure)) for figure in self.figures)
        yield Table(("over all tasks", "first", "second", "difference", "95 % interval"), rows)
        types = tuple(
            (kind, percent(one), percent(other), f"{(other - one) * 100:+.1f} points")
            for kind, (one, other) in self.by_type.items()
        )
        yield Table(("success", "first", "second", "difference"), types)
        yield self._conclusions()
        if left := self.left_out:
            yield [
                *wrapped(f"not finished by all runs of both ({len(left)}):", "Left out, "),
                *first_lines([one_line(task) for task in left], "  "),
            ]

    def _heading(self) -> Iterator[str]:
        sides = (self.first, self.second)
        often = " and ".join(many(len(side.runs), "time") for side in sides)
        played = f"{many(len(self.tasks), 'task')} played by both, {often}"
        yield from heading_lines([f"{side.name}: {side.label}" for side in sides], [side.card for side in sides], played)

    def _conclusions(self) -> Iterator[str]:
        success = self.figures[0]
        within = points(success.interval)
        yield from wrapped(
            f"Difference in success (second less first): {success.difference * 100:+.1f} points, 95 % interval {within} "
            "(bootstrap over tasks, of which each counts once, with its mean over the runs)."
        )
        if success.interval.low <= 0 <= success.interval.high:
            yield from wrapped("The interval has 0 in it: it may be chance.")


def _side(side: Side) -> dict[str, object]:
    return {"name": side.name, "label": side.label, "runs": [run.name for run in side.runs], "card": dict(side.card)}
