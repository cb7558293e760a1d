"""``housequest verify``: what it says of runs that are whole and of others, and what the other commands then do."""

from __future__ import annotations

import json
from pathlib import Path

from tests.parts import needs
from tests.tui.conftest import Run

PLAY = ("eval", "--world", "scripted", "--agent", "expert", "--out", "run")


def damage(file: Path) -> None:
    content = file.read_bytes()
    file.write_bytes(content[:-20] + bytes([content[-20] ^ 1]) + content[-19:])


def test_a_whole_run_and_a_damaged_one(call: Run, tmp_path: Path) -> None:
    assert call(*PLAY).returncode == 0
    done = call("verify", "run")
    assert (done.returncode, done.stdout) == (0, "run is whole; 3 of 3 episodes are finished.\n")
    file = sorted((tmp_path / "run" / "episodes").iterdir())[0]
    damage(file)
    done = call("verify", "run", "run", "--json")
    assert done.returncode == 1
    found, again = json.loads(done.stdout)
    assert found == again
    assert (found["whole"], found["tasks"], found["finished"]) == (False, 3, 2)
    assert [fault["where"] for fault in found["faults"]] == [f"run/episodes/{file.name}"]
    done = call("verify", "run")
    assert "run is not whole; 2 of 3 episodes are finished and whole.\n  run/episodes/" in done.stdout
    assert "`housequest eval` sets damaged episodes aside" in done.stderr

    for command in (("report", "run"), ("compare", "run", "run"), ("report", "run", "--json")):
        done = call(*command)
        assert (done.returncode, done.stdout) == (2, "")
        assert "run is damaged, and nothing of it is counted" in done.stderr
        assert "`housequest verify run`" in done.stderr
    assert "run is left out: run is damaged" in call("runs", "--plain", str(tmp_path)).stderr.replace(f"{tmp_path}/", "")

    done = call(*PLAY)
    assert done.returncode == 0
    assert "Not whole: run/episodes/" in done.stderr
    assert call("verify", "run").returncode == 0


def test_a_run_without_its_manifest_is_not_said_to_be_mended(call: Run, tmp_path: Path) -> None:
    assert call(*PLAY).returncode == 0
    manifest = tmp_path / "run" / "run.json"
    manifest.write_bytes(b"")
    damaged = call("verify", "run")
    manifest.unlink()
    for done, what in ((damaged, "its sha256 is missing"), (call("verify", "run"), "it is gone.")):
        assert (done.returncode, done.stderr) == (1, "")
        assert done.stdout.startswith(f"run is not whole.\n  run/run.json: {what}")
        assert done.stdout.endswith("Take it from a copy of the run, or play into a new folder.\n")


def test_what_is_no_run_is_refused(call: Run, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    for name in ("empty", "nowhere"):
        done = call("verify", name)
        assert done.returncode == 2
        assert f"{name} is not the folder of a run" in done.stderr


def test_a_sweep(call: Run, tmp_path: Path) -> None:
    (tmp_path / "sweep.yaml").write_text(
        "common: {world: scripted, agent: expert}\narms:\n  one: {limit: 1}\n  two: {limit: 2}\n"
    )
    assert call("eval", "--sweep", "sweep.yaml", "--out", "both").returncode == 0
    done = call("verify", "both")
    assert done.returncode == 0
    assert done.stdout.splitlines() == [
        "both/one-seed0 is whole; 1 of 1 episodes are finished.",
        "both/two-seed0 is whole; 2 of 2 episodes are finished.",
    ]


@needs("explorer")
def test_the_files_of_learning(call: Run, tmp_path: Path) -> None:
    explore = ("explore", "--agent", "expert", "--split", "generated", "--episodes", "2", "--into", "b.yaml", "--out", "run")
    assert call(*explore).returncode == 0
    assert call("verify", "run").returncode == 0
    for name in ("explore.json", "report.json"):
        whole = (tmp_path / "run" / name).read_bytes()
        damage(tmp_path / "run" / name)
        assert f"run/{name}: " in call("verify", "run").stdout
        (tmp_path / "run" / name).write_bytes(whole)
