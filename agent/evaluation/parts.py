"""Extensions of evaluation by parts and packages, each declared in a group of entry points.

``housequest.runs``: families of runs that have no episodes. The family's name stands in the manifests of its runs, and is what
``housequest eval --world`` takes for it; it is no world. ``housequest.clusters``: kinds of clusters, which play episodes or do
other work in place of this process; ``--cluster KIND`` or ``KIND:REST`` names one. ``housequest.reports``: other formats of a
run's report.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, NamedTuple, Protocol

from housequest.worlds.errors import ConfigurationError, shown
from housequest.worlds.registry import load_plugin, outs, plugins

if TYPE_CHECKING:
    from housequest.agent.evaluation.render.table import Report
    from housequest.agent.evaluation.runs.batch import RemotePlayers, SetAside
    from housequest.agent.evaluation.runs.budget import BudgetTracker
    from housequest.agent.evaluation.runs.folder import RunFolder
    from housequest.agent.evaluation.runs.shard import Verification
    from housequest.agent.evaluation.runs.spec import RunSpec
    from housequest.agent.evaluation.runs.sweep import SweepFolder
    from housequest.agent.models.rate_limiter import RateLimiter
    from housequest.agent.processes import Pool

_FAMILY = re.compile(rb'"family": "([a-z0-9-]{1,40})"')


@dataclass(frozen=True, slots=True)
class RunFamily:
    """The handling of a family of runs. ``about`` says in words what they have in place of episodes. ``report`` and
    ``verify`` read the folder of a run, ``sweep_report`` that of a sweep; they raise ``ConfigurationError``. ``commands`` is
    the module with the ``evaluate`` and ``sweep`` that ``housequest eval`` calls, as those of ALFRED's plans; a family whose
    runs have a command of their own names none.
    """

    about: str
    report: Callable[[Path], Report]
    verify: Callable[[Path], Verification]
    sweep_report: Callable[[SweepFolder], Report] | None = None
    commands: str = ""


def family_named(name: str) -> RunFamily | None:
    """The family ``name``; None if there is none. Raises ``ConfigurationError`` where it is of a part that is not here."""
    known = name in (*plugins("housequest.runs"), *outs("housequest.runs"))
    return load_plugin("housequest.runs", name, "family of runs") if known else None


def family_of(folder: Path) -> RunFamily | None:
    """The family of the run in ``folder``, also of one that is damaged; None for a run of episodes, and for no run. Raises
    ``ConfigurationError``.
    """
    from housequest.agent.evaluation.runs.files import LARGEST_MANIFEST, read_bytes

    file = folder / "run.json"
    found = _FAMILY.search(read_bytes(file, LARGEST_MANIFEST)) if file.is_file() else None
    return family_named(found[1].decode()) if found else None


def family_of_sweep(folder: SweepFolder) -> RunFamily | None:
    """The family of the runs of a sweep, as far as it has begun; None for runs of episodes. Raises ``ConfigurationError``."""
    families = (family_of(folder.path / each.folder) for each in folder.contents().runs)
    return next(filter(None, families), None)


class ClusterJob(NamedTuple):
    """A run whose episodes are played elsewhere, at most ``most`` at once; what is kept of them lies here, in ``run``.
    ``tracker`` and ``limiter`` count and hold back all calls, timings of calls go to ``clock``, ``set_aside`` renames records
    that cannot be used, and ``say`` tells a person something.
    """

    spec: RunSpec
    run: RunFolder
    limiter: RateLimiter
    tracker: BudgetTracker
    clock: BinaryIO
    set_aside: SetAside
    say: Callable[[str], None]
    most: int


class Cluster(Protocol):
    """Machines, or processes of this one."""

    def players(self, job: ClusterJob) -> AbstractAsyncContextManager[RemotePlayers]:
        """Players for the episodes of ``job``. Raises ``ConfigurationError`` where the cluster cannot be reached."""
        ...

    def pool(self) -> Pool | int:
        """A pool for other work, or the number of processes of this machine for it."""
        ...


class ClusterKind(NamedTuple):
    """A kind of cluster. ``forms`` says in words how one is named. ``read`` takes what follows the kind's name, with its colon,
    and returns None where that means nothing.
    """

    forms: str
    read: Callable[[str], Cluster | None]


def read_cluster(text: str) -> Cluster:
    """The cluster that ``--cluster`` names. Raises ``ConfigurationError``."""
    kind, colon, rest = text.partition(":")
    known = plugins("housequest.clusters")
    if kind in (*known, *outs("housequest.clusters")):
        found: ClusterKind = load_plugin("housequest.clusters", kind, "kind of cluster")
        if (cluster := found.read(colon + rest)) is not None:
            return cluster
    kinds = [load_plugin("housequest.clusters", name, "kind of cluster") for name in known]
    forms = ", or ".join(each.forms for each in kinds) or "none, for no kind is installed here"
    raise ConfigurationError(f"--cluster: {shown(text)} is not a cluster; give {forms}.")


class ReportFormat(NamedTuple):
    """A format, whose name is an option of ``housequest report`` that takes a file; ``help`` is that option's. ``write`` writes
    the file and returns how many episodes are in it. It raises ``ConfigurationError``. Files with none of the ``endings``, if
    there are any, are refused before anything is written.
    """

    help: str
    write: Callable[[RunFolder, Path], int]
    endings: tuple[str, ...] = ()
