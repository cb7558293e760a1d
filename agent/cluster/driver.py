"""The driver's side of remote players: mirrors their records into the run's folder, and counts their calls.

A player's message is a method of `Remote` with its arguments; the driver's messages are `ToPlayer`. If a player is lost,
another continues each of its episodes from what it last sent.
"""

from __future__ import annotations

import asyncio
import math
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, suppress
from dataclasses import dataclass, field
from typing import Any, Literal, ParamSpec, Protocol

from housequest.agent.base import Attempt
from housequest.agent.config import Prices, Settings
from housequest.agent.evaluation.parts import Cluster, ClusterJob
from housequest.agent.evaluation.runs.batch import RemotePlayers
from housequest.agent.evaluation.runs.budget import RunHalted, Stopped
from housequest.agent.evaluation.runs.files import SelectedTask
from housequest.agent.evaluation.runs.folder import Result, episode_name
from housequest.agent.evaluation.runs.spec import Manifest
from housequest.agent.models.base import Completion, Timing, Usage
from housequest.agent.models.keys import KeyRing, load_keys
from housequest.agent.models.rate_limiter import Call, Verdict
from housequest.worlds.base import Task
from housequest.worlds.errors import HousequestError
from housequest.worlds.paths import IrregularFile, alfworld_data, open_file, read_file, refuse_irregular
from housequest.worlds.systems import replace_file

P = ParamSpec("P")
MOST_LOST = 5
"""Lost players of one episode after which the run stops."""
LOST_IN_A_ROW = 3
"""Losses per player, without a finished episode between, after which the run stops."""


@dataclass(frozen=True, slots=True)
class Order:
    """The configuration of a player. The ``manifest`` has no tasks, since each is sent. ``attempts`` are the earlier ones of a
    series. ``keys`` names environment variables and contains no key. ``data`` is the folder of ALFWorld's data.
    """

    manifest: Manifest
    settings: Settings
    attempts: Mapping[str, tuple[Attempt, ...]]
    keys: KeyRing
    data: str


ToPlayer = tuple[Literal["play"], SelectedTask, bytes] | tuple[Literal["answer"], int, int | None] | tuple[Literal["halt"]]
"""A message to a player: play a task, after the given record; the answer to the question of this number, None at the end of the
run; or begin no more calls, and send the records."""
FromPlayer = tuple[Callable[..., None], tuple[Any, ...]]
"""A method of `Remote` and its arguments."""


class PlayerLost(Exception):
    """The player's process, machine or connection is gone."""


class RemoteHandle(Protocol):
    """A started player. Its methods raise `PlayerLost` once it is gone."""

    async def tell(self, messages: Sequence[ToPlayer]) -> None:
        """Send ``messages`` in order."""

    async def hear(self) -> Sequence[FromPlayer]:
        """Return pending messages in order; wait for at least one."""
        ...

    def end(self) -> None:
        """End its process; it may be gone already."""


@dataclass(slots=True, eq=False)
class _Job:
    """A remote episode; ``lost`` counts its lost players."""

    task: SelectedTask
    ended: asyncio.Future[Result]
    lost: int = 0

    def leave(self, why: BaseException) -> None:
        if not self.ended.done():
            self.ended.set_exception(why)


@dataclass(slots=True, eq=False)
class Remote:
    """The driver's view of a player: its episodes, pending messages and calls. The methods from `ready` on are the player's
    messages; questions have a ``number``, which the answer repeats."""

    driver: ClusterPlayer
    handle: RemoteHandle
    node: str = ""
    jobs: dict[str, _Job] = field(default_factory=dict[str, _Job])
    untold: list[ToPlayer] = field(default_factory=list[ToPlayer])
    waking: asyncio.Event = field(default_factory=asyncio.Event)
    calls: dict[int, Call] = field(default_factory=dict[int, Call])
    inside: set[int] = field(default_factory=set[int])
    begun: int = 0

    def tell(self, message: ToPlayer) -> None:
        """Queue ``message`` for the player."""
        self.untold.append(message)
        self.waking.set()

    async def keep_telling(self) -> None:
        """Send queued messages, in batches."""
        with suppress(PlayerLost):  # `hear` raises it, too
            while True:
                await self.waking.wait()
                self.waking.clear()
                untold, self.untold = self.untold, []
                await self.handle.tell(untold)

    def ready(self, node: str) -> None:
        """The player is ready on the machine ``node``."""
        self.node = node
        if self.driver.job.tracker.over():
            self.tell(("halt",))
        self.driver.assign()

    def wrote(self, task: str, offset: int, content: bytes) -> None:
        """``content`` was added to the record of ``task`` at ``offset``."""
        part = self.driver.job.run.part(self.jobs[task].task)
        part.parent.mkdir(parents=True, exist_ok=True)
        with open_file(part, "ab" if offset else "wb") as file:
            file.truncate(offset)
            file.write(content)

    def clocked(self, timing: bytes) -> None:
        """Append whole lines of timings of calls."""
        self.driver.job.clock.write(timing)
        self.driver.job.clock.flush()

    def timed(self, walls: bytes) -> None:
        """Append whole lines of seconds of episodes."""
        with open_file(self.driver.job.run.walls_file, "ab") as file:
            file.write(walls)

    def finished(self, result: Result) -> None:
        """An episode ended, after its whole record was sent."""
        job, run = self.jobs.pop(result.task), self.driver.job.run
        replace_file(run.part(job.task), run.episode(job.task))
        self.driver.lost_in_a_row = 0
        if not job.ended.done():
            job.ended.set_result(result)
        self.driver.assign()

    def left(self, task: str) -> None:
        """The episode of ``task`` was left unfinished at the end of the run."""
        self.jobs.pop(task).leave(RunHalted())

    def unfit(self, task: str, why: str) -> None:
        """The record of ``task`` cannot be continued, so the episode begins again."""
        self.driver.job.set_aside(self.driver.job.run.part(self.jobs[task].task), why)

    def failed(self, error: HousequestError) -> None:
        """The player cannot play, and no other could."""
        raise error

    def stop(self, why: HousequestError) -> None:
        """Stop the run, since every call would fail."""
        self.driver.job.tracker.stop(why)

    def may_begin(self, number: int, calls: int) -> None:
        """Ask to begin ``calls``; the answer is 1, or None if the run is over."""
        try:
            self.driver.job.tracker.admit(calls)
        except RunHalted:
            self.tell(("answer", number, None))
        else:
            self.begun += calls
            self.tell(("answer", number, 1))

    def ends(self, calls: int, used: tuple[Usage, Timing] | None, prices: Prices | None) -> None:
        """Count ``calls`` that ended, with their usage and ``prices`` if they were answered."""
        self.begun -= calls
        completion = Completion("", usage=used[0], timing=used[1]) if used is not None else None
        self.driver.job.tracker.end(completion, prices, calls)

    def enter(self, number: int, call: int, first: bool) -> None:
        """Ask to admit an attempt at ``call``; the answer is the limiter's round."""
        self.driver.limited = True
        self.driver.start(self._enter, number, call, first)

    async def _enter(self, number: int, asked: int, first: bool) -> None:
        limiter, call = self.driver.job.limiter, self.calls.setdefault(asked, Call())
        try:
            await limiter.enter(call, first=first)
        except RunHalted:
            self.tell(("answer", number, None))
            return
        if self not in self.driver.remotes:
            limiter.leave(call, "other")
            return
        self.inside.add(asked)
        self.tell(("answer", number, call.round))

    def leave(self, call: int, verdict: Verdict, wait: float) -> None:
        """End an attempt at ``call``."""
        self.inside.discard(call)
        self.driver.job.limiter.leave(self.calls[call], verdict, wait)
        if verdict != "crowded":
            # A retry enters again.
            del self.calls[call]

    def is_early(self, number: int, call: int) -> None:
        """Ask if the limit was lowered after ``call`` was sent; the answer is 0 or 1."""
        self.tell(("answer", number, int(self.calls[call].round != self.driver.job.limiter.round)))


class ClusterPlayer(RemotePlayers):
    """Plays the episodes of ``job`` with players on ``cluster``; an asynchronous context manager."""

    def __init__(self, cluster: PlayerCluster, job: ClusterJob) -> None:
        self.job = job
        self.remotes: list[Remote] = []
        self.limited = False
        """True once a call has used the limiter."""
        self.lost_in_a_row = 0
        self._cluster = cluster
        self._share = job.most
        """Concurrent episodes of one player."""
        self._waiting: deque[_Job] = deque()
        self._tasks: set[asyncio.Task[None]] = set()
        self._error: BaseException | None = None

    async def __aenter__(self) -> ClusterPlayer:
        spec, tracker = self.job.spec, self.job.tracker
        manifest = spec.manifest.model_copy(update={"tasks": ()})
        settings = spec.setup.configured.model_copy(update={"rules": None})
        order = Order(manifest, settings, spec.setup.attempts, load_keys(), str(alfworld_data()))
        number = max(1, min(self.job.most, await self._cluster.open(order)))
        self._share = math.ceil(self.job.most / number)
        tracker.models.append(self)
        for _ in range(number):
            self.start(self._serve, number)
        return self

    async def __aexit__(self, *error: object) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for player in self.remotes:
            player.handle.end()
        self.job.tracker.models.remove(self)
        self._cluster.close()

    @property
    def active(self) -> int:
        return self.job.limiter.active if self.limited else sum(player.begun for player in self.remotes)

    @property
    def limit(self) -> int | None:
        return self.job.limiter.limit

    def close(self) -> None:
        self.job.limiter.close(RunHalted())
        for player in self.remotes:
            player.tell(("halt",))
        self.assign()

    async def play(self, task: Task) -> Result:
        job = _Job(SelectedTask.of(task), asyncio.get_running_loop().create_future())
        self._waiting.append(job)
        self.assign()
        return await job.ended

    @property
    def _over(self) -> bool:
        return self._error is not None or self.job.tracker.over()

    def assign(self) -> None:
        """Give waiting episodes to the least busy players; at the end of the run, leave them."""
        while self._waiting and self._over:
            self._waiting.popleft().leave(self._error or RunHalted())
        while self._waiting and (free := [each for each in self.remotes if each.node and len(each.jobs) < self._share]):
            player, job = min(free, key=lambda each: len(each.jobs)), self._waiting.popleft()
            player.jobs[job.task.id] = job
            player.tell(("play", job.task, self._recorded(job.task)))

    def _recorded(self, task: SelectedTask) -> bytes:
        part = self.job.run.part(task)
        try:
            refuse_irregular(part, writing=True)
            content = read_file(part) if part.exists() else b""
        except IrregularFile as error:
            self.job.set_aside(part, str(error))
            return b""
        return content[: content.rfind(b"\n") + 1]

    def start(self, work: Callable[P, Coroutine[None, None, None]], *given: P.args, **named: P.kwargs) -> None:
        """Begin ``work`` in the background; its error ends the run."""

        async def guarded() -> None:
            try:
                await work(*given, **named)
            except Exception as error:  # noqa: BLE001 (becomes the error of the run)
                self._error = self._error or error
                for job in [job for player in self.remotes for job in player.jobs.values()]:
                    job.leave(self._error)
                self.assign()

        task = asyncio.create_task(guarded())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _serve(self, number: int) -> None:
        """Run one of ``number`` players, and start another whenever it is lost."""
        while not self._over:
            player = Remote(self, self._cluster.start())
            self.remotes.append(player)
            telling = asyncio.create_task(player.keep_telling())
            try:
                while True:
                    for said, given in await player.handle.hear():
                        said(player, *given)
            except PlayerLost as lost:
                self._lose(player, number, str(lost))
            finally:
                telling.cancel()
                await asyncio.gather(telling, return_exceptions=True)

    def _lose(self, player: Remote, number: int, why: str) -> None:
        """Queue a lost player's episodes for others, and end its calls."""
        self.remotes.remove(player)
        player.handle.end()
        for call in player.inside:
            self.job.limiter.leave(player.calls[call], "other")
        player.inside.clear()
        if player.begun:
            self.job.tracker.end(None, None, player.begun)
        self.lost_in_a_row += 1
        jobs, over = list(player.jobs.values()), self._over
        where = f" on {player.node}" if player.node else ""
        for job in jobs:
            job.lost += 1
            if job.lost >= MOST_LOST and not over:
                name = episode_name(job.task)
                raise Stopped(f"{job.lost} players were lost while they played {name}, the last{where} ({why}).")
        if self.lost_in_a_row >= LOST_IN_A_ROW * number and not over:
            raise Stopped(f"Player after player is lost before an episode ends, the last{where} ({why}).")
        if not over:
            self.job.say(f"A player{where} was lost ({why}); its {len(jobs)} episodes continue elsewhere.")
        self._waiting.extendleft(reversed(jobs))
        player.jobs.clear()
        self.assign()


class PlayerCluster(Cluster, ABC):
    """A cluster on which players can be started."""

    def players(self, job: ClusterJob) -> AbstractAsyncContextManager[RemotePlayers]:
        return ClusterPlayer(self, job)

    @abstractmethod
    async def open(self, order: Order) -> int:
        """Join the cluster; return the number of players with room. Raises ``ConfigurationError`` if it cannot be reached."""

    @abstractmethod
    def start(self) -> RemoteHandle:
        """Start a player, which plays once there is room for it."""

    @abstractmethod
    def close(self) -> None:
        """Leave the cluster."""
