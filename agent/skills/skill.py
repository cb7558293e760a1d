"""A skill as a value, its text, and what comes of it.

The verbs are those that the papers' planners share, adapted to a text household: LLM-Planner's and LoTa-Bench's
(section 4 of either) name the same few, and OPEx (section 3, "Skill Library") adds ``explore`` and ``look``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from housequest.knowledge.examples import Example
from housequest.worlds.household.goals import GoalStep

Verb = Literal[
    "find", "go", "pick", "put", "open", "close", "heat", "cool", "clean", "use", "slice", "examine", "look", "explore"
]
VERBS: tuple[Verb, ...] = get_args(Verb)

ALONE: frozenset[Verb] = frozenset({"look", "explore"})
"""Verbs without a target."""

AT_RECEPTACLE: frozenset[Verb] = frozenset({"go", "open", "close"})
"""Verbs whose only target is a receptacle."""

_WORDS: dict[Verb, str] = {
    "go": "go to {receptacle}",
    "pick": "pick up {object}",
    "put": "put {object} in {receptacle}",
    "use": "turn on {object}",
    "look": "look around",
    "explore": "explore the room",
    **{verb: f"{verb} {{object}}" for verb in ("find", "slice", "examine")},
    **{verb: f"{verb} {{receptacle}}" for verb in ("open", "close")},
    **{verb: f"{verb} {{object}} with {{receptacle}}" for verb in ("heat", "cool", "clean")},
}


@dataclass(frozen=True, slots=True)
class Skill:
    """A verb with its targets, each a kind ("mug"), a name ("mug 1") or None.

    ``find`` and ``examine`` take either an object or a receptacle as their ``object``. Without a ``receptacle``, ``put`` means
    the one at which the last skill ended, and ``heat``, ``cool`` and ``clean`` mean the appliance for it.
    """

    verb: Verb
    object: str | None = None
    receptacle: str | None = None

    @property
    def text(self) -> str:
        """The skill in words, for prompts and people: "put the mug in the fridge 1"."""
        pattern = _WORDS[self.verb]
        if self.receptacle is None and self.verb not in AT_RECEPTACLE:
            pattern = "put down {object}" if self.verb == "put" else pattern.partition(" with ")[0]
        thing = _with_article(self.object or "it", any_one=self.verb == "find")
        return pattern.format(object=thing, receptacle=_with_article(self.receptacle or "it"))

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class Execute:
    """Give this command next."""

    command: str


@dataclass(frozen=True, slots=True)
class Done:
    """The skill is carried out, according to belief; ``said`` is the result in words."""

    said: str


@dataclass(frozen=True, slots=True)
class Failed:
    """The skill cannot be carried out, for the ``reason``. ``unknown``: it names what was never heard of, which may yet be
    seen.
    """

    reason: str
    unknown: bool = False


Outcome = Execute | Done | Failed


def _with_article(name: str, *, any_one: bool = False) -> str:
    if name == "it":
        return name
    if not any_one or name[-1].isdigit():
        return f"the {name}"
    return f"an {name}" if name[0] in "aeiou" else f"a {name}"


def example_skills(example: Example) -> tuple[Skill, ...]:
    """The skills that win the example's task, with kinds as targets."""
    return tuple(map(as_skill, example.subgoals()))


def as_skill(subgoal: GoalStep) -> Skill:
    """A part of a task as a skill."""
    return Skill(subgoal.action, subgoal.object, subgoal.place)
