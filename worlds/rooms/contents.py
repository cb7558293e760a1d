"""Where things lie in and on receptacles, as far as a situation knows it."""

from __future__ import annotations

from collections.abc import Iterator

from housequest.worlds.rooms.kinds import Kind, kind_of
from housequest.worlds.rooms.poses import Point
from housequest.worlds.rooms.room import Box, Fixture, Holder, Room, Situation

MAX_CONTENTS = 200
"""Things in one receptacle that are drawn."""
BOARD = 0.02
"""How thick the boards of a receptacle are, in metres."""
_THINNEST = 0.02
_RIM = 0.14


def lying(room: Room, situation: Situation, fixture: Fixture) -> list[Box]:
    """The boxes of what can be seen in or on a receptacle."""
    holder = next((one for one in situation.holders if one.name == fixture.name and one.openness != "closed"), None)
    return [box for _, box in laid_in(room, fixture, holder, situation)] if holder else []


def laid_in(room: Room, fixture: Fixture, holder: Holder, situation: Situation) -> Iterator[tuple[str, Box]]:
    """What lies in or on a receptacle, each where it lay at the start, or else at the first free spot."""
    laid: list[Box] = []
    moved: list[str] = []
    for name in dict.fromkeys(holder.contents[:MAX_CONTENTS]):
        if name in situation.carried:
            continue
        home = room.homes.get((name, fixture.name))
        if home is None:
            moved.append(name)
            continue
        laid.append(_inside(_raised(box_at(name, home), fixture), room.walls))
        yield name, laid[-1]
    for name in moved:
        box = _inside(_raised(_spot(fixture, box_of(kind_of(name)), laid), fixture), room.walls)
        laid.append(box)
        yield name, box


def box_of(kind: Kind) -> Box:
    """A thing at the origin, never too thin to be seen."""
    width, height, depth = (max(_THINNEST, size) for size in (kind.width, kind.height, kind.depth))
    return Box(-width / 2, 0.0, -depth / 2, width / 2, height, depth / 2)


def box_at(name: str, point: Point) -> Box:
    """The box of a thing of this name, whose id has this point."""
    kind = kind_of(name)
    return box_of(kind).moved(point.x, point.y - kind.pivot * kind.height, point.z)


def pivot(name: str, x: float, low: float, z: float) -> Point:
    """The point in the id of a thing of this name that lies at (x, z), ``low`` at its bottom."""
    kind = kind_of(name)
    return Point(x, low + kind.pivot * kind.height, z)


def _raised(box: Box, fixture: Fixture) -> Box:
    """What lies in a basin or bin lies near its rim, and what would be swallowed by furniture on it, or nobody would see it."""
    kind, around = fixture.kind, fixture.box
    match kind.form:
        case "basin":
            return box.moved(y=max(0.0, around.y1 - _RIM - box.y0))
        case "solid" | "table" | "counter":
            under = [piece for piece in fixture.pieces or (around,) if piece.meets(box)]
            top = max((piece.y0 + kind.surface * (piece.y1 - piece.y0) for piece in under), default=0.0)
            lowest = top - 0.2 if kind.form == "table" else 0.0
            return box.moved(y=top - box.y0) if lowest < box.y0 < top else box
        case _:
            return box


def _inside(box: Box, walls: Box) -> Box:
    """The box moved to within the walls."""
    return box.moved(
        max(0.0, walls.x0 + 0.01 - box.x0) - max(0.0, box.x1 - walls.x1 + 0.01),
        max(0.0, 0.002 - box.y0),
        max(0.0, walls.z0 + 0.01 - box.z0) - max(0.0, box.z1 - walls.z1 + 0.01),
    )


def _spot(fixture: Fixture, thing: Box, laid: list[Box]) -> Box:
    """The first free spot for a thing, by rows from the front; the middle if all are taken."""
    kind, box, front = fixture.kind, fixture.box, fixture.front
    if kind.form in ("cupboard", "drawer", "basin"):
        level = box.y0 + BOARD
    elif kind.form == "counter" and fixture.pieces:
        box = max(fixture.pieces, key=lambda piece: (piece.x1 - piece.x0) * (piece.z1 - piece.z0))
        level = box.y1
    else:
        level = box.y0 + kind.surface * (box.y1 - box.y0)
    for back in (0.72, 0.45, 0.2):
        for left in (0.5, 0.3, 0.7, 0.12, 0.88):
            centre = box.part(front, left, 0, back, left, 1, back).centre
            found = thing.moved(centre.x, level, centre.z)
            if not any(found.meets(other) and abs(found.y0 - other.y0) < 0.3 for other in laid):
                return found
    return thing.moved(box.centre.x, level, box.centre.z)


def holding(box: Box, things: list[tuple[str, Box]]) -> tuple[Box, list[tuple[str, Box]]]:
    """The box of an opened receptacle, larger where what lies there needs it, and moved in what it cannot hold even so."""
    most = box.grown(0.3)._replace(y0=box.y0 - 0.3, y1=box.y1 + 0.3)
    kept: list[tuple[str, Box]] = []
    for name, lain in things:
        thing = lain.moved(
            max(0.0, most.x0 - lain.x0) - max(0.0, lain.x1 - most.x1),
            max(0.0, most.y0 - lain.y0) - max(0.0, lain.y1 - most.y1),
            max(0.0, most.z0 - lain.z0) - max(0.0, lain.z1 - most.z1),
        )
        kept.append((name, thing))
        box = box.united(thing.grown(BOARD)._replace(y0=max(0.0, thing.y0 - BOARD), y1=min(thing.y1, most.y1)))
    return box, kept
