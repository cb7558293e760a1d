"""Downloads of ALFWorld's archives, imports of games and annotations, and exports of houses.

A download resumes where an earlier one broke, if the server names the version of the file (``ETag``); else it starts again.

An archive is untrusted: only plain files called ``game.tw-pddl`` or ``traj_data.json`` in the published layout are read, with
bounded sizes and safe names, and every game must be playable. Files are written atomically.

alfworld itself can play and collect an export. Domain and grammar come from the installed alfworld, which is never imported,
because importing it makes a folder. The problem is rewritten from its parsed form, so that only things, facts and goal of a
stranger's file get into the game. Before it is returned, the game is read back by the loader and won by the planner.
"""

from __future__ import annotations

import bz2
import gzip
import hashlib
import importlib.util
import io
import json
import lzma
import os
import re
import stat
import struct
import tarfile
import time
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path, PurePosixPath
from typing import IO, TYPE_CHECKING, Any, NamedTuple, cast

from housequest.worlds.alfworld.engine.game import (
    MAX_FILE,
    PLACEHOLDER,
    parse_game,
    parse_problem,
    problem_text,
    read_published,
)
from housequest.worlds.alfworld.engine.planner import plan
from housequest.worlds.alfworld.games import FILE, GAME_FILE, LAYOUT, MAX_TRAJECTORY, TRAJECTORY_FILE
from housequest.worlds.errors import ConfigurationError, GameError, WorldError, shown, unquoted
from housequest.worlds.household.goals import TYPES
from housequest.worlds.household.planner import Unsolvable
from housequest.worlds.household.world import EXAMPLE
from housequest.worlds.paths import atomic_write
from housequest.worlds.systems import replace_file

if TYPE_CHECKING:
    import httpx2

    from housequest.worlds.alfworld.world import AlfworldWorld

RELEASES = "https://github.com/alfworld/alfworld/releases/download"
OFFICIAL = ("0.4.0/json_2.1.2_tw-pddl.zip", "0.2.2/json_2.1.1_json.zip")
"""The games and the annotations, under ``RELEASES``: what alfworld 0.4.2's own ``alfworld-download`` fetches of them."""
MAX_ARCHIVE = 4 << 30  # bytes; the official ones have 36 MB and 72 MB
_ATTEMPTS = 6
_LONGEST_PAUSE = 30.0


class DownloadProgress(NamedTuple):
    """The progress of a download, in bytes; ``total`` is None if the server does not say. ``note`` announces a new attempt."""

    url: str
    received: int
    total: int | None
    note: str = ""


class _Again(Exception):
    """This attempt failed; another may succeed."""


def official(source: str | None = None) -> tuple[str, ...]:
    """The URLs of the official archives; with ``source``, of files with the same names under that URL."""
    if source is None:
        return tuple(f"{RELEASES}/{name}" for name in OFFICIAL)
    return tuple(f"{source.rstrip('/')}/{name.rpartition('/')[2]}" for name in OFFICIAL)


_BY_HAND = "--source names another place, and `housequest data import FILE` takes an archive that you fetched yourself."


def download_archive(
    url: str,
    folder: Path,
    *,
    report: Callable[[DownloadProgress], None] = lambda _progress: None,
    pause: float = 1.0,
    way_out: str = _BY_HAND,
) -> Path:
    """Download ``url`` into ``folder`` and return the file, which the caller removes. It retries temporary failures, with six
    attempts in all and pauses doubling from ``pause`` seconds; then ``way_out`` says what a person can do. Raises
    ``ConfigurationError`` for an invalid URL and ``WorldError``."""
    import httpx2

    try:
        address = httpx2.URL(url)
    except (httpx2.InvalidURL, ValueError) as error:
        raise ConfigurationError(f"{shown(url)} is not a web address: {error}") from error
    if address.scheme not in ("http", "https") or not address.host:
        raise ConfigurationError(f"{shown(url)} is not a web address; give one that starts with https:// or http://.")
    url = str(address.copy_with(username=None, password=None))  # for messages, without secrets
    part = folder / f"{hashlib.sha256(url.encode('utf-8', 'surrogatepass')).hexdigest()[:24]}.part"
    version = part.with_suffix(".version")
    why = ""
    with httpx2.Client(follow_redirects=True, timeout=httpx2.Timeout(60.0, connect=20.0)) as client:
        for attempt in range(_ATTEMPTS):
            if attempt:
                report(DownloadProgress(url, part.stat().st_size if part.exists() else 0, None, f"{why}; trying again"))
                time.sleep(min(pause * 2 ** (attempt - 1), _LONGEST_PAUSE))
            try:
                _fetch(client, address, url, part, lambda received, total: report(DownloadProgress(url, received, total)))
                version.unlink(missing_ok=True)
                return replace_file(part, part.with_suffix(".archive"))
            except (_Again, httpx2.TransportError) as error:
                why = str(error) or type(error).__name__
            except httpx2.HTTPError as error:
                raise WorldError(f"{url} cannot be fetched: {error}.") from error
            except OSError as error:
                raise GameError(f"{_named(part)} cannot be written: {error.strerror}.") from error
    raise WorldError(
        f"{url} could not be fetched in {_ATTEMPTS} attempts: {why}. What arrived is kept, and the same command goes on from "
        f"there; {way_out}"
    )


def _fetch(client: httpx2.Client, address: httpx2.URL, url: str, part: Path, report: Callable[[int, int | None], None]) -> None:
    """Fetch the rest of ``part``; the whole file if the version of that part is not known."""
    version, have, headers = part.with_suffix(".version"), 0, {"Accept-Encoding": "identity"}
    with suppress(OSError, UnicodeError):
        if size := part.stat().st_size:
            headers |= {"If-Range": version.read_text("ascii"), "Range": f"bytes={size}-"}
            have = size
    with client.stream("GET", address, headers=headers) as response:
        if response.status_code in (408, 429) or response.status_code >= 500:
            raise _Again(f"the server answered {response.status_code}")
        resumed = re.match(rf"bytes {have}-", response.headers.get("content-range", ""))
        if response.status_code == 416 or (response.status_code == 206 and not resumed):
            part.unlink(missing_ok=True)
            version.unlink(missing_ok=True)
            raise _Again("what arrived earlier is not part of what is there now")
        if response.status_code not in (200, 206):
            status = f"{response.status_code} {response.reason_phrase}".strip()
            raise WorldError(f"{url} answered {status}; --source names another place to fetch from.")
        if response.status_code == 200:
            have, etag = 0, response.headers.get("etag", "")
            part.parent.mkdir(parents=True, exist_ok=True)
            # A weak ETag does not identify bytes.
            if re.fullmatch(r'"[\x21\x23-\x7e]{1,200}"', etag):
                version.write_text(etag, "ascii")
            else:
                version.unlink(missing_ok=True)
        length = response.headers.get("content-length", "")
        total = have + int(length) if re.fullmatch("[0-9]{1,15}", length) else None
        with part.open("ab" if have else "wb") as file:
            for chunk in response.iter_raw():
                have += file.write(chunk)
                if max(have, total or 0) > MAX_ARCHIVE:
                    raise WorldError(f"{url} sends more than {MAX_ARCHIVE >> 30} GiB; no archive of ours is that large.")
                report(have, total)
    if total is not None and have != total:
        raise _Again(f"the connection ended after {have:,} of {total:,} bytes")


MAX_MEMBERS = 500_000
MAX_TOTAL = 16 << 30  # bytes, unpacked; the official archives together have about 2 GB
_NAME = r"[A-Za-z0-9][A-Za-z0-9_.+-]{0,199}"
_MEMBER = re.compile(
    rf"(?:\./)?json_2\.1\.[0-9]/(?P<split>{_NAME})/(?P<task>{_NAME})/(?P<trial>{_NAME})/(?P<file>{GAME_FILE}|{TRAJECTORY_FILE})"
)
# A RuntimeError is of a password or a compression that is not known, a MemoryError of a dictionary that no honest xz asks for.
_BROKEN_FORMATS = (zipfile.BadZipFile, tarfile.TarError, lzma.LZMAError, zlib.error, struct.error)
_BROKEN = (*_BROKEN_FORMATS, EOFError, RuntimeError, OverflowError, MemoryError, ValueError, OSError)


@dataclass(slots=True)
class Imported:
    """The result of an import: ``games`` and ``trajectories`` written and files ``kept``, counted by split; the ``refused``
    members with the reason, and the number of files ``ignored``, which are neither game nor annotation."""

    games: Counter[str] = field(default_factory=Counter[str])
    trajectories: Counter[str] = field(default_factory=Counter[str])
    kept: Counter[str] = field(default_factory=Counter[str])
    refused: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    ignored: int = 0


class _Member(NamedTuple):
    """One file in an archive, with its mode as in a stat."""

    name: str
    size: int
    mode: int
    open: Callable[[], IO[bytes] | None]


def import_games(source: Path, data: Path, *, force: bool = False, report: Callable[[int], None] | None = None) -> Imported:
    """Import the games and annotations of ``source``, a zip, a tar (plain, gz, bz2, xz) or a folder in the official layout,
    into ``data``; existing files are kept unless ``force``. ``report`` is called with the number of files seen, every 100
    files. Raises ``GameError`` if the source cannot be read to its end or ``data`` cannot be written; what was imported before
    stays."""
    done = Imported()
    total = 0
    try:
        for count, member in enumerate(_members(source), start=1):
            total += member.size
            if count > MAX_MEMBERS or total > MAX_TOTAL:
                raise GameError(f"{_named(source)} unpacks to more than {MAX_MEMBERS:,} files or {MAX_TOTAL >> 30} GiB.")
            if why := _take(member, data, force, done):
                done.refused.append((member.name, why))
            if report is not None and count % 100 == 0:
                report(count)
    except _BROKEN as error:
        if isinstance(error, OSError) and error.filename:  # the disk's word, not the archive's
            raise GameError(f"{shown(str(error.filename), 400)} cannot be read: {error.strerror}.") from error
        raise GameError(f"{_named(source)} is damaged or not an archive ({shown(str(error))}); fetch it again.") from error
    if not (done.games or done.trajectories or done.kept or done.refused):
        raise GameError(f"{_named(source)} holds nothing to import: no {LAYOUT}/<split>/<task>/<trial>/{GAME_FILE}.")
    return done


def _take(member: _Member, data: Path, force: bool, done: Imported) -> str:
    """Import one file; return the reason if it is refused, else ""."""
    match = _MEMBER.fullmatch(member.name)
    if stat.S_IFMT(member.mode) not in (0, stat.S_IFREG):
        return "it is a link" if stat.S_ISLNK(member.mode) else "it is a device"
    if ".." in PurePosixPath(member.name).parts or member.name.startswith("/") or "\\" in member.name:
        return "its name leads out of the folder"
    if match is None:
        done.ignored += 1
        return ""
    split, game = match["split"], match["file"] == GAME_FILE
    if split in (EXAMPLE, FILE):
        return f"{split!r} cannot be the name of a split"
    target = data.joinpath(LAYOUT, *match.group("split", "task", "trial", "file"))
    if not force and target.exists():
        done.kept[split] += 1
        return ""
    most = MAX_FILE if game else MAX_TRAJECTORY
    stream = member.open()
    if stream is None:
        raise EOFError("a file has no content")
    with stream:
        content = stream.read(most + 1)  # whatever its header says
    if len(content) > most:
        return "it is too large"
    try:
        if game:
            read_published(content, GAME_FILE, whole=True)
        atomic_write(target, content, sync=False)
    except GameError as error:
        return str(error).removeprefix(f"{GAME_FILE}: ")
    except OSError as error:
        raise GameError(f"{_named(target)} cannot be written: {error.strerror}.") from error
    (done.games if game else done.trajectories)[split] += 1
    return ""


def _members(source: Path) -> Iterator[_Member]:
    if source.is_dir():
        root = source / LAYOUT if (source / LAYOUT).is_dir() else source
        if root.name != LAYOUT:
            raise GameError(f"The folder {_named(source)} holds no {LAYOUT}.")
        for path in sorted(root.glob("*/*/*/*")):
            status = path.lstat()
            if not stat.S_ISDIR(status.st_mode):
                name = f"{LAYOUT}/{path.relative_to(root).as_posix()}"
                yield _Member(name, status.st_size, status.st_mode, partial(path.open, "rb"))
        return
    if not source.is_file():
        raise GameError(f"There is no archive and no folder {_named(source)}.")
    with source.open("rb") as file:
        start = file.read(6)
    if start.startswith(b"PK"):
        with zipfile.ZipFile(source) as archive:
            for info in archive.infolist():
                if not info.filename.endswith("/"):
                    yield _Member(info.filename, info.file_size, info.external_attr >> 16, partial(archive.open, info))
        return
    openers: dict[bytes, Any] = {b"\xfd7zXZ\0": lzma.open, b"\x1f\x8b": gzip.open, b"BZh": bz2.open, b"": open}
    opener = next(opener for magic, opener in openers.items() if start.startswith(magic))
    with opener(source, "rb") as file, tarfile.open(fileobj=cast("IO[bytes]", _Bounded(file)), mode="r:") as archive:
        for info in archive:
            if not info.isdir():
                mode = stat.S_IFREG if info.isreg() else stat.S_IFLNK if info.issym() or info.islnk() else stat.S_IFCHR
                yield _Member(info.name, info.size, mode, partial(archive.extractfile, info))


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


class Logic(NamedTuple):
    """alfworld's PDDL domain and its grammar."""

    domain: str
    grammar: str


class Exported(NamedTuple):
    """The two files of a game, and their folder in alfworld's layout, ``<task>/<trial>``."""

    folder: str
    game: bytes
    trajectory: bytes
    walkthrough: tuple[str, ...]


def installed_logic() -> Logic:
    """The installed alfworld's domain and grammar. Raises ``ConfigurationError`` if it is not installed."""
    spec = importlib.util.find_spec("alfworld")
    folders = spec.submodule_search_locations if spec else None
    if not folders:
        raise ConfigurationError(
            'Exporting needs the domain and grammar of alfworld, which is not installed: pip install "housequest[alfworld]".'
        )
    data = Path(folders[0]) / "data"
    try:
        return Logic(*((data / name).read_text("utf-8") for name in ("alfred.pddl", "alfred.twl2")))
    except (OSError, ValueError) as error:
        raise ConfigurationError(
            f"The alfworld in {shown(folders[0], 400)} has no domain and grammar that can be read ({error}); "
            'install it again: pip install --force-reinstall "housequest[alfworld]".'
        ) from error


def export_task(world: AlfworldWorld, reference: str) -> Exported:
    """Export a task with the installed alfworld's logic. Raises ``TaskNotFound`` and what `export_game` raises."""
    logic = installed_logic()
    task = world.task(reference)
    # The number of a file depends on the order in which files were opened, so two could be exported to the same place.
    name = "_".join(Path(task.id).with_suffix("").parts[-2:])[-60:] if task.split == FILE else task.reference
    return export_game(*world.source(task), re.sub(r"\W+", "_", name, flags=re.ASCII), logic)


def export_game(problem: str, sentence: str, name: str, logic: Logic) -> Exported:
    """Make a game under ``logic``. Raises ``GameError`` if no solution was found, ``ConfigurationError`` for another logic."""
    origin = unquoted(name)
    read = parse_problem(problem, origin)
    parse_game(problem, sentence, origin)
    sentence = " ".join(sentence.split())
    if re.search(r'[\\#{}\[\]|"]', sentence):
        raise GameError(f"{origin}: its goal {shown(sentence)} would be read as grammar; write it in plain words.")
    game: dict[str, object] = {
        "pddl_domain": logic.domain,
        "grammar": logic.grammar.replace(PLACEHOLDER, sentence),
        "pddl_problem": problem_text(read, re.sub(r"[^A-Za-z0-9_]", "_", name)),
        "solvable": True,
    }
    try:
        file = read_published(json.dumps(game).encode(), origin)
    except GameError as error:
        raise ConfigurationError(f"The installed alfworld plays by rules that are not known here: {error}") from error
    outcome = plan(file.game(origin))
    if isinstance(outcome, Unsolvable):
        raise GameError(f"{origin}: nothing wins this game, and alfworld leaves such games out.")
    if not isinstance(outcome, tuple):
        raise GameError(f"{origin}: no way to win was found within {outcome.nodes:,} states, so it may be impossible.")
    types = {hole: kind.removesuffix("type") for hole, kind in read.types.items()}
    thing, place, lamp = types["OBJECT"], types.get("RECEPTACLE", ""), types.get("LAMP", "")
    # What alfworld reads of a trajectory. The last part of a folder's name, the floor plan, is 0 for none.
    trajectory: dict[str, object] = {
        "task_id": f"trial_{name}",
        "task_type": TYPES[read.form],
        "pddl_params": {
            "object_target": thing,
            "parent_target": place,
            "toggle_target": lamp,
            "mrecep_target": "",
            "object_sliced": False,
        },
        "turk_annotations": {"anns": []},
    }
    parts = (re.sub(r"[^a-z0-9]", "_", part)[:60] for part in (thing, "none", place or lamp))
    return Exported(
        folder=f"{'-'.join((TYPES[read.form], *parts, '0'))}/trial_{re.sub(r'[^A-Za-z0-9]+', '_', name)}",
        game=json.dumps({**game, "walkthrough": outcome}).encode(),
        trajectory=json.dumps(trajectory, indent=1).encode(),
        walkthrough=outcome,
    )


def write_game(exported: Exported, to: Path, *, force: bool = False) -> Path:
    """Write the game to ``to``, a ``.tw-pddl`` or a folder, and return its path; beside a ``game.tw-pddl`` also the trajectory,
    which alfworld looks for. Raises ``ConfigurationError`` if files exist, unless ``force``, or cannot be written."""
    try:
        path = to if to.suffix == Path(GAME_FILE).suffix and not to.is_dir() else to / exported.folder / GAME_FILE
        files = {path: exported.game}
        if path.name == GAME_FILE:
            files = {path.with_name(TRAJECTORY_FILE): exported.trajectory, **files}
        for file in files:
            if file.exists() and not force:
                raise ConfigurationError(f"{shown(str(file), 400)} is there already; --force writes it anew.")
        for file, content in files.items():
            atomic_write(file, content)
    except (OSError, ValueError) as error:
        raise ConfigurationError(f"{shown(str(to), 400)} cannot be written: {error}.") from error
    return path
