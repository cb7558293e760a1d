"""Many episodes: N workers are N episodes in flight in one event loop. What broke off is gone on with."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from agent.agents.base import Agent
from agent.episode import Terms, run_episode
from agent.evaluation.folder import RunFolder, episode_name
from agent.evaluation.metrics import Result, Selected, Summary, Tally, summarise
from agent.evaluation.plan import Plan
from agent.events import Clocked, Event
from agent.models.base import Model
from agent.record import EpisodeRecorder
from worlds.base import Step, Task, World
from worlds.limits import Wrapper


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a run is. ``resumed`` of the ``done`` episodes were finished before this command began."""

    done: int
    total: int
    won: int
    errors: int
    resumed: int


Watcher = Callable[[Progress], None]


async def run_batch(
    plan: Plan,
    folder: Path,
    *,
    workers: int = 1,
    retry_errors: bool = False,
    time_limit: float = 60.0,
    watcher: Watcher | None = None,
) -> Summary:
    """Play what is not yet finished of ``plan`` in ``folder``, with ``workers`` episodes at once.

    With ``retry_errors``, episodes that errored are played again; ``time_limit`` is a model's, for one attempt at a call, in
    seconds. Cancelled, it leaves a folder that can be gone on with. Raises ``ConfigurationError`` where the folder holds
    another run, and for an agent or a model that cannot be made.
    """
    run = RunFolder(folder)
    tasks = plan.manifest.tasks
    model = _make_model(plan.model, time_limit)
    try:
        agent = _make_agent(plan, model)
        with run.locked():
            run.begin(plan.manifest)
            results = _finished(run, tasks, retry_errors)
            batch = _Batch(run, agent, plan, results, watcher)
            await batch.play(workers)
        return summarise(tasks, results)
    finally:
        if model is not None:
            await model.aclose()


def _make_model(name: str | None, timeout: float) -> Model | None:
    if name is None:
        return None
    from agent.models.registry import make_model

    return make_model(name, timeout=timeout)


def _make_agent(plan: Plan, model: Model | None) -> Agent:
    from agent.agents.registry import make_agent

    config = plan.config
    return make_agent(config.agent, world=plan.world, model=model, settings=config.settings, seed=config.seed)


def _finished(run: RunFolder, tasks: tuple[Selected, ...], retry_errors: bool) -> list[Result]:
    """The results that stand, with the index made whole."""
    results = run.results(tasks)
    known = {result.task for result in results}
    results += run.recovered([task for task in tasks if task.id not in known])
    if retry_errors:
        results = [result for result in results if result.outcome != "error"]
    run.rewrite(results)
    return results


class _Batch:
    """The episodes of a run that are still to be played."""

    def __init__(self, run: RunFolder, agent: Agent, plan: Plan, results: list[Result], watcher: Watcher | None) -> None:
        self._run = run
        self._agent = agent
        self._world = plan.world
        self._terms = plan.config.terms(plan.world)
        self._results = results
        self._resumed = len(results)
        self._outcomes = Counter(result.outcome for result in results)
        self._total = len(plan.selection.tasks)
        self._watcher = watcher
        finished = {result.task for result in results}
        self._waiting = iter([task for task in plan.selection.tasks if task.id not in finished])

    async def play(self, workers: int) -> None:
        """Play them all, then put the index in the order of the tasks."""
        self._tell()
        with self._run.timing_file.open("a", encoding="utf-8", newline="\n") as clock:
            crew = [asyncio.create_task(self._work(clock)) for _ in range(workers)]
            try:
                await asyncio.gather(*crew)
            finally:
                for worker in crew:
                    worker.cancel()
                await asyncio.gather(*crew, return_exceptions=True)
        self._run.rewrite(sorted(self._results, key=lambda result: result.number))

    async def _work(self, clock: TextIO) -> None:
        for task in self._waiting:
            selected = Selected(number=task.number, id=task.id, type=task.type)
            result = await self._episode(task, selected, clock)
            self._results.append(result)
            self._outcomes[result.outcome] += 1
            self._run.append(result)
            self._tell()
            # An expert never waits for anything: without this, nobody else would be heard until the run is over.
            await asyncio.sleep(0)

    async def _episode(self, task: Task, selected: Selected, clock: TextIO) -> Result:
        tally = Tally(selected)
        env = _Opening(self._world, task, self._terms)
        with EpisodeRecorder(self._run.episode(selected), clock=clock, label=episode_name(selected)) as recorder:

            def listen(event: Event | Clocked) -> None:
                recorder(event)
                tally(event)

            try:
                await run_episode(env, self._agent, self._terms, listen)
            finally:
                env.close()
        result = tally.result()
        assert result is not None, "an episode ends with an event that says so"
        return result

    def _tell(self) -> None:
        if self._watcher is not None:
            won, errors = self._outcomes["won"], self._outcomes["error"]
            self._watcher(Progress(len(self._results), self._total, won, errors, self._resumed))


class _Opening(Wrapper):
    """An env that is opened by its reset, so that a game that cannot be opened is an episode that errored."""

    def __init__(self, world: World, task: Task, terms: Terms) -> None:
        self._world = world
        self._task = task
        self._diagnosis = "diagnosis" in terms.grants
        self._open = False

    @property
    def task(self) -> Task:
        return self._task

    def reset(self) -> Step:
        self.env = self._world.open(self._task, diagnosis=self._diagnosis)
        self._open = True
        return self.env.reset()

    def close(self) -> None:
        if self._open:
            self.env.close()
