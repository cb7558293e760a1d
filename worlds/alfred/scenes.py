"""The scenes of games and of annotated trajectories for simulators: rooms with AI2-THOR's ids and objects.

The scene of a trajectory is the room of its floor plan with the trajectory's own objects. A trajectory without a game beside it
(slices, a movable receptacle) takes the room of another game on its floor plan. Scenes are hidden knowledge: the boxes of
furniture are adjusted to the objects on them, which pictures from belief must not do.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import count, islice
from math import dist, hypot, prod
from pathlib import Path
from statistics import median

from housequest.worlds.alfred.model import KNIVES_LEFT
from housequest.worlds.alfred.simulator import base as simulator
from housequest.worlds.alfred.simulator.layout import LayoutState, box_at, holder
from housequest.worlds.alfred.tasks import TRAJECTORY_FILE, AnnotatedRoom, Things, read_trajectory
from housequest.worlds.alfworld.engine.game import Game, State, numbered, parse_problem, read_game
from housequest.worlds.alfworld.text import load_counts
from housequest.worlds.alfworld.world import room_of, situation
from housequest.worlds.errors import GameError
from housequest.worlds.rooms.room import EYE, GRID, Box, Cell, Fixture, Point, Room, kind_of, read_point, with_way
from housequest.worlds.rooms.stage import laid_in, pivot

_METRES = re.compile(r"(?:_(?P<sign>plus|minus)_)?(?P<whole>\d+)_dot_(?P<rest>\d+)", re.ASCII)
_STANDING = ("Fridge|", "GarbageCan|")
_NEAR = 1.0
_TAP = 0.17
_HIDING = ("sink ", "bathtub ", "curtains ", "blinds ")


def scene_of(problem: str, game: Game) -> simulator.Scene:
    """Hidden: the scene in which a game begins. Made-up houses have no coordinates in their ids, so these are made from the
    room's plan. Raises ``GameError`` for a damaged problem."""
    room = room_of(problem, game)
    parsed = parse_problem(problem, game.origin)
    objects, receptacles, _ = numbered(parsed)
    # No fact of a game mentions its faucets.
    faucets = sorted(raw for raw in parsed.things if raw.startswith("faucet_bar_"))
    if room.made_up:
        ids, points = _planned(room, game)
    else:
        names = (*game.objects, *game.receptacles)
        ids = {name: thor_id(raw) for name, raw in zip(names, (*objects, *receptacles), strict=True)}
        points = {name: read_point(raw) for name, raw in zip(names, (*objects, *receptacles), strict=True)}
    for number, raw in enumerate(faucets, start=1):
        ids[f"faucet {number}"], points[f"faucet {number}"] = thor_id(raw), read_point(raw)
    room = _with_faucets(room, [(name, point) for name, point in points.items() if point and name.startswith("faucet ")])
    # Worktops of a made-up plan are no objects of the game.
    built = {one.name for one in (*room.fixtures, *room.scenery) if " " in one.name}
    things = tuple(_things(room, game, game.start, ids, points, built))
    middles = {one.name: one.box.centre for one in (*room.scenery, *room.fixtures)}
    # The furniture's coordinates show that the floor of one of AI2-THOR's rooms is not at 0.
    low = median([float(id.split("|")[2]) for id in ids.values() if id.startswith(_STANDING)] or [0.0])

    def marked(numbers: Iterable[int], kinds: frozenset[str]) -> frozenset[str]:
        standing = {ids[name] for number in numbers if (name := game.receptacles[number]) in ids}
        return frozenset(standing | {one.id for one in things if one.id.partition("|")[0] in kinds})

    scene = simulator.Scene(
        room,
        {name: ids.get(name) or simulator.id_at(_kind(name), middles[name]) for name in sorted(built)},
        things,
        accepted(),
        marked(game.openable, simulator.OPENABLE),
        room.start,
        open=marked(game.start.opened, simulator.OPEN_AT_FIRST),
        on=frozenset(ids[game.objects[number]] for number in game.start.lit if game.objects[number] in ids),
        eye=EYE + (low if 0.1 < low < 0.5 else 0.0),
    )
    return reshaped(scene, things)


def accepted() -> Mapping[str, frozenset[str]]:
    """The kinds that each kind of receptacle takes, by AI2-THOR's names, including slices."""
    table: dict[str, frozenset[str]] = {}
    for word, kinds in load_counts().accepts.items():
        wholes = frozenset(map(simulator.kind_named, kinds))
        table[simulator.kind_named(word)] = wholes | {simulator.SLICES[kind][0] for kind in wholes & simulator.SLICES.keys()}
    knives = {kind: table[kind] | simulator.KNIVES for kind in map(simulator.kind_named, KNIVES_LEFT)}
    return {**table, **knives, **simulator.MOVABLE}


def thor_id(raw: str) -> str:
    """AI2-THOR's id for an object that PDDL writes as ``mug_bar__plus_00_dot_10_bar_...``."""

    def metres(found: re.Match[str]) -> str:
        sign = {"plus": "+", "minus": "-"}.get(found["sign"], "")
        return f"{sign}{found['whole']}.{found['rest']}"

    stem, *parts = raw.split("_bar_")
    return "|".join(
        (
            simulator.kind_named(stem),
            *(_METRES.sub(metres, one) if _METRES.match(one) else simulator.kind_named(one) for one in parts),
        )
    )


def _kind(name: str) -> str:
    return simulator.kind_named(name.rpartition(" ")[0])


def _planned(room: Room, game: Game) -> tuple[dict[str, str], dict[str, Point | None]]:
    """Ids and points of a made-up house: from its plan for furniture, and from the first free spots for objects."""
    now = situation(game, game.start, room)
    known = {holder.name: replace(holder, openness="open") for holder in now.holders}
    points: dict[str, Point | None] = {}
    ids: dict[str, str] = {}
    for fixture in room.fixtures:
        points[fixture.name] = fixture.box.centre
        for name, box in laid_in(room, fixture, known[fixture.name], now):
            points.setdefault(name, pivot(name, box.centre.x, box.y0, box.centre.z))
    for name, point in points.items():
        kind = _kind(name)
        # An object that would get the id of another is moved aside by a centimetre.
        beside = (simulator.id_at(kind, point._replace(x=point.x + 0.01 * number)) for number in count() if point)
        ids[name] = next(id for id in beside if id not in ids.values())
    return ids, points


def _with_faucets(room: Room, faucets: list[tuple[str, Point]]) -> Room:
    """The room with a faucet at each basin, from the game or at its back, and without scenery that would hide them."""
    basins = [one for one in room.fixtures if one.name.startswith(("sinkbasin ", "bathtubbasin "))]
    taps = [_faucet(name, point, room) for name, point in faucets]
    for basin in basins:
        middle = basin.box.centre
        if not any(_apart(one.box.centre, middle) < _NEAR for one in taps):
            back = basin.box.part(basin.front, 0.5, 1, 0, 0.5, 1, 0).centre
            taps.append(_faucet(f"faucet {len(taps) + 1}", back._replace(y=back.y + _TAP), room))
    barred = [one.box for one in (*basins, *taps)]
    others = (one for one in room.scenery if not one.name.startswith("faucet "))
    kept = [one for one in others if not (one.name.startswith(_HIDING) and any(one.box.meets(box) for box in barred))]
    return replace(room, scenery=(*kept, *taps))


def _faucet(name: str, point: Point, room: Room) -> Fixture:
    """A faucet that reaches from its handle, at ``point``, down to the basin."""
    kind = kind_of(name)
    nearest = min(room.fixtures, key=lambda one: _apart(one.box.centre, point), default=None)
    low = point.y - _TAP
    box = Box(point.x, low, point.z, point.x, low + kind.height, point.z).grown(kind.width / 2)
    return Fixture(name, box, nearest.front if nearest else 0)


def _apart(one: Point, other: Point) -> float:
    return ((one.x - other.x) ** 2 + (one.z - other.z) ** 2) ** 0.5


def _things(
    room: Room, game: Game, state: State, ids: Mapping[str, str], points: Mapping[str, Point | None], built: set[str]
) -> Iterator[simulator.Lying]:
    """The objects in the room, including lamps; one in two receptacles belongs to the smaller one."""
    holders: dict[int, str] = {}
    areas = {one.name: prod(one.box.spans(0)) for one in room.fixtures}
    standing = [(number, name) for number, name in enumerate(game.receptacles) if name in areas]
    for number, name in sorted(standing, key=lambda one: -areas[one[1]]):
        holders.update(dict.fromkeys(state.contents[number], ids[name]))
    for outer, inner in game.inside.items():
        takes = simulator.MOVABLE.get(_kind(game.objects[outer]), frozenset[str]())
        for thing in inner:
            if _kind(game.objects[thing]) in takes:
                holders[thing] = ids[game.objects[outer]]
    for number, name in enumerate(game.objects):
        point = points.get(name)
        if point and name not in built and not name.startswith(_HIDING) and (number in holders or not kind_of(name).scenery):
            yield simulator.Lying(ids[name], name, holders.get(number, simulator.FLOOR), point, number in game.pickupable)


GAME = "game.tw-pddl"
_WITNESSES = 6
_MOST_WALKS = 1_000
_NECK = 0.675
_BODY = 0.2
_LEVEL = 0.04
_CLOSE = 0.3
_STACKED = 0.12


@dataclass(frozen=True, slots=True)
class RoomData:
    """Installed data about one of AI2-THOR's rooms: some of its games, and where people walked in each trajectory."""

    games: tuple[Path, ...]
    walks: tuple[tuple[Things, frozenset[Cell]], ...]

    def walked(self, things: Things = ()) -> frozenset[Cell]:
        """The cells that people walked over, without those of the trajectory with these ``things``: a task must not use its own
        walk."""
        return frozenset[Cell]().union(*(cells for of, cells in self.walks if of != things))


def scene_at(path: Path, room: AnnotatedRoom) -> simulator.Scene:
    """The scene of the trajectory in a file. Raises ``GameError`` if there is no game on its floor plan."""
    data, beside, plan = data_on(path.parents[2], room.floor_plan), path.with_name(GAME), room.floor_plan
    games = [beside] if beside.is_file() else data.games[:1]
    if not games:
        raise GameError(f"{path}: there is no game of {plan} beside it or elsewhere in its data, so its room is not known.")
    base = base_scene(games[0])
    return arranged(base, room, [base, *map(base_scene, data.games)], data.walked(room.things))


def rearranged(now: simulator.Scene, state: LayoutState, data: RoomData, things: Things) -> simulator.Scene:
    """The scene ``now`` with these things at their points, in its current ``state``. The room's game with the most things at
    these points furnishes it, as for a trajectory."""
    ids, layout = {simulator.id_at(kind, point) for kind, point in things}, state.layout
    witnesses = list(map(base_scene, data.games))
    base = max(witnesses, key=lambda one: len(ids & {thing.id for thing in one.things}), default=now)
    room = AnnotatedRoom(now.floor_plan, state.pose, now.eye - _NECK, things, frozenset(), bool(layout.dirty))
    scene = arranged(base, room, witnesses, data.walked(things))
    standing = frozenset(scene.ids.values()) | {one.id for one in scene.things}
    return replace(scene, on=layout.on & standing, open=scene.open | layout.open & standing)


@lru_cache(maxsize=512)
def data_on(split: Path, floor_plan: str) -> RoomData:
    """Read the data of a floor plan, this split's first. Raises ``GameError`` for a damaged trajectory."""
    games, trajectories = files_on(split, floor_plan)
    read = map(read_trajectory, trajectories)
    return RoomData(games, tuple((one.room.things, frozenset(one.walked())) for one in read))


def files_on(split: Path, floor_plan: str) -> tuple[tuple[Path, ...], tuple[Path, ...]]:
    """Some games, and the trajectories, on a floor plan, this split's first."""
    games, trajectories = (_on(split, floor_plan, name) for name in (GAME, TRAJECTORY_FILE))
    return tuple(islice(games, _WITNESSES)), tuple(islice(trajectories, _MOST_WALKS))


def _on(split: Path, floor_plan: str, name: str) -> Iterator[Path]:
    number = floor_plan.removeprefix("FloorPlan")
    folders = (split, *sorted(one for one in split.parent.iterdir() if one.is_dir() and one != split))
    return (file for folder in folders for file in sorted(folder.glob(f"*-{number}/*/{name}")))


@lru_cache(maxsize=512)
def base_scene(path: Path) -> simulator.Scene:
    """The scene of the game in a file. Raises ``GameError``."""
    file = read_game(path)
    return scene_of(file.problem, file.game(str(path)))


def arranged(
    base: simulator.Scene,
    given: AnnotatedRoom,
    witnesses: Sequence[simulator.Scene] = (),
    walked: frozenset[Cell] = frozenset(),
) -> simulator.Scene:
    """``base`` with the objects, states and start of a trajectory. ``witnesses`` are scenes of the same room: an object at the
    place of an object in one of them is in the same receptacle. ``walked`` are cells that are known to be floor."""
    base = with_floor(base, walked)
    points = {simulator.id_at(kind, point): point for kind, point in given.things}
    known = {one.id: one.at for one in base.things}
    there = frozenset(base.ids.values()) | {simulator.FLOOR}
    seen = {one.point: one.at for witness in witnesses for one in witness.things if one.pickupable and one.at in there}
    fixed = tuple(one for one in base.things if not one.pickupable)
    names = numbered_names([*points, *(one.id for one in fixed)])
    things: list[simulator.Lying] = []
    for id, point in points.items():
        at = known.get(id)
        # The receptacle may be missing in this trajectory, and then another one holds the object.
        if at is None or (at not in there and at not in points):
            at = _witnessed(base, seen, id.partition("|")[0], point)
        if at == simulator.FLOOR:
            at = _stacked(id, points)
        things.append(simulator.Lying(id, names[id], at, point))
    every = [*points, *base.ids.values()]
    scene = replace(
        base,
        # The games in this room may start elsewhere.
        room=replace(base.room, floor=with_way(base.room.floor, base.room.walls, given.start.cell)),
        things=(*things, *(replace(one, name=names[one.id]) for one in fixed)),
        # Annotations open more kinds than games call openable.
        openable=frozenset(id for id in every if simulator.kind_in(id) in simulator.ENCLOSING | simulator.OPENABLE),
        start=given.start,
        open=frozenset(id for id in every if id.partition("|")[0] in simulator.OPEN_AT_FIRST),
        on=frozenset(id for id in (*every, *(one.id for one in fixed)) if id.partition("|")[0] in given.on),
        dirty=frozenset(id for id in every if id.partition("|")[0] in simulator.DIRTYABLE) if given.dirty else frozenset(),
        eye=given.height + _NECK,
        floor_plan=given.floor_plan,
    )
    return reshaped(scene, [*scene.things, *(one for witness in witnesses for one in witness.things)])


def with_floor(scene: simulator.Scene, cells: frozenset[Cell]) -> simulator.Scene:
    """The scene with more floor, and walls around it."""
    room, walls = scene.room, scene.room.walls
    for x, z in cells:
        walls = walls.united(walls._replace(x0=x * GRID, z0=z * GRID, x1=x * GRID, z1=z * GRID).grown(_BODY))
    return replace(scene, room=replace(room, floor=room.floor | cells, walls=walls))


def _witnessed(base: simulator.Scene, seen: Mapping[Point, str], kind: str, point: Point) -> str:
    """The receptacle of an object at a point: that of the nearest object in a witness, if close, or else by its box."""

    def far(other: Point) -> float:
        taken = seen[other] == simulator.FLOOR or kind in base.accepts.get(simulator.kind_in(seen[other]), frozenset[str]())
        return hypot(other.x - point.x, other.z - point.z) + 2 * max(0.0, abs(other.y - point.y) - _LEVEL) + (not taken)

    nearest = min(seen, key=far, default=None)
    return seen[nearest] if nearest is not None and far(nearest) < _CLOSE else holder(base, kind, point)


def _stacked(id: str, points: Mapping[str, Point]) -> str:
    """The cup, plate or the like that holds an object outside the room's receptacles; the floor if there is none."""
    kind = simulator.kind_in(id)
    takes = [one for one in points if one != id and kind in simulator.MOVABLE.get(simulator.kind_in(one), frozenset())]
    near = {one: dist(points[one], points[id]) for one in takes}
    best = min(near, key=lambda other: near[other], default=simulator.FLOOR)
    return best if near.get(best, _STACKED) < _STACKED else simulator.FLOOR


def numbered_names(ids: Sequence[str]) -> dict[str, str]:
    """ALFWorld's name of each id: its kind in lower case, with a number that counts down from the lowest id."""
    stems = {id: id.partition("|")[0].lower() for id in ids}
    left, names = Counter(stems[id] for id in ids), dict[str, str]()
    # PDDL writes signs as words, so minus sorts before plus.
    for id in sorted(ids, key=lambda id: id.lower().replace("+", "plus").replace("-", "minus")):
        names[id] = f"{stems[id]} {left[stems[id]]}"
        left[stems[id]] -= 1
    return names


_SUNK = 0.04
_LEAST = 0.1
_LOW = 1.0
_LIP = 0.02
_TINY = 1e-6
_DEEPEST = 0.35
_LOFT = 1.3
_MATTRESS = 0.1
_MOST = 400
_SOLID = ("solid", "table")


def reshaped(scene: simulator.Scene, lying: Iterable[simulator.Lying]) -> simulator.Scene:
    """The scene with tops no higher than the objects on them, and counters cut back above doors and beside tables."""
    on: dict[str, list[Box]] = {}
    for one in lying:
        on.setdefault(one.at, []).append(box_at(one))
    fixtures = [_lowered(_hung(one, scene.ids[one.name]), on.get(scene.ids[one.name], ())) for one in scene.room.fixtures]
    doors = [one for one in fixtures if _low_door(one)]
    standing = [one.box for one in fixtures if one.kind.stands == "floor" and one.kind.form != "counter"]
    for number, one in enumerate(fixtures):
        if one.kind.form == "counter":
            pieces = [_over(piece, doors) for piece in one.boxes]
            for box in standing:
                pieces = [left for piece in pieces for left in (piece.without(box) if box.y1 < piece.y1 - _SUNK else (piece,))]
            fixtures[number] = replace(one, pieces=tuple(pieces[:_MOST]))
    return replace(scene, room=replace(scene.room, fixtures=tuple(fixtures)))


def _low_door(one: Fixture) -> bool:
    return one.name.startswith("cabinet ") and one.box.y1 < _LOW


def _hung(one: Fixture, id: str) -> Fixture:
    """The furniture with its box corrected: a low cabinet's door is at its hinge, and a loft bed is as thick as a bed."""
    x, y, z = (float(part) for part in id.split("|")[1:4])
    box = one.box
    if _low_door(one):
        beyond = box.ahead(one.front) - Box(x, y, z, x, y, z).ahead(one.front) - _LIP
        if _TINY < beyond < _DEEPEST:
            return replace(one, box=box.extended(one.front, -beyond))
    if one.name.startswith(("sofa ", "armchair ")) and one.place and one.front == one.place.quarter:
        # Nobody sits down from behind.
        return replace(one, front=(one.front + 2) % 4)
    if one.name.startswith("bed ") and y > _LOFT:
        return replace(one, box=box._replace(y0=y - _MATTRESS, y1=y + _MATTRESS))
    return one


def _lowered(one: Fixture, things: Sequence[Box]) -> Fixture:
    """The furniture with its top lowered to the highest object on it."""
    box, surface = one.box, one.kind.surface
    highest = max((thing.y0 for thing in things if box.over(thing.centre.x, thing.centre.z)), default=box.y1)
    lower = box.y0 + _LEAST < highest < box.y0 + surface * (box.y1 - box.y0) - _SUNK
    if not lower or one.kind.form not in _SOLID or one.kind.stands == "wall":
        return one
    return replace(one, box=box._replace(y1=box.y0 + (highest - box.y0) / surface))


def _over(piece: Box, doors: Sequence[Fixture]) -> Box:
    for door in doors:
        beyond = piece.ahead(door.front) - door.box.ahead(door.front) - _LIP
        if piece.meets(door.box) and _TINY < beyond < _DEEPEST:
            return _over(piece.extended(door.front, -beyond), doors)
    return piece
