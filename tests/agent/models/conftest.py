"""The local endpoint, one for all tests of a module, fresh for each."""

from __future__ import annotations

from pathlib import Path

import pytest

from housequest.worlds.paths import config_folder
from tests.backends.server import Server


@pytest.fixture
def server(running_server: Server) -> Server:
    running_server.reset()
    return running_server


@pytest.fixture
def own_file() -> Path:
    """Where the user's own housequest.toml would be."""
    config_folder().mkdir(parents=True)
    return config_folder() / "housequest.toml"
