"""The oracle planner: the subgoals of an annotated plan as skills, so that the action policy can be measured by itself.

OPEx's own planner is a language model; what people annotated is hidden knowledge, which has to be granted.
"""

from __future__ import annotations

from collections.abc import Sequence

from housequest.agent.skills.skill import Skill
from housequest.worlds.alfred.plans import TREATMENTS

SLICED = {"egg": "eggcracked"}
"""What a kind is called when it was sliced, if it is not the kind with ``sliced`` after it."""


def sliced(kind: str) -> str:
    """What a slice of this kind is called."""
    return SLICED.get(kind, f"{kind}sliced")


def skills_of(plan: Sequence[tuple[str, ...]]) -> tuple[Skill, ...]:
    """The skills of an annotated plan: subgoals of ALFRED's, each an action with its names, such as ``PutObject apple fridge``.

    A ``GotoLocation`` says where the next subgoal takes place; what is sliced is a slice from then on.
    """
    skills: list[Skill] = []
    cut: set[str] = set()
    place: str | None = None
    for action, *names in plan:
        thing = names[0]
        named = sliced(thing) if thing in cut else thing
        match action:
            case "GotoLocation":
                place = thing
                continue
            case "PickupObject":
                skills.append(Skill("pick", named, place if place != thing else None))
            case "PutObject":
                skills.append(Skill("put", named, names[1]))
            case "SliceObject":
                skills.append(Skill("slice", thing))
                cut.add(thing)
            case "ToggleObject":
                skills.append(Skill("use", thing))
            case _:
                skills.append(Skill(TREATMENTS[action], named))
        place = None
    return tuple(skills)
