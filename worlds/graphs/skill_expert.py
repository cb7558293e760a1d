"""The expert of LoTa-Bench's skills: what it can name it can find, so it fetches one thing after the other."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from housequest.worlds.base import Observation
from housequest.worlds.graphs.sentences import read_sentence, spoken
from housequest.worlds.graphs.skills import skills_in
from housequest.worlds.household.skills import skill_words

_SHUT = re.compile(r"The (?P<thing>.+) \d+ is (?:in the (?P<where>.+) \d+, which is )?closed; open (?:that|it) first\.")
_FAR = re.compile(r"You are not close to the (?P<thing>.+) \d+; go to it first\.")
_SO_ALREADY = re.compile(r"The .+ \d+ is (?:open|closed|on) already\.|You hold the .+ \d+ already\.")


@dataclass(frozen=True, slots=True)
class SkillExpertMemory:
    """The skills that are left, the ``names`` of things in skills, which were gone to ``again``, and why it gives up, if it
    does."""

    todo: tuple[str, ...]
    names: frozenset[str] = frozenset()
    again: frozenset[str] = frozenset()
    lost: str = "as far as the expert can tell the goal is reached"


class SkillExpert:
    """A ``Policy`` without a model."""

    def begin(self, goal: str, observation: Observation) -> SkillExpertMemory:
        found = (skill.partition(" a ")[2] or skill.partition(" an ")[2] for skill in skills_in(observation.text))
        names = frozenset(filter(None, found))
        wanted = read_sentence(goal, names)
        if wanted is None:
            return SkillExpertMemory((), names, lost="this goal is in words that the expert cannot read")
        place = wanted.place
        todo: list[tuple[str, str]] = []
        for thing, count in wanted.things.items():
            todo += [("find", thing), ("pick up", thing), ("find", place), ("put down", thing)] * count
        todo += [("close", place), ("switch on", place)] if wanted.switched else []
        return SkillExpertMemory(tuple(skill_words(*one) for one in todo), names)

    def observe(self, memory: SkillExpertMemory, command: str, observation: Observation) -> SkillExpertMemory:
        if not memory.todo or command.strip() != memory.todo[0]:
            return memory
        if observation.accepted or _SO_ALREADY.fullmatch(observation.text):
            return replace(memory, todo=memory.todo[1:])
        if (found := _SHUT.fullmatch(observation.text)) is not None:
            opening = skill_words("open", _name(memory, found["where"] or found["thing"]))
            if opening not in memory.todo[:2]:
                return replace(memory, todo=(opening, *memory.todo))
        elif (found := _FAR.fullmatch(observation.text)) is not None:
            # The door of a closet is not where a box in it is.
            name = _name(memory, found["thing"])
            if name not in memory.again:
                return replace(memory, todo=(skill_words("find", name), *memory.todo), again=memory.again | {name})
        return replace(memory, todo=(), lost=f"{memory.todo[0]} is refused: {observation.text}")

    def decide(self, memory: SkillExpertMemory) -> tuple[str | None, str, SkillExpertMemory]:
        return (memory.todo[0], "", memory) if memory.todo else (None, memory.lost, memory)


def _name(memory: SkillExpertMemory, kind: str) -> str:
    """What a class is called in skills: classes that are called alike have themselves for a name."""
    return kind if kind in memory.names else spoken(kind)
