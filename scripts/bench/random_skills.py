"""What lota wins without a model: the next skill drawn among all, or among those about what the goal names.

The controller searches, opens and carries; this is its share of what a model wins. Games are those of valid_seen where they are
installed, else made-up houses that nothing is trained on.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random

from housequest.agent.agents.spec import make_agent
from housequest.agent.episodes.config import EpisodeConfig
from housequest.agent.episodes.loop import run_episode
from housequest.agent.models.base import Capabilities, Completion, Model, Request
from housequest.knowledge.examples import EVALUATION_SEEDS
from housequest.worlds.base import Task, World
from housequest.worlds.errors import GameError
from housequest.worlds.household.goals import APPLIANCES
from housequest.worlds.registry import make_world

HOUSES = 100
_GOAL = re.compile(r"Human: (.*)\nRobot: 1\.\Z")
_TREATED = {"hot": "heat", "cool": "cool", "clean": "clean"}


@dataclass(slots=True)
class Drawing(Model):
    """Draws one of the choices; with ``about``, of those whose objects and treatments the goal names."""

    random: Random
    about: bool
    name: str = "drawn"

    async def capabilities(self) -> Capabilities:
        return Capabilities(choices=True)

    async def complete(self, request: Request) -> Completion:
        choices = list(request.choices or ())
        if self.about:
            goal = next(found[1] for one in request.messages if (found := _GOAL.search(one.content)))
            words = set(re.findall(r"[a-z]+", goal.lower()))
            treatments = {verb for word, verb in _TREATED.items() if {word, verb} & words}
            words |= {APPLIANCES[verb] for verb in ("heat", "cool", "clean") if verb in treatments}
            choices = [one for one in choices if _fits(one.rstrip(",."), words, treatments)] or choices
        return Completion(self.random.choice(choices))


def run(data: Path | None) -> Iterator[str]:
    """A line for each way to draw."""
    world = make_world("alfworld")
    tasks = (
        list(world.tasks("valid_seen")) if data else [world.task(f"generated:{EVALUATION_SEEDS + at}") for at in range(HOUSES)]
    )
    where = f"the {len(tasks)} games of valid_seen" if data else f"{len(tasks)} made-up houses"
    for about, how in ((False, "among all skills"), (True, "among the skills about what the goal names")):
        won = sum(asyncio.run(_won(world, task, about=about)) for task in tasks)
        yield f"a skill drawn {how}: {won} of {where} won"


async def _won(world: World, task: Task, *, about: bool) -> bool:
    model = Drawing(Random(f"{task.id} {about}"), about)
    player = make_agent("lota", world=world, model=model, settings={"shots": 0})
    ended = await run_episode(world.open(task), player, EpisodeConfig(world), lambda _: None)
    if ended.outcome == "error":
        raise GameError(f"{task.reference}: {ended.message}")
    return ended.outcome == "won"


def _fits(skill: str, words: set[str], treatments: set[str]) -> bool:
    """Whether a skill is about things that are named; ``done`` never is, since what is drawn knows no end."""
    said = skill.split()
    return said[-1] in words and (said[0] not in APPLIANCES or said[0] in treatments)
