"""Players in processes of this machine, each with an event loop of its own, so that a run uses all processors."""

from __future__ import annotations

import asyncio
import os
import pickle
import signal
import socket
import time
import traceback
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from multiprocessing import get_context
from multiprocessing.context import SpawnProcess
from typing import Any

from housequest.agent.cluster.driver import PlayerCluster
from housequest.agent.cluster.messages import FromPlayer, Order, PlayerLost, RemoteHandle, ToPlayer
from housequest.agent.cluster.player import RemotePlayer
from housequest.agent.evaluation.runs.budget import Stopped

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
            with theirs, _uninterrupted():
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


@contextmanager
def _uninterrupted() -> Generator[None]:
    """Keep Ctrl-C from what is started: who began it ends it."""
    if not hasattr(signal, "pthread_sigmask"):  # on Windows
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


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
