"""What a task can be done in: no winning walk is shorter, whoever walks."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

import pytest

from housequest.agent.evaluation.analysis.metrics import PathLengths
from housequest.agent.evaluation.analysis.run import TURNS, expert_turns, path_lengths
from housequest.worlds.base import Env, Task, World
from housequest.worlds.errors import GameError, Unsupported
from housequest.worlds.registry import make_world


@pytest.fixture(scope="module")
def houses() -> World:
    return make_world("alfworld")


def test_the_expert_is_never_quicker_than_the_shortest_way(houses: World) -> None:
    for seed in range(40):
        par = path_lengths(houses, houses.task(f"generated:{seed}"))
        assert par.shortest is not None
        assert par.expert is None or par.shortest <= par.expert <= TURNS
        assert par.best == par.shortest


def test_no_random_walk_that_wins_is_shorter(houses: World) -> None:
    """Walks among the commands that are possible, the expert's own to finish with, so that many of them win."""
    for seed in range(12):
        task = houses.task(f"generated:{seed}")
        shortest = houses.shortest(task)
        dice, expert, env = random.Random(seed), houses.expert(), houses.sandbox(task)
        steps, step = 0, env.reset()
        memory = expert.begin(task.goal, step.observation)
        while not step.done and steps < 200:
            command, _, memory = expert.decide(memory)
            if command is None or dice.random() < 0.4:
                command = dice.choice(env.admissible_commands() or ("look",))
            steps, step = steps + 1, env.step(command)
            memory = expert.observe(memory, command, step.observation)
        assert shortest is not None
        assert not step.won or shortest <= steps


def test_the_houses_that_ship_and_the_scripted_world_have_both_figures(houses: World) -> None:
    for world, split in ((houses, "example"), (make_world("scripted"), "demo")):
        for task in world.tasks(split):
            par = path_lengths(world, task)
            assert par.shortest is not None
            assert par.expert is not None
            assert 0 < par.shortest <= par.expert
    assert path_lengths(make_world("scripted"), make_world("scripted").task("demo:1")) == PathLengths(6, 6)


@pytest.mark.games
def test_published_games_have_both_figures(alfworld_games: Path) -> None:
    world = make_world("alfworld", data=alfworld_games)
    tasks = world.tasks("valid_seen")
    for task in tasks[:: len(tasks) // 20]:
        par = path_lengths(world, task)
        assert par.shortest is not None
        assert par.expert is not None
        assert 0 < par.shortest <= par.expert


def test_a_world_without_an_expert_is_not_one_that_its_expert_lost(houses: World) -> None:
    class Plain(World):
        """A world that has neither expert nor shortest ways."""

        name = "plain"

        def splits(self) -> Sequence[str]:
            return houses.splits()

        def tasks(self, split: str) -> Sequence[Task]:
            return houses.tasks(split)

        def open(self, task: Task) -> Env:
            return houses.open(task)

    task = houses.task("example:1")
    with pytest.raises(Unsupported, match="no expert"):
        expert_turns(Plain(), task)
    assert path_lengths(Plain(), task) == PathLengths()


def test_an_expert_that_is_not_done_in_time_has_no_figure(houses: World) -> None:
    task = houses.task("example:1")
    needed = expert_turns(houses, task)
    assert needed is not None
    assert expert_turns(houses, task, needed) == needed
    assert expert_turns(houses, task, needed - 1) is None
    assert expert_turns(houses, task, 0) is None


def test_a_goal_that_the_expert_cannot_read_leaves_the_shortest_way() -> None:
    world = make_world("scripted")
    task = world.task("demo:2")
    odd = Task(task.id, task.world, task.split, task.number, task.type, "do something nice.")
    assert path_lengths(world, odd) == PathLengths(None, world.shortest(task))


def test_without_time_the_shortest_way_is_not_known(houses: World) -> None:
    assert houses.shortest(houses.task("generated:3"), seconds=0) is None


def test_a_game_that_is_not_there_is_an_error_with_a_way_out(houses: World, tmp_path: Path) -> None:
    gone = Task("file/gone", "alfworld", "file", 1, "", "put a mug in desk.", source=tmp_path / "game.tw-pddl")
    with pytest.raises(GameError, match="not there"):
        path_lengths(houses, gone)


@pytest.mark.parametrize(
    ("par", "best"), [(PathLengths(), None), (PathLengths(7), 7), (PathLengths(7, 6), 6), (PathLengths(None, 6), 6)]
)
def test_the_best_is_the_shortest_where_it_is_known(par: PathLengths, best: int | None) -> None:
    assert par.best == best
