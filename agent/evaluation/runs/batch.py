"""Play the tasks of a run: N workers are N episodes in flight in one event loop. Interrupted episodes are resumed."""

from __future__ import annotations

import asyncio
import errno
import time
from collections import Counter
from collections.abc import Callable, Coroutine, Generator, Iterable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, TypeVar

from agent.base import Agent, AskPerson, Decision, Emitter, Grants, Memory, RequiresCapabilities, Seeing, Turn
from agent.episodes.events import CallTiming, Event
from agent.episodes.loop import run_episode
from agent.episodes.record import EpisodeRecorder, cut_off_end, read_episode
from agent.episodes.resume import resume_episode
from agent.evaluation.analysis.metrics import Summary, summarise
from agent.evaluation.runs.budget import BudgetTracker, MeteredModel, RunHalted, Stopped, used_before
from agent.evaluation.runs.files import Fault
from agent.evaluation.runs.folder import RunFolder, episode_name
from agent.evaluation.runs.result import Result, SelectedTask, result_of
from agent.evaluation.runs.spec import RunSpec
from agent.models.base import Model
from agent.setup import Setup
from worlds.base import Observation, Step, Task
from worlds.errors import ConfigurationError, ModelError
from worlds.paths import IrregularFile, open_file, refuse_irregular
from worlds.wrappers import Wrapper

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class RunProgress:
    """How far a run is. ``resumed`` of the ``done`` episodes were finished before this command began.

    ``won`` is None where nothing can be won, as when rules are learned. ``active`` model calls are in flight, at most ``limit``
    (None: no limit so far). ``cost`` covers all sessions, None where no price is known.
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
"""Errors for no space left: on the disk, in the user's quota, in a file."""


@dataclass(frozen=True, slots=True)
class RunOptions:
    """How this session plays a run; none of it is part of the run's identity.

    ``workers`` episodes are in flight. ``retry_errors`` replays episodes that errored. ``model`` replaces the spec's; the
    caller closes it. ``watcher`` is called after every episode and every ``beat`` seconds; ``say`` shows a person a message.
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
    """Play the unfinished tasks of ``spec`` in ``folder`` until the budget of ``tracker`` is used up.

    If it is cancelled or stopped, the folder can be resumed. Raises ``Stopped`` where the budget, the model or a full disk
    ended the run early, and ``ConfigurationError`` where the folder holds another run or the agent or model cannot be made or
    used.
    """
    options, tracker = options or RunOptions(), tracker or BudgetTracker()
    run = RunFolder(folder)
    tasks = spec.manifest.tasks
    model = options.model or spec.setup.make_model()
    try:
        metered = None if model is None else MeteredModel(model, tracker, spec.setup.prices)
        batch = _Batch(run, spec, metered, options, tracker)
        await _checked(spec.setup, batch.agent, metered, tracker)
        with stopped_when_full(folder), run.locked():
            run.begin(spec.manifest)
            finished, faults = run.mend(tasks)
            if faults and options.say is not None:
                options.say(_mended(faults))
            tracker.used += used_before(run, tasks, finished, spec.setup.prices)
            results = [result for result in finished if not (options.retry_errors and result.outcome == "error")]
            await batch.play(results)
        if len(results) < len(tasks):
            raise tracker.ended()
        return summarise(tasks, results)
    finally:
        if model is not None and options.model is None:
            await model.aclose()


@contextmanager
def stopped_when_full(folder: Path) -> Generator[None]:
    """Raise ``Stopped`` where there is no room left for ``folder``: what was written stays valid, and can be gone on with."""
    try:
        yield
    except OSError as error:
        if error.errno not in _FULL:
            raise
        why = f"{folder} cannot be written to: {error.strerror}."
        raise Stopped(why, "Once there is room, the same command goes on with it.") from error


async def _checked(setup: Setup, agent: Agent, model: Model | None, tracker: BudgetTracker) -> None:
    """Check ``agent`` and its ``model``; raises why the run ended where the model did not answer."""
    try:
        if isinstance(agent, RequiresCapabilities):
            await agent.check()
        if model is not None:
            await setup.check_model(model)
    except RunHalted:
        raise tracker.ended() from None


def _mended(faults: Sequence[Fault]) -> str:
    more = f" And {len(faults) - 1} more." if len(faults) > 1 else ""
    return f"Not whole: {faults[0]}.{more} Damaged episodes are kept as *.unfit-N and played again."


async def run_workers(workers: Iterable[Coroutine[None, None, T]], *others: Coroutine[None, None, None]) -> list[T]:
    """Run ``workers`` to their end, ``others`` meanwhile; the first error ends them all."""
    working, besides = [asyncio.create_task(each) for each in workers], [asyncio.create_task(each) for each in others]
    try:
        return await asyncio.gather(*working)
    finally:
        for task in (*working, *besides):
            task.cancel()
        await asyncio.gather(*working, *besides, return_exceptions=True)


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
        self._index = _Index(run)
        self._waiting = iter(spec.selection.tasks)
        self._resumed = 0
        self._outcomes = Counter[str]()
        self._unfit = 0

    async def play(self, results: list[Result]) -> None:
        """Play the tasks that ``results`` lacks, add their results, and sort the index by task."""
        finished = {result.task for result in results}
        self._resumed = len(results)
        self._outcomes = Counter(result.outcome for result in results)
        self._waiting = iter([task for task in self._spec.selection.tasks if task.id not in finished])
        # Before the first byte is written: on a full disk that fails, and what is done is told all the same.
        self._report_progress()
        self._run.rewrite(results)
        for file in (self._run.timing_file, self._run.walls_file):
            cut_off_end(file)
        with open_file(self._run.timing_file, "ab") as clock:
            workers = [self._work(clock) for _ in range(self._options.workers)]
            try:
                await run_workers(workers, self._beat(), self._tracker.ring())
            finally:
                results += await self._index.finish()
        self._run.rewrite(sorted(results, key=lambda result: result.number))

    async def _work(self, clock: BinaryIO) -> None:
        while not self._tracker.over() and (task := next(self._waiting, None)) is not None:
            selected = SelectedTask.of(task)
            try:
                result = await self._episode(task, selected, clock)
            except RunHalted:
                return
            self._outcomes[result.outcome] += 1
            await self._index.add(result)
            self._report_progress()
            # An expert never awaits: without this, no other task would run until the end.
            await asyncio.sleep(0)

    async def _episode(self, task: Task, selected: SelectedTask, clock: BinaryIO) -> Result:
        """Resume an episode, or play it from the start where no usable record exists."""
        part = self._run.part(selected)
        try:
            refuse_irregular(part, writing=True)
            recorded = list(read_episode(part)) if part.exists() else []
            if recorded:
                return await self._play(task, selected, clock, recorded)
        except (ConfigurationError, IrregularFile) as error:
            self._set_aside(part, str(error))
        return await self._play(task, selected, clock, [])

    async def _play(self, task: Task, selected: SelectedTask, clock: BinaryIO, recorded: list[Event]) -> Result:
        events, begun = list(recorded), time.monotonic()
        if not recorded:
            # A new attempt: the seconds of earlier attempts no longer count.
            self._run.clock(selected, 0.0)
        env, episode, world = _Opening(self._setup, task), self._setup.episode, self._setup.world
        path = self._run.episode(selected)
        with EpisodeRecorder(path, clock=clock, label=episode_name(selected), resume=bool(recorded)) as recorder:

            def listen(event: Event | CallTiming) -> None:
                recorder(event)
                if isinstance(event, Event):
                    events.append(event)

            try:
                if recorded:
                    await resume_episode(env, self._make_agent, episode, recorded, listen, model=self._model, world=world)
                else:
                    await run_episode(env, _Stopping(self.agent, self._tracker), episode, listen, world=world)
            finally:
                env.close()
                self._run.clock(selected, time.monotonic() - begun, resumed=bool(recorded))
        result = result_of(selected, events)
        assert result is not None, "an episode ends with an event that says so"
        return result

    def _make_agent(self, model: Model | None, question: AskPerson | None) -> Agent:
        return _Stopping(self._setup.make_agent(model, question), self._tracker)

    def _set_aside(self, part: Path, why: str) -> None:
        aside = self._run.set_aside(part)
        self._unfit += 1
        if self._unfit == 1 and self._options.say is not None:
            self._options.say(f"{why}\nThis record is now {aside}, and its task is played anew; so is any other like it.")

    async def _beat(self) -> None:
        while self._options.beat is not None:
            await asyncio.sleep(self._options.beat)
            self._report_progress()

    def _report_progress(self) -> None:
        if self._options.watcher is not None:
            done, total, cost = self._outcomes.total(), len(self._spec.selection.tasks), self._tracker.used.money
            won, errors = self._outcomes["won"], self._outcomes["error"]
            active, limit = (self._model.active, self._model.limit) if self._model else (0, None)
            self._options.watcher(RunProgress(done, total, won, errors, self._resumed, active, limit, cost))


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


class _Index:
    """Adds finished episodes to a run's index while others are played.

    Until a disk has synced an episode takes milliseconds, and what finishes meanwhile is synced together. A kill costs nothing:
    what has no line yet is read again from its episode.
    """

    def __init__(self, run: RunFolder) -> None:
        self._run = run
        self._added: list[Result] = []
        self._waiting: list[Result] = []
        self._writing: asyncio.Task[list[Result]] | None = None

    async def add(self, result: Result) -> None:
        """Have ``result`` added soon. Raises ``OSError`` where earlier ones could not be."""
        self._waiting.append(result)
        if self._writing is None or self._writing.done():
            await self._written()
            waiting, self._waiting = self._waiting, []
            self._writing = asyncio.create_task(asyncio.to_thread(self._run.append, *waiting))

    async def finish(self) -> list[Result]:
        """Add all that waits, and return every result that was added, with its digest. Raises ``OSError``."""
        await self._written()
        if self._waiting:
            self._added += self._run.append(*self._waiting)
        return self._added

    async def _written(self) -> None:
        writing, self._writing = self._writing, None
        if writing is not None:
            try:
                self._added += await writing
            except BaseException:
                self._waiting.clear()  # nothing may follow a line that was cut off
                raise


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
