"""The driver's side of players elsewhere: what they record is mirrored into the run's folder, and their calls are counted here.

A player that is lost costs the seconds since it last sent what it had recorded: another goes on with each of its episodes.
"""

from __future__ import annotations

import asyncio
import math
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Coroutine, Sequence
from contextlib import AbstractAsyncContextManager, suppress
from dataclasses import dataclass, field
from types import TracebackType
from typing import ParamSpec, Protocol

from housequest.agent.evaluation.parts import Cluster, ClusterJob
from housequest.agent.evaluation.runs.batch import RemotePlayers
from housequest.agent.evaluation.runs.budget import RunHalted, Stopped
from housequest.agent.evaluation.runs.files import SelectedTask
from housequest.agent.evaluation.runs.folder import Result, episode_name
from housequest.agent.evaluation.runs.spec import Manifest, RunRequest, RunSpec
from housequest.agent.models.base import Completion, Timing, Usage
from housequest.agent.models.keys import KeyRing, load_keys
from housequest.agent.models.rate_limiter import Call, Verdict
from housequest.worlds.base import Task
from housequest.worlds.errors import HousequestError
from housequest.worlds.paths import IrregularFile, alfworld_data, open_file, read_file, refuse_irregular

P = ParamSpec("P")
MOST_LOST = 5
"""Players that one episode may be lost with before the run stops."""
LOST_IN_A_ROW = 3
"""How often each player may be lost with no episode finished between."""


@dataclass(frozen=True, slots=True)
class Order:
    """What a player has to know: what is to be played, and what it must find on its machine.

    ``keys`` names environment variables and holds no key. ``strict``: the budget limits calls, so that each is asked for.
    """

    request: RunRequest
    manifest: Manifest
    keys: KeyRing
    data: str
    strict: bool


@dataclass(frozen=True, slots=True)
class Play:
    """Driver: play ``task``, of which ``part`` was recorded before."""

    task: SelectedTask
    part: bytes


@dataclass(frozen=True, slots=True)
class Answer:
    """Driver: the answer to what a player asked as ``number``; None where the run is at its end."""

    number: int
    value: int | None


@dataclass(frozen=True, slots=True)
class Halt:
    """Driver: let no further call begin, and send what was recorded."""


@dataclass(frozen=True, slots=True)
class Ready:
    """Player: on the machine ``node``, all that is needed is there."""

    node: str


@dataclass(frozen=True, slots=True)
class Wrote:
    """Player: ``content`` was added to the record of ``task`` at ``offset``."""

    task: str
    offset: int
    content: bytes


@dataclass(frozen=True, slots=True)
class Clocked:
    """Player: whole lines of timings of calls, and of episodes."""

    timing: bytes
    walls: bytes


@dataclass(frozen=True, slots=True)
class Finished:
    """Player: an episode ended, and its whole record was sent."""

    result: Result


@dataclass(frozen=True, slots=True)
class Left:
    """Player: the episode of ``task`` was left unfinished, since the run is at its end."""

    task: str


@dataclass(frozen=True, slots=True)
class Unfit:
    """Player: the record of ``task`` that it was given cannot be gone on with, and it begins anew."""

    task: str
    why: str


@dataclass(frozen=True, slots=True)
class Failed:
    """Player: it cannot play; every other one could not either."""

    error: HousequestError


@dataclass(frozen=True, slots=True)
class Stop:
    """Player: the run is to stop, for something that every call would meet."""

    why: HousequestError


@dataclass(frozen=True, slots=True)
class Begin:
    """Player: so many ``calls`` begin; asked as ``number`` where the budget may refuse them, answered with 1."""

    number: int | None
    calls: int


@dataclass(frozen=True, slots=True)
class End:
    """Player: so many ``calls`` ended, with what they used if they were answered."""

    calls: int
    used: tuple[Usage, Timing] | None


@dataclass(frozen=True, slots=True)
class Enter:
    """Player, asking as ``number``: admit an attempt at ``call``. Answered with the limiter's round."""

    number: int
    call: int
    first: bool


@dataclass(frozen=True, slots=True)
class Leave:
    """Player: how an attempt at ``call`` ended."""

    call: int
    verdict: Verdict
    wait: float


@dataclass(frozen=True, slots=True)
class IsEarly:
    """Player, asking as ``number``: was the limit lowered after ``call`` was sent? Answered with 0 or 1."""

    number: int
    call: int


ToPlayer = Play | Answer | Halt


FromPlayer = Ready | Wrote | Clocked | Finished | Left | Unfit | Failed | Stop | Begin | End | Enter | Leave | IsEarly


class PlayerLost(Exception):
    """A player is gone: its process, its machine, or the way to it."""


class RemoteHandle(Protocol):
    """A player that was started somewhere. Its methods raise `PlayerLost` once it is gone."""

    async def tell(self, messages: Sequence[ToPlayer]) -> None:
        """Send ``messages``, in their order."""
        ...

    async def hear(self) -> Sequence[FromPlayer]:
        """What it has to say, in its order; waits until it says anything."""
        ...

    def end(self) -> None:
        """End its process; it may be gone already."""
        ...


def _order_of(spec: RunSpec, *, strict: bool) -> Order:
    """What players have to know of a run; ``strict``: its budget limits calls. No task is among it, since each is sent."""
    manifest = spec.manifest.model_copy(update={"tasks": ()})
    return Order(spec.request, manifest, load_keys(), str(alfworld_data()), strict)


@dataclass(slots=True, eq=False)
class _Job:
    """An episode that is played elsewhere, and how often its player was lost."""

    task: SelectedTask
    ended: asyncio.Future[Result]
    lost: int = 0


@dataclass(slots=True, eq=False)
class _Remote:
    """A player as the driver knows it: what it plays, what it is still to be told, and its calls."""

    handle: RemoteHandle
    node: str = ""
    jobs: dict[str, _Job] = field(default_factory=dict[str, _Job])
    untold: list[ToPlayer] = field(default_factory=list[ToPlayer])
    waking: asyncio.Event = field(default_factory=asyncio.Event)
    calls: dict[int, Call] = field(default_factory=dict[int, Call])
    inside: set[int] = field(default_factory=set[int])
    begun: int = 0

    def tell(self, message: ToPlayer) -> None:
        self.untold.append(message)
        self.waking.set()


class ClusterPlayer(RemotePlayers):
    """Plays the episodes of ``job`` by players on ``cluster``; an asynchronous context manager."""

    def __init__(self, cluster: PlayerCluster, job: ClusterJob) -> None:
        self._cluster = cluster
        self._order = _order_of(job.spec, strict=job.tracker.budget.calls is not None)
        self._prices = job.spec.setup.prices
        self._run = job.run
        self._limiter = job.limiter
        self._tracker = job.tracker
        self._clock = job.clock
        self._set_aside = job.set_aside
        self._say = job.say
        self._most = job.most
        self._share = job.most
        """Episodes that one player plays at once."""
        self._waiting: deque[_Job] = deque()
        self._players: list[_Remote] = []
        self._tasks: set[asyncio.Task[None]] = set()
        self._limited = False
        self._lost_in_a_row = 0
        self._error: BaseException | None = None

    async def __aenter__(self) -> ClusterPlayer:
        room = await self._cluster.open(self._order)
        number = max(1, min(self._most, room))
        self._share = math.ceil(self._most / number)
        self._tracker.models.append(self)
        for _ in range(number):
            self._start(self._serve, number)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for player in self._players:
            player.handle.end()
        self._tracker.models.remove(self)
        self._cluster.close()

    @property
    def active(self) -> int:
        return self._limiter.active if self._limited else sum(player.begun for player in self._players)

    @property
    def limit(self) -> int | None:
        return self._limiter.limit

    def close(self) -> None:
        self._limiter.close(RunHalted())
        for player in self._players:
            player.tell(Halt())
        self._assign()

    async def play(self, task: Task) -> Result:
        job = _Job(SelectedTask.of(task), asyncio.get_running_loop().create_future())
        self._waiting.append(job)
        self._assign()
        return await job.ended

    def _assign(self) -> None:
        """Give what waits to the players that play least; once the run is at its end, leave it."""
        while self._waiting and (self._error is not None or self._tracker.over()):
            self._leave(self._waiting.popleft(), self._error or RunHalted())
        while self._waiting and (free := [each for each in self._players if each.node and len(each.jobs) < self._share]):
            player, job = min(free, key=lambda each: len(each.jobs)), self._waiting.popleft()
            player.jobs[job.task.id] = job
            player.tell(Play(job.task, self._recorded(job.task)))

    def _leave(self, job: _Job, why: BaseException) -> None:
        if not job.ended.done():
            job.ended.set_exception(why)

    def _recorded(self, task: SelectedTask) -> bytes:
        """The whole lines of what was recorded of an episode before."""
        part = self._run.part(task)
        try:
            refuse_irregular(part, writing=True)
            content = read_file(part) if part.exists() else b""
        except IrregularFile as error:
            self._set_aside(part, str(error))
            return b""
        return content[: content.rfind(b"\n") + 1]

    def _start(self, work: Callable[P, Coroutine[None, None, None]], *given: P.args, **named: P.kwargs) -> None:
        """Begin ``work`` beside everything else; its error is that of the whole run."""

        async def guarded() -> None:
            try:
                await work(*given, **named)
            except Exception as error:  # noqa: BLE001 (it becomes the error of the run)
                self._fail(error)

        task = asyncio.create_task(guarded())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _fail(self, error: BaseException) -> None:
        self._error = self._error or error
        for job in [job for player in self._players for job in player.jobs.values()]:
            self._leave(job, self._error)
        self._assign()

    async def _serve(self, number: int) -> None:
        """Keep one player going, by another whenever it is lost."""
        while self._error is None and not self._tracker.over():
            player = _Remote(self._cluster.start())
            self._players.append(player)
            telling = asyncio.create_task(self._tell(player))
            try:
                while True:
                    for message in await player.handle.hear():
                        self._heard(player, message)
            except PlayerLost as lost:
                self._lose(player, number, str(lost))
            finally:
                telling.cancel()
                await asyncio.gather(telling, return_exceptions=True)

    async def _tell(self, player: _Remote) -> None:
        """Send what the player is told: all that gathered while the last of it was on its way."""
        with suppress(PlayerLost):  # whoever hears it finds that out
            while True:
                await player.waking.wait()
                player.waking.clear()
                untold, player.untold = player.untold, []
                await player.handle.tell(untold)

    def _lose(self, player: _Remote, number: int, why: str) -> None:
        """Put back what a lost player was at, for others to go on with, and end its calls."""
        self._players.remove(player)
        player.handle.end()
        for call in player.inside:
            self._limiter.leave(player.calls[call], "other")
        player.inside.clear()
        if player.begun:
            self._tracker.end(None, None, player.begun)
        self._lost_in_a_row += 1
        jobs = list(player.jobs.values())
        where = f" on {player.node}" if player.node else ""
        over = self._error is not None or self._tracker.over()
        for job in jobs:
            job.lost += 1
            if job.lost >= MOST_LOST and not over:
                name = episode_name(job.task)
                raise Stopped(f"{job.lost} players were lost while they played {name}, the last{where} ({why}).")
        if self._lost_in_a_row >= LOST_IN_A_ROW * number and not over:
            raise Stopped(f"One player after another is lost before an episode ends, the last{where} ({why}).")
        if not over:
            self._say(f"A player{where} was lost ({why}); its {len(jobs)} episodes are gone on with elsewhere.")
        self._waiting.extendleft(reversed(jobs))
        player.jobs.clear()
        self._assign()

    def _heard(self, player: _Remote, message: FromPlayer) -> None:
        tracker, limiter = self._tracker, self._limiter
        match message:
            case Ready(node):
                player.node = node
                if tracker.over():
                    player.tell(Halt())
                self._assign()
            case Wrote(task, offset, content):
                self._mirror(player.jobs[task].task, offset, content)
            case Clocked(timing, walls):
                self._clock.write(timing)
                self._clock.flush()
                with open_file(self._run.walls_file, "ab") as file:
                    file.write(walls)
            case Finished(result):
                job = player.jobs.pop(result.task)
                self._run.part(job.task).replace(self._run.episode(job.task))
                self._lost_in_a_row = 0
                if not job.ended.done():
                    job.ended.set_result(result)
                self._assign()
            case Left(task):
                self._leave(player.jobs.pop(task), RunHalted())
            case Unfit(task, why):
                self._set_aside(self._run.part(player.jobs[task].task), why)
            case Failed(error):
                raise error
            case Stop(why):
                tracker.stop(why)
            case Begin(number, calls):
                self._begin(player, number, calls)
            case Enter():
                self._limited = True
                self._start(self._enter, player, message)
            case End(calls, used):
                player.begun -= calls
                completion = Completion("", usage=used[0], timing=used[1]) if used is not None else None
                tracker.end(completion, self._prices, calls)
            case Leave(call, verdict, wait):
                player.inside.discard(call)
                limiter.leave(player.calls[call], verdict, wait)
                if verdict != "crowded":
                    # It is admitted anew, if it is tried again.
                    del player.calls[call]
            case IsEarly(number, call):
                player.tell(Answer(number, int(player.calls[call].round != limiter.round)))

    def _begin(self, player: _Remote, number: int | None, calls: int) -> None:
        if number is None:
            self._tracker.calling += calls  # it was on its way already, whatever happened here
        else:
            try:
                self._tracker.admit(calls)
            except RunHalted:
                player.tell(Answer(number, None))
                return
            player.tell(Answer(number, 1))
        player.begun += calls

    async def _enter(self, player: _Remote, asked: Enter) -> None:
        call = player.calls.setdefault(asked.call, Call())
        try:
            await self._limiter.enter(call, first=asked.first)
        except RunHalted:
            player.tell(Answer(asked.number, None))
            return
        if player not in self._players:
            self._limiter.leave(call, "other")
            return
        player.inside.add(asked.call)
        player.tell(Answer(asked.number, call.round))

    def _mirror(self, task: SelectedTask, offset: int, content: bytes) -> None:
        part = self._run.part(task)
        part.parent.mkdir(parents=True, exist_ok=True)
        with open_file(part, "ab" if offset else "wb") as file:
            file.truncate(offset)
            file.write(content)


class PlayerCluster(Cluster, ABC):
    """A cluster on which players can be started."""

    def players(self, job: ClusterJob) -> AbstractAsyncContextManager[RemotePlayers]:
        return ClusterPlayer(self, job)

    @abstractmethod
    async def open(self, order: Order) -> int:
        """Join it for this order; returns how many players have room. Raises ``ConfigurationError`` if it cannot be reached."""

    @abstractmethod
    def start(self) -> RemoteHandle:
        """Start a player; it plays once there is room for it."""

    @abstractmethod
    def close(self) -> None:
        """Leave it."""
