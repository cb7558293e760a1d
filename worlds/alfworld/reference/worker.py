"""The program in which the reference game runs, alone: ``python -m worlds.alfworld.reference.worker``.

It reads a request a line and writes an answer a line, both JSON. ``{"do": "load", "problem": …, "domain": …, "grammar": …}``
loads a game and starts it, ``{"do": "reset"}`` starts it again, ``{"do": "step", "command": …}`` plays; each is answered by
``{"text": …, "won": …, "commands": […]}``. The first line, before any request, is ``{"ready": true}``. Whatever goes wrong
ends the process with its traceback on stderr. So does the end of its input, at once and whatever it is doing: it never
outlives who started it.
"""

from __future__ import annotations

import json
import os
import queue
import threading
from collections.abc import Callable
from dataclasses import asdict
from typing import Any, NoReturn, TextIO

from worlds.alfworld.reference.packages import Material, Reference, Told


def serve(make: Callable[[], Reference] = Reference) -> NoReturn:
    """Serve requests with the game that ``make`` makes, until the input ends."""
    requests = os.fdopen(os.dup(0), encoding="utf-8")
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    # The packages and the planner's C++ print, on Python's stdout and below it; the answers must stay alone.
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    waiting: queue.SimpleQueue[str] = queue.SimpleQueue()
    threading.Thread(target=_read, args=(requests, waiting), daemon=True).start()
    reference = make()
    _say(answers, {"ready": True})
    while True:
        _say(answers, asdict(_answer(reference, json.loads(waiting.get()))))


def _read(requests: TextIO, waiting: queue.SimpleQueue[str]) -> None:
    for line in requests:
        waiting.put(line)
    os._exit(0)


def _answer(reference: Reference, request: dict[str, Any]) -> Told:
    match request["do"]:
        case "load":
            reference.load(Material(request["problem"], request["domain"], request["grammar"]))
            return reference.reset()
        case "reset":
            return reference.reset()
        case "step":
            return reference.step(request["command"])
        case other:
            raise ValueError(f"no request {other!r}")


def _say(answers: TextIO, answer: dict[str, Any]) -> None:
    answers.write(json.dumps(answer) + "\n")
    answers.flush()


if __name__ == "__main__":
    serve()
