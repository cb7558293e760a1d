"""Windows over one folder of games: one plays and the others watch, whenever they are opened and however they end."""

from __future__ import annotations

import asyncio
import fcntl
import os
import pty
import re
import signal
import struct
import termios
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from housequest.agent.setup import NAMES
from scripts.torture.doors import TASK
from scripts.torture.kills import until
from scripts.torture.program import PATIENCE, Process
from scripts.torture.trial import FINISHED, Trial
from scripts.torture.whole import content, lines

_CONTROL = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|[PX^_\]].*?(?:\x07|\x1b\\)|[@-Z\\-_=>78])", re.DOTALL)
YOURS, ELSEWHERE = "your turn", "in another window"
"""What a window that plays draws, and one that watches."""
CLOSED = "no game to play here"
"""The drawing of a window whose game is played elsewhere; the reason is a sentence that may take several lines."""
DAILY = ("daily",)
PARTNERS = tuple(f'"player":"{name}"'.encode() for name in NAMES[1:])
ALONE = ("play", TASK, "--agent", "human")
WINDOWS, TURNS = 8, 10  # the expert takes so many
_TIMES = 12


@dataclass
class Window:
    """A command on a terminal of its own."""

    process: Process
    handle: int
    typed: int = 0
    _bytes: bytearray = field(default_factory=bytearray)

    def hear(self) -> None:
        """Read what it draws; called when there is something."""
        with suppress(OSError):  # on Linux, the other side has closed
            self._bytes += os.read(self.handle, 1 << 16)

    @property
    def drawn(self) -> str:
        return _CONTROL.sub("", self._bytes.decode("utf-8", "replace"))

    @property
    def plays(self) -> bool:
        return YOURS in self.drawn and not self.watches

    @property
    def settled(self) -> bool:
        return self.process.over or YOURS in self.drawn or self.watches

    @property
    def watches(self) -> bool:
        return ELSEWHERE in self.drawn or CLOSED in self.drawn

    @property
    def marks(self) -> bool:
        return ELSEWHERE in self.drawn

    def press(self, keys: bytes) -> None:
        with suppress(OSError):
            os.write(self.handle, keys)


@asynccontextmanager
async def window(trial: Trial, arguments: Sequence[str]) -> AsyncGenerator[Window]:
    """The command on a terminal; killed at the end of the block, if it is not over."""
    own, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
    try:
        process = await trial.program.start(arguments, terminal=theirs)
    finally:
        os.close(theirs)
    opened = Window(process, own)
    asyncio.get_running_loop().add_reader(own, opened.hear)
    try:
        yield opened
    finally:
        process.send(signal.SIGKILL)
        await process.outcome()
        asyncio.get_running_loop().remove_reader(own)
        os.close(own)


async def two_screens(trial: Trial) -> None:
    """Two windows on one game, or eight that begin one in the same second; each is typed in and killed at any moment."""
    ways = (_twice, _resumed_twice, _on_home, _at_once)
    await ways[trial.number % len(ways)](trial)
    files = [file for file in _records(trial) if file.suffix in {".jsonl", ".part"}]
    for file in files:
        trial.expect(await trial.program.run(("replay", str(file), "--plain")), FINISHED)


async def _twice(trial: Trial) -> None:
    """Today's house in two windows at once."""
    trial.about = "daily twice at once"
    async with window(trial, DAILY) as one, window(trial, DAILY) as other:
        await _typed_in(trial, one, other)
    _check(trial, [one.typed + other.typed])


async def _resumed_twice(trial: Trial) -> None:
    """Today's house, killed and gone on with in two windows at once."""
    trial.about = "daily killed, then resumed twice at once"
    async with window(trial, DAILY) as first:
        await _typed_in(trial, first)
    async with window(trial, DAILY) as one, window(trial, DAILY) as other:
        await _typed_in(trial, one, other)
    _check(trial, [first.typed + one.typed + other.typed])


async def _on_home(trial: Trial) -> None:
    """A game that is played in one window, opened from home in another."""
    trial.about = "a game that is played, opened from home"
    async with window(trial, ALONE) as one:
        await _typed_in(trial, one)
        async with window(trial, ("play",)) as other:
            await _waited(trial, lambda: "Unfinished" in other.drawn or other.process.over, "home lists no unfinished game")
            await _waited(trial, lambda: other.marks or other.process.over, "home marks no game that is played", other, b"c")
            other.press(b"\r")
            await _waited(trial, lambda: "LIVE" in other.drawn or other.process.over, "home opens no live view")
            other.press(b":look\rlook\r")
            await _typed_in(trial, one)
    _check(trial, [one.typed])


async def _at_once(trial: Trial) -> None:
    """Eight windows that begin the same game at the same time."""
    trial.about = f"{WINDOWS} windows begin at once"
    processes = [
        await trial.program.start(("play", TASK, "--agent", "expert", "--plain", "--speed", "20")) for _ in range(WINDOWS)
    ]
    for process in processes:
        trial.expect(await process.outcome(), FINISHED)
    _check(trial, [TURNS] * WINDOWS)


async def _typed_in(trial: Trial, *windows: Window) -> None:
    """Type commands in the window that plays, and in the others, too; at most one of them plays."""
    await _waited(trial, lambda: all(each.settled for each in windows), "a window neither plays nor watches")
    playing = [each for each in windows if each.plays]
    if len(playing) > 1:
        trial.fault("doubled", "two windows play one game")
    steps = _steps_of(_records(trial))
    for _ in range(trial.chance.randint(1, 4)):
        for each in windows:
            each.press(b"look\r")
        for each in playing:
            each.typed += 1
        steps += len(playing)
        await _waited(trial, lambda steps=steps: _steps_of(_records(trial)) >= steps, "a command was not recorded")
    await asyncio.sleep(trial.chance.choice((0.0, 0.05, 0.3)))


def _records(trial: Trial) -> list[Path]:
    found = (trial.program.home / "state" / "episodes").glob("*.jsonl*")
    return sorted(file for file in found if ".timing." not in file.name)


def _steps_of(files: Sequence[Path]) -> int:
    """The recorded commands of the person, who on Sundays is not alone in today's house."""
    every = (line for file in files for line in content(file).splitlines() if b'"kind":"stepped"' in line)
    return sum(not any(name in line for name in PARTNERS) for line in every)


def _check(trial: Trial, steps: Sequence[int]) -> None:
    """There is a record for each of ``steps``, with so many commands, each event once and in its place."""
    files = _records(trial)
    found = sorted(_steps_of([file]) for file in files)
    if sum(found) < sum(steps) or len(found) < len(steps):
        trial.fault("lost", f"{found} commands are recorded of {sorted(steps)}")
    elif found != sorted(steps):
        trial.fault("doubled", f"{found} commands are recorded of {sorted(steps)}")
    for file in files:
        events = lines(file)
        whole = content(file).count(b"\n")
        if [event.get("id") for event in events] != list(range(whole)):
            trial.fault("lost", f"{file.name} has events that are torn, doubled or out of their place")


async def _waited(
    trial: Trial, condition: Callable[[], object], what: str, pressed: Window | None = None, keys: bytes = b""
) -> None:
    """Wait until ``condition`` holds; note ``what`` if it does not in time. ``keys`` are pressed again and again, as a person
    does: a screen that is not ready says so and drops them."""
    for _ in range(_TIMES if pressed else 1):
        if pressed is not None:
            pressed.press(keys)
        with suppress(TimeoutError):
            async with asyncio.timeout(PATIENCE / _TIMES if pressed else PATIENCE):
                await until(lambda: bool(condition()))
                return
    trial.fault("hung", what)
