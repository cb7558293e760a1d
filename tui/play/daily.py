"""The house of the day: the same made-up house for everyone, one try, and a result to share.

The date is the seed, so nothing has to be fetched. The records of the games are all that is kept: the first game of a day
counts, and the streak is counted from them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path

from housequest.agent.config import Settings
from housequest.agent.episodes.events import Ended, Event, Stepped, TurnSpent
from housequest.agent.episodes.record import read_episode
from housequest.tui.play.game import HUMAN, GameConfig
from housequest.tui.text import plural
from housequest.worlds.base import World
from housequest.worlds.paths import state_folder
from housequest.worlds.registry import make_world

_MARKS = 25
"""Marks in a line of a result."""


def daily_game(day: date) -> GameConfig:
    """The game of this day, for a person alone and without help, whatever is configured."""
    settings = Settings(agent=HUMAN)
    world = make_world(settings.world, engine=settings.engine)
    return GameConfig(world, world.task(_reference(day)), HUMAN, settings)


def first_try(day: date) -> Path | None:
    """The record of the first game that was begun on this day at its house; None before it was begun.

    A game that was left before its first command was not played, and spends nothing.
    """
    slug = _reference(day).replace(":", "-")
    found = (state_folder() / "episodes").glob(f"{day:%Y%m%d}-*-{slug}-{HUMAN}*.jsonl*")
    records = sorted((file for file in found if ".timing." not in file.name), key=lambda file: file.name)
    return next((file for file in records if is_unfinished(file) or _was_played(file)), None)


def is_unfinished(record: Path) -> bool:
    """Whether the game of ``record`` goes on."""
    return record.suffix == ".part"


@dataclass(frozen=True, slots=True)
class DailyResult:
    """How the house of a day went: a mark for each command that was given, taken back or not, and the fewest that win.

    ``streak`` are the days in a row, up to this one, on which it was won.
    """

    day: date
    goal: str
    marks: str
    won: bool
    par: int | None
    streak: int

    def lines(self) -> Iterator[str]:
        """The result as a few lines to share, which say nothing about where things are."""
        turns = plural(len(self.marks), "turn")
        par = f" (it can be done in {self.par})" if self.par is not None else ""
        yield f"housequest daily {self.day:%Y-%m-%d}"
        yield self.goal
        yield f"{'won in' if self.won else 'not won,'} {turns}{par}"
        yield from (self.marks[at : at + _MARKS] for at in range(0, len(self.marks), _MARKS))
        if self.streak > 1:
            yield f"{self.streak} days in a row"


def daily_result(day: date, record: Path, world: World) -> DailyResult:
    """The result of the finished game in ``record``. Raises ``ConfigurationError`` where that cannot be read."""
    task = world.task(_reference(day))
    told = list(read_episode(record))
    won = _is_won(told)
    streak = 0
    while won and (streak == 0 or _was_won(day - timedelta(days=streak))):
        streak += 1
    return DailyResult(day, task.goal, "".join(_marks(told)), won, world.shortest(task), streak)


def _reference(day: date) -> str:
    return f"generated:{day:%Y%m%d}"


def _was_played(record: Path) -> bool:
    return any(isinstance(event.body, Stepped | TurnSpent) for event in read_episode(record))


def _was_won(day: date) -> bool:
    record = first_try(day)
    return record is not None and not is_unfinished(record) and _is_won(read_episode(record))


def _is_won(told: Iterator[Event] | list[Event]) -> bool:
    ends = [event.body for event in told if isinstance(event.body, Ended)]
    return bool(ends) and ends[-1].outcome == "won"


def _marks(told: list[Event]) -> Iterator[str]:
    """A mark for each command: ✦ met a condition of the goal, × was refused, · anything else."""
    best: int | None = None
    for event in told:
        if isinstance(event.body, Stepped):
            met = event.body.met or 0
            # Some conditions hold from the beginning.
            further = event.body.won or (best is not None and met > best)
            yield "✦" if further else "·" if event.body.accepted else "×"
            best = max(best or 0, met)
