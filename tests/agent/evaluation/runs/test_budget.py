"""Budgets: read, kept whatever is in flight, counted over sittings, and gone on with."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from housequest.agent.config import Prices, configure
from housequest.agent.evaluation.analysis.metrics import Summary
from housequest.agent.evaluation.analysis.run import read_for_comparison
from housequest.agent.evaluation.render.report import RunReport
from housequest.agent.evaluation.runs.batch import RunOptions, run_batch
from housequest.agent.evaluation.runs.budget import Budget, BudgetTracker, Stopped, read_budget
from housequest.agent.evaluation.runs.folder import RunFolder
from housequest.agent.evaluation.runs.spec import RunSpec, make_run_spec
from housequest.agent.models.openai.server import LONGEST_WAIT
from housequest.worlds.errors import ConfigurationError
from tests.backends.server import Server, raw, serve, status

pytestmark = pytest.mark.heavy

PRICES = Prices(input=500_000, output=1_000_000)


def plan(folder: Path, server: Server | None, **flags: object) -> RunSpec:
    # Free, it is not asked what it can be held to.
    agent = {"agent": "react", "model": server.model(), "set": {"form": "free"}} if server else {"agent": "expert"}
    spec = make_run_spec(configure({"split": "generated", "limit": 6, "max_steps": 5, **agent, **flags}, folder))
    configured = spec.setup.configured.model_copy(update={"prices": {spec.setup.model or "": PRICES}})
    return replace(spec, setup=replace(spec.setup, configured=configured))


def play(planned: RunSpec, folder: Path, budget: Budget, **sitting: object) -> Summary:
    tracker = BudgetTracker(budget)
    settings = RunOptions(concurrency=3)
    return asyncio.run(run_batch(planned, folder, replace(settings, **sitting), tracker))  # pyright: ignore[reportArgumentType]


def episodes(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in (folder / "episodes").iterdir()}


@pytest.mark.parametrize(
    ("texts", "budget"),
    [
        ((), Budget()),
        (("calls=1000",), Budget(calls=1_000)),
        (("tokens=2M", "money=5"), Budget(tokens=2_000_000, money=5)),
        (("tokens=1.5k",), Budget(tokens=1_500)),
        (("time=90m",), Budget(seconds=5_400)),
        (("time=1h30m", "money=0.25"), Budget(seconds=5_400, money=0.25)),
        (("calls = 2k", "time=45s"), Budget(calls=2_000, seconds=45)),
    ],
)
def test_budgets_are_read(texts: tuple[str, ...], budget: Budget) -> None:
    assert read_budget(texts) == budget


@pytest.mark.parametrize(
    "text",
    ["calls", "calls=", "calls=0", "calls=-1", "calls=1.5", "tokens=2X", "money=nan", "time=90", "time=", "time=0s", "call=3"],
)
def test_what_is_no_budget_is_refused_with_the_forms(text: str) -> None:
    with pytest.raises(ConfigurationError, match="tokens=2M"):
        read_budget([text])
    with pytest.raises(ConfigurationError, match="twice"):
        read_budget(["calls=1", "calls=2"])


@given(
    st.text(max_size=30)
    | st.sampled_from(("calls", "tokens", "money", "time")).flatmap(lambda k: st.text(max_size=12).map(f"{k}={{}}".format))
)
def test_any_text_is_a_budget_or_refused(text: str) -> None:
    try:
        assert isinstance(read_budget([text]), Budget)
    except ConfigurationError as error:
        assert "--budget" in str(error)


def test_no_call_begins_beyond_the_budget_and_the_same_run_goes_on(tmp_path: Path, server: Server) -> None:
    planned = plan(tmp_path, server)
    with pytest.raises(Stopped, match=r"budget of 13 calls is used up\. Used in all, earlier sessions included: 13 calls"):
        play(planned, tmp_path / "run", Budget(calls=13))
    assert len(server.requests) == 13
    assert list((tmp_path / "run" / "episodes").glob("*.part"))
    broken = {file.name.removesuffix(".jsonl.part") for file in (tmp_path / "run" / "episodes").glob("*.part")}
    sat = (tmp_path / "run" / "walls.jsonl").read_text()
    with pytest.raises(Stopped, match="13 calls"):
        play(planned, tmp_path / "run", Budget(calls=13))
    again = (tmp_path / "run" / "walls.jsonl").read_text().removeprefix(sat)
    resumed = [line["episode"] for line in map(json.loads, again.splitlines()) if line.get("resumed")]
    assert resumed, "a sitting that only goes on is added to those before it"
    assert broken.issuperset(resumed)
    assert len(server.requests) == 13
    with pytest.raises(Stopped, match="budget of 20 calls"):
        play(planned, tmp_path / "run", Budget(calls=20))
    assert len(server.requests) == 20
    assert play(planned, tmp_path / "run", Budget()).overall.finished == 6
    assert len(server.requests) == 30
    assert play(planned, tmp_path / "run", Budget(calls=30)).overall.finished == 6
    play(planned, tmp_path / "whole", Budget())
    assert episodes(tmp_path / "run") == episodes(tmp_path / "whole")


def test_what_brings_no_reply_is_paid_for_as_well(tmp_path: Path, server: Server) -> None:
    held = plan(tmp_path, server, set={"form": "auto"})
    with pytest.raises(Stopped, match="budget of 13 calls is used up"):
        play(held, tmp_path / "run", Budget(calls=13))
    assert len(server.requests) + len(server.probes) == 13
    play(held, tmp_path / "run", Budget())
    report = RunReport(read_for_comparison(RunFolder(tmp_path / "run")))
    assert any(line.startswith("Beside these, 4 calls to find out what it can do") for line in report.sentences())


@pytest.mark.parametrize("kind", ["tokens", "money"])
def test_tokens_and_money_end_it_with_what_was_in_flight(kind: str, tmp_path: Path, server: Server) -> None:
    planned = plan(tmp_path, server)
    play(planned, tmp_path / "whole", Budget())
    words = [len(request.text.split()) for request in server.requests]
    total = sum(words) + 6 * len(words) if kind == "tokens" else (sum(words) + 12 * len(words)) / 2
    server.requests.clear()
    budget = Budget(tokens=int(total // 2)) if kind == "tokens" else Budget(money=total / 2)
    with pytest.raises(Stopped, match="is used up"):
        play(planned, tmp_path / "run", budget)
    first = len(server.requests)
    assert 5 < first < 25
    with pytest.raises(Stopped, match="is used up"):
        play(planned, tmp_path / "run", budget)
    assert len(server.requests) == first, "what an earlier sitting used counts"
    play(planned, tmp_path / "run", Budget())
    assert episodes(tmp_path / "run") == episodes(tmp_path / "whole")


def test_tokens_that_nobody_counts_end_it_too(tmp_path: Path, server: Server) -> None:
    server.behave(otherwise=raw(b'{"choices": [{"message": {"content": "Action: look"}}]}'))
    with pytest.raises(Stopped, match="does not say how many tokens") as caught:
        play(plan(tmp_path, server), tmp_path / "run", Budget(tokens=10_000))
    assert "calls=N" in caught.value.way_on
    assert play(plan(tmp_path, server), tmp_path / "run", Budget(calls=1_000)).overall.finished == 6


def test_time_is_the_sittings_own_also_where_no_model_is_called(tmp_path: Path, server: Server) -> None:
    for planned, folder in ((plan(tmp_path, None), tmp_path / "expert"), (plan(tmp_path, server), tmp_path / "react")):
        with pytest.raises(Stopped, match="time of this session is up"):
            play(planned, folder, Budget(seconds=1e-9))
        assert not server.requests
        assert play(planned, folder, Budget(seconds=600)).overall.finished == 6


@pytest.mark.timeout(LONGEST_WAIT)  # one that is not sent away comes back only then
@pytest.mark.parametrize("code", [429, 503])
def test_when_the_time_is_up_whoever_waits_for_the_endpoint_is_sent_away(code: int, tmp_path: Path, server: Server) -> None:
    # The first call is refused, and is to come back after a minute; the sitting ends long before.
    server.behave(status(code, retry_after=f"{LONGEST_WAIT:.0f}"))
    with pytest.raises(Stopped, match="time of this session is up"):
        play(plan(tmp_path, server), tmp_path / "run", Budget(seconds=0.7), concurrency=1)
    assert len(server.requests) <= 1
    server.reset()
    assert play(plan(tmp_path, server), tmp_path / "run", Budget()).overall.finished == 6


@pytest.mark.parametrize("code", [401, 403, 404, 308])
def test_what_every_call_would_meet_stops_the_run_and_spoils_nothing(code: int, tmp_path: Path, server: Server) -> None:
    server.behave(otherwise=status(code))
    server.probing = status(code)
    planned = plan(tmp_path, server)
    with pytest.raises(Stopped, match=r"127\.0\.0\.1"):
        play(planned, tmp_path / "run", Budget())
    assert len(server.requests) <= 3
    assert (tmp_path / "run" / "index.jsonl").read_bytes() == b""
    server.reset()
    assert play(planned, tmp_path / "run", Budget()).overall.errors == 0


def test_a_server_that_is_not_there_stops_the_run_with_one_message(tmp_path: Path) -> None:
    with serve() as gone:
        planned = plan(tmp_path, gone)
    with pytest.raises(Stopped, match="cannot be reached"):
        play(planned, tmp_path / "run", Budget(), concurrency=140)
    assert (tmp_path / "run" / "index.jsonl").read_bytes() == b""


def test_a_spent_account_stops_the_run_where_it_is(tmp_path: Path, server: Server) -> None:
    spent = status(429, {"error": {"message": "You have no money", "code": "insufficient_quota"}})
    planned = plan(tmp_path, server)
    play(planned, tmp_path / "whole", Budget())
    from tests.backends.server import answer

    server.behave(*[answer] * 11, otherwise=spent)
    with pytest.raises(Stopped, match="account's balance and quota"):
        play(planned, tmp_path / "run", Budget())
    server.reset()
    assert play(planned, tmp_path / "run", Budget()).overall.errors == 0
    assert episodes(tmp_path / "run") == episodes(tmp_path / "whole")


def test_a_record_that_does_not_fit_is_set_aside_and_said_once(tmp_path: Path, server: Server) -> None:
    planned, said = plan(tmp_path, server), list[str]()
    with pytest.raises(Stopped):
        play(planned, tmp_path / "run", Budget(calls=11))
    parts = sorted((tmp_path / "run" / "episodes").glob("*.part"))
    assert len(parts) >= 2
    parts[0].write_bytes(parts[0].read_bytes().replace(b'"max_turns":5', b'"max_turns":6'))
    parts[1].write_bytes(b"\xff\xfe\n" + parts[1].read_bytes())
    assert play(planned, tmp_path / "run", Budget(), say=said.append).overall.finished == 6
    assert len(said) == 1
    assert str(parts[0]) in said[0] or str(parts[1]) in said[0]
    aside = {file.name for file in (tmp_path / "run" / "episodes").glob("*.unfit-1")}
    assert aside == {f"{part.name}.unfit-1" for part in parts[:2]}
    play(planned, tmp_path / "whole", Budget())
    kept = {name: content for name, content in episodes(tmp_path / "run").items() if "unfit" not in name}
    assert kept == episodes(tmp_path / "whole")
