"""What planners of skills move: a household in text, or the body with a camera of the group ``housequest.bodies``. OPEx,
LLM-Planner and the Socratic Planner plan for either alike.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from housequest.agent.agents.spec import AgentParts, ExampleSettings
from housequest.worlds.options import option
from housequest.worlds.plugins import load_plugin

if TYPE_CHECKING:
    from housequest.agent.agents.bodies.base import Body
    from housequest.agent.skills.controller import PlannerSearch


@dataclass(frozen=True, slots=True)
class CameraSettings(ExampleSettings):
    """The settings of an agent that plays by a camera where its world shows pictures: each heuristic can be left out."""

    seeing: str = option("truth", "with a camera: what perception makes of frames (truth, noisy:miss=0.2,...)")
    votes: bool = option(True, "with a camera: look for things on the map by votes of viewpoints first")
    traversable: bool = option(True, "with a camera: walk to where a thing can be acted on, not to the thing")
    corners: bool = option(True, "with a camera: explore the four corners of the room first")
    replay: bool = option(True, "with a camera: go back to where something was sliced")
    look_around: bool = option(True, "with a camera: look around before exploring")
    adjust: bool = option(True, "with a camera: try from another place what failed from one")
    peek: bool = option(True, "with a camera: open closed receptacles to look for things")


def make_body(parts: AgentParts[CameraSettings], search: PlannerSearch) -> Body:
    """What an agent's skills move in its world; ``search`` is by what places are searched in text.

    Raises ``ConfigurationError`` where a camera needs a body that is not installed.
    """
    if parts.world.pictured:
        return load_plugin("housequest.bodies", "camera", "body")(parts)
    from housequest.agent.agents.bodies.text import TextBody

    return TextBody(parts, search)
