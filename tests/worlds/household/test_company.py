"""An expert with several goals: alone, with others like it, and beside those that do not help."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from housequest.agent.agents.unaided.players import PolicyAgent
from housequest.agent.base import Act, Grants, Turn
from housequest.worlds.alfworld.expert import HouseholdExpertMemory, make_expert
from housequest.worlds.alfworld.text import HOUSEHOLD
from housequest.worlds.alfworld.world import AlfworldWorld
from housequest.worlds.base import Observation
from housequest.worlds.household.company import LOOKED_AT, Work, believed
from housequest.worlds.household.talk import Claimed, Dropped, Finished, Saw, quoted, read_talk
from housequest.worlds.shared import WAIT, Companion, Seat
from scripts.bench.together import FREE, MOST_ROUNDS, SILENT, WAYS, Way, played_by

WORLD = AlfworldWorld()
SEEDS = range(60_100, 60_112)
OPENING = Observation(
    "You are in the middle of a room. Looking quickly around you, you see a fridge 1, a drawer 2, a drawer 1, a microwave 1, "
    "and a countertop 1.\n\nYour task is to: put a hot egg in fridge, and put a mug in drawer."
)
GOAL = "put a hot egg in fridge, and put a mug in drawer."


def begun(*news: str, goal: str = GOAL) -> HouseholdExpertMemory:
    expert = make_expert()
    return expert.hear(expert.begin(goal, OPENING), "Ann", ("Bob",), news)


def said(message: object) -> str:
    return quoted("Bob", str(message))


@pytest.mark.heavy
@pytest.mark.parametrize("split", ["chores", "chores-home"])
def test_one_player_reaches_several_goals(split: str) -> None:
    for seed in SEEDS[:3]:
        assert played_by(WORLD, WORLD.task(f"{split}:{seed}"), 1).rounds < MOST_ROUNDS


@pytest.mark.heavy
@pytest.mark.parametrize("split", ["chores", "chores-home"])
def test_two_divide_the_work(split: str) -> None:
    tasks = [WORLD.task(f"{split}:{seed}") for seed in (SEEDS if split == "chores" else SEEDS[:4])]
    alone = sum(played_by(WORLD, task, 1).rounds for task in tasks)
    for way in (FREE, SILENT):
        played = [played_by(WORLD, task, 2, way) for task in tasks]
        assert alone / sum(one.rounds for one in played) > 1.4
        assert not sum(one.treated_twice for one in played)
        assert sum(one.refused for one in played) < 0.02 * sum(one.acts for one in played)
        assert (sum(one.messages for one in played) > 0) == (way is FREE)


@pytest.mark.heavy
@pytest.mark.parametrize("way", WAYS[1:], ids=lambda way: way.name)
def test_with_any_partner_the_chores_are_done(way: Way) -> None:
    for seed in SEEDS[:6]:
        assert played_by(WORLD, WORLD.task(f"chores:{seed}"), 2, way).rounds < MOST_ROUNDS


@pytest.mark.parametrize("seed", [200_495, 200_500])
def test_two_who_want_one_of_two_things_do_not_make_way_for_ever(seed: int) -> None:
    way = next(one for one in WAYS if one.at_once and all(one.speaks))
    assert played_by(WORLD, WORLD.task(f"chores:{seed}"), 2, way).rounds < 50


def test_what_was_put_down_out_of_sight_is_no_longer_carried() -> None:
    memory = begun("Bob stands at the countertop 1 and carries a mug 1.")
    assert memory.belief.others[0].carried == ("mug 1",)
    # The player saw it, or its carrier said so.
    expert = make_expert()
    seen = Observation("You arrive at countertop 1. On the countertop 1, you see a mug 1.")
    after = expert.observe(memory, "go to countertop 1", seen)
    assert after.belief.others[0].carried == ()
    told = expert.hear(memory, "Ann", ("Bob",), (said(Finished(2, "mug 1", "drawer 1")),))
    command, thought, _ = expert.decide(told)
    assert "mug" not in thought and command is not None
    again = expert.hear(told, "Ann", ("Bob",), ("Bob picks up the mug 1 from the drawer 1.",))
    assert believed(again.company, again.belief).others[0].carried == ("mug 1",)


@pytest.mark.parametrize(
    ("reference", "way", "rounds"),
    [
        # A thing lies in one of two places where its carrier stood.
        ("chores:60054", SILENT, 30),
        # A thing to be treated lies where it is to be brought.
        ("generated:60000", FREE, 9),
        # Somebody else has opened what was seen closed.
        ("generated:60024", WAYS[0], 12),
    ],
)
def test_no_pair_stalls(reference: str, way: Way, rounds: int) -> None:
    assert played_by(WORLD, WORLD.task(reference), 2, way).rounds <= rounds


def test_what_is_not_needed_is_put_down_where_such_things_go() -> None:
    expert = make_expert()
    opening = replace(OPENING, text=OPENING.text.replace("a fridge 1", "a coffeemachine 1, a fridge 1"))
    memory = expert.hear(expert.begin(GOAL, opening), "Ann", ("Bob",), ())
    memory = expert.observe(memory, "take egg 1 from fridge 1", Observation("You pick up the egg 1 from the fridge 1."))
    memory = expert.hear(memory, "Ann", ("Bob",), (said(Finished(1, "egg 2", "fridge 1")),))
    command, thought, _ = expert.decide(memory)
    assert thought == "the egg 1 is not needed; put it down"
    assert command in ("go to countertop 1", "go to microwave 1", "open microwave 1")


@pytest.mark.heavy
def test_more_than_two_play_together() -> None:
    tasks = [WORLD.task(f"chores:{seed}") for seed in SEEDS[:6]]
    rounds = [sum(played_by(WORLD, task, number).rounds for task in tasks) for number in (1, 2, 4)]
    assert rounds == sorted(rounds, reverse=True)


def test_somebody_who_claims_everything_and_does_nothing_is_not_waited_for() -> None:
    task = WORLD.task("chores:60001")
    expert, shared = make_expert(), WORLD.share(task, ("Ann", "Bob"))
    memory = expert.begin(task.goal, shared.reset()["Ann"].observation)
    kinds = [(goal.object, goal.receptacle or "") for goal in HOUSEHOLD.read_goals(task.goal)]
    seat, waited = Seat(shared, "Ann"), 0
    for turn in range(MOST_ROUNDS):
        claimed, finished = Claimed(1 + turn % 4, *kinds[turn % 4]), Finished(1 + turn % 4, f"{kinds[turn % 4][0]} 9", "sofa 9")
        news = (*seat.news(), said(claimed), said(finished), said(Claimed(1 + turn % 4, *kinds[turn % 4])))
        memory = expert.hear(memory, "Ann", ("Bob",), news)
        command, _, memory = expert.decide(memory)
        step = seat.step(command or WAIT)
        waited += command == WAIT
        memory = expert.observe(memory, command or WAIT, step.observation)
        if step.won:
            break
    assert step.won
    assert waited <= 12


def test_words_are_taken_for_what_cannot_be_seen() -> None:
    expert = make_expert()
    memory = begun(said(Finished(1, "egg 1", "fridge 1")))
    _, thought, _ = expert.decide(memory)
    assert "mug" in thought and "egg" not in thought
    command, _, _ = expert.decide(begun(said(Saw("drawer 1", ("egg 2",))), said(Claimed(2, "mug", "drawer"))))
    assert command == "go to drawer 1"
    # Leave claimed errands to the other, until it drops them.
    claimed = (said(Claimed(1, "egg 2", "fridge 1")), said(Claimed(2, "mug", "drawer")))
    _, thought, _ = expert.decide(begun(*claimed[:1]))
    assert "mug" in thought and "egg" not in thought
    _, thought, _ = expert.decide(begun(claimed[0], said(Dropped(1))))
    assert "egg" in thought


@pytest.mark.parametrize(("goal", "turn"), [("put a cool egg in drawer.", 1), ("put a hot egg in drawer.", LOOKED_AT)])
def test_who_stands_at_a_closed_device_has_looked_into_it_unless_a_goal_needs_that(goal: str, turn: int) -> None:
    expert, memory = make_expert(), begun("Bob goes to the fridge 1.", goal=goal)
    shut = Observation("You arrive at fridge 1. The fridge 1 is closed.")
    memory = expert.observe(memory, "go to fridge 1", shut)
    for news in ((), ("Bob goes to the countertop 1.",)):
        memory = expert.hear(memory, "Ann", ("Bob",), news)
    goals = HOUSEHOLD.read_goals(goal)
    assert Work(memory.company, goals, memory.belief).search_order(["drawer 1", "fridge 1"])["fridge 1"] == turn


def test_nobody_leaves_before_the_game_is_over() -> None:
    expert = make_expert()
    lit = Observation("You turn on the desklamp 1.")
    for goal in ("look at book under the desklamp.", "put a mug in drawer, and look at book under the desklamp."):
        memory = begun(said(Finished(2 if goal.startswith("look") else 1, "mug 1", "drawer 1")), goal=goal)
        opened = Observation("You arrive at countertop 1. On the countertop 1, you see a book 1, and a desklamp 1.")
        memory = expert.observe(memory, "go to countertop 1", opened)
        took = Observation("You pick up the book 1 from the countertop 1.")
        memory = expert.observe(memory, "take book 1 from countertop 1", took)
        command, _, memory = expert.decide(expert.hear(memory, "Ann", ("Bob",), ()))
        assert command == "use desklamp 1"
        memory = expert.observe(memory, command, lit)
        for _ in range(20):
            command, _, memory = expert.decide(expert.hear(memory, "Ann", ("Bob",), ()))
            assert command is not None
            memory = expert.observe(memory, command, Observation("Nothing happens.", accepted=False))


def test_own_eyes_count_for_more_than_words() -> None:
    expert = make_expert()
    memory = begun(said(Saw("countertop 1", ("egg 2",))))
    command, _, memory = expert.decide(memory)
    assert command == "go to countertop 1"
    empty = Observation("You arrive at countertop 1. On the countertop 1, you see a bread 1.")
    memory = expert.observe(memory, command, empty)
    memory = expert.hear(memory, "Ann", ("Bob",), ())
    command, _, memory = expert.decide(memory)
    assert command and "egg 2" not in command
    assert [read_talk(one) for one in expert.says(memory)] == [Saw("countertop 1", ()), Dropped(1)]


def test_who_was_too_late_looks_before_it_goes_on() -> None:
    expert = make_expert()
    memory = expert.observe(begun(), "go to drawer 1", Observation("You arrive at drawer 1. The drawer 1 is closed."))
    refused = Observation("Nothing happens.", accepted=False)
    memory = expert.observe(replace(memory, chosen="open drawer 1"), "open drawer 1", refused)
    command, _, memory = expert.decide(expert.hear(memory, "Ann", ("Bob",), ()))
    assert command == "examine drawer 1"
    memory = expert.observe(memory, command, Observation("The drawer 1 is open. In it, you see a mug 3."))
    command, _, memory = expert.decide(expert.hear(memory, "Ann", ("Bob",), ()))
    assert command is not None and "drawer 1" not in command  # the mug is where it should be


def test_of_two_who_want_one_thing_the_first_by_name_has_it() -> None:
    expert, goal = make_expert(), "put a mug in drawer."
    saw = str(Saw("countertop 1", ("mug 1",)))
    for own, other, goes in (("Ann", "Bob", True), ("Bob", "Ann", False)):
        memory = expert.hear(expert.begin(goal, OPENING), own, (other,), (quoted(other, saw),))
        command, _, memory = expert.decide(memory)
        assert command == "go to countertop 1" and any(isinstance(read_talk(one), Claimed) for one in expert.says(memory))
        claim = quoted(other, str(Claimed(1, "mug 1", "drawer 1")))
        command, _, memory = expert.decide(expert.hear(memory, own, (other,), (claim,)))
        assert (command == "go to countertop 1") == goes


def test_the_agent_is_told_of_its_company_and_says_what_the_expert_says() -> None:
    agent = PolicyAgent(make_expert(), HOUSEHOLD)
    memory = agent.begin(GOAL, OPENING, Grants())
    news = ("Bob stands at the countertop 1 and carries a mug 2.", said(Saw("drawer 2", ("egg 1",))))
    turn = Turn(1, 50, player="Ann", others=("Bob",), news=news)
    decision, memory = asyncio.run(agent.decide(memory, turn, lambda body, timing=None: None))
    assert isinstance(decision, Act) and decision.command == "go to drawer 2"
    assert [read_talk(one) for one in decision.says] == [Claimed(1, "egg 1", "fridge 1")]
    alone, _ = asyncio.run(agent.decide(agent.begin(GOAL, OPENING, Grants()), Turn(1, 50), lambda body, timing=None: None))
    assert isinstance(alone, Act) and not alone.says
    assert isinstance(make_expert(), Companion)


_MESSAGES = st.one_of(
    st.builds(Claimed, st.integers(1, 20), st.sampled_from(["egg", "egg 1", "fork 9"]), st.sampled_from(["fridge", "safe 4"])),
    st.builds(
        Finished, st.integers(1, 20), st.sampled_from(["egg 1", "mug"]), st.sampled_from(["fridge 1", "sofa 2", "drawer"])
    ),
    st.builds(
        Saw, st.sampled_from(["fridge 1", "sofa 2"]), st.lists(st.sampled_from(["egg 1", "mug 3"]), max_size=14).map(tuple)
    ),
    st.builds(Dropped, st.integers(1, 20)),
)


@pytest.mark.heavy
@settings(max_examples=150, deadline=None)
@given(st.lists(st.one_of(st.text(max_size=80), _MESSAGES.map(said), _MESSAGES.map(str)), max_size=8))
def test_whatever_is_heard_the_expert_decides(news: list[str]) -> None:
    expert = make_expert()
    memory = begun(*news)
    for _ in range(3):
        command, thought, memory = expert.decide(memory)
        assert command and thought
        memory = expert.observe(memory, command, Observation("Nothing happens.", accepted=False))
        memory = expert.hear(memory, "Ann", ("Bob",), news)
