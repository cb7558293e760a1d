"""What a live game is played with. To lay the table takes time (imports, files, another process)."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from agent.agents.human import Question
from agent.agents.registry import make_agent, needs_model, resolve_settings
from agent.base import Agent
from agent.episodes.events import CallTiming, Event
from agent.episodes.loop import EpisodeConfig
from agent.episodes.record import EpisodeRecorder, read_played
from agent.models.base import Model
from tui.play.game import GameConfig, clock_file, model_of, record_file, terms_of
from worlds.base import Env


@dataclass(frozen=True, slots=True)
class Table:
    """A house, a player and the terms. ``recorded`` is what was played of it before, with the clocks."""

    env: Env
    agent: Agent
    model: Model | None
    terms: EpisodeConfig
    recorded: tuple[Event | CallTiming, ...] = ()


def lay(game: GameConfig, question: Question, resume: Path | None = None) -> Table:
    """Open all that ``game`` needs; ``question`` asks a person who plays alone, ``resume`` is the record to go on with.

    Raises what the world, the model, the record and the configuration raise.
    """
    terms = terms_of(game)
    recorded = tuple(read_played(resume, clock_file(resume))) if resume else ()
    model = model_of(game)
    agent = agent_of(game, model, question)
    return Table(game.world.open(game.task, diagnosis="diagnosis" in terms.grants), agent, model, terms, recorded)


def agent_of(game: GameConfig, model: Model | None, question: Question | None) -> Agent:
    """The agent of ``game``, thinking with ``model``. Raises ``ConfigurationError``."""
    settings = game.settings
    given = resolve_settings(game.agent, settings.settings_of(game.agent))
    return make_agent(game.agent, world=game.world, model=model, settings=given, seed=settings.seed or 0, question=question)


def recorder(game: GameConfig, resume: Path | None, files: ExitStack) -> EpisodeRecorder:
    """What records ``game``, in a new file or on with ``resume``, until ``files`` are closed. Raises ``OSError``."""
    path = resume.with_name(resume.name.removesuffix(".part")) if resume else record_file(game.task, game.agent)
    path.parent.mkdir(parents=True, exist_ok=True)
    clock = files.enter_context(clock_file(path).open("a", encoding="utf-8")) if needs_model(game.agent) else None
    return files.enter_context(EpisodeRecorder(path, clock=clock, label=path.stem, resume=resume is not None))
