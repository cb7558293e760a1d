"""LLM-Planner and the Socratic Planner, over a real connection and in conversation with the scripted model."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent import events
from tests.agent.playing import PLANNERS, Played, one_of_each_type, play
from tests.backends.policy import Solver
from tests.backends.server import Server
from worlds.base import World
from worlds.registry import make_world

HOUSES = ("example:1", "example:2", "example:3")


@pytest.fixture(scope="module")
def world() -> World:
    return make_world("alfworld")


def plans(played: Played) -> list[events.Planned]:
    return [event.body for event in played.events if isinstance(event.body, events.Planned)]


@pytest.mark.parametrize("agent", PLANNERS)
@pytest.mark.parametrize("house", HOUSES)
def test_a_wrong_plan_is_revised_where_replanning_is_on(
    server: Server, world: World, tmp_path: Path, agent: str, house: str
) -> None:
    server.policy = Solver(wrong_first_plan=True)
    static = play(server, world, world.task(house), agent, tmp_path / "s.jsonl", settings={"replanning": False})
    assert (static.ended.outcome, len(plans(static))) == ("lost", 1)
    assert static.ended.reason == "gave up: the plan is carried out, and the task goes on"
    dynamic = play(server, world, world.task(house), agent, tmp_path / "d.jsonl")
    assert dynamic.ended.outcome == "won"
    assert "failed" in plans(dynamic)[1].reason
