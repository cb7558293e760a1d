"""The scene of a game: its room with AI2-THOR's ids, for those who simulate it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import count
from math import prod
from statistics import median

from housequest.worlds.alfred.model import KNIVES_LEFT
from housequest.worlds.alfred.simulator.affordances import KNIVES, MOVABLE, OPEN_AT_FIRST, OPENABLE, SLICES, kind_named
from housequest.worlds.alfred.simulator.base import FLOOR, Lying, Scene
from housequest.worlds.alfred.simulator.reshaping import reshaped
from housequest.worlds.alfworld.engine.game import Game, State, numbered
from housequest.worlds.alfworld.engine.pddl import parse_problem
from housequest.worlds.alfworld.room import room_of, situation
from housequest.worlds.alfworld.text import load_counts
from housequest.worlds.rooms.room import EYE, Box, Fixture, Point, Room, kind_of, read_point
from housequest.worlds.rooms.stage import laid_in, pivot

_METRES = re.compile(r"(?:_(?P<sign>plus|minus)_)?(?P<whole>\d+)_dot_(?P<rest>\d+)", re.ASCII)
_SIGNS = {"plus": "+", "minus": "-", None: ""}
_STANDING = ("Fridge|", "GarbageCan|")
_NEAR = 1.0
_TAP = 0.17
_HIDING = ("sink ", "bathtub ", "curtains ", "blinds ")


def scene_of(problem: str, game: Game) -> Scene:
    """The scene in which a game begins. Ids without coordinates, those of made-up houses, are made of the room's plan.

    Hidden: it knows where things lie. Raises ``GameError`` for what is no problem.
    """
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
    # Worktops of a made-up plan are no things of the game.
    built = {one.name for one in (*room.fixtures, *room.scenery) if " " in one.name}
    things = tuple(_things(room, game, game.start, ids, points, built))
    scene = Scene(
        room,
        {name: ids.get(name) or written(_kind(name), _middle(room, name)) for name in sorted(built)},
        things,
        accepted(),
        frozenset(
            {ids[game.receptacles[number]] for number in game.openable if game.receptacles[number] in ids}
            | {one.id for one in things if one.id.partition("|")[0] in OPENABLE}
        ),
        room.start,
        open=frozenset(
            {ids[game.receptacles[number]] for number in game.start.opened if game.receptacles[number] in ids}
            | {one.id for one in things if one.id.partition("|")[0] in OPEN_AT_FIRST}
        ),
        on=frozenset(ids[game.objects[number]] for number in game.start.lit if game.objects[number] in ids),
        eye=EYE + _floor(ids),
    )
    return reshaped(scene, things)


def _floor(ids: Mapping[str, str]) -> float:
    """How high the floor is by the points of what stands on it, in metres: in one of AI2-THOR's rooms, it is not at 0."""
    points = [float(id.split("|")[2]) for id in ids.values() if id.startswith(_STANDING)]
    low = median(points) if points else 0.0
    return low if 0.1 < low < 0.5 else 0.0


def accepted() -> Mapping[str, frozenset[str]]:
    """The kinds that each kind of receptacle takes, by AI2-THOR's names, slices among them."""
    table: dict[str, frozenset[str]] = {}
    for word, kinds in load_counts().accepts.items():
        wholes = frozenset(map(kind_named, kinds))
        table[kind_named(word)] = wholes | {SLICES[kind][0] for kind in wholes & SLICES.keys()}
    knives = {kind: table[kind] | KNIVES for kind in map(kind_named, KNIVES_LEFT)}
    return {**table, **knives, **MOVABLE}


def thor_id(raw: str) -> str:
    """AI2-THOR's id of what PDDL writes as ``mug_bar__plus_00_dot_10_bar_...``."""
    stem, *parts = raw.split("_bar_")
    return "|".join(
        [kind_named(stem), *(_METRES.sub(_metres, part) if _METRES.match(part) else kind_named(part) for part in parts)]
    )


def written(kind: str, point: Point) -> str:
    """AI2-THOR's id of an object of a kind at a point; a basin is a part of its sink or tub."""
    whole, basin, _ = kind.partition("Basin")
    parts = [whole, *(f"{'+' if part > 0 else '-' if part else ''}{abs(part):05.2f}" for part in point)]
    return "|".join([*parts, kind] if basin else parts)


def _kind(name: str) -> str:
    return kind_named(name.rpartition(" ")[0])


def _metres(found: re.Match[str]) -> str:
    return f"{_SIGNS[found['sign']]}{found['whole']}.{found['rest']}"


def _middle(room: Room, name: str) -> Point:
    return next(one.box.centre for one in (*room.fixtures, *room.scenery) if one.name == name)


def _planned(room: Room, game: Game) -> tuple[dict[str, str], dict[str, Point | None]]:
    """Ids and points of a made-up house: those of its plan, and of the first free spots for what lies there."""
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
        # What would have the id of another is a centimetre beside it.
        beside = (written(kind, point._replace(x=point.x + 0.01 * number)) for number in count() if point)
        ids[name] = next(id for id in beside if id not in ids.values())
    return ids, points


def _with_faucets(room: Room, faucets: list[tuple[str, Point]]) -> Room:
    """The room with a faucet at each basin, that of the game or one at its back, and without scenery that would hide them."""
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
    """A faucet; its point is that of its handle, from which it reaches down to the basin."""
    kind = kind_of(name)
    nearest = min(room.fixtures, key=lambda one: _apart(one.box.centre, point), default=None)
    low = point.y - _TAP
    box = Box(point.x, low, point.z, point.x, low + kind.height, point.z).grown(kind.width / 2)
    return Fixture(name, box, nearest.front if nearest else 0)


def _apart(one: Point, other: Point) -> float:
    return ((one.x - other.x) ** 2 + (one.z - other.z) ** 2) ** 0.5


def _things(
    room: Room, game: Game, state: State, ids: Mapping[str, str], points: Mapping[str, Point | None], built: set[str]
) -> Iterator[Lying]:
    """What lies in the room, lamps too; what stands in two receptacles belongs to the smaller one."""
    holders: dict[int, str] = {}
    areas = {one.name: prod(one.box.spans(0)) for one in room.fixtures}
    standing = [(number, name) for number, name in enumerate(game.receptacles) if name in areas]
    for number, name in sorted(standing, key=lambda one: -areas[one[1]]):
        holders.update(dict.fromkeys(state.contents[number], ids[name]))
    for outer, inner in game.inside.items():
        takes = MOVABLE.get(_kind(game.objects[outer]), frozenset[str]())
        for thing in inner:
            if _kind(game.objects[thing]) in takes:
                holders[thing] = ids[game.objects[outer]]
    for number, name in enumerate(game.objects):
        point = points.get(name)
        if point and name not in built and not name.startswith(_HIDING) and (number in holders or not kind_of(name).scenery):
            yield Lying(ids[name], name, holders.get(number, FLOOR), point, number in game.pickupable)
