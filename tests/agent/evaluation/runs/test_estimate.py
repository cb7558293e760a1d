"""About what a run would cost, judged by what is known."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from housequest.agent.config import Prices, configure
from housequest.agent.evaluation.runs.batch import run_batch
from housequest.agent.evaluation.runs.budget import Budget, BudgetTracker, Stopped
from housequest.agent.evaluation.runs.estimate import Estimate, estimate, of_all
from housequest.agent.evaluation.runs.folder import RunFolder
from housequest.agent.evaluation.runs.spec import RunSpec, make_run_spec
from tests.agent.playing import installed
from tests.backends.policy import Solver
from tests.backends.server import Server, serve
from tests.parts import needs


def plan(folder: Path, server: Server, **flags: object) -> RunSpec:
    base = {"world": "scripted", "agent": "react", "model": server.model(), "max_steps": 4}
    return make_run_spec(configure({**base, **flags}, folder))


def used(folder: Path, spec: RunSpec) -> tuple[int, int, int]:
    run = RunFolder(folder)
    results = run.results(spec.manifest.tasks)
    return (
        sum(each.calls for each in results),
        sum(each.prompt_tokens or 0 for each in results),
        sum(each.completion_tokens or 0 for each in results),
    )


def within(found: Estimate | None, amounts: tuple[int, int, int]) -> bool:
    assert found is not None
    ends = (found.calls, found.read, found.written)
    return all(low <= amount <= high for (low, high), amount in zip(ends, amounts, strict=True))


@pytest.mark.heavy
@needs("training")
def test_of_an_agent_that_never_played_where_no_expert_replies_a_range_is_given(tmp_path: Path, server: Server) -> None:
    runs, spec = tmp_path / "runs", plan(tmp_path, server)
    (runs / "broken").mkdir(parents=True)
    (runs / "broken" / "run.json").write_text("{")
    asyncio.run(run_batch(plan(tmp_path, server, agent="expert"), runs / "expert"))
    found = estimate(spec, runs / "a", runs=runs)
    assert found is not None
    assert "from one call each to " in found.basis
    asyncio.run(run_batch(spec, runs / "a"))
    calls, read, _ = used(runs / "a", spec)
    assert found.calls[0] <= calls <= found.calls[1]
    assert found.read[0] <= read <= found.read[1]


@pytest.mark.heavy
def test_another_run_of_the_agent_tells_of_tasks_of_its_types(tmp_path: Path, server: Server) -> None:
    runs, light = tmp_path / "runs", {"type": ["light"]}
    asyncio.run(run_batch(plan(tmp_path, server, **light), runs / "one"))
    prompt = sum(len(request.text.split()) for request in server.requests)
    spec = plan(tmp_path, server, **light, seed=1)
    prices = {spec.setup.model or "": Prices(input=1_000_000, output=0)}
    priced = replace(spec, setup=replace(spec.setup, configured=spec.setup.configured.model_copy(update={"prices": prices})))
    found = estimate(priced, runs / "all", runs=runs)
    assert found is not None
    # Of one episode it is not known how far others lie from it.
    assert (found.left, found.basis) == (1, f"as in 1 finished one of {runs / 'one'}")
    assert found.calls == pytest.approx((4 / 1.5, 4 * 1.5))
    assert found.read == pytest.approx((prompt / 1.5, prompt * 1.5))
    assert found.cost == pytest.approx(found.read, abs=1)
    assert "About 3 to 6 calls" in str(found)
    other = estimate(plan(tmp_path, server), runs / "all", runs=runs)
    assert other is not None
    assert "; those of " in other.basis, "nothing was seen of the other types"


def test_the_share_of_each_type_counts(tmp_path: Path) -> None:
    few, many = {"easy": [2.0, 3.0, 2.0, 3.0], "hard": [40.0, 41.0, 40.0, 41.0]}, 12
    assert of_all({"easy": few["easy"]}, {"easy": many})[1] < 3.01 * many
    low, high = of_all(few, {"easy": 1, "hard": 11})
    assert low < 2.5 + 11 * 40.5 < high < 12 * 41.01
    assert low > 400, "most are hard"


@pytest.mark.heavy
def test_a_world_tells_nothing_of_another(tmp_path: Path, server: Server) -> None:
    runs = tmp_path / "runs"
    asyncio.run(run_batch(plan(tmp_path, server), runs / "scripted"))
    found = estimate(plan(tmp_path, server, world="alfworld", split="example"), runs / "a", runs=runs)
    assert found is not None
    assert "scripted" not in found.basis


@pytest.mark.heavy
def test_what_was_played_under_other_conditions_does_not_count(tmp_path: Path, server: Server) -> None:
    runs = tmp_path / "runs"
    asyncio.run(run_batch(plan(tmp_path, server, max_steps=2), runs / "smoke"))
    found = estimate(plan(tmp_path, server), runs / "a", runs=runs)
    assert found is not None
    assert "smoke" not in found.basis, "three turns say nothing of all"
    asyncio.run(run_batch(plan(tmp_path, server, model=server.model("other")), runs / "other"))
    found = estimate(plan(tmp_path, server), runs / "a", runs=runs)
    assert found is not None
    assert "which had another model openai:other, here openai:tester" in found.basis


@pytest.mark.heavy
def test_the_run_itself_comes_first_and_what_is_done_costs_nothing_more(tmp_path: Path, server: Server) -> None:
    runs, planned = tmp_path / "runs", plan(tmp_path, server)
    asyncio.run(run_batch(plan(tmp_path, server, model=server.model("other")), runs / "other"))
    with pytest.raises(Stopped):
        asyncio.run(run_batch(planned, runs / "mine", None, BudgetTracker(Budget(calls=6))))
    found = estimate(planned, runs / "mine", runs=runs)
    assert found is not None
    assert str(runs / "mine") in found.basis
    assert (found.left, found.cost) == (2, None)
    asyncio.run(run_batch(planned, runs / "mine"))
    assert str(estimate(planned, runs / "mine", runs=runs)) == "Nothing is left to play, so it costs nothing more."


def test_all_runs_of_a_series_are_counted(tmp_path: Path, server: Server) -> None:
    runs, planned = tmp_path / "runs", plan(tmp_path, server)
    asyncio.run(run_batch(planned, runs / "three" / "run-1"))
    asyncio.run(run_batch(planned, runs / "one"))
    once = estimate(planned, runs / "new", runs=runs)
    rest = estimate(planned, *(runs / "three" / f"run-{number}" for number in (1, 2, 3)), runs=runs)
    assert once is not None and rest is not None
    assert (once.left, rest.left) == (3, 6)
    again = once.with_retries(3)
    assert (again.calls[0], again.calls[1]) == (once.calls[0], 4 * once.calls[1])
    assert "from none lost to all lost in 4 attempts" in str(again)


@pytest.mark.heavy
def test_the_built_in_model_plays_for_its_own_estimate(tmp_path: Path) -> None:
    spec = make_run_spec(configure({"agent": "reasoner-actor", "split": "generated", "limit": 3}, tmp_path))
    found = estimate(spec, tmp_path / "a", runs=tmp_path)
    asyncio.run(run_batch(spec, tmp_path / "a"))
    assert within(found, used(tmp_path / "a", spec))
    assert found is not None and found.read[1] <= 4 * found.read[0]


@pytest.mark.heavy
@needs("training")
@pytest.mark.parametrize("agent", installed("react", "reasoner-actor", "opex", "socratic"))
@pytest.mark.parametrize("reply", ["Thought: hm.\nAction: go to fridge 1", "What?", "Plan:\n1. look\n2. look"])
def test_a_poor_model_stays_within_what_is_said_after_a_good_one_played(agent: str, reply: str, tmp_path: Path) -> None:
    runs, base = tmp_path / "runs", {"agent": agent, "split": "generated", "limit": 6, "set": {"form": "free"}}
    with serve(Solver()) as server:
        asyncio.run(run_batch(make_run_spec(configure({**base, "model": server.model()}, tmp_path)), runs / "good"))
    with serve(lambda _: reply) as server:
        spec = make_run_spec(configure({**base, "model": server.model("poor")}, tmp_path))
        found = estimate(spec, runs / "poor", runs=runs)
        asyncio.run(run_batch(spec, runs / "poor"))
    amounts = (calls, read, written) = used(runs / "poor", spec)
    assert found is not None
    assert found.calls[0] <= calls <= found.calls[1], (amounts, found)
    assert found.read[0] <= read <= found.read[1], (amounts, found)
    assert written <= found.written[1], "one word is fewer than anything that can be read"


@pytest.mark.heavy
@needs("training")
@pytest.mark.parametrize("agent", installed("react", "reasoner-actor", "opex"))
def test_before_a_run_and_after_some_of_it_the_estimate_holds(agent: str, tmp_path: Path) -> None:
    """At a local endpoint that plays as the expert: what was said before is what is used, within a factor of 1.5."""
    runs = tmp_path / "runs"

    def planned(server: Server, **flags: object) -> RunSpec:
        base = {"agent": agent, "model": server.model(), "set": {"form": "free"}}
        return make_run_spec(configure({**base, **flags}, tmp_path))

    with serve(Solver()) as server:
        spec = planned(server, split="generated", limit=6)
        before = estimate(spec, runs / "a", runs=runs)
        asyncio.run(run_batch(spec, runs / "a"))
        calls, read, written = used(runs / "a", spec)
        assert before is not None
        assert before.calls[0] / 1.5 <= calls <= before.calls[1]
        assert before.read[0] <= read <= before.read[1]
        assert written <= before.written[1], "these replies are terse"
        other = planned(server, split="generated:1000100", limit=12)
        after = estimate(other, runs / "b", runs=runs)
        asyncio.run(run_batch(other, runs / "b"))
        assert after is not None
        assert after.basis.startswith(f"as in 6 finished ones of {runs / 'a'}")
        for ends, found in zip((after.calls, after.read, after.written), used(runs / "b", other), strict=True):
            assert ends[0] / 1.5 <= found <= ends[1] * 1.5
            assert ends[1] <= 4 * ends[0]
