from __future__ import annotations

import pytest

from housequest.worlds.base import Observation
from housequest.worlds.env import open_env
from housequest.worlds.errors import ConfigurationError, TaskNotFound, Unsupported
from housequest.worlds.registry import make_world
from housequest.worlds.scripted import ScriptedExpert, ScriptedState, ScriptedWorld, advance

WORLD = ScriptedWorld()


def played(task: str, *commands: str) -> tuple[list[str], tuple[int, int] | None]:
    env = WORLD.open(WORLD.task(task))
    env.reset()
    return [env.step(command).observation.text for command in commands], env.goal_conditions()


def test_the_opening_says_where_one_is_and_what_to_do() -> None:
    assert WORLD.open(WORLD.task("demo:1")).reset().observation.text == (
        "You are in the hall. On the floor, you see a lamp. You can go to the cellar and the study.\n\n"
        "Your task is to: take the coin out of the box."
    )


def test_the_box_opens_with_the_key_alone() -> None:
    told, conditions = played(
        "demo:1",
        *("go to cellar", "unlock box", "take coin", "go to hall", "go to study", "take key"),
        *("go to hall", "go to cellar", "unlock box", "unlock box", "take coin", "inventory"),
    )
    assert told == [
        "You are in the cellar. On the floor, you see nothing. The box is locked. You can go to the hall.",
        "Nothing happens.",
        "Nothing happens.",
        "You are in the hall. On the floor, you see a lamp. You can go to the cellar and the study.",
        "You are in the study. On the floor, you see a key. You can go to the hall.",
        "You take the key.",
        "You are in the hall. On the floor, you see a lamp. You can go to the cellar and the study.",
        "You are in the cellar. On the floor, you see nothing. The box is locked. You can go to the hall.",
        "You unlock the box. In it, you see a coin.",
        "Nothing happens.",
        "You take the coin.",
        "You carry a coin and a key.",
    ]
    assert conditions == (2, 2)


def test_a_win_can_be_undone() -> None:
    env = WORLD.open(WORLD.task("demo:3"))
    env.reset()
    assert [env.step(command).won for command in ("take lamp", "go to cellar", "light lamp", "drop lamp", "take lamp")] == [
        False,
        False,
        False,
        True,
        False,
    ]
    assert env.goal_conditions() == (1, 2)


def test_a_state_is_left_as_it_was() -> None:
    state = ScriptedState()
    answer = advance(state, "take lamp")
    assert answer == ("You take the lamp.", ScriptedState(lamp="hand"))
    assert state == ScriptedState()
    assert advance(state, "take key") is None


@pytest.mark.parametrize(("task", "steps"), [("demo:1", 6), ("demo:2", 9), ("demo:3", 4)])
def test_the_expert_takes_the_shortest_way(task: str, steps: int) -> None:
    env, expert = WORLD.open(WORLD.task(task)), ScriptedExpert()
    step = env.reset()
    memory = expert.begin(env.task.goal, step.observation)
    thoughts: list[str] = []
    while not step.done:
        command, thought, memory = expert.decide(memory)
        thoughts.append(thought)
        step = env.step(command)
        memory = expert.observe(memory, command, step.observation)
    assert thoughts == [f"{left} more to go" for left in reversed(range(steps))]
    assert expert.decide(memory)[0] == "look"


def test_the_expert_learns_nothing_from_a_refusal() -> None:
    expert = ScriptedExpert()
    memory = expert.begin(WORLD.task("demo:3").goal, Observation(""))
    assert expert.observe(memory, "take lamp", Observation("Nothing happens.", accepted=False)) == memory
    assert expert.observe(memory, "dance", Observation("Nothing happens.", accepted=False)) == memory


def test_the_expert_knows_its_own_goals_alone() -> None:
    with pytest.raises(Unsupported, match=r"knows no goal 'fly\.'"):
        ScriptedExpert().begin("fly.", Observation(""))
    with pytest.raises(ConfigurationError, match="no settings; leave out 'order'"):
        WORLD.expert(order="name")


@pytest.mark.parametrize("option", ["engine", "data", "goals", "habits"])
def test_it_has_no_options(option: str) -> None:
    with pytest.raises(ConfigurationError, match=f"'scripted' has no option '{option}'; known: none"):
        make_world("scripted", **{option: "human"})


@pytest.mark.parametrize("reference", ["demo:0", "demo:4", "demo/fnd", "", "train:1", "\ud800"])
def test_another_reference_is_not_found(reference: str) -> None:
    with pytest.raises(TaskNotFound, match="demo"):
        WORLD.task(reference)


def test_there_is_no_diagnosis() -> None:
    with pytest.raises(Unsupported, match="has no diagnosis"):
        open_env(WORLD, WORLD.task("demo:1"), diagnosis=True)
