"""A run writes into its own folder only: no link in it leads elsewhere, and nothing in it can make a command hang."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from housequest.agent.config import configure
from housequest.agent.evaluation.analysis.metrics import Summary
from housequest.agent.evaluation.analysis.run import read_for_comparison
from housequest.agent.evaluation.runs.batch import RunOptions, run_batch
from housequest.agent.evaluation.runs.budget import Ledger
from housequest.agent.evaluation.runs.folder import RunFolder
from housequest.agent.evaluation.runs.spec import make_run_spec
from housequest.agent.evaluation.runs.sweep import SweepFolder
from housequest.worlds.errors import ConfigurationError
from housequest.worlds.paths import IrregularFile

KEPT = b"a file of the user's own\n" * 9


def play(folder: Path, options: RunOptions | None = None) -> Summary:
    spec = make_run_spec(configure({"world": "scripted", "agent": "expert"}, folder.parent))
    return asyncio.run(run_batch(spec, folder, options))


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """A file outside the run that must not change."""
    file = tmp_path / "outside.txt"
    file.write_bytes(KEPT)
    return file


def symbolic(path: Path, to: Path) -> None:
    path.symlink_to(to)


def hard(path: Path, to: Path) -> None:
    path.hardlink_to(to)


@pytest.mark.heavy
@pytest.mark.parametrize("link", [symbolic, hard])
@pytest.mark.parametrize("name", ["timing.jsonl", "walls.jsonl", "calls.jsonl", ".lock"])
def test_a_run_with_a_linked_file_is_not_gone_on_with(
    name: str, link: Callable[[Path, Path], None], tmp_path: Path, outside: Path
) -> None:
    play(tmp_path / "run")
    (tmp_path / "run" / name).unlink(missing_ok=True)
    next((tmp_path / "run" / "episodes").iterdir()).unlink()
    link(tmp_path / "run" / name, outside)
    with pytest.raises(ConfigurationError, match=rf"{name}: it is a (hard )?link.* Nothing was written; move it away"):
        play(tmp_path / "run")
    assert outside.read_bytes() == KEPT


@pytest.mark.parametrize("link", [symbolic, hard])
def test_a_linked_record_is_set_aside_and_its_task_played(
    link: Callable[[Path, Path], None], tmp_path: Path, outside: Path
) -> None:
    play(tmp_path / "run")
    episode = sorted((tmp_path / "run" / "episodes").iterdir())[1]
    whole = episode.read_bytes()
    outside.write_bytes(whole[: len(whole) // 2])
    episode.unlink()
    link(part := episode.with_name(f"{episode.name}.part"), outside)
    assert play(tmp_path / "run").overall.won == 3
    assert (episode.read_bytes(), outside.read_bytes()) == (whole, whole[: len(whole) // 2])
    assert part.with_name(f"{part.name}.unfit-1").exists()


@pytest.mark.parametrize("name", ["index.jsonl", "paths.jsonl"])
def test_a_linked_file_that_is_replaced_leaves_the_other_as_it_was(name: str, tmp_path: Path) -> None:
    play(tmp_path / "run")
    (tmp_path / "moved").write_bytes(before := (tmp_path / "run" / "index.jsonl").read_bytes()[:-30])
    (tmp_path / "run" / name).unlink(missing_ok=True)
    (tmp_path / "run" / "index.jsonl").unlink(missing_ok=True)
    (tmp_path / "run" / "index.jsonl").symlink_to(tmp_path / "moved")
    assert play(tmp_path / "run").overall.won == 3
    assert (tmp_path / "moved").read_bytes() == before
    assert not (tmp_path / "run" / "index.jsonl").is_symlink()


def test_episodes_go_into_no_folder_elsewhere(tmp_path: Path) -> None:
    play(tmp_path / "run")
    (tmp_path / "run" / "episodes").rename(tmp_path / "elsewhere")
    (tmp_path / "run" / "episodes").symlink_to(tmp_path / "elsewhere")
    next((tmp_path / "elsewhere").iterdir()).unlink()
    with pytest.raises(ConfigurationError, match=r"episodes: it is a link"):
        play(tmp_path / "run")
    assert len(list((tmp_path / "elsewhere").iterdir())) == 2
    assert read_for_comparison(RunFolder(tmp_path / "run")).summary.overall.won == 2, "it can still be read"


def test_a_folder_on_another_disk_is_named_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "data" / "runs").mkdir(parents=True)
    (tmp_path / "runs").symlink_to(tmp_path / "data" / "runs")
    assert play(tmp_path / "runs" / "one").overall.won == 3
    assert play(tmp_path / "runs" / "one").overall.won == 3


@pytest.mark.heavy
@pytest.mark.parametrize("name", ["run.json", "index.jsonl", "timing.jsonl", "walls.jsonl"])
@pytest.mark.parametrize("kind", ["pipe", "device"])
def test_nothing_that_reads_a_run_hangs(kind: str, name: str, tmp_path: Path) -> None:
    play(tmp_path / "run")
    file = tmp_path / "run" / name
    file.unlink(missing_ok=True)
    if kind == "pipe":
        os.mkfifo(file)
    else:
        file.symlink_to("/dev/zero")
    with pytest.raises(ConfigurationError, match=rf"{name}:? cannot be read: it is a {kind}, and only a regular file"):
        read_for_comparison(RunFolder(tmp_path / "run"))


def test_a_record_that_is_a_pipe_is_set_aside(tmp_path: Path) -> None:
    play(tmp_path / "run")
    episode = next((tmp_path / "run" / "episodes").iterdir())
    episode.unlink()
    part = episode.with_name(f"{episode.name}.part")
    os.mkfifo(part)
    said: list[str] = []
    assert play(tmp_path / "run", RunOptions(say=said.append)).overall.won == 3
    assert said[0].startswith(f"{part}: it is a pipe, and only a regular file is used here\nThis record is now {part}.unfit-1")


def test_answered_calls_are_kept_in_no_file_elsewhere(tmp_path: Path, outside: Path) -> None:
    (tmp_path / "calls.jsonl").symlink_to(outside)
    with pytest.raises(IrregularFile, match="it is a link"):
        Ledger(tmp_path / "calls.jsonl")
    assert outside.read_bytes() == KEPT


def test_what_killed_commands_left_is_removed_when_the_run_goes_on(tmp_path: Path) -> None:
    play(tmp_path / "run")
    left = tmp_path / "run" / ".index.jsonl.0123abcd.part"
    left.write_bytes(b"half a line")
    play(tmp_path / "run")
    assert not left.exists()
    sweep = SweepFolder(tmp_path / "sweep")
    sweep.path.mkdir()
    (sweep.path / ".sweep.json.0123abcd.part").touch()
    sweep.begin(())
    assert [file.name for file in sweep.path.iterdir()] == ["sweep.json"]
