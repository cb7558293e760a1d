"""One game: what is played, by whom and how, and where it is recorded; and the house of the day, of which the date is the seed
and the first record of a day counts.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from itertools import chain, count
from pathlib import Path

from housequest.agent.agents.spec import model_for
from housequest.agent.config import Settings
from housequest.agent.episodes.events import Ended, Event, Stepped, TurnSpent
from housequest.agent.episodes.record import read_episode
from housequest.agent.evaluation.runs.spec import slug
from housequest.agent.setup import HUMAN, Setup, set_up
from housequest.tui.text import plural
from housequest.worlds.base import Task, World
from housequest.worlds.errors import ConfigurationError
from housequest.worlds.paths import state_folder
from housequest.worlds.registry import make_world

__all__ = ["HUMAN"]

SEARCHED = 10_000  # tasks of a split among which `next_game` looks for one of the same type
_MARKS = 25  # in a line of the day's result


@dataclass(frozen=True, slots=True)
class GameConfig:
    """What is played, by whom, and how; ``speed`` limits the turns shown a second."""

    world: World
    task: Task
    agent: str
    settings: Settings
    record: bool = True
    speed: float | None = None

    @property
    def model(self) -> str | None:
        """The model the agent plays with; None where it needs none. Raises ``ConfigurationError`` where there is none."""
        return model_for(self.agent, self.settings.model, self.world.name, self.settings.settings_of(self.agent))

    def setup(self) -> Setup:
        """Resolve every choice of the settings. Raises ``ConfigurationError`` and ``KnowledgeError``."""
        return set_up(self.settings, self.world, self.agent)


def next_game(game: GameConfig) -> GameConfig:
    """``game`` with the next task of its type, round and round. Raises ``ConfigurationError`` where there is none."""
    tasks = game.world.tasks(game.task.split)
    place = game.task.number - tasks[0].number
    # A split without end always has the type nearby.
    for step in range(1, min(len(tasks), SEARCHED)):
        task = tasks[(place + step) % len(tasks)]
        if task.type == game.task.type and task.id != game.task.id:
            return replace(game, task=task)
    raise ConfigurationError(f"{game.task.split} has no other task of the type {game.task.type}; home has all of them.")


def record_file(task: Task, agent: str) -> Path:
    """A new file for the record of an episode, named after the time, the task and the agent."""
    stem = f"{time.strftime('%Y%m%d-%H%M%S')}-{slug(task.reference)}-{slug(agent)}"
    folder = state_folder() / "episodes"
    files = chain((folder / f"{stem}.jsonl",), (folder / f"{stem}-{number}.jsonl" for number in count(2)))
    return next(file for file in files if not (file.exists() or partial_file(file).exists()))


def partial_file(record: Path) -> Path:
    """The name of ``record`` while its game goes on."""
    return record.with_name(f"{record.name}.part")


def is_unfinished(record: Path) -> bool:
    """Whether the game of ``record`` goes on."""
    return record.suffix == ".part"


def timing_file(record: Path) -> Path:
    """The file beside ``record`` with the timings of its calls."""
    return record.with_name(f"{record.name.removesuffix('.part').removesuffix('.jsonl')}.timing.jsonl")


def daily_game(day: date) -> GameConfig:
    """The game of this day, for a person alone and without help, whatever is configured."""
    settings = Settings(agent=HUMAN)
    world = make_world(settings.world, engine=settings.engine)
    return GameConfig(world, world.task(_reference(day)), HUMAN, settings)


def first_try(day: date) -> Path | None:
    """The record of the first game at the house of this day, None before it; one left before its first command is none."""
    found = (state_folder() / "episodes").glob(f"{day:%Y%m%d}-*-{slug(_reference(day))}-{HUMAN}*.jsonl*")
    for record in sorted(file for file in found if ".timing." not in file.name):
        if is_unfinished(record) or any(isinstance(event.body, Stepped | TurnSpent) for event in read_episode(record)):
            return record
    return None


def daily_result(day: date, record: Path, world: World) -> Iterator[str]:
    """The result of a game, to share, which tells nothing of where things are. Raises ``ConfigurationError`` if unreadable."""
    task, told = world.task(_reference(day)), list(read_episode(record))
    marks, won, par, streak = "".join(_marks(told)), _is_won(told), world.shortest(task), 1
    while won and (before := first_try(day - timedelta(days=streak))) and not is_unfinished(before):
        if not _is_won(list(read_episode(before))):
            break
        streak += 1
    yield f"housequest daily {day:%Y-%m-%d}"
    yield task.goal
    best = f" (it can be done in {par})" if par is not None else ""
    yield f"{'won in' if won else 'not won,'} {plural(len(marks), 'turn')}{best}"
    yield from (marks[at : at + _MARKS] for at in range(0, len(marks), _MARKS))
    if streak > 1:
        yield f"{streak} days in a row"


def _reference(day: date) -> str:
    return f"generated:{day:%Y%m%d}"


def _is_won(told: Sequence[Event]) -> bool:
    ends = [event.body.outcome for event in told if isinstance(event.body, Ended)]
    return ends[-1:] == ["won"]


def _marks(told: Sequence[Event]) -> Iterator[str]:
    """A mark for each command: ✦ met a condition of the goal, × was refused, · anything else."""
    best: int | None = None
    for event in told:
        if isinstance(event.body, Stepped):
            met = event.body.met or 0
            # Some conditions hold from the beginning.
            further = event.body.won or (best is not None and met > best)
            yield "✦" if further else "·" if event.body.accepted else "×"
            best = max(best or 0, met)
