"""Processes in which the reference game runs, and a pool of them.

A worker is a fresh interpreter on `reference_worker`, spoken to in lines of JSON over pipes of its own, so that nothing it
prints reaches the screen. What it says on stderr is kept for the message of an error. Needs POSIX pipes, as the reference does.
"""

from __future__ import annotations

import json
import os
import selectors
import subprocess
import sys
import time
import weakref
from collections import deque
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, cast

from worlds.alfworld.reference.packages import Told
from worlds.errors import shown

WORKER = "worlds.alfworld.reference.worker"

_ROOT = Path(__file__).parents[3]
_CHUNK = 1 << 16
_MAX_ANSWER = 16_000_000
_LAST_WORDS = 4_000
_GAMES = 150
"""Games after which a worker is not used again: with each, the planner's library keeps a megabyte or two."""


@dataclass(frozen=True, slots=True)
class Patience:
    """Seconds after which a worker counts as hanging: to start, to load or reset a game, to answer a command."""

    start: float = 120.0
    load: float = 300.0
    step: float = 120.0


class Broken(Exception):
    """A worker ended, hangs, or says what no worker says; it is stopped. The message is half a sentence on how."""


class Worker:
    """One process. Not thread-safe, except that `stop` may be called from anywhere, at any time."""

    def __init__(self, module: str, patience: Patience) -> None:
        path = os.pathsep.join(filter(None, (str(_ROOT), os.environ.get("PYTHONPATH"))))
        self._process = subprocess.Popen(
            # -P: a file called textworld.py in the user's folder is not what is meant.
            [sys.executable, "-P", "-m", module],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            env={**os.environ, "PYTHONPATH": path},
            # Ctrl-C is for who started it, who then ends it.
            start_new_session=True,
        )
        for pipe in (self._stdin, self._stdout, self._stderr):
            os.set_blocking(pipe.fileno(), False)
            weakref.finalize(self, pipe.close)  # not in `stop`, which another thread may call in the midst of reading
        self._patience = patience
        self._words = b""
        self._started = False
        self._games = 0

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def fit(self) -> bool:
        """Whether it lives, and has not grown too large for one more game."""
        return self._process.poll() is None and self._games < _GAMES

    def load(self, **material: str | None) -> Told:
        """Load a game and start it. Raises ``Broken``, as the others do."""
        self._games += 1
        return self._ask({"do": "load", **material}, self._patience.load)

    def reset(self) -> Told:
        return self._ask({"do": "reset"}, self._patience.load)

    def step(self, command: str) -> Told:
        return self._ask({"do": "step", "command": command}, self._patience.step)

    def stop(self) -> None:
        """End the process at once."""
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()

    def _ask(self, request: dict[str, Any], seconds: float) -> Told:
        try:
            if not self._started:
                if _decoded(self._exchange(b"", self._patience.start)) != {"ready": True}:
                    raise Broken("its process is none of ours")
                self._started = True
            return _read_told(self._exchange(json.dumps(request).encode() + b"\n", seconds))
        except BaseException:  # interrupted too: the answer that is still to come would be taken for that to the next request
            self.stop()
            raise

    def _exchange(self, request: bytes, seconds: float) -> bytes:
        """Write ``request`` and read one line, with an eye on the clock; what comes on stderr meanwhile is kept."""
        deadline = time.monotonic() + seconds
        answer, self._words = bytearray(), b""
        with selectors.DefaultSelector() as selector:
            selector.register(self._stdout, selectors.EVENT_READ)
            selector.register(self._stderr, selectors.EVENT_READ)
            if request:
                selector.register(self._stdin, selectors.EVENT_WRITE)
            while not answer.endswith(b"\n"):
                ready = selector.select(max(0.0, deadline - time.monotonic()))
                if not ready:
                    raise Broken(f"its process gave no answer within {seconds:g} seconds{self._said()}")
                for key, _ in ready:
                    if key.fileobj is self._stdin:
                        request = self._write(request)
                        if not request:
                            selector.unregister(self._stdin)
                    elif key.fileobj is self._stderr:
                        if not self._hear():
                            selector.unregister(self._stderr)
                    elif chunk := os.read(key.fd, _CHUNK):
                        answer += chunk
                    else:
                        raise Broken(self._ending())
                if len(answer) > _MAX_ANSWER:
                    raise Broken("its process talks without end")
        return bytes(answer)

    def _write(self, request: bytes) -> bytes:
        """What is left of ``request`` after writing; a reader that is gone shows in its output's end."""
        try:
            return request[os.write(self._stdin.fileno(), request) :]
        except BrokenPipeError:
            return b""

    def _hear(self) -> bool:
        """Keep the end of what the process said; False once it can say no more."""
        chunk = os.read(self._stderr.fileno(), _CHUNK)
        self._words = (self._words + chunk)[-_LAST_WORDS:]
        return bool(chunk)

    def _ending(self) -> str:
        """How the process came to close its output."""
        try:
            status = self._process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            return f"its process closed its output{self._said()}"
        try:
            while self._hear():
                pass
        except BlockingIOError:  # a child of the process holds the pipe open
            pass
        how = f"was killed by signal {-status}" if status < 0 else f"ended with status {status}"
        return f"its process {how}{self._said()}"

    def _said(self) -> str:
        lines = self._words.decode("utf-8", "replace").split("\n")
        last = next((line.strip() for line in reversed(lines) if line.strip()), "")
        return f", saying {shown(last, 300)}" if last else ""

    @property
    def _stdin(self) -> IO[bytes]:
        return cast("IO[bytes]", self._process.stdin)

    @property
    def _stdout(self) -> IO[bytes]:
        return cast("IO[bytes]", self._process.stdout)

    @property
    def _stderr(self) -> IO[bytes]:
        return cast("IO[bytes]", self._process.stderr)


class Workers:
    """Workers that are used again, each by one game at a time. Safe to share between threads.

    As many run as there are games open at once; up to ``kept`` wait for the next game. All end with the pool: when it is
    closed, when it is garbage, and at the interpreter's exit; and should that be killed, they end by themselves.
    """

    def __init__(self, module: str = WORKER, patience: Patience = Patience(), kept: int = 4) -> None:
        self._module = module
        self._patience = patience
        self._kept = kept
        self._idle: deque[Worker] = deque()
        self._all: weakref.WeakSet[Worker] = weakref.WeakSet()
        self._close = weakref.finalize(self, _stop_all, self._all, self._idle)

    def take(self) -> Worker:
        """A worker for one game; give it back."""
        while True:
            try:
                worker = self._idle.pop()
            except IndexError:
                break
            if worker.fit:
                return worker
            worker.stop()
        worker = Worker(self._module, self._patience)
        self._all.add(worker)
        return worker

    def give_back(self, worker: Worker) -> None:
        """Take back a worker, whatever its state."""
        if worker.fit and len(self._idle) < self._kept and self._close.alive:
            self._idle.append(worker)
        else:
            worker.stop()

    def close(self) -> None:
        """End all workers, busy ones too."""
        self._close()


def _stop_all(workers: weakref.WeakSet[Worker], idle: deque[Worker]) -> None:
    for worker in list(workers):
        worker.stop()
    idle.clear()


def _decoded(line: bytes) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError) as error:
        raise Broken(f"its process answers with what is no JSON: {shown(line[:100])}") from error


def _read_told(line: bytes) -> Told:
    match _decoded(line):
        case {"text": str(text), "won": bool(won), "commands": [*commands]}:
            listed = tuple(command for command in cast("list[object]", commands) if isinstance(command, str))
            if len(listed) == len(commands):
                return Told(text, won, listed)
        case _:
            pass
    raise Broken(f"its process answers with what is no answer: {shown(line[:100])}")
