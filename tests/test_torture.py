"""The torture harness: a short sitting finds nothing, and whatever it looks for is found where a command does it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from scripts.torture.__main__ import main

pytestmark = pytest.mark.heavy

QUICK = ("kill", "kill-expert", "interrupt-twice", "twins", "odd-reply", "disk", "damage", "links", "parts", "env-server")
QUICK += ("isolation", "kill-cluster", "kill-series", "two-screens")
"""Kinds that wait for nothing; endpoints that fail are asked again for half a minute."""


def test_a_short_sitting_finds_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    kinds = [word for kind in QUICK for word in ("--only", kind)]
    code = main(["--trials", "20", "--seed", "11", "--jobs", "4", *kinds])
    assert code == 0, capsys.readouterr().out


SPOILS = {
    "lost": "sed -i '$d' run/index.jsonl",
    "doubled": "sed -i p run/index.jsonl",
    "miscounted": 'sed -i \'s/"outcome":"lost"/"outcome":"won"/\' run/index.jsonl',
    "wrong class": "code=1",
    "outside": "echo $TORTURE_KEY > run/notes",
}


@pytest.mark.parametrize("fault", SPOILS)
def test_what_a_command_does_wrong_is_found(fault: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert f" {fault} " in attacked(tmp_path, capsys, after=SPOILS[fault])


def test_calls_that_are_paid_for_again_are_found(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert " paid twice " in attacked(tmp_path, capsys, before="rm -rf run/episodes run/index.jsonl")


def test_an_event_loop_that_stands_still_is_found(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = tmp_path / "housequest"
    command.write_text(
        f"#!{sys.executable}\nimport asyncio, os, time\nfrom housequest.tui.cli import main\n"
        "async def busy():\n    end = time.process_time() + 4\n    while time.process_time() < end: pass\n"
        'if "golden" not in os.getcwd(): asyncio.run(busy())\nmain()\n'
    )
    command.chmod(0o755)
    assert main(["--command", str(command), "--only", "streams", "--trial", "2", "--jobs", "1"]) == 1
    assert "the event loop did one thing for" in capsys.readouterr().out


def attacked(folder: Path, capsys: pytest.CaptureFixture[str], *, before: str = ":", after: str = ":") -> str:
    """What is said of a trial against a command that does this before and after it runs, but in the undisturbed run."""
    command = folder / "housequest"
    housequest = Path(sys.executable).with_name("housequest")
    undisturbed = 'case "$PWD" in *golden*) exec "$0" "$@";; esac'.replace("$0", str(housequest))
    command.write_text(f'#!/bin/sh\n{undisturbed}\n{before}\n{housequest} "$@"\ncode=$?\n{after}\nexit $code\n')
    command.chmod(0o755)
    assert main(["--command", str(command), "--only", "kill", "--trial", "1", "--jobs", "1"]) == 1
    said = capsys.readouterr().out
    return "\n".join(f" {line.strip().split(':')[0]} " for line in said.splitlines() if line.startswith("  "))
