"""What a live game is played with. To lay the table takes time (imports, files, another process)."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from agent.agents.human import Question
from agent.agents.registry import needs_model
from agent.base import Agent
from agent.episodes.events import CallTiming, Event
from agent.episodes.record import EpisodeRecorder, read_played
from agent.models.base import Model
from agent.setup import Setup
from tui.play.game import GameConfig, clock_file, record_file
from worlds.base import Env


@dataclass(frozen=True, slots=True)
class Table:
    """What a game is played with. ``recorded`` is what was played of it before, with the clocks."""

    setup: Setup
    env: Env
    agent: Agent
    model: Model | None
    recorded: tuple[Event | CallTiming, ...] = ()


def lay(game: GameConfig, question: Question, resume: Path | None = None) -> Table:
    """Open all that ``game`` needs; ``question`` asks a person who plays alone, ``resume`` is the record to go on with.

    Raises what the world, the model, the record and the configuration raise.
    """
    setup = game.setup()
    recorded = tuple(read_played(resume, clock_file(resume))) if resume else ()
    model = setup.make_model()
    agent = setup.make_agent(model, question)
    return Table(setup, setup.open(game.task), agent, model, recorded)


def recorder(game: GameConfig, resume: Path | None, files: ExitStack) -> EpisodeRecorder:
    """What records ``game``, in a new file or on with ``resume``, until ``files`` are closed. Raises ``OSError``."""
    path = resume.with_name(resume.name.removesuffix(".part")) if resume else record_file(game.task, game.agent)
    path.parent.mkdir(parents=True, exist_ok=True)
    clock = files.enter_context(clock_file(path).open("a", encoding="utf-8")) if needs_model(game.agent) else None
    return files.enter_context(EpisodeRecorder(path, clock=clock, label=path.stem, resume=resume is not None))
