"""What a goal asks for, counted in a simulator as ALFRED's evaluation does (its ``tasks.py``): for the recorder alone.

ALFRED looks for a kind's name anywhere in an id, so that a potato is also a pot, a pencil a pen and a butter knife a knife.
Here kinds are equal or they are not, and a slice is no whole: the one difference, which makes no goal easier.
"""

from __future__ import annotations

from collections.abc import Iterable

from housequest.worlds.alfred.scoring import AlfredGoal
from housequest.worlds.alfred.simulator.base import Event, SimulatedObject
from housequest.worlds.household.goals import TYPES


def conditions(goal: AlfredGoal, event: Event) -> tuple[int, int]:
    """(met, total) of the goal's conditions after ``event``."""
    return _met(goal, event), goal.total


def _met(goal: AlfredGoal, event: Event) -> int:
    objects = event.objects
    mine = [one for one in _of_kind(f"{goal.object}sliced" if goal.sliced else goal.object, objects) if one.pickupable]
    receptacles = [one for one in _of_kind(goal.receptacle, objects) if one.receptacle]
    placed = {one.id for one in mine if any(_in(one, there) for there in receptacles)}
    sliced = min(len(mine), 2 if goal.type == "pick_two_obj_and_place" else 1) if goal.sliced else 0
    match goal.type:
        case "pick_and_place_simple":
            return sliced + bool(placed)
        case "pick_two_obj_and_place":
            together = max((sum(_in(one, there) for one in mine) for there in receptacles), default=0)
            return sliced + min(together, 2)
        case "look_at_obj_in_light":
            lamps = [one for one in _of_kind(goal.lamp, objects) if one.toggleable and one.on]
            seen = event.visible() if lamps else frozenset[str]()
            return sliced + any(one.id == event.held for one in mine) + any(one.id in seen for one in lamps)
        case "pick_and_place_with_movable_recep":
            movables = [one for one in _of_kind(goal.movable, objects) if one.pickupable]
            there = [one for one in movables if any(_in(one, place) for place in receptacles)]
            filled = any(_in(one, movable) for one in mine for movable in movables)
            return sliced + filled + bool(there) + any(_in(one, movable) for one in mine for movable in there)
        case type:
            cleaned, heated, cooled = event.treated.cleaned, event.treated.heated, event.treated.cooled
            ever: dict[str, frozenset[str]] = {TYPES["clean"]: cleaned, TYPES["heat"]: heated, TYPES["cool"]: cooled}
            treated = {one.id for one in mine} & ever[type]
            return sliced + bool(placed) + bool(treated) + bool(placed & treated)


def _of_kind(kind: str | None, objects: Iterable[SimulatedObject]) -> list[SimulatedObject]:
    return [one for one in objects if one.kind.casefold() == kind]


def _in(one: SimulatedObject, receptacle: SimulatedObject) -> bool:
    return receptacle.id in one.parents
