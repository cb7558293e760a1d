"""Chores: what a seed gives, when they are won, and par."""

from __future__ import annotations

from dataclasses import replace

import pytest

from housequest.worlds.alfworld.engine.native import NativeEnv, conditions
from housequest.worlds.alfworld.engine.par import par
from housequest.worlds.alfworld.houses.chores import CHORES_SPLITS, FEWEST, IN_A_HOME, IN_A_ROOM, MOST, make_chores
from housequest.worlds.alfworld.houses.house import make_house
from housequest.worlds.alfworld.text import HOUSEHOLD, chores_sentence, goal_sentences, read_goals
from housequest.worlds.alfworld.world import AlfworldWorld
from housequest.worlds.errors import ConfigurationError, Unsupported
from housequest.worlds.household.belief import kind
from housequest.worlds.household.goals import Goal
from housequest.worlds.shared import Seat


@pytest.mark.parametrize("split", CHORES_SPLITS)
def test_chores_are_several_goals_with_nothing_half_done(split: str) -> None:
    for seed in range(60_000, 60_015):
        chores = make_chores(split, seed)
        goals, game, start = chores.goals, chores.game, chores.game.start
        assert FEWEST <= len(goals) <= MOST
        assert conditions(game, start) == (0, len(goals))
        assert read_goals(game.sentence) == goals
        assert len({(goal.object, goal.receptacle) for goal in goals}) == len(goals)
        for goal in goals:
            assert goal.lamp is None
            holders = [one for one, name in enumerate(game.receptacles) if kind(name) == goal.receptacle]
            assert holders
            assert all(kind(game.objects[thing]) != goal.object for one in holders for thing in start.contents[one])
        wanted = [goal.object for goal in goals for _ in range(goal.count)]
        assert all(wanted.count(one) <= [kind(name) for name in game.objects].count(one) for one in wanted)
        assert (chores.rooms is None) == (split == IN_A_ROOM)
        if chores.rooms is not None:
            assert {*game.receptacles} == {*chores.rooms}
            assert len({*chores.rooms.values()}) == 4


def test_a_seed_gives_the_same_chores_everywhere() -> None:
    world = AlfworldWorld()
    assert world.task("chores:60004").goal == (
        "put a hot potato in garbagecan, put a clean spoon in diningtable, put a cool tomato in diningtable, "
        "and put a cool plate in cabinet."
    )
    task = world.task("chores-home:60000")
    assert (task.id, task.type, task.number) == ("chores-home/60000", "chores", 60_000)
    assert world.fingerprint(IN_A_ROOM) != world.fingerprint(IN_A_HOME)


def test_par_for_one_is_the_shortest_plan_of_a_single_goal() -> None:
    houses = [house for seed in range(60_000, 60_100) if not (house := make_house(seed)).goal.lamp]
    assert [par(house.game) for house in houses] == [len(house.plan) for house in houses]


@pytest.mark.heavy
@pytest.mark.parametrize("split", CHORES_SPLITS)
def test_par_for_two_is_at_most_that_for_one_and_at_least_half(split: str) -> None:
    world = AlfworldWorld()
    for seed in range(60_000, 60_006):
        task = world.task(f"{split}:{seed}")
        one, two = world.par(task, 1), world.par(task, 2)
        assert one is not None and two is not None
        assert one / 2 <= two <= one == world.shortest(task)
        assert world.par(task, 3) is None


def test_each_goal_needs_things_of_its_own() -> None:
    game = make_house(60_000).game
    things = [(number, name) for number, name in enumerate(game.objects) if number in game.cleanable]
    counted = [kind(name) for _, name in things]
    thing = next(one for one in counted if counted.count(one) > 1)
    shelf = next(name for name, place in zip(game.receptacles, game.place_of, strict=True) if place >= 0)
    clean = game.condition(Goal("pick_clean_then_place_in_recep", thing, kind(shelf)))
    plain = game.condition(Goal("pick_and_place_simple", thing, kind(shelf)))
    two = game.condition(Goal("pick_two_obj_and_place", thing, kind(shelf), count=2))
    first, second = [number for number, name in things if kind(name) == thing][:2]
    where = game.receptacles.index(shelf)

    def met(*lying: int, goals: tuple[object, ...]) -> tuple[int, int]:
        contents = [tuple(one for one in there if one not in (first, second)) for there in game.start.contents]
        contents[where] = tuple(sorted((*contents[where], *lying)))
        state = game.start._replace(contents=tuple(contents), clean=frozenset({first}))
        return conditions(replace(game, goal=goals[0], more=goals[1:]), state)

    assert met(goals=(clean, plain)) == (0, 2)
    assert met(second, goals=(clean, plain)) == (1, 2)
    assert met(first, goals=(plain, clean)) == (1, 2)  # one thing is not for both
    assert met(first, second, goals=(plain, clean)) == (2, 2)
    assert met(first, second, goals=(two, clean)) == (1, 2)
    assert met(first, second, goals=(two,)) == (2, 2)


def test_chores_are_one_condition_a_goal_for_whoever_plays_and_are_won_together() -> None:
    world = AlfworldWorld()
    task = world.task("chores:60001")
    shared = world.share(task, ("Ann", "Bob"))
    shared.reset()
    assert shared.goal_conditions() == (0, 4)
    assert isinstance(world.open(task), NativeEnv)
    for done, goal in enumerate(read_goals(task.goal), start=1):
        player = shared.players[done % 2]
        seat = Seat(shared, player)
        env = shared.envs[player]
        lies = next(
            (name, env.game.receptacles[one])
            for one, there in enumerate(env.state.contents)
            for name in (env.game.objects[thing] for thing in there)
            if kind(name) == goal.object
        )
        target = next(name for name in env.game.receptacles if kind(name) == goal.receptacle)
        for place, command in ((lies[1], f"take {lies[0]} from {lies[1]}"), (target, f"move {lies[0]} to {target}")):
            for each in (f"go to {place}", f"open {place}", command):
                step = seat.step(each)
        assert shared.goal_conditions() == (done, 4)
        assert step.won == (done == 4)


def test_goals_are_read_in_any_of_the_wordings() -> None:
    goals = make_chores(IN_A_ROOM, 60_000).goals
    other = ", and ".join(goal_sentences(goal)[1].removesuffix(".") for goal in goals)
    assert HOUSEHOLD.read_goals(f"Your task is to: {other}.") == goals
    assert HOUSEHOLD.read_goal(f"{other}.") is None
    assert read_goals(chores_sentence(goals[:1])) == goals[:1]
    assert len(HOUSEHOLD.steps(chores_sentence(goals)) or ()) >= 2 * len(goals)
    topic = HOUSEHOLD.topic(chores_sentence(goals))
    assert topic is not None and topic.type == "chores" and {goal.object for goal in goals} <= topic.kinds
    for odd in ("", ",", "put a mug in desk,", "put a mug in desk, sing", "put a mug in desk, and and put a pen in desk"):
        assert read_goals(odd) == ()


def test_what_chores_cannot_be_is_refused_in_words() -> None:
    world = AlfworldWorld(habits=HOUSEHOLD.counts())
    with pytest.raises(ConfigurationError, match="leave habits out"):
        world.tasks(IN_A_ROOM)
    with pytest.raises(Unsupported, match="one goal"):
        AlfworldWorld().source(AlfworldWorld().task("chores:60000"))
    assert AlfworldWorld().room(AlfworldWorld().task("chores:60000")).fixtures
