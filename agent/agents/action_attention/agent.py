"""Action Attention: a network trained by behaviour cloning that chooses among the admissible commands (Wu et al., 2023).

As in the paper, the network sees the task or the present sub-task, all observations so far, and the admissible commands, which
have to be granted. Only PET's modules, where they are on, and the rule against repeated commands read belief. Here no language
model answers for these modules: each follows from the texts and the counts of ``train``.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from housequest.agent.agents.spec import needs_admissible
from housequest.agent.base import Act, Decision, Emitter, Grants, Idle, Turn
from housequest.agent.episodes import events
from housequest.agent.roles.brief import BriefState
from housequest.agent.roles.messages import emit_thought, opening_text
from housequest.knowledge.examples import subtask_words
from housequest.worlds.base import Observation, Transition
from housequest.worlds.errors import ConfigurationError
from housequest.worlds.household.base import Household
from housequest.worlds.household.belief import Belief, kind, masked, possible
from housequest.worlds.household.counts import Counts
from housequest.worlds.household.goals import APPLIANCES, Skill

if TYPE_CHECKING:
    from housequest.agent.agents.action_attention import ActionAttentionSettings
    from housequest.agent.agents.action_attention.network import AttentionPolicy

SUBTASKS, TRACKER, ELIMINATOR = "subtasks", "tracker", "eliminator"  # PET's modules, by their names in its agent.


def subgoals(goal: str, belief: Belief, household: Household) -> tuple[Skill, ...]:
    """Plan: the sub-tasks of a goal sentence; none if it cannot be read."""
    return tuple(step for one in household.read_goals(goal, sorted(belief.kinds)) for step in one.steps())


def finished(subgoal: Skill, before: Belief, after: Belief) -> bool:
    """Track: True if the sub-task is done now that a command has led from the belief ``before`` to ``after``."""
    held = after.item(after.held)
    match subgoal.verb:
        case "pick":
            return held is not None and held.kind == subgoal.object
        case "clean" | "heat" | "cool" as treatment:
            return held is not None and held.kind == subgoal.object and held.treated(treatment)
        case "put":
            put = after.item(before.held) if before.held != after.held else None
            return put is not None and put.kind == subgoal.object and kind(put.where or "") == subgoal.receptacle
        case _:
            return any(item.kind == subgoal.object and item.lit for item in after.items)


def relevance(aims: Sequence[Skill], belief: Belief, counts: Counts) -> dict[str, float]:
    """Eliminate: how relevant each known name is to ``aims``, in [0, 1]. A thing that an aim names, and its appliance, has
    1. If something must be searched for, a place has the chance that it is there, as a share of the likeliest place's; a
    place where such a thing was seen has 1."""
    room = counts.room_of(one.kind for one in belief.receptacles)
    scores = {one.name: 0.0 for one in (*belief.receptacles, *belief.items)}
    for aim in aims:
        sought = aim.object if aim.verb in {"pick", "use"} else None
        chances = {one.name: counts.chance(sought, one.kind, room) for one in belief.receptacles} if sought else {}
        likeliest = max(chances.values(), default=1.0)
        needed = next((place for treatment, place in APPLIANCES.items() if treatment == aim.verb), None)
        for one in belief.receptacles:
            known = one.kind in {aim.receptacle, needed} or any(kind(name) == sought for name in belief.inside(one))
            scores[one.name] = max(scores[one.name], 1.0 if known else chances.get(one.name, 0.0) / likeliest)
        for item in belief.items:
            scores[item.name] = max(scores[item.name], float(item.kind == aim.object))
    return scores


SHOWN = 3  # Commands shown in a thought, the likeliest first.
LEAST = 0.01  # The least probability of a command shown in a thought.


@dataclass(frozen=True, slots=True)
class AttentionMemory:
    """The memory: all texts ``seen``, the opening first, and in ``state`` the knowledge of PET's modules. ``plan`` is None
    until it is made, and empty if the goal cannot be read; ``step`` is the index of the present sub-task. ``judged`` says of
    each target and name if it was masked."""

    goal: str
    seen: tuple[str, ...]
    state: BriefState
    plan: tuple[Skill, ...] | None = None
    step: int = 0
    judged: Mapping[tuple[str, str], bool] = field(default_factory=dict[tuple[str, str], bool])

    @property
    def belief(self) -> Belief:
        return self.state.belief

    @property
    def subgoal(self) -> Skill | None:
        """The present sub-task; None without a plan, and after its end."""
        return self.plan[self.step] if self.plan and self.step < len(self.plan) else None


class ActionAttention:
    """Takes the likeliest admissible command under the present sub-task, or else under the goal. Calls: none.

    Without ``plan`` it knows only the goal, and ``eliminate`` judges against all of it. As in the paper, the goal takes over
    when a plan ends early, and a finished sub-task is not resumed. Beyond the paper, a command that was given before with
    the same knowledge is only given ``again`` if there is no other. Hints and rules are ignored."""

    name = "action-attention"

    def __init__(self, policy: AttentionPolicy, household: Household, settings: ActionAttentionSettings) -> None:
        self._policy, self._household, self.settings = policy, household, settings

    def begin(self, goal: str, observation: Observation, grants: Grants) -> AttentionMemory:
        """Raises ``ConfigurationError`` if admissible commands are not granted."""
        if not grants.admissible:
            raise ConfigurationError(needs_admissible(self.name))
        return AttentionMemory(goal, (opening_text(observation, goal),), BriefState(observation.belief or Belief()))

    async def decide(self, memory: AttentionMemory, turn: Turn, emit: Emitter) -> tuple[Decision, AttentionMemory]:
        if self.settings.plan and memory.plan is None:
            memory = self._planned(memory, emit)
        for transition in turn.transitions:
            memory = self._tracked(memory, transition, emit)
        hidden = frozenset[str]()
        if self.settings.eliminate:
            hidden, memory = self._eliminated(memory, emit)
        commands = possible(turn.admissible or (), hidden)
        if not commands:
            return Idle("no command is admissible"), memory
        if not self.settings.again:
            # A command given before with the same knowledge taught nothing.
            commands = tuple(command for command in commands if command not in memory.state.idle) or commands
        seen = tuple(masked(text, hidden) for text in memory.seen)
        shares = await self._policy.shares(self._task(memory), seen, commands)
        best = [int(at) for at in np.argsort(-shares, kind="stable")[:SHOWN]]
        likely = [at for at in best if at == best[0] or shares[at] >= LEAST]
        emit_thought(self.name, ", ".join(f"{commands[at]} ({shares[at]:.0%})" for at in likely), emit)
        return Act(commands[best[0]]), memory

    def _task(self, memory: AttentionMemory) -> str:
        return memory.goal if memory.subgoal is None else subtask_words(memory.subgoal)

    def _planned(self, memory: AttentionMemory, emit: Emitter) -> AttentionMemory:
        plan = subgoals(memory.goal, memory.belief, self._household)
        if plan:
            steps = tuple(map(subtask_words, plan))
            emit(events.Planned(role=SUBTASKS, steps=steps, revision=0, reason="the episode begins"))
        else:
            emit_thought(SUBTASKS, "the goal cannot be read, so it is not planned", emit)
        return replace(memory, plan=plan)

    def _tracked(self, memory: AttentionMemory, transition: Transition, emit: Emitter) -> AttentionMemory:
        before = memory.belief
        state, seen = memory.state.after((transition,)), (*memory.seen, transition.observation.text)
        memory = replace(memory, seen=seen, state=state)
        if memory.subgoal is not None and finished(memory.subgoal, before, memory.belief):
            emit(events.Progressed(role=TRACKER, step=memory.step + 1))
            memory = replace(memory, step=memory.step + 1)
        return memory

    def _eliminated(self, memory: AttentionMemory, emit: Emitter) -> tuple[Collection[str], AttentionMemory]:
        """The names masked now: never a held one or one that is here."""
        belief = memory.belief
        aims = (memory.subgoal,) if memory.subgoal else memory.plan or subgoals(memory.goal, belief, self._household)
        if not aims:
            return (), memory
        scores = relevance(aims, belief, self._household.counts())
        target = " ".join(self._task(memory).split()).rstrip(".")
        places = {one.name for one in belief.receptacles}
        low = {name: score < self.settings.threshold for name, score in scores.items()}
        new = [name for name in scores if memory.judged.get((target, name)) != low[name]]
        if new:
            things = tuple(
                events.Relevance(name=name, place=name in places, score=round(scores[name], 4), masked=low[name])
                for name in new
            )
            emit(events.Judged(role=ELIMINATOR, target=target, things=things))
            memory = replace(memory, judged={**memory.judged, **{(target, name): low[name] for name in new}})
        return {name for name in low if low[name]} - {*belief.carried} - {one.name for one in belief.here()}, memory
