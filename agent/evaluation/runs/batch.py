"""Many episodes: N workers are N episodes in flight in one event loop. What broke off is gone on with."""

from __future__ import annotations

import asyncio
import errno
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from agent.base import RequiresCapabilities
from agent.episodes.events import CallTiming, Event
from agent.episodes.loop import run_episode
from agent.episodes.record import EpisodeRecorder, cut_off_end, read_episode
from agent.episodes.resume import resume_episode
from agent.evaluation.analysis.metrics import Summary, summarise
from agent.evaluation.runs.budget import BudgetTracker, RunHalted, Stopped, used_before
from agent.evaluation.runs.folder import RunFolder, episode_name
from agent.evaluation.runs.metered import MeteredModel
from agent.evaluation.runs.result import Result, SelectedTask, Tally
from agent.evaluation.runs.spec import RunSpec
from agent.models.base import Model
from agent.setup import Setup
from worlds.base import Step, Task
from worlds.errors import ConfigurationError
from worlds.wrappers import Wrapper


@dataclass(frozen=True, slots=True)
class RunProgress:
    """How far a run is. ``resumed`` of the ``done`` episodes were finished before this command began.

    ``won`` is None where there is nothing to win, as when rules are learned. ``active`` calls of the model are in flight of at
    most ``limit``, None while nothing limits them. ``cost`` is that of all sittings, None where no price is known.
    """

    done: int
    total: int
    won: int | None
    errors: int
    resumed: int
    active: int = 0
    limit: int | None = None
    cost: float | None = None


Watcher = Callable[[RunProgress], None]

_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
"""What a system says where there is no room: on the disk, for this user, in a file."""


@dataclass(frozen=True, slots=True)
class RunOptions:
    """How a run is played this time; nothing of it is part of what the run is.

    ``workers`` episodes are in flight. With ``retry_errors``, episodes that errored are played again. ``model`` replaces
    the one that the spec names, and the caller closes it. ``watcher`` hears of every finished episode, and every ``beat``
    seconds besides; ``say`` shows a person a message.
    """

    workers: int = 1
    retry_errors: bool = False
    model: Model | None = None
    watcher: Watcher | None = None
    beat: float | None = None
    say: Callable[[str], None] | None = None


async def run_batch(
    spec: RunSpec, folder: Path, options: RunOptions | None = None, tracker: BudgetTracker | None = None
) -> Summary:
    """Play what is not yet finished of ``plan`` in ``folder``, until ``purse`` has nothing more to give.

    Cancelled or stopped, it leaves a folder that can be gone on with. Raises ``Stopped`` where the purse, the model or a full
    disk ended it before it was through, and ``ConfigurationError`` where the folder holds another run, and for an agent or a
    model that cannot be made or used.
    """
    options, tracker = options or RunOptions(), tracker or BudgetTracker()
    run = RunFolder(folder)
    tasks = spec.manifest.tasks
    model = options.model or spec.setup.make_model()
    try:
        metered = None if model is None else MeteredModel(model, tracker, spec.setup.prices)
        batch = _Batch(run, spec, metered, options, tracker)
        if isinstance(batch.agent, RequiresCapabilities):
            await batch.agent.check()
        with run.locked():
            run.begin(spec.manifest)
            standing = _standing(run, tasks)
            tracker.add(used_before(run, tasks, standing, spec.setup.prices))
            results = [result for result in standing if not (options.retry_errors and result.outcome == "error")]
            run.rewrite(results)
            await batch.play(results)
        if len(results) < len(tasks):
            raise tracker.ended()
        return summarise(tasks, results)
    except OSError as error:
        if error.errno not in _FULL:
            raise
        # What was written stands, and an event that was cut off is taken away when the run goes on.
        why = f"{folder} cannot be written to: {error.strerror}."
        raise Stopped(why, "Once there is room, the same command goes on with it.") from error
    finally:
        if model is not None and options.model is None:
            await model.aclose()


def _standing(run: RunFolder, tasks: tuple[SelectedTask, ...]) -> list[Result]:
    """The results of what has finished, also of what is not in the index."""
    results = run.results(tasks)
    known = {result.task for result in results}
    return results + list(run.recovered([task for task in tasks if task.id not in known]))


class _Batch:
    """The episodes of a run that are still to be played."""

    def __init__(
        self, run: RunFolder, spec: RunSpec, model: MeteredModel | None, options: RunOptions, tracker: BudgetTracker
    ) -> None:
        self._run = run
        self._spec = spec
        self._model = model
        self.agent = spec.setup.make_agent(model)
        self._setup = spec.setup
        self._options = options
        self._tracker = tracker
        self._results: list[Result] = []
        self._waiting = iter(spec.selection.tasks)
        self._resumed = 0
        self._outcomes = Counter[str]()
        self._unfit = 0

    async def play(self, results: list[Result]) -> None:
        """Play those that are not among ``results``, add theirs, and put the index in the order of the tasks."""
        finished = {result.task for result in results}
        self._results, self._resumed = results, len(results)
        self._outcomes = Counter(result.outcome for result in results)
        self._waiting = iter([task for task in self._spec.selection.tasks if task.id not in finished])
        self._tell()
        for file in (self._run.timing_file, self._run.walls_file):
            cut_off_end(file)
        with self._run.timing_file.open("a", encoding="utf-8", newline="\n") as clock:
            crew = [asyncio.create_task(self._work(clock)) for _ in range(self._options.workers)]
            others = [asyncio.create_task(self._beat()), asyncio.create_task(self._tracker.ring())]
            try:
                await asyncio.gather(*crew)
            finally:
                for task in [*crew, *others]:
                    task.cancel()
                await asyncio.gather(*crew, *others, return_exceptions=True)
        self._run.rewrite(sorted(self._results, key=lambda result: result.number))

    async def _work(self, clock: TextIO) -> None:
        while not self._tracker.over() and (task := next(self._waiting, None)) is not None:
            selected = SelectedTask.of(task)
            try:
                result = await self._episode(task, selected, clock)
            except RunHalted:
                return
            self._results.append(result)
            self._outcomes[result.outcome] += 1
            self._run.append(result)
            self._tell()
            # An expert never waits for anything: without this, nobody else would be heard until the run is over.
            await asyncio.sleep(0)

    async def _episode(self, task: Task, selected: SelectedTask, clock: TextIO) -> Result:
        """Play an episode from where it broke off, or from its beginning where there is no record that fits."""
        part = self._run.part(selected)
        try:
            recorded = list(read_episode(part)) if part.exists() else []
            if recorded:
                return await self._play(task, selected, clock, recorded)
        except ConfigurationError as error:
            self._set_aside(part, str(error))
        return await self._play(task, selected, clock, [])

    async def _play(self, task: Task, selected: SelectedTask, clock: TextIO, recorded: list[Event]) -> Result:
        tally, begun = Tally(selected), time.monotonic()
        if not recorded:
            # Whatever happens to this sitting, those of an attempt before it do not count.
            self._run.clock(selected, 0.0)
        for event in recorded:
            tally(event)
        env = _Opening(self._setup, task)
        path = self._run.episode(selected)
        with EpisodeRecorder(path, clock=clock, label=episode_name(selected), resume=bool(recorded)) as recorder:

            def listen(event: Event | CallTiming) -> None:
                recorder(event)
                tally(event)

            try:
                if recorded:
                    await resume_episode(env, self._setup.make_agent, self._setup.episode, recorded, listen, model=self._model)
                else:
                    await run_episode(env, self.agent, self._setup.episode, listen)
            finally:
                env.close()
                self._run.clock(selected, time.monotonic() - begun, resumed=bool(recorded))
        result = tally.result()
        assert result is not None, "an episode ends with an event that says so"
        return result

    def _set_aside(self, part: Path, why: str) -> None:
        aside = next(file for n in range(1, 1_000_000) if not (file := part.with_name(f"{part.name}.unfit-{n}")).exists())
        part.replace(aside)
        self._unfit += 1
        if self._unfit == 1 and self._options.say is not None:
            self._options.say(f"{why}\nThis record is now {aside}, and its task is played anew; so is any other like it.")

    async def _beat(self) -> None:
        while self._options.beat is not None:
            await asyncio.sleep(self._options.beat)
            self._tell()

    def _tell(self) -> None:
        if self._options.watcher is not None:
            won, errors, model = self._outcomes["won"], self._outcomes["error"], self._model
            progress = RunProgress(
                done=len(self._results),
                total=len(self._spec.selection.tasks),
                won=won,
                errors=errors,
                resumed=self._resumed,
                active=model.active if model else 0,
                limit=model.limit if model else None,
                cost=self._tracker.used.money,
            )
            self._options.watcher(progress)


class _Opening(Wrapper):
    """An env that is opened by its reset, so that a game that cannot be opened is an episode that errored."""

    def __init__(self, setup: Setup, task: Task) -> None:
        self._setup = setup
        self._task = task
        self._open = False

    @property
    def task(self) -> Task:
        return self._task

    def reset(self) -> Step:
        self.env = self._setup.open(self._task)
        self._open = True
        return self.env.reset()

    def close(self) -> None:
        if self._open:
            self.env.close()
