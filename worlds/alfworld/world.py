"""ALFWorld as a world: its splits and tasks, envs over them, its expert, and the rooms of its games."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache, partial
from pathlib import Path
from typing import Any, Protocol

from housequest.worlds.alfworld import games
from housequest.worlds.alfworld.diagnosis import Diagnosed, explain
from housequest.worlds.alfworld.engine.game import (
    NOTHING,
    NOWHERE,
    Game,
    GameFile,
    State,
    load_game,
    numbered,
    parse_problem,
    read_game,
)
from housequest.worlds.alfworld.engine.native import VERSION, NativeEnv
from housequest.worlds.alfworld.engine.par import par
from housequest.worlds.alfworld.engine.planner import plan
from housequest.worlds.alfworld.engine.shared import SharedNative
from housequest.worlds.alfworld.expert import HouseholdExpertSettings, make_expert
from housequest.worlds.alfworld.games import DEFAULT_SPLITS, FILE, GET_DATA, PUBLISHED
from housequest.worlds.alfworld.houses.chores import CHORES_SPLITS, Chores, ChoresTasks
from housequest.worlds.alfworld.houses.home import LARGE, TURNS, days_of
from housequest.worlds.alfworld.houses.house import GeneratedHouses, House, OwnHabits
from housequest.worlds.alfworld.text import HOUSEHOLD
from housequest.worlds.base import Env, Policy, Task, WorldInfo
from housequest.worlds.env import unwrapped
from housequest.worlds.errors import ConfigurationError, GameError, TaskNotFound, Unsupported, shown
from housequest.worlds.household.belief import Belief
from housequest.worlds.household.counts import Counts
from housequest.worlds.household.goals import CHORES, TYPES
from housequest.worlds.household.world import EXAMPLE, GENERATED, HouseholdWorld
from housequest.worlds.options import option, read_options
from housequest.worlds.paths import alfworld_data, read_file, sha256_of
from housequest.worlds.registry import load_plugin, plugins
from housequest.worlds.rooms.furnish import Located, furnish
from housequest.worlds.rooms.plans import make_up
from housequest.worlds.rooms.room import Holder, Point, Room, Situation, kind_of, read_place, read_point
from housequest.worlds.shared import Seat, Shared
from housequest.worlds.tasks import GoalSource, parse_goal_source

_NAME = "alfworld"
_NATIVE = "native"
_ENGINES = "housequest.engines"
_GAMES_KEPT = 64
_HOMES_KEPT = 32
_WIDEST = 25.0  # the widest room, in metres
_AROUND = 3.0  # the most that scenery is outside the span of the receptacles, in metres
_HOUSES = Path(__file__).parent / "houses"


class Engine(Protocol):
    """Another engine for ALFWorld's games: an entry point of the group ``housequest.engines``, made without arguments once a
    world needs it. Raises ``ConfigurationError`` if something is not installed."""

    enacts: bool  # whether its envs also carry out their commands in a simulator (`housequest.worlds.env`)

    @property
    def version(self) -> str:
        """Itself and its version, for records; the name of its entry point is a word of it."""
        ...

    def open(self, task: Task, game: Game, file: GameFile) -> Env:
        """A new env for ``task``. ``game`` is the native engine's reading of the ``file``. Raises ``GameError``."""
        ...

    def close(self) -> None:
        """Release what it holds, such as processes."""


@dataclass(frozen=True, slots=True)
class AlfworldOptions:
    """The options of ALFWorld."""

    engine: str = option(
        _NATIVE, "Who plays the game: native, textworld (the reference, much slower), or boxes (native, enacted)."
    )
    data: str | None = option(None, "The folder that holds json_2.1.1 [$ALFWORLD_DATA, ~/.cache/alfworld].")
    goals: str = option("template", "Whose goal sentences: template, human, human:N (annotator N) or human:seed=N.")
    habits: str | None = option(None, "A YAML file that says where things lie in made-up houses.")


_engine_class: Callable[[str], type[Engine]] = partial(load_plugin, _ENGINES, what="engine", built_in=(_NATIVE,))


class AlfworldWorld(HouseholdWorld[GeneratedHouses]):
    """The games in a data folder and, as the split ``example``, the houses that ship with housequest. ``data`` is the folder
    that holds ``json_2.1.1`` (else ``$ALFWORLD_DATA``, else ``~/.cache/alfworld``); ``goals`` chooses whose sentences are shown
    (see `parse_goal_source`). A task without such a sentence keeps its template's, as its ``wording`` says. The unlisted split
    ``generated`` has a made-up house for every seed, drawn by ``habits`` (those of ``train`` by default). Raises
    ``ConfigurationError`` for invalid settings."""

    name = _NAME
    Options = AlfworldOptions
    household = HOUSEHOLD
    info = WorldInfo(
        preamble="a household",
        task_types={**{type: form for form, type in TYPES.items()}, CHORES: CHORES},
        published_splits=PUBLISHED,
        endless_splits=(GENERATED, *CHORES_SPLITS),
        chores=dict.fromkeys(CHORES_SPLITS, CHORES),
        homes=TURNS,
        default_splits=DEFAULT_SPLITS,
        first_task=f"{GENERATED}:690",
        get_data=GET_DATA,
    )

    def __init__(
        self,
        engine: str = _NATIVE,
        data: str | Path | None = None,
        goals: str = "template",
        habits: str | Counts | None = None,
    ) -> None:
        super().__init__()
        self._own = OwnHabits.read(Path(habits)) if isinstance(habits, str) else None
        self._habits = habits if isinstance(habits, Counts) else None
        if self._own is not None and not self._own.of_a_home:
            self._habits = self._own.counts()
        self._goals: GoalSource = parse_goal_source(goals)
        self._index = games.Index(alfworld_data() if data is None else Path(data))
        self._engine: Engine | None = None if engine == _NATIVE else _engine_class(engine)()
        if data is not None and not self._index.there():
            where = shown(str(data), 400)
            raise ConfigurationError(f"{where} holds no folder {games.LAYOUT}, so it is not ALFWorld's data. {GET_DATA}")
        self.searched = str(self._index.root)
        self._files: list[Task] = []
        self._load = lru_cache(_GAMES_KEPT)(_load)
        self._kept = cache(ChoresTasks)
        self._days = lru_cache(_HOMES_KEPT)(partial(days_of, own=self._own))
        self.info = replace(
            self.info,
            enacts=self._engine is not None and self._engine.enacts,
            inline=self._engine is None,
            manual=Path(__file__).with_name("manual.txt").read_text("utf-8").rstrip(),
        )

    @classmethod
    def options_of(cls, engine: str) -> dict[str, str]:
        """The engine, if it enacts; any other has the native engine's texts, by which its records are replayed."""
        words = engine.replace(",", "").split()
        named = next((name for name in plugins(_ENGINES) if name in words), None)
        return {"engine": named} if named is not None and _engine_class(named).enacts else {}

    @property
    def engine(self) -> str:
        return VERSION if self._engine is None else self._engine.version

    def make_generated(self) -> GeneratedHouses:
        if self._habits is None and self._own is not None:
            raise ConfigurationError(f"{self._own.name} names single receptacles, which only a home has: play household:SEED.")
        return GeneratedHouses(self._habits)

    def installed(self) -> Sequence[str]:
        return self._index.splits()

    def tasks(self, split: str) -> Sequence[Task]:
        if split in CHORES_SPLITS:
            return self._chores(split)
        return tuple(self._files) if split == FILE else self._days(split) or super().tasks(split)

    def listed(self, split: str) -> Iterator[Task]:
        if split == EXAMPLE:  # a kitchen first
            houses = sorted(_HOUSES.glob("*.json"), key=lambda file: (not file.stem.startswith("kitchen"), file.stem))
            for number, file in enumerate(houses, start=1):
                yield _alone(f"{EXAMPLE}/{file.stem}", EXAMPLE, number, file)
            return
        entries = (entry for entry in self._index.entries(split) if entry.status != "left out")
        for number, entry in enumerate(entries, start=1):
            source = self._index.path(split, entry.trial)
            yield self._worded(Task(f"{split}/{entry.trial}", _NAME, split, number, entry.type, entry.goal, source=source))

    def task(self, reference: str) -> Task:
        """The task ``SPLIT:NUMBER``, the one with this id, or that of a game file or its folder: one outside the data folder is
        a task of the split ``file`` with its path as id. Raises ``TaskNotFound``, and ``GameError`` for an unreadable file."""
        home, _, day = reference.rpartition("/day:" if "/day:" in reference else ":")
        if (days := self._days(home)) is not None and day.isascii() and day.isdecimal() and int(day[:9]) in days.seeds:
            return days.made(int(day))
        try:
            return super().task(reference.rstrip("/").removesuffix(f"/{games.GAME_FILE}"))
        except TaskNotFound:
            if path := games.game_at(reference):
                return self._at(path)
            raise

    def open(self, task: Task) -> Env:
        known = self._known(task)
        return self.sandbox(known) if self._engine is None else self._engine.open(known, self._game(known), self._file(known))

    def share(self, task: Task, players: Sequence[str]) -> Shared:
        if self._engine is not None:
            raise Unsupported(f"Only the native engine plays with several players, not {self.engine}.")
        known = self._known(task)
        days, chores = self._days(known.split), self._chores_of(known)
        rooms = days.home.room_of if days else chores.rooms if chores else None
        return SharedNative(known, self._game(known), players, rooms)

    def par(self, task: Task, players: int) -> int | None:
        game = self._game(self._known(task))
        return par(game, players) if game.more or players > 1 else self.shortest(task)

    def explain(self, belief: Belief, command: str) -> str | None:
        return explain(belief, command)

    def explained(self, env: Env) -> Env:
        return Diagnosed(env)

    def sandbox(self, task: Task) -> Env:
        known = self._known(task)
        return NativeEnv(known, self._game(known))

    def shortest(self, task: Task, *, seconds: float | None = None) -> int | None:
        game = self._game(self._known(task))
        if game.more:
            return par(game)
        found = plan(game, seconds=seconds)
        return len(found) if isinstance(found, tuple) else None

    def room(self, task: Task) -> Room:
        known = self._known(task)
        if self._chores_of(known):
            game = self._game(known)
            return make_up(game.receptacles, game.place_of)
        return room_of(self.source(known)[0], self._game(known))

    def situation(self, env: Env, room: Room) -> Situation | None:
        """Hidden: the whole state of the native engine; None for textworld, which does not show its own."""
        inner = unwrapped(env)
        if isinstance(inner, Seat) and isinstance(inner.shared, SharedNative):
            inner = inner.shared.envs[inner.player]
        return situation(inner.game, inner.state, room) if isinstance(inner, NativeEnv) else None

    def source(self, task: Task) -> tuple[str, str]:
        """Hidden: the PDDL problem of ``task`` and the goal sentence that goes with it. Raises ``GameError``."""
        file = self._file(task)
        return file.problem, file.sentence

    def close(self) -> None:
        if self._engine is not None:
            self._engine.close()

    def expert(self, /, **settings: Any) -> Policy:
        """The expert; its settings are `HouseholdExpertSettings`. Raises ``ConfigurationError`` and ``KnowledgeError``."""
        read = read_options(HouseholdExpertSettings, settings, owner="The expert", word="setting")
        return make_expert(read.search, read.table, read.seed)

    def habits(self, split: str) -> Mapping[str, Mapping[str, float]]:
        if (days := self._days(split)) is None:
            raise TaskNotFound(f"{shown(split)} is no home; give one such as {LARGE}:7.")
        home = days.home
        named = sorted({place for places in home.habits.values() for place in places})
        return {thing: {place: home.chance(thing, place) for place in named} for thing in home.habits}

    def fingerprint(self, split: str) -> str:
        """A SHA-256 over ids and contents of the split's games and, if shown, the human goals."""
        if split == GENERATED or self._days(split):
            return (self._days(split) or self.generated).fingerprint()
        if split in CHORES_SPLITS:
            return self._chores(split).fingerprint()
        tasks = self.tasks(split)
        if split in (EXAMPLE, FILE):
            contents = {task.id: hashlib.sha256(read_file(task.source)).hexdigest() for task in tasks if task.source}
        else:
            contents = {f"{split}/{entry.trial}": entry.digest for entry in self._index.entries(split)}
        return sha256_of("".join(f"{task.id} {contents[task.id]} {task.goal if self._goals.human else ''}\n" for task in tasks))

    def _known(self, task: Task) -> Task:
        return task if task.source is not None else self.task(task.id)

    def _worded(self, task: Task) -> Task:
        """The task with a human goal, if wanted and found."""
        if not self._goals.human or task.source is None:
            return task
        sentences = games.sentences_of(task.source.with_name(games.TRAJECTORY_FILE), steps=self._goals.steps)
        if (chosen := self._goals.choose(task.id, sentences)) is None:
            return task
        annotator, sentence = chosen
        return replace(task, goal=sentence, wording=self._goals.wording(annotator))

    def _at(self, path: Path) -> Task:
        root = Path(os.path.abspath(self._index.root))  # noqa: PTH100 (links are kept)
        if path.is_relative_to(root):
            id = path.parent.relative_to(root).as_posix()
            split, _, trial = id.partition("/")
            if split in self._index.splits():
                if found := next((task for task in self.tasks(split) if task.id == id), None):
                    return found
                for entry in self._index.entries(split):
                    if entry.trial == trial and entry.status == "left out":
                        raise TaskNotFound(f"{shown(str(path), 400)} is left out, as ALFWorld leaves it out: {entry.reason}.")
        for task in self._files:
            if task.source == path:
                return task
        task = self._worded(_alone(str(path), FILE, len(self._files) + 1, path))
        self._files.append(task)
        return task

    def _chores(self, split: str) -> ChoresTasks:
        if self._own is not None or self._habits is not None:
            raise ConfigurationError(f"{split}: chores are drawn by the habits of train; leave habits out.")
        return self._kept(split)

    def _chores_of(self, task: Task) -> Chores | None:
        return self._chores(task.split).chores(task.number) if task.split in CHORES_SPLITS else None

    def _made_up(self, task: Task) -> House | None:
        """The house of a made-up task, which has no file."""
        days = self._days(task.split)
        return days.home.day(task.number) if days else self.generated.house(task.number) if task.split == GENERATED else None

    def _file(self, task: Task) -> GameFile:
        """The content of the file of ``task``, also for a made-up house, which has none. Raises ``GameError``."""
        if task.split in CHORES_SPLITS:
            raise Unsupported(
                f"{task.id}: a file of ALFWorld's states one goal, and chores are several; play them by {VERSION}."
            )
        if house := self._made_up(task):
            return GameFile(house.problem, house.sentence)
        return read_game(task.source or Path(task.id))

    def _game(self, task: Task) -> Game:
        """The game of ``task``, shared by all its episodes until its file changes."""
        if made := self._chores_of(task) or self._made_up(task):
            return made.game
        path = task.source
        try:
            status = path.stat() if path is not None else None
        except (OSError, ValueError):
            status = None
        if path is None or status is None or not stat.S_ISREG(status.st_mode):
            raise GameError(f"{shown(str(path), 400)}: the game of {shown(task.id)} is not there. {GET_DATA}")
        return self._load(path, status.st_mtime_ns, status.st_size, None if task.wording == "template" else task.goal)


def _alone(id: str, split: str, number: int, path: Path) -> Task:
    """The task of a game outside the index, read for its goal and type."""
    game = load_game(path)
    return Task(id, _NAME, split, number, TYPES[game.goal.form], game.sentence, source=path)


def _load(path: Path, _changed: int, _size: int, goal: str | None) -> Game:
    return load_game(path, goal)


def room_of(problem: str, game: Game) -> Room:
    """Hidden: the room of a game, made up where its ids have no coordinates that a room could have. Raises ``GameError``."""
    objects, receptacles, places = numbered(parse_problem(problem, game.origin))
    poses = [read_place(id) for id in places]
    points = [read_point(id) for id in receptacles]
    start = poses[game.start.place]
    located = [
        Located(name, point, None if place == NOWHERE else poses[place])
        for name, point, place in zip(game.receptacles, points, game.place_of, strict=True)
        if point
    ]
    placed = [poses[place] for place in game.place_of if place != NOWHERE]
    xs, zs = ([*(getattr(one.point, axis) for one in located)] for axis in "xz")
    every = [*zip(xs, zs, strict=True), *((pose.x, pose.z) for pose in placed if pose)]
    whole = start is not None and None not in placed and len(located) == len(receptacles)
    if start is None or not whole or not every or max(max(of) - min(of) for of in zip(*every, strict=True)) > _WIDEST:
        return make_up(game.receptacles, game.place_of)
    things = [read_point(id) for id in objects]
    contained = {thing for contents in game.start.contents for thing in contents}
    scenery = [
        Located(name, point)
        for number, (name, point) in enumerate(zip(game.objects, things, strict=True))
        if point and kind_of(name).scenery and number not in contained and number not in game.pickupable
        if min(xs) - _AROUND <= point.x <= max(xs) + _AROUND and min(zs) - _AROUND <= point.z <= max(zs) + _AROUND
    ]
    homes: dict[tuple[str, str], Point] = {}
    for receptacle, contents in zip(game.receptacles, game.start.contents, strict=True):
        for thing in contents:
            if point := things[thing]:
                homes[game.objects[thing], receptacle] = point
    return furnish(located, scenery, start, homes)


def situation(game: Game, state: State, room: Room) -> Situation:
    """Hidden: the whole state."""
    treated = {"hot": state.hot, "cool": state.cool - state.hot, "clean": state.clean, "sliced": state.sliced, "on": state.lit}
    here = game.receptacles_at[state.place]
    at = game.receptacles[here[0]] if here else None
    return Situation(
        room.pose(at),
        at,
        tuple(
            Holder(
                name,
                True,
                "surface" if number not in game.openable else "open" if number in state.opened else "closed",
                tuple(game.objects[thing] for thing in state.contents[number]),
            )
            for number, name in enumerate(game.receptacles)
        ),
        () if state.held == NOTHING else (game.objects[state.held],),
        frozenset((game.objects[thing], word) for word, things in treated.items() for thing in things),
    )
