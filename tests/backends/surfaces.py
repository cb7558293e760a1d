"""Where a thing that is in the way can be put, and what else lies in a room: what a good model knows of houses."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from housequest.worlds.alfworld.text import load_counts

COUNTS = load_counts()


def surface(thing: str, kinds: Sequence[str]) -> str:
    """The first of these kinds of place that takes ``thing`` and stands open; any of them if none is known to."""
    return next(surfaces(thing, kinds), kinds[0])


def surfaces(thing: str, kinds: Sequence[str]) -> Iterator[str]:
    """These kinds of place that take ``thing`` and stand open."""
    return (name for name in kinds if thing in COUNTS.accepts.get(name, ()) and not COUNTS.openable(name))


def other(thing: str, room: str) -> str:
    """The thing that is oftenest in such a room, other than ``thing``."""
    objects = COUNTS.rooms[room].objects
    portable = (name for name in objects if "pickupable" in COUNTS.can.get(name, ()) and name != thing)
    return max(portable, key=lambda name: (objects[name].games, name))


def home(thing: str) -> tuple[str, Sequence[str]]:
    """The kind of room that oftenest has ``thing``, and the places that it oftenest has."""
    rooms = COUNTS.rooms
    room = max(rooms, key=lambda name: rooms[name].objects[thing].games if thing in rooms[name].objects else 0)
    places = rooms[room].receptacles
    return room, sorted(places, key=lambda name: -places[name].games)
