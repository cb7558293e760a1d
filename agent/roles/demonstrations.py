"""The contract of an expert that replies in a model's place, so that a model learns to play; and reading what prompts tell it.

An agent that can be taught has a module with its ``ROLES``, named in its spec (`AgentSpec.demonstrations`). Each gives the
expert's reply, from what the agent was told, the rest of the goal and the next command.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from housequest.agent.models.base import Request
from housequest.agent.roles.brief import BriefState
from housequest.knowledge.examples import subtask_words, subtasks_of_goal
from housequest.worlds.base import World
from housequest.worlds.household.goals import APPLIANCES, Goal, Skill

STUCK = "stuck"


@dataclass(frozen=True, slots=True)
class Lesson:
    """The next thing to do: a thought, the step of the plan that it belongs to (from 1), and a command or ``stuck``."""

    thought: str
    step: int
    command: str

    @property
    def playable(self) -> str:
        """The command; ``look`` for a player that cannot say that it is stuck."""
        return "look" if self.command == STUCK else self.command


@dataclass(frozen=True, slots=True)
class Reply:
    """The expert's reply; ``learned``: it is good for training."""

    text: str
    learned: bool = True


class Demonstrator(Protocol):
    """The expert in one game. It knows the goal and the texts that the agent was told, and no more.

    ``scene`` is the belief with the commands that led to it. ``advanced``: the last command did a part of the goal, or there
    was none yet. ``move`` is the next thing to do. ``lesson`` is the same for a ``part`` of the goal or for all of it,
    naming only what the ``request`` tells, and whether to learn it, since some commands are random; it raises ``ModelError``
    if the agent left out what the expert would name. ``searched`` sorts ``places`` by where to look first for ``thing``.
    ``matters`` is True if a ``place`` or an object matters for any of ``subgoals``, judged by what usually lies where."""

    @property
    def world(self) -> World: ...
    @property
    def goal(self) -> Goal: ...
    @property
    def scene(self) -> BriefState: ...
    @property
    def advanced(self) -> bool: ...
    def left(self) -> tuple[Skill, ...]: ...
    def move(self) -> Lesson: ...
    def lesson(self, request: Request | None = None, part: str | None = None) -> tuple[Lesson, bool]: ...
    def searched(self, thing: str, places: list[str]) -> list[str]: ...
    def matters(self, name: str, subgoals: tuple[Skill, ...], *, place: bool) -> bool: ...


class DemonstratedRole(NamedTuple):
    """A role with the expert's reply. Its prompts begin as the template does, or contain the ``mark``."""

    package: str
    template: str
    reply: Callable[[Demonstrator, Request], Reply]
    mark: str = ""


def asked(request: Request) -> str:
    """The last message, which asks for the reply."""
    return request.messages[-1].content


def asked_before(request: Request) -> bool:
    """True if the role was asked before in this conversation."""
    return any(message.role == "assistant" for message in request.messages)


def told(text: str, label: str) -> str:
    """The text after the last ``label`` of a prompt, up to the end of its line."""
    return text.rpartition(label)[2].partition("\n")[0]


def shown_part(knows: Demonstrator, request: Request) -> str | None:
    """The part of the goal that is shown as if it were the task; None if all of it is."""
    task = told(request.messages[1].content, "\nTask: ")
    return task if task in subtasks_of_goal(knows.goal) else None


def left_in_words(knows: Demonstrator) -> str:
    return ", then ".join(map(subtask_words, knows.left()))


def sentence(words: str) -> str:
    return f"{words[0].upper()}{words[1:]}."


def with_ways(subgoals: Iterable[Skill]) -> Iterator[Skill]:
    """Each of ``subgoals`` after finding its object, or going to its place."""
    for one in subgoals:
        match one.verb:
            case "heat" | "cool" | "clean" as treatment:
                yield Skill("go", receptacle=APPLIANCES[treatment])
                yield Skill(treatment, one.object, APPLIANCES[treatment])
            case "put":
                yield Skill("go", receptacle=one.receptacle)
                yield one
            case _:
                yield Skill("find", one.object)
                yield one
