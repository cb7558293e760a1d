"""Resolves a planner's word for a thing to the game's name or kind.

Models write ``SinkBasin``, ``the sink basin`` or ``AppleSliced`` for what the text calls ``sinkbasin 1`` and ``apple 1``; the
papers' own examples do.
"""

from __future__ import annotations

import re
from collections.abc import Collection

from housequest.worlds.household.belief import kind
from housequest.worlds.household.goals import SYNONYMS

LONGEST_NAME = 80

_PLANNERS = {word: (name,) for word, name in SYNONYMS.items()} | {
    **dict.fromkeys(("faucet", "tap"), ("sinkbasin", "faucet")),
    **dict.fromkeys(("burner", "stove"), ("stoveburner",)),
    "cupboard": ("cabinet", "kitchencabinet"),
    "diningtable": ("kitchentable",),
    "fork": ("cutleryfork",),
    "knife": ("cutleryknife",),
    "oven": ("stove",),
    "television": ("tv",),
}
"""What planners call things, by the names that worlds have for them."""
PEOPLE = {
    **dict.fromkeys(("cold box", "ice box", "icebox", "freezer", "cooler"), ("fridge",)),
    **dict.fromkeys(("rubbish", "rubbish bin", "dustbin", "waste bin", "waste basket"), ("garbagecan",)),
    **dict.fromkeys(("worktop", "work top", "kitchen top"), ("countertop", "kitchencounter")),
    **dict.fromkeys(("micro wave", "micro"), ("microwave",)),
    **dict.fromkeys(("cooker", "hob"), ("stoveburner", "stove")),
    **dict.fromkeys(("wash basin", "washbasin"), ("sinkbasin", "sink")),
    **dict.fromkeys(("bedside table", "night table"), ("sidetable", "nightstand")),
    "chest of drawers": ("dresser",),
    "settee": ("sofa",),
}
"""What people call things besides."""
CALLED = _PLANNERS | {said.replace(" ", ""): kinds for said, kinds in PEOPLE.items()}
"""All that people and planners call things, without spaces."""
ALIKE = (frozenset({"cup", "mug"}), frozenset({"desklamp", "floorlamp"}))
"""Kinds that people and planners take for each other."""
_SHORTEST_ENDING = 4

_NUMBERED = re.compile(r"(?P<words>.*?)[\s_]*(?P<number>\d{1,6})?", re.ASCII)
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+", re.ASCII)
_ARTICLES = frozenset({"a", "an", "the", "some", "another", "one", "any"})


def resolve(said: str, kinds: Collection[str], names: Collection[str] | None = None) -> str | None:
    """The kind among ``kinds``, or with a number the name, that ``said`` means; None if there is none.

    ``names`` are those of what was seen. Another name is accepted if its kind is known, since it may still be found; but a
    part of a kind's name ("glass") means only what was seen, or it would be a showerglass in every kitchen.
    """
    seen = kinds if names is None else {*map(kind, names)}
    names = names or ()
    bare = " ".join(said[:LONGEST_NAME].split())
    if bare in names or bare in kinds:
        return bare
    found = _NUMBERED.fullmatch(bare)
    if found is None:
        return None
    words = [word.lower() for word in _WORD.findall(found["words"])]
    words = [word for word in words if word not in _ARTICLES and word != "sliced"]
    known = {*kinds, *map(kind, names)}
    # Take the longest ending that is a name; adjectives may precede it ("clean mug").
    for start in range(len(words)):
        named = kind_of("".join(words[start:]), known, seen)
        if named is not None:
            return f"{named} {int(found['number'])}" if found["number"] else named
    return None


def matches(name: str, wanted: str) -> bool:
    """Whether the thing called ``name`` is ``wanted``, a name or a kind."""
    return wanted in (name, kind(name))


def kinds_ending(word: str, kinds: Collection[str]) -> tuple[str, ...]:
    """The ``kinds`` that end in ``word``, by name: a "table" may be a diningtable or a sidetable."""
    return tuple(sorted(kind for kind in kinds if kind.endswith(word))) if len(word) >= _SHORTEST_ENDING else ()


def kind_of(joined: str, kinds: Collection[str], by_ending: Collection[str] | None = None) -> str | None:
    """The one of ``kinds`` that a word without spaces means, in the singular or plural; None if there is none.

    It may also be the ending of one kind's name; ``by_ending`` are the kinds that are meant in this way, if not all.
    """
    forms = (joined, joined.removesuffix("s"), joined.removesuffix("es"), f"{joined.removesuffix('ves')}f")
    plain = next((form for form in forms if form in kinds), None)
    other = plain or next((name for form in forms for name in CALLED.get(form, ()) if name in kinds), None)
    if other:
        return other
    endings = {kind for form in forms for kind in kinds_ending(form, kinds if by_ending is None else by_ending)}
    return endings.pop() if len(endings) == 1 else None
