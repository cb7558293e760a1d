"""LoTa-Bench's planner and SayCan: they select the likeliest skill of a fixed set, and a controller carries it out.

Choi et al., "LoTa-Bench", ICLR 2024, sections 3 and 6, appendices B, D and F; Ahn et al., "Do As I Can, Not As I Say", 2022, in
the form of LoTa-Bench's appendix B.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import TYPE_CHECKING, Any, Literal

from housequest.agent.agents.examples import make_example_selector
from housequest.agent.agents.lota.selector import (
    DONE,
    NAME,
    Chosen,
    Constrained,
    Prompted,
    Readings,
    Scored,
    fixed_skills,
    goes_round,
    read_anew,
    said,
)
from housequest.agent.agents.spec import AgentParts
from housequest.agent.base import Act, Decision, Emitter, GiveUp, Grants, Idle, ParseFailure, Turn
from housequest.agent.models.base import Capabilities, Message, Request, in_role, probe
from housequest.agent.roles import company
from housequest.agent.roles.base import Answer, continues, is_unheld, load_prompt
from housequest.agent.roles.demonstrations import DemonstratedRole, Demonstrator, Reply, with_ways
from housequest.agent.roles.messages import RoleMemory, additions, emit_rules, emit_thought, in_terms, rules_after
from housequest.agent.skills.controller import Controller, ControllerState, Done, Execute, Failed, Outcome
from housequest.knowledge.examples import Example
from housequest.knowledge.rules import Rule
from housequest.worlds.base import Observation, Skilled, Transition, World
from housequest.worlds.errors import ModelError, Unsupported, shown
from housequest.worlds.household.goals import AT_RECEPTACLE, NamedSkill, Skill, SkillVerb, Verb, treating

if TYPE_CHECKING:
    from housequest.agent.agents.lota import LotaSettings, SayCanSettings


class Controlled(Controller):
    """Skills that a controller carries out by text commands, from what the text said."""

    def __init__(self, parts: AgentParts[LotaSettings] | AgentParts[SayCanSettings]) -> None:
        search, seed = parts.settings.search, parts.seed
        super().__init__(parts.household, parts.model, parts.sampling, search=search, seed=seed, near=True)
        self._set = fixed_skills(parts.household)
        self._by_text = {skill.text: skill for skill in self._set.skills}

    def skills(self, state: ControllerState) -> tuple[str, ...]:
        del state
        return tuple(self._by_text)

    def take_up(self, state: ControllerState, skill: str) -> ControllerState:
        return self.start(state, self._by_text[skill])

    def possible(self, state: ControllerState, admissible: Sequence[str]) -> frozenset[str]:
        return frozenset(skill.text for skill in self._set.possible(state.belief, admissible))

    def places(self, state: ControllerState) -> frozenset[str]:
        return frozenset(state.belief.kinds)

    def demonstrated(self, example: Example) -> tuple[str, ...]:
        return tuple(listed_skill(skill).text for skill in example.subgoals())


def listed_skill(skill: Skill) -> Skill:
    """The skill of the fixed set: ``find`` in place of going, and ``put`` without a place."""
    match skill.verb:
        case "go":
            return Skill("find", skill.receptacle or skill.object)
        case "open" | "close":
            return skill
        case verb:
            return Skill(verb, skill.object)


@dataclass(frozen=True, slots=True)
class Given:
    """A skill that the world carries out: one of its ``skills``, 1 once it was ``given``, and the reason if it failed."""

    skills: tuple[str, ...]
    skill: str | None = None
    given: int = 0
    failure: str | None = None


class ByWorld:
    """Skills that are the world's own commands; `Controlled` has the others."""

    def __init__(self, world: World) -> None:
        self._world = world

    def _skills_at(self, opening: str) -> tuple[str, ...]:
        return self._world.skills_at(opening) if isinstance(self._world, Skilled) else self._world.info.skills

    def skills(self, state: Given) -> tuple[str, ...]:
        return state.skills

    def begin(self, observation: Observation, goal: str) -> Given:
        del goal
        return Given(self._skills_at(observation.text))

    def observe(self, state: Given, transitions: Sequence[Transition], hints: Sequence[str]) -> Given:
        del hints
        answered = next((one.observation for one in reversed(transitions) if one.command == state.skill), None)
        if answered is None or not state.given:
            return state
        return replace(state, failure=None if answered.accepted else answered.text.rstrip("."))

    def take_up(self, state: Given, skill: str) -> Given:
        return Given(state.skills, skill)

    async def proceed(self, state: Given, goal: str, emit: Emitter, rules: Sequence[Rule]) -> tuple[Outcome, Given]:
        del goal, emit, rules
        if state.skill is not None and not state.given:
            return Execute(state.skill), replace(state, given=1)
        # The answer says if it was carried out, so another skill comes next.
        return (Done("done") if state.failure is None else Failed(state.failure)), Given(state.skills)

    def possible(self, state: Given, admissible: Sequence[str]) -> frozenset[str]:
        del state
        return frozenset(admissible)

    def places(self, state: Given) -> frozenset[str]:
        del state
        return frozenset()

    def demonstrated(self, example: Example) -> tuple[str, ...]:
        """Examples of this world are its skills; those of text games are put in its words."""
        if set(example.commands) <= set(self._skills_at(example.opening)):
            return example.commands
        skills = (str(skill) for subgoal in example.subgoals() for skill in _named(subgoal))
        return tuple(skill for skill, _ in groupby(skills))


_NAMES: dict[Verb, SkillVerb] = {
    **{"open": "open", "close": "close", "slice": "slice", "go": "find", "find": "find"},
    **{"pick": "pick up", "put": "put down", "use": "turn on"},
}


def _named(subgoal: Skill) -> Sequence[NamedSkill]:
    if subgoal.verb in ("heat", "cool", "clean"):
        return treating(subgoal.verb, subgoal.object or subgoal.receptacle or "")
    targets = (subgoal.object, subgoal.receptacle)
    first, other = targets[::-1] if subgoal.verb in AT_RECEPTACLE else targets
    return [NamedSkill(_NAMES[subgoal.verb], first or other or "")]


MOST_AT_ONCE = 8
"""After this many skills in a turn that had nothing left to do, the turn is used up; after twice as many, the game is."""
MOST_SAME = 3  # After this many times in a row with one skill that has nothing left to do, the model goes round in a circle.
PACKAGE = "housequest.agent.agents.lota"


@dataclass(frozen=True, slots=True)
class LotaMemory:
    """The conversation so far, and the skill in progress.

    ``ahead`` are the named skills that are still to come, ``taken`` those of the last reply that were begun. ``listed``: that
    reply named more than one; ``shown``: the prompt lists the skills. ``selected`` counts all skills begun. ``idle`` are the
    last ones in a row that had nothing left to do. ``notice`` is for the next message, about the last skill; ``failure`` is why
    that failed. ``hints`` and ``news`` are new since the model was last asked, ``heard`` are all hints; ``says`` goes with the
    next command. ``plan`` are the skills of the current reading."""

    goal: str
    grants: Grants
    state: Any
    role: RoleMemory
    selected: int = 0
    ahead: tuple[str, ...] = ()
    taken: tuple[str, ...] = ()
    listed: bool = False
    shown: bool = False
    idle: tuple[str, ...] = ()
    notice: str = ""
    failure: str = ""
    hints: tuple[str, ...] = ()
    heard: tuple[str, ...] = ()
    news: tuple[str, ...] = ()
    says: tuple[str, ...] = ()
    plan: tuple[str, ...] = ()
    readings: Readings = field(default_factory=Readings)


class Lota:
    """Plays skill by skill; the agents ``lota`` and ``saycan`` select the next one in different ways.

    ``next``: constrained decoding, if the model supports it. Otherwise the prompt lists the skills and the reply is read,
    which a thought says; so also after an endpoint does not keep to the skills, or refuses them. A reply that is a list is
    carried out as one, and the next message says what was done. ``list``: the model is asked for the whole list once
    (appendix D); an unreadable one ends the game. ``exact``: by the probability of each skill (equation 2), all in one call.
    ``each``: the same, with a call for every skill, times its affordance. Calls a skill: 1; for ``each`` as many as there
    are skills (266); for ``list`` 1 an episode. ``exact`` and ``each`` need a model that scores given texts; one that scores
    them singly, as an endpoint does, takes a call for each skill and one for the prompt alone.

    A controller carries a skill out, or the world itself if its commands are skills.

    The prompt only grows, until another reading begins. It holds the instruction and the skills so far, never an
    observation; with ``replanning`` also why a skill failed, in our own words (section 6.2). The skills are the same in
    every house. The controller knows only what the text said, so ``find`` searches, while the paper's robot knows all
    places; it opens closed receptacles. A skill that fails before any command uses up its turn, as in the paper. If a skill
    is selected again and again though it is done, the game ends, or another of the ``readings`` of the goal begins
    (`housequest.agent.agents.lota.selector`).

    If admissible commands are granted, a skill whose first command is among them has affordance 1; others have 0 and are not
    selected. If they are not, every skill has 1: ``saycan`` then decides by language score alone, and says so at the start."""

    def __init__(
        self,
        parts: AgentParts[LotaSettings] | AgentParts[SayCanSettings],
        selection: Literal["next", "list", "exact", "each"],
        readings: int = 1,
    ) -> None:
        self.name = "saycan" if selection == "each" else "lota"
        self._model, self._sampling = in_role(parts.model, NAME), parts.sampling
        self._world = parts.world
        self._carrier = ByWorld(parts.world) if parts.world.info.skills else Controlled(parts)
        self._examples = make_example_selector(parts.world, parts.settings, parts.seed)
        self._selection, self._replanning, self._readings = selection, parts.settings.replanning, readings
        self._prompt = load_prompt(PACKAGE, "selector")

    async def check(self) -> None:
        self._selector(await self._able())

    def begin(self, goal: str, observation: Observation, grants: Grants) -> LotaMemory:
        return LotaMemory(goal, grants, self._carrier.begin(observation, goal), RoleMemory(()))

    async def decide(self, memory: LotaMemory, turn: Turn, emit: Emitter) -> tuple[Decision, LotaMemory]:
        state = self._carrier.observe(memory.state, turn.transitions, turn.hints)
        memory = replace(memory, state=state, hints=memory.hints + turn.hints, heard=memory.heard + turn.hints)
        memory = replace(memory, news=memory.news + turn.news)
        for _ in range(MOST_AT_ONCE):
            if memory.state.skill is None:
                if not memory.ahead:
                    stopped, memory = await self._select(memory, turn, emit)
                    if stopped is not None:
                        return stopped, memory
                    if size := goes_round(memory.plan, memory.ahead[0]):
                        memory = await self._read_anew(memory, memory.plan[: len(memory.plan) - size + 1], emit) or memory
                said_next, *ahead = memory.ahead
                taken, selected = (*memory.taken, said_next), memory.selected + 1
                memory = replace(memory, ahead=tuple(ahead), taken=taken, selected=selected, notice="", failure="")
                emit_thought(self.name, said_next, emit)
                if said_next == DONE:
                    anew = await self._read_anew(memory, (*memory.plan, DONE), emit)
                    if anew is None:
                        return GiveUp("it takes the task for done"), memory
                    memory = anew
                    continue
                memory = replace(memory, plan=(*memory.plan, said_next))
                if said_next not in self._carrier.skills(memory.state):
                    return Idle(f"{shown(said_next)} is none of the skills"), self._failed(memory, "it is none of the skills")
                memory = replace(memory, state=self._carrier.take_up(memory.state, said_next))
            begun = memory.state.given > 0
            outcome, state = await self._carrier.proceed(memory.state, memory.goal, emit, turn.rules)
            memory = replace(memory, state=state)
            match outcome:
                case Execute(command=command):
                    return Act(command, memory.says), replace(memory, idle=(), says=())
                case Failed(reason=reason):
                    memory = self._failed(memory, reason)
                    emit_thought(self.name, f"this skill failed: {reason}", emit)
                    if not begun:
                        return Idle(reason), memory
                case Done() if not begun:
                    idle = (*memory.idle, memory.taken[-1])
                    memory = replace(memory, idle=idle, notice=self._prompt.render("again"))
                    if len(idle) >= 2 * MOST_AT_ONCE or (len(idle) >= MOST_SAME and len(set(idle[-MOST_SAME:])) == 1):
                        anew = await self._read_anew(memory, memory.plan, emit)
                        if anew is None:
                            return GiveUp(f'it says "{idle[-1]}" again and again, which is done'), memory
                        memory = anew
                case Done():
                    pass
        return Idle(f"{MOST_AT_ONCE} skills changed nothing"), memory

    def _failed(self, memory: LotaMemory, reason: str) -> LotaMemory:
        """Note a failed skill. With feedback the model chooses the next skill; otherwise the list continues."""
        return replace(memory, idle=(), failure=reason, ahead=() if self._replanning and memory.listed else memory.ahead)

    async def _read_anew(self, memory: LotaMemory, plan: Sequence[str], emit: Emitter) -> LotaMemory | None:
        """Read the goal in another way than ``plan``, whose last skill was named but not begun; None if there is none."""
        if memory.readings.begun >= self._readings:
            return None
        skills = dict.fromkeys((*self._carrier.skills(memory.state), DONE), True)
        readings = await read_anew(memory.readings, plan, memory.role.conversation, skills, Scored(self._model), emit)
        if readings is None:
            return None
        emit_thought(self.name, "the game goes on, so it takes the goal another way", emit)
        # The skills before the last place were just carried out.
        *before, departs = readings.present.skills
        done = tuple(before) if tuple(before) == tuple(plan[:-1]) else ()
        told = "\n".join(message.content for message in readings.conversation)
        rules = tuple(rule for rule in memory.role.shown_rules if rule.statement in told)
        begun = replace(memory, role=RoleMemory(readings.conversation, rules), readings=readings, plan=done, selected=len(done))
        hints = tuple(hint for hint in memory.heard if hint not in told)
        ahead = (*before[len(done) :], departs)
        return replace(begun, ahead=ahead, hints=hints, idle=(), taken=(), listed=False, notice="", failure="")

    async def _select(self, memory: LotaMemory, turn: Turn, emit: Emitter) -> tuple[Decision | None, LotaMemory]:
        """Ask for the next skill; if there is none, return the decision that follows."""
        selector = self._selector(await self._able())
        if isinstance(selector, Prompted):
            selector = replace(selector, turn=turn)
        if self._selection == "list" and memory.taken and not self._replanning:
            return GiveUp("the list is carried out, and the task goes on"), memory
        answer, shown = await self._asked(selector, memory, turn, emit)
        if answer is None and self._readings == 1:
            # Ask again with the list of skills: the reply was none of them.
            answer, shown = await self._asked(Prompted(self._model, self._sampling, turn=turn), memory, turn, emit)
        if answer is None:
            why = "did not keep to given texts, so its plans are no skills to depart from; leave readings out"
            raise ModelError(f"{self._model.name} {why}, or use another server.", recorded=f"The model {why}.")
        role = RoleMemory(answer.conversation, rules_after(turn, memory.role.shown_rules))
        memory = replace(memory, role=role, ahead=answer.value or (), taken=(), notice="", failure="", hints=())
        memory = replace(memory, listed=len(memory.ahead) > 1, shown=shown, news=(), says=memory.says + answer.says)
        if answer.value is None and self._selection == "list":
            # The same question would bring the same reply.
            return GiveUp(f"what it writes is not a list of skills: {answer.reason}"), memory
        return (None if answer.value else ParseFailure(NAME, answer.reason)), memory

    async def _asked(
        self, selector: Constrained | Scored | Prompted, memory: LotaMemory, turn: Turn, emit: Emitter
    ) -> tuple[Answer[Chosen] | None, bool]:
        """The answer of the ``selector``; and True if the prompt then lists the skills."""
        conversation, first = memory.role.conversation, not memory.role.started
        listing = ""
        if isinstance(selector, Prompted) and not memory.shown:
            # Nothing else restricts the model to the skills.
            whole = "whole" if selector.whole else "listed"
            listing = self._prompt.render(whole, skills=", ".join((*self._carrier.skills(memory.state), DONE)))
            notice = "the model cannot be held to given texts: it is shown the skills, and its replies are read"
            emit_thought(self.name, "" if selector.whole else notice, emit)
        elif first and self._selection == "each" and not memory.grants.admissible:
            notice = (
                "no commands are granted as admissible, so nothing tells what can be done: the language score decides alone"
            )
            emit_thought(self.name, notice, emit)
        if first:
            system = in_terms(self._prompt.render("system"), self._world)
            conversation = (Message("system", "\n".join(filter(None, (system, listing)))),)
        asked = replace(turn, hints=memory.hints, news=memory.news, admissible=None)
        added = additions(asked, memory.role.shown_rules, memory.grants, first=first)
        # Held to given texts, it hears the others but cannot speak to them.
        added += company.told(asked, (*(company.HEARS if first else ()), *(("say",) if listing else ())))
        text = await self._opening(memory, added) if first else self._next(memory, added)
        if listing and not first:
            text = f"{listing}\n{text}"
        emit_rules(turn.rules, memory.role.shown_rules, emit)
        answer = await selector.select(conversation, text, self._possible(memory, turn), emit)
        return answer, memory.shown or isinstance(selector, Prompted)

    async def _able(self) -> Capabilities:
        known = self._selection in {"next", "list"} and self._readings == 1
        can = await (probe(self._model, "forms") if known else self._model.capabilities())
        # A plain text is held to the skills by a grammar alone, and its continuations are not scored.
        if await continues(self._model, self._sampling):
            return replace(can, choices=False, scoring=False)
        return replace(can, choices=can.choices and not is_unheld(NAME))

    def _selector(self, can: Capabilities) -> Constrained | Scored | Prompted:
        if self._selection == "list":
            return Prompted(self._model, self._sampling, whole=True)
        if self._selection == "next" and self._readings == 1:
            return Constrained(self._model, self._sampling) if can.choices else Prompted(self._model, self._sampling)
        if not can.scoring:
            cannot = "select a skill exactly" if self._readings == 1 else "find another reading of the goal"
            exact = "leave exact off" if self._selection == "exact" else "take the agent lota"
            raise Unsupported(
                f"{self._model.name} does not score given texts, so {self.name} cannot {cannot}; run "
                f"a GGUF file by llama-cpp-python (--model llama:FILE.gguf), take a server that tells how likely a prompt's "
                f"tokens are, as vLLM does, or {exact if self._readings == 1 else 'leave readings out'}."
            )
        if self._selection == "next":
            if not can.choices:
                raise Unsupported(
                    f"{self._model.name} cannot be held to given texts, so its plans cannot be varied by skills; give exact=on "
                    "as well, or leave readings out."
                )
            return Constrained(self._model, self._sampling)
        return Scored(self._model, each=self._selection == "each")

    def _possible(self, memory: LotaMemory, turn: Turn) -> dict[str, bool]:
        skills = self._carrier.skills(memory.state)
        if turn.admissible is None:
            return dict.fromkeys((*skills, DONE), True)
        possible = self._carrier.possible(memory.state, turn.admissible)
        return {**{text: text in possible for text in skills}, DONE: True}

    async def _opening(self, memory: LotaMemory, added: str) -> str:
        parts: list[str] = []
        for example in await self._examples.choose(memory.goal, self._carrier.places(memory.state)):
            skills = enumerate((*self._carrier.demonstrated(example), DONE), 1)
            numbered = " ".join(f"{number}. {said(skill)}" for number, skill in skills)
            parts.append(self._prompt.render("example", goal=example.goal, skills=numbered))
        if self._replanning:
            parts.append(in_terms(self._prompt.render("replanning"), self._world))
        return "\n".join((*parts, self._prompt.render("opening", goal=memory.goal) + added, self._prompt.render("first")))

    def _next(self, memory: LotaMemory, added: str) -> str:
        start = f"{' '.join(filter(None, self._told(memory)))}{added}".strip()
        between = "" if not start else "\n\n" if added else " "
        return f"{start}{between}{self._prompt.render('next', number=str(memory.selected + 1))}"

    def _told(self, memory: LotaMemory) -> Iterator[str]:
        """The part of the next message about the skills of the last reply, which may have named more than were begun.
        Without feedback about failures, it lists the skills that were begun."""
        taken = [f"{number}. {skill}" for number, skill in enumerate(memory.taken, memory.selected - len(memory.taken) + 1)]
        if not self._replanning:
            yield self._prompt.render("taken", skills=", ".join(taken)) if memory.listed else ""
            return
        failed = taken.pop() if memory.listed and memory.failure else "this skill"
        yield self._prompt.render("carried", skills=", ".join(taken)) if memory.listed and taken else ""
        yield self._prompt.render("failed", skill=failed, reason=memory.failure) if memory.failure else memory.notice


def _expert_selects(knows: Demonstrator, request: Request) -> Reply:
    """The next skill, ``done`` after the last; all of them if the whole list is asked for."""
    whole = load_prompt(PACKAGE, "selector").sections["whole"].rpartition("$skills")[2].strip()
    if whole in request.messages[0].content:
        return Reply(", ".join((*_listed(knows.left()), DONE)))
    skills, at = _listed(knows.goal.steps()), sum(message.role == "assistant" for message in request.messages)
    return Reply(said(skills[at] if at < len(skills) else DONE))


def _listed(parts: Iterable[Skill]) -> list[str]:
    return [listed_skill(one).text for one in with_ways(parts)]


ROLES = (DemonstratedRole(PACKAGE, "selector", _expert_selects),)
