"""An expert that makes mistakes: between its own commands it tries others, most of which are refused.

The expert is never refused, so its play does not show what a command needs. The clumsy one sees only the text, too.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from housequest.agent.base import Act, Decision, Emitter, GiveUp, Grants, Turn
from housequest.worlds.alfworld.text import begin, update
from housequest.worlds.base import Observation, Policy
from housequest.worlds.household.belief import Belief


@dataclass(frozen=True, slots=True)
class ClumsyMemory:
    """The expert's memory, the belief so far, and the opening, which seeds the randomness of an episode."""

    policy: Any
    belief: Belief
    opening: str


class Clumsy:
    """Follows ``policy``, or with the probability ``slips`` tries something else. It makes no model calls."""

    name = "clumsy"

    def __init__(self, policy: Policy, slips: float = 0.6) -> None:
        self._policy = policy
        self._slips = slips

    def begin(self, goal: str, observation: Observation, grants: Grants) -> ClumsyMemory:
        del grants
        return ClumsyMemory(self._policy.begin(goal, observation), begin(observation), observation.text)

    async def decide(self, memory: ClumsyMemory, turn: Turn, emit: Emitter) -> tuple[Decision, ClumsyMemory]:
        del emit
        state, belief = memory.policy, memory.belief
        for transition in turn.transitions:
            state = self._policy.observe(state, transition.command, transition.observation)
            belief = update(belief, transition.command, transition.observation)
        chance = random.Random(f"{memory.opening}/{turn.number}")
        if chance.random() < self._slips:
            return Act(_attempt(belief, chance)), ClumsyMemory(state, belief, memory.opening)
        command, thought, state = self._policy.decide(state)
        decision = GiveUp(thought) if command is None else Act(command)
        return decision, ClumsyMemory(state, belief, memory.opening)


def _attempt(belief: Belief, chance: random.Random) -> str:
    """A valid or nearly valid command about things here or elsewhere."""
    places = [one.name for one in belief.receptacles] or ["desk 1"]
    things = [one.name for one in belief.items] or ["mug 1"]
    here = belief.here()
    near = [name for one in here for name in belief.inside(one)]
    lamps = [name for name in near if "lamp" in name]
    held = [belief.held] if belief.held else []
    place = _one_of(chance, [one.name for one in here], places)
    seen = _one_of(chance, near, things)
    thing = _one_of(chance, held, [seen])
    verb = chance.choice(("heat", "cool", "clean"))
    forms = (
        f"go to {place}",
        f"open {place}",
        f"close {place}",
        f"examine {place}",
        f"examine {thing}",
        f"take {seen} from {place}",
        f"take {seen} from {place}",
        f"move {thing} to {place}",
        f"move {thing} to {place}",
        f"use {_one_of(chance, lamps, [seen])}",
        f"{verb} {thing} with {place}",
        f"{verb} {thing} with {place}",
        f"slice {seen} with {_one_of(chance, held, things)}",
        f"put {thing} in/on {place}",
    )
    return chance.choice(forms)


def _one_of(chance: random.Random, likely: Sequence[str], others: Sequence[str]) -> str:
    """Mostly one of ``likely``, else one of ``others``."""
    return chance.choice(likely if likely and chance.random() < 0.6 else others)
