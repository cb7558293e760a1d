"""What the expert knows while an agent plays: the goal, what the agent was told, what is left, and the next command."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from random import Random

from housequest.agent.models.base import Request
from housequest.agent.roles import brief
from housequest.agent.roles.demonstrations import STUCK, Lesson, with_ways
from housequest.agent.training.demonstrations import step_of, taught
from housequest.knowledge.examples import subtasks_of_goal
from housequest.worlds.alfworld.expert import make_expert
from housequest.worlds.alfworld.text import HOUSEHOLD
from housequest.worlds.base import Env, Observation, Step, Transition, World
from housequest.worlds.env import Wrapper
from housequest.worlds.errors import ModelError
from housequest.worlds.household.belief import Belief, kind
from housequest.worlds.household.goals import Goal, GoalStep

RARE = 0.02
"""A place where a thing lies less often than this does not matter for finding it."""
REFUSED = 0.5
"""The share of missteps that are likely to be refused, and of the last command again among these."""


class Watched(Wrapper):
    """An env whose texts the expert hears."""

    opening: Observation
    played: tuple[Transition, ...]

    def reset(self) -> Step:
        step = self.env.reset()
        self.opening, self.played = step.observation, ()
        return step

    def step(self, command: str) -> Step:
        step = self.env.step(command)
        self.played = (*self.played, Transition(command, step.observation))
        return step


def watched(env: Env) -> Watched:
    """``env``, begun, with the expert's ears."""
    env = Watched(env)
    env.reset()
    return env


class Knowing:
    """The expert in one game, whose goal is meant as ``goal``; it knows the texts that ``env`` gave, and no more."""

    def __init__(self, world: World, env: Watched, goal: Goal, random: Random, *, missteps: float) -> None:
        self.world, self.goal = world, goal
        self._env, self._random, self._missteps = env, random, missteps
        self._expert = make_expert()
        self._begun = replace(self._expert.begin("", env.opening), goal=goal)
        self._scene = brief.BriefState(self._begun.belief)

    @property
    def scene(self) -> brief.BriefState:
        """What is known by now, and by which commands."""
        if new := self._env.played[len(self._scene.seen) :]:
            self._scene = self._scene.after(new, HOUSEHOLD)
        return self._scene

    @property
    def belief(self) -> Belief:
        """What is known by now."""
        return self.scene.belief

    def move(self, part: str | None = None) -> Lesson:
        """What to do now, for the whole goal or for a ``part`` of it that alone is known."""
        scene, goal = self.scene, self.goal
        if goal.lamp and part == subtasks_of_goal(goal)[0]:
            goal = Goal("pick_and_place_simple", goal.object)  # what is taken is not looked for together with the lamp
        memory = replace(self._begun, goal=goal, belief=scene.belief, failed=frozenset(scene.tried))
        return taught(self._expert, memory, goal)

    def lesson(self, request: Request | None = None, part: str | None = None) -> tuple[Lesson, bool]:
        """What to do now or, now and then, a random command, which is not to be learned.

        A command names only what the ``request`` tells, where there is one. Raises ``ModelError`` where the agent left out
        what the expert would name.
        """
        lesson = self.move(part)
        if self._random.random() < self._missteps:
            return replace(lesson, command=self._misstep()), False
        if request is not None and lesson.command != STUCK:
            unknown = [name for name in _named(self.belief, lesson.command) if not _tells(request, name)]
            if unknown:
                raise ModelError(f"The expert would name {unknown[0]}, which the prompt leaves out; this game teaches nothing.")
        return lesson, True

    def _misstep(self) -> str:
        """A random command. Some are refused, as small models' are: the last one again, or a place with too high a number."""
        if self._random.random() < REFUSED and self.belief.receptacles:
            if self._env.played and self._random.random() < REFUSED:
                return self._env.played[-1].command
            place = self._random.choice(self.belief.receptacles).kind
            return f"go to {place} {1 + sum(one.kind == place for one in self.belief.receptacles)}"
        return self._random.choice(self._env.admissible_commands() or ("look",))

    def left(self) -> tuple[GoalStep, ...]:
        """What is left of the goal."""
        return self.goal.steps()[step_of(self.goal, self.belief) :]

    @property
    def advanced(self) -> bool:
        """Whether the last command did a part of the goal, or there was none yet."""
        seen = self.scene.seen
        return not seen or step_of(self.goal, seen[-1][0]) != step_of(self.goal, self.belief)

    def searched(self, thing: str, places: list[str]) -> list[str]:
        """The ``places`` in the order in which ``thing`` is looked for in them."""
        counts, room = HOUSEHOLD.counts(), self._begun.room
        return sorted(places, key=lambda one: (1 + counts.openable(kind(one))) / counts.chance(thing, kind(one), room))

    def matters(self, name: str, subgoals: tuple[GoalStep, ...], *, place: bool) -> bool:
        """Whether a ``place`` or an object matters for any of ``subgoals``, by what usually lies where."""
        if not place:
            return kind(name) in {one.object for one in subgoals}
        if any(kind(name) == one.place for one in with_ways(subgoals)):
            return True
        counts, room = HOUSEHOLD.counts(), self._begun.room
        sought = [one.object for one in subgoals if one.action in {"pick", "use"}]
        return any(counts.chance(thing, kind(name), room) >= RARE for thing in sought if thing)


def _named(belief: Belief, command: str) -> list[str]:
    """What a command names."""
    words = command.split()
    known = {one.name for one in (*belief.receptacles, *belief.items)}
    return [name for name in (" ".join(pair) for pair in pairwise(words)) if name in known]


def _tells(request: Request, name: str) -> bool:
    return any(name in message.content for message in request.messages)
