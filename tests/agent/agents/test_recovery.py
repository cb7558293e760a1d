"""Failures of planning that a good model meets, and how it gets out: each was a game lost, or many calls for nothing."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from housequest.agent.agents.registry import make_agent
from housequest.agent.episodes import events
from housequest.agent.episodes.events import Event
from housequest.agent.episodes.loop import EpisodeConfig, run_episode
from housequest.agent.skills.controller import Controller, Done, Failed
from housequest.agent.skills.skill import Skill
from housequest.worlds.base import Observation, World
from housequest.worlds.household.goals import SYNONYMS
from housequest.worlds.registry import household, make_world
from tests.agent.agents.test_agents import ended, plans, prompts, steps
from tests.agent.agents.test_planners import ASKS, EGG, PLANS, QUESTIONS, WON, asked, episode, replies, thoughts
from tests.agent.golden import Answering
from tests.agent.skills.carrying import House
from tests.backends.erring import ERRORS, Erring, Error


@pytest.fixture(scope="module")
def world() -> World:
    return make_world("alfworld")


# 1. A noun that nobody has heard of.


def test_what_nobody_has_heard_of_is_explored_for_before_planning_again(world: World, tmp_path: Path) -> None:
    model = replies(
        tmp_path,
        ("", "Completed plan: nothing yet\nVisible objects", "Navigation ovum, PickupObject ovum, Navigation microwave"),
    )
    settings = {"shots": "0", "patience": "6"}
    lost = episode(world, "llm-planner", model, settings=settings)
    explored = steps(lost)
    assert len(explored) >= 6, "not given up after one call"
    assert len(prompts(lost, "planner")) > 1
    first, second = asked(lost, "planner")[:2]
    seen = [text.partition("Visible objects: ")[2].partition("\n")[0].split(", ") for text in (first, second)]
    assert set(seen[0]) < set(seen[1]), "it is planned again from what was seen meanwhile"
    assert "Failed: Navigation ovum: there is no place or thing called 'ovum' here; 6 commands" in second
    model = replies(tmp_path, ("", "Failed: Navigation ovum", EGG), ("", "", "Navigation ovum, PickupObject ovum"))
    told = episode(world, "llm-planner", model, settings=settings)
    assert (ended(told).outcome, len(plans(told))) == ("won", 2)


def test_what_is_heard_of_while_exploring_is_fetched(world: World, tmp_path: Path) -> None:
    kitchen = world.task("example:1").source
    assert kitchen is not None
    house = tmp_path / "kitchen.json"  # one whose apples are of a kind that no table of counts has
    house.write_text(kitchen.read_text("utf-8").replace("Apple", "Mango"), "utf-8")
    model = replies(tmp_path, (ASKS, "", QUESTIONS), (PLANS, "", "Plan:\n1. (Pickup, mango)\n2. (Put, mango, microwave)"))
    told = episode(world, "socratic", model, house=str(house), settings={"shots": "0", "patience": "0", "revisions": "0"})
    assert sum("the room is explored for it" in text for text in thoughts(told)) == 1
    stepped = [event.body for event in told if isinstance(event.body, events.Stepped)]
    seen, taken, *after = (step for step in stepped if "mango" in step.observation)
    assert "you see" in seen.observation
    assert taken.command.startswith("take mango")
    assert taken.turn == seen.turn + 1, "it is taken where it was seen, and nothing else is looked into"
    assert after[-1].command.startswith("move mango")


@pytest.mark.parametrize(
    ("said", "meant"),
    [("Cushion", "pillow"), ("faucet", "sinkbasin"), ("the tap", "sinkbasin"), ("Stove", "stoveburner"), ("mug", "cup")],
)
def test_other_words_for_things_are_read(said: str, meant: str) -> None:
    reader = household("alfworld")
    assert reader is not None
    controller = Controller(reader)
    opening = make_world("alfworld").open(make_world("alfworld").task("example:1")).reset().observation
    state = controller.begin(opening, "put a clean cup in the cabinet.")
    state = controller.start(state, Skill("find", said))
    assert state.problem is None
    assert state.skill is not None
    assert (state.skill.object or "").partition(" ")[0] == meant


@pytest.mark.parametrize("said", sorted(SYNONYMS))
def test_other_words_are_read_where_the_goal_has_them(said: str) -> None:
    reader = household("alfworld")
    assert reader is not None
    controller, world = Controller(reader), make_world("alfworld")
    opening = world.open(world.task("example:3")).reset().observation
    for goal in (f"Put a {said} on the couch.", f"Put the mug near the {said}."):
        state = controller.start(controller.begin(opening, goal), Skill("find", said))
        known = {*reader.counts().objects(), *(one.kind for one in state.belief.receptacles)}
        meant = SYNONYMS[said] if SYNONYMS[said] in known else said
        assert (state.skill.object if state.skill else None) == meant
        assert (state.problem is None) is (meant in known)
    state = controller.begin(opening, "Put a cushion on the couch.")
    assert controller.start(state, Skill("find", "put")).problem, "not every word of a goal is a thing"


def test_a_cushion_is_found(world: World) -> None:
    reader = household("alfworld")
    assert reader is not None
    env = world.open(world.task("example:3"))
    house = House.enter(env, Controller(reader))
    house.state = Controller(reader).begin(env.reset().observation, "Put a cushion on the couch.")
    assert isinstance(house.carry_out(Skill("find", "Cushion")), Done)


def test_a_table_is_the_one_that_the_room_has_or_it_is_asked_which() -> None:
    reader = household("alfworld")
    assert reader is not None
    controller = Controller(reader)
    seen = Observation("You are in the middle of a room. Looking quickly around you, you see a sidetable 1, and a bed 1.")
    both = Observation(
        "You are in the middle of a room. Looking quickly around you, you see a sidetable 1, and a diningtable 1."
    )
    state = controller.start(controller.begin(seen, "Put the book on the table."), Skill("go", "table"))
    assert state.skill == Skill("go", receptacle="sidetable")
    state = controller.start(controller.begin(both, "Put the book on the table."), Skill("go", "table"))
    assert state.problem == Failed("'table' may be the diningtable or the sidetable; say which")


def test_a_place_that_the_room_lacks_is_not_explored_for(world: World, tmp_path: Path) -> None:
    told = episode(world, "llm-planner", replies(tmp_path, ("", "", "Navigation fridge, OpenObject fridge")), house="example:2")
    assert steps(told) == [], "the opening of a bathroom lists all of its places"
    assert len(prompts(told, "planner")) <= 3


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


# 3. The wrong thing in the hand.

WRONG = "Navigation fork, PickupObject fork, Navigation egg, PickupObject egg, Navigation microwave, HeatObject egg"


def test_a_planner_that_holds_the_wrong_thing_is_told_so_and_recovers(world: World, tmp_path: Path) -> None:
    recovered = f"Navigation countertop, PutObject countertop, {EGG}"
    model = replies(tmp_path, ("", "Holding: fork", recovered), ("", "", WRONG))
    told = episode(world, "llm-planner", model)
    assert ended(told).outcome == "won"
    assert "\nFailed: PickupObject egg: your hand is full: you hold the fork" in asked(told, "planner")[-1]
    assert "Holding" not in asked(told, "planner")[0], "nothing is added where there is nothing to tell"


def test_the_same_plan_again_is_no_progress_and_is_not_asked_for_ten_times(world: World, tmp_path: Path) -> None:
    for feedback in ("on", "off"):
        told = episode(world, "llm-planner", replies(tmp_path, ("", "", WRONG)), settings={"shots": "0", "feedback": feedback})
        assert len(prompts(told, "planner")) <= 6, feedback
        completed = asked(told, "planner")[-1].partition("Completed plan: ")[2].partition("\n")[0].split(", ")
        assert len(completed) == len(set(completed)), completed
    assert "Failed: " not in asked(told, "planner")[-1], "the paper's prompt has no such lines"


# 4. A place where a thing is wanted.


@pytest.mark.parametrize(
    ("subgoal", "can"),
    [
        ("(Toggle, microwave)", "hold a thing and heat it with the microwave"),
        ("(Toggle, faucet)", "hold a thing and clean it with the sinkbasin"),
        ("(Pickup, fridge)", "hold a thing and cool it with the fridge"),
    ],
)
def test_what_can_be_done_with_a_place_is_said(world: World, tmp_path: Path, subgoal: str, can: str) -> None:
    model = replies(
        tmp_path,
        (ASKS, "", QUESTIONS),
        (PLANS, "Why it failed", WON),
        (PLANS, "", f"Plan:\n1. {subgoal}"),
        ("", "", "Valid: no"),
    )
    told = episode(world, "socratic", model)
    assert ended(told).outcome == "won"
    assert can in plans(told)[1].reason
    revising = next(text for text in asked(told, "planner") if "Why it failed" in text)
    assert "\nHow it failed: the " in revising
    assert can in revising, "the model is told, and not the record alone"
    assert all(can in prompt[-1].content for prompt in prompts(told, "advisor"))
    assert not any(isinstance(event.body, events.Stepped) and "use" in event.body.command for event in told)


def test_a_failure_is_never_unknown_without_a_name(world: World) -> None:
    reader = household("alfworld")
    assert reader is not None
    controller = Controller(reader)
    state = controller.begin(world.open(world.task("example:1")).reset().observation, "")
    outcome, _ = controller.next(controller.start(state, Skill("pick")))
    assert isinstance(outcome, Failed)
    assert not outcome.unknown


# All of them, with a model that recovers.

CASES = [(agent, error) for agent, errors in ERRORS.items() for error in errors]


@pytest.mark.parametrize(("agent", "error"), CASES)
def test_a_model_that_recovers_wins(world: World, agent: str, error: Error) -> None:
    house = f"example:{1 + ERRORS[agent].index(error) % 3}"
    settings = {"replanning": "on"} if agent == "lota" else {}
    made = make_agent(agent, world=world, model=Answering(Erring(error)), settings=settings)
    told: list[Event] = []
    terms = EpisodeConfig(world.engine, max_turns=50)
    env = world.open(world.task(house))
    ending = asyncio.run(run_episode(env, made, terms, lambda event: told.append(event) if isinstance(event, Event) else None))
    assert ending.outcome == "won", ending.reason
    assert sum(isinstance(event.body, events.ModelCall) for event in told) < 60
