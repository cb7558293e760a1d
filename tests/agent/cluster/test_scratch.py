"""What a player that was killed left on its machine."""

from __future__ import annotations

import os
import time
from pathlib import Path

from housequest.agent.cluster.local import scratch_folder


def test_a_player_removes_what_killed_players_left_and_nothing_of_the_living(tmp_path: Path) -> None:
    long_ago = time.time() - 10_000
    left, fresh, others = (tmp_path / name for name in ("housequest-player-1", "housequest-player-2", "something-else"))
    for folder in (left, fresh, others):
        (folder / "run").mkdir(parents=True)
        (folder / "run" / "walls.jsonl").touch()
    with scratch_folder(tmp_path) as alive:
        for folder in (left, others, alive.parent):
            os.utime(folder, (long_ago, long_ago))
        with scratch_folder(tmp_path) as mine:
            assert not any(mine.iterdir())
            assert {path.name for path in tmp_path.iterdir()} == {fresh.name, others.name, alive.parent.name, mine.parent.name}
    assert {path.name for path in tmp_path.iterdir()} == {fresh.name, others.name}
