"""alfworld's interface over the native engine. That it is alfworld's, test_dropin_reference.py shows on the real one."""

from __future__ import annotations

import json
import os
import pickle
import random
import subprocess
import sys
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from housequest.worlds.dropin import AlfredTWEnv, BatchEnv, get_environment
from housequest.worlds.dropin.core import EnvInfos
from housequest.worlds.dropin.env import AlfredDemangler, AlfredExpert
from housequest.worlds.dropin.games import register_game, register_games, start
from housequest.worlds.errors import ConfigurationError, GameError, OrderError, Unsupported, WorldError
from tests.test_imports import loaded
from tests.worlds.alfworld.play import BUNDLED, HOUSES, name_of
from tests.worlds.alfworld.samples import HEAT, PLACE, put

TRIAL = "trial_T20190101_000000_000003"
WINNABLE = [path for path in HOUSES if path.stem != "odd_facts"]
"""The expert does not win that one, whoever asks it."""


def configuration(data: Path | None = None, steps: int = 50) -> dict[str, Any]:
    """alfworld's configuration, as far as it concerns text games."""
    root = "$ALFWORLD_DATA" if data is None else str(data)
    return {
        "env": {
            "type": "AlfredTWEnv",
            "task_types": [1, 2, 3, 4, 5, 6],
            "goal_desc_human_anns_prob": 0.0,
            "domain_randomization": False,
            "expert_type": "handcoded",
        },
        "general": {"training_method": "dagger"},
        "dagger": {"training": {"max_nb_steps_per_episode": steps}},
        "rl": {"training": {"max_nb_steps_per_episode": steps + 1}},
        "dataset": {
            "data_path": f"{root}/json_2.1.1/train",
            "eval_id_data_path": f"{root}/json_2.1.1/valid_seen",
            "eval_ood_data_path": None,
            "num_train_games": -1,
            "num_eval_games": -1,
        },
    }


def trial(data: Path, name: str, *, split: str = "train", kind: str | None = None, game: object = True) -> str:
    """Write one trial; ``game`` is what it says of being solvable, None for a game that says nothing."""
    kind = name.partition("-")[0] if kind is None else kind
    put(data, split, name, json.dumps({"task_type": kind}).encode(), "traj_data.json")
    return str(
        put(data, split, name, json.dumps({} if game is None else {"grammar": '"solvable": 1', "solvable": game}).encode())
    )


@pytest.fixture
def data(tmp_path: Path) -> Path:
    trial(tmp_path, PLACE)
    trial(tmp_path, HEAT)
    trial(tmp_path, PLACE, split="valid_seen")
    return tmp_path


def playable(data: Path, steps: int = 50, **env: Any) -> AlfredTWEnv:
    """An env over the houses that ship, under ``env`` settings."""
    config = configuration(data, steps)
    config["env"].update(env)
    source = AlfredTWEnv(config)
    source.game_files = list(map(str, BUNDLED))
    return source


def experts_env(path: Path, steps: int = 0) -> BatchEnv:
    """One game under the eyes of the expert."""
    infos = EnvInfos(won=True, admissible_commands=True, extras=["expert_plan"])
    return BatchEnv([str(path)], infos, max_episode_steps=steps, wrappers=[AlfredDemangler(), AlfredExpert()])


def test_the_class_is_found_by_alfworlds_name() -> None:
    assert get_environment("AlfredTWEnv") is AlfredTWEnv
    with pytest.raises(Unsupported, match=r"set env\.type to AlfredTWEnv"):
        get_environment("AlfredThorEnv")
    with pytest.raises(ConfigurationError, match="known: AlfredTWEnv"):
        get_environment("Thor")


def test_it_loads_neither_numpy_nor_a_reader_of_yaml(tmp_path: Path) -> None:
    assert (
        loaded("import housequest.worlds.dropin", tmp_path) & {"numpy", "textworld", "alfworld", "ruamel", "gymnasium"} == set()
    )


def test_games_are_those_that_alfworld_collects(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    deeper = trial(data, f"more/{PLACE}", kind=PLACE.partition("-")[0])
    trial(data, f"pick_and_place_simple-Mug-movable-Desk-301/{TRIAL}")
    trial(data, f"pick_and_place_simple-MugSliced-None-Desk-301/{TRIAL}")
    trial(data, f"pick_and_place_simple-Pen-None-Desk-301/{TRIAL}", game=False)
    trial(data, f"pick_and_place_simple-Cup-None-Desk-301/{TRIAL}", kind="dance")
    put(data, "train", f"pick_and_place_simple-Pot-None-Desk-301/{TRIAL}", b"{}", "traj_data.json")
    put(data, "train", f"pick_and_place_simple-Pan-None-Desk-301/{TRIAL}", b'{"solvable": true}')
    source = AlfredTWEnv(configuration(data))
    assert sorted(source.game_files) == sorted(
        [deeper, *(f"{data}/json_2.1.1/train/{name}/game.tw-pddl" for name in (PLACE, HEAT))]
    )
    assert source.num_games == 3
    assert (source.train_eval, source.config["env"]["type"]) == ("train", "AlfredTWEnv")
    assert capsys.readouterr() == ("", "")


def test_games_that_say_nothing_of_a_solution_are_named(data: Path) -> None:
    trial(data, f"pick_and_place_simple-Pen-None-Desk-301/{TRIAL}", game=None)
    with pytest.warns(UserWarning, match=r"1 games are left out, .* such as .*Pen-None"):
        assert AlfredTWEnv(configuration(data)).num_games == 2


def test_a_split_a_number_and_types_leave_fewer(data: Path) -> None:
    assert AlfredTWEnv(configuration(data), train_eval="eval_in_distribution").num_games == 1
    config = configuration(data)
    config["dataset"]["num_train_games"] = 1
    assert AlfredTWEnv(config).num_games == 1
    config["dataset"]["num_train_games"] = 0
    assert AlfredTWEnv(config).num_games == 2
    config["env"]["task_types"] = [4]
    assert [Path(file).parts[-3] for file in AlfredTWEnv(config).game_files] == [HEAT.partition("/")[0]]
    config["env"]["task_types"] = [6]
    source = AlfredTWEnv(config)
    assert source.num_games == 0
    with pytest.raises(ConfigurationError, match="no games to play"):
        source.init_env(batch_size=1)


def test_the_data_folder_has_its_default_where_the_variable_is_unset(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALFWORLD_DATA", str(data))
    assert AlfredTWEnv(configuration()).num_games == 2
    monkeypatch.delenv("ALFWORLD_DATA")
    monkeypatch.setenv("HOME", str(data / "home"))
    (data / "home" / ".cache").mkdir(parents=True)
    (data / "home" / ".cache" / "alfworld").symlink_to(data)
    assert AlfredTWEnv(configuration()).num_games == 2


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("dataset.data_path", None, "gives no dataset.data_path"),
        ("dataset.data_path", 3, "dataset.data_path is 3; give text"),
        ("dataset.data_path", "/nowhere/\0", "which is not a folder"),
        ("dataset.data_path", "/nowhere/\ud800", "which is not a folder"),
        ("dataset.data_path", "/nowhere/train", "'/nowhere/train', which is not a folder. Fetch the games"),
        ("dataset.num_train_games", "10", "give a whole number"),
        ("dataset.num_train_games", float("nan"), "give a whole number"),
        ("dataset.num_train_games", True, "give a whole number"),
        ("env.task_types", [], "numbers from 1 to 6"),
        ("env.task_types", "123", "give a list"),
        ("env.task_types", 1, "give a list"),
        ("env", None, "gives no env.task_types"),
        ("dataset", [1], "gives no dataset.data_path"),
        ("general.training_method", "daggers", "Did you mean 'dagger'"),
        ("general.training_method", None, "gives no general.training_method"),
        ("dagger.training.max_nb_steps_per_episode", 5.5, "give a whole number"),
        ("dagger", "", "gives no dagger.training.max_nb_steps_per_episode"),
        ("env.domain_randomization", "yes", "give true or false"),
    ],
)
def test_a_setting_that_means_nothing_is_named(data: Path, key: str, value: object, message: str) -> None:
    config: Any = configuration(data)
    place, names = config, key.split(".")
    for name in names[:-1]:
        place = place[name]
    place[names[-1]] = value
    with pytest.raises(ConfigurationError) as raised:
        AlfredTWEnv(config).init_env(1)
    assert message in str(raised.value)


def test_a_split_that_is_none_is_named(data: Path) -> None:
    with pytest.raises(ConfigurationError, match="Did you mean 'eval_in_distribution'"):
        AlfredTWEnv(configuration(data), train_eval="eval_in_distribute")


def test_peoples_goals_are_said_to_be_left_out(data: Path) -> None:
    config = configuration(data)
    config["env"]["goal_desc_human_anns_prob"] = 1
    with pytest.warns(UserWarning, match="goal_desc_human_anns_prob is ignored"):
        AlfredTWEnv(config)


def test_values_have_alfworlds_types(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    env = playable(data).init_env(batch_size=2)
    obs, infos = env.reset()
    assert [type(obs), len(obs), type(obs[0])] == [tuple, 2, str]
    assert set(infos) == {"won", "admissible_commands", "extra.gamefile", "extra.expert_plan"}
    assert [type(values) for values in infos.values()] == [list] * 4
    assert [type(value) for value in infos["admissible_commands"] + infos["extra.expert_plan"]] == [list] * 4
    assert set(infos["extra.gamefile"]) <= set(map(str, BUNDLED))
    obs, scores, dones, infos = env.step(["look", "nonsense"])
    assert obs[1] == "Nothing happens."
    assert (scores, dones) == ((0, 0), (False, False))
    assert (infos["won"], infos["extra.gamefile"]) == ([False, False], [None, None])
    assert capsys.readouterr() == ("", "")


def test_the_experts_plan_is_for_training_under_dagger_alone(data: Path) -> None:
    config = configuration(data)
    for train_eval, method, there in (
        ("train", "dagger", True),
        ("train", "dqn", False),
        ("eval_in_distribution", "dagger", False),
    ):
        source = AlfredTWEnv(config, train_eval=train_eval)
        config["general"]["training_method"] = method  # what is changed after the fact is heeded, as in alfworld
        source.game_files = [str(BUNDLED[0])]
        env = source.init_env(1)
        assert ("extra.expert_plan" in env.reset()[1]) is there
        assert env.batch_env.envs[0].max_episode_steps == (51 if method == "dqn" else 50)
        config["general"]["training_method"] = "dagger"


@pytest.mark.parametrize("path", WINNABLE, ids=name_of)
@pytest.mark.parametrize("wander", [0, 12])
def test_the_experts_plan_wins_whatever_was_done_before(path: Path, wander: int) -> None:
    env = experts_env(path)
    chance = random.Random(wander)
    _, infos = env.reset()
    for step in range(wander + 60):
        (listed,), ((command,),) = infos["admissible_commands"], infos["extra.expert_plan"]
        assert command in listed
        _, (score,), (done,), infos = env.step([chance.choice(listed) if step < wander else f" {command} "])
        if done:
            assert score == 1
            return
    pytest.fail("the plan does not win")


def test_a_game_that_is_over_stays_as_it_is_until_the_reset(data: Path) -> None:
    env = playable(data, steps=3).init_env(1)
    env.reset()
    for _ in range(2):
        assert env.step(["help"])[2] == (False,)
    last = env.step(["look"])
    assert last[2] == (True,)
    assert env.step(["inventory"]) == last
    assert env.step([None]) == last  # type: ignore[list-item]
    env.reset()
    assert env.step(["inventory"])[0] == ("You are not carrying anything.",)


def test_the_order_is_the_seeds(data: Path) -> None:
    source = playable(data)

    def order(seed: int | None) -> list[str]:
        env = source.init_env(1)
        if seed is not None:
            assert env.seed(seed) == [seed]
        return [env.reset()[1]["extra.gamefile"][0] for _ in range(8)]

    assert order(None) == order(1234)
    assert len({tuple(order(seed)) for seed in range(6)}) > 1
    env = source.init_env(1)
    env.skip(3)
    assert env.reset()[1]["extra.gamefile"][0] == order(None)[3]


def test_domain_randomization_deals_numbers_anew_in_training_alone(data: Path) -> None:
    def openings(source: AlfredTWEnv) -> set[str]:
        env = source.init_env(8)
        env.seed(2)
        obs, infos = env.reset()
        assert all(
            plan[0] in listed for plan, listed in zip(infos["extra.expert_plan"], infos["admissible_commands"], strict=True)
        )
        return set(obs)

    source = playable(data, domain_randomization=True)
    source.game_files = source.game_files[:1]
    assert len(openings(source)) > 1
    assert openings(source) == openings(source)
    config = deepcopy(source.config)
    evaluated = AlfredTWEnv(config, train_eval="eval_in_distribution")
    evaluated.game_files = source.game_files
    assert len(set(evaluated.init_env(8).reset()[0])) == 1


def test_what_is_out_of_order_or_of_another_shape_is_an_error_of_ours(data: Path) -> None:
    source = playable(data)
    with pytest.raises(ConfigurationError, match="at least 1"):
        source.init_env(0)
    for size in ("2", 2.0, [2]):
        with pytest.raises(ConfigurationError, match="not a whole number"):
            source.init_env(size)  # type: ignore[arg-type]
    env = source.init_env(2)
    with pytest.raises(OrderError, match="reset"):
        env.step(["look", "look"])
    env.reset()
    for commands in ("ab", ["look"], None, [1, 2], ["look", None]):
        with pytest.raises(WorldError):
            env.step(commands)  # type: ignore[arg-type]
    env.close()
    env.close()
    with pytest.raises(OrderError):
        env.step(["look", "look"])
    with pytest.raises(OrderError, match="was closed"):
        env.reset()


def test_odd_calls_that_textworld_takes_are_taken(data: Path) -> None:
    source = playable(data)
    env = source.init_env(None)
    text, infos = env.reset()
    assert (type(text), infos["won"], env.step("look")[1:3]) == (str, False, (0, False))
    for seed in (-1, 1 << 32, 1.5):
        with pytest.raises(ValueError, match="whole number from 0"):
            env.seed(seed)  # type: ignore[arg-type]
    env.close()
    assert env.seed(3) == [3]
    env.skip()
    with pytest.raises(ValueError, match="at least 1"):
        source.init_env(0)


def test_a_damaged_game_is_named_when_its_turn_comes(data: Path) -> None:
    env = AlfredTWEnv(configuration(data)).init_env(1)
    with pytest.raises(GameError, match=r"game\.tw-pddl"):
        env.reset()


def test_the_source_goes_to_another_process(data: Path) -> None:
    source = playable(data)
    assert pickle.loads(pickle.dumps(source)).game_files == source.game_files


def test_a_batch_in_the_midst_of_its_games_goes_to_another_process(data: Path) -> None:
    env = playable(data).init_env(batch_size=2)
    env.reset()
    env.step(["look", "inventory"])
    other = pickle.loads(pickle.dumps(env))
    assert other.step(["help", "look"]) == env.step(["help", "look"])
    assert [other.reset() for _ in range(3)] == [env.reset() for _ in range(3)]


def test_whoever_replaces_the_iterator_decides_what_is_played(data: Path) -> None:
    env = playable(data).init_env(batch_size=2)
    files = [str(BUNDLED[1]), str(BUNDLED[0])]
    env._gamefiles_iterator = iter(files)
    assert env.reset()[1]["extra.gamefile"] == files


def test_games_of_the_older_grammar_are_refused_before_any_is_played(data: Path) -> None:
    file = Path(trial(data, f"pick_and_place_simple-Pen-None-Desk-301/{TRIAL}"))
    problem = json.loads(BUNDLED[0].read_text("utf-8"))["pddl_problem"]
    grammar = '"rhs": "Your task is to: put a pen in desk." template :: "put {o} in/on {r}";'
    game = {"pddl_problem": problem, "grammar": grammar, "pddl_domain": "(define (domain alfred))", "solvable": True}
    file.write_text(json.dumps(game), "utf-8")
    refused = r"Pen-None.*older grammar .*as do 0 others.*housequest data download"
    with pytest.raises(GameError, match=refused):
        AlfredTWEnv(configuration(data))
    with pytest.raises(GameError, match=refused):
        register_games([str(BUNDLED[1]), str(file)], batch_size=1)
    with pytest.raises(GameError, match=refused):
        register_game(str(file))
    with pytest.raises(GameError, match=r"Pen-None.*older grammar"):
        start(str(file))


def test_types_that_alfworld_ignores_are_ignored_with_a_warning(data: Path) -> None:
    config = configuration(data)
    config["env"]["task_types"] = [4, 7]
    with pytest.warns(UserWarning, match="has 7, which is ignored"):
        assert AlfredTWEnv(config).num_games == 1


def test_a_configuration_of_omegaconf_is_taken_as_it_is(data: Path) -> None:
    omegaconf = pytest.importorskip("omegaconf", reason="needs OmegaConf, which is nobody's extra")
    config = configuration(data)
    config["general"] = {"training_method": "${env.method}"}
    config["env"]["method"] = "dqn"
    source = AlfredTWEnv(omegaconf.OmegaConf.create(config))
    source.game_files = [str(BUNDLED[0])]
    assert source.init_env(1).batch_env.envs[0].max_episode_steps == 51


def test_game_logic_is_read_where_it_is(data: Path) -> None:
    source = playable(data)
    (data / "alfred.pddl").write_text("(define (domain alfred))", "utf-8")
    source.config["logic"] = {"domain": str(data / "alfred.pddl"), "grammar": str(data / "alfred.twl2")}
    with pytest.raises(GameError, match="it has no text under 'pddl_problem'"):  # the games here hold no logic
        source.get_game_logic()
    (data / "alfred.twl2").write_text("grammar", "utf-8")
    source.get_game_logic()
    assert source.game_logic == {"pddl_domain": "(define (domain alfred))", "grammar": "grammar"}


@pytest.mark.heavy
def test_a_script_finds_the_stand_ins_in_place_of_alfworld(tmp_path: Path) -> None:
    (logic := tmp_path / "logic").mkdir()
    (domain := logic / "alfred.pddl").write_text("(define (domain alfred))", "utf-8")
    script = tmp_path / "script.py"
    script.write_text(
        "import sys, textworld.gym, alfworld.info\n"
        "from alfworld.agents.environment import get_environment\n"
        "from textworld.envs.wrappers import Filter\n"
        "print(get_environment('AlfredTWEnv').__module__, sys.argv[1:], __name__)\n"
        "print(alfworld.info.ALFRED_PDDL_PATH)\n"
        "try:\n    import alfworld.agents.layout\nexcept ModuleNotFoundError as error:\n    print(error.name)\n",
        "utf-8",
    )
    for command in ([script], ["-m", "script"]):
        done = subprocess.run(
            [sys.executable, "-m", "housequest.as_alfworld", *command, "--one"],
            check=True,
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[3] / "src"), "ALFWORLD_DATA": str(tmp_path)},
            capture_output=True,
            text=True,
        )
        opening = "housequest.worlds.dropin.env ['--one'] __main__"
        assert done.stdout.splitlines() == [opening, str(domain), "alfworld.agents.layout"]


@settings(max_examples=60)
@given(commands=st.lists(st.text(max_size=40), min_size=1, max_size=6))
def test_any_text_is_a_command(commands: list[str]) -> None:
    env = experts_env(BUNDLED[0], steps=5)
    env.reset()
    for command in commands:
        (text,), *_ = env.step([command])
        assert text


@pytest.mark.games
def test_published_games_are_all_there(alfworld_games: Path) -> None:
    config = configuration(alfworld_games)
    assert AlfredTWEnv(config).num_games == 3553
    assert AlfredTWEnv(config, train_eval="eval_in_distribution").num_games == 140


@pytest.mark.games
def test_the_plan_wins_published_games_after_a_walk(alfworld_games: Path) -> None:
    source = AlfredTWEnv(configuration(alfworld_games, steps=150))
    source.game_files = sorted(source.game_files)[::150]
    env = source.init_env(len(source.game_files))
    chance = random.Random(3)
    _, infos = env.reset()
    won = dones = (0,)
    for step in range(150):
        walk = [chance.choice(listed) for listed in infos["admissible_commands"]]
        _, won, dones, infos = env.step(walk if step < 10 else [plan[0] for plan in infos["extra.expert_plan"]])
        if all(dones):
            break
    assert all(won)
