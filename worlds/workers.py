"""Worker processes that answer requests in lines of JSON. If one crashes, its callers get an error.

`WorkerProcess` starts a fresh interpreter on a module that calls `serve`. The first line to the process says what to work with;
the first line back is ``{"ready": ...}``. Each request has a number; its answer, and parts of it before, come back under that
number, in any order. ``{"cancel": NUMBER}`` ends a request. An exception ends the process with a traceback on stderr, whose
last line is shown. The process also ends with its input, so it never outlives its parent, and what it started ends with it.
Its temporary files lie in a folder of its own, which is deleted with it: packages leave files behind when they are killed.
"""

from __future__ import annotations

import json
import os
import queue
import shutil
import subprocess
import sys
import tempfile
import threading
import traceback
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import IO, Any, NoReturn, cast

from housequest.worlds.errors import shown
from housequest.worlds.systems import kill_group, own_group, scratch_variables

_ROOT = Path(str(sys.modules["housequest"].__file__)).parents[1]
_LONGEST_ANSWER = 16_000_000
_LAST_WORDS = 4_000
_ENDING = 5.0
_SCRATCH = "housequest-worker-"


class WorkerError(Exception):
    """The process ended, hangs, or broke the protocol; it is stopped. The message continues "its process ..."."""


class Refused(Exception):
    """The worker cannot do the request (``fatal``: nor any other; ``overflow``: it is too long); try ``way_out``."""

    def __init__(self, what: str, way_out: str, *, fatal: bool = False, overflow: bool = False) -> None:
        super().__init__(what)
        self.way_out = way_out
        self.fatal = fatal
        self.overflow = overflow

    @property
    def values(self) -> dict[str, object]:
        """As the protocol writes it."""
        return {"refused": [str(self), self.way_out, self.fatal, self.overflow]}


class WorkerProcess:
    """One process, which works with ``first``. Any thread or event loop may use it; only `call` and `stop` block."""

    def __init__(self, module: str, first: object = None) -> None:
        path = os.pathsep.join(filter(None, (str(_ROOT), os.environ.get("PYTHONPATH"))))
        self._scratch = tempfile.mkdtemp(prefix=_SCRATCH)
        self._process = subprocess.Popen(
            # -P: not a file called textworld.py in the user's folder.
            [sys.executable, "-P", "-m", module],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": path, **scratch_variables(Path(self._scratch))},
            # Ctrl-C goes only to the parent, which then ends it.
            **own_group(),
        )
        self.pid = self._process.pid
        self._lock = threading.Lock()
        self._waiting: dict[int, Future[Any]] = {}
        self._told: dict[int, Callable[[Any], None]] = {}
        self._number = 0
        self._words = b""
        self._ended: str | None = None
        self._ready: Future[Any] = Future()
        self._lines: queue.SimpleQueue[object] = queue.SimpleQueue()
        self._lines.put({"first": first})
        self._listening = threading.Thread(target=self._keep_words, daemon=True)
        for thread in (self._listening, *(threading.Thread(target=run, daemon=True) for run in (self._write, self._read))):
            thread.start()

    @property
    def alive(self) -> bool:
        """True while it can be asked."""
        return self._ended is None and self._process.poll() is None

    def ready(self) -> Future[Any]:
        """The first answer of the process, once it is ready. Fails with `WorkerError` or `Refused`."""
        copy: Future[Any] = Future()  # so that one caller that stops waiting does not cancel it for the others

        self._ready.add_done_callback(lambda done: _settle(copy, done.exception() or done.result()))
        return copy

    def ask(self, request: object, told: Callable[[Any], None] | None = None) -> Future[Any]:
        """The answer to ``request``; ``told`` gets its parts before. Fails with `WorkerError` or `Refused`."""
        answer: Future[Any] = Future()
        with self._lock:
            if self._ended is not None:
                raise WorkerError(self._ended)
            if not self._waiting:
                self._words = b""
            self._number += 1
            number = self._number
            self._waiting[number] = answer
            if told is not None:
                self._told[number] = told
        answer.add_done_callback(lambda _: self._settled(number))
        self._lines.put({"number": number, "request": request})
        return answer

    def call(self, request: object, seconds: float, starting: float) -> Any:
        """Ask and wait: ``starting`` seconds for the process, ``seconds`` for the answer. If it takes longer, it is stopped."""
        limit = starting
        try:
            self._ready.result(limit)
            limit = seconds
            return self.ask(request).result(limit)
        except TimeoutError:
            self.stop()
            raise WorkerError(f"gave no answer within {limit:g} seconds{self._said()}") from None
        except BaseException:  # also if interrupted: the pending answer is useless
            self.stop()
            raise

    def stop(self) -> None:
        """End the process at once, and all that it started."""
        if self._process.poll() is None:
            kill_group(self.pid)
            self._process.wait()
        shutil.rmtree(self._scratch, ignore_errors=True)

    def _settled(self, number: int) -> None:
        with self._lock:
            unanswered = self._waiting.pop(number, None) is not None
            self._told.pop(number, None)
        if unanswered:
            self._lines.put({"cancel": number})

    def _write(self) -> None:
        try:
            with cast("IO[bytes]", self._process.stdin) as stdin:
                while (line := self._lines.get()) is not None:
                    stdin.write(json.dumps(line).encode() + b"\n")
                    stdin.flush()
        except OSError:
            return  # It has died; the reading thread tells all callers.

    def _read(self) -> None:
        fault = ""
        with cast("IO[bytes]", self._process.stdout) as stdout:
            try:
                while line := stdout.readline(_LONGEST_ANSWER):
                    self._hear(line)
            except WorkerError as error:
                fault = str(error)
            except Exception as error:  # noqa: BLE001 (waiting callers must get any error)
                fault = f"cannot be read ({error})"
            if fault:
                kill_group(self.pid)
            self._fail(fault or self._ending())
        shutil.rmtree(self._scratch, ignore_errors=True)

    def _hear(self, line: bytes) -> None:
        if not line.endswith(b"\n"):
            raise WorkerError("talks without end" if len(line) == _LONGEST_ANSWER else self._ending())
        try:
            said: Any = json.loads(line)
        except (ValueError, RecursionError):
            raise WorkerError(f"answers with something that is not JSON: {shown(line[:100])}") from None
        match said:
            case {"ready": ready}:
                number, outcome = 0, ready
            case {"number": int(number), "refused": [str(what), str(way), bool(fatal), bool(over)]}:
                outcome = Refused(what, way, fatal=fatal, overflow=over)
            case {"number": int(number), "part": part}:
                if (told := self._told.get(number)) is not None:
                    told(part)
                return
            case {"number": int(number), "answer": outcome}:
                pass
            case _:
                raise WorkerError(f"gave an answer that cannot be read: {shown(line[:100])}")
        with self._lock:
            answer = self._ready if number == 0 else self._waiting.pop(number, None)
        if answer is not None:
            _settle(answer, outcome)

    def _fail(self, how: str) -> None:
        with self._lock:
            self._ended = how
            waiting = [*self._waiting.values(), self._ready]
            self._waiting.clear()
        for each in waiting:
            _settle(each, WorkerError(how))
        self._lines.put(None)

    def _keep_words(self) -> None:
        with cast("IO[bytes]", self._process.stderr) as stderr:
            while chunk := os.read(stderr.fileno(), 1 << 16):
                self._words = (self._words + chunk)[-_LAST_WORDS:]

    def _ending(self) -> str:
        """The reason why the process closed its output, in words."""
        try:
            status = self._process.wait(_ENDING)
        except subprocess.TimeoutExpired:
            kill_group(self.pid)
            return f"closed its output{self._said()}"
        kill_group(self.pid)  # of what it started, something may hold the pipe open
        self._listening.join(1.0)
        return f"{f'was killed by signal {-status}' if status < 0 else f'ended with status {status}'}{self._said()}"

    def _said(self) -> str:
        lines = self._words.decode("utf-8", "replace").split("\n")
        last = next((line.strip() for line in reversed(lines) if line.strip()), "")
        return f", saying {shown(last, 300)}" if last else ""


def _settle(answer: Future[Any], outcome: object) -> None:
    """Pass an outcome to the caller, who may have stopped waiting at this very moment."""
    if not answer.done() and answer.set_running_or_notify_cancel():
        answer.set_exception(outcome) if isinstance(outcome, Exception) else answer.set_result(outcome)


class Asking(threading.Event):
    """The caller, for the handler of a request: set once nobody waits for the answer any more."""

    def __init__(self, tell: Callable[[object], None]) -> None:
        super().__init__()
        self.tell = tell  # sends a part of the answer, ahead of it


Handler = Callable[[Any, Asking], Any]  # answers a request


def serve(start: Callable[[Any], tuple[Any, Handler]], threads: int = 1) -> NoReturn:
    """Run as a worker: ``start`` gets the value in the first line and returns the first answer and the handler of requests,
    which are answered until the input ends. With several ``threads``, requests are handled at once; with one, in the main
    thread. Both functions may raise `Refused`; any other exception ends the process."""
    sys.excepthook = lambda _kind, error, _trace: _end_on(error)
    threading.excepthook = lambda fault: _end_on(fault.exc_value)
    requests = os.fdopen(os.dup(0), encoding="utf-8")
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    # Packages and compiled code print to stdout, which is for answers alone.
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    waiting: queue.SimpleQueue[Any] = queue.SimpleQueue()
    lock = threading.Lock()
    unfinished: dict[int, Asking] = {}

    def read() -> None:
        for line in requests:
            waiting.put(json.loads(line))
        if Path(scratch := tempfile.gettempdir()).name.startswith(_SCRATCH):  # else this process has another parent
            shutil.rmtree(scratch, ignore_errors=True)
        os._exit(0)

    def say(values: dict[str, object]) -> None:
        with lock:
            answers.write(f"{json.dumps(values)}\n")
            answers.flush()

    def answer(number: int, request: Any, cancelled: Asking) -> None:
        try:
            said = {"answer": None if cancelled.is_set() else handle(request, cancelled)}
        except Refused as refused:
            said = refused.values
        unfinished.pop(number, None)
        if not cancelled.is_set():
            say({"number": number, **said})

    threading.Thread(target=read, daemon=True).start()
    try:
        ready, handle = start(waiting.get()["first"])
    except Refused as refused:
        say({"number": 0, **refused.values})
        os._exit(1)
    say({"ready": ready})
    pool = ThreadPoolExecutor(threads) if threads > 1 else None
    while True:
        match waiting.get():
            case {"cancel": number}:
                if number in unfinished:
                    unfinished.pop(number).set()
            case {"number": number, "request": request}:
                unfinished[number] = cancelled = Asking(lambda part, number=number: say({"number": number, "part": part}))
                if pool is None:
                    answer(number, request, cancelled)
                else:
                    done = pool.submit(answer, number, request, cancelled)
                    done.add_done_callback(lambda done: _end_on(fault) if (fault := done.exception()) else None)
            case other:
                raise ValueError(f"no request {other!r}")


def _end_on(error: BaseException | None) -> NoReturn:
    """End the process with ``error`` on stderr; if only one thread ended, its caller would wait for ever."""
    traceback.print_exception(error)
    sys.stderr.flush()
    os._exit(1)
