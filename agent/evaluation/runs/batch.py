"""Play the tasks of a run, or of a shard of it, with several episodes in flight. Interrupted episodes are resumed.

`LocalPlayer` plays them one after the other, the same in one process and for a run on a cluster.
"""

from __future__ import annotations

import asyncio
import errno
import gc
import time
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Coroutine, Generator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Protocol, TypeVar

from housequest.agent.base import Agent, RequiresCapabilities
from housequest.agent.episodes.events import CallTiming, Event
from housequest.agent.episodes.loop import run_episode
from housequest.agent.episodes.record import EpisodeRecorder, cut_off_end, read_episode
from housequest.agent.episodes.resume import ResumedPartner, resume_episode, resume_together
from housequest.agent.evaluation.analysis.metrics import Summary, summarise
from housequest.agent.evaluation.parts import Cluster, ClusterJob
from housequest.agent.evaluation.runs.budget import BudgetTracker, Caller, MeteredModel, RunHalted, Stopped
from housequest.agent.evaluation.runs.files import SelectedTask
from housequest.agent.evaluation.runs.folder import Result, RunFolder, episode_name, result_of
from housequest.agent.evaluation.runs.shard import Shard, begin_shard
from housequest.agent.evaluation.runs.spec import RunSpec
from housequest.agent.evaluation.runs.usage import used_before
from housequest.agent.models.base import Model
from housequest.agent.models.rate_limiter import RateLimiter
from housequest.agent.setup import Setup
from housequest.worlds.base import Step, Task
from housequest.worlds.env import SharedWrapper, Wrapper
from housequest.worlds.errors import ConfigurationError, ModelError
from housequest.worlds.paths import IrregularFile, atomic_write, given_path, open_file, read_file, refuse_irregular

SetAside = Callable[[Path, str], None]
"""Renames a record that cannot be used, and says why."""
_COLLECTED = (1_000_000, 50, 20)
_BEFORE: list[tuple[int, int, int]] = []
"""Python's thresholds for its search for reference cycles, while a batch is played."""
T = TypeVar("T")
_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
"""Errors for no space left: on the disk, in the user's quota, in a file."""


@dataclass(frozen=True, slots=True)
class RunProgress:
    """The progress of a run. ``resumed`` of the ``done`` episodes were finished before this session. ``won`` is None where
    nothing can be won, as when rules are learned. ``active`` model calls are in flight, at most ``limit`` (None: no limit so
    far). ``cost`` covers all sessions, None where no price is known.
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


def unheard(_: object) -> None:
    """Tell nobody."""


@dataclass(frozen=True, slots=True)
class RunOptions:
    """Options of one session of a run; none of them is part of the run's identity. ``concurrency`` episodes are in flight.
    ``retry_errors`` replays episodes that errored. ``model`` replaces the spec's; the caller closes it. ``watcher`` is called
    after every episode and every ``beat`` seconds; ``say`` shows a person a message. Only the tasks of ``shard`` are played,
    and by players on a ``cluster`` rather than in this process.
    """

    concurrency: int = 1
    retry_errors: bool = False
    model: Model | None = None
    watcher: Watcher = unheard
    beat: float | None = None
    say: Callable[[str], None] = unheard
    shard: Shard | None = None
    cluster: Cluster | None = None


async def run_batch(
    spec: RunSpec, folder: Path, options: RunOptions | None = None, tracker: BudgetTracker | None = None
) -> Summary:
    """Play the unfinished tasks of ``spec``, or of a shard of them, in ``folder`` until the budget of ``tracker`` is used up.
    If it is cancelled or stopped, the folder can be resumed. Raises ``Stopped`` where the budget, the model or a full disk
    ended the run early, and ``ConfigurationError`` where the folder holds another run or the agent or model cannot be made or
    used.
    """
    options, tracker = options or RunOptions(), tracker or BudgetTracker()
    run = RunFolder(folder)
    every, tasks = spec.selection.tasks, spec.manifest.tasks
    if options.shard is not None:
        every, tasks = options.shard.part(every), options.shard.part(tasks)
    setups = spec.setup.each
    named = {each.model: each for each in reversed(setups) if each.model is not None}
    if options.cluster is not None and spec.setup.players:
        raise ConfigurationError("Several players in one house are played by one process; leave the cluster out.")
    if options.model is not None and len(named) > 1:
        raise ConfigurationError("The players have several models, so one model cannot be given for all; name them.")
    models = {name: options.model or each.make_model() for name, each in named.items()}
    try:
        metered = {
            name: MeteredModel(model, tracker, named[name].prices) for name, model in models.items() if model is not None
        }
        agents = [each.make_agent(metered.get(each.model or "")) for each in setups]
        try:
            for agent, each in zip(agents, setups, strict=True):
                if isinstance(agent, RequiresCapabilities):
                    await agent.check()
                if each.model in metered:
                    await each.check_model(metered[each.model])
        except RunHalted:
            raise tracker.ended() from None
        with stopped_when_full(folder), run.locked(), rare_collections():
            begin_shard(run, options.shard)
            run.begin(spec.manifest)
            if (habits := spec.setup.configured.habits) and not run.habits_file.exists():
                atomic_write(run.habits_file, read_file(given_path(habits)))
            finished, faults = run.mend(tasks)
            if faults:
                more = f" And {len(faults) - 1} more." if len(faults) > 1 else ""
                options.say(f"Not whole: {faults[0]}.{more} Damaged episodes are kept as *.unfit-N and played again.")
            tracker.used += used_before(run, tasks, finished, spec.setup.prices)
            results = [result for result in finished if not (options.retry_errors and result.outcome == "error")]
            await _Batch(run, spec, every, agents[0], metered, options, tracker, results).play()
        if len(results) < len(tasks):
            raise tracker.ended()
        return summarise(tasks, results)
    finally:
        for model in models.values() if options.model is None else ():
            if model is not None:
                await model.aclose()


@contextmanager
def stopped_when_full(folder: Path) -> Generator[None]:
    """Raise ``Stopped`` if there is no room left for ``folder``: the written files stay valid, and the run can be resumed."""
    try:
        yield
    except OSError as error:
        if error.errno not in _FULL:
            raise
        why = f"{folder} cannot be written to: {error.strerror}."
        raise Stopped(why, "Once there is room, the same command goes on with it.") from error


async def run_workers(workers: Iterable[Coroutine[None, None, T]], *others: Coroutine[None, None, None]) -> list[T]:
    """Run ``workers`` to their end, ``others`` meanwhile; the first error ends them all."""
    working, besides = [asyncio.create_task(each) for each in workers], [asyncio.create_task(each) for each in others]
    try:
        return await asyncio.gather(*working)
    finally:
        for task in (*working, *besides):
            task.cancel()
        await asyncio.gather(*working, *besides, return_exceptions=True)


@dataclass
class _Batch:
    """The episodes of a run that are still to be played: of the tasks that ``results`` lacks."""

    run: RunFolder
    spec: RunSpec
    tasks: Sequence[Task]
    agent: Agent
    models: Mapping[str, MeteredModel]
    options: RunOptions
    tracker: BudgetTracker
    results: list[Result]

    def __post_init__(self) -> None:
        # What several models take together would say nothing of one.
        self.model = next(iter(self.models.values())) if len(self.models) == 1 else None
        self._caller: Caller | None = self.model
        self._index = _Index(self.run)
        self._resumed, self._unfit = len(self.results), 0
        self._outcomes = Counter[str](result.outcome for result in self.results)
        finished = {result.task for result in self.results}
        self._left = [task for task in self.tasks if task.id not in finished]
        self._waiting = iter(self._left)

    async def play(self) -> None:
        """Play them, add their results, and sort the index by task."""
        # Before the first byte is written: on a full disk that fails, and what is done is told all the same.
        self._report_progress()
        self.run.rewrite(self.results)
        for file in (self.run.timing_file, self.run.walls_file):
            cut_off_end(file)
        with open_file(self.run.timing_file, "ab") as clock:
            try:
                async with self._player(clock) as player:
                    workers = [self._work(player) for _ in range(self.options.concurrency)]
                    await run_workers(workers, self._beat(), self.tracker.ring())
            finally:
                self.results += await self._index.finish()
        self.run.rewrite(sorted(self.results, key=lambda result: result.number))

    @asynccontextmanager
    async def _player(self, clock: BinaryIO) -> AsyncGenerator[LocalPlayer | RemotePlayers]:
        cluster = self.options.cluster
        if cluster is None or not self._left:
            setup, models = self.spec.setup, self.models
            players = tuple(
                ResumedPartner(name, each.make_agent, each, model=models.get(each.model or "")) for name, each in setup.players
            )
            yield LocalPlayer(self.run, setup, self.agent, self.model, self.tracker, clock, self._set_aside, players=players)
            return
        most = min(self.options.concurrency, len(self._left))
        limiter = RateLimiter(self.model.most if self.model else None)
        job = ClusterJob(self.spec, self.run, limiter, self.tracker, clock, self._set_aside, self.options.say, most)
        async with cluster.players(job) as players:
            self._caller = players
            yield players

    async def _work(self, player: LocalPlayer | RemotePlayers) -> None:
        while not self.tracker.over() and (task := next(self._waiting, None)) is not None:
            try:
                result = await player.play(task)
            except RunHalted:
                return
            self._outcomes[result.outcome] += 1
            await self._index.add(result)
            self._report_progress()
            # An expert never awaits: without this, no other task would run until the end.
            await asyncio.sleep(0)

    def _set_aside(self, part: Path, why: str) -> None:
        aside = self.run.set_aside(part)
        self._unfit += 1
        if self._unfit == 1:
            self.options.say(f"{why}\nThis record is now {aside}, and its task is played anew; so is any other like it.")

    async def _beat(self) -> None:
        while self.options.beat is not None:
            await asyncio.sleep(self.options.beat)
            self._report_progress()

    def _report_progress(self) -> None:
        done, total, cost = self._outcomes.total(), len(self.tasks), self.tracker.used.money
        won, errors = self._outcomes["won"], self._outcomes["error"]
        active, limit = self.tracker.active, self._caller.limit if self._caller else None
        self.options.watcher(RunProgress(done, total, won, errors, self._resumed, active, limit, cost))


class _Index:
    """Adds finished episodes to a run's index while others are played. Until a disk has synced an episode takes milliseconds,
    and what finishes meanwhile is synced together. A kill costs nothing: what has no line yet is read again from its episode.
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


@dataclass(frozen=True, slots=True)
class LocalPlayer:
    """Plays a run's episodes in this process, many at once; what is recorded of them lies in the run's folder, and timings of
    calls go to ``clock``. ``recorded`` is told whose record grew. In company, ``players`` play.
    """

    run: RunFolder
    setup: Setup
    agent: Agent
    model: MeteredModel | None
    tracker: BudgetTracker
    clock: BinaryIO
    set_aside: SetAside
    recorded: Callable[[SelectedTask], None] = unheard
    players: tuple[ResumedPartner, ...] = ()

    async def play(self, task: Task) -> Result:
        """Resume the episode of ``task``, or play it from the start. Raises ``RunHalted`` where the run ends before."""
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
        setup, players = self.setup, self.players
        house = _UnopenedHouse(setup, task) if players else None
        env = _UnopenedEnv(setup, task)
        path = self.run.episode(selected)
        with EpisodeRecorder(
            path, clock=self.clock, label=episode_name(selected), resume=self.run.part(selected).exists()
        ) as recorder:

            def listen(event: Event | CallTiming) -> None:
                recorder(event)
                if isinstance(event, Event):
                    events.append(event)
                    self.recorded(selected)

            def halt(error: ModelError) -> None:
                """Stop the run for a fatal error of any model, such as one for embeddings."""
                self.tracker.stop(Stopped(str(error)))
                raise RunHalted from error

            try:
                if house is not None:
                    await resume_together(house, players, recorded, listen, setup.company, halt=halt)
                elif recorded:
                    await resume_episode(env, setup.make_agent, setup, recorded, listen, model=self.model, halt=halt)
                else:
                    await run_episode(env, self.agent, setup, listen, halt=halt)
            finally:
                (house or env).close()
                self.run.clock(selected, time.monotonic() - begun, resumed=bool(recorded))
        result = result_of(selected, events)
        assert result is not None, "an episode ends with an event that says so"
        return result


class _Unopened:
    """An env or a house that ``reset`` opens, so that a game that cannot be opened becomes an errored episode."""

    def __init__(self, setup: Setup, task: Task) -> None:
        self.setup = setup
        self._task = task

    @property
    def task(self) -> Task:
        return self._task


class _UnopenedEnv(_Unopened, Wrapper):
    def reset(self) -> Step:
        self.env = self.setup.open(self._task)
        return self.env.reset()

    def close(self) -> None:
        if hasattr(self, "env"):
            super().close()


class _UnopenedHouse(_Unopened, SharedWrapper):
    @property
    def players(self) -> tuple[str, ...]:
        return tuple(name for name, _ in self.setup.players)

    def reset(self) -> Mapping[str, Step]:
        self.house = self.setup.share(self._task)
        return self.house.reset()

    def close(self) -> None:
        if hasattr(self, "house"):
            super().close()


class RemotePlayers(Caller, Protocol):
    """Players elsewhere, as one that plays as `LocalPlayer` does, and whose calls are counted."""

    async def play(self, task: Task) -> Result: ...


@contextmanager
def rare_collections() -> Generator[None]:
    """Search for reference cycles less often. By default Python goes through all that a thousand episodes remember several
    times a turn, which takes a third of the processor time.
    """
    _BEFORE.append(gc.get_threshold())
    gc.set_threshold(*_COLLECTED)
    try:
        yield
    finally:
        first, *_ = _BEFORE
        _BEFORE.pop()
        if not _BEFORE:  # another run of this process may have begun meanwhile, and not be over
            gc.set_threshold(*first)
