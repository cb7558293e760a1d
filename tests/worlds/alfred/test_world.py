"""The world ``alfred``: its contract on houses without a trajectory, and the published trajectories as tasks."""

from __future__ import annotations

import asyncio
from collections import Counter
from importlib.util import find_spec
from pathlib import Path

import pytest

from housequest.agent.config import configure
from housequest.agent.evaluation.analysis.metrics import EpisodeFigure
from housequest.agent.evaluation.analysis.run import read_for_comparison
from housequest.agent.evaluation.runs.batch import run_batch
from housequest.agent.evaluation.runs.folder import RunFolder
from housequest.agent.evaluation.runs.spec import make_run_spec
from housequest.worlds.alfred.tasks import METRICS
from housequest.worlds.alfred.world import TURNS, AlfredWorld
from housequest.worlds.base import World
from housequest.worlds.checking import check_world
from housequest.worlds.env import open_env
from housequest.worlds.errors import ConfigurationError, TaskNotFound, Unsupported
from housequest.worlds.registry import make_world


@pytest.fixture(scope="module")
def world() -> World:
    return make_world("alfred")


@pytest.mark.heavy
def test_it_keeps_the_contract(world: World) -> None:
    assert check_world(world, split="example").broken == ()


def test_it_says_what_it_is(world: World) -> None:
    assert (world.engine, world.info.max_turns, world.info.inline) == ("boxes 3", TURNS, False)
    assert [metric.key for metric in world.info.metrics] == [metric.key for metric in METRICS]
    assert "All figures are of boxes 3;" in world.info.metrics[0].about
    assert world.task("example:1").goal == make_world("alfworld").task("example:1").goal
    house = world.task("generated:690")
    assert (house.world, house.reference) == ("alfred", "generated:690")
    assert world.annotated(house) is None
    step = world.open(house).reset()
    assert step.observation.text.startswith("You are in a room. You stand at x ")


def test_what_it_does_not_have_is_refused() -> None:
    for options in ({"goals": "template"}, {"engine": "unity"}, {"data": "/nowhere"}, {"failures": -1}):
        with pytest.raises(ConfigurationError):
            make_world("alfred", **options)
    if find_spec("ai2thor") is None:
        with pytest.raises(ConfigurationError, match="pip install"):
            make_world("alfred", engine="thor")
    world = make_world("alfred")
    with pytest.raises(Unsupported):
        open_env(world, world.task("example:1"), diagnosis=True)
    for reference in ("valid_nowhere:1", "example:99", "nothing"):
        with pytest.raises(TaskNotFound):
            world.task(reference)
    with pytest.raises(ConfigurationError):
        world.expert(search="counts")


def test_a_house_is_a_task_that_nobody_demonstrated(world: World) -> None:
    task = world.task("example:1")
    opening = world.open(task).reset().observation
    expert = world.expert()
    assert expert.decide(expert.begin(task.goal, opening))[0] is None


@pytest.mark.games
def test_all_trajectories_are_tasks(alfworld_games: Path) -> None:
    world = AlfredWorld(data=alfworld_games)
    tasks = world.tasks("valid_seen")
    assert len(tasks) == world.info.published_splits["valid_seen"] == 251
    assert set(Counter(task.type for task in tasks)) == set(world.info.task_types)
    assert all(task.wording.startswith("human:") and task.source for task in tasks)
    every = AlfredWorld(data=alfworld_games, goals="every").tasks("valid_seen")
    assert len(every) == 820  # ALFRED's number of annotated instructions
    assert len({task.id for task in every}) == 820
    told = AlfredWorld(data=alfworld_games, goals="human+steps:1").tasks("valid_seen")
    assert {task.wording for task in told} == {"human+steps:1"}
    assert sum(len(task.goal) for task in told) > 4 * sum(len(task.goal) for task in tasks)


@pytest.mark.games
def test_annotated_actions_are_mostly_possible_and_mostly_win(alfworld_games: Path) -> None:
    """A sample of 25; `make bench ARGS=embodied` has all."""
    world = AlfredWorld(data=alfworld_games)
    won, accepted = Counter[bool](), Counter[bool]()
    for task in world.tasks("valid_seen")[::10]:
        env, expert = world.open(task), world.expert()
        step = env.reset()
        memory = expert.begin(task.goal, step.observation)
        while not step.done:
            command, _, memory = expert.decide(memory)
            if command is None:
                break
            step = env.step(command)
            memory = expert.observe(memory, command, step.observation)
            accepted[step.observation.accepted] += 1
        won[step.won] += 1
        annotated = world.annotated(task)
        assert annotated is not None
        assert annotated.conditions == (env.goal_conditions() or (0, 0))[1]
    assert accepted[True] / accepted.total() > 0.9
    assert won[True] / won.total() > 0.5


@pytest.mark.games
def test_a_run_over_each_annotators_task_has_lengths(
    alfworld_games: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ALFWORLD_DATA", str(alfworld_games))
    flags = {"world": "alfred", "agent": "expert", "split": "valid_seen", "goals": "every", "limit": 2}
    asyncio.run(run_batch(make_run_spec(configure(flags, tmp_path)), tmp_path / "run"))
    run = read_for_comparison(RunFolder(tmp_path / "run"))
    assert run.manifest.configuration.goals == "every"
    assert [run.summary.overall.of(EpisodeFigure.of(metric)).missing for metric in METRICS] == [0] * len(METRICS)
