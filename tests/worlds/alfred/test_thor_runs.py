"""Runs of the world ``alfred`` in AI2-THOR's real client, with our player in the place of a Unity build."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.waiting import wait_until

pytest.importorskip("ai2thor", reason="needs AI2-THOR's client: pip install 'housequest[thor]'")

pytestmark = [pytest.mark.slow, pytest.mark.games]
PLAYER = f"player={sys.executable} -P -m housequest.worlds.alfred.player"


def housequest(*arguments: str, home: Path, data: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "HOME": str(home), "ALFWORLD_DATA": str(data)}
    command = [sys.executable, "-m", "housequest", *arguments]
    return subprocess.run(command, capture_output=True, text=True, env=environment, check=False)


def test_headers_say_what_simulated_and_compare_refuses_the_other(tmp_path: Path, alfworld_games: Path) -> None:
    boxes, thor = str(tmp_path / "boxes"), str(tmp_path / "thor")
    same = ("eval", "--world", "alfred", "--agent", "expert", "--split", "valid_seen", "--limit", "1", "--out")
    for arguments in ((*same, boxes), (*same, thor, "--engine", "thor", "--world-option", PLAYER)):
        played = housequest(*arguments, home=tmp_path, data=alfworld_games)
        assert played.returncode == 0, played.stderr
    reports = [housequest("report", run, home=tmp_path, data=alfworld_games).stdout for run in (boxes, thor)]
    assert ["engine    boxes 3" in report for report in reports] == [True, False]
    assert "engine    ai2thor 5." in reports[1] and "PLWSR                   " in reports[1]
    compared = housequest("compare", boxes, thor, home=tmp_path, data=alfworld_games)
    assert compared.returncode == 2
    assert "engine: 'boxes 3' and 'ai2thor 5." in compared.stderr


def _exists(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.parametrize(
    ("how", "told"), [("die", "the player ended with status 7"), ("lie", "something that is not an event")]
)
def test_a_hostile_player_ends_each_episode_as_an_error_of_the_world(
    how: str, told: str, tmp_path: Path, alfworld_games: Path
) -> None:
    bad = Path(__file__).parent / "simulator" / "bad_player.py"
    options = ("--engine", "thor", "--world-option", f"player={sys.executable} {bad} {how}", "--out", str(tmp_path / "run"))
    played = housequest(
        *("eval", "--world", "alfred", "--agent", "expert", "--split", "valid_seen", "--limit", "2", "--json", *options),
        home=tmp_path,
        data=alfworld_games,
    )
    assert played.returncode == 1
    report = json.loads(played.stdout)
    assert (report["episodes"], report["errors"]) == (2, 2)
    assert told in played.stdout and '"world"' in played.stdout


@pytest.mark.parametrize(("how", "told"), [("kill", "was killed by signal 9"), ("hang", "no answer within 60 seconds")])
def test_a_killed_worker_and_a_hung_player_end_one_episode_and_the_run_goes_on(
    how: str, told: str, tmp_path: Path, alfworld_games: Path
) -> None:
    once = tmp_path / "once"
    bad = Path(__file__).parent / "simulator" / "bad_player.py"
    options = (
        "--engine",
        "thor",
        "--world-option",
        f"player={sys.executable} {bad} {how} {once}",
        "--out",
        str(tmp_path / "run"),
    )
    played = housequest(
        *("eval", "--world", "alfred", "--agent", "expert", "--split", "valid_seen", "--limit", "2", "--json", *options),
        *("--concurrency", "1"),
        home=tmp_path,
        data=alfworld_games,
    )
    assert played.returncode == 1, played.stderr
    report = json.loads(played.stdout)
    assert (report["episodes"], report["errors"], report["won"]) == (2, 1, 1)
    assert told in played.stdout
    # What has no parent any more is put away by the system, in its own time.
    wait_until(lambda: not _exists(int(once.read_text())))
