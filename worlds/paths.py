"""The user's folders: configuration, data, caches and state.

No folder is made until a file is written. ``HOUSEQUEST_HOME`` moves all of them under one folder, for tests and containers.
"""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path

from worlds.errors import ConfigurationError, shown


def _folder(kind: str) -> Path:
    if home := os.environ.get("HOUSEQUEST_HOME"):
        return given_path(home, "HOUSEQUEST_HOME") / kind
    import platformdirs

    return Path(getattr(platformdirs, f"user_{kind}_dir")("housequest", appauthor=False))


config_folder = partial(_folder, "config")
"""The user's own configuration (``housequest.toml`` with ``key_env`` lives here alone)."""
data_folder = partial(_folder, "data")
"""What the user made: edited rulebooks."""
cache_folder = partial(_folder, "cache")
"""What can be rebuilt: the index of tasks."""
state_folder = partial(_folder, "state")
"""What was played: episodes recorded by ``housequest play``."""


def alfworld_data() -> Path:
    """The folder that holds ALFWorld's ``json_2.1.1``: ``$ALFWORLD_DATA``, else ALFWorld's own default cache."""
    return given_path(os.environ.get("ALFWORLD_DATA") or "~/.cache/alfworld", "ALFWORLD_DATA")


def atomic_write(path: Path, content: bytes, *, sync: bool = True) -> None:
    """Write ``content`` to ``path`` atomically, making its folder; a replaced file keeps its permissions.

    With ``sync``, the content also survives a crash of the machine, which takes longer.
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
            if sync:
                os.fsync(file.fileno())
        with suppress(FileNotFoundError):
            part.chmod(stat.S_IMODE(path.stat().st_mode))
        part.replace(path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def given_path(text: str, variable: str = "") -> Path:
    """The path that a person wrote, with ``~`` expanded; ``variable`` is where it came from, if not an argument.

    Raises ``ConfigurationError`` for an unknown home.
    """
    try:
        return Path(text).expanduser()
    except RuntimeError:
        way_out = f"set {variable} to a whole path" if variable else "write the whole path"
        raise ConfigurationError(f"{shown(text)} begins with a home that is not known; {way_out}.") from None
