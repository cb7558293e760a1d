"""Count the ``train`` games and write the table that ships: where things lie, what tasks ask for, and what things can do.

    python scripts/count_locations.py [--data FOLDER] [--out FILE]

FOLDER holds json_2.1.1 ($ALFWORLD_DATA by default). No other split is read: the table must hold nothing of the games
used for evaluation.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import textwrap
from collections import Counter, defaultdict
from collections.abc import Iterable
from itertools import chain
from pathlib import Path
from typing import cast

from housequest.worlds.alfworld.engine.game import Game, load_game
from housequest.worlds.alfworld.games import GAME_FILE, LAYOUT
from housequest.worlds.alfworld.text import COUNTS_FILE, read_goal
from housequest.worlds.errors import ConfigurationError, GameError, HousequestError, shown
from housequest.worlds.household.belief import kind
from housequest.worlds.paths import alfworld_data, atomic_write

SPLIT = "train"
SCRIPT = "scripts/count_locations.py"
# AI2-THOR numbers its floor plans by room: FloorPlan1-30, 201-230, 301-330, 401-430.
ROOMS = {0: "kitchen", 2: "livingroom", 3: "bedroom", 4: "bathroom"}


class Room:
    """Running counts of one kind of room."""

    def __init__(self) -> None:
        self.scenes: set[int] = set()
        self.receptacles: list[Counter[str]] = []
        self.openable: Counter[str] = Counter()
        self.objects: list[Counter[str]] = []
        self.instances: Counter[tuple[str, str]] = Counter()
        self.holding: Counter[tuple[str, str]] = Counter()
        self.available: Counter[tuple[str, str]] = Counter()
        self.lying: list[Counter[str]] = []
        self.goals: Counter[tuple[str, str, str]] = Counter()
        self.together: Counter[str] = Counter()
        self.nested: Counter[tuple[str, str]] = Counter()
        self.fridge: dict[str, Counter[str]] = defaultdict(Counter)

    def add(self, game: Game, scene: int) -> None:
        """Count one game."""
        self.scenes.add(scene)
        things = [kind(name) for name in game.objects]
        places = [kind(name) for name in game.receptacles]
        self.objects.append(Counter(things))
        self.receptacles.append(Counter(places))
        self.openable.update(places[number] for number in game.openable)
        for place, contents in zip(places, game.start.contents, strict=True):
            inside = Counter((things[number], place) for number in contents)
            self.instances.update(inside)
            self.holding.update(inside.keys())
            self.available.update((thing, place) for thing in set(things))
        self.lying.append(Counter(things[number] for number in {*chain(*game.start.contents)}))
        self._add_more(game, things, places)

    def _add_more(self, game: Game, things: list[str], places: list[str]) -> None:
        """Count what only made-up houses need."""
        for here in game.receptacles_at:
            if len(here) > 1:
                self.together["+".join(sorted(places[number] for number in here))] += 1
        self.nested.update((things[outer], things[inner]) for outer, found in game.inside.items() for inner in found)
        if goal := read_goal(game.sentence):
            self.goals[goal.type, goal.object, goal.receptacle or goal.lamp or ""] += 1
            for cooler in game.coolers:
                inside = [number for number in game.start.contents[cooler] if number in game.coolable]
                self.fridge[goal.type].update(number=len(inside), cool=sum(number in game.start.cool for number in inside))

    def table(self) -> dict[str, object]:
        """The counts as plain data, sorted."""
        return {
            "games": len(self.objects),
            "scenes": len(self.scenes),
            "receptacles": {name: self._receptacle(name) for name in _kinds(self.receptacles)},
            "objects": {name: self._object(name) for name in _kinds(self.objects)},
            "goals": self._goals(),
            "together": dict(sorted(self.together.items())),
            "nested": _by_first(self.nested),
            "fridge": {name: {key: counts[key] for key in ("number", "cool")} for name, counts in sorted(self.fridge.items())},
        }

    def _goals(self) -> dict[str, object]:
        types = sorted({task_type for task_type, _, _ in self.goals})
        return {
            name: _by_first(Counter({(a, b): n for (task_type, a, b), n in self.goals.items() if task_type == name}))
            for name in types
        }

    def _receptacle(self, name: str) -> dict[str, object]:
        numbers = [game[name] for game in self.receptacles]
        return {
            "games": sum(number > 0 for number in numbers),
            "number": sum(numbers),
            "openable": self.openable[name],
            "fewest": min(numbers),
            "most": max(numbers),
            "each": _histogram(numbers),
        }

    def _object(self, name: str) -> dict[str, object]:
        numbers = [game[name] for game in self.objects]
        places = sorted(place for thing, place in self.instances if thing == name)
        return {
            "games": sum(number > 0 for number in numbers),
            "number": sum(numbers),
            "lying": _histogram([game[name] for game in self.lying]),
            "in": {
                place: {
                    "instances": self.instances[name, place],
                    "holding": self.holding[name, place],
                    "available": self.available[name, place],
                }
                for place in places
            },
        }


def _kinds(games: Iterable[Counter[str]]) -> list[str]:
    return sorted({name for game in games for name in game})


def _histogram(numbers: Iterable[int]) -> dict[str, int]:
    """How many games have 0, 1, 2, ...; empty entries are left out."""
    return {str(number): games for number, games in sorted(Counter(numbers).items())}


def _by_first(pairs: Counter[tuple[str, str]]) -> dict[str, dict[str, int]]:
    found: dict[str, dict[str, int]] = {}
    for (first, second), number in sorted(pairs.items()):
        found.setdefault(first, {})[second] = number
    return found


class Kinds:
    """Counts of a kind of thing over all rooms."""

    def __init__(self) -> None:
        self.objects: Counter[str] = Counter()
        self.can: Counter[tuple[str, str]] = Counter()
        self.accepts: dict[str, set[str]] = defaultdict(set)

    def add(self, game: Game) -> None:
        """Count one game. An object's abilities are the domain's predicates that mostly hold for its kind."""
        flags = {
            "cleanable": game.cleanable,
            "coolable": game.coolable,
            "heatable": game.heatable,
            "isreceptacleobject": game.inside.keys(),
            "pickupable": game.pickupable,
            "sliceable": game.sliceable,
            "toggleable": game.toggleable,
        }
        for number, name in enumerate(game.objects):
            self.objects[kind(name)] += 1
            self.can.update((kind(name), flag) for flag, having in flags.items() if number in having)
        for name, accepted in zip(game.receptacles, game.accepts, strict=True):
            self.accepts[kind(name)].update(thing.removesuffix("type") for thing in accepted)

    def tables(self) -> dict[str, object]:
        """The counts as plain data, sorted."""
        return {
            "can": {
                name: [flag for thing, flag in sorted(self.can) if thing == name and 2 * self.can[name, flag] > number]
                for name, number in sorted(self.objects.items())
            },
            "accepts": {name: sorted(accepted) for name, accepted in sorted(self.accepts.items())},
        }


def count(paths: Iterable[Path]) -> dict[str, object]:
    """The table over these games. The number at the end of a task's folder is its floor plan."""
    rooms: dict[str, Room] = defaultdict(Room)
    kinds = Kinds()
    total = 0
    for path in paths:
        number = path.parent.parent.name.rpartition("-")[2]
        room = ROOMS.get(int(number) // 100) if re.fullmatch("[0-9]{1,3}", number) else None
        if room is None:
            raise GameError(f"{shown(str(path), 400)}: its task's folder does not end in the number of a floor plan.")
        game = load_game(path)
        rooms[room].add(game, int(number))
        kinds.add(game)
        total += 1
    return {
        "source": {"split": SPLIT, "games": total, "script": SCRIPT},
        "rooms": {name: rooms[name].table() for name in sorted(rooms)},
        **kinds.tables(),
    }


def dump(value: object, indent: str = "") -> str:
    """JSON with a line for each entry; plain tables and lists on one line, or a few if long."""
    table = cast("dict[str, object]", value) if isinstance(value, dict) else {}
    inner = f"{indent} "
    if not any(isinstance(entry, dict | list) for entry in table.values()):
        # No word in the table has a space, so lines break between entries alone.
        return textwrap.fill(json.dumps(value), 110, subsequent_indent=inner, break_long_words=False, break_on_hyphens=False)
    entries = (f"{inner}{json.dumps(key)}: {dump(entry, inner)}" for key, entry in table.items())
    return "{\n" + ",\n".join(entries) + f"\n{indent}}}"


def main() -> int:
    """Write the table; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=alfworld_data())
    parser.add_argument("--out", type=Path, default=COUNTS_FILE)
    options = parser.parse_args()
    try:
        folder: Path = options.data / LAYOUT / SPLIT
        paths = sorted(folder.glob(f"*/*/{GAME_FILE}"))
        if not paths:
            raise ConfigurationError(f"{folder}: there are no games; name the folder that holds {LAYOUT} with --data.")
        content = dump(count(paths)) + "\n"
        atomic_write(options.out, content.encode())
    except (HousequestError, OSError) as error:
        print(error, file=sys.stderr)
        return 2
    print(f"{options.out}: {len(paths):,} games, {len(content):,} bytes")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
