"""The model that ships plays the houses that ship."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from itertools import pairwise

import pytest

from housequest.agent.agents.reasoner_actor.agent import READINGS
from housequest.agent.agents.spec import make_agent
from housequest.agent.episodes.config import EpisodeConfig
from housequest.agent.episodes.events import CallTiming, Ended, Event, ModelCall, Stepped
from housequest.agent.episodes.loop import run_episode
from housequest.agent.episodes.resume import resume_episode
from housequest.agent.models.registry import make_model
from housequest.knowledge.choosing import RuleBudget
from housequest.knowledge.rulebook import library
from housequest.worlds.alfworld.engine.native import NativeEnv
from housequest.worlds.alfworld.houses.house import make_house
from housequest.worlds.base import Env, World
from housequest.worlds.registry import make_world
from tests.agent.agents.test_brief import goes_on_otherwise

pytestmark = pytest.mark.heavy

FREE = "I want the pizza in the fridge"
HOUSES = ("example:1", "example:2", "example:3")


def opened(world: World, house: str, goal: str = "") -> Env:
    """The house; with a ``goal`` of other words, a made-up one."""
    task = world.task(house)
    return NativeEnv(replace(task, goal=goal), make_house(task.number).game) if goal else world.open(task)


async def played(
    houses: tuple[str, ...], grants: frozenset[str] = frozenset(), goal: str = "", rules: RuleBudget | None = None
) -> list[list[Event]]:
    """The houses, all at once."""
    world, model = make_world(), make_model("builtin")

    async def one(house: str) -> list[Event]:
        told: list[Event | CallTiming] = []
        agent = make_agent("reasoner-actor", world=world, model=model)
        await run_episode(opened(world, house, goal), agent, EpisodeConfig(world, grants, rules=rules), told.append)
        return [event for event in told if isinstance(event, Event)]

    try:
        return await asyncio.gather(*(one(house) for house in houses))
    finally:
        await model.aclose()


def outcome(told: list[Event]) -> str:
    assert isinstance(told[-1].body, Ended)
    return told[-1].body.outcome


@pytest.mark.parametrize("grants", [frozenset[str](), frozenset({"admissible"})], ids=["freely", "admissible"])
def test_it_wins_a_kitchen_and_a_bedroom(grants: frozenset[str]) -> None:
    assert [outcome(told) for told in asyncio.run(played((HOUSES[0], HOUSES[2]), grants))] == ["won", "won"]


def test_a_game_that_it_loses_ends_and_after_nothing_happened_it_does_something_else() -> None:
    told = asyncio.run(played(("generated:1000010",)))[0]
    stepped = [event.body for event in told if isinstance(event.body, Stepped)]
    assert outcome(told) == "lost"
    assert not all(step.accepted for step in stepped)
    assert goes_on_otherwise(stepped)


def test_many_games_at_once_are_the_games_that_were_played_alone() -> None:
    together = asyncio.run(played(HOUSES))
    assert together == [asyncio.run(played((house,)))[0] for house in HOUSES]


@pytest.mark.parametrize("name", ["human", "learned"])
def test_by_a_book_that_ships_it_plays_as_well_and_is_asked_less(name: str) -> None:
    houses = tuple(f"generated:{seed}" for seed in range(900_000, 900_006))
    book = RuleBudget(tuple(library().open(name).rules), None, name, "")
    without, by_book = (asyncio.run(played(houses, rules=rules)) for rules in (None, book))
    assert [outcome(told) for told in by_book] == ["won"] * len(houses)
    steps, calls = (
        [sum(isinstance(event.body, kind) for told in games for event in told) for games in (without, by_book)]
        for kind in (Stepped, ModelCall)
    )
    # Hundreds of houses say by how much (``make bench ARGS=households:books``); a book read by the network cost 3.5 a house.
    assert steps[1] <= steps[0] + len(houses) and calls[1] < calls[0]


@pytest.mark.slow
def test_a_game_goes_on_between_two_readings_of_its_goal() -> None:
    # The words are not the world's own, and what the model takes them for is not found.
    house = "generated:1000010"
    whole = asyncio.run(played((house,), goal=FREE))[0]
    reasoned = [at for at, event in enumerate(whole) if isinstance(event.body, ModelCall) and event.body.role == "reasoner"]
    again = next(at for at, then in pairwise(reasoned) if then == at + 1)
    world = make_world()
    for end in (again, again + 5, again + READINGS, again + READINGS + 3):
        more: list[Event | CallTiming] = []
        asyncio.run(
            resume_episode(
                opened(world, house, FREE),
                lambda live, _: make_agent("reasoner-actor", world=world, model=live),
                EpisodeConfig(world),
                whole[:end],
                more.append,
                model=make_model("builtin"),
            )
        )
        assert [*whole[:end], *(event for event in more if isinstance(event, Event))] == whole
