"""The world's own expert, which plays from observations; and a person, whom a callable asks for each command, with or without
an agent that stands in."""

from __future__ import annotations

import re
from collections.abc import Container
from dataclasses import dataclass, field, replace

from housequest.agent.base import (
    Act,
    Agent,
    Answering,
    AskPerson,
    Away,
    Decision,
    Emitter,
    GiveUp,
    Grants,
    HandOver,
    Idle,
    Leave,
    Memory,
    Overheard,
    Say,
    Turn,
)
from housequest.agent.episodes.events import Thought
from housequest.agent.roles.base import clean
from housequest.agent.roles.messages import WithheldThoughts, emit_rules, emit_thought, emit_weighed
from housequest.agent.skills import obliging
from housequest.agent.skills.language import grounding
from housequest.agent.skills.language.answers import Mind
from housequest.agent.skills.language.listening import NOTHING_LEFT, PASSED_ON, Advice, hear
from housequest.agent.skills.language.sentences import Surroundings
from housequest.agent.skills.partnership import NOBODY_ASKED, Partnership, attending
from housequest.agent.skills.searching import ToldPrior
from housequest.knowledge.rules import Rule
from housequest.worlds.base import Observation, Policy, Transition
from housequest.worlds.household.arrangement import Arrangement, Arranging
from housequest.worlds.household.base import Household, PriorSearch, Weighing
from housequest.worlds.household.weighing import Odds, Weighed, after_a_look
from housequest.worlds.shared import Companion

MOST_REFUSED = 300
"""After this many commands that a person ruled out, a policy has nothing left."""
_NOTHING = "look"
"""Given if nothing is left to do."""


@dataclass(frozen=True, slots=True)
class _Beside:
    """A policy's own memory, with the requests of others, the commands so far, what a person ``told``, and what the last search
    ``weighed``."""

    policy: Memory
    goal: str
    partnership: Partnership = NOBODY_ASKED
    played: tuple[str, ...] = ()
    told: Advice = field(default_factory=Advice)
    weighed: Weighed | None = None


class PolicyAgent:
    """Plays by a ``Policy``. Calls a step: 0; ignores all rules but those that say where things are, by which a household's
    policy searches. There it first does what a person orders, leaves out what they rule out or decline, and in company does
    what others ask (`housequest.agent.skills.obliging`)."""

    name = "expert"

    def __init__(self, policy: Policy, household: Household | None = None) -> None:
        self._policy, self._household = policy, household

    def begin(self, goal: str, observation: Observation, grants: Grants) -> Memory:
        del grants
        return _Beside(self._policy.begin(goal, observation), goal)

    def knows(self, memory: Memory) -> bool:
        """True if the policy knows a command next."""
        return isinstance(memory, _Beside) and self._policy.decide(memory.policy)[0] is not None

    def answer(self, memory: _Beside, turn: Turn) -> tuple[tuple[str, ...], _Beside]:
        now = self._taking_in(memory, turn)
        if (scene := self._scene(now, turn)) is None:
            return (), memory
        partnership, answers = self._heed(now, turn, scene, between=True)
        return answers, replace(memory, partnership=partnership)

    async def decide(self, memory: _Beside, turn: Turn, emit: Emitter) -> tuple[Decision, _Beside]:
        memory = self._taking_in(memory, turn)
        if (scene := self._scene(memory, turn)) is not None:
            if turn.others:
                return self._play_beside(memory, turn, scene, emit)
            if turn.hints or turn.declined or memory.told != Advice():
                return self._play_advised(memory, turn, scene, emit)
        return self._play(memory, turn, emit)

    def _taking_in(self, memory: _Beside, turn: Turn) -> _Beside:
        """The memory with what happened since the last decision."""
        policy = memory.policy
        for transition in turn.transitions:
            policy = self._policy.observe(policy, transition.command, transition.observation)
        if turn.others and isinstance(self._policy, Companion):
            policy = self._policy.hear(policy, turn.player, turn.others, turn.news)
        return replace(memory, policy=policy, played=(*memory.played, *(one.command for one in turn.transitions)))

    def _scene(self, memory: _Beside, turn: Turn) -> Surroundings | None:
        if self._household is None or turn.belief is None:
            return None
        return Surroundings(turn.belief, self._household, memory.goal, memory.played)

    def _heed(
        self, memory: _Beside, turn: Turn, scene: Surroundings, *, between: bool = False
    ) -> tuple[Partnership, tuple[str, ...]]:
        return obliging.heed(
            attending(memory.partnership, turn, scene.belief),
            turn,
            scene,
            lambda arrangement: obliging.told_of_thought(self._policy.decide(self._arranged(memory.policy, arrangement))[1]),
            divides=isinstance(self._policy, Arranging),
            between=between,
        )

    def _play_advised(self, memory: _Beside, turn: Turn, scene: Surroundings, emit: Emitter) -> tuple[Decision, _Beside]:
        """Play by what a person told; thoughts come behind the answers, which tell them as reasons."""
        heard = hear(turn.hints, memory.told, scene, Mind(barred=turn.declined), turn.answered, turn.proposed)
        withheld = WithheldThoughts(emit)
        decision, after = self._play_told(memory, turn, scene, heard.told, withheld)
        mind = Mind(aim=withheld.aim, reason=withheld.reason, turns=turn.left, barred=turn.declined)
        for said in hear(turn.hints, memory.told, scene, mind, turn.answered, turn.proposed).answers:
            emit(Thought(role=self.name, text=said.removesuffix(PASSED_ON), answers=True))
        withheld.release()
        return decision, after

    def _play_told(
        self, memory: _Beside, turn: Turn, scene: Surroundings, told: Advice, emit: Emitter
    ) -> tuple[Decision, _Beside]:
        barred = told.barred(scene, turn.declined)
        directions = told.directions
        step = None if directions is None else directions.next(scene.belief, memory.goal, barred)
        if directions is not None and step is not None:
            emit_thought(self.name, f'You said: "{directions.hint}".', emit)
            return Act(step[0]), replace(memory, told=replace(told, directions=step[1]))
        memory = replace(memory, told=replace(told, directions=None))
        policy, barred_place = self._leaving_out(memory.policy, turn, scene, barred)
        if policy is None:
            emit_thought(self.name, NOTHING_LEFT.format(told.ruled_out or "by declining it"), emit)
            return Act(_NOTHING), memory
        decision, after = self._play(replace(memory, policy=policy), turn, emit, barred_place)
        # What a person rules out now may be allowed again.
        kept, _ = self._leaving_out(memory.policy, turn, scene, turn.declined)
        return decision, replace(after, policy=memory.policy if kept is None else kept)

    def _leaving_out(
        self, policy: Memory, turn: Turn, scene: Surroundings, barred: Container[str]
    ) -> tuple[Memory | None, Odds | None]:
        """The policy's memory with all that is ``barred`` refused, None if nothing is left; and the first place left out."""
        silence, place, refused = Observation(scene.commands.silence, accepted=False), None, set[str]()
        while len(refused) < MOST_REFUSED:
            command, _, after = self._searching(turn).decide(policy)
            if command is None or command in refused or (refused and command == _NOTHING):
                break
            names = grounding.names_of(command)
            looks = command.startswith(("examine ", "open ")) and scene.commands.go.format(place=names[-1]) in barred
            if command not in barred and not looks:
                return policy, place
            weighed = self._weighs(after, turn)
            place = place or (weighed.next if weighed else None)
            policy = self._policy.observe(after, command, silence)
            refused.add(command)
        return (None if refused else policy), place

    def _play_beside(self, memory: _Beside, turn: Turn, scene: Surroundings, emit: Emitter) -> tuple[Decision, _Beside]:
        partnership, answers = self._heed(memory, turn, scene)
        obliged = obliging.oblige(partnership, scene)
        policy = self._arranged(memory.policy, obliged.partnership.arrangement)
        memory = _Beside(policy, memory.goal, obliged.partnership, memory.played)
        if obliged.command is not None:
            return Act(obliged.command, (*answers, *obliged.says)), memory
        decision, memory = self._play(memory, turn, emit)
        if isinstance(decision, Act):
            decision = replace(decision, says=(*answers, *obliged.says, *decision.says))
        return decision, memory

    def _arranged(self, memory: Memory, arrangement: Arrangement) -> Memory:
        return self._policy.arranged(memory, arrangement) if isinstance(self._policy, Arranging) else memory

    def _searching(self, turn: Turn) -> Policy:
        """The policy; if it can, it searches by this turn's rules."""
        told = self._told(turn)
        return self._policy if told is None or not isinstance(self._policy, PriorSearch) else self._policy.searching_by(told)

    def _weighs(self, policy: Memory, turn: Turn) -> Weighed | None:
        searching = self._searching(turn)
        return searching.weighs(policy) if isinstance(searching, Weighing) else None

    def _play(self, memory: _Beside, turn: Turn, emit: Emitter, barred: Odds | None = None) -> tuple[Decision, _Beside]:
        """Play the policy's next command; it leaves out the place that is ``barred``."""
        told, policy = self._told(turn), self._searching(turn)
        command, thought, after = policy.decide(memory.policy)
        rule: Rule | None = None
        if command is None:
            return GiveUp(thought), replace(memory, policy=after)
        if told is not None and turn.belief is not None:
            # The thought of a search names what is looked for.
            said = (told.says_of_command(thing, command, turn.belief) for thing in re.findall("[a-z]+", thought))
            if (rule := next(filter(None, said), None)) is not None:
                emit_rules((rule,), (), emit)
                thought = f"{thought} ({rule.statement})"
        weighed = self._weighs(after, turn)
        weighed = weighed and replace(weighed, barred=barred)
        news = after_a_look(memory.weighed, weighed, turn.belief) if turn.belief else weighed
        if weighed is None or news is None:
            emit_thought(self.name, thought, emit, rule)
        emit_weighed(self.name, news, emit, rule)
        says = policy.says(after) if turn.others and isinstance(policy, Companion) else ()
        return Act(command, says), replace(memory, policy=after, weighed=weighed)

    def _told(self, turn: Turn) -> ToldPrior | None:
        if self._household is None or turn.belief is None or not any(rule.kind == "location" for rule in turn.rules):
            return None
        counts = self._household.counts()
        return ToldPrior(counts, counts, turn.rules, turn.belief)


class Human:
    """Plays what a person types; has no memory."""

    name = "human"

    def __init__(self, ask: AskPerson) -> None:
        self._ask = ask

    def begin(self, goal: str, observation: Observation, grants: Grants) -> None:
        del goal, observation, grants

    async def decide(self, memory: None, turn: Turn, emit: Emitter) -> tuple[Decision, None]:
        del memory
        # The screen shows the rules from the event.
        emit_rules(turn.rules, (), emit)
        answer = await self._ask(turn)
        assert not isinstance(answer, Away), "nobody stands in for this person"
        return _decision(answer), None


def _decision(answer: str | Say | Overheard | Idle | None) -> Decision:
    match answer:
        case None:
            return Leave("the player left")
        case str() as command:
            return Act(clean(command))
        case decision:
            return decision


@dataclass(frozen=True, slots=True)
class _Kept:
    """The ``memory`` of a stand-in, and what happened since it last decided, for when it plays again. ``turn`` is the current
    one, with its ``news`` so far, and ``answer`` comes from a person who is back.
    """

    memory: Memory
    plays: bool = False
    unseen: tuple[Transition, ...] = ()
    before: tuple[str, ...] = ()
    news: tuple[str, ...] = ()
    turn: int = 0
    answer: str | Say | Overheard | Idle | None = None

    def taking_in(self, turn: Turn) -> _Kept:
        before = self.before if turn.number == self.turn else (*self.before, *self.news)
        unseen = (*self.unseen, *turn.transitions)
        return replace(self, unseen=unseen, before=before, news=turn.news, turn=turn.number)


class Guest:
    """Plays what a person types; while they are away (`Away`), ``stand_in`` plays, which knows all that they were told."""

    name = Human.name

    def __init__(self, ask: AskPerson, stand_in: Agent) -> None:
        self._ask, self._stand_in = ask, stand_in

    def begin(self, goal: str, observation: Observation, grants: Grants) -> _Kept:
        return _Kept(self._stand_in.begin(goal, observation, grants))

    def answer(self, memory: _Kept, turn: Turn) -> tuple[tuple[str, ...], _Kept]:
        if not (memory.plays and isinstance(self._stand_in, Answering)):
            return (), memory
        answers, after = self._stand_in.answer(memory.memory, replace(turn, transitions=(*memory.unseen, *turn.transitions)))
        return answers, replace(memory, memory=after)

    async def decide(self, memory: _Kept, turn: Turn, emit: Emitter) -> tuple[Decision, _Kept]:
        kept = memory.taking_in(turn)
        if kept.answer is not None:
            return _decision(kept.answer), replace(kept, answer=None)
        answer = await self._ask(turn)
        if not isinstance(answer, Away):
            if not kept.plays:
                return _decision(answer), kept
            return HandOver(self.name), replace(kept, plays=False, answer=answer)
        if not kept.plays:
            return HandOver(self._stand_in.name), replace(kept, plays=True)
        told = replace(turn, transitions=kept.unseen, news=(*kept.before, *kept.news))
        decision, after = await self._stand_in.decide(kept.memory, told, emit)
        return decision, replace(kept, memory=after, unseen=(), before=(), news=())
