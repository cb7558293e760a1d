"""Lost tasks played again: what the first attempt won is one figure, what was won in the end another."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from housequest.agent.evaluation.analysis.compare import PriceList, Run, read_for_comparison
from housequest.agent.evaluation.analysis.metrics import Extras, Summary
from housequest.agent.evaluation.analysis.paths import Watcher
from housequest.agent.evaluation.analysis.published import Measured
from housequest.agent.evaluation.analysis.series import SeriesReport
from housequest.agent.evaluation.render.report import RunReport, notes, pick
from housequest.agent.evaluation.render.table import Table, many, percent, percents
from housequest.agent.evaluation.runs.folder import RunFolder
from housequest.agent.evaluation.runs.result import Result, SelectedTask, total
from housequest.agent.evaluation.runs.sweep import SweepFolder
from housequest.agent.evaluation.runs.timing import EpisodeTiming


@dataclass(frozen=True)
class RetriedRun(Run):
    """A series of ``attempts`` as one run: how each task ended at last, with the calls and tokens of all its attempts."""

    attempts: tuple[Run, ...] = ()

    def episode(self, task: SelectedTask) -> Path:
        """The file of the last episode of ``task``."""
        return next(run for run in reversed(self.attempts) if _result(run, task.id)).episode(task)

    @property
    def card(self) -> dict[str, str]:
        """The card of the first attempt, with the others as retries."""
        more = many(len(self.attempts) - 1, "more attempt")
        return {**self.attempts[0].card, "retries": f"{more} at what was not won", "asked": self.summary.overall.asked}


def read_attempts(folder: SweepFolder, prices: PriceList | None = None, watcher: Watcher | None = None) -> RetriedRun:
    """The attempts that have begun, as one run. Raises ``ConfigurationError``."""
    begun = folder.begun_runs("--retries N")
    return in_the_end(RunFolder(folder.path), [read_for_comparison(run, prices, watcher) for run in begun])


def in_the_end(folder: RunFolder, attempts: Sequence[Run]) -> RetriedRun:
    """``attempts``, of which the first has all tasks and each other those that were lost before, as one run in ``folder``."""
    manifest, extras = attempts[0].manifest, attempts[0].extras
    results: list[Result] = []
    clocks: dict[str, EpisodeTiming] = {}
    for task in manifest.tasks:
        tries = [(run, found) for run in attempts if (found := _result(run, task.id)) is not None]
        if tries:
            results.append(_joined([found for _, found in tries]))
            clocks[task.id] = _clock([run.extras.clocks.get(task.id, EpisodeTiming()) for run, _ in tries])
    whole = Extras(extras.paths, clocks, extras.prices, extras.ceiling)
    return RetriedRun(folder, manifest, tuple(results), whole, tuple(attempts))


def _result(run: Run, task: str) -> Result | None:
    return next((result for result in run.results if result.task == task), None)


def _joined(tries: Sequence[Result]) -> Result:
    """The last of ``tries`` at a task, with what all of them used."""
    counted = ("calls", "plain", "unreadable", "prompt_tokens", "completion_tokens")
    return tries[-1].model_copy(update={name: total(getattr(one, name) for one in tries) for name in counted})


def _clock(clocks: Sequence[EpisodeTiming]) -> EpisodeTiming:
    def known(seconds: Sequence[float | None]) -> float | None:
        return sum(each for each in seconds if each is not None) if None not in seconds else None

    return EpisodeTiming(
        known([clock.model for clock in clocks]),
        sum(clock.attempts for clock in clocks),
        total(clock.cached for clock in clocks),
        known([clock.wall for clock in clocks]),
    )


@dataclass(frozen=True, slots=True)
class _Row:
    """An attempt by its number, and what was won by its end."""

    number: int
    summary: Summary
    so_far: int
    of: int

    @property
    def success(self) -> float:
        return self.so_far / self.of if self.of else 0.0


@dataclass(frozen=True)
class AttemptsReport(SeriesReport):
    """The attempts at the tasks of the first; shares are of those tasks, and a task that was won once stays won."""

    run: RetriedRun

    @property
    def parts(self) -> Sequence[Run]:
        return self.run.attempts

    @property
    def every(self) -> Summary:
        return self.run.summary

    @property
    def card(self) -> dict[str, str]:
        return self.run.card

    @cached_property
    def rows(self) -> tuple[_Row, ...]:
        """The attempts in their order."""
        rows: list[_Row] = []
        for number, run in enumerate(self.parts, 1):
            so_far = (rows[-1].so_far if rows else 0) + run.summary.overall.won
            rows.append(_Row(number, run.summary, so_far, self.every.overall.episodes))
        return tuple(rows)

    @property
    def measured(self) -> tuple[Measured, ...]:
        first, last = self.parts[0].summary.overall, self.every.overall
        once = Measured("first attempt", first.success, first.interval)
        if len(self.parts) == 1:
            return (once,)
        return (once, Measured("in the end", last.success, last.interval, f"{len(self.parts)} on failed games", single=False))

    def data(self) -> dict[str, object]:
        first = RunReport(self.run.manifest, self.parts[0].summary).data()
        after = [
            {
                "attempt": row.number,
                "tasks": row.summary.overall.episodes,
                "won": row.summary.overall.won,
                "errors": row.summary.overall.errors,
                "unfinished": row.summary.overall.unfinished,
                "success": row.success,
            }
            for row in self.rows
        ]
        return {"series": "attempts", "retries": len(self.parts) - 1, **super().data(), "after": after, "first": first}

    def tables(self) -> Iterator[Table]:
        """The attempts, and the types of task in the end."""
        cells = tuple(
            (str(row.number), *map(str, (of.episodes, of.won, of.errors, row.so_far)), percent(row.success))
            for row in self.rows
            for of in (row.summary.overall,)
        )
        yield Table(("attempt", "tasks", "won", "err", "won so far", "so far"), cells, total=None)
        groups = [*self.every.by_type.items(), ("all", self.every.overall)]
        yield Table.of("in the end", pick("tasks", "won", "err", "success", "95 % interval"), groups)

    def sentences(self) -> Iterator[str]:
        """Both figures, what keeps the next attempt waiting, and what all attempts used."""
        first, last = self.parts[0].summary.overall, self.every.overall
        yield f"Success: {percent(first.success)} at the first attempt, 95 % interval {percents(first.interval)}."
        yield (
            f"Retries: {percent(last.success)} after {many(len(self.parts), 'attempt')}. That is another measure: the agent "
            "was told which tasks it had lost."
        )
        for row in self.rows:
            if errors := row.summary.overall.errors:
                yield (
                    f"Attempt {row.number} has {many(errors, 'errored episode')}. An error is not a lost game: no further "
                    "attempt begins before --retry errors has played it again, and what errors even then is left out of them."
                )
            if row.number > 1 and (left := row.summary.overall.unfinished):
                yield f"Attempt {row.number} has {many(left, 'episode')} left to play; the same command goes on."
        yield "Steps are those of each task's last attempt; calls, tokens and cost are of all attempts."
        yield from notes(self.run.manifest, self.every)
