"""LLM-Planner and the Socratic Planner: their prompts, through failure and re-planning, and where replies lead nowhere."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from housequest.agent.agents.examples import make_example_selector
from housequest.agent.agents.llm_planner import LlmPlannerSettings
from housequest.agent.agents.registry import make_agent
from housequest.agent.base import Agent
from housequest.agent.episodes import events
from housequest.agent.episodes.events import CallTiming, Event, branch
from housequest.agent.episodes.loop import EpisodeConfig, run_episode
from housequest.agent.episodes.overseer import Proceed, Unattended
from housequest.agent.evaluation.analysis.failures import failure_of
from housequest.agent.models.base import Capabilities, Completion, Model, Request
from housequest.agent.models.registry import make_model
from housequest.worlds.base import World
from housequest.worlds.errors import ConfigurationError, Unsupported
from housequest.worlds.registry import make_world
from tests.agent.agents.test_agents import ended, plans, prompts, steps
from tests.agent.episodes.attending import Back, Other, Person, Wish
from tests.agent.golden import SCENES, Answering, Scene, conversation
from tests.agent.playing import PLANNERS, Played, play
from tests.backends import server as backend
from tests.backends.policy import Solver
from tests.backends.server import Server

HOUSES = ("example:1", "example:2", "example:3")
ZERO = {"shots": "0"}


@pytest.fixture(scope="module")
def world() -> World:
    return make_world("alfworld")


def replies(folder: Path, *rules: tuple[str, str, str]) -> str:
    """A scripted model: what it says to a prompt by (text of its system message, text of the last message)."""
    listed = [{"role": role, "match": match, "reply": reply} for role, match, reply in rules]
    path = folder / "script.yaml"
    path.write_text(json.dumps({"rules": listed}), "utf-8")
    return f"scripted:{path}"


def episode(
    world: World,
    agent: str,
    model: str,
    *,
    house: str = "example:1",
    settings: Mapping[str, str] = ZERO,
    hints: Mapping[int, str] | None = None,
    max_turns: int = 50,
) -> list[Event]:
    class Hinting(Unattended):
        async def before(self, turn: int, possible: tuple[str, ...] | None) -> Proceed:
            return Proceed((hints[turn],) if hints and turn in hints else ())

    told: list[Event] = []
    made = make_agent(agent, world=world, model=make_model(model), settings={"search": "counts", **settings})
    env = world.open(world.task(house))
    terms = EpisodeConfig(world.engine, max_turns=max_turns)
    asyncio.run(
        run_episode(env, made, terms, lambda event: told.append(event) if isinstance(event, Event) else None, Hinting())
    )
    return told


def thoughts(told: Sequence[Event]) -> list[str]:
    return [event.body.text for event in told if isinstance(event.body, events.Thought)]


def asked(told: Sequence[Event], role: str) -> list[str]:
    """The last message of each prompt of ``role``."""
    return [prompt[-1].content for prompt in prompts(told, role)]


# Both planners.


@pytest.mark.parametrize("scene", SCENES, ids=[scene.name for scene in SCENES])
def test_every_prompt_of_an_episode_is_as_it_was_recorded(scene: Scene) -> None:
    assert conversation(scene) == scene.path.read_text("utf-8"), "python -m scripts.record_prompts"


@pytest.mark.parametrize("agent", PLANNERS)
@pytest.mark.parametrize("house", HOUSES)
def test_a_wrong_plan_is_revised_where_replanning_is_on(
    server: Server, world: World, tmp_path: Path, agent: str, house: str
) -> None:
    server.policy = Solver(wrong_first_plan=True)
    static = play(server, world, world.task(house), agent, tmp_path / "s.jsonl", settings={"replanning": False})
    assert (static.ended.outcome, len(plans(static.events))) == ("lost", 1)
    assert static.ended.reason == "gave up: the plan is carried out, and the task goes on"
    dynamic = play(server, world, world.task(house), agent, tmp_path / "d.jsonl")
    assert dynamic.ended.outcome == "won"
    assert "failed" in plans(dynamic.events)[1].reason


@pytest.mark.parametrize("agent", PLANNERS)
def test_a_model_that_fails_ends_the_episode_as_the_models(server: Server, world: World, tmp_path: Path, agent: str) -> None:
    server.policy = Solver(wrong_first_plan=True)
    first = [backend.answer] * (2 if agent == "socratic" else 1)
    server.behave(*first, otherwise=backend.status(500))
    played: Played = play(server, world, world.task("example:1"), agent, tmp_path / "e.jsonl", retries=1)
    assert (played.ended.outcome, played.ended.boundary) == ("error", "model")
    assert played.ended.steps, "it failed while the plan was made anew"


@pytest.mark.parametrize("agent", PLANNERS)
def test_one_unreadable_reply_is_asked_for_again(server: Server, world: World, tmp_path: Path, agent: str) -> None:
    server.behave(backend.saying("I would rather\nnot say."), backend.answer)
    played = play(server, world, world.task("example:2"), agent, tmp_path / "e.jsonl")
    assert played.ended.outcome == "won"
    assert [e.body.final for e in played.events if isinstance(e.body, events.ParseFailed)] == [False]


@pytest.mark.parametrize("agent", PLANNERS)
def test_a_world_without_belief_is_refused_before_the_first_call(agent: str) -> None:
    with pytest.raises(Unsupported, match=agent):
        make_agent(agent, world=make_world("scripted"), model=make_model("openai:m@http://127.0.0.1:9/v1"))


# LLM-Planner.

EGG = "Navigation egg, PickupObject egg, Navigation microwave, HeatObject egg, Navigation diningtable, PutObject diningtable"


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

    config = EpisodeConfig(world.engine, max_turns=4)
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
    config = EpisodeConfig(world.engine, max_turns=2)
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
    asyncio.run(run_episode(world.open(world.task("example:2")), agent, EpisodeConfig(world.engine), lambda _: None))
    first, last = model.biases[0], model.biases[-1]
    assert first["PickupObject"] == 0.1
    assert (" cabinet" in first) is favoured
    assert " soapbar" not in first, "it was not seen yet"
    assert (" soapbar" in last) is favoured


def test_without_a_bias_none_is_asked_for(world: World) -> None:
    model = Biased(Solver())
    agent = make_agent("llm-planner", world=world, model=model, settings={"bias": "0", "search": "counts"})
    asyncio.run(run_episode(world.open(world.task("example:2")), agent, EpisodeConfig(world.engine), lambda _: None))
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


# The Socratic Planner.

QUESTIONS = "Q1: Which sub-tasks are there?\nA1: Heating the egg and placing it."
WON = "Change: take the egg\nPlan:\n1. (Pickup, egg)\n2. (Heat, egg)\n3. (Put, egg, diningtable)"
ASKS, PLANS, ADVISES = "You take household tasks apart", "You plan household tasks", "You stand beside"


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
