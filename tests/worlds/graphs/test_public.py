"""VirtualHome's own apartments, if you have them: ``VIRTUALHOME_GRAPHS`` names the folder of its ``example_graphs``."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.worlds.graphs.test_world import play, world

FOLDER = os.environ.get("VIRTUALHOME_GRAPHS", "")

pytestmark = pytest.mark.slow


@pytest.mark.skipif(not FOLDER, reason="needs VirtualHome's graphs: set VIRTUALHOME_GRAPHS to the folder example_graphs")
@pytest.mark.parametrize("number", range(1, 8))
def test_the_expert_wins_in_virtualhomes_apartments(number: int) -> None:
    there = world(apartment=str(Path(FOLDER, f"TrimmedTestScene{number}_graph.json")))
    lost = [seed for seed in range(15) if not play(there, f"generated:{seed}", 50)[0]]
    assert lost == []
