"""LoTa-Bench's planner and SayCan on household graphs: skills composed from an apartment, and whole tasks by an endpoint."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from housequest.agent.agents.lota.selector import fixed_skills
from housequest.agent.agents.spec import make_agent
from housequest.agent.base import Agent
from housequest.agent.config import configure
from housequest.agent.episodes.config import EpisodeConfig
from housequest.agent.episodes.events import CallTiming, Ended, Event, ModelCall, Stepped
from housequest.agent.episodes.loop import run_episode
from housequest.agent.evaluation.analysis.run import Run, read_for_comparison
from housequest.agent.evaluation.render.pages.render import comparison_page
from housequest.agent.evaluation.runs.batch import run_batch
from housequest.agent.evaluation.runs.folder import RunFolder
from housequest.agent.evaluation.runs.spec import make_run_spec
from housequest.agent.models.registry import make_model
from housequest.worlds.base import World
from housequest.worlds.errors import Unsupported
from housequest.worlds.registry import make_world
from tests.agent.agents.lota.test_lota import Liking
from tests.agent.evaluation.recorded import paired
from tests.backends.knowing import Knowing
from tests.backends.server import serve
from tests.worlds.graphs.tables import home, task, written

TASK = "example:2"


@pytest.fixture(scope="module")
def world() -> World:
    return make_world("household-graph", skills="oracle")


@pytest.fixture(scope="module")
def winning(world: World) -> tuple[str, ...]:
    """The skills by which the expert wins the task."""
    env, expert, found = world.open(world.task(TASK)), world.expert(), list[str]()
    step = env.reset()
    memory = expert.begin(env.task.goal, step.observation)
    while not step.done:
        command, _, memory = expert.decide(memory)
        assert command is not None
        step = env.step(command)
        memory = expert.observe(memory, command, step.observation)
        found += [command] if step.observation.accepted else []
    return tuple(found)


def lived(world: World, agent: Agent, *grants: str) -> list[Event]:
    told: list[Event | CallTiming] = []
    config = EpisodeConfig(world, frozenset(grants), max_turns=world.info.max_turns)
    asyncio.run(run_episode(world.open(world.task(TASK)), agent, config, told.append))
    return [event for event in told if isinstance(event, Event)]


def outcome(told: list[Event]) -> str:
    assert isinstance(told[-1].body, Ended)
    return told[-1].body.outcome


def prompts(told: list[Event]) -> str:
    return "\n".join(message.content for event in told if isinstance(event.body, ModelCall) for message in event.body.added)


@pytest.mark.heavy
def test_lota_plays_a_whole_task_against_an_endpoint(world: World, winning: tuple[str, ...]) -> None:
    with serve(Knowing(winning)) as server:
        told = lived(world, make_agent("lota", world=world, model=make_model(server.model())))
    assert outcome(told) == "won"
    assert [event.body.command for event in told if isinstance(event.body, Stepped)] == list(winning)
    # The skills of this apartment are listed, examples are made-up tasks of this world, and no observation is shown.
    assert "find a water glass" in prompts(told)
    assert "Human: put " in prompts(told) and "pick up the" in prompts(told)
    assert "You walk to" not in prompts(told) and "waterglass 1" not in prompts(told)


def test_why_a_skill_failed_is_told_where_it_may_be_told(world: World, winning: tuple[str, ...]) -> None:
    model = Liking(Knowing(winning, hasty="put down the plate"))
    told = lived(world, make_agent("lota", world=world, model=model, settings={"replanning": True}))
    assert outcome(told) == "won"
    assert "You do not hold the plate" in prompts(told)


def test_saycan_selects_among_what_the_apartment_allows(world: World, winning: tuple[str, ...]) -> None:
    agent = make_agent("saycan", world=world, model=Liking(Knowing(winning), second="put down the plate"))
    assert outcome(lived(world, agent, "admissible")) == "won"


def test_agents_of_commands_are_refused_where_commands_are_skills(world: World) -> None:
    with pytest.raises(Unsupported, match="skills"):
        make_agent("opex", world=world, model=Liking())


@pytest.mark.heavy
def test_a_run_shows_the_metrics_of_the_benchmark(tmp_path: Path, winning: tuple[str, ...]) -> None:
    with serve(Knowing(winning)) as server:
        flags = {"world": "household-graph", "world_option": {"skills": "oracle"}, "agent": "lota", "model": server.model()}
        spec = make_run_spec(
            configure({**flags, "split": "example", "type": ["put_dishwasher"], "set": {"shots": 2}}, tmp_path)
        )
        assert spec.manifest.engine == "graphs 2, skills by an oracle that reads the graph"
        summary = asyncio.run(run_batch(spec, tmp_path / "run"))
    assert (summary.overall.episodes, summary.overall.won) == (1, 1)


@pytest.mark.heavy
def test_a_file_of_wah_nl_is_played_from_instruction_to_score(tmp_path: Path) -> None:
    (tmp_path / "wah_nl_test.json").write_text(written([task(), task(task_id=8)]), "utf-8")
    flags = {"world": "household-graph", "world_option": {"data": str(tmp_path)}, "agent": "expert", "goals": "human:2"}
    runs: list[Run] = []
    for name, turns in (("whole", 50), ("short", 6)):
        asyncio.run(run_batch(make_run_spec(configure({**flags, "max_steps": turns}, tmp_path)), tmp_path / name))
        runs.append(read_for_comparison(RunFolder(tmp_path / name)))
    whole, short = runs
    assert [one.outcome for one in whole.results] == ["won", "won"]
    # Two plates and the switch are three subgoals, and six commands do not reach them all.
    assert [(one.conditions, one.met == 3) for one in (*whole.results, *short.results)] == [(3, True)] * 2 + [(3, False)] * 2
    assert all(one.failure and "of 3 goal conditions held" in one.failure.words for one in short.results)
    assert "Subgoal SR" in comparison_page(paired(whole, short), tmp_path / "page.html").decode()


def test_what_planners_can_name_are_the_classes_of_the_users_apartments(tmp_path: Path) -> None:
    path = tmp_path / "wah_nl_test.json"
    table = home()
    table["nodes"].append({"id": 60, "class_name": "creamybuns", "category": "Food", "properties": ["GRABBABLE"]})
    table["edges"].append({"from_id": 60, "relation_type": "INSIDE", "to_id": 11})
    path.write_text(written([task(init_graph=table)]), "utf-8")
    for options in ({"data": str(path)}, {"apartment": str(tmp_path / "graph.json")}):
        (tmp_path / "graph.json").write_text(written(table), "utf-8")
        household = make_world("household-graph", **options).household
        assert household is not None
        texts = {skill.text for skill in fixed_skills(household).skills}
        assert {"find a creamybuns", "pick up the creamybuns", "find a sofa", "open the fridge", "turn on the tv"} <= texts
        assert "find a chips" not in texts
        # Food and dishes are laid out in an apartment that has too few.
        assert ("find a pancake" in texts) == ("apartment" in options)
