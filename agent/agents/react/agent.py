"""ReAct: one role that thinks and acts (Yao et al., ReAct, ICLR 2023, section 3), without in-context examples."""

from __future__ import annotations

from dataclasses import dataclass, replace

from housequest.agent.agents.spec import AgentParts, ModelSettings
from housequest.agent.base import Act, Decision, Emitter, Grants, ParseFailure, Turn
from housequest.agent.roles.base import Role, load_prompt
from housequest.agent.roles.messages import RoleMemory, emit_thought, opening_text, system_message, transcript
from housequest.agent.roles.reading import acting_form, command_value, read_command, seen_after
from housequest.worlds.base import Observation
from housequest.worlds.household.belief import Belief


@dataclass(frozen=True, slots=True)
class ReactReply:
    """A thought with the command that follows from it."""

    thought: str
    command: str


def _read(text: str) -> ReactReply:
    said = read_command(text)
    return ReactReply(said.thought, said.command)


REACT: Role[ReactReply] = Role("react", _read, stop=("\nObservation:",))


@dataclass(frozen=True, slots=True)
class ReactMemory:
    """The goal and opening, the conversation so far, the last command, and what was seen, whose names a command may have."""

    goal: str
    opening: Observation
    grants: Grants
    role: RoleMemory
    last: str | None = None
    seen: Belief | None = None


class React:
    """Answers each turn with a thought and a command. Calls a step: 1; needs a chat model."""

    name = "react"

    def __init__(self, parts: AgentParts[ModelSettings]) -> None:
        self._model, self._sampling, self._world = parts.model, parts.sampling, parts.world
        self._prompt = load_prompt("housequest.agent.agents.react", "react")
        self._system = system_message(self._prompt, parts.world, plans=True, manual=parts.world.manual)

    def begin(self, goal: str, observation: Observation, grants: Grants) -> ReactMemory:
        return ReactMemory(goal, observation, grants, RoleMemory((self._system,)))

    async def decide(self, memory: ReactMemory, turn: Turn, emit: Emitter) -> tuple[Decision, ReactMemory]:
        if memory.role.started:
            text = self._prompt.render("turn", observation=transcript(turn.transitions, own=memory.last))
        else:
            text = self._prompt.render("opening", observation=opening_text(memory.opening, memory.goal), goal=memory.goal)
            if turn.transitions:
                text += "\n\n" + transcript(turn.transitions)
        seen = seen_after(self._world.household, memory.seen, memory.opening, turn.transitions)
        reply = REACT.held_to(acting_form(command_value(self._world, seen, turn.admissible)))
        answer, role = await memory.role.ask(reply, self._model, text, turn, memory.grants, emit, self._sampling)
        memory = replace(memory, role=role, last=None, seen=seen)
        if answer.value is None:
            return ParseFailure(REACT.name, answer.reason), memory
        emit_thought(REACT.name, answer.value.thought, emit)
        return Act(answer.value.command), replace(memory, last=answer.value.command)
