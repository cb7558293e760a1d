"""One game: what is played, by whom and how, what that takes, and where it is recorded."""

from __future__ import annotations

import time
from contextlib import ExitStack
from dataclasses import dataclass, replace
from itertools import chain, count
from pathlib import Path

from housequest.agent.agents.registry import agent_spec, model_for
from housequest.agent.base import Agent, AskPerson
from housequest.agent.config import Settings
from housequest.agent.episodes.events import CallTiming, Event
from housequest.agent.episodes.record import EpisodeRecorder, read_played
from housequest.agent.evaluation.runs.spec import slug
from housequest.agent.models.base import Model
from housequest.agent.setup import HUMAN, Setup, set_up
from housequest.worlds.base import Env, Task, World
from housequest.worlds.errors import ConfigurationError
from housequest.worlds.paths import open_file, state_folder

__all__ = ["HUMAN"]

SEARCHED = 10_000
"""Tasks of a split among which `next_game` looks for one of the same type."""


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


@dataclass(frozen=True, slots=True)
class OpenGame:
    """What a game is played with. ``recorded`` are the events and timings of an unfinished game that goes on."""

    setup: Setup
    env: Env
    agent: Agent
    model: Model | None
    recorded: tuple[Event | CallTiming, ...] = ()


def open_game(game: GameConfig, question: AskPerson, resume: Path | None = None) -> OpenGame:
    """Open the world, the agent and its model. This may take seconds.

    ``question`` asks a person who plays alone, ``resume`` is the record to continue. Raises what the world, the model, the
    record and the configuration raise.
    """
    setup = game.setup()
    recorded = tuple(read_played(resume, timing_file(resume))) if resume else ()
    model = setup.make_model(attended=True)
    agent = setup.make_agent(model, question)
    return OpenGame(setup, setup.open(game.task), agent, model, recorded)


def open_recorder(game: GameConfig, resume: Path | None, files: ExitStack) -> EpisodeRecorder:
    """Record ``game`` in a new file, or continue ``resume``, until ``files`` are closed. Raises ``OSError``."""
    path = resume.with_name(resume.name.removesuffix(".part")) if resume else record_file(game.task, game.agent)
    path.parent.mkdir(parents=True, exist_ok=True)
    clock = files.enter_context(open_file(timing_file(path), "ab")) if agent_spec(game.agent).needs_model else None
    return files.enter_context(EpisodeRecorder(path, clock=clock, label=path.stem, resume=resume is not None))


def record_file(task: Task, agent: str) -> Path:
    """A new file for the record of an episode, named after the time, the task and the agent."""
    stem = f"{time.strftime('%Y%m%d-%H%M%S')}-{slug(task.reference)}-{slug(agent)}"
    folder = state_folder() / "episodes"
    files = chain((folder / f"{stem}.jsonl",), (folder / f"{stem}-{number}.jsonl" for number in count(2)))
    return next(file for file in files if not (file.exists() or partial_file(file).exists()))


def partial_file(record: Path) -> Path:
    """The name of ``record`` while its game goes on."""
    return record.with_name(f"{record.name}.part")


def timing_file(record: Path) -> Path:
    """The file beside ``record`` with the timings of its calls."""
    return record.with_name(f"{record.name.removesuffix('.part').removesuffix('.jsonl')}.timing.jsonl")


def next_game(game: GameConfig) -> GameConfig:
    """The same game with the next task of the same type in its split; after the last one, the first.

    Raises ``ConfigurationError`` where there is none.
    """
    tasks = game.world.tasks(game.task.split)
    place = game.task.number - tasks[0].number
    # A split without end always has the type nearby.
    steps = range(1, min(len(tasks), SEARCHED))
    for task in (tasks[(place + step) % len(tasks)] for step in steps):
        if task.type == game.task.type and task.id != game.task.id:
            return replace(game, task=task)
    raise ConfigurationError(f"{game.task.split} has no other task of the type {game.task.type}; home has all of them.")
