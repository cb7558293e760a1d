"""Counts from played games of what several players did twice and what their words changed; gain; and why several lost."""

from __future__ import annotations

import asyncio
import csv
import io
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from housequest.agent.base import Act, Decision, Emitter, GiveUp, Grants, ParseFailure, Turn
from housequest.agent.episodes.config import EpisodeConfig
from housequest.agent.episodes.events import CallTiming, Event
from housequest.agent.episodes.together import Partner, TogetherConfig, run_together
from housequest.agent.evaluation.analysis.arms import Arm
from housequest.agent.evaluation.analysis.failures import FailureKind, failure_of
from housequest.agent.evaluation.analysis.together import shared_work
from housequest.agent.evaluation.library import evaluate, read_report, report
from housequest.agent.evaluation.render.comparison import Comparison, read_for_comparison
from housequest.agent.evaluation.render.export import as_csv, as_markdown
from housequest.agent.evaluation.render.table import TabledReport
from housequest.agent.evaluation.runs.folder import RunFolder
from housequest.worlds.base import Observation
from housequest.worlds.env import shared_house
from housequest.worlds.household.talk import Claimed
from housequest.worlds.registry import make_world
from housequest.worlds.shared import WAIT
from tests.parts import needs

KITCHEN = "chores:60000"
CLAIMS = [str(Claimed(4, "tomato 1", "fridge 1")), str(Claimed(5, "lettuce 1", "garbagecan 1"))]
WAITED = Act(WAIT)


@dataclass
class Actor:
    """Does what stands on a list, then the last of it for ever."""

    decisions: Sequence[Decision]
    name: str = "actor"

    def begin(self, goal: str, observation: Observation, grants: Grants) -> None: ...

    async def decide(self, memory: None, turn: Turn, emit: Emitter) -> tuple[Decision, None]:
        return self.decisions[min(turn.number, len(self.decisions)) - 1], None


def acts(*commands: str) -> list[Decision]:
    return [*map(Act, commands), WAITED]


def played(turns: int, *players: Sequence[Decision], name: str = "alfworld", task: str = KITCHEN) -> list[Event]:
    world, told = make_world(name), list[Event]()
    config = EpisodeConfig(world, max_turns=turns)
    partners = [Partner(name, Actor(each), config) for name, each in zip(("Ann", "Bob"), players, strict=True)]

    def listen(event: Event | CallTiming) -> None:
        if isinstance(event, Event):
            told.append(event)

    house = shared_house(world, world.task(task), ("Ann", "Bob"))
    asyncio.run(run_together(house, partners, listen, TogetherConfig(order="at-once")))
    # As they stand in a record, which has no beliefs.
    return [Event.model_validate_json(event.model_dump_json()) for event in told]


def test_work_that_another_has_done_is_counted() -> None:
    ann: list[Decision] = [
        Act("go to fridge 1"),
        Act("open fridge 1", ("psst",)),
        Act("go to countertop 1"),
        Act("go to fridge 1"),
        WAITED,
        Act("go to countertop 2"),
        WAITED,
    ]
    bob: list[Decision] = [
        Act("go to countertop 1", (CLAIMS[0],)),
        Act("take tomato 1 from countertop 1"),
        Act("go to microwave 1", (CLAIMS[1],)),
        Act("heat tomato 1 with microwave 1"),
        Act("heat tomato 1 with microwave 1"),
        Act("go to countertop 2"),
        Act("go to sinkbasin 1"),
    ]
    work = shared_work(played(7, ann, bob))
    # Countertop 1 again by Ann, and countertop 2 by the second player there.
    assert [each.looked for each in work.values()] == [3, 3]
    assert sum(each.looked_twice for each in work.values()) == 2
    assert work["Ann"].looked_twice >= 1
    assert (work["Bob"].treated, work["Bob"].treated_twice, work["Ann"].treated) == (2, 1, 0)
    assert [(each.aimed, each.alike) for each in work.values()] == [(5, 1), (7, 1)]
    # Bob turns from the tomato to the lettuce after Ann has spoken; Ann never says what she is at.
    assert (work["Bob"].heard, work["Bob"].swayed, work["Bob"].unspoken, work["Bob"].changed) == (1, 1, 5, 0)
    assert (work["Ann"].heard, work["Ann"].unspoken) == (0, 0)


def test_a_place_where_something_was_to_be_done_is_not_looked_into_twice() -> None:
    ann = acts("go to countertop 1", "go to toaster 1")
    bob = acts(WAIT, "go to countertop 1", "take tomato 1 from countertop 1")
    assert [each.looked_twice for each in shared_work(played(4, ann, bob)).values()] == [0, 0]
    idler = acts(WAIT, "go to countertop 1", "go to toaster 1")
    assert shared_work(played(4, ann, idler))["Bob"].looked_twice >= 1


@needs("graphs")
def test_who_enters_a_room_has_looked_into_nothing() -> None:
    ann = acts("walk to bathroom 1", "walk to bathroomcounter 1")
    bob = acts(WAIT, "walk to bathroom 1", "walk to bathroomcounter 1")
    work = shared_work(played(4, ann, bob, name="household-graph", task="generated:60002"))
    assert [(each.looked, each.looked_twice) for each in work.values()] == [(1, 0), (1, 1)]


@pytest.mark.parametrize(
    ("ann", "bob", "kind", "words"),
    [
        ([Act("go to fridge 1"), Act("look")], [Act("go to toaster 1"), Act("look")], FailureKind.LOOPED, "only repeated"),
        ([Act("look")], acts(*(f"go to cabinet {1 + at % 13}" for at in range(30))), FailureKind.OUT_OF_TURNS, "0 of 5 goal"),
        ([GiveUp("it is late")], [GiveUp("no idea")], FailureKind.GAVE_UP, "All of them gave up"),
        ([ParseFailure("actor", "?")], [ParseFailure("actor", "?")], FailureKind.UNREADABLE, "could be read"),
    ],
)
def test_why_several_lost_is_said(ann: list[Decision], bob: list[Decision], kind: FailureKind, words: str) -> None:
    failure = failure_of(played(12, ann, bob))
    assert failure is not None
    assert failure.kind == kind
    assert words in failure.words


@pytest.mark.heavy
def test_gain_is_of_the_same_tasks_alone(tmp_path: Path) -> None:
    split = "chores:60000..60003"
    one = evaluate(out=tmp_path / "one", agent="expert", split=split)
    two = evaluate(out=tmp_path / "two", players="expert*2", split=split)
    alone, several = (Arm(run.name, (read_for_comparison(RunFolder(run)),)) for run in (one, two))
    turns = [sum(result.turns for result in arm.runs[0].results) for arm in (alone, several)]
    for comparison in (Comparison(alone, several), Comparison(several, alone)):
        gain = comparison.gain
        assert gain is not None
        assert gain.value == pytest.approx(turns[0] / turns[1])
        assert gain.value > 1.4
        pars = [each.par for each in several.summary.played]
        par = sum(each.shortest or 0 for each in pars) / sum(each.together or 0 for each in pars)
        assert gain.efficiency == pytest.approx((gain.value - 1) / (par - 1))
        shares = [1 - b.turns / a.turns for a, b in zip(*(arm.runs[0].results for arm in (alone, several)), strict=True)]
        assert gain.improvement == pytest.approx(sum(shares) / 4)
        text = " ".join(comparison.text().split())
        assert "Gain: " in text
        assert "Co-operation efficiency" in text
        assert json.loads(comparison.render(as_json=True))["gain"]["value"] == gain.value
    assert Comparison(alone, alone).gain is None
    found = report(two)
    together = found["together"]
    assert isinstance(together, dict)
    assert together["rounds"]["mean"] == turns[1] / 4
    assert together["par"] == sum(each.together or 0 for each in pars) / 4
    text = " ".join(read_report([two], lambda _: None).text().split())
    read = read_report([two], lambda _: None)
    assert isinstance(read, TabledReport)
    rows = list(csv.DictReader(io.StringIO(as_csv(read))))
    played = RunFolder(two).results(RunFolder(two).manifest().tasks)
    said = [sum(each.messages for each in (result.players or {}).values()) for result in played]
    assert [int(row["messages"]) for row in rows] == said
    assert "| rounds |" in as_markdown(read)
    for words in ("rounds at par, at most", "places looked into twice", "turns with another's subgoal"):
        assert words in text
