"""The endpoint model with the oldest openai and numpy that we take, in an environment of its own."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from tests.environments import ROOT, environment, run_tests, said

# Installing takes ten times as long on a busy machine.
pytestmark = pytest.mark.slow

# numpy 1 has no wheels for Python 3.13.
PACKAGES = ("openai", "numpy") if sys.version_info < (3, 13) else ("openai",)


def test_the_fast_tests_pass_with_the_oldest_versions(tmp_path: Path) -> None:
    project = (ROOT / "pyproject.toml").read_text("utf-8")
    oldest = {name: re.findall(rf'"{name}>=([\d.]+)', project)[0] for name in PACKAGES}
    scripts = environment(tmp_path, *(f"{name}=={version}.*" for name, version in oldest.items()))
    for name, version in oldest.items():
        found = said(scripts / "python", "-c", f"from importlib.metadata import version; print(version('{name}'))")
        assert found.startswith(f"{version}."), found
    run_tests(scripts, "-m", "not heavy and not slow and not games", Path(__file__).parent)
