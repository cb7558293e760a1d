"""The observer without a model: what belief makes of the observations, in a few lines (OPEx, section 3, "LLM-based Observer").

OPEx lets a language model sum up what was seen; here belief does, which reads the same texts. Of all that is known it tells
what the plan speaks of, what is at hand, and where to look next: of each kind of place the first one not yet seen. It is
rendered anew at each turn, so that a prompt's prefix holds only as far as the plan; in return a prompt stays below a hundred
tokens however long the game is.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator

from worlds.household.belief import Belief, Item, Receptacle, kind

MOST_FOUND = 2
MOST_PLACES = 2
"""Of each kind."""
MOST_UNSEEN = 30
MOST_TRIED = 6
_WORD = re.compile(r"[a-z]+")
_NAME = re.compile(r"[a-z]+ [0-9]+")
_KEPT = re.compile(r"put it in the ([a-z]+) too")


def observed(belief: Belief, plan: str, tried: Collection[str] = ()) -> str:
    """What to know of a house for the next command.

    ``plan`` is any text; the kinds that it names are what it speaks of. ``tried`` are the commands that were given before in
    just this situation, and changed nothing or led back to it.
    """
    named = frozenset(_WORD.findall(plan.lower())) | frozenset(_NAME.findall(plan.lower()))
    lines = (
        ("Holding", _held(belief)),
        ("Here", "; ".join(_whole(belief, one) for one in belief.here()) or "nothing"),
        ("Found", ", ".join(_found(belief, named, plan.lower())) or "nothing"),
        ("Places", ", ".join(_places(belief, named, plan.lower())) or "nothing"),
        ("Unseen", " ".join(_unseen(belief, named)) or "nothing"),
        ("Tried", "; ".join(list(tried)[-MOST_TRIED:])),
    )
    return "\n".join(f"{label}: {text}" for label, text in lines if text)


def _held(belief: Belief) -> str:
    held = belief.item(belief.held)
    return "nothing" if held is None else _item(held)


def _item(item: Item) -> str:
    states = (("hot", item.heat == "hot"), ("cool", item.heat == "cool"), ("clean", item.clean), ("on", item.lit))
    return " ".join((item.name, *(word for word, true in states if true)))


def _whole(belief: Belief, one: Receptacle) -> str:
    """A receptacle at hand with all that is in it."""
    inside = belief.inside(one)
    things = ", ".join(inside) or ("empty" if one.contents is not None else "unseen")
    return f"{_place(one)}, {things}"


def _place(one: Receptacle) -> str:
    return f"{one.name} {one.openness}" if one.openness in {"open", "closed"} else one.name


def _found(belief: Belief, named: Collection[str], plan: str) -> Iterator[str]:
    """Things of the plan, nearest first; those that lie where the plan puts a second one are left there, so they come last."""
    here = {one.name for one in belief.here()}
    kept = frozenset(_KEPT.findall(plan))
    items = {item.name: item for item in belief.items}
    shown: Counter[str] = Counter()
    for one in sorted(belief.receptacles, key=lambda one: (one.kind in kept, one.name not in here, *_order(one))):
        for name in belief.inside(one):
            item = items[name]
            shown[item.kind] += item.kind in named
            if item.kind in named and shown[item.kind] <= MOST_FOUND:
                yield f"{_item(item)} in {one.name}{' here' if one.name in here else ''}"


def _places(belief: Belief, named: Collection[str], plan: str) -> Iterator[str]:
    """Of each kind that the plan names the first to go to; for a second thing that is where the first one lies."""
    kept = frozenset(_KEPT.findall(plan))

    def holding(one: Receptacle) -> int:
        return sum(kind(name) in named for name in belief.inside(one)) if one.kind in kept else 0

    here = {one.name for one in belief.here()}
    each: dict[str, list[Receptacle]] = {}
    for one in belief.receptacles:
        if one.kind in named:
            each.setdefault(one.kind, []).append(one)
    for one_kind in sorted(each):
        members = sorted(each[one_kind], key=lambda one: (-holding(one), one.name not in here, *_order(one)))
        yield from (f"{_place(one)}{' here' if one.name in here else ''}" for one in members[:MOST_PLACES])


def _order(one: Receptacle) -> tuple[int, str, int]:
    """The less there is to open the sooner, then by name."""
    return {"surface": 0, "open": 0, None: 1, "closed": 2}[one.openness], one.kind, _number(one)


def _unseen(belief: Belief, named: Collection[str]) -> Iterator[str]:
    """Of each kind the next place to look, and those that are named themselves."""
    each: dict[str, list[Receptacle]] = {}
    for one in belief.receptacles:
        if one.contents is None:
            each.setdefault(one.kind, []).append(one)
    shown: list[str] = []
    for members in each.values():
        members.sort(key=_number)
        shown += (one.name for at, one in enumerate(members) if at == 0 or one.name in named)
    return iter(shown[:MOST_UNSEEN])


def _number(one: Receptacle) -> int:
    return int(one.name.rpartition(" ")[2])
