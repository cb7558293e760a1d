"""The made-up houses of the world ``alfred``: ALFWorld's, some with a goal that only ALFRED has."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache

from housequest.worlds.alfred.simulator.base import MOVABLE, SLICES, kind_named
from housequest.worlds.alfred.tasks import STACK, AlfredGoal
from housequest.worlds.alfworld.houses.house import Dice, GeneratedHouses, House
from housequest.worlds.alfworld.text import load_counts
from housequest.worlds.base import Task
from housequest.worlds.household.belief import kind
from housequest.worlds.household.goals import KNIVES

GOALS = 1  # Increase it whenever a seed would give another goal.
_STACKED = 5  # One of this many houses that allow stacks asks for one, so all seven types are about as frequent.
_SLICED = 2  # One of this many goals with a sliceable thing asks for slices.
_KEPT = 256


class AlfredHouses(GeneratedHouses):
    """The split ``generated``: ALFWorld's house of each seed, with its goal, or with one about slices or a stack."""

    def __init__(self) -> None:
        super().__init__(world="alfred")
        self.goal = lru_cache(_KEPT)(self._goal)
        """The goal of a seed's house. Raises as `make_house`."""

    def _task(self, seed: int) -> Task:
        goal = self.goal(seed)
        return replace(super()._task(seed), type=goal.type, goal=goal.sentence)

    def _goal(self, seed: int) -> AlfredGoal:
        house, dice = self.house(seed), Dice(f"alfred {seed}")
        goal = AlfredGoal(house.goal.type, house.goal.object, receptacle=house.goal.receptacle, lamp=house.goal.lamp)
        stacks = sorted(_stacks(house))
        if stacks and dice.happens(1, _STACKED):
            thing, movable, place = dice.choose(stacks)
            goal = AlfredGoal(STACK, thing, receptacle=place, movable=movable)
        # An egg has no slices: it is cracked.
        slices = SLICES.get(kind_named(goal.object), ("", 0))[0] == f"{kind_named(goal.object)}Sliced"
        knife = any(kind(name) in KNIVES for name in house.game.objects)
        return replace(goal, sliced=True) if slices and knife and dice.happens(1, _SLICED) else goal


def _stacks(house: House) -> Iterator[tuple[str, str, str]]:
    """The stacks that a house allows and does not start with: a thing, a movable receptacle, and a place."""
    game, accepts = house.game, load_counts().accepts
    holders: dict[str, set[str]] = {}
    for number, inside in enumerate(game.start.contents):
        for thing in inside:
            holders.setdefault(kind(game.objects[thing]), set()).add(kind(game.receptacles[number]))
    for outer, takes in MOVABLE.items():
        movable = outer.lower()
        for place in {kind(name) for name in game.receptacles} - holders.get(movable, set()) if movable in holders else ():
            if movable in accepts.get(place, ()):
                for thing in holders.keys() & {one.lower() for one in takes}:
                    yield thing, movable, place
