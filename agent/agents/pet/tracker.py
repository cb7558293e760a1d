"""The tracker of PET: whether the present sub-task is finished, seen from the last few steps (PET, section 3.3)."""

from __future__ import annotations

from collections.abc import Sequence

from agent.agents.pet import verdict
from agent.roles.base import Role, load_prompt
from agent.roles.story import told
from worlds.base import Transition

CONTEXT = 3
"""Steps that are shown at most."""

TRACKER: Role[bool] = Role("tracker", verdict.strict, verdict.lenient)


def question(subtask: str, steps: Sequence[Transition]) -> str:
    """What the tracker is asked after ``steps``, the last few of the sub-task."""
    return load_prompt(TRACKER.name).render("question", story=told(steps), subtask=subtask)
