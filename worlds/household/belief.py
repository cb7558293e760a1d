"""What a player knows of a house, as values.

A belief holds what observations said and what follows from the rules of the game. A world's reader makes it; nothing here
depends on how a world words its texts.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Literal

Openness = Literal["surface", "open", "closed"]
Heat = Literal["hot", "cool", "neither"]


@dataclass(frozen=True, slots=True)
class Receptacle:
    """A fixed piece of furniture that holds objects.

    ``place`` is equal for receptacles known to share a location. ``openness`` is None if unknown, and ``surface`` for what
    cannot be opened. ``contents`` are the objects in it, None if unknown; a closed receptacle keeps its last contents.
    """

    name: str
    place: str
    visited: bool = False
    openness: Openness | None = None
    contents: tuple[str, ...] | None = None

    @property
    def kind(self) -> str:
        """The name without its number."""
        return kind(self.name)

    @property
    def number(self) -> int:
        """The number in its name: 2 of "drawer 2"."""
        return int(self.name.rpartition(" ")[2])


@dataclass(frozen=True, slots=True)
class Item:
    """An object, where it was last seen (None while it is held) and its known properties (None: unknown).

    ``heat`` is what the text says: a game calls something that is both hot and cool hot. ``inside`` are the objects in a
    movable receptacle that was examined.
    """

    name: str
    where: str | None = None
    clean: bool | None = None
    heat: Heat | None = None
    sliced: bool | None = None
    lit: bool | None = None
    inside: tuple[str, ...] | None = None

    @property
    def kind(self) -> str:
        """The name without its number."""
        return kind(self.name)


@dataclass(frozen=True, slots=True)
class Belief:
    """All that is known: receptacles in the order of the opening, items in the order they were first seen.

    ``at`` is the receptacle the agent went to last, None in the middle of the room; ``beside`` lists the objects that the last
    look here showed. ``held`` is what was taken last; of somebody with several ``hands``, ``also`` is what the others hold.
    ``apart`` holds pairs of receptacles of which the first is known to be elsewhere for somebody at the second; it depends on
    how this was found out, so comparisons ignore it. ``in_one_place``: in this world, a thing is where it was seen last and
    nowhere else. ``rooms`` are the receptacles that are rooms, in a home of several: each holds its furniture, as far as that
    was seen, and what lies on its floor.
    """

    receptacles: tuple[Receptacle, ...] = ()
    items: tuple[Item, ...] = ()
    at: str | None = None
    held: str | None = None
    beside: tuple[str, ...] = ()
    apart: frozenset[tuple[str, str]] = field(default=frozenset(), compare=False, repr=False)
    hands: int = 1
    also: tuple[str, ...] = ()
    in_one_place: bool = False
    rooms: tuple[str, ...] = ()

    @property
    def carried(self) -> tuple[str, ...]:
        """All that is held, what was taken last first."""
        return (*(() if self.held is None else (self.held,)), *self.also)

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of receptacle, each once."""
        return tuple(dict.fromkeys(one.kind for one in self.receptacles))

    @property
    def unsearched(self) -> tuple[Receptacle, ...]:
        """The receptacles that were not looked into yet."""
        return tuple(one for one in self.receptacles if one.contents is None)

    @property
    def elsewhere(self) -> Belief:
        """The same without the present place: what is known, wherever one stands."""
        return replace(self, at=None, beside=())

    def receptacle(self, name: str | None) -> Receptacle | None:
        """The receptacle of this name, if known."""
        return next((one for one in self.receptacles if one.name == name), None)

    def item(self, name: str | None) -> Item | None:
        """The object of this name, if it was seen."""
        return next((one for one in self.items if one.name == name), None)

    def here(self) -> tuple[Receptacle, ...]:
        """The receptacles known to be at the agent's location."""
        standing = self.receptacle(self.at)
        return () if standing is None else tuple([one for one in self.receptacles if one.place == standing.place])

    def is_here(self, name: str) -> bool:
        """Whether the receptacle of this name is known to be at the agent's location."""
        there, standing = self.receptacle(name), self.receptacle(self.at)
        return there is not None and standing is not None and there.place == standing.place

    def is_elsewhere(self, name: str) -> bool:
        """Whether the receptacle of this name is known not to be at the agent's location."""
        there = self.receptacle(name)
        if there is None:
            return False
        if self.at is None:
            return True
        here = [one.name for one in self.here()]
        beside = [one.name for one in self.receptacles if one.place == there.place]
        return name not in here and any((one, other) in self.apart for one in beside for other in here)

    def inside(self, receptacle: Receptacle) -> tuple[str, ...]:
        """The objects known to be in a receptacle, also if only put there without a look inside."""
        if receptacle.contents is not None:
            return receptacle.contents
        return tuple(item.name for item in self.items if item.where == receptacle.name)

    def room_of(self, name: str | None) -> str | None:
        """The room that a receptacle of a home of several rooms is or stands in, as far as that is known."""
        if name in self.rooms:
            return name
        return next((one.name for one in self.receptacles if one.name in self.rooms and name in (one.contents or ())), None)

    def holders(self, name: str) -> tuple[Receptacle, ...]:
        """The receptacles known to hold the object of this name."""
        item = self.item(name)
        where = None if item is None else item.where
        return tuple(one for one in self.receptacles if (one.name == where if one.contents is None else name in one.contents))


@lru_cache(maxsize=4096)
def kind(name: str) -> str:
    """The type part of a name: "drawer" of "drawer 2"."""
    return name.rpartition(" ")[0] or name


def by_name(name: str) -> tuple[str, int]:
    """A sort key that puts drawer 2 before drawer 10."""
    stem, _, number = name.rpartition(" ")
    return stem, int(number) if number.isdecimal() else 0


def describe(belief: Belief) -> str:
    """The belief in plain English: the agent, what it holds, then a line per kind of receptacle; equal if the beliefs are."""
    shared = [one.name for one in belief.here() if one.name != belief.at]
    where = f"at {belief.at}" if belief.at else "in the middle of the room"
    also = f" (also here: {', '.join(shared)})" if shared else ""
    items = {one.name: one for one in belief.items}
    holding = " and ".join(_item_words(items.get(name) or Item(name)) for name in belief.carried) or "nothing"
    lines = [f"You are {where}{also}, holding {holding}."]
    groups: dict[str, list[Receptacle]] = {}
    for one in belief.receptacles:
        groups.setdefault(one.kind, []).append(one)
    for group, members in groups.items():
        lines.append(f"{group}: {'; '.join(_group_words(members, items))}")
    return "\n".join(lines)


def _group_words(members: list[Receptacle], items: dict[str, Item]) -> Iterator[str]:
    unknown: list[str] = []
    for one in members:
        number = one.name.rpartition(" ")[2]
        if one.contents is None and one.openness is None:
            unknown.append(number)
            continue
        state = f" ({one.openness})" if one.openness in {"open", "closed"} else ""
        held = ", ".join(_item_words(items.get(name) or Item(name)) for name in one.contents or ())
        yield f"{number}{state}{'' if one.contents is None else f' {held}' if held else ' empty'}"
    if unknown:
        yield f"{', '.join(unknown)} not seen yet"


def _item_words(item: Item) -> str:
    marks = {"hot": item.heat == "hot", "cool": item.heat == "cool", "clean": item.clean, "sliced": item.sliced, "on": item.lit}
    words = ", ".join(word for word, true in marks.items() if true)
    return f"{item.name} ({words})" if words else item.name
