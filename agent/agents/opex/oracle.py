"""OPEx by a camera with the annotated plan in place of its language models, which measures the action policy alone."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from housequest.agent.agents.bodies import BodyPlayer
from housequest.agent.agents.spec import AgentParts
from housequest.agent.alfred.robot import RobotBody, RobotState
from housequest.agent.alfred.seeing.state import skills_of
from housequest.agent.base import Act, Decision, Emitter, GiveUp, Grants, Turn
from housequest.agent.episodes import events
from housequest.agent.skills.controller import Done, Execute, Failed
from housequest.agent.skills.skill import Skill
from housequest.worlds.base import Observation
from housequest.worlds.errors import ConfigurationError

if TYPE_CHECKING:
    from housequest.agent.agents.opex import OpexSettings


@dataclass(frozen=True, slots=True, eq=False)
class OracleMemory:
    """The annotated plan as skills, and the number of the one in progress."""

    skills: tuple[Skill, ...]
    state: RobotState
    step: int = -1
    again: bool = False


class OraclePlayer(BodyPlayer):
    """OPEx's action policy with the annotated plan in place of planner, observer and executor. Calls no model.

    A skill that fails is tried once more; if it fails again, the player gives up.
    """

    name = "opex"

    def __init__(self, parts: AgentParts[OpexSettings]) -> None:
        self._body = RobotBody(parts)
        self.picture_size = self._body.picture_size

    def begin(self, goal: str, observation: Observation, grants: Grants) -> OracleMemory:
        if grants.plan is None:
            raise ConfigurationError("planner=oracle carries out the annotated plan, which is hidden; give --grant plan.")
        return OracleMemory(skills_of(grants.plan), self._body.begin(goal, observation))

    async def decide(self, memory: OracleMemory, turn: Turn, emit: Emitter) -> tuple[Decision, OracleMemory]:
        memory = await self.attend(memory, turn)
        if memory.step < 0:
            steps = tuple(skill.text for skill in memory.skills)
            emit(events.Planned(role="oracle", steps=steps, revision=0, reason="people annotated it"))
            memory = self._started(memory, 0, emit)
        while memory.step < len(memory.skills):
            outcome, state = await self._body.proceed(memory.state, "", emit, ())
            memory = replace(memory, state=state)
            match outcome:
                case Execute(command=command):
                    return Act(command), memory
                case Done():
                    memory = self._started(memory, memory.step + 1, emit)
                case Failed(reason=reason) if memory.again:
                    return GiveUp(f"{memory.skills[memory.step].text}: {reason}"), memory
                case Failed():
                    skill = memory.skills[memory.step]
                    memory = replace(memory, again=True, state=self._body.start(memory.state, skill))
        return GiveUp("the annotated plan is carried out, and the task is not done"), memory

    def _started(self, memory: OracleMemory, step: int, emit: Emitter) -> OracleMemory:
        if step >= len(memory.skills):
            return replace(memory, step=step)
        if step:
            emit(events.Progressed(role="oracle", step=step))
        skill = memory.skills[step]
        if skill.verb == "pick" and skill.object == memory.state.knowledge.held:
            # A person has picked it up already.
            return self._started(memory, step + 1, emit)
        return replace(memory, step=step, again=False, state=self._body.start(memory.state, skill))
