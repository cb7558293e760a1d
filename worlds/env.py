"""Building blocks of envs: one whose state is a value, wrappers for any env, and the record of commands in a simulator."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from itertools import groupby
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, Self, TypeVar

from housequest.worlds.base import Env, Explaining, HasExpert, Policy, Sandboxed, Step, Task, World
from housequest.worlds.errors import ConfigurationError, OrderError, Unsupported
from housequest.worlds.shared import Shareable, Shared

if TYPE_CHECKING:
    from housequest.worlds.rooms.room import Pose

S = TypeVar("S")


def open_env(world: World, task: Task, *, diagnosis: bool = False) -> Env:
    """A new env for ``task``, with the diagnosis if it is wanted. Raises ``GameError`` and ``Unsupported``."""
    if not diagnosis:
        return world.open(task)
    if not isinstance(world, Explaining):
        raise Unsupported(f"The world {world.name!r} has no diagnosis of refused commands; leave the diagnosis out.")
    return world.explained(world.open(task))


def shared_house(world: World, task: Task, players: Sequence[str]) -> Shared:
    """A new house for several players. Raises what `Shareable.share` raises, and ``Unsupported`` in a world for one player."""
    if not isinstance(world, Shareable):
        raise Unsupported(f"The world {world.name!r} is for one player alone.")
    return world.share(task, players)


def sandbox(world: World, task: Task) -> Env:
    """A quick env in this process, to try commands in. Raises ``GameError`` and ``Unsupported``."""
    if isinstance(world, Sandboxed):
        return world.sandbox(task)
    if not world.info.inline:
        raise Unsupported(f"The world {world.name!r} has no env that is quick enough to try commands in.")
    return world.open(task)


def expert_of(world: World, **settings: Any) -> Policy:
    """The world's player that needs no language model. Raises ``Unsupported`` if it has none, and ``ConfigurationError``."""
    if not isinstance(world, HasExpert):
        raise Unsupported(f"The world {world.name!r} has no expert.")
    return world.expert(**settings)


def steps_of(expert: Policy, task: Task, env: Env, step: Step, most: int) -> Iterator[tuple[str, Step]]:
    """The commands of ``expert`` in ``task`` from the opening ``step`` on, ``most`` at most, each with its answer."""
    memory = expert.begin(task.goal, step.observation)
    for _ in range(most):
        if step.done:
            return
        command, _, memory = expert.decide(memory)
        if command is None:
            return
        step = env.step(command)
        memory = expert.observe(memory, command, step.observation)
        yield command, step


class StateEnv(Generic[S]):
    """An env whose steps replace ``_state``. A copy shares everything else, so it is one small object."""

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


class Wrapper:
    """An env that passes every call on to another; subclasses override what differs."""

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

    def copy(self) -> Self:
        """The same wrapper round a copy of its env; a subclass that holds something mutable copies that too."""
        other = copy(self)
        other.env = self.env.copy()
        return other

    def close(self) -> None:
        self.env.close()


class SharedWrapper:
    """A shared house that passes every call on to another; subclasses override what differs."""

    def __init__(self, house: Shared) -> None:
        self.house = house

    @property
    def task(self) -> Task:
        return self.house.task

    @property
    def players(self) -> tuple[str, ...]:
        return self.house.players

    def reset(self) -> Mapping[str, Step]:
        return self.house.reset()

    def step(self, player: str, command: str) -> Step:
        return self.house.step(player, command)

    def news(self, player: str) -> tuple[str, ...]:
        return self.house.news(player)

    def admissible_commands(self, player: str) -> tuple[str, ...] | None:
        return self.house.admissible_commands(player)

    def goal_conditions(self) -> tuple[int, int] | None:
        return self.house.goal_conditions()

    def copy(self) -> Self:
        """The same wrapper round a copy of its house."""
        other = copy(self)
        other.house = self.house.copy()
        return other

    def close(self) -> None:
        self.house.close()


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


class OrderChecked(Wrapper):
    """Refuses a step before the first reset or after the end, since an env itself may play on."""

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


class RobotMove(NamedTuple):
    """One low-level ``action``, with the name of what it acts on, and the pose after it."""

    action: str
    pose: Pose


class Divergence(NamedTuple):
    """A command that the simulator could not carry out as the game did, and its reason."""

    command: str
    reason: str


@dataclass(frozen=True, slots=True)
class Enacted:
    """The commands enacted in a simulator: their number and that of low-level actions, the divergences, and the last command's
    moves."""

    commands: int = 0
    actions: int = 0
    divergences: tuple[Divergence, ...] = ()
    moves: tuple[RobotMove, ...] = ()

    @property
    def count(self) -> str:
        """The number of actions and divergences in a few words, for people."""
        parted = len(self.divergences)
        return f"{self.actions} actions, {parted or 'no'} divergence{'s' if parted > 1 else ''}"

    @property
    def words(self) -> str:
        """The same as a sentence's end, with the reason of each divergence."""
        reasons = "; ".join(f"{one.command}: {one.reason.rstrip('.')}" for one in self.divergences)
        return f"enacted in {self.count}{f' ({reasons})' if reasons else ''}"


def moves_in_words(moves: tuple[RobotMove, ...]) -> str:
    """The actions one after the other; of equal ones their number."""
    runs = ((action, len(list(same))) for action, same in groupby(one.action for one in moves))
    return ", ".join(action if count == 1 else f"{action} \u00d7{count}" for action, count in runs)


def enacted(env: Env) -> Enacted | None:
    """The commands enacted so far in a simulator; None if no wrapper of ``env`` has any ``enacted``."""
    while isinstance(env, Wrapper) and not hasattr(env, "enacted"):
        env = env.env
    return getattr(env, "enacted", None)


def enacted_game(world: World, task: Task, commands: Sequence[str]) -> Enacted | None:
    """The enactment of these commands, played from the beginning; None in a world that enacts nothing. Raises ``GameError``."""
    env = world.open(task)
    try:
        if enacted(env) is None:
            return None
        env.reset()
        for command in commands:
            env.step(command)
        return enacted(env)
    finally:
        env.close()
