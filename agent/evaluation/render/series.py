"""Reports of several runs: one arm with several seeds, lost tasks played again, several arms beside each other, and partners.

Of repeats the figures are means with their intervals. Of retries, what the first attempt won is one figure, what was won in the
end another. Of several arms each is a row, with its difference to one of them. In a matrix of partners, each cell is the gain
of a player beside another.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import accumulate
from typing import NamedTuple

from housequest.agent.evaluation.analysis.arms import Arm, Difference, Gain, RetriedRun
from housequest.agent.evaluation.analysis.metrics import COST, ROUNDS, EpisodeFigure, Figures, Measured
from housequest.agent.evaluation.analysis.run import CALLED, Run, shared_card
from housequest.agent.evaluation.analysis.statistics import Interval, deviation, holm
from housequest.agent.evaluation.render import table
from housequest.agent.evaluation.render.report import (
    EpisodesReport,
    RunReport,
    chance_words,
    definitions,
    learned_words,
    pick,
    played_by,
    shares,
)
from housequest.agent.evaluation.render.table import Column, Report, Table, TabledReport, percent
from housequest.agent.evaluation.runs.sweep import alone, beside_partner, judged
from housequest.agent.evaluation.runs.usage import money
from housequest.worlds.errors import ConfigurationError, nearest, shown
from housequest.worlds.registry import info_of
from housequest.worlds.text import many

_MOST_VALUES = 6
"""Values of a line that are listed; of a large grid, the arms' names say what differs."""
_PASSES = (1, 2, 4, 8, 16, 32, 64)
"""The k of pass@k that a report for people has; the JSON has all."""
UNEQUAL = "Means over seeds, spread, best run and pass@k are left out until every run is finished."


class SeedsReport(EpisodesReport):
    """The figures of each run of the ``arm``, and their means."""

    def __init__(self, arm: Arm) -> None:
        self.arm, runs, every = arm, arm.runs, arm.summary
        self._successes = [share for run in runs if (share := run.summary.overall.success) is not None]
        overall, often = every.overall, f"mean of {len(runs)} seeds"
        name, trials = ("these runs so far", "unfinished") if overall.unfinished else ("mean of these runs", often)
        super().__init__(runs, every, arm.card, Measured(name, overall.success, overall.interval, trials))

    def data(self) -> dict[str, object]:
        tasks, whole = self.arm.over_tasks(), not self.every.overall.unfinished
        over = whole and {
            of.key: mean and {"mean": mean.value, **table.plain_data(mean, "interval"), "over_tasks": table.ends(tasks.get(of))}
            for of, mean in self.arm.over_seeds().items()
        }
        runs = [RunReport(run).data() for run in self.runs]
        return {
            "series": "repeats",
            **super().data(),
            "seeds": [run.seed for run in self.runs],
            "not_begun": self.arm.missing,
            "over_seeds": over or None,
            "spread": {
                "deviation": deviation(self._successes),
                "least": min(self._successes),
                "best": max(self._successes),
                "pass_at": {str(k): share for k, share in self.arm.pass_at().items()},
            }
            if whole
            else None,
            "runs": [{"name": run.name, "seed": run.seed, **figures} for run, figures in zip(self.runs, runs, strict=True)],
        }

    def tables(self) -> Iterator[Table]:
        """Each run, the types of task, and the means."""
        columns = [*pick("tasks", "won", "err", "success"), *shares(self.runs[0].summary), *pick("steps")]
        yield Table.of("seed", columns, [(str(run.seed), run.summary.overall) for run in self.runs])
        groups = [*self.every.by_type.items(), ("all", self.every.overall)]
        yield Table.of("episodes of all runs", pick("played", "won", "err", "success", "95 % interval"), groups)
        if self.every.overall.unfinished or len(self.runs) < 2:
            return
        tasks = self.arm.over_tasks()
        rows = tuple(
            (of.label, _written(of, mean.value), _ends(of, tasks.get(of)), _ends(of, mean.interval))
            for of, mean in self.arm.over_seeds().items()
            if mean is not None and (of is not COST or mean.value)
        )
        yield Table((f"over {len(self.runs)} seeds", "mean", "95 %, other tasks", "95 %, other seeds"), tuple(rows))

    def sentences(self) -> Iterator[str]:
        """Explain what the intervals cover, how far the runs lie apart, and what is no mean of them."""
        yield "In the interval of all plays a task counts once, however often it was played."
        if self.every.overall.unfinished:  # the runs differ in more than chance
            yield UNEQUAL
        elif len(self.runs) > 1:
            yield (
                "Other tasks: where the mean would lie over other tasks of this kind, a task counting once. Other seeds: over "
                "other runs of the same tasks (Student's); - where the runs do not differ."
            )
            yield from self._spread()
        yield from definitions(self.runs[0].summary)
        yield from self.notes()

    def _spread(self) -> Iterator[str]:
        least, best, spread = min(self._successes), max(self._successes), deviation(self._successes)
        if spread is None:
            return
        yield f"Spread of success: from {percent(least)} to {percent(best)}, standard deviation {percent(spread)}."
        if passes := self.arm.pass_at():
            listed = ", ".join(f"pass@{k} {percent(share)}" for k, share in passes.items() if k in _PASSES or k == len(passes))
            yield f"{listed}: the share of tasks that at least one of k runs wins, estimated without bias."
        yield f"Best of {len(self.runs)} runs: {percent(best)}. That is chosen by its result, and no mean."


def _ends(figure: EpisodeFigure, interval: Interval | None) -> str:
    return " to ".join(_written(figure, end) for end in table.ends(interval) or ()) or "-"


def _written(figure: EpisodeFigure, value: float) -> str:
    return percent(value) if figure.share else f"{value:.4g}"


class AttemptsReport(EpisodesReport):
    """The attempts at the tasks of the first; shares are of those tasks, and a task that was won once stays won."""

    def __init__(self, run: RetriedRun) -> None:
        first, last, tried = run.attempts[0].summary.overall, run.summary.overall, len(run.attempts)
        measured = [Measured("first attempt", first.success, first.interval)]
        if tried > 1:
            measured.append(Measured("in the end", last.success, last.interval, f"{tried} on failed games", single=False))
        super().__init__(run.attempts, run.summary, run.card, *measured)
        counts = [attempt.summary.overall for attempt in run.attempts]
        so_far = accumulate(count.won for count in counts)
        # Each attempt with what was won by its end, and the share of that.
        self._rows = [(of, won, won / last.finished if last.finished else None) for of, won in zip(counts, so_far, strict=True)]

    def data(self) -> dict[str, object]:
        after = [
            {"attempt": place, "tasks": of.episodes, **table.plain_data(of, "won", "errors", "unfinished"), "success": share}
            for place, (of, _, share) in enumerate(self._rows, 1)
        ]
        first = RunReport(self.runs[0]).data()
        return {"series": "attempts", "retries": len(self.runs) - 1, **super().data(), "after": after, "first": first}

    def tables(self) -> Iterator[Table]:
        """The attempts, and the types of task in the end."""
        cells = tuple(
            (str(place), of.so_far, *map(str, (of.won, of.errors, won)), percent(share))
            for place, (of, won, share) in enumerate(self._rows, 1)
        )
        yield Table(("attempt", "tasks", "won", "err", "won so far", "so far"), cells, total=None)
        groups = [*self.every.by_type.items(), ("all", self.every.overall)]
        yield Table.of("in the end", pick("tasks", "won", "err", "success", "95 % interval"), groups)

    def sentences(self) -> Iterator[str]:
        """Both figures, what keeps the next attempt waiting, and what all attempts used."""
        first, last = self.runs[0].summary.overall, self.every.overall
        yield f"Success: {percent(first.success)} at the first attempt, 95 % interval {table.percents(first.interval)}."
        yield (
            f"Retries: {percent(last.success)} after {many(len(self.runs), 'attempt')}. That is another measure: the agent "
            "was told which tasks it had lost."
        )
        for place, (of, _, _) in enumerate(self._rows, 1):
            if errors := of.errors:
                yield (
                    f"Attempt {place} has {many(errors, 'errored episode')}. An error is not a lost game: no further "
                    "attempt begins before --retry-errors has played it again, and what errors even then is left out of them."
                )
            if place > 1 and (left := of.unfinished):
                yield f"Attempt {place} has {many(left, 'episode')} left to play; the same command goes on."
        yield "Steps are those of each task's last attempt; calls, tokens and cost are of all attempts."
        yield from self.notes()


def report_of(arms: Sequence[Arm], baseline: str | None = None, *, swept: bool = False) -> Report:
    """The report of these arms; ``swept``: as rows of a table, even of one. Raises ``ConfigurationError`` for an unknown
    ``baseline``.
    """
    if len(arms) > 1 or swept or baseline is not None:
        return ArmsReport(arms, baseline)
    (arm,) = arms
    (first, *others) = arm.runs
    if isinstance(first, RetriedRun):
        return AttemptsReport(first)
    return SeedsReport(arm) if others or arm.series == "repeats" else RunReport(first)


def _of_arm(column: Column[Figures]) -> Column[Arm]:
    """A column of figures over all episodes of an arm."""
    return Column(column.heading, lambda arm: column.value(arm.summary.overall), column.write)


_COLUMNS: tuple[Column[Arm], ...] = (
    Column("seeds", lambda arm: arm.planned),
    *map(_of_arm, pick("played", "err", "success", "95 % interval", "steps", "calls")),
    Column("ceiling", lambda arm: (found := arm.summary.overall.ceiling) and found.success, percent),
    Column("cost", lambda arm: arm.cost, lambda cost: "-" if cost is None else money(cost)),
    Column("rounds", lambda arm: arm.summary.overall.of(ROUNDS).mean if arm.company else None, table.number),
)


def _success_at(kind: str, word: str) -> Column[Arm]:
    """The success at tasks of this type, in the short word that the world has for it."""
    return Column(word, lambda arm: arm.summary.by_type.get(kind, Figures()).success, percent)


_AGAINST: tuple[Column[tuple[Difference, float]], ...] = (
    Column("tasks", lambda each: each[0].tasks),
    Column("success", lambda each: each[0].value, lambda value: f"{value * 100:+.1f} points"),
    Column("95 % interval", lambda each: each[0].interval, table.points),
    Column("p", lambda each: each[0].p, table.chance),
    Column("Holm's p", lambda each: each[1], table.chance),
)


class ArmsReport(TabledReport):
    """``arms`` beside each other, and each against the one that is called ``baseline``, or has a run of that name, by default
    the first; rates lie in [0, 1]. Of lost tasks that were played again, the first attempt is the arm, as of the others.
    """

    def __init__(self, arms: Sequence[Arm], baseline: str | None = None) -> None:
        self.retried = {arm.name: run for arm in arms for run in arm.runs if isinstance(run, RetriedRun)}
        self.arms = tuple(
            replace(arm, runs=self.retried[arm.name].attempts[:1]) if arm.name in self.retried else arm for arm in arms
        )
        begun = self.begun = [arm for arm in self.arms if arm.runs]
        names = [arm.name for arm in begun]
        fitting = [arm for arm in begun if baseline in (None, arm.name)]
        fitting = fitting or [arm for arm in begun if any(f"/{run.folder.path}".endswith(f"/{baseline}") for run in arm.runs)]
        if not fitting:
            hint = nearest(baseline or "", names) or f" There are: {', '.join(names)}."
            raise ConfigurationError(f"--baseline: there is no arm {shown(baseline)}.{hint}")
        self.baseline = fitting[0]
        self.types = sorted({kind for arm in begun for kind in arm.summary.by_type})
        self.card = shared_card([arm.card for arm in begun])
        # The conditions that all arms share, and those in which they differ.
        self.heading = arms_card({arm.name: {**played_by(arm.runs[0].manifest), **arm.card} for arm in begun})

    @property
    def runs(self) -> list[Run]:
        """All runs of all arms; of retries, each attempt."""
        attempts = {name: run.attempts for name, run in self.retried.items()}
        return [run for arm in self.arms for run in attempts.get(arm.name, arm.runs)]

    @cached_property
    def differences(self) -> dict[str, tuple[Difference, float]]:
        """The difference of each other arm from the baseline, by name, with Holm's p; without those that share no task."""
        games = _games(self.baseline)
        found = {
            arm.name: difference
            for arm in self.begun
            if arm is not self.baseline
            and _games(arm) == games
            and (difference := Difference.of(self.baseline.pairs(arm))).tasks
        }
        corrected = holm([each.p for each in found.values()])
        return {name: (each, p) for (name, each), p in zip(found.items(), corrected, strict=True)}

    def data(self) -> dict[str, object]:
        return {
            "card": self.card,
            "baseline": self.baseline.name,
            "arms": [self._arm(arm) for arm in self.arms],
        }

    def _arm(self, arm: Arm) -> dict[str, object]:
        overall, ceiling = arm.summary.overall, arm.summary.overall.ceiling
        difference, p = self.differences.get(arm.name, (None, None))
        return {
            "arm": arm.name,
            "seeds": len(arm.runs),
            "not_begun": arm.missing,
            **table.plain_data(overall, "episodes", "unfinished", "errors", "won", "success", "interval"),
            "steps": overall.commands.mean,
            "calls": overall.calls,
            "prior": ceiling and ceiling.prior,
            "ceiling": ceiling and ceiling.success,
            "cost": arm.cost,
            "by_type": {
                kind: table.plain_data(of, "episodes", "unfinished", "won", "success", "interval")
                for kind, of in arm.summary.by_type.items()
            },
            "against_baseline": difference and {**table.plain_data(difference, "tasks", "value", "interval", "p"), "holm": p},
            "learned": arm.runs[0].manifest.learned if arm.runs else {},
            "card": arm.card,
        }

    def tables(self) -> Iterator[Table]:
        """The arms, their success by type of task, and against the baseline."""
        lacking = {column.heading for column in _COLUMNS[-3:] if all(column.value(arm) is None for arm in self.begun)}
        columns = [column for column in _COLUMNS if column.heading not in lacking]
        rows = [(arm.name, arm if arm.runs else None) for arm in self.arms]
        yield Table.of("", columns, rows, total=None)
        if len(self.types) > 1:
            words = info_of(self.baseline.runs[0].manifest.configuration.world).task_types
            yield Table.of("success", [_success_at(kind, words.get(kind, kind)) for kind in self.types], rows, total=None)
        if self.differences:
            yield Table.of(f"against {self.baseline.name}", _AGAINST, self.differences.items(), total=None)

    def sentences(self) -> Iterator[str]:
        """Notes for a reader of the tables."""
        if any(len(each.runs) > 1 for each in self.begun):
            yield "The interval is over the tasks: one counts once, however many seeds played it."
        for arm in self.begun:
            yield from learned_words(arm.runs[0].manifest, arm.name)
        for name, run in self.retried.items():
            yield (
                f"{name}: its first attempt. After {many(len(run.attempts), 'attempt')} it is at "
                f"{percent(run.summary.overall.success)}, which is another measure: the agent was told which tasks it had lost."
            )
        if unfinished := sum(each.summary.overall.unfinished for each in self.begun):
            yield f"Not finished: {many(unfinished, 'episode')}. All figures are of those that were played."
        if self.differences:
            yield (
                f"Against {self.baseline.name}: over the tasks that both finished, one counting once. p is that of Fisher's "
                "test of paired differences (mid-p; McNemar's, where each task was played once). Holm's allows for all arms."
            )
            for name, (each, p) in self.differences.items():
                yield from (f"{name}: {words}" for words in chance_words(each, p))
        if unpaired := [arm.name for arm in self.begun if arm is not self.baseline and arm.name not in self.differences]:
            yield f"Not set against {self.baseline.name}, for they share no finished task with it: {', '.join(unpaired)}."
        if by := sorted({ceiling.prior for each in self.begun if (ceiling := each.summary.overall.ceiling)}):
            yield (
                f"Ceiling: the share that the expert, which has no model, wins by the arm's location prior ({', '.join(by)}). "
                "With search=llm that is chance, where the model begins."
            )
        if missing := [each.name for each in self.arms if not each.runs]:
            yield f"Not begun: {', '.join(missing)}."


def _games(arm: Arm) -> tuple[str, str, str]:
    """The world, data and engine, which two arms must share for their tasks to be the same."""
    manifest = arm.runs[0].manifest
    return manifest.configuration.world, manifest.data, manifest.engine


def arms_card(cards: Mapping[str, Mapping[str, str]]) -> list[tuple[str, str]]:
    """The cards of a sweep by arm as one: first what all arms share, then each line in which they differ."""
    shared = shared_card(list(cards.values()))
    others = dict.fromkeys(name for each in cards.values() for name in each if name not in shared and name != CALLED)
    lines = [*shared.items()]
    for name in others:
        arms: dict[str, list[str]] = {}
        for arm, each in cards.items():
            arms.setdefault(each.get(name, "-"), []).append(arm)
        listed = "; ".join(f"{value} ({', '.join(having)})" for value, having in arms.items())
        many_ways = f"differs in {len(arms)} ways; --json has each arm's card"
        lines.append((name, many_ways if len(arms) > _MOST_VALUES else f"differs: {listed}"))
    return lines


class MatrixCell(NamedTuple):
    """The gain of a ``player`` with a ``partner`` over itself alone; None until both have finished a task."""

    player: str
    partner: str
    gain: Gain | None


class MatrixReport(ArmsReport):
    """Each judged player with each of ``players``: their gain over the player alone, on the same tasks."""

    def __init__(self, players: Sequence[str], arms: Sequence[Arm]) -> None:
        super().__init__(arms)
        self.players = players
        # Rows and columns name the players; all pairs share talk and order.
        configs = (arm.runs[0].manifest.configuration for arm in arms if arm.runs)
        company = next((config for config in configs if config.players), None)
        told = {"talk": (company and company.talk) or "", "order": (company and company.order) or ""}
        shown = [(name, told.get(name, value)) for name, value in self.heading if name not in ("agent", "model", "players")]
        self.heading = [(name, value) for name, value in shown if value]
        known = {arm.name: arm for arm in arms if arm.runs}
        self.cells = [_cell(player, partner, known) for player in judged(players) for partner in players]
        found = [(cell.gain.value, cell) for cell in self.cells if cell.gain is not None]
        # The worst cell; None before any is played.
        self.worst = min(found, key=lambda each: each[0])[1] if found else None

    def data(self) -> dict[str, object]:
        cells = [
            {"player": cell.player, "partner": cell.partner, "gain": cell.gain and cell.gain.data()} for cell in self.cells
        ]
        worst = self.worst and {"player": self.worst.player, "partner": self.worst.partner}
        return {"matrix": {"players": list(self.players), "worst": worst, "cells": cells}, **super().data()}

    def sections(self) -> Iterator[table.Section]:
        yield map(table.Strong, table.wrapped(self.headline))
        yield from super().sections()

    @property
    def headline(self) -> str:
        """The worst cell in words."""
        worst = self.worst
        if worst is None or worst.gain is None:
            return "No pair has finished a task yet."
        ends = worst.gain.interval
        within = f", 95 % interval {ends.low:.2f} to {ends.high:.2f}" if ends is not None else ""
        return f"Worst cell: {worst.player} with {worst.partner}, gain {worst.gain.value:.2f}{within}."

    def tables(self) -> Iterator[Table]:
        """The gains, and the arms."""
        rows: dict[str, list[str]] = {}
        for cell in self.cells:
            rows.setdefault(cell.player, []).append("-" if cell.gain is None else f"{cell.gain.value:.2f}")
        heads = [str(number) for number, _ in enumerate(self.players, 1)] if self._wide else self.players
        yield Table(("gain of, beside", *heads), tuple((name, *cells) for name, cells in rows.items()), total=None)
        yield from super().tables()

    @property
    def _wide(self) -> bool:
        """True if the names of all partners do not fit on one line."""
        return sum(len(player) + 2 for player in self.players) > table.WIDTH - max(map(len, judged(self.players)))

    def sentences(self) -> Iterator[str]:
        if self._wide:
            yield f"Beside: {'; '.join(f'{number} {player}' for number, player in enumerate(self.players, 1))}."
        yield (
            "Gain: the rounds of the row's player alone over those of both, as a ratio of sums over the same tasks; a lost "
            "task counts all its rounds. docs/explanation/together.md says how partners play."
        )
        yield from super().sentences()


def _cell(player: str, partner: str, known: dict[str, Arm]) -> MatrixCell:
    pair = known.get(beside_partner(player, partner)) or known.get(beside_partner(partner, player))
    single = known.get(alone(player))
    if pair is None or single is None:
        return MatrixCell(player, partner, None)
    return MatrixCell(player, partner, Gain.of(single, pair))
