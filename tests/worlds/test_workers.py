"""Worker processes: what they leave behind is gone with them, however they end."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from housequest.worlds.workers import WorkerError, WorkerProcess
from tests.waiting import PATIENCE, wait_until

pytestmark = pytest.mark.heavy

MODULE = "tests.worlds.untidy_worker"


def end(worker: WorkerProcess) -> None:
    with pytest.raises(WorkerError, match="ended with status 3"):
        worker.call("end", PATIENCE, PATIENCE)


@pytest.mark.parametrize("how", [WorkerProcess.stop, end], ids=["killed", "ended by itself"])
def test_what_a_worker_made_and_started_goes_with_it(how: Callable[[WorkerProcess], None]) -> None:
    worker = WorkerProcess(MODULE)
    name, child = worker.ready().result(PATIENCE)
    assert Path(name).exists()
    how(worker)
    wait_until(lambda: not Path(name).parent.exists())
    wait_until(lambda: not is_running(child))


def is_running(process: int) -> bool:
    """Whether a process is there and has not ended; an orphan may wait for ever to be reaped."""
    state = Path(f"/proc/{process}/stat")
    if Path("/proc/self/stat").exists():
        return state.exists() and state.read_text().rpartition(")")[2].split()[0] != "Z"
    return bool(subprocess.run(["ps", "-p", str(process)], capture_output=True, check=False).returncode == 0)


def test_temporary_files_go_with_a_worker_whose_owner_was_killed() -> None:
    owner = f"print(WorkerProcess({MODULE!r}).ready().result()[0], flush=True); os.abort()"
    owner = f"import os; from housequest.worlds.workers import WorkerProcess; {owner}"
    done = subprocess.run([sys.executable, "-c", owner], check=False, capture_output=True, text=True, timeout=PATIENCE)
    wait_until(lambda: not Path(done.stdout.strip()).parent.exists())
