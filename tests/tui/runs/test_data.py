"""Runs on disk as the screen reads them: whole, growing, damaged, foreign, many, and two side by side."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from housequest.agent.evaluation.runs.files import SelectedTask, file_of
from housequest.agent.evaluation.runs.folder import Result, RunFolder
from housequest.tui.runs.data import (
    QUIET_AFTER,
    RunSnapshot,
    UnreadableRun,
    file_states,
    pair_runs,
    read_digest,
    read_overview,
    run_folders,
)
from housequest.worlds.errors import ConfigurationError
from tests.tui.recorded import play, rewound, write


def read(path: Path) -> RunSnapshot:
    """The run in ``path``, which is one."""
    run = read_overview(path)
    assert isinstance(run, RunSnapshot), run
    return run


@pytest.fixture
def expert(tmp_path: Path) -> Path:
    return play(tmp_path / "runs" / "expert", limit=8)


def lose(path: Path, *numbers: int) -> None:
    """Make it so that these tasks were lost."""
    folder = RunFolder(path)
    tasks = folder.manifest().tasks
    lost = {"outcome": "lost", "reason": "out of turns"}
    folder.rewrite(each.model_copy(update=lost if each.number in numbers else {}) for each in folder.results(tasks))


def test_a_whole_run(expert: Path) -> None:
    run = read(expert)
    assert run.whole
    assert (run.done, run.marks["won"], len(run.steps_won)) == (8, 8, 8)
    assert sum(map(len, run.by_type.values())) == 8
    assert all(cell.record is not None and cell.record.exists() for cell in run.cells)
    assert not run.alive(run.touched + 1)


def test_a_run_that_is_being_played(expert: Path) -> None:
    folder = RunFolder(expert)
    cells = read(expert).cells
    results = folder.results(folder.manifest().tasks)
    folder.rewrite(results[:5])
    for cell in cells[6:]:
        folder.episode(cell.task).unlink()
    part = folder.episode(cells[6].task)
    part.with_name(part.name + ".part").write_bytes(b"")
    run = read(expert)
    # What has no line in the index does not count yet.
    assert [cell.mark for cell in run.cells] == ["won"] * 5 + ["unfinished", "playing", "unfinished"]
    assert run.cells[7].record is None
    assert run.alive(run.touched + 1)
    assert not run.alive(run.touched + QUIET_AFTER + 1)


def test_a_stamp_changes_as_the_run_grows(expert: Path) -> None:
    folder = RunFolder(expert)
    before = file_states(expert)
    assert file_states(expert) == before
    part = folder.episodes / "x.jsonl.part"
    part.write_bytes(b"")
    begun = file_states(expert)
    part.write_bytes(b"more")
    grown = file_states(expert)
    folder.append(folder.results(folder.manifest().tasks)[0])
    assert len({before, begun, grown, file_states(expert)}) == 4
    assert file_states(expert / "nowhere") == ((0, -1), (0, -1))


def test_what_a_record_tells(tmp_path: Path) -> None:
    told = read_digest(write(tmp_path / "e.jsonl", rewound()))
    assert told is not None
    assert told[0] == "bring the coin to the study"
    assert told[1] is not None
    assert read_digest(write(tmp_path / "none.jsonl", [])) is None
    with pytest.raises(ConfigurationError):
        read_digest(tmp_path / "gone.jsonl")


def test_an_episode_whose_file_is_damaged_is_unfinished(expert: Path) -> None:
    folder = RunFolder(expert)
    cell = read(expert).cells[3]
    folder.rewrite([each for each in folder.results(folder.manifest().tasks) if each.number != cell.task.number])
    folder.episode(cell.task).write_bytes(b"junk\n")
    found = read(expert).cells[3]
    assert (found.mark, found.record) == ("unfinished", folder.episode(cell.task))


def test_the_folders_that_may_hold_runs(expert: Path, tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    (runs / "other").mkdir()
    (runs / ".hidden").mkdir()
    (runs / "file").write_text("x")
    assert run_folders(runs) == (expert, runs / "other")
    assert run_folders(expert) == (expert,)
    assert run_folders(tmp_path / "gone") == ()
    with pytest.raises(ConfigurationError, match="cannot be listed"):
        run_folders(runs / "file")


@pytest.mark.parametrize("content", [b"", b"{}", b"[" * 5_000, b"\xff\xfe", b"null"])
@pytest.mark.parametrize("name", ["run.json", "index.jsonl"])
def test_a_folder_that_is_no_run_or_a_damaged_one(name: str, content: bytes, expert: Path) -> None:
    (expert / name).write_bytes(content + b"\n" * bool(content))
    run = read_overview(expert)
    if name == "index.jsonl" and not content:
        assert isinstance(run, RunSnapshot)
    else:
        assert isinstance(run, UnreadableRun)
        assert name in run.reason


def test_a_folder_without_a_manifest(tmp_path: Path) -> None:
    run = read_overview(tmp_path)
    assert isinstance(run, UnreadableRun)
    assert "not the folder of a run" in run.reason


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(name=st.sampled_from(["run.json", "index.jsonl"]), at=st.integers(0, 3_000), junk=st.binary(max_size=30))
def test_no_content_is_fatal(name: str, at: int, junk: bytes, tmp_path: Path) -> None:
    path = tmp_path / "run"
    if not path.exists():
        play(path, limit=3, split="demo")
        (path / "kept.json").write_bytes((path / "run.json").read_bytes())
        (path / "kept.jsonl").write_bytes((path / "index.jsonl").read_bytes())
    for one, kept in (("run.json", "kept.json"), ("index.jsonl", "kept.jsonl")):
        (path / one).write_bytes((path / kept).read_bytes())
    content = (path / name).read_bytes()
    (path / name).write_bytes(content[:at] + junk + content[at + 3 :])
    assert isinstance(read_overview(path), RunSnapshot | UnreadableRun)


def test_two_runs_side_by_side(expert: Path, tmp_path: Path) -> None:
    other = play(tmp_path / "runs" / "other", limit=6)
    lose(expert, 0)
    lose(other, 1, 2)
    both = pair_runs(read(expert), read(other))
    assert both.shared == 6
    assert [(one.task.number, one.mark, other.mark) for one, other in both.flips] == [
        (0, "lost", "won"),
        (1, "won", "lost"),
        (2, "won", "lost"),
    ]
    assert tuple(side.won for side in both.overall) == (5, 4)
    assert sum(first.episodes for first, _ in both.by_type.values()) == 6


def test_runs_of_different_tasks_share_nothing(expert: Path, tmp_path: Path) -> None:
    both = pair_runs(read(expert), read(play(tmp_path / "demo", limit=3, split="demo")))
    assert (both.shared, both.by_type, both.flips) == (0, {}, ())


@pytest.mark.heavy
def test_a_run_of_thousands_of_tasks(expert: Path) -> None:
    folder = RunFolder(expert)
    manifest = folder.manifest()
    tasks = tuple(SelectedTask(number=n, id=f"train/{n}", type=f"type_{n % 6}") for n in range(3_553))
    folder.manifest_file.write_bytes(file_of(manifest.model_copy(update={"tasks": tasks, "of": 3_553})))
    won = {"outcome": "won", "reason": "done", "turns": 5, "steps": 5, "refused": 0, "episode_sha256": sha256(b"").hexdigest()}
    results = [Result.model_validate({"number": task.number, "task": task.id, "type": task.type, **won}) for task in tasks]
    folder.rewrite(results)
    for task in tasks[:3_000]:
        folder.episode(task).touch()
    run = read(expert)
    # An episode whose file is gone is not finished, whatever the index says.
    assert (run.done, run.marks["unfinished"]) == (3_000, 553)
