"""The public names, and the example that uses them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import housequest
from tests.waiting import ending

ROOT = Path(__file__).parents[1]


def test_a_notebook_completes_every_name() -> None:
    assert set(dir(housequest)) == set(housequest.__all__)


@pytest.mark.parametrize("name", housequest.__all__)
def test_every_public_name_is_there(name: str) -> None:
    assert getattr(housequest, name) is not None


def test_another_name_is_not() -> None:
    with pytest.raises(AttributeError, match="nonsense"):
        getattr(housequest, "nonsense")  # noqa: B009


@pytest.mark.heavy
def test_hello_plays_a_game_in_at_most_forty_lines() -> None:
    example = ROOT / "examples" / "hello.py"
    assert len(example.read_text("utf-8").splitlines()) <= 40
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run(
        [sys.executable, example], check=False, cwd=ROOT, capture_output=True, text=True, timeout=60, env=environment
    )
    assert done.returncode == 0, done.stderr
    assert "outcome='won'" in done.stdout.splitlines()[-1]


@pytest.mark.heavy
@pytest.mark.parametrize("moment", [b"import 'housequest.tui", b"import 'typer", b"import 'housequest.worlds"])
def test_ctrl_c_while_the_command_is_imported_is_quiet(moment: bytes, tmp_path: Path) -> None:
    program = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); import housequest; housequest.main()"
    line = (sys.executable, "-v", "-c", program, "eval", "--agent", "expert", "--split", "generated", "--limit", "2000")
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    process = subprocess.Popen(line, cwd=tmp_path, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    with ending(process):
        assert process.stderr is not None
        for said in process.stderr:
            if said.startswith(moment):
                break
        process.send_signal(signal.SIGINT)
        rest = process.stderr.read()
    assert process.returncode == 130
    assert b"Traceback" not in rest
