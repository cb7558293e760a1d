"""An environment manager for trainers: what their rollout loops ask of it, and what a model is shown."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from housequest.worlds.alfworld.expert import make_expert
from housequest.worlds.dropin.groups import AlfworldEnvs
from housequest.worlds.dropin.manager import AlfWorldEnvironmentManager, alfworld_projection
from housequest.worlds.errors import ConfigurationError, OrderError, WorldError
from tests.worlds.dropin.test_groups import FILES

GAMES = 6


def managed(history: int = 2) -> AlfWorldEnvironmentManager:
    envs = AlfworldEnvs(FILES, 7, GAMES // 2, 2, expert=make_expert())
    return AlfWorldEnvironmentManager(envs, alfworld_projection, SimpleNamespace(env=SimpleNamespace(history_length=history)))


def asked(command: str) -> str:
    return f"<think>It is a start.</think>\n<action>{command}</action>"


def rollout(manager: AlfWorldEnvironmentManager) -> tuple[dict[str, Any], np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """The loop of verl-agent's trainers, with the expert for a model: success, and the reward and steps of each game."""
    observations, infos = manager.reset(np.array([{} for _ in range(GAMES)], dtype=object))
    over, rewards, lengths = np.zeros(GAMES, bool), np.zeros(GAMES, np.float32), np.zeros(GAMES, np.int32)
    total_batch: list[list[dict[str, Any]]] = [[] for _ in range(GAMES)]
    total_infos: list[list[dict[str, Any]]] = [[] for _ in range(GAMES)]
    while not over.all():
        active = np.logical_not(over)
        assert len(observations["text"] or ()) == len(observations["anchor"] or ()) == GAMES
        replies = [asked((info["extra.expert_plan"] or ["look"])[0]) for info in infos]
        observations, told, dones, infos = manager.step(replies)
        assert np.array([info["is_action_valid"] for info in infos], dtype=bool).all()
        rewards += told * active
        lengths[active] += 1
        for number in range(GAMES):
            total_batch[number].append({"active_masks": active[number]})
            total_infos[number].append(infos[number])
        over = np.logical_or(over, dones)
    success = manager.success_evaluator(
        total_infos=total_infos, total_batch_list=total_batch, episode_rewards=rewards, episode_lengths=lengths
    )
    return success, rewards, lengths


def test_a_rollout_of_the_expert() -> None:
    manager = managed()
    for _ in range(2):
        success, rewards, lengths = rollout(manager)
        won = success["success_rate"]
        assert won.shape == (GAMES,)
        assert (rewards == 10 * won).all()
        assert won.any()
        assert (lengths[won == 1] < 50).all()
        by_type = [value for name, value in success.items() if name != "success_rate"]
        assert all(name.endswith("_success_rate") for name in success if name != "success_rate")
        assert sum(map(len, by_type)) <= GAMES


def test_a_prompt_tells_the_task_the_last_steps_and_what_is_possible() -> None:
    manager = managed()
    first, _ = manager.reset()
    opening, possible = (first["anchor"] or [])[0], manager.envs.get_admissible_commands[0] or []
    prompt = (first["text"] or [])[0]
    assert opening in prompt
    assert "\n".join(command for command in possible if command != "help") in prompt
    prompts = [(manager.step([asked(command)] * GAMES)[0]["text"] or [])[0] for command in possible[:3]]
    prompt = prompts[-1]
    assert f"Your task is to: {manager.tasks[0]}\n" in prompt
    assert "Commands given so far: 3. The last 2, each after what you saw then:\n2. You saw: " in prompt
    assert opening not in prompt
    assert [step["action"] for step in manager.memory[0]] == list(possible[:3])
    assert manager.memory[0][0]["text_obs"] == opening
    manager.reset()
    assert manager.memory[0] == []


def test_without_a_history_each_prompt_stands_alone() -> None:
    manager = managed(0)
    manager.reset()
    last, _, _, _ = manager.step([asked("look")] * GAMES)
    assert "You saw:" not in (last["text"] or [])[0]


@pytest.mark.parametrize(
    ("reply", "command", "valid"),
    [
        ("<think>why</think><action>Go to Shelf 1</action>", "go to shelf 1", 1),
        ("<think>why\nnot</think>\n<action>\nlook\n</action> and more", "look", 1),
        ("<action>look</action>", "look", 0),
        ("<action>look</action><think>late</think>", "look", 0),
        ("<think>why</think> look", "", 0),
        ("", "", 0),
    ],
)
def test_a_reply_is_read_and_its_form_judged(reply: str, command: str, valid: int) -> None:
    assert alfworld_projection([reply], [["look"]]) == ([command], [valid])


def test_a_reply_that_says_nothing_is_refused_by_the_game_and_said_to_be_invalid() -> None:
    manager = managed()
    _, infos = manager.reset()
    files = [info["extra.gamefile"] for info in infos]
    seen, rewards, dones, infos = manager.step(["What now?"] * GAMES)
    assert set(seen["anchor"] or ()) == {"Nothing happens."}
    assert not rewards.any()
    assert not dones.any()
    assert [info["extra.gamefile"] for info in infos] == files
    assert not any(info["is_action_valid"] for info in infos)


def test_what_is_out_of_order_or_misconfigured_is_refused() -> None:
    manager = managed()
    with pytest.raises(OrderError, match="reset"):
        manager.step([asked("look")] * GAMES)
    manager.reset()
    with pytest.raises(WorldError, match="one for each game"):
        manager.step([asked("look")])
    with pytest.raises(WorldError, match="never played"):
        manager.success_evaluator(total_infos=[[{"won": True}]], total_batch_list=[[{"active_masks": False}]])
    manager.close()
    with pytest.raises(OrderError):
        manager.step([asked("look")] * GAMES)
    for config in (None, SimpleNamespace(env=SimpleNamespace(history_length=-1))):
        with pytest.raises(ConfigurationError, match="history_length"):
            AlfWorldEnvironmentManager(manager.envs, alfworld_projection, config)
