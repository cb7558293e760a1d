"""The expert of LoTa-Bench's skills: what it can name it can find, so it fetches one thing after the other."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from worlds.base import Observation
from worlds.graphs.sentences import read_sentence, spoken
from worlds.graphs.skills import NamedSkill, SkillVerb, skills_in

_SHUT = re.compile(r"The (?P<thing>.+) \d+ is (?:in the (?P<where>.+) \d+, which is )?closed; open (?:that|it) first\.")
_SO_ALREADY = re.compile(r"The .+ \d+ is (?:open|closed|on) already\.")


@dataclass(frozen=True, slots=True)
class SkillExpertMemory:
    """The skills that are left, the ``names`` of things in skills, and why it gives up, if it does."""

    todo: tuple[str, ...]
    names: frozenset[str] = frozenset()
    lost: str = "as far as the expert can tell the goal is reached"


class SkillExpert:
    """A ``Policy`` without a model."""

    def begin(self, goal: str, observation: Observation) -> SkillExpertMemory:
        found = (skill.partition(" a ")[2] or skill.partition(" an ")[2] for skill in skills_in(observation.text))
        names = frozenset(filter(None, found))
        wanted = read_sentence(goal, names)
        if wanted is None:
            return SkillExpertMemory((), names, "this goal is in words that the expert cannot read")
        todo: list[str] = []
        for thing, count in wanted.things.items():
            fetching = _text("find", thing), _text("pick up", thing), _text("find", wanted.place), _text("put down", thing)
            todo += fetching * count
        todo += [_text("close", wanted.place), _text("switch on", wanted.place)] if wanted.switched else []
        return SkillExpertMemory(tuple(todo), names)

    def observe(self, memory: SkillExpertMemory, command: str, observation: Observation) -> SkillExpertMemory:
        if not memory.todo or command.strip() != memory.todo[0]:
            return memory
        if observation.accepted or _SO_ALREADY.fullmatch(observation.text):
            return replace(memory, todo=memory.todo[1:])
        if (found := _SHUT.fullmatch(observation.text)) is not None:
            kind = found["where"] or found["thing"]
            # Classes that are called alike have themselves for a name.
            opening = _text("open", kind if kind in memory.names else spoken(kind))
            if opening not in memory.todo[:2]:
                return replace(memory, todo=(opening, *memory.todo))
        return replace(memory, todo=(), lost=f"{memory.todo[0]} is refused: {observation.text}")

    def decide(self, memory: SkillExpertMemory) -> tuple[str | None, str, SkillExpertMemory]:
        return (memory.todo[0], "", memory) if memory.todo else (None, memory.lost, memory)


def _text(verb: SkillVerb, name: str) -> str:
    return str(NamedSkill(verb, name))
