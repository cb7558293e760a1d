"""The expert in a model's place: an agent's real code asks, and what the expert would do is the reply, in the role's form."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from random import Random

from agent.agents.lota.carrying import winning_skills
from agent.agents.lota.selector import DONE, said
from agent.agents.reasoner_actor.prompting import PACKAGE
from agent.export.conversations import Call
from agent.models.base import Capabilities, Completion, Message, Model, Request, Scores
from agent.roles import brief
from agent.roles.base import load_prompt
from agent.roles.messages import system_message
from agent.training.demonstrations import STUCK, Lesson, planned, taught
from agent.training.wordings import SearchOrder
from knowledge.examples import Example, of_trajectory
from worlds.alfworld.expert import make_expert
from worlds.alfworld.text import HOUSEHOLD
from worlds.base import Env, Observation, Step, Trajectory, Transition, World
from worlds.errors import ConfigurationError, ModelError, shown
from worlds.household.goals import Goal
from worlds.wrappers import Wrapper

MOST_STEPS = 50
_KEPT = "Thought: the plan is right\nPlan: keep"


class Watched(Wrapper):
    """An env whose texts the teacher hears."""

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


class Teacher(Model):
    """Answers the prompts of ``agent`` in one game, whose goal is meant as ``goal``; ``calls`` are what it was asked and said.

    A share ``missteps`` of the replies that name a command name a random one, which is not to be learned; so the expert's way
    back is among the lessons. Raises ``ConfigurationError`` for an agent whose replies it cannot write.
    """

    name = "expert"

    def __init__(self, agent: str, world: World, env: Watched, goal: Goal, random: Random, *, missteps: float) -> None:
        self._reply = replies_of(agent)
        self._world, self.env, self.goal = world, env, goal
        self._random, self._missteps = random, missteps
        self._expert = make_expert()
        self.calls: list[Call] = []
        self._begun = replace(self._expert.begin("", env.opening), goal=goal)
        self._scene = brief.BriefState(self._begun.belief)

    async def capabilities(self) -> Capabilities:
        """Those of a ``llama:`` model that change a prompt. What the expert says needs no form to be held to."""
        return Capabilities(completions=True, scoring=True, singly=True, choices=True, bias=True, deterministic=True)

    async def complete(self, request: Request) -> Completion:
        reply, learned = self._reply(self, request)
        if request.choices is not None and reply not in request.choices:
            raise ModelError(f"The expert would say {reply!r}, which is none of the choices; this game teaches nothing.")
        self.calls.append(Call(tuple(request.messages), reply, learned))
        return Completion(reply)

    async def score(self, messages: Sequence[Message], continuations: Sequence[str]) -> Scores:
        """The expert's reply is certain, and no other text is."""
        reply = (await self.complete(Request(messages, choices=continuations))).text
        return Scores(tuple(0.0 if text == reply else -1.0 for text in continuations))

    def lesson(self) -> tuple[Lesson, bool]:
        """What to do now, and whether that is to be learned."""
        new = self.env.played[len(self._scene.seen) :]
        self._scene = scene = self._scene.after(new, HOUSEHOLD)
        memory = replace(self._begun, belief=scene.belief, failed=frozenset(scene.tried))
        lesson = taught(self._expert, memory, self.goal)
        if self._random.random() >= self._missteps:
            return lesson, True
        return replace(lesson, command=self._random.choice(self.env.admissible_commands() or ("look",))), False

    @cached_property
    def skills(self) -> tuple[str, ...]:
        """The skills that win the game, in the expert's order. Raises ``ModelError`` where it does not win."""
        return winning_skills(self._won())

    def plan(self) -> str:
        """The plan for the goal, as the reasoner writes it."""
        return planned(self.goal, SearchOrder())

    def is_role(self, request: Request, role: str) -> bool:
        """Whether reasoner-actor's ``role`` asks."""
        return request.messages[0] == system_message(load_prompt(PACKAGE, role), self._world, manual=self._world.manual)

    def _won(self) -> Example:
        """The game as the expert wins it from its beginning."""
        env = self._world.open(self.env.task)
        opening = env.reset().observation
        memory = replace(self._expert.begin("", opening), goal=self.goal)
        steps: list[Transition] = []
        while len(steps) < MOST_STEPS:
            command, _, memory = self._expert.decide(memory)
            if command is None:
                break
            step = env.step(command)
            memory = self._expert.observe(memory, command, step.observation)
            steps.append(Transition(command, step.observation))
            if step.won:
                return of_trajectory(Trajectory(env.task.goal, opening, tuple(steps)), env.task.type, env.task.reference)
        raise ModelError("The expert does not win this game; it teaches nothing.")


def _skill(teacher: Teacher, request: Request) -> tuple[str, bool]:
    """The skill that comes next; ``done`` after the last."""
    at = sum(message.role == "assistant" for message in request.messages)
    return said(teacher.skills[at] if at < len(teacher.skills) else DONE), True


def _command(teacher: Teacher, _: Request) -> tuple[str, bool]:
    """A thought and a command; who cannot say that it is stuck looks round."""
    lesson, learned = teacher.lesson()
    command = "look" if lesson.command == STUCK else lesson.command
    return f"Thought: {lesson.thought}\nAction: {command}", learned


def _plan_or_step(teacher: Teacher, request: Request) -> tuple[str, bool]:
    """A plan, or that it is kept, or the actor's next command."""
    if not teacher.is_role(request, "reasoner"):
        lesson, learned = teacher.lesson()
        return str(lesson), learned
    asked_before = any(message.role == "assistant" for message in request.messages)
    return (_KEPT if asked_before else teacher.plan()), True


_REPLIES: Mapping[str, Callable[[Teacher, Request], tuple[str, bool]]] = {
    "lota": _skill,
    "saycan": _skill,
    "react": _command,
    "reasoner-actor": _plan_or_step,
}


def replies_of(agent: str) -> Callable[[Teacher, Request], tuple[str, bool]]:
    """How the replies of ``agent`` are written, each with whether it is to be learned. Raises ``ConfigurationError``."""
    if agent not in _REPLIES:
        raise ConfigurationError(
            f"The expert cannot write the replies of the agent {shown(agent)}, only of {', '.join(_REPLIES)}. Another agent "
            "learns from games that it won with a stronger model: --from RUN."
        )
    return _REPLIES[agent]


def watched(env: Env) -> Watched:
    """``env``, begun, with a teacher's ears."""
    env = Watched(env)
    env.reset()
    return env
