"""Runs in several processes of this machine: kill players and the command at random, and nothing is lost or doubled."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from housequest.agent.cluster.driver import Order
from housequest.agent.cluster.local import ProcessCluster
from housequest.agent.evaluation.parts import read_cluster
from housequest.agent.evaluation.runs.folder import RunFolder
from housequest.agent.evaluation.runs.shard import verify_run
from housequest.agent.processes import processors
from housequest.worlds.errors import ConfigurationError
from tests.agent.cluster.test_cluster import calls_recorded, react
from tests.agent.evaluation.runs.test_batch import play
from tests.agent.evaluation.runs.test_shards import kept
from tests.backends.policy import Solver
from tests.backends.server import Server, serve, slow
from tests.tui.conftest import COMMAND, environment
from tests.waiting import ending, wait_until

LONG = 120.0
"""Seconds that players may need to start on a loaded machine."""
TASKS = 12


@pytest.fixture
def solving() -> Iterator[Server]:
    with serve(Solver()) as server:
        yield server


def command(server: Server, folder: Path, out: str, *more: str) -> list[str]:
    size = ("--split", "generated", "--limit", str(TASKS), "--max-steps", "20", "--concurrency", "6")
    return [*COMMAND, "eval", "--agent", "react", "--model", server.model(), *size, "--out", str(folder / out), *more]


def settings(folder: Path) -> dict[str, str]:
    """The environment of a command whose players keep their files in ``folder``."""
    (folder / "temporary").mkdir(exist_ok=True)
    return environment(TMPDIR=str(folder / "temporary"))


def players(driver: int) -> list[int]:
    """The processes that ``driver`` has started."""
    found: list[int] = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                parent = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
                if parent == driver and b"spawn_main" in (folder / "cmdline").read_bytes():
                    found.append(int(folder.name))
            except OSError:
                continue  # it has ended
    return found


def test_names_of_clusters() -> None:
    assert isinstance(named := read_cluster("processes"), ProcessCluster)
    assert named.processes == processors()
    assert isinstance(named := read_cluster("processes:3"), ProcessCluster)
    assert named.processes == 3
    for text in ("processes:", "processes:0", "processes:-1", "processes:two", "processes:1000", "process", ""):
        with pytest.raises(ConfigurationError, match="is not a cluster; give processes"):
            read_cluster(text)


@pytest.mark.heavy
@pytest.mark.parametrize(("agent", "model"), [("expert", None), ("react", "served"), ("reasoner-actor", "builtin")])
def test_two_processes_write_what_one_writes(agent: str, model: str | None, tmp_path: Path, solving: Server) -> None:
    spec = react(tmp_path, solving, agent=agent, model=solving.model() if model == "served" else model)
    play(spec, tmp_path / "one")
    play(spec, tmp_path / "many", concurrency=4, cluster=ProcessCluster(2))
    assert kept(tmp_path / "many") == kept(tmp_path / "one")
    assert verify_run(RunFolder(tmp_path / "many")).whole
    assert players(os.getpid()) == []


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc").is_dir(), reason="finds processes in /proc")
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_killed_at_random_nothing_is_lost_or_doubled(seed: int, tmp_path: Path, solving: Server) -> None:
    chance, given = random.Random(seed), settings(tmp_path)
    subprocess.run(command(solving, tmp_path, "one"), check=True, cwd=tmp_path, env=given, capture_output=True)
    calls = len(solving.requests)
    line = command(solving, tmp_path, "many", "--cluster", "processes:3")
    for kills in (2, 1, 0):
        with (tmp_path / "said.txt").open("ab") as said:
            process = subprocess.Popen(line, cwd=tmp_path, env=given, stdout=said, stderr=said)
        left: list[int] = []
        with ending(process, LONG):
            for number in range(kills + 1):
                wanted = len(solving.requests) + chance.randrange(1, max(2, calls // 6))
                wait_until(
                    lambda wanted=wanted, process=process: len(solving.requests) >= wanted or process.poll() is not None,
                    patience=LONG,
                )
                if process.poll() is not None:
                    break
                left = players(process.pid)
                if number == kills:
                    process.kill()
                elif left:
                    os.kill(chance.choice(left), signal.SIGKILL)
        # Those whose driver is gone leave by themselves.
        wait_until(lambda left=left: not any(Path(f"/proc/{player}").exists() for player in left))
    done = subprocess.run(line, check=False, cwd=tmp_path, env=given, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert kept(tmp_path / "many") == kept(tmp_path / "one")
    assert verify_run(RunFolder(tmp_path / "many")).whole
    assert calls_recorded(tmp_path / "many") == calls_recorded(tmp_path / "one")


@pytest.mark.heavy
@pytest.mark.skipif(not Path("/proc").is_dir(), reason="finds processes in /proc")
@pytest.mark.parametrize(
    ("workers", "pause", "seed"),
    [(4, 0.05, 2), *(pytest.param(*each, marks=pytest.mark.slow) for each in ((1, 0.05, 0), (1, 0.3, 1), (4, 0.0, 3)))],
)
def test_whoever_is_killed_at_most_one_call_for_each_worker_is_paid_again(
    workers: int, pause: float, seed: int, tmp_path: Path, solving: Server
) -> None:
    solving.otherwise = slow(pause)
    chance, given, allowed = random.Random(seed), settings(tmp_path), 0
    size = ("--split", "generated", "--limit", "5", "--max-steps", "12", "--concurrency", str(workers))
    line = [*COMMAND, "eval", "--agent", "react", "--model", solving.model(), "--set", "form=free", *size]
    line += ["--out", "run", "--cluster", "processes:2"]

    def reach(process: subprocess.Popen[bytes], more: int) -> None:
        wanted = len(solving.requests) + more
        wait_until(lambda: len(solving.requests) >= wanted or process.poll() is not None, patience=LONG)

    for victims in ("player", "command", "all"):
        process = subprocess.Popen(line, cwd=tmp_path, env=given, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        with ending(process, LONG):
            reach(process, chance.randrange(4, 8))
            playing = players(process.pid)
            allowed += workers
            if victims != "command":
                # Which of the two plays is not known where there is one worker.
                for player in playing:
                    os.kill(player, signal.SIGKILL)
            if victims == "player":
                reach(process, workers + 1)
                allowed += workers
            process.kill()
        wait_until(lambda playing=playing: not any(Path(f"/proc/{player}").exists() for player in playing))
    done = subprocess.run(line, check=False, cwd=tmp_path, env=given, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    asked = Counter(json.dumps(request.body["messages"]) for request in solving.requests)
    assert sum(count - 1 for count in asked.values()) <= allowed


@pytest.mark.heavy
def test_one_budget_holds_for_all_processes_and_they_leave_no_files(tmp_path: Path, solving: Server) -> None:
    given = settings(tmp_path)
    # Free replies, so that nothing is asked of the model beside them.
    line = command(solving, tmp_path, "run", "--set", "form=free", "--cluster", "processes:2", "--budget", "calls=21")
    done = subprocess.run(line, check=False, cwd=tmp_path, env=given, capture_output=True, text=True)
    assert done.returncode == 130
    assert "The budget of 21 calls is used up." in done.stderr
    assert calls_recorded(tmp_path / "run") == 21
    assert list((tmp_path / "temporary").iterdir()) == []


@pytest.mark.heavy
@pytest.mark.skipif(os.name == "nt", reason="sends Ctrl-C to a group of processes")
def test_ctrl_c_is_the_commands_and_the_players_leave_with_it(tmp_path: Path, solving: Server) -> None:
    given = settings(tmp_path)
    line = command(solving, tmp_path, "run", "--cluster", "processes:2")
    process = subprocess.Popen(line, cwd=tmp_path, env=given, stderr=subprocess.PIPE, text=True, start_new_session=True)
    with ending(process, LONG):
        wait_until(lambda: len(solving.requests) > 4, process)
        os.killpg(process.pid, signal.SIGINT)
        _, said = process.communicate()
    assert process.returncode == 130
    assert "Traceback" not in said
    assert "The same command goes on with it." in said
    assert list((tmp_path / "temporary").iterdir()) == []


@pytest.mark.heavy
def test_an_error_of_ours_in_a_player_is_told_with_its_traceback(tmp_path: Path, solving: Server) -> None:
    class Mistaken(ProcessCluster):
        async def open(self, order: Order) -> int:
            return await super().open(replace(order, settings=None))  # pyright: ignore[reportArgumentType]

    with pytest.raises(RuntimeError, match=r"(?s)Traceback .*AttributeError: 'NoneType'"):
        play(react(tmp_path, solving), tmp_path / "run", concurrency=2, cluster=Mistaken(1))
    assert players(os.getpid()) == []
