"""Examples of what an agent's roles are asked and reply: the expert's play in made-up houses where nothing is evaluated."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from functools import lru_cache
from random import Random
from threading import Lock

from housequest.agent.agents.registry import make_agent
from housequest.agent.episodes.events import CallTiming, Event, ModelCall, ParseFailed
from housequest.agent.episodes.loop import EpisodeConfig, run_episode
from housequest.agent.episodes.record import whole_prompts
from housequest.agent.models.base import Capabilities
from housequest.agent.roles.base import Exchange
from housequest.agent.training.lora.knowing import Knowing, watched
from housequest.agent.training.lora.teacher import MOST_STEPS, Teacher, can_teach
from housequest.knowledge.examples import EVALUATION_SEEDS
from housequest.worlds.alfworld.games import GENERATED
from housequest.worlds.alfworld.text import HOUSEHOLD, read_goal
from housequest.worlds.alfworld.world import AlfworldWorld
from housequest.worlds.base import World
from housequest.worlds.options import Scalar

HOUSES = range(EVALUATION_SEEDS - 1, EVALUATION_SEEDS - 9, -1)
"""Houses whose games are shown, in this order: nobody is evaluated in them, and training comes to them last."""
MOST_EXCHANGES = 6
"""Exchanges that a role is shown."""
MOST_CHARACTERS = 4_000
"""Characters that they have together, some thousand tokens; the first one is shown in any case."""

_SETTINGS: Mapping[str, Scalar] = {"form": "free", "examples": "made-up", "choose": "bm25", "scores": "answer"}
"""What the expert plays with, whatever the agent's settings: nothing that asks another model, or reads what it gives."""
_LOCK = Lock()


def worked_examples(agent: str, world: World, settings: Mapping[str, Scalar], role: str) -> Sequence[Exchange]:
    """The first exchanges of ``role`` in a game that the expert wins as ``agent``; none where it cannot play as that.

    It plays text games of households that read as ALFWorld's do. Equal arguments have equal examples.
    """
    if world.household is not HOUSEHOLD or world.skills or world.pictured or not can_teach(agent):
        return ()
    taken = {name: _SETTINGS.get(name, value) for name, value in settings.items()}
    # However many episodes ask at once, one game is played.
    with _LOCK:
        return _won(agent, tuple(sorted(taken.items()))).get(role, ())


@lru_cache(maxsize=16)
def _won(agent: str, settings: tuple[tuple[str, Scalar], ...]) -> Mapping[str, Sequence[Exchange]]:
    """The exchanges of each role in the first of `HOUSES` whose game is won without an unreadable reply."""
    for seed in HOUSES:
        told = _played(agent, dict(settings), seed)
        if told is not None:
            return told
    return {}


def _played(agent: str, settings: Mapping[str, Scalar], seed: int) -> Mapping[str, Sequence[Exchange]] | None:
    world = AlfworldWorld()
    task = world.task(f"{GENERATED}:{seed}")
    goal = read_goal(task.goal)
    if goal is None:
        return None
    recorded: list[Event] = []

    def listen(event: Event | CallTiming) -> None:
        if isinstance(event, Event):
            recorded.append(event)

    config = EpisodeConfig(world.engine, max_turns=MOST_STEPS)
    env = watched(config.open(world, task))
    try:
        teacher = Teacher(agent, Knowing(world, env, goal, Random(seed), missteps=0.0), Capabilities(deterministic=True))
        player = make_agent(agent, world=world, model=teacher, settings=settings)
        ended = asyncio.run(run_episode(env, player, config, listen))
    finally:
        env.close()
    unread = any(isinstance(event.body, ParseFailed) for event in recorded)
    return None if ended.outcome != "won" or unread else _exchanges(recorded)


def _exchanges(recorded: Sequence[Event]) -> Mapping[str, Sequence[Exchange]]:
    """What each role was asked and replied, as far as it is shown; what it was asked before stands in its message once."""
    prompts, found = whole_prompts(recorded), dict[str, list[Exchange]]()
    for event in recorded:
        if isinstance(call := event.body, ModelCall):
            shown = found.setdefault(call.role, [])
            exchange = (prompts[event.id][-1].text, call.reply)
            long = sum(len(asked) + len(replied) for asked, replied in (*shown, exchange)) > MOST_CHARACTERS
            if len(shown) < MOST_EXCHANGES and not (shown and long) and exchange not in shown:
                shown.append(exchange)
    return found
