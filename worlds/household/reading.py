"""What the readers of household texts share: a belief in the making, whose receptacles and items are changed by name."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, TypeVar

from housequest.worlds.household.belief import Belief, Item, Receptacle

T = TypeVar("T", Item, Receptacle)


MAX_TEXT = 50_000
_MAX_ITEMS = 3_000


class Reading:
    """Takes in what a text says, which may be anything at all, so that items are bounded."""

    def __init__(self, belief: Belief) -> None:
        self.before = belief
        self.places = {one.name: one for one in belief.receptacles}
        self.items = {one.name: one for one in belief.items}
        self.at = belief.at

    def change(self, name: str, **known: Any) -> None:
        """Take in what is known of a receptacle, if there is one of this name."""
        if name in self.places:
            self.places[name] = _with(self.places[name], **known)

    def learn(self, name: str, **known: Any) -> None:
        """Take in what is known of an item that was seen."""
        if name in self.items or len(self.items) < _MAX_ITEMS:
            self.items[name] = _with(self.items.get(name) or Item(name), **known)

    def whole(self, **known: Any) -> Belief:
        """The belief as read so far, with what is ``known`` beside."""
        found = {"receptacles": tuple(self.places.values()), "items": tuple(self.items.values()), "at": self.at, **known}
        return replace(self.before, **found)


def _with(one: T, **known: Any) -> T:
    """``one`` with what is now known of it; most of a house is as it was, and is kept rather than made again."""
    return one if all(getattr(one, name) == value for name, value in known.items()) else replace(one, **known)
