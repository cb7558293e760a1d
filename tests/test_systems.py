"""The core asks for nothing that Windows lacks: what differs between systems is in `housequest.worlds.systems`."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from scripts.parts import ROOT
from tests.parts import WHOLE
from tests.without_posix import MODULES, NAMES

ELSEWHERE = {
    # Guarded by hasattr, and by an except clause.
    "agent/processes.py": {"sched_getaffinity"},
    "worlds/alfred/simulator/thor.py": {"waitid"},
    "tui/play/typed.py": {"readline"},
    "tui/widgets/pixels.py": {"termios", "tty"},
}
POSIX = {name for names in NAMES.values() for name in names} | {"add_signal_handler", "start_new_session", "SIGTERM"}
MAY_END = {"agent/integrations/listening.py": {"SIGTERM"}}
"""Who hears SIGTERM; Windows knows the number, but a program that is sent it ends without hearing."""


def sources() -> Iterator[tuple[str, ast.Module]]:
    for folder in ("worlds", "knowledge", "agent", "tui", "src/housequest"):
        for file in (ROOT / folder).rglob("*.py"):
            place = file.relative_to(ROOT).as_posix()
            if not file.is_symlink() and place != "worlds/systems.py":
                yield place, ast.parse(file.read_text("utf-8"))


def asked(tree: ast.Module) -> Iterator[str]:
    """The names of POSIX that a module asks for, and its ways to replace a file."""
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(attr=name) | ast.keyword(arg=str(name)) if name in POSIX:
                yield name
            case ast.Import(names=names):
                yield from (each.name for each in names if each.name in MODULES)
            case ast.ImportFrom(module=str(name)) if name in MODULES:
                yield name
            # Of text, it takes two.
            case ast.Call(func=ast.Attribute(attr="replace" | "rename" as way), args=[_], keywords=[]):
                yield way
            case _:
                pass


@pytest.mark.heavy
@WHOLE
def test_only_one_module_asks_which_system_runs() -> None:
    found = {place: names for place, tree in sources() if (names := set(asked(tree)))}
    assert found == ELSEWHERE | MAY_END


@pytest.mark.heavy
def test_the_core_is_imported_without_what_windows_lacks() -> None:
    call(ROOT, "import")


@pytest.mark.heavy
def test_the_core_plays_without_what_windows_lacks(tmp_path: Path) -> None:
    assert "Won" in call(tmp_path, "play", "generated:7", "--plain", "--agent", "expert")
    for command in (("eval", "--agent", "expert", "--split", "generated:0..1", "--out", "run"), ("report", "run")):
        assert "success" in call(tmp_path, *command)
    assert "run is whole; 2 of 2 episodes are finished." in call(tmp_path, "verify", "run")
    assert "human" in call(tmp_path, "rules", "list")


def call(folder: Path, *arguments: str) -> str:
    program = f"import sys; sys.path[:0] = {[str(ROOT / 'src'), str(ROOT)]!r}; from tests.without_posix import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments],
        cwd=folder,
        capture_output=True,
        encoding="utf-8",
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
