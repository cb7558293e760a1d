"""LoTa-Bench's skills as commands: what there is, what they do in the stand-in, and why they fail."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import pytest

from housequest.worlds.alfred.env import NO_SKILL, demonstrated_skills
from housequest.worlds.alfred.model import read_plan
from housequest.worlds.alfred.world import AlfredWorld
from housequest.worlds.base import Env, World
from housequest.worlds.checking import check_world
from housequest.worlds.household.goals import NamedSkill, named_skills, putting, read_skill, taking, treating
from housequest.worlds.registry import make_world


@pytest.fixture(scope="module")
def world() -> World:
    return make_world("alfred", skills="oracle")


@pytest.fixture
def env(world: World) -> Env:
    found = world.open(world.task("example:1"))
    found.reset()
    return found


def told(env: Env, *skills: str) -> list[str]:
    return [env.step(skill).observation.text for skill in skills]


PLAN = """GotoLocation fridge
PickupObject egg
GotoLocation microwave
HeatObject egg
GotoLocation sinkbasin
PutObject egg sinkbasin"""
HOT_EGG = tuple(map(str, (*taking("egg"), *treating("heat", "egg"), *putting("egg", "diningtable"))))


def test_there_are_214_as_in_the_paper() -> None:
    skills = named_skills()
    assert len(skills) == 214
    assert Counter(skill.verb for skill in skills.values())["find"] == 81
    assert {"find an alarm clock", "find a sink", "pick up the egg", "turn off the faucet", "slice the tomato"} <= set(skills)
    assert all(read_skill(f" {text.upper()}. ") == skill for text, skill in skills.items())
    assert read_skill("find a unicorn") is None


def test_the_world_says_that_an_oracle_carries_them_out(world: World) -> None:
    assert world.info.skills == tuple(named_skills())
    assert world.engine == "boxes 3, skills by an oracle that reads its metadata"
    assert [metric.key for metric in world.info.metrics] == ["sr", "gc", "mean_gc"]
    assert world.fingerprint("example") != make_world("alfred").fingerprint("example")


def test_an_egg_is_heated_and_put_on_the_table(env: Env) -> None:
    steps = [env.step(skill) for skill in HOT_EGG]
    assert [step.observation.text for step in steps if not step.observation.accepted] == []
    assert steps[-1].won


@pytest.mark.parametrize(
    ("skills", "answer"),
    [
        (["find a pillow"], "Cannot find pillow."),
        (["pick up the pillow"], "Cannot find pillow to pick up."),
        (["put down the egg"], "Robot is not holding any object."),
        (["find a kettle", "pick up the kettle", "pick up the mug"], "Robot is currently holding kettle."),
        (["find a kettle", "pick up the kettle", "put down the egg"], "Robot is currently holding kettle."),
        (["find a fridge", "open the fridge", "open the fridge"], "Open action failed."),
        (["find a fridge", "close the fridge"], "Close action failed."),
        (["find a microwave", "turn off the microwave"], "Turn off action failed."),
        (["slice the bread"], "Slice action failed."),
        (["find a kettle", "pick up the kettle", "put down the kettle"], "put down failed."),
        (["dance"], NO_SKILL),
    ],
)
def test_what_fails_says_why(env: Env, skills: Sequence[str], answer: str) -> None:
    *before, last = told(env, *skills)
    assert all(text.startswith("Done. ") for text in before)
    assert last == answer


def test_what_is_shut_away_is_not_picked_up(env: Env) -> None:
    told(env, "find an egg", "pick up the egg", "find a fridge", "open the fridge", "put down the egg", "close the fridge")
    others = [text for text in told(env, "pick up the egg") if text.startswith("egg is not visible because it is in fridge")]
    # There may be another egg in the open, which is then taken in its place.
    assert others or env.step("pick up the egg").observation.text == "Robot is currently holding egg."


def test_possible_skills_are_those_that_are_accepted(env: Env) -> None:
    told(env, "find an egg")
    listed = env.admissible_commands()
    assert listed is not None
    assert {"find an egg", "pick up the egg"} <= set(listed)
    assert not any(skill.startswith("put down") for skill in listed)
    assert all(env.copy().step(skill).observation.accepted for skill in listed)
    refused = [skill for skill in named_skills() if skill not in listed]
    assert not any(env.copy().step(skill).observation.accepted for skill in refused[::9])


def test_annotated_plans_are_said_in_skills() -> None:
    plan = read_plan(PLAN)
    skills = demonstrated_skills(plan)
    assert skills[:3] == ("find an egg", "find a fridge", "open the fridge")
    assert skills[3:6] == ("find an egg", "pick up the egg", "close the fridge")
    assert skills[-2:] == ("find a sink", "put down the egg")
    assert set(skills) <= set(named_skills())
    assert str(NamedSkill("find", "armchair")) == "find an arm chair"


@pytest.mark.heavy
def test_it_keeps_the_contract(world: World) -> None:
    assert check_world(world, split="example").broken == ()


@pytest.mark.games
def test_annotated_plans_mostly_win(alfworld_games: str) -> None:
    world = AlfredWorld(data=alfworld_games, skills="oracle")
    won: Counter[bool] = Counter()
    for task in world.tasks("valid_seen")[::12]:
        env, expert = world.open(task), world.expert()
        step = env.reset()
        memory = expert.begin(task.goal, step.observation)
        while not step.done:
            command, _, memory = expert.decide(memory)
            if command is None:
                break
            step = env.step(command)
            memory = expert.observe(memory, command, step.observation)
        won[step.won] += 1
    assert won[True] / won.total() > 0.6
