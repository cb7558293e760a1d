"""Furniture as a simulator may know it: its boxes are changed by where things lie, as those of no picture from belief are."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from housequest.worlds.alfred.simulator.base import Lying, Scene
from housequest.worlds.alfred.simulator.layout import box_at
from housequest.worlds.rooms.room import Box, Fixture

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


def reshaped(scene: Scene, lying: Iterable[Lying]) -> Scene:
    """The scene with tops no higher than what lies on them, and counters that end above the doors below and beside tables."""
    on: dict[str, list[Box]] = {}
    for one in lying:
        on.setdefault(one.at, []).append(box_at(one))
    fixtures = [_lowered(_hung(one, scene.ids[one.name]), on.get(scene.ids[one.name], ())) for one in scene.room.fixtures]
    doors = [one for one in fixtures if _low_door(one)]
    standing = [one.box for one in fixtures if one.kind.stands == "floor" and one.kind.form != "counter"]
    fixtures = [_cut(one, doors, standing) if one.kind.form == "counter" else one for one in fixtures]
    return replace(scene, room=replace(scene.room, fixtures=tuple(fixtures)))


def _low_door(one: Fixture) -> bool:
    return one.name.startswith("cabinet ") and one.box.y1 < _LOW


def _hung(one: Fixture, id: str) -> Fixture:
    """A cabinet below a counter whose door is where its hinge is; a bed above a desk that is no thicker than a bed."""
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
    """A piece of furniture with its top at the highest of what lies over it, where that is lower."""
    box, surface = one.box, one.kind.surface
    if one.kind.form not in _SOLID or one.kind.stands == "wall":
        return one
    highest = max((thing.y0 for thing in things if box.over(thing.centre.x, thing.centre.z)), default=box.y1)
    top = box.y0 + surface * (box.y1 - box.y0)
    if not box.y0 + _LEAST < highest < top - _SUNK:
        return one
    return replace(one, box=box._replace(y1=box.y0 + (highest - box.y0) / surface))


def _cut(counter: Fixture, doors: Sequence[Fixture], standing: Sequence[Box]) -> Fixture:
    """A counter that reaches no farther than the doors of the cabinets below, and not over what stands lower beside it."""
    pieces = [_over(piece, doors) for piece in counter.boxes]
    for box in standing:
        pieces = [left for piece in pieces for left in (piece.without(box) if box.y1 < piece.y1 - _SUNK else (piece,))]
    return replace(counter, pieces=tuple(pieces[:_MOST]))


def _over(piece: Box, doors: Sequence[Fixture]) -> Box:
    for door in doors:
        beyond = piece.ahead(door.front) - door.box.ahead(door.front) - _LIP
        if piece.meets(door.box) and _TINY < beyond < _DEEPEST:
            return _over(piece.extended(door.front, -beyond), doors)
    return piece
