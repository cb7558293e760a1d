"""Whatever a server's dialect, an agent plays the game that it plays through a polite one."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from housequest.agent.episodes.events import Stepped
from housequest.worlds.registry import make_world
from tests.agent.playing import Played, installed, play
from tests.backends.dialects import dialects
from tests.backends.policy import Solver
from tests.backends.server import Server

DIALECTS = tuple(dialects())


def commands(played: Played) -> list[str]:
    return [event.body.command for event in played.events if isinstance(event.body, Stepped)]


def spoken(server: Server, name: str, agent: str, folder: Path, *, attended: bool) -> tuple[Played, Played]:
    """The game through a polite server, and through one that speaks the dialect."""
    world = make_world("alfworld")
    server.policy = Solver()
    polite = play(server, world, world.task("example:1"), agent, folder / "polite.jsonl")
    systems = frozenset(one.messages[0]["content"] for one in polite.requests if one.messages[0]["role"] == "system")
    server.otherwise = odd = replace(dialects()[name], knows=systems)
    record = folder / "spoken.jsonl"
    return polite, play(server, world, world.task("example:1"), agent, record, attended=attended, probing=odd)


@pytest.mark.parametrize("attended", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("name", DIALECTS)
def test_react_plays_the_same_game_through_each(name: str, attended: bool, server: Server, tmp_path: Path) -> None:
    polite, odd = spoken(server, name, "react", tmp_path, attended=attended)
    assert commands(odd) == commands(polite)
    assert odd.ended.outcome == "won"


@pytest.mark.heavy
@pytest.mark.parametrize("attended", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("agent", installed("reasoner-actor", "opex", "lota"))
@pytest.mark.parametrize("name", DIALECTS)
def test_every_agent_plays_the_same_game_through_each(
    name: str, agent: str, attended: bool, server: Server, tmp_path: Path
) -> None:
    polite, odd = spoken(server, name, agent, tmp_path, attended=attended)
    assert commands(odd) == commands(polite)
    assert odd.ended.outcome == "won"
