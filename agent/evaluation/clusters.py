"""Clusters, which play a run's episodes or do other work in place of this process.

A part or a package declares kinds of them in the group ``housequest.clusters``; ``--cluster KIND`` or ``KIND:REST`` names one.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import BinaryIO, Protocol

from housequest.agent.evaluation.runs.budget import BudgetTracker, Caller
from housequest.agent.evaluation.runs.folder import RunFolder
from housequest.agent.evaluation.runs.player import Player, SetAside
from housequest.agent.evaluation.runs.spec import RunSpec
from housequest.agent.models.rate_limiter import RateLimiter
from housequest.agent.processes import Pool
from housequest.worlds.errors import ConfigurationError, shown
from housequest.worlds.registry import is_out, load_plugin, plugins


@dataclass(frozen=True, slots=True)
class ClusterJob:
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


class RemotePlayers(Player, Caller, Protocol):
    """Players elsewhere, as one player here whose calls are counted."""


class Cluster(Protocol):
    """Machines, or processes of this one."""

    def players(self, job: ClusterJob) -> AbstractAsyncContextManager[RemotePlayers]:
        """What plays the episodes of ``job``. Raises ``ConfigurationError`` where the cluster cannot be reached."""
        ...

    def pool(self) -> Pool | int:
        """What does other work, or how many processes of this machine do."""
        ...


@dataclass(frozen=True, slots=True)
class ClusterKind:
    """A kind of cluster.

    ``forms`` says in words how one is named. ``read`` takes what follows the kind's name, with its colon, and returns
    None where that means nothing.
    """

    forms: str
    read: Callable[[str], Cluster | None]


def read_cluster(text: str) -> Cluster:
    """The cluster that ``--cluster`` names. Raises ``ConfigurationError``."""
    kind, colon, rest = text.partition(":")
    known = plugins("housequest.clusters")
    if kind in known or is_out("housequest.clusters", kind):
        found: ClusterKind = load_plugin("housequest.clusters", kind, "kind of cluster")
        if (cluster := found.read(colon + rest)) is not None:
            return cluster
    kinds = [load_plugin("housequest.clusters", name, "kind of cluster") for name in known]
    forms = ", or ".join(each.forms for each in kinds) or "none, for no kind is installed here"
    raise ConfigurationError(f"--cluster: {shown(text)} is not a cluster; give {forms}.")
