"""The examples of docs/reference/files.md, over the tables of a run that is made here."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from housequest import Completion, Model, Request, evaluate
from tests.pages import Block, blocks

EXAMPLES = [block for block in blocks("docs/reference/files.md") if block.language == "python"]


class Looking(Model):
    """A model whose calls are measured like any other's."""

    name = "looking"

    async def complete(self, request: Request) -> Completion:
        return Completion("> look", prompt_tokens=7, completion_tokens=2)


@pytest.fixture(scope="module", params=["react", "expert"])
def run(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A run with calls of a model, and one without any."""
    given: dict[str, Any] = {"model": Looking()} if request.param == "react" else {}
    yield evaluate(
        agent=request.param, split="example", limit=2, max_steps=3, out=tmp_path_factory.mktemp("runs") / "run", **given
    )


@pytest.mark.slow
@pytest.mark.parametrize("block", EXAMPLES, ids=lambda block: block.code.split()[1])
def test_a_library_reads_the_tables(block: Block, run: Path) -> None:
    library = block.code.split()[1]
    if importlib.util.find_spec(library) is None:
        pytest.skip(f"needs {library}: pip install 'housequest[notebook]'")
    code = block.code.replace("runs/FOLDER", str(run))
    done = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert "look_at_obj_in_light" in done.stdout or "pick" in done.stdout


def test_the_page_has_an_example_of_each_library() -> None:
    assert [block.code.split()[1] for block in EXAMPLES] == ["duckdb", "pandas", "polars"]
