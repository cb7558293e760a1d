"""How many processors this process may use: what containers and job schedulers leave it, not what the machine has."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from pathlib import Path


def processors(root: Path = Path("/")) -> int:
    """The processors that this process may use, by its affinity and by the quotas of its control groups; at least 1."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min([cores, *map(math.ceil, _quotas(root))]))


def _quotas(root: Path) -> Iterator[float]:
    """The processors that each control group above this process may use, where that is limited."""
    for line in _lines(root / "proc/self/cgroup"):
        _, controllers, path = f"{line}::".split(":")[:3]
        if controllers and "cpu" not in controllers.split(","):
            continue
        folder = root / "sys/fs/cgroup" / ("cpu" if controllers else "")
        # A container may see only its own group, as the topmost one, under a path that it does not have.
        parts = [part for part in path.split("/") if part not in {"", ".."}]
        for depth in range(len(parts) + 1):
            group = folder.joinpath(*parts[:depth])
            told = " ".join(_lines(group / "cpu.max")).split()
            told = told or [*_lines(group / "cpu.cfs_quota_us"), *_lines(group / "cpu.cfs_period_us")]
            if len(told) == 2 and all(number.isdecimal() and int(number) for number in told):
                yield int(told[0]) / int(told[1])


def _lines(file: Path) -> list[str]:
    try:
        return file.read_text("ascii", "replace").splitlines()
    except OSError:
        return []
