"""Reasoner and actor: one role plans, another grounds the plan (OPEx, section 3, "Prior Knowledge Integration").

The reasoner writes and revises the general plan; the actor turns it into one executable command at a time; both see the rules.
They are prompted in growing conversations, or by the short prompts that a small model was trained on; the model says which it
needs (`BriefReader`). The paper does not say when the reasoner is asked again. Here it is asked when a subgoal ends, when
the actor is stuck, and when a person gives a hint, each by a setting.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Container, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from housequest.agent.agents.spec import AgentParts
from housequest.agent.base import Act, Decision, Emitter, Grants, Idle, ParseFailure, Turn
from housequest.agent.episodes import events
from housequest.agent.models.base import BriefReader, Message, Model, Request, ability
from housequest.agent.roles import brief, company, messages, reading
from housequest.agent.roles.base import Answer, ReplyError, Role, Sampling, ask, call_event, load_prompt
from housequest.agent.roles.demonstrations import DemonstratedRole, Demonstrator, Lesson, Reply, asked_before, shown_part
from housequest.agent.skills import obliging
from housequest.agent.skills.language.answers import Mind
from housequest.agent.skills.language.bans import Barred
from housequest.agent.skills.language.listening import NOTHING_LEFT, Heard, hear
from housequest.agent.skills.language.sentences import Surroundings
from housequest.agent.skills.partnership import NOBODY_ASKED, Partnership, attending, goal_at, picking
from housequest.agent.skills.searching import ToldPrior, likeliest, look_for
from housequest.knowledge.examples import subtasks_of_goal
from housequest.knowledge.rules import Rule
from housequest.worlds.base import Observation, Transition, World
from housequest.worlds.errors import Unsupported
from housequest.worlds.household.base import Household
from housequest.worlds.household.belief import Belief, names
from housequest.worlds.household.company import ALONE, CompanyMemory, hearing, observing
from housequest.worlds.household.goals import APPLIANCES, Goal
from housequest.worlds.household.weighing import Weighed, after_a_look, weigh
from housequest.worlds.shared import WAIT
from housequest.worlds.text import with_article

if TYPE_CHECKING:
    from housequest.agent.agents.reasoner_actor import ReasonerActorSettings

PACKAGE = "housequest.agent.agents.reasoner_actor"
READINGS = 24
"""After its plan has failed, a small model reads the goal again this often; the plans are tried by how often it gave them."""
PATIENCE = 20  # After so many commands of a search, a plan for something that was seen is tried.
_WARMTH = (
    1.0,
    1.5,
    2.0,
    2.5,
)  # The temperatures of those readings; the next one comes when all plans of the one before have failed.
STUCK = "stuck"  # The actor says this in place of a command when the plan cannot be followed.
MOST_HELD = 8  # The most steps of a plan that is held to its form; its prompt asks for two to six.
_PLAN = re.compile(r"(?im)^[\W_]{0,40}(?:general |revised |new )?plan\b[\s*_`]*:")
_KEEP = re.compile(r"[\W_]{0,40}keep\b.{0,60}", re.IGNORECASE)
_STUCK = re.compile(r"stuck\b", re.IGNORECASE)
_NUMBER = re.compile(r"\d{1,2}")


class ReasonerReply(NamedTuple):
    """A thought with a plan; ``steps`` of None keeps the present plan."""

    thought: str
    steps: tuple[str, ...] | None


def _read_plan(text: str) -> ReasonerReply:
    fields = reading.json_fields(text)
    if "plan" in fields:
        text = f"Thought: {fields.get('thought', '')}\nPlan:\n{fields['plan']}"
    said = next(
        (reading.thought(rest.split("\n")[0]) for label, rest in reading.labelled(text) if label in {"thought", "think"}), ""
    )
    plan = _PLAN.split(text)[-1]
    return ReasonerReply(said, None if _KEEP.fullmatch(plan.strip()) else reading.bounded(reading.items(plan)))


REASONER: Role[ReasonerReply] = Role("reasoner", _read_plan)


@dataclass(frozen=True, slots=True)
class ActorReply:
    """A thought, the plan's present step (from 0; None if not given), and a command (None when stuck), maybe by a ``rule``."""

    thought: str
    step: int | None
    command: str | None
    rule: Rule | None = None


def _read_action(text: str) -> ActorReply:
    said = reading.read_command(text)
    number = _NUMBER.search(said.step)
    step = max(0, int(number[0]) - 1) if number else None
    return ActorReply(said.thought, step, None if _STUCK.match(said.command) else said.command)


ACTOR: Role[ActorReply] = Role("actor", _read_action, stop=("\nObservation:",))


@dataclass(frozen=True, slots=True)
class PlanMemory:
    """The memory of reasoner and actor. ``unreviewed`` are the transitions since the plan was last reviewed; ``asked``
    counts how often the reasoner was asked again. It serves both ways of prompting, since a person may change the model: short
    prompts are rendered from ``state``; ``readings`` are a small model's plans from reading the goal again, in so many
    ``rounds``. ``untold`` is news that the reasoner has not heard, ``partnership`` keeps the requests of others, ``company``
    what they told and do, ``number`` is the goal that it works on of several, and ``weighed`` keeps the odds of the last
    search."""

    goal: str
    opening: Observation
    grants: Grants
    reasoner: messages.RoleMemory
    actor: messages.RoleMemory
    plan: tuple[str, ...] = ()
    step: int = 0
    moved_on: bool = False
    asked: int = 0
    revision: int = -1
    played: tuple[Transition, ...] = ()
    unreviewed: tuple[Transition, ...] = ()
    last: str | None = None
    state: brief.BriefState | None = None
    readings: tuple[ReasonerReply, ...] = ()
    rounds: int = 0
    untold: tuple[str, ...] = ()
    partnership: Partnership = NOBODY_ASKED
    company: CompanyMemory = ALONE
    number: int = 0
    weighed: Weighed | None = None


@dataclass(frozen=True, slots=True)
class ChatPrompting:
    """Two conversations that only grow. The reasoner ``reviews`` what happened; the actor may say that it is ``stuck``."""

    model: Model
    sampling: Sampling
    world: World
    stuck: bool
    reviews: ClassVar[bool] = True

    def observe(self, memory: PlanMemory, transitions: tuple[Transition, ...]) -> PlanMemory:
        played, unreviewed = memory.played + transitions, memory.unreviewed + transitions
        return replace(memory, played=played, unreviewed=unreviewed, state=None)

    def led_nowhere(self, memory: PlanMemory, after: int) -> str | None:
        """The reason to ask the reasoner again, if the last commands, ``after`` or more, led nowhere."""
        latest = memory.unreviewed[-after:]
        refused = all(not one.observation.accepted for one in latest)
        if after <= len(latest) and (refused or (after > 1 and len(set(latest)) == 1)):
            return f"the last {after} commands led nowhere"
        return None

    async def plan(
        self, memory: PlanMemory, turn: Turn, reason: str, emit: Emitter
    ) -> tuple[Answer[ReasonerReply], PlanMemory]:
        """Ask the reasoner for a plan, or to review the present one, for ``reason``."""
        prompt = load_prompt(PACKAGE, "reasoner")
        if not memory.reasoner.started:
            text = messages.opening(prompt, memory.opening, memory.goal, memory.played)
        else:
            plan = messages.numbered(memory.plan) or "There is none yet."
            text = prompt.render("review", story=messages.transcript(memory.unreviewed), plan=plan, reason=reason)
        turn = replace(turn, admissible=None, news=memory.untold)
        role = REASONER.held_to(reading.planning_form(MOST_HELD, begun=bool(memory.plan)))
        answer, reasoner = await memory.reasoner.ask(
            role, self.model, text, turn, memory.grants, emit, self.sampling, company=company.HEARS
        )
        return answer, replace(memory, reasoner=reasoner, untold=())

    async def act(
        self, memory: PlanMemory, turn: Turn, emit: Emitter, *, revised: bool, again: bool
    ) -> tuple[Answer[ActorReply], PlanMemory]:
        """Ask the actor for a command. ``revised``: the plan is new. ``again``: it just said that it is stuck."""
        prompt, plan = load_prompt(PACKAGE, "actor"), messages.numbered(memory.plan)
        first = not memory.actor.started
        parts: list[str] = []
        if first:
            parts.append(messages.opening(prompt, memory.opening, memory.goal, memory.played, plan=plan))
        elif not again:
            parts.append(prompt.render("turn", observation=messages.transcript(turn.transitions, own=memory.last)))
        if again or (revised and not first):
            parts.append(prompt.render("revised" if revised else "kept", plan=plan))
        turn = replace(turn, hints=(), news=(), admissible=None) if again else turn
        text = "\n\n".join(parts)
        more = (*((STUCK,) if self.stuck else ()), *company.commands(turn))
        command = reading.command_value(self.world, turn.belief, turn.admissible, more)
        role = ACTOR.held_to(reading.acting_form(command, len(memory.plan)))
        answer, actor = await memory.actor.ask(
            role, self.model, text, turn, memory.grants, emit, self.sampling, company=company.ACTS
        )
        return answer, replace(memory, actor=actor, last=None)


@dataclass(frozen=True, slots=True)
class BriefPrompting:
    """One short message for each call (`housequest.agent.roles.brief`), rendered from belief.

    The reasoner sees goal, rules and hints, so it is asked at the beginning and on a hint. When a plan has failed it reads
    the goal several times, and its most frequent answer is tried next (self-consistency, Wang et al., 2023). Hints that say
    in plain words where to go or what to do are followed without it (`housequest.agent.roles.brief`). Of several goals, and in
    company, it plans for one at a time, in the house that is left to it (`partnership.picking`). If a command was already given
    with the same knowledge, was declined, names what is not there, or is not among the granted admissible ones, or if the actor
    walks to where it stands or says that it is stuck, the command that carries the plan out with what was found takes its
    place; if there is none, the actor chooses another from a list."""

    model: Model
    sampling: Sampling
    household: Household
    reviews: ClassVar[bool] = False

    def observe(self, memory: PlanMemory, transitions: tuple[Transition, ...]) -> PlanMemory:
        state = memory.state or brief.BriefState(memory.opening.belief or Belief()).after(memory.played)
        company, walk = memory.company, self.household.commands.go.partition("{")[0]
        for one in transitions:
            before, state = state.belief, state.after((one,))
            refused = not one.observation.accepted
            company = observing(company, one.command, before, state.belief, walk=walk, refused=refused)
        return replace(memory, played=memory.played + transitions, state=state, company=company)

    def hear(self, memory: PlanMemory, turn: Turn, mind: Mind) -> Heard:
        """Read this turn's hints, and answer them by ``mind``."""
        state = memory.state
        assert state is not None
        scene = Surroundings(state.belief, self.household, memory.goal, tuple(command for _, command in state.seen))
        mind = replace(mind, turns=turn.left, barred=turn.declined)
        return hear(turn.hints, state.told, scene, mind, turn.answered, turn.proposed)

    def take_in(
        self, memory: PlanMemory, turn: Turn, *, between: bool = False
    ) -> tuple[PlanMemory, Surroundings, tuple[str, ...]]:
        """Take in what others said (`obliging.heed`). Returns the memory, the context, and the answers."""
        state = memory.state
        assert state is not None
        state = replace(state, belief=turn.belief or state.belief)
        scene = Surroundings(state.belief, self.household, memory.goal, tuple(command for _, command in state.seen))
        partnership, answers = obliging.heed(
            attending(memory.partnership, turn, state.belief),
            turn,
            scene,
            lambda _: obliging.told_of_thought(memory.plan[memory.step] if memory.plan else "make a plan"),
            between=between,
        )
        return replace(memory, state=state, partnership=partnership), scene, answers

    def oblige(self, memory: PlanMemory, turn: Turn) -> tuple[PlanMemory, str | None, tuple[str, ...]]:
        """Take in what others said. Returns the memory, the command if they asked for something or it leaves the rest to them,
        and the answers."""
        assert memory.state is not None
        company = replace(memory.company, player=turn.player, others=turn.others, says=())
        company = hearing(company, memory.state.belief, self.goals(memory), turn.news)
        memory, scene, answers = self.take_in(memory, turn)
        obliged = obliging.oblige(memory.partnership, scene)
        company = replace(company, arrangement=obliged.partnership.arrangement)
        memory, says = replace(memory, partnership=obliged.partnership, company=company), (*answers, *obliged.says)
        if obliged.command is not None:
            return memory, obliged.command, says
        memory, command = self.pick(memory, scene)
        return memory, command, (*says, *memory.company.says)

    def pick(self, memory: PlanMemory, scene: Surroundings) -> tuple[PlanMemory, str | None]:
        """Pick one of several goals. Returns the memory, and the command if there is nothing to plan."""
        picked = picking(memory.company, memory.number, scene, memory.partnership.found)
        state = replace(memory.state or brief.BriefState(scene.belief), others=picked.house)
        if picked.number != memory.number:
            # A new goal needs a new plan.
            state = replace(state, failed=(), repeated=0, turns=0)
            memory = replace(memory, plan=(), step=0, revision=-1, asked=0, readings=(), rounds=0)
        return replace(memory, state=state, company=picked.company, number=picked.number), picked.command

    def goals(self, memory: PlanMemory) -> tuple[Goal, ...]:
        """All goals, if the sentence is in the world's own words."""
        assert memory.state is not None
        return tuple(self.household.read_goals(memory.goal, memory.state.belief.kinds))

    def goal(self, memory: PlanMemory) -> str:
        """The goal to plan for; of several, the one that it works on."""
        return goal_at(memory.number, memory.goal, self.household) if memory.number else memory.goal

    def led_nowhere(self, memory: PlanMemory, after: int) -> str | None:
        """The reason to read the goal again, if the plan is done, teaches nothing, or names nothing that was found."""
        state = memory.state
        if state is None or not memory.plan:
            return None
        if brief.is_done(memory.plan, state.house):
            return "all steps of the plan are done, but the task is not over"
        if state.repeated >= after:
            return f"{state.repeated} times the actor repeated what had taught it nothing"
        # A goal in the world's own words has one meaning; what it names is still to be found.
        goal = self.household.read_goal(self.goal(memory))
        certain = goal is not None and plan_of(goal) == memory.plan
        if state.turns >= PATIENCE and state.misses_all(memory.plan) and not certain:
            return f"{state.turns} commands have found nothing that the plan names"
        return None

    async def plan(
        self, memory: PlanMemory, turn: Turn, reason: str, emit: Emitter
    ) -> tuple[Answer[ReasonerReply], PlanMemory]:
        del reason
        state = memory.state
        assert state is not None
        state = replace(state, hints=state.hints + turn.hints, repeated=0, turns=0)
        sentence = self.goal(memory)
        rules = brief.relevant_rules(sentence, state.belief, turn.rules)
        messages.emit_rules(rules, (), emit)
        text = brief.planning(sentence, state.belief, rules, state.hints, ())
        if not memory.plan or turn.hints:
            answer = await ask(REASONER, self.model, (), text, emit, self.sampling)
            return answer, replace(memory, state=state, readings=(), rounds=0)
        if memory.number and (goal := self.household.read_goal(sentence)) is not None:
            # Goals by the clause are in the world's own words, which have one meaning.
            return Answer(ReasonerReply("", plan_of(goal)), "", ()), replace(memory, state=state)
        # An unseen thing may still be there, so only a plan for a seen one is better.
        searching = state.misses_all(memory.plan)
        failed = state.failed if searching else (*state.failed, memory.plan)
        readings, rounds = memory.readings, memory.rounds

        def left() -> list[ReasonerReply]:
            used = {memory.plan, *failed}
            others = [one for one in readings if one.steps not in used and not brief.is_done(one.steps or (), state.house)]
            found = [one for one in others if brief.is_found(one.steps or (), state.house)]
            return found if searching else found or others

        while not left() and rounds < (1 if searching else len(_WARMTH)):
            readings += await self._readings(text, state.belief, _WARMTH[rounds], emit)
            rounds += 1
        if not left() and not searching:
            # Try all of them again, since the thing may have been overlooked.
            failed = ()
        likeliest = next(iter(left()), ReasonerReply("", None))
        memory = replace(memory, state=replace(state, failed=failed), readings=readings, rounds=rounds)
        return Answer(likeliest, "", ()), memory

    async def _readings(self, text: str, belief: Belief, warmth: float, emit: Emitter) -> tuple[ReasonerReply, ...]:
        """Random plans of the reasoner, the most frequent first: a person may have meant one of them."""
        asked = (Message("user", text),)
        most, first = self.sampling.reply_tokens(REASONER.reply_tokens), (self.sampling.seed or 0) * READINGS
        times: Counter[ReasonerReply] = Counter()
        # One after the other, so that each call is recorded and counted as it ends, and an interrupted game can go on.
        for seed in range(first, first + READINGS):
            request = Request(asked, stop=REASONER.stop, max_tokens=most, temperature=warmth, seed=seed)
            completion = await self.model.complete(request)
            emit(call_event(REASONER.name, asked, completion), completion.timing)
            with suppress(ReplyError):
                reply = REASONER.read(completion.text)
                if brief.is_possible(reply.steps or (), belief):
                    times[ReasonerReply("", reply.steps)] += 1
        return tuple(reply for reply, _ in times.most_common())

    async def act(
        self, memory: PlanMemory, turn: Turn, emit: Emitter, *, revised: bool, again: bool
    ) -> tuple[Answer[ActorReply], PlanMemory]:
        """Give the next command of a person's directions; else ask the actor. ``again``: it just said that it is stuck."""
        del revised
        state = memory.state
        assert state is not None
        barred = state.told.barred(Surroundings(state.belief, self.household, memory.goal), turn.declined)
        hidden = (item for item in state.belief.items if item.where is not None and item.name not in state.house.things)
        barred = barred.also(self.household.commands.take.format(thing=one.name, place=one.where) for one in hidden)
        if (directions := state.told.directions) is not None:
            told = directions.next(state.belief, "\n".join(memory.plan), barred.also(state.tried))
            followed = replace(state.told, directions=told[1] if told else None)
            memory = replace(memory, state=replace(state, told=followed))
            if told is not None:
                said = f'You said: "{directions.hint}".'
                return Answer(ActorReply(said, None, told[0]), "", ()), memory
        if (found := self._search(memory.plan, state, turn.rules, barred, emit)) is not None:
            return Answer(found, "", ()), memory
        text = brief.acting(memory.plan, state.house, (*state.tried, *turn.declined))
        answer = await ask(ACTOR, self.model, (), text, emit, self.sampling)
        if answer.value is not None:
            said, possible, done = answer.value.command, turn.admissible, barred.also(state.idle)
            # A small model may make up a name, and may be at a loss in a house that it shares. What it takes is else up to it.
            lost = not {*state.house.places, *state.house.things}.issuperset(names(said or ""))
            clear = lost or state.others is not None or state.house.held is not None
            due = brief.due(memory.plan, state.house, self.household.commands) if clear else []
            due = [each for each in due if each not in done and (possible is None or each in possible)]
            # To walk to where it stands is refused for certain; what the plan needs there is meant.
            walks = {self.household.commands.go.format(place=one.name) for one in state.belief.here()} if due else set[str]()
            if due and (said is None or lost or said in done or said in walks):
                return Answer(replace(answer.value, thought="", command=due[0]), "", answer.conversation), memory
            refused = said is not None and (lost or said in done or (possible is not None and said not in possible))
            if refused or (said is None and again):
                return await self._instead(memory, answer, answer.value, possible, barred, emit)
        return answer, memory

    async def _instead(
        self,
        memory: PlanMemory,
        answer: Answer[ActorReply],
        said: ActorReply,
        possible: Sequence[str] | None,
        barred: Barred,
        emit: Emitter,
    ) -> tuple[Answer[ActorReply], PlanMemory]:
        """Have the model choose another command than it ``said``; say so if a person ruled it out, and all others too."""
        state = memory.state
        assert state is not None
        idle = state.idle
        if possible is None:
            options = state.alternatives(self.household.commands, barred)
        else:
            options = tuple(each for each in possible if each not in barred and each not in idle)
            options = options or tuple(each for each in possible if each not in barred)
        banned = said.command is not None and said.command in replace(barred, listed=frozenset[str]())
        if banned and not options:
            return Answer(ActorReply(NOTHING_LEFT.format(state.told.ruled_out), None, "look"), "", ()), memory
        if options:
            repeated = state.repeated + (said.command in idle and not state.misses_some(memory.plan))
            memory = replace(memory, state=replace(state, repeated=repeated))
            answer = await self._choose(answer, said, options, emit)
            if banned and answer.value is not None:
                why = f"You ruled out {said.command}, so I do something else."
                answer = replace(answer, value=replace(answer.value, thought=why))
        return answer, memory

    def _search(
        self, plan: Sequence[str], state: brief.BriefState, rules: Sequence[Rule], barred: Container[str], emit: Emitter
    ) -> ActorReply | None:
        """The next command of a search by location rules, or with several goals by counts, since the network never learned to
        search a part of a house; None if the plan's things were seen, or if alone no rule is about them."""
        sought, belief = brief.unseen(plan, state.house), state.house
        counts = self.household.counts()
        told = ToldPrior(counts, counts, rules, belief)
        ruled = told.about(sought)
        if not (ruled or (sought and state.others)) or (found := look_for(sought, belief, told, counts, barred)) is None:
            return None
        place, command = found
        rule = next(filter(None, (told.says(thing, place) for thing in sought)), None)
        if rule is not None:
            messages.emit_rules((rule,), (), emit)
        why = f"look for {' or '.join(map(with_article, sought))} in the {place}"
        why = (
            f"look in the {place} first: {rule.statement}" if rule else f"{why}; no rule names a better place" if ruled else why
        )
        return ActorReply(why, None, command, rule)

    def weigh(self, memory: PlanMemory, turn: Turn, command: str, emit: Emitter) -> PlanMemory:
        """Tell the odds of the places with the actor's thought, if the ``command`` searches for something in the plan."""
        state, counts = memory.state, self.household.counts()
        assert state is not None
        belief, sought = state.house, brief.unseen(memory.plan, state.house)
        prior = ToldPrior(counts, counts, turn.rules, belief) if turn.rules else counts
        barred = state.told.barred(Surroundings(belief, self.household, memory.goal), turn.declined)
        weighed = weigh(sought, likeliest(sought, belief, prior, counts), command, belief, barred) if sought else None
        messages.emit_weighed(ACTOR.name, after_a_look(memory.weighed, weighed, belief), emit)
        return replace(memory, weighed=weighed)

    async def _choose(
        self, answer: Answer[ActorReply], said: ActorReply, options: tuple[str, ...], emit: Emitter
    ) -> Answer[ActorReply]:
        begun = f"Thought: {said.thought}\nStep: {(said.step or 0) + 1}\nAction:"
        conversation = (*answer.conversation[:-1], Message("assistant", begun))
        completion = await self.model.complete(
            Request(conversation, choices=options, temperature=self.sampling.temperature, seed=self.sampling.seed)
        )
        call = call_event(ACTOR.name, conversation, completion, kept=0)
        emit(call, completion.timing)
        # The thought was about the other command.
        return Answer(replace(said, thought="", command=call.reply), "", conversation)


class ReasonerActor:
    """Plays by a plan. Calls a step: 1, 1 more when the plan is made or reviewed, and 1 more after a reply of `stuck`; with
    short prompts `READINGS` or more once a plan has failed."""

    name = "reasoner-actor"

    def __init__(self, parts: AgentParts[ReasonerActorSettings]) -> None:
        self._model, self._sampling, self._settings = parts.model, parts.sampling, parts.settings
        self._world, manual = parts.world, parts.world.info.manual
        self._reasoner, self._actor = (
            messages.RoleMemory((messages.system_message(load_prompt(PACKAGE, name), parts.world, plans=True, manual=manual),))
            for name in ("reasoner", "actor")
        )

    def begin(self, goal: str, observation: Observation, grants: Grants) -> PlanMemory:
        return PlanMemory(goal, observation, grants, self._reasoner, self._actor)

    def answer(self, memory: PlanMemory, turn: Turn) -> tuple[tuple[str, ...], PlanMemory]:
        prompting = self._prompting()
        if not isinstance(prompting, BriefPrompting):
            return (), memory
        now, _, answers = prompting.take_in(prompting.observe(memory, turn.transitions), turn, between=True)
        return answers, replace(memory, partnership=now.partnership)

    async def decide(self, memory: PlanMemory, turn: Turn, emit: Emitter) -> tuple[Decision, PlanMemory]:
        prompting = self._prompting()
        memory = replace(prompting.observe(memory, turn.transitions), untold=memory.untold + turn.news)
        if not isinstance(prompting, BriefPrompting):
            return await self._decide(prompting, memory, turn, emit)
        heard = prompting.hear(memory, turn, Mind())
        if not heard.answers:
            return await self._heeding(prompting, memory, turn, heard, emit)
        withheld = messages.WithheldThoughts(emit)
        decision, after = await self._heeding(prompting, memory, turn, heard, withheld)
        mind = Mind(after.plan, after.step, withheld.aim, withheld.reason)
        for answer in prompting.hear(memory, turn, mind).answers:
            emit(events.Thought(role=REASONER.name, text=answer, answers=True))
        withheld.release()
        return decision, after

    async def _heeding(
        self, prompting: BriefPrompting, memory: PlanMemory, turn: Turn, heard: Heard, emit: Emitter
    ) -> tuple[Decision, PlanMemory]:
        """Decide by what a person told; the hints that were not understood go to the model."""
        assert memory.state is not None
        memory, turn = replace(memory, state=replace(memory.state, told=heard.told)), replace(turn, hints=heard.left)
        says: tuple[str, ...] = ()
        if turn.others or len(prompting.goals(memory)) > 1:
            memory, command, says = prompting.oblige(memory, turn)
            if command is not None:
                return Act(command, says), memory
        decision, memory = await self._decide(prompting, memory, turn, emit)
        if isinstance(decision, Act):
            memory = prompting.weigh(memory, turn, decision.command, emit)
            return replace(decision, says=(*says, *decision.says)), memory
        return (Act(WAIT, says) if says else decision), memory

    async def _decide(
        self, prompting: ChatPrompting | BriefPrompting, memory: PlanMemory, turn: Turn, emit: Emitter
    ) -> tuple[Decision, PlanMemory]:
        before = memory.revision
        if reason := self._trigger(memory, turn, prompting):
            failure, memory = await self._plan(prompting, memory, turn, reason, emit)
            if failure is not None:
                return failure, memory
        answer, memory = await prompting.act(memory, turn, emit, revised=memory.revision != before, again=False)
        if answer.value is not None and answer.value.command is None and self._may_ask(memory) and self._settings.stuck_after:
            why = f"the actor is stuck: {answer.value.thought or 'it did not say why'}"
            before = memory.revision
            failure, memory = await self._plan(prompting, memory, replace(turn, hints=()), why, emit)
            if failure is not None:
                return failure, memory
            answer, memory = await prompting.act(memory, turn, emit, revised=memory.revision != before, again=True)
        if answer.value is None:
            return ParseFailure(ACTOR.name, answer.reason), memory
        messages.emit_thought(ACTOR.name, answer.value.thought, emit, answer.value.rule)
        if answer.value.command is None:
            return Idle("the actor is stuck and names no command"), memory
        step = memory.step if answer.value.step is None else min(answer.value.step, len(memory.plan) - 1)
        if step != memory.step:
            emit(events.Progressed(role=ACTOR.name, step=step))
            memory = replace(memory, moved_on=step > memory.step, step=step)
        return Act(answer.value.command, answer.says), replace(memory, last=answer.value.command)

    def _trigger(self, memory: PlanMemory, turn: Turn, prompting: ChatPrompting | BriefPrompting) -> str | None:
        if memory.revision < 0:
            return "the episode begins"
        # Without reviews only the plan carries a hint to the actor, so the reasoner is always asked.
        if turn.hints and (not prompting.reviews or (self._settings.on_hint and self._may_ask(memory))):
            return "the person beside you gave a hint"
        if not self._may_ask(memory):
            return None
        after = self._settings.stuck_after
        if after > 0 and (why := prompting.led_nowhere(memory, after)):
            return why
        if prompting.reviews and memory.moved_on and self._settings.on_subgoal:
            return f"the actor has gone on to step {memory.step + 1} of the plan"
        return None

    def _may_ask(self, memory: PlanMemory) -> bool:
        return memory.asked < self._settings.revisions

    def _prompting(self) -> ChatPrompting | BriefPrompting:
        if ability(self._model, BriefReader) is None:
            return ChatPrompting(self._model, self._sampling, self._world, self._settings.stuck_after > 0)
        household = self._world.household
        if household is None:
            raise Unsupported(
                f"{self._model.name} only plays households; name another model for this world, such as openai:NAME."
            )
        return BriefPrompting(self._model, self._sampling, household)

    async def _plan(
        self, prompting: ChatPrompting | BriefPrompting, memory: PlanMemory, turn: Turn, reason: str, emit: Emitter
    ) -> tuple[ParseFailure | Idle | None, PlanMemory]:
        answer, memory = await prompting.plan(memory, turn, reason, emit)
        another = answer.value.steps if answer.value is not None and answer.value.steps != memory.plan else None
        # Short prompts are asked a limited number of times anyway, so only another plan counts.
        spent = memory.revision >= 0 and (prompting.reviews or another is not None)
        memory = replace(memory, asked=memory.asked + spent, unreviewed=(), moved_on=False)
        if answer.value is None:
            # An older plan can still be followed; without one the turn is used up.
            return (None if memory.plan else ParseFailure(REASONER.name, answer.reason)), memory
        messages.emit_thought(REASONER.name, answer.value.thought, emit)
        if another is not None:
            memory = replace(memory, plan=another, step=0, revision=memory.revision + 1)
            emit(events.Planned(role=REASONER.name, steps=another, revision=memory.revision, reason=reason))
        elif not memory.plan:
            return Idle("the reasoner keeps a plan, and there is none yet"), memory
        return None, memory


_KEPT = "Thought: The plan is right\nPlan: keep"


@dataclass(frozen=True, slots=True)
class SearchOrder:
    """Receptacles, by name or kind, to search ``first`` and ``last``: for the lamp with ``lamp``, else for the object."""

    first: tuple[str, ...] = ()
    last: tuple[str, ...] = ()
    lamp: bool = False

    def __bool__(self) -> bool:
        return bool(self.first or self.last)


ANYWHERE = SearchOrder()  # No order: the player searches in its own.


def plan_of(goal: Goal, order: SearchOrder = ANYWHERE) -> tuple[str, ...]:
    """The plan for ``goal``, in two to four steps."""
    first = f", first in the {' or the '.join(order.first)}" if order.first else ""
    last = f", last in the {' or the '.join(order.last)}" if order.last else ""
    where = first + last
    find = f"find and take {with_article(goal.object)}{'' if order.lamp else where}"
    if goal.lamp:
        return (find, f"find a {goal.lamp}{where if order.lamp else ''} and use it")
    if goal.count > 1:
        put = f"put it in the {goal.receptacle}"
        return (find, put, f"find and take another {goal.object}", f"{put} too")
    treat = (f"{goal.treatment} it with the {APPLIANCES[goal.treatment]}",) if goal.treatment else ()
    return (find, *treat, f"put it in the {goal.receptacle}")


def planned(goal: Goal, order: SearchOrder = ANYWHERE) -> str:
    steps = "\n".join(f"{number}. {step}" for number, step in enumerate(plan_of(goal, order), 1))
    return f"Thought: {goal}\nPlan:\n{steps}"


def acted(lesson: Lesson) -> str:
    return f"Thought: {lesson.thought}\nStep: {lesson.step}\nAction: {lesson.command}"


def _reasoner(knows: Demonstrator, request: Request) -> Reply:
    if asked_before(request):
        return Reply(_KEPT)
    part = shown_part(knows, request)
    if part is None:
        return Reply(planned(knows.goal))
    step = plan_of(knows.goal)[subtasks_of_goal(knows.goal).index(part)]
    return Reply(f"Thought: {part}\nPlan:\n1. {step}")


def _actor(knows: Demonstrator, request: Request) -> Reply:
    part = shown_part(knows, request)
    lesson, learned = knows.lesson(request, part)
    return Reply(acted(replace(lesson, step=1) if part else lesson), learned)


ROLES = (DemonstratedRole(PACKAGE, "reasoner", _reasoner), DemonstratedRole(PACKAGE, "actor", _actor))
