"""Goals: counts of things on or in something, and things switched on; and their sentences, our own and people's.

They are counted as in LoTa-Bench: all conditions are measured at one instance of the class that the first one names, such as
one of two kitchen tables. It is the one with the best mean of ``min(n, wanted) / wanted``. Our own sentences are read exactly,
and people's by the words in them.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from math import lcm
from pathlib import Path
from typing import Any, Literal, NamedTuple

from housequest.worlds.graphs.graph import Graph, plain
from housequest.worlds.household.goals import TYPES, Goal
from housequest.worlds.text import plural_of

How = Literal["on", "inside", "turnOn"]  # VirtualHome's words.


@dataclass(frozen=True, slots=True)
class Condition:
    """``count`` things of class ``kind`` are on or inside of something of class ``where``, or ``kind`` is switched on."""

    how: How
    kind: str
    where: str | None = None
    count: int = 1

    @property
    def at(self) -> str:
        """The class of thing at which this is measured."""
        return self.where or self.kind


class GraphGoal(NamedTuple):
    """All conditions of a task, in the order of its file; at least one."""

    conditions: tuple[Condition, ...]

    @property
    def at(self) -> Condition:
        """The condition that says where all is measured."""
        return self.conditions[0]

    @property
    def total(self) -> int:
        return sum(one.count for one in self.conditions)


def met(goal: GraphGoal, graph: Graph) -> tuple[int, int]:
    """The met part of a goal and the whole: sums of ``min(n, wanted)`` and of ``wanted``. Among places with the same mean, the
    one with the larger sum counts, so that ids never decide."""
    at, whole, best = goal.at.at, lcm(*(one.count for one in goal.conditions)), (0, 0)
    for id in graph.apartment.classes.get(at, ()):
        there = [min(one.count, _count(one, graph, id if one.at == at else None)) for one in goal.conditions]
        # The mean in whole numbers: rounding would decide between equal ones.
        mean = sum(n * (whole // one.count) for n, one in zip(there, goal.conditions, strict=True))
        best = max(best, (mean, sum(there)))
    return best[1], goal.total


def _count(condition: Condition, graph: Graph, id: int | None) -> int:
    if id is None:
        return max((_count(condition, graph, other) for other in graph.apartment.classes.get(condition.at, ())), default=0)
    if condition.how == "turnOn":
        return int("ON" in graph.state(id))
    inside = graph.children(id, "ON" if condition.how == "on" else "INSIDE")
    return sum(graph.node(one).kind == condition.kind for one in inside)


WORDS: dict[str, Any] = tomllib.loads(Path(__file__).with_name("words.toml").read_text("utf-8"))
_SPOKEN = {word.replace("-of-", "").replace("-", ""): word.replace("-", " ") for word in WORDS["compounds"].split()}
_ALSO: Mapping[str, str] = WORDS["also"]
_OLDER: Mapping[str, str] = WORDS["older"]
_CLASSES = {words: kind for kind, words in _SPOKEN.items()}
_NUMBERS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_SWITCHING = re.compile(r"\b(?:switch|turn)\w*\b[^.]*\bon\b|\b(?:run|start)\b")
_INSIDE = frozenset({"dishwasher", "fridge", "microwave", "stove", "washingmachine"})
_RUN = _INSIDE - {"fridge"}  # These are filled and then switched on; a fridge is on.
_MAX_SENTENCE = 4_000


class Wanted(NamedTuple):
    """A goal as read from a sentence: the number of each thing, the place, and whether that is switched on in the end."""

    things: Mapping[str, int]
    how: How
    place: str
    switched: bool = False

    def __str__(self) -> str:
        things = listed([_several(count, kind) for kind, count in self.things.items()])
        where = f"{'in' if self.how == 'inside' else 'on'} the {spoken(self.place)}"
        return f"put {things} {where}{' and switch it on' if self.switched else ''}"

    def goals(self) -> tuple[Goal, ...]:
        """The parts that players divide, one for each kind of thing."""
        return tuple(Goal(TYPES["place"], thing, self.place, count=count) for thing, count in self.things.items())

    def clauses(self) -> tuple[str, ...]:
        """The `goals` in words."""
        return tuple(str(self._replace(things={thing: count}, switched=False)) for thing, count in self.things.items())


def spoken(kind: str) -> str:
    """A class in words: "wine glass"."""
    return _SPOKEN.get(plain(kind), kind.replace("_", " "))


def modern(kind: str) -> str:
    """WAH-NL's name for a class of VirtualHome's older graphs, such as ``coffee_table`` or ``freezer``."""
    return _OLDER.get(plain(kind), plain(kind))


def sentence(goal: GraphGoal) -> str:
    groups: dict[tuple[How, str], list[Condition]] = {}
    for one in goal.conditions:
        groups.setdefault((one.how, one.at), []).append(one)
    parts: list[str] = []
    for (how, place), conditions in groups.items():
        if how == "turnOn":
            it = "it" if len(groups) == 2 and parts and all(at == place for _, at in groups) else f"the {spoken(place)}"
            parts.append(f"switch {it} on")
        else:
            things = listed([_several(one.count, one.kind) for one in conditions])
            parts.append(f"put {things} {'in' if how == 'inside' else 'on'} the {spoken(place)}")
    return f"{listed(parts)}."


def read_sentence(said: str, kinds: Collection[str]) -> Wanted | None:
    """The goal in a sentence, about things among ``kinds``; None if it names no place or no thing. Kinds are classes or their
    names: "wineglass" or "wine glass". Our own sentences are read exactly. In others each named thing is wanted in the number
    before it, at the last place named after ``on``, ``in`` or ``into``."""
    words = said[:_MAX_SENTENCE].lower()
    names = {form: kind for kind in kinds for form in _forms(kind)}
    called = {_CLASSES.get(kind, plain(kind)): kind for kind in kinds}
    names |= {form: called[kind] for other, kind in _ALSO.items() if kind in called for form in (other, _plural(other))}
    if not names:
        return None
    longest = "|".join(re.escape(name) for name in sorted(names, key=lambda name: (-len(name), name)))
    number = rf"(?:(?P<number>\d{{1,2}}|{'|'.join(_NUMBERS)}|an?)\s+)?"
    place, things = "", dict[str, int]()
    for found in re.finditer(
        rf"(?P<to>\b(?:on|in|into|onto|inside)\s+(?:the|a|my|your)?\s*)?{number}\b(?P<name>{longest})\b", words
    ):
        kind = names[found["name"]]
        if found["to"]:
            place = kind
        elif found["number"] or kind not in things:
            word = found["number"] or "one"
            things[kind] = int(word) if word.isdecimal() else 1 if word in ("a", "an") else _NUMBERS.index(word)
    things.pop(place, None)
    if not place or not things:
        return None
    at = modern(_CLASSES.get(place, place))
    switched = at in _RUN and _SWITCHING.search(words) is not None
    return Wanted(things, "inside" if at in _INSIDE else "on", place, switched)


@cache
def _forms(kind: str) -> tuple[str, ...]:
    return tuple({form: None for name in (spoken(kind), kind) for form in (name, _plural(name))})


def _plural(name: str) -> str:
    head, of, rest = name.partition(" of ")
    return (head if head.endswith("chips") else plural_of(head)) + of + rest


def _several(count: int, kind: str) -> str:
    name = spoken(kind)
    return f"{_NUMBERS[count] if count < len(_NUMBERS) else count} {name if count == 1 else _plural(name)}"


def listed(things: Sequence[str]) -> str:
    *most, last = things or ("nothing",)
    return f"{', '.join(most)} and {last}" if most else last
