"""The program in which a GGUF model runs, alone: ``python -m agent.models.llama.worker``.

A model may end its process (no memory left, a fault in compiled code): it must not be the one that somebody plays in. What
goes over its pipes is in `protocol`. The end of its input ends it at once, so that it never outlives who started it.
"""

from __future__ import annotations

import importlib.util
import json
import os
import queue
import sys
import threading
import traceback
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, NoReturn, TextIO

from agent.models.llama.protocol import Load, Refused, Runtime, line, read_asked, read_load

MOST_THREADS = 512


def serve() -> NoReturn:
    """Load the model that the first line names and answer requests, until the input ends."""
    sys.excepthook = lambda _kind, error, _trace: _end_on(error)
    threading.excepthook = lambda fault: _end_on(fault.exc_value)
    requests = os.fdopen(os.dup(0), encoding="utf-8")
    answers = _Answers(os.fdopen(os.dup(1), "w", encoding="utf-8"))
    # What compiled code gives up with are its last words, which a debugger's would follow.
    os.environ.setdefault("GGML_NO_BACKTRACE", "1")
    # Compiled code prints where it likes; the answers must stay alone.
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    waiting: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
    threading.Thread(target=_read, args=(requests, waiting), daemon=True).start()
    try:
        runtime = load(read_load(waiting.get()))
    except Refused as refused:
        answers.say({"failed": str(refused), "way_out": refused.way_out})
        os._exit(1)
    answers.say({"ready": json.loads(line(runtime.ready))})
    _answer_all(runtime, waiting, answers)


def load(wanted: Load) -> Runtime:
    """The model in the runtime that was asked for, or in the one that is installed. Raises ``Refused``."""
    name = wanted.options.runtime
    if name == "auto":
        name = "llama-cpp-python" if importlib.util.find_spec("llama_cpp") else "xllamacpp"
    if name == "llama-cpp-python":
        from agent.models.llama.llamacpp import LlamaCpp

        return LlamaCpp(wanted)
    from agent.models.llama.xllama import Xllama

    return Xllama(wanted)


class _Answers:
    """The way back, for many threads."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._lock = threading.Lock()

    def say(self, value: Mapping[str, object]) -> None:
        with self._lock:
            self._stream.write(line(dict(value)))
            self._stream.flush()


def _read(requests: TextIO, waiting: queue.SimpleQueue[dict[str, Any]]) -> None:
    for each in requests:
        waiting.put(json.loads(each))
    os._exit(0)


def _answer_all(runtime: Runtime, waiting: queue.SimpleQueue[dict[str, Any]], answers: _Answers) -> NoReturn:
    unfinished: dict[int, threading.Event] = {}
    pool = ThreadPoolExecutor(MOST_THREADS)
    while True:
        request = waiting.get()
        if "cancel" in request:
            cancelled = unfinished.pop(request["cancel"], None)
            if cancelled is not None:
                cancelled.set()
            continue
        number = request["number"]
        cancelled = unfinished[number] = threading.Event()
        pool.submit(_answer, runtime, request, cancelled, answers, unfinished).add_done_callback(_end_on_a_fault)


def _end_on_a_fault(done: Future[None]) -> None:
    error = done.exception()
    if error is not None:
        _end_on(error)


def _end_on(error: BaseException | None) -> NoReturn:
    """End the process with ``error`` for its last words: a fault in any of its threads would leave somebody waiting for ever,
    while the end of the process is told to all who wait."""
    traceback.print_exception(error)
    sys.stderr.flush()
    os._exit(70)


def _answer(
    runtime: Runtime,
    request: Mapping[str, Any],
    cancelled: threading.Event,
    answers: _Answers,
    unfinished: dict[int, threading.Event],
) -> None:
    number = request["number"]
    try:
        if cancelled.is_set():
            return
        answered = runtime.answer(read_asked(request["asked"]), cancelled)
        said: dict[str, object] = {"answered": json.loads(line(answered))}
    except Refused as refused:
        said = {"refused": str(refused), "way_out": refused.way_out, "fatal": refused.fatal}
    unfinished.pop(number, None)
    if not cancelled.is_set():
        answers.say({"number": number, **said})


if __name__ == "__main__":
    serve()
