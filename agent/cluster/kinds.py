"""The kinds of cluster that a person can name."""

from __future__ import annotations

import re
from importlib.util import find_spec

from housequest.agent.cluster.local import ProcessCluster
from housequest.agent.cluster.on_ray import RayCluster
from housequest.agent.evaluation.clusters import ClusterKind
from housequest.agent.models.processors import processors
from housequest.worlds.errors import ConfigurationError


def _processes(rest: str) -> ProcessCluster | None:
    if not re.fullmatch(r"(:[1-9]\d{0,2})?", rest, re.ASCII):
        return None
    return ProcessCluster(int(rest[1:]) if rest else processors())


def _ray(rest: str) -> RayCluster | None:
    if not rest.isprintable() or rest == ":":
        return None
    if find_spec("ray") is None:
        raise ConfigurationError(
            '--cluster ray needs Ray here and on every machine: pip install "housequest[ray]". On this machine alone, '
            "--cluster processes does without it."
        )
    return RayCluster(rest[1:] or None)


PROCESSES = ClusterKind("processes, for all processors of this machine, or processes:4", _processes)
RAY = ClusterKind("ray, for the cluster here, or ray:HOST:6379, if this machine is part of that one", _ray)
