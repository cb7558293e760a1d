"""A run's folder damaged behind its back: nothing wrong is counted in silence, and the same command mends it."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import stat
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from random import Random

from scripts.torture.kills import reached
from scripts.torture.trial import REFUSED, Trial
from scripts.torture.whole import EXPERT, REACT, content

Damage = Callable[[Path, Random], None]

FILES = ("index.jsonl", "run.json", "walls.jsonl", "paths.jsonl", "timing.jsonl", ".lock")
VERIFIED = 3
"""Of so many runs that were mended, one is verified again; all are compared."""

COUNTED = ("index.jsonl", "run.json")


def _content(change: Callable[[bytes, Random], bytes]) -> Damage:
    def damage(file: Path, chance: Random) -> None:
        file.write_bytes(change(file.read_bytes(), chance))

    return damage


def _flip(content: bytes, chance: Random) -> bytes:
    if not content:
        return b"\x01"
    place = chance.randrange(len(content))
    return content[:place] + bytes((content[place] ^ 1 << chance.randrange(8),)) + content[place + 1 :]


def _digit(content: bytes, chance: Random) -> bytes:
    places = [place for place, byte in enumerate(content) if 48 <= byte <= 57]
    if not places:
        return b"7"
    place = chance.choice(places)
    return content[:place] + bytes((48 + (content[place] - 47) % 10,)) + content[place + 1 :]


def _without(content: bytes, chance: Random) -> bytes:
    parts = content.splitlines(keepends=True)
    place = chance.randrange(max(1, len(parts)))
    return b"".join(parts[:place] + parts[place + 1 :])


def _twice(content: bytes, chance: Random) -> bytes:
    parts = content.splitlines(keepends=True) or [b"{}\n"]
    place = chance.randrange(len(parts))
    return b"".join(parts[: place + 1] + parts[place:])


def _shuffled(content: bytes, chance: Random) -> bytes:
    parts = content.splitlines(keepends=True)
    chance.shuffle(parts)
    return b"".join(parts)


def _swap(file: Path, chance: Random) -> None:
    others = sorted(other for other in file.parent.glob("*.jsonl") if other != file and other.is_file())
    other = chance.choice(others)
    mine, its = file.read_bytes(), other.read_bytes()
    file.write_bytes(its)
    other.write_bytes(mine)


def _sparse(file: Path, chance: Random) -> None:
    del chance
    os.truncate(file, 1 << 30)


CONTENTS: Mapping[str, Damage] = {
    "emptied": _content(lambda content, chance: b""),
    "cut": _content(lambda content, chance: content[: chance.randrange(len(content) + 1)]),
    "cut by a byte": _content(lambda content, chance: content[:-1]),
    "garbage": _content(lambda content, chance: chance.randbytes(len(content) + 1)),
    "zeros": _content(lambda content, chance: bytes(len(content) + 1)),
    "a flipped bit": _content(_flip),
    "another digit": _content(_digit),
    "a line dropped": _content(_without),
    "a line doubled": _content(_twice),
    "lines shuffled": _content(_shuffled),
    "doubled": _content(lambda content, chance: content * 2),
    "garbage appended": _content(lambda content, chance: content + chance.randbytes(200)),
    "won instead of lost": _content(lambda content, chance: content.replace(b'"won"', b'"lost"')),
    "brackets": _content(lambda content, chance: b"[" * 100_000),
    "swapped": _swap,
    "enormous": _sparse,
    "dropped": lambda file, chance: file.unlink(),
}


def _instead(make: Callable[[Path, Path], object]) -> Damage:
    """Something else in the file's place; ``make`` is given that place and a file outside."""

    def damage(file: Path, chance: Random) -> None:
        outside = _outside(file)
        outside.parent.mkdir(exist_ok=True)
        if file.is_dir():
            shutil.copytree(file, outside)
            shutil.rmtree(file)
        else:
            outside.write_bytes(file.read_bytes() if file.exists() else b"")
            file.unlink(missing_ok=True)
        make(file, outside)

    return damage


def _socket(file: Path, outside: Path) -> None:
    # A short name: addresses of sockets hold about a hundred bytes.
    with socket.socket(socket.AF_UNIX) as bound:
        here = os.open(file.parent, os.O_RDONLY)
        try:
            bound.bind(f"/proc/self/fd/{here}/{file.name}")
        finally:
            os.close(here)


def _precious(file: Path, outside: Path) -> None:
    other = outside.with_name("precious")
    other.write_text("something precious\n" * 40)
    file.symlink_to(other)


INSTEAD: Mapping[str, Damage] = {
    "a link to the same": _instead(lambda file, outside: file.symlink_to(outside)),
    "a link to another file": _instead(_precious),
    "a link to nothing": _instead(lambda file, outside: file.symlink_to(outside.with_name("nothing"))),
    "a link to itself": _instead(lambda file, outside: file.symlink_to(file.name)),
    "a link to /dev/zero": _instead(lambda file, outside: file.symlink_to("/dev/zero")),
    "a link to a folder": _instead(lambda file, outside: file.symlink_to(outside.parent)),
    "a pipe": _instead(lambda file, outside: os.mkfifo(file)),
    "a socket": _instead(_socket),
    "a folder": _instead(lambda file, outside: (file / "in it").mkdir(parents=True)),
}


@dataclass(frozen=True)
class State:
    """What stands outside a run's folder: names with kind, content and links."""

    entries: tuple[tuple[str, int, bytes], ...]

    @classmethod
    def of(cls, folder: Path) -> State:
        found: list[tuple[str, int, bytes]] = []
        for path in sorted(folder.rglob("*")) if folder.is_dir() else ():
            kind = stat.S_IFMT(path.lstat().st_mode)
            found.append((str(path.relative_to(folder)), kind, content(path)))
        return cls(tuple(found))


async def damage(trial: Trial) -> None:
    """The content of one file of a finished run."""
    trial.copy(trial.goldens[EXPERT].folder)
    way = tuple(CONTENTS)[trial.number % len(CONTENTS)]
    file = _target(trial, (*FILES[:3], *["episode"] * 3, *FILES[3:]))
    trial.about = f"{file.relative_to(trial.run)}: {way}"
    before = file.read_bytes()
    CONTENTS[way](file, trial.chance)
    harmless = file.exists() and file.stat().st_size == len(before) and content(file) == before
    await trial.read(EXPERT, whole=None if harmless or file.name not in {*COUNTED, *_episodes(trial)} else False)
    done = await trial.program.run(EXPERT.arguments("run", 2))
    if done.code == REFUSED and (file.name == "run.json" or "Delete the file" in done.err):
        trial.expect(done, REFUSED, naming=file.name)
        _restore(trial, file)
        done = await trial.program.run(EXPERT.arguments("run", 2))
    trial.check(EXPERT, done)
    if trial.number % VERIFIED == 0:
        await trial.verify(whole=True)


async def links(trial: Trial) -> None:
    """Links, pipes, devices and folders in place of what a run reads and writes: nothing outside is touched."""
    way = tuple(INSTEAD)[trial.number % len(INSTEAD)]
    unfinished = trial.number % 3 == 2
    trial.copy(trial.goldens[EXPERT].folder)
    file = _target(trial, ("episode", "episode", "episodes", *FILES))
    if unfinished and file.parent.name == "episodes":
        # An episode in the middle: its file is a part, and the index does not know it.
        number = int(file.name[:4])
        part = file.with_name(f"{file.name}.part")
        part.write_bytes(b"".join(file.read_bytes().splitlines(keepends=True)[:4]))
        file.unlink()
        index = trial.run / "index.jsonl"
        kept = [line for line in index.read_bytes().splitlines(keepends=True) if json.loads(line)["number"] != number]
        index.write_bytes(b"".join(kept))
        file = part
    trial.about = f"{file.relative_to(trial.run)}: {way}"
    INSTEAD[way](file, trial.chance)
    outside = State.of(_outside(file).parent)
    await trial.read(EXPERT, whole=None)
    done = await trial.program.run(EXPERT.arguments("run", 2))
    if done.code == REFUSED:
        trial.expect(done, REFUSED, naming=file.name)
        _restore(trial, file)
        done = await trial.program.run(EXPERT.arguments("run", 2))
    if State.of(_outside(file).parent) != outside:
        trial.fault("outside", "what a link points to was changed")
    trial.check(EXPERT, done)


async def parts(trial: Trial) -> None:
    """The record of an episode that was interrupted, damaged before the run goes on."""
    way = [name for name in CONTENTS if name != "swapped"][trial.number % (len(CONTENTS) - 1)]
    async with trial.endpoint() as endpoint:
        line = REACT.arguments("run", 2, endpoint)
        process = await trial.program.start(line)
        await reached(process, endpoint, trial.chance.randrange(8, len(trial.goldens[REACT].prompts) // 2))
        process.send(signal.SIGKILL)
        await process.outcome()
        found = sorted((trial.run / "episodes").glob("*.part"))
        if found:
            file = trial.chance.choice(found)
            trial.about = f"{file.name}: {way}"
            CONTENTS[way](file, trial.chance)
        await trial.finish(REACT, 2, endpoint)
        trial.check_paid(REACT, endpoint, 2 + trial.goldens[REACT].longest)


def _episodes(trial: Trial) -> set[str]:
    return {file.name for file in (trial.goldens[EXPERT].folder / "episodes").iterdir()}


def _target(trial: Trial, names: tuple[str, ...]) -> Path:
    name = trial.chance.choice(names)
    return trial.run / "episodes" / trial.chance.choice(sorted(_episodes(trial))) if name == "episode" else trial.run / name


def _outside(file: Path) -> Path:
    run = next(parent for parent in file.parents if parent.name == "run")
    return run.with_name("outside") / file.name


def _restore(trial: Trial, file: Path) -> None:
    """Remove what stands in the place of ``file``; the manifest, from which all else is made again, is put back."""
    if file.is_dir() and not file.is_symlink():
        shutil.rmtree(file)
    else:
        file.unlink(missing_ok=True)
    if file.name == "run.json":
        shutil.copy(trial.goldens[EXPERT].folder / "run.json", file)
