"""A fixed set of skills, and which of them can be done now.

LoTa-Bench (section 4.2) has the skills that the ground truth of its ``train`` split uses. Here they are every verb with every
kind of object and receptacle that was counted over ``train`` and that the verb can be done to; a house may lack most of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from agent.skills.skill import Skill, Verb
from worlds.household.belief import Belief
from worlds.household.counts import Counts

_CAN: dict[Verb, str] = {
    "pick": "pickupable",
    "put": "pickupable",
    "heat": "heatable",
    "cool": "coolable",
    "clean": "cleanable",
    "slice": "sliceable",
    "use": "toggleable",
}
"""What must hold for a kind of object."""

_WORDS: dict[Verb, str] = {"find": "go to", "pick": "take", "put": "move"}
"""How a command begins where its skill has another word for it."""

_COMMAND = re.compile(r"(?P<word>go to|[a-z]+) (?P<kind>[A-Za-z][\w-]*) \d+\b", re.ASCII)


@dataclass(frozen=True, slots=True)
class SkillSet:
    """Skills, verb by verb and within each by name; ``places`` are the kinds of receptacle among their targets."""

    skills: tuple[Skill, ...]
    places: frozenset[str]

    def possible(self, belief: Belief, admissible: Iterable[str]) -> frozenset[Skill]:
        """The skills that begin with one of the ``admissible`` commands, as far as belief knows.

        A place is found by going there. An object may be found as long as one was seen, or some place was not looked into.
        """
        commands = {(found["word"], found["kind"]) for found in map(_COMMAND.match, admissible) if found}
        seen = {item.kind for item in belief.items if item.name != belief.held}
        searching = any(one.contents is None for one in belief.receptacles)

        def can(skill: Skill) -> bool:
            target = skill.object or skill.receptacle or ""
            if skill.verb == "find" and target not in self.places:
                return searching or target in seen
            return (_WORDS.get(skill.verb, skill.verb), target) in commands

        return frozenset(filter(can, self.skills))


def fixed_skills(counts: Counts) -> SkillSet:
    """The skills of a table: the same in every episode."""
    useful = [thing for thing in counts.objects() if counts.can.get(thing)]
    places = sorted({place for room in counts.rooms.values() for place in room.receptacles})
    shut = [place for place in places if counts.openable(place) > 0]
    skills = (
        *(Skill("find", thing) for thing in sorted({*useful, *places})),
        *(Skill(verb, thing) for verb, can in _CAN.items() for thing in useful if can in counts.can[thing]),
        *(Skill("open", receptacle=place) for place in shut),
        *(Skill("close", receptacle=place) for place in shut),
    )
    return SkillSet(skills, frozenset(places))
