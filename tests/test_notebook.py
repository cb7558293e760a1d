"""The example notebook and what a notebook draws.

Its cells run as a kernel runs them: in one namespace, under a running event loop, and a last expression is displayed. Where
Jupyter is (`make check-extras`), it runs in a real kernel, too.
"""

from __future__ import annotations

import ast
import asyncio
import html
import inspect
import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from housequest import ConfigurationError, Unsupported, evaluate, make_world, report, show_episode, show_house
from tests.parts import needs

NOTEBOOK = Path(__file__).parents[1] / "examples" / "notebook.ipynb"
PAGES = Path(__file__).parents[1] / "agent" / "evaluation" / "render" / "pages"


def cells() -> list[str]:
    return ["".join(cell["source"]) for cell in json.loads(NOTEBOOK.read_bytes())["cells"] if cell["cell_type"] == "code"]


async def displayed(cell: str, names: dict[str, Any]) -> str | None:
    """Run a cell, and return the HTML of its last expression, None if it has none."""

    async def run(tree: ast.Module | ast.Expression) -> object:
        mode = "eval" if isinstance(tree, ast.Expression) else "exec"
        value = eval(compile(tree, "cell", mode, ast.PyCF_ALLOW_TOP_LEVEL_AWAIT), names)
        return await value if inspect.isawaitable(value) else value

    tree = ast.parse(cell)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    await run(tree)
    value: Any = await run(ast.Expression(last.value)) if isinstance(last, ast.Expr) else None
    return value._repr_html_() if hasattr(value, "_repr_html_") else None


def page_in(shown: str) -> str:
    """The page in the frame that a cell shows."""
    found = re.search(r'srcdoc="([^"]*)" sandbox="allow-scripts"', shown)
    assert found
    return html.unescape(found[1])


@pytest.mark.heavy
def test_the_notebook_runs_under_an_event_loop_in_under_forty_lines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert sum(len(cell.splitlines()) for cell in cells()) < 40

    async def whole() -> list[str | None]:
        names: dict[str, Any] = {"__name__": "__main__"}
        return [await displayed(cell, names) for cell in cells()]

    figures, plot, episode, house = asyncio.run(whole())
    drawn = capsys.readouterr().out
    assert plot is None and "share of the goal that was reached" in drawn and "█" in drawn
    assert figures and "0 of 3 tasks won" in page_in(figures)
    assert episode and page_in(episode).count('class="turn"') == 11
    assert house and "the true state at the start" in house


@pytest.mark.slow
def test_the_notebook_runs_in_a_real_kernel(tmp_path: Path) -> None:
    nbformat: Any = pytest.importorskip("nbformat", reason="needs Jupyter: pip install 'housequest[notebook]'")
    nbclient: Any = pytest.importorskip("nbclient", reason="needs Jupyter: pip install 'housequest[notebook]'")
    pytest.importorskip("ipykernel", reason="needs Jupyter: pip install 'housequest[notebook]'")
    played = nbclient.NotebookClient(
        nbformat.read(NOTEBOOK, as_version=4), resources={"metadata": {"path": tmp_path}}
    ).execute()
    data = [output.get("data", {}) for cell in played.cells for output in cell.get("outputs", [])]
    assert sum("text/html" in each for each in data) == 3


@pytest.mark.heavy
def test_a_report_stays_plain_data(tmp_path: Path) -> None:
    run = evaluate(agent="expert", split="example", limit=1, out=tmp_path / "run")
    figures = report(run)
    assert json.loads(json.dumps(figures))["episodes"] == 1
    shown = figures._repr_html_()
    assert shown and "1 of 1 tasks won" in page_in(shown)


@pytest.mark.heavy
def test_what_a_record_says_cannot_leave_its_frame(tmp_path: Path) -> None:
    run = evaluate(agent="expert", split="example", limit=1, out=tmp_path / "run")
    record = next((run / "episodes").iterdir())
    evil = tmp_path / "evil.jsonl"
    evil.write_text(record.read_text("utf-8").replace("Your task is to:", '\\"></iframe><script>alert(1)</script>'), "utf-8")
    shown = show_episode(evil).html
    assert shown.count("<") == 2 and "<script>alert" not in page_in(shown)


def test_what_cannot_be_shown_is_refused_in_words(tmp_path: Path) -> None:
    (tmp_path / "empty.jsonl").touch()
    with pytest.raises(ConfigurationError, match="holds no event"):
        show_episode(tmp_path / "empty.jsonl")
    with pytest.raises(Unsupported, match="no rooms"):
        show_house("scripted", "demo:1")
    with pytest.raises(ConfigurationError, match="is no world"):
        show_house(make_world("scripted").task("demo:1"), "scripted")


@needs("graphs")
def test_a_house_of_another_world_is_drawn() -> None:
    shown = show_house("household-graph", "example:1").html
    assert "data:image/png;base64," in shown and "the true state" in shown


# A document of which the script uses little: elements that have children, listeners and a state.
_DOCUMENT = """
class Node_ {
  constructor(name) { this.name = name; this.children = []; this.heard = {}; this.hidden = false; }
  set value(text) { this._value = text; }
  get value() { return this._value; }
  get valueAsNumber() { return Math.max(0, Math.min(this.max, Number(this._value))); }
  append(...all) { this.children.push(...all); }
  prepend(one) { this.children.unshift(one); }
  addEventListener(name, action) { this.heard[name] = action; }
  querySelectorAll() { return this.turns; }
  querySelector(query) { return query === ".player" ? this.children.find(one => one.className === "player") : this; }
}
const episode = new Node_("details");
episode.open = true;
episode.turns = [1, 2, 3].map(() => new Node_("div"));
globalThis.location = { hash: "" };
globalThis.addEventListener = () => {};
globalThis.document = {
  createElement: name => new Node_(name),
  querySelector: () => null,
  querySelectorAll: query => query === ".episode" ? [episode] : [],
  getElementById: () => null,
};
"""
_PLAYED = """
const [back, play, next, at, told] = episode.children[0].children;
const states = [];
const state = () => states.push([episode.turns.map(turn => turn.hidden), told.value]);
state(); back.heard.click(); state(); back.heard.click(); back.heard.click(); back.heard.click(); state();
next.heard.click(); state();
play.heard.click(); states.push(play.textContent); play.heard.click(); states.push(play.textContent);
console.log(JSON.stringify(states));
"""


def test_an_episode_is_stepped_through(tmp_path: Path) -> None:
    node = shutil.which("node")
    if node is None:
        pytest.skip("needs Node.js, to run the script of the pages")
    program = tmp_path / "player.js"
    script = (PAGES / "filter.js").read_text("utf-8").replace('"use strict";', "")
    program.write_text(_DOCUMENT + script + _PLAYED, "utf-8")
    done = subprocess.run([node, program], check=True, capture_output=True, text=True, timeout=60)
    assert json.loads(done.stdout) == [
        [[False, False, False], "3 of 3"],
        [[False, False, True], "2 of 3"],
        [[True, True, True], "0 of 3"],
        [[False, True, True], "1 of 3"],
        "pause",
        "play",
    ]
