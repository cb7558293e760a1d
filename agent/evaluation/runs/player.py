"""Plays one episode after the other into a run's folder: the same in one process, and for a run on a cluster."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Protocol

from housequest.agent.base import Agent, AskPerson, Decision, Emitter, Grants, Memory, Seeing, Turn
from housequest.agent.episodes.events import CallTiming, Event
from housequest.agent.episodes.loop import run_episode
from housequest.agent.episodes.record import EpisodeRecorder, read_episode
from housequest.agent.episodes.resume import resume_episode
from housequest.agent.evaluation.runs.budget import BudgetTracker, MeteredModel, RunHalted, Stopped
from housequest.agent.evaluation.runs.folder import RunFolder, episode_name
from housequest.agent.evaluation.runs.result import Result, SelectedTask, result_of
from housequest.agent.models.base import Model
from housequest.agent.setup import Setup
from housequest.worlds.base import Observation, Step, Task
from housequest.worlds.env import Wrapper
from housequest.worlds.errors import ConfigurationError, ModelError
from housequest.worlds.paths import IrregularFile, refuse_irregular

SetAside = Callable[[Path, str], None]
"""Renames a record that cannot be used, and says why."""


_COLLECTED = (1_000_000, 50, 20)
"""Python's thresholds for its search for reference cycles, while a batch is played."""


@contextmanager
def rare_collections() -> Generator[None]:
    """Search for reference cycles less often. By default Python goes through all that a thousand episodes remember several
    times a turn, which takes a third of the processor time.
    """
    before = gc.get_threshold()
    gc.set_threshold(*_COLLECTED)
    try:
        yield
    finally:
        gc.set_threshold(*before)


class Player(Protocol):
    """Plays a run's episodes, many at once; what is recorded of them lies in the run's folder."""

    async def play(self, task: Task) -> Result:
        """Resume the episode of ``task``, or play it from the start. Raises ``RunHalted`` where the run ends before."""
        ...


@dataclass(frozen=True, slots=True)
class LocalPlayer(Player):
    """Plays in this process; timings of calls go to ``clock``."""

    run: RunFolder
    setup: Setup
    agent: Agent
    model: MeteredModel | None
    tracker: BudgetTracker
    clock: BinaryIO
    set_aside: SetAside

    async def play(self, task: Task) -> Result:
        selected = SelectedTask.of(task)
        part = self.run.part(selected)
        try:
            refuse_irregular(part, writing=True)
            recorded = list(read_episode(part)) if part.exists() else []
            if recorded:
                return await self._play(task, selected, recorded)
        except (ConfigurationError, IrregularFile) as error:
            self.set_aside(part, str(error))
        return await self._play(task, selected, [])

    async def _play(self, task: Task, selected: SelectedTask, recorded: list[Event]) -> Result:
        events, begun = list(recorded), time.monotonic()
        if not recorded:
            # A new attempt: the seconds of earlier attempts no longer count.
            self.run.clock(selected, 0.0)
        env, episode, world = _Opening(self.setup, task), self.setup.episode, self.setup.world
        path = self.run.episode(selected)
        with EpisodeRecorder(path, clock=self.clock, label=episode_name(selected), resume=bool(recorded)) as recorder:

            def listen(event: Event | CallTiming) -> None:
                recorder(event)
                if isinstance(event, Event):
                    events.append(event)

            try:
                if recorded:
                    await resume_episode(env, self._make_agent, episode, recorded, listen, model=self.model, world=world)
                else:
                    await run_episode(env, _Stopping(self.agent, self.tracker), episode, listen, world=world)
            finally:
                env.close()
                self.run.clock(selected, time.monotonic() - begun, resumed=bool(recorded))
        result = result_of(selected, events)
        assert result is not None, "an episode ends with an event that says so"
        return result

    def _make_agent(self, model: Model | None, question: AskPerson | None) -> Agent:
        return _Stopping(self.setup.make_agent(model, question), self.tracker)


@dataclass(frozen=True, slots=True)
class _Stopping(Agent):
    """Plays as ``agent``. A fatal error of any model that it calls, such as one for embeddings, stops the run."""

    agent: Agent
    tracker: BudgetTracker

    @property
    def name(self) -> str:
        return self.agent.name

    @property
    def picture_size(self) -> tuple[int, int] | None:
        return self.agent.picture_size if isinstance(self.agent, Seeing) else None

    def begin(self, goal: str, observation: Observation, grants: Grants) -> Memory:
        return self.agent.begin(goal, observation, grants)

    async def decide(self, memory: Memory, turn: Turn, emit: Emitter) -> tuple[Decision, Memory]:
        try:
            return await self.agent.decide(memory, turn, emit)
        except ModelError as error:
            if not error.fatal:
                raise
            self.tracker.stop(Stopped(str(error)))
            raise RunHalted from error


class _Opening(Wrapper):
    """Opens the env in ``reset``, so that a game that cannot be opened becomes an errored episode."""

    def __init__(self, setup: Setup, task: Task) -> None:
        self._setup = setup
        self._task = task

    @property
    def task(self) -> Task:
        return self._task

    def reset(self) -> Step:
        self.env = self._setup.open(self._task)
        return self.env.reset()

    def close(self) -> None:
        if hasattr(self, "env"):
            self.env.close()
