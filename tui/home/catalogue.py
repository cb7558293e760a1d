"""The contents of home: the games to play and those played, and the choices made last. Reading them may take seconds."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from datetime import date
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Annotated, Literal, NamedTuple

from housequest.agent.agents import spec
from housequest.agent.config import COMMON_OPTIONS, DEFAULT_WORLD, Settings, world_of
from housequest.agent.models.registry import parse_models
from housequest.tui.screens import TOGETHER
from housequest.tui.text import words
from housequest.worlds.errors import ConfigurationError
from housequest.worlds.paths import atomic_write, read_file, state_folder
from housequest.worlds.registry import world_class, world_names
from housequest.worlds.systems import replace_file
from housequest.worlds.validation import Before, Invalid, read_json

if TYPE_CHECKING:
    from housequest.agent.agents.spec import AgentSpec
    from housequest.agent.episodes.events import Ended, Started
    from housequest.worlds.base import Task, World

FILE_NAME = "recent.json"
GUIDED = "guided"
LARGEST_FILE = 1 << 16
LONGEST = 4_000
"""Characters of one choice."""
MODELS_KEPT = 8
RECORDS_SHOWN = 60
LARGEST_SEED = 100_000
"""Random made-up tasks have a seed below this, short enough to pass on."""
MADE_UP_SHOWN = 100
"""Made-up tasks that are listed; any other is found by its seed."""
DAYS_SHOWN = 7
"""List this many days of a household, after the known ones."""
LONGEST_QUERY = 200
LIVE = "being played in another window"
NEWEST = 5
"""List this many unfinished games; older ones are behind one row."""
OLDER = "older"
SourceKind = Literal["split", "made-up", "missing", "unfinished", "played", "daily", "ladder", "household"]
_NAMES: Mapping[str, str] = words("places")


def _check(text: object) -> object:
    if isinstance(text, str) and (len(text) > LONGEST or not text.isprintable()):
        raise ValueError("not a choice")
    return text


_Text = Annotated[str, Before(_check)]


@dataclass(frozen=True, slots=True)
class RecentChoices:
    """The choices made last; an empty text is no choice.

    ``task`` is a reference; of ``models`` the last used comes first; ``view`` is what the View shows,
    and ``camera`` what it shows where somebody plays by a camera.
    """

    world: _Text = ""
    split: _Text = ""
    task: _Text = ""
    agent: _Text = ""
    mode: _Text = ""
    rules: _Text = ""
    grants: tuple[_Text, ...] = ()
    models: tuple[_Text, ...] = ()
    view: _Text = ""
    camera: _Text = "camera"

    def used(self, model: str) -> RecentChoices:
        """The same with ``model`` as the one used last."""
        others = (known for known in self.models if known != model)
        return replace(self, models=(model, *others)[:MODELS_KEPT]) if model else self


class LoadedChoices(NamedTuple):
    """The choices that were read; ``remark`` says what was wrong with the file."""

    recent: RecentChoices = RecentChoices()
    remark: str = ""


def load_recent() -> LoadedChoices:
    """Read the choices made last. A damaged file is renamed."""
    file = state_folder() / FILE_NAME
    try:
        content = read_file(file, LARGEST_FILE)
    except FileNotFoundError:
        return LoadedChoices()
    except OSError as error:
        return LoadedChoices(remark=f"{file} cannot be read ({error.strerror}), so nothing is preselected.")
    try:
        recent = read_json(RecentChoices, content)
        return LoadedChoices(replace(recent, models=recent.models[:MODELS_KEPT]))
    except (ValueError, Invalid):
        damaged = file.with_name(f"{FILE_NAME}.damaged")
        with suppress(OSError):
            replace_file(file, damaged)
        return LoadedChoices(remark=f"{file} was damaged, so nothing is preselected; it is now {damaged.name}.")


def save_recent(recent: RecentChoices) -> str:
    """Save the choices; returns what went wrong, or an empty text."""
    file = state_folder() / FILE_NAME
    try:
        atomic_write(file, json.dumps(asdict(recent), indent=1).encode())
    except OSError as error:
        return f"{file} cannot be written ({error.strerror}), so this choice is not kept."
    return ""


class PlayerChoice(NamedTuple):
    """The player as typed; empty texts are no choice. ``set`` has the agent's settings, as KEY=VALUE KEY=VALUE."""

    agent: str
    model: str = ""
    rules: str = ""
    grants: tuple[str, ...] = ()
    set: str = ""


class RecordedGame(NamedTuple):
    """A recorded game as far as it went; ``fault`` says why it cannot be read further. ``live``: it is being played."""

    path: Path
    started: Started | None = None
    ended: Ended | None = None
    turns: int = 0
    fault: str = ""
    live: bool = False

    @property
    def unfinished(self) -> bool:
        """True if its record still has the name of one being written."""
        return self.path.suffix == ".part"


def recorded_games(*, unfinished: bool) -> list[RecordedGame]:
    """The newest unfinished games, or finished ones, newest first, including damaged records."""
    return [_recorded_game(file) for file in record_files(unfinished=unfinished)[:RECORDS_SHOWN]]


def record_files(*, unfinished: bool) -> list[Path]:
    """The files of the unfinished games, or of the finished ones, newest first."""
    found = (state_folder() / "episodes").glob("*.jsonl.part" if unfinished else "*.jsonl")
    return sorted((file for file in found if not file.name.endswith(".timing.jsonl")), key=_age, reverse=True)


def is_newcomer() -> bool:
    """Return True if nobody was guided through a first game, and nothing was played."""
    played = record_files(unfinished=True) or record_files(unfinished=False)
    return not played and not (state_folder() / GUIDED).exists()


def remember_guided() -> str:
    """Keep that somebody was guided; return what stood in the way, else an empty text."""
    try:
        atomic_write(state_folder() / GUIDED, b"", sync=False)
    except OSError as error:
        return f"The guide may come again: {state_folder() / GUIDED} cannot be written ({error.strerror})."
    return ""


def _age(file: Path) -> tuple[str, int, str]:
    """The second at which the record was begun, with which its name starts, then when it was last written."""
    try:
        return file.name[:15], file.stat().st_mtime_ns, file.name
    except OSError:  # just removed
        return file.name[:15], 0, file.name


def _recorded_game(path: Path) -> RecordedGame:
    # Not on the way to the first picture of home.
    from housequest.agent.episodes.events import Ended, Started, Stepped, TurnSpent, branch
    from housequest.agent.episodes.record import is_played, read_sound

    live = path.suffix == ".part" and is_played(path)
    try:
        told, fault = read_sound(path)
    except ConfigurationError as error:
        return RecordedGame(path, fault=str(error), live=live)
    events = branch(told)
    first, last = (events[0].body, events[-1].body) if events else (None, None)
    if not isinstance(first, Started):
        fault = fault or f"{path} holds no game: it was interrupted before it began, or damaged."
        return RecordedGame(path, fault=fault, live=live)
    turns = sum(isinstance(event.body, Stepped | TurnSpent) for event in events)
    return RecordedGame(path, first, last if isinstance(last, Ended) else None, turns, fault, live)


@dataclass(frozen=True, slots=True)
class GameSource:
    """A source of games; ``count`` is their number, None if it is not known yet, or endless.

    With a ``name`` it is one with which home begins. ``chores`` are for several. For a household, ``count`` is the number of
    days that the rulebook ``book`` knows.
    """

    kind: SourceKind
    world: str = ""
    split: str = ""
    count: int | None = None
    chores: bool = False
    name: str = ""
    book: str = ""

    @property
    def key(self) -> str:
        return f"{self.kind} {self.world} {self.split}"

    @property
    def of_records(self) -> bool:
        return self.kind in {"unfinished", "played"}

    @property
    def title(self) -> str:
        """The name on the screen; splits of the default world go without the world's name."""
        return self.name or (self.split if self.world == DEFAULT_WORLD else f"{self.split} · {self.world}")

    @property
    def mode(self) -> str:
        """The mode of these games; empty if any will do."""
        return "you" if self.kind in {"daily", "ladder"} else TOGETHER if self.chores else ""

    @property
    def missing(self) -> str:
        """The way to get the games of a split that is not installed; empty for other sources."""
        if self.kind != "missing":
            return ""
        return f"The games of {self.title} are not on this machine. {world_class(self.world).info.get_data}"


class GameRow(NamedTuple):
    """A ``task`` or a ``record`` in the list; ``number`` says how far the game went, and ``kind`` who played.

    A person plays the house of a ``day``, in one try; ``rung`` is the ladder's, from 1.
    """

    key: str
    number: str
    kind: str
    text: str
    aside: str = ""
    type: str = ""
    task: Task | None = None
    record: RecordedGame | None = None
    day: date | None = None
    rung: int = 0


def before_worlds() -> GameSource:
    """The source shown before any world is imported."""
    return GameSource("made-up", DEFAULT_WORLD, name=_NAMES["houses"])


def first_source() -> GameSource:
    """The source shown before any world is made: the endless split of the default world."""
    return replace(before_worlds(), split=world_class(DEFAULT_WORLD).info.endless_splits[0])


def _main_sources() -> Iterator[GameSource]:
    """The sources with which home begins, for somebody who wants a house."""
    # Read no books before home's first picture, or without a home.
    from housequest.tui.home.households import learned_households

    yield first_source()
    for split in tuple(world_class(DEFAULT_WORLD).info.chores)[:1]:
        yield GameSource("made-up", DEFAULT_WORLD, split, chores=True, name=_NAMES["together"])
    yield GameSource("daily", DEFAULT_WORLD, "daily", 1, name=_NAMES["daily"])
    yield GameSource("ladder", DEFAULT_WORLD, "ladder", name=_NAMES["ladder"])
    if record_files(unfinished=True):
        yield GameSource("unfinished", name=_NAMES["unfinished"])
    for home in learned_households():
        yield GameSource("household", home.world, home.home, home.days, name=home.name, book=str(home.book))
    if played := len(record_files(unfinished=False)):
        yield GameSource("played", count=played, name=_NAMES["played"])


def first_seed(place: GameSource) -> int:
    """The seed of the task of ``place`` that a newcomer sees first."""
    split, _, seed = (world_class(place.world).info.first_task or "").partition(":")
    return int(seed) if split == place.split else 0


def is_model(name: str) -> bool:
    """Return True if ``name`` names a model of an installed kind."""
    with suppress(ConfigurationError):
        return bool(parse_models(name))
    return False


def able_agents(world: World, settings: Settings) -> list[str]:
    """The agents that can play games of ``world`` with the model and grants of ``settings``; a person is none."""
    specs = (spec.agent_spec(name) for name in spec.agent_names() if name != "human")
    return [one.name for one in specs if not hindrance(one, world, settings.model or "", settings.grant)]


def hindrance(agent: AgentSpec, world: World, model: str = "", grants: Collection[str] = ()) -> str:
    """Say what keeps an agent from playing, and the way out.

    Args:
        agent: The agent.
        world: The world of the games.
        model: The name of the language model, if there is one.
        grants: The agent's grants.

    Returns:
        A sentence with keys of home; empty if it can play.
    """
    said: Mapping[str, str] = words("hindrances")
    if fault := spec.unfit(agent, world):
        return fault
    if "admissible" in agent.needs and "admissible" not in grants:
        return said["admissible"].format(agent=agent.name)
    try:  # the named model, or the one that ships
        spec.model_for(agent.name, model or None, world.name)
    except ConfigurationError:
        return said["other" if model else "model"].format(agent=agent.name)
    return ""


def settings_in(world: str, settings: Settings) -> Settings:
    """``settings`` for ``world``: options are configured for the configured world alone."""
    if world == settings.world:
        return settings
    options = {key: Settings.model_fields[key].default for key in (*COMMON_OPTIONS, "world_option")}
    return settings.model_copy(update={"world": world, **options})


class Catalogue:
    """The worlds with their splits and tasks, each made once, in threads; ``fault`` says which could not be made."""

    fault = ""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self._worlds: dict[tuple[object, ...], World] = {}
        self._making = Lock()

    def world(self, settings: Settings) -> World:
        """The world that ``settings`` name. Raises ``ConfigurationError``."""
        key = (settings.world, *settings.options_of(settings.world).items())
        with self._making:
            if key not in self._worlds:
                self._worlds[key] = world_of(settings)
            return self._worlds[key]

    def world_at(self, place: GameSource) -> World:
        """The world of ``place``. Raises ``ConfigurationError``."""
        return self.world(settings_in(place.world or DEFAULT_WORLD, self.settings))

    def places(self) -> list[GameSource]:
        """Every source: the main ones, then the default world's, then other worlds' splits that are not listed yet."""
        found = list(_main_sources())
        faults: list[str] = []
        ways: set[str] = set()
        for name in sorted(world_names(), key=DEFAULT_WORLD.__ne__):
            try:
                world = self.world(settings_in(name, self.settings))
                splits = world.splits()
            except Exception as error:  # noqa: BLE001 (another package's code: home shows the other worlds all the same)
                faults.append(f"The world {name} is left out: {error or type(error).__name__}")
                continue
            chores = world.info.chores
            found += [GameSource("made-up", name, split, chores=split in chores) for split in world.info.endless_splits]
            # Splits that need no download come first.
            published = world.info.published_splits
            found += [GameSource("split", name, split) for split in (reversed(splits) if published else splits)]
            if world.info.get_data not in ways:
                found += [GameSource("missing", name, split) for split in published if split not in splits]
            ways.add(world.info.get_data)
        self.fault = " ".join(faults)
        named = {place.key for place in found if place.name}
        return [place for place in found if place.name or place.key not in named]

    def games(self, place: GameSource) -> GameIndex:
        """The games of ``place``. Raises what its world raises."""
        if place.of_records:
            return GameIndex([_recorded(record) for record in recorded_games(unfinished=place.kind == "unfinished")])
        tasks = self.world_at(place).tasks(place.split) if place.kind != "missing" else ()
        if place.kind == "household":
            known = place.count or 0
            tasks = tasks[known : known + DAYS_SHOWN]
        elif place.kind == "made-up":
            tasks = tasks[:MADE_UP_SHOWN]
        return GameIndex([self._row(task) for task in tasks], tuple(world_class(place.world).info.task_types.values()))

    def row(self, place: GameSource, number: int) -> GameRow:
        """The game of ``place`` with this number or seed. Raises ``TaskNotFound``."""
        return self._row(self.world_at(place).task(f"{place.split}:{number}"))

    def daily(self, day: date, task: Task, record: Path | None) -> GameIndex:
        """The house of ``day``, with the ``record`` of the try that counts, if any."""
        row = _recorded(_recorded_game(record)) if record is not None else self._row(task)._replace(number="new")
        return GameIndex([row._replace(day=day)])

    def _row(self, task: Task) -> GameRow:
        kind = world_class(task.world).info.task_types.get(task.type, task.type)
        return GameRow(task.reference, str(task.number), kind, task.goal.strip(), type=task.type, task=task)


def _recorded(record: RecordedGame) -> GameRow:
    started, name = record.started, record.path.name
    about = [LIVE] if record.live else []
    if started is None:
        kind = "being opened" if record.live else "damaged"
        return GameRow(name, "?", kind, name, aside=about[0] if about else record.fault, record=record)
    ended = record.ended
    number = f"{ended.outcome} {record.turns}" if ended else f"turn {record.turns + 1}"
    about.append(f"{started.split}:{started.number}")
    about += [started.model] if started.model else []
    about += ["with help"] if ended and ended.assisted else []
    about += [f"damaged further on: {record.fault}"] if record.fault else []
    player = "you" if started.agent == "human" else started.agent
    if started.players:
        names = {"human": "you"}
        player = " and ".join(names.get(one.agent, one.agent) for one in started.players)
    return GameRow(name, number, player, started.goal.strip(), aside=", ".join(about), type=started.type, record=record)


class GameIndex:
    """Some games, searched by words and by kind.

    A game is found if its text holds all the words, in any order and any case. A word that no text holds is matched loosely:
    its letters in order within one word ("cntr" in "countertop"). ``order`` are kinds in display order.
    """

    def __init__(self, rows: Sequence[GameRow] = (), order: Sequence[str] = ()) -> None:
        self.rows = tuple(rows)
        self.order = tuple(order)
        self._texts = [f"{row.key} {row.kind} {row.type} {row.text} {row.aside}".casefold() for row in self.rows]

    @property
    def kinds(self) -> list[str]:
        """The kinds of the games; none where there is only one."""
        found = sorted({row.kind for row in self.rows if row.kind})
        known = [kind for kind in self.order if kind in found]
        return [*known, *(kind for kind in found if kind not in known)] if len(found) > 1 else []

    def find(self, query: str, kind: str = "") -> list[GameRow]:
        """The games with the words of ``query``, of ``kind``; first the one of that very number, whatever its kind."""
        every = zip(self._texts, self.rows, strict=True)
        pairs = [(text, row) for text, row in every if not kind or row.kind == kind or row.number == query]
        for word in query[:LONGEST_QUERY].casefold().split():
            exactly = any(word in text for text in self._texts)
            pairs = [(text, row) for text, row in pairs if (word in text if exactly else _loosely(word, text))]
        found = [row for _, row in pairs]
        return sorted(found, key=lambda row: row.number != query) if query.isdecimal() else found


def _loosely(letters: str, text: str) -> bool:
    """Return True if ``letters`` stand in a word of ``text`` in this order, the first one first."""
    words = (iter(word) for word in re.findall(r"\w+", text) if word.startswith(letters[0]))
    return any(all(letter in rest for letter in letters) for rest in words)
