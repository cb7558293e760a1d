"""A lock is held by one process at a time, and by none that has died."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path

import pytest

from housequest.worlds.locks import InUse, held, is_held
from tests.tui.conftest import environment
from tests.waiting import PATIENCE, ending

HOLD = """
import sys
from pathlib import Path
from housequest.worlds.locks import held
with held(Path(sys.argv[1]), "taken"):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_the_second_is_refused_until_the_first_is_through(tmp_path: Path) -> None:
    lock = tmp_path / "folder" / ".lock"
    assert not is_held(lock)
    with held(lock, "The house is taken."):
        assert is_held(lock)
        with pytest.raises(InUse, match=r"The house is taken\."), held(lock, "The house is taken."):
            pass
    assert not is_held(lock)
    with held(lock, ""):
        pass


def test_one_waits_for_another_that_lets_go(tmp_path: Path) -> None:
    lock, taken, let_go = tmp_path / ".lock", threading.Event(), threading.Event()

    def other() -> None:
        with held(lock, ""):
            taken.set()
            let_go.wait(PATIENCE)

    thread = threading.Thread(target=other)
    thread.start()
    assert taken.wait(PATIENCE)
    threading.Timer(0.1, let_go.set).start()
    with held(lock, "", patience=PATIENCE):
        assert let_go.is_set()
    thread.join()


def test_a_look_makes_nothing_and_a_file_in_the_way_is_an_error(tmp_path: Path) -> None:
    assert not is_held(tmp_path / "none" / ".lock")
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "file").write_text("x")
    with pytest.raises(OSError, match="file"), held(tmp_path / "file" / ".lock", ""):
        pass


@pytest.mark.heavy
def test_a_killed_process_frees_its_lock(tmp_path: Path) -> None:
    lock = tmp_path / ".lock"
    other = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(lock)],
        env=environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with ending(other):
        assert other.stdout is not None
        assert other.stdout.readline() == "held\n"
        assert is_held(lock)
        other.kill()
        other.wait(PATIENCE)
        with held(lock, ""):
            assert is_held(lock)
