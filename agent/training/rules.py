"""What a rule is worth to the built-in model: steps with true, with false and with no rules on where things lie.

Three kinds of made-up houses: ordinary ones, and those of two altered habits that were never trained on.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import count, islice
from random import Random
from statistics import fmean
from time import perf_counter
from typing import Any

from agent.models.base import Model
from agent.setup import read_rules
from agent.training.corpus import EVALUATION_SEEDS
from agent.training.playing import Conditions, play, summary
from knowledge.choosing import RuleBudget
from worlds.alfworld.houses.generated import GeneratedTasks
from worlds.alfworld.houses.habits import counted
from worlds.alfworld.houses.house import House
from worlds.alfworld.world import AlfworldWorld
from worlds.base import Task
from worlds.household.belief import kind

HABITS: dict[str, dict[str, str]] = {
    "ordinary houses": {},
    "kitchen things in odd places": {"mug": "microwave", "knife": "garbagecan", "apple": "cabinet"},
    "all in the safe": {"book": "safe", "pillow": "safe", "keychain": "armchair", "cloth": "cart"},
}
"""Where some things lie, in place of where they lie in ``train``."""

TOLD = ("none", "learned", "true", "false")
"""No rules; the book that ships, which was counted over ``train``; one sentence that is right; one that is wrong."""

_WRONG = ("drawer", "shelf", "sofa", "fridge")


@dataclass(frozen=True, slots=True)
class Asked:
    """A house, with the thing that it asks for and the one kind of place where all such things lie."""

    task: Task
    thing: str
    place: str


def rules(model: Model, games: int) -> Iterable[dict[str, Any]]:
    """The figures of so many games of each habit, told each of ``TOLD``; ``steps`` counts lost games too."""
    book = read_rules("learned").offered
    for name, altered in HABITS.items():
        habits = counted()
        for thing, place in altered.items():
            habits = habits.placing(thing, {place: 1})
        world = AlfworldWorld(habits=habits)
        asked = list(islice(asking(GeneratedTasks(habits), altered), games))
        for told in TOLD:
            began = perf_counter()
            played = [
                play(world, one.task, model, Conditions(rules=book if told == "learned" else _sentence(one, told)))
                for one in asked
            ]
            figures = summary(f"{name}, rules {told}", played, perf_counter() - began)
            yield figures | {"steps": round(fmean(game.steps for game in played), 2)}


def _sentence(asked: Asked, told: str) -> RuleBudget | None:
    """The one rule on where the thing lies, in words that were not trained on."""
    if told == "none":
        return None
    wrong = Random(f"false {asked.task.number}").choice([place for place in _WRONG if place != asked.place])
    return RuleBudget.of_statements(
        [f"In this house every {asked.thing} is kept in the {asked.place if told == 'true' else wrong}."]
    )


def asking(houses: GeneratedTasks, altered: Mapping[str, str]) -> Iterable[Asked]:
    """The houses for evaluation, in turn, that ask for something altered; where nothing is, for anything that lies in one
    kind of place alone, so that a true sentence can be told."""
    for seed in count(EVALUATION_SEEDS):
        house = houses.house(seed)
        thing = house.goal.object
        places = {altered[thing]} if thing in altered else _places(house) if not altered else set[str]()
        if len(places) == 1:
            yield Asked(houses[seed], thing, *places)


def _places(house: House) -> set[str]:
    """The kinds of place where all that the house asks for lies."""
    game = house.game
    return {
        kind(place)
        for place, inside in zip(game.receptacles, game.start.contents, strict=True)
        if any(kind(game.objects[one]) == house.goal.object for one in inside)
    }
