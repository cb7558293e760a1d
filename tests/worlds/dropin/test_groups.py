"""Groups of games for trainers: what they tell is what the drop-in tells, game by game."""

from __future__ import annotations

import gc
import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from housequest.worlds.alfworld.expert import make_expert
from housequest.worlds.dropin import BatchEnv
from housequest.worlds.dropin.core import EnvInfos, Limit
from housequest.worlds.dropin.env import AlfredDemangler, AlfredExpert, AlfredInfos
from housequest.worlds.dropin.games import start
from housequest.worlds.dropin.groups import AlfworldEnvs, build_alfworld_envs
from housequest.worlds.errors import ConfigurationError, OrderError, WorldError
from tests.worlds.alfworld.play import BUNDLED, HOUSES
from tests.worlds.dropin.test_dropin import configuration

FILES = [str(path) for path in HOUSES]


def single(seed: int, limit: int, *, expert: bool = False) -> BatchEnv:
    """What a trainer has in a process of its own for each game."""
    extras = ["gamefile", "expert_plan"] if expert else ["gamefile"]
    wrappers = [AlfredDemangler(), AlfredInfos, *([AlfredExpert()] if expert else [])]
    infos = EnvInfos(won=True, admissible_commands=True, extras=extras)
    env = BatchEnv(FILES, infos, max_episode_steps=limit, wrappers=wrappers)
    env.seed(seed)
    return env


@pytest.mark.parametrize("expert", [False, True])
def test_each_game_is_told_what_it_would_be_told_alone(expert: bool) -> None:
    envs = AlfworldEnvs(FILES, 7, 3, 2, limit=25, expert=make_expert() if expert else None)
    alone = [single(7 + number // 2, 25, expert=expert) for number in range(6)]
    assert envs.get_admissible_commands == [None] * 6
    chance = random.Random(1)
    for _ in range(3):
        texts, images, infos = envs.reset()
        told = [env.reset() for env in alone]
        for _ in range(26):
            assert images is None
            assert texts == [one[0][0] for one in told]
            assert envs.get_admissible_commands == [one[-1]["admissible_commands"][0] for one in told]
            assert infos == [
                {**{key: value[0] for key, value in one[-1].items()}, "observation_text": text}
                for one, text in zip(told, texts, strict=True)
            ]
            commands = [
                chance.choice([*info["admissible_commands"], "dance", " look "])
                if chance.random() < 0.5 or not expert
                else info["extra.expert_plan"][0]
                for info in infos
            ]
            told = [env.step([command]) for env, command in zip(alone, commands, strict=True)]
            texts, images, rewards, dones, infos = envs.step(commands)
            for info, one in zip(infos, told, strict=True):
                if one[2][0] and one[-1]["extra.gamefile"][0] is None:
                    assert info["extra.gamefile"] is None
            assert rewards == [10.0 * one[1][0] for one in told]
            assert dones == [one[2][0] for one in told]
    assert gc.isenabled()


def test_a_group_plays_one_game_or_those_that_are_named() -> None:
    envs = AlfworldEnvs(FILES, 0, 2, 3)
    texts, _, infos = envs.reset()
    assert len({info["extra.gamefile"] for info in infos[:3]}) == 1
    assert len(set(texts[:3])) == 1
    named: list[Any] = [{"gamefile": FILES[1]}, None, {}, *[{"gamefile": FILES[2]}] * 3]
    _, _, infos = envs.reset(named)
    assert [infos[0]["extra.gamefile"], *(info["extra.gamefile"] for info in infos[3:])] == [FILES[1], *[FILES[2]] * 3]
    assert infos[1]["extra.gamefile"] == infos[2]["extra.gamefile"]
    _, _, infos = envs.reset(np.array([*named], dtype=object))  # as trainers hold what belongs to a sample
    assert infos[0]["extra.gamefile"] == FILES[1]
    odds: list[Any] = [[{}], {"gamefile": FILES[1]}]
    for odd in odds:
        with pytest.raises(WorldError, match="one for each game"):
            envs.reset(odd)


def test_they_are_built_from_a_configuration(tmp_path: Path) -> None:
    data = tmp_path / "json_2.1.1"
    for split in ("train", "valid_seen"):
        trial = data / split / "pick_and_place_simple-Mug-None-Desk-301" / "trial_T1"
        trial.mkdir(parents=True)
        (trial / "traj_data.json").write_text('{"task_type": "pick_and_place_simple"}', "utf-8")
        (trial / "game.tw-pddl").write_text('{"solvable": true}', "utf-8")
    file = tmp_path / "config.yaml"
    file.write_text(json.dumps(configuration(tmp_path)), "utf-8")
    envs = build_alfworld_envs(str(file), 1, 2, 4, {"num_cpus": 0.1}, is_train=False, env_kwargs={"eval_dataset": "train"})
    assert (envs.num_processes, envs.group_n, envs.multi_modal) == (8, 4, False)
    with pytest.raises(ConfigurationError, match="Did you mean 'eval_dataset'"):
        build_alfworld_envs(str(file), 1, 2, 4, env_kwargs={"eval_datasets": "train"})
    with pytest.raises(ConfigurationError, match="at least 1 of each"):
        build_alfworld_envs(str(file), 1, 0, 4)


def test_what_is_out_of_order_or_no_command_is_refused() -> None:
    envs = AlfworldEnvs([str(BUNDLED[0])], 0, 1, 2)
    with pytest.raises(OrderError, match="reset"):
        envs.step(["look", "look"])
    envs.reset()
    for actions in ("ab", ["look"], ["look", None]):
        with pytest.raises(WorldError):
            envs.step(actions)  # type: ignore[arg-type]
    assert gc.isenabled()
    envs.close()
    with pytest.raises(OrderError):
        envs.step(["look", "look"])


@pytest.mark.heavy
def test_the_collector_hardly_runs_where_a_loop_keeps_nothing() -> None:
    envs = AlfworldEnvs(FILES, 7, 100, 8, limit=0)
    chance = random.Random(1)
    _, _, infos = envs.reset()

    def collections_in(steps: int) -> int:
        nonlocal infos
        before = sum(generation["collections"] for generation in gc.get_stats())
        for _ in range(steps):
            commands = [chance.choice(info["admissible_commands"]) for info in infos]
            _, _, _, _, infos = envs.step(commands)
        return sum(generation["collections"] for generation in gc.get_stats()) - before

    kept = gc.get_threshold()
    gc.set_threshold(700, 10, 10)  # as programs have it; tests have their own
    try:
        collections_in(45)  # until most of what is possible is known
        assert collections_in(30) < 15
    finally:
        gc.set_threshold(*kept)


def test_batches_and_groups_share_what_is_known_of_a_game_and_states_are_made_when_they_are_looked_at() -> None:
    infos = EnvInfos(won=True, admissible_commands=True, extras=["gamefile"])
    batch = BatchEnv(FILES[:1], infos, 2, wrappers=[AlfredDemangler, AlfredInfos])
    batch.reset()
    groups = AlfworldEnvs(FILES[:1], 1, 1, 2)
    groups.reset()
    assert batch.batch_env is not None
    games = [env.unwrapped for env in batch.batch_env.envs]
    assert {id(game._play.place) for game in games} == {id(slot.place) for slot in groups._slots}
    alone = start(FILES[0], infos, [AlfredDemangler, AlfredInfos])
    alone.reset()
    for command in ("look", " inventory ", "dance"):
        texts, scores, dones, told = batch.step([command, "look"])
        state, score, done = alone.step(command)
        assert games[0].state == state == alone.unwrapped.state
        assert (texts[0], scores[0], dones[0]) == (state["feedback"], score, done)
        assert told["admissible_commands"][0] == state["admissible_commands"]
        told["admissible_commands"][0].clear()
    batch.close()


def test_a_step_that_somebody_replaced_is_the_one_that_is_played() -> None:
    class Loud(Limit):
        def step(self, command: str) -> Any:
            state, score, done = super().step(command)
            state["feedback"] = state["feedback"].upper()
            return state, score, done

    infos = EnvInfos(won=True, admissible_commands=True)
    batch = BatchEnv(FILES[:1], infos, 1, wrappers=[AlfredDemangler, lambda env: Loud(env, 5)])
    batch.reset()
    assert batch.step(["look"])[0][0].isupper()
