"""The differences between operating systems: replacing files, scratch, groups of processes, and signals.

Linux, macOS and Windows each go their own way here, and nobody else asks which one runs.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import TypedDict

_TRIES, _PAUSE = 100, 0.01
_BUSY = {5, 32, 33}
"""The errors of Windows for a file that somebody else, often a virus scanner, has open at this moment."""


def replace_file(source: Path, target: Path) -> Path:
    """Rename ``source`` to ``target``, replacing what is there, and return ``target``. Windows refuses while another process
    reads one of them, so there it is tried again for a second. Raises ``OSError``."""
    for _ in range(_TRIES):
        try:
            return source.replace(target)
        except PermissionError as error:
            if getattr(error, "winerror", None) not in _BUSY:
                raise
        time.sleep(_PAUSE)
    return source.replace(target)


def sync_folder(folder: Path) -> None:
    """Make new and renamed files in ``folder`` survive a crash of the machine. Not on Windows, which cannot open folders."""
    if sys.platform != "win32":
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def scratch_variables(folder: Path) -> dict[str, str]:
    """The environment in which a program puts its temporary files into ``folder``, whichever system it was written for."""
    return dict.fromkeys(("TMPDIR", "TEMP", "TMP"), str(folder))


class OwnGroup(TypedDict):
    """The arguments with which a process starts in a group of its own; see `own_group`."""

    start_new_session: bool
    creationflags: int


def own_group() -> OwnGroup:
    """The arguments to start a process that Ctrl-C in the terminal does not reach, and that `kill_group` ends with all that it
    started."""
    import subprocess

    return {"start_new_session": True, "creationflags": int(getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0))}


def kill_group(leader: int) -> None:
    """Kill the process ``leader``, started as `own_group` says, and all that it started. On Windows this needs a living leader.
    The leader is not waited for."""
    if sys.platform == "win32":
        import subprocess

        # A group is only for signals there; the tree of processes is found from its root.
        with suppress(OSError):
            subprocess.run(["taskkill", "/T", "/F", "/PID", str(leader)], capture_output=True, check=False)
    else:
        # macOS says "not permitted" of a group in which all have ended.
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(leader, signal.SIGKILL)


@contextmanager
def on_signals(call: Callable[[], object], *numbers: signal.Signals) -> Generator[None]:
    """Have the running event loop call ``call`` at each of these signals. Not with ``loop.add_signal_handler``, which Windows
    lacks. A signal that is ignored, as in a background job, stays ignored."""
    import asyncio

    loop = asyncio.get_running_loop()

    def wake(_number: int, _frame: FrameType | None) -> None:
        loop.call_soon_threadsafe(call)

    before = {number: handler for number in numbers if (handler := signal.getsignal(number)) is not signal.SIG_IGN}
    for number in before:
        signal.signal(number, wake)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler or signal.SIG_DFL)


@contextmanager
def uninterrupted() -> Generator[None]:
    """Block Ctrl-C here and in processes started meanwhile, which their parent ends itself. Windows cannot."""
    if sys.platform == "win32":
        yield
    else:
        from multiprocessing.resource_tracker import ensure_running

        ensure_running()  # starting it later would unblock the signal
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            yield
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
