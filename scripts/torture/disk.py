"""A disk that is full: the run stops, says how far it is, and goes on once there is room."""

from __future__ import annotations

import re
import resource
import subprocess
from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from scripts.torture.program import Outcome
from scripts.torture.trial import FINISHED, STOPPED, Trial
from scripts.torture.whole import MANY, compare_index, content, episodes

_STANDING = re.compile(r"^(\d+) of \d+ finished", re.MULTILINE)
_ROOM = 64 << 20


@contextmanager
def small_disk(folder: Path, size: int) -> Generator[None]:
    """A file system of so many bytes at ``folder``, which is made. Raises ``OSError`` where none can be mounted."""
    folder.mkdir(parents=True)
    _mount("-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder))
    try:
        yield
    finally:
        subprocess.run(("umount", "--lazy", str(folder)), check=True, capture_output=True)


def _mount(*arguments: str) -> None:
    try:
        subprocess.run(("mount", *arguments), check=True, capture_output=True)
    except subprocess.CalledProcessError as error:
        raise OSError(error.stderr.decode()) from None


@cache
def mountable() -> bool:
    """Whether a small file system can be mounted here."""
    with TemporaryDirectory() as folder:
        try:
            with small_disk(Path(folder) / "disk", 1 << 16):
                return True
        except OSError:
            return False


async def full_disk(trial: Trial) -> None:
    """A small file system, or where none can be mounted (and at every second trial) a limit on the size of files."""
    if trial.number % 2 or not mountable():
        await _limited_files(trial)
        return
    disk = trial.program.folder / "disk"
    size = trial.chance.randrange(16 << 10, 2 * trial.goldens[MANY].bytes)
    trial.about = f"a disk of {size >> 10} KiB"
    with small_disk(disk, size):
        (disk / "run").mkdir()
        trial.run.symlink_to(disk / "run")
        for _ in range(trial.chance.randint(1, 2)):
            await _try(trial)
        _mount("-o", f"remount,size={_ROOM}", str(disk))
        await trial.finish(MANY, 4)


async def _limited_files(trial: Trial) -> None:
    largest = trial.chance.randrange(512, 48 << 10)
    trial.about = f"files of at most {largest} bytes"

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (largest, resource.RLIM_INFINITY))

    for _ in range(trial.chance.randint(1, 2)):
        await _try(trial, limit)
    await trial.finish(MANY, 4)


async def _try(trial: Trial, before: Callable[[], None] | None = None) -> None:
    done: Outcome = await trial.program.run(MANY.arguments("run", 4), before=before)
    trial.faults(compare_index(trial.goldens[MANY], trial.run, whole=False))
    if trial.expect(done, STOPPED, FINISHED, naming="the same command goes on") and done.code == STOPPED:
        told, there = _STANDING.findall(done.err), len(episodes(trial.run))
        # An episode may be through whose line in the index had no room.
        if told and not len(_indexed(trial)) <= int(told[-1]) <= there:
            trial.fault("miscounted", f"{told[-1]} are said to be finished, and {there} are")


def _indexed(trial: Trial) -> list[bytes]:
    return content(trial.run / "index.jsonl").split(b"\n")[:-1]
