"""The parts that the prompts of all agents share: the world, the transcript, plans, rules and hints."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from housequest.agent.base import Emitter, Grants, Turn
from housequest.agent.episodes.events import RulesShown, Thought
from housequest.agent.models.base import Message, Model
from housequest.agent.roles.base import Answer, Conversation, Prompt, Role, Sampling, ask, load_prompt
from housequest.agent.roles.terms import in_terms, with_ways
from housequest.knowledge.rules import Rule
from housequest.worlds.base import Observation, Transition, World

T = TypeVar("T")

_OF_HOUSES = (
    " Look for things where such things are kept, open what is closed, and carry one thing at a time.",
    " Things must be found before they can be taken, closed places must be opened, and only one thing can be carried at a "
    "time.",
    " Going places, searching and opening are left out.",
)
"""Advice in templates that holds in households."""
_DECLINED = "The person beside you wants another command now, not this one: {}"
"""No template, since it reaches no run without a person."""


@dataclass(frozen=True, slots=True)
class RoleMemory:
    """One role's memory: its conversation, and the rules it was shown."""

    conversation: Conversation
    shown_rules: tuple[Rule, ...] = ()

    @property
    def started(self) -> bool:
        """Whether the conversation has more than the system message."""
        return len(self.conversation) > 1

    async def ask(
        self, role: Role[T], model: Model, text: str, turn: Turn, grants: Grants, emit: Emitter, sampling: Sampling
    ) -> tuple[Answer[T], RoleMemory]:
        """Ask ``role``, with ``text`` and what ``turn`` adds to it, also a picture; the answer, and the memory after it."""
        text += additions(turn, self.shown_rules, grants, first=not self.started)
        emit_rules(turn.rules, self.shown_rules, emit)
        answer = await ask(role, model, self.conversation, text, emit, sampling, image=turn.image)
        return answer, RoleMemory(answer.conversation, rules_after(turn, self.shown_rules))


def system_message(prompt: Prompt, world: World, *, plans: bool = False, **values: str) -> Message:
    """The system message of a role, in the words of ``world`` (`for_world`), and with its ways for one that ``plans``."""
    text = for_world(prompt.render("system", **values), world)
    return Message("system", with_ways(text, world) if plans else text)


def for_world(text: str, world: World) -> str:
    """A template's ``text`` in the terms of a household (`housequest.agent.roles.terms`); where ``world`` is none, with its
    ``preamble`` and without advice about houses."""
    if world.household is not None:
        return in_terms(text, world)
    for advice in _OF_HOUSES:
        text = text.replace(advice, "")
    return text.replace("household tasks", "tasks").replace("a household", world.preamble)


def opening_text(opening: Observation, goal: str) -> str:
    """The opening, without a last line that repeats the ``goal``, since prompts state it themselves."""
    text, _, last = opening.text.rstrip().rpartition("\n")
    return text.rstrip() if text and goal and last.endswith(goal) else opening.text


def transcript(transitions: Sequence[Transition], *, own: str | None = None) -> str:
    """The transitions as text; ``own``, the role's own last command, is not repeated."""
    parts = [
        str(t.observation)
        if own is not None and len(transitions) == 1 and t.command == own
        else f"> {t.command}\n{t.observation}"
        for t in transitions
    ]
    return "\n".join(parts) if parts else "No command was executed."


def numbered(steps: Sequence[str], first: int = 1) -> str:
    """A plan as numbered lines, from ``first``."""
    return "\n".join(f"{number}. {step}" for number, step in enumerate(steps, first))


def additions(turn: Turn, shown_rules: Sequence[Rule], grants: Grants, *, first: bool) -> str:
    """The text that this turn appends to a message: task type, new rules, hints, what was declined, admissible commands."""
    prompt = load_prompt("housequest.agent.roles", "additions")
    parts: list[str] = []
    if first and grants.task_type:
        parts.append(prompt.render("type", type=grants.task_type))
    fresh = [rule for rule in turn.rules if rule not in shown_rules]
    if fresh:
        parts.append(prompt.render("rules", rules="\n".join(f"- {rule.statement}" for rule in fresh)))
    parts += [prompt.render("hint", hint=hint) for hint in turn.hints]
    parts += [_DECLINED.format(command) for command in turn.declined]
    if turn.admissible is not None:
        parts.append(prompt.render("admissible", commands="\n".join(turn.admissible)))
    return "".join(f"\n\n{part}" for part in parts)


def emit_rules(rules: Sequence[Rule], shown_rules: Sequence[Rule], emit: Emitter) -> None:
    """Emit those of ``rules`` that the next prompt shows for the first time."""
    if fresh := [rule for rule in rules if rule not in shown_rules]:
        emit(RulesShown(rules=tuple(rule.statement for rule in fresh), ids=tuple(rule.id for rule in fresh)))


def rules_after(turn: Turn, shown_rules: tuple[Rule, ...]) -> tuple[Rule, ...]:
    """The rules that a role has been shown after this turn."""
    return (*shown_rules, *(rule for rule in turn.rules if rule not in shown_rules))


def emit_thought(role: str, text: str, emit: Emitter) -> None:
    """Emit a thought, unless it is empty."""
    if text:
        emit(Thought(role=role, text=text))
