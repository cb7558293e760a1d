"""Imports ALFWorld's games and annotations from archives and folders.

An archive is untrusted: only plain files called ``game.tw-pddl`` or ``traj_data.json`` in the published layout are read, with
bounded sizes and safe names, and every game must be playable. Files are written atomically.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import re
import stat
import struct
import tarfile
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import IO, Any, cast

from housequest.worlds.alfworld.data.tasks import EXAMPLE, FILE, GAME_FILE, LAYOUT, MAX_TRAJECTORY, TRAJECTORY_FILE
from housequest.worlds.alfworld.engine.game import MAX_FILE as MAX_GAME
from housequest.worlds.alfworld.engine.game import read_published
from housequest.worlds.errors import GameError, WorldError, shown
from housequest.worlds.paths import atomic_write

MAX_MEMBERS = 500_000
MAX_TOTAL = 16 << 30
"""Bytes, unpacked; the official archives together have about 2 GB."""

_NAME = r"[A-Za-z0-9][A-Za-z0-9_.+-]{0,199}"
_MEMBER = re.compile(
    rf"(?:\./)?json_2\.1\.[0-9]/(?P<split>{_NAME})/(?P<task>{_NAME})/(?P<trial>{_NAME})/(?P<file>{GAME_FILE}|{TRAJECTORY_FILE})"
)
_BROKEN = (
    zipfile.BadZipFile,
    tarfile.TarError,
    lzma.LZMAError,
    zlib.error,
    struct.error,
    EOFError,
    RuntimeError,  # a compression that zipfile does not know, or a member that needs a password
    OverflowError,
    MemoryError,  # a dictionary that no honest xz asks for
    ValueError,
    OSError,
)


@dataclass(slots=True)
class Imported:
    """What an import did, counted in files by split.

    ``games`` and ``trajectories`` were written, ``kept`` were there before; ``refused`` lists rejected members with the
    reason, and ``ignored`` counts the files that are neither game nor annotation.
    """

    games: Counter[str] = field(default_factory=Counter[str])
    trajectories: Counter[str] = field(default_factory=Counter[str])
    kept: Counter[str] = field(default_factory=Counter[str])
    refused: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    ignored: int = 0


@dataclass(frozen=True, slots=True)
class _Member:
    """One file in an archive; ``odd`` says what it is if it is not a plain file."""

    name: str
    size: int
    open: Callable[[], IO[bytes] | None]
    odd: str = ""


def import_games(source: Path, data: Path, *, force: bool = False, report: Callable[[int], None] | None = None) -> Imported:
    """Import the games and annotations of ``source`` into ``data`` (the folder that holds ``json_2.1.1``).

    ``source`` is a zip, a tar (plain, gz, bz2, xz), or a folder in the official layout. Existing files are kept unless
    ``force``. ``report`` is called with the number of files seen, every 100 files. Raises ``WorldError`` if the source cannot
    be read to its end or ``data`` cannot be written; what was imported before stays.
    """
    done = Imported()
    total = 0
    try:
        for count, member in enumerate(_members(source), start=1):
            total += member.size
            if count > MAX_MEMBERS or total > MAX_TOTAL:
                raise WorldError(f"{_named(source)} unpacks to more than {MAX_MEMBERS:,} files or {MAX_TOTAL >> 30} GiB.")
            _take(member, data, force, done)
            if report is not None and count % 100 == 0:
                report(count)
    except _BROKEN as error:
        if isinstance(error, OSError) and error.filename:  # the disk's word, not the archive's
            raise WorldError(f"{shown(str(error.filename), 400)} cannot be looked at: {error.strerror}.") from error
        raise WorldError(f"{_named(source)} is damaged or not an archive ({shown(str(error))}); fetch it again.") from error
    if not (done.games or done.trajectories or done.kept or done.refused):
        raise WorldError(f"{_named(source)} holds nothing to import: no {LAYOUT}/<split>/<task>/<trial>/{GAME_FILE}.")
    return done


def _take(member: _Member, data: Path, force: bool, done: Imported) -> None:
    match = _MEMBER.fullmatch(member.name)
    if member.odd:
        done.refused.append((member.name, f"it is {member.odd}"))
    elif ".." in PurePosixPath(member.name).parts or member.name.startswith("/") or "\\" in member.name:
        done.refused.append((member.name, "its name leads out of the folder"))
    elif match is None:
        done.ignored += 1
    elif match["split"] in (EXAMPLE, FILE):
        done.refused.append((member.name, f"{match['split']!r} cannot be the name of a split"))
    else:
        target = data.joinpath(LAYOUT, *match.group("split", "task", "trial", "file"))
        if not force and target.exists():
            done.kept[match["split"]] += 1
            return
        game = match["file"] == GAME_FILE
        most = MAX_GAME if game else MAX_TRAJECTORY
        stream = member.open()
        if stream is None:
            raise EOFError("a file has no content")
        with stream:
            content = stream.read(most + 1)  # whatever its header says
        if len(content) > most:
            done.refused.append((member.name, "it is too large"))
            return
        if game:
            try:
                read_published(content, GAME_FILE, whole=True)
            except GameError as error:
                done.refused.append((member.name, str(error).removeprefix(f"{GAME_FILE}: ")))
                return
        try:
            atomic_write(target, content, sync=False)
        except OSError as error:
            raise WorldError(f"{_named(target)} cannot be written: {error.strerror}.") from error
        (done.games if game else done.trajectories)[match["split"]] += 1


def _members(source: Path) -> Iterator[_Member]:
    if source.is_dir():
        return _folder_members(source)
    if not source.is_file():
        raise WorldError(f"There is no archive and no folder {_named(source)}.")
    with source.open("rb") as file:
        start = file.read(6)
    return _zip_members(source) if start[:2] == b"PK" else _tar_members(source, start)


def _folder_members(source: Path) -> Iterator[_Member]:
    root = source / LAYOUT if (source / LAYOUT).is_dir() else source
    if root.name != LAYOUT:
        raise WorldError(f"The folder {_named(source)} holds no {LAYOUT}.")
    for path in sorted(root.glob("*/*/*/*")):
        name = f"{LAYOUT}/{path.relative_to(root).as_posix()}"
        mode = path.lstat().st_mode
        if not stat.S_ISDIR(mode):
            odd = "" if stat.S_ISREG(mode) else "a link" if stat.S_ISLNK(mode) else "a device"
            yield _Member(name, 0 if odd else path.lstat().st_size, lambda path=path: path.open("rb"), odd)


def _zip_members(source: Path) -> Iterator[_Member]:
    with zipfile.ZipFile(source) as archive:
        for info in archive.infolist():
            mode = info.external_attr >> 16
            if not info.is_dir():
                odd = "" if stat.S_IFMT(mode) in (0, stat.S_IFREG) else "a link" if stat.S_ISLNK(mode) else "a device"
                yield _Member(info.filename, info.file_size, lambda info=info: archive.open(info), odd)


def _tar_members(source: Path, start: bytes) -> Iterator[_Member]:
    openers: dict[bytes, Callable[[Path], Any]] = {
        b"\xfd7zXZ\0": lzma.open,
        b"\x1f\x8b": gzip.open,
        b"BZh": bz2.open,
        b"": lambda path: path.open("rb"),
    }
    opener = next(opener for magic, opener in openers.items() if start.startswith(magic))
    with opener(source) as file, tarfile.open(fileobj=cast("IO[bytes]", _Bounded(file)), mode="r:") as archive:
        for info in archive:
            if not info.isdir():
                odd = "" if info.isreg() else "a link" if info.issym() or info.islnk() else "a device"
                yield _Member(info.name, info.size, lambda info=info: archive.extractfile(info), odd)


class _Bounded(io.RawIOBase):
    """Refuses single reads larger than any wanted file, which a forged header could ask for."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file

    def read(self, size: int = -1, /) -> bytes:
        if not 0 <= size <= 2 * MAX_TRAJECTORY:
            raise ValueError(f"a header asks for {size:,} bytes at once")
        return self._file.read(size)

    def seek(self, offset: int, whence: int = os.SEEK_SET, /) -> int:
        return self._file.seek(offset, whence)

    def tell(self) -> int:
        return self._file.tell()


def _named(path: Path) -> str:
    return shown(str(path), 400)
