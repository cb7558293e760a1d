"""``kill -9`` at any moment: what was recorded stands, at most the step in flight is lost, and nothing is counted twice."""

from __future__ import annotations

import json
import random
import resource
import subprocess
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from housequest.agent.episodes.events import ModelCall
from housequest.agent.episodes.record import read_episode
from housequest.tui.cli import main
from housequest.worlds.tasks import HELD_OUT
from tests.backends.policy import Solver
from tests.backends.server import Server, serve
from tests.tui.conftest import COMMAND, environment
from tests.waiting import ending


@pytest.fixture
def server() -> Iterator[Server]:
    with serve(Solver()) as running:
        yield running


def command(server: Server, out: Path, tasks: int, workers: int) -> tuple[str, ...]:
    size = ("--split", "generated", "--limit", str(tasks), "--max-steps", "30", "--concurrency", str(workers))
    return ("eval", "--agent", "react", "--model", server.model(), *size, "--out", str(out))


def start(folder: Path, line: Sequence[str]) -> subprocess.Popen[bytes]:
    with (folder / "said.txt").open("ab") as said:
        return subprocess.Popen((*COMMAND, *line), cwd=folder, env=environment(), stdout=said, stderr=said)


def finish(line: Sequence[str]) -> None:
    """Run a command that nobody kills to its end, for which this process will do."""
    with pytest.raises(SystemExit) as end:
        main(line)
    assert not end.value.code


def episodes(run: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in (run / "episodes").iterdir()}


def calls_recorded(run: Path) -> int:
    records = (run / "episodes").glob("*.jsonl*") if run.exists() else ()
    return sum(isinstance(event.body, ModelCall) for file in records for event in read_episode(file))


def killed_again_and_again(folder: Path, server: Server, seed: int, kills: int, tasks: int, workers: int) -> None:
    chance = random.Random(seed)
    finish(command(server, folder / "whole", tasks, workers))
    calls = len(server.requests)
    line = command(server, folder / "run", tasks, workers)
    server.requests.clear()
    lost = 0
    for kill in range(kills):
        before = len(server.requests)
        # As far on as leaves something to do for those that follow, whatever was lost.
        wanted = before + chance.randrange(1, max(2, 2 * (calls - before + lost) // (kills - kill + 3)))
        with ending(start(folder, line)) as process:
            server.await_requests(wanted, process)
            time.sleep(chance.random() / 200)
            assert process.poll() is None, "it was through before all kills had come"
            process.kill()
        lost = len(server.requests) - calls_recorded(folder / "run")
        assert lost <= (kill + 1) * workers, "no more is lost than what was in flight"
    finish(line)
    assert len(server.requests) <= calls + kills * workers
    assert episodes(folder / "run") == episodes(folder / "whole")
    assert (folder / "run" / "index.jsonl").read_bytes() == (folder / "whole" / "index.jsonl").read_bytes()
    counted = Counter(json.loads(line)["task"] for line in (folder / "run" / "index.jsonl").read_text().splitlines())
    assert counted == Counter({f"generated/{HELD_OUT.start + number}": 1 for number in range(tasks)})


def on_a_full_disk(line: Sequence[str], folder: Path, room: int) -> subprocess.CompletedProcess[str]:
    """The command in ``folder``, stopped where no file may have more than ``room`` bytes."""
    full = subprocess.run(
        (*COMMAND, *line),
        check=False,
        cwd=folder,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=100,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (room, resource.RLIM_INFINITY)),
    )
    assert full.returncode == 130, full.stderr
    return full


@pytest.mark.heavy
def test_a_full_disk_stops_the_run_and_with_room_it_goes_on(tmp_path: Path, server: Server) -> None:
    finish(command(server, tmp_path / "whole", 3, 2))
    line = command(server, tmp_path / "run", 3, 2)
    full = on_a_full_disk(line, tmp_path, 4_096)
    assert "run cannot be written to: File too large." in full.stderr
    assert "the same command goes on with it" in full.stderr
    assert any(file.stat().st_size == 4_096 for file in (tmp_path / "run" / "episodes").iterdir())
    finish(line)
    assert episodes(tmp_path / "run") == episodes(tmp_path / "whole")


@pytest.mark.heavy
def test_a_second_try_on_a_full_disk_says_how_much_is_done(tmp_path: Path) -> None:
    line = ("eval", "--world", "scripted", "--agent", "expert", "--out", str(tmp_path / "run"))
    finish(line)
    next((tmp_path / "run" / "episodes").iterdir()).unlink()
    full = on_a_full_disk(line, tmp_path, 64)
    assert "2 of 3 finished. Once there is room, the same command goes on with it." in full.stderr
    finish(line)


@pytest.mark.heavy
def test_two_kills(tmp_path: Path, server: Server) -> None:
    killed_again_and_again(tmp_path, server, seed=7, kills=2, tasks=6, workers=4)


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 8])
def test_fifty_kills(tmp_path: Path, server: Server, workers: int) -> None:
    killed_again_and_again(tmp_path, server, seed=workers, kills=50, tasks=60, workers=workers)
