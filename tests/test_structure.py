"""The structure of the product: one import name, no cycle of imports, short folders, no world named above ``worlds/``."""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from shutil import copytree, ignore_patterns

import pytest

ROOT = Path(__file__).parents[1]
DEFINITION = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
PACKAGES = ("worlds", "knowledge", "agent", "tui")
LONGEST_FOLDER = 22
LONGER = {"tui/commands": 28, "tui": 30, "worlds": 26}
"""One module for each command and what they share; one folder for each screen or optional part; one for each world."""


def modules() -> dict[str, Path]:
    """Every module of the product by its dotted name."""
    own = (ROOT / "src" / "housequest").glob("*.py")
    files = [*own, *(file for package in PACKAGES for file in (ROOT / package).rglob("*.py"))]
    named = {".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): file for file in files}
    return {
        name.removeprefix("src.") if name.startswith("src.") else f"housequest.{name}": file for name, file in named.items()
    }


def imports(tree: ast.AST) -> Iterator[ast.Import | ast.ImportFrom]:
    """The imports of a module, those inside functions too, but for those that only a type checker reads."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield node
        elif isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            for other in node.orelse:
                yield from imports(other)
        elif not isinstance(node, ast.expr):
            yield from imports(node)


def edges(name: str, file: Path, known: dict[str, Path]) -> set[str]:
    """The modules that the module ``name`` imports."""
    found: set[str] = set()
    for node in imports(ast.parse(file.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
            continue
        for alias in node.names:
            whole = f"{node.module}.{alias.name}"
            found.add(whole if whole in known else node.module or "")
    return {one for one in found if one in known and one != name}


def cycle(graph: dict[str, set[str]]) -> list[str]:
    """A path that ends where it begins; empty where there is none."""
    finished: set[str] = set()
    for start, first in graph.items():
        path, waiting = [start], [iter(sorted(first))]
        while path:
            following = next(waiting[-1], None)
            if following is None:
                finished.add(path.pop())
                waiting.pop()
            elif following in path:
                return [*path[path.index(following) :], following]
            elif following not in finished:
                path.append(following)
                waiting.append(iter(sorted(graph[following])))
    return []


LOADS_EVERYTHING = """
import importlib, importlib.util, json, sys
from pathlib import Path
for name in json.load(sys.stdin):
    try:
        importlib.import_module(name)
    except ModuleNotFoundError as error:  # of an extra
        assert error.name.partition(".")[0] != "housequest", error
files = {}
root = Path(sys.modules["housequest"].__file__).resolve().parents[2]
ours = [root / folder for folder in ("agent", "src", "knowledge", "tui", "worlds")]
for name, module in sorted(sys.modules.items()):
    file = Path(getattr(module, "__file__", None) or sys.executable).resolve()
    if any(file.is_relative_to(folder) for folder in ours):
        files.setdefault(str(file), []).append(name)
print(json.dumps({file: names for file, names in files.items() if len({sys.modules[name].__name__ for name in names}) > 1}))
"""


def load_everything(root: Path, folder: Path) -> dict[str, list[str]]:
    """The files that two modules were loaded from, once every module of the checkout ``root`` is."""
    names = [name for name in modules() if not name.endswith("__main__")]
    done = subprocess.run(
        [sys.executable, "-c", LOADS_EVERYTHING],
        input=json.dumps(names),
        capture_output=True,
        text=True,
        check=True,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(root / "src")},
    )
    return json.loads(done.stdout)


@pytest.mark.heavy
def test_no_file_is_loaded_under_two_names(tmp_path: Path) -> None:
    assert load_everything(ROOT, tmp_path) == {}


@pytest.mark.heavy
def test_a_checkout_without_links_is_whole(tmp_path: Path) -> None:
    for package in PACKAGES:
        copytree(ROOT / package, tmp_path / package, ignore=ignore_patterns("__pycache__"))
    copytree(ROOT / "src", tmp_path / "src", ignore=ignore_patterns("__pycache__", *PACKAGES))
    for package in PACKAGES:  # what git writes for a link where links cannot be had
        (tmp_path / "src" / "housequest" / package).write_text(f"../../{package}")
    (tmp_path / "elsewhere").mkdir()
    assert load_everything(tmp_path, tmp_path / "elsewhere") == {}


def test_no_module_imports_itself_through_others() -> None:
    known = modules()
    assert cycle({name: edges(name, file, known) for name, file in known.items()}) == []


def test_a_cycle_is_found_with_its_path() -> None:
    assert cycle({"a": {"b"}, "b": {"c", "d"}, "c": set(), "d": {"b"}}) == ["b", "d", "b"]
    assert cycle({"a": {"b", "c"}, "b": {"c"}, "c": set()}) == []


def test_no_folder_is_too_long_to_read_at_a_glance() -> None:
    folders = {file.parent for file in modules().values()} - {ROOT}
    listed = {
        str(folder.relative_to(ROOT)): [one for one in folder.iterdir() if one.name != "__pycache__"] for folder in folders
    }
    long = {name: len(entries) for name, entries in listed.items() if len(entries) > LONGER.get(name, LONGEST_FOLDER)}
    assert long == {}


def test_nothing_above_worlds_names_a_world() -> None:
    found = [
        f"{file.relative_to(ROOT)}:{node.lineno}"
        for name, file in modules().items()
        if not name.startswith("housequest.worlds")
        if "alfworld" in (text := file.read_text("utf-8"))
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Constant) and node.value == "alfworld"
    ]
    assert found == []


def test_no_two_classes_share_a_public_name() -> None:
    places = defaultdict[str, list[str]](list)
    for name, file in modules().items():
        for node in ast.parse(file.read_text("utf-8")).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places[node.name].append(name)
    assert {name: there for name, there in places.items() if len(there) > 1} == {}


def test_docstrings_say_what_a_thing_is_or_does() -> None:
    questions = ("What ", "Where ", "Who ", "How ", "Whether ", "Which ", "When ", "Whose ")
    found = [
        f"{file.relative_to(ROOT)}: {said.splitlines()[0]}"
        for file in modules().values()
        for node in ast.walk(ast.parse(file.read_text("utf-8")))
        if isinstance(node, DEFINITION | ast.Module) and (said := ast.get_docstring(node) or "").startswith(questions)
    ]
    assert found == []


def is_package(file: Path) -> bool:
    """Whether ``file`` is the module of a package."""
    return file.stem == "__init__"


def definitions(file: Path) -> set[str]:
    """The functions and classes of a module."""
    return {node.name for node in ast.parse(file.read_text("utf-8")).body if isinstance(node, DEFINITION)}


def test_the_docstring_of_a_package_names_only_what_is_there() -> None:
    gone = dict[str, list[str]]()
    for file in filter(is_package, modules().values()):
        there = {entry.stem for entry in file.parent.iterdir()} | definitions(file) | {file.parent.name}
        named = re.findall(r"`([a-z]\w*)`", ast.get_docstring(ast.parse(file.read_text("utf-8"))) or "")
        gone |= {str(file.relative_to(ROOT)): absent} if (absent := sorted(set(named) - there)) else {}
    assert gone == {}


def test_each_module_has_a_test_at_its_mirrored_path_or_a_line_that_says_where_else() -> None:
    rows = re.findall(r"^\| `([^`]+)` \| (`.+`) \|", (ROOT / "tests" / "README.md").read_text("utf-8"), re.MULTILINE)
    said = {place: re.findall(r"`([^`]+)`", tests) for place, tests in rows}
    assert [test for tests in said.values() for test in tests if not (ROOT / "tests" / test).exists()] == []
    unused, untold = set(said), list[str]()
    for file in modules().values():
        inside = file.relative_to(ROOT)
        mirrored = (ROOT / "tests" / inside.parent).glob("test_*.py" if is_package(file) else f"test_{file.name}")
        if file.stem == "__main__" or any(mirrored) or (is_package(file) and not definitions(file)):
            continue
        telling = next((place for one in (inside, inside.parent) if (place := one.as_posix()) in said), None)
        untold += [inside.as_posix()] if telling is None else []
        unused.discard(telling or "")
    assert (untold, sorted(unused)) == ([], [])
