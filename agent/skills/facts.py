"""What is believed, in the few words that planners are told: what was found, what is in front, what is held.

In the papers this is what a detector saw; here it is what the text has told.
"""

from __future__ import annotations

from worlds.household.belief import Belief, Item, Receptacle

MOST_THINGS = 120
NOTHING = "nothing"


def found(belief: Belief) -> str:
    """The objects that were seen, each with where it is now."""
    named = [f"{_stated(item)} ({_where(belief, item)})" for item in belief.items]
    more = [f"and {len(named) - MOST_THINGS} more"] if len(named) > MOST_THINGS else []
    return ", ".join([*named[:MOST_THINGS], *more]) or NOTHING


def here(belief: Belief) -> str:
    """The receptacles at this location, with what they are known to hold."""
    return "; ".join(_seen(belief, one) for one in belief.here()) or NOTHING


def held(belief: Belief) -> str:
    """What is in the hand."""
    item = belief.item(belief.held)
    return _stated(item) if item else NOTHING


def places(belief: Belief) -> str:
    """The kinds of receptacle in the house, in the order of the opening."""
    return ", ".join(dict.fromkeys(one.kind for one in belief.receptacles)) or NOTHING


def _where(belief: Belief, item: Item) -> str:
    if item.name == belief.held:
        return "in the hand"
    return " and ".join(one.name for one in belief.holders(item.name)) or "somewhere"


def _seen(belief: Belief, one: Receptacle) -> str:
    if one.openness == "closed":
        return f"{one.name} (closed)"
    inside = ", ".join(belief.inside(one)[:MOST_THINGS])
    return f"{one.name}: {inside or ('not looked into yet' if one.contents is None else 'empty')}"


def _stated(item: Item) -> str:
    words = [word for word, true in (("hot", item.heat == "hot"), ("cool", item.heat == "cool")) if true]
    words += [word for word, true in (("clean", item.clean), ("sliced", item.sliced), ("on", item.lit)) if true]
    return f"{' '.join([*words, item.name])}"
