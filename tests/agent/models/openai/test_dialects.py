"""Whatever a server's dialect, an agent plays the game that it plays through a polite one."""

from __future__ import annotations

from pathlib import Path

import pytest

from housequest.agent.episodes.events import Stepped
from housequest.worlds.registry import make_world
from tests.agent.playing import Played, play
from tests.backends.dialects import dialects
from tests.backends.policy import Solver
from tests.backends.server import Server

DIALECTS = tuple(dialects())


def commands(played: Played) -> list[str]:
    return [event.body.command for event in played.events if isinstance(event.body, Stepped)]


@pytest.mark.parametrize("name", DIALECTS)
def test_react_plays_the_same_game_through_each(name: str, server: Server, tmp_path: Path) -> None:
    world = make_world("alfworld")
    server.policy = Solver()
    polite = play(server, world, world.task("example:1"), "react", tmp_path / "polite.jsonl")
    server.otherwise = server.probing = dialects()[name]
    spoken = play(server, world, world.task("example:1"), "react", tmp_path / "spoken.jsonl")
    assert commands(spoken) == commands(polite)
    assert spoken.ended.outcome == "won"
