"""The native engine as an env: order, refusals, copies, goal conditions, the houses that ship, and any text as a command."""

from __future__ import annotations

import copy
import random
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from housequest.worlds import alfworld
from housequest.worlds.alfworld.engine.game import load_game
from housequest.worlds.alfworld.engine.native import REFUSED, NativeEnv, conditions, won
from housequest.worlds.base import Env, Step, Task
from housequest.worlds.errors import OrderError
from tests.worlds.alfworld.play import hidden_of

GOLDEN = Path(__file__).parents[1] / "golden" / "houses"
BUNDLED = sorted((Path(alfworld.__file__).parent / "houses").glob("*.json"))
ALL = sorted(GOLDEN.glob("*.json")) + BUNDLED
GAMES = {path.stem: load_game(path) for path in ALL}


def env_of(name: str) -> NativeEnv:
    game = GAMES[name]
    return NativeEnv(Task(name, "alfworld", "test", 0, "", game.sentence), game)


def play(env: NativeEnv, *typed: str) -> Step:
    for command in typed[:-1]:
        assert env.step(command).observation.accepted, command
    return env.step(typed[-1])


def wandered(name: str, seed: int, steps: int = 25) -> NativeEnv:
    env, rng = env_of(name), random.Random(seed)
    env.reset()
    for _ in range(steps):
        env.step(rng.choice(env.admissible_commands()))
    return env


def test_it_is_an_env() -> None:
    assert isinstance(env_of("undo"), Env)


def test_nothing_works_before_the_first_reset() -> None:
    env = env_of("undo")
    for early in (lambda: env.step("look"), env.admissible_commands, env.goal_conditions, lambda: hidden_of(env)):
        with pytest.raises(OrderError, match="reset"):
            early()


def test_the_opening_lists_the_room_and_ends_with_the_task() -> None:
    assert env_of("undo").reset().observation.text == (
        "-= Welcome to TextWorld, ALFRED! =-\n\n"
        "You are in the middle of a room. Looking quickly around you, you see a countertop 1, a diningtable 1, a fridge 1, "
        "a microwave 1, and a sinkbasin 1.\n\n"
        "Your task is to: put a hot mug in countertop."
    )


def test_a_refused_command_changes_nothing_and_says_so() -> None:
    env = env_of("undo")
    env.reset()
    before = env.state
    step = env.step("take mug 1 from fridge 1")
    assert (step.observation.text, step.observation.accepted) == (REFUSED, False)
    assert env.state is before


def test_a_win_can_be_undone_and_won_again() -> None:
    env = env_of("undo")
    env.reset()
    heated = ("take mug 2 from countertop 1", "go to microwave 1", "heat mug 2 with microwave 1", "go to countertop 1")
    step = play(env, "go to countertop 1", *heated, "move mug 2 to countertop 1")
    assert step.won
    assert step.terminated
    assert not env.step("take mug 2 from countertop 1").won
    assert env.step("move mug 2 to countertop 1").won


def test_goal_conditions_are_counted_as_alfred_counts_them() -> None:
    env = env_of("undo")
    env.reset()
    assert env.goal_conditions() == (1, 3), "a mug is on the counter already"
    play(env, "go to countertop 1", "take mug 2 from countertop 1")
    assert env.goal_conditions() == (0, 3)
    play(env, "go to microwave 1", "heat mug 2 with microwave 1")
    assert env.goal_conditions() == (1, 3)
    play(env, "go to countertop 1", "move mug 2 to countertop 1")
    assert env.goal_conditions() == (3, 3)

    env = env_of("light")
    env.reset()
    assert env.goal_conditions() == (0, 2)
    play(env, "go to desk 1", "use desklamp 4")
    assert env.goal_conditions() == (1, 2)
    play(env, "take cd 1 from desk 1")
    assert env.goal_conditions() == (2, 2)
    play(env, "go to shelf 1")
    assert env.goal_conditions() == (1, 2)

    env = env_of("bathroom")
    env.reset()
    assert env.goal_conditions() == (0, 2)


@pytest.mark.parametrize("name", sorted(GAMES))
def test_the_goal_holds_exactly_when_all_its_conditions_are_met(name: str) -> None:
    for seed in range(10):
        env = wandered(name, seed)
        met, total = env.goal_conditions()
        assert 0 <= met <= total
        assert won(env.game, env.state) == (met == total)
        assert env.step("no such command").won == (met == total)


@pytest.mark.parametrize("name", sorted(GAMES))
def test_what_is_listed_is_accepted_and_what_is_sorted_stays_sorted(name: str) -> None:
    env = wandered(name, seed=3)
    listed = env.admissible_commands()
    assert listed == tuple(sorted(set(listed)))
    assert {"help", "inventory", "look"} <= set(listed)
    for command in listed:
        assert env.copy().step(command).observation.accepted, command


@pytest.mark.parametrize("name", sorted(GAMES))
def test_a_copy_and_its_original_go_separate_ways(name: str) -> None:
    env = wandered(name, seed=1)
    before, listed, hidden = env.state, env.admissible_commands(), hidden_of(env)
    other, rng = env.copy(), random.Random(2)
    for _ in range(25):
        other.step(rng.choice(other.admissible_commands()))
    assert (env.state, env.admissible_commands(), hidden_of(env)) == (before, listed, hidden)
    again = env.copy()
    for command in (rng.choice(listed), "look", "inventory"):
        assert again.step(command) == env.step(command)


@pytest.mark.parametrize("name", sorted(GAMES))
def test_reset_forgets_everything_and_no_episode_changes_the_game(name: str) -> None:
    kept = copy.deepcopy(GAMES[name])
    env, fresh = wandered(name, seed=4), env_of(name)
    assert env.reset() == fresh.reset()
    assert (env.state, env.admissible_commands(), hidden_of(env)) == (
        fresh.state,
        fresh.admissible_commands(),
        hidden_of(fresh),
    )
    assert GAMES[name] == kept


COMMANDS = sorted({command for name in GAMES for command in wandered(name, 5).admissible_commands()})


@pytest.mark.heavy
@settings(max_examples=300)
@given(
    typed=st.lists(
        st.text(st.characters(codec=None), max_size=40) | st.sampled_from(COMMANDS) | st.sampled_from(COMMANDS).map(str.title),
        max_size=8,
    ),
    name=st.sampled_from(sorted(GAMES)),
)
def test_any_text_is_a_command(typed: list[str], name: str) -> None:
    env = env_of(name)
    env.reset()
    for command in typed:
        listed = env.admissible_commands()
        step = env.step(command)
        assert step.observation.accepted == (step.observation.text != REFUSED) == (command.strip() in listed)


def test_a_command_of_a_million_characters_is_refused() -> None:
    env = env_of("undo")
    env.reset()
    assert not env.step("look " * 200_000).observation.accepted


def test_there_are_three_houses_to_begin_with() -> None:
    assert {path.stem for path in BUNDLED} == {"kitchen", "bedroom", "bathroom"}


WINS = {
    "kitchen": (
        "go to countertop 2, take egg 1 from countertop 2, go to microwave 1, heat egg 1 with microwave 1, "
        "go to diningtable 1, move egg 1 to diningtable 1"
    ),
    "bedroom": "go to drawer 3, open drawer 3, take book 2 from drawer 3, go to sidetable 2, use desklamp 1",
    "bathroom": (
        "go to bathtubbasin 1, take soapbar 1 from bathtubbasin 1, go to cabinet 1, open cabinet 1, "
        "move soapbar 1 to cabinet 1, go to shelf 1, take soapbar 2 from shelf 1, go to cabinet 1, move soapbar 2 to cabinet 1"
    ),
}


@pytest.mark.parametrize("name", sorted(WINS))
def test_a_house_that_ships_can_be_won(name: str) -> None:
    env = env_of(name)
    assert not env.reset().won
    *before, last = WINS[name].split(", ")
    for command in before:
        step = env.step(command)
        assert step.observation.accepted, command
        assert not step.won, command
    assert env.step(last).won
    met, total = conditions(env.game, env.state)
    assert met == total
