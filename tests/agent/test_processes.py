"""Work in several processes: its results are in order, whoever dies over it, and it ends with its parent's Ctrl-C."""

from __future__ import annotations

import os
import signal
import subprocess
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest

from housequest.agent.processes import AT_ONCE, MOST_LOST, in_processes
from housequest.worlds.errors import ConfigurationError, HousequestError
from tests.tui.conftest import COMMAND, environment
from tests.waiting import ending, wait_until

pytestmark = pytest.mark.heavy

ITEMS = range(5 * AT_ONCE)


@dataclass(frozen=True)
class Dying:
    """Doubles its items, and dies over each of ``fatal`` so many ``times``."""

    folder: Path
    fatal: tuple[int, ...]
    times: int

    def __call__(self, item: int) -> int:
        died = self.folder / str(item)
        if item in self.fatal and (not died.exists() or died.stat().st_size < self.times):
            with died.open("a") as file:
                file.write("x")
            os._exit(1)
        if item < 0:
            raise ConfigurationError("There is no double of that.")
        return 2 * item


def test_what_a_process_died_over_is_done_again_in_its_place(tmp_path: Path) -> None:
    make = partial(nullcontext, Dying(tmp_path, (3, 20, 21, 70), 1))
    assert list(in_processes(make, ITEMS, 2)) == [2 * item for item in ITEMS]
    assert len(list(tmp_path.iterdir())) == 4


def test_what_kills_each_process_is_given_up(tmp_path: Path) -> None:
    coming = in_processes(partial(nullcontext, Dying(tmp_path, (20,), 1_000)), ITEMS, 2)
    assert [next(coming) for _ in range(AT_ONCE)] == [2 * item for item in range(AT_ONCE)]
    with pytest.raises(HousequestError, match=f"{MOST_LOST} processes died"):
        next(coming)
    assert (tmp_path / "20").stat().st_size >= MOST_LOST


def test_what_a_worker_raises_is_raised(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="no double"):
        list(in_processes(partial(nullcontext, Dying(tmp_path, (), 0)), range(-1, 40), 2))


def test_ctrl_c_ends_an_export_with_all_its_processes(tmp_path: Path) -> None:
    size = ("--split", "generated", "--games", "9000", "--processes", "2", "--out", "data.jsonl")
    line = [*COMMAND, "export", "--prompts-of", "react", *size]
    process = subprocess.Popen(line, cwd=tmp_path, env=environment(), stderr=subprocess.PIPE, text=True, start_new_session=True)
    part = tmp_path / "data.jsonl.part"
    with ending(process):
        wait_until(lambda: part.exists() and part.stat().st_size, process)
        os.killpg(process.pid, signal.SIGINT)
        _, said = process.communicate()
    assert process.returncode == 130
    assert "Traceback" not in said
    assert list(tmp_path.iterdir()) == []
    # What keeps track of shared resources ends a moment later, by itself.
    wait_until(lambda: not alive(process.pid))


def alive(group: int) -> list[int]:
    """The processes of a group."""
    found: list[int] = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            with suppress(OSError):  # it has ended
                state, _, of, *_ = (folder / "stat").read_text().rpartition(")")[2].split()
                found += [int(folder.name)] if int(of) == group and state != "Z" else []
    return found
