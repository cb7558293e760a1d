"""Prompts are appended to: over an episode, each of a role's prompts has its previous one as an exact prefix."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

import pytest

from housequest.agent.agents.spec import make_agent
from housequest.agent.episodes.config import EpisodeConfig
from housequest.agent.episodes.loop import run_episode
from housequest.agent.models.base import Completion, Message, Model, Request
from housequest.knowledge.choosing import RuleBudget
from housequest.knowledge.rules import Rule
from housequest.worlds.base import World
from housequest.worlds.registry import make_world
from tests.backends.policy import Solver

HOUSES = tuple(f"generated:{seed}" for seed in range(20, 22))


@dataclass
class Heard(Model):
    """A model that plays by a policy, says something that cannot be read every fifth time, and keeps what it is asked."""

    name: str = "heard"
    prompts: dict[str, list[Sequence[Message]]] = field(default_factory=dict[str, list[Sequence[Message]]])
    policy: Solver = field(default_factory=lambda: Solver(wrong_first_plan=True))
    calls: int = 0

    async def complete(self, request: Request) -> Completion:
        self.calls += 1
        self.prompts.setdefault(request.messages[0].content, []).append(tuple(request.messages))
        if self.calls % 5 == 0:
            return Completion("")
        return Completion(self.policy([{"role": message.role, "content": message.content} for message in request.messages]))


@pytest.fixture(scope="module")
def world() -> World:
    return make_world("alfworld")


@pytest.mark.heavy
@pytest.mark.parametrize("grants", [frozenset[str](), frozenset({"admissible", "type"}), frozenset({"view"})])
@pytest.mark.parametrize("agent", ["react", "reasoner-actor"])
def test_each_prompt_begins_with_the_one_before(world: World, agent: str, grants: frozenset[str]) -> None:
    rules = ("A closed place is opened before anything is taken from it.", "One hand holds one thing.")
    kinds = ("fridge", "countertop", "cabinet", "bed", "desk", "sinkbasin", "egg", "mug")
    choice = RuleBudget(tuple(Rule(kind, f"There is a rule about every {kind}.", objects=(kind,)) for kind in kinds), 500)
    revised = 0
    for house in HOUSES:
        model = Heard()
        player = make_agent(agent, world=world, model=model)
        offered = (*(Rule("", statement) for statement in rules), *choice.rules)
        terms = EpisodeConfig(world, model="heard", grants=grants, rules=replace(choice, rules=offered, file="own"))
        asyncio.run(run_episode(world.open(world.task(house)), player, terms, lambda _: None))
        # Prompts are told apart by their system message: another one would be a role of its own, and so would show here.
        assert len(model.prompts) == (1 if agent == "react" else 2)
        for prompts in model.prompts.values():
            assert len(prompts[0]) == 2
            for rule in (*rules, *(rule.statement for rule in choice.rules)):
                assert sum(rule in message.content for message in prompts[-1]) <= 1
            for before, after in pairwise(prompts):
                assert after[: len(before)] == before
                assert len(after) > len(before)
            assert any(message.image for message in prompts[-1]) == ("view" in grants)
        revised += sum(len(prompts) > 1 for system, prompts in model.prompts.items() if system.startswith("You plan"))
    assert revised or agent == "react"
