"""A model for each role: who is asked what, and what a run, its budget and its report know of that."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from housequest.agent.agents.spec import agent_spec, make_agent
from housequest.agent.config import Prices, RolePrices, configure
from housequest.agent.episodes.events import Stepped
from housequest.agent.episodes.record import read_episode
from housequest.agent.evaluation.analysis.run import read_for_comparison
from housequest.agent.evaluation.library import evaluate, read_report, report
from housequest.agent.evaluation.render.table import Report, Table
from housequest.agent.evaluation.runs.batch import RunOptions, run_batch
from housequest.agent.evaluation.runs.budget import Budget, BudgetTracker, Stopped
from housequest.agent.evaluation.runs.estimate import estimate
from housequest.agent.evaluation.runs.folder import RunFolder
from housequest.agent.evaluation.runs.spec import RunSpec, make_run_spec
from housequest.agent.models.base import Completion, Model, ModelWrapper, Request, RoleModels, in_role, roles_of
from housequest.agent.models.registry import make_model
from housequest.agent.setup import set_up
from housequest.worlds.errors import ConfigurationError
from housequest.worlds.registry import make_world
from tests.agent.evaluation.recorded import paired
from tests.agent.playing import installed
from tests.backends.policy import Solver
from tests.backends.server import Server, answer, seeing, serve, status

PRICED = '[prices."openai:tester"]\ninput = 1000\noutput = 2000\n[prices."openai:small"]\ninput = 10\noutput = 20\n'


@pytest.fixture(scope="module")
def running() -> Iterator[tuple[Server, Server]]:
    with serve(Solver()) as one, serve(Solver()) as other:
        yield one, other


@pytest.fixture
def big(running: tuple[Server, Server]) -> Server:
    running[0].reset()
    return running[0]


@pytest.fixture
def small(running: tuple[Server, Server]) -> Server:
    running[1].reset()
    return running[1]


def named(big: Server, small: Server, role: str) -> list[str]:
    return [big.model(), f"{role}={small.model().replace('tester', 'small')}"]


def plan(big: Server, small: Server, role: str = "actor", **flags: object) -> RunSpec:
    models = named(big, small, role)
    return make_run_spec(configure({"agent": "reasoner-actor", "split": "generated", "limit": 2, "model": models, **flags}))


def play(planned: RunSpec, folder: Path, budget: Budget | None = None) -> int:
    return asyncio.run(run_batch(planned, folder, RunOptions(), BudgetTracker(budget))).overall.won


def episodes(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in (*(folder / "episodes").iterdir(), folder / "index.jsonl")}


def in_line(report: Report) -> str:
    """All that a report says, on one line."""
    sections = report.sections()
    said = (line for section in sections for line in (section.text() if isinstance(section, Table) else section))
    return " ".join(" ".join(said).split())


def lines(place: Path) -> str:
    return in_line(read_report([place], configure().prices_of))


def told(place: Path) -> dict[str, Any]:
    return report(place)


def commands(run: Path) -> list[object]:
    (episode,) = (run / "episodes").iterdir()
    bodies = [event.body for event in read_episode(episode)]
    return [(body.command, body.observation) for body in bodies if isinstance(body, Stepped)]


ASKED = {
    "reasoner-actor": "actor",
    "opex": "observer",
    "pet": "tracker",
    "socratic": "questioner",
    "lota": "selector",
    "llm-planner": "planner",
}


@pytest.mark.heavy
@pytest.mark.parametrize("agent", installed(*ASKED))
def test_each_model_is_asked_in_its_own_roles_alone_and_plays_as_one_would(
    agent: str, tmp_path: Path, big: Server, small: Server
) -> None:
    alone = evaluate(out=tmp_path / "one", agent=agent, split="generated", limit=1, model=big.model())
    big.reset()
    play(plan(big, small, ASKED[agent], agent=agent, limit=1), tmp_path / "two")
    (line,) = (tmp_path / "two" / "index.jsonl").read_text().splitlines()
    calls = {role: used["calls"] for role, used in json.loads(line)["roles"].items()}
    assert calls.pop(ASKED[agent]) == len(small.requests) > 0
    assert sum(calls.values()) == len(big.requests)
    assert small.probes, "each is asked what it can do"
    assert {ASKED[agent], *calls} <= {*agent_spec(agent).roles_with({})}
    assert commands(tmp_path / "two") == commands(alone)
    assert "roles" not in (alone / "index.jsonl").read_text()


@pytest.mark.heavy
def test_a_run_of_two_models_says_what_each_did(tmp_path: Path, big: Server, small: Server) -> None:
    planned = plan(big, small, limit=2)
    assert planned.config.model == "openai:tester,actor=openai:small"
    assert play(planned, tmp_path / "run") == 2
    data = told(tmp_path / "run")
    assert data["model"] == "openai:tester,actor=openai:small"
    roles = data["by_role"]
    assert {role: (used["model"], used["calls"]) for role, used in roles.items()} == {
        "actor": ("openai:small", len(small.requests)),
        "reasoner": ("openai:tester", len(big.requests)),
    }
    text = lines(tmp_path / "run")
    assert "model openai:tester,actor=openai:small" in text
    assert f"As the actor, openai:small: {len(small.requests)} calls, " in text
    assert 'Cost: not known; set input and output of [prices."openai:tester"] and [prices."openai:small"] in' in text


@pytest.mark.heavy
def test_a_run_that_stops_between_its_models_goes_on_with_the_same_ones(tmp_path: Path, big: Server, small: Server) -> None:
    play(plan(big, small), tmp_path / "whole")
    asked = len(big.requests) + len(small.requests)
    with pytest.raises(Stopped, match="budget of 5 calls"):
        play(plan(big, small), tmp_path / "run", Budget(calls=5))
    assert play(plan(big, small), tmp_path / "run") == 2
    assert len(big.requests) + len(small.requests) == 2 * asked, "nothing is paid twice"
    assert episodes(tmp_path / "run") == episodes(tmp_path / "whole")
    for other in (plan(big, small, "reasoner"), plan(big, small, model=big.model())):
        with pytest.raises(ConfigurationError, match="model"):
            play(other, tmp_path / "run")


@pytest.mark.heavy
def test_a_budget_of_money_counts_each_role_at_its_models_price(
    tmp_path: Path, big: Server, small: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "housequest.toml").write_text(PRICED)
    monkeypatch.chdir(tmp_path)
    free = plan(big, small, set={"form": "free"})  # without the calls that find out how it is held
    assert isinstance(free.setup.prices, RolePrices)
    play(free, tmp_path / "run")
    roles = told(tmp_path / "run")["by_role"]
    paid = {
        role: (used["prompt_tokens"] * price + used["completion_tokens"] * 2 * price) / 1_000_000
        for role, price in (("reasoner", 1_000), ("actor", 10))
        for used in (roles[role],)
    }
    assert {role: used["cost"] for role, used in roles.items()} == pytest.approx(paid)
    assert told(tmp_path / "run")["cost"] == pytest.approx(sum(paid.values()))
    tracker = BudgetTracker()
    asyncio.run(run_batch(free, tmp_path / "counted", RunOptions(), tracker))
    assert tracker.used.money == pytest.approx(sum(paid.values()))
    again = BudgetTracker()
    asyncio.run(run_batch(free, tmp_path / "counted", RunOptions(), again))
    assert again.used.money == pytest.approx(sum(paid.values())), "as its records tell it"
    guessed = estimate(plan(big, small, limit=4, set={"form": "free"}), tmp_path / "new", runs=tmp_path)
    assert guessed is not None
    assert guessed.cost is not None
    assert guessed.cost[0] <= 2 * sum(paid.values()) <= guessed.cost[1]


def test_a_price_that_is_missing_leaves_the_cost_open(tmp_path: Path) -> None:
    (tmp_path / "housequest.toml").write_text('[prices."openai:big"]\ninput = 1\noutput = 2\n')
    settings = configure(folder=tmp_path)
    assert settings.prices_of("openai:big,actor=openai:small") is None
    both = settings.prices_of("openai:big,actor=builtin")
    assert both is not None
    assert (both.of("actor"), both.of("reasoner")) == (Prices(input=0, output=0), Prices(input=1, output=2))


def test_a_call_that_fails_is_told_with_its_role_and_a_model_that_is_down_with_its_name(
    tmp_path: Path, big: Server, small: Server
) -> None:
    small.behave(status(413), status(413))
    play(plan(big, small, limit=1), tmp_path / "spoiled")
    assert "It was asked as the actor." in lines(tmp_path / "spoiled")
    small.behave(otherwise=status(401))
    small.probing = status(401)
    with pytest.raises(Stopped, match="openai:small"):
        play(plan(big, small), tmp_path / "down")


@pytest.mark.heavy
def test_a_comparison_knows_when_a_roles_model_alone_differs(tmp_path: Path, big: Server, small: Server) -> None:
    play(plan(big, small), tmp_path / "one")
    play(plan(big, small, "reasoner"), tmp_path / "other")
    runs = [read_for_comparison(RunFolder(tmp_path / name)) for name in ("one", "other")]
    said = in_line(paired(*runs))
    assert "openai:tester,actor=openai:small" in said
    assert "openai:tester,reasoner=openai:small" in said


@pytest.mark.parametrize(
    ("agent", "model", "told"),
    [
        ("reasoner-actor", "openai:x,acter=openai:y", "no role 'acter': its roles are reasoner, actor. Did you mean 'actor'?"),
        ("react", "openai:x,observer=openai:y", "no role 'observer': its roles are react, reflection"),
        ("reasoner-actor", "actor=openai:y", "A model is named for actor alone; name one for the other roles"),
        ("reasoner-actor", "builtin,actor=openai:y", "The model builtin reads short prompts of its own"),
        ("reasoner-actor", "openai:x,actor=builtin", "The model builtin reads short prompts of its own"),
        ("reasoner-actor", "openai:x,actor=small", "There is no kind of model 'small'"),
        ("reasoner-actor", "openai:x,actor=openai:y,actor=openai:z", "Two models are named for the role actor"),
        ("reasoner-actor", ["openai:x", "openai:y"], "Two models are named for all roles"),
        pytest.param("pet", "openai:x,actor=openai:y", "subtasks, tracker, eliminator, react", id="pet"),
    ],
)
def test_what_names_no_model_of_a_role_is_refused(agent: str, model: object, told: str) -> None:
    if agent not in installed(agent):
        pytest.skip("another tree")
    with pytest.raises(ConfigurationError) as refused:
        set_up(configure({"agent": agent, "model": model}))
    assert told in str(refused.value)


def test_a_program_that_makes_its_agent_is_told_so_too() -> None:
    model = make_model("openai:x@http://127.0.0.1:9/v1,observer=openai:y@http://127.0.0.1:9/v1")
    with pytest.raises(ConfigurationError, match="has no role 'observer'"):
        make_agent("react", world=make_world("scripted"), model=model)
    asyncio.run(model.aclose())


@pytest.mark.heavy
def test_a_picture_goes_to_the_roles_whose_model_takes_one(tmp_path: Path, big: Server, small: Server) -> None:
    if "opex" not in installed("opex"):
        pytest.skip("another tree")
    big.probing, small.probing = answer, seeing
    play(plan(big, small, "observer", agent="opex", limit=1, grant=["view"]), tmp_path / "run")
    assert all(request.pngs for request in small.requests)
    assert not any(request.pngs for request in big.requests)


def test_it_is_said_where_the_prompts_of_each_go() -> None:
    near, far, key = "openai:x@http://127.0.0.1:9/v1", "openai:y@https://far.example.org/v1", "https://far.example.org"
    flags = {"agent": "reasoner-actor", "model": [near, f"actor={far}"]}
    (said,) = set_up(configure(flags)).destinations()
    assert said.startswith(f"Prompts go to {key}")
    assert said.endswith("(those of the actor).")


class Speaking(Model):
    """Says what it hears, until it is closed."""

    def __init__(self, name: str) -> None:
        self.name, self.closed = name, 0

    async def complete(self, request: Request) -> Completion:
        return Completion(self.name)

    async def aclose(self) -> None:
        self.closed += 1


def test_models_of_roles_are_one_model_to_who_holds_it() -> None:
    big, small = Speaking("big"), Speaking("small")
    model = ModelWrapper(RoleModels(big, {"actor": small, "observer": small}))
    asked = {role: asyncio.run(in_role(model, role).complete(Request(()))).text for role in ("actor", "planner", "")}
    assert asked == {"actor": "small", "planner": "big", "": "big"}
    actor = in_role(model, "actor")
    assert (roles_of(model), roles_of(actor), actor.name) == (("actor", "observer"), (), "small")
    assert isinstance(actor, ModelWrapper)
    assert in_role(model, "planner") is model
    asyncio.run(model.aclose())
    assert (big.closed, small.closed) == (1, 1)


def test_roles_of_a_later_place_are_added_to_an_earlier_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOUSEQUEST_MODEL", "openai:big,actor=openai:small")
    for given, expected in (
        (["reasoner=openai:wise", "actor=openai:tiny"], "openai:big,actor=openai:tiny,reasoner=openai:wise"),
        ("reasoner=openai:wise", "openai:big,actor=openai:small,reasoner=openai:wise"),
        ("openai:other", "openai:other"),
    ):
        assert configure({"model": given}, tmp_path).model == expected
