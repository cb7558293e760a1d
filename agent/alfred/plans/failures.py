"""Why a whole plan missed its goal, in LoTa-Bench's six classes (table 1), by rules over plan, goal and instruction.

A thing or place other than the goal's comes first, as people would see it first: it is a misunderstood instruction if a word
of it could mean both ("lamp"), an ambiguous or incorrect one if the person named another thing or none, and else an object
selection failure. After that the refused step decides, and a plan without a refusal left a step out.
"""

from __future__ import annotations

import re

from housequest.agent.alfred.plans.pool import PlanTask
from housequest.agent.evaluation.analysis.failures import LotaClass
from housequest.worlds.alfred.model import Cause
from housequest.worlds.alfred.plans import Plan
from housequest.worlds.alfred.scoring import AlfredGoal, PlanScore
from housequest.worlds.household.goals import KNIVES, SYNONYMS

_LONGEST_NAME = 4
"""Words that a name may be written with: "hand towel holder"."""
_SHORTEST_PART = 3
"""Letters of a word that may mean a part of a name."""

_WORD = re.compile(r"[a-z]+")
_CAUSES: dict[Cause, LotaClass] = {
    "unknown name": LotaClass.SELECTION,
    "not in this room": LotaClass.SELECTION,
    "not here": LotaClass.SEEING,
    "hand full": LotaClass.PHYSICS,
    "does not go there": LotaClass.PHYSICS,
    "not possible with it": LotaClass.PHYSICS,
    "not in hand": LotaClass.PLANNING,
    "no knife in hand": LotaClass.PLANNING,
    "not at the appliance": LotaClass.PLANNING,
}
"""What a refusal says of the plan: that a thing is not where it looked for it, what the robot's body does not allow, or that a
step is missing before it."""


def plan_failure(plan: Plan, task: PlanTask, worth: PlanScore) -> LotaClass | None:
    """The class of a plan that was scored ``worth``; None if it reaches its goal."""
    if worth.reaches:
        return None
    words = _WORD.findall(task.instruction.text(stepwise=True).lower())
    for wanted, instead in _mistaken(plan, task.demonstration.goal):
        if _named(wanted, words):
            return LotaClass.SELECTION
        part = _part(wanted, words)
        if not part:
            return LotaClass.AMBIGUOUS
        return LotaClass.MISUNDERSTOOD if part & _part(instead, words) else LotaClass.SELECTION
    return _CAUSES[worth.refusal.cause] if worth.refusal else LotaClass.PLANNING


def _mistaken(plan: Plan, goal: AlfredGoal) -> list[tuple[str, str]]:
    """What the goal is about and the plan leaves out, each with what it used in its place."""
    taken = [step.thing for step in plan if step.action == "PickupObject"]
    places = [step.receptacle for step in plan if step.action == "PutObject" and step.receptacle]
    lit = [step.thing for step in plan if step.action == "ToggleObject"]
    own = {goal.object, goal.receptacle, goal.movable, goal.lamp, *(KNIVES if goal.sliced else ())}
    used = ((goal.object, taken), (goal.movable, [*taken, *places]), (goal.lamp, lit), (goal.receptacle, places))
    pairs: list[tuple[str, str]] = []
    for wanted, there in used:
        instead = next((name for name in there if name not in own), None)
        if wanted and instead and wanted not in there:
            pairs.append((wanted, instead))
    return pairs


def _named(kind: str, words: list[str]) -> bool:
    """Whether the instruction names ``kind``, in one word or several ("desk lamp"), or several of it, or by a usual synonym."""
    spans = ("".join(words[at : at + length]) for length in range(1, _LONGEST_NAME + 1) for at in range(len(words)))
    forms = {form for span in spans for form in (span, span.removesuffix("s"), span.removesuffix("es"))}
    # A synonym that is a part of the name may mean another one, such as "lamp".
    return kind in forms or any(SYNONYMS.get(form) == kind and form not in kind for form in forms)


def _part(kind: str, words: list[str]) -> set[str]:
    """The words that name a part of ``kind``: "lamp" of a floorlamp."""
    singular = {word.removesuffix("s") for word in words} | set(words)
    return {word for word in singular if len(word) >= _SHORTEST_PART and (kind.endswith(word) or kind.startswith(word))}
