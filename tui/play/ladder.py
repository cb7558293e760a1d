"""Reasons to come back: a ladder of houses with stars, the results of a week, and the story of a day's game.

Nothing else is stored: all of it comes from the records of games, like the result of a day.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from housequest.agent.config import Settings
from housequest.agent.episodes.events import Event, Stepped, branch, with_beliefs
from housequest.tui.home.catalogue import GameIndex, GameRow
from housequest.tui.play.company import par_of
from housequest.tui.play.game import EXPERT, HUMAN, ChosenGame, DailyTry, daily_game, daily_par, first_try, tries
from housequest.tui.text import bar_text, plural, table
from housequest.worlds.base import World
from housequest.worlds.household.belief import Belief, kind
from housequest.worlds.registry import make_world
from housequest.worlds.text import with_article

MOST_STARS = 3
_OVER = 2  # turns above par for all stars: a newcomer looks into some places in vain
_BAR = 20
_DEEDS = {"hot": "heated", "cool": "cooled", "clean": "cleaned", "sliced": "sliced", "on": "switched on"}


@dataclass(frozen=True, slots=True)
class Rung:
    """A rung of the ladder: the reference of its task, the number of players, and the limit of ``turns``."""

    name: str
    task: str
    players: int = 1
    turns: int | None = None

    @property
    def game(self) -> ChosenGame:
        """The game of this rung, regardless of the config."""
        beside = self.players > 1
        agent, world = EXPERT if beside else HUMAN, _world()
        return ChosenGame(world, world.task(self.task), agent, Settings(agent=agent, max_steps=self.turns), beside=beside)

    @property
    def par(self) -> int | None:
        """The turns of a planner that knows the house; None if not known."""
        return par_of(_world(), _world().task(self.task), self.players)

    @property
    def best(self) -> int | None:
        """The fewest turns in which a person won; None before that."""
        return min(filter(None, (one.turns for one in tries(self.task))), default=None)

    @property
    def stars(self) -> int:
        """The stars of the best game."""
        return stars(self.best, self.par)


@cache
def rungs() -> tuple[Rung, ...]:
    """The ladder, the easiest first."""
    read: dict[str, list[dict[str, Any]]] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
    return tuple(Rung(**row) for row in read["rung"])


@cache
def _world() -> World:
    settings = Settings()
    return make_world(settings.world, engine=settings.engine)


def next_rung() -> int:
    """The number of the first rung not won yet, from 1; the last one if all are won."""
    return next((number for number, one in enumerate(rungs(), 1) if one.best is None), len(rungs()))


def stars(turns: int | None, par: int | None) -> int:
    """The stars of a game won in so many turns: three near par, two within twice par, else one. None if not won."""
    if turns is None:
        return 0
    if par is None:
        return 1
    return MOST_STARS if turns <= par + _OVER else 2 if turns <= 2 * par else 1


def starred(number: int) -> str:
    """So many stars of `MOST_STARS`."""
    return "★" * number + "☆" * (MOST_STARS - number)


def ladder_lines() -> list[str]:
    """The ladder as a table: stars, house, best game and par."""
    rows = [("", "", "house", "players", "best", "par")]
    for number, one in enumerate(rungs(), 1):
        best, par = one.best, one.par
        row = (str(number), starred(stars(best, par)), one.name, str(one.players))
        rows.append((*row, "-" if best is None else str(best), "-" if par is None else str(par)))
    won = sum(one.stars for one in rungs())
    return [*table(rows), "", f"{won} of {MOST_STARS * len(rungs())} stars."]


def ladder_games() -> GameIndex:
    """The houses of the ladder for home, each with the stars of its best game."""

    def row(number: int, rung: Rung) -> GameRow:
        task, best, par = rung.game.task, rung.best, rung.par
        aside = f"par {par}" if best is None else f"par {par}, your best {best}"
        text = f"{rung.name}: {task.goal.strip()}"
        return GameRow(task.reference, starred(stars(best, par)), "", text, aside, task.type, task, rung=number)

    return GameIndex([row(number, rung) for number, rung in enumerate(rungs(), 1)])


def rung_lines(rung: Rung) -> list[str]:
    """The result of a rung's last game, in a line; empty before the first."""
    played = [*tries(rung.task)]
    if not played:
        return []
    par, last = rung.par, played[-1]
    known = "" if par is None else f" (it can be done in {par})"
    if last.turns is None:
        return [f"{rung.name}: not won{known}"]
    return [f"{rung.name}: won in {plural(last.turns, 'turn')}{known} {starred(stars(last.turns, par))}"]


class DayResult(NamedTuple):
    """The game of a day, None if there was none, with par."""

    day: date
    tried: DailyTry | None
    par: int | None


def week(last: date) -> tuple[DayResult, ...]:
    """The seven days up to ``last``."""
    days = (last - timedelta(days=ago) for ago in reversed(range(7)))
    results = ((day, first_try(day)) for day in days)
    return tuple(DayResult(day, tried, daily_par(day) if tried else None) for day, tried in results)


def week_lines(results: Sequence[DayResult]) -> list[str]:
    """The results of a week as a small chart: a bar for each day that was won, short for few turns."""
    most = max((one.tried.turns or 0 for one in results if one.tried), default=0)
    lines: list[str] = []
    for one in results:
        turns = one.tried.turns if one.tried else None
        if turns is not None:
            bar = bar_text(turns / most, _BAR).ljust(_BAR)
            par = f" par {one.par}" if one.par is not None else ""
            said = f"{bar} {turns:>3}{par}  {starred(stars(turns, one.par))}"
        else:
            said = "·" if one.tried is None else "not over yet" if one.tried.unfinished else "not won"
        lines.append(f"{one.day:%a %d}  {said}")
    return lines


def story_lines(day: date, tried: DailyTry) -> list[str]:
    """The game of a past day as a story to share. It tells where things were.

    Args:
        day: The day of the game.
        tried: The game.

    Returns:
        A sentence a line.
    """
    game, par = daily_game(day), daily_par(day)
    played = [event for event in with_beliefs(branch(tried.told)) if event.player in (None, tried.me)]
    commands = sum(isinstance(event.body, Stepped) for event in played)
    refused = sum(isinstance(event.body, Stepped) and not event.body.accepted for event in played)
    goal = game.task.goal.strip().removesuffix(".")
    lines = [f"housequest daily {day:%Y-%m-%d}, the story", f"I was to {goal}.", *_deeds(played)]
    if refused:
        lines.append(f"{'Once' if refused == 1 else f'{refused} times'} the house would not do as I said.")
    knows = "two who know the house need" if game.beside else "somebody who knows the house needs"
    knowing = f"; {knows} {par}" if par is not None else ""
    end = "Won in" if tried.won else "I did not make it, after"
    beside = " beside an agent" if game.beside else ""
    return [*lines, f"{end} {plural(commands, 'turn')}{beside}{knowing}."]


def _deeds(played: Sequence[Event]) -> Iterator[str]:
    """The changes in the player's hands, in sentences; each find says how many places came before."""
    before, looked = Belief(), list[str]()
    for event in played:
        after = event.belief
        if after is None or not isinstance(event.body, Stepped):
            before = after or before
            continue
        known = {one.name for one in before.receptacles if one.contents is not None}
        looked += [one.name for one in after.receptacles if one.contents is not None and one.name not in known]
        for name in after.carried:
            if name not in before.carried:
                item = before.item(name)
                where = "" if item is None or item.where is None else f" in the {kind(item.where)}"
                elsewhere = len(looked) - 1
                search = f"I looked into {plural(elsewhere, 'place')} in vain, then found" if elsewhere > 0 else "I found"
                yield f"{search} {with_article(kind(name))}{where}."
                looked.clear()
        for item in after.items:
            was = before.item(item.name)
            for word in item.state:
                if word in _DEEDS and was is not None and word not in was.state and event.body.command.split()[0] in _VERBS:
                    yield f"I {_DEEDS[word]} the {item.kind}."
            if item.name in before.carried and item.name not in after.carried and item.where is not None:
                yield f"I put the {item.kind} in the {kind(item.where)}."
        before = after


_VERBS = frozenset({"heat", "cool", "clean", "slice", "use", "switch"})
