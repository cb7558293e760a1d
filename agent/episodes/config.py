"""The settings of an episode, and the grants that show an agent more than text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field

from housequest.agent import base
from housequest.agent.episodes import events
from housequest.knowledge.choosing import RuleBudget
from housequest.worlds.base import Demonstrated, Env, Task, World
from housequest.worlds.env import open_env
from housequest.worlds.errors import GameError, Unsupported
from housequest.worlds.household.goals import Skill

VIEW = "view"
PLAN = "plan"
"""The grant that shows an agent the annotated plan."""


@dataclass(frozen=True, slots=True)
class EpisodeConfig:
    """The settings of an episode, all of which are recorded.

    Args:
        max_turns: Each executed command and each unreadable reply takes one turn.
        grants: ``admissible``, ``type``, ``diagnosis``, ``view`` and ``plan`` show the agent more than text.
        rules: Those that the agent may be shown.
        curiosity: The probability that a turn plays a random admissible command instead of the agent's (epsilon); or to
            linger, see `housequest.agent.skills.searching.linger`.
        attempts: Earlier attempts at a task, by the task's id.
        manner: In company, the manner of a partner beside whom others are tested.
        stand_in: In company, the agent that plays while this person is away; the other fields are then the agent's.
    """

    world: World
    grants: frozenset[str] = frozenset()
    max_turns: int = 50
    seed: int = 0
    model: str | None = None
    rules: RuleBudget | None = None
    habits: str | None = None
    settings: Mapping[str, str | int | float | bool] = field(default_factory=dict[str, str | int | float | bool])
    curiosity: events.Curiosity | None = None
    attempts: Mapping[str, tuple[base.Attempt, ...]] = field(default_factory=dict[str, tuple[base.Attempt, ...]])
    manner: events.Manner | None = None
    stand_in: str | None = None

    @property
    def recorded_model(self) -> str | None:
        """The model's name in records."""
        return self.model

    def open(self, task: Task) -> Env:
        """Open a task, with the diagnosis if it is granted.

        Args:
            task: A task of ``world``.

        Returns:
            A new env.

        Raises:
            GameError: The game is missing or damaged.
            Unsupported: The world cannot give the diagnosis.
        """
        return open_env(self.world, task, diagnosis="diagnosis" in self.grants)

    def check_grants(self, tasks: Iterable[Task]) -> None:
        """Check before a run that the world can give all grants.

        Args:
            tasks: Tasks of a split, which are alike in this.

        Raises:
            Unsupported: The world cannot give one of the grants.
        """
        for task in tasks:
            with suppress(GameError):
                if "diagnosis" in self.grants:
                    self.open(task).close()
                if PLAN in self.grants:
                    annotated_plan(self.world, task)
                return


def annotated_plan(world: World, task: Task) -> tuple[Skill, ...]:
    """The plan that people annotated for a task. Raises ``Unsupported`` if there is none."""
    plan = world.annotated_plan(task) if isinstance(world, Demonstrated) else None
    if plan is None:
        raise Unsupported(
            f"There is no annotated plan for {task.reference}; play one of a split that has them, as ALFRED's train and "
            "valid_seen do, or leave out --grant plan and planner=oracle."
        )
    return plan
