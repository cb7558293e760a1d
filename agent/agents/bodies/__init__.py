"""What planners of skills move: a household in text, or the body with a camera of the group ``housequest.bodies``. OPEx,
LLM-Planner and the Socratic Planner plan for either alike.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from housequest.agent.agents.spec import AgentParts, CameraSettings
from housequest.worlds.plugins import load_plugin

if TYPE_CHECKING:
    from housequest.agent.agents.bodies.base import Body
    from housequest.agent.skills.controller import PlannerSearch


def make_body(parts: AgentParts[CameraSettings], search: PlannerSearch) -> Body:
    """What an agent's skills move in its world; ``search`` is by what places are searched in text.

    Raises ``ConfigurationError`` where a camera needs a body that is not installed.
    """
    if parts.world.pictured:
        return load_plugin("housequest.bodies", "camera", "body")(parts)
    from housequest.agent.agents.bodies.text import TextBody

    return TextBody(parts, search)
