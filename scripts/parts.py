"""Takes each optional part out of a copy of the tree, then all of them, and shows that the rest goes on without it.

    python -m scripts.parts                  # every part, then all at once; half an hour on two cores
    python -m scripts.parts alfred graphs    # these, each by itself
    python -m scripts.parts all
    python -m scripts.parts --quick          # the command alone, without the core's tests

The import contracts "Part NAME" in pyproject.toml say what belongs to a part. Its tests lie at the mirrored paths. A
test of the core that needs a part says so with `tests.parts.needs`.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[1]
NAME = "Part "
ALL = "all"
OUT = "is not installed here"
FAST = "not heavy and not slow and not games"


@cache
def parts() -> Mapping[str, tuple[str, ...]]:
    """The modules of each optional part, by its name."""
    return {name: tuple(one["protected_modules"]) for name, one in _contracts().items()}


@cache
def _contracts() -> Mapping[str, Mapping[str, Any]]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    contracts = project["tool"]["importlinter"]["contracts"]
    return {one["name"].removeprefix(NAME): one for one in contracts if one["name"].startswith(NAME)}


def place(root: Path, module: str) -> Path | None:
    """Where ``module`` is in the checkout ``root``; None if it is not there."""
    inside = module.removeprefix("housequest.").replace(".", "/")
    places = (root / inside, root / f"{inside}.py", root / "src" / "housequest" / f"{inside}.py")
    return next((path for path in places if path.exists()), None)


def knowers(part: str) -> tuple[str, ...]:
    """What may import ``part`` and does not belong to it."""
    return tuple(one for one in _contracts()[part]["allowed_importers"] if one not in parts()[part])


class Try(NamedTuple):
    """What Python is run with, and how that ends."""

    arguments: tuple[str, ...]
    says: str
    rc: int = 0


_EVAL = ("-m", "housequest", "eval", "--limit", "1")
_GENERATED = (*_EVAL, "--split", "generated")
_PLANS = (*_EVAL, "--world", "alfred-plans", "--model", "builtin")
_COPIED = """
import os
from pathlib import Path
from tests.worlds.alfred.annotations import small_world
os.environ["ALFWORLD_DATA"] = str(small_world(Path("data")))
from housequest.tui.cli import main
main(["eval", "--world", "alfred-plans", "--out", "plans"])
"""
PAIRS: Mapping[tuple[str, str], tuple[Try, ...]] = {
    ("housequest.agent.alfred", "lota"): (Try(("-c", _COPIED), "nearest"), Try((*_PLANS, "--agent", "lota"), OUT, 2)),
    ("housequest.agent.alfred", "socratic"): (Try(("-c", _COPIED), "nearest"), Try((*_PLANS, "--agent", "socratic"), OUT, 2)),
    ("housequest.agent.agents.action_attention", "training"): (
        Try((*_GENERATED, "--agent", "action-attention", "--grant", "admissible"), "action-attention"),
        Try(("-m", "housequest.agent.agents.action_attention.training", "-h"), OUT, 1),
    ),
    ("housequest.agent.training", "explorer"): (Try(("-m", "housequest", "train", "--role", "distiller"), OUT, 2),),
    ("housequest.as_alfworld", "dropin"): (
        Try(("-m", "housequest.as_alfworld", "some.py"), OUT, 1),
        Try(("-c", "import housequest.as_alfworld"), OUT, 1),
    ),
    ("housequest.as_alfworld", "alfred"): (Try(("-m", "housequest.as_alfworld", "--thor", "some.py"), OUT, 1),),
}
"""What is tried of each that may know a part, by itself and the part that is out."""


ASKED: Mapping[str, tuple[str, ...]] = {
    "housequest.agents": ("eval", "--agent", "{}", "--model", "builtin"),
    "housequest.clusters": ("eval", "--cluster", "{}"),
    "housequest.commands": ("{}", "--help"),
    "housequest.engines": ("eval", "--engine", "{}"),
    "housequest.models": ("eval", "--model", "{}:some"),
    "housequest.reports": ("report", "run", "--{}", "file"),
    "housequest.runs": ("eval", "--world", "{}"),
    "housequest.worlds": ("eval", "--world", "{}"),
}
"""How the command is asked for what was declared in a group; other groups have no name that a person gives."""
TABLES = ("housequest.agents", "housequest.worlds")
"""The groups whose names have tables in files of settings."""


def is_in(root: Path, part: str) -> bool:
    """Whether the checkout ``root`` has the whole ``part``."""
    return all(place(root, module) is not None for module in parts()[part])


def own_tests(root: Path, part: str) -> Iterator[Path]:
    """The tests of ``part``: folders at the mirrored paths, or the test of a module."""
    for module in parts()[part]:
        inside = Path("tests", *module.removeprefix("housequest.").split("."))
        found = (root / inside, root / inside.with_name(f"test_{inside.name}.py"))
        yield from (path for path in found if path.exists())


def declared(names: Sequence[str]) -> Iterator[tuple[str, str]]:
    """The group and name of each entry point whose module belongs to one of these parts."""
    gone = tuple(module for name in names for module in parts()[name])
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    for group, points in project["entry-points"].items():
        for name, value in points.items():
            module = value.partition(":")[0]
            if any(module == one or module.startswith(f"{one}.") for one in gone):
                yield group, name


def without(names: Sequence[str], folder: Path) -> None:
    """Copy what git knows of this checkout into ``folder``, but for these parts and their tests."""
    listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    for name in subprocess.run(listed, cwd=ROOT, check=True, capture_output=True, text=True).stdout.split("\0"):
        if name and (ROOT / name).exists():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name, follow_symlinks=False)
    for name in names:
        gone = [path for module in parts()[name] if (path := place(folder, module)) is not None]
        for path in (*gone, *own_tests(folder, name)):
            shutil.rmtree(path) if path.is_dir() else path.unlink()


class Trial:
    """A copy of the tree in ``folder`` that is without ``names``; ``say`` tells of each step."""

    def __init__(self, names: Sequence[str], folder: Path) -> None:
        self._names = names
        self._tree = folder / "tree"
        self._work = folder / "work"
        self._work.mkdir()
        without(names, self._tree)
        home = {"HOUSEQUEST_HOME": str(folder / "home"), "ALFWORLD_DATA": str(folder / "none")}
        self._environment = {**os.environ, **home, "PYTHONPATH": os.pathsep.join((str(self._tree / "src"), str(self._tree)))}
        self.wrong: list[str] = []

    def run(self, *arguments: str, rc: int = 0, says: str = "", tree: bool = False) -> None:
        """Run Python with ``arguments``, and note where it exits otherwise than with ``rc`` or does not say ``says``."""
        done = subprocess.run(
            [sys.executable, *arguments],
            check=False,
            cwd=self._tree if tree else self._work,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
        )
        told = done.stdout + done.stderr
        if done.returncode != rc or says not in told:
            what = f"exit {done.returncode}, not {rc}" if done.returncode != rc else f"does not say {says!r}"
            self.wrong.append(f"{' '.join(arguments)}: {what}\n" + "\n".join(f"    {line}" for line in told.splitlines()[-40:]))

    def command(self) -> None:
        """Play, evaluate and report with settings for what is gone, and ask for all that is gone."""
        tables = [f"[{group.removeprefix('housequest.')}.{name}]\n" for group, name in declared(self._names) if group in TABLES]
        (self._work / "housequest.toml").write_text("".join(tables))
        self.run("-m", "housequest", "--help", says="play")
        self.run("-m", "housequest", "plugins", says="alfworld")
        self.run("-m", "housequest", "models", says="builtin")
        self.run("-m", "housequest", "play", "--plain", says="Won in")
        self.run(
            "-m", "housequest", "eval", "--agent", "expert", "--split", "generated", "--limit", "2", "--out", "run", says="2"
        )
        self.run("-m", "housequest", "report", "run", says="expert")
        self.run("-m", "housequest", "report", "run", "--html", "run.html")
        self.run("-m", "housequest", "verify", "run", says="whole")
        for group, name in declared(self._names):
            also = "; known: play, " if group == "housequest.commands" else ""
            if (asked := ASKED.get(group)) is not None:
                self.run("-m", "housequest", *(word.format(name) for word in asked), rc=2, says=f"{OUT}{also}")
            if group.startswith("housequest."):
                code = f"from housequest.worlds.registry import load_plugin; load_plugin({group!r}, {name!r}, 'plugin')"
                self.run("-c", code, rc=1, says=OUT)
        self.pairs()

    def pairs(self) -> None:
        """Do what a part does without one that it knows, and ask for what needs that."""
        (self._work / "script").write_text("default: nothing\n")
        pairs = ((knower, name) for name in self._names for knower in knowers(name) if place(self._tree, knower) is not None)
        for trial in dict.fromkeys(trial for pair in pairs for trial in PAIRS[pair]):
            self.run(*trial.arguments, rc=trial.rc, says=trial.says)

    def tests(self) -> None:
        """The fast tests of the core: those of no part, and not those of the pages, which are about the whole."""
        others = (path for part in parts() for path in own_tests(self._tree, part))
        pages = (self._tree / "tests" / f"test_{name}.py" for name in ("docs", "docs_blocks", "extending", "structure"))
        ignored = (f"--ignore={path.relative_to(self._tree)}" for path in (*others, *pages) if path.exists())
        self.run("-m", "pytest", "-n", "2", "-m", FAST, *ignored, tree=True)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m scripts.parts", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("names", nargs="*", metavar="PART", help=f"{', '.join(parts())}, or {ALL}; default: each, then {ALL}")
    parser.add_argument("--quick", action="store_true", help="leave out the core's tests")
    given = parser.parse_args()
    chosen = given.names or [*parts(), ALL]
    if unknown := sorted(set(chosen) - {*parts(), ALL}):
        parser.error(f"there is no part {', '.join(unknown)}; there are {', '.join(parts())} and {ALL}")
    failed = False
    for name in chosen:
        with tempfile.TemporaryDirectory(prefix="housequest-parts-") as folder:
            trial = Trial(tuple(parts()) if name == ALL else (name,), Path(folder))
            trial.command()
            if not given.quick:
                trial.tests()
        print(f"without {name}: {'goes on' if not trial.wrong else 'does not go on'}", flush=True)
        for wrong in trial.wrong:
            print(f"  {wrong}", flush=True)
        failed = failed or bool(trial.wrong)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
