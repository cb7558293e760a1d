"""The Socratic Planner: its prompts, through failure and re-planning, and where replies lead nowhere."""

from __future__ import annotations

from pathlib import Path

import pytest

from housequest.agent.agents.spec import make_agent
from housequest.agent.episodes import events
from housequest.agent.evaluation.analysis.failures import failure_of
from housequest.agent.models.registry import make_model
from housequest.worlds.base import World
from housequest.worlds.errors import ConfigurationError
from housequest.worlds.registry import make_world
from tests.agent.agents.test_agents import ended, plans, prompts
from tests.agent.agents.test_planners import ZERO, asked, episode, replies, thoughts
from tests.agent.playing import play
from tests.backends.policy import Solver
from tests.backends.server import Server

QUESTIONS = "Q1: Which sub-tasks are there?\nA1: Heating the egg and placing it."
WON = "Change: take the egg\nPlan:\n1. (Pickup, egg)\n2. (Heat, egg)\n3. (Put, egg, diningtable)"
ASKS, PLANS, ADVISES = "You take household tasks apart", "You plan household tasks", "You stand beside"


@pytest.fixture(scope="module")
def world() -> World:
    return make_world("alfworld")


def test_questions_become_a_plan_and_an_invalid_subgoal_another(world: World, tmp_path: Path) -> None:
    model = replies(
        tmp_path,
        (ASKS, "", QUESTIONS),
        (PLANS, "This was found out about it:\nQ1: Which sub-tasks", "Plan:\n1. (Open, fridge)\n2. (Pickup, microwave)"),
        (ADVISES, "Valid: yes or no", "Valid: no"),
        (ADVISES, "The microwave is among", "Cause: a microwave is too heavy"),
        (PLANS, "Why it failed: a microwave is too heavy", WON),
    )
    told = episode(world, "socratic", model)
    assert ended(told).outcome == "won"
    assert plans(told)[0].steps == ("(Open, fridge)", "(Pickup, microwave)")
    assert "a microwave is too heavy" in thoughts(told)
    (_, revision) = asked(told, "planner")
    assert "Carried out so far: (Open, fridge)\nLeft of the plan: (Pickup, microwave)" in revision
    assert "You arrive at microwave 1." in asked(told, "advisor")[0], "the text stands in for the image"
    assert "holding nothing. There: microwave 1 (closed)." in asked(told, "advisor")[0], "and so does what is there"
    for role in ("planner", "advisor"):
        seen = prompts(told, role)
        assert seen[1][: len(seen[0])] == seen[0], "prompts are appended to"


def test_a_valid_subgoal_whose_target_was_seen_is_tried_again_and_once_only(world: World, tmp_path: Path) -> None:
    model = replies(
        tmp_path,
        (ASKS, "", QUESTIONS),
        (PLANS, "Why it failed", WON),
        (PLANS, "", "Plan:\n1. (Open, countertop)"),
        (ADVISES, "Valid: yes or no", "Valid: yes"),
        (ADVISES, "", "Cause: it has no door"),
    )
    told = episode(world, "socratic", model)
    assert ended(told).outcome == "won"
    assert sum("tried again" in thought for thought in thoughts(told)) == 1
    assert ["Valid" in text for text in asked(told, "advisor")] == [True, True, False]


def test_a_valid_subgoal_whose_target_was_not_seen_is_not_tried_again(world: World, tmp_path: Path) -> None:
    model = replies(
        tmp_path,
        (ASKS, "", QUESTIONS),
        (PLANS, "Why it failed", WON),
        (PLANS, "", "Plan:\n1. (Pickup, unicorn)"),
        (ADVISES, "Valid: yes or no", "Valid: yes"),
        (ADVISES, "The unicorn is not among", "Cause: there are none"),
    )
    told = episode(world, "socratic", model)
    assert ended(told).outcome == "won"
    assert not any("tried again" in thought for thought in thoughts(told))


def test_without_questions_and_with_examples(world: World, tmp_path: Path) -> None:
    model = replies(tmp_path, (PLANS, "Write a detailed plan", WON))
    told = episode(world, "socratic", model, settings={"decompose": "none", "shots": "2"})
    assert ended(told).outcome == "won"
    assert {e.body.role for e in told if isinstance(e.body, events.ModelCall)} == {"planner"}
    assert asked(told, "planner")[0].count("Plan:\n1. (Pickup, ") == 2
    with pytest.raises(ConfigurationError, match="'chain-of-thought'\\?"):
        make_agent("socratic", world=world, model=make_model(model), settings={"decompose": "chain of thought"})


CHAIN = {**ZERO, "decompose": "chain-of-thought"}
THINKS = "so that a plan can be made of what you find out"


def test_a_chain_of_thought_becomes_a_plan_that_is_revised_like_any(world: World, tmp_path: Path) -> None:
    thinking = "First an egg has to be found.\n\nThen it is heated."
    model = replies(
        tmp_path,
        (THINKS, "Think it through step by step.", thinking),
        (PLANS, f"This was thought about it:\n{thinking}\n\nBased on this reasoning", "Plan:\n1. (Pickup, microwave)"),
        (ADVISES, "Valid: yes or no", "Valid: no"),
        (ADVISES, "", "Cause: a microwave is too heavy"),
        (PLANS, "Why it failed: a microwave is too heavy", WON),
    )
    told = episode(world, "socratic", model, settings=CHAIN)
    assert ended(told).outcome == "won"
    assert len(plans(told)) == 2
    assert thoughts(told)[0] == thinking
    assert prompts(told, "questioner") == []
    (first,) = prompts(told, "decomposer")
    assert "things to discover" not in first[0].content.lower(), "these are the questioner's"


def test_thinking_of_nothing_spends_turns_and_what_was_thought_is_kept(world: World, tmp_path: Path) -> None:
    told = episode(world, "socratic", replies(tmp_path, (THINKS, "", "\u202e...\n12")), settings=CHAIN, max_turns=2)
    failure = failure_of(told)
    assert failure is not None
    assert (failure.kind, [event.body.kind for event in told].count("spent")) == ("unreadable", 2)
    endless = "It is heated. " * 2_000
    told = episode(world, "socratic", replies(tmp_path, (THINKS, "", endless), (PLANS, "", "?")), settings=CHAIN, max_turns=3)
    assert len(prompts(told, "decomposer")) == 1
    assert len(asked(told, "planner")[0]) < 9_000


@pytest.mark.heavy
@pytest.mark.parametrize(("decompose", "calls"), [("questions", 5), ("chain-of-thought", 5), ("none", 4)])
def test_each_row_of_table_3_is_played(server: Server, world: World, tmp_path: Path, decompose: str, calls: int) -> None:
    server.policy = Solver(wrong_first_plan=True)
    settings = {"decompose": decompose, "search": "counts"}
    played = play(server, world, world.task("example:3"), "socratic", tmp_path / "e.jsonl", settings=settings)
    assert (played.ended.outcome, len(played.requests)) == ("won", calls)


def test_revisions_in_circles_end(world: World, tmp_path: Path) -> None:
    model = replies(
        tmp_path,
        (ASKS, "", QUESTIONS),
        (PLANS, "", "Plan:\n1. (Pickup, unicorn)"),
        (ADVISES, "", "Valid: no\nCause: no such thing"),
    )
    told = episode(world, "socratic", model, settings={**ZERO, "revisions": "2"})
    failure = failure_of(told)
    assert failure is not None
    assert failure.kind == "gave_up"
    assert [plan.revision for plan in plans(told)] == [0, 1, 2]
    assert "planned anew 2 times" in ended(told).reason


def test_questions_without_end_and_plans_without_questions_spend_turns(world: World, tmp_path: Path) -> None:
    endless = "\n".join(f"Q{number}: Why?\nA{number}: So." for number in range(1, 60))
    told = episode(world, "socratic", replies(tmp_path, (ASKS, "", endless)), max_turns=2)
    assert [event.body.kind for event in told].count("spent") == 2
    told = episode(world, "socratic", replies(tmp_path, (ASKS, "", QUESTIONS), (PLANS, "", "?")), max_turns=3)
    assert len(prompts(told, "questioner")) == 1, "what was found out is kept"
    failure = failure_of(told)
    assert failure is not None
    assert failure.kind == "unreadable"


def test_what_is_heard_of_while_exploring_is_fetched(world: World, tmp_path: Path) -> None:
    kitchen = world.task("example:1").source
    assert kitchen is not None
    house = tmp_path / "kitchen.json"  # one whose apples are of a kind that no table of counts has
    house.write_text(kitchen.read_text("utf-8").replace("Apple", "Mango"), "utf-8")
    model = replies(tmp_path, (ASKS, "", QUESTIONS), (PLANS, "", "Plan:\n1. (Pickup, mango)\n2. (Put, mango, microwave)"))
    told = episode(world, "socratic", model, house=str(house), settings={"shots": "0", "patience": "0", "revisions": "0"})
    assert sum("the room is explored for it" in text for text in thoughts(told)) == 1
    stepped = [event.body for event in told if isinstance(event.body, events.Stepped)]
    seen, taken, *after = (step for step in stepped if "mango" in step.observation)
    assert "you see" in seen.observation
    assert taken.command.startswith("take mango")
    assert taken.turn == seen.turn + 1, "it is taken where it was seen, and nothing else is looked into"
    assert after[-1].command.startswith("move mango")


@pytest.mark.parametrize(
    ("subgoal", "can"),
    [
        ("(Toggle, microwave)", "hold a thing and heat it with the microwave"),
        ("(Toggle, faucet)", "hold a thing and clean it with the sinkbasin"),
        ("(Pickup, fridge)", "hold a thing and cool it with the fridge"),
    ],
)
def test_what_can_be_done_with_a_place_is_said(world: World, tmp_path: Path, subgoal: str, can: str) -> None:
    model = replies(
        tmp_path,
        (ASKS, "", QUESTIONS),
        (PLANS, "Why it failed", WON),
        (PLANS, "", f"Plan:\n1. {subgoal}"),
        ("", "", "Valid: no"),
    )
    told = episode(world, "socratic", model)
    assert ended(told).outcome == "won"
    assert can in plans(told)[1].reason
    revising = next(text for text in asked(told, "planner") if "Why it failed" in text)
    assert "\nHow it failed: the " in revising
    assert can in revising, "the model is told, and not the record alone"
    assert all(can in prompt[-1].content for prompt in prompts(told, "advisor"))
    assert not any(isinstance(event.body, events.Stepped) and "use" in event.body.command for event in told)
