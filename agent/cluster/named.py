"""The cluster that a person names."""

from __future__ import annotations

import re
from importlib.util import find_spec

from housequest.agent.cluster.local import ProcessCluster
from housequest.agent.cluster.on_ray import RayCluster
from housequest.agent.models.processors import processors
from housequest.worlds.errors import ConfigurationError, shown


def read_cluster(text: str) -> RayCluster | ProcessCluster:
    """The cluster that ``--cluster`` names. Raises ``ConfigurationError``."""
    kind, colon, rest = text.partition(":")
    if kind == "processes" and re.fullmatch(r":[1-9]\d{0,2}|", colon + rest, re.ASCII):
        return ProcessCluster(int(rest) if rest else processors())
    if kind != "ray" or not text.isprintable() or text == "ray:":
        raise ConfigurationError(
            f"--cluster: {shown(text)} is not a cluster; give processes, for all processors of this machine, or processes:4, "
            "or ray, for the cluster here, or ray:HOST:6379, if this machine is part of that one."
        )
    if find_spec("ray") is None:
        raise ConfigurationError(
            '--cluster ray needs Ray here and on every machine: pip install "housequest[ray]". On this machine alone, '
            "--cluster processes does without it."
        )
    return RayCluster(rest or None)
