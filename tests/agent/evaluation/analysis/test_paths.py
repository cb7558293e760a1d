"""L* of a run's tasks: found once, kept, and left unknown where the games are not those of the run."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from housequest.agent.config import configure
from housequest.agent.evaluation.analysis.metrics import PathLengths
from housequest.agent.evaluation.analysis.run import PathLine, path_lengths, paths_of, read_paths
from housequest.agent.evaluation.runs.batch import run_batch
from housequest.agent.evaluation.runs.files import lines_of
from housequest.agent.evaluation.runs.folder import RunFolder
from housequest.agent.evaluation.runs.spec import Manifest, make_run_spec
from housequest.worlds.registry import make_world


def run(folder: Path, **flags: object) -> tuple[RunFolder, Manifest]:
    planned = make_run_spec(configure({"agent": "expert", "split": "generated", "limit": 3, **flags}, folder))
    asyncio.run(run_batch(planned, folder / "run"))
    return RunFolder(folder / "run"), planned.manifest


def test_they_are_the_worlds_own_and_kept(tmp_path: Path) -> None:
    folder, manifest = run(tmp_path)
    asked: list[tuple[int, int]] = []
    found = paths_of(folder, manifest, manifest.tasks, lambda done, total: asked.append((done, total)))
    world = make_world()
    assert found == {task.id: path_lengths(world, world.task(task.id)) for task in manifest.tasks}
    assert asked == [(1, 3), (2, 3), (3, 3)]
    assert read_paths(folder) == found
    kept = folder.paths_file.read_bytes()
    assert paths_of(folder, manifest, manifest.tasks, lambda done, total: asked.append((0, 0))) == found
    assert (folder.paths_file.read_bytes(), len(asked)) == (kept, 3)


def test_only_what_is_missing_is_looked_for(tmp_path: Path) -> None:
    folder, manifest = run(tmp_path)
    whole = paths_of(folder, manifest, manifest.tasks)
    first = manifest.tasks[0].id
    kept = lines_of([PathLine(task=first, shortest=99)])
    folder.paths_file.write_bytes(kept + f'{{"task":"{manifest.tasks[1].id}","sh'.encode())
    assert paths_of(folder, manifest, manifest.tasks) == {**whole, first: PathLengths(shortest=99)}


def test_other_games_are_not_measured_by(tmp_path: Path) -> None:
    folder, manifest = run(tmp_path)
    assert paths_of(folder, manifest.model_copy(update={"data": "0" * 64}), manifest.tasks) == {}
    elsewhere = manifest.configuration.model_copy(update={"world": "nowhere"})
    assert paths_of(folder, manifest.model_copy(update={"configuration": elsewhere}), manifest.tasks) == {}
    assert not folder.paths_file.exists()


def test_a_task_that_is_not_there_stays_unknown(tmp_path: Path) -> None:
    folder, manifest = run(tmp_path)
    odd = manifest.tasks[0].model_copy(update={"id": "generated/none"})
    assert paths_of(folder, manifest, [odd]) == {}


def test_goals_in_peoples_words_leave_the_expert_its_own(tmp_path: Path) -> None:
    folder, manifest = run(tmp_path, world="scripted", split="demo", limit=None)
    found = paths_of(folder, manifest, manifest.tasks)
    assert found["demo/find"] == PathLengths(6, 6)


@pytest.mark.heavy
@pytest.mark.parametrize("line", ["{}", '{"task":"x","shortest":-1}', "[" * 100_000, "nonsense"])
def test_a_damaged_line_is_computed_again(line: str, tmp_path: Path) -> None:
    folder, manifest = run(tmp_path)
    found = paths_of(folder, manifest, manifest.tasks)
    whole = folder.paths_file.read_bytes()
    first, *others = whole.splitlines(keepends=True)
    for damaged in (f"{line}\n".encode(), first.replace(b'"expert":', b'"expert":1')):
        folder.paths_file.write_bytes(b"".join((damaged, *others)))
        assert paths_of(folder, manifest, manifest.tasks) == found
        assert sorted(folder.paths_file.read_bytes().splitlines()) == sorted(whole.splitlines())
