"""Messages between players: values that are said as sentences and read back, and free text.

A player cannot see what others are about to fetch, what they have heated or washed, and what lies in another room; it has to be
told. Goals are counted from 1, in the order in which the task names them. What is said is a claim of its speaker, not a fact.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from housequest.worlds.household.belief import NAME, names
from housequest.worlds.text import cut_at_word, printable, with_article

LONGEST_SAID = 500  # characters
_MOST_NAMED = 12  # things in one message


@dataclass(frozen=True, slots=True)
class Claimed:
    """The speaker fetches a thing, or any of a kind, and brings it to a target, by kind or name."""

    goal: int
    thing: str
    target: str

    def __str__(self) -> str:
        return f"I take the {self.thing} to the {self.target}, for goal {self.goal}."


@dataclass(frozen=True, slots=True)
class Finished:
    """The speaker has reached a goal, or a part of it, with a thing at a place."""

    goal: int
    thing: str
    place: str

    def __str__(self) -> str:
        return f"Goal {self.goal} is done with the {self.thing}, at the {self.place}."


@dataclass(frozen=True, slots=True)
class Saw:
    """The speaker saw things in or on a place: at most 12 by name, and none if nothing there is wanted."""

    place: str
    things: tuple[str, ...] = ()

    def __str__(self) -> str:
        found = " and ".join(map(with_article, self.things[:_MOST_NAMED])) or "nothing that we need"
        return f"At the {self.place}, I saw {found}."


@dataclass(frozen=True, slots=True)
class Dropped:
    """The speaker no longer works at a goal."""

    goal: int

    def __str__(self) -> str:
        return f"I leave goal {self.goal} to somebody else."


Talk = Claimed | Finished | Saw | Dropped
_KIND = r"[A-Za-z][\w-]{0,59}(?: [0-9]{1,6})?"
_GOAL = r"goal (?P<goal>[1-9][0-9]{0,2})"
_SEEN = rf"nothing that we need|an? {NAME}(?: and an? {NAME}){{0,{_MOST_NAMED - 1}}}"
_CLAIMED, _FINISHED, _SAW, _DROPPED = (
    re.compile(form, re.ASCII)
    for form in (
        rf"I take the (?P<thing>{_KIND}) to the (?P<target>{_KIND}), for {_GOAL}\.",
        rf"G{_GOAL[1:]} is done with the (?P<thing>{_KIND}), at the (?P<place>{_KIND})\.",
        rf"At the (?P<place>{NAME}), I saw (?P<things>{_SEEN})\.",
        rf"I leave {_GOAL} to somebody else\.",
    )
)
_QUOTED = re.compile(r'(?P<who>[^\W\d_]{1,20}) says: "(?P<said>[^\n]*)"')


def read_talk(said: str) -> Talk | None:
    """The message that a sentence states; None for any other text."""
    said = said[: 2 * LONGEST_SAID].strip()
    if found := _CLAIMED.fullmatch(said):
        return Claimed(int(found["goal"]), found["thing"], found["target"])
    if found := _FINISHED.fullmatch(said):
        return Finished(int(found["goal"]), found["thing"], found["place"])
    if found := _SAW.fullmatch(said):
        return Saw(found["place"], names(found["things"]))
    return Dropped(int(found["goal"])) if (found := _DROPPED.fullmatch(said)) else None


def free_text(said: str) -> str:
    """The words of a person or a model, as one printable line of at most `LONGEST_SAID` characters; "" if nothing is left."""
    return cut_at_word(" ".join(printable(said[: 4 * LONGEST_SAID]).split()), LONGEST_SAID)


def read_quoted(sentence: str) -> tuple[str, str] | None:
    """The player and the words of a sentence of `quoted`; None for any other text."""
    found = _QUOTED.fullmatch(sentence[: 3 * LONGEST_SAID])
    return (found["who"], found["said"]) if found else None


def quoted(who: str, said: str) -> str:
    """Tell what somebody says, as news."""
    return f'{who} says: "{said}"'
