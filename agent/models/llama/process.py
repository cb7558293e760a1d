"""The other end of `worker`: a process that runs a model, whose death is an error of that model and of nothing else."""

from __future__ import annotations

import asyncio
import json
import queue
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping
from concurrent.futures import Future
from typing import Any, cast

from agent.models.llama.protocol import Answered, Asked, Load, Ready, Refused, line, read_answered

LONGEST_END = 2.0
"""Seconds that the process has to end by itself."""

_TAIL = 2_000


class Died(Exception):
    """The process has ended; the message goes on from "the model's process ..."."""


class ModelProcess:
    """A running worker. Its methods are for an event loop; none of them blocks it, and any loop may call them."""

    def __init__(self, wanted: Load) -> None:
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 - it lives as long as the process
        self._process = subprocess.Popen(
            [sys.executable, "-m", "agent.models.llama.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
            encoding="utf-8",
        )
        self._lock = threading.Lock()
        self._waiting: dict[int, Future[Answered]] = {}
        self._number = 0
        self._ended: str | None = None
        self._ready: Future[Ready] = Future()
        self._lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self._lines.put(line(wanted))
        threading.Thread(target=self._write, daemon=True).start()
        threading.Thread(target=self._read, daemon=True).start()

    @property
    def alive(self) -> bool:
        """Whether it can be asked."""
        return self._ended is None

    @property
    def pid(self) -> int:
        """The number of the process."""
        return self._process.pid

    async def ready(self) -> Ready:
        """Wait until the model is loaded. Raises ``Refused`` or ``Died``."""
        return await asyncio.wrap_future(_copied(self._ready))

    async def ask(self, asked: Asked) -> Answered:
        """Ask once; if this is cancelled, so is what was asked. Raises ``Refused`` or ``Died``."""
        answer: Future[Answered] = Future()
        with self._lock:
            if self._ended is not None:
                raise Died(self._ended)
            self._number += 1
            number = self._number
            self._waiting[number] = answer
        self._lines.put(line({"number": number, "asked": json.loads(line(asked))}))
        try:
            return await asyncio.wrap_future(answer)
        finally:
            with self._lock:
                unanswered = self._waiting.pop(number, None) is not None
            if unanswered:
                self._lines.put(line({"cancel": number}))

    async def close(self) -> None:
        """End the process."""
        self._lines.put(None)
        await asyncio.to_thread(self._end)

    def _end(self) -> None:
        try:
            self._process.wait(LONGEST_END)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _write(self) -> None:
        stdin = self._process.stdin
        assert stdin is not None
        try:
            while (text := self._lines.get()) is not None:
                stdin.write(text)
                stdin.flush()
            stdin.close()
        except OSError:
            # It has died: whoever reads from it says so to all who wait.
            return

    def _read(self) -> None:
        stdout = self._process.stdout
        assert stdout is not None
        fault = ""
        try:
            for text in stdout:
                self._hear(json.loads(text))
        except Exception as error:  # noqa: BLE001 (whatever it is, those who wait are told of it)
            # What is no line of the protocol was not said by the worker: its process is past trusting.
            fault = f"said what is no answer ({type(error).__name__}: {error})"
            self._process.kill()
        status = self._process.wait()
        self._fail(fault or self._told(status))

    def _hear(self, said: Mapping[str, Any]) -> None:
        if "ready" in said:
            self._ready.set_result(Ready(**said["ready"]))
        elif "failed" in said:
            self._ready.set_exception(Refused(said["failed"], said["way_out"], fatal=True))
        else:
            outcome = (
                Refused(said["refused"], said["way_out"], fatal=said["fatal"])
                if "refused" in said
                else read_answered(said["answered"])
            )
            with self._lock:
                answer = self._waiting.pop(said["number"], None)
            # Whoever asked may be called off at this very moment.
            if answer is None or not answer.set_running_or_notify_cancel():
                return
            if isinstance(outcome, Refused):
                answer.set_exception(outcome)
            else:
                answer.set_result(outcome)

    def _fail(self, how: str) -> None:
        with self._lock:
            self._ended = how
            waiting = list(self._waiting.values())
            self._waiting.clear()
        for each in waiting:
            if each.set_running_or_notify_cancel():
                each.set_exception(Died(how))
        if not self._ready.done():
            self._ready.set_exception(Died(how))
        self._lines.put(None)
        self._log.close()

    def _told(self, status: int) -> str:
        """How it ended, with its last words."""
        self._log.seek(0, 2)
        self._log.seek(max(0, self._log.tell() - _TAIL))
        words = self._log.read().decode("utf-8", "replace").strip().splitlines()
        last = f": {words[-1].strip()}" if words else ""
        if status == -9:
            return f"was killed, as happens where no memory is left{last}"
        return f"ended with {f'signal {-status}' if status < 0 else f'status {status}'}{last}"


def _copied(future: Future[Ready]) -> Future[Ready]:
    """A future with the same outcome, so that one who stops waiting does not cancel it for the others."""
    copy: Future[Ready] = Future()

    def settle(done: Future[Ready]) -> None:
        if copy.set_running_or_notify_cancel():
            error = cast("Exception | None", done.exception())
            copy.set_exception(error) if error is not None else copy.set_result(done.result())

    future.add_done_callback(settle)
    return copy
