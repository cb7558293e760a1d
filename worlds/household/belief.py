"""A player's knowledge of a house, as values, and the builder with which a world's reader makes them.

A belief holds what observations said and what follows from the rules of the game. Names can be hidden as in PET's Eliminate
module (section 3.2): lists are shortened ("you see a mug 1, and a pen 2."), and sentences about an action stay.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import Any, Literal, TypeVar

from housequest.worlds.household.goals import ADJECTIVES, Treatment

Openness = Literal["surface", "open", "closed"]
Heat = Literal["hot", "cool", "neither"]


@dataclass(frozen=True, slots=True)
class Receptacle:
    """A fixed piece of furniture that holds objects. ``place`` is equal for receptacles known to share a location. ``openness``
    is None if unknown, and ``surface`` for what cannot be opened. ``contents`` are the objects in it, None if unknown; a closed
    receptacle keeps its last contents."""

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
    """An object, where it was last seen (None while it is held) and its known properties (None: unknown). ``heat`` is what the
    text says: a game calls something that is both hot and cool hot. ``inside`` are the objects in a movable receptacle that was
    examined."""

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

    @property
    def state(self) -> tuple[str, ...]:
        """Its known properties in words, such as hot or sliced; none for an ordinary object."""
        hot, cool = self.heat == "hot", self.heat == "cool"
        words = {"hot": hot, "cool": cool, "clean": self.clean, "sliced": self.sliced, "on": self.lit}
        return tuple(word for word, true in words.items() if true)

    def treated(self, treatment: Treatment) -> bool:
        """True if it is known to have had this treatment."""
        return bool(self.clean) if treatment == "clean" else self.heat == ADJECTIVES[treatment]


@dataclass(frozen=True, slots=True)
class Other:
    """Another player in the house, as far as news told of it. ``at`` is the receptacle where it stands, for ``turns`` now; None
    in the middle of a room and out of sight. ``looked`` are the places that it has looked into."""

    name: str
    at: str | None = None
    carried: tuple[str, ...] = ()
    turns: int = 0
    looked: tuple[str, ...] = ()


@dataclass(frozen=True)
class Belief:
    """Everything known: receptacles in the order of the opening, items in the order they were first seen. ``at`` is the
    receptacle the agent went to last, None in the middle of the room; ``beside`` lists the objects that the last look here
    showed. ``carried`` is what is held in one of the ``hands``, the last one taken first. ``apart`` holds pairs of
    receptacles: the first is known not to be at the location of the second. It depends on how this was found out, so
    comparisons ignore it. ``in_one_place``: in this world, a thing is only where it was seen last. ``rooms`` are the
    receptacles that are rooms, in a home of several: each holds its furniture, as far as that was seen, and the things on its
    floor. ``others`` are the other players that news told of."""

    receptacles: tuple[Receptacle, ...] = ()
    items: tuple[Item, ...] = ()
    at: str | None = None
    carried: tuple[str, ...] = ()
    beside: tuple[str, ...] = ()
    apart: frozenset[tuple[str, str]] = field(default=frozenset(), compare=False, repr=False)
    hands: int = 1
    in_one_place: bool = False
    rooms: tuple[str, ...] = ()
    others: tuple[Other, ...] = ()

    @cached_property
    def places(self) -> Mapping[str, Receptacle]:
        """The receptacles by name."""
        return {one.name: one for one in self.receptacles}

    @cached_property
    def things(self) -> Mapping[str, Item]:
        """The items by name."""
        return {one.name: one for one in self.items}

    @property
    def held(self) -> str | None:
        """The thing that was taken last of those that are held."""
        return self.carried[0] if self.carried else None

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
        """The same belief without the present place, and without other players."""
        return replace(self, at=None, beside=(), others=())

    @property
    def alone(self) -> Belief:
        """The same belief without other players, who change every turn."""
        return replace(self, others=()) if self.others else self

    def receptacle(self, name: str | None) -> Receptacle | None:
        """The receptacle of this name, if known."""
        return self.places.get(name or "")

    def item(self, name: str | None) -> Item | None:
        """The object of this name, if it was seen."""
        return self.things.get(name or "")

    def here(self) -> tuple[Receptacle, ...]:
        """The receptacles known to be at the agent's location."""
        return self._here

    @cached_property
    def _here(self) -> tuple[Receptacle, ...]:
        standing = self.receptacle(self.at)
        return () if standing is None else tuple([one for one in self.receptacles if one.place == standing.place])

    def is_here(self, name: str) -> bool:
        """True if the receptacle of this name is known to be at the agent's location."""
        return self.places.get(name) in self._here

    def is_elsewhere(self, name: str) -> bool:
        """True if the receptacle of this name is known not to be at the agent's location."""
        there = self.receptacle(name)
        if there is None:
            return False
        if self.at is None:
            return True
        beside = [one.name for one in self.receptacles if one.place == there.place]
        return there not in self._here and any((one, other.name) in self.apart for one in beside for other in self._here)

    def is_occupied(self, name: str) -> bool:
        """True for a place at which another player stands, who will see what is there."""
        return any(one.at == name for one in self.others)

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
    return stem, int(number) if number.isdecimal() and len(number) < 10 else 0


T = TypeVar("T", Item, Receptacle)
MAX_TEXT = 50_000
_MAX_ITEMS = 3_000
NAME = r"[A-Za-z][\w-]{0,59} [0-9]{1,6}"
_ANY_NAME = re.compile(NAME, re.ASCII)
_SEEN = re.compile(r"(?:(?<=you see )|(?<=Its furniture: )|(?<=Also in it: ))an? [^.\n]*(?=\.)")
_LISTED = re.compile(rf"(?P<listed>an? (?P<name>{NAME})(?: \([a-z, ]*\))?)", re.ASCII)


def names(text: str) -> tuple[str, ...]:
    """The numbered names in ``text``, each once, in order."""
    return tuple(dict.fromkeys(_ANY_NAME.findall(text)))


def possible(commands: Iterable[str], hidden: Collection[str]) -> tuple[str, ...]:
    """Those ``commands`` that name nothing ``hidden``."""
    return tuple(command for command in commands if not any(name in hidden for name in names(command)))


def masked(text: str, hidden: Collection[str]) -> str:
    """``text`` without the ``hidden`` names in its lists; an empty list reads "nothing"."""

    def shortened(found: re.Match[str]) -> str:
        every = list(_LISTED.finditer(found[0]))
        left = [one["listed"] for one in every if one["name"] not in hidden]
        if len(left) == len(every):
            return found[0]
        *others, last = left or ["nothing"]
        before_last = ", and " if ", and " in found[0] else " and "
        return f"{', '.join(others)}{before_last}{last}" if others else last

    return _SEEN.sub(shortened, text) if hidden else text


def without(belief: Belief, hidden: Collection[str]) -> Belief:
    """``belief`` without the ``hidden`` names, as `masked` leaves them out of texts."""
    if not hidden:
        return belief

    def left(names: tuple[str, ...] | None) -> tuple[str, ...] | None:
        return None if names is None else tuple(name for name in names if name not in hidden)

    places = (replace(one, contents=left(one.contents)) for one in belief.receptacles if one.name not in hidden)
    items = (replace(one, inside=left(one.inside)) for one in belief.items if one.name not in hidden)
    return replace(belief, receptacles=tuple(places), items=tuple(items), beside=left(belief.beside) or ())


class BeliefBuilder:
    """Builds a belief from the facts in a text. Texts are untrusted, so items are bounded."""

    def __init__(self, belief: Belief) -> None:
        self.before = belief
        self.places = dict(belief.places)
        self.items = dict(belief.things)
        self.at, self.beside, self.apart = belief.at, belief.beside, belief.apart
        self.carried, self.rooms = belief.carried, belief.rooms
        self.others = {one.name: one for one in belief.others}

    def change(self, name: str, **known: Any) -> None:
        """Update the receptacle of this name, if there is one."""
        if name in self.places:
            self.places[name] = _with(self.places[name], **known)

    def learn(self, name: str, **known: Any) -> None:
        """Update an item, or add it. What lies somewhere is no longer carried by others."""
        if known.get("where") is not None:
            for one in self.others.values():
                if name in one.carried:
                    self.others[one.name] = replace(one, carried=tuple(each for each in one.carried if each != name))
        if name in self.items or len(self.items) < _MAX_ITEMS:
            self.items[name] = _with(self.items.get(name) or Item(name), **known)

    def hold(self, *names: str) -> None:
        """Take things of these names into the hands, as far as there are hands."""
        self.carried = (*names, *(one for one in self.carried if one not in names))[: self.before.hands]
        for name in self.carried:
            self.learn(name, where=None)

    def belief(self) -> Belief:
        """The belief as read so far."""
        return replace(
            self.before,
            receptacles=tuple(self.places.values()),
            items=tuple(self.items.values()),
            at=self.at,
            carried=self.carried,
            beside=self.beside,
            apart=self.apart,
            rooms=self.rooms,
            others=tuple(self.others.values()),
        )


def _with(one: T, **known: Any) -> T:
    """``one`` with the ``known`` fields; the same object if none changed, as is usual."""
    return one if all(getattr(one, name) == value for name, value in known.items()) else replace(one, **known)
