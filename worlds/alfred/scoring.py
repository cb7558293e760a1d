"""What a plan is worth: exact match, goal-reaching, and the share of goal conditions met.

*Exact* is the papers' high-level planning accuracy: the plan is the annotated one, subgoal by subgoal. *Goal-reaching* is a
relaxed measure of our own: executed on the symbolic model, the plan is never refused and ends with every goal condition met.
It is not the RelaxedHLP of the Socratic Planner, whose accepted plans are listed by rule. *Wherever* is goal-reaching with the
places of all things left open, which is what a planner is worth that was not told where anything lies.
"""

from __future__ import annotations

from dataclasses import dataclass

from worlds.alfred.execute import Refusal, execute
from worlds.alfred.plans import Plan
from worlds.alfred.state import Scene
from worlds.alfred.tasks import Demonstration


@dataclass(frozen=True, slots=True)
class Score:
    """A plan's worth. ``met`` of ``conditions`` hold where the plan ends or is refused, by its most favourable reading."""

    exact: bool
    reaches: bool
    wherever: bool
    met: int
    conditions: int
    refusal: Refusal | None = None

    @property
    def share(self) -> float:
        """The share of goal conditions met."""
        return self.met / self.conditions


def score(plan: Plan, demonstration: Demonstration) -> Score:
    """Score ``plan`` against a demonstration's own plan, goal and room. The empty plan is scored like any other."""
    met, refusal = _outcome(plan, demonstration, demonstration.scene)
    total = demonstration.goal.total
    reaches = refusal is None and met == total
    met_anywhere, refused_anywhere = (met, refusal) if reaches else _outcome(plan, demonstration, demonstration.scene.opened())
    return Score(
        exact=plan == demonstration.plan,
        reaches=reaches,
        wherever=refused_anywhere is None and met_anywhere == total,
        met=met,
        conditions=total,
        refusal=refusal,
    )


def _outcome(plan: Plan, demonstration: Demonstration, scene: Scene) -> tuple[int, Refusal | None]:
    execution = execute(plan, scene)
    return max(demonstration.goal.met(state) for state in execution.states), execution.refusal
