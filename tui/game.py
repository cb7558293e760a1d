"""One game in a terminal: an agent or a person plays it, and it is told in plain text as it happens."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain, count
from pathlib import Path

from agent.agents.registry import make_agent, needs_model, resolve_settings
from agent.config import Settings
from agent.episode import Listener, Terms, run_episode
from agent.evaluation.plan import habits_label, placeless, read_rules, slug
from agent.events import Clocked, Ended, Event
from agent.models.base import Model
from agent.models.registry import make_model
from agent.overseer import Proceed, Unattended
from agent.record import EpisodeRecorder
from tui import terminal
from tui.person import Person
from tui.plain import Narrator
from worlds.base import Task, World
from worlds.errors import ConfigurationError
from worlds.paths import state_folder

HUMAN = "human"


@dataclass(frozen=True, slots=True)
class Game:
    """What is played, by whom, and how: ``speed`` limits the turns shown a second."""

    world: World
    task: Task
    agent: str
    settings: Settings
    record: bool = True
    speed: float | None = None


class Paced(Unattended):
    """An overseer that only takes its time, so that a person can follow."""

    def __init__(self, speed: float) -> None:
        self._pause = pause(speed)

    async def before(self, turn: int) -> Proceed:
        if turn > 1:
            await asyncio.sleep(self._pause)
        return Proceed()


def pause(speed: float) -> float:
    """Seconds between turns at ``speed`` turns a second. Raises ``ConfigurationError`` for what is no speed."""
    if not 0.01 <= speed <= 1_000:
        raise ConfigurationError(f"--speed: {speed} turns a second cannot be shown; give 0.01 to 1000.")
    return 1 / speed


def play_game(game: Game) -> Ended:
    """Play ``game`` to its end. Raises what the world, the model and the configuration raise before it begins."""
    terms = _terms(game)
    path = _record_file(game.task, game.agent) if game.record else None
    try:
        if game.agent != HUMAN:
            return asyncio.run(_play(game, terms, path))
        # A person is waited for in the loop itself: asyncio.run would take Ctrl-C for a wish to cancel, and go on waiting.
        loop = asyncio.new_event_loop()
        try:
            return loop.run_until_complete(_play(game, terms, path))
        finally:
            loop.close()
    finally:
        if path is not None:
            _tell_record(path)


async def _play(game: Game, terms: Terms, path: Path | None) -> Ended:
    look = terminal.look()
    env = game.world.open(game.task, diagnosis="diagnosis" in terms.grants)
    model = _model(game)
    try:
        person = Person(game.world, env, look)
        agent = make_agent(
            game.agent, world=game.world, model=model, settings=terms.settings, seed=terms.seed, question=person.ask
        )
        narrator = Narrator(look, typed=game.agent == HUMAN and terminal.interactive())
        overseer = Paced(game.speed) if game.speed is not None else None
        with _recorder(path) as record:

            def listen(event: Event | Clocked) -> None:
                record(event)
                if isinstance(event, Event):
                    terminal.show(narrator.lines(event))

            return await run_episode(env, agent, terms, listen, overseer)
    finally:
        env.close()
        if model is not None:
            await model.aclose()


@contextmanager
def _recorder(path: Path | None) -> Generator[Listener, None, None]:
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


def _record_file(task: Task, agent: str) -> Path:
    """A new file for the record of an episode: when, what and who."""
    stem = f"{time.strftime('%Y%m%d-%H%M%S')}-{slug(task.reference)}-{slug(agent)}"
    folder = state_folder() / "episodes"
    taken = (folder / f"{stem}-{number}.jsonl" for number in count(2))
    first = folder / f"{stem}.jsonl"
    return next(file for file in chain((first,), taken) if not file.exists())


def _tell_record(path: Path) -> None:
    part = path.with_name(f"{path.name}.part")
    if path.exists():
        terminal.note(f"\nRecorded in {path}")
    elif part.exists():
        terminal.note(f"\nRecorded as far as it went in {part}")


def _terms(game: Game) -> Terms:
    settings = game.settings
    rules = read_rules(settings.rules) if settings.rules else None
    model = settings.model if needs_model(game.agent) else None
    return Terms(
        engine=game.world.engine,
        grants=frozenset(settings.grant),
        max_turns=settings.max_steps,
        seed=settings.seed or 0,
        model=placeless(model) if model else None,
        rules=rules.label if rules else None,
        habits=habits_label(settings.habits, game.world),
        rule_statements=rules.statements if rules else (),
        settings=resolve_settings(game.agent, settings.settings_of(game.agent)),
        inline=game.world.inline,
    )


def _model(game: Game) -> Model | None:
    name = game.settings.model
    return make_model(name, timeout=game.settings.timeout) if name and needs_model(game.agent) else None
