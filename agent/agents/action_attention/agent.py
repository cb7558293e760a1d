"""Action Attention: a network trained by behaviour cloning that chooses among the admissible commands (Wu et al., 2023).

The network sees what the paper's sees: the task or the present sub-task, all observations so far, and the admissible commands,
which have to be granted. It reads no belief; PET's modules do, where they are on, and so does the rule that ends going round in
circles.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from housequest.agent.agents.action_attention.modules import finished, relevance, subgoals
from housequest.agent.agents.pet.roles import ELIMINATOR, SUBTASKS, TRACKER, bare
from housequest.agent.agents.spec import needs_admissible
from housequest.agent.base import Act, Decision, Emitter, Grants, Idle, Turn
from housequest.agent.episodes import events
from housequest.agent.roles.brief import BriefState
from housequest.agent.roles.messages import emit_thought, opening_text
from housequest.knowledge.examples import subtask_words
from housequest.worlds.base import Observation, Transition
from housequest.worlds.errors import ConfigurationError
from housequest.worlds.household.base import Household
from housequest.worlds.household.belief import Belief
from housequest.worlds.household.goals import GoalStep
from housequest.worlds.household.reading import masked, possible

if TYPE_CHECKING:
    from housequest.agent.agents.action_attention import ActionAttentionSettings
    from housequest.agent.agents.action_attention.policy import Policy

SHOWN = 3
"""Commands in a thought, the likeliest first."""
LEAST = 0.01
"""The least probability with which a command stands in a thought."""


@dataclass(frozen=True, slots=True)
class AttentionMemory:
    """What it remembers: the texts ``seen``, the opening first, and in ``state`` what PET's modules know.

    ``plan`` is None before it was made and empty where the goal cannot be read; ``step`` is the index of the present sub-task.
    ``judged`` says of everything judged, by target and name, whether it was masked.
    """

    goal: str
    seen: tuple[str, ...]
    state: BriefState
    plan: tuple[GoalStep, ...] | None = None
    step: int = 0
    judged: Mapping[tuple[str, str], bool] = field(default_factory=dict[tuple[str, str], bool])

    @property
    def belief(self) -> Belief:
        """What is known of the house."""
        return self.state.belief

    @property
    def subgoal(self) -> GoalStep | None:
        """The present sub-task; None without a plan, and after its end."""
        return self.plan[self.step] if self.plan and self.step < len(self.plan) else None


class ActionAttention:
    """Takes the likeliest admissible command under the present sub-task, or under the goal where there is none.

    Calls: none. Without ``plan`` the goal is all it is told; ``eliminate`` then judges against the whole goal. As in the
    paper, a plan that ends early gives way to the goal, and a finished sub-task is not resumed. Beyond the paper, a command
    that was given before with the same knowledge is not given ``again`` while there are others. Hints and rules are ignored.
    """

    name = "action-attention"

    def __init__(self, policy: Policy, household: Household, settings: ActionAttentionSettings) -> None:
        self._policy, self._household, self.settings = policy, household, settings

    def begin(self, goal: str, observation: Observation, grants: Grants) -> AttentionMemory:
        """Raises ``ConfigurationError`` where admissible commands are not granted."""
        if not grants.admissible:
            raise ConfigurationError(needs_admissible(self.name))
        state = BriefState(self._household.begin(observation))
        return AttentionMemory(goal, (opening_text(observation, goal),), state)

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
            # What was done before with the same knowledge taught nothing.
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
            emit(events.Planned(role=SUBTASKS.name, steps=steps, revision=0, reason="the episode begins"))
        else:
            emit_thought(SUBTASKS.name, "the goal cannot be read, so it is not planned", emit)
        return replace(memory, plan=plan)

    def _tracked(self, memory: AttentionMemory, transition: Transition, emit: Emitter) -> AttentionMemory:
        before = memory.belief
        state = memory.state.after((transition,), self._household)
        memory = replace(memory, seen=(*memory.seen, transition.observation.text), state=state)
        if memory.subgoal is not None and finished(memory.subgoal, before, memory.belief):
            emit(events.Progressed(role=TRACKER.name, step=memory.step + 1))
            memory = replace(memory, step=memory.step + 1)
        return memory

    def _eliminated(self, memory: AttentionMemory, emit: Emitter) -> tuple[Collection[str], AttentionMemory]:
        """The names that are masked now: never what is held or what is here."""
        belief = memory.belief
        aims = (memory.subgoal,) if memory.subgoal else memory.plan or subgoals(memory.goal, belief, self._household)
        if not aims:
            return (), memory
        scores = relevance(aims, belief, self._household.counts())
        target = bare(self._task(memory))
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
