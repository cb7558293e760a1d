"""One game: what is played, by whom and how, as a person chose it or a record says; where it is recorded; and the house of the
day, of which the date is the seed and the first record of a day counts.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import date, timedelta
from itertools import chain, count
from pathlib import Path

from housequest.agent.agents.spec import default_agent, model_for
from housequest.agent.base import Agent, AskPerson, Turn
from housequest.agent.config import Settings, SettingsSource, pairs
from housequest.agent.episodes.events import Ended, Event, Started, Stepped, TurnSpent
from housequest.agent.episodes.record import read_episode
from housequest.agent.evaluation.runs.spec import slug
from housequest.agent.models.base import Model, ReplyProgress, Watch, unwatched
from housequest.agent.models.registry import DEFAULT_MODEL, portable_name
from housequest.agent.setup import HUMAN, Setup, read_rules, set_up
from housequest.knowledge.rulebook import SUFFIX
from housequest.tui.home.catalogue import Catalogue, PlayerChoice, RecentChoices, RecordedGame, settings_in
from housequest.tui.text import plural
from housequest.worlds.base import Env, Solvable, Task, World
from housequest.worlds.errors import ConfigurationError, HousequestError
from housequest.worlds.paths import state_folder
from housequest.worlds.registry import make_world, replay_options

__all__ = ["HUMAN"]

SEARCHED = 10_000  # tasks of a split among which `next_game` looks for one of the same type
_MARKS = 25  # in a line of the day's result


@dataclass(slots=True)
class ChosenGame:
    """A game to play: the task, the player and the settings; ``speed`` limits the turns shown a second.

    Once it is open, it has its parts for one session, which closes them; ``replace`` makes a game that is not open. ``env`` is
    None until a slow world is opened, and ``played_by`` where a recorded game goes on: resuming makes the agent. ``person`` is
    asked for the commands of a person who plays, and ``watch`` is told of the model's replies as they come.
    """

    world: World
    task: Task
    agent: str
    settings: Settings
    record: bool = True
    speed: float | None = None
    setup: Setup | None = field(default=None, init=False, compare=False)
    opened_model: Model | None = field(default=None, init=False, compare=False)
    played_by: Agent | None = field(default=None, init=False, compare=False)
    env: Env | None = field(default=None, init=False, compare=False)
    person: AskPerson | None = field(default=None, init=False, compare=False)
    watch: Watch = field(default=unwatched, init=False, compare=False)

    @property
    def model(self) -> str | None:
        """The model the agent plays with; None where it needs none. Raises ``ConfigurationError`` where there is none."""
        return model_for(self.agent, self.settings.model, self.world.name, self.settings.settings_of(self.agent))

    def open(self, *, resumed: bool = False) -> Setup:
        """Open the game, once, but for a slow world. Raises a ``HousequestError`` if it cannot begin; nothing is called."""
        if self.setup is None:
            setup = set_up(self.settings, self.world, self.agent)
            self.opened_model = setup.make_model(watch=self.heard)
            if not resumed:
                self.played_by = setup.make_agent(self.opened_model, self.ask)
            if self.world.info.inline:
                self.env = setup.open(self.task)
            self.setup = setup
        return self.setup

    def heard(self, progress: ReplyProgress) -> None:
        self.watch(progress)  # which may be set once the game is open

    async def ask(self, turn: Turn) -> str | None:
        assert self.person is not None
        return await self.person(turn)


def next_game(game: ChosenGame) -> ChosenGame:
    """``game`` with the next task of its type, round and round. Raises ``ConfigurationError`` where there is none."""
    tasks = game.world.tasks(game.task.split)
    place = game.task.number - tasks[0].number
    # A split without end always has the type nearby.
    for step in range(1, min(len(tasks), SEARCHED)):
        task = tasks[(place + step) % len(tasks)]
        if task.type == game.task.type and task.id != game.task.id:
            return replace(game, task=task)
    raise ConfigurationError(f"{game.task.split} has no other task of the type {game.task.type}; home has all of them.")


def make_game(catalogue: Catalogue, task: Task, player: PlayerChoice) -> ChosenGame:
    """The game of ``task`` with ``player``. Raises a ``HousequestError`` if it cannot begin."""
    settings = settings_in(task.world, catalogue.settings)
    chosen = {
        "agent": player.agent,
        "model": player.model.strip() or None,
        "rules": player.rules.strip() or None,
        "grant": player.grants,
        "set": {**settings.set, **pairs(player.set.split(), "set")},
    }
    source = SettingsSource("home", chosen, spelled={key: f"The {key}" for key in chosen})
    settings = Settings.read({**settings.model_dump(), **chosen}, dict.fromkeys(chosen, source))
    return _opened(catalogue, task, settings)


def resume_game(catalogue: Catalogue, record: RecordedGame, settings: Settings, recent: RecentChoices) -> ChosenGame:
    """The unfinished game of ``record``, as it was configured. Raises a ``HousequestError`` if it cannot go on."""
    if record.started is None:
        raise ConfigurationError(record.fault)
    settings = settings_for(record.started, settings, recent)
    return _opened(catalogue, catalogue.world(settings).task(record.started.task), settings, resumed=True)


def _opened(catalogue: Catalogue, task: Task, settings: Settings, *, resumed: bool = False) -> ChosenGame:
    agent = settings.agent or default_agent(settings.model, settings.world)
    game = ChosenGame(catalogue.world(settings), task, agent, settings)
    game.open(resumed=resumed)
    return game


def settings_for(started: Started, settings: Settings, recent: RecentChoices) -> Settings:
    """The settings that an unfinished game began with; a model or rules that are not found raise ``ConfigurationError``."""
    model, rules = started.model, started.rules
    if model is not None:
        fault = f"This game was played with {model}: press m, name it with its address or options, and try again."
        names = (settings.model, *recent.models, DEFAULT_MODEL)
        model = _found(names, lambda name: portable_name(name) == started.model, fault)
    if rules is not None:
        book = rules.partition("@")[0]
        fault = f"This game was told the rules in {book}: press b, name that file, as it was, and try again."
        names = (settings.rules, recent.rules, book.removesuffix(SUFFIX))
        rules = _found(names, lambda name: read_rules(name).label == started.rules, fault)
    here = settings_in(started.world, settings)
    engine = "textworld" if started.engine.startswith("textworld") else "native"
    options = {"engine": engine, **replay_options(started.world, started.engine)}
    values = {
        **here.model_dump(),
        "engine": options.pop("engine"),
        "world_option": {**here.world_option, **options},
        "goals": started.wording,
        "agent": started.agent,
        "model": model,
        "rules": rules,
        "rules_budget": started.rules_budget or settings.rules_budget,
        "grant": started.grants,
        "max_steps": started.max_turns,
        "seed": started.seed,
        "set": {key: value for key, value in started.settings.items() if value is not None},
    }
    source = SettingsSource(
        "the record", values, spelled={key: f"This game cannot go on: its record's {key}" for key in values}
    )
    return Settings.read(values, dict.fromkeys(values, source))


def _found(names: Iterable[str | None], fits: Callable[[str], bool], fault: str) -> str:
    """The first of ``names`` that can be read and ``fits``. Raises ``ConfigurationError`` with ``fault``."""
    for name in filter(None, names):
        with suppress(HousequestError):
            if fits(name):
                return name
    raise ConfigurationError(fault)


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
    """Return True if the game of ``record`` goes on."""
    return record.suffix == ".part"


def timing_file(record: Path) -> Path:
    """The file beside ``record`` with the timings of its calls."""
    return record.with_name(f"{record.name.removesuffix('.part').removesuffix('.jsonl')}.timing.jsonl")


def daily_game(day: date) -> ChosenGame:
    """The game of this day, for a person alone and without help, whatever is configured."""
    settings = Settings(agent=HUMAN)
    world = make_world(settings.world, engine=settings.engine)
    return ChosenGame(world, world.task(_reference(day)), HUMAN, settings)


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
    par = world.shortest(task) if isinstance(world, Solvable) else None
    marks, won, streak = "".join(_marks(told)), _is_won(told), 1
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
