"""The Gymnasium environment: Gymnasium's own checker, and what it does not check."""

from __future__ import annotations

import subprocess
import sys
import warnings
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from housequest.worlds.base import Observation
from housequest.worlds.errors import ConfigurationError, OrderError, TaskNotFound, WorldError
from housequest.worlds.registry import make_world

gymnasium: Any = pytest.importorskip("gymnasium", reason="needs Gymnasium: pip install 'housequest[gym]'")

from gymnasium.utils.env_checker import check_env  # noqa: E402

from housequest.worlds.gym_env import ID, HousequestEnv, register  # noqa: E402

ROOT = Path(__file__).parents[2]
SCRIPTED: dict[str, Any] = {"world": "scripted", "split": "demo"}


@pytest.mark.parametrize("settings", [{}, SCRIPTED, {"task": "example:2"}, {"max_steps": 5, "render_mode": "ansi"}], ids=str)
def test_gymnasiums_own_checker_has_nothing_to_say(settings: dict[str, Any]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        env = gymnasium.make(register(), **settings)
        check_env(env.unwrapped)
        env.close()


def test_the_checker_is_content_without_registration_too() -> None:
    """Gymnasium's own checker asserts what it wants; its warnings are errors here."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", message=".*not having a spec.*")
        check_env(HousequestEnv())


@pytest.mark.heavy
def test_the_id_with_its_module_works_in_a_fresh_process() -> None:
    code = (
        "import gymnasium; "
        "gymnasium.make('housequest.worlds.gym_env:housequest/ALFWorld-v0', task='example:1').reset(); "
        "import housequest.worlds.gym_env as w; assert w.register() == w.register() == w.ID"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT, timeout=60)


def test_an_ordered_pass_plays_each_task_once_and_then_says_so() -> None:
    env = HousequestEnv(**SCRIPTED, ordered=True)
    references = [env.reset(seed=3)[1]["task"] for _ in env.tasks]
    assert references == [task.reference for task in env.tasks]
    text, info = env.reset()
    assert (text, info["over"], info["task"], info["admissible_commands"]) == ("", True, "", [])
    assert env.step("look")[1:4] == (0.0, False, True)
    assert text in env.observation_space
    assert env.reset(options={"task": references[0]})[1]["task"] == references[0]
    assert not env.step("look")[4]["over"]


def test_shards_share_the_tasks_out() -> None:
    tasks = [f"generated:{number}" for number in range(5, 12)]
    settings: dict[str, Any] = {"split": "generated:5..11", "ordered": True}
    shards = [HousequestEnv(**settings, shard=(place, 3)) for place in range(3)]
    assert [[env.reset()[1]["task"] for _ in range(3)] for env in shards] == [
        tasks[0::3],
        [*tasks[1::3], ""],
        [*tasks[2::3], ""],
    ]
    for wrong in ((3, 3), (-1, 2), (0, 0), 2, "0/2", ("0", "2")):
        with pytest.raises(ConfigurationError, match="shard is"):
            HousequestEnv(**settings, shard=wrong)
    with pytest.raises(ConfigurationError, match="ordered=True"):
        HousequestEnv(shard=(0, 2))


@pytest.mark.parametrize("mode", ["next-step", "same-step"])
def test_a_vector_plays_each_task_once_to_the_end_of_the_slowest(mode: str) -> None:
    settings: dict[str, Any] = {"split": "generated:5..9", "ordered": True, "max_steps": 2}
    if mode == "same-step":
        makers = [partial(HousequestEnv, **settings, shard=(place, 2)) for place in range(2)]
        envs = gymnasium.vector.SyncVectorEnv(makers, autoreset_mode=gymnasium.vector.AutoresetMode.SAME_STEP)
    else:
        envs = gymnasium.make_vec(register(), num_envs=2, **settings)
    _, infos = envs.reset(seed=1)
    seen: set[str] = set()
    finished: list[str] = []
    while not infos["over"].all():
        seen |= {*infos["task"].tolist()}
        tasks = infos["task"].tolist()
        _, _, _, truncated, infos = envs.step(("look", "look"))
        finished += [task for task, end in zip(tasks, truncated, strict=True) if end and task]
    envs.close()
    assert sorted(seen - {""}) == sorted(finished) == [f"generated:{number}" for number in range(5, 10)]


def played(env: Any, seed: int) -> tuple[float, bool, bool, dict[str, Any]]:
    """One episode of the world's expert: how it ended."""
    base = env.unwrapped
    observation, info = env.reset(seed=seed)
    expert = base.world.expert()
    memory = expert.begin(info["goal"], Observation(observation))
    while True:
        command, _, memory = expert.decide(memory)
        observation, reward, terminated, truncated, info = env.step(command)
        memory = expert.observe(memory, command, Observation(observation))
        if terminated or truncated:
            return reward, terminated, truncated, info


def test_winning_terminates_with_the_reward() -> None:
    reward, terminated, truncated, info = played(HousequestEnv(), seed=1)
    assert (reward, terminated, truncated, info["won"]) == (1.0, True, False, True)


def test_the_limit_truncates_without_one() -> None:
    reward, terminated, truncated, info = played(HousequestEnv(max_steps=2), seed=1)
    assert (reward, terminated, truncated, info["won"]) == (0.0, False, True, False)


def test_a_win_with_the_last_step_terminates_and_is_not_truncated() -> None:
    steps = next(limit for limit in range(1, 50) if played(HousequestEnv(task="example:1", max_steps=limit), seed=1)[1])
    assert played(HousequestEnv(task="example:1", max_steps=steps), seed=1)[:3] == (1.0, True, False)
    assert played(HousequestEnv(task="example:1", max_steps=steps - 1), seed=1)[:3] == (0.0, False, True)


def test_info_is_new_each_time_and_tells_what_is_possible() -> None:
    env = HousequestEnv(task="example:1")
    _, info = env.reset(seed=0)
    assert set(info) == {"over", "won", "admissible_commands", "task", "goal"}
    assert info["task"] == "example:1"
    assert "look" in info["admissible_commands"]
    info["admissible_commands"].clear()
    assert "look" in env.step("look")[4]["admissible_commands"]


def test_the_seed_draws_the_tasks() -> None:
    def drawn(seed: int) -> list[str]:
        env = HousequestEnv()
        return [env.reset(seed=seed)[1]["task"], *(env.reset()[1]["task"] for _ in range(7))]

    assert drawn(3) == drawn(3)
    assert len({tuple(drawn(seed)) for seed in range(4)}) > 1


def test_a_task_can_be_named_for_once() -> None:
    env = HousequestEnv(task="example:1")
    assert env.reset(options={"task": "example:2"})[1]["task"] == "example:2"
    assert env.reset()[1]["task"] == "example:1"
    with pytest.raises(TaskNotFound):
        env.reset(options={"task": "example:999"})
    with pytest.raises(ConfigurationError, match="Did you mean 'task'"):
        env.reset(options={"tasks": "example:2"})


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"splt": "generated"}, "HousequestEnv has no argument 'splt'. Did you mean 'split'"),
        ({"engin": "native"}, "The world 'alfworld' has no option 'engin'.* Did you mean 'engine'"),
        ({"max_steps": "50"}, "max_steps is '50'; give a whole number of at least 1"),
        ({"max_steps": 0}, "at least 1"),
        ({"task": 690}, "There is no task '690'; give SPLIT:NUMBER"),
        ({"world": 7}, "7 is no world; give its name"),
        ({"world": make_world("alfworld"), "engine": "native"}, "takes no engine"),
    ],
)
def test_mistakes_are_named(settings: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigurationError, match=words):
        HousequestEnv(**settings)


def test_a_world_may_be_given_itself() -> None:
    assert HousequestEnv(make_world("scripted"), "demo").reset()[1]["task"].startswith("demo:")


def test_made_up_houses_are_drawn_without_end() -> None:
    env = HousequestEnv(split="generated")
    drawn = [env.reset(seed=seed)[1]["task"] for seed in range(3)]
    assert len(set(drawn)) == 3
    assert all(reference.startswith("generated:") for reference in drawn)


def test_ansi_shows_the_last_command_and_its_answer() -> None:
    env = HousequestEnv(render_mode="ansi")
    observation, _ = env.reset(seed=1)
    assert env.render() == observation
    assert env.step("dance")[0] == "Nothing happens."
    assert env.render() == "> dance\nNothing happens."
    plain = HousequestEnv()
    plain.reset()
    assert plain.render() is None


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"max_steps": 0}, "at least 1"),
        ({"render_mode": "human"}, "known: ansi"),
        ({"world": "alfwrld"}, "Did you mean 'alfworld'"),
        ({"engine": "natve"}, "native"),
        ({"split": "exmple"}, "example"),
        ({"split": "file"}, "has no tasks"),
        ({"task": "example:0"}, "example:0"),
    ],
)
def test_a_setting_that_means_nothing_is_named(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigurationError) as raised:
        HousequestEnv(**settings)
    assert message in str(raised.value)


def test_what_is_out_of_order_is_an_error_of_ours() -> None:
    env = HousequestEnv(max_steps=1)
    with pytest.raises(OrderError):
        env.step("look")
    env.reset()
    with pytest.raises(WorldError, match="An action is text"):
        env.step(3)  # type: ignore[arg-type]
    assert env.step("look")[3]
    with pytest.raises(OrderError):
        env.step("look")
    env.close()
    env.close()
    with pytest.raises(OrderError):
        env.step("look")


def test_an_observation_outside_the_space_is_refused() -> None:
    env = HousequestEnv(charset="abc")
    with pytest.raises(WorldError, match="Give a `charset`"):
        env.reset()


@pytest.mark.heavy
@settings(max_examples=60)
@given(actions=st.lists(st.text(max_size=60), min_size=1, max_size=6))
def test_any_text_is_an_action(actions: list[str]) -> None:
    env = HousequestEnv(task="example:1", max_steps=10, render_mode="ansi")
    env.reset(seed=0)
    for action in actions:
        assert env.step(action)[0] in env.observation_space
        assert env.render()


def random_play(envs: Any, seed: int, steps: int) -> list[Any]:
    observations, infos = envs.reset(seed=seed)
    seen: list[Any] = [tuple(observations)]
    for number in range(steps):
        actions = tuple(commands[number % len(commands)] for commands in infos["admissible_commands"])
        observations, rewards, terminated, truncated, infos = envs.step(actions)
        seen.append((tuple(observations), rewards.tolist(), terminated.tolist(), truncated.tolist(), infos["task"].tolist()))
    envs.close()
    return seen


def test_several_side_by_side_in_one_process_or_in_many_see_the_same() -> None:
    settings: dict[str, Any] = {"num_envs": 3, "max_steps": 4}
    together = random_play(gymnasium.make_vec(register(), vectorization_mode="sync", **settings), 5, 12)
    apart = gymnasium.make_vec(ID, vectorization_mode="async", vector_kwargs={"shared_memory": False}, **settings)
    assert random_play(apart, 5, 12) == together
    assert [True] * 3 in [truncated for _, _, _, truncated, _ in together[1:]]


def test_text_in_shared_memory_which_gymnasium_would_never_read_again_is_refused() -> None:
    with pytest.raises(ValueError, match="shared_memory=False"):
        gymnasium.make_vec(register(), num_envs=2, vectorization_mode="async")


@pytest.mark.games
def test_a_published_split_is_played(alfworld_games: Path) -> None:
    env = HousequestEnv(split="valid_seen", data=str(alfworld_games))
    assert len(env.tasks) == 140
    assert all(played(env, seed)[0] == 1.0 for seed in range(10))


def test_a_range_of_made_up_houses_is_played() -> None:
    env = HousequestEnv(split="generated:5..6", ordered=True)
    assert [env.reset()[1]["task"] for _ in range(2)] == ["generated:5", "generated:6"]
    drawn = HousequestEnv(split="generated")
    assert int(drawn.reset(seed=1)[1]["task"].partition(":")[2]) < 500_000, "nobody is trained in houses for evaluation"
