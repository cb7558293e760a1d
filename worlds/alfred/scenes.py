"""The scene of an annotated trajectory: the room of its floor plan, with its own things where they lay.

A trajectory without a game beside it (slices, a movable receptacle) takes the room of another game of its floor plan.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import islice
from math import hypot
from pathlib import Path

from housequest.worlds.alfred.simulator.affordances import DIRTYABLE, ENCLOSING, OPEN_AT_FIRST, OPENABLE, kind_in
from housequest.worlds.alfred.simulator.base import FLOOR, Lying, Scene
from housequest.worlds.alfred.simulator.placing import holder
from housequest.worlds.alfred.simulator.reshaping import reshaped
from housequest.worlds.alfred.simulator.scene import scene_of, written
from housequest.worlds.alfred.tasks import Trajectory
from housequest.worlds.alfworld.engine.game import read_game
from housequest.worlds.errors import GameError
from housequest.worlds.rooms.room import Point, with_way

GAME = "game.tw-pddl"
_WITNESSES = 6
_NECK = 0.675
_LEVEL = 0.04
_CLOSE = 0.3


def scene_at(path: Path, trajectory: Trajectory) -> Scene:
    """The scene of the ``trajectory`` in the file ``path``.

    Raises ``GameError`` if neither it nor any other of its floor plan in its data has a game beside it.
    """
    others = games_on(path.parents[2], trajectory.floor_plan)
    beside = path.with_name(GAME)
    if not beside.is_file() and not others:
        raise GameError(
            f"{path}: there is no game of {trajectory.floor_plan} beside it or elsewhere in its data, so its room is not known."
        )
    base = base_scene(beside if beside.is_file() else others[0])
    return arranged(base, trajectory, [base, *map(base_scene, others)])


@lru_cache(maxsize=512)
def games_on(split: Path, floor_plan: str) -> tuple[Path, ...]:
    """Some games on a floor plan, those of this split first."""
    number = floor_plan.removeprefix("FloorPlan")
    folders = (split, *sorted(one for one in split.parent.iterdir() if one.is_dir() and one != split))
    games = (game for folder in folders for game in sorted(folder.glob(f"*-{number}/*/{GAME}")))
    return tuple(islice(games, _WITNESSES))


@lru_cache(maxsize=512)
def base_scene(path: Path) -> Scene:
    """The scene of the game in a file. Raises ``GameError``."""
    file = read_game(path)
    return scene_of(file.problem, file.game(str(path)))


def arranged(base: Scene, given: Trajectory, witnesses: Sequence[Scene] = ()) -> Scene:
    """``base`` with the things, the marks and the start of a trajectory.

    The ``witnesses`` are scenes of the same room: what lies where something lay in one of them is in the same receptacle.
    """
    points = {written(kind, point): point for kind, point in given.things}
    known = {one.id: one.at for one in base.things}
    there = frozenset(base.ids.values()) | {FLOOR}
    seen = {one.point: one.at for witness in witnesses for one in witness.things if one.pickupable and one.at in there}
    fixed = tuple(one for one in base.things if not one.pickupable)
    names = numbered_names([*points, *(one.id for one in fixed)])
    things: list[Lying] = []
    for id, point in points.items():
        at = known.get(id)
        # What lay in something that is elsewhere in this trajectory lies below it.
        if at is None or (at not in there and at not in points):
            at = _witnessed(base, seen, id.partition("|")[0], point)
        things.append(Lying(id, names[id], at, point))
    every = [*points, *base.ids.values()]
    scene = replace(
        base,
        # The games beside it began elsewhere.
        room=replace(base.room, floor=with_way(base.room.floor, base.room.walls, given.start.cell)),
        things=(*things, *(replace(one, name=names[one.id]) for one in fixed)),
        # Annotations open what no game calls openable.
        openable=frozenset(id for id in every if kind_in(id) in ENCLOSING | OPENABLE),
        start=given.start,
        open=frozenset(id for id in every if id.partition("|")[0] in OPEN_AT_FIRST),
        on=frozenset(id for id in (*every, *(one.id for one in fixed)) if id.partition("|")[0] in given.on),
        dirty=frozenset(id for id in every if id.partition("|")[0] in DIRTYABLE) if given.dirty else frozenset(),
        eye=given.height + _NECK,
        floor_plan=given.floor_plan,
    )
    return reshaped(scene, [*scene.things, *(one for witness in witnesses for one in witness.things)])


def _witnessed(base: Scene, seen: Mapping[Point, str], kind: str, point: Point) -> str:
    """The receptacle of what lies at a point: that of what was seen to lie nearest, if near, else by its box."""

    def far(other: Point) -> float:
        taken = seen[other] == FLOOR or kind in base.accepts.get(kind_in(seen[other]), frozenset[str]())
        return hypot(other.x - point.x, other.z - point.z) + 2 * max(0.0, abs(other.y - point.y) - _LEVEL) + (not taken)

    nearest = min(seen, key=far, default=None)
    return seen[nearest] if nearest is not None and far(nearest) < _CLOSE else holder(base, kind, point)


def numbered_names(ids: Sequence[str]) -> dict[str, str]:
    """ALFWorld's name of each id: its kind in lower case, with a number that counts down from the lowest id."""
    left: dict[str, int] = {}
    for id in ids:
        left[_stem(id)] = left.get(_stem(id), 0) + 1
    names: dict[str, str] = {}
    # As PDDL writes them, minus comes before plus.
    for id in sorted(ids, key=lambda id: id.lower().replace("+", "plus").replace("-", "minus")):
        names[id] = f"{_stem(id)} {left[_stem(id)]}"
        left[_stem(id)] -= 1
    return names


def _stem(id: str) -> str:
    return id.partition("|")[0].lower()
