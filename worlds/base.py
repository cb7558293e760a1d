"""The contracts of a world. Read this file first.

A *world* is a family of tasks with one way of acting. A *task* is one problem; an *env* is one running task; what a player
is told is an *observation*: text only, never hidden state.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, runtime_checkable


@dataclass(frozen=True, slots=True)
class Task:
    """One problem of a world.

    ``id``, ``number`` and ``source`` are for people and records: they can encode the goal's solution, so an agent sees only
    ``goal``, and ``type`` where that is granted. ``wording`` says whose sentence the goal is: ``template``, or ``human:N``
    for annotator N.
    """

    id: str
    world: str
    split: str
    number: int
    type: str
    goal: str
    wording: str = "template"
    source: Path | None = None

    @property
    def reference(self) -> str:
        """The short name of the task, ``split:number``."""
        return f"{self.split}:{self.number}"


@dataclass(frozen=True, slots=True)
class Observation:
    """What the player is told after a command, or at the start.

    ``accepted`` is whether the world took the command, which the text itself says ("Nothing happens."); ``explanation`` is
    the diagnosis of a refusal where the player was granted one, else None. Neither adds hidden state.
    """

    text: str
    accepted: bool = True
    explanation: str | None = None

    def __str__(self) -> str:
        return self.text if self.explanation is None else f"{self.text} {self.explanation}"


@dataclass(frozen=True, slots=True)
class Step:
    """One answer of an env. ``terminated``: the game ended by its own rules; ``truncated``: a limit ended it."""

    observation: Observation
    won: bool = False
    terminated: bool = False
    truncated: bool = False

    @property
    def done(self) -> bool:
        """Whether no further step is allowed."""
        return self.terminated or self.truncated


@dataclass(frozen=True, slots=True)
class Transition:
    """A command with the observation that it caused."""

    command: str
    observation: Observation


@dataclass(frozen=True, slots=True)
class Trajectory:
    """A task's goal and opening with its transitions (the action-observation sequence of OPEx, section 3)."""

    goal: str
    opening: Observation
    transitions: tuple[Transition, ...]


@runtime_checkable
class Env(Protocol):
    """One running task. Not thread-safe; a copy is independent of its original."""

    @property
    def task(self) -> Task:
        """The task being played."""
        ...

    def reset(self) -> Step:
        """Start, or start again; the first observation ends with the task sentence."""
        ...

    def step(self, command: str) -> Step:
        """Execute ``command`` (any text at all). Raises ``OrderError`` before the first reset."""
        ...

    def admissible_commands(self) -> tuple[str, ...] | None:
        """The commands that would be accepted now, sorted; None where the world cannot list them."""
        ...

    def goal_conditions(self) -> tuple[int, int] | None:
        """(met, total) of the goal's conditions: for the recorder alone, never for an agent."""
        ...

    def copy(self) -> Env:
        """An independent env in the same state. Raises ``Unsupported`` where that is impossible."""
        ...

    def close(self) -> None:
        """Give back whatever the env holds; it is not used again."""
        ...


class Policy(Protocol):
    """A player without a language model, deciding from goal and observations alone.

    ``memory`` is immutable plain data of the policy's own, so that an episode can be rewound.
    """

    def begin(self, goal: str, observation: Observation) -> Any:
        """The memory before the first command."""
        ...

    def observe(self, memory: Any, command: str, observation: Observation) -> Any:
        """The memory after ``command`` was executed, whoever chose it."""
        ...

    def decide(self, memory: Any) -> tuple[str | None, str, Any]:
        """The next command, the thought behind it in a few words, and the memory that goes with having chosen it.

        A command of None gives up: the thought says why.
        """
        ...


@runtime_checkable
class World(Protocol):
    """A family of tasks."""

    @property
    def name(self) -> str:
        """The name in the registry."""
        ...

    @property
    def engine(self) -> str:
        """Which engine steps its envs, with its version."""
        ...

    @property
    def inline(self) -> bool:
        """Whether a step is quick enough for an event loop; others are stepped in a worker thread or process."""
        ...

    @property
    def manual(self) -> str:
        """How to act in this world: the forms of its commands, one a line, for people and for prompts."""
        ...

    def splits(self) -> Sequence[str]:
        """The splits that are there, in a fixed order."""
        ...

    def tasks(self, split: str) -> Sequence[Task]:
        """Every task of ``split`` in a fixed order. Raises ``TaskNotFound`` for an unknown split."""
        ...

    def task(self, reference: str) -> Task:
        """The task named by an id, a path, or ``split:number``. Raises ``TaskNotFound``."""
        ...

    def open(self, task: Task, *, diagnosis: bool = False) -> Env:
        """A new env over ``task``; with ``diagnosis``, refused commands are explained from what was observed.

        Raises ``GameError`` when the task cannot be played and ``Unsupported`` where the world has no diagnosis.
        """
        ...

    def expert(self, /, **settings: Any) -> Policy:
        """The world's own player. Raises ``Unsupported`` where there is none."""
        ...

    def rehearse(self, task: Task) -> Env:
        """An env over ``task`` to try things out in beside the game, always on an engine that is quick and in this process.

        Raises what `open` raises, and ``Unsupported`` where there is no such engine.
        """
        ...

    def shortest(self, task: Task, *, seconds: float | None = None) -> int | None:
        """How many commands the shortest way to win ``task`` takes: hidden knowledge, for metrics and for people after a game.

        None where there is none, where the world cannot tell, or where it did not find out within its own limit, or
        ``seconds``. Raises ``GameError``. It may take a second or two, so an event loop calls it in a thread.
        """
        ...

    def fingerprint(self, split: str) -> str:
        """A digest of the data behind ``split``, for a run's record."""
        ...
