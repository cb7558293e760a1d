"""One game: what is played, by whom and how, as a person chose it or a record says; where it is recorded; and the house of the
day, of which the date is the seed and the first record of a day counts.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import date, timedelta
from itertools import chain, count
from pathlib import Path
from typing import NamedTuple

from housequest.agent.agents.spec import agent_spec, default_agent, model_for
from housequest.agent.base import Agent, AskPerson, Away, Idle, Overheard, Say, Turn
from housequest.agent.config import Settings, SettingsSource, pairs
from housequest.agent.episodes.events import Ended, Event, Participant, Started, Stepped, TurnSpent
from housequest.agent.episodes.record import part_of, playing, read_sound, whole_of
from housequest.agent.evaluation.runs.spec import slug
from housequest.agent.models.base import Model, ReplyProgress, Watch, unwatched
from housequest.agent.models.registry import DEFAULT_MODEL, portable_name
from housequest.agent.setup import HUMAN, Setup, read_rules, set_up, set_up_beside
from housequest.knowledge.rulebook import SUFFIX
from housequest.tui.home.catalogue import Catalogue, PlayerChoice, RecentChoices, RecordedGame, settings_in
from housequest.tui.play.company import par_of
from housequest.tui.text import natural, plural
from housequest.worlds.base import Env, Task, World
from housequest.worlds.errors import ConfigurationError, HousequestError
from housequest.worlds.locks import InUse
from housequest.worlds.paths import state_folder
from housequest.worlds.registry import make_world, replay_options
from housequest.worlds.shared import Seat, Shared

__all__ = ["HUMAN"]

SEARCHED = 10_000  # tasks of a split among which `next_game` looks for one of the same type
EXPERT = "expert"
FORGET = "never mind"  # takes back an agent's hints
_DAILY = "000000"  # in place of the time in a record's name, since two windows differ in the time
_MARKS = 25  # in a line of the day's result


@dataclass(slots=True)
class ChosenGame:
    """A game to play: the task, the player and the settings; ``speed`` limits the turns shown a second.

    An open game has its parts for one session, which closes them; ``replace`` makes an unopened one. ``env`` is None until a
    slow world is open, and ``played_by`` if a recorded game goes on, since resuming makes the agent. ``person`` asks a person
    who plays for commands, and ``watch`` gets the model's replies as they come. ``beside``: a person plays together with the
    agent, in their ``house``; a round waits for them ``patience`` seconds.
    """

    world: World
    task: Task
    agent: str
    settings: Settings
    record: bool = True
    speed: float | None = None
    beside: bool = False
    patience: float | None = None
    setup: Setup | None = field(default=None, init=False, compare=False)
    opened_model: Model | None = field(default=None, init=False, compare=False)
    played_by: Agent | None = field(default=None, init=False, compare=False)
    env: Env | None = field(default=None, init=False, compare=False)
    house: Shared | None = field(default=None, init=False, compare=False)
    person: AskPerson | None = field(default=None, init=False, compare=False)
    watch: Watch = field(default=unwatched, init=False, compare=False)

    @property
    def model(self) -> str | None:
        """The model the agent plays with; None where it needs none. Raises ``ConfigurationError`` if there is none."""
        return model_for(self.agent, self.settings.model, self.world.name, self.settings.settings_of(self.agent))

    @property
    def hears_hints(self) -> bool:
        """True if the agent listens to a person, as those with a model do, and the expert of a household."""
        listens = "model" in agent_spec(self.agent).needs or (self.agent == EXPERT and self.world.household is not None)
        return listens and not self.beside

    def open(self, *, resumed: bool = False) -> Setup:
        """Open the game, once, but for a slow world. Raises a ``HousequestError`` if it cannot begin; nothing is called."""
        if self.setup is None:
            setup = (set_up_beside if self.beside else set_up)(self.settings, self.world, self.agent)
            agent = setup.each[-1]
            self.opened_model = agent.make_model(watch=self.heard)
            if not resumed:
                self.played_by = agent.make_agent(self.opened_model, self.ask)
            if self.beside:
                self.house = setup.share(self.task)
                self.env = Seat(self.house, self.house.players[0])
            elif self.world.info.inline:
                self.env = setup.open(self.task)
            self.setup = setup
        return self.setup

    def heard(self, progress: ReplyProgress) -> None:
        self.watch(progress)  # which may be set once the game is open

    async def ask(self, turn: Turn) -> str | Say | Overheard | Idle | Away | None:
        assert self.person is not None
        return await self.person(turn)


def next_game(game: ChosenGame) -> ChosenGame:
    """``game`` with the next task of its type, round and round. Raises ``ConfigurationError`` if there is none."""
    tasks = game.world.tasks(game.task.split)
    place = game.task.number - tasks[0].number
    # A split without end always has the type nearby.
    for step in range(1, min(len(tasks), SEARCHED)):
        task = tasks[(place + step) % len(tasks)]
        if task.type == game.task.type and task.id != game.task.id:
            return replace(game, task=task)
    raise ConfigurationError(f"{game.task.split} has no other task of the type {game.task.type}; home has all of them.")


def make_game(catalogue: Catalogue, task: Task, player: PlayerChoice, *, beside: bool = False) -> ChosenGame:
    """The game of ``task`` with ``player``, and the person ``beside`` it. Raises a ``HousequestError`` if it cannot begin."""
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
    return _opened(catalogue, task, settings, beside=beside)


def resume_game(catalogue: Catalogue, record: RecordedGame, settings: Settings, recent: RecentChoices) -> ChosenGame:
    """The unfinished game of ``record``, as it was configured. Raises a ``HousequestError`` if it cannot go on."""
    if record.started is None:
        raise ConfigurationError(record.fault)
    if any(one.stand_in for one in record.started.players or ()):
        raise ConfigurationError(f"Two people play this game: housequest serve --together {record.path} goes on with it.")
    settings = settings_for(record.started, settings, recent)
    task, beside = catalogue.world(settings).task(record.started.task), record.started.players is not None
    return _opened(catalogue, task, settings, resumed=True, beside=beside)


def _opened(catalogue: Catalogue, task: Task, settings: Settings, *, resumed: bool = False, beside: bool = False) -> ChosenGame:
    agent = settings.agent or default_agent(settings.model, settings.world)
    game = ChosenGame(catalogue.world(settings), task, agent, settings, beside=beside)
    game.open(resumed=resumed)
    return game


def settings_for(started: Started, settings: Settings, recent: RecentChoices) -> Settings:
    """The settings that an unfinished game began with; a model or rules that are not found raise ``ConfigurationError``."""
    player: Started | Participant = started
    agent = started.agent
    if started.players is not None:
        player = next((one for one in started.players if one.agent != HUMAN or one.stand_in), started.players[0])
        agent = player.stand_in or player.agent
        if len(started.players) != 2 or agent == HUMAN or all(one.agent != HUMAN for one in started.players):
            raise ConfigurationError("This game of several agents has no place for a person; resume its run.")
    model, rules = player.model, player.rules
    if model is not None:
        fault = f"This game was played with {model}: press m, name it with its address or options, and try again."
        names = (settings.model, *recent.models, DEFAULT_MODEL)
        model = _found(names, lambda name: portable_name(name) == player.model, fault)
    if rules is not None:
        book = rules.partition("@")[0]
        fault = f"This game was told the rules in {book}: press b, name that file, as it was, and try again."
        names = (settings.rules, recent.rules, book.removesuffix(SUFFIX))
        rules = _found(names, lambda name: read_rules(name).label == player.rules, fault)
    here = settings_in(started.world, settings)
    engine = "textworld" if started.engine.startswith("textworld") else "native"
    options = {"engine": engine, **replay_options(started.world, started.engine)}
    values = {
        **here.model_dump(),
        "engine": options.pop("engine"),
        "world_option": {**here.world_option, **options},
        "goals": started.wording,
        "agent": agent,
        "model": model,
        "rules": rules,
        "rules_budget": started.rules_budget or settings.rules_budget,
        "grant": started.grants,
        "max_steps": started.max_turns,
        "seed": started.seed,
        "set": {key: value for key, value in player.settings.items() if value is not None},
        "talk": started.talk or here.talk,
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


@contextmanager
def recording(game: ChosenGame, record: Path | None = None) -> Generator[Path]:
    """Hold the ``record`` in which ``game`` is played, or that of a new file, named after the time, the task and the agent.

    Raises ``InUse`` if another window plays it, and ``OSError`` if nothing can be written there.
    """
    folder = state_folder() / "episodes"
    stem = f"{time.strftime('%Y%m%d-%H%M%S')}-{slug(game.task.reference)}-{slug(game.agent)}"
    with ExitStack() as files:
        if record is None:
            record = next(path for path in _numbered(folder, stem) if _begun(path, files))
        else:
            files.enter_context(playing(record))
        yield whole_of(record)


def _begun(record: Path, files: ExitStack) -> bool:
    """Hold a new record until ``files`` are closed; False if another window begins it in the same second."""
    with suppress(InUse), ExitStack() as lock:
        lock.enter_context(playing(record))
        if _is_new(record):
            files.enter_context(lock.pop_all())
            return True
    return False


def _numbered(folder: Path, stem: str) -> Iterator[Path]:
    return filter(_is_new, chain((folder / f"{stem}.jsonl",), (folder / f"{stem}-{number}.jsonl" for number in count(2))))


def _is_new(record: Path) -> bool:
    return not (record.exists() or part_of(record).exists())


def is_unfinished(record: Path) -> bool:
    """Return True if the game of ``record`` goes on."""
    return record.suffix == ".part"


def timing_file(record: Path) -> Path:
    """The file beside ``record`` with the timings of its calls."""
    return record.with_name(f"{whole_of(record).stem}.timing.jsonl")


def daily_game(day: date) -> ChosenGame:
    """The game of this day, regardless of the config: for a person alone, and on Sundays beside an agent."""
    settings = Settings(agent=_daily_agent(day))
    world = make_world(settings.world, engine=settings.engine)
    return ChosenGame(world, world.task(_reference(day)), _daily_agent(day), settings, beside=_is_sunday(day))


def daily_par(day: date) -> int | None:
    """Par for the house of this day; None if not known."""
    game = daily_game(day)
    return par_of(game.world, game.task, 1 + game.beside)


class DailyTry(NamedTuple):
    """A person's game, as far as it can be read; ``fault`` says why not further."""

    record: Path
    told: tuple[Event, ...]
    fault: str = ""

    @property
    def unfinished(self) -> bool:
        return is_unfinished(self.record)

    @property
    def won(self) -> bool:
        """True if the day counts as won; one that cannot be read does not."""
        ends = [event.body.outcome for event in self.told if isinstance(event.body, Ended)]
        return ends[-1:] == ["won"] and not (self.fault or self.unfinished)

    @property
    def me(self) -> str | None:
        """The person's name in company."""
        started = self.told[0].body if self.told else None
        players = (started.players or ()) if isinstance(started, Started) else ()
        return next((one.name for one in players if one.agent == HUMAN), None)

    @property
    def turns(self) -> int | None:
        """The turns until it was won; None if it was not."""
        ends = [event.body.turns for event in self.told if isinstance(event.body, Ended)]
        return ends[-1] if self.won else None

    @property
    def counts(self) -> bool:
        """True if a person gave a command."""
        if not self.told or self.fault:
            return bool(self.fault) and any(part in self.record.name for part in (f"-{HUMAN}", f"-{_DAILY}-"))
        started = self.told[0].body
        by = {started.agent, *(one.agent for one in started.players or ())} if isinstance(started, Started) else set[str]()
        return HUMAN in by and (self.unfinished or any(isinstance(event.body, Stepped | TurnSpent) for event in self.told))


def tries(reference: str, begun: str = "*", agent: str = "") -> Iterator[DailyTry]:
    """The games in which a person played this task, the first one first, without those left before any command.

    Args:
        reference: The task, such as ``generated:7``.
        begun: The day on which they began, as in their records; any by default.
        agent: The agent in their records; in a house for two, the person's partner.

    Yields:
        Each game, as far as it can be read.
    """
    found = (state_folder() / "episodes").glob(f"{begun}-*-{slug(reference)}-{agent}*.jsonl*")
    records = (file for file in found if file.suffix in {".jsonl", ".part"} and ".timing." not in file.name)
    for record in sorted(records, key=lambda file: natural(whole_of(file).stem)):
        try:
            tried = DailyTry(record, *read_sound(record))
        except ConfigurationError as error:
            tried = DailyTry(record, (), str(error))
        if tried.counts:
            yield tried


def first_try(day: date) -> DailyTry | None:
    """The first game at this day's house that has a command; None if there is none."""
    return next(tries(_reference(day), f"{day:%Y%m%d}", _daily_agent(day)), None)


def daily_record(day: date) -> Path:
    """The file in which the house of this day is played: it is the same in every window, so only one of them plays."""
    if (tried := first_try(day)) is not None:
        return tried.record
    stem = f"{day:%Y%m%d}-{_DAILY}-{slug(_reference(day))}-{_daily_agent(day)}"
    return next(_numbered(state_folder() / "episodes", stem))


def daily_result(day: date, tried: DailyTry) -> tuple[list[str], list[str]]:
    """The result of a game, to share, which tells nothing of where things are; and what could not be read for it."""
    task = daily_game(day).task
    par = daily_par(day)
    marks, streak, days = _marks(tried), 0, [(day, tried)]
    while days[-1][1].won:
        streak, before = streak + 1, day - timedelta(days=streak + 1)
        if (earlier := first_try(before)) is None:
            break
        days.append((before, earlier))
    best = f" (it can be done in {par}{' together' if _is_sunday(day) else ''})" if par is not None else ""
    lines = [
        f"housequest daily {day:%Y-%m-%d}",
        task.goal,
        f"{'won in' if tried.won else 'not won,'} {plural(len(marks), 'turn')}{best}",
        *(marks[at : at + _MARKS] for at in range(0, len(marks), _MARKS)),
        *([f"{streak} days in a row"] if streak > 1 else ()),
    ]
    faults = [f"{when:%Y-%m-%d} counts as not won: {one.fault}" for when, one in days if one.fault]
    return lines, faults


def _is_sunday(day: date) -> bool:
    return day.isoweekday() == 7


def _daily_agent(day: date) -> str:
    return EXPERT if _is_sunday(day) else HUMAN


def _reference(day: date) -> str:
    return f"{'chores' if _is_sunday(day) else 'generated'}:{day:%Y%m%d}"


def _marks(tried: DailyTry) -> str:
    """A mark for each command of the person: ✦ met a condition of the goal, × was refused, · anything else. What the other met
    since is marked there, too."""
    best: int | None = None
    marks: list[str] = []
    for event in tried.told:
        if isinstance(event.body, Stepped):
            met = event.body.met or 0
            # Some conditions hold from the beginning.
            further = event.body.won or (best is not None and met > best)
            if event.player in (None, tried.me):
                marks.append("✦" if further else "·" if event.body.accepted else "×")
            elif further and marks:
                marks[-1] = "✦"
            best = max(best or 0, met)
    return "".join(marks)
