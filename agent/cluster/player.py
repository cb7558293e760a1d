"""A player: plays episodes as a run on one machine does, and sends the driver what is recorded as it is written."""

from __future__ import annotations

import asyncio
import itertools
import os
import platform
import shutil
import tempfile
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypeVarTuple, cast
from weakref import WeakKeyDictionary

from housequest.agent.cluster.driver import FromPlayer, Order, Remote, ToPlayer
from housequest.agent.config import Prices
from housequest.agent.evaluation.runs.batch import LocalPlayer, rare_collections
from housequest.agent.evaluation.runs.budget import BudgetTracker, MeteredModel, RunHalted, Stopped
from housequest.agent.evaluation.runs.files import SelectedTask
from housequest.agent.evaluation.runs.folder import RunFolder
from housequest.agent.models.base import Completion, Model
from housequest.agent.models.rate_limiter import Call, Limiter, Verdict
from housequest.agent.setup import Setup
from housequest.worlds.errors import ConfigurationError, HousequestError
from housequest.worlds.paths import open_file

Ts = TypeVarTuple("Ts")
_PREFIX = "housequest-player-"
_YOUNG = 60 * 60.0
"""Seconds in which a folder is left alone: whoever made it may not hold it yet."""
BEAT = 1.0
"""Seconds between two looks at what was recorded: what a player that dies loses at most, with the step that it is at."""


class RemotePlayer:
    """A player in its own process; belongs to one event loop, and begins when it is first heard.

    What it says to the driver is gathered until it is asked for.
    """

    def __init__(self, order: Order) -> None:
        self._order = order
        self._heard: asyncio.Queue[ToPlayer] = asyncio.Queue()
        self._playing: asyncio.Task[None] | None = None
        self._said: list[FromPlayer] = []
        self._anything = asyncio.Event()
        self._numbers = itertools.count()
        self._asked: dict[int, asyncio.Future[int | None]] = {}

    async def tell(self, messages: Sequence[ToPlayer]) -> None:
        """Hear ``messages`` of the driver."""
        for message in messages:
            self._heard.put_nowait(message)

    async def hear(self) -> list[FromPlayer]:
        """What was said since the last time; waits until anything was. Raises what the player ended with."""
        if self._playing is None:
            self._playing = asyncio.create_task(self._play())
            self._playing.add_done_callback(lambda _: self._anything.set())
        await self._anything.wait()
        self._anything.clear()
        said, self._said = self._said, []
        if self._playing.done() and not said:
            self._playing.result()
        return said

    async def aclose(self) -> None:
        """Leave off."""
        if self._playing is not None:
            self._playing.cancel()
            await asyncio.gather(self._playing, return_exceptions=True)

    def say(self, what: Callable[[Remote, *Ts], None], *given: *Ts) -> None:
        """Say one of the messages of `Remote`."""
        self._said.append((what, given))
        self._anything.set()

    async def ask(
        self, what: Callable[[Remote, int, *Ts], None], *given: *Ts, undo: Callable[[], None] | None = None
    ) -> int | None:
        """The driver's answer; ``undo`` is done if the driver said yes after this was cancelled."""
        number = next(self._numbers)
        answer = self._asked[number] = asyncio.get_running_loop().create_future()
        self.say(what, number, *given)
        try:
            return await asyncio.shield(answer)
        except asyncio.CancelledError:
            if undo is not None:
                answer.add_done_callback(lambda late: undo() if late.result() is not None else None)
            raise

    async def _play(self) -> None:
        where = platform.node() or "a machine"
        try:
            with rare_collections(), scratch_folder() as folder:
                os.environ.setdefault("ALFWORLD_DATA", self._order.data)
                setup = await asyncio.to_thread(self._order.request.setup, self._order.manifest)
                model = setup.make_model(keys=self._order.keys, limiter=SharedLimiter(self))
                try:
                    await self._episodes(setup, model, RunFolder(folder), where)
                finally:
                    if model is not None:
                        await model.aclose()
        except* HousequestError as errors:
            self.say(Remote.failed, ConfigurationError(f"A player on {where} cannot play: {errors.exceptions[0]}"))
        except* OSError as errors:
            error = cast("OSError", errors.exceptions[0])
            file = f"{error.filename}: " if error.filename else ""
            self.say(Remote.failed, Stopped(f"A player on {where} cannot play: {file}{error.strerror or error}."))

    async def _episodes(self, setup: Setup, model: Model | None, run: RunFolder, where: str) -> None:
        tracker = SharedTracker(self, strict=self._order.strict)
        metered = None if model is None else MeteredModel(model, tracker, setup.prices)
        run.episodes.mkdir()
        run.walls_file.touch()
        with open_file(run.timing_file, "wb") as clock:
            scratch = _Scratch(run, self)
            player = LocalPlayer(run, setup, setup.make_agent(metered), metered, tracker, clock, scratch.set_aside)
            async with asyncio.TaskGroup() as group:
                self.say(Remote.ready, where)
                group.create_task(scratch.beat())
                while True:
                    match await self._heard.get():
                        case ("play", task, part):
                            group.create_task(scratch.play(player, task, part))
                        case ("answer", number, value):
                            self._asked.pop(number).set_result(value)
                        case _:
                            tracker.halt()


class SharedTracker(BudgetTracker):
    """The driver's budget as a player sees it; ``strict``: each call is asked for."""

    def __init__(self, player: RemotePlayer, *, strict: bool) -> None:
        super().__init__()
        self._player = player
        self._strict = strict

    async def begin(self, calls: int = 1) -> None:
        if self.over():
            raise RunHalted
        if not self._strict:
            self._player.say(Remote.begins, calls)
        elif await self._player.ask(Remote.may_begin, calls, undo=lambda: self.end(None, None, calls)) is None:
            raise RunHalted

    def end(self, completion: Completion | None, prices: Prices | None, calls: int = 1) -> None:
        self._player.say(Remote.ends, calls, None if completion is None else (completion.usage, completion.timing), prices)

    def halt(self) -> None:
        """Let nothing more begin, since the driver says so."""
        super().stop(Stopped("The run is at its end."))

    def stop(self, why: HousequestError) -> None:
        if not self.over():
            self._player.say(Remote.stop, why)
        super().stop(why)


class SharedLimiter(Limiter):
    """The driver's rate limiter as a player's model sees it."""

    def __init__(self, player: RemotePlayer) -> None:
        super().__init__()
        self._player = player
        self._numbers = itertools.count()
        self._calls: WeakKeyDictionary[Call, int] = WeakKeyDictionary()

    async def enter(self, call: Call, *, first: bool = False) -> None:
        number = self._calls.setdefault(call, next(self._numbers))
        if self._closed is None:
            undo = partial(self.leave, call, "other")
            if await self._player.ask(Remote.enter, number, first, undo=undo) is not None:
                return
        raise self._closed or RunHalted()

    def leave(self, call: Call, verdict: Verdict, wait: float = 0.0) -> None:
        self._player.say(Remote.leave, self._calls[call], verdict, wait)

    async def early(self, call: Call) -> bool:
        return await self._player.ask(Remote.is_early, self._calls[call]) == 1


@contextmanager
def scratch_folder(parent: Path | None = None) -> Generator[Path]:
    """A new folder in ``parent``, or where the system keeps temporary files, which goes with who asked for it. Its maker holds
    a lock beside it for as long as it lives: a folder whose lock is free was left by a player that was killed."""
    from filelock import FileLock, Timeout

    parent = Path(tempfile.gettempdir()) if parent is None else parent
    for left in parent.glob(f"{_PREFIX}*/"):
        # That of another user, or of one that has just begun, stays.
        with suppress(OSError, NotImplementedError, Timeout):
            if time.time() - left.stat().st_mtime > _YOUNG:
                with FileLock(left / ".lock", timeout=0):
                    shutil.rmtree(left)
    with tempfile.TemporaryDirectory(prefix=_PREFIX, dir=parent) as made, FileLock(Path(made) / ".lock"):
        folder = Path(made) / "run"
        folder.mkdir()
        yield folder


@dataclass(slots=True)
class _Sent:
    """How much of an episode's record was sent."""

    task: SelectedTask
    size: int


class _Scratch:
    """The player's own folder, which the driver's mirrors: of each file it was sent so many bytes."""

    def __init__(self, run: RunFolder, player: RemotePlayer) -> None:
        self._run, self._player = run, player
        self._records: dict[str, _Sent] = {}
        self._timing = self._walls = 0

    async def play(self, player: LocalPlayer, selected: SelectedTask, part: bytes) -> None:
        """Play an episode on from what was recorded before, and send all of it."""
        task = player.setup.world.task(selected.id)
        if (found := SelectedTask.of(task)) != selected:
            raise ConfigurationError(f"the task {selected.id} is another one there: {found!r} rather than {selected!r}.")
        if part:
            self._run.part(selected).write_bytes(part)
        self._records[selected.id] = _Sent(selected, len(part))
        try:
            result = await player.play(task)
        except RunHalted:
            result = None
        self._send(self._records.pop(selected.id))
        self._send_clocks()
        for file in (self._run.episode(selected), self._run.part(selected)):
            file.unlink(missing_ok=True)
        if result is None:
            self._player.say(Remote.left, selected.id)
        else:
            self._player.say(Remote.finished, result)

    def set_aside(self, part: Path, why: str) -> None:
        """Begin a record anew."""
        sent = next(sent for sent in self._records.values() if self._run.part(sent.task) == part)
        part.unlink()
        sent.size = 0
        self._player.say(Remote.unfit, sent.task.id, why)

    async def beat(self) -> None:
        """Send, again and again, what was written since the last time."""
        while True:
            await asyncio.sleep(BEAT)
            for sent in self._records.values():
                self._send(sent)
            self._send_clocks()

    def _send(self, sent: _Sent) -> None:
        file = self._run.episode(sent.task)
        if content := _from(file if file.exists() else self._run.part(sent.task), sent.size):
            self._player.say(Remote.wrote, sent.task.id, sent.size, content)
            sent.size += len(content)

    def _send_clocks(self) -> None:
        timing, walls = _from(self._run.timing_file, self._timing), _from(self._run.walls_file, self._walls)
        if timing or walls:
            self._player.say(Remote.clocked, timing, walls)
            self._timing, self._walls = self._timing + len(timing), self._walls + len(walls)


def _from(file: Path, start: int) -> bytes:
    if not file.exists():
        return b""
    with open_file(file) as opened:
        opened.seek(start)
        return opened.read()
