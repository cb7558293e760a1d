from __future__ import annotations

import pytest

from housequest.worlds.base import Env
from housequest.worlds.env import OrderChecked, StepLimit, Wrapper
from housequest.worlds.errors import ConfigurationError, OrderError
from housequest.worlds.scripted import ScriptedWorld

TO_THE_LAMP = ("take lamp", "go to cellar", "light lamp", "drop lamp")


@pytest.fixture
def env() -> Env:
    """A game that ``TO_THE_LAMP`` wins."""
    world = ScriptedWorld()
    return world.open(world.task("demo/light"))


@pytest.mark.parametrize("limit", [0, -1])
def test_a_limit_leaves_something_to_play(env: Env, limit: int) -> None:
    with pytest.raises(ConfigurationError, match="at least 1"):
        StepLimit(env, limit)


def test_the_last_step_is_truncated_accepted_or_refused(env: Env) -> None:
    limited = StepLimit(env, 3)
    limited.reset()
    assert not limited.step("look").done
    assert not limited.step("dance").done
    last = limited.step("look")
    assert (last.truncated, last.terminated, last.done) == (True, False, True)
    assert limited.step("look").truncated


def test_a_win_on_the_last_step_is_a_win(env: Env) -> None:
    limited = StepLimit(env, len(TO_THE_LAMP))
    limited.reset()
    *_, last = [limited.step(command) for command in TO_THE_LAMP]
    assert (last.won, last.terminated, last.truncated) == (True, True, False)


def test_a_reset_gives_all_steps_back(env: Env) -> None:
    limited = StepLimit(env, 2)
    for _ in range(3):
        limited.reset()
        assert [limited.step("look").truncated for _ in range(2)] == [False, True]


def test_a_copy_has_the_steps_that_are_left(env: Env) -> None:
    limited = StepLimit(env, 3)
    limited.reset()
    limited.step("look")
    copy = limited.copy()
    assert [copy.step("look").truncated for _ in range(2)] == [False, True]
    assert limited.steps == 1


def test_order_is_kept_before_and_after_a_game(env: Env) -> None:
    checked = OrderChecked(StepLimit(env, 1))
    with pytest.raises(OrderError, match="before its first reset"):
        checked.step("look")
    checked.reset()
    assert checked.step("look").truncated
    with pytest.raises(OrderError, match="over"):
        checked.step("look")
    with pytest.raises(OrderError, match="over"):
        checked.copy().step("look")
    checked.reset()
    assert checked.step("look").truncated


def test_a_game_that_was_won_is_over(env: Env) -> None:
    checked = OrderChecked(env)
    checked.reset()
    assert [checked.step(command).won for command in TO_THE_LAMP][-1]
    with pytest.raises(OrderError, match="over"):
        checked.step("look")


def test_a_copy_of_a_running_game_runs_on_alone(env: Env) -> None:
    checked = OrderChecked(StepLimit(env, 2))
    checked.reset()
    copy = checked.copy()
    copy.step("look")
    copy.step("look")
    assert not checked.step("look").done


def test_a_wrapper_hands_everything_on(env: Env) -> None:
    wrapped = Wrapper(env)
    assert wrapped.task is env.task
    assert wrapped.reset() == env.reset()
    assert wrapped.step("look") == env.step("look")
    assert wrapped.admissible_commands() == env.admissible_commands()
    assert wrapped.goal_conditions() == env.goal_conditions()
    wrapped.close()
    with pytest.raises(OrderError):
        env.step("look")
