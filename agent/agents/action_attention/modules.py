"""PET's modules where no language model answers for them: each follows from the texts and the counts of ``train``.

Plan reads the goal: the world's own wording, or a guess at a person's. Track sees in the belief whether the sub-task is done.
Eliminate scores names by how often such things were found at such places.
"""

from __future__ import annotations

from collections.abc import Sequence

from housequest.worlds.household.base import Household
from housequest.worlds.household.belief import Belief, Receptacle, kind
from housequest.worlds.household.counts import Counts
from housequest.worlds.household.goals import ADJECTIVES, APPLIANCES, GoalStep


def subgoals(goal: str, belief: Belief, household: Household) -> tuple[GoalStep, ...]:
    """Plan: the sub-tasks of a goal sentence; none where it cannot be read."""
    read = household.read_goal(goal)
    if read is None:
        kinds = sorted({one.kind for one in belief.receptacles})
        read = household.guess_goal(goal, objects=household.counts().objects(), receptacles=kinds)
    return () if read is None else read.steps()


def finished(subgoal: GoalStep, before: Belief, after: Belief) -> bool:
    """Track: whether the sub-task is done now that a command has led from the belief ``before`` to that ``after``."""
    held = after.item(after.held)
    match subgoal.action:
        case "pick":
            return held is not None and held.kind == subgoal.object
        case "clean":
            return held is not None and held.kind == subgoal.object and bool(held.clean)
        case "heat" | "cool" as treatment:
            return held is not None and held.kind == subgoal.object and held.heat == ADJECTIVES[treatment]
        case "put":
            put = after.item(before.held) if before.held != after.held else None
            return put is not None and put.kind == subgoal.object and kind(put.where or "") == subgoal.place
        case _:
            return any(item.kind == subgoal.object and item.lit for item in after.items)


def relevance(aims: Sequence[GoalStep], belief: Belief, counts: Counts) -> dict[str, float]:
    """Eliminate: how relevant each known name is to ``aims``, from 0 to 1.

    What an aim names, and the appliance that it needs, has 1. Where it has to be searched for something, a place has the chance
    that the thing is there, as a share of the likeliest place's; one where such a thing was seen has 1.
    """
    room = counts.room_of(one.kind for one in belief.receptacles)
    scores = {one.name: 0.0 for one in (*belief.receptacles, *belief.items)}
    for aim in aims:
        sought = aim.object if aim.action in {"pick", "use"} else None
        chances = {one.name: counts.chance(sought, one.kind, room) for one in belief.receptacles} if sought else {}
        likeliest = max(chances.values(), default=1.0)
        for one in belief.receptacles:
            known = _named(aim, one) or any(kind(name) == sought for name in belief.inside(one))
            scores[one.name] = max(scores[one.name], 1.0 if known else chances.get(one.name, 0.0) / likeliest)
        for item in belief.items:
            scores[item.name] = max(scores[item.name], float(item.kind == aim.object))
    return scores


def _named(aim: GoalStep, one: Receptacle) -> bool:
    appliance = next((place for treatment, place in APPLIANCES.items() if treatment == aim.action), None)
    return one.kind in {aim.place, appliance}
