"""A player, which plays episodes like a run on one machine and sends its records to the driver; and the kinds of cluster:
processes of this machine, and Ray.

Each process has its own event loop, so that a run uses all processors. With Ray, players are actors and other work runs as
tasks, on this machine or on an existing cluster.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
import os
import pickle
import platform
import re
import shutil
import signal
import socket
import tempfile
import time
import traceback
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from io import BytesIO
from multiprocessing import get_context
from multiprocessing.context import SpawnProcess
from pathlib import Path
from typing import Any, TypeVarTuple, cast
from weakref import WeakKeyDictionary

from housequest.agent.cluster.driver import FromPlayer, Order, PlayerCluster, PlayerLost, Remote, RemoteHandle, ToPlayer
from housequest.agent.config import Prices
from housequest.agent.evaluation.parts import ClusterKind
from housequest.agent.evaluation.runs.batch import LocalPlayer, rare_collections, run_workers
from housequest.agent.evaluation.runs.budget import BudgetTracker, MeteredModel, RunHalted, Stopped
from housequest.agent.evaluation.runs.files import SelectedTask
from housequest.agent.evaluation.runs.folder import RunFolder
from housequest.agent.evaluation.runs.spec import setup_of
from housequest.agent.models.base import Completion, Model
from housequest.agent.models.rate_limiter import Call, Limiter, Verdict
from housequest.agent.processes import MOST_LOST, Pool, processors
from housequest.agent.setup import Setup
from housequest.worlds.errors import ConfigurationError, HousequestError, shown
from housequest.worlds.locks import InUse, held
from housequest.worlds.paths import open_file
from housequest.worlds.systems import uninterrupted

Ts = TypeVarTuple("Ts")
_PREFIX = "housequest-player-"
_YOUNG = 60 * 60.0
"""Seconds in which a new folder is left alone, since its maker may not have locked it yet."""


class RemotePlayer:
    """A player in its own process and event loop. It starts with the first call of ``hear``, which collects its messages.

    The driver reads them in order, and new records go ahead of every question. So before a call begins, the driver has all that
    was recorded until then: whoever dies, each episode repeats at most the call that it waits for.
    """

    def __init__(self, order: Order) -> None:
        self._order = order
        self._scratch: _Scratch | None = None
        self._heard: asyncio.Queue[ToPlayer] = asyncio.Queue()
        self._playing: asyncio.Task[None] | None = None
        self._said: list[FromPlayer] = []
        self._anything = asyncio.Event()
        self._numbers = itertools.count()
        self._asked: dict[int, asyncio.Future[int | None]] = {}

    async def tell(self, messages: Sequence[ToPlayer]) -> None:
        """Receive ``messages`` from the driver."""
        for message in messages:
            self._heard.put_nowait(message)

    async def hear(self) -> list[FromPlayer]:
        """Return the messages since the last call; wait for at least one. Raises the error that ended the player."""
        if self._playing is None:
            self._playing = asyncio.create_task(self._play())
            self._playing.add_done_callback(lambda _: self._anything.set())
        await self._anything.wait()
        self._anything.clear()
        self._send_records()
        said, self._said = self._said, []
        if self._playing.done() and not said:
            self._playing.result()
        return said

    async def aclose(self) -> None:
        if self._playing is not None:
            self._playing.cancel()
            await asyncio.gather(self._playing, return_exceptions=True)

    def say(self, what: Callable[[Remote, *Ts], None], *given: *Ts) -> None:
        """Send a message to `Remote`."""
        self._said.append((what, given))
        self._anything.set()

    async def ask(
        self, what: Callable[[Remote, int, *Ts], None], *given: *Ts, undo: Callable[[], None] | None = None
    ) -> int | None:
        """Ask the driver; ``undo`` is called if the answer comes after a cancellation and is not None."""
        self._send_records()
        number = next(self._numbers)
        answer = self._asked[number] = asyncio.get_running_loop().create_future()
        self.say(what, number, *given)
        try:
            return await asyncio.shield(answer)
        except asyncio.CancelledError:
            if undo is not None:
                answer.add_done_callback(lambda late: undo() if late.result() is not None else None)
            raise

    def recorded(self) -> None:
        """Have new records sent."""
        self._anything.set()

    def _send_records(self) -> None:
        if self._scratch is not None:
            self._scratch.send()

    async def _play(self) -> None:
        where = platform.node() or "a machine"
        try:
            with rare_collections(), scratch_folder() as folder:
                os.environ.setdefault("ALFWORLD_DATA", self._order.data)
                order = self._order
                setup = await asyncio.to_thread(setup_of, order.manifest, order.settings, order.attempts)
                model = setup.make_model(keys=self._order.keys, limiter=_SharedLimiter(self))
                try:
                    await self._episodes(setup, model, RunFolder(folder), where)
                finally:
                    if model is not None:
                        await model.aclose()
        except* HousequestError as errors:
            self.say(Remote.failed, ConfigurationError(f"A player on {where} cannot play: {errors.exceptions[0]}"))
        except* OSError as errors:
            error = cast("OSError", errors.exceptions[0])
            file = f"{error.filename}: " if error.filename else ""
            self.say(Remote.failed, Stopped(f"A player on {where} cannot play: {file}{error.strerror or error}."))

    async def _episodes(self, setup: Setup, model: Model | None, run: RunFolder, where: str) -> None:
        tracker = _SharedTracker(self)
        metered = None if model is None else MeteredModel(model, tracker, setup.prices)
        run.episodes.mkdir()
        run.walls_file.touch()
        clock = BytesIO()
        scratch = self._scratch = _Scratch(run, self, clock)
        agent = setup.make_agent(metered)
        player = LocalPlayer(run, setup, agent, metered, tracker, clock, scratch.set_aside, scratch.recorded)
        async with asyncio.TaskGroup() as group:
            self.say(Remote.ready, where)
            while True:
                match await self._heard.get():
                    case ("play", task, part):
                        group.create_task(scratch.play(player, task, part))
                    case ("answer", number, value):
                        self._asked.pop(number).set_result(value)
                    case _:
                        tracker.halt()


class _SharedTracker(BudgetTracker):
    """The driver's budget in a player."""

    def __init__(self, player: RemotePlayer) -> None:
        super().__init__()
        self._player = player

    async def begin(self, calls: int = 1) -> None:
        if self.over() or await self._player.ask(Remote.may_begin, calls, undo=lambda: self.end(None, None, calls)) is None:
            raise RunHalted

    def end(self, completion: Completion | None, prices: Prices | None, calls: int = 1) -> None:
        self._player.say(Remote.ends, calls, None if completion is None else (completion.usage, completion.timing), prices)

    def halt(self) -> None:
        """Begin no more calls, as told by the driver."""
        super().stop(Stopped("The run is at its end."))

    def stop(self, why: HousequestError) -> None:
        if not self.over():
            self._player.say(Remote.stop, why)
        super().stop(why)


class _SharedLimiter(Limiter):
    """The driver's rate limiter for a player's model."""

    def __init__(self, player: RemotePlayer) -> None:
        super().__init__()
        self._player = player
        self._numbers = itertools.count()
        self._calls: WeakKeyDictionary[Call, int] = WeakKeyDictionary()

    async def enter(self, call: Call, *, first: bool = False) -> None:
        number = self._calls.setdefault(call, next(self._numbers))
        if self._closed is None:
            undo = partial(self.leave, call, "other")
            if await self._player.ask(Remote.enter, number, first, undo=undo) is not None:
                return
        raise self._closed or RunHalted()

    def leave(self, call: Call, verdict: Verdict, wait: float = 0.0) -> None:
        self._player.say(Remote.leave, self._calls[call], verdict, wait)

    async def early(self, call: Call) -> bool:
        return await self._player.ask(Remote.is_early, self._calls[call]) == 1


@contextmanager
def scratch_folder(parent: Path | None = None) -> Generator[Path]:
    """Make a temporary folder in ``parent`` or the system's place. The player locks it while it lives; folders of killed
    players, whose locks are free, are removed."""
    parent = Path(tempfile.gettempdir()) if parent is None else parent
    for left in parent.glob(f"{_PREFIX}*/"):
        # Folders of other users and new ones stay.
        with suppress(OSError, InUse):
            if time.time() - left.stat().st_mtime > _YOUNG:
                with held(left / ".lock", ""):
                    shutil.rmtree(left)
    with tempfile.TemporaryDirectory(prefix=_PREFIX, dir=parent) as made, held(Path(made) / ".lock", ""):
        folder = Path(made) / "run"
        folder.mkdir()
        yield folder


class _Scratch:
    """The player's own folder, which is mirrored to the driver; counts the bytes sent of each file. ``clock`` has the timings
    that are to be sent."""

    def __init__(self, run: RunFolder, player: RemotePlayer, clock: BytesIO) -> None:
        self._run, self._player, self._clock = run, player, clock
        self._sent: dict[SelectedTask, int] = {}
        self._new: set[SelectedTask] = set()
        self._walls = 0

    async def play(self, player: LocalPlayer, selected: SelectedTask, part: bytes) -> None:
        """Continue an episode from its earlier record ``part``, and send everything."""
        task = player.setup.world.task(selected.id)
        if (found := SelectedTask.of(task)) != selected:
            raise ConfigurationError(f"the task {selected.id} is another one there: {found!r} rather than {selected!r}.")
        if part:
            self._run.part(selected).write_bytes(part)
        self._sent[selected] = len(part)
        try:
            result = await player.play(task)
        except RunHalted:
            result = None
        self.recorded(selected)
        self.send()
        del self._sent[selected]
        walls = _from(self._run.walls_file, self._walls)
        self._player.say(Remote.timed, walls)
        self._walls += len(walls)
        for file in (self._run.episode(selected), self._run.part(selected)):
            file.unlink(missing_ok=True)
        if result is None:
            self._player.say(Remote.left, selected.id)
        else:
            self._player.say(Remote.finished, result)

    def set_aside(self, part: Path, why: str) -> None:
        """Begin a record again."""
        task = next(task for task in self._sent if self._run.part(task) == part)
        part.unlink()
        self._sent[task] = 0
        self._player.say(Remote.unfit, task.id, why)

    def recorded(self, task: SelectedTask) -> None:
        """Note that the record of ``task`` grew."""
        self._new.add(task)
        self._player.recorded()

    def send(self) -> None:
        """Send new parts of the records, and the timings of their calls."""
        while self._new:
            task = self._new.pop()
            file, sent = self._run.episode(task), self._sent[task]
            if content := _from(file if file.exists() else self._run.part(task), sent):
                self._player.say(Remote.wrote, task.id, sent, content)
                self._sent[task] += len(content)
        if timing := self._clock.getvalue():
            self._player.say(Remote.clocked, timing)
            self._clock.seek(0)
            self._clock.truncate()


def _from(file: Path, start: int) -> bytes:
    if not file.exists():
        return b""
    with open_file(file) as opened:
        opened.seek(start)
        return opened.read()


_LONGEST = 200
"""Characters of Ray's error that are shown."""
_GRACE = 3.0
"""Seconds that players get to end by themselves."""
_SIZE = 8
"""Bytes of the size before each message."""


class ProcessCluster(PlayerCluster):
    """``processes`` of this machine."""

    def __init__(self, processes: int) -> None:
        self.processes = processes
        self._order = b""
        self._started: list[_ProcessHandle] = []

    def pool(self) -> int:
        return self.processes

    async def open(self, order: Order) -> int:
        self._order = pickle.dumps(order)
        return self.processes

    def start(self) -> RemoteHandle:
        self._started.append(_ProcessHandle(self._order))
        return self._started[-1]

    def close(self) -> None:
        until = time.monotonic() + _GRACE
        for each in self._started:
            each.close(until)
        self._started.clear()


class _ProcessHandle(RemoteHandle):
    def __init__(self, order: bytes) -> None:
        try:
            self._line, theirs = socket.socketpair()
            with theirs, uninterrupted():
                self.process: SpawnProcess = get_context("spawn").Process(target=_play, args=(order, theirs), daemon=True)
                self.process.start()
        except OSError as error:
            raise Stopped(f"No process can be started for a player: {error.strerror or error}.") from error
        self._line.setblocking(False)

    async def tell(self, messages: Sequence[ToPlayer]) -> None:
        try:
            await _send(self._line, messages)
        except OSError as error:
            raise PlayerLost("it no longer answers") from error

    async def hear(self) -> Sequence[FromPlayer]:
        try:
            said = await _received(self._line)
        except OSError as error:
            await asyncio.to_thread(self.process.join, _GRACE)
            raise PlayerLost(_ended(self.process.exitcode)) from error
        if isinstance(said, str):
            raise RuntimeError(said)
        return said

    def end(self) -> None:
        with suppress(OSError):
            self._line.shutdown(socket.SHUT_RDWR)  # the player then ends

    def close(self, until: float) -> None:
        """Kill the process if it has not ended by ``until``."""
        self.process.join(max(0.0, until - time.monotonic()))
        self.process.kill()
        self.process.join()
        self._line.close()


def _ended(code: int | None) -> str:
    if code is None:
        return "it no longer answers"
    return f"it was ended by signal {-code}" if code < 0 else f"its process ended with {code}"


def _play(order: bytes, line: socket.socket) -> None:
    """Run a player until its driver is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # Each processor has a player already. NumPy reads this when imported.
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    line.setblocking(False)
    with line, suppress(OSError):
        asyncio.run(_serve(pickle.loads(order), line))


async def _serve(order: Order, line: socket.socket) -> None:
    player = RemotePlayer(order)

    async def hear() -> None:
        while True:
            await player.tell(await _received(line))

    async def say() -> None:
        while True:
            try:
                said: Any = await player.hear()
            except Exception:  # noqa: BLE001 (raised by the driver)
                said = traceback.format_exc()
            await _send(line, said)

    try:
        await run_workers((hear(), say()))
    finally:
        await player.aclose()


async def _send(line: socket.socket, message: object) -> None:
    content = pickle.dumps(message, pickle.HIGHEST_PROTOCOL)
    await asyncio.get_running_loop().sock_sendall(line, len(content).to_bytes(_SIZE, "big") + content)


async def _received(line: socket.socket) -> Any:
    """Receive the next message. Raises ``OSError`` if the other side is gone."""
    return pickle.loads(await _exactly(line, int.from_bytes(await _exactly(line, _SIZE), "big")))


async def _exactly(line: socket.socket, size: int) -> bytes:
    found = bytearray()
    while len(found) < size:
        more = await asyncio.get_running_loop().sock_recv(line, size - len(found))
        if not more:
            raise ConnectionResetError
        found += more
    return bytes(found)


class RayCluster(PlayerCluster, Pool):
    """The Ray cluster at ``address``; without one, the cluster that Ray finds, or else this machine."""

    def __init__(self, address: str | None = None) -> None:
        self._address = address
        self._order: Any = None
        self._work: Any = None
        self._joined = False

    async def open(self, order: Order) -> int:
        room = self._join()
        self._order = _ray().put(order)
        return room

    def pool(self) -> Pool:
        return self

    def begin(self, work: Callable[..., Any]) -> int:
        room = self._join()
        self._work = _ray().remote(work).options(num_cpus=1, max_retries=MOST_LOST - 1)
        return room

    def submit(self, *given: Any) -> Callable[[], Any]:
        return partial(_result, self._work.remote(*given))

    def _join(self) -> int:
        """Join the cluster; return its number of processors."""
        # Turns Ray's telemetry off.
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        ray = _ray()
        if not ray.is_initialized():
            try:
                ray.init(self._address, log_to_driver=False, logging_level=logging.ERROR, include_dashboard=False)
            except (ConnectionError, RuntimeError, ValueError, AssertionError) as error:
                where = f"at {shown(self._address)}" if self._address else "here"
                raise ConfigurationError(f"--cluster: Ray cannot be reached {where}: {_said(error)}") from None
            self._joined = True
        return int(ray.cluster_resources().get("CPU", 0))

    def start(self) -> RemoteHandle:
        return _RayHandle(_ray().remote(RemotePlayer).options(num_cpus=1, max_restarts=0).remote(self._order))

    def close(self) -> None:
        if self._joined:
            _ray().shutdown()
            self._joined = False


class _RayHandle(RemoteHandle):
    def __init__(self, actor: Any) -> None:
        self._actor = actor

    async def tell(self, messages: Sequence[ToPlayer]) -> None:
        await _kept(self._actor.tell.remote(messages))

    async def hear(self) -> Sequence[FromPlayer]:
        return await _kept(self._actor.hear.remote())

    def end(self) -> None:
        _ray().kill(self._actor)


async def _kept(reference: Any) -> Any:
    """Await ``reference``. Raises ``PlayerLost`` if Ray has lost it, and the player's own errors."""
    errors: Any = import_module("ray.exceptions")
    try:
        return await reference
    except errors.RayTaskError:
        raise
    except errors.RayError as error:
        raise PlayerLost(_said(error)) from error


def _result(reference: Any) -> Any:
    """Get ``reference``; Ray has already retried lost work."""
    errors: Any = import_module("ray.exceptions")
    try:
        return _ray().get(reference)
    except errors.RayTaskError as error:
        raise error.cause from None
    except errors.RayError as error:
        raise HousequestError(
            f"{MOST_LOST} processes were lost over the same work, the last one because: {_said(error)}."
        ) from error


def _said(error: Exception) -> str:
    """The first line of Ray's long errors."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return (lines[0] if lines else type(error).__name__)[:_LONGEST].rstrip(".")


def _ray() -> Any:
    return import_module("ray")  # takes a second


def _processes(rest: str) -> ProcessCluster | None:
    if not re.fullmatch(r"(:[1-9]\d{0,2})?", rest, re.ASCII):
        return None
    return ProcessCluster(int(rest[1:]) if rest else processors())


def _read_ray(rest: str) -> RayCluster | None:
    if not rest.isprintable() or rest == ":":
        return None
    if find_spec("ray") is None:
        raise ConfigurationError(
            '--cluster ray needs Ray here and on every machine: pip install "housequest[ray]". On this machine alone, '
            "--cluster processes does without it."
        )
    return RayCluster(rest[1:] or None)


PROCESSES = ClusterKind("processes, for all processors of this machine, or processes:4", _processes)
RAY = ClusterKind("ray, for the cluster here, or ray:HOST:6379, if this machine is part of that one", _read_ray)
