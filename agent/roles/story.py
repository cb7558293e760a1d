"""What is told to a role in a message: the parts that every prompt shares."""

from __future__ import annotations

from collections.abc import Sequence

from agent.base import Emitter, Grants, Turn
from agent.episodes.events import RulesShown
from agent.roles.base import load_prompt
from knowledge.rules import Rule
from worlds.base import Transition


def told(transitions: Sequence[Transition], *, own: str | None = None) -> str:
    """The transitions as text; a command that the reader itself just gave (``own``) is not repeated to it."""
    parts = [
        str(t.observation)
        if own is not None and len(transitions) == 1 and t.command == own
        else f"> {t.command}\n{t.observation}"
        for t in transitions
    ]
    return "\n".join(parts) if parts else "No command was executed."


def numbered(steps: Sequence[str]) -> str:
    """A plan as numbered lines, from 1."""
    return numbered_from(steps, 1)


def numbered_from(steps: Sequence[str], first: int) -> str:
    """A plan as numbered lines, from ``first``."""
    return "\n".join(f"{number}. {step}" for number, step in enumerate(steps, first))


def additions(turn: Turn, shown_rules: Sequence[Rule], grants: Grants, *, first: bool) -> str:
    """What this turn appends to a message: rules not shown before, the granted type, hints, granted commands."""
    prompt = load_prompt("additions")
    parts: list[str] = []
    if first and grants.task_type:
        parts.append(prompt.render("type", type=grants.task_type))
    fresh = [rule for rule in turn.rules if rule not in shown_rules]
    if fresh:
        parts.append(prompt.render("rules", rules="\n".join(f"- {rule.statement}" for rule in fresh)))
    parts += [prompt.render("hint", hint=hint) for hint in turn.hints]
    if turn.admissible is not None:
        parts.append(prompt.render("admissible", commands="\n".join(turn.admissible)))
    return "".join(f"\n\n{part}" for part in parts)


def tell_rules(rules: Sequence[Rule], shown_rules: Sequence[Rule], emit: Emitter) -> None:
    """Report those of ``rules`` that a prompt is about to show and that were not in it before."""
    if fresh := [rule for rule in rules if rule not in shown_rules]:
        emit(RulesShown(rules=tuple(rule.statement for rule in fresh), ids=tuple(rule.id for rule in fresh)))


def rules_after(turn: Turn, shown_rules: tuple[Rule, ...]) -> tuple[Rule, ...]:
    """The rules that a role has been shown once this turn is told."""
    return (*shown_rules, *(rule for rule in turn.rules if rule not in shown_rules))
