"""Locks between processes: one window plays a record, one command writes a folder, one desk saves a rulebook.

The system frees a lock when its process ends, even if it is killed. Where a file system has no such locks, filelock makes a
file that names the process, and removes it once that process is gone.
"""

from __future__ import annotations

import errno
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

from housequest.worlds.errors import ConfigurationError

UNABLE = {errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP}
"""Errors of file systems that cannot lock, such as NFS without a lock server."""


class InUse(ConfigurationError):
    """Another process, or another part of this one, holds the lock."""


@contextmanager
def held(lock: Path, in_use: str, patience: float = 0.0) -> Generator[None]:
    """Hold the file ``lock``, which is made if it is missing and stays afterwards.

    Args:
        in_use: Says what is in use, in the error.
        patience: Wait so many seconds for another holder.

    Raises:
        InUse: Another one holds it.
        OSError: The file cannot be made or locked.
    """
    from filelock import FileLock, Timeout

    lock.parent.mkdir(parents=True, exist_ok=True)
    holder = FileLock(lock, thread_local=False)
    try:
        holder.acquire(timeout=patience, poll_interval=0.01)
    except Timeout:
        raise InUse(in_use) from None
    except NotImplementedError as error:  # of older versions of filelock
        raise OSError(errno.ENOSYS, "it is on a file system without locks", str(lock)) from error
    try:
        yield
    finally:
        holder.release()


def is_held(lock: Path) -> bool:
    """True if another process, or another part of this one, holds ``lock``; nothing is made."""
    try:
        with suppress(OSError):  # what cannot be locked is held by nobody
            if lock.is_file():
                with held(lock, ""):
                    pass
    except InUse:
        return True
    return False
