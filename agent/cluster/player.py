"""A player: plays episodes as a run on one machine does, and sends the driver what is recorded as it is written."""

from __future__ import annotations

import asyncio
import os
import platform
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from housequest.agent.cluster.messages import (
    Answer,
    Clocked,
    Failed,
    Finished,
    FromPlayer,
    Left,
    Order,
    Play,
    Ready,
    ToPlayer,
    Unfit,
    Wrote,
)
from housequest.agent.cluster.scratch import scratch_folder
from housequest.agent.cluster.shared import Line, SharedLimiter, SharedTracker
from housequest.agent.evaluation.runs.budget import MeteredModel, RunHalted, Stopped
from housequest.agent.evaluation.runs.folder import RunFolder
from housequest.agent.evaluation.runs.player import LocalPlayer, rare_collections
from housequest.agent.evaluation.runs.result import SelectedTask
from housequest.agent.models.base import Model
from housequest.agent.setup import Setup
from housequest.worlds.errors import ConfigurationError, HousequestError
from housequest.worlds.paths import open_file

BEAT = 1.0
"""Seconds between two looks at what was recorded: what a player that dies loses at most, with the step that it is at."""


class RemotePlayer:
    """A player in its own process; belongs to one event loop, and begins when it is first heard."""

    def __init__(self, order: Order) -> None:
        self._order = order
        self._line: Line | None = None
        self._heard: asyncio.Queue[ToPlayer] = asyncio.Queue()
        self._playing: asyncio.Task[None] | None = None

    async def tell(self, messages: Sequence[ToPlayer]) -> None:
        """Hear ``messages`` of the driver."""
        for message in messages:
            self._heard.put_nowait(message)

    async def hear(self) -> list[FromPlayer]:
        """What there is to say; waits until there is anything."""
        if self._line is None:
            self._line = Line()
            self._playing = asyncio.create_task(self._play(self._line))
            self._playing.add_done_callback(self._line.close)
        return await self._line.said()

    async def aclose(self) -> None:
        """Leave off."""
        if self._playing is not None:
            self._playing.cancel()
            await asyncio.gather(self._playing, return_exceptions=True)

    async def _play(self, line: Line) -> None:
        where = platform.node() or "a machine"
        try:
            with rare_collections(), scratch_folder() as folder:
                os.environ.setdefault("ALFWORLD_DATA", self._order.data)
                setup = await asyncio.to_thread(self._order.request.setup, self._order.manifest)
                model = setup.make_model(keys=self._order.keys, limiter=SharedLimiter(line))
                try:
                    await self._episodes(line, setup, model, RunFolder(folder), where)
                finally:
                    if model is not None:
                        await model.aclose()
        except* HousequestError as errors:
            line.say(Failed(ConfigurationError(f"A player on {where} cannot play: {errors.exceptions[0]}")))
        except* OSError as errors:
            error = cast("OSError", errors.exceptions[0])
            file = f"{error.filename}: " if error.filename else ""
            line.say(Failed(Stopped(f"A player on {where} cannot play: {file}{error.strerror or error}.")))

    async def _episodes(self, line: Line, setup: Setup, model: Model | None, run: RunFolder, where: str) -> None:
        tracker = SharedTracker(line, strict=self._order.strict)
        metered = None if model is None else MeteredModel(model, tracker, setup.prices)
        run.episodes.mkdir()
        run.walls_file.touch()
        with open_file(run.timing_file, "wb") as clock:
            scratch = _Scratch(run, line)
            player = LocalPlayer(run, setup, setup.make_agent(metered), metered, tracker, clock, scratch.set_aside)
            async with asyncio.TaskGroup() as group:
                line.say(Ready(where))
                group.create_task(_beat(scratch))
                while True:
                    match await self._heard.get():
                        case Play(task, part):
                            group.create_task(_episode(setup, player, scratch, line, task, part))
                        case Answer() as answer:
                            line.answered(answer)
                        case _:
                            tracker.halt()


async def _beat(scratch: _Scratch) -> None:
    while True:
        await asyncio.sleep(BEAT)
        scratch.send()


async def _episode(
    setup: Setup, player: LocalPlayer, scratch: _Scratch, line: Line, selected: SelectedTask, part: bytes
) -> None:
    task = setup.world.task(selected.id)
    if (found := SelectedTask.of(task)) != selected:
        raise ConfigurationError(f"the task {selected.id} is another one there: {found!r} rather than {selected!r}.")
    scratch.begin(selected, part)
    try:
        result = await player.play(task)
    except RunHalted:
        scratch.end(selected)
        line.say(Left(selected.id))
    else:
        scratch.end(selected)
        line.say(Finished(result))


class _Scratch:
    """The player's own folder, which the driver's mirrors: of each file it was sent so many bytes."""

    def __init__(self, run: RunFolder, line: Line) -> None:
        self._run = run
        self._line = line
        self._records: dict[str, _Sent] = {}
        self._timing = self._walls = 0

    def begin(self, task: SelectedTask, part: bytes) -> None:
        """Begin with what was recorded before."""
        if part:
            self._run.part(task).write_bytes(part)
        self._records[task.id] = _Sent(task, len(part))

    def end(self, task: SelectedTask) -> None:
        """Send all that is left, and forget the episode."""
        self._send(self._records.pop(task.id))
        self._send_clocks()
        for file in (self._run.episode(task), self._run.part(task)):
            file.unlink(missing_ok=True)

    def set_aside(self, part: Path, why: str) -> None:
        """Begin a record anew."""
        sent = next(sent for sent in self._records.values() if self._run.part(sent.task) == part)
        part.unlink()
        sent.size = 0
        self._line.say(Unfit(sent.task.id, why))

    def send(self) -> None:
        """Send what was written since the last time."""
        for sent in self._records.values():
            self._send(sent)
        self._send_clocks()

    def _send(self, sent: _Sent) -> None:
        file = self._run.episode(sent.task)
        if content := _from(file if file.exists() else self._run.part(sent.task), sent.size):
            self._line.say(Wrote(sent.task.id, sent.size, content))
            sent.size += len(content)

    def _send_clocks(self) -> None:
        timing, walls = _from(self._run.timing_file, self._timing), _from(self._run.walls_file, self._walls)
        if timing or walls:
            self._line.say(Clocked(timing, walls))
            self._timing, self._walls = self._timing + len(timing), self._walls + len(walls)


@dataclass(slots=True)
class _Sent:
    task: SelectedTask
    size: int


def _from(file: Path, start: int) -> bytes:
    if not file.exists():
        return b""
    with open_file(file) as opened:
        opened.seek(start)
        return opened.read()
