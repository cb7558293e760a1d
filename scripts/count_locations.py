"""Count what lies where at the start of the ``train`` games, and write the table that ships as worlds/alfworld/counts.json.

    python scripts/count_locations.py [--data FOLDER] [--out FILE]

FOLDER holds json_2.1.1 ($ALFWORLD_DATA by default). No other split is read: what is fitted here must say nothing of the
games that players are judged on.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import cast

from worlds.alfworld.belief import kind
from worlds.alfworld.counts import TABLE
from worlds.alfworld.game import Game, load_game
from worlds.alfworld.tasks import GAME_FILE, LAYOUT
from worlds.errors import ConfigurationError, GameError, HousequestError, shown
from worlds.paths import alfworld_data, atomic_write

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

    def table(self) -> dict[str, object]:
        """The counts as plain data, sorted."""
        return {
            "games": len(self.objects),
            "scenes": len(self.scenes),
            "receptacles": {name: self._receptacle(name) for name in _kinds(self.receptacles)},
            "objects": {name: self._object(name) for name in _kinds(self.objects)},
        }

    def _receptacle(self, name: str) -> dict[str, int]:
        numbers = [game[name] for game in self.receptacles]
        return {
            "games": sum(number > 0 for number in numbers),
            "number": sum(numbers),
            "openable": self.openable[name],
            "fewest": min(numbers),
            "most": max(numbers),
        }

    def _object(self, name: str) -> dict[str, object]:
        numbers = [game[name] for game in self.objects]
        places = sorted(place for thing, place in self.instances if thing == name)
        return {
            "games": sum(number > 0 for number in numbers),
            "number": sum(numbers),
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


def count(paths: Iterable[Path]) -> dict[str, object]:
    """The table over these games. The number at the end of a task's folder is its floor plan."""
    rooms: dict[str, Room] = defaultdict(Room)
    total = 0
    for path in paths:
        number = path.parent.parent.name.rpartition("-")[2]
        room = ROOMS.get(int(number) // 100) if re.fullmatch("[0-9]{1,3}", number) else None
        if room is None:
            raise GameError(f"{shown(str(path), 400)}: its task's folder does not end in the number of a floor plan.")
        rooms[room].add(load_game(path), int(number))
        total += 1
    return {
        "source": {"split": SPLIT, "games": total, "script": SCRIPT},
        "rooms": {name: rooms[name].table() for name in sorted(rooms)},
    }


def dump(value: object, indent: str = "") -> str:
    """JSON with a line for each entry, tables of plain numbers and words on one line."""
    table = cast("dict[str, object]", value) if isinstance(value, dict) else {}
    if not any(isinstance(entry, dict) for entry in table.values()):
        return json.dumps(value)
    inner = f"{indent} "
    entries = (f"{inner}{json.dumps(key)}: {dump(entry, inner)}" for key, entry in table.items())
    return "{\n" + ",\n".join(entries) + f"\n{indent}}}"


def main() -> int:
    """Write the table; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=alfworld_data())
    parser.add_argument("--out", type=Path, default=Path(__file__).parents[1] / "worlds" / "alfworld" / TABLE)
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
