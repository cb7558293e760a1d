"""ReAct: one role that thinks and acts (Yao et al., ReAct, ICLR 2023, section 3), without in-context examples."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from agent.base import Act, Decision, Emitter, Grants, ParseFailure, Turn
from agent.episodes import events
from agent.models.base import Model
from agent.roles.base import ReplyError, Role, Sampling, ask, load_prompt
from agent.roles.messages import RoleMemory, additions, emit_rules, opening_text, system_message, transcript
from agent.roles.reading import checked, plain, read_command, thought
from worlds.base import Observation, World

_STRICT = re.compile(r"Thought: ?(?P<thought>[^\n]*)\nAction: ?(?P<command>[^\n]+)")


@dataclass(frozen=True, slots=True)
class ReactReply:
    """A thought with the command that follows from it."""

    thought: str
    command: str


def _strict(text: str) -> ReactReply:
    match = _STRICT.fullmatch(text)
    if match is None or not plain(match["command"].strip()):
        raise ReplyError('there is no line "Thought: ..." followed by one line "Action: ...".')
    return ReactReply(thought(match["thought"]), checked(match["command"].strip()))


def _lenient(text: str) -> ReactReply:
    said = read_command(text)
    return ReactReply(said.thought, said.command)


REACT: Role[ReactReply] = Role("react", _strict, _lenient, stop=("\nObservation:",))


@dataclass(frozen=True, slots=True)
class ReactMemory:
    """The goal and opening, the conversation so far, and the last command."""

    goal: str
    opening: Observation
    grants: Grants
    role: RoleMemory
    last: str | None = None


class React:
    """Answers each turn with a thought and a command. Calls a step: 1; needs a chat model."""

    name = "react"

    def __init__(self, model: Model, world: World, sampling: Sampling) -> None:
        self._model = model
        self._prompt = load_prompt("agent.agents.react", "react")
        self._system = system_message(self._prompt, world, manual=world.manual)
        self._sampling = sampling

    def begin(self, goal: str, observation: Observation, grants: Grants) -> ReactMemory:
        return ReactMemory(goal, observation, grants, RoleMemory((self._system,)))

    async def decide(self, memory: ReactMemory, turn: Turn, emit: Emitter) -> tuple[Decision, ReactMemory]:
        role, first = memory.role, not memory.role.started
        if first:
            text = self._prompt.render("opening", observation=opening_text(memory.opening, memory.goal), goal=memory.goal)
            if turn.transitions:
                text += "\n\n" + transcript(turn.transitions)
        else:
            text = self._prompt.render("turn", observation=transcript(turn.transitions, own=memory.last))
        text += additions(turn, role.shown_rules, memory.grants, first=first)
        emit_rules(turn.rules, role.shown_rules, emit)
        answer = await ask(REACT, self._model, role.conversation, text, emit, self._sampling)
        memory = replace(memory, role=role.after(answer.conversation, turn), last=None)
        if answer.value is None:
            return ParseFailure(REACT.name, answer.reason), memory
        if answer.value.thought:
            emit(events.Thought(role=REACT.name, text=answer.value.thought))
        return Act(answer.value.command), replace(memory, last=answer.value.command)
