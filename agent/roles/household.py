"""A household's belief in words, which replaces what the papers' planners, observers and advisors take from images."""

from __future__ import annotations

from collections.abc import Collection

from housequest.worlds.household.belief import Belief, Item, Receptacle, kind

MOST_THINGS = 120
NOTHING = "nothing"


def found_items(belief: Belief) -> str:
    """The objects that were seen, each with where it is now."""
    named: list[str] = []
    for item in belief.items:
        where = " and ".join(one.name for one in belief.holders(item.name)) or "somewhere"
        named.append(f"{_with_state(item)} ({'in the hand' if item.name in belief.carried else where})")
    more = [f"and {len(named) - MOST_THINGS} more"] if len(named) > MOST_THINGS else []
    return ", ".join([*named[:MOST_THINGS], *more]) or NOTHING


def here_text(belief: Belief) -> str:
    """The receptacles at this location, with their known contents."""
    return "; ".join(_contents(belief, one) for one in belief.here()) or NOTHING


def held_text(belief: Belief) -> str:
    """What is in the hands."""
    held = (belief.item(name) for name in belief.carried)
    return " and ".join(_with_state(item) for item in held if item) or NOTHING


def seen_in(belief: Belief, left: Collection[str]) -> str:
    """The receptacles but those that are ``left``, each with the kinds of object in it."""
    looked = [one for one in belief.receptacles if one.name not in left]
    found = [
        f"{one.name} ({', '.join(dict.fromkeys(map(kind, belief.inside(one)[:MOST_THINGS]))) or 'empty'})"
        if one.contents is not None
        else one.name
        for one in looked
    ]
    return ", ".join(found) or "none yet"


def _contents(belief: Belief, one: Receptacle) -> str:
    if one.openness == "closed":
        return f"{one.name} (closed)"
    inside = ", ".join(belief.inside(one)[:MOST_THINGS])
    return f"{one.name}: {inside or ('not looked into yet' if one.contents is None else 'empty')}"


def _with_state(item: Item) -> str:
    states = {"clean": item.clean, "sliced": item.sliced, "on": item.lit}
    heat = [item.heat] if item.heat in {"hot", "cool"} else []
    return " ".join([*heat, *(word for word, true in states.items() if true), item.name])
