"""Playing through the local endpoint, for the end-to-end tests."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from housequest.agent.agents.spec import agent_names, agent_spec, make_agent
from housequest.agent.episodes.config import EpisodeConfig
from housequest.agent.episodes.events import CallTiming, Ended, Event, ModelCall
from housequest.agent.episodes.loop import run_episode
from housequest.agent.episodes.record import EpisodeRecorder, read_episode
from housequest.agent.models.base import unwatched
from housequest.agent.models.registry import make_model
from housequest.agent.setup import worked
from housequest.worlds.base import Task, World
from housequest.worlds.env import open_env
from tests.backends.server import Behaviour, Recorded, Server, answer, saying, seeing

ANYWHERE = ("react", "reasoner-actor")
"""Agents that play in any world; others need one whose texts are read into a belief."""


def installed(*names: str) -> tuple[str, ...]:
    """Those of these agents that are in this tree."""
    return tuple(name for name in names if name in agent_names())


AGENTS = installed(*ANYWHERE, "opex", "pet", "lota")
"""Agents that call their model at every turn, or nearly so."""

PLANNERS = installed("llm-planner", "socratic")
"""Agents whose model plans alone: most of their turns cost no call."""

SCORING = installed("saycan")
"""Agents that ask at each skill how likely every one is: hundreds of requests a skill, which takes its time."""

EVERY = (*AGENTS, *PLANNERS, *(pytest.param(agent, marks=pytest.mark.slow) for agent in SCORING))

CHATTING = (*AGENTS, *PLANNERS)
"""Agents that read replies."""


LOOKING = tuple(name for name in agent_names() if "images" in agent_spec(name).takes)
"""Agents that can be shown what they see."""


def in_turn(houses: Sequence[str], *more: object) -> Iterator[object]:
    """Agents with houses: the first agent in every house and each other in one, by turns; the whole product is slow."""
    for place, agent in enumerate((*CHATTING, *SCORING)):
        for number, house in enumerate(houses):
            soon = agent not in SCORING and (place == 0 or place % len(houses) == number)
            yield pytest.param(agent, house, *more, id=f"{house}-{agent}", marks=() if soon else pytest.mark.slow)


@dataclass(frozen=True)
class Played:
    """An episode as it was recorded and read back, with the requests that it cost and its clocks."""

    events: list[Event]
    requests: list[Recorded]
    clocks: list[CallTiming]
    record: bytes

    @property
    def ended(self) -> Ended:
        body = self.events[-1].body
        assert isinstance(body, Ended)
        return body

    @property
    def calls(self) -> int:
        """How many requests the record counts."""
        return sum(event.body.calls or 1 for event in self.events if isinstance(event.body, ModelCall))

    def kinds(self) -> list[str]:
        return [event.body.kind for event in self.events]


def one_of_each_type(world: World, split: str) -> list[Task]:
    """The first task of each type, in order of the split."""
    first: dict[str, Task] = {}
    for task in world.tasks(split):
        first.setdefault(task.type, task)
    return list(first.values())


def play(
    server: Server,
    world: World,
    task: Task,
    agent: str,
    record: Path,
    *,
    settings: Mapping[str, str | int | bool] | None = None,
    max_turns: int = 50,
    grants: frozenset[str] = frozenset(),
    timeout: float = 20.0,
    retries: int = 3,
    attended: bool = False,
    probing: Behaviour | None = None,
) -> Played:
    """Play ``task`` with ``agent``, whose model is the endpoint's, into the file ``record``; ``probing`` answers its probes."""
    server.requests.clear()
    exact = agent in SCORING or (settings or {}).get("exact")
    server.probing = probing or (answer if exact else seeing if "view" in grants else saying("ready"))
    clocks: list[CallTiming] = []

    async def episode() -> None:
        model = make_model(server.model(), timeout=timeout, retries=retries, wait=0.001, watch=unwatched if attended else None)
        player = make_agent(agent, world=world, model=model, settings=settings, worked=worked)
        # The name in the record, so that two servers' records can be compared.
        terms = EpisodeConfig(world, grants, max_turns, model="openai:tester", settings=dict(settings or {}))

        def listen(event: Event | CallTiming) -> None:
            recorder(event)
            if isinstance(event, CallTiming):
                clocks.append(event)

        try:
            with EpisodeRecorder(record) as recorder:
                await run_episode(open_env(world, task, diagnosis="diagnosis" in grants), player, terms, listen)
        finally:
            await model.aclose()

    asyncio.run(episode())
    return Played(list(read_episode(record)), list(server.requests), clocks, record.read_bytes())
