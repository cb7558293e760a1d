"""The parts that the prompts of all agents share: the world and its terms, belief, the transcript, plans, rules and hints.

Templates are written for ALFWorld's household. They stay as they are, since runs record their hashes; for another household,
sentences that do not hold there are replaced.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from typing import TypeVar

from housequest.agent.base import AgentEvent, Emitter, Grants, Turn
from housequest.agent.episodes.events import RulesShown, Thought
from housequest.agent.models.base import Message, Model, Timing
from housequest.agent.roles import company as others
from housequest.agent.roles.base import Answer, Conversation, Prompt, Role, Sampling, ask, load_prompt
from housequest.knowledge.rules import Rule
from housequest.worlds.base import Observation, Transition, World
from housequest.worlds.household.belief import Belief, Item, Receptacle, kind
from housequest.worlds.household.weighing import Weighed, told

T = TypeVar("T")
TERMS: Mapping[str, Mapping[str, str]] = tomllib.loads(
    resources.files("housequest.agent.roles").joinpath("terms.toml").read_text("utf-8")
)
"""Texts of templates and their replacements, by the way in which a world differs."""
_ANSWERING = re.compile(r"\n\n(?:Always a|A)nswer ")
_DECLINED = "The person beside you wants another command now, not this one: {}"
"""Not a template, since it reaches no run without a person."""


@dataclass(frozen=True, slots=True)
class RoleMemory:
    conversation: Conversation
    shown_rules: tuple[Rule, ...] = ()

    @property
    def started(self) -> bool:
        return len(self.conversation) > 1

    async def ask(
        self,
        role: Role[T],
        model: Model,
        text: str,
        turn: Turn,
        grants: Grants,
        emit: Emitter,
        sampling: Sampling,
        company: Sequence[str] | None = None,
    ) -> tuple[Answer[T], RoleMemory]:
        """Ask ``role``, with ``text`` and the additions and picture of ``turn``; with ``company``, also about the other players
        (`housequest.agent.roles.company`). Returns the answer and the memory after it."""
        text += additions(turn, self.shown_rules, grants, first=not self.started)
        speaks = company is not None and "say" in company
        if company is not None:
            text += others.told(turn, () if self.started else company)
        emit_rules(turn.rules, self.shown_rules, emit)
        asked = others.speaking(role, turn) if speaks else role
        answer = await ask(asked, model, self.conversation, text, emit, sampling, image=turn.image)
        if speaks:
            answer = others.with_lines(answer, turn)
        return answer, RoleMemory(answer.conversation, rules_after(turn, self.shown_rules))


def system_message(prompt: Prompt, world: World, *, plans: bool = False, **values: str) -> Message:
    """The system message of a role, in the terms of ``world`` (`for_world`), with the household's ways if it ``plans``."""
    text = for_world(prompt.render("system", **values), world)
    return Message("system", with_ways(text, world) if plans else text)


def for_world(text: str, world: World) -> str:
    """A template's ``text`` in the terms of a household, or of a world that is not one."""
    if world.household is not None:
        return in_terms(text, world)
    return _replaced(text, "elsewhere").replace("a household", world.info.preamble)


def in_terms(text: str, world: World) -> str:
    """A template's ``text`` in the terms of a household; unchanged for ALFWorld's, and for a world that is not one."""
    if (household := world.household) is None:
        return text
    differs = {
        "two_hands": household.terms.hands == 2,
        "explained": household.terms.explains,
        "several_rooms": bool(household.commands.reach),
        "untreated": household.commands.treat is None,
    }
    return _replaced(text, *(name for name, true in differs.items() if true))


def _replaced(text: str, *terms: str) -> str:
    for name in terms:
        for one, other in TERMS[name].items():
            text = text.replace(one, other)
    return text


def with_ways(text: str, world: World) -> str:
    """Insert the household's ways into a system message, before the part that says how to answer."""
    ways = world.household.terms.ways if world.household else ()
    if not ways:
        return text
    found = _ANSWERING.search(text)
    at = text.rfind("\n\n") if found is None else found.start()
    return f"{text[:at]}\n\nIn this household:{''.join(f'{chr(10)}- {way}' for way in ways)}{text[at:]}"


def planning(text: str, world: World) -> str:
    """The system message of a planner, in the terms of a household and with its ways."""
    return with_ways(in_terms(text, world), world)


def opening_text(opening: Observation, goal: str) -> str:
    """The opening, without a last line that repeats the ``goal``, since prompts state it themselves."""
    text, _, last = opening.text.rstrip().rpartition("\n")
    return text.rstrip() if text and goal and last.endswith(goal) else opening.text


def opening(prompt: Prompt, opened: Observation, goal: str, played: Sequence[Transition], **values: str) -> str:
    """The first message to a role: the opening, the ``goal``, and what was ``played`` before it was asked."""
    text = prompt.render("opening", observation=opening_text(opened, goal), goal=goal, **values)
    return f"{text}\n\n{transcript(played)}" if played else text


def transcript(transitions: Sequence[Transition], *, own: str | None = None) -> str:
    """The transitions as text. ``own``, the role's own last command, is not repeated."""
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
    """The text that this turn appends to a message: task type, new rules, hints, declined proposals, admissible commands."""
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
    """All rules that a role has been shown after this turn."""
    return (*shown_rules, *(rule for rule in turn.rules if rule not in shown_rules))


def emit_thought(role: str, text: str, emit: Emitter, rule: Rule | None = None) -> None:
    """Emit a thought, if there is one, with the ``rule`` that decided the command."""
    if text:
        emit(Thought(role=role, text=text, rule=(rule.id if rule else "") or None))


def emit_weighed(role: str, weighed: Weighed | None, emit: Emitter, rule: Rule | None = None) -> None:
    """Emit a thought about what a search weighed, if it did, with the ``rule`` that decided the command."""
    if weighed is not None:
        emit(Thought(role=role, text=told(weighed), rule=(rule.id if rule else "") or None, weighed=weighed))


class WithheldThoughts:
    """An emitter that keeps thoughts back, since an answer tells the last one as the reason of a command, and stands first."""

    def __init__(self, emit: Emitter) -> None:
        self._emit = emit
        self._thoughts = list[Thought]()

    def __call__(self, body: AgentEvent, timing: Timing | None = None) -> None:
        if isinstance(body, Thought):
            self._thoughts.append(body)
        else:
            self._emit(body, timing)

    @property
    def aim(self) -> str:
        """The last thought."""
        return self._thoughts[-1].text if self._thoughts else ""

    @property
    def reason(self) -> str:
        """The last thought, if it tells what was weighed; else empty."""
        return self.aim if self._thoughts and self._thoughts[-1].weighed is not None else ""

    def release(self) -> None:
        """Emit the thoughts."""
        for thought in self._thoughts:
            self._emit(thought)


MOST_THINGS = 120
NOTHING = "nothing"


def found_items(belief: Belief) -> str:
    """The objects seen so far, each with its present place."""
    named: list[str] = []
    for item in belief.items:
        where = " and ".join(one.name for one in belief.holders(item.name)) or "somewhere"
        named.append(f"{_with_state(item)} ({'in the hand' if item.name in belief.carried else where})")
    more = [f"and {len(named) - MOST_THINGS} more"] if len(named) > MOST_THINGS else []
    return ", ".join([*named[:MOST_THINGS], *more]) or NOTHING


def here_text(belief: Belief) -> str:
    """The receptacles at this location, with their known contents."""
    return "; ".join(_contents(belief, one) for one in belief.here()) or NOTHING


def held_text(belief: Belief) -> str:
    """The objects in the hands."""
    held = (belief.item(name) for name in belief.carried)
    return " and ".join(_with_state(item) for item in held if item) or NOTHING


def seen_in(belief: Belief, left: Collection[str]) -> str:
    """The receptacles except those that are ``left``, each with the kinds of object in it."""
    looked = [one for one in belief.receptacles if one.name not in left]
    found = [
        f"{one.name} ({', '.join(dict.fromkeys(map(kind, belief.inside(one)[:MOST_THINGS]))) or 'empty'})"
        if one.contents is not None
        else one.name
        for one in looked
    ]
    return ", ".join(found) or "none yet"


def _contents(belief: Belief, one: Receptacle) -> str:
    if one.openness == "closed":
        return f"{one.name} (closed)"
    inside = ", ".join(belief.inside(one)[:MOST_THINGS])
    return f"{one.name}: {inside or ('not looked into yet' if one.contents is None else 'empty')}"


def _with_state(item: Item) -> str:
    return " ".join((*item.state, item.name))
