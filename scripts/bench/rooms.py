"""Rooms: the cost of a picture, what is in it, and whether ALFRED's own walks can be walked on the floor.

Each line ends with what was wanted. A thing is in a picture of 300 x 300 if at least 8 pixels are its own. *Eyes* is the
camera of the View, which turns and tilts its head towards a receptacle and what is known to lie there; *ALFRED's camera* keeps
the pose in the game and sees 60 degrees.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from random import Random
from statistics import median
from tempfile import TemporaryDirectory
from time import process_time
from typing import Any

from housequest.worlds.alfworld.engine.game import Game, read_game
from housequest.worlds.alfworld.houses.house import make_house
from housequest.worlds.alfworld.world import room_of, situation
from housequest.worlds.base import Drawable
from housequest.worlds.registry import make_world
from housequest.worlds.rooms.render import Camera, Frame, field, render
from housequest.worlds.rooms.room import AHEAD, EYE, Cell, Point, Pose, Room, Situation, reached
from housequest.worlds.rooms.stage import furniture, inner
from housequest.worlds.rooms.view import draw, gaze, picture
from scripts.bench.view import view

SIZE = (300, 300)
LEAST = 8
TRAIN = 500
HOUSES = 1_000
REPEATS = 5
"""A picture costs what the cheapest of so many costs: other programs on the machine are not measured."""
_MISSING = "published games: not here, so not measured (set ALFWORLD_DATA)"
_LOADED = """
import atexit, sys
loaded = lambda: " ".join(name for name in ("housequest.worlds.rooms", "numpy") if name in sys.modules)
atexit.register(lambda: print(loaded() or "nothing", "loaded", file=sys.stderr))
from housequest.tui.cli import main
main()
"""


def run(data: Path | None) -> Iterator[str]:
    """All parts one after the other; lines to print."""
    for name, part in PARTS.items():
        for line in part(data):
            yield f"{name}: {line}"


def start(data: Path | None) -> Iterator[str]:
    """What commands that draw nothing load of the drawing."""
    del data
    for command in ("--help", "play --plain --agent expert example:1", "eval --agent expert --split example --concurrency 1"):
        with TemporaryDirectory() as folder:
            done = subprocess.run(
                [sys.executable, "-c", _LOADED, *command.split()], cwd=folder, check=True, capture_output=True, text=True
            )
        loaded = done.stderr.splitlines()[-1]
        yield f"housequest {command}: {loaded} (wanted: nothing loaded for drawing)"


def frames(data: Path | None) -> Iterator[str]:
    """Milliseconds of processor that a picture costs."""
    wanted = "wanted: at most 20 ms"
    world = make_world("alfworld")
    for reference in ("example:1", "generated:690"):
        task = world.task(reference)
        room = world.room(task) if isinstance(world, Drawable) else None
        env = world.open(task)
        env.reset()
        now = world.situation(env, room) if room and isinstance(world, Drawable) else None
        if room is None or now is None:
            continue
        poses = [one.place for one in room.fixtures if one.place]
        house = _timed([partial(picture, "house", room, replace(now, pose=pose), (160, 96)) for pose in poses])
        yield f"{reference}: a frame of 300 x 300 {_timed([partial(draw, room, now, pose, SIZE) for pose in poses])} ({wanted})"
        yield f"{reference}: a doll's house of 80 x 24 cells {house}"
    if data is None:
        yield _MISSING
        return
    calls: list[Callable[[], object]] = []
    for path in _games(data, "valid_seen"):
        game, room = read(path)
        now = situation(game, game.start, room)
        calls += [partial(draw, room, now, one.place, SIZE) for one in room.fixtures[::10] if one.place]
    yield f"valid_seen: each of {len(calls):,} frames of 300 x 300 {_timed(calls)} ({wanted})"


def _timed(calls: Sequence[Callable[[], object]]) -> str:
    taken: list[float] = []
    for call in calls:
        best = float("inf")
        for _ in range(REPEATS):
            began = process_time()
            call()
            best = min(best, process_time() - began)
        taken.append(1000 * best)
    taken.sort()
    return f"takes {median(taken):.1f} ms of processor, 95 % of them at most {taken[int(0.95 * len(taken))]:.1f}"


def plans(data: Path | None) -> Iterator[str]:
    """Made-up houses: whether each has a plan in which every place is reached."""
    del data
    seconds, planned, whole = 0.0, 0, 0
    for seed in range(HOUSES):
        house = make_house(seed)
        began = process_time()
        room = room_of(house.problem, house.game)
        seconds += process_time() - began
        floor = reached(set(room.floor), room.start.cell)
        planned += room.made_up and {one.name for one in room.fixtures} == set(house.game.receptacles)
        whole += all(one.place is not None and one.place.cell in floor for one in room.fixtures)
    yield f"made-up houses with a plan: {planned:,} of {HOUSES:,}, with every place reached: {whole:,} (wanted: all)"
    yield f"{1000 * seconds / HOUSES:.1f} ms of processor a plan"


def walks(data: Path | None) -> Iterator[str]:
    """Whether ALFRED's annotated walks can be walked on the floor."""
    yield from (f"{name}: {walked(games)}" for name, games in _samples(data))
    if data is None:
        yield _MISSING


def eyes(data: Path | None) -> Iterator[str]:
    """What is in the picture from a receptacle's own place, once it is open."""
    for name, games in _samples(data):
        count = _seen(games, _as_eyes)
        yield f"{name}: receptacles in the picture {_share(count.receptacles, count.of)} (wanted: at least 95%)"
        yield f"{name}: what they hold in the picture {_share(count.things, count.all)} (wanted: at least 85%)"
    if data is None:
        yield _MISSING


def camera(data: Path | None) -> Iterator[str]:
    """The same for ALFRED's camera, for comparison."""
    if data is None:
        yield _MISSING
        return
    count = _seen(_games(data, "valid_seen"), _as_alfred)
    yield (
        f"valid_seen: receptacles {_share(count.receptacles, count.of)}, what they hold {_share(count.things, count.all)} "
        "(untuned, by boxes alone: 80% and 52%)"
    )


PARTS: Mapping[str, Callable[[Path | None], Iterator[str]]] = {
    "start": start,
    "frames": frames,
    "plans": plans,
    "walks": walks,
    "eyes": eyes,
    "camera": camera,
    "view": view,
}
"""What is measured, each within minutes: ``make bench ARGS=rooms:walks``."""


def _games(data: Path, split: str) -> list[Path]:
    return sorted((data / "json_2.1.1" / split).glob("*/*/game.tw-pddl"))


def _samples(data: Path | None) -> Iterator[tuple[str, list[Path]]]:
    """The games of valid_seen, and a sample of those of train: what holds of both is no fit to one."""
    if data is not None:
        train = _games(data, "train")
        sample = sorted(Random(0).sample(train, min(TRAIN, len(train))))
        for name, games in (("valid_seen", _games(data, "valid_seen")), ("train", sample)):
            if games:
                yield f"{name}, {len(games)} games", games


def read(path: Path) -> tuple[Game, Room]:
    """The game in a file and its room."""
    file = read_game(path)
    game = file.game(str(path))
    return game, room_of(file.problem, game)


@dataclass(frozen=True, slots=True)
class Walked:
    """Annotated moves that the floor refuses, and walks without any such move."""

    refused: int
    moves: int
    whole: int
    walks: int
    cells: int

    def __str__(self) -> str:
        return (
            f"annotated moves that the floor refuses {_share(self.refused, self.moves)} (wanted: at most 3%), "
            f"whole walks that pass {_share(self.whole, self.walks)} (wanted: at least 80%); "
            f"{self.cells / self.walks:.0f} cells a floor"
        )


def walked(games: Sequence[Path]) -> Walked:
    """How many of the annotated moves the floors of games refuse."""
    moves = refused = whole = cells = 0
    for path in games:
        walk = list(_cells(path.with_name("traj_data.json")))
        floor = read(path)[1].floor
        wrong = sum(cell not in floor for cell in walk)
        moves, refused, whole, cells = moves + len(walk), refused + wrong, whole + (not wrong), cells + len(floor)
    return Walked(refused, moves, whole, len(games), cells)


def _cells(path: Path) -> Iterator[Cell]:
    """The cells to which the annotated low-level actions move."""
    trial: dict[str, Any] = json.loads(path.read_bytes())
    first = trial["scene"]["init_action"]
    at: Cell = Pose(first["x"], first["z"]).cell
    quarter: int = round(first["rotation"] / 90)
    for low in trial["plan"]["low_actions"]:
        match low["api_action"]["action"]:
            case "MoveAhead":
                at = at[0] + AHEAD[quarter][0], at[1] + AHEAD[quarter][1]
                yield at
            case "RotateLeft":
                quarter = (quarter - 1) % 4
            case "RotateRight":
                quarter = (quarter + 1) % 4
            case _:
                pass


def _seen(games: Sequence[Path], look: Callable[[Room, Situation, str], Frame]) -> _Count:
    """How many receptacles, and things in them, are in the picture from the receptacle's own place."""
    count = _Count()
    for path in games:
        game, room = read(path)
        full = situation(game, game.start, room)
        for one, holder in zip(room.fixtures, full.holders, strict=True):
            if one.place:
                count.add(look(room, opened(full, one.name), one.name), one.name, holder.contents)
    return count


def opened(now: Situation, name: str) -> Situation:
    """``now`` with the receptacle of this name open, if it can be opened, and all others closed that can be."""
    turned = (
        one if one.openness in (None, "surface") else replace(one, openness="open" if one.name == name else "closed")
        for one in now.holders
    )
    return replace(now, at=name, holders=tuple(turned))


def _as_eyes(room: Room, now: Situation, name: str) -> Frame:
    return draw(room, replace(now, held=None), gaze(room, replace(now, at=name)), SIZE)


def _as_alfred(room: Room, now: Situation, name: str) -> Frame:
    pose = room.pose(name)
    camera = Camera(Point(pose.x, EYE, pose.z), pose.yaw, pose.pitch, field(60))
    return render([*inner(room), *furniture(room, now)], camera, SIZE)


class _Count:
    def __init__(self) -> None:
        self.receptacles = self.of = self.things = self.all = 0

    def add(self, frame: Frame, name: str, contents: Sequence[str]) -> None:
        self.receptacles += frame.pixels(name) >= LEAST
        self.of += 1
        self.things += sum(frame.pixels(thing) >= LEAST for thing in contents)
        self.all += len(contents)


def _share(part: int, of: int) -> str:
    return f"{part:,} of {of:,} ({part / max(1, of):.1%})"
