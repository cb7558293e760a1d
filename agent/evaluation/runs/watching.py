"""PET's modules over episodes that were recorded: those that it played itself, or an expert's, which it is asked about.

The second is how the paper analyses the modules (section 4.4): they look on while the expert plays, and act on nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from agent.agents.pet.agent import Pet, PetMemory
from agent.base import Grants, Turn
from agent.episodes.events import Body, Event, Started, Stepped, branch
from agent.episodes.record import read_episode
from agent.evaluation.analysis.modules import Seen, touched
from agent.evaluation.runs.folder import RunFolder
from agent.models.base import Timing
from knowledge.examples import played
from worlds.base import Observation, Transition, World
from worlds.errors import ConfigurationError
from worlds.household.masking import names

Watcher = Callable[[int, int], None]
"""Told how many of how many episodes are done."""


@dataclass(frozen=True, slots=True)
class Recorded:
    """The branch that was played on of one finished episode."""

    started: Started
    bodies: tuple[Body, ...]

    @property
    def steps(self) -> tuple[Stepped, ...]:
        """The commands that were executed."""
        return tuple(body for body in self.bodies if isinstance(body, Stepped))


def read_recorded(run: RunFolder, most: int | None = None) -> list[Recorded]:
    """The finished episodes of a run, in the order of its tasks. Raises ``ConfigurationError``, also where there are none."""
    found: list[Recorded] = []
    for task in run.manifest().tasks[:most]:
        path = run.episode(task)
        if path.exists() and (episode := _recorded(list(read_episode(path)))) is not None:
            found.append(episode)
    if not found:
        raise ConfigurationError(f"{run.path} has no finished episode; `housequest eval` with --out {run.path} plays them.")
    return found


def own(episode: Recorded, world: World) -> Seen:
    """An episode that PET played, held against what the world's expert touches in the same task."""
    example = played(world, world.task(episode.started.task))
    commands = () if example is None else (one.command for one in example.trajectory.transitions)
    return Seen(episode.bodies, frozenset(name for command in commands for name in names(command)))


async def watch(pet: Pet, episode: Recorded) -> Seen:
    """What ``pet`` thinks along an episode that somebody else played, asked before each command and after the last.

    Calls a step: as many as PET makes besides acting. Raises ``ModelError`` and ``Unsupported``.
    """
    told: list[Body] = [episode.started]

    def emit(body: Body, timing: Timing | None = None) -> None:
        del timing
        told.append(body)

    started = episode.started
    granted = Grants(task_type=started.type if "type" in started.grants else None)
    memory: PetMemory = pet.begin(started.goal, Observation(started.opening), granted)
    before: tuple[Transition, ...] = ()
    for number, step in enumerate(episode.steps, 1):
        _, memory = await pet.look(memory, Turn(number, started.max_turns - number, before), emit)
        told.append(step)
        before = (Transition(step.command, Observation(step.observation, step.accepted, step.explanation)),)
    if before:
        await pet.look(memory, Turn(len(episode.steps) + 1, 0, before), emit)
    return Seen(tuple(told), touched(episode.steps), watched=True)


async def watch_all(pet: Pet, episodes: Sequence[Recorded], workers: int, watcher: Watcher) -> list[Seen]:
    """`watch` over many, ``workers`` at once, in their order; the first that fails ends them all."""
    gate = asyncio.Semaphore(workers)
    done = 0

    async def one(episode: Recorded) -> Seen:
        nonlocal done
        async with gate:
            seen = await watch(pet, episode)
        done += 1
        watcher(done, len(episodes))
        return seen

    tasks = [asyncio.create_task(one(episode)) for episode in episodes]
    try:
        return list(await asyncio.gather(*tasks))
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _recorded(events: Sequence[Event]) -> Recorded | None:
    bodies = tuple(event.body for event in branch(events))
    started = next((body for body in bodies if isinstance(body, Started)), None)
    return None if started is None else Recorded(started, bodies)
