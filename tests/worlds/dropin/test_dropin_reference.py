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

ROOT = Path(__file__).parents[3]
OURS, THEIRS = "housequest.worlds.dropin", "alfworld.agents.environment"

pytestmark = [
    pytest.mark.games,
    pytest.mark.slow,
    pytest.mark.skipif(find_spec("alfworld") is None, reason="needs the reference game: pip install 'housequest[alfworld]'"),
]


@pytest.fixture(scope="module")
def few(alfworld_games: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder with one game of each kind of task, which the reference lists in no time."""
    data = tmp_path_factory.mktemp("data")
    for split in ("train", "valid_seen"):
        folder = alfworld_games / "json_2.1.1" / split
        kinds = {path.parts[-3].partition("-")[0]: path for path in sorted(folder.glob("*/*/game.tw-pddl"))}
        for game in kinds.values():
            there = data / "json_2.1.1" / game.parent.relative_to(alfworld_games / "json_2.1.1")
            there.mkdir(parents=True)
            for name in ("game.tw-pddl", "traj_data.json"):
                (there / name).symlink_to(game.with_name(name))
    return data


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
