"""The kinds of cluster that a person can name: processes of this machine, and Ray.

Each process has an event loop of its own, so that a run uses all processors. Of Ray, players are actors and work is its tasks,
on this machine's processors or on a cluster that is there.
"""

from __future__ import annotations

import asyncio
import logging
import os
import pickle
import re
import signal
import socket
import time
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from multiprocessing import get_context
from multiprocessing.context import SpawnProcess
from typing import Any

from housequest.agent.cluster.driver import FromPlayer, Order, PlayerCluster, PlayerLost, RemoteHandle, ToPlayer
from housequest.agent.cluster.player import RemotePlayer
from housequest.agent.evaluation.parts import ClusterKind
from housequest.agent.evaluation.runs.budget import Stopped
from housequest.agent.processes import MOST_LOST, Pool, processors, uninterrupted
from housequest.worlds.errors import ConfigurationError, HousequestError, shown

_LONGEST = 200
"""Characters of Ray's reason for a loss that are told."""
_GRACE = 3.0
"""Seconds that players have to end by themselves, once they are left."""
_SIZE = 8
"""Bytes before each message that give its size."""


class ProcessCluster(PlayerCluster):
    """This machine, with so many ``processes``."""

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
            raise PlayerLost("it is not heard any more") from error

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
            self._line.shutdown(socket.SHUT_RDWR)  # which it hears, and leaves

    def close(self, until: float) -> None:
        """Kill it if it does not end before that time, and forget it."""
        self.process.join(max(0.0, until - time.monotonic()))
        self.process.kill()
        self.process.join()
        self._line.close()


def _ended(code: int | None) -> str:
    if code is None:
        return "it is not heard any more"
    return f"it was ended by signal {-code}" if code < 0 else f"its process ended with {code}"


def _play(order: bytes, line: socket.socket) -> None:
    """A player's process: plays until its driver is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # There is a player for each processor already. NumPy reads this when it is imported.
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
            except Exception:  # noqa: BLE001 (the driver raises it)
                said = traceback.format_exc()
            await _send(line, said)

    both = [asyncio.create_task(hear()), asyncio.create_task(say())]
    try:
        await asyncio.gather(*both)
    finally:
        for each in both:
            each.cancel()
        await asyncio.gather(*both, return_exceptions=True)
        await player.aclose()


async def _send(line: socket.socket, message: object) -> None:
    content = pickle.dumps(message, pickle.HIGHEST_PROTOCOL)
    await asyncio.get_running_loop().sock_sendall(line, len(content).to_bytes(_SIZE, "big") + content)


async def _received(line: socket.socket) -> Any:
    """The next message. Raises ``OSError`` where the other side is gone."""
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
    """The cluster at ``address``; without one, the cluster that Ray finds, or else this machine."""

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
        """Join the cluster; how many processors it has."""
        # Ray reports its use to its makers otherwise.
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
    """What ``reference`` comes to. Raises ``PlayerLost`` where Ray cannot bring it any more, and the player's own errors."""
    errors: Any = import_module("ray.exceptions")
    try:
        return await reference
    except errors.RayTaskError:
        raise
    except errors.RayError as error:
        raise PlayerLost(_said(error)) from error


def _result(reference: Any) -> Any:
    """What ``reference`` comes to; Ray has tried it anew where a process or a machine died."""
    errors: Any = import_module("ray.exceptions")
    try:
        return _ray().get(reference)
    except errors.RayTaskError as error:
        raise error.cause from None
    except errors.RayError as error:
        raise HousequestError(f"{MOST_LOST} processes were lost over the same work, the last so: {_said(error)}.") from error


def _said(error: Exception) -> str:
    """The first sentence of an error of Ray, whose texts have many lines."""
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
