"""About what a run would cost, judged by what is known."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from housequest.agent.config import Prices, configure
from housequest.agent.evaluation.runs.batch import run_batch
from housequest.agent.evaluation.runs.budget import Budget, BudgetTracker, Stopped
from housequest.agent.evaluation.runs.spec import RunSpec, make_run_spec
from housequest.agent.evaluation.runs.usage import Tokens, estimate
from tests.backends.server import Server


def plan(folder: Path, server: Server, **flags: object) -> RunSpec:
    base = {"world": "scripted", "agent": "react", "model": server.model(), "max_steps": 4}
    return make_run_spec(configure({**base, **flags}, folder))


def test_nothing_is_known_of_an_agent_that_never_played(tmp_path: Path, server: Server) -> None:
    runs = tmp_path / "runs"
    assert estimate(plan(tmp_path, server), runs / "a", runs) is None
    asyncio.run(run_batch(plan(tmp_path, server, agent="expert"), runs / "expert"))
    assert estimate(plan(tmp_path, server), runs / "a", runs) is None
    (runs / "broken").mkdir()
    (runs / "broken" / "run.json").write_text("{")
    assert estimate(plan(tmp_path, server), runs / "a", runs) is None


def test_another_run_of_the_agent_tells_of_all_tasks(tmp_path: Path, server: Server) -> None:
    runs = tmp_path / "runs"
    asyncio.run(run_batch(plan(tmp_path, server, limit=1), runs / "one"))
    prompt = sum(len(request.text.split()) for request in server.requests)
    spec = plan(tmp_path, server)
    priced = replace(spec, setup=replace(spec.setup, prices=Prices(input=1_000_000, output=0)))
    found = estimate(priced, runs / "all", runs)
    assert found is not None
    assert (found.left, found.episodes, found.calls, found.source) == (3, 1, 12, runs / "one")
    assert found.tokens == Tokens(3 * prompt, 3 * 4 * 6)
    assert found.cost == pytest.approx(3 * prompt)
    assert "About 12 calls" in str(found)


def test_the_run_itself_comes_first_and_what_is_done_costs_nothing_more(tmp_path: Path, server: Server) -> None:
    runs, planned = tmp_path / "runs", plan(tmp_path, server)
    asyncio.run(run_batch(plan(tmp_path, server, model=server.model("other")), runs / "other"))
    with pytest.raises(Stopped):
        asyncio.run(run_batch(planned, runs / "mine", None, BudgetTracker(Budget(calls=6))))
    found = estimate(planned, runs / "mine", runs)
    assert found is not None
    assert (found.source, found.episodes, found.left, found.calls, found.cost) == (runs / "mine", 1, 2, 8, None)
