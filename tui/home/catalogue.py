"""The games of the home screen: what can be played and what was played. Everything here may take seconds."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING, Literal

from housequest.agent.config import COMMON_OPTIONS, DEFAULT_WORLD, Settings, world_of
from housequest.tui.home.recent import RecordedGame, record_files, recorded_games
from housequest.worlds.registry import world_class, world_names

if TYPE_CHECKING:
    from housequest.worlds.base import Task, World

LARGEST_SEED = 100_000
"""Random made-up tasks have a seed below this, short enough to pass on."""

MADE_UP_SHOWN = 100
"""Made-up tasks that are listed; any other is found by its seed."""

LONGEST_QUERY = 200

SourceKind = Literal["split", "made-up", "missing", "unfinished", "played"]


@dataclass(frozen=True, slots=True)
class GameSource:
    """Where games come from: an installed split, one without end, a published one that is not installed, or the records.

    ``count`` is the number of games; None if it is not known yet, or has no end.
    """

    kind: SourceKind
    world: str = ""
    split: str = ""
    count: int | None = None

    @property
    def key(self) -> str:
        return f"{self.kind} {self.world} {self.split}"

    @property
    def of_records(self) -> bool:
        return self.kind in {"unfinished", "played"}

    @property
    def title(self) -> str:
        """What people call it; splits of the default world go without its name."""
        if self.of_records:
            return self.kind
        if self.world != DEFAULT_WORLD:
            return f"{self.split} · {self.world}"
        return "made-up houses" if self.kind == "made-up" else self.split

    @property
    def missing(self) -> str:
        """How to get the games of a split that is not installed; empty for other sources."""
        if self.kind != "missing":
            return ""
        return f"The games of {self.title} are not on this machine. {world_class(self.world).get_data}"


@dataclass(frozen=True, slots=True)
class GameRow:
    """One game in the list, which is a ``task`` or a ``record``.

    ``number`` is the task's number, or how far a game went; ``kind`` is the task's type in a word, or who played.
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
    """The source shown before any world is made: the endless split of the default world."""
    return GameSource("made-up", DEFAULT_WORLD, world_class(DEFAULT_WORLD).endless_splits[0])


def first_seed(place: GameSource) -> int:
    """The seed of the task of ``place`` that a newcomer sees first."""
    split, _, seed = (world_class(place.world).first_task or "").partition(":")
    return int(seed) if split == place.split else 0


def settings_in(world: str, settings: Settings) -> Settings:
    """``settings`` for ``world``: options are configured for the configured world alone."""
    if world == settings.world:
        return settings
    options = {key: Settings.model_fields[key].default for key in (*COMMON_OPTIONS, "world_option")}
    return settings.model_copy(update={"world": world, **options})


class Catalogue:
    """The worlds with their splits and tasks, each made once, when it is first needed; for use in threads.

    ``settings`` are the configured ones. ``fault`` says which world could not be made.
    """

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

    def places(self) -> list[GameSource]:
        """Every source, in display order, the default world's first; no split is listed for that.

        A world that cannot be made is left out, and so are splits that come with those of a world before it.
        """
        played = (
            GameSource("unfinished", count=len(record_files(unfinished=True))),
            GameSource("played", count=len(record_files(unfinished=False))),
        )
        found = [place for place in played if place.count]
        faults: list[str] = []
        ways: set[str] = set()
        for name in sorted(world_names(), key=DEFAULT_WORLD.__ne__):
            try:
                world = self.world(settings_in(name, self.settings))
                splits = world.splits()
            except Exception as error:  # noqa: BLE001 (another package's code: home shows the other worlds all the same)
                faults.append(f"The world {name} is left out: {error or type(error).__name__}")
                continue
            found += [GameSource("made-up", name, split) for split in world.endless_splits]
            # Splits that need no download come first.
            found += [GameSource("split", name, split) for split in (reversed(splits) if world.published_splits else splits)]
            if world.get_data not in ways:
                found += [GameSource("missing", name, split) for split in world.published_splits if split not in splits]
            ways.add(world.get_data)
        self.fault = " ".join(faults)
        return found

    def games(self, place: GameSource) -> GameIndex:
        """The games of ``place``. Raises what its world raises."""
        if place.of_records:
            return GameIndex([_recorded(record) for record in recorded_games(unfinished=place.kind == "unfinished")])
        tasks = self.world(settings_in(place.world, self.settings)).tasks(place.split) if place.kind != "missing" else ()
        if place.kind == "made-up":
            tasks = tasks[:MADE_UP_SHOWN]
        return GameIndex([self._row(task) for task in tasks], tuple(world_class(place.world).task_types.values()))

    def row(self, place: GameSource, number: int) -> GameRow:
        """The game of ``place`` with this number or seed. Raises ``TaskNotFound``."""
        return self._row(self.world(settings_in(place.world, self.settings)).task(f"{place.split}:{number}"))

    def _row(self, task: Task) -> GameRow:
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
    """Whether ``letters`` stand in a word of ``text`` in this order, the first one first."""
    for word in re.findall(r"\w+", text):
        rest = iter(word)
        if word.startswith(letters[0]) and all(letter in rest for letter in letters):
            return True
    return False
