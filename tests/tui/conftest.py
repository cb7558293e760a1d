"""The real command: in a process of its own where that is what matters, and within the test's where it is not."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
_PROGRAM = (
    "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); from housequest.tui.cli import main; main()"
)
COMMAND = (sys.executable, "-c", _PROGRAM)
"""The command, interruptible even where the tests themselves were started to ignore interrupts."""

Run = Callable[..., "Done"]


@dataclass(frozen=True)
class Done:
    """What a command came to."""

    returncode: int
    stdout: str
    stderr: str


def environment(**more: str) -> dict[str, str]:
    """The environment of a command, with the package on its path."""
    return {**os.environ, "PYTHONPATH": str(ROOT / "src"), **more}


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Runs ``housequest`` with arguments in an empty folder; ``input`` is its standard input, which is no terminal."""

    def call(*arguments: str, input: str = "", folder: Path = tmp_path, **more: str) -> Done:
        done = subprocess.run(
            [*COMMAND, *arguments],
            check=False,
            cwd=folder,
            env=environment(**more),
            input=input,
            capture_output=True,
            text=True,
            errors="backslashreplace",
            timeout=60,
        )
        return Done(done.returncode, done.stdout, done.stderr)

    return call


@pytest.fixture
def call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs ``housequest`` as ``run`` does, but within this process, which is much quicker."""
    from housequest.tui.cli import main

    monkeypatch.chdir(tmp_path)

    def within(*arguments: str, input: str = "", **more: str) -> Done:
        for name, value in more.items():
            monkeypatch.setenv(name, value)
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(input.encode("utf-8", "surrogateescape")), "utf-8"))
        capsys.readouterr()
        with pytest.raises(SystemExit) as end:
            main(arguments)
        said = capsys.readouterr()
        for name in more:
            monkeypatch.delenv(name)
        return Done(end.value.code if isinstance(end.value.code, int) else 0, said.out, said.err)

    return within
