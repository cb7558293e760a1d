"""An endpoint for runs whose tests look at calls and not at what is said."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.backends.server import Server, serve


@pytest.fixture(scope="module")
def running() -> Iterator[Server]:
    with serve(lambda messages: "Thought: let me see\nAction: look") as server:
        yield server


@pytest.fixture
def server(running: Server) -> Server:
    """The endpoint of all these tests, as if nobody had asked it anything."""
    running.reset()
    return running
