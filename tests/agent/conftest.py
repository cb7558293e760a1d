"""The local endpoint with the policy that plays ALFWorld, one for all tests of a module, fresh for each."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.backends.policy import Solver
from tests.backends.server import Server, serve


@pytest.fixture(scope="module")
def running_server() -> Iterator[Server]:
    with serve() as server:
        yield server


@pytest.fixture
def server(running_server: Server) -> Server:
    """An endpoint that knows how to play."""
    running_server.reset()
    running_server.policy = Solver()
    running_server.probes_aside = True
    return running_server
