"""What envs share whose whole state is one value that never changes."""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from typing import Generic, Self, TypeVar

from housequest.worlds.base import Env, Step, Task
from housequest.worlds.errors import ConfigurationError, OrderError, Unsupported


class Wrapper:
    """An env that hands everything on to another; subclasses change what they must."""

    def __init__(self, env: Env) -> None:
        self.env = env

    @property
    def task(self) -> Task:
        return self.env.task

    def reset(self) -> Step:
        return self.env.reset()

    def step(self, command: str) -> Step:
        return self.env.step(command)

    def admissible_commands(self) -> tuple[str, ...] | None:
        return self.env.admissible_commands()

    def goal_conditions(self) -> tuple[int, int] | None:
        return self.env.goal_conditions()

    def copy(self) -> Env:
        raise Unsupported(f"{type(self).__name__} does not say how it is copied.")

    def close(self) -> None:
        self.env.close()


def unwrapped(env: Env) -> Env:
    """The env within all wrappers."""
    while isinstance(env, Wrapper):
        env = env.env
    return env


class StepLimit(Wrapper):
    """Truncates an episode after ``limit`` steps, accepted or refused alike."""

    def __init__(self, env: Env, limit: int) -> None:
        super().__init__(env)
        if limit < 1:
            raise ConfigurationError(f"A step limit of {limit} leaves nothing to play; give at least 1.")
        self.limit = limit
        self.steps = 0

    def reset(self) -> Step:
        self.steps = 0
        return self.env.reset()

    def step(self, command: str) -> Step:
        step = self.env.step(command)
        self.steps += 1
        return replace(step, truncated=True) if self.steps >= self.limit and not step.terminated else step

    def copy(self) -> StepLimit:
        other = StepLimit(self.env.copy(), self.limit)
        other.steps = self.steps
        return other


class OrderChecked(Wrapper):
    """Refuses a step before the first reset or after the end, where an env alone might play on."""

    def __init__(self, env: Env) -> None:
        super().__init__(env)
        self._state = "new"

    def reset(self) -> Step:
        step = self.env.reset()
        self._state = "done" if step.done else "running"
        return step

    def step(self, command: str) -> Step:
        if self._state == "new":
            raise OrderError("This env was stepped before its first reset; call reset() first.")
        if self._state == "done":
            raise OrderError("This episode is over; call reset() to play it again.")
        step = self.env.step(command)
        if step.done:
            self._state = "done"
        return step

    def copy(self) -> OrderChecked:
        other = OrderChecked(self.env.copy())
        other._state = self._state
        return other


S = TypeVar("S")


class StateEnv(Generic[S]):
    """An env whose steps replace ``_state``. A copy shares all that there is, so it is one small object."""

    _state: S | None = None

    @property
    def state(self) -> S:
        """Hidden: the present state. Raises ``OrderError`` before the first reset."""
        if self._state is None:
            raise OrderError("This env was used before its first reset; call reset() first.")
        return self._state

    def copy(self) -> Self:
        return copy(self)

    def close(self) -> None:
        """Drop the state, so that another step raises ``OrderError``."""
        self._state = None
