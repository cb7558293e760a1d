"""What is drawn of an episode: where its room comes from, what a scene marks, and the true state played beside it."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

import pytest

from housequest.agent.episodes.drawing import DrawnScene, EpisodeDrawing, draw_episode, goal_kinds, scenes
from housequest.agent.episodes.events import Ended, Event, Started, Stepped, TurnSpent
from housequest.worlds.alfworld.world import AlfworldWorld
from housequest.worlds.base import Env, Observation, Step, Task, Transition, World
from housequest.worlds.env import Wrapper
from housequest.worlds.errors import GameError, Unsupported
from housequest.worlds.household.belief import Belief
from housequest.worlds.registry import make_world
from tests.agent.episodes.acting import acted

EGG = ("go to fridge 1", "open fridge 1", "take egg 2 from fridge 1", "go to microwave 1")


def played(reference: str, commands: tuple[str, ...], **changes: object) -> list[Event]:
    """The events of an episode in which a person gave these commands."""
    world = make_world("scripted" if reference.startswith("demo:") else "alfworld")
    return acted(world, world.task(reference), commands, **changes)


def drawing(events: list[Event], game: tuple[World, Task] | None = None) -> EpisodeDrawing:
    assert isinstance(events[0].body, Started)
    return draw_episode(events[0].body, events[0].belief, game)


def transitions(events: list[Event]) -> list[Transition]:
    bodies = (event.body for event in events)
    return [Transition(one.command, Observation(one.observation)) for one in bodies if isinstance(one, Stepped)]


def drawn(events: list[Event]) -> list[DrawnScene]:
    return [scene for _, scene in scenes(events)]


def test_a_record_is_drawn_in_the_room_of_its_game() -> None:
    world = make_world("alfworld")
    task = world.task("example:1")
    events = played("example:1", ())
    assert drawing(events).room == drawing(events, (world, task)).room == world.room(task)
    assert not drawing(events).room.made_up


@pytest.mark.parametrize(
    "changes",
    [
        {"split": "valid_nowhere"},
        {"task": "/etc/passwd", "split": "file"},
        {"task": "../kitchen"},
        # Another house than the record's.
        {"task": "generated/4", "split": "generated", "number": 4},
    ],
)
def test_a_record_whose_game_is_not_here_gets_a_plan_of_what_its_opening_names(changes: dict[str, object]) -> None:
    here = drawing(played("example:1", ()))
    other = drawing(played("example:1", (), **changes))
    assert other.room.made_up and other.missing and other.states is None
    assert {one.name for one in other.room.fixtures} == {one.name for one in here.room.fixtures}
    scene = drawn(played("example:1", (), **changes))[0]
    assert scene.picture("house", (24, 16)).png()


@pytest.mark.parametrize(("changes", "why"), [({}, "not a household"), ({"world": "not-installed"}, "There is no world named")])
def test_a_world_without_furniture_says_why_nothing_is_drawn(changes: dict[str, object], why: str) -> None:
    with pytest.raises(Unsupported, match=why):
        drawing(played("demo:1", (), **changes))
    with pytest.raises(Unsupported, match="name no furniture"):
        drawing(played("example:1", (), opening="It is dark."))


def test_a_scene_says_what_is_new_what_the_goal_names_and_where_the_move_began() -> None:
    scenes = drawn(played("generated:690", EGG))
    room = scenes[0].room
    start, went, opened, took, away = scenes
    assert (start.came, start.new) == (None, frozenset())
    assert start.wants("egg 9") and start.wants("diningtable 1") and not start.wants("fridge 1")
    assert went.came == room.start and went.new == {"fridge 1"}
    assert opened.came is None and opened.new >= {"fridge 1", "egg 2", "lettuce 1"}
    assert took.new == {"egg 2"} and took.situation.carried == ("egg 2",)
    assert away.came == room.pose("fridge 1") and away.situation.at == "microwave 1" and "egg 2" not in away.new
    assert not any(scene.true for scene in scenes)


def test_a_turn_without_a_command_is_drawn_as_the_one_before_without_its_news() -> None:
    events = played("generated:690", EGG[:1])
    more = (TurnSpent(turn=2), Ended(outcome="stopped", reason="", turns=2, steps=1, refused=0))
    events += [Event(id=2 + at, parent=1 + at, body=body) for at, body in enumerate(more)]
    scenes = drawn(events)
    assert len(scenes) == 3
    assert scenes[2] == replace(scenes[1], came=None, new=frozenset())


def test_the_true_state_is_played_beside_the_episode_on_every_branch() -> None:
    events = played("generated:690", EGG)
    told, turns = drawing(events), transitions(events)
    last = drawn(events)[-1]

    def true(count: int) -> DrawnScene:
        scene = told.true_scene(turns[:count], Belief())
        assert scene is not None and scene.true
        return scene

    inside = {one.name: one.contents for one in true(0).situation.holders}
    assert "egg 2" in inside["fridge 1"] and inside["diningtable 1"]
    assert true(4).situation.carried == last.situation.carried == ("egg 2",)
    # Back, and on another branch.
    assert true(1).situation.carried == ()
    branch = transitions(played("generated:690", (*EGG[:2], "close fridge 1")))
    other = told.true_scene(branch, Belief())
    assert other is not None and next(one for one in other.situation.holders if one.name == "fridge 1").openness == "closed"
    assert true(2).situation != other.situation and true(4).situation.carried == ("egg 2",)


def test_no_true_state_is_shown_of_a_game_that_answers_otherwise() -> None:
    events = played("generated:690", EGG)
    told, turns = drawing(events), transitions(events)
    turns[1] = replace(turns[1], observation=Observation("You open the fridge 1. It is empty."))
    assert told.true_scene(turns[:1], Belief()) is not None
    assert told.true_scene(turns[:2], Belief()) is told.true_scene(turns, Belief()) is None
    turns[1] = Transition("put egg 2 in fridge 1", Observation("Nothing happens.", accepted=False))
    assert told.true_scene(turns[:2], Belief()) is not None


class Unreliable(AlfworldWorld):
    """Its games beside an episode break off once, at the ``fault``-th thing that is asked of them."""

    def __init__(self, fault: int) -> None:
        super().__init__()
        self.until = fault

    def sandbox(self, task: Task) -> Env:
        return Breaking(super().sandbox(task), self)

    def fail(self) -> None:
        self.until -= 1
        if self.until == 0:
            raise GameError("It broke off.")


class Breaking(Wrapper):
    def __init__(self, env: Env, world: Unreliable) -> None:
        super().__init__(env)
        self._world = world

    def reset(self) -> Step:
        step = self.env.reset()
        self._world.fail()
        return step

    def step(self, command: str) -> Step:
        step = self.env.step(command)
        self._world.fail()
        return step


@pytest.mark.parametrize("fault", [1, 2, 3, 4])
def test_a_true_state_that_cannot_be_played_once_can_be_asked_for_again(fault: int) -> None:
    world, events = Unreliable(fault), played("generated:690", EGG)
    told, turns = drawing(events, (world, world.task("generated:690"))), transitions(events)
    with pytest.raises(GameError, match="broke off"):
        told.true_scene(turns, Belief())
    for count in (0, len(turns), 1):
        scene, right = told.true_scene(turns[:count], Belief()), drawing(events).true_scene(turns[:count], Belief())
        assert scene is not None and scene == right


@pytest.mark.parametrize(
    ("goal", "named"),
    [
        ("put a hot egg in countertop.", {"egg", "countertop"}),
        ("look at mug under the desklamp.", {"mug", "desklamp"}),
        ("Heat an egg and lay it on the counter.", {"egg", "countertop"}),
    ],
)
def test_goals_are_understood_where_they_can_be(goal: str, named: set[str]) -> None:
    assert goal_kinds("alfworld", goal, ("countertop", "fridge", "microwave")) == named


def test_of_another_goal_the_words_count() -> None:
    kinds = goal_kinds("alfworld", "tidy cabinets, counter top and two boxes", ("cabinet", "countertop"))
    assert {"cabinet", "countertop", "box"} <= kinds
    assert "egg" not in kinds


@pytest.mark.heavy
def test_making_scenes_imports_no_numpy() -> None:
    code = """
import sys
from housequest.agent.episodes.drawing import draw_episode
from housequest.agent.episodes.events import Started
from housequest.agent.episodes.drawing import goal_kinds
from tests.agent.episodes.acting import acted
from housequest.worlds.registry import make_world
world = make_world("alfworld")
task = world.task("example:1")
opening = world.open(task).reset().observation
belief = world.household.begin(opening)
told = draw_episode(Started(format="0.2", world="alfworld", engine="", task=task.id, split="example", number=1, type="",
    goal=task.goal, wording="", agent="", max_turns=1, seed=0, opening=opening.text), belief)
told.scene(belief)
assert "numpy" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
