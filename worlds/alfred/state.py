"""What a household is to the symbolic model: things with their places and marks, and where the agent stands.

The annotations name the places of the few things that a demonstration touched. Everything else is left open (a place of None)
and is decided in a plan's favour when the plan first needs it; so what the model refuses is wrong for certain, and what it
accepts may still fail. Receptacles of one kind are one, because a plan names kinds alone.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from typing import Literal

from worlds.alfworld.data.counts import load_counts

Mark = Literal["sliced", "clean", "hot", "cold", "on"]

KNIVES = frozenset({"knife", "butterknife"})
_KNIVES_LEFT = frozenset({"cabinet", "fridge", "garbagecan", "microwave"})
"""Where no game has a knife and the annotated plans of ``train`` leave theirs after slicing."""

_ROOMS = {0: "kitchen", 2: "livingroom", 3: "bedroom", 4: "bathroom"}


@dataclass(frozen=True, slots=True)
class Thing:
    """One thing that is no fixed receptacle. ``place`` is the kind of receptacle it lies in or on, None where nobody said;
    ``inside`` the index of the movable receptacle that holds it.
    """

    kind: str
    place: str | None = None
    inside: int | None = None
    marks: frozenset[Mark] = frozenset()


@dataclass(frozen=True, slots=True)
class State:
    """A household at one moment.

    ``at`` is the kind of receptacle that the agent stands before, or the index of a thing that it stands before and whose
    place is not known, or None before the first ``GotoLocation``. ``held`` is the index of what is in its hand.
    """

    things: tuple[Thing, ...]
    at: str | int | None = None
    held: int | None = None

    @property
    def in_hand(self) -> Thing | None:
        """What the agent holds."""
        return None if self.held is None else self.things[self.held]

    def base(self, index: int) -> int:
        """The thing that carries thing ``index``: itself, or the outermost movable receptacle round it."""
        while (outer := self.things[index].inside) is not None:
            index = outer
        return index

    def place(self, index: int) -> str | None:
        """Where thing ``index`` lies, be it in a movable receptacle or not; None where that is open or it is in hand."""
        return self.things[self.base(index)].place

    def having(self, index: int, thing: Thing) -> State:
        """The state with ``thing`` in the stead of thing ``index``."""
        return replace(self, things=(*self.things[:index], thing, *self.things[index + 1 :]))


@dataclass(frozen=True, slots=True)
class Scene:
    """A room before anything was done. ``receptacles`` are the fixed ones' kinds."""

    receptacles: frozenset[str]
    things: tuple[Thing, ...]

    def opened(self) -> Scene:
        """The scene with all places left open: what a plan is worth wherever things lie."""
        return replace(self, things=tuple(replace(thing, place=None) for thing in self.things))


def room_of(floor_plan: int) -> str | None:
    """The kind of room of AI2-THOR's floor plan of that number (1-30, 201-230, 301-330, 401-430); None for any other."""
    return _ROOMS.get(floor_plan // 100) if 0 < floor_plan % 100 <= 30 else None


@cache
def receptacles_of(room: str | None) -> frozenset[str]:
    """The kinds of fixed receptacle that rooms of a kind have in ``train``; those of all rooms where the kind is None."""
    rooms = load_counts().rooms
    return frozenset(kind for name, counted in rooms.items() if room in (name, None) for kind in counted.receptacles)


def able(kind: str, what: str) -> bool:
    """Whether things of that kind are ``pickupable``, ``sliceable``, ... as the games of ``train`` say."""
    return what in load_counts().can.get(kind, ())


def accepts(receptacle: str, kind: str) -> bool:
    """Whether a thing of that kind may be put there; a movable receptacle takes what can be picked up and is none itself."""
    if able(receptacle, "isreceptacleobject"):
        return able(kind, "pickupable") and not able(kind, "isreceptacleobject")
    return kind in load_counts().accepts.get(receptacle, ()) or (kind in KNIVES and receptacle in _KNIVES_LEFT)


def known(kind: str) -> bool:
    """Whether any room of ``train`` has such an object or receptacle."""
    return kind in load_counts().can or kind in receptacles_of(None)
