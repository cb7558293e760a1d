"""The PettingZoo environment: PettingZoo's own checkers, and what they do not check."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

from housequest.worlds.base import Observation
from housequest.worlds.env import expert_of
from housequest.worlds.errors import ConfigurationError, OrderError, Unsupported, WorldError

pytest.importorskip("pettingzoo", reason="needs PettingZoo: pip install 'housequest[zoo]'")

from pettingzoo.test import parallel_api_test, parallel_seed_test
from pettingzoo.utils import parallel_to_aec

from housequest.worlds.zoo_env import HousequestParallelEnv

SETTINGS: tuple[dict[str, Any], ...] = (
    {"split": "generated:0..9", "max_rounds": 5},
    {"split": "chores:60001..60005", "players": ("Ann", "Bob", "Cleo", "Dan"), "max_rounds": 5},
    {"world": "household-graph", "split": "generated:0..9", "players": ("Ann", "Bob", "Cleo"), "max_rounds": 5},
)


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_pettingzoos_checker_of_rounds_has_nothing_to_say(settings: dict[str, Any]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        parallel_api_test(HousequestParallelEnv(**settings), num_cycles=20)


def test_pettingzoos_own_conversion_lets_players_choose_in_turn() -> None:
    """Its checker of such environments takes arrays alone: it asks text for a dtype."""
    env = parallel_to_aec(HousequestParallelEnv(**SETTINGS[0]))
    env.reset(seed=1)
    chose = list[str]()
    for player in env.agent_iter():
        text, reward, terminated, truncated, info = env.last()
        assert env.observation_space(player).contains(text)
        assert (reward, terminated) == (0.0, False)
        chose += [] if truncated else [player]
        env.step(None if truncated else info["admissible_commands"][0])
    assert chose == ["Ann", "Bob"] * 5


def test_a_seed_draws_the_same_tasks() -> None:
    parallel_seed_test(lambda: HousequestParallelEnv(**SETTINGS[0]))


def test_experts_win_together_and_everybody_is_rewarded_once() -> None:
    env = HousequestParallelEnv(task="chores:60001", max_rounds=200, render_mode="ansi")
    expert, (texts, infos) = expert_of(env.world), env.reset(options={"task": "chores:60002"})
    assert {info["task"] for info in infos.values()} == {"chores:60002"}
    texts, infos = env.reset(seed=1)
    assert {info["task"] for info in infos.values()} == {"chores:60001"}
    memories = {player: expert.begin(infos[player]["goal"], Observation(text)) for player, text in texts.items()}
    rewards, news, rounds = dict.fromkeys(env.agents, 0.0), set[str](), 0
    while env.agents:
        actions = dict[str, str]()
        for player in env.agents:
            command, _, memories[player] = expert.decide(memories[player])
            listed = infos[player]["admissible_commands"]
            actions[player] = command if command in listed else "wait"
        texts, gained, terminated, truncated, infos = env.step(actions)
        rounds += 1
        for player in gained:
            rewards[player] += gained[player]
            answer = Observation(texts[player], accepted=actions[player] != "wait")
            memories[player] = expert.observe(memories[player], actions[player], answer)
            news |= {*infos[player]["news"]}
    assert rewards == dict.fromkeys(env.possible_agents, 1.0)
    assert all(terminated.values()) and not any(truncated.values())
    assert any(one.startswith("Bob ") for one in news) and any(one.startswith("Ann ") for one in news)
    assert str(env.render()).startswith("Ann> ")
    with pytest.raises(OrderError, match="call reset"):
        env.step({})


def test_rounds_are_the_turns_of_the_seats_in_order() -> None:
    env = HousequestParallelEnv(world="household-graph", task="generated:1")
    env.reset()
    assert env._house is not None
    house = env._house.copy()
    for actions in ({"Ann": "walk to kitchen 1", "Bob": "walk to bedroom 1"}, {"Bob": "look"}, {}):
        told, _, _, _, infos = env.step(actions)
        for player in env.agents:
            assert house.step(player, actions.get(player, "wait")).observation.text == told[player]
        assert {player: info["news"] for player, info in infos.items()} == {
            player: list(house.news(player)) for player in env.agents
        }


def test_what_cannot_be_played_is_refused() -> None:
    with pytest.raises(Unsupported, match="one player alone"):
        HousequestParallelEnv(world="scripted", split="demo").reset()
    with pytest.raises(ConfigurationError, match="not a player's name"):
        HousequestParallelEnv(players=("Ann", "player 2"))
    with pytest.raises(ConfigurationError, match="at least 1"):
        HousequestParallelEnv(max_rounds=0)
    with pytest.raises(ConfigurationError, match="Did you mean 'players'"):
        HousequestParallelEnv(player=("Ann", "Bob"))
    with pytest.raises(ConfigurationError, match="no render mode"):
        HousequestParallelEnv(render_mode="human")
    env = HousequestParallelEnv(task="generated:1")
    with pytest.raises(OrderError):
        env.step({})
    env.reset()
    with pytest.raises(ConfigurationError, match="Nobody called 'Zed'"):
        env.step({"Zed": "look"})
    odd: Any = {"Ann": 7}
    with pytest.raises(WorldError, match="An action is text, not 7"):
        env.step(odd)
