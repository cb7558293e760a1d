"""Failures of planning that a good model meets, and how it gets out: each was a game lost, or many calls for nothing."""

from __future__ import annotations

import asyncio

import pytest

from housequest.agent.agents.spec import agent_names, make_agent
from housequest.agent.episodes import events
from housequest.agent.episodes.config import EpisodeConfig
from housequest.agent.episodes.events import Event
from housequest.agent.episodes.loop import run_episode
from housequest.agent.skills.controller import Controller, Done, Failed
from housequest.worlds.base import Observation, World
from housequest.worlds.household.base import with_belief
from housequest.worlds.household.goals import SYNONYMS, Skill
from housequest.worlds.registry import household, make_world
from tests.agent.golden import Answering
from tests.agent.skills.carrying import House
from tests.backends.erring import ERRORS, Erring, Error


@pytest.fixture(scope="module")
def world() -> World:
    return make_world("alfworld")


# 1. A noun that nobody has heard of.


@pytest.mark.parametrize(
    ("said", "meant"),
    [("Cushion", "pillow"), ("faucet", "sinkbasin"), ("the tap", "sinkbasin"), ("Stove", "stoveburner"), ("mug", "cup")],
)
def test_other_words_for_things_are_read(said: str, meant: str) -> None:
    reader = household("alfworld")
    assert reader is not None
    controller = Controller(reader)
    opening = with_belief(reader, make_world("alfworld").open(make_world("alfworld").task("example:1")).reset().observation)
    state = controller.begin(opening, "put a clean cup in the cabinet.")
    state = controller.start(state, Skill("find", said))
    assert state.progress is not None and state.progress.problem is None
    assert state.skill is not None
    assert (state.skill.object or "").partition(" ")[0] == meant


@pytest.mark.parametrize("said", sorted(SYNONYMS))
def test_other_words_are_read_where_the_goal_has_them(said: str) -> None:
    reader = household("alfworld")
    assert reader is not None
    controller, world = Controller(reader), make_world("alfworld")
    opening = with_belief(reader, world.open(world.task("example:3")).reset().observation)
    for goal in (f"Put a {said} on the couch.", f"Put the mug near the {said}."):
        state = controller.start(controller.begin(opening, goal), Skill("find", said))
        known = {*reader.counts().objects(), *(one.kind for one in state.belief.receptacles)}
        meant = SYNONYMS[said] if SYNONYMS[said] in known else said
        assert (state.skill.object if state.skill else None) == meant
        assert state.progress is not None and (state.progress.problem is None) is (meant in known)
    state = controller.start(controller.begin(opening, "Put a cushion on the couch."), Skill("find", "put"))
    assert isinstance(controller.next(state)[0], Failed), "not every word of a goal is a thing"


def test_a_cushion_is_found(world: World) -> None:
    reader = household("alfworld")
    assert reader is not None
    env = world.open(world.task("example:3"))
    house = House.enter(env, Controller(reader), "Put a cushion on the couch.")
    assert isinstance(house.carry_out(Skill("find", "Cushion")), Done)


def test_a_table_is_the_one_that_the_room_has_or_it_is_asked_which() -> None:
    reader = household("alfworld")
    assert reader is not None
    controller = Controller(reader)
    seen = Observation("You are in the middle of a room. Looking quickly around you, you see a sidetable 1, and a bed 1.")
    both = Observation(
        "You are in the middle of a room. Looking quickly around you, you see a sidetable 1, and a diningtable 1."
    )
    state = controller.start(controller.begin(with_belief(reader, seen), "Put the book on the table."), Skill("go", "table"))
    assert state.skill == Skill("go", receptacle="sidetable")
    state = controller.start(controller.begin(with_belief(reader, both), "Put the book on the table."), Skill("go", "table"))
    assert controller.next(state)[0] == Failed("'table' may be the diningtable or the sidetable; say which")


# 2. One's own put-down is a find.


def test_what_was_put_down_is_found_where_it_lies(world: World) -> None:
    reader = household("alfworld")
    assert reader is not None
    env = world.open(world.task("example:1"))
    house = House.enter(env, Controller(reader))
    for skill in (Skill("find", "egg"), Skill("pick", "egg"), Skill("put", "egg", "microwave")):
        assert isinstance(house.carry_out(skill), Done), skill
    before = len(house.played)
    assert isinstance(house.carry_out(Skill("find", "egg")), Done)
    assert isinstance(house.carry_out(Skill("pick", "egg")), Done)
    assert len(house.played) - before <= 2, [one.command for one in house.played[before:]]


def test_one_of_two_that_was_brought_stays_where_it_is(world: World) -> None:
    reader = household("alfworld")
    assert reader is not None
    env = world.open(world.task("example:2"))  # find two soapbar and put them in cabinet
    house = House.enter(env, Controller(reader))
    for skill in (Skill("find", "soapbar"), Skill("pick", "soapbar"), Skill("put", "soapbar", "toilet")):
        assert isinstance(house.carry_out(skill), Done), skill
    astray = next(iter(house.state.belief.items)).name
    assert not house.state.placed, f"{astray}: the task does not want it there"
    for skill in (Skill("find", "soapbar"), Skill("pick", "soapbar"), Skill("put", "soapbar", "cabinet")):
        assert isinstance(house.carry_out(skill), Done), skill
    assert len(house.state.placed) == 1
    house.carry_out(Skill("find", "soapbar"))
    house.carry_out(Skill("pick", "soapbar"))
    assert house.state.belief.held not in house.state.placed


def test_a_failure_is_never_unknown_without_a_name(world: World) -> None:
    reader = household("alfworld")
    assert reader is not None
    controller = Controller(reader)
    state = controller.begin(with_belief(reader, world.open(world.task("example:1")).reset().observation), "")
    outcome, _ = controller.next(controller.start(state, Skill("pick")))
    assert isinstance(outcome, Failed)
    assert not outcome.unknown


# All of them, with a model that recovers.

CASES = [(agent, error) for agent, errors in ERRORS.items() if agent in agent_names() for error in errors]


@pytest.mark.heavy
@pytest.mark.parametrize(("agent", "error"), CASES)
def test_a_model_that_recovers_wins(world: World, agent: str, error: Error) -> None:
    house = f"example:{1 + ERRORS[agent].index(error) % 3}"
    settings = {"replanning": "on"} if agent == "lota" else {}
    made = make_agent(agent, world=world, model=Answering(Erring(error)), settings=settings)
    told: list[Event] = []
    terms = EpisodeConfig(world, max_turns=50)
    env = world.open(world.task(house))
    ending = asyncio.run(run_episode(env, made, terms, lambda event: told.append(event) if isinstance(event, Event) else None))
    assert ending.outcome == "won", ending.reason
    assert sum(isinstance(event.body, events.ModelCall) for event in told) < 60
