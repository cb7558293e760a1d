"""CoELA (Zhang et al., "Building Cooperative Embodied Agents Modularly with Large Language Models", ICLR 2024, section 4).

Its five modules: *Perception* and semantic *memory* are the belief from the texts: places, things, what the agent holds, where
it last saw the others and with what. Episodic memory is the last plans and messages; procedural memory is the controller's
skills. *Communication* writes a message before a plan is selected; sending it is one of the plans. *Planning* selects a
possible plan. *Execution* carries it out, one command a turn, without a call.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

from housequest.agent.agents.bodies import TextBody
from housequest.agent.agents.spec import AgentParts
from housequest.agent.base import Act, Decision, Emitter, GiveUp, Grants, Idle, ParseFailure, Turn
from housequest.agent.episodes import events
from housequest.agent.models.base import Message
from housequest.agent.models.forms import LONGEST_THOUGHT, THOUGHT, Choice, Form, Words
from housequest.agent.roles.base import ReplyError, Role, ask, load_prompt
from housequest.agent.roles.messages import additions, emit_rules, emit_thought, found_items, held_text, planning
from housequest.agent.roles.reading import json_fields, labelled, thought
from housequest.agent.skills.controller import Done, Execute
from housequest.agent.skills.skill import ControllerState
from housequest.worlds.base import Observation
from housequest.worlds.errors import shown
from housequest.worlds.household.base import Household
from housequest.worlds.household.belief import Belief, Item, kind
from housequest.worlds.household.goals import APPLIANCES, Goal, Skill
from housequest.worlds.household.talk import free_text, read_quoted
from housequest.worlds.shared import WAIT
from housequest.worlds.text import with_article

if TYPE_CHECKING:
    from housequest.agent.agents.coela import CoelaSettings

PACKAGE = "housequest.agent.agents.coela"
COMMUNICATOR = "communicator"
PLANNER = "planner"
MOST_PLANS = 80
"""The most plans that a prompt lists."""
MOST_IN_VAIN = 20
"""Leave out this many of the last failed plans; list earlier ones again."""
MOST_IN_A_TURN = 4
"""After this many fruitless plans, the turn is spent."""
LONGEST_MESSAGE = 300
_MESSAGE = re.compile(r"(?im)^[\W_]{0,8}message\b[\s*_`]{0,4}[:：][ \t]*(?P<said>[^\n]+)")
_LETTERED = re.compile(r"^[\W_]{0,4}(?:option|plan)?\s{0,2}(?P<number>\d{1,2})\b[.):]?\s*$", re.IGNORECASE)


class Plan(NamedTuple):
    """A plan in words, and the skills that carry it out; none for waiting or sending a message."""

    text: str
    skills: tuple[Skill, ...] = ()


def possible_plans(household: Household, goal: str, belief: Belief) -> Iterator[Plan]:
    """The plans that CoELA's code lists as available, as far as the goal can be read."""
    goals = household.read_goals(goal, belief.kinds)
    named = {kind(item.name) for item in belief.items if kind(item.name) in goal.lower()}
    held = [item for name in belief.carried if (item := belief.item(name)) is not None]
    for item in held:
        wanted = [one for one in goals if one.object == item.kind]
        yield from _with_held(item, wanted, belief)
        if belief.at is not None and not wanted:
            yield Plan(f"put the {item.name} down at the {belief.at}", (Skill("put", item.name, belief.at),))
    if len(held) < belief.hands:
        theirs = {name for one in belief.others for name in one.carried}
        for item in belief.items:
            known = _is_wanted(item, goals, belief) if goals else not named or item.kind in named
            if known and item.name not in belief.carried and item.name not in theirs:
                where = next((one.name for one in belief.holders(item.name)), None)
                if where is not None:
                    yield Plan(f"take the {item.name} from the {where}", (Skill("pick", item.name),))
    for place in belief.unsearched:
        skills = (Skill("go", receptacle=place.name), Skill("examine", place.name), Skill("open", receptacle=place.name))
        yield Plan(f"look into the {place.name}", skills)


def _with_held(item: Item, wanted: Sequence[Goal], belief: Belief) -> Iterator[Plan]:
    for goal in wanted:
        treatment = goal.treatment
        if treatment is not None and not item.treated(treatment):
            for name in (one.name for one in belief.receptacles if one.kind == APPLIANCES[treatment]):
                yield Plan(f"{treatment} the {item.name} with the {name}", (Skill(treatment, item.name, name),))
            continue
        if goal.lamp is not None:
            for lamp in (one.name for one in belief.items if one.kind == goal.lamp):
                yield Plan(f"turn on the {lamp} with the {item.name} in the hand", (Skill("use", lamp),))
        for name in (one.name for one in belief.receptacles if one.kind == goal.receptacle):
            yield Plan(f"put the {item.name} into the {name}", (Skill("put", item.name, name),))


def _is_wanted(item: Item, goals: Sequence[Goal], belief: Belief) -> bool:
    """True for a thing of the goals that is not where it belongs."""
    at = {one.kind for one in belief.holders(item.name)}

    def there(goal: Goal) -> bool:
        return goal.receptacle in at and (goal.treatment is None or item.treated(goal.treatment))

    return any(goal.object == item.kind and not there(goal) for goal in goals)


def state_text(belief: Belief) -> str:
    """Describe what the agent knows of the house, of itself and of the others."""
    where = f"You are at the {belief.at}" if belief.at else "You are in the middle of the room"
    lines = [f"{where} and hold {held_text(belief)}.", f"Found so far: {found_items(belief)}."]
    for one in belief.others:
        at = f"at the {one.at}" if one.at else "out of sight"
        lines.append(f"{one.name} was last noticed {at}, carrying {' and '.join(map(with_article, one.carried)) or 'nothing'}.")
    return "\n".join(lines)


def plan_reader(plans: Sequence[Plan], *, chain: bool) -> Role[tuple[str, Plan]]:
    """The role that selects one of ``plans``, by its words or its number in the list."""
    by_text = {_key(plan.text): plan for plan in plans}

    def read(reply: str) -> tuple[str, Plan]:
        said = ""
        found = json_fields(reply)
        for label, rest in [("thought", found.get("thought", "")), ("plan", found.get("plan", "")), *labelled(reply)]:
            if label in ("thought", "think", "reasoning"):
                said = thought(rest) or said
            elif label in ("plan", "action") and (chosen := select(rest)) is not None:
                return said, chosen
        chosen = select(reply)
        if chosen is None:
            raise ReplyError(f"{shown(reply.strip()[-60:], 60)} is none of the plans in the list.")
        return said, chosen

    def select(text: str) -> Plan | None:
        line = next((each for each in text.splitlines() if each.strip()), "")
        if (numbered := _LETTERED.match(line)) and 1 <= int(numbered["number"]) <= len(plans):
            return plans[int(numbered["number"]) - 1]
        keys = _key(text)
        named = [plan for key, plan in by_text.items() if key in keys]
        # "cabinet 1" is the beginning of "cabinet 12".
        return max(named, key=lambda plan: len(plan.text)) if named else None

    start = ("Thought: ", (THOUGHT, Words(LONGEST_THOUGHT)), "\nPlan: ") if chain else ("Plan: ",)
    return Role(PLANNER, read, form=Form((*start, ("plan", Choice(tuple(plan.text for plan in plans))))))


def _key(text: str) -> str:
    return " ".join(re.findall(r"[a-z0-9]+", text.lower()))


def _read_message(text: str) -> str:
    found = _MESSAGE.search(text)
    words = free_text((found["said"] if found else json_fields(text).get("message") or text).strip(' *_`"'))
    if not any(character.isalpha() for character in words):
        raise ReplyError('there is no line that begins with "Message:".')
    return words[:LONGEST_MESSAGE]


MESSENGER: Role[str] = Role(COMMUNICATOR, _read_message, form=Form(("Message: ", ("message", Words(LONGEST_MESSAGE)))))


@dataclass(frozen=True, slots=True)
class CoelaMemory:
    """The memory of CoELA: ``state`` is semantic and procedural, the last plans (``history``) and messages (``dialogue``) are
    episodic. ``ahead`` are the plan's remaining skills, ``says`` goes with the next command, and ``sent`` is true if the last
    plan was to send a message. Plans ``in_vain`` are listed only if there are no others."""

    goal: str
    grants: Grants
    state: ControllerState
    ahead: tuple[Skill, ...] = ()
    history: tuple[str, ...] = ()
    dialogue: tuple[str, ...] = ()
    says: tuple[str, ...] = ()
    sent: bool = False
    in_vain: tuple[str, ...] = ()
    plans: int = 0


class Coela:
    """Plays one plan after the other. Calls a plan: 1, and in company 1 more for the message, and 1 more if that is sent.

    It renders each prompt from memory, as in the paper, so only the instructions can be cached. Alone, it writes no
    messages."""

    name = "coela"

    def __init__(self, parts: AgentParts[CoelaSettings]) -> None:
        self._model, self._sampling, self._settings = parts.model, parts.sampling, parts.settings
        self._household = parts.household
        self._body = TextBody(parts.household, parts.model, parts.sampling, search="counts", seed=parts.seed)
        self._writes, self._plans = (load_prompt(PACKAGE, f"coela_{role}") for role in (COMMUNICATOR, PLANNER))
        self._writer = Message("system", self._writes.render("system"))
        answer = self._plans.render("thinking" if parts.settings.chain else "straight")
        self._planner = Message("system", planning(self._plans.render("system", answer=answer), parts.world))

    def begin(self, goal: str, observation: Observation, grants: Grants) -> CoelaMemory:
        return CoelaMemory(goal, grants, self._body.begin(observation, goal))

    async def decide(self, memory: CoelaMemory, turn: Turn, emit: Emitter) -> tuple[Decision, CoelaMemory]:
        state = self._body.observe(memory.state, turn.transitions, turn.hints)
        if turn.belief is not None:
            state = replace(state, belief=turn.belief)  # includes the news
        heard = [f"{who}: {said}" for who, said in filter(None, map(read_quoted, turn.news))]
        memory = replace(memory, state=state, dialogue=(*memory.dialogue, *heard)[-self._settings.dialogue :])
        if turn.hints:
            memory = replace(memory, state=self._body.start(memory.state, None), ahead=())
        for _ in range(MOST_IN_A_TURN):
            if memory.state.skill is None and not memory.ahead:
                stopped, memory = await self._plan(memory, turn, emit)
                if stopped is not None:
                    return stopped, replace(memory, says=())
            if memory.state.skill is None:
                memory = replace(memory, state=self._body.start(memory.state, memory.ahead[0]))
            outcome, state = await self._body.proceed(memory.state, memory.goal, emit, turn.rules)
            memory = replace(memory, state=state)
            if isinstance(outcome, Execute):
                return Act(outcome.command, memory.says), replace(memory, says=())
            if isinstance(outcome, Done):
                memory = replace(memory, ahead=_left(memory.ahead[1:], state.belief))
            else:
                *before, last = memory.history or ("",)
                emit_thought(PLANNER, f"it could not be done: {outcome.reason}", emit)
                vain = (*memory.in_vain, last)[-MOST_IN_VAIN:]
                memory = replace(memory, ahead=(), history=(*before, f"{last} (in vain)"), in_vain=vain)
        return Idle(f"{MOST_IN_A_TURN} plans came to nothing"), memory

    async def _plan(self, memory: CoelaMemory, turn: Turn, emit: Emitter) -> tuple[Decision | None, CoelaMemory]:
        """Write a message and select a plan; after sending a message select another plan, since a turn needs a command."""
        every = list(possible_plans(self._household, memory.goal, memory.state.belief))
        plans = ([plan for plan in every if plan.text not in memory.in_vain] or every)[:MOST_PLANS]
        plans += [Plan("wait")] if turn.others else []
        if not plans:
            return GiveUp("it finds nothing more to do"), memory
        if turn.others and self._settings.communicate and not memory.sent:
            message = await self._message(memory, turn, emit)
            if message is not None:
                offered = [Plan(f'send the message "{message}"'), *plans]
                failure, chosen, memory = await self._select(memory, turn, offered, emit)
                if chosen != offered[0]:
                    return self._taken(memory, chosen, failure, turn, emit)
                memory = replace(memory, says=(message,), sent=True)
                said = (*memory.dialogue, f"{turn.player}: {message}")
                memory = replace(memory, dialogue=said[-self._settings.dialogue :])
                turn = replace(turn, hints=())
        failure, chosen, memory = await self._select(memory, turn, plans, emit)
        return self._taken(replace(memory, sent=bool(memory.says)), chosen, failure, turn, emit)

    async def _message(self, memory: CoelaMemory, turn: Turn, emit: Emitter) -> str | None:
        text = self._writes.render("user", others=" and ".join(turn.others), player=turn.player, **self._told(memory))
        answer = await ask(MESSENGER, self._model, (self._writer,), text, emit, self._sampling)
        return answer.value

    async def _select(
        self, memory: CoelaMemory, turn: Turn, plans: Sequence[Plan], emit: Emitter
    ) -> tuple[ParseFailure | None, Plan | None, CoelaMemory]:
        told = self._told(memory)
        said, company, dialogue = told.pop("dialogue"), "", ""
        if turn.others:
            company = self._plans.render("company", player=turn.player, others=" and ".join(turn.others))
            dialogue = self._plans.render("dialogue", dialogue=said)
        listed = "\n".join(f"{number}. {plan.text}" for number, plan in enumerate(plans, 1))
        text = self._plans.render("user", company=company, dialogue=dialogue, plans=listed, **told)
        text += additions(replace(turn, admissible=None), (), memory.grants, first=True)
        emit_rules(turn.rules, (), emit)
        role = plan_reader(plans, chain=self._settings.chain)
        answer = await ask(role, self._model, (self._planner,), text, emit, self._sampling)
        if answer.value is None:
            return ParseFailure(PLANNER, answer.reason), None, memory
        thinks, plan = answer.value
        emit_thought(PLANNER, thinks, emit)
        return None, plan, memory

    def _taken(
        self, memory: CoelaMemory, plan: Plan | None, failure: ParseFailure | None, turn: Turn, emit: Emitter
    ) -> tuple[Decision | None, CoelaMemory]:
        if plan is None:
            return failure, memory
        reason = "a person gave a hint" if turn.hints else "the last plan is over" if memory.plans else "the episode begins"
        emit(events.Planned(role=PLANNER, steps=(plan.text,), revision=memory.plans, reason=reason))
        history = (*memory.history, plan.text)[-self._settings.history :]
        memory = replace(memory, history=history, ahead=plan.skills, plans=memory.plans + 1)
        return (None if plan.skills else Act(WAIT, memory.says)), memory

    def _told(self, memory: CoelaMemory) -> dict[str, str]:
        return {
            "goal": memory.goal,
            "state": state_text(memory.state.belief),
            "history": ", then ".join(memory.history) or "none yet",
            "dialogue": "\n".join(memory.dialogue) or self._writes.render("silence"),
        }


def _left(ahead: tuple[Skill, ...], belief: Belief) -> tuple[Skill, ...]:
    """The skills that are still needed: if it sees what is in a place, it need not examine or open it."""

    def needed(skill: Skill) -> bool:
        place = belief.receptacle(skill.receptacle or skill.object)
        if place is None or skill.verb not in ("examine", "open"):
            return True
        return place.openness == "closed" if skill.verb == "open" else place.contents is None and place.openness != "closed"

    return tuple(skill for skill in ahead if needed(skill))
