"""What every world, and every wrapper round its envs, has to keep to."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from worlds.base import Env, Observation, Step, Task, World
from worlds.errors import ConfigurationError, OrderError, TaskNotFound, Unsupported
from worlds.registry import make_world, world_names
from worlds.wrappers import OrderChecked, StepLimit

STEPS = 40
WRAPPERS: dict[str, Callable[[Env], Env]] = {
    "bare": lambda env: env,
    "limited": lambda env: StepLimit(env, 10_000),
    "checked": OrderChecked,
    "both": lambda env: OrderChecked(StepLimit(env, 10_000)),
}

Opened = Callable[[], Env]


@pytest.fixture(params=[*world_names(), pytest.param("alfworld, published", marks=pytest.mark.games)])
def world(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    """Every world of the registry, on what ships with it, and ALFWorld on the published games."""
    if request.param == "alfworld, published":
        return make_world("alfworld", data=request.getfixturevalue("alfworld_games"))
    monkeypatch.setenv("ALFWORLD_DATA", str(tmp_path / "nothing"))
    return make_world(request.param)


@pytest.fixture
def tasks(world: World) -> list[Task]:
    """Some tasks of the world, of every type."""
    split = "valid_seen" if "valid_seen" in world.splits() else world.splits()[0]
    found = {task.type: task for task in world.tasks(split)}
    return list(found.values())


def openings(world: World, tasks: list[Task]) -> Iterator[Opened]:
    for task in tasks:
        for wrap in WRAPPERS.values():
            yield lambda task=task, wrap=wrap: wrap(world.open(task))
        if explains(world, task):
            yield lambda task=task: world.open(task, diagnosis=True)


def explains(world: World, task: Task) -> bool:
    try:
        world.open(task, diagnosis=True)
    except Unsupported:
        return False
    return True


def bare(step: Step) -> Step:
    """The step without the diagnosis, which is a grant and no part of the game."""
    return replace(step, observation=replace(step.observation, explanation=None))


def wander(env: Env, seed: int, steps: int = STEPS) -> list[tuple[str, Step]]:
    """Admissible commands at random, now and then an odd one, until the game ends."""
    chance = random.Random(seed)
    told: list[tuple[str, Step]] = []
    for _ in range(steps):
        command = chance.choice(env.admissible_commands() or ("look",)) if chance.random() < 0.8 else "dance wildly"
        told.append((command, env.step(command)))
        if told[-1][1].done:
            break
    return told


def test_a_world_is_a_world(world: World) -> None:
    assert isinstance(world, World)
    assert world.name in world_names()
    assert world.engine
    assert world.inline in (True, False)
    assert all(line.isprintable() and line.strip() for line in world.manual.splitlines())
    assert world.manual.strip()


def test_tasks_are_numbered_and_found_again(world: World) -> None:
    assert len(set(world.splits())) == len(world.splits()) > 0
    for split in world.splits()[-2:]:
        tasks = world.tasks(split)
        assert [task.number for task in tasks] == list(range(1, len(tasks) + 1))
        assert len({task.id for task in tasks}) == len(tasks)
        for task in tasks[:20]:
            assert (task.world, task.split) == (world.name, split)
            assert task.goal.isprintable()
            assert task.type
            assert world.task(task.id) == world.task(task.reference) == task


@given(text=st.text())
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_what_is_not_there_is_not_found(world: World, text: str) -> None:
    with pytest.raises(TaskNotFound):
        world.tasks(f"no such {text}")
    with pytest.raises(TaskNotFound):
        world.task(f"no such {text}:1")


def test_a_fingerprint_is_the_same_every_time(world: World) -> None:
    split = world.splits()[-1]
    assert world.fingerprint(split) == world.fingerprint(split)
    assert len(world.fingerprint(split)) == 64
    with pytest.raises(TaskNotFound):
        world.fingerprint("no such split")


@pytest.mark.parametrize("settings", [{"engine": "none"}, {"data": Path("/nowhere")}, {"goals": "none"}, {"no such": 1}])
@pytest.mark.parametrize("name", world_names())
def test_settings_that_mean_nothing_are_refused(name: str, settings: dict[str, str]) -> None:
    with pytest.raises(ConfigurationError):
        make_world(name, **settings)  # pyright: ignore[reportArgumentType]


def test_an_unknown_world_is_refused_with_the_nearest() -> None:
    with pytest.raises(ConfigurationError, match="Did you mean 'alfworld'"):
        make_world("alfwrld")


def test_an_env_is_not_used_before_its_reset(world: World, tasks: list[Task]) -> None:
    for opened in openings(world, tasks):
        env = opened()
        assert isinstance(env, Env)
        with pytest.raises(OrderError):
            env.step("look")
        with pytest.raises(OrderError):
            env.copy().step("look")


def test_an_opening_ends_with_the_goal_and_is_the_same_every_time(world: World, tasks: list[Task]) -> None:
    for opened in openings(world, tasks):
        env = opened()
        first = env.reset()
        assert first.observation.text.endswith(f"Your task is to: {env.task.goal}")
        assert first == Step(Observation(first.observation.text))
        wander(env, 1, 5)
        assert env.reset() == first == opened().reset()
        env.close()


def test_what_is_listed_is_accepted_and_what_is_not_is_refused(world: World, tasks: list[Task]) -> None:
    for opened in openings(world, tasks):
        env = opened()
        env.reset()
        wander(env, 2, 6)
        listed = env.admissible_commands()
        assert listed is not None
        assert list(listed) == sorted(set(listed))
        for command in listed:
            assert env.copy().step(command).observation.accepted
            assert env.copy().step(f" {command}\n").observation.accepted
        before = env.goal_conditions()
        for odd in ("", "dance", listed[0].upper() + "!", "\0", "\ud800", "look " * 10_000, "..", "\u202elook"):
            step = env.step(odd)
            assert not step.observation.accepted
            assert (step.won, env.admissible_commands(), env.goal_conditions()) == (step.terminated, listed, before)


def test_the_same_commands_have_the_same_answers(world: World, tasks: list[Task]) -> None:
    for opened in openings(world, tasks):
        one, two = opened(), opened()
        one.reset()
        two.reset()
        for command, step in wander(one, 3):
            assert two.step(command) == step
        assert one.goal_conditions() == two.goal_conditions()


def test_a_copy_goes_its_own_way(world: World, tasks: list[Task]) -> None:
    for opened in openings(world, tasks):
        env = opened()
        env.reset()
        wander(env, 4, 8)
        copy, untouched = env.copy(), env.copy()
        assert copy.task == env.task
        before = (env.admissible_commands(), env.goal_conditions())
        away = wander(copy, 5)
        assert (env.admissible_commands(), env.goal_conditions()) == before
        assert [(command, env.step(command)) for command, _ in away] == away
        copy.reset()
        copy.close()
        assert [(command, untouched.step(command)) for command, _ in away] == away


def test_a_game_is_won_where_all_its_conditions_hold(world: World, tasks: list[Task]) -> None:
    expert = world.expert()
    for opened in openings(world, tasks):
        env = opened()
        step = env.reset()
        memory = expert.begin(env.task.goal, step.observation)
        for _ in range(60):
            met, total = env.goal_conditions() or (0, 0)
            assert 0 <= met <= total
            assert (met == total) == step.won == step.terminated
            if step.done:
                break
            command, thought, chosen = expert.decide(memory)
            assert expert.decide(memory) == (command, thought, chosen)
            assert command is not None
            step = env.step(command)
            memory = expert.observe(chosen, command, step.observation)
        assert step.won


def test_no_walk_that_wins_is_shorter_than_the_shortest(world: World, tasks: list[Task]) -> None:
    expert = world.expert()
    for task in tasks:
        shortest = world.shortest(task)
        assert shortest == world.shortest(task)
        env, opened = world.sandbox(task), world.open(task)
        assert env.reset() == opened.reset()
        for walk in range(4):
            step = env.reset()
            memory = expert.begin(task.goal, step.observation)
            wandered = wander(env, walk, 3 * walk)
            for command, step in wandered:
                memory = expert.observe(memory, command, step.observation)
            steps = len(wandered)
            while not step.done:
                command, _, memory = expert.decide(memory)
                assert command is not None
                step = env.step(command)
                steps += 1
                memory = expert.observe(memory, command, step.observation)
            assert shortest is not None
            assert shortest <= steps
        env.close()


def test_an_expert_follows_whoever_chose_the_command(world: World, tasks: list[Task]) -> None:
    expert = world.expert()
    for task in tasks:
        env = world.open(task)
        step = env.reset()
        memory = expert.begin(task.goal, step.observation)
        for command, step in wander(env, 6, 10):
            memory = expert.observe(memory, command, step.observation)
        for _ in range(80):
            if step.done:
                break
            command, _, memory = expert.decide(memory)
            assert command is not None
            step = env.step(command)
            memory = expert.observe(memory, command, step.observation)
        assert step.won


def test_diagnosis_leaves_the_game_as_it_is(world: World, tasks: list[Task]) -> None:
    for task in tasks:
        if explains(world, task):
            plain, explained = world.open(task), world.open(task, diagnosis=True)
            assert plain.reset() == explained.reset()
            for command, step in wander(plain, 7):
                assert bare(explained.step(command)) == step


@given(commands=st.lists(st.text(st.characters(exclude_categories=())), max_size=5))
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_command_breaks_a_game(world: World, tasks: list[Task], commands: list[str]) -> None:
    for opened in openings(world, tasks[:1]):
        env = opened()
        env.reset()
        for command in commands:
            listed = env.admissible_commands() or ()
            assert env.step(command).observation.accepted == (command.strip() in listed)
