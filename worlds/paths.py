"""The user's folders (configuration, data, caches and state), and how files are read and written.

No folder is made until a file is written. ``HOUSEQUEST_HOME`` moves all of them under one folder, for tests and containers.
"""

from __future__ import annotations

import errno
import hashlib
import io
import json
import os
import stat
from collections.abc import Generator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, Literal, cast

from housequest.worlds.errors import ConfigurationError, HousequestError, shown, unquoted
from housequest.worlds.systems import replace_file, sync_folder

_USUAL = 200_000  # bytes
_KINDS = {"l": "a link", "d": "a folder", "p": "a pipe", "s": "a socket", "c": "a device", "b": "a device"}
"""The kinds of irregular file, by the first letter of their mode."""
_NONBLOCK, _NOCTTY, _NOFOLLOW = (int(getattr(os, name, 0)) for name in ("O_NONBLOCK", "O_NOCTTY", "O_NOFOLLOW"))
"""Windows has none of them."""


def _folder(kind: str) -> Path:
    if home := os.environ.get("HOUSEQUEST_HOME"):
        return given_path(home, "HOUSEQUEST_HOME") / kind
    import platformdirs

    return Path(getattr(platformdirs, f"user_{kind}_dir")("housequest", appauthor=False))


config_folder = partial(_folder, "config")
"""The user's own configuration (``housequest.toml`` with ``key_env`` lives here alone)."""
data_folder = partial(_folder, "data")  # the user's own work: edited rulebooks
cache_folder = partial(_folder, "cache")  # files that can be rebuilt: the index of tasks
state_folder = partial(_folder, "state")  # episodes recorded by ``housequest play``


def alfworld_data() -> Path:
    """The folder that holds ALFWorld's ``json_2.1.1``: ``$ALFWORLD_DATA``, else ALFWorld's own default cache."""
    return given_path(os.environ.get("ALFWORLD_DATA") or "~/.cache/alfworld", "ALFWORLD_DATA")


def sha256_of(text: str) -> str:
    """The SHA-256 of ``text`` in hexadecimal."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


class RefusedFile(OSError):
    """A file that is not used; ``strerror`` says why."""

    def __init__(self, path: Path, why: str) -> None:
        super().__init__(errno.EINVAL, why, str(path))

    def __str__(self) -> str:
        return str(self.strerror)


class IrregularFile(RefusedFile):
    """A path leads to something other than a regular file, or to a link that would be written through; ``strerror`` names
    it."""

    def __init__(self, path: Path, what: str) -> None:
        super().__init__(path, f"it is {what}, and only a regular file is used here")

    def __str__(self) -> str:
        return f"{self.filename}: {self.strerror}"


def open_file(path: Path, mode: Literal["rb", "wb", "xb", "ab", "r+b"] = "rb") -> BinaryIO:
    """Open a regular file and refuse anything else at once: a pipe can block, and a device may never end. A link is followed
    for reading; neither it nor a hard link is written through. Raises ``OSError``, which names the file, also while it is
    written; ``IrregularFile`` names what was found."""
    if "\0" in str(path):
        raise OSError(errno.EINVAL, "No file has a null character in its name", str(path))
    writing = mode != "rb"

    def opener(name: str, flags: int) -> int:
        try:
            # Truncated only after its kind is checked.
            handle = os.open(name, (flags | _NONBLOCK | _NOCTTY | (_NOFOLLOW if writing else 0)) & ~os.O_TRUNC, 0o666)
        except OSError:
            refuse_irregular(path, writing=writing)
            raise
        try:
            _refuse(path, os.fstat(handle), writing=writing)
            if writing and not _NOFOLLOW:
                refuse_irregular(path, writing=True)
            if flags & os.O_TRUNC:
                os.ftruncate(handle, 0)
        except BaseException:
            os.close(handle)
            raise
        return handle

    if not writing:
        return open(path, "rb", opener=opener)
    raw = _NamedFile(str(path), mode, opener=opener)
    return cast("BinaryIO", io.BufferedRandom(raw) if "+" in mode else io.BufferedWriter(raw))


class _NamedFile(io.FileIO):
    """A file that its errors name; where a disk is full, the system does not say which file it was."""

    def write(self, data: Any, /) -> int | None:
        with naming(self.name):
            return super().write(data)

    def truncate(self, size: int | None = None, /) -> int:
        with naming(self.name):
            return super().truncate(size)


@contextmanager
def naming(path: Any) -> Generator[None]:
    """Have an ``OSError`` that names no file name ``path``."""
    try:
        yield
    except OSError as error:
        if error.filename is None:
            error.filename = str(path)
        raise


def read_file(path: Path, most: int | None = None) -> bytes:
    """All bytes of a regular file. Raises ``OSError`` as `open_file` does, and ``RefusedFile`` for more than ``most``."""
    with open_file(path) as file:
        # A first part is as long as most files; to allocate as much as there may be would take longer than to read them.
        content = file.read(_USUAL if most is None or most > _USUAL else most + 1)
        if len(content) == _USUAL:
            content += file.read(-1 if most is None else most + 1 - _USUAL)
    if most is not None and len(content) > most:
        raise RefusedFile(path, f"it has more than {most:,} bytes")
    return content


def read_bounded(
    path: Path, most: int, error: type[HousequestError] = ConfigurationError, *, name: str = "", way_out: str = ""
) -> bytes:
    """All bytes of a regular file, ``most`` at most. Raises ``error``, which calls the file ``name``, by default its path, and
    ends with the ``way_out``."""
    try:
        return read_file(path, most)
    except (OSError, ValueError) as wrong:
        reason = (wrong.strerror if isinstance(wrong, OSError) else None) or str(wrong)
        told = f"{name or shown(str(path), 400)} cannot be read: {reason}."
        raise error(f"{told} {way_out}".rstrip()) from wrong


def refuse_irregular(path: Path, *, writing: bool) -> None:
    """Raise ``IrregularFile`` if ``path`` is something that `open_file` refuses; a missing file is accepted."""
    try:
        found = path.lstat() if writing else path.stat()
    except OSError:  # opening it raises the error
        return
    _refuse(path, found, writing=writing)


def _refuse(path: Path, found: os.stat_result, *, writing: bool) -> None:
    if not stat.S_ISREG(found.st_mode):
        raise IrregularFile(path, _KINDS.get(stat.filemode(found.st_mode)[0], "something else"))
    if writing and found.st_nlink > 1:
        raise IrregularFile(path, "a hard link, of which another file would change too")


def atomic_write(path: Path, content: bytes, *, sync: bool = True) -> None:
    """Write ``content`` to ``path`` atomically and make its folder. A replaced file keeps its permissions; a link is replaced
    and its target left alone. With ``sync``, the content also survives a crash of the machine, which takes longer."""
    import secrets
    from contextlib import suppress

    path.parent.mkdir(parents=True, exist_ok=True)
    # Not from tempfile, whose files nobody else may read.
    part = path.with_name(f".{path.name[:100]}.{secrets.token_hex(4)}.part")
    try:
        with naming(path), part.open("xb") as file:
            file.write(content)
            file.flush()
            if sync:
                os.fsync(file.fileno())
        with suppress(FileNotFoundError):
            # The link itself is replaced, so its target, which may be anything or missing, gives no permissions.
            if stat.S_ISREG(mode := path.lstat().st_mode):
                part.chmod(stat.S_IMODE(mode))
        replace_file(part, path)
        if sync:
            sync_folder(path.parent)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def remove_unfinished(folder: Path, name: str = "*") -> None:
    """Remove the unfinished files that killed processes left when they wrote ``name`` in ``folder``. Nobody may be writing
    there now."""
    for part in folder.glob(f".{name}.????????.part"):
        part.unlink(missing_ok=True)


def given_path(text: str, variable: str = "") -> Path:
    """The path that a person wrote (in ``variable``), with ``~`` expanded. Raises ``ConfigurationError``."""
    try:
        return Path(text).expanduser()
    except RuntimeError:
        way_out = f"set {variable} to a whole path" if variable else "write the whole path"
        raise ConfigurationError(f"{shown(text)} begins with a home that is not known; {way_out}.") from None


Format = Literal["0.2"]
FORMAT: Format = "0.2"


def other_format(content: bytes) -> str | None:
    """The fault of ``content``, a JSON object or the first event of a record, if it is in another format; else None."""
    try:
        entries = cast("object", json.loads(content))
    except (ValueError, RecursionError):
        return None
    if not isinstance(entries, dict):
        return None
    table = cast("dict[str, Any]", entries)
    if isinstance(table.get("body"), dict):
        table = table["body"]
    found = table.get("format", table.get("schema_version"))  # the key in 0.1
    if found is None and table.get("kind") == "started":
        return f"was written in a format before {FORMAT}, which this version cannot read; play it again"
    if found in (FORMAT, None):
        return None
    named = unquoted(str(found))
    if "format" in table:
        return f"was written in format {named}, and this version reads {FORMAT}; update housequest, or play it again"
    return f"was written in format {named} (before {FORMAT}), which this version cannot read; play it again"
