"""The processors that this process may use are those that its control groups leave it."""

from __future__ import annotations

import math
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from housequest.agent.processes import processors

CORES = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def written(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


@pytest.mark.parametrize(
    ("files", "most"),
    [
        ({}, CORES),
        ({"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cpu.max": "100000 100000\n"}, 1),
        ({"proc/self/cgroup": "0::/a/b\n", "sys/fs/cgroup/a/cpu.max": "50000 100000\n"}, 1),
        ({"proc/self/cgroup": "0::/a\n", "sys/fs/cgroup/a/cpu.max": "max 100000\n"}, CORES),
        ({"proc/self/cgroup": "0::/../../a\n", "sys/fs/cgroup/cpu.max": "100000 100000\n"}, 1),
        ({"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cpu.max": f"{CORES * 200000} 100000\n"}, CORES),
        (
            {
                "proc/self/cgroup": "5:memory:/x\n3:cpu,cpuacct:/docker/1\n",
                "sys/fs/cgroup/cpu/cpu.cfs_quota_us": "90000\n",
                "sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000\n",
            },
            1,
        ),
        (
            {
                "proc/self/cgroup": "3:cpu:/\n",
                "sys/fs/cgroup/cpu/cpu.cfs_quota_us": "-1\n",
                "sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000\n",
            },
            CORES,
        ),
        ({"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cpu.max": "1 0\n"}, CORES),
        ({"proc/self/cgroup": "odd\n\n"}, CORES),
    ],
)
def test_a_quota_limits_them(tmp_path: Path, files: dict[str, str], most: int) -> None:
    assert processors(written(tmp_path, files)) == most


@given(st.integers(1, 10**7), st.integers(1, 10**6))
def test_a_part_of_one_counts_as_one(tmp_path_factory: pytest.TempPathFactory, quota: int, period: int) -> None:
    files = {"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cpu.max": f"{quota} {period}\n"}
    assert processors(written(tmp_path_factory.mktemp("root"), files)) == min(CORES, math.ceil(quota / period))


def test_here_they_are_at_most_the_cores() -> None:
    assert 1 <= processors() <= CORES
