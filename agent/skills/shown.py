"""Examples as skills: what was done in a task that was won, in the words of the skills that would do it."""

from __future__ import annotations

from agent.skills.skill import Skill
from knowledge.examples import Example


def skills_of(example: Example) -> tuple[Skill, ...]:
    """The skills by which the example's task is won, each with kinds as targets."""
    return tuple(Skill(one.action, one.object, one.place) for one in example.subgoals())
