"""README and docs/ say what is so: the reference is the code's; targets, pages and links are there."""

from __future__ import annotations

import contextlib
import csv
import inspect
import io
import json
import pkgutil
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest

import housequest
from housequest import evaluate
from housequest.agent.evaluation.library import read_report
from housequest.agent.evaluation.render.export import as_csv
from housequest.agent.evaluation.render.table import TabledReport
from housequest.agent.evaluation.runs.folder import Result
from housequest.agent.evaluation.runs.usage import _CallLine as CallLine
from housequest.worlds.registry import make_world
from scripts.reference import stale
from scripts.scale import Costs, table
from tests.pages import PAGES, ROOT

_FENCED = re.compile(r"^```\w+.*?\n.*?^```$", re.DOTALL | re.MULTILINE)


def test_what_the_first_game_tells_to_type_wins() -> None:
    told = re.search(r"This wins:\n\n((?:    .*\n)+)", PAGES["docs/tutorials/player.md"])
    task = re.search(r"play (generated:\d+) --agent human", PAGES["docs/tutorials/player.md"])
    assert told is not None and task is not None
    world = make_world("alfworld")
    with contextlib.closing(world.open(world.task(task[1]))) as env:
        env.reset()
        steps = [env.step(command.strip()) for command in told[1].splitlines()]
    assert [step.won for step in steps] == [False] * (len(steps) - 1) + [True]


def test_the_first_ten_minutes_hold_what_they_promise() -> None:
    page = PAGES["docs/tutorials/first-ten-minutes.md"]
    for shown in (
        "Installing",
        "Your first game",
        "In 10 turns.",
        "In 4 turns.",
        "proposed  go to fridge 1",
        "success  95 % interval",
        "REPLAY",
    ):
        assert shown in page, shown
    took = re.search(r"All of it took (\d+):\d\d by the clock", page)
    assert took is not None
    assert int(took[1]) < 10


def test_the_reference_says_what_the_code_does() -> None:
    assert stale() == [], "`python -m scripts.reference` writes them anew"


def shown_in_api() -> Iterator[tuple[str, Any]]:
    """Each function, class and public method of docs/reference/api.md by its full name."""
    for name, options in re.findall(r"^::: (\S+)\n((?:    .*\n)*)", PAGES["docs/reference/api.md"], re.MULTILINE):
        listed = re.search(r"members: \[(.*)\]", options)
        for each in [f"{name}.{member}" for member in listed[1].split(", ")] if listed else [name]:
            found = pkgutil.resolve_name(each)
            yield each, found
            for key, value in vars(found).items() if isinstance(found, type) else ():
                if not key.startswith("_") and (inspect.isfunction(value) or isinstance(value, classmethod | staticmethod)):
                    yield f"{each}.{key}", getattr(found, key)


@pytest.mark.parametrize(("name", "found"), shown_in_api())
def test_what_the_api_shows_names_its_arguments_its_value_and_its_errors(name: str, found: Any) -> None:
    doc = found.__doc__ or ""
    assert doc, name
    if inspect.isfunction(found) or inspect.ismethod(found):
        signature = inspect.signature(found)
        given = [each for each in signature.parameters if each != "self"]
        assert [each for each in given if not re.search(rf"^ +{each}: ", doc, re.MULTILINE)] == []
        if signature.return_annotation not in {"None", None}:
            assert re.search(r"^ +(Returns|Yields):$", doc, re.MULTILINE)
        raised = "Raises ``" in doc or "Raise ``" in doc
        assert not raised, "errors have a section"


def test_every_exported_name_is_in_the_reference() -> None:
    shown = {id(found) for _, found in shown_in_api()}
    assert [name for name in housequest.__all__ if id(getattr(housequest, name)) not in shown] == []


def columns(section: str) -> list[str]:
    """The columns that a section of docs/reference/files.md explains."""
    text = PAGES["docs/reference/files.md"].partition(f"## {section}\n")[2].partition("\n## ")[0]
    return [name for row in re.findall(r"^\| (`.*?`) \|", text, re.MULTILINE) for name in re.findall(r"`(\w+)`", row)]


def test_every_column_of_a_runs_tables_is_explained(tmp_path: Path) -> None:
    run = evaluate(agent="expert", split="example", limit=1, out=tmp_path / "run")
    row = next(csv.reader(io.StringIO(as_csv(cast("TabledReport", read_report([run], lambda _: None))))))
    index, more = columns("index.jsonl"), columns("report --csv")
    assert sorted(index) == sorted({*Result.model_fields, *json.loads((run / "index.jsonl").read_bytes())})
    assert sorted(columns("timing.jsonl and walls.jsonl")) == sorted(CallLine.model_fields)
    assert sorted({*row} - {*index}) == sorted({*more} - {"failure"})


def test_the_glossary_has_each_word_once_in_order() -> None:
    rows = re.findall(r"^\| ([^|]+) \|", PAGES["docs/glossary.md"], re.MULTILINE)[2:]
    words = [word.lower() for row in rows for word in row.split(", ")]
    assert len(words) == len(set(words))
    assert [row.lower() for row in rows] == sorted(row.lower() for row in rows)


def test_make_targets_are_there() -> None:
    makefile = (ROOT / "Makefile").read_text("utf-8")
    for text in PAGES.values():
        for target in set(re.findall(r"(?:`|\$ )make ([a-z-]+)", text)):
            assert re.search(rf"^{target}:", makefile, re.MULTILINE), target


def test_the_site_has_every_page() -> None:
    site = (ROOT / "zensical.toml").read_text("utf-8")
    assert [page for page in PAGES if page.startswith("docs/") and f'"{page.removeprefix("docs/")}"' not in site] == []


def test_links_lead_somewhere() -> None:
    # The site's strict build looks at docs/ alone, anchors included.
    for page, text in PAGES.items():
        for link in re.findall(r'(?:\]\(|src=")([^)"\s]+)[)"]', _FENCED.sub("", text)):
            if not re.match(r"[a-z]+:", link):
                path, _, anchor = link.partition("#")
                target = (ROOT / page).parent / path if path else ROOT / page
                assert target.exists(), f"{page}: {link}"
                if anchor:
                    assert anchor in anchors(target), f"{page}: {link}"


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub and the site make them."""
    titles = re.findall(r"^#+ (.*)$", page.read_text("utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.heavy
def test_many_machines_take_what_is_simulated() -> None:
    page = PAGES["docs/guides/scale.md"]
    _, _, *simulated = table(Costs())
    assert "\n".join(simulated) in page
