"""Where housequest keeps what is the user's: configuration, data, caches.

Nothing here makes a folder; whoever writes a file makes its folder first. ``HOUSEQUEST_HOME`` moves all of them under one
folder, which is what tests and containers want.
"""

from __future__ import annotations

import os
from pathlib import Path

from worlds.errors import ConfigurationError, shown


def _folder(kind: str) -> Path:
    home = os.environ.get("HOUSEQUEST_HOME")
    if home:
        return _expanded(home, "HOUSEQUEST_HOME") / kind
    import platformdirs

    directories = platformdirs.PlatformDirs("housequest", appauthor=False)
    return {
        "config": directories.user_config_path,
        "data": directories.user_data_path,
        "cache": directories.user_cache_path,
        "state": directories.user_state_path,
    }[kind]


def config_folder() -> Path:
    """The user's own configuration (``housequest.toml`` with ``key_env`` lives here alone)."""
    return _folder("config")


def data_folder() -> Path:
    """What the user made and would miss: edited rulebooks."""
    return _folder("data")


def cache_folder() -> Path:
    """What can be made again: the index of tasks."""
    return _folder("cache")


def state_folder() -> Path:
    """What was played: episodes recorded by ``housequest play``."""
    return _folder("state")


def alfworld_data() -> Path:
    """The folder that holds ALFWorld's ``json_2.1.1``: ``$ALFWORLD_DATA``, else ALFWorld's own default cache."""
    named = os.environ.get("ALFWORLD_DATA")
    return _expanded(named or "~/.cache/alfworld", "ALFWORLD_DATA")


def _expanded(path: str, variable: str) -> Path:
    try:
        return Path(path).expanduser()
    except RuntimeError as error:
        raise ConfigurationError(
            f"{shown(path)} starts with a home that is not known; set {variable} to a whole path."
        ) from error


def atomic_write(path: Path, content: bytes) -> None:
    """Write ``content`` to ``path`` whole or not at all, making its folder; readers never see half a file.

    A file that is replaced hands on its permissions.
    """
    import secrets
    import stat
    from contextlib import suppress

    path.parent.mkdir(parents=True, exist_ok=True)
    # Not from tempfile, whose files nobody else may read.
    part = path.with_name(f".{path.name[:100]}.{secrets.token_hex(4)}.part")
    try:
        with part.open("xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        with suppress(FileNotFoundError):
            part.chmod(stat.S_IMODE(path.stat().st_mode))
        part.replace(path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def given_path(text: str) -> Path:
    """The path that a person wrote, ``~`` read as a home. Raises ``ConfigurationError`` where there is no such home."""
    try:
        return Path(text).expanduser()
    except RuntimeError:
        raise ConfigurationError(f"{shown(text)} begins with a home that is not known; write the whole path.") from None
