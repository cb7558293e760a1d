"""What we need of others leaves room for the packages of the doors, as pip itself finds with the index at hand."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow

PROJECT: dict[str, Any] = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text("utf-8"))["project"]
CORE: list[str] = PROJECT["dependencies"]
EXTRAS: dict[str, list[str]] = PROJECT["optional-dependencies"]
NEWEST = {"verifiers": (0, 4), "openenv": (0, 10), "trl": (1, 16), "inspect-ai": (0, 3), "gymnasium": (1, 4), "ray": (2, 60)}
"""The versions that our doors were tried with; an older one would mean that we hold it back."""


def resolved(requirements: Sequence[str], folder: Path) -> dict[str, str]:
    """What pip would install, by name, into an empty environment. Skips the test where there is no index to ask."""
    report = folder / "report.json"
    command = [sys.executable, "-m", "pip", "install", "--dry-run", "--ignore-installed", "--quiet", "--report", str(report)]
    done = subprocess.run([*command, *requirements], check=False, capture_output=True, text=True, timeout=500)
    if "No matching distribution found" in done.stderr and "from versions: none" in done.stderr:
        pytest.skip("no package index can be reached")
    assert done.returncode == 0, done.stderr
    found = [each["metadata"] for each in json.loads(report.read_text("utf-8"))["install"]]
    return {one["name"].lower().replace("_", "-"): one["version"] for one in found}


@pytest.mark.parametrize(
    ("package", "shared"),
    [
        ("verifiers", {"mcp": "2.0", "openai": "2."}),
        ("openenv", {"mcp": "1.", "openai": "3."}),
        ("trl", {"mcp": "2.", "openai": "3."}),
        ("inspect-ai", {"mcp": "2.", "openai": "3."}),
        ("gymnasium", {"mcp": "2.", "openai": "3."}),
        ("ray", {"mcp": "2.", "openai": "3."}),
    ],
)
def test_a_doors_package_is_installed_beside_us_in_its_present_version(
    package: str, shared: dict[str, str], tmp_path: Path
) -> None:
    ours = [requirement for extra in ("mcp", "gym", "env-server") for requirement in EXTRAS[extra]]
    found = resolved([*CORE, *ours, package], tmp_path)
    version = tuple(int(part) for part in found[package].split(".")[:2])
    assert version >= NEWEST[package], found[package]
    assert {name: found[name] for name in shared if not found[name].startswith(shared[name])} == {}


def test_the_core_installs_no_more_packages_than_its_page_says(tmp_path: Path) -> None:
    page = (Path(__file__).parents[1] / "docs/guides/doors.md").read_text("utf-8")
    said = re.search(r"The core itself installs (\d+) packages", page)
    assert said is not None
    assert len(resolved(CORE, tmp_path)) <= int(said[1])
