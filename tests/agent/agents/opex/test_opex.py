"""OPEx in conversation: failure and replanning, what a person does in between, ablations, and replies that lead nowhere."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from random import Random
from textwrap import dedent
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from housequest.agent.agents.opex.roles import (
    EXECUTOR,
    KINDS,
    OBSERVER,
    PLANNER,
    SKILLS,
    SkillCall,
    TaskPlan,
    executor_form,
    planner_form,
)
from housequest.agent.agents.spec import make_agent
from housequest.agent.base import Overseer, Play, Proceed, Replace
from housequest.agent.config import configure
from housequest.agent.episodes import events
from housequest.agent.episodes.config import EpisodeConfig
from housequest.agent.episodes.events import CallTiming, Event
from housequest.agent.episodes.loop import run_episode
from housequest.agent.evaluation.runs.spec import make_run_spec
from housequest.agent.models.base import Model
from housequest.agent.models.registry import make_model
from housequest.agent.roles.base import ReplyError, Role
from housequest.knowledge.choosing import RuleBudget
from housequest.knowledge.examples import shipped, written
from housequest.worlds.errors import ConfigurationError, Unsupported
from housequest.worlds.household.goals import CHORES, Skill
from housequest.worlds.registry import make_world
from tests.agent.agents.test_agents import ended, plans, prompts, steps
from tests.agent.agents.test_planning_roles import blanks, read_or_refused
from tests.agent.episodes.attending import Person
from tests.agent.golden import Answering
from tests.agent.role_forms import check_form
from tests.backends.policy import Solver
from tests.backends.server import Messages

HOUSE = "example:1"  # heat some egg and put it in diningtable
PLAN = "Task type: heat\nThought: it must be hot\nPlan:\n0. Find an egg.\n1. Heat it.\n2. Put it on the diningtable."


def episode(
    model: Model,
    *,
    settings: Mapping[str, str] | None = None,
    rules: tuple[str, ...] = (),
    overseer: Overseer | None = None,
    max_turns: int = 50,
    grants: frozenset[str] = frozenset(),
) -> list[Event]:
    world = make_world("alfworld")
    agent = make_agent("opex", world=world, model=model, settings={"search": "counts", **(settings or {})})
    told: list[Event | CallTiming] = []
    terms = EpisodeConfig(world, grants, max_turns, rules=RuleBudget.of_statements(rules))
    listen = told.append
    if isinstance(overseer, Person):
        person = overseer

        def listen(event: Event | CallTiming) -> None:
            told.append(event)
            person.hear(event)

    asyncio.run(run_episode(world.open(world.task(HOUSE)), agent, terms, listen, overseer))
    return [event for event in told if isinstance(event, Event)]


def roles(planner: Sequence[str], executor: Sequence[str], observer: str = "Observation: all is well.") -> Answering:
    """A model that says these in turn, the last one over and over."""
    said: Counter[str] = Counter()

    def answer(messages: Messages) -> str:
        system = messages[0]["content"]
        if system.startswith("You help"):
            return observer
        name, replies = ("planner", planner) if system.startswith("You plan") else ("executor", executor)
        said[name] += 1
        return replies[min(said[name], len(replies)) - 1]

    return Answering(answer)


def play(skill: str, *targets: str) -> str:
    return f"Thought: so be it\nAction: Play[{', '.join([skill, *targets])}]"


FINISH = "Thought: reached\nAction: Finish[yes]"
REPLAN = "Thought: it cannot be done\nAction: Play[RequireReplan, None]"
THROUGH = (play("NavigateTo", "egg"), play("Pick", "egg"), FINISH, play("Heat", "egg"), FINISH, play("Put", "diningtable"))


def test_a_plan_is_made_skills_are_picked_and_the_task_is_won(tmp_path: Path) -> None:
    script = tmp_path / "script.yaml"
    script.write_text(
        dedent(
            """
            rules:
              - role: "You plan for a robot"
                replies:
                  - "Task type: heat\\nThought: it is raw\\nPlan:\\n0. Find a unicorn.\\n1. Be happy."
                  - "Task type: heat\\nThought: an egg, of course\\nPlan:\\n0. Find an egg.\\n1. Serve it hot.\\n<END_OF_PLAN>"
              - role: "You help a robot"
                reply: "Observation: all is well."
              - role: "You control a robot"
                match: "Current objective: Find a unicorn."
                replies:
                  - "Thought: where is it?\\nAction: Play[NavigateTo, unicorn]"
                  - "Thought: there is none\\nAction: Play[RequireReplan, None]"
              - role: "You control a robot"
                match: "Current objective: Find an egg."
                replies:
                  - "Thought: an egg, then\\nAction: Play[NavigateTo, Egg]"
                  - "Thought: got it\\nAction: Play[Pick, egg]"
                  - "Thought: that was that\\nAction: Finish[yes]"
              - role: "You control a robot"
                match: "Current objective: Serve it hot."
                replies:
                  - "Thought: cook it\\nAction: Play[Heat, egg, microwave]"
                  - "Thought: and serve it\\nAction: Play[Put, DiningTable]"
            """
        ),
        "utf-8",
    )
    told = episode(make_model(f"scripted:{script}"), rules=("Eggs are round.",))
    assert ended(told).outcome == "won"
    assert [plan.revision for plan in plans(told)] == [0, 1]
    assert plans(told)[1].reason == "the executor requires it: there is none"
    executor, planner, observer = (prompts(told, role) for role in ("executor", "planner", "observer"))
    assert "Last action: it failed: there is no place or thing called 'unicorn' here." in executor[1][-1].content
    assert "Observation: Nothing was looked at yet." in executor[1][-1].content
    assert "Last action: none since the plan was made again" in executor[2][-1].content, "the one before is stale"
    assert "Its last action: it failed: there is no place or thing called 'unicorn'" in planner[1][-1].content
    assert "It had come to step 0." in planner[1][-1].content
    # The executor's memory is that of the subtask; rules are told once in each.
    assert [len(prompt) for prompt in executor] == [2, 4, 2, 4, 6, 2, 4]
    assert ["Eggs are round." in prompt[-1].content for prompt in executor] == [True, False, True, False, False, True, False]
    assert "Eggs are round." in planner[0][-1].content
    assert all(len(prompt) == 2 for prompt in observer), "the observer keeps nothing"
    assert [event.body.step for event in told if isinstance(event.body, events.Progressed)] == [1]
    # A skill's commands cost no call: the egg is looked for, taken, heated and put down in far more commands than orders.
    assert len(steps(told)) > 5
    assert (len(executor), len(observer)) == (7, 3), "it is not asked about nothing"


def test_a_plan_that_is_carried_out_without_a_win_is_made_again_so_often_and_no_more() -> None:
    told = episode(roles([PLAN], [FINISH]), settings={"revisions": "2", "tries": "20"})
    assert [plan.reason for plan in plans(told)[1:]] == ["the plan is carried out, and the task is not done"] * 2
    assert ended(told).reason == "gave up: the plan is carried out, and the task is not done after 2 revisions"
    assert steps(told) == []


@pytest.mark.parametrize(
    "order",
    [
        REPLAN,
        FINISH,
        play("NavigateTo", "unicorn"),
        play("Pick", "egg"),
        play("Put", "nowhere"),
        play("Fly", "high"),
        "Thought: no\nAction: Finish[no]",
        "Thought: no",
        "",
    ],
)
def test_orders_that_lead_nowhere_are_bounded(order: str) -> None:
    told = episode(roles([PLAN], [order]), max_turns=6, settings={"revisions": "3", "tries": "4"})
    assert ended(told).outcome == "lost"
    assert ended(told).boundary is None
    assert len(plans(told)) <= 4
    calls = sum(isinstance(event.body, events.ModelCall) for event in told)
    # A turn asks four times at most, each with the observer, and an unreadable reply is asked for once more.
    assert calls <= 6 * 4 * 3 + 4


@pytest.mark.parametrize(
    "plan",
    ["Plan:\n" + "\n".join(f"{n}. go on" for n in range(60)), "Plan: none", "", "\x00" * 500, "1. " + "x" * 50_000],
)
def test_plans_that_are_none_or_endless_are_bounded(plan: str) -> None:
    told = episode(roles([plan], [play("Explore", "None")]), max_turns=3)
    assert ended(told).turns == 3
    assert all(len(step) <= 300 for planned in plans(told) for step in planned.steps)


def test_a_circle_of_skills_ends_with_the_turns() -> None:
    told = episode(roles([PLAN], [play("Open", "fridge 1"), play("Close", "fridge 1")] * 40), max_turns=12)
    assert (ended(told).outcome, ended(told).turns) == ("lost", 12)
    assert set(steps(told)[1:]) == {"open fridge 1", "close fridge 1"}


def test_a_person_who_overrules_a_command_leaves_the_skill_running() -> None:
    alone = steps(episode(roles([PLAN], THROUGH)))
    person = Person(words=[Proceed(), Proceed(), Play("inventory")], verdicts=[Replace("look")])
    told = episode(roles([PLAN], THROUGH), overseer=person)
    assert ended(told).outcome == "won"
    assert [step for step in steps(told) if step not in {"look", "inventory"}] == alone
    executor = prompts(told, "executor")
    assert len(executor) == len(THROUGH)
    observer = prompts(told, "observer")
    assert "> look\n" in observer[0][-1].content, "what the person did is told"


def test_a_person_may_do_what_the_skill_was_to_do() -> None:
    told = episode(roles([PLAN], THROUGH), overseer=Person())
    commands = steps(told)
    taking = next(number for number, command in enumerate(commands) if command.startswith("take"))
    person = Person(words=[*[Proceed()] * (taking - 1), Play(commands[taking - 1]), Play(commands[taking])])
    again = episode(roles([PLAN], THROUGH), overseer=person)
    assert ended(again).outcome == "won"
    assert steps(again) == commands


def test_a_hint_ends_the_skill_and_reaches_planner_and_executor() -> None:
    person = Person(words=[Proceed(), Proceed(("look at the back",))])
    told = episode(roles([PLAN], [play("NavigateTo", "egg"), *THROUGH]), overseer=person)
    assert plans(told)[1].reason == "the person beside the robot gave a hint"
    for role in ("planner", "executor"):
        assert "look at the back" in prompts(told, role)[1][-1].content
    told = episode(
        roles([PLAN], [play("NavigateTo", "egg"), *THROUGH]),
        overseer=Person(words=[Proceed(), Proceed(("look at the back",))]),
        settings={"on_hint": "off"},
    )
    assert len(plans(told)) == 1
    assert "look at the back" in prompts(told, "executor")[1][-1].content


def test_without_its_planner_the_task_is_the_only_subtask() -> None:
    told = episode(roles([], [order for order in THROUGH if order != FINISH]), settings={"planner": "off"})
    assert ended(told).outcome == "won"
    assert [plan.steps for plan in plans(told)] == [("heat some egg and put it in diningtable.",)]
    assert not prompts(told, "planner")
    told = episode(roles([], [FINISH]), settings={"planner": "off"})
    assert ended(told).reason.startswith("gave up")


def test_a_finish_without_a_planner_goes_on_with_the_task() -> None:
    orders = [order for order in THROUGH if order != FINISH]
    told = episode(roles([], [orders[0], FINISH, *orders[1:]]), settings={"planner": "off"})
    assert ended(told).outcome == "won"
    assert "Last action: the task is not done yet, as the world has it" in prompts(told, "executor")[2][-1].content


def test_planner_and_observer_are_told_the_room_and_the_plan_begins_with_a_look_round_it() -> None:
    told = episode(roles([PLAN], THROUGH), settings={"shots": "2"})
    system, asked = (message.content for message in prompts(told, "planner")[0])
    assert "The room is a kitchen. It has: " in asked
    assert asked.count("0. Explore the room to have a general idea of it.") == 2
    assert "Step 0 has the robot explore the room" in system
    assert all(prompt[-1].content.startswith("Room type: kitchen\n") for prompt in prompts(told, "observer"))
    told = episode(roles([PLAN], THROUGH), settings={"shots": "2", "explore": "off"})
    assert not any("xplore the room" in message.content for message in prompts(told, "planner")[0])


@pytest.mark.parametrize("settings", [{}, {"observer": "off"}, {"planner": "off", "observer": "off"}])
def test_the_executor_is_told_the_places_of_the_room_once_an_objective(settings: Mapping[str, str]) -> None:
    told = episode(roles([PLAN], THROUGH), settings=settings, max_turns=20)
    for prompt in prompts(told, "executor"):
        asked = [message.content.startswith("Places of the room: ") for message in prompt if message.role == "user"]
        assert asked == [True, *[False] * (len(asked) - 1)]
    assert "diningtable" in prompts(told, "executor")[0][1].content.partition("\n")[0]
    assert prompts(told, "executor")[0][1].content.splitlines()[1] == "Observation: Nothing was looked at yet."


def test_what_was_described_for_another_objective_is_not_told() -> None:
    model = roles([PLAN], THROUGH, observer="Observation: all is well.")
    first = next(prompt for prompt in prompts(episode(model), "executor") if "Heat it." in prompt[-1].content)
    assert "Observation: Nothing happened since." in first[-1].content
    model = roles([PLAN], [play("NavigateTo", "egg"), REPLAN, *THROUGH[1:]])
    again = prompts(episode(model), "executor")[2][-1].content
    assert "Observation: Nothing happened since." in again


def test_within_an_objective_the_executor_is_told_again_only_what_has_changed() -> None:
    told = episode(roles([PLAN], [play("NavigateTo", "egg"), play("NavigateTo", "egg"), *THROUGH[1:]]))
    asked = [prompt[-1].content for prompt in prompts(told, "executor")]
    before, found, same, held = ([line.partition(": ")[0] for line in one.splitlines()] for one in asked[:4])
    known = ["Found so far", "In front of the robot", "Holding"]
    assert before == ["Places of the room", "Observation", *known, "Last action", "Current objective"]
    assert found == ["Observation", *known[:2], "Last action", "Current objective"]
    assert same == ["Observation", "Last action", "Current objective"]
    assert "Holding" in held
    # At the next objective all is told anew.
    heat = next(text for text in asked if "Current objective: Heat it." in text)
    assert all(f"\n{name}: " in heat for name in known)


def test_a_skill_that_is_done_already_is_said_to_be_and_repeated_no_more_than_it_takes() -> None:
    told = episode(roles([PLAN], [play("NavigateTo", "egg")]))
    notes = [line for prompt in prompts(told, "executor") for line in prompt[-1].content.splitlines() if "Last action" in line]
    assert "already" not in notes[1]
    assert notes[2].endswith("that was so already: go on to what is next, or say Finish[yes]")
    assert "again and again" in plans(told)[1].reason
    assert len(plans(told)) == 7
    assert len(prompts(told, "executor")) <= 3 * 7 + 1
    assert (ended(told).outcome, ended(told).boundary) == ("lost", None)
    assert "again and again" in ended(told).reason


def test_each_type_of_task_of_the_worlds_that_it_plays_has_its_words() -> None:
    worlds = [make_world(name).info.task_types for name in ("alfworld", "alfred")]
    # Chores are several of the other types.
    assert {type for types in worlds for type in types} - {CHORES} == set(KINDS)
    system = prompts(episode(roles([PLAN], THROUGH)), "planner")[0][0].content
    assert [type for type, words in KINDS.items() if words in system] == [type for type in KINDS if type in worlds[0]]


def test_exploring_has_an_end() -> None:
    survey = "Task type: heat\nThought: first a look\nPlan:\n0. Explore the room.\n1. Find an egg."
    told = episode(roles([survey], [play("Explore")]), max_turns=8)
    notes = [line for prompt in prompts(told, "executor") for line in prompt[-1].content.splitlines() if "Last action" in line]
    assert notes[1].startswith("Last action: looked into the ")
    assert not any("enough" in note for note in notes[:3])
    assert notes[3].endswith("; 3 looks are enough for a general idea of the room")


def test_without_its_observer_the_executor_is_told_what_the_text_said() -> None:
    told = episode(roles([PLAN], THROUGH), settings={"observer": "off"})
    assert ended(told).outcome == "won"
    assert not prompts(told, "observer")
    assert "Observation: > go to " in prompts(told, "executor")[1][-1].content


def test_an_observer_that_cannot_be_read_is_done_without() -> None:
    told = episode(roles([PLAN], THROUGH, observer="hm\nhm"))
    assert ended(told).outcome == "won"
    assert "Observation: > go to " in prompts(told, "executor")[1][-1].content


def test_a_skill_that_is_left_out_is_neither_named_nor_played() -> None:
    told = episode(roles([PLAN], [play("Explore")]), settings={"explore": "off"}, max_turns=1)
    executor = prompts(told, "executor")
    assert "Explore:" not in executor[0][0].content
    assert "it failed: there is no skill Explore" in executor[1][-1].content
    assert steps(told) == []


def test_examples_are_of_the_same_kind_and_hold_no_name_of_a_thing() -> None:
    told = episode(roles([PLAN], THROUGH), settings={"shots": "3", "choose": "task-type"})
    asked = prompts(told, "planner")[0][-1].content
    assert asked.count("Task type: heat a thing and put it somewhere") == 3
    assert asked.endswith("Task: heat some egg and put it in diningtable.")
    told = episode(roles([PLAN], THROUGH), settings={"shots": "0"})
    assert "Task type" not in prompts(told, "planner")[0][-1].content


def test_a_granted_type_is_told_to_the_planner() -> None:
    told = episode(roles([PLAN], THROUGH), grants=frozenset({"type", "admissible"}))
    assert "Kind of task: pick_heat_then_place_in_recep" in prompts(told, "planner")[0][-1].content
    for role in ("planner", "executor", "observer"):
        assert not any("possible now" in message.content for prompt in prompts(told, role) for message in prompt)


def test_a_world_without_belief_is_refused_before_the_first_call() -> None:
    with pytest.raises(Unsupported, match="opex"):
        make_agent("opex", world=make_world("scripted"), model=Answering(Solver()))


@pytest.mark.parametrize("settings", [{"tries": "0"}, {"tries": "51"}, {"search": "luck"}, {"choose": "x"}, {"shots": "99"}])
def test_a_wrong_setting_is_refused(settings: Mapping[str, str]) -> None:
    with pytest.raises(ConfigurationError):
        make_agent("opex", world=make_world("alfworld"), model=Answering(Solver()), settings=settings)


@pytest.mark.parametrize(
    ("reply", "order"),
    [
        ("Thought: t\nAction: Play[NavigateTo, egg]", SkillCall("t", "play", "NavigateTo", ("egg",))),
        ("Thought: t\nAction: Play[NavigateToObject,SinkBasin]", SkillCall("t", "play", "NavigateTo", ("SinkBasin",))),
        ("Thought: t\nAction: Play[PickupObject, egg 1]", SkillCall("t", "play", "Pick", ("egg 1",))),
        ("Thought: t\nAction: Play[Explore, None]", SkillCall("t", "play", "Explore")),
        ("Thought: t\nAction: Play[LookAround]", SkillCall("t", "play", "LookAround")),
        ("Thought: t\nAction: Play[Put, egg, fridge 1]", SkillCall("t", "play", "Put", ("egg", "fridge 1"))),
        ("Thought: t\nAction: Play[Heat, egg with microwave 1]", SkillCall("t", "play", "Heat", ("egg", "microwave 1"))),
        ("Thought: t\nAction: Play[ToggleObjectOn, DeskLamp]", SkillCall("t", "play", "Use", ("DeskLamp",))),
        ("Thought: t\nAction: Finish[yes]", SkillCall("t", "finish")),
        ("Thought: t\nAction: Finish[no]", SkillCall("t", "finish", done=False)),
        ("Thought: t\nAction: Finish", SkillCall("t", "finish")),
        ("Thought: t\nAction: Play[RequireReplan, None]", SkillCall("t", "replan")),
        ("**Thought:** t\n**Action:** `Play[Pick, egg]`", SkillCall("t", "play", "Pick", ("egg",))),
        ("Thought: t\nAction: Pick[egg]", SkillCall("t", "play", "Pick", ("egg",))),
        ("Thought: t\nAction: NavigateTo, egg", SkillCall("t", "play", "NavigateTo", ("egg",))),
        ("Thought: t\nAction: Play(Open, fridge)", SkillCall("t", "play", "Open", ("fridge",))),
        ("I go. Play[Open, fridge]", SkillCall("I go.", "play", "Open", ("fridge",))),
        ('{"thought": "t", "action": "Open", "target": "fridge"}', SkillCall("t", "play", "Open", ("fridge",))),
        ("Thought: t\nAction: Play[Fly, high]", None),
        ("Thought: t\nAction: go to fridge 1, quickly; and then some more", None),
        ("Thought: t", None),
        ("", None),
    ],
)
def test_executor_reads(reply: str, order: SkillCall | None) -> None:
    if order is None:
        with pytest.raises(ReplyError):
            EXECUTOR.read(reply)
    else:
        assert EXECUTOR.read(reply) == order


@pytest.mark.parametrize(
    ("reply", "steps"),
    [
        ("Task type: k\nThought: t\nPlan:\n0. find it\n1. take it\n<END_OF_PLAN>", ("find it", "take it")),
        (
            "**Task type:** k\n**Thought:** t\n\n**Plan:**\n1) find it\n2) take it\n<END_OF_PLAN>\n3) and so on",
            ("find it", "take it"),
        ),
        ("### Task type: k\n### Thought\n: t\n### Plan:\n- find it", ("find it",)),
        ('{"task type": "k", "thought": "t", "plan": ["find it", "take it"]}', ("find it", "take it")),
        ("0. find it", ("find it",)),
        ("Task type: k\nThought: t\nPlan: find it", None),
    ],
)
def test_planner_reads(reply: str, steps: tuple[str, ...] | None) -> None:
    if steps is None:
        with pytest.raises(ReplyError):
            PLANNER.read(reply)
    else:
        read = PLANNER.read(reply)
        assert read.steps == steps
        assert read.kind in {"k", ""}
        assert read == TaskPlan(read.kind, read.thought, steps)


_PIECES = [
    "Thought: x",
    "Action:",
    "Play[",
    "Pick",
    ", ",
    "egg",
    "]",
    "Finish[yes]",
    "Plan:",
    "0. y",
    "Observation: z",
    "{",
    "}",
]


def test_a_plan_in_one_line_is_read_as_soon_as_any() -> None:
    begun = "Task type: heat\nThought: so\nPlan:\n" + "1. find an egg " * 200
    assert len(PLANNER.read(begun).steps) == 1
    with suppress(ReplyError):
        PLANNER.read(f"{begun}\n\nand so on")


@given(st.lists(st.one_of(st.text(max_size=30), st.sampled_from(_PIECES)), max_size=10).map("\n".join))
def test_any_reply_is_a_value_or_a_reply_error(reply: str) -> None:
    readers: list[Callable[[str], object]] = [PLANNER.read, OBSERVER.read, EXECUTOR.read]
    for read in readers:
        with suppress(ReplyError):
            value = read(reply)
            if isinstance(value, SkillCall) and value.move == "play":
                assert isinstance(value.as_skill(), Skill)


@pytest.mark.heavy
@blanks(PLANNER, OBSERVER, EXECUTOR)
def test_an_endless_blank_is_read_in_linear_time(role: Role[Any], reply: str) -> None:
    read_or_refused(role, reply)


def test_a_run_keeps_the_digest_of_what_is_shown(tmp_path: Path) -> None:
    def prompts(**settings: Any) -> dict[str, str]:
        asked: dict[str, Any] = {"agent": "opex", "model": "openai:m@http://127.0.0.1:9/v1", "split": "example"}
        asked["set"] = [f"{key}={value}" for key, value in settings.items()]
        return make_run_spec(configure(asked)).manifest.prompts

    own = tmp_path / "own.jsonl"
    found: list[str] = []
    for number in (3, 4):
        own.write_text(written(shipped()[:number]), "utf-8")
        found.append(prompts(examples=str(own))["examples"])
    assert len({*found, prompts()["examples"]}) == 3
    assert "examples" not in prompts(shots=0)
    with pytest.raises(ConfigurationError, match="nowhere"):
        prompts(examples="nowhere")


FORMS: dict[str, Role[Any]] = {
    "planner": PLANNER.held_to(planner_form(KINDS)),
    "observer": OBSERVER,
    "executor": EXECUTOR.held_to(executor_form(SKILLS)),
}


@pytest.mark.parametrize("name", FORMS)
def test_a_role_reads_what_its_form_allows(name: str) -> None:
    check_form(FORMS[name], Random(name))
