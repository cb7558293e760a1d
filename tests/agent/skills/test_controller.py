"""The skill controller, in real houses."""

from __future__ import annotations

from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from housequest.agent.agents.spec import make_agent
from housequest.agent.models.registry import make_model
from housequest.agent.skills.controller import Controller, Done, Execute, Failed
from housequest.agent.skills.naming import resolve
from housequest.worlds.alfworld.text import read_goal
from housequest.worlds.base import Observation, Transition, World
from housequest.worlds.errors import ConfigurationError, Unsupported
from housequest.worlds.household.base import with_belief
from housequest.worlds.household.goals import Skill, Verb
from housequest.worlds.registry import household, make_world
from tests.agent.skills.carrying import House, skills
from tests.parts import needs


@pytest.fixture(scope="module")
def world() -> World:
    return make_world("alfworld")


def enter(world: World, reference: str, **settings: Any) -> House:
    return House.enter(world.open(world.task(reference)), Controller(reader(), **settings))


def win(house: House) -> None:
    goal = read_goal(house.env.task.goal)
    assert goal is not None
    for skill in skills(goal):
        assert not isinstance(house.carry_out(skill), Failed), (house.env.task.reference, skill, house.played[-3:])
    assert house.last.won
    refused = [one.command for one in house.played if not one.observation.accepted]
    # Whether a place is here already, or can be opened, is found out by trying.
    assert all(command.startswith(("go to ", "open ", "examine ")) for command in refused)


@pytest.mark.parametrize("search", ["counts", "random", "name"])
@pytest.mark.parametrize("reference", ["example:1", "example:2", "example:3", *(f"generated:{n}" for n in range(12))])
def test_skills_win_a_house(world: World, reference: str, search: str) -> None:
    win(enter(world, reference, search=search))


@pytest.mark.games
def test_skills_win_the_published_games(alfworld_games: Path) -> None:
    world = make_world("alfworld", data=alfworld_games)
    for task in world.tasks("valid_seen"):
        win(enter(world, task.reference))


def test_each_command_is_decided_from_what_is_believed_now(world: World) -> None:
    house = enter(world, "example:1")
    house.state = house.controller.start(house.state, Skill("find", "Egg"))
    outcome, house.state = house.controller.next(house.state)
    assert isinstance(outcome, Execute)
    # A person plays in between; what was executed is what counts.
    for command in ("look", "go to fridge 1", "open fridge 1", "nonsense"):
        house.execute(command)
    again, house.state = house.controller.next(house.state)
    assert isinstance(again, Execute | Done)
    assert house.carry_out(Skill("find", "egg")) is not None


def test_a_person_may_complete_the_skill(world: World) -> None:
    house = enter(world, "example:1")
    assert isinstance(house.carry_out(Skill("pick", "egg")), Failed)
    assert isinstance(house.carry_out(Skill("find", "egg")), Done)
    assert isinstance(house.carry_out(Skill("pick", "egg")), Done)
    held = house.state.belief.held
    house.state = house.controller.start(house.state, Skill("put", "egg", "countertop"))
    place = next(one.name for one in house.state.belief.receptacles if one.kind == "countertop")
    house.execute(f"go to {place}")
    house.execute(f"move {held} to {place}")
    outcome, house.state = house.controller.next(house.state)
    assert outcome == Done("done: put the egg in the countertop")


@pytest.mark.parametrize(
    ("skill", "reason"),
    [
        (Skill("find", "unicorn"), "no thing called 'unicorn'"),
        (Skill("find", "refrigerator 9"), "no thing called"),
        (Skill("go", receptacle="fridge 77"), "no place or thing called 'fridge 77'"),
        (Skill("go"), "not said"),
        (Skill("put", "egg", "fridge"), "your hand is empty"),
        (Skill("put"), "you hold nothing"),
        (Skill("heat", "egg"), "do not hold"),
        (Skill("pick", "egg"), "find one first"),
        (Skill("use", "desklamp"), "find one first"),
        (Skill("open", receptacle="countertop"), "cannot be opened"),
        (Skill("slice", "egg"), "find one first"),
        (Skill("examine", "egg"), "do not hold"),
        (Skill("find", ""), "no thing called"),
        (Skill("find", "\x00\ud800" * 5_000), "no thing called"),
    ],
)
def test_what_cannot_be_done_is_said_in_words(world: World, skill: Skill, reason: str) -> None:
    house = enter(world, "example:1")
    house.execute("go to countertop 1")
    outcome = house.carry_out(skill)
    assert isinstance(outcome, Failed)
    assert reason in outcome.reason
    assert len(outcome.reason) < 400
    assert outcome.reason.isprintable()
    assert house.state.skill is None


def test_what_is_held_is_meant_where_a_place_alone_is_named(world: World) -> None:
    house = enter(world, "example:1")
    for skill in (Skill("find", "egg"), Skill("pick", "egg"), Skill("heat", "microwave"), Skill("go", receptacle="fridge")):
        assert isinstance(house.carry_out(skill), Done), skill
    held = house.state.belief.held
    assert isinstance(house.carry_out(Skill("put")), Done)
    assert house.played[-1].command == f"move {held} to fridge 1"
    # What was just put down is here, so it is what is picked up again.
    assert isinstance(house.carry_out(Skill("pick", "egg")), Done)
    assert house.state.belief.held == held
    assert house.carry_out(Skill("put", "diningtable")) is None
    assert house.last.won


def test_near_is_asked_for_where_it_is_set(world: World) -> None:
    house = enter(world, "example:1", near=True)
    assert isinstance(house.carry_out(Skill("find", "egg")), Done)
    house.execute("look")
    elsewhere = next(one.name for one in house.state.belief.receptacles if house.state.belief.is_elsewhere(one.name))
    house.execute(f"go to {elsewhere}")
    outcome = house.carry_out(Skill("pick", "egg"))
    assert isinstance(outcome, Failed)
    assert "not near the egg" in outcome.reason


def test_a_planners_second_find_is_of_another_thing_whatever_the_goal_says(world: World) -> None:
    house = House.enter(world.open(world.task("example:2")), Controller(reader(), near=True), "Tidy up the bathroom.")
    for _ in range(2):
        for skill in (Skill("find", "soapbar"), Skill("pick", "soapbar"), Skill("find", "cabinet"), Skill("put", "soapbar")):
            assert not isinstance(house.carry_out(skill), Failed), house.played[-3:]
    assert house.last.won


def test_the_room_is_explored_place_by_place(world: World) -> None:
    house = enter(world, "example:2")
    places = len(house.state.belief.receptacles)
    for _ in range(places):
        assert isinstance(house.carry_out(Skill("explore")), Done)
    assert all(one.contents is not None for one in house.state.belief.receptacles)
    assert house.carry_out(Skill("explore")) == Failed("every place was looked into")
    # What was not found is looked for in vain, without another command.
    before = len(house.played)
    assert isinstance(house.carry_out(Skill("find", "cellphone")), Failed)
    assert len(house.played) == before


@pytest.mark.parametrize("text", ["Nothing happens.", "", "You arrive at nowhere.", "The fridge 1 is closed."])
def test_a_house_that_answers_nonsense_ends_every_skill(world: World, text: str) -> None:
    env = world.open(world.task("example:1"))
    controller = Controller(reader(), most=60)
    opening = with_belief(reader(), env.reset().observation)
    for verb in get_args(Verb):
        state = controller.start(controller.begin(opening, env.task.goal), Skill(verb, "egg", "fridge"))
        for _ in range(70):
            outcome, state = controller.next(state)
            if not isinstance(outcome, Execute):
                break
            answer = with_belief(reader(), Observation(text, accepted=bool(text)), state.belief, outcome.command)
            state = controller.observe(state, [Transition(outcome.command, answer)])
        assert state.skill is None, verb


@given(st.text(max_size=200), st.text(max_size=200), st.sampled_from(get_args(Verb)), st.text(max_size=200))
def test_any_words_are_an_outcome(thing: str, place: str, verb: Any, opening: str) -> None:
    controller = Controller(reader(), search="name")
    state = controller.begin(with_belief(reader(), Observation(opening)), thing)
    state = controller.start(state, Skill(verb, thing or None, place or None))
    outcome, state = controller.next(state)
    assert isinstance(outcome, Execute | Done | Failed)
    assert state == controller.observe(state, [])


def reader() -> Any:
    return household("alfworld")


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("Mug", "mug"),
        ("the mug", "mug"),
        ("mugs", "mug"),
        ("mug 2", "mug 2"),
        ("Mug_02", "mug 2"),
        ("mug2", "mug 2"),
        ("SinkBasin", "sinkbasin"),
        ("sink basin", "sinkbasin"),
        ("a clean mug", "mug"),
        ("AppleSliced", "apple"),
        ("refrigerator 1", "fridge 1"),
        ("None", None),
        ("12", None),
        ("", None),
    ],
)
def test_names_are_read_as_models_write_them(said: str, meant: str | None) -> None:
    assert resolve(said, {"mug", "sinkbasin", "fridge", "apple"}) == meant


def test_a_part_of_a_name_means_what_was_seen_alone() -> None:
    kinds = {"mug", "papertowelroll", "showerglass"}
    assert resolve("glass", kinds, ["mug 1"]) is None is resolve("toilet roll", kinds, ())
    assert resolve("glass", kinds, ["showerglass 1"]) == "showerglass"


def test_a_skill_has_words() -> None:
    assert [Skill(verb, "egg", "fridge").text for verb in ("find", "put", "heat", "look")] == [
        "find an egg",
        "put the egg in the fridge",
        "heat the egg with the fridge",
        "look around",
    ]
    assert [Skill(verb, "mug 1").text for verb in ("find", "put", "heat", "use")] == [
        "find the mug 1",
        "put down the mug 1",
        "heat the mug 1",
        "turn on the mug 1",
    ]


@needs("opex")
def test_a_world_that_is_no_household_is_refused_in_words() -> None:
    model = make_model("openai:m@http://127.0.0.1:9/v1")
    with pytest.raises(Unsupported, match=r"'opex'.*scripted"):
        make_agent("opex", world=make_world("scripted"), model=model)
    with pytest.raises(ConfigurationError, match=r"search of the agent 'opex' must be one of llm, counts, random, name"):
        make_agent("opex", world=make_world("alfworld"), model=model, settings={"search": "chance"})


def test_what_a_skill_names_is_what_is_done(world: World) -> None:
    house = enter(world, "example:1")
    held = take(house)
    outcome = house.carry_out(Skill("clean", held, "garbagecan"))
    assert isinstance(outcome, Failed)
    assert outcome.reason == "a garbagecan cleans nothing; that takes a sinkbasin"
    assert not house.played[-1].command.startswith("clean")


def test_what_is_done_where_the_skill_before_went_is_done_there(world: World) -> None:
    house = enter(world, "example:1")
    held = take(house)
    assert isinstance(house.carry_out(Skill("go", receptacle="garbagecan")), Done)
    before = len(house.played)
    outcome = house.carry_out(Skill("clean", held))
    assert isinstance(outcome, Failed)
    assert "a garbagecan cleans nothing" in outcome.reason
    assert len(house.played) == before, "it found no sink by itself"
    assert isinstance(house.carry_out(Skill("go", receptacle="sinkbasin")), Done)
    assert isinstance(house.carry_out(Skill("clean", held)), Done)
    # Where nothing was said of a place, the appliance is gone to.
    assert isinstance(house.carry_out(Skill("heat", held)), Done)


def take(house: House) -> str:
    assert isinstance(house.carry_out(Skill("find", "egg")), Done)
    assert isinstance(house.carry_out(Skill("pick", "egg")), Done)
    return house.state.belief.held or ""


def test_the_kinds_of_thing_are_known_however_places_are_searched(world: World) -> None:
    for search in ("counts", "random", "name"):
        house = enter(world, "example:1", search=search)
        house.state = house.controller.start(house.state, Skill("find", "mug"))
        outcome, _ = house.controller.next(house.state)
        assert isinstance(outcome, Execute), (search, outcome)
