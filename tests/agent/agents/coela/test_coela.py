"""CoELA plays alone and in company, selects among possible plans, and its messages arrive."""

from __future__ import annotations

import contextlib
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from housequest.agent.agents.coela.agent import MESSENGER, Plan, plan_reader, possible_plans
from housequest.agent.episodes.events import Event, Planned, Said, Stepped, TurnSpent, branch
from housequest.agent.episodes.record import read_episode
from housequest.agent.evaluation.library import evaluate
from housequest.agent.evaluation.runs.folder import RunFolder
from housequest.agent.roles.base import ReplyError
from housequest.worlds.registry import make_world
from tests.backends.choosing import Choosing
from tests.backends.server import Server

PLANS = [
    Plan("look into the cabinet 1"),
    Plan("look into the cabinet 12"),
    Plan("take the mug 1 from the shelf 2"),
    Plan("wait"),
]


def recorded(run: Path) -> list[list[Event]]:
    return [list(branch(list(read_episode(file)))) for file in sorted(RunFolder(run).episodes.iterdir())]


@pytest.mark.heavy
def test_alone_it_wins_and_writes_no_messages(tmp_path: Path, server: Server) -> None:
    server.policy = Choosing(talks=True)
    run = evaluate(out=tmp_path / "one", agent="coela", model=server.model(), split="chores:60001..60002", max_steps=80)
    results = RunFolder(run).results(RunFolder(run).manifest().tasks)
    assert [result.won for result in results] == [True, True]
    prompts = [message["content"] for request in server.requests for message in request.messages]
    assert not any(words in prompt for prompt in prompts for words in ("You work with", "Message:", "messages", "wait\n"))
    assert max(len(request.messages) for request in server.requests) == 2  # rendered anew
    assert all(result.calls < result.steps for result in results)  # a plan is several commands


@pytest.mark.heavy
@pytest.mark.parametrize("talk", ["free", "turn"])
def test_in_company_a_message_that_is_sent_arrives(tmp_path: Path, server: Server, talk: str) -> None:
    server.policy = Choosing(talks=True)
    players = f"coela={server.model()}*2"
    run = evaluate(out=tmp_path / "two", players=players, split="chores:60001..60001", talk=talk, max_steps=80)
    (played,) = recorded(run)
    said = [(event.player, event.body.text) for event in played if isinstance(event.body, Said)]
    assert {who for who, _ in said} == {"Ann", "Bob"}
    prompts = [request.messages[-1]["content"] for request in server.requests]
    for who, text in said[:6]:
        other = {"Ann": "Bob", "Bob": "Ann"}[who]
        assert any(f"Your name is {other}." in prompt and f"{who}: {text}" in prompt for prompt in prompts), (who, text)
    spent = [event.body for event in played if isinstance(event.body, TurnSpent)]
    assert bool(spent) == (talk == "turn")
    assert isinstance(played[-2].body, Stepped)
    assert played[-2].body.won
    assert any(isinstance(event.body, Planned) for event in played)


def test_without_communication_it_hears_and_says_nothing(tmp_path: Path, server: Server) -> None:
    server.policy = Choosing(talks=True)
    settings = {"coela": {"communicate": False}}
    run = evaluate(
        out=tmp_path / "run",
        players=f"coela={server.model()},expert",
        split="chores:60001..60001",
        agents=settings,
        max_steps=60,
    )
    (played,) = recorded(run)
    assert not [event for event in played if isinstance(event.body, Said) and event.player == "Ann"]
    assert any("Bob: " in request.messages[-1]["content"] for request in server.requests)


def test_plans_are_what_the_goal_needs_and_what_was_seen() -> None:
    world = make_world("alfworld")
    household = world.household
    assert household is not None
    task = world.task("chores:60000")
    env = world.open(task)
    belief = household.begin(env.reset().observation)

    def plans() -> list[str]:
        return [plan.text for plan in possible_plans(household, task.goal, belief)]

    assert all(re.fullmatch(r"look into the \w+ \d+", plan) for plan in plans())
    for command in ("go to countertop 1", "take tomato 1 from countertop 1"):
        belief = household.update(belief, command, env.step(command).observation)
        if command.startswith("go"):
            assert "take the tomato 1 from the countertop 1" in plans()
            assert "take the butterknife 1 from the countertop 1" in plans()
            assert not any("statue" in plan for plan in plans())
    assert "heat the tomato 1 with the microwave 1" in plans()
    assert not any(plan.startswith(("take", "put")) for plan in plans())
    for command in ("go to microwave 1", "heat tomato 1 with microwave 1"):
        belief = household.update(belief, command, env.step(command).observation)
    assert "put the tomato 1 into the fridge 1" in plans()


@pytest.mark.parametrize(
    ("reply", "plan"),
    [
        ("Thought: so\nPlan: look into the cabinet 12", 1),
        ("Plan: **Look into the cabinet 1.**", 0),
        ("Plan: 3", 2),
        ("3.", 2),
        ('{"thought": "so", "plan": "wait"}', 3),
        ("I would take the mug 1 from the shelf 2, as it is near.", 2),
        ("Thought: the cabinet 1 first\nAction: wait", 3),
    ],
)
def test_a_plan_is_read_by_its_words_or_its_number(reply: str, plan: int) -> None:
    assert plan_reader(PLANS, chain=True).read(reply)[1] == PLANS[plan]


@pytest.mark.parametrize("reply", ["", "Plan: 9", "Plan: 0", "Plan: look into the fridge 1", "Thought: hm"])
def test_another_reply_is_no_plan(reply: str) -> None:
    with pytest.raises(ReplyError):
        plan_reader(PLANS, chain=True).read(reply)


@given(st.text(max_size=200))
def test_any_reply_is_one_of_the_plans_or_none(reply: str) -> None:
    for role in (plan_reader(PLANS, chain=True), plan_reader(PLANS, chain=False)):
        with contextlib.suppress(ReplyError):
            assert role.read(reply)[1] in PLANS
    with contextlib.suppress(ReplyError):
        said = MESSENGER.read(reply)
        assert said.isprintable()
        assert len(said) <= 300
