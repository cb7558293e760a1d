"""Whole tasks of household graphs by every agent whose model is behind a real endpoint, and what its prompts say."""

from __future__ import annotations

from pathlib import Path

import pytest

from housequest import agent
from housequest.agent.episodes.events import Judged, ModelCall, Planned, Stepped
from housequest.agent.roles.messages import TERMS
from housequest.worlds.base import World
from housequest.worlds.registry import make_world
from tests.agent.playing import Played, play
from tests.backends.server import serve
from tests.worlds.graphs.solver import GraphSolver
from tests.worlds.graphs.tables import task, written

pytestmark = pytest.mark.heavy

AGENTS = ("react", "reasoner-actor", "opex", "pet", "llm-planner", "socratic", "lota")


@pytest.fixture(scope="module")
def world() -> World:
    return make_world("household-graph")


def prompts(played: Played) -> str:
    calls = (event.body for event in played.events if isinstance(event.body, ModelCall))
    return "\n".join(message.content for call in calls for message in call.added)


@pytest.mark.parametrize("name", AGENTS)
@pytest.mark.parametrize("number", [2, 5])
def test_a_whole_task_is_won_through_an_endpoint(world: World, tmp_path: Path, name: str, number: int) -> None:
    with serve(GraphSolver()) as server:
        played = play(server, world, world.task(f"example:{number}"), name, tmp_path / "e.jsonl", max_turns=60)
    assert played.ended.outcome == "won"
    said = prompts(played)
    # What holds in ALFWorld's households alone is not said of this one.
    for other in ("Nothing happens", "carry one thing", "holds one object", "icrowave heats", "sinkbasin", "HeatObject"):
        assert other not in said


@pytest.mark.parametrize(("name", "settings"), [("saycan", {}), ("lota", {"exact": True})])
def test_a_whole_task_is_won_where_an_endpoint_scores_each_skill(
    world: World, tmp_path: Path, name: str, settings: dict[str, bool]
) -> None:
    with serve(GraphSolver()) as server:
        task, record = world.task("example:5"), tmp_path / "e.jsonl"
        played = play(server, world, task, name, record, settings=settings, grants=frozenset({"admissible"}))
    assert played.ended.outcome == "won"


@pytest.mark.parametrize("name", ["reasoner-actor", "opex", "llm-planner", "socratic"])
def test_a_plan_that_nobody_could_carry_out_is_revised(world: World, tmp_path: Path, name: str) -> None:
    with serve(GraphSolver(wrong_first_plan=True)) as server:
        played = play(server, world, world.task("example:2"), name, tmp_path / "e.jsonl", max_turns=60)
    assert played.ended.outcome == "won"
    assert [event.body.revision for event in played.events if isinstance(event.body, Planned)][:2] == [0, 1]


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("pet", "take a plate, put the plate in or on the dishwasher, take a plate, put the plate in or on the dishwasher, "),
        ("lota", "find a plate, 2. pick up the plate, 3. find a dishwasher"),
    ],
)
def test_examples_are_the_tasks_of_train(tmp_path: Path, name: str, shown: str) -> None:
    (tmp_path / "wah_nl_train.json").write_text(written([task()]), "utf-8")
    world = make_world("household-graph", data=str(tmp_path), goals="template")
    with serve(GraphSolver()) as server:
        one, settings = world.task("example:2"), {"examples": "train", "shots": 1}
        played = play(server, world, one, name, tmp_path / "e.jsonl", settings=settings, max_turns=1)
    assert "put two plates in the dishwasher and switch it on" in prompts(played)
    assert shown in prompts(played)


def test_what_does_not_matter_for_a_sub_task_is_masked(world: World, tmp_path: Path) -> None:
    with serve(GraphSolver()) as server:
        played = play(server, world, world.task("example:2"), "pet", tmp_path / "e.jsonl", max_turns=60)
    seen = [event.body.observation for event in played.events if isinstance(event.body, Stepped)]
    judged = [one for event in played.events if isinstance(event.body, Judged) for one in event.body.things if one.masked]
    hidden = {one.name for one in judged if any(f" {one.name}" in text for text in seen)}
    acting = "\n".join(
        message.content
        for event in played.events
        if isinstance(event.body, ModelCall) and event.body.role == "react"
        for message in event.body.added
    )
    assert "chips 1" in hidden
    assert "chips 1" not in acting
    assert "waterglass 1" in acting


def test_what_is_replaced_in_the_terms_of_a_household_is_in_a_template() -> None:
    templates = "\n".join(path.read_text("utf-8") for path in Path(agent.__path__[0]).rglob("*.txt"))
    for said in TERMS.values():
        assert not [words for words in said if words not in templates and not words.startswith(", heat, cool or clean it.")]
