"""The kinds of attack, how many trials each has, and how one trial is run."""

from __future__ import annotations

import shutil
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from scripts.torture.cluster import kill_cluster
from scripts.torture.disk import full_disk
from scripts.torture.doors import mcp
from scripts.torture.endpoints import dying, flaky, odd_reply, poison
from scripts.torture.env_server import env_server, isolation
from scripts.torture.folders import damage, links, parts
from scripts.torture.kills import interrupt, interrupt_twice, kill, kill_expert, kill_explore, kill_series, twins
from scripts.torture.program import Program
from scripts.torture.screens import two_screens
from scripts.torture.streams import streams
from scripts.torture.trial import Trial
from scripts.torture.whole import CROWD, EXPERT, EXPLORED, MANY, PROBED, REACT, REPEATED, RETRIED, Golden, Play, undisturbed


@dataclass(frozen=True)
class Kind:
    """A kind of attack: of 500 trials it has ``share``; ``plays`` are compared with."""

    attack: Callable[[Trial], Awaitable[None]]
    share: int
    plays: Sequence[Play]


KINDS: Mapping[str, Kind] = {
    "dying": Kind(dying, 96, (REACT, CROWD)),
    "flaky": Kind(flaky, 32, (REACT, CROWD)),
    "poison": Kind(poison, 8, (REACT,)),
    "odd-reply": Kind(odd_reply, 15, (REACT,)),
    "streams": Kind(streams, 22, (REACT,)),
    "kill": Kind(kill, 40, (REACT, CROWD, PROBED)),
    "kill-expert": Kind(kill_expert, 30, (MANY,)),
    "kill-cluster": Kind(kill_cluster, 24, (REACT, CROWD)),
    "kill-explore": Kind(kill_explore, 10, (EXPLORED,)),
    "kill-series": Kind(kill_series, 24, (REPEATED, RETRIED)),
    "interrupt": Kind(interrupt, 18, (REACT, CROWD)),
    "interrupt-twice": Kind(interrupt_twice, 10, (REACT, CROWD)),
    "twins": Kind(twins, 4, (REACT,)),
    "disk": Kind(full_disk, 24, (MANY,)),
    "damage": Kind(damage, 136, (EXPERT,)),
    "links": Kind(links, 54, (EXPERT,)),
    "parts": Kind(parts, 14, (REACT,)),
    "two-screens": Kind(two_screens, 16, ()),
    "mcp": Kind(mcp, 9, ()),
    "env-server": Kind(env_server, 11, ()),
    "isolation": Kind(isolation, 8, ()),
}


@dataclass(frozen=True)
class Planned:
    """A trial that is to be run: a kind of attack and its number."""

    kind: str
    number: int


def plan(trials: int, kinds: Sequence[str], only: int | None = None) -> list[Planned]:
    """``trials`` in all, shared out among ``kinds`` and mixed, so that those that wait run beside those that work."""
    if only is not None:
        return [Planned(kind, only) for kind in kinds]
    whole = sum(KINDS[kind].share for kind in kinds)
    counts = {kind: max(1, round(trials * KINDS[kind].share / whole)) for kind in kinds}
    placed = [((number + 0.5) / count, kind, number) for kind, count in counts.items() for number in range(count)]
    return [Planned(kind, number) for _, kind, number in sorted(placed)]


@dataclass
class Torture:
    """The trials of one sitting; ``ended`` are those that are over."""

    command: Path
    folder: Path
    seed: int
    keep: Path | None = None
    ended: list[Trial] = field(default_factory=list[Trial])
    _goldens: dict[Play, Golden] = field(default_factory=dict[Play, Golden])

    async def prepare(self, kinds: Collection[str]) -> None:
        """Play the undisturbed runs that ``kinds`` are compared with."""
        for play in dict.fromkeys(play for name, kind in KINDS.items() if name in kinds for play in kind.plays):
            folder = self.folder / f"golden-{len(self._goldens)}"
            self._goldens[play] = await undisturbed(play, Program(self.command, folder))

    async def attempt(self, planned: Planned) -> None:
        """Run a trial in a folder of its own."""
        name = f"{planned.kind}-{planned.number}"
        chance = Random(f"{self.seed} {name}")
        program = Program(self.command, self.folder / name)
        program.folder.mkdir()
        trial = Trial(planned.kind, planned.number, chance, program, self._goldens)
        try:
            await KINDS[planned.kind].attack(trial)
        finally:
            if trial.found and self.keep is not None:
                self.keep.mkdir(parents=True, exist_ok=True)
                shutil.copytree(program.folder, self.keep / name, symlinks=True, dirs_exist_ok=True, ignore=_special)
            shutil.rmtree(program.folder, ignore_errors=True)
        self.ended.append(trial)


def _special(folder: str, names: Sequence[str]) -> list[str]:
    """What cannot be copied, or not in time."""
    paths = [Path(folder) / name for name in names]
    return [
        path.name
        for path in paths
        if not path.is_symlink() and not path.is_dir() and (not path.is_file() or path.stat().st_size > 1 << 28)
    ]
