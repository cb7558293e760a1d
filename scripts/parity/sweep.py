"""Plays the items of a plan on both engines, several at once, and keeps each result as a line of JSON."""

from __future__ import annotations

import ast
import fcntl
import hashlib
import json
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import IO, Any

from housequest.worlds import alfworld
from housequest.worlds.alfworld.engine.game import GameFile, read_game
from housequest.worlds.alfworld.engine.native import NativeEnv
from housequest.worlds.alfworld.world import AlfworldWorld
from housequest.worlds.dropin.reference import WORKER, TextworldEnv, Workers, versions
from housequest.worlds.errors import ConfigurationError, WorldError
from scripts.parity.compare import Difference, Played, compare, shrink
from scripts.parity.plan import Item, commands_of

QUICK = "scripts.parity.quick"


@dataclass(frozen=True, slots=True)
class Editions:
    """The versions compared: a digest of the native engine's code, the reference's versions, and its worker's module."""

    native: str
    reference: str
    worker: str


@dataclass(frozen=True, slots=True)
class Record:
    """One finished comparison; ``script`` holds the commands that show its difference, if any."""

    kind: str
    task: str
    type: str
    seconds: float
    played: Played
    script: tuple[str, ...]
    editions: Editions

    @property
    def item(self) -> Item:
        return Item(self.kind, self.task)

    def dump(self) -> str:
        return json.dumps(asdict(self), ensure_ascii=True) + "\n"


def read_record(line: str) -> Record | None:
    """The record in ``line``; None if it was cut off."""
    try:
        data: Any = json.loads(line)
    except ValueError:
        return None
    played = data.pop("played")
    found = played.pop("difference")
    return Record(
        played=Played(**played, difference=Difference(**found) if found else None),
        script=tuple(data.pop("script")),
        editions=Editions(**data.pop("editions")),
        **data,
    )


class Results:
    """A folder with one file of records, written by one sweep at a time and read by any."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.path = folder / "results.jsonl"

    def read(self) -> list[Record]:
        lines = self.path.read_text(encoding="ascii").splitlines() if self.path.exists() else []
        return [record for record in map(read_record, lines) if record is not None]

    def open(self) -> IO[str]:
        """Open the file to add records. Raises ``ConfigurationError`` if it cannot be opened or another sweep has it."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            file = self.path.open("a+", encoding="ascii")
        except OSError as error:
            raise ConfigurationError(f"{self.path} cannot be written: {error}; give another --results.") from error
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            file.close()
            raise ConfigurationError(
                f"Another sweep is writing to {self.path}; wait for it, or give another --results."
            ) from error
        written = self.path.read_bytes()
        if written and not written.endswith(b"\n"):  # the last line was cut off
            file.write("\n")
        return file


def editions(*, plain: bool) -> Editions:
    """The versions in this process. Comments and layout of the native engine's code do not count."""
    folder = Path(alfworld.__file__).parent / "engine"
    code = "".join(ast.dump(ast.parse((folder / name).read_text("utf-8"))) for name in ("game.py", "native.py"))
    code += "".join((folder / name).read_text("utf-8") for name in ("domain.json", "help.txt"))
    return Editions(hashlib.sha256(code.encode()).hexdigest()[:12], versions(), WORKER if plain else QUICK)


@dataclass
class Sweep:
    """Plays items on ``threads`` workers until none are left, ``deadline`` passes or `stop` is set.

    An item on which the reference fails is retried once, then put in ``broken`` with its reason; it does not count as done.
    """

    world: AlfworldWorld
    editions: Editions
    threads: int
    deadline: float
    told: Callable[[Record], None]
    broken: list[str] = field(default_factory=list[str])
    stop: threading.Event = field(default_factory=threading.Event)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def run(self, items: Iterable[Item]) -> None:
        """Run to the end; raises an error of a thread, such as one of the native engine, once the others have finished."""
        left = iter(items)
        workers = Workers(self.editions.worker, kept=self.threads)
        try:
            with ThreadPoolExecutor(self.threads) as threads:
                serving = [threads.submit(self._serve, left, workers) for _ in range(self.threads)]
                try:
                    for one in as_completed(serving):
                        one.result()
                finally:
                    self.stop.set()
        finally:
            workers.close()

    def _serve(self, left: Iterator[Item], workers: Workers) -> None:
        while not self.stop.is_set() and time.monotonic() < self.deadline:
            with self._lock:
                item = next(left, None)
            if item is None:
                return
            try:
                record = self._tried(item, workers)
            except Exception as error:
                error.add_note(f"while comparing {item.key}")
                raise
            if record is not None:
                with self._lock:
                    self.told(record)

    def _tried(self, item: Item, workers: Workers) -> Record | None:
        reason = ""
        for _ in range(2):
            try:
                return play(self.world, item, workers, self.editions)
            except WorldError as error:
                reason = str(error)
        self.broken.append(f"{item.key}: {reason}")
        return None


def play(world: AlfworldWorld, item: Item, workers: Workers, these: Editions) -> Record:
    """Compare the engines on one item; a difference is shrunk. Raises ``WorldError`` if the reference fails."""
    began = time.monotonic()
    native, reference = both(world, item.task, workers)
    try:
        commands = commands_of(item, native.game)
        played = compare(native, reference, commands)
        script: Sequence[str] = ()
        if played.difference is not None:
            script = shrink(commands[: played.steps], lambda fewer: compare(native, reference, fewer).difference is not None)
    finally:
        reference.close()
    seconds = round(time.monotonic() - began, 3)
    return Record(item.kind, item.task, native.task.type, seconds, played, tuple(script), these)


def both(world: AlfworldWorld, reference: str, workers: Workers) -> tuple[NativeEnv, TextworldEnv]:
    """An env of each engine over one task of ``world``, whose engine is the native one."""
    task = world.task(reference)
    native = world.open(task)
    assert isinstance(native, NativeEnv)
    file = GameFile(*world.source(task)) if task.source is None else read_game(task.source)
    return native, TextworldEnv(task, native.game, file, workers)
