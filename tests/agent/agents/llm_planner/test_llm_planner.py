"""LLM-Planner: its prompts, through failure and re-planning, and where replies lead nowhere."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from housequest.agent.agents.examples import make_example_selector
from housequest.agent.agents.llm_planner import LlmPlannerSettings
from housequest.agent.agents.spec import make_agent
from housequest.agent.base import Agent, Proceed
from housequest.agent.episodes import events
from housequest.agent.episodes.config import EpisodeConfig
from housequest.agent.episodes.events import CallTiming, Event, branch
from housequest.agent.episodes.loop import run_episode
from housequest.agent.evaluation.analysis.failures import failure_of
from housequest.agent.models.base import Capabilities, Completion, Model, Request
from housequest.agent.models.registry import make_model
from housequest.worlds.base import World
from housequest.worlds.errors import ConfigurationError
from housequest.worlds.registry import make_world
from tests.agent.agents.test_agents import ended, plans, prompts, steps
from tests.agent.agents.test_planners import ZERO, asked, episode, replies, thoughts
from tests.agent.episodes.attending import Back, Other, Person, Wish
from tests.agent.golden import Answering
from tests.backends.policy import Solver

EGG = "Navigation egg, PickupObject egg, Navigation microwave, HeatObject egg, Navigation diningtable, PutObject diningtable"


@pytest.fixture(scope="module")
def world() -> World:
    return make_world("alfworld")


def test_a_failed_subgoal_is_planned_anew_from_what_is_completed_and_seen(world: World, tmp_path: Path) -> None:
    wrong = "Navigation countertop, PickupObject microwave, OpenObject fridge"
    model = replies(tmp_path, ("", "Completed plan: nothing yet", wrong), ("", "Completed plan: Navigation countertop\n", EGG))
    told = episode(world, "llm-planner", model)
    assert ended(told).outcome == "won"
    assert len(prompts(told, "planner")) == 2
    assert [plan.reason for plan in plans(told)] == [
        "the episode begins",
        "PickupObject microwave failed: the microwave is a place that cannot be picked up; "
        "hold a thing and heat it with the microwave",
    ]
    first, second = asked(told, "planner")
    assert second.endswith("\nNext plan:")
    seen = second.partition("Visible objects: ")[2].partition("\n")[0].split(", ")
    assert {"countertop", "fridge"} <= set(seen)
    assert "egg" not in first.partition("Visible objects: ")[2], "nothing was seen yet but the furniture"


def test_a_subgoal_that_takes_too_many_steps_is_planned_anew(world: World, tmp_path: Path) -> None:
    model = replies(tmp_path, ("", "", EGG))
    told = episode(world, "llm-planner", model, settings={**ZERO, "patience": "2"})
    assert ended(told).outcome == "won"
    assert plans(told)[1].reason == (
        "Navigation egg failed: 2 commands were not enough; not looked into yet: "
        "cabinet, coffeemachine, countertop, drawer, fridge, microwave, sinkbasin, stoveburner, toaster"
    )


def test_a_static_plan_is_followed_to_its_end_whatever_fails(world: World, tmp_path: Path) -> None:
    model = replies(tmp_path, ("", "", f"PickupObject microwave, OpenObject countertop, {EGG}"))
    told = episode(world, "llm-planner", model, settings={**ZERO, "replanning": "off"})
    assert ended(told).outcome == "won"
    assert len(prompts(told, "planner")) == 1
    assert "Visible objects" not in asked(told, "planner")[0]
    assert [thought.partition(" failed")[0] for thought in thoughts(told)] == [
        "PickupObject microwave",
        "OpenObject countertop",
    ]


def test_plans_on_numbered_lines_are_shown_and_read(world: World, tmp_path: Path) -> None:
    numbered = "\n".join(f"{number}. {pair}" for number, pair in enumerate(EGG.split(", "), 1))
    model = replies(tmp_path, ("one pair on a line", "", numbered))
    told = episode(world, "llm-planner", model, settings={"wording": "lines"})
    assert ended(told).outcome == "won"
    assert asked(told, "planner")[0].count("\n1. Navigation ") == 9
    with pytest.raises(ConfigurationError, match=r"'lines'\?"):
        make_agent("llm-planner", world=world, model=make_model(model), settings={"wording": "line"})


def test_what_nobody_has_seen_is_passed_over_without_asking_the_same_again(world: World, tmp_path: Path) -> None:
    model = replies(tmp_path, ("", "", "Navigation unicorn, PickupObject unicorn, PutObject moon, SliceObject unicorn"))
    told = episode(world, "llm-planner", model, max_turns=100)
    seen = [text.partition("Visible objects: ")[2].partition("\n")[0] for text in asked(told, "planner")]
    assert len(seen) > 1, "it was explored, and asked again"
    assert len(set(zip(seen, asked(told, "planner"), strict=True))) == len(seen), "and never the same again"
    failure = failure_of(told)
    assert failure is not None
    assert failure.kind == "gave_up"
    assert len(thoughts(told)) >= 4


def test_a_plan_that_is_completed_without_a_command_is_no_reason_to_ask_again(world: World, tmp_path: Path) -> None:
    model = replies(tmp_path, ("", "", "Navigation fridge, HeatObject egg"))
    told = episode(world, "llm-planner", model)
    assert len(prompts(told, "planner")) == 2, "at the beginning, and when the fridge had been gone to"
    assert steps(told) == ["go to fridge 1"]


def test_a_model_that_varies_is_asked_again_so_often_and_no_more(world: World, tmp_path: Path) -> None:
    model = replies(tmp_path, ("", "", "Navigation unicorn"))
    told = episode(world, "llm-planner", model, settings={**ZERO, "temperature": "0.7", "revisions": "3"})
    assert len(prompts(told, "planner")) == 1 + 3
    assert "planned anew 3 times" in ended(told).reason


def test_a_plan_in_circles_ends_with_the_turns(world: World, tmp_path: Path) -> None:
    model = replies(tmp_path, ("", "", ", ".join(["OpenObject fridge, CloseObject fridge"] * 20)))
    told = episode(world, "llm-planner", model, max_turns=30)
    failure = failure_of(told)
    assert failure is not None
    assert (failure.kind, ended(told).turns) == ("looped", 30)


def test_an_endless_plan_is_no_plan(world: World, tmp_path: Path) -> None:
    model = replies(tmp_path, ("", "", "Navigation egg, " * 900))
    told = episode(world, "llm-planner", model, max_turns=3)
    failure = failure_of(told)
    assert failure is not None
    assert (failure.kind, ended(told).turns) == ("unreadable", 1)
    assert len(prompts(told, "planner")) == 2, "the same question is not asked for another turn"
    assert "no plan could be read" in ended(told).reason
    for settings in ({"temperature": "0.7"}, {"form": "free"}):
        asked = prompts(episode(world, "llm-planner", model, settings=settings, max_turns=3), "planner")
        assert len(asked) == 6, "one that varies may say another plan, and a run of an earlier version goes on as it began"
    assert "more than 40 subgoals" in next(e.body.reason for e in told if isinstance(e.body, events.ParseFailed))


@pytest.mark.parametrize(
    "then", [[Other("able")], [Other("able"), Back(1)], [Other("able"), Proceed(), Back(1)]], ids=["on", "back", "on-and-back"]
)
def test_another_model_is_asked_what_one_could_not_answer(world: World, tmp_path: Path, then: list[Wish]) -> None:
    agents: list[Agent] = []
    for name, reply in (("unable", "no"), ("able", "Navigation fridge")):
        (tmp_path / name).mkdir()
        model = make_model(replies(tmp_path / name, ("", "", reply)))
        agents.append(make_agent("llm-planner", world=world, model=model, settings={"form": "auto"}))
    unable, able = agents
    person, told = Person([Proceed(), *then], other=able), list[Event]()

    def listen(event: Event | CallTiming) -> None:
        person.hear(event)
        if isinstance(event, Event):
            told.append(event)

    config = EpisodeConfig(world, max_turns=4)
    asyncio.run(run_episode(world.open(world.task("example:1")), unable, config, listen, person))
    assert set(steps(told)) == {"go to fridge 1"}
    assert steps(branch(told)) == ["go to fridge 1"]


@dataclass
class Freed(Model):
    """Breaks every form, and answers only a question that is not about its own words."""

    name: str = "freed"
    asked: list[bool] = field(default_factory=list[bool])

    async def capabilities(self) -> Capabilities:
        return Capabilities(grammar=True)

    async def complete(self, request: Request) -> Completion:
        self.asked.append(request.grammar is not None)
        fresh = request.grammar is None and len(request.messages) == 2
        return Completion("Navigation fridge" if fresh else "no")


def test_a_question_that_a_model_may_answer_freely_is_another_one(world: World) -> None:
    model, person = Freed(), Person()
    agent = make_agent("llm-planner", world=world, model=model, settings={"form": "auto"})
    config = EpisodeConfig(world, max_turns=2)
    asyncio.run(run_episode(world.open(world.task("example:1")), agent, config, person.hear, person))
    assert model.asked == [True, False, False]
    assert steps(list(person.heard)) == ["go to fridge 1"]


@dataclass
class Biased(Answering):
    """Takes a bias and keeps it."""

    biases: list[dict[str, float]] = field(default_factory=list[dict[str, float]])

    async def capabilities(self) -> Capabilities:
        return Capabilities(bias=True)

    async def complete(self, request: Request) -> Completion:
        self.biases.append(request.bias)
        return await super().complete(request)


@pytest.mark.parametrize(("settings", "favoured"), [({}, True), ({"replanning": "off"}, False)])
def test_allowed_actions_and_seen_objects_are_favoured(world: World, settings: Mapping[str, str], favoured: bool) -> None:
    model = Biased(Solver(wrong_first_plan=True))
    agent = make_agent("llm-planner", world=world, model=model, settings=settings)
    asyncio.run(run_episode(world.open(world.task("example:2")), agent, EpisodeConfig(world), lambda _: None))
    first, last = model.biases[0], model.biases[-1]
    assert first["PickupObject"] == 0.1
    assert (" cabinet" in first) is favoured
    assert " soapbar" not in first, "it was not seen yet"
    assert (" soapbar" in last) is favoured


def test_without_a_bias_none_is_asked_for(world: World) -> None:
    model = Biased(Solver())
    agent = make_agent("llm-planner", world=world, model=model, settings={"bias": "0", "search": "counts"})
    asyncio.run(run_episode(world.open(world.task("example:2")), agent, EpisodeConfig(world), lambda _: None))
    assert model.biases == [None]


def test_prompts_differ_in_what_is_completed_and_seen_alone(world: World, tmp_path: Path) -> None:
    model = replies(tmp_path, ("", "Completed plan: nothing yet", "Navigation fridge, PickupObject stove"), ("", "", EGG))
    first, second = asked(episode(world, "llm-planner", model, settings={}), "planner")
    assert first.count("Task description: ") == 1 + 9
    head, label, _ = first.rpartition("Completed plan: ")
    assert second.startswith(head + label), "a prefix cache serves all before"


@pytest.mark.games
def test_an_annotators_instructions_are_shown_where_they_are_asked_for(alfworld_games: Path, tmp_path: Path) -> None:
    told: dict[str, str] = {}
    for goals in ("human:1", "human+steps:1"):
        people = make_world("alfworld", data=alfworld_games, goals=goals)
        settings = {"examples": "train", "pool": "6", "shots": "2"}
        model = replies(tmp_path, ("", "", "Navigation moon"))
        started, *rest = episode(people, "llm-planner", model, house="valid_seen:3", settings=settings)
        assert isinstance(started.body, events.Started)
        assert started.body.wording == goals
        told[goals] = asked(rest, "planner")[0]
    goal = "Examine a bowl by the light of a desk lamp."
    assert f"Task description: {goal}\nCompleted plan" in told["human:1"]
    assert f"Task description: {goal} Turn left and walk forward to the bowl" in told["human+steps:1"]
    assert len(told["human+steps:1"]) > len(told["human:1"]) + 300, "and so it is in the examples"


@pytest.mark.parametrize("pool", [6, 13])
def test_examples_are_of_a_pool_that_is_stratified_by_type(world: World, pool: int) -> None:
    settings = LlmPlannerSettings(shots=9, pool=pool)
    store = make_example_selector(world, settings, 0).store
    often = Counter(example.type for example in store)
    assert (len(store), len(often)) == (pool, 6)
    assert max(often.values()) - min(often.values()) <= 1
    assert store == make_example_selector(world, settings, 0).store
    assert store != make_example_selector(world, settings, 1).store


def test_a_hint_asks_for_another_plan(world: World, tmp_path: Path) -> None:
    model = replies(
        tmp_path, ("", "A hint from the person", EGG), ("", "", "Navigation toaster, " + "Navigation drawer 1, " * 9)
    )
    told = episode(world, "llm-planner", model, hints={2: "think of the egg"})
    assert ended(told).outcome == "won"
    assert plans(told)[1].reason == "the person beside you gave a hint"


def test_what_nobody_has_heard_of_is_explored_for_before_planning_again(world: World, tmp_path: Path) -> None:
    model = replies(
        tmp_path,
        ("", "Completed plan: nothing yet\nVisible objects", "Navigation ovum, PickupObject ovum, Navigation microwave"),
    )
    settings = {"shots": "0", "patience": "6"}
    lost = episode(world, "llm-planner", model, settings=settings)
    explored = steps(lost)
    assert len(explored) >= 6, "not given up after one call"
    assert len(prompts(lost, "planner")) > 1
    first, second = asked(lost, "planner")[:2]
    seen = [text.partition("Visible objects: ")[2].partition("\n")[0].split(", ") for text in (first, second)]
    assert set(seen[0]) < set(seen[1]), "it is planned again from what was seen meanwhile"
    assert "Failed: Navigation ovum: there is no place or thing called 'ovum' here; 6 commands" in second
    model = replies(tmp_path, ("", "Failed: Navigation ovum", EGG), ("", "", "Navigation ovum, PickupObject ovum"))
    told = episode(world, "llm-planner", model, settings=settings)
    assert (ended(told).outcome, len(plans(told))) == ("won", 2)


def test_a_place_that_the_room_lacks_is_not_explored_for(world: World, tmp_path: Path) -> None:
    told = episode(world, "llm-planner", replies(tmp_path, ("", "", "Navigation fridge, OpenObject fridge")), house="example:2")
    assert steps(told) == [], "the opening of a bathroom lists all of its places"
    assert len(prompts(told, "planner")) <= 3


WRONG = "Navigation fork, PickupObject fork, Navigation egg, PickupObject egg, Navigation microwave, HeatObject egg"


def test_a_planner_that_holds_the_wrong_thing_is_told_so_and_recovers(world: World, tmp_path: Path) -> None:
    recovered = f"Navigation countertop, PutObject countertop, {EGG}"
    model = replies(tmp_path, ("", "Holding: fork", recovered), ("", "", WRONG))
    told = episode(world, "llm-planner", model)
    assert ended(told).outcome == "won"
    assert "\nFailed: PickupObject egg: your hand is full: you hold the fork" in asked(told, "planner")[-1]
    assert "Holding" not in asked(told, "planner")[0], "nothing is added where there is nothing to tell"


def test_the_same_plan_again_is_no_progress_and_is_not_asked_for_ten_times(world: World, tmp_path: Path) -> None:
    for feedback in ("on", "off"):
        told = episode(world, "llm-planner", replies(tmp_path, ("", "", WRONG)), settings={"shots": "0", "feedback": feedback})
        assert len(prompts(told, "planner")) <= 6, feedback
        completed = asked(told, "planner")[-1].partition("Completed plan: ")[2].partition("\n")[0].split(", ")
        assert len(completed) == len(set(completed)), completed
    assert "Failed: " not in asked(told, "planner")[-1], "the paper's prompt has no such lines"
