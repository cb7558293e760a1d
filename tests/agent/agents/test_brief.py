"""Reasoner and actor in few words: what a small model is told, and what is made of its replies."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count, pairwise
from pathlib import Path
from typing import Any

import pytest

from housequest.agent.agents.reasoner_actor.agent import PATIENCE, READINGS, BriefPrompting, PlanMemory, plan_of
from housequest.agent.agents.spec import make_agent
from housequest.agent.base import Grants, Proceed, Unattended
from housequest.agent.episodes import events
from housequest.agent.episodes.config import EpisodeConfig
from housequest.agent.episodes.events import CallTiming, Event
from housequest.agent.episodes.loop import run_episode
from housequest.agent.models.base import Capabilities, Completion, Model, Request
from housequest.agent.models.builtin.model import load_builtin
from housequest.agent.models.registry import make_model
from housequest.agent.roles import brief
from housequest.agent.roles.base import Sampling
from housequest.agent.roles.messages import RoleMemory
from housequest.agent.roles.reading import LONGEST_KEPT
from housequest.knowledge.choosing import RuleBudget
from housequest.knowledge.mining import mine_table
from housequest.knowledge.rules import Rule
from housequest.worlds.alfworld.text import COMMANDS, HOUSEHOLD, load_counts
from housequest.worlds.base import Observation, Transition
from housequest.worlds.household.belief import Belief
from housequest.worlds.registry import make_world
from tests.agent.models.builtin.tiny import write_tiny
from tests.reading import read

OPENING = Observation(
    "You are in the middle of a room. Looking quickly around you, you see a cabinet 2, a cabinet 1, a desk 1, and a fridge 1."
    "\n\nYour task is to: put a mug in cabinet."
)
PLAN = ("find and take a mug", "put it in the cabinet")


def after(*told: tuple[str, str]) -> brief.BriefState:
    opening, transitions = read(HOUSEHOLD, OPENING, (Transition(command, Observation(answer)) for command, answer in told))
    return brief.BriefState(opening.belief or Belief()).after(transitions)


@dataclass
class Parrot(Model):
    """A model of few words, which replies as ``replies`` says to a prompt; to one it was given before, the same."""

    replies: Callable[[str], str]
    name: str = "parrot"
    asked: list[str] = field(default_factory=list[str])
    choices: list[tuple[str, ...]] = field(default_factory=list[tuple[str, ...]])

    def reads(self, prompt: str) -> bool:
        return brief.is_brief_prompt(prompt)

    async def capabilities(self) -> Capabilities:
        return Capabilities(choices=True)

    async def complete(self, request: Request) -> Completion:
        if request.choices is not None:
            self.choices.append(tuple(request.choices))
            return Completion(request.choices[0])
        self.asked.append(request.messages[-1].content)
        return Completion(self.replies(request.messages[-1].content))


def planned(*steps: str) -> str:
    return "Thought: easy\nPlan:\n" + "\n".join(f"{number}. {step}" for number, step in enumerate(steps, 1))


def acts(command: str) -> str:
    return f"Thought: go on\nStep: 1\nAction: {command}"


def episode(
    model: Any,
    *,
    hints: Mapping[int, str] | None = None,
    rules: tuple[str, ...] = (),
    grants: frozenset[str] = frozenset(),
    max_turns: int = 6,
    world: str = "alfworld",
    settings: Mapping[str, str] | None = None,
    task: str = "",
) -> list[events.Body]:
    class Hinting(Unattended):
        async def before(self, turn: int, possible: tuple[str, ...] | None) -> Proceed:
            return Proceed((hints[turn],) if hints and turn in hints else ())

    told: list[Event | CallTiming] = []
    made = make_world(world)
    chosen = made.task(task or ("example:1" if world == "alfworld" else "demo:1"))
    agent = make_agent("reasoner-actor", world=made, model=model, settings=settings)
    terms = EpisodeConfig(made, grants, max_turns, rules=RuleBudget.of_statements(rules))
    asyncio.run(run_episode(made.open(chosen), agent, terms, told.append, Hinting()))
    return [event.body for event in told if isinstance(event, Event)]


def of(kind: type[Any], told: Sequence[events.Body]) -> list[Any]:
    return [body for body in told if isinstance(body, kind)]


def goes_on_otherwise(stepped: Sequence[events.Stepped]) -> bool:
    """Whether something else is done wherever nothing happened."""
    return all(one.accepted or one.command != then.command for one, then in pairwise(stepped))


def test_the_actor_is_told_the_plan_and_what_belief_makes_of_what_was_seen() -> None:
    scene = after(
        ("go to desk 1", "You arrive at desk 1. On the desk 1, you see a mug 2, and a pen 1."),
        ("take pen 1 from desk 1", "You pick up the pen 1 from the desk 1."),
        ("go to cabinet 2", "You arrive at cabinet 2. The cabinet 2 is closed."),
    )
    assert brief.acting(PLAN, scene.belief, ("open cabinet 2",)) == (
        "Plan:\n1. find and take a mug\n2. put it in the cabinet\n"
        "Holding: pen 1\n"
        "Here: cabinet 2 closed, unseen\n"
        "Found: mug 2 in desk 1\n"
        "Places: cabinet 2 closed here, cabinet 1\n"
        "Unseen: cabinet 1 fridge 1\n"
        "Tried: open cabinet 2"
    )


def test_where_things_are_is_left_to_code() -> None:
    rules = mine_table(load_counts()).rules("train")
    assert any(rule.kind == "location" and "mug" in rule.objects for rule in rules)
    assert "Rule: " not in brief.planning("first try to put a mug in cabinet.", after().belief, rules, (), ())


def test_the_reasoner_is_told_goal_places_rules_that_matter_hints_and_what_failed() -> None:
    statements = ("Mugs are kept in the desk.", "A pen is kept in the cabinet.", "You carry one thing at a time.")
    rules = [Rule("", statement) for statement in statements]
    text = brief.planning("put a mug in cabinet.", after().belief, rules, ("try the desk",), (PLAN,))
    assert text == (
        "Goal: put a mug in cabinet.\nPlaces: cabinet desk fridge\nRule: Mugs are kept in the desk.\nHint: try the desk\n"
        "Failed: find and take a mug; put it in the cabinet"
    )


def test_endless_words_are_cut() -> None:
    text = brief.planning(
        "mug " * 9_000, after().belief, (Rule("", "mug " * 9_000),) * 99, ("x" * 90_000,) * 99, (PLAN * 99,) * 99
    )
    assert len(text) < 3_000


def test_what_led_back_to_the_same_situation_was_tried() -> None:
    vain = ("look around", "Nothing happens."), ("open desk 1", "Nothing happens.")
    scene = after(*vain)
    assert scene.tried == ("look around", "open desk 1")
    assert set(scene.alternatives(COMMANDS)) == {"go to cabinet 1", "go to cabinet 2", "go to desk 1", "go to fridge 1"}
    assert after(*vain, ("go to desk 1", "You arrive at desk 1. On the desk 1, you see nothing.")).tried == ()


def test_each_prompt_is_one_message_and_is_recorded_as_such() -> None:
    parrot = Parrot(lambda text: planned("find and take an egg") if text.startswith("Goal:") else acts("go to fridge 1"))
    told = episode(parrot, max_turns=2)
    calls = of(events.ModelCall, told)
    assert all(call.kept == 0 for call in calls)
    assert [call.added[0].content for call in calls[:2]] == parrot.asked[:2]
    assert of(events.Planned, told)[0].steps == ("find and take an egg",)


def test_what_was_tried_in_vain_is_not_given_again() -> None:
    parrot = Parrot(lambda text: planned("find and take an egg") if text.startswith("Goal:") else acts("sing loudly"))
    commands = [step.command for step in of(events.Stepped, episode(parrot, max_turns=6))]
    assert commands[0] == "sing loudly"
    assert ("sing loudly", "sing loudly") not in pairwise(commands)
    assert all("sing loudly" not in choices for choices in parrot.choices)


def test_a_granted_list_is_kept_to() -> None:
    parrot = Parrot(lambda text: planned("find and take an egg") if text.startswith("Goal:") else acts("go to moon 1"))
    told = episode(parrot, grants=frozenset({"admissible"}), max_turns=3)
    assert not any(step.command == "go to moon 1" or not step.accepted for step in of(events.Stepped, told))


@pytest.mark.parametrize("on_hint", ["on", "off"])
def test_a_hint_leads_to_a_plan_of_its_own_and_is_remembered(on_hint: str) -> None:
    def reply(text: str) -> str:
        steps = ("look in the sofa",) if "grandma" in text else ("find and take an egg",)
        return planned(*steps) if text.startswith("Goal:") else acts("look")

    parrot = Parrot(reply)
    told = episode(
        parrot,
        hints={2: "as grandma does"},
        rules=("Eggs are kept in the fridge.",),
        max_turns=3,
        settings={"on_hint": on_hint},
    )
    assert [plan.steps for plan in of(events.Planned, told)] == [("find and take an egg",), ("look in the sofa",)]
    assert any("Hint: as grandma does" in text and "Rule: Eggs" in text for text in parrot.asked)


def test_a_hint_is_heard_however_often_the_actor_was_stuck() -> None:
    parrot = Parrot(lambda text: planned("find and take an egg") if text.startswith("Goal:") else acts("stuck"))
    told = episode(parrot, hints={15: "as grandma does"}, max_turns=16)
    assert len(of(events.Stepped, told)) + len(of(events.TurnSpent, told)) >= 15
    assert any("Hint: as grandma does" in text for text in parrot.asked)


def put(place: str, thing: str = "potato") -> str:
    return planned(f"find and take a {thing}", f"put it in the {place}")


def plays(replies: Iterable[str], *commands: str, then: str, max_turns: int) -> list[events.Body]:
    """What a model tells that gives these plans and commands, ``then`` to all other calls for a command."""
    plans, turns = iter(replies), iter(commands)
    parrot = Parrot(lambda text: next(plans) if text.startswith("Goal:") else acts(next(turns, then)))
    told = episode(parrot, max_turns=max_turns)
    assert of(events.Ended, told)[0].outcome == "lost"
    return told


def test_who_is_stuck_gets_what_the_goal_may_mean_as_well_the_likeliest_first() -> None:
    readings = [put("fridge")] * 12 + [put("drawer")] * 2 + [put("diningtable")] * 6 + [put("volcano")] * 3 + ["well, well"]
    replies = [put("fridge"), *readings, *[put("cabinet")] * READINGS, *[put("fridge")] * 2 * READINGS]
    told = plays(replies, "go to countertop 1", then="stuck", max_turns=7)
    places = [plan.steps[1].rpartition(" ")[2] for plan in of(events.Planned, told)]
    # Once all have failed the goal is read again, and what was not thought of before is tried; then all are tried again.
    assert places[:5] == ["fridge", "diningtable", "drawer", "cabinet", "fridge"]
    assert sum(call.role == "reasoner" for call in of(events.ModelCall, told)) == 1 + 4 * READINGS
    assert not of(events.ParseFailed, told)


def test_a_plan_for_what_was_seen_comes_first() -> None:
    replies = [put("fridge"), *[put("countertop", "ladle")] * 20, *[put("diningtable")] * 4]
    told = plays(replies, "go to countertop 1", then="stuck", max_turns=2)
    assert [plan.steps[0].split()[-1] for plan in of(events.Planned, told)] == ["potato", "potato"]


def test_a_plan_of_which_nothing_is_left_to_do_is_left() -> None:
    commands = (
        "go to countertop 1",
        "take potato 1 from countertop 1",
        "go to diningtable 1",
        "move potato 1 to diningtable 1",
    )
    told = plays([put("diningtable"), *[put("fridge")] * READINGS], *commands, then="look", max_turns=5)
    assert [plan.reason for plan in of(events.Planned, told)] == [
        "the episode begins",
        "all steps of the plan are done, but the task is not over",
    ]


def test_a_plan_under_which_the_actor_repeats_itself_is_left() -> None:
    replies = [put("fridge"), *[put("diningtable")] * READINGS]
    told = plays(replies, "go to countertop 1", then="go to fridge 1", max_turns=12)
    assert [plan.reason for plan in of(events.Planned, told)] == [
        "the episode begins",
        "3 times the actor repeated what had taught it nothing",
    ]


def test_who_has_not_found_it_yet_searches_on_unless_something_likely_was_seen() -> None:
    searched = plays([put("fridge", "dragon")] * 99, "go to countertop 1", then="go to fridge 1", max_turns=8)
    assert len(of(events.Planned, searched)) == 1
    places = [f"go to {kind} {number}" for kind in ("cabinet", "drawer", "stoveburner") for number in range(1, 7)]
    replies = [put("fridge", "dragon"), *[put("fridge")] * 3, *[put("fridge", "dragon")] * 99]
    found = plays(replies, "go to countertop 1", *places, then="look", max_turns=PATIENCE + 2)
    assert [plan.steps[0].split()[-1] for plan in of(events.Planned, found)] == ["dragon", "potato"]


def test_a_goal_of_one_meaning_is_not_read_again_while_it_is_searched_for() -> None:
    opened = read(HOUSEHOLD, OPENING, ())[0]
    goal = HOUSEHOLD.read_goal("put a mug in cabinet.")
    assert goal is not None and plan_of(goal) == PLAN and opened.belief is not None
    prompting = BriefPrompting(Parrot(lambda text: ""), Sampling(), HOUSEHOLD)
    nobody = RoleMemory(())
    searching = brief.BriefState(opened.belief, turns=PATIENCE)
    told = PlanMemory("put a mug in cabinet.", opened, Grants(), nobody, nobody, PLAN, state=searching)
    assert prompting.led_nowhere(told, 3) is None
    for other in (replace(told, goal="the cup goes up there"), replace(told, plan=("find and take a cup", PLAN[1]))):
        assert "have found nothing that the plan names" in (prompting.led_nowhere(other, 3) or "")


HELD = (("go to desk 1", "You arrive at desk 1. On the desk 1, you see a mug 1."),)
IN_HAND = (*HELD, ("take mug 1 from desk 1", "You pick up the mug 1 from the desk 1."))
SHUT = ("go to cabinet 1", "You arrive at cabinet 1. The cabinet 1 is closed.")
OPENED = ("open cabinet 1", "You open the cabinet 1. In it, you see nothing.")
COOLED = (PLAN[0], "cool it with the fridge", PLAN[1])


@pytest.mark.parametrize(
    ("plan", "told", "first"),
    [
        (PLAN, (), None),
        (PLAN, HELD, "take mug 1 from desk 1"),
        (PLAN, (*HELD, SHUT), "go to desk 1"),
        (PLAN, IN_HAND, "go to cabinet 2"),
        (PLAN, (*IN_HAND, SHUT), "open cabinet 1"),
        (
            PLAN,
            (*IN_HAND, SHUT, ("open cabinet 1", "You open the cabinet 1. In it, you see nothing.")),
            "move mug 1 to cabinet 1",
        ),
        (COOLED, IN_HAND, "go to fridge 1"),
        (COOLED, (*IN_HAND, ("go to fridge 1", "You arrive at fridge 1. The fridge 1 is closed.")), "cool mug 1 with fridge 1"),
        (("find and take a pen", PLAN[1]), IN_HAND, None),
        (("sing", "dance"), IN_HAND, None),
    ],
)
def test_the_plan_is_carried_out_with_what_was_found(
    plan: tuple[str, ...], told: tuple[tuple[str, str], ...], first: str | None
) -> None:
    assert next(iter(brief.due(plan, after(*told).belief, COMMANDS)), None) == first


def test_an_actor_that_walks_on_the_spot_with_the_thing_in_hand_puts_it_down() -> None:
    commands = ("go to countertop 1", "take potato 1 from countertop 1", "go to diningtable 1")
    told = plays([put("diningtable"), *[put("fridge")] * 99], *commands, then="go to diningtable 1", max_turns=4)
    stepped = of(events.Stepped, told)
    assert stepped[-1].command == "move potato 1 to diningtable 1" and all(step.accepted for step in stepped)


def test_a_place_that_an_actor_made_up_is_never_gone_to() -> None:
    searching = of(events.Stepped, plays([put("diningtable")], then="go to fridge 7", max_turns=4))
    assert all(step.accepted for step in searching)
    found = of(
        events.Stepped, plays([put("diningtable")], "go to countertop 1", then="take potato 9 from fridge 1", max_turns=3)
    )
    assert [step.command for step in found[1:]] == ["take potato 1 from countertop 1", "go to diningtable 1"]


def test_an_actor_that_is_stuck_in_vain_does_not_use_up_the_revisions() -> None:
    readings = [*[put("fridge", "dragon")] * (READINGS - 1), put("fridge")]
    told = plays([put("fridge", "dragon"), *readings], then="stuck", max_turns=40)
    plans, stepped = of(events.Planned, told), of(events.Stepped, told)
    assert [plan.steps[0].split()[-1] for plan in plans[:2]] == ["dragon", "potato"]
    # It searched for more turns than there are revisions, 12, before it saw a potato.
    assert [step.command for step in stepped].index("go to countertop 1") > 12


def test_each_other_plan_uses_up_a_revision() -> None:
    kinds = ("fridge", "drawer", "diningtable", "cabinet")
    readings = [put(place, thing) for thing in ("potato", "egg", "apple", "tomato", "bread", "lettuce") for place in kinds]
    assert len(readings) == READINGS
    told = plays([readings[0], *readings * 4], "go to countertop 1", then="stuck", max_turns=40)
    assert len(of(events.Planned, told)) == 1 + 12


def test_a_search_for_the_second_of_two_things_is_not_given_up_for_another_plan() -> None:
    two = planned(
        *(
            f"find and take {'another' if too else 'a'} potato" if not put_down else f"put it in the diningtable{too}"
            for too in ("", " too")
            for put_down in (False, True)
        )
    )
    commands = (
        "go to countertop 1",
        "take potato 1 from countertop 1",
        "go to diningtable 1",
        "move potato 1 to diningtable 1",
    )
    told = plays([two, *[two] * (READINGS - 1), put("fridge")], *commands, then="look", max_turns=PATIENCE + 6)
    assert len(of(events.Planned, told)) == 1


def test_what_is_done_already_is_not_planned_again() -> None:
    commands = (
        "go to countertop 1",
        "take potato 1 from countertop 1",
        "go to diningtable 1",
        "move potato 1 to diningtable 1",
    )
    replies = [put("diningtable"), *[put("diningtable")] * 20, *[put("fridge")] * 4]
    told = plays([*replies, *replies[1:] * 3], *commands, then="stuck", max_turns=9)
    # All that is left after the fridge would be the table, where the potato lies.
    assert [plan.steps[1].rpartition(" ")[2] for plan in of(events.Planned, told)] == ["diningtable", "fridge"]


def test_a_search_ends_once_all_that_the_plan_needs_was_seen() -> None:
    desk = ("go to desk 1", "You arrive at desk 1. On the desk 1, you see a mug 1.")
    find, place = "find and take a mug", "put it in the fridge"
    lamp = (find, "find a desklamp and use it")
    two = (find, place, "find and take another mug", f"{place} too")
    assert after().misses_some(PLAN)
    assert not after(desk).misses_some(PLAN)
    assert after(desk).misses_some(two)
    assert after(desk).misses_some(lamp)
    both = ("go to desk 1", "You arrive at desk 1. On the desk 1, you see a desklamp 1, a mug 2, and a mug 1.")
    assert not after(both).misses_some(two)
    assert not after(both).misses_some(lamp)
    assert after(desk).misses_some(("bring the pens",))
    assert not after(desk).misses_some(("look at the mug",))
    assert after().misses_all(two)
    assert not after(desk).misses_all(two)


def test_what_a_plan_wants_is_read_off_the_belief() -> None:
    scene = after(
        ("go to desk 1", "You arrive at desk 1. On the desk 1, you see a mug 2, and a mug 1."),
        ("take mug 1 from desk 1", "You pick up the mug 1 from the desk 1."),
        ("heat mug 1 with microwave 1", "You heat the mug 1 using the microwave 1."),
        ("move mug 1 to desk 1", "You move the mug 1 to the desk 1."),
    )
    find, place = "find and take a mug", "put it in the desk"
    two = (find, place, "find and take another mug", f"{place} too")
    assert brief.is_done((find, place), scene.belief)
    assert brief.is_done((find, "heat it with the microwave", place), scene.belief)
    assert not brief.is_done((find, "clean it with the sinkbasin", place), scene.belief)
    assert not brief.is_done((find, "put it in the cabinet"), scene.belief)
    assert brief.is_done(two, scene.belief)
    apart = after(
        *(
            (f"go to cabinet {number}", f"You arrive at cabinet {number}. On the cabinet {number}, you see a mug {number}.")
            for number in (1, 2)
        )
    )
    assert brief.is_done(PLAN, apart.belief)
    assert not brief.is_done((find, "put it in the cabinet", two[2], "put it in the cabinet too"), apart.belief)
    assert brief.is_found((f"{find}, first in the desk or the fridge", place), scene.belief)
    assert not brief.is_found(("find and take a pen", place), scene.belief)
    assert not brief.is_possible((find, "put it in the volcano"), scene.belief)
    assert not brief.is_possible((find, find, place), scene.belief)
    assert not brief.is_done((find, "find a desklamp and use it"), scene.belief)


@pytest.mark.heavy
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_rubbish_is_bounded_spends_turns_and_is_recorded(tmp_path: Path, seed: int) -> None:
    told = episode(load_builtin(write_tiny(tmp_path, seed)), max_turns=3)
    ended = told[-1]
    assert isinstance(ended, events.Ended)
    assert (ended.outcome, ended.turns) == ("lost", 3)
    assert len(of(events.TurnSpent, told)) + len(of(events.Stepped, told)) == 3
    calls, unreadable = of(events.ModelCall, told), of(events.ParseFailed, told)
    assert unreadable
    assert {reply.reply for reply in unreadable} <= {call.reply for call in calls}
    assert all(call.completion_tokens <= 512 for call in calls)
    # Each of plan and command is asked for once more at most.
    assert len(calls) <= 4 * 3


LOOP = "Thought: " + "look for an egg " * 300


@pytest.mark.parametrize(
    ("reply", "readable"),
    [
        (LOOP, False),
        (f"{LOOP}\nStep: 1\nAction: look", True),
        ("Thought: take the egg\nStep: 1\nAct", False),
        ("Thought: take the egg\nStep: 1\nAction:", False),
        ("Action: take " + "egg " * 300, False),
        (acts("take dragon 7 from volcano 3"), True),
    ],
    ids=["a loop", "a loop with an end", "cut off", "cut off before the command", "an endless command", "unknown objects"],
)
def test_each_kind_of_rubbish_is_bounded_and_recorded(reply: str, readable: bool) -> None:
    told = episode(Parrot(lambda text: planned("find and take an egg") if text.startswith("Goal:") else reply), max_turns=4)
    stepped, spent = of(events.Stepped, told), of(events.TurnSpent, told)
    assert len(stepped) + len(spent) == 4
    assert bool(stepped) is readable
    assert bool(of(events.ParseFailed, told)) is not readable
    assert reply in {call.reply for call in of(events.ModelCall, told)}
    assert all(len(thought.text) <= LONGEST_KEPT for thought in of(events.Thought, told))
    assert goes_on_otherwise(stepped)


def test_a_loop_over_several_commands_is_left() -> None:
    loop = ("go to fridge 1", "go to countertop 1", "go to fridge 1", "sing")
    turns = count()
    parrot = Parrot(
        lambda text: planned("find and take an egg") if text.startswith("Goal:") else acts(loop[next(turns) % len(loop)])
    )
    stepped = of(events.Stepped, episode(parrot, max_turns=12))
    assert goes_on_otherwise(stepped)
    assert {step.command for step in stepped} - {*loop}


def test_a_world_that_belief_cannot_read_is_refused(tmp_path: Path) -> None:
    told = episode(load_builtin(write_tiny(tmp_path)), world="scripted")
    assert isinstance(told[-1], events.Ended)
    assert "only plays households" in (told[-1].message or "")


def test_a_file_of_ones_own_is_named_behind_the_kind(tmp_path: Path) -> None:
    file = write_tiny(tmp_path)
    assert make_model(f"builtin:{file}").name == f"builtin:{file}"


def test_what_taught_nothing_is_done_once_wherever_one_stands() -> None:
    empty = "You arrive at {}. On the {}, you see nothing."
    desk = ("go to desk 1", empty.format("desk 1", "desk 1"))
    cabinet = ("go to cabinet 1", "You arrive at cabinet 1. The cabinet 1 is closed.")
    scene = after(desk, cabinet, desk)
    assert scene.tried == ()
    assert scene.idle == ("go to desk 1",)
    assert "go to desk 1" not in scene.alternatives(COMMANDS)
    assert "go to fridge 1" in scene.alternatives(COMMANDS)
    # Once more is known, it may be of use again.
    assert after(desk, cabinet, desk, ("go to fridge 1", "You arrive at fridge 1. The fridge 1 is closed.")).idle == ()


def test_what_was_refused_elsewhere_may_be_right_here() -> None:
    desk = ("go to desk 1", "You arrive at desk 1. On the desk 1, you see a desklamp 1.")
    cabinet = ("go to cabinet 1", "You arrive at cabinet 1. The cabinet 1 is closed.")
    refused = ("use desklamp 1", "Nothing happens.")
    assert "use desklamp 1" in after(desk, cabinet, refused).idle
    assert "use desklamp 1" not in after(desk, cabinet, refused, desk).idle


def test_a_thing_that_was_found_is_taken_before_its_lamp_is_searched_for() -> None:
    plan = ("find and take a mug", "find a desklamp and use it")
    found = ("go to desk 1", "You arrive at desk 1. On the desk 1, you see a mug 1.")
    taken = ("take mug 1 from desk 1", "You pick up the mug 1 from the desk 1.")
    searched = [brief.unseen(plan, after(*told).belief) for told in ((), (found,), (found, taken))]
    assert searched == [("mug", "desklamp"), (), ("desklamp",)]


@pytest.mark.parametrize("prompt", ["Goal: x", "Plan:\n1. y"])
def test_short_prompts_are_told_from_others(prompt: str) -> None:
    assert brief.is_brief_prompt(prompt)
    assert not brief.is_brief_prompt(f"Well, {prompt}")


def test_another_model_finds_what_the_one_before_it_has_seen() -> None:
    class Wavering(Parrot):
        """Is spoken to at length at first, and briefly later on."""

        reads: Any = None  # pyright: ignore[reportIncompatibleMethodOverride]

        async def complete(self, request: Request) -> Completion:
            completion = await super().complete(request)
            self.reads = brief.is_brief_prompt if len(self.asked) > 2 else None
            return completion

    def reply(text: str) -> str:
        return planned("find and take an egg") if "Write the plan" in text else acts(f"go to cabinet {len(model.asked)}")

    model = Wavering(reply)
    episode(model, max_turns=4)
    assert model.asked[-1].startswith("Plan:")
    assert "Here: cabinet" in model.asked[-1]
    assert "cabinet 2" not in model.asked[-1].partition("Unseen:")[2]


def test_of_several_goals_each_keeps_its_one_meaning_whatever_a_small_model_reads() -> None:
    plans = iter([put("armchair", "book"), *[put("sofa", "dragon")] * 99])
    parrot = Parrot(lambda text: next(plans) if text.startswith("Goal:") else acts("stuck"))
    told = episode(parrot, max_turns=6, task="chores:60001")
    assert of(events.Planned, told)[0].steps == ("find and take a book", "put it in the armchair")
    assert not any(plan.revision for plan in of(events.Planned, told))
    moved = [step.command for step in of(events.Stepped, told) if step.command.startswith(("take ", "move "))]
    assert moved[:2] == ["take book 1 from coffeetable 1", "move book 1 to armchair 2"]
