"""What is read of household texts: the names in them, which can be left out, and a belief in the making.

Names are left out as PET's Eliminate module does (section 3.2): only lists are shortened ("you see a mug 1, and a pen 2.");
sentences about an action stay.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import replace
from typing import Any, TypeVar

from housequest.worlds.household.belief import Belief, Item, Receptacle

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


class Reading:
    """A belief in the making: takes in what a text says, which may be anything at all, so that items are bounded."""

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
