"""OPEx by a camera, in houses of boxes: a scripted model and the annotated plan play; prompts tell no more than was seen."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from hashlib import sha256

import pytest

from housequest.agent.agents.spec import make_agent
from housequest.agent.base import Overseer, Play, Proceed
from housequest.agent.config import Settings
from housequest.agent.episodes import events
from housequest.agent.episodes.config import EpisodeConfig
from housequest.agent.episodes.events import CallTiming, Event
from housequest.agent.episodes.loop import run_episode
from housequest.agent.models.base import Model
from housequest.agent.setup import set_up
from housequest.worlds.alfred.world import AlfredWorld
from housequest.worlds.base import Task
from housequest.worlds.errors import ConfigurationError, Unsupported
from housequest.worlds.household.goals import Skill
from housequest.worlds.registry import make_world
from tests.agent.agents.opex.test_opex import FINISH, PLAN, play, roles
from tests.agent.agents.test_agents import ended
from tests.agent.episodes.attending import Person

pytestmark = pytest.mark.heavy
HOUSE = "example:1"  # heat some egg and put it in diningtable
THROUGH = (
    play("Explore", "None"),
    play("PickupObject", "Egg"),
    FINISH,
    play("Heat", "egg"),
    FINISH,
    play("Put", "DiningTable"),
)
SUBGOALS = (Skill("pick", "egg", "fridge"), Skill("heat", "egg"), Skill("put", "egg", "diningtable"))
POINT = re.compile(r"-?\d+\.\d\d")


class Annotated(AlfredWorld):
    """ALFRED's world, whose made-up house has an annotated plan."""

    def annotated_plan(self, task: Task) -> tuple[Skill, ...]:
        return SUBGOALS


def episode(
    model: Model | None = None,
    *,
    settings: Mapping[str, str] | None = None,
    grants: frozenset[str] = frozenset(),
    overseer: Overseer | None = None,
    max_turns: int = 400,
) -> list[Event]:
    world = Annotated()
    agent = make_agent("opex", world=world, model=model, settings=settings or {})
    told: list[Event] = []

    def listen(event: Event | CallTiming) -> None:
        if isinstance(event, Event):
            told.append(event)
            if isinstance(overseer, Person):
                overseer.hear(event)

    terms = EpisodeConfig(world, grants, max_turns)
    asyncio.run(run_episode(world.open(world.task(HOUSE)), agent, terms, listen, overseer))
    return told


def steps(told: list[Event]) -> list[events.Stepped]:
    return [event.body for event in told if isinstance(event.body, events.Stepped)]


def planned(told: list[Event]) -> list[tuple[str, ...]]:
    return [event.body.steps for event in told if isinstance(event.body, events.Planned)]


def prompts(told: list[Event]) -> list[str]:
    """What each call was asked: its whole prompt, examples too."""
    calls = (event.body for event in told if isinstance(event.body, events.ModelCall))
    return ["\n".join(message.content for message in call.added) for call in calls]


def oracle(**more: str) -> list[Event]:
    return episode(settings={"planner": "oracle", **more}, grants=frozenset({"plan"}))


def test_a_model_plays_a_whole_task_by_skills() -> None:
    told = episode(roles([PLAN], THROUGH))
    assert ended(told).outcome == "won"
    assert planned(told)[0] == ("Find an egg.", "Heat it.", "Put it on the diningtable.")
    assert {"PickupObject egg 1", "ToggleObjectOn microwave 1"} <= {step.command for step in steps(told)}
    observer = next(text for text in prompts(told) if "What just happened:" in text)
    assert "RotateRight" in observer or "MoveAhead" in observer


def test_prompts_hold_no_name_no_id_and_no_coordinate() -> None:
    told = episode(roles([PLAN], THROUGH))
    asked = prompts(told)
    commands = {step.command for step in steps(told)}
    for text in asked:
        assert not POINT.search(text)
        assert not re.search(r"[a-z]\|[+-]?\d", text, re.IGNORECASE)
        assert not any(command.partition(" ")[2] and command.partition(" ")[2] in text for command in commands)
        assert "You stand at" not in text


def test_prompts_hold_no_kind_that_perception_has_not_reported() -> None:
    told = episode(
        roles([PLAN], [play("LookAround", "None"), play("Pick", "egg")]), settings={"seeing": "noisy:miss=1"}, max_turns=30
    )
    lines = [line for text in prompts(told) for line in text.splitlines()]
    said = [line for line in lines if line.startswith(("Found so far:", "In front of the robot:", "Places of the room:"))]
    assert said
    assert {line.partition(": ")[2] for line in said} == {"nothing"}


def test_the_annotated_plan_is_carried_out_without_a_model() -> None:
    told = oracle()
    assert ended(told).outcome == "won"
    assert not prompts(told)
    assert planned(told)[0] == ("pick up the egg", "heat the egg", "put the egg in the diningtable")
    started = next(event.body for event in told if isinstance(event.body, events.Started))
    assert started.grants == ("plan",)


def test_equal_seeds_give_equal_episodes() -> None:
    noise = "noisy:miss=0.3,confuse=0.2,depth=0.05,seed={}"

    def digest(seed: int) -> str:
        told = oracle(seeing=noise.format(seed))
        return sha256("\n".join(event.model_dump_json() for event in told).encode()).hexdigest()

    assert digest(1) == digest(1)
    assert digest(1) != digest(2)


def test_the_plan_has_to_be_granted() -> None:
    chosen = Settings(world="alfred", agent="opex", set={"planner": "oracle"})
    with pytest.raises(ConfigurationError, match="--grant plan"):
        set_up(chosen)
    granted = set_up(chosen.model_copy(update={"grant": ("plan",)}))
    assert granted.model is None
    assert granted.settings["planner"] == "oracle"
    with pytest.raises(ConfigurationError, match="needs a language model"):
        set_up(Settings(world="alfred", agent="opex"))


def test_a_house_without_annotations_has_no_plan_to_grant() -> None:
    world = make_world("alfred")
    agent = make_agent("opex", world=world, settings={"planner": "oracle"})
    told: list[Event | CallTiming] = []
    terms = EpisodeConfig(world, frozenset({"plan"}))
    end = asyncio.run(run_episode(world.open(world.task(HOUSE)), agent, terms, told.append))
    assert (end.outcome, end.boundary) == ("error", "configuration")
    assert "train and valid_seen" in (end.message or "")
    assert "leave out --grant plan and planner=oracle" in (end.message or "")


def test_a_detector_of_photographs_is_refused_where_pictures_are_of_boxes() -> None:
    with pytest.raises(Unsupported, match="photographs"):
        make_agent("opex", world=make_world("alfred"), settings={"planner": "oracle", "seeing": "onnx:objects=x"})


def test_what_goes_wrong_is_a_thought_of_the_policy() -> None:
    told = episode(roles([PLAN], [play("Slice", "egg")]), max_turns=3)
    said = [event.body.text for event in told if isinstance(event.body, events.Thought) and event.body.role == events.POLICY]
    assert "planner's fault: there is no knife in the hand" in said


def test_a_person_may_play_in_between() -> None:
    person = Person([Proceed(), Play("RotateLeft"), Play("RotateRight"), Proceed()])
    told = episode(settings={"planner": "oracle"}, grants=frozenset({"plan"}), overseer=person)
    assert by_person(told) == ["RotateLeft", "RotateRight"]
    assert ended(told).outcome == "won"


TO_THE_EGG = ("RotateRight", "RotateRight", "MoveAhead", "MoveAhead")


def by_person(told: list[Event]) -> list[str]:
    return [step.command for step in steps(told) if step.by == "person"]


@pytest.mark.parametrize(
    ("agent_begins", "more"),
    [
        (True, ()),
        (False, ()),
        (True, ("RotateLeft", "RotateLeft", "MoveAhead", "RotateLeft")),
    ],
)
def test_what_a_person_picked_up_is_known_when_they_hand_back(agent_begins: bool, more: tuple[str, ...]) -> None:
    way = TO_THE_EGG[1:] if agent_begins else TO_THE_EGG
    played = (*way, "PickupObject egg 1", *["MoveAhead"] * 3, *more)
    person = Person([*[Proceed()] * agent_begins, *map(Play, played)])
    told = episode(settings={"planner": "oracle"}, grants=frozenset({"plan"}), overseer=person, max_turns=100)
    assert by_person(told) == list(played)
    assert any(not step.accepted for step in steps(told) if step.command == "MoveAhead" and step.by == "person")
    assert ended(told).outcome == "won"


def test_prompts_hold_no_kind_that_only_a_person_named() -> None:
    played = (*TO_THE_EGG[1:], "PickupObject kettle 1", "PickupObject potato 1", "OpenObject cabinet 3")
    told = episode(
        roles([PLAN], [play("Pick", "egg"), FINISH, play("Pick", "egg")]),
        settings={"seeing": "noisy:miss=1"},
        overseer=Person([Proceed(), *map(Play, played)]),
        max_turns=30,
    )
    assert by_person(told) == list(played)
    sent = "\n".join(prompts(told))
    assert "PickupObject: done" in sent
    assert "PickupObject: failed" in sent
    assert "the hand is full: it holds something" in sent
    assert not re.search(r"kettle|potato|cabinet 3", sent)
