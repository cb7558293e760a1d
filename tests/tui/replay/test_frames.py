"""``housequest replay --frames``: the pictures of an episode, and what they show in words."""

from __future__ import annotations

import json
import signal
import struct
import subprocess
from pathlib import Path
from typing import Any

import pytest

from housequest.agent.episodes.record import read_episode
from tests.parts import needs
from tests.tui.conftest import COMMAND, Run, environment
from tests.tui.recorded import Said, lines, play, rewound, write
from tests.waiting import ending

pytestmark = pytest.mark.heavy


@pytest.fixture
def episode(tmp_path: Path) -> Path:
    return next((play(tmp_path / "run", limit=1) / "episodes").iterdir())


def size(picture: Path) -> tuple[int, int]:
    return struct.unpack(">II", picture.read_bytes()[16:24])


def captions(folder: Path) -> Any:
    return json.loads((folder / "captions.json").read_text("utf-8"))


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def changed(episode: Path, **changes: object) -> bytes:
    """The record with another beginning."""
    first, *others = read_episode(episode)
    said = [Said(None, first.body.model_copy(update=changes)), *(Said(event.parent, event.body) for event in others)]
    return lines(said)


def test_each_turn_has_a_picture_and_its_words(episode: Path, tmp_path: Path, call: Run) -> None:
    done = call("replay", str(episode), "--frames", "out/frames", "--size", "120x90")
    assert (done.returncode, done.stdout) == (0, "")
    assert "Wrote 7 pictures to out/frames" in done.stderr
    folder = tmp_path / "out" / "frames"
    pictures = sorted(folder.glob("*.png"))
    assert [picture.name for picture in pictures] == [f"turn-00{turn}.png" for turn in range(7)]
    assert {size(picture) for picture in pictures} == {(120, 90)}
    about = captions(folder)
    assert about["goal"] == "clean some cloth and put it in toilet."
    assert (about["drawing"], about["state"], about["made_up_plan"]) == ("house", "believed", True)
    assert [frame["file"] for frame in about["frames"]] == [picture.name for picture in pictures]
    assert about["frames"][0]["command"] is None and "You are in the middle of a room" in about["frames"][0]["answer"]
    second = about["frames"][2]
    assert (second["command"], second["at"], second["holding"]) == ("take cloth 1 from shelf 1", "shelf 1", "cloth 1")
    assert "cloth 1" in second["new"]
    left, top = about["frames"][1]["names"]["shelf 1"]
    assert 0 <= left < 120 and 0 <= top < 90


def test_the_same_record_gives_the_same_bytes(episode: Path, tmp_path: Path, call: Run) -> None:
    for name in ("one", "two"):
        call("replay", str(episode), "--frames", name, "--size", "80x60", "--drawing", "plan")
    assert contents(tmp_path / "one") == contents(tmp_path / "two")


def test_a_folder_with_anything_in_it_is_left_alone(episode: Path, tmp_path: Path, call: Run) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "turn-000.png").write_text("mine")
    (tmp_path / "file").write_text("mine")
    for name, why in (("mine", "is not empty"), ("file", "is not a folder")):
        done = call("replay", str(episode), "--frames", name)
        assert done.returncode == 2 and why in done.stderr
    assert contents(tmp_path / "mine") == {"turn-000.png": b"mine"}


def test_the_true_state_is_another_picture_until_all_is_seen(episode: Path, tmp_path: Path, call: Run) -> None:
    for more in ((), ("--true-state",)):
        call("replay", str(episode), "--frames", "".join(more) or "believed", "--size", "80x60", *more)
    believed, true = tmp_path / "believed", tmp_path / "--true-state"
    assert captions(true)["state"] == "true"
    assert (believed / "turn-000.png").read_bytes() != (true / "turn-000.png").read_bytes()
    assert "cloth 1" in captions(true)["frames"][0]["names"]
    assert "cloth 1" not in captions(believed)["frames"][0]["names"]


@needs("graphs")
def test_the_true_state_of_a_task_in_somebodys_own_file_is_known(tmp_path: Path, call: Run) -> None:
    from tests.worlds.graphs.tables import task, written

    (tmp_path / "wah.json").write_text(written([task(init_room="kitchen")]), "utf-8")
    options = ("--world", "household-graph", "--world-option", f"data={tmp_path / 'wah.json'}")
    assert call("eval", *options, "--agent", "expert", "--out", "graphs").returncode == 0
    (episode,) = (tmp_path / "graphs" / "episodes").iterdir()
    done = call("replay", str(episode), "--frames", "true", "--true-state", "--size", "80x60")
    assert done.returncode == 0, done.stderr
    assert captions(tmp_path / "true")["state"] == "true"


def test_a_game_that_is_not_here_gets_a_made_up_plan_and_no_true_state(episode: Path, tmp_path: Path, call: Run) -> None:
    elsewhere = tmp_path / "elsewhere.jsonl"
    elsewhere.write_bytes(changed(episode, split="valid_unseen", task="a/b"))
    assert call("replay", str(elsewhere), "--frames", "frames", "--size", "80x60").returncode == 0
    assert captions(tmp_path / "frames")["made_up_plan"]
    done = call("replay", str(elsewhere), "--frames", "true", "--true-state")
    assert done.returncode == 2
    assert "the true state is not known" in done.stderr and "a/b" in done.stderr
    assert not (tmp_path / "true").exists()


def test_a_game_that_answers_otherwise_has_no_true_state(episode: Path, tmp_path: Path, call: Run) -> None:
    other = tmp_path / "other.jsonl"
    other.write_text(episode.read_text("utf-8").replace("You pick up the cloth 1 from the shelf 1.", "You pick up the cloth."))
    done = call("replay", str(other), "--frames", "true", "--true-state", "--size", "80x60")
    assert done.returncode == 2 and "answers otherwise than the record" in done.stderr
    assert not (tmp_path / "true").exists()


def test_a_record_that_breaks_off_is_drawn_as_far_as_it_goes(episode: Path, tmp_path: Path, call: Run) -> None:
    part = tmp_path / "part.jsonl"
    whole = episode.read_bytes().splitlines(keepends=True)
    part.write_bytes(b"".join(whole[:6]) + b"nonsense\n")
    done = call("replay", str(part), "--frames", "frames", "--size", "40x30")
    assert done.returncode == 0 and "not a recorded event" in done.stderr
    assert 1 < len(captions(tmp_path / "frames")["frames"]) < 7


def test_a_world_without_a_house_says_so(tmp_path: Path, call: Run) -> None:
    done = call("replay", str(write(tmp_path / "e.jsonl", rewound())), "--frames", "frames")
    assert done.returncode == 2 and "There is no room to draw" in done.stderr
    assert not (tmp_path / "frames").exists()


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("--frames", "f", "--size", "big"), "as in 640x480"),
        (("--frames", "f", "--size", "0x9"), "as in 640x480"),
        (("--frames", "f", "--size", "9999x9999"), "at most 4,000,000 pixels"),
        (("--frames", "f", "--drawing", "photo"), "not one of house, eyes, plan"),
        (("--frames", "f", "--cast", "f.cast"), "one at a time"),
        (("--size", "80x24"), "--frames DIR and --cast FILE"),
        (("--true-state",), "--frames DIR and --cast FILE"),
        (("--cast", "f.txt"), "ends in .cast"),
        (("--cast", "f.cast", "--size", "4x4"), "40x12 to 400x200"),
    ],
)
def test_what_is_wrong_is_said(arguments: tuple[str, ...], why: str, episode: Path, tmp_path: Path, call: Run) -> None:
    done = call("replay", str(episode), *arguments)
    assert done.returncode == 2 and why in done.stderr
    assert not (tmp_path / "f").exists() and not (tmp_path / "f.cast").exists()


def test_ctrl_c_leaves_nothing_behind(episode: Path, tmp_path: Path) -> None:
    command = (*COMMAND, "replay", str(episode), "--frames", "out/frames", "--size", "2000x2000")
    home = environment(HOUSEQUEST_HOME=str(tmp_path / "home"))
    process = subprocess.Popen(command, cwd=tmp_path, env=home, stderr=subprocess.PIPE)
    with ending(process):
        while not any((tmp_path / "out").glob(".*/turn-000.png")):
            assert process.poll() is None
        process.send_signal(signal.SIGINT)
        _, said = process.communicate()
    assert process.returncode == 130 and b"Traceback" not in said
    assert not any((tmp_path / "out").iterdir())


@pytest.mark.parametrize("more", [("--plain",), ("--step",), ("--speed", "2")])
def test_what_frames_have_no_use_for_is_refused(more: tuple[str, ...], episode: Path, tmp_path: Path, call: Run) -> None:
    done = call("replay", str(episode), "--frames", "frames", *more)
    assert done.returncode == 2 and "leave them out" in done.stderr
    assert not (tmp_path / "frames").exists()
