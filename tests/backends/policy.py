"""Policies that play ALFWorld from the prompt alone.

Behind `react`, the expert decides on what the conversation tells, and looks where its rules and past days say. Behind
`reasoner-actor`, the reasoner writes a plan from goal and opening; the actor is given the plan's text, the opening and what
happened, and not the goal: it can only do what the plan says, so that a wrong plan loses.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache

from housequest.agent.skills.searching import ToldPrior
from housequest.worlds.alfworld.expert import HouseholdExpertMemory, make_expert
from housequest.worlds.alfworld.text import begin, load_counts, read_goal
from housequest.worlds.base import Observation, Transition
from housequest.worlds.household.goals import APPLIANCES, Goal
from tests.backends import prompts, told
from tests.backends.actor import follow
from tests.backends.lota import Lister
from tests.backends.opex import opex
from tests.backends.pet import PetPolicy
from tests.backends.planners import Planners
from tests.backends.searcher import searcher
from tests.backends.server import Messages


@dataclass(frozen=True)
class Solver:
    """Plays every role. With ``wrong_first_plan`` its first plan takes the object elsewhere, until it is asked again because
    the actor is stuck. ``lister`` says which skill comes next.
    """

    wrong_first_plan: bool = False
    pet: PetPolicy = field(default_factory=PetPolicy)
    lister: Lister = field(default_factory=Lister)

    def __call__(self, messages: Messages) -> str:
        system = prompts.said_by(messages, "system")[0]
        if (answer := searcher(messages)) is not None:
            return answer
        if (answer := opex(messages, wrong_first_plan=self.wrong_first_plan)) is not None:
            return answer
        if (reply := self.pet.reply(messages)) is not None:
            return reply
        if system.startswith("Robot:"):
            return self.lister(messages)
        if system.startswith("You plan for someone"):
            return self._reason(messages)
        if "you are given a plan" in system:
            return act(messages)
        return Planners(self.wrong_first_plan).reply(messages) or react(messages)

    def _reason(self, messages: Messages) -> str:
        asked = prompts.said_by(messages, "user")
        stuck = sum("stuck" in text or "led nowhere" in text for text in asked[1:])
        if len(asked) > 1 and not ("stuck" in asked[-1] or "led nowhere" in asked[-1]):
            return "Thought: it goes well.\nPlan: keep"
        wrong = self.wrong_first_plan and not stuck
        steps = plan(messages, wrong=wrong)
        return "Thought: this is what it takes.\nPlan:\n" + "\n".join(
            f"{number}. {step}" for number, step in enumerate(steps, 1)
        )


def react(messages: Messages) -> str:
    """What the expert does, told only what the conversation tells, with its rules and past days."""
    heard = tuple(one.transitions for one in prompts.heard(messages))
    _, reply = _expert(prompts.goal(messages), prompts.opening(messages), heard, told.statements(messages))
    return reply


_COMPANY = re.compile(r"^You are (?P<player>\w+)\. You are not alone: (?P<others>.+?) plays? in the same house", re.MULTILINE)
_NEWS = re.compile(r"^This happened around you:\n(?P<news>(?:- .*\n?)+)", re.MULTILINE)


def companion(messages: Messages) -> str:
    """The same in company: it hears the news that the conversation tells, and says what the expert says."""
    asked = prompts.said_by(messages, "user")
    if (company := _COMPANY.search(asked[0])) is None:
        return react(messages)
    news = [tuple(line[2:] for line in found["news"].splitlines()) if (found := _NEWS.search(text)) else () for text in asked]
    heard = tuple(zip((one.transitions for one in prompts.heard(messages)), news, strict=True))
    who = company["player"], *company["others"].split(" and ")
    return _companion(prompts.goal(messages), prompts.opening(messages), who, heard)[1]


@lru_cache(maxsize=4096)
def _companion(
    goal: str, opening: Observation, who: tuple[str, ...], heard: tuple[tuple[tuple[Transition, ...], tuple[str, ...]], ...]
) -> tuple[HouseholdExpertMemory, str]:
    expert, (player, *others) = make_expert(), who
    if not heard:
        return expert.begin(goal, opening), ""
    memory = _companion(goal, opening, who, heard[:-1])[0]
    transitions, news = heard[-1]
    for transition in transitions:
        memory = expert.observe(memory, transition.command, transition.observation)
    command, thought, memory = expert.decide(expert.hear(memory, player, others, news))
    says = "".join(f"Say: {text}\n" for text in expert.says(memory))
    return memory, f"Thought: {thought}\n{says}Action: {command}"


@lru_cache(maxsize=4096)
def _expert(
    goal: str, opening: Observation, heard: tuple[tuple[Transition, ...], ...], said: tuple[str, ...]
) -> tuple[HouseholdExpertMemory, str]:
    """The expert's memory and reply after what it ``heard``, which begins with that of the last request, searching by what was
    ``said`` of the world."""
    prior = _prior(said, opening)
    expert = make_expert() if prior is None else make_expert().searching_by(prior)
    memory = _expert(goal, opening, heard[:-1], said)[0] if heard else expert.begin(goal, opening)
    if not heard:
        return memory, ""
    for transition in heard[-1]:
        memory = expert.observe(memory, transition.command, transition.observation)
    command, thought, memory = expert.decide(memory)
    return memory, f"Thought: {thought}\nAction: {command}"


@lru_cache(maxsize=64)
def _prior(said: tuple[str, ...], opening: Observation) -> ToldPrior | None:
    return told.prior(said, begin(opening))


def act(messages: Messages) -> str:
    """The plan's present step grounded; the goal is cut away before anybody looks."""
    heard = prompts.heard(messages)
    return follow(prompts.opening(messages), [(one.transitions, one.plan) for one in heard])


def plan(messages: Messages, *, wrong: bool = False) -> list[str]:
    """A plan for the goal, in words; a ``wrong`` one leaves the object in a place that nobody asked for."""
    goal = read_goal(prompts.goal(messages))
    assert goal is not None, "the solver reads template goals alone"
    kinds = list(dict.fromkeys(one.kind for one in begin(prompts.opening(messages)).receptacles))
    thing = goal.object
    if wrong:
        elsewhere = next(kind for kind in kinds if kind not in {goal.receptacle, *APPLIANCES.values()})
        return [_find(goal, thing, kinds), f"take the {thing}", f"put the {thing} in or on the {elsewhere}"]
    steps = [_find(goal, thing, kinds), f"take the {thing}"]
    if goal.treatment:
        steps.append(f"{goal.treatment} the {thing} with the {APPLIANCES[goal.treatment]}")
    if goal.lamp:
        return [*steps, _find(goal, goal.lamp, kinds), f"use the {goal.lamp}"]
    steps.append(f"put the {thing} in or on the {goal.receptacle}")
    if goal.count == 2:
        another = _find(goal, thing, kinds).replace("find a ", "find another ")
        steps += [another, f"take another {thing}", f"put the {thing} in or on the {goal.receptacle}"]
    return steps


def _find(goal: Goal, thing: str, kinds: Iterable[str]) -> str:
    counts = load_counts()
    room = counts.room_of(kinds)

    def cost(kind: str) -> float:
        chance = counts.chance(thing, kind, room) / (1_000 if kind == goal.receptacle and not goal.treatment else 1)
        return (1 + counts.openable(kind)) / chance

    return f"find a {thing}: look in or on {', then '.join(sorted(kinds, key=cost))}"
