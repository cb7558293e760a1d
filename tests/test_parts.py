"""Optional parts come out of the tree: what they declare is then not installed, and the rest goes on."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from scripts.parts import PAIRS, ROOT, Trial, declared, is_in, knowers, own_tests, parts
from tests.parts import WHOLE


@WHOLE
def test_every_part_is_here_with_tests_at_the_mirrored_paths() -> None:
    assert [name for name in parts() if not is_in(ROOT, name)] == []
    assert [name for name in parts() if not list(own_tests(ROOT, name))] == []


def test_what_a_part_declares_is_found_by_its_modules() -> None:
    assert set(declared(["graphs"])) == {("housequest.worlds", "household-graph")}
    commands = {("housequest.commands", "serve"), ("housequest.commands", "join")}
    assert set(declared(["browser", "llama"])) == {*commands, ("housequest.models", "llama")}
    assert ("inspect_ai", "housequest") in set(declared(["inspect"])), "what another program reads is a part's, too"


def test_each_pair_that_may_know_each_other_is_tried() -> None:
    assert set(PAIRS) == {(knower, name) for name in parts() for knower in knowers(name)}


@pytest.mark.heavy
@pytest.mark.parametrize(
    "names",
    [
        pytest.param(("graphs", "browser"), marks=pytest.mark.slow, id="two"),
        pytest.param(("lota", "socratic", "training", "dropin", "pet", "llama", "inspect"), id="known"),
        pytest.param(("alfred",), marks=pytest.mark.slow, id="alfred"),
        pytest.param(tuple(parts()), id="all"),
    ],
)
def test_the_command_goes_on_without(names: tuple[str, ...], tmp_path: Path) -> None:
    trial = Trial(names, tmp_path)
    trial.command()
    assert trial.wrong == []


@WHOLE
@pytest.mark.heavy
def test_what_was_played_in_a_world_that_is_gone_says_so(tmp_path: Path) -> None:
    (tmp_path / "script").write_text("default: 'Action: RotateRight'\n")
    played = ("eval", "--world", "alfred", "--split", "example", "--agent", "react", "--model", "scripted:script")
    limited = ("--limit", "1", "--max-steps", "2", "--out", "run")
    here = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    subprocess.run([sys.executable, "-m", "housequest", *played, *limited], check=True, cwd=tmp_path, env=here)
    (record,) = (tmp_path / "run" / "episodes").iterdir()
    trial = Trial(("alfred",), tmp_path)
    gone = "The world 'alfred' is not installed here"
    trial.run("-m", "housequest", "report", str(tmp_path / "run"), says=f"{gone}: what its own")
    trial.run("-m", "housequest", "replay", str(record), "--cast", "some.cast", "--drawing", "camera", rc=2, says=gone)
    trial.run("-m", "housequest", "replay", str(record), "--frames", "some", "--drawing", "house", rc=2, says=gone)
    assert trial.wrong == []
