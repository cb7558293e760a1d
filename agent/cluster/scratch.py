"""The folder in which a player records; those that killed players left on the machine are removed."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

_PREFIX = "housequest-player-"
_YOUNG = 60 * 60.0
"""Seconds in which a folder is left alone: whoever made it may not hold it yet."""


@contextmanager
def scratch_folder(parent: Path | None = None) -> Generator[Path]:
    """A new folder in ``parent``, or where the system keeps temporary files, which goes with who asked for it.

    Its maker holds a lock beside it for as long as it lives: a folder whose lock is free was left by a player that was killed.
    """
    from filelock import FileLock

    parent = Path(tempfile.gettempdir()) if parent is None else parent
    for left in parent.glob(f"{_PREFIX}*/"):
        _remove_left(left)
    with tempfile.TemporaryDirectory(prefix=_PREFIX, dir=parent) as made, FileLock(Path(made) / ".lock"):
        folder = Path(made) / "run"
        folder.mkdir()
        yield folder


def _remove_left(folder: Path) -> None:
    """Remove the folder of a player that lives no more; that of another user, or of one that has just begun, stays."""
    from filelock import FileLock, Timeout

    with suppress(OSError, NotImplementedError, Timeout):
        if time.time() - folder.stat().st_mtime > _YOUNG:
            with FileLock(folder / ".lock", timeout=0):
                shutil.rmtree(folder)
