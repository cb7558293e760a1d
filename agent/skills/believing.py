"""Which worlds a skill can be carried out in: those whose texts somebody reads into a belief."""

from __future__ import annotations

from worlds.base import World
from worlds.errors import Unsupported, shown
from worlds.registry import BeliefReader, belief_reader


def reader_of(world: World, agent: str) -> BeliefReader:
    """What reads the texts of ``world``. Raises ``Unsupported``, naming the ``agent`` that needs it, where nothing does."""
    reader = belief_reader(world.name)
    if reader is None:
        raise Unsupported(
            f"The agent {agent!r} acts on what it believes of a house, and nothing reads the texts of the world "
            f"{shown(world.name)} into a belief; play alfworld, or take react."
        )
    return reader
