"""Fetches AI2-THOR's build for ``--engine thor``.

``python -m housequest.worlds.alfred.download [--platform CloudRendering]``

AI2-THOR's client would download it when it starts, from the beginning after each failure. This resumes, and puts the build
where the client looks for it. Then it says what the client finds missing on this machine.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib
import os
import platform as machine
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from housequest.worlds.alfred.simulator.base import SIZE
from housequest.worlds.alfred.simulator.thor import MAJOR, PLATFORMS
from housequest.worlds.alfworld.exchange import DownloadProgress, download_archive
from housequest.worlds.errors import ConfigurationError, HousequestError, WorldError, shown
from housequest.worlds.paths import cache_folder

MAX_UNPACKED = 16 << 30  # bytes
_BY_HAND = "--source names another place; to use your own build, give --world-option player=PATH."


def fetch_build(
    name: str | None = None,
    source: str | None = None,
    *,
    releases: Path | None = None,
    report: Callable[[DownloadProgress], None] = lambda _progress: None,
    pause: float = 1.0,
) -> tuple[Path, list[str]]:
    """Fetch a build unless it is there, check its SHA-256, and unpack it.

    Args:
        name: One of `PLATFORMS`; by default the one that draws on this machine.
        source: The place of the archives and their checksums, instead of the client's own.
        releases: The folder of the builds, instead of the client's own.
        report: Called with the progress.
        pause: Seconds before the second attempt; each further pause is twice as long.

    Returns:
        The build's program, and what the client says is missing here to start it.

    Raises:
        ConfigurationError: If the client is not installed, or there is no such platform.
        WorldError: If the build cannot be fetched, or does not match its checksum.
    """
    try:
        ai2thor: Any = importlib.import_module("ai2thor")
        builds: Any = importlib.import_module("ai2thor.build")
        platforms: Any = importlib.import_module("ai2thor.platform")
    except ImportError as error:
        raise ConfigurationError(f"AI2-THOR's client cannot be imported ({error}): pip install 'housequest[thor]'.") from error
    if not str(ai2thor.__version__).startswith(MAJOR):
        raise ConfigurationError(f"This is ai2thor {ai2thor.__version__}, not {MAJOR}x: pip install 'housequest[thor]'.")
    display = os.environ.get("DISPLAY")
    if name is None:
        name = PLATFORMS[2] if machine.system() == "Darwin" else PLATFORMS[1] if display else PLATFORMS[0]
    if name not in PLATFORMS:
        raise ConfigurationError(f"{shown(name)} is not a platform of AI2-THOR; choose from {', '.join(PLATFORMS)}.")
    # As the engine thor starts it.
    request = platforms.Request(machine.system(), *SIZE, None if name == PLATFORMS[0] else display or ":0", False)
    folder = releases or Path.home() / ".ai2thor" / "releases"
    build = builds.Build(getattr(platforms, name), builds.COMMIT_ID, False, str(folder))
    if not Path(build.base_dir).is_dir():
        _unpack(build, source, report, pause)
    missing = [str(line) for line in build.platform.validate(request)]
    advice = build.platform.dependency_instructions(request) if missing else None
    return Path(build.executable_path), [*missing, *([str(advice)] if advice else [])]


def _unpack(build: Any, source: str | None, report: Callable[[DownloadProgress], None], pause: float) -> None:
    place = source.rstrip("/") if source else str(build.url).rpartition("/")[0].replace("http://", "https://", 1)
    folder = cache_folder() / "downloads"

    def fetched(ending: str) -> Path:
        return download_archive(f"{place}/{build.name}.{ending}", folder, report=report, pause=pause, way_out=_BY_HAND)

    checksum = fetched("sha256")
    wanted = checksum.read_bytes()[:200].decode("ascii", "replace").strip()
    checksum.unlink()
    archive = fetched("zip")
    try:
        with archive.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        if digest != wanted:
            raise WorldError(f"{place}/{build.name}.zip does not match its checksum ({shown(wanted)}). {_BY_HAND}")
        with zipfile.ZipFile(archive) as opened:
            if sum(one.file_size for one in opened.infolist()) > MAX_UNPACKED:
                raise WorldError(f"{place}/{build.name}.zip unpacks to more than {MAX_UNPACKED >> 30} GiB.")
            build.zipfile = lambda: opened  # the rest is the client's own: its lock, its folders, its permissions
            build.download()
    except (zipfile.BadZipFile, OSError) as error:
        raise WorldError(f"{place}/{build.name}.zip cannot be unpacked: {error}.") from error
    finally:
        archive.unlink(missing_ok=True)


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m housequest.worlds.alfred.download", description=__doc__)
    parser.add_argument("--platform", choices=PLATFORMS, help="the build [the one that draws on this machine]")
    parser.add_argument("--source", metavar="URL", help="fetch from this place instead")
    given = parser.parse_args(arguments)
    said = ""

    def report(progress: DownloadProgress) -> None:
        nonlocal said
        share = f"{progress.received * 10 // progress.total * 10} %" if progress.total else "..."
        line = f"{progress.url}: {progress.note or share}"
        if line != said:
            said = line
            print(line, file=sys.stderr, flush=True)

    try:
        program, missing = fetch_build(given.platform, given.source, report=report)
    except HousequestError as error:
        print(f"housequest: {error}", file=sys.stderr)
        return 2 if isinstance(error, ConfigurationError) else 1
    print(program)
    for line in missing:
        print(f"AI2-THOR's client says: {line}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
