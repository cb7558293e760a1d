"""Each rule of a book measured by itself: which games it can change, what arms share, and what may not decide about rules."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest

from housequest.agent.config import Settings, configure
from housequest.agent.episodes.config import EpisodeConfig
from housequest.agent.episodes.events import CallTiming, Event, Stepped
from housequest.agent.episodes.loop import run_episode
from housequest.agent.evaluation.render.worth import WorthReport
from housequest.agent.evaluation.runs.batch import run_batch
from housequest.agent.evaluation.runs.folder import Result
from housequest.agent.evaluation.runs.measurement import EachMeasurement, plan_each, told_in
from housequest.agent.evaluation.runs.sweep import SweepFolder
from housequest.worlds.errors import ConfigurationError

BOOK = """\
format: 0.2
rules:
- {id: knife, statement: "Knives are kept in a safe, or else in a bathtub.", kind: location, objects: [knife]}
- {id: candle, statement: "Candles are kept in a garbagecan.", kind: location, objects: [candle], scope: household}
- {id: also-candle, statement: "Candles are kept in a toilet.", kind: location, objects: [candle], status: candidate}
- {id: kettle, statement: "Kettles are hot.", kind: mechanic}
"""


@pytest.fixture
def book(tmp_path: Path) -> Path:
    path = tmp_path / "book.yaml"
    path.write_text(BOOK)
    return path


def settings(book: Path, **flags: object) -> Settings:
    return configure({"agent": "expert", "split": "generated:500000..500039", **flags}, book.parent)


def arms(plan: EachMeasurement) -> dict[str, int]:
    return {trial.arm: len(trial.spec.selection.tasks) for trial in plan.trials}


def test_an_arm_plays_only_what_no_other_plays_under_the_same_rules(book: Path) -> None:
    plan = plan_each(settings(book, limit=12), str(book), status="accepted")
    knives, candles, kettles = (len(one.tasks) for one in plan.each)
    assert candles > 0
    assert kettles == 0, "the expert takes no rules but those about places"
    # Of a thing that one rule is about, leaving it out is like no rules, and adding it alone is like the whole book.
    assert arms(plan) == {"nothing": 12, "book": knives + candles}
    tried = plan_each(settings(book, limit=12), str(book), ["also-candle"])
    assert arms(tried) == {
        "nothing": 12,
        "book": knives + candles,
        "1 with also-candle": candles,
        "1 alone also-candle": candles,
    }


def commands(plan: EachMeasurement, task: str, arm: str) -> list[str]:
    """The commands of a game that is really played under the rules of this arm, shared or not."""
    spec, events = plan.spec, list[Event]()
    rules = next((trial.rules for trial in plan.trials if trial.arm == arm), None)
    game = next(each for each in spec.selection.tasks if each.id == task)
    config = EpisodeConfig(spec.setup.world, max_turns=50, rules=rules)
    agent = spec.setup.make_agent(None)

    def listen(event: Event | CallTiming) -> None:
        events.extend([event] if isinstance(event, Event) else [])

    asyncio.run(run_episode(spec.setup.world.open(game), agent, config, listen))
    return [event.body.transition.command for event in events if isinstance(event.body, Stepped)]


@pytest.mark.heavy
def test_what_is_shared_is_what_would_have_been_played(book: Path) -> None:
    plan = plan_each(settings(book, limit=12), str(book), ["also-candle"])
    (one,) = plan.each
    about = {task.id for task in one.tasks}
    for task in plan.spec.selection.tasks:
        alike = commands(plan, task.id, "nothing") == commands(plan, task.id, "1 alone also-candle")
        assert alike or task.id in about
        assert (told_in(one.ways["nothing"][1], plan.topics[task.id]) == ()) == (task.id not in about)


def measured(plan: EachMeasurement, folder: Path) -> WorthReport:
    sweep = SweepFolder(folder)
    plan.begin(sweep)
    for trial in plan.trials:
        asyncio.run(run_batch(trial.spec, folder / trial.folder))
    return WorthReport(plan, sweep)


def test_games_are_drawn_for_each_rule_and_a_lost_one_counts_its_limit(book: Path, tmp_path: Path) -> None:
    plan = plan_each(settings(book, max_steps=15), str(book), ["candle", "also-candle"], games=2)
    assert [len(one.tasks) for one in plan.each] == [2, 2]
    found = measured(plan, tmp_path / "run")
    candle, also = found.each
    worth = candle.ways["nothing"]
    assert (worth.split, worth.games, worth.agent, worth.beside) == ("generated", 2, "expert", "nothing")
    numbers = [task.number for task in plan.each[0].tasks]
    assert worth.tasks == f"{min(numbers)}..{max(numbers)}"
    steps = {trial.arm: [each.steps if each.won else 15 for each in results(found, trial.folder)] for trial in plan.trials}
    assert worth.steps.value == round((sum(steps["book"]) - sum(steps["nothing"])) / 2, 2)
    assert also.ways["book"].games == 2
    assert found.errors == 0
    assert f"played    {found.played} episodes" in found.text()


def results(found: WorthReport, folder: str) -> Sequence[Result]:
    run = SweepFolder(found.folder.path).run(folder)
    return run.results(run.manifest().tasks)


@pytest.mark.parametrize(
    ("flags", "ids", "games", "reason"),
    [
        ({"split": "generated:1000000..1000030", "limit": 20}, ["also-candle"], None, "for evaluation"),
        ({"split": None}, ["candle"], None, "nobody knows the home"),
        ({"limit": 5}, ["knife"], 5, "--games draws"),
        ({}, ["knife"], 0, "out of range"),
        ({"split": "generated:500000..500000"}, ["knife"], None, "No game of generated"),
        ({"split": "generated:500000..500000", "limit": 1}, ["knife"], None, "None of 1 games"),
        ({"agent": "human"}, ["knife"], None, "takes no rules"),
        ({}, ["kettle"], None, "takes none of these rules"),
    ],
    ids=range(8),
)
def test_what_cannot_be_measured_is_refused(
    flags: dict[str, object], ids: list[str], games: int | None, reason: str, book: Path
) -> None:
    with pytest.raises(ConfigurationError, match=reason):
        plan_each(settings(book, **flags), str(book), ids, games=games)


def test_rules_of_a_home_are_measured_there_on_days_that_nobody_learned_from(tmp_path: Path) -> None:
    book = tmp_path / "home.yaml"
    book.write_text(
        "format: 0.2\nrules:\n- {id: spray, statement: Look on shelf 1., kind: location, objects: [spraybottle], "
        "scope: household, origin: {source: run, name: a, splits: ['household-light:7:1..105']}}\n"
    )
    plan = plan_each(settings(book, split=None), str(book), status="candidate", games=1)
    (task,) = plan.each[0].tasks
    assert task.split == "household-light:7"
    assert task.number > 105
    named = plan_each(settings(book, split="household-light:7:106..125"), str(book), status="candidate", games=1)
    (task,) = named.each[0].tasks
    assert 106 <= task.number <= 125
