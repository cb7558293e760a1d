"""``eval --shard`` and ``merge``: a run in parts, as a scheduler's array of jobs plays it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.agent.evaluation.runs.test_shards import kept
from tests.tui.conftest import Run

ORDERS = """\
arms:
  counts: {agent: expert}
  name: {agent: expert, set: {search: name}}
"""


@pytest.mark.heavy
def test_the_commands(call: Run, tmp_path: Path) -> None:
    common = ("--split", "generated", "--limit", "4", "--agent", "expert")
    for number in (1, 2):
        done = call("eval", *common, "--shard", f"{number}/2")
        assert done.returncode == 0, done.stderr
        assert "2 episodes, 2 won, 0 errors" in done.stdout
    folders = sorted(str(each) for each in (tmp_path / "runs").iterdir())
    done = call("merge", *folders)
    assert done.returncode == 0, done.stderr
    assert "all                                 4    4    0  100.0 %" in done.stdout
    # Repeats are merged run by run.
    for number in (1, 2):
        assert call("eval", *common, "--repeat", "2", "--shard", f"{number}/2", "--out", f"part-{number}").returncode == 0
    done = call("merge", "part-1", "part-2", "--out", "repeats", "--json")
    assert done.returncode == 0, done.stderr
    whole = call("eval", *common, "--repeat", "2", "--out", "one")
    assert whole.returncode == 0
    for name in ("run-1", "run-2"):
        assert kept(tmp_path / "repeats" / name) == kept(tmp_path / "one" / name)
    # So are the runs of a sweep.
    (tmp_path / "orders.yaml").write_text(ORDERS)
    swept = (*common[:-2], "--sweep", "orders.yaml")
    for number in (1, 2):
        assert call("eval", *swept, "--shard", f"{number}/2", "--out", f"swept-{number}").returncode == 0
    assert call("merge", "swept-1", "swept-2", "--out", "swept").returncode == 0
    assert call("eval", *swept, "--out", "sweep").returncode == 0
    names = sorted(each.name for each in (tmp_path / "sweep").iterdir() if each.is_dir())
    assert len(names) == 2
    for name in names:
        assert kept(tmp_path / "swept" / name) == kept(tmp_path / "sweep" / name)
    refused = call("eval", *common, "--retry-lost", "1", "--shard", "1/2")
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "--retry-lost plays again what the whole run lost" in refused.stderr
