"""The ceiling of a planner's run: what the expert reaches with the same prior, found once, kept and told."""

from __future__ import annotations

import asyncio
import csv
import json
from dataclasses import replace
from pathlib import Path

import pytest

from housequest.agent.config import configure
from housequest.agent.evaluation.analysis.metrics import Ceiling, CeilingFigures, Extras
from housequest.agent.evaluation.analysis.run import ceiling_of, expert_turns, read_for_comparison
from housequest.agent.evaluation.render.export import as_csv
from housequest.agent.evaluation.render.pages.render import comparison_page, figures_page
from housequest.agent.evaluation.render.report import RunReport
from housequest.agent.evaluation.runs.batch import run_batch
from housequest.agent.evaluation.runs.folder import RunFolder
from housequest.agent.evaluation.runs.shard import verify_run
from housequest.agent.evaluation.runs.spec import Manifest, make_run_spec
from housequest.worlds.registry import make_world
from tests.agent.evaluation.recorded import paired

pytestmark = pytest.mark.heavy
TASKS = 3


def played(folder: Path, agent: str = "llm-planner", seed: int = 0, **settings: str) -> tuple[RunFolder, Manifest]:
    """A run whose model plans to go to the fridge and no further."""
    script = folder / "script.yaml"
    script.write_text(json.dumps({"rules": [{"match": "", "reply": "Navigation fridge"}]}), "utf-8")
    flags = {"agent": agent, "model": f"scripted:{script}", "split": "generated", "limit": TASKS, "seed": seed}
    planned = make_run_spec(configure({**flags, "set": settings} if settings else flags, folder))
    name = "-".join((agent, str(seed), *settings.values()))
    asyncio.run(run_batch(planned, folder / name))
    return RunFolder(folder / name), planned.manifest


@pytest.mark.parametrize("search", ["counts", "random", "name", "llm"])
def test_it_is_what_the_expert_reaches_by_the_same_prior(tmp_path: Path, search: str) -> None:
    folder, manifest = played(tmp_path, search=search, seed=4)
    world, prior = make_world(), "random" if search == "llm" else search
    settings = {"search": prior, **({"seed": 4} if prior == "random" else {})}
    turns = {task.id: expert_turns(world, world.task(task.id), 50, settings) for task in manifest.tasks}
    found = ceiling_of(folder, manifest, manifest.tasks)
    assert found is not None
    assert (found.prior, found.turns) == (prior, turns)
    kept = folder.ceilings_file.read_bytes()
    asked: list[int] = []
    assert ceiling_of(folder, manifest, manifest.tasks, lambda done, _: asked.append(done)) == found
    assert (folder.ceilings_file.read_bytes(), asked) == (kept, [])


def test_a_narrow_limit_lowers_it(tmp_path: Path) -> None:
    folder, manifest = played(tmp_path, search="name")
    narrow = manifest.model_copy(update={"configuration": manifest.configuration.model_copy(update={"max_turns": 1})})
    ceiling = ceiling_of(folder, narrow, narrow.tasks)
    assert CeilingFigures.of([(ceiling, task.id) for task in narrow.tasks]) == CeilingFigures("name", TASKS, 0, None)
    assert CeilingFigures.of([(ceiling, "another/task")]) is None
    known = [(ceiling, "another/task"), (ceiling, narrow.tasks[0].id)]
    assert CeilingFigures.of(known) == CeilingFigures("name", 1, 0, None, missing=1)


def test_who_does_not_search_has_none(tmp_path: Path) -> None:
    for agent in ("react", "expert"):
        folder, manifest = played(tmp_path, agent)
        assert ceiling_of(folder, manifest, manifest.tasks) is None
        assert RunReport(read_for_comparison(folder)).data()["ceiling"] is None


def test_report_comparison_and_pages_tell_it(tmp_path: Path) -> None:
    counts, by_name = (read_for_comparison(played(tmp_path, search=search)[0]) for search in ("counts", "name"))
    report = RunReport(counts)
    ceiling = report.data()["ceiling"]
    assert isinstance(ceiling, dict)
    assert (ceiling["prior"], ceiling["tasks"], ceiling["success"]) == ("counts", TASKS, 1.0)
    assert f"the expert wins {TASKS} of {TASKS} (100.0 %)" in " ".join(report.text().split())
    compared = paired(counts, by_name)
    text = " ".join(compared.text().split())
    assert "Of the first: Ceiling" in text
    assert "Of the second: Ceiling" in text
    assert "by name, as this agent does" in text
    types = {task.type for task in counts.manifest.tasks}
    assert len(types) > 1
    by_type = report.data()["by_type"]
    assert isinstance(by_type, dict)
    assert sum(each["ceiling"]["won"] for each in by_type.values()) == TASKS
    assert "the expert alone, by counts" in report.text()
    rows = csv.DictReader(as_csv(report).splitlines())
    assert [int(row["ceiling"]) for row in rows] == [each.ceiling for each in counts.summary.overall.played]
    pages = (
        figures_page(RunReport(counts), tmp_path / "page.html"),
        comparison_page(compared, tmp_path / "page.html"),
    )
    assert all(b"Ceiling: without any model" in page for page in pages)


def test_where_the_model_names_the_places_chance_stands_beside_it(tmp_path: Path) -> None:
    run = read_for_comparison(played(tmp_path, search="llm")[0])
    report = RunReport(run)
    text = " ".join(report.text().split())
    assert "Ceiling" not in text, "a model that names places well goes beyond chance"
    assert "Without any word on places, the expert, which has no model, wins" in text
    assert f"it wins {TASKS} of {TASKS} (100.0 %)" in text, "what good knowledge of places reaches stands beside it"
    ceiling = report.data()["ceiling"]
    assert isinstance(ceiling, dict)
    assert (ceiling["prior"], ceiling["counted"]["prior"]) == ("random", "counts")


def test_where_there_is_none_it_is_said_why(tmp_path: Path) -> None:
    elsewhere = read_for_comparison(played(tmp_path, search="counts")[0])
    elsewhere = replace(elsewhere, extras=Extras(ceiling=Ceiling("counts", {})))
    text = " ".join(RunReport(elsewhere).text().split())
    assert "No ceiling: the world's expert does not play these games" in text
    by_name = read_for_comparison(played(tmp_path, search="name")[0])
    assert "Of the second: No ceiling" in " ".join(paired(by_name, elsewhere).text().split())


def test_what_is_damaged_is_found_and_computed_again(tmp_path: Path) -> None:
    folder, manifest = played(tmp_path, search="name")
    found = ceiling_of(folder, manifest, manifest.tasks)
    whole = folder.ceilings_file.read_bytes()
    folder.ceilings_file.write_bytes(whole.replace(b'"turns":', b'"turns":1', 1))
    assert [Path(fault.where.partition(":")[0]).name for fault in verify_run(folder).faults] == ["ceilings.jsonl"]
    assert ceiling_of(folder, manifest, manifest.tasks) == found
    assert sorted(folder.ceilings_file.read_bytes().splitlines()) == sorted(whole.splitlines())
