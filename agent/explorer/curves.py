"""Learning curves: how well agents live in homes that they get to know, and how well their books serve later.

A lost day counts as all its turns. The gap of a home is what its floor takes more than its ceiling, and an arm closes the share
of it that it saves; sums go over homes, and intervals are from a bootstrap over homes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

from markupsafe import Markup

from housequest.agent.evaluation.analysis.statistics import bootstrap_mean, bootstrap_ratio, ratio
from housequest.agent.evaluation.parts import RunFamily
from housequest.agent.evaluation.render.pages.render import RateBar, chart, tabled_page
from housequest.agent.evaluation.render.table import Column, Table, TabledReport, number, percent, percents, plain_data
from housequest.agent.evaluation.runs.folder import Result, RunFolder
from housequest.agent.evaluation.runs.shard import Verification, verify_run
from housequest.agent.explorer.living import CEILING, FLOOR, LEARNT, RANDOM, Life, LivesManifest, read_lives
from housequest.knowledge.choosing import estimated_tokens
from housequest.knowledge.rulebook import read_book
from housequest.knowledge.rules import Interval
from housequest.knowledge.sentences import read_kept, read_sentence
from housequest.worlds.base import HasHomes
from housequest.worlds.errors import ConfigurationError
from housequest.worlds.registry import make_world

LIKELY, OFTEN = 0.1, 0.2
"""A habit that was found is right if its true share is at least the first; one is to be found if it is at least the second."""
CLOSED = 0.85
"""The share of the gap that counts as knowing a home."""


class DayPlayed(NamedTuple):
    """The end of a day, the turns that it took, all of them if it was lost, and the model's tokens if it counted them."""

    won: bool
    turns: int
    tokens: int | None


@dataclass(frozen=True, slots=True)
class LifeFigures:
    """The figures of one life: its days in order, and the days on which each evening's book was tried, with the book's
    tokens and the habits found in it."""

    life: Life
    days: tuple[DayPlayed, ...]
    tried: Mapping[int, tuple[DayPlayed, ...]]
    tokens: Mapping[int, int]
    habits: Mapping[int, Habits | None]


class Habits(NamedTuple):
    """The habits that a book names against the true ones: how many it names, how many of these are right, how many there are to
    find and were found, and for how many of the things that it names the main place is right."""

    named: int
    right: int
    true: int
    found: int
    things: int
    main: int


class ArmDay(NamedTuple):
    """An arm's figures over all homes, for one evening: ``tokens`` are those of the book, and ``used`` those of the model on a
    day. A figure is None where it is unknown: intervals in a single home, the ``gap`` if there is none, and how well habits
    were found where the book names none."""

    day: int
    success: float
    interval: Interval | None
    turns: float
    gap: float | None
    closed: Interval | None
    tokens: float
    used: float | None
    precision: float | None
    recall: float | None
    main: float | None


class LivesReport(TabledReport):
    """Learning curves of lives that were lived.

    Args:
        manifest: The specification of all of them.
        lives: Those that are over. Figures are of the ``homes`` in which all are.
    """

    def __init__(self, manifest: LivesManifest, lives: Sequence[LifeFigures]) -> None:
        self.manifest, self.arms = manifest, manifest.ways
        self._by_who: dict[str, dict[str, LifeFigures]] = {who: {} for who in (*manifest.references, *manifest.ways)}
        for each in lives:
            self._by_who[each.life.who][each.life.home] = each
        whole = set(manifest.homes).intersection(*self._by_who.values())
        self.homes = tuple(home for home in manifest.homes if home in whole)
        named = f"{manifest.homes[0]}{f' to {manifest.homes[-1]}' if len(manifest.homes) > 1 else ''}"
        tried = f", tried on {manifest.frozen} later ones" if manifest.frozen else ""
        lines = (
            ("agent", manifest.agent),
            ("model", manifest.model or ""),
            ("homes", f"{len(self.homes)} of {len(manifest.homes)}: {named}"),
            ("days", f"{manifest.days}{tried}"),
            ("turns", f"{manifest.max_turns} a day; a lost day counts as all of them"),
            ("seed", str(manifest.seed)),
        )
        self.heading = [(name, value) for name, value in lines if value]

    def reference(self, who: str) -> tuple[float, float]:
        """The success and the mean turns of a reference on the days on which books are tried; on all days if none is."""
        played = list(chain.from_iterable(self._late(self._by_who[who][home]) for home in self.homes))
        return fmean(one.won for one in played), fmean(one.turns for one in played)

    def curve(self, arm: str) -> list[ArmDay]:
        """The figures of an arm's books, evening by evening."""
        return [self._tried(arm, day) for day in self.manifest.tried]

    def living(self, arm: str) -> list[float]:
        """The share of homes in which the day was won, day by day."""
        every = [self._by_who[arm][home].days[: self.manifest.days] for home in self.homes]
        return [fmean(day.won for day in days) for days in zip(*every, strict=True)]

    def _late(self, one: LifeFigures) -> Sequence[DayPlayed]:
        return one.days[self.manifest.days :] or one.days

    def _tried(self, arm: str, day: int) -> ArmDay:
        each = [self._by_who[arm][home] for home in self.homes]
        played = [one.tried[day] for one in each]
        gap = [self._gap(home, one.tried[day]) for home, one in zip(self.homes, each, strict=True)]
        success = [fmean(one.won for one in days) for days in played]
        used = [one.tokens for days in played for one in days]
        habits = [found for one in each if (found := one.habits[day]) is not None]
        sums = [sum(column) for column in zip(*habits, strict=True)] if habits else []
        named, right, true, found, things, main = sums or [0] * 6
        return ArmDay(
            day,
            fmean(success),
            bootstrap_mean(success) if len(success) > 1 else None,
            fmean(one.turns for days in played for one in days),
            _share(gap),
            bootstrap_ratio(gap) if len(gap) > 1 and all(could > 0 for _, could in gap) else None,
            fmean(one.tokens[day] for one in each),
            None if None in used else fmean(filter(None, used)),
            right / named if named else None,
            found / true if true else None,
            main / things if things else None,
        )

    def _gap(self, home: str, played: Sequence[DayPlayed], days: slice | None = None) -> tuple[float, float]:
        """The turns that an arm saves in a home against its floor, and what could be saved."""
        floor, ceiling = (self._by_who[who][home] for who in (FLOOR, CEILING))
        some = [self._late(one) if days is None else one.days[days] for one in (floor, ceiling)]
        above, below = (sum(one.turns for one in each) for each in some)
        return above - sum(one.turns for one in played), above - below

    def _living_row(self, arm: str) -> tuple[float, float, float | None, float | None, int | None]:
        days = slice(0, self.manifest.days)
        each = {home: self._by_who[arm][home].days[days] for home in self.homes}
        played = list(chain.from_iterable(each.values()))
        success, turns = fmean(one.won for one in played), fmean(one.turns for one in played)
        if arm in self.manifest.references:
            return success, turns, None, None, None
        gaps = [self._gap(home, lived, days) for home, lived in each.items()]
        regret = sum(could - saved for saved, could in gaps) / len(played)
        known = next((one.day for one in self.curve(arm) if one.gap is not None and one.gap >= CLOSED), None)
        return success, turns, _share(gaps), regret, known

    def tables(self) -> Iterator[Table]:
        """The days that were lived, and the days on which books were tried."""
        if not self.homes:
            return
        lived: list[Column[tuple[float, float, float | None, float | None, int | None]]] = [
            Column("success", lambda row: row[0], percent),
            Column("turns", lambda row: row[1], number),
            Column("gap closed", lambda row: row[2], percent),
            Column("regret", lambda row: row[3], number),
            Column(f"days to {CLOSED:.0%}", lambda row: row[4], lambda day: "-" if day is None else str(day)),
        ]
        *below, above = self.manifest.references
        who = (*below, *self.arms, above)
        yield Table.of(f"days 1 to {self.manifest.days}", lived, ((arm, self._living_row(arm)) for arm in who))
        tried: list[Column[ArmDay]] = [
            Column("success", lambda row: row.success, percent),
            Column("95 %", lambda row: row.interval, percents),
            Column("turns", lambda row: row.turns, number),
            Column("gap", lambda row: row.gap, percent),
            Column("95 %", lambda row: row.closed, percents),
            Column("book tokens", lambda row: row.tokens, _rounded),
        ]
        if self.manifest.model is not None:
            tried.append(Column("tokens a day", lambda row: row.used, _rounded))
        if self.manifest.tried:
            rows = [(f"{arm}, day {each.day}", each) for arm in self.arms for each in self.curve(arm)]
            yield Table.of(f"tried on {self.manifest.frozen} days", tried, rows)
            shares: list[Column[ArmDay]] = [
                Column("precision", lambda row: row.precision, percent),
                Column("recall", lambda row: row.recall, percent),
                Column("main place", lambda row: row.main, percent),
            ]
            named = [(name, row) for name, row in rows if row.precision is not None]
            if named:
                yield Table.of("habits found", shares, named)

    def sentences(self) -> Iterator[str]:
        """Explain floor and ceiling, and name what is not over yet."""
        if not self.homes:
            yield "No home is over yet; the same command goes on."
            return
        (low, most), (high, least) = self.reference(FLOOR), self.reference(CEILING)
        if RANDOM in self.manifest.references:
            share, turns = self.reference(RANDOM)
            yield f"Random: searching in a random order it wins {percent(share)} of the last days, in {number(turns)} turns."
        yield (
            f"Floor: with no book the agent wins {percent(low)} of the last days, in {number(most)} turns. Ceiling: told the "
            f"true habits, which are hidden otherwise, it wins {percent(high)}, in {number(least)}."
        )
        yield "Gap: the turns that the ceiling saves against the floor. Regret: turns a day more than the ceiling."
        yield "Intervals are over homes; a single one has none."
        for arm in self.arms:
            yield f"{arm}: {LEARNT[arm]}."
        if len(self.homes) < len(self.manifest.homes):
            left = len(self.manifest.homes) - len(self.homes)
            yield f"Left out: {left} homes that are not over yet; the same command goes on."

    def data(self) -> dict[str, object]:
        references = {
            who: dict(zip(("success", "turns"), self.reference(who), strict=True)) for who in self.manifest.references
        }
        names = ("success", "turns", "gap_closed", "regret", "known_after")
        arms = {
            arm: {
                "living": {**dict(zip(names, self._living_row(arm), strict=True)), "success_by_day": self.living(arm)},
                "tried": [plain_data(each, *ArmDay._fields) for each in self.curve(arm)],
            }
            for arm in self.arms
        }
        told = references if self.homes else {}
        return {"lives": self.manifest.model_dump(mode="json"), "homes": self.homes, **told, "arms": arms if self.homes else {}}


def curves_chart(report: LivesReport) -> Markup:
    """The success of each arm's books over the evenings, between floor and ceiling, with bands over homes."""
    days = (0, *report.manifest.tried)
    (low, _), (high, _) = report.reference(FLOOR), report.reference(CEILING)

    def rate(share: float, interval: Interval | None = None) -> RateBar:
        return RateBar(share, interval or Interval(share, share), "")

    points = {
        arm: [(0, rate(low)), *((one.day, rate(one.success, one.interval)) for one in report.curve(arm))] for arm in report.arms
    }
    ends = {FLOOR: low, CEILING: high, **{arm: each[-1][1].value for arm, each in points.items()}}
    at = _apart(ends)
    words = [f"{name} ends at {percent(end)}" for name, end in ends.items()]
    levels = [(name, ends[name], at[name]) for name in (CEILING, FLOOR)]
    return chart("curves", "Success by day", words, [(arm, each, at[arm]) for arm, each in points.items()], levels, days)


def curves_page(report: LivesReport) -> bytes:
    """The page of a report, with its chart."""
    caption = "Success on later days with the book of an evening; bands are 95 % intervals over homes."
    charts = [(curves_chart(report), caption)] if report.homes and report.manifest.tried else []
    return tabled_page(
        report, f"Getting to know {'a home' if len(report.homes) == 1 else f'{len(report.homes)} homes'}", charts
    )


def _apart(ends: Mapping[str, float], least: float = 0.06) -> dict[str, float]:
    """Heights for the names of lines, at the lines' ends, but so far apart that none covers another."""
    placed: dict[str, float] = {}
    height = -least
    for name, end in sorted(ends.items(), key=lambda one: one[1]):
        height = placed[name] = max(end, height + least)
    return placed


def _rounded(tokens: float | None) -> str:
    return "-" if tokens is None else f"{tokens:,.0f}"


def _share(gaps: Sequence[tuple[float, float]]) -> float | None:
    return ratio(gaps) if sum(could for _, could in gaps) > 0 else None


def read_curves(folder: Path) -> LivesReport:
    """Read the curves of the lives in ``folder``, of those that are over. Raises ``ConfigurationError``."""
    manifest = read_lives(folder)
    habits = RunFolder(folder / manifest.lives[0].folder).habits_file
    world = make_world(manifest.world, **({"habits": str(habits)} if habits.exists() else {}))
    if not isinstance(world, HasHomes):
        raise ConfigurationError(f"{folder}: the world {manifest.world!r} of these lives has no homes here.")
    lives: list[LifeFigures] = []
    for life in manifest.lives:
        if (found := _figures(manifest, life, folder / life.folder, world.habits(life.home))) is not None:
            lives.append(found)
    return LivesReport(manifest, lives)


def _figures(manifest: LivesManifest, life: Life, place: Path, truth: Mapping[str, Mapping[str, float]]) -> LifeFigures | None:
    if life.who not in manifest.ways:
        days = _played(place, manifest)
        return None if len(days) < manifest.days + manifest.frozen else LifeFigures(life, days, {}, {}, {})
    days = tuple(chain.from_iterable(_played(place / f"day-{day:03}", manifest) for day in range(1, manifest.days + 1)))
    tried = {day: _played(place / f"tried-{day:03}", manifest) for day in manifest.tried}
    if len(days) < manifest.days or any(len(each) < manifest.frozen for each in tried.values()):
        return None
    books = {day: read_book(place / f"day-{day:03}" / "book.yaml").rules for day in manifest.tried}
    tokens = {day: sum(estimated_tokens(rule.statement) for rule in rules) for day, rules in books.items()}
    habits = {day: found_habits([rule.statement for rule in rules], truth) for day, rules in books.items()}
    return LifeFigures(life, days, tried, tokens, habits)


def _played(place: Path, manifest: LivesManifest) -> tuple[DayPlayed, ...]:
    run = RunFolder(place)
    if not run.manifest_file.exists():
        return ()
    results = sorted(run.results(run.manifest().tasks), key=lambda each: each.number)
    return tuple(DayPlayed(each.won, each.turns if each.won else manifest.max_turns, _tokens(each)) for each in results)


def _tokens(result: Result) -> int | None:
    if result.prompt_tokens is None or result.completion_tokens is None:
        return None
    return result.prompt_tokens + result.completion_tokens


def found_habits(statements: Sequence[str], truth: Mapping[str, Mapping[str, float]]) -> Habits | None:
    """Compare the habits that the sentences of a book name with the true chances; None if they name none.

    A habit is named where at least 0.15 of the sightings of a thing were, on two days or more; and by each group of things. The
    main place of these is the one where they usually are, if there is one alone.
    """
    read = [location for said in statements if (location := read_sentence(said)) is not None and location.places[0].looks]
    groups = [group for said in statements if (group := read_kept(said)) is not None]
    if not read and not groups:
        return None
    named = {(one.thing, place.receptacle) for one in read for place in one.places if one.is_habit(place)}
    named |= {(thing, group.place) for group in groups for thing in group.shares}
    main = {one.thing: one.places[0].receptacle for one in read if one.is_habit(one.places[0])}
    usual = Counter(thing for group in groups for thing in group.usually)
    main |= {thing: group.place for group in groups for thing in group.usually if usual[thing] == 1}
    likely, often = (
        {(thing, at) for thing, chances in truth.items() for at, chance in chances.items() if chance >= least}
        for least in (LIKELY, OFTEN)
    )
    best = {thing: max(chances, key=chances.__getitem__) for thing, chances in truth.items() if thing in main}
    right = sum(main[thing] == place for thing, place in best.items())
    return Habits(len(named), len(named & likely), len(often), len(named & often), len(best), right)


def verify_lives(folder: Path) -> Verification:
    """Check every day of the lives in ``folder`` by its digests. Raises ``ConfigurationError``."""
    manifest = read_lives(folder)
    runs = sorted(file.parent for file in folder.glob("*/**/run.json"))
    each = [verify_run(RunFolder(run)) for run in runs]
    finished, faults = sum(one.finished for one in each), tuple(fault for one in each for fault in one.faults)
    return Verification(folder, sum(map(manifest.episodes, manifest.lives)), finished, faults)


FAMILY = RunFamily(about="lives in homes", report=read_curves, verify=verify_lives)
