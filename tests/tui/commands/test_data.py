from __future__ import annotations

import io
import subprocess
import sys
import zipfile
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path

import pytest
from click.testing import Result
from typer.testing import CliRunner

from housequest.tui.commands.data import data_app
from housequest.worlds.alfworld.engine.game import load_game
from housequest.worlds.errors import ConfigurationError, WorldError
from housequest.worlds.paths import cache_folder
from tests.worlds.alfworld.data.file_server import Answer, serve
from tests.worlds.alfworld.samples import HEAT, OLDER, PLACE, encoded, published, put

GAMES, TOLD = "json_2.1.2_tw-pddl.zip", "json_2.1.1_json.zip"
ANNOTATION = f"json_2.1.1/train/{PLACE}/traj_data.json"
GAME = f"json_2.1.1/train/{HEAT}/game.tw-pddl"


@pytest.fixture(autouse=True)
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data folder of the test's own, not yet made."""
    monkeypatch.setenv("ALFWORLD_DATA", str(tmp_path / "data"))
    return tmp_path / "data"


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(data_app, [str(argument) for argument in arguments])


def zipped(members: Mapping[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return out.getvalue()


def test_path_prints_the_folder_and_nothing_else(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run("path").stdout == f"{data}\n"
    monkeypatch.delenv("ALFWORLD_DATA")
    assert run("path").stdout == f"{Path.home() / '.cache' / 'alfworld'}\n"


def test_check_of_nothing_says_where_to_get_games(data: Path) -> None:
    result = run("check")
    assert (result.exit_code, result.stdout) == (1, "")
    assert f"{data} holds no split" in result.stderr
    assert "housequest data download" in result.stderr


def test_check_names_what_is_wrong(data: Path) -> None:
    put(data, "train", PLACE, encoded(OLDER))
    put(data, "train", HEAT, encoded(OLDER))
    put(data, "train", "pick_and_place_simple-AppleSliced-None-Fridge-1/trial", b"")
    result = run("check")
    assert result.exit_code == 1
    first, *lines = result.stdout.splitlines()
    assert first == "train: 2 games of 3,553 published"
    assert lines[:2] == ["       1 pick_and_place_simple", "       1 pick_heat_then_place_in_recep"]
    assert lines[2].startswith("  refused: 2 × this game uses the older grammar")
    assert "housequest data download" in lines[2]
    assert lines[2].endswith(f"(the first: {PLACE})")
    assert lines[3] == "  left out: 1 × its task needs a sliced object (pick_and_place_simple-AppleSliced-None-Fridge-1/trial)"
    assert lines[4] == f"  2 × no person worded the goal (the first: train/{PLACE})"


def test_import_tells_what_was_written_and_what_was_kept(data: Path, tmp_path: Path) -> None:
    archive = tmp_path / "an archive.zip"
    archive.write_bytes(zipped({ANNOTATION: b"{}", "README": b"", "json_2.1.1/mine/task/trial/traj_data.json": b"{}"}))
    result = run("import", archive)
    assert result.exit_code == 0
    assert result.stdout.splitlines() == [
        "train: 0 games and 1 annotations written, 0 files kept",
        "mine: 0 games and 1 annotations written, 0 files kept",
    ]
    assert "passed over: 1 files" in result.stderr
    assert f"The games are in {data}." in result.stderr
    assert "0 annotations written, 1 files kept" in run("import", archive).stdout
    assert "1 annotations written, 0 files kept" in run("import", archive, "--force").stdout
    assert "1 annotations written" in run("import", archive, "--to", tmp_path / "elsewhere").stdout
    assert (tmp_path / "elsewhere" / ANNOTATION).read_bytes() == b"{}"


def test_import_refuses_older_games_and_says_so(data: Path, tmp_path: Path) -> None:
    archive = tmp_path / "older.zip"
    archive.write_bytes(zipped({GAME: encoded(OLDER), f"../{GAME}": b"", ANNOTATION: b"{}"}))
    result = run("import", archive)
    assert result.exit_code == 1
    assert f"({GAME})" in result.stderr
    assert "older grammar" in result.stderr
    assert "its name leads out of the folder" in result.stderr
    assert not (data / GAME).exists()
    assert (data / ANNOTATION).exists()


def test_import_of_no_archive_is_our_error(tmp_path: Path) -> None:
    assert isinstance(run("import", tmp_path / "nothing").exception, WorldError)


def test_download_fetches_both_official_archives_from_where_it_is_told(data: Path) -> None:
    with serve(**{GAMES: zipped({GAME: encoded(OLDER)}), TOLD: zipped({ANNOTATION: b"{}"})}) as server:
        result = run("download", "--source", server.address)
    assert result.exit_code == 1
    assert "older grammar" in result.stderr
    assert "train: 0 games and 1 annotations written" in result.stdout
    assert "100 % of 0.0 MB" in result.stderr
    assert (data / ANNOTATION).exists()
    assert list((cache_folder() / "downloads").iterdir()) == []


def test_a_download_that_breaks_goes_on(data: Path) -> None:
    content = zipped({ANNOTATION: bytes(100_000)})
    with serve(**{"my.zip": content}) as server:
        server.answers.append(Answer(body=60_000))
        result = run("download", "--url", server.url("my.zip"))
        assert server.ranges == [None, "bytes=60000-"]
    assert result.exit_code == 0
    assert "trying again" in result.stderr
    assert (data / ANNOTATION).read_bytes() == bytes(100_000)


def test_a_download_that_is_no_use_is_dropped_and_named(data: Path) -> None:
    with serve(**{"my.zip": zipped({ANNOTATION: bytes(1000)})[:-40]}) as server:
        result = run("download", "--url", server.url("my.zip"), "--to", data)
    assert isinstance(result.exception, WorldError)
    assert f"What {server.url('my.zip')} sent cannot be used" in str(result.exception)
    assert list((cache_folder() / "downloads").iterdir()) == []
    assert not data.exists()


def test_a_download_that_is_not_there_is_our_error() -> None:
    with serve() as server:
        result = run("download", "--url", server.url("gone.zip"))
    assert isinstance(result.exception, WorldError)
    assert "gone.zip answered 404" in str(result.exception)


@pytest.mark.parametrize("arguments", [["--source", "nowhere"], ["--url", "x"], ["--source", "http://a", "--url", "http://b"]])
def test_an_address_that_is_none_is_a_wrong_flag(arguments: list[str]) -> None:
    assert isinstance(run("download", *arguments).exception, ConfigurationError)


def test_nothing_heavy_is_imported_for_help() -> None:
    heavy = {"httpx2", "pydantic", "tarfile", "housequest.worlds.alfworld.games"}
    code = f"import sys, housequest.tui.commands.data; print({heavy!r} & set(sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "set()\n"


@pytest.mark.games
def test_published_games_are_downloaded_checked_and_found(alfworld_games: Path, data: Path) -> None:
    members = published(alfworld_games, 4)
    parts = [{name: content for name, content in members.items() if name.endswith(end)} for end in ("tw-pddl", "json")]
    with serve(**{GAMES: zipped(parts[0]), TOLD: zipped(parts[1])}) as server:
        result = run("download", "--source", f"{server.address}/")
    assert (result.exit_code, result.stdout) == (
        0,
        "valid_seen: 4 games and 0 annotations written, 0 files kept\n"
        "valid_seen: 0 games and 4 annotations written, 0 files kept\n",
    )
    checked = run("check")
    assert checked.exit_code == 1
    assert checked.stdout.startswith("valid_seen: 4 games of 140 published\n")
    assert {path.relative_to(data).as_posix(): path.read_bytes() for path in data.rglob("*") if path.is_file()} == members


@pytest.mark.skipif(find_spec("alfworld") is not None, reason="alfworld is installed")
def test_export_without_alfworld_names_the_extra(tmp_path: Path) -> None:
    result = run("export", "generated:7", "--out", tmp_path / "out")
    assert isinstance(result.exception, ConfigurationError)
    assert "housequest[alfworld]" in str(result.exception)
    assert not (tmp_path / "out").exists()


@pytest.mark.skipif(find_spec("alfworld") is None, reason="needs alfworld")
def test_export_writes_a_game_and_says_where(tmp_path: Path) -> None:
    result = run("export", "generated:7", "--out", tmp_path / "mine.tw-pddl")
    assert (result.exit_code, result.stdout) == (0, f"{tmp_path / 'mine.tw-pddl'}\n")
    assert "won in 4 commands" in result.stderr
    assert run("export", "generated:9", "--out", tmp_path / "another.tw-pddl").exit_code == 0
    assert {path.name for path in tmp_path.iterdir()} == {"mine.tw-pddl", "another.tw-pddl"}
    again = run("export", "generated:7", "--out", tmp_path / "mine.tw-pddl")
    assert "--force" in str(again.exception)
    assert run("export", "generated:8", "--out", tmp_path / "mine.tw-pddl", "--force").exit_code == 0


@pytest.mark.skipif(find_spec("alfworld") is None, reason="needs alfworld")
def test_export_by_other_habits(tmp_path: Path) -> None:
    habits = tmp_path / "habits.yaml"
    habits.write_text("egg: {safe: 1}")
    for name, given in (("own", ("--habits", habits)), ("counted", ())):
        assert run("export", "generated:690", "--out", tmp_path / f"{name}.tw-pddl", *given).exit_code == 0
    own, usual = (load_game(tmp_path / f"{name}.tw-pddl") for name in ("own", "counted"))
    assert "safe 1" in own.receptacles
    assert "safe 1" not in usual.receptacles


def test_habits_are_those_of_made_up_houses_alone(tmp_path: Path) -> None:
    habits = tmp_path / "habits.yaml"
    habits.write_text("egg: {safe: 1}")
    refused = run("export", "example:1", "--habits", habits, "--out", tmp_path / "out").exception
    assert "habits: " in str(refused)
    assert "'example' has none" in str(refused)


def test_export_of_nothing(tmp_path: Path) -> None:
    assert isinstance(run("export", "generated:x", "--out", tmp_path).exception, ConfigurationError)
