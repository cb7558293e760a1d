"""Goals as sentences, and sentences read as goals: exactly for our own, by the words in them for people's."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import cache

from housequest.worlds.graphs.goals import Condition, GraphGoal, How

_COMPOUNDS = """
    bar-of-soap bathroom-cabinet bathroom-counter bottle-of-water cell-phone coffee-maker coffee-pot coffee-table
    condiment-bottle condiment-shaker cutlery-fork cutlery-knife dish-bowl dish-washing-liquid face-cream frying-pan
    garbage-can hair-product kitchen-cabinet kitchen-counter kitchen-counter-drawer kitchen-table light-switch living-room
    pound-cake remote-control table-lamp toilet-paper tv-stand washing-machine water-glass wine-glass
"""
_SPOKEN = {word.replace("-of-", "").replace("-", ""): word.replace("-", " ") for word in _COMPOUNDS.split()}
_ALSO = {
    "couch": "sofa",
    "dinner table": "kitchentable",
    "dining table": "kitchentable",
    "dish washer": "dishwasher",
    "fork": "cutleryfork",
    "refrigerator": "fridge",
}
"""What else people call things; a "glass" or a "table" may be two, and so is neither."""
_OLDER = {
    "couch": "sofa",
    "dining_table": "kitchentable",
    "drinking_glass": "waterglass",
    "fork": "cutleryfork",
    "freezer": "fridge",
    "phone": "cellphone",
    "table": "kitchentable",
}
"""What VirtualHome's older graphs call classes, but for the _ between words."""
_CLASSES = {words: kind for kind, words in _SPOKEN.items()}
_NUMBERS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_SWITCHING = re.compile(r"\b(?:switch|turn)\w*\b[^.]*\bon\b|\b(?:run|start)\b")
_INSIDE = frozenset({"dishwasher", "fridge", "microwave", "stove", "washingmachine"})
_RUN = _INSIDE - {"fridge"}
"""What is filled and then switched on; a fridge is on."""
_MAX_SENTENCE = 4_000


@dataclass(frozen=True, slots=True)
class Wanted:
    """A goal as a sentence tells it: how many of what, where, and whether that is switched on in the end."""

    things: Mapping[str, int]
    how: How
    place: str
    switched: bool = False

    def __str__(self) -> str:
        things = _and(_several(count, kind) for kind, count in self.things.items())
        where = f"{'in' if self.how == 'inside' else 'on'} the {spoken(self.place)}"
        return f"put {things} {where}{' and switch it on' if self.switched else ''}"


def spoken(kind: str) -> str:
    """A class in words: "wine glass"."""
    return _SPOKEN.get(kind, kind.replace("_", " "))


def modern(kind: str) -> str:
    """What a class of VirtualHome's older graphs, such as ``coffee_table`` or ``freezer``, is called in WAH-NL's."""
    return _OLDER.get(kind, kind.replace("_", ""))


def sentence(goal: GraphGoal) -> str:
    """A goal in our own words."""
    groups: dict[tuple[How, str], list[Condition]] = {}
    for one in goal.conditions:
        groups.setdefault((one.how, one.at), []).append(one)
    parts: list[str] = []
    for (how, place), conditions in groups.items():
        if how == "turnOn":
            it = "it" if len(groups) == 2 and parts and all(at == place for _, at in groups) else f"the {spoken(place)}"
            parts.append(f"switch {it} on")
        else:
            things = _and(_several(one.count, one.kind) for one in conditions)
            parts.append(f"put {things} {'in' if how == 'inside' else 'on'} the {spoken(place)}")
    return f"{_and(parts)}."


def read_sentence(said: str, kinds: Collection[str]) -> Wanted | None:
    """What a sentence wants, of things that are among ``kinds``; None if no one place and no thing can be made out.

    Kinds are classes or what these are called: "wineglass" or "wine glass".

    Our own are read as they are meant. In others each thing that is named is wanted as often as a number before it says, at the
    last place that is named after ``on``, ``in`` or ``into``.
    """
    words = said[:_MAX_SENTENCE].lower()
    names = {form: kind for kind in kinds for form in _forms(kind)}
    called = {_CLASSES.get(kind, kind): kind for kind in kinds}
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
            things[kind] = _number(found["number"])
    things.pop(place, None)
    if not place or not things:
        return None
    at = modern(_CLASSES.get(place, place))
    switched = at in _RUN and _SWITCHING.search(words) is not None
    return Wanted(things, "inside" if at in _INSIDE else "on", place, switched)


def _number(word: str | None) -> int:
    if word is None or word in ("a", "an"):
        return 1
    return int(word) if word.isdecimal() else _NUMBERS.index(word)


@cache
def _forms(kind: str) -> tuple[str, ...]:
    """What a class is called, in the singular and plural."""
    return tuple({form: None for name in (spoken(kind), kind) for form in (name, _plural(name))})


def _plural(name: str) -> str:
    head, of, rest = name.partition(" of ")
    if head.endswith(("s", "sh", "ch", "x")):
        several = f"{head}es" if not head.endswith("chips") else head
    elif head.endswith("fe"):
        several = f"{head[:-2]}ves"
    else:
        several = f"{head}s"
    return several + of + rest


def _several(count: int, kind: str) -> str:
    name = spoken(kind)
    return f"{_NUMBERS[count] if count < len(_NUMBERS) else count} {name if count == 1 else _plural(name)}"


def _and(parts: Iterable[str]) -> str:
    *most, last = parts
    return f"{', '.join(most)} and {last}" if most else last
