"""One game: what is played, by whom and how, and how it is played in plain text, told as it happens."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import chain, count
from pathlib import Path
from typing import Literal

from agent.agents.registry import model_for
from agent.config import Settings
from agent.episodes.events import CallTiming, Ended, Event
from agent.episodes.loop import EventListener, run_episode
from agent.episodes.overseer import Proceed, Unattended
from agent.episodes.record import EpisodeRecorder
from agent.evaluation.runs.spec import slug
from agent.setup import HUMAN, Setup, set_up
from tui import terminal
from tui.play.person import Person
from tui.play.plain import Narrator
from worlds.base import Task, World
from worlds.errors import ConfigurationError, shown
from worlds.paths import state_folder

MOST_LOOKED_AT = 10_000
"""Tasks of a split among which another of the same type is looked for."""

Mode = Literal["watch", "step", "you", "race"]
"""How a person is at a game on the screen: beside the agent, before each of its commands, in its place, or against it."""


@dataclass(frozen=True, slots=True)
class GameConfig:
    """What is played, by whom, and how: ``speed`` limits the turns shown a second."""

    world: World
    task: Task
    agent: str
    settings: Settings
    record: bool = True
    speed: float | None = None

    @property
    def model(self) -> str | None:
        """The model that the agent plays with; None where it needs none. Raises ``ConfigurationError`` where there is none."""
        return model_for(self.agent, self.settings.model, self.world.name)

    def setup(self) -> Setup:
        """How it is played, with every choice made. Raises ``ConfigurationError`` and ``KnowledgeError``."""
        return set_up(self.settings, self.world, self.agent)


class Paced(Unattended):
    """An overseer that only takes its time, so that a person can follow."""

    def __init__(self, speed: float) -> None:
        self._pause = pause(speed)

    async def before(self, turn: int, possible: tuple[str, ...] | None) -> Proceed:
        del possible
        if turn > 1:
            await asyncio.sleep(self._pause)
        return Proceed()


def pause(speed: float) -> float:
    """Seconds between turns at ``speed`` turns a second. Raises ``ConfigurationError`` for what is no speed."""
    if not 0.01 <= speed <= 1_000:
        raise ConfigurationError(f"--speed: {speed} turns a second cannot be shown; give 0.01 to 1000.")
    return 1 / speed


def play_game(game: GameConfig) -> Ended:
    """Play ``game`` to its end. Raises what the world, the model and the configuration raise before it begins."""
    setup = game.setup()
    if game.settings.rules and setup.rules is None:
        terminal.note(f"The agent {game.agent!r} takes no rules; it plays without {shown(game.settings.rules)}.\n")
    path = record_file(game.task, game.agent) if game.record else None
    try:
        if game.agent != HUMAN:
            return asyncio.run(_play(game, setup, path))
        # A person is waited for in the loop itself: asyncio.run would take Ctrl-C for a wish to cancel, and go on waiting.
        loop = asyncio.new_event_loop()
        try:
            return loop.run_until_complete(_play(game, setup, path))
        finally:
            loop.close()
    finally:
        if path is not None:
            _tell_record(path)


async def _play(game: GameConfig, setup: Setup, path: Path | None) -> Ended:
    look = terminal.look()
    env = setup.open(game.task)
    model = setup.make_model()
    try:
        person = Person(game.world, env, look)
        agent = setup.make_agent(model, person.ask)
        narrator = Narrator(look, typed=game.agent == HUMAN and terminal.interactive())
        overseer = Paced(game.speed) if game.speed is not None else None
        with _recorder(path) as record:

            def listen(event: Event | CallTiming) -> None:
                record(event)
                if isinstance(event, Event):
                    terminal.show(narrator.lines(event))

            return await run_episode(env, agent, setup.episode, listen, overseer)
    finally:
        env.close()
        if model is not None:
            await model.aclose()


@contextmanager
def _recorder(path: Path | None) -> Generator[EventListener, None, None]:
    """What keeps the record; without ``path``, something that keeps none."""
    if path is None:
        yield lambda _: None
        return
    try:
        recorder = EpisodeRecorder(path).__enter__()
    except OSError as error:
        terminal.note(f"Played without a record: {path} cannot be written ({error.strerror}).\n")
        yield lambda _: None
        return
    with recorder:
        yield recorder


def record_file(task: Task, agent: str) -> Path:
    """A new file for the record of an episode: when, what and who. No other game has it, whether it was played or goes on."""
    stem = f"{time.strftime('%Y%m%d-%H%M%S')}-{slug(task.reference)}-{slug(agent)}"
    folder = state_folder() / "episodes"
    taken = (folder / f"{stem}-{number}.jsonl" for number in count(2))
    first = folder / f"{stem}.jsonl"
    return next(file for file in chain((first,), taken) if not (file.exists() or part_of(file).exists()))


def part_of(record: Path) -> Path:
    """What ``record`` is called while its game goes on."""
    return record.with_name(f"{record.name}.part")


def clock_file(record: Path) -> Path:
    """Where the clocks of the episode recorded in ``record`` go: a file beside it."""
    return record.with_name(f"{record.name.removesuffix('.part').removesuffix('.jsonl')}.timing.jsonl")


def _tell_record(path: Path) -> None:
    part = part_of(path)
    if path.exists():
        terminal.note(f"\nRecorded in {path}")
    elif part.exists():
        terminal.note(f"\nRecorded as far as it went in {part}")


def another(game: GameConfig) -> GameConfig:
    """The same game with the next task of the same type in its split; after the last one it begins anew.

    Raises ``ConfigurationError`` where there is none.
    """
    task, world = game.task, game.world
    found = next(_following(world, task), None)
    if found is None:
        raise ConfigurationError(f"{task.split} has no other task of the type {task.type}; home has all of them.")
    return replace(game, task=found)


def _following(world: World, task: Task) -> Iterator[Task]:
    tasks = world.tasks(task.split)
    count = len(tasks)
    # Made-up houses come without end: the next of a type is never far.
    steps = range(1, min(count, MOST_LOOKED_AT))
    place = task.number - tasks[0].number
    order = (tasks[(place + step) % count] for step in steps)
    return (one for one in order if one.type == task.type and one.id != task.id)
