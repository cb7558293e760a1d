"""The expert in a model's place: an agent's real code asks, and what the expert would do is the reply, in the role's form."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from importlib import import_module
from itertools import pairwise
from random import Random

from housequest.agent.agents.registry import agent_names, agent_spec
from housequest.agent.models.base import Capabilities, Completion, Message, Model, Request, Scores, TokenChoice
from housequest.agent.roles import brief
from housequest.agent.roles.base import as_chat, load_prompt, plain_text
from housequest.agent.roles.demonstrations import STUCK, DemonstratedRole, Demonstrator, Lesson, Reply, with_ways
from housequest.agent.training.corpus import step_of, taught
from housequest.agent.training.export import Call
from housequest.knowledge.examples import subtasks_of_goal
from housequest.worlds.alfworld.expert import make_expert
from housequest.worlds.alfworld.text import HOUSEHOLD
from housequest.worlds.base import Env, Observation, Step, Transition, World
from housequest.worlds.env import Wrapper
from housequest.worlds.errors import ConfigurationError, ModelError, shown
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
        if new := self._env.played[len(self._scene.seen) :]:
            self._scene = self._scene.after(new, HOUSEHOLD)
        return self._scene

    @property
    def belief(self) -> Belief:
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
            known = {one.name for one in (*self.belief.receptacles, *self.belief.items)}
            for name in map(" ".join, pairwise(lesson.command.split())):
                if name in known and not any(name in message.content for message in request.messages):
                    raise ModelError(f"The expert would name {name}, which the prompt leaves out; this game teaches nothing.")
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
        return self.goal.steps()[step_of(self.goal, self.belief) :]

    @property
    def advanced(self) -> bool:
        seen = self.scene.seen
        return not seen or step_of(self.goal, seen[-1][0]) != step_of(self.goal, self.belief)

    def searched(self, thing: str, places: list[str]) -> list[str]:
        counts, room = HOUSEHOLD.counts(), self._begun.room
        return sorted(places, key=lambda one: (1 + counts.openable(kind(one))) / counts.chance(thing, kind(one), room))

    def matters(self, name: str, subgoals: tuple[GoalStep, ...], *, place: bool) -> bool:
        if not place:
            return kind(name) in {one.object for one in subgoals}
        if any(kind(name) == one.place for one in with_ways(subgoals)):
            return True
        counts, room = HOUSEHOLD.counts(), self._begun.room
        sought = [one.object for one in subgoals if one.action in {"pick", "use"}]
        return any(counts.chance(thing, kind(name), room) >= RARE for thing in sought if thing)


MOST_STEPS = 50
_SEARCHER = "housequest.agent.skills.controller"
_SENTENCE = re.compile(r"^(Thought: |<think>|\d+\. )([a-z])", re.MULTILINE)
"""Where a thought or a step of a plan begins with a small letter."""
_NEVER = -30.0
"""Nats of what the expert would not say."""
_TOLD = ("completions", "log_probabilities", "scoring", "singly", "choices", "bias", "deterministic")
LIKE_LLAMA = Capabilities(**dict.fromkeys(_TOLD, True))
"""What a ``llama:`` model can do that changes a prompt."""


class Teacher(Model):
    """Answers the prompts of ``agent`` by what the expert ``knows``, as a model that ``can`` do so much.

    ``calls`` are what it was asked and said.
    """

    name = "expert"

    def __init__(self, agent: str, knows: Demonstrator, can: Capabilities = LIKE_LLAMA) -> None:
        self._agent, self._knows, self._can = agent, knows, can
        self.calls: list[Call] = []

    async def capabilities(self) -> Capabilities:
        """What changes a prompt. What the expert says needs no form to be held to."""
        return self._can

    async def complete(self, request: Request) -> Completion:
        marked = as_chat(request.text) if request.raw else ()
        said = self._reply(replace(request, messages=marked, raw=False) if marked else request)
        if request.choices is not None and said.text not in request.choices:
            raise ModelError(f"The expert would say {said.text!r}, which is none of the choices; this game teaches nothing.")
        self.calls.append(Call(self._asked(request), said.text, said.learned, request.raw))
        other = "Yes" if said.text == "No" else "No"
        tokens = (TokenChoice(said.text, 0.0, ((said.text, 0.0), (other, _NEVER))),) if request.top_logprobs else ()
        return Completion(said.text, tokens=tokens)

    async def score(self, messages: Sequence[Message], continuations: Sequence[str]) -> Scores:
        """The expert's reply is certain, and no other text is."""
        certain = (await self.complete(Request(messages, choices=continuations))).text
        return Scores(tuple(0.0 if text == certain else -1.0 for text in continuations))

    def _reply(self, request: Request) -> Reply:
        """What the expert says. Raises ``ModelError`` where it does not know the role."""
        text, roles = request.messages[0].content, _roles(self._agent)
        begun = (role for begins, role in roles if text.startswith(begins))
        role = next(begun, None) or next((role for _, role in roles if role.mark and role.mark in text), None)
        if role is None:
            raise ModelError(f"The expert does not know who asks: {text[:60]!r}.")
        said = role.reply(self._knows, request)
        # A model that is held to the role's form begins thoughts and steps with a capital, so it learns to.
        return replace(said, text=_SENTENCE.sub(lambda begun: begun[1] + begun[2].upper(), said.text))

    def _asked(self, request: Request) -> tuple[Message, ...]:
        """The messages of ``request``; of plain text, the lines that were said before are told apart again."""
        if not request.raw:
            return tuple(request.messages)
        text = request.text
        wholes: list[tuple[Message, ...]] = [call.whole for call in self.calls if text.startswith(plain_text(call.whole))]
        told = max(wholes, key=len, default=())
        return (*told, Message("user", text.removeprefix(plain_text(told))))


@cache
def _roles(agent: str) -> tuple[tuple[str, DemonstratedRole], ...]:
    """How the prompts of each role begin that may ask where ``agent`` plays, the longest first."""
    specs = [agent_spec(name) for name in (agent, *agent_spec(agent).wraps) if name in agent_names()]
    modules = [spec.demonstrations for spec in specs if spec.demonstrations]
    modules += [_SEARCHER] if any(spec.searches for spec in specs) else []
    found: list[tuple[str, DemonstratedRole]] = []
    for role in (role for module in modules for role in import_module(module).ROLES):
        sections = load_prompt(role.package, role.template).sections
        found.append(((sections.get("system") or sections["opening"]).partition("$")[0].strip(), role))
    return tuple(sorted(found, key=lambda one: -len(one[0])))


def can_teach(agent: str) -> bool:
    """Whether the expert can write the replies of ``agent``."""
    return agent_spec(agent).demonstrations is not None


def check_taught(agent: str) -> None:
    """Raise ``ConfigurationError`` for an agent whose replies the expert cannot write."""
    spec = agent_spec(agent)
    if not spec.needs_model:
        raise ConfigurationError(f"The agent {shown(agent)} asks no language model, so there is nothing to teach one.")
    if not can_teach(agent):
        known = ", ".join(filter(can_teach, agent_names()))
        raise ConfigurationError(
            f"The expert cannot write the replies of the agent {shown(agent)}, only of {known}. Another agent learns from "
            "games that it won with a stronger model: --from RUN, and without --houses and --games."
        )
