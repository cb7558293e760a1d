"""The expert in a world with pictures: it plays the demonstration, or carries out its own plan by a body with a camera.

Made-up houses have no demonstration. There it reads the goal, and knows the house from its pictures alone, as every agent with
a camera does. It cannot read goals in people's own words.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

from housequest.agent.agents.bodies import SkillsMemory, SkillsPlayer, make_body
from housequest.agent.agents.spec import AgentParts, CameraSettings
from housequest.agent.agents.unaided.players import PolicyAgent
from housequest.agent.base import Decision, Emitter, Grants, Impression, Memory, Turn
from housequest.worlds.base import Observation
from housequest.worlds.household.goals import KNIVES, Skill


class CarefulSettings(CameraSettings):
    """The settings of a body that sees the names of things in its pictures."""

    careful: ClassVar[bool] = True


class CameraExpert(SkillsPlayer):
    """Plays by ``demonstrating`` if that knows what to do at first, else by its pictures."""

    role = "expert"
    reason = "the goal asks for it"

    def __init__(self, parts: AgentParts[Any], demonstrating: PolicyAgent) -> None:
        super().__init__(demonstrating.name, make_body(replace(parts, settings=CarefulSettings()), "counts"))
        self._demonstrating = demonstrating

    def begin(self, goal: str, observation: Observation, grants: Grants) -> Memory:
        shown, skills = self._demonstrating.begin(goal, observation, grants), self._body.steps(goal)
        if skills is None or self._demonstrating.knows(shown):
            return shown
        return SkillsMemory(skills, self._body.begin(observation, goal))

    async def attend(self, memory: Memory, turn: Turn) -> Memory:
        return await super().attend(memory, turn) if isinstance(memory, SkillsMemory) else memory

    async def decide(self, memory: Memory, turn: Turn, emit: Emitter) -> tuple[Decision, Memory]:
        by_body = isinstance(memory, SkillsMemory)
        return await (super() if by_body else self._demonstrating).decide(memory, turn, emit)

    def doing(self, memory: Memory) -> str:
        return super().doing(memory) if isinstance(memory, SkillsMemory) else ""

    def impression(self, memory: Memory) -> Impression | None:
        return super().impression(memory) if isinstance(memory, SkillsMemory) else None

    def chosen(self, memory: SkillsMemory, skill: Skill) -> Skill:
        if [one.verb for one in memory.skills[memory.step + 1 :][:1]] != ["slice"]:
            return skill
        # Any knife will do: first one that was seen, then another kind.
        kinds = [one for one in KNIVES if one in self._body.told(memory.state).seen] or KNIVES
        return replace(skill, object=kinds[-1 if memory.again else 0])
