"""What there is to play and what was played, as the lists of the home screen. Everything here may take a while."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING, Literal

from tui.home.search import WordSearch

if TYPE_CHECKING:
    from agent.config import Settings
    from tui.home.recent import RecordedGame
    from worlds.base import Task, World

LARGEST_SEED = 100_000
"""Made-up houses are drawn among so many: their numbers can still be told from one person to another."""

HOUSES_SHOWN = 100
"""Made-up houses that are listed; any other is found by its seed."""

SourceKind = Literal["split", "made-up", "missing", "unfinished", "played"]


@dataclass(frozen=True, slots=True)
class GameSource:
    """Where there are games: a split that is here, the made-up houses, a published split that is not here, or the records.

    ``count`` is how many there are, None where nobody has looked yet, or where there is no end of them.
    """

    kind: SourceKind
    world: str = ""
    split: str = ""
    count: int | None = None

    @property
    def key(self) -> str:
        """What tells it from the others."""
        return f"{self.kind} {self.world} {self.split}"

    @property
    def of_records(self) -> bool:
        """Whether it holds games that were played."""
        return self.kind in {"unfinished", "played"}


@dataclass(frozen=True, slots=True)
class GameRow:
    """One game of a place: what is shown of it, and the ``task`` or the ``record`` that it is.

    ``number`` is the task's number, or how far a game went; ``kind`` the type of the task in a word, ``type`` in full;
    ``aside`` what else there is to say.
    """

    key: str
    number: str
    kind: str
    text: str
    aside: str = ""
    type: str = ""
    task: Task | None = None
    record: RecordedGame | None = None


def first_source() -> GameSource:
    """The place that is shown before any world is made: the made-up houses of the default world."""
    from agent.config import DEFAULT_WORLD
    from worlds.registry import world_class

    return GameSource("made-up", DEFAULT_WORLD, world_class(DEFAULT_WORLD).endless_splits[0])


def first_seed(place: GameSource) -> int:
    """The made-up task of ``place`` that a newcomer sees first."""
    from worlds.registry import world_class

    split, _, seed = (world_class(place.world).first_task or "").partition(":")
    return int(seed) if split == place.split else 0


class Catalogue:
    """The worlds with their splits and tasks, each made when it is first asked for and then kept.

    ``settings`` say which engine and whose goals. To be used in threads beside the screen.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._worlds: dict[tuple[object, ...], World] = {}
        self._making = Lock()

    def world(self, settings: Settings) -> World:
        """The world that ``settings`` name. Raises ``ConfigurationError``."""
        from agent.config import world_of

        key = (settings.world, *settings.options_of(settings.world).items())
        with self._making:
            if key not in self._worlds:
                self._worlds[key] = world_of(settings)
            return self._worlds[key]

    def settings(self, world: str) -> Settings:
        """The settings as they are for ``world``: engine and goals are those of the world that was configured, or the usual."""
        if world == self._settings.world:
            return self._settings
        return self._settings.model_copy(
            update={"world": world, "engine": "native", "goals": "template", "habits": None, "world_option": {}}
        )

    def places(self) -> list[GameSource]:
        """Every place, in the order in which they are shown; no split is listed for it."""
        from tui.home.recent import count_records
        from worlds.registry import world_names

        played = (
            GameSource("unfinished", count=count_records(unfinished=True)),
            GameSource("played", count=count_records(unfinished=False)),
        )
        found = [place for place in played if place.count]
        for name in world_names():
            world = self.world(self.settings(name))
            splits = world.splits()
            found += [GameSource("made-up", name, split) for split in world.endless_splits]
            # What needs no download comes first.
            found += [GameSource("split", name, split) for split in (reversed(splits) if world.published_splits else splits)]
            found += [GameSource("missing", name, split) for split in world.published_splits if split not in splits]
        return found

    def rows(self, place: GameSource) -> list[GameRow]:
        """The games of ``place``. Raises what its world raises."""
        from tui.home.recent import recorded_games

        if place.of_records:
            return [_recorded(record) for record in recorded_games(unfinished=place.kind == "unfinished")]
        tasks = self.world(self.settings(place.world)).tasks(place.split) if place.kind != "missing" else ()
        if place.kind == "made-up":
            tasks = tasks[:HOUSES_SHOWN]
        return [self._row(task) for task in tasks]

    def row(self, place: GameSource, number: int) -> GameRow:
        """The game of that number, or seed, of ``place``. Raises ``TaskNotFound``."""
        return self._row(self.world(self.settings(place.world)).task(f"{place.split}:{number}"))

    def _row(self, task: Task) -> GameRow:
        from worlds.registry import world_class

        kind = world_class(task.world).task_types.get(task.type, task.type)
        return GameRow(task.reference, str(task.number), kind, task.goal.strip(), type=task.type, task=task)


def _recorded(record: RecordedGame) -> GameRow:
    started, name = record.started, record.path.name
    if started is None:
        return GameRow(name, "?", "damaged", name, aside=record.fault, record=record)
    outcome = record.ended.outcome if record.ended else "turn"
    turns = record.turns + (record.ended is None)
    who = f", {started.model}" if started.model else ""
    helped = ", with help" if record.ended and record.ended.assisted else ""
    aside = f"{started.split}:{started.number}{who}{helped}"
    player = "you" if started.agent == "human" else started.agent
    return GameRow(name, f"{outcome} {turns}", player, started.goal.strip(), aside=aside, type=started.type, record=record)


_ORDER = ("place", "light", "clean", "heat", "cool", "two")


class GameIndex:
    """Some games, to be looked through by word and by type."""

    def __init__(self, rows: Sequence[GameRow] = ()) -> None:
        self.rows = tuple(rows)
        self._search = WordSearch([f"{row.key} {row.kind} {row.type} {row.text} {row.aside}" for row in self.rows])

    @property
    def kinds(self) -> list[str]:
        """The words for the types of the games; none where there is nothing to choose."""
        found = {row.kind for row in self.rows if row.kind}
        ordered = sorted(found, key=lambda word: (_ORDER.index(word) if word in _ORDER else len(_ORDER), word))
        return ordered if len(found) > 1 else []

    def find(self, query: str, kind: str = "") -> list[GameRow]:
        """The games that answer to the words of ``query`` and are of ``kind``; one of that very number first."""
        found = [self.rows[number] for number in self._search.find(query)]
        found = [row for row in found if not kind or row.kind == kind]
        return sorted(found, key=lambda row: row.number != query) if query.isdecimal() else found
