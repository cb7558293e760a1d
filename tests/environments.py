"""Environments of their own, with other versions of packages than those that the tests run in."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def environment(folder: Path, *requirements: str, extras: str = "") -> Path:
    """The folder with the programs of a new environment in ``folder``, which has us, what tests need and ``requirements``.

    Skips the test where no index can be reached.
    """
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    python = folder / ("Scripts" if sys.platform == "win32" else "bin") / "python"
    install = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *requirements]
    install += ["--editable", f"{ROOT}{extras}", "hypothesis", "pytest>=8.4,<9", "pytest-timeout", "starlette", "uvicorn"]
    done = subprocess.run(install, check=False, capture_output=True, text=True, timeout=1_500)
    if "No matching distribution found" in done.stderr and "from versions: none" in done.stderr:
        pytest.skip("no package index can be reached")
    assert done.returncode == 0, done.stderr
    return python.parent


def said(*command: str | Path) -> str:
    """What a command prints that succeeds within ten minutes."""
    done = subprocess.run(list(map(str, command)), check=False, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout[-4_000:] + done.stderr
    return done.stdout


def run_tests(scripts: Path, *arguments: str | Path) -> None:
    """Run tests in the environment whose programs are in ``scripts``."""
    said(scripts / "python", "-m", "pytest", "--rootdir", ROOT, "-p", "no:cacheprovider", *arguments)
