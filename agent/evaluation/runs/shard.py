"""Shards: every N-th task of a run, played into a folder of its own, how such folders become the run again, and whether a
folder is whole, by the digests in it.

A shard's folder is a run's folder with the same ``run.json``, and lacks the episodes of the other shards. Which shard it is
stands apart, in ``shard.json``, so that nothing else differs from the run that one machine would play.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import NamedTuple, TypeVar

from pydantic import Field

from housequest.agent.episodes.record import read_episode
from housequest.agent.evaluation.analysis.run import CeilingLine, PathLine
from housequest.agent.evaluation.runs import files
from housequest.agent.evaluation.runs.files import LARGEST_MANIFEST, Fault, Frozen, SelectedTask, file_of, parsed, read_bytes
from housequest.agent.evaluation.runs.folder import MANIFEST_WAY_OUT, Result, RunFolder, episode_name, fault_of
from housequest.agent.evaluation.runs.sweep import SweepFolder
from housequest.worlds.errors import ConfigurationError, shown
from housequest.worlds.paths import atomic_write, read_file
from housequest.worlds.registry import load_plugin, plugins

T = TypeVar("T")
MOST_SHARDS = 10_000
_SUFFIX = re.compile(r"-shard-\d+-of-\d+")


class Shard(Frozen):
    """Shard ``number``, from 1, ``of`` so many: the content of ``shard.json``."""

    number: int = Field(ge=1)
    of: int = Field(ge=1, le=MOST_SHARDS)

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"

    def part(self, tasks: Sequence[T]) -> tuple[T, ...]:
        """Those of ``tasks`` that this shard plays: neighbours, which are often alike, go to different shards."""
        return tuple(islice(tasks, self.number - 1, None, self.of))

    def folder(self, run: Path) -> Path:
        """The default folder of this shard of a run whose own is ``run``."""
        return run.with_name(f"{run.name}-shard-{self.number}-of-{self.of}")


def read_shard(text: str) -> Shard:
    """Read ``K/N``, as ``--shard`` takes it. Raises ``ConfigurationError``."""
    found = re.fullmatch(r"(\d{1,5})/(\d{1,5})", text.strip())
    if found is None or not 1 <= int(found[1]) <= int(found[2]) <= MOST_SHARDS:
        raise ConfigurationError(f"--shard: {shown(text)} is not a shard; give K/N, such as 1/4 for the first of four.")
    return Shard(number=int(found[1]), of=int(found[2]))


def shard_of(run: RunFolder) -> Shard | None:
    """The shard that a folder holds; None for a run of one machine. Raises ``ConfigurationError`` where that is damaged."""
    if not run.shard_file.exists():
        return None
    return parsed(Shard, read_bytes(run.shard_file, LARGEST_MANIFEST), str(run.shard_file))


def begin_shard(run: RunFolder, shard: Shard | None) -> None:
    """Note in the locked folder of ``run`` which shard it holds, before its manifest is written. Raises ``ConfigurationError``
    where it holds another, or a run that is no shard.
    """
    found = shard_of(run)
    if found == shard:
        return
    if shard is not None and found is None and not run.manifest_file.exists():
        atomic_write(run.shard_file, file_of(shard))
        return
    there = f"shard {found} of a run" if found else "a run that is not a shard"
    wanted = f"--shard {found}" if found else "no --shard"
    raise ConfigurationError(f"{run.path} holds {there}; give {wanted}, or another folder with --out.")


def merged_folder(shards: Sequence[Path]) -> Path:
    """The default folder for what ``shards`` are of. Raises ``ConfigurationError`` where their names do not say it."""
    named = {path.with_name(_SUFFIX.sub("", path.name)) for path in shards if _SUFFIX.search(path.name)}
    if len(named) != 1 or (out := named.pop()) in shards:
        raise ConfigurationError("--out: the names of these folders do not say where to write; give --out FOLDER.")
    return out


def merge(shards: Sequence[Path], out: Path) -> int:
    """Merge the folders ``shards`` into ``out``, which has the bytes of a run that one machine played. Returns how many
    episodes they have. Sweeps, series of repeats and measurements are merged run by run. A folder where this was interrupted is
    gone on with. Raises ``ConfigurationError``, before anything is written, where they are shards of different runs, where an
    episode is missing or there twice, or where anything is damaged.
    """
    places = [path.resolve() for path in shards]
    if twice := next((path for path, place in zip(shards, places, strict=True) if places.count(place) > 1), None):
        raise ConfigurationError(f"{twice} is given twice; name each shard once.")
    if out.resolve() in places:
        raise ConfigurationError(f"{out} is one of the shards; give another folder with --out.")
    sweeps = [SweepFolder(path) for path in shards]
    if not any(sweep.begun for sweep in sweeps):
        runs = [RunFolder(path) for path in shards]
        return _write(runs, RunFolder(out), _found(runs))
    manifests = [sweep.contents() for sweep in sweeps]
    for sweep, manifest in zip(sweeps, manifests, strict=True):
        if manifest != manifests[0]:
            raise ConfigurationError(f"{sweep.path} and {sweeps[0].path} hold different runs; merge shards of the same ones.")
    target = SweepFolder(out)
    if target.begun and target.contents() != manifests[0]:
        raise ConfigurationError(f"{out} holds other runs than these shards; give --out a new folder.")
    parts = [([sweep.run(each.folder) for sweep in sweeps], target.run(each.folder)) for each in manifests[0].runs]
    found = [_found(runs) for runs, _ in parts]
    target.copy(sweeps[0])
    return sum(_write(runs, merged, episodes) for (runs, merged), episodes in zip(parts, found, strict=True))


def _write(shards: Sequence[RunFolder], out: RunFolder, episodes: _Episodes) -> int:
    """Write the merged run; returns how many episodes it has. Raises ``ConfigurationError`` where ``out`` holds another."""
    with out.locked():
        begin_shard(out, None)
        out.begin(shards[0].manifest())
        atomic_write(out.manifest_file, read_bytes(shards[0].manifest_file, LARGEST_MANIFEST))
        if shards[0].habits_file.exists():
            atomic_write(out.habits_file, read_file(shards[0].habits_file))
        out.episodes.mkdir(exist_ok=True)
        for run, result in episodes:
            content, file = read_file(run.episode(result.selected)), out.episode(result.selected)
            if file.exists() and read_file(file) != content:
                raise ConfigurationError(f"{file} is there already, and is not that of {run.path}; give --out a new folder.")
            atomic_write(file, content, sync=False)
        for name in ("timing.jsonl", "walls.jsonl"):
            contents = [read_file(file) for run in shards if (file := run.path / name).exists()]
            atomic_write(out.path / name, b"".join(content[: content.rfind(b"\n") + 1] for content in contents))
        out.rewrite(())
        out.append(*(result for _, result in episodes))
    return len(episodes)


_Episodes = Sequence[tuple[RunFolder, Result]]
"""The folder with the episode of each task, in the order of the tasks, with its result."""


def _found(shards: Sequence[RunFolder]) -> _Episodes:
    """Find the episode of each task in ``shards``. Raises ``ConfigurationError``, which says what does not fit and where."""
    manifests = [shard.manifest() for shard in shards]
    first = manifests[0]
    for shard, manifest in zip(shards, manifests, strict=True):
        if changes := files.differences(first, manifest):
            raise ConfigurationError(f"{shards[0].path} and {shard.path} are of different runs, and were not merged:{changes}")
    found: dict[str, tuple[RunFolder, Result]] = {}
    for shard in shards:
        for result in shard.results(first.tasks):
            if (before := found.get(result.task)) is not None:
                raise ConfigurationError(
                    f"The episode {episode_name(result.selected)} is both in {before[0].path} and in {shard.path}; "
                    "leave one of these folders out."
                )
            found[result.task] = shard, result
    if missing := [task for task in first.tasks if task.id not in found]:
        raise ConfigurationError(_missing(shards, first.tasks, missing))
    return [found[task.id] for task in first.tasks]


def _missing(shards: Sequence[RunFolder], tasks: Sequence[SelectedTask], missing: Sequence[SelectedTask]) -> str:
    """List the missing episodes, and the shards that have to play them."""
    places = {shard: run for run in shards if (shard := shard_of(run)) is not None}
    named = files.few([episode_name(task) for task in missing])
    lines = [f"{len(missing)} of {len(tasks)} episodes are missing: {named}."]
    for of in sorted({shard.of for shard in places}):
        for number in range(1, of + 1):
            shard = Shard(number=number, of=of)
            left = sum(task in missing for task in shard.part(tasks))
            if left and shard in places:
                lines.append(f"  {places[shard].path} lacks {left}; the same command with --shard {shard} plays them.")
            elif left and len({shard.of for shard in places}) == 1:
                lines.append(f"  No folder of shard {shard} was given, which plays {left}.")
    return "\n".join(lines if len(lines) <= 12 else [*lines[:12], f"  and {len(lines) - 12} shards more"])


class Verification(NamedTuple):
    """The state of the folder ``path``: of ``tasks``, how many are ``finished`` and whole, and what is not whole. There
    are no ``tasks`` where the manifest cannot be read.
    """

    path: Path
    tasks: int = 0
    finished: int = 0
    faults: tuple[Fault, ...] = ()

    @property
    def whole(self) -> bool:
        """True if nothing is damaged, gone or doubled. What was never played is no damage."""
        return not self.faults

    def data(self) -> dict[str, object]:
        """For JSON."""
        counts = {"tasks": self.tasks, "finished": self.finished}
        return {"run": str(self.path), "whole": self.whole, **counts, "faults": [fault._asdict() for fault in self.faults]}

    def lines(self) -> Iterator[str]:
        """For people."""
        done = f"{self.finished} of {self.tasks} episodes are finished"
        if not self.whole:
            yield f"{self.path} is not whole{f'; {done} and whole' if self.tasks else ''}."
            yield from (f"  {fault}" for fault in self.faults)
        else:
            yield f"{self.path} is whole; {done}."


def verify_run(folder: RunFolder) -> Verification:
    """Look at every file of a run but its clocks. A run that is being played can have an episode without its line.

    What a part adds to the folder, it looks at itself: the group ``housequest.files`` has functions that take the folder and
    return a list of `Fault`. Raises ``ConfigurationError`` if there is no run.
    """
    if not folder.manifest_file.exists() and folder.episodes.is_dir():
        return Verification(folder.path, faults=(Fault(str(folder.manifest_file), f"it is gone.{MANIFEST_WAY_OUT}"),))
    try:
        manifest = folder.manifest()
    except ConfigurationError as error:
        if not folder.manifest_file.exists():
            raise
        return Verification(folder.path, faults=(fault_of(folder.manifest_file, error),))
    results, found, _ = folder.examine(manifest.tasks)
    for part in filter(Path.exists, map(folder.part, manifest.tasks)):
        try:
            deque(read_episode(part), 0)
        except ConfigurationError as error:
            why = f"it cannot be gone on with: {str(error).removeprefix(f'{part}:')}"
            found.append(Fault(str(part), why, miscounts=False))
    for kind, file in ((PathLine, folder.paths_file), (CeilingLine, folder.ceilings_file)):
        found += files.faults_of(kind, file, files.LARGEST_INDEX, lines=True)
    for name in plugins("housequest.files"):
        found += load_plugin("housequest.files", name, "check of files")(folder.path)
    return Verification(folder.path, len(manifest.tasks), len(results), tuple(found))


def verify_sweep(folder: SweepFolder) -> list[Verification]:
    """Look at every run of a sweep that has begun. Raises ``ConfigurationError`` where sweep.json is damaged."""
    runs = [folder.run(each.folder) for each in folder.contents().runs]
    return [verify_run(run) for run in runs if run.path.exists()]
