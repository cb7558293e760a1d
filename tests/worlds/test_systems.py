"""Replacing files, groups of processes, scratch and signals, with real ones."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from housequest.worlds.systems import on_signals, replace_file, scratch_variables
from tests.waiting import PATIENCE

WINDOWS = """
import sys
from pathlib import Path
from housequest.worlds.systems import replace_file
source, target, code, left = Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])

def refuse(event, given):
    global left
    if event == "os.rename" and left:
        left -= 1
        error = PermissionError(13, "Access is denied", str(source))
        error.winerror = code
        raise error

sys.addaudithook(refuse)
replace_file(source, target)
"""


def as_on_windows(folder: Path, code: int, refusals: int) -> subprocess.CompletedProcess[str]:
    """Replace a file in a process in which renaming fails so often with this error of Windows."""
    (folder / "new").write_text("new")
    (folder / "old").write_text("old")
    command = [sys.executable, "-c", WINDOWS, str(folder / "new"), str(folder / "old"), str(code), str(refusals)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=PATIENCE)


@pytest.mark.heavy
@pytest.mark.parametrize("code", [5, 32, 33])
def test_a_file_that_another_process_reads_is_replaced_a_little_later(code: int, tmp_path: Path) -> None:
    done = as_on_windows(tmp_path, code, 3)
    assert done.returncode == 0, done.stderr
    assert [file.read_text() for file in tmp_path.iterdir()] == ["new"]


@pytest.mark.heavy
@pytest.mark.parametrize(("code", "refusals"), [(1314, 1), (5, 100_000)], ids=["not busy", "for ever"])
def test_what_stays_refused_is_said(code: int, refusals: int, tmp_path: Path) -> None:
    assert "Access is denied" in as_on_windows(tmp_path, code, refusals).stderr
    assert (tmp_path / "old").read_text() == "old"


def test_a_file_takes_the_place_of_another(tmp_path: Path) -> None:
    (tmp_path / "new").write_text("new")
    assert replace_file(tmp_path / "new", tmp_path / "old").read_text() == "new"
    with pytest.raises(FileNotFoundError):
        replace_file(tmp_path / "new", tmp_path / "old")


@pytest.mark.heavy
@pytest.mark.parametrize("first", ["TMPDIR", "TEMP", "TMP"])
def test_scratch_is_found_by_each_name_that_a_system_has_for_it(first: str, tmp_path: Path) -> None:
    others = {name: "" for name in ("TMPDIR", "TEMP", "TMP") if name != first}
    given = {**os.environ, **scratch_variables(tmp_path), **others}
    code = "import tempfile; print(tempfile.gettempdir())"
    done = subprocess.run([sys.executable, "-c", code], env=given, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == str(tmp_path)


def test_signals_are_heard_in_the_event_loop_and_handed_back() -> None:
    heard: list[str] = []

    async def listen() -> None:
        done = asyncio.Event()
        with on_signals(done.set, signal.SIGINT, signal.SIGTERM):
            for number in (signal.SIGINT, signal.SIGTERM):
                done.clear()
                signal.raise_signal(number)
                await asyncio.wait_for(done.wait(), PATIENCE)
                heard.append(number.name)

    # A shell starts background jobs with an ignored SIGINT.
    given = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
        asyncio.run(listen())
        assert heard == ["SIGINT", "SIGTERM"]
        assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == before
    finally:
        signal.signal(signal.SIGINT, given)


def test_a_signal_that_is_ignored_stays_ignored() -> None:
    async def listen() -> None:
        with on_signals(lambda: pytest.fail("heard"), signal.SIGINT):
            signal.raise_signal(signal.SIGINT)
            await asyncio.sleep(0)
            await asyncio.sleep(0)

    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        asyncio.run(listen())
    finally:
        signal.signal(signal.SIGINT, before)
