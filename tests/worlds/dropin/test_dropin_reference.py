"""The drop-in beside the real alfworld: one script on both, with nothing changed but the import."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

import pytest

from housequest.worlds.alfworld.houses.house import make_house
from tests.worlds.alfworld.samples import encoded, put

ROOT = Path(__file__).parents[3]
OURS, THEIRS = "housequest.worlds.dropin", "alfworld.agents.environment"

pytestmark = [
    pytest.mark.games,
    pytest.mark.slow,
    pytest.mark.skipif(find_spec("alfworld") is None, reason="needs the reference game: pip install 'housequest[alfworld]'"),
]


@pytest.fixture(scope="module")
def few(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder with one game of each kind of task, which the reference lists in no time: published ones where they are,
    else made-up houses with the domain and the grammar that alfworld brings."""
    data, published = tmp_path_factory.mktemp("data"), Path(os.environ.get("ALFWORLD_DATA", "")) / "json_2.1.1"
    for split in ("train", "valid_seen"):
        games = sorted((published / split).glob("*/*/game.tw-pddl"))
        for game in {path.parts[-3].partition("-")[0]: path for path in games}.values():
            there = data / "json_2.1.1" / game.parent.relative_to(published)
            there.mkdir(parents=True)
            for name in ("game.tw-pddl", "traj_data.json"):
                (there / name).symlink_to(game.with_name(name))
        if not games:
            _make_up(data, split)
    return data


def _make_up(data: Path, split: str) -> None:
    installed = find_spec("alfworld")
    if installed is None:
        pytest.skip("needs games: set ALFWORLD_DATA to the folder that holds json_2.1.1, or pip install 'housequest[alfworld]'")
    logic = Path(str(installed.origin)).with_name("data")
    domain, grammar = (logic / name for name in ("alfred.pddl", "alfred.twl2"))
    for kind, house in {house.goal.type: house for house in map(make_house, range(40))}.items():
        name = f"{kind}-Thing-None-Place-1/trial_T{house.seed}"
        game = {
            "pddl_domain": domain.read_text("utf-8"),
            "grammar": grammar.read_text("utf-8").replace("UNKNOWN GOAL.", house.sentence),
            "pddl_problem": house.problem,
            "solvable": True,
            "walkthrough": house.plan,
        }
        things = {"object_target": "Mug", "parent_target": "Desk", "toggle_target": "", "mrecep_target": ""}
        trial = {
            "task_type": kind,
            "task_id": name.rpartition("/")[2],
            "turk_annotations": {"anns": [{"task_desc": house.sentence, "high_descs": []}]},
            "pddl_params": {**things, "object_sliced": False},
        }
        put(data, split, name, encoded(game))
        put(data, split, name, encoded(trial), "traj_data.json")


def said(script: Path | Sequence[str | Path], arguments: Sequence[str], data: Path, folder: Path) -> list[str]:
    """The output of a script in its own process. jericho, which textworld imports for other games, may be missing, and
    torch, which alfworld imports for its agents."""
    for name, content in (("jericho", "UnsupportedGameWarning = TruncatedInputActionWarning = UserWarning\n"), ("torch", "")):
        if find_spec(name) is None:
            (folder / f"{name}.py").write_text(content, "utf-8")
    done = subprocess.run(
        [sys.executable, *([script] if isinstance(script, Path) else script), *arguments],
        check=False,
        cwd=folder,
        env={**os.environ, "ALFWORLD_DATA": str(data), "PYTHONPATH": os.pathsep.join((str(ROOT / "src"), str(folder)))},
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=1800,  # on a busy machine some take more than seven minutes
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_both_tell_the_same_script_the_same(few: Path, tmp_path: Path) -> None:
    limit = {"training": {"max_nb_steps_per_episode": 12}}
    config = {
        "env": {
            "type": "AlfredTWEnv",
            "task_types": [1, 3, 4, 5, 6],
            "goal_desc_human_anns_prob": 0.0,
            "domain_randomization": False,
            "expert_type": "handcoded",
        },
        "general": {},
        "dagger": limit,
        "rl": limit,
        "dataset": {
            "data_path": "$ALFWORLD_DATA/json_2.1.1/train",
            "eval_id_data_path": "${ALFWORLD_DATA}/json_2.1.1/valid_seen",
            "num_train_games": 4,
            "num_eval_games": -1,
        },
    }
    script = Path(__file__).with_name("dropin_script.py")
    ours, theirs = (
        [line for line in said(script, [module, json.dumps(config)], few, tmp_path) if line.startswith("{")]
        for module in (OURS, THEIRS)
    )
    assert len(ours) > 90
    for number, (our, their) in enumerate(zip(ours, theirs, strict=True), 1):
        assert json.loads(our) == json.loads(their), f"line {number}"
    values = [line["values"] for line in map(json.loads, ours) if line.get("what") == "step"]
    assert any(1 in scores for _, scores, _ in values)
    assert any(all(dones) and not all(scores) for _, scores, dones in values)


@pytest.mark.usefixtures("alfworld_games")  # in made-up houses alfworld's expert draws from the generator that the example uses
def test_the_example_needs_its_import_changed_and_nothing_else(few: Path, tmp_path: Path) -> None:
    source = (ROOT / "examples" / "alfworld_agent.py").read_text("utf-8")
    shown: list[list[str]] = []
    for module in (OURS, THEIRS):
        script = tmp_path / f"{module}.py"
        text, changed = re.subn(
            rf"^from {OURS} import get_environment$", f"from {module} import get_environment", source, flags=re.M
        )
        assert changed == 1
        script.write_text(text, "utf-8")
        lines = said(script, ["2"], few, tmp_path)
        shown.append(lines[lines.index("-= Welcome to TextWorld, ALFRED! =-") :])
    assert len(shown[0]) > 100
    assert shown[0] == shown[1]
