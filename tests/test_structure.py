"""The structure of the product: no cycle of imports, short folders, and no world named above ``worlds/``."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGES = ("worlds", "knowledge", "agent", "tui")
LONGEST_FOLDER = 22
LONGER = {"tui/commands": 28}
"""One module for each command, and what they share."""


def modules() -> dict[str, Path]:
    """Every module of the product by its dotted name."""
    files = [file for package in PACKAGES for file in (ROOT / package).rglob("*.py")]
    named = {".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): file for file in files}
    return {"housequest": ROOT / "housequest.py", **named}


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
        if not name.startswith("worlds")
        if "alfworld" in (text := file.read_text("utf-8"))
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Constant) and node.value == "alfworld"
    ]
    assert found == []
