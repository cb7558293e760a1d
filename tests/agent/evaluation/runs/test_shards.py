"""Shards of a run, played apart and merged: the bytes of one machine's, and nothing merged that does not belong together."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from housequest.agent.evaluation.analysis.run import read_for_comparison
from housequest.agent.evaluation.render.report import RunReport
from housequest.agent.evaluation.runs.folder import RunFolder
from housequest.agent.evaluation.runs.shard import Shard, merge, merged_folder, read_shard, verify_run
from housequest.worlds.errors import ConfigurationError
from tests.agent.evaluation.runs.test_batch import plan, play
from tests.backends.policy import Solver
from tests.backends.server import Server, serve, status

TASKS = 11


@pytest.fixture
def solving() -> Iterator[Server]:
    with serve(Solver()) as server:
        yield server


def kept(folder: Path) -> dict[str, bytes]:
    """What equal runs have in common."""
    run = RunFolder(folder)
    return {
        str(file.relative_to(folder)): file.read_bytes()
        for file in (run.manifest_file, run.index_file, *run.episodes.iterdir())
    }


def shards(folder: Path, of: int, **flags: object) -> list[Path]:
    """All shards of a run of the expert in made-up houses."""
    given = {"world": "alfworld", "split": "generated", "limit": TASKS, **flags}
    places = [folder / f"run-shard-{number}-of-{of}" for number in range(1, of + 1)]
    for number, place in enumerate(places, start=1):
        play(plan(folder, **given), place, shard=Shard(number=number, of=of))
    return places


@pytest.mark.heavy
@pytest.mark.parametrize("agent", ["expert", "react"])
def test_four_shards_are_the_run(agent: str, tmp_path: Path, solving: Server) -> None:
    model = {"agent": "react", "model": solving.model(), "max_steps": 4} if agent == "react" else {}
    places = shards(tmp_path, 4, **model)
    given = {"world": "alfworld", "split": "generated", "limit": TASKS, **model}
    play(plan(tmp_path, **given), tmp_path / "whole")
    assert merge(places, merged_folder(places)) == TASKS
    assert kept(tmp_path / "run") == kept(tmp_path / "whole")
    assert verify_run(RunFolder(tmp_path / "run")).whole
    for place in places:
        assert (place / "run.json").read_bytes() == (tmp_path / "whole" / "run.json").read_bytes()
    one, other = (read_for_comparison(RunFolder(tmp_path / name)) for name in ("run", "whole"))
    assert (one.manifest, one.summary) == (other.manifest, other.summary)
    assert RunReport(one).data().keys() == RunReport(other).data().keys()
    clocks = [len((tmp_path / name / "timing.jsonl").read_bytes().splitlines()) for name in ("run", "whole")]
    assert clocks[0] == clocks[1]
    # Merging again changes nothing, and the merged run is one that is whole.
    merge(places, tmp_path / "run")
    assert kept(tmp_path / "run") == kept(tmp_path / "whole")
    assert play(plan(tmp_path, **given), tmp_path / "run").overall.finished == TASKS


@pytest.mark.heavy
def test_what_is_missing_is_named_with_the_shard_that_plays_it(tmp_path: Path) -> None:
    places = shards(tmp_path, 4)
    with pytest.raises(ConfigurationError) as refused:
        merge(places[:3], tmp_path / "run")
    assert "2 of 11 episodes are missing: 1000003-generated-1000003, 1000007-generated-1000007." in str(refused.value)
    assert "No folder of shard 4/4 was given, which plays 2." in str(refused.value)
    lost = next((places[1] / "episodes").iterdir())
    lost.unlink()
    with pytest.raises(ConfigurationError, match=r"run-shard-2-of-4 lacks 1; the same command with --shard 2/4 plays them"):
        merge(places, tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_what_does_not_belong_together_is_refused(tmp_path: Path) -> None:
    places = shards(tmp_path, 2)
    (other,) = shards(tmp_path / "other", 1, max_steps=7)
    shutil.copytree(places[0], tmp_path / "copy")
    for given, told in [
        ([*places, other], r"are of different runs, and were not merged:\n  configuration.max_turns: 50 is now 7"),
        ([*places, tmp_path / "copy"], r"1000000-generated-1000000 is both in .*shard-1-of-2 and in .*copy"),
        ([places[0], places[0]], "is given twice"),
        ([*places, tmp_path / "nowhere"], "nowhere is not the folder of a run"),
    ]:
        with pytest.raises(ConfigurationError, match=told):
            merge(given, tmp_path / "run")
    with pytest.raises(ConfigurationError, match="is one of the shards"):
        merge(places, places[1])
    damaged = next((places[1] / "episodes").iterdir())
    damaged.write_bytes(damaged.read_bytes()[:-20])
    with pytest.raises(ConfigurationError, match="is damaged, and nothing of it is counted"):
        merge(places, tmp_path / "run")
    assert not (tmp_path / "run").exists()


@pytest.mark.heavy
def test_a_folder_holds_one_shard(tmp_path: Path) -> None:
    (place, _) = shards(tmp_path, 2)
    given = {"world": "alfworld", "split": "generated", "limit": TASKS}
    with pytest.raises(ConfigurationError, match="holds shard 1/2 of a run; give --shard 1/2, or another folder"):
        play(plan(tmp_path, **given), place, shard=Shard(number=2, of=2))
    with pytest.raises(ConfigurationError, match="holds shard 1/2 of a run"):
        play(plan(tmp_path, **given), place)
    play(plan(tmp_path, **given), tmp_path / "whole")
    with pytest.raises(ConfigurationError, match="holds a run that is not a shard; give no --shard"):
        play(plan(tmp_path, **given), tmp_path / "whole", shard=Shard(number=2, of=2))


@pytest.mark.heavy
def test_an_error_of_a_shard_is_the_run_s(tmp_path: Path, solving: Server) -> None:
    model = {"world": "scripted", "split": "demo", "agent": "react", "model": solving.model(), "max_steps": 2, "limit": 3}
    solving.behave(status(413), status(413))
    places = shards(tmp_path, 2, **model)
    merge(places, tmp_path / "run")
    assert read_for_comparison(RunFolder(tmp_path / "run")).summary.overall.errors == 1
    shards(tmp_path, 2, **model)  # played before, errors included
    play(plan(tmp_path, **model), places[0], shard=Shard(number=1, of=2), retry_errors=True)
    with pytest.raises(ConfigurationError, match=r"is there already, and is not that of .*; give --out a new folder"):
        merge(places, tmp_path / "run")
    merge(places, tmp_path / "again")
    assert read_for_comparison(RunFolder(tmp_path / "again")).summary.overall.errors == 0


@pytest.mark.parametrize("text", ["", "1", "0/4", "5/4", "1/0", "a/b", "1/99999", "-1/4"])
def test_what_is_no_shard_is_refused(text: str) -> None:
    with pytest.raises(ConfigurationError, match="is not a shard; give K/N"):
        read_shard(text)
