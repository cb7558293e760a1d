"""Whether the folder of a run, or of a sweep, is whole: by the digests in it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from housequest.agent.episodes.record import read_episode
from housequest.agent.evaluation.analysis.ceilings import CeilingLine
from housequest.agent.evaluation.analysis.paths import PathLine
from housequest.agent.evaluation.runs.files import LARGEST_INDEX, Fault, faults_of
from housequest.agent.evaluation.runs.folder import MANIFEST_WAY_OUT, RunFolder, fault_of
from housequest.agent.evaluation.runs.sweep import SweepFolder
from housequest.worlds.errors import ConfigurationError
from housequest.worlds.registry import load_plugin, plugins


@dataclass(frozen=True, slots=True)
class Verification:
    """What was found in the folder ``path``: of ``tasks``, how many are ``finished`` and whole, and what is not whole.

    There are no ``tasks`` where the manifest cannot be read.
    """

    path: Path
    tasks: int = 0
    finished: int = 0
    faults: tuple[Fault, ...] = ()

    @property
    def whole(self) -> bool:
        """Whether nothing is damaged, gone or doubled. What was never played is no damage."""
        return not self.faults

    def data(self) -> dict[str, object]:
        """For JSON."""
        faults = [{"where": fault.where, "what": fault.what, "miscounts": fault.miscounts} for fault in self.faults]
        counts = {"tasks": self.tasks, "finished": self.finished}
        return {"run": str(self.path), "whole": self.whole, **counts, "faults": faults}

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
    return a list of `Fault`.

    Raises ``ConfigurationError`` where there is no run.
    """
    if not folder.manifest_file.exists() and folder.episodes.is_dir():
        return Verification(folder.path, faults=(Fault(str(folder.manifest_file), f"it is gone.{MANIFEST_WAY_OUT}"),))
    try:
        manifest = folder.manifest()
    except ConfigurationError as error:
        if not folder.manifest_file.exists():
            raise
        return Verification(folder.path, faults=(fault_of(folder.manifest_file, error),))
    found = folder.examine(manifest.tasks)
    unfinished = [fault for task in manifest.tasks if (fault := _unreadable(folder.part(task)))]
    kept = ((PathLine, folder.paths_file), (CeilingLine, folder.ceilings_file))
    faults = [fault for kind, file in kept for fault in faults_of(kind, file, LARGEST_INDEX, lines=True)]
    added = [load_plugin("housequest.files", name, "check of files") for name in plugins("housequest.files")]
    faults += [fault for check in added for fault in check(folder.path)]
    return Verification(folder.path, len(manifest.tasks), len(found.results), (*found.faults, *unfinished, *faults))


def verify_sweep(folder: SweepFolder) -> list[Verification]:
    """Look at every run of a sweep that has begun. Raises ``ConfigurationError`` where sweep.json is damaged."""
    runs = [folder.run(each.folder) for each in folder.contents().runs]
    return [verify_run(run) for run in runs if run.path.exists()]


def _unreadable(part: Path) -> Fault | None:
    if part.exists():
        try:
            for _ in read_episode(part):
                pass
        except ConfigurationError as error:
            return Fault(str(part), f"it cannot be gone on with: {str(error).removeprefix(f'{part}:')}", miscounts=False)
    return None
