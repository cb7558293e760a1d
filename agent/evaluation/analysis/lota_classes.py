"""LoTa-Bench's six classes of failure (Choi et al., ICLR 2024, table 1), which people assigned there and rules assign here.

Of a game they follow from its own class (`failures`): a text world has no space to run out of, and what somebody meant is not
in it, so three of them are never told. Of a whole plan all six are, by `housequest.agent.alfred.plans.failures`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from enum import StrEnum

from housequest.agent.evaluation.analysis.failures import FailureKind


class LotaClass(StrEnum):
    """The classes in the paper's order, in few words."""

    PLANNING = "action planning"
    SELECTION = "object selection"
    SEEING = "absence of visual grounding"
    PHYSICS = "lack of physical understanding"
    MISUNDERSTOOD = "misunderstood instruction"
    AMBIGUOUS = "ambiguous or incorrect instruction"


_OF_KINDS: dict[FailureKind, LotaClass] = {
    FailureKind.NOT_FOUND: LotaClass.SEEING,
    FailureKind.WRONG_OBJECT: LotaClass.SELECTION,
    FailureKind.WRONG_PLACE: LotaClass.SELECTION,
    **dict.fromkeys(
        (
            FailureKind.FORGOT_CLEAN,
            FailureKind.FORGOT_HEAT,
            FailureKind.FORGOT_COOL,
            FailureKind.FORGOT_LIGHT,
            FailureKind.GAVE_UP,
            FailureKind.PLANNER,
            FailureKind.REPLANNED,
            FailureKind.LOOPED,
            FailureKind.OUT_OF_TURNS,
        ),
        LotaClass.PLANNING,
    ),
}


def of_games(lost: Mapping[FailureKind, Collection[object]]) -> dict[LotaClass, int]:
    """How many of the games ``lost``, by their own class, are in each class.

    What broke, was stopped or could not be read is in none: no plan failed there, nor where a robot that sees only bumped into
    things, failed to act on them or left them closed.
    """
    return counted(_OF_KINDS.get(kind) for kind, games in lost.items() for _ in games)


def counted(classes: Iterable[LotaClass | None]) -> dict[LotaClass, int]:
    """How often each class occurs, in the paper's order; classes that do not occur are left out."""
    counts = Counter(classes)
    return {each: counts[each] for each in LotaClass if counts[each]}


def told(counts: dict[LotaClass, int]) -> str:
    """The counts in a sentence; empty where there are none."""
    total = sum(counts.values())
    shares = ", ".join(f"{each} {count} ({count / total:.0%})" for each, count in counts.items())
    return f"In LoTa-Bench's classes: {shares}." if counts else ""
