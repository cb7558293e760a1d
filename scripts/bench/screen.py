"""The screen's time to first paint and to answer a key, on its own pseudo-terminal (pty).

A key's time is from writing its bytes to the terminal until its effect has been read back: the typed letters for a key that
types, at least a line of drawing for one that scrolls or moves to another region. Only the turns of the game also draw that
much, and they are seconds apart.
"""

from __future__ import annotations

import asyncio
import json
import os
import tempfile
import threading
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from statistics import median, quantiles
from typing import TYPE_CHECKING

from scripts.bench import screen_app

if TYPE_CHECKING:
    from scripts.bench.terminal import Terminal

RUNS = 7
SIZE = (120, 40)
ROUNDS = 8
PAUSE = 0.12
"""Seconds between keys, as of a fast typist."""
CALL = 5.0
"""Seconds that each model call takes once the game is warm."""
TURNS = 200
DRAWN = 400
"""Least bytes drawn by scrolling or moving to another region."""
_APP = "scripts.bench.screen_app"
_WAY = ("diningtable 1", "fridge 1", "microwave 1", "sinkbasin 1", "countertop 1")

_Keys = tuple[tuple[bytes, str, int], ...]
"""Keys, each with the text or the number of bytes that it draws."""
_TYPED = "open fr"
KEYS = 200
"""Keys typed while a game opens and an agent plays."""
_WORDS = "the egg is on the counter "
_ROUND: _Keys = (
    *((b"\t", "", DRAWN),) * 4,
    *((b"\x1b[A", "", DRAWN),) * 4,
    *((b"\x1b[B", "", DRAWN),) * 4,
    (b":", "", 1),
    *((letter.encode(), _TYPED[: place + 1].rstrip(), 1) for place, letter in enumerate(_TYPED)),
    (b"\x15", "", 1),
)


def run(data: Path | None) -> list[str]:
    """First paint against a bare app; a key's time while model and world are slow; the longest pause while somebody types and
    the model that ships plays; a long replay. Lines to print."""
    del data
    if os.name != "posix":
        return ["not measured: this needs a pty"]
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        return [*_first_paint(place), *_keys(place), *_typed(place), *_scrub(place)]


def _first_paint(place: Path) -> list[str]:
    bare, home, settled = list[float](), list[float](), list[float]()
    for _ in range(RUNS):
        bare.append(_painted(place, "bare", screen_app.READY)[0])
        first, last = _painted(place, "home", "Play now", f"plays {screen_app.HOUSE}")
        home.append(first)
        settled.append(last)
    times = median(ours / theirs for ours, theirs in zip(home, bare, strict=True))
    return [
        f"first paint of home {median(home):.3f} s, of a bare Textual app {median(bare):.3f} s: {times:.2f} times as long "
        f"(wanted: at most twice); medians of {RUNS}",
        f"home with its games listed, and Enter ready to play: {median(settled):.3f} s",
    ]


def _painted(place: Path, app: str, *texts: str) -> list[float]:
    """Seconds from the start of ``app`` until each of ``texts`` is drawn."""
    with _terminal(place, app) as terminal:
        return [terminal.until(text) for text in texts]


def _keys(place: Path) -> list[str]:
    with _slow_model() as (model, calls), _terminal(place, "slow", model) as terminal:
        while len(calls) <= screen_app.WARM:
            terminal.rest(0.1)
        terminal.rest(1)
        began, asked = time.perf_counter(), len(calls)
        seconds = [taken for _ in range(ROUNDS) for taken in _round(terminal)]
        lasted, called = time.perf_counter() - began, len(calls) - asked
    return [
        f"a key until it is drawn: median {_ms(median(seconds))}, 95th percentile {_ms(_p95(seconds))} (wanted: under 50 ms), "
        f"worst {_ms(max(seconds))}",
        f"  {len(seconds)} keys in {lasted:.0f} s, with {called} calls of {CALL:g} s and steps of {screen_app.STEP:g} s",
    ]


def _round(terminal: Terminal) -> Iterator[float]:
    for key, text, size in _ROUND:
        terminal.press(key)
        yield terminal.until(text, size)
        terminal.rest(PAUSE)
    # Not measured: a terminal program waits in case an escape begins a sequence.
    terminal.press(b"\x1b")
    terminal.rest(0.5)


def _typed(place: Path) -> list[str]:
    out = place / "pauses.json"
    seen = False
    with _terminal(place, "typed", str(out)) as terminal:
        for number in range(KEYS):
            if number == KEYS // 4:  # from here on the other plays as fast as it goes
                if not seen:
                    terminal.until("your turn")
                terminal.press(b"\x15\x1b")
                terminal.rest(0.5)
                terminal.press(b"l:")
            terminal.press(_WORDS[number % len(_WORDS)].encode())
            terminal.rest(0.05)
            # A key forgets what was drawn before it.
            seen = seen or "your turn" in terminal.drawn
    longest = json.loads(out.read_text("utf-8"))
    return [
        f"the longest pause of the event loop while {KEYS} keys are typed, and the game opens and the model that ships plays: "
        f"{_ms(longest['processor'])} of processor time (wanted: under 50 ms), {_ms(longest['clock'])} by the clock"
    ]


def _scrub(place: Path) -> list[str]:
    record = asyncio.run(_recorded(place))
    seconds = list[float]()
    with _terminal(place, "replay", str(record)) as terminal:
        opened = terminal.until(f"opening of {TURNS} turns")
        terminal.rest(1)
        for turn in range(1, TURNS + 1):
            terminal.press(b"\x1b[C")
            seconds.append(terminal.until(f"turn {turn} of {TURNS}"))
        terminal.press(b"\x1b[H")
        back = terminal.until(f"opening of {TURNS} turns")
    return [
        f"a replay of {TURNS} steps, scrubbed turn by turn: {sum(seconds):.2f} s in all, median {_ms(median(seconds))}, "
        f"95th percentile {_ms(_p95(seconds))}, worst {_ms(max(seconds))} (wanted: no visible stall, which is under 100 ms)",
        f"  from the start of the program until it is shown {opened:.2f} s, from the end back to the beginning {_ms(back)}",
    ]


async def _recorded(place: Path) -> Path:
    """An episode of this many turns, each with a thought."""
    from housequest.agent.agents.spec import make_agent
    from housequest.agent.episodes.config import EpisodeConfig
    from housequest.agent.episodes.loop import run_episode
    from housequest.agent.episodes.record import EpisodeRecorder
    from housequest.agent.models.registry import make_model
    from housequest.worlds.registry import make_world

    script = place / "script.yaml"
    script.write_text(json.dumps({"replies": [_reply(turn) for turn in range(TURNS)]}), "utf-8")
    world = make_world("alfworld")
    env = world.open(world.task(screen_app.HOUSE))
    model = make_model(f"scripted:{script}")
    record = place / "long.jsonl"
    with EpisodeRecorder(record) as listen:
        await run_episode(env, make_agent("react", world=world, model=model), EpisodeConfig(world, max_turns=TURNS), listen)
    return record


def _reply(turn: int) -> str:
    where = _WAY[turn % len(_WAY)]
    return f"Thought: the {where} may tell more than it did before; one look costs a turn.\nAction: go to {where}"


@contextmanager
def _slow_model() -> Generator[tuple[str, list[float]]]:
    """An endpoint whose calls take ``CALL`` seconds after the first few, as a model is named, and when each call came."""
    calls: list[float] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["content-length"]))
            calls.append(time.perf_counter())
            if len(calls) > screen_app.WARM:
                time.sleep(CALL)
            message = {"role": "assistant", "content": _reply(len(calls))}
            choice = {"index": 0, "finish_reason": "stop", "message": message}
            told = {"id": "x", "object": "chat.completion", "created": 0, "model": "slow", "choices": [choice]}
            body = json.dumps(told).encode()
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            with suppress(OSError):  # the program ends before its model
                self.end_headers()
                self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"openai:slow@http://127.0.0.1:{server.server_port}/v1", calls
    finally:
        server.shutdown()


def _terminal(place: Path, *arguments: str) -> Terminal:
    from scripts.bench.terminal import Terminal

    # An installed program keeps its compiled modules, whatever the shell of whoever measures says.
    environment = {"HOUSEQUEST_HOME": str(place / "home"), "PYTHONDONTWRITEBYTECODE": ""}
    return Terminal([_APP, *arguments], place, SIZE, environment)


def _p95(seconds: list[float]) -> float:
    return quantiles(seconds, n=20)[-1]


def _ms(seconds: float) -> str:
    return f"{seconds * 1000:.0f} ms"
