"""Endpoints that answer by streams of every kind, while a watchdog sees to it that the event loop of the command goes on."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from scripts.torture.endpoint import Call, Lie
from scripts.torture.endpoints import PATIENCE
from scripts.torture.program import Program
from scripts.torture.trial import ERRED, FINISHED, STOPPED, Trial
from scripts.torture.whole import REACT

BLOCKED = 2.0
"""Seconds of its processor for which the event loop may do one thing; a clock would count what other programs take."""

_WATCHDOG = '''\
"""The command, whose event loop is asked again and again whether it goes on."""
import runpy, sys, threading, time
from asyncio.base_events import BaseEventLoop

longest, forever = 0.0, BaseEventLoop.run_forever

def watched(loop):
    threading.Thread(target=ask, args=(loop,), daemon=True).start()
    forever(loop)

def ask(loop):
    global longest
    while not loop.is_closed():
        began, came = time.process_time(), threading.Event()
        try:
            loop.call_soon_threadsafe(came.set)
        except RuntimeError:
            return
        while not came.wait(0.05) and not loop.is_closed():
            pass
        if (came.is_set() or loop.is_running()) and time.process_time() - began > longest:
            longest = time.process_time() - began
            with open({told!r}, "w") as file:
                file.write(str(longest))
        time.sleep(0.02)

BaseEventLoop.run_forever = watched
sys.argv[0] = {command!r}
runpy.run_path({command!r}, run_name="__main__")
'''

Pieces = Iterator[bytes]


def _event(value: object) -> bytes:
    return b"data: " + (value if isinstance(value, bytes) else json.dumps(value).encode()) + b"\n\n"


def _deltas(call: Call, size: int = 5, **beside: object) -> list[bytes]:
    """The honest answer as events with so many letters each, and the last three."""
    whole = call.completion()
    text = whole["choices"][0]["message"]["content"]
    about = {"id": "chatcmpl-0", "object": "chat.completion.chunk", "created": 0, "model": "m"}
    parts = [text[at : at + size] for at in range(0, len(text), size)]
    made = [{**about, "choices": [{"index": 0, "delta": {"content": part}, "finish_reason": None, **beside}]} for part in parts]
    end: dict[str, Any] = {**about, "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
    return [*map(_event, (*made, end, {**about, "choices": [], "usage": whole["usage"]})), _event(b"[DONE]")]


def _plain(call: Call) -> Pieces:
    """An answer as servers stream it."""
    yield from _deltas(call)


def _letters(call: Call) -> Pieces:
    """Each byte comes alone."""
    for byte in b"".join(_deltas(call)):
        yield bytes([byte])


def _other_ends(call: Call) -> Pieces:
    """Lines end as servers on Windows write them, and as nobody does."""
    yield b"\xef\xbb\xbf"
    for number, event in enumerate(_deltas(call)):
        yield event.replace(b"\n", (b"\r\n", b"\r", b"\n")[number % 3])


def _pings(call: Call) -> Pieces:
    """Comments and other fields between the events, as proxies send them to keep a connection alive."""
    for event in _deltas(call):
        yield b": ping\n\nevent: message\nid: 7\nretry: 10\n" * 200 + event


def _flood_of_comments(call: Call) -> Pieces:
    """Megabytes of comments before the last event."""
    first, *others = _deltas(call)
    yield first
    for _ in range(60):
        yield b": ping\n" * 9_000
    yield from others


def _flood_of_nothing(call: Call) -> Pieces:
    """An event of a million empty lines of data."""
    first, *others = _deltas(call)
    yield first
    for _ in range(400):
        yield b"data:\n" * 2_500
    yield b"\n"
    yield from others


def _one_line(call: Call) -> Pieces:
    """A line that never ends, by and by."""
    yield _deltas(call)[0]
    yield b"data: "
    for _ in range(4_000):
        yield b"x" * 4_000


def _thinking(call: Call) -> Pieces:
    """Thoughts without end before the answer, a word in each event."""
    for _ in range(20_000):
        yield _event({"choices": [{"index": 0, "delta": {"reasoning_content": "hm "}}]})
    yield from _deltas(call)


def _tokens(call: Call) -> Pieces:
    """The probabilities of thousands of tokens beside each word."""
    tops: list[dict[str, Any]] = [{"token": f"t{number}", "logprob": -1.0, "top_logprobs": []} for number in range(2_000)]
    yield from _deltas(call, 5, logprobs={"content": tops})


def _deep(call: Call) -> Pieces:
    """Events that are nested deeper than any reader likes."""
    for event in _deltas(call):
        yield _event(b"[" * 50_000)
        yield event


def _broken_off(call: Call) -> Pieces:
    """Half of the events, and then the end."""
    events = _deltas(call)
    yield from events[: len(events) // 2]


def _endless(call: Call) -> Pieces:
    """Events of one letter for ever."""
    while True:
        yield _event({"choices": [{"index": 0, "delta": {"content": "a"}}]}) * 500


FAITHFUL: Mapping[str, Callable[[Call], Pieces]] = {
    "letter by letter": _letters,
    "other ends of lines": _other_ends,
    "pings": _pings,
    "a flood of comments": _flood_of_comments,
    "probabilities": _tokens,
}
"""Streams that say what an honest answer says."""

THOUGHTFUL: Mapping[str, Callable[[Call], Pieces]] = {"thoughts": _thinking}
"""Streams whose run is whole, and records more than an honest one."""
FOOLISH: Mapping[str, Callable[[Call], Pieces]] = {
    "a flood of nothing": _flood_of_nothing,
    "one line": _one_line,
    "deep events": _deep,
    "broken off": _broken_off,
    "for ever": _endless,
}
"""Streams that need not be read, but may hold up nothing."""


def _streaming(pieces: Callable[[Call], Pieces]) -> Lie:
    async def lie(call: Call) -> None:
        call.endpoint.paid[call.prompt] += 1
        call.writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n")
        for piece in pieces(call):
            call.writer.write(piece)
            await call.writer.drain()
        call.writer.close()

    return lie


async def streams(trial: Trial) -> None:
    """Answer one prompt by an odd stream, and the others by plain ones: what says the same is the same run, and nothing holds
    up the event loop."""
    kinds = {**FAITHFUL, **THOUGHTFUL, **FOOLISH}
    name = tuple(kinds)[trial.number % len(kinds)]
    workers = trial.chance.choice((1, 4))
    trial.about = f"{name}, {workers} workers"
    told = trial.program.folder / "blocked"
    watched = _watched(trial.program, told)
    if watched is None:
        trial.about += ", not tried: the command is no program of Python's"
        return
    async with trial.endpoint() as endpoint:
        prompt = trial.chance.choice(trial.goldens[REACT].prompts)
        endpoint.lie = lambda call: _streaming(kinds[name] if call.prompt == prompt else _plain)
        line = REACT.arguments("run", workers, endpoint)
        done = await watched.run(line, PATIENCE)
        if name in FAITHFUL:
            trial.check(REACT, done)
        else:
            trial.expect(done, FINISHED, *((ERRED, STOPPED) if name in FOOLISH else ()))
        blocked = float(told.read_text()) if told.exists() else 0.0
        if blocked > BLOCKED:
            trial.fault("hung", f"the event loop did one thing for {blocked:.1f} seconds of the processor")
        endpoint.honest()
        if name in FOOLISH:
            await trial.finish(REACT, workers, endpoint, "--retry-errors")


def _watched(program: Program, told: Path) -> Program | None:
    """The command with a watchdog that keeps the longest wait in the file ``told``."""
    first = program.command.read_bytes().partition(b"\n")[0].decode("utf-8", "replace")
    if not first.startswith("#!") or "python" not in first:
        return None
    script = program.folder / "watched"
    script.write_text(f"{first}\n{_WATCHDOG.format(told=str(told), command=str(program.command))}")
    script.chmod(0o755)
    return Program(script, program.folder)
