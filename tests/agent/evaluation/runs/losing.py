"""Losing on purpose: real episodes on made-up houses, driven by decisions that are given beforehand."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from functools import cache

from housequest.agent.base import Act, Decision, Emitter, Grants, Turn
from housequest.agent.episodes.config import EpisodeConfig
from housequest.agent.episodes.events import CallTiming, Event
from housequest.agent.episodes.loop import run_episode
from housequest.worlds.alfworld.engine.native import NativeEnv
from housequest.worlds.alfworld.houses.house import House, make_house
from housequest.worlds.base import Env, Observation, Task
from housequest.worlds.household.goals import GoalForm
from housequest.worlds.registry import make_world


class Puppet:
    """Does what it was told to do, in order, and then ``idle`` for the rest of its turns."""

    name = "puppet"

    def __init__(self, decisions: Sequence[Decision], idle: str) -> None:
        self._decisions = decisions
        self._idle = idle

    def begin(self, goal: str, observation: Observation, grants: Grants) -> None:
        del goal, observation, grants

    async def decide(self, memory: None, turn: Turn, emit: Emitter) -> tuple[Decision, None]:
        del memory, emit
        place = turn.number - 1
        return (self._decisions[place] if place < len(self._decisions) else Act(self._idle)), None


def lived(env: Env, decisions: Sequence[Decision | str], *, turns: int | None = None, idle: str = "look") -> list[Event]:
    """The events of an episode with these decisions, a string being a command; it ends after the last one unless ``turns`` say
    otherwise.
    """
    heard: list[Event] = []
    acts = [Act(one) if isinstance(one, str) else one for one in decisions]

    def listen(event: Event | CallTiming) -> None:
        if isinstance(event, Event):
            heard.append(event)

    terms = EpisodeConfig(make_world(env.task.world), max_turns=len(acts) if turns is None else turns)
    asyncio.run(run_episode(env, Puppet(acts, idle), terms, listen))
    return heard


@cache
def _house(seed: int) -> House:
    return make_house(seed)


def house_of(form: GoalForm, number: int = 0) -> House:
    """A made-up house whose goal has this form and whose way to win takes a walk; ``number`` tells several apart."""
    found = (house for seed in range(10_000) if (house := _house(seed)).game.goal.form == form and len(house.plan) > 4)
    for _ in range(number):
        next(found)
    return next(found)


def env_of(house: House, goal: str | None = None) -> NativeEnv:
    """A new env over the house, its goal in a person's words if they are given."""
    sentence = house.sentence if goal is None else goal
    wording = "template" if goal is None else "human:1"
    task = Task(f"generated/{house.seed}", "alfworld", "generated", house.seed, house.goal.type, sentence, wording)
    return NativeEnv(task, replace(house.game, sentence=sentence))
