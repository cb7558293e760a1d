"""What every reader of a file that a person named must refuse, checked in one way for the core and its parts."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from housequest.worlds.errors import HousequestError
from housequest.worlds.workers import Refused


def check_irregular(reader: Callable[[Path], object], folder: Path) -> None:
    """``reader`` refuses a pipe and a device at once: it neither hangs nor fills the memory."""
    os.mkfifo(folder / "pipe")
    (folder / "device").symlink_to("/dev/zero")
    for kind in ("pipe", "device"):
        with pytest.raises((HousequestError, Refused), match=f"it is a {kind}, and only a regular file is used here"):
            reader(folder / kind)
