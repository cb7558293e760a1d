"""ReAct: one role that thinks and acts (Yao et al., ReAct, ICLR 2023), without in-context examples."""

from __future__ import annotations

from dataclasses import dataclass, replace

from agent.agents.react.role import REACT
from agent.base import Act, Decision, Emitter, Grants, ParseFailure, Turn
from agent.episodes import events
from agent.models.base import Message, Model
from agent.roles.base import Conversation, Sampling, ask, load_prompt
from agent.roles.story import additions, rules_after, tell_rules, told
from knowledge.rules import Rule
from worlds.base import Observation


@dataclass(frozen=True, slots=True)
class ReactMemory:
    """The conversation so far, the rules shown in it, and the command given last."""

    goal: str
    opening: Observation
    grants: Grants
    conversation: Conversation
    shown_rules: tuple[Rule, ...] = ()
    last: str | None = None


class React:
    """Plays with a thought and a command a turn. Calls a step: 1; needs a chat model, nothing more."""

    name = "react"

    def __init__(self, model: Model, manual: str, sampling: Sampling) -> None:
        self._model = model
        self._system = Message("system", load_prompt("react").render("system", manual=manual))
        self._sampling = sampling

    def begin(self, goal: str, observation: Observation, grants: Grants) -> ReactMemory:
        return ReactMemory(goal, observation, grants, (self._system,))

    async def decide(self, memory: ReactMemory, turn: Turn, emit: Emitter) -> tuple[Decision, ReactMemory]:
        first = len(memory.conversation) == 1
        prompt = load_prompt("react")
        if first:
            text = prompt.render("opening", observation=memory.opening.text, goal=memory.goal)
            if turn.transitions:
                text += "\n\n" + told(turn.transitions)
        else:
            text = prompt.render("turn", observation=told(turn.transitions, own=memory.last))
        text += additions(turn, memory.shown_rules, memory.grants, first=first)
        tell_rules(turn.rules, memory.shown_rules, emit)
        answer = await ask(REACT, self._model, memory.conversation, text, emit, self._sampling)
        memory = replace(memory, conversation=answer.conversation, shown_rules=rules_after(turn, memory.shown_rules), last=None)
        if answer.value is None:
            return ParseFailure(REACT.name, answer.reason), memory
        if answer.value.thought:
            emit(events.Thought(role=REACT.name, text=answer.value.thought))
        return Act(answer.value.command), replace(memory, last=answer.value.command)
