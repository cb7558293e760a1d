"""About what a run would cost, judged by what is known."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from housequest.agent.config import Prices, configure
from housequest.agent.evaluation.runs.batch import run_batch
from housequest.agent.evaluation.runs.budget import Budget, BudgetTracker, Stopped
from housequest.agent.evaluation.runs.estimate import estimate
from housequest.agent.evaluation.runs.folder import RunFolder
from housequest.agent.evaluation.runs.spec import RunSpec, make_run_spec
from tests.agent.playing import installed
from tests.backends.policy import Solver
from tests.backends.server import Server, serve
from tests.parts import needs


def plan(folder: Path, server: Server, **flags: object) -> RunSpec:
    base = {"world": "scripted", "agent": "react", "model": server.model(), "max_steps": 4}
    return make_run_spec(configure({**base, **flags}, folder))


def test_nothing_is_known_of_an_agent_that_never_played_where_no_expert_replies(tmp_path: Path, server: Server) -> None:
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
    # Of one episode it is not known how far others lie from it.
    assert (found.left, found.basis, found.calls) == (3, f"as in 1 finished one of {runs / 'one'}", (8.0, 18.0))
    assert found.read == pytest.approx((3 * prompt / 1.5, 3 * prompt * 1.5))
    assert found.written == pytest.approx((3 * 4 * 6 / 1.5, 3 * 4 * 6 * 1.5))
    assert found.cost == pytest.approx(found.read, abs=1)
    assert "About 8 to 18 calls" in str(found)


def test_what_was_played_under_other_conditions_does_not_count(tmp_path: Path, server: Server) -> None:
    runs = tmp_path / "runs"
    asyncio.run(run_batch(plan(tmp_path, server, max_steps=2), runs / "smoke"))
    assert estimate(plan(tmp_path, server), runs / "a", runs) is None, "three turns say nothing of all"
    asyncio.run(run_batch(plan(tmp_path, server, model=server.model("other")), runs / "other"))
    found = estimate(plan(tmp_path, server), runs / "a", runs)
    assert found is not None
    assert "which had another model openai:other, here openai:tester" in found.basis


def test_the_run_itself_comes_first_and_what_is_done_costs_nothing_more(tmp_path: Path, server: Server) -> None:
    runs, planned = tmp_path / "runs", plan(tmp_path, server)
    asyncio.run(run_batch(plan(tmp_path, server, model=server.model("other")), runs / "other"))
    with pytest.raises(Stopped):
        asyncio.run(run_batch(planned, runs / "mine", None, BudgetTracker(Budget(calls=6))))
    found = estimate(planned, runs / "mine", runs)
    assert found is not None
    assert (found.basis, found.left, found.cost) == (f"as in 1 finished one of {runs / 'mine'}", 2, None)


@pytest.mark.heavy
@needs("training")
@pytest.mark.parametrize("agent", installed("react", "reasoner-actor", "opex"))
def test_before_a_run_and_after_some_of_it_the_estimate_holds(agent: str, tmp_path: Path) -> None:
    """At a local endpoint that plays as the expert: what was said before is what is used, within a factor of 1.5."""
    runs = tmp_path / "runs"

    def planned(server: Server, **flags: object) -> RunSpec:
        base = {"agent": agent, "model": server.model(), "set": {"form": "free"}}
        return make_run_spec(configure({**base, **flags}, tmp_path))

    def used(folder: Path, spec: RunSpec) -> tuple[int, int, int]:
        run = RunFolder(folder)
        results = run.results(spec.manifest.tasks)
        return (
            sum(each.calls for each in results),
            sum(each.prompt_tokens or 0 for each in results),
            sum(each.completion_tokens or 0 for each in results),
        )

    with serve(Solver()) as server:
        spec = planned(server, split="generated", limit=6)
        before = estimate(spec, runs / "a", runs)
        asyncio.run(run_batch(spec, runs / "a"))
        calls, read, written = used(runs / "a", spec)
        assert before is not None
        assert before.calls[0] / 1.5 <= calls <= before.calls[1]
        assert before.read[0] <= read <= before.read[1]
        assert written <= before.written[1], "these replies are terse"
        other = planned(server, split="generated:1000100", limit=12)
        after = estimate(other, runs / "b", runs)
        asyncio.run(run_batch(other, runs / "b"))
        assert after is not None
        assert after.basis.startswith(f"as in 6 finished ones of {runs / 'a'}")
        for ends, found in zip((after.calls, after.read, after.written), used(runs / "b", other), strict=True):
            assert ends[0] / 1.5 <= found <= ends[1] * 1.5
            assert ends[1] <= 4 * ends[0]
