"""Runs on Ray: kill players, machines and the command at random, and nothing is lost or doubled. Needs the extra [ray].

The machines are processes here, by Ray's own utility for tests.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from housequest.agent.evaluation.runs.folder import RunFolder
from housequest.agent.evaluation.runs.shard import verify_run
from housequest.agent.training.lora.run import CONVERSATIONS
from tests.agent.cluster.test_cluster import calls_recorded
from tests.agent.evaluation.runs.test_shards import kept
from tests.agent.models.tiny import write_tiny
from tests.backends.policy import Solver
from tests.backends.server import Server, serve
from tests.tui.conftest import COMMAND, environment
from tests.waiting import ending, wait_until

pytestmark = pytest.mark.slow

PLAYER = b"ray::RemotePlayer"
TASKS = 16
LONG = 300.0
"""Seconds that a machine may need to join and to start players."""


class Machines:
    """Three machines as processes: the first has no room for players, and the others can be killed."""

    def __init__(self) -> None:
        self._cluster: Any = import_module("ray.cluster_utils").Cluster(
            initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False}
        )
        self.address: str = self._cluster.address
        self._nodes: list[Any] = [self._added() for _ in range(2)]

    def _added(self) -> Any:
        return self._cluster.add_node(num_cpus=2)

    def working(self, what: bytes = PLAYER) -> list[int]:
        """The processes of players, or of other work, by the machines that they are on."""
        parents = {process.process.pid for node in self._nodes for process in node.all_processes["raylet"]}
        return [pid for pid, parent, said in _processes() if parent in parents and said.startswith(what)]

    def kill_one(self, chance: random.Random) -> None:
        """Kill a machine with all that it plays, and start another."""
        node = self._nodes.pop(chance.randrange(len(self._nodes)))
        self._cluster.remove_node(node, allow_graceful=False)
        self._nodes.append(self._added())

    def close(self) -> None:
        self._cluster.shutdown()


def _processes() -> Iterator[tuple[int, int, bytes]]:
    """The processes of this machine: their ids, their parents', and how they are called."""
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                parent = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
                yield int(folder.name), parent, (folder / "cmdline").read_bytes()
            except OSError:
                continue  # it has ended


@pytest.fixture(scope="module")
def machines() -> Iterator[Machines]:
    pytest.importorskip("ray")
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    there = Machines()
    yield there
    there.close()


@pytest.fixture(scope="module")
def solving() -> Iterator[Server]:
    with serve(Solver()) as server:
        yield server


def command(server: Server, out: Path, *more: str) -> list[str]:
    size = ("--split", "generated", "--limit", str(TASKS), "--max-steps", "20", "--concurrency", "8")
    return [*COMMAND, "eval", "--agent", "react", "--model", server.model(), *size, "--out", str(out), *more]


def play_and_kill(line: list[str], folder: Path, machines: Machines, server: Server, chance: random.Random, calls: int) -> int:
    """Begin the command, kill players and machines while it plays some of ``calls``, and then itself; its exit code."""
    with (folder / "said.txt").open("ab") as said:
        process = subprocess.Popen(line, cwd=folder, env=environment(), stdout=said, stderr=said)

    def played_on() -> bool:
        """Wait for some more calls; whether the command is still playing."""
        wanted = len(server.requests) + chance.randrange(1, max(2, calls // 6))
        wait_until(lambda: len(server.requests) >= wanted or process.poll() is not None, patience=LONG)
        return process.poll() is None

    with ending(process, LONG):
        for _ in range(chance.randrange(1, 3)):
            if played_on() and chance.random() < 0.5 and (players := machines.working()):
                os.kill(chance.choice(players), signal.SIGKILL)
            elif process.poll() is None:
                machines.kill_one(chance)
        if played_on():
            process.kill()
    return process.returncode


@pytest.mark.parametrize("seed", range(20))
def test_killed_at_random_nothing_is_lost_or_doubled(seed: int, machines: Machines, solving: Server, tmp_path: Path) -> None:
    chance = random.Random(seed)
    solving.reset()
    subprocess.run(command(solving, tmp_path / "one"), check=True, cwd=tmp_path, env=environment(), capture_output=True)
    calls = len(solving.requests)
    line = command(solving, tmp_path / "many", "--cluster", f"ray:{machines.address}")
    ended = -signal.SIGKILL
    for _ in range(4):
        if ended == -signal.SIGKILL:
            ended = play_and_kill(line, tmp_path, machines, solving, chance, calls)
    assert ended in (0, -signal.SIGKILL), (tmp_path / "said.txt").read_text()
    done = subprocess.run(line, check=False, cwd=tmp_path, env=environment(), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert kept(tmp_path / "many") == kept(tmp_path / "one")
    assert verify_run(RunFolder(tmp_path / "many")).whole
    assert calls_recorded(tmp_path / "many") == calls_recorded(tmp_path / "one")


def test_a_budget_holds_for_all_machines(machines: Machines, solving: Server, tmp_path: Path) -> None:
    # Free replies, so that nothing is asked of the model beside them.
    cluster = ("--set", "form=free", "--cluster", f"ray:{machines.address}")
    line = command(solving, tmp_path / "run", *cluster, "--budget", "calls=21")
    done = subprocess.run(line, check=False, cwd=tmp_path, env=environment(), capture_output=True, text=True)
    assert done.returncode == 130, done.stderr
    assert "The budget of 21 calls is used up." in done.stderr
    assert calls_recorded(tmp_path / "run") == 21, done.stderr
    done = subprocess.run(command(solving, tmp_path / "run", *cluster), check=False, cwd=tmp_path, env=environment())
    assert done.returncode == 0


SWEEP = "arms:\n  counts: {agent: expert}\n  name: {agent: expert, set: {search: name}}\n"
BOOK = "format: 0.2\nrules:\n- {id: places, statement: Things lie in places., status: candidate}\n"


@pytest.mark.parametrize(
    "given",
    [
        ("eval", "--sweep", "sweep.yaml", "--limit", "6"),
        ("rules", "measure", "book.yaml", "places", "--agent", "react", "--limit", "3", "--max-steps", "20", "--model"),
        ("explore", "--agent", "expert", "--episodes", "6"),
    ],
    ids=["sweep", "rules measure", "explore"],
)
def test_what_plays_several_runs_takes_a_cluster_too(
    given: tuple[str, ...], machines: Machines, solving: Server, tmp_path: Path
) -> None:
    solving.reset()
    (tmp_path / "sweep.yaml").write_text(SWEEP)
    (tmp_path / "book.yaml").write_text(BOOK)
    line = [*COMMAND, *given, *([solving.model()] if given[-1] == "--model" else []), "--split", "generated"]
    for out, cluster in (("one", ()), ("many", ("--cluster", f"ray:{machines.address}"))):
        whole = [*line, "--out", out, *cluster]
        done = subprocess.run(whole, check=False, cwd=tmp_path, env=environment(), capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
    runs = sorted(file.parent.relative_to(tmp_path / "one") for file in (tmp_path / "one").rglob("run.json"))
    assert runs
    for run in runs:
        assert kept(tmp_path / "many" / run) == kept(tmp_path / "one" / run)


GAMES = 256
"""Games in as many parcels as there are processors, four times over."""
WORK = b"ray::_work"


@pytest.mark.parametrize(
    ("given", "out"),
    [
        (
            ("export", "--prompts-of", "react", "--split", "generated", "--games", str(GAMES), "--epsilon", "0.1", "--out"),
            "data.jsonl",
        ),
        (
            ("train", "model.gguf", "--agent", "lota", "--set", "shots=0", "--houses", str(GAMES), "--dry-run", "--out"),
            "adapter",
        ),
    ],
    ids=["export", "train"],
)
def test_demonstrations_are_made_on_a_cluster_whatever_dies(
    given: tuple[str, ...], out: str, machines: Machines, tmp_path: Path
) -> None:
    write_tiny(tmp_path / "model.gguf")
    subprocess.run([*COMMAND, *given, f"one/{out}", "--processes", "1"], check=True, cwd=tmp_path, env=environment())
    line = [*COMMAND, *given, f"many/{out}", "--cluster", f"ray:{machines.address}"]
    with ending(subprocess.Popen(line, cwd=tmp_path, env=environment()), LONG) as process:
        wait_until(lambda: machines.working(WORK), process, LONG)
        for pid in machines.working(WORK)[:1]:
            os.kill(pid, signal.SIGKILL)
        machines.kill_one(random.Random(1))
        assert process.wait() == 0
    one, many = (tmp_path / name / out for name in ("one", "many"))
    if one.is_dir():
        one, many = one / CONVERSATIONS, many / CONVERSATIONS
    assert many.read_bytes() == one.read_bytes()
    assert len(one.read_bytes().splitlines()) > GAMES / 2


def test_ctrl_c_ends_what_a_cluster_is_at(machines: Machines, tmp_path: Path) -> None:
    size = ("--split", "generated", "--games", "50000", "--cluster", f"ray:{machines.address}", "--out", "data.jsonl")
    line = [*COMMAND, "export", "--prompts-of", "react", *size]
    process = subprocess.Popen(line, cwd=tmp_path, env=environment(), stderr=subprocess.PIPE, text=True, start_new_session=True)
    part = tmp_path / "data.jsonl.part"
    with ending(process, LONG):
        wait_until(lambda: part.exists() and part.stat().st_size, process, LONG)
        os.killpg(process.pid, signal.SIGINT)
        _, said = process.communicate()
    assert process.returncode == 130
    assert "Traceback" not in said
    assert list(tmp_path.iterdir()) == []
    wait_until(lambda: not machines.working(WORK), patience=LONG)
