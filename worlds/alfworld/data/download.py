"""Downloads ALFWorld's official archives.

A download resumes where an earlier one broke, if the server names the version of the file (``ETag``); else it starts again.
The content is checked by the import, which reads every game.
"""

from __future__ import annotations

import hashlib
import re
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from housequest.worlds.errors import ConfigurationError, WorldError, shown

if TYPE_CHECKING:
    import httpx2

RELEASES = "https://github.com/alfworld/alfworld/releases/download"
OFFICIAL = ("0.4.0/json_2.1.2_tw-pddl.zip", "0.2.2/json_2.1.1_json.zip")
"""The games and the annotations, under ``RELEASES``: what alfworld 0.4.2's own ``alfworld-download`` fetches of them."""

MAX_ARCHIVE = 4 << 30
"""Bytes; the official ones have 36 MB and 72 MB."""

_ATTEMPTS = 6
_LONGEST_PAUSE = 30.0


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a download is, in bytes; ``total`` is None if the server does not say. ``note`` announces a new attempt."""

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


def download_archive(
    url: str, folder: Path, *, report: Callable[[Progress], None] = lambda _progress: None, pause: float = 1.0
) -> Path:
    """Download ``url`` into ``folder`` and return the file, which the caller removes.

    Broken connections, 408, 429 and 5xx are retried, six attempts in all, with pauses doubling from ``pause`` seconds.
    Raises ``ConfigurationError`` for an invalid URL and ``WorldError`` for a failed download.
    """
    import httpx2

    try:
        address = httpx2.URL(url)
    except (httpx2.InvalidURL, ValueError) as error:
        raise ConfigurationError(f"{shown(url)} is not a web address: {error}") from error
    if address.scheme not in ("http", "https") or not address.host:
        raise ConfigurationError(f"{shown(url)} is not a web address; give one that starts with https:// or http://.")
    url = str(address.copy_with(username=None, password=None))  # for messages, without secrets
    part = _Part(url, folder)
    why = ""
    with httpx2.Client(follow_redirects=True, timeout=httpx2.Timeout(60.0, connect=20.0)) as client:
        for attempt in range(_ATTEMPTS):
            if attempt:
                report(Progress(url, part.size(), None, f"{why}; trying again"))
                time.sleep(min(pause * 2 ** (attempt - 1), _LONGEST_PAUSE))
            try:
                _fetch(client, address, part, lambda received, total: report(Progress(url, received, total)))
                return part.whole()
            except (_Again, httpx2.TransportError) as error:
                why = str(error) or type(error).__name__
            except httpx2.HTTPError as error:
                raise WorldError(f"{url} cannot be fetched: {error}.") from error
            except OSError as error:
                raise WorldError(f"{shown(str(part.file), 400)} cannot be written: {error.strerror}.") from error
    raise WorldError(
        f"{url} could not be fetched in {_ATTEMPTS} attempts: {why}. What arrived is kept, and the same command goes on from "
        "there; --source names another place, and `housequest data import FILE` takes an archive that you fetched yourself."
    )


class _Part:
    """A partial download: what arrived, and of which version of the file."""

    def __init__(self, url: str, folder: Path) -> None:
        key = hashlib.sha256(url.encode("utf-8", "surrogatepass")).hexdigest()[:24]
        self.url, self.file, self.version = url, folder / f"{key}.part", folder / f"{key}.version"

    def size(self) -> int:
        return self.file.stat().st_size if self.file.exists() else 0

    def etag(self) -> str | None:
        """The version of what arrived; None if there is nothing to resume."""
        with suppress(OSError, UnicodeError):
            return self.version.read_text("ascii") if self.size() else None
        return None

    def start(self, etag: str | None) -> None:
        """Note the version that arrives from now on. A weak ETag does not identify bytes, so it is dropped."""
        self.file.parent.mkdir(parents=True, exist_ok=True)
        if etag is not None and re.fullmatch(r'"[\x21\x23-\x7e]{1,200}"', etag):
            self.version.write_text(etag, "ascii")
        else:
            self.version.unlink(missing_ok=True)

    def whole(self) -> Path:
        self.version.unlink(missing_ok=True)
        return self.file.replace(self.file.with_suffix(".archive"))


def _fetch(client: httpx2.Client, address: httpx2.URL, part: _Part, report: Callable[[int, int | None], None]) -> None:
    etag = part.etag()
    have = part.size() if etag is not None else 0
    headers = {"Accept-Encoding": "identity"}
    if etag is not None:
        headers |= {"Range": f"bytes={have}-", "If-Range": etag}
    with client.stream("GET", address, headers=headers) as response:
        if response.status_code in (408, 429) or response.status_code >= 500:
            raise _Again(f"the server answered {response.status_code}")
        resumed = re.match(rf"bytes {have}-", response.headers.get("content-range", ""))
        if response.status_code == 416 or (response.status_code == 206 and not resumed):
            part.file.unlink(missing_ok=True)
            part.version.unlink(missing_ok=True)
            raise _Again("what arrived earlier is not part of what is there now")
        if response.status_code not in (200, 206):
            status = f"{response.status_code} {response.reason_phrase}".strip()
            raise WorldError(f"{part.url} answered {status}; --source names another place to fetch from.")
        if response.status_code == 200:
            have = 0
            part.start(response.headers.get("etag"))
        length = response.headers.get("content-length", "")
        total = have + int(length) if re.fullmatch("[0-9]{1,15}", length) else None
        with part.file.open("ab" if have else "wb") as file:
            for chunk in response.iter_raw():
                have += file.write(chunk)
                if max(have, total or 0) > MAX_ARCHIVE:
                    raise WorldError(f"{part.url} sends more than {MAX_ARCHIVE >> 30} GiB; no archive of ours is that large.")
                report(have, total)
    if total is not None and have != total:
        raise _Again(f"the connection ended after {have:,} of {total:,} bytes")
