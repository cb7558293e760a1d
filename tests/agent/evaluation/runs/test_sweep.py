"""Sweeps: read, refused with the nearest known word, planned, and their arms beside each other."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from housequest.agent.config import Prices
from housequest.agent.evaluation.analysis.arms import read_arms
from housequest.agent.evaluation.analysis.statistics import wilson
from housequest.agent.evaluation.render.series import ArmsReport
from housequest.agent.evaluation.runs.batch import run_batch
from housequest.agent.evaluation.runs.sweep import ArmRun, SweepFolder, plan_sweep, read_sweep
from housequest.worlds.errors import ConfigurationError, HousequestError

EXAMPLES = sorted((Path(__file__).parents[4] / "examples" / "sweeps").glob("*.yaml"))

TWO = """
common:
  world: scripted
  max_steps: 9
arms:
  all of it:
    agent: expert
  lamps, after rules:
    agent: expert
    type: light
    rules: rules.yaml
seeds: [0, 3]
"""

TOLD = """
common: {world: scripted, agent: react, model: openai:NAME}
arms: {a: {rules: null}, b: {rules: none}, takes none: {agent: expert}, d: {}}
"""


def written(folder: Path, text: str) -> Path:
    (folder / "rules.yaml").write_text("format: 0.2\nworld: scripted\nrules:\n- The key opens the box.\n")
    (folder / "two.yaml").write_text(text)
    return folder / "two.yaml"


def planned(file: Path, **flags: object) -> list[ArmRun]:
    return [each for each in plan_sweep(read_sweep(file), flags, file.parent) if each.spec]


def test_each_arm_is_played_with_each_seed(tmp_path: Path) -> None:
    trials = planned(written(tmp_path, TWO))
    assert [(trial.arm, trial.seed, trial.folder) for trial in trials] == [
        ("all of it", 0, "all-of-it-seed0"),
        ("all of it", 3, "all-of-it-seed3"),
        ("lamps, after rules", 0, "lamps-after-rules-seed0"),
        ("lamps, after rules", 3, "lamps-after-rules-seed3"),
    ]
    configs = [trial.spec.config for trial in trials]
    assert [config.seed for config in configs] == [0, 3, 0, 3]
    assert [len(trial.spec.selection.tasks) for trial in trials] == [3, 3, 1, 1]
    assert {config.max_turns for config in configs} == {9}
    # The expert takes no rules.
    assert [config.rules for config in configs] == [None] * 4


def test_a_flag_gives_the_seed_of_a_sweep_that_lists_none(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="--seed is given, and seeds of"):
        planned(written(tmp_path, TWO), seed=4)
    (one,) = planned(written(tmp_path, "arms: {a: {world: scripted, agent: expert}}"), seed=4)
    assert (one.seed, one.folder, one.spec.config.seed) == (4, "a-seed4", 4)


def test_an_arm_can_have_no_rules_whatever_is_configured(tmp_path: Path) -> None:
    file = written(tmp_path, TOLD)
    (tmp_path / "housequest.toml").write_text('rules = "rules.yaml"\n')
    rules = [trial.spec.config.rules for trial in planned(file)]
    assert [each and [rule.statement for rule in each.rules] for each in rules] == [
        None,
        None,
        None,
        ["The key opens the box."],
    ]


def test_settings_of_an_agent_are_joined_and_flags_fill_what_is_left_open(tmp_path: Path) -> None:
    text = """
    common: {world: scripted, agent: reasoner-actor, set: {stuck_after: 2, on_hint: off}}
    arms:
      a: {set: {stuck_after: 5}, model: "scripted:b.yaml"}
      b: {model: "scripted:b.yaml"}
    """
    (tmp_path / "b.yaml").write_text("default: look\n")
    file = written(tmp_path, text.replace("scripted:b.yaml", f"scripted:{tmp_path / 'b.yaml'}"))
    with pytest.raises(ConfigurationError, match=r"--model is given, and the arm 'a' of .*two.yaml sets it too"):
        planned(file, model="openai:x")
    first, second = planned(file, limit=2)
    assert (first.spec.config.settings["stuck_after"], second.spec.config.settings["stuck_after"]) == (5, 2)
    assert (first.spec.config.settings["on_hint"], first.seed, first.spec.config.limit) == (False, 0, 2)


def test_an_arm_names_models_of_roles_beside_the_common_one(tmp_path: Path) -> None:
    text = """
    common: {world: scripted, agent: reasoner-actor, model: openai:big}
    arms:
      alone: {}
      with a small actor: {model: actor=openai:small}
      another: {model: "openai:other,actor=openai:small"}
    """
    models = [trial.spec.config.model for trial in planned(written(tmp_path, text))]
    assert models == ["openai:big", "openai:big,actor=openai:small", "openai:other,actor=openai:small"]


def test_a_grid_is_an_arm_for_each_choice(tmp_path: Path) -> None:
    text = """
    common: {world: alfred-plans, set: {steps: on}}
    arms:
      copied: {}
      llm-planner: {agent: llm-planner, set: {replanning: off}, grid: {pool: [50, all], shots: [1, 9]}}
    """
    arms = read_sweep(written(tmp_path, text)).arms
    points = [(50, 1), (50, 9), ("all", 1), ("all", 9)]
    assert list(arms) == ["copied", *(f"llm-planner, pool {pool}, shots {shots}" for pool, shots in points)]
    assert [arms[name]["set"] for name in list(arms)[1:]] == [
        {"steps": "on", "replanning": "off", "pool": pool, "shots": shots} for pool, shots in points
    ]
    assert {arms[name]["agent"] for name in list(arms)[1:]} == {"llm-planner"} and "grid" not in arms["copied"]


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "not a table of settings"),
        ("arms: {a: {grid: 3}}", "grid is not a table of lists"),
        ("arms: {a: {grid: {pool: 3}}}", "grid is not a table of lists"),
        ("arms: {a: {grid: {pool: []}}}", "grid is not a table of lists"),
        ("arms: {a: {grid: {pool: [[3]]}}}", "grid is not a table of lists"),
        ("arms: {a: {grid: {pool: [3, 3]}}}", "share its folder"),
        ("arms: {a: {set: {pool: 1}, grid: {pool: [3]}}}", "pool stands in set and in grid"),
        ("common: {grid: {pool: [3]}}\narms: {a: {}}", "'grid', which is unknown"),
        (f"arms: {{a: {{grid: {{{', '.join(f'{key}: {list(range(99))}' for key in 'abcdefgh')}}}}}}}", "at most 1000"),
        ("- a", "not a table of settings"),
        ("arm: {a: {agent: expert}}", "Did you mean 'arms'"),
        ("common: {agent: expert}", "has no arms"),
        ("arms: []", "has no arms"),
        ("arms: {a: {agnet: expert}}", "Did you mean 'agent'"),
        ("arms: {a: {concurrency: 3}}", "'concurrency', which is unknown"),
        ("arms: {a: {agent: }}", "agent has no value"),
        ("arms: {a: {set: 3}}", "set is not a table"),
        ("arms: {a: {agent: expert}, A b: {agent: expert}, A-b: {agent: expert}}", "share its folder"),
        ("arms: {'': {agent: expert}}", "cannot name an arm"),
        ("arms: {a: {agent: expert}}\nseeds: 3", "not a list of seeds"),
        ("arms: {a: {agent: expert}}\nseeds: [1, 1]", "not a list of seeds"),
        ("arms: {a: {agent: expert}}\nseeds: [-1]", "not a list of seeds"),
        ("arms: {a: {agent: expert}}\nseeds: [true]", "not a list of seeds"),
        ("arms: &x {a: {agent: expert}}\ncommon: *x", "anchors and aliases"),
        ("arms: {a: {agent: expert}}\narms: {}", "not valid YAML"),
        ("{", "not valid YAML"),
        ("\x00", "not valid YAML"),
        ("a: " + "[" * 1_200, "nested too deep"),
        ("x" * 300_000, "it has more than"),
    ],
    ids=range(29),
)
def test_what_is_no_sweep_is_named(text: str, told: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError) as caught:
        read_sweep(written(tmp_path, text))
    assert "two.yaml" in str(caught.value)
    assert told in str(caught.value)


def test_a_value_that_cannot_be_used_names_its_arm(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"max_steps in the arm 'a' of .*two.yaml"):
        planned(written(tmp_path, "arms: {a: {world: scripted, agent: expert, max_steps: none}}"))
    with pytest.raises(ConfigurationError, match="nobody"):
        planned(written(tmp_path, "arms: {a: {world: scripted, agent: nobody}}"))
    with pytest.raises(ConfigurationError, match="There is no sweep's file"):
        read_sweep(tmp_path / "gone.yaml")


@pytest.mark.heavy
@settings(max_examples=80, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.binary(max_size=80)
    | st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=5), lambda each: st.lists(each, max_size=3)
    ).map(lambda value: f"arms: {{a: {value!r}}}\nseeds: {value!r}".encode("utf-8", "replace"))
)
def test_any_file_is_a_sweep_or_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "any.yaml").write_bytes(content)
    try:
        planned(tmp_path / "any.yaml")
    except HousequestError as error:
        assert str(error)


def test_a_sweep_repeats_each_arm_and_plays_nothing_lost_again(tmp_path: Path) -> None:
    file_text = "arms: {a: {world: scripted, agent: expert, repeat: 3}, b: {world: scripted, agent: expert}}"
    file = written(tmp_path, file_text)
    trials = planned(file)
    assert [(each.arm, each.seed, each.folder) for each in trials] == [
        ("a", 0, "a-seed0-1"),
        ("a", 1, "a-seed0-2"),
        ("a", 2, "a-seed0-3"),
        ("b", 0, "b-seed0"),
    ]
    assert [each.spec.config.repeat for each in trials] == [None, 2, 3, None]
    at_the_top = planned(written(tmp_path, "repeat: 2\narms: {a: {world: scripted, agent: expert}}"))
    assert [each.folder for each in at_the_top] == ["a-seed0-1", "a-seed0-2"]
    with pytest.raises(ConfigurationError, match="repeat stands in common, too; leave one out"):
        planned(written(tmp_path, "repeat: 2\ncommon: {repeat: 3}\narms: {a: {world: scripted, agent: expert}}"))
    written(tmp_path, file_text)
    with pytest.raises(ConfigurationError, match=r"repeat is set by .*lists seeds, too"):
        planned(written(tmp_path, f"{file.read_text()}\nseeds: [0, 1]\n"))
    with pytest.raises(
        ConfigurationError, match="retry_lost is set by --retry-lost, and a sweep does not play lost games again"
    ):
        planned(written(tmp_path, TWO), retry_lost=3)
    # Of this protocol, attempts after the first are a part.
    arm = "arms: {a: {world: alfworld, agent: react, model: openai:x, protocol: reflexion}}"
    with pytest.raises(ConfigurationError, match=r"retry_lost is set by .*reflexion.*evaluate the arm 'a' by itself"):
        planned(written(tmp_path, arm))


def test_arms_stand_beside_each_other(tmp_path: Path) -> None:
    trials = planned(written(tmp_path, TWO))
    folder = SweepFolder(tmp_path / "sweep")
    folder.begin(tuple(trials))
    with pytest.raises(ConfigurationError, match="has begun"):
        read_arms([folder.path])
    for trial in trials[:3]:
        asyncio.run(run_batch(trial.spec, folder.path / trial.folder))
    arms = read_arms([folder.path], lambda name: Prices(input=1, output=1))
    both, lamps = arms
    overall, first = both.summary.overall, lamps.summary.overall
    assert (both.name, len(both.runs), overall.finished, overall.success, both.cost) == ("all of it", 2, 6, 1.0, None)
    assert (lamps.planned, first.so_far, first.interval) == ("1 of 2", "1 of 2", wilson(1, 1))
    text = ArmsReport(arms).text()
    assert "The interval is over the tasks: one counts once, however many seeds played it." in text
    rows = ArmsReport(arms).data()["arms"]
    assert isinstance(rows, list)
    assert rows[0]["success"] == 1.0


def test_a_folder_of_somebody_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "thesis.txt").write_text("do not touch")
    with pytest.raises(ConfigurationError, match="holds no sweep"):
        SweepFolder(tmp_path / "out").begin(())
    (tmp_path / "out" / "sweep.json").write_text('{"runs": [{"arm": "a", "seed": 0, "folder": "../elsewhere"}]}')
    with pytest.raises(ConfigurationError, match=r"sweep\.json is damaged"):
        SweepFolder(tmp_path / "out").contents()


@pytest.mark.heavy
@pytest.mark.parametrize("file", EXAMPLES, ids=[file.name for file in EXAMPLES])
def test_the_sweeps_that_ship_can_be_planned(file: Path, tmp_path: Path) -> None:
    (tmp_path / "script.yaml").write_text("default: 'Thought: let me see\\nAction: look'\n")
    sweep = read_sweep(file)
    # A model that an arm names is the reader's own.
    own = {arm: {key: value for key, value in values.items() if key != "model"} for arm, values in sweep.arms.items()}
    sweep = replace(sweep, arms=own)
    if "alfred-plans" in {values.get("world") for values in sweep.arms.values()}:
        # Plans are no games: tests/tui/alfred/test_plans.py runs these sweeps.
        assert {values["world"] for values in sweep.arms.values()} == {"alfred-plans"}
        return
    flags = {"split": "example"} if "split" not in {key for values in sweep.arms.values() for key in values} else {}
    given = {**flags, "limit": 1, "model": f"scripted:{tmp_path / 'script.yaml'}"}
    trials = [each for each in plan_sweep(sweep, given, tmp_path) if each.spec]
    assert len(trials) == len(sweep.arms) * max(1, len(sweep.seeds))
