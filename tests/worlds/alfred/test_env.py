"""A task of the world ``alfred`` as it is played: commands, answers, limits, pictures, and what they do not tell."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import cast

import pytest

from housequest.worlds.alfred.env import UNSEEN, AlfredEnv, Episode, demonstrated, read_command
from housequest.worlds.alfred.simulator.base import Scene
from housequest.worlds.alfred.simulator.boxes import Boxes
from housequest.worlds.alfred.tasks import AlfredGoal, LowAction
from housequest.worlds.alfred.world import DemonstrationPolicy
from housequest.worlds.base import Pictured, Task
from housequest.worlds.errors import OrderError
from housequest.worlds.rooms.room import AHEAD, Pose, way
from tests.worlds.alfred.simulator.played import scene

GOAL = AlfredGoal("pick_and_place_simple", "egg", receptacle="diningtable")
TASK = Task("example/egg", "alfred", "example", 1, GOAL.type, "Put an egg on the table.")
ID = re.compile(r"\|[+-]?\d")


def walk(room: Scene, start: Pose, end: Pose) -> list[LowAction]:
    """Low-level actions from one pose to another."""
    actions: list[LowAction] = []
    quarter = start.quarter

    def turn(to: int) -> None:
        nonlocal quarter
        by = (to - quarter) % 4
        actions.extend(LowAction("RotateLeft") for _ in range(1) if by == 3)
        actions.extend(LowAction("RotateRight") for _ in range(by if by < 3 else 0))
        quarter = to

    cells = way(room.room.floor, start.cell, end.cell)
    for one, other in pairwise(cells):
        turn(AHEAD.index((other[0] - one[0], other[1] - one[1])))
        actions.append(LowAction("MoveAhead"))
    turn(end.quarter)
    tilts = round((end.pitch - start.pitch) / 15)
    return [*actions, *(LowAction("LookDown" if tilts > 0 else "LookUp") for _ in range(abs(tilts)))]


def demonstration(room: Scene) -> tuple[LowAction, ...]:
    """How an egg gets to the table: found out in the stand-in, from poses where things can be seen."""
    simulator, actions = Boxes(), list[LowAction]()
    at = simulator.begin(room).pose
    egg = next(one for one in room.things if one.name == "egg 1")
    table = room.ids["diningtable 1"]
    targets = [("PickupObject", egg.id), ("PutObject", table)]
    if egg.at in room.openable and egg.at not in room.open:
        targets.insert(0, ("OpenObject", egg.at))
    for name, target in targets:
        found = simulator.act("GetInteractablePoses", objectId=target).returned
        assert isinstance(found, list)
        first = cast("dict[str, float]", found[0])
        end = Pose(first["x"], first["z"], first["rotation"], first["horizon"])
        actions += [*walk(room, at, end), LowAction(name, target)]
        simulator.act("TeleportFull", **first)
        assert simulator.act(name, objectId=target).ok
        at = end
    return tuple(actions)


@pytest.fixture(scope="module")
def episode() -> Episode:
    room = scene("example:1")
    return Episode(room, GOAL, demonstration(room))


def env_of(episode: Episode, failures: int = 10) -> AlfredEnv:
    return AlfredEnv(TASK, episode, Boxes, failures)


@pytest.mark.heavy
def test_the_demonstration_wins(episode: Episode) -> None:
    env = env_of(episode)
    step = env.reset()
    commands = demonstrated(episode.actions, episode.scene)
    expert = DemonstrationPolicy({step.observation.text: commands}.__getitem__)
    memory = expert.begin(TASK.goal, step.observation)
    played: list[str] = []
    while not step.done:
        command, _, memory = expert.decide(memory)
        assert command is not None
        step = env.step(command)
        memory = expert.observe(memory, command, step.observation)
        played.append(command)
        assert not ID.search(step.observation.text)
    assert step.won
    assert env.goal_conditions() == (1, 1)
    assert tuple(played) == commands
    assert expert.decide(memory)[0] is None


def test_the_expert_gives_up_where_somebody_else_has_acted(episode: Episode) -> None:
    env = env_of(episode)
    expert = DemonstrationPolicy(lambda _: demonstrated(episode.actions, episode.scene))
    memory = expert.begin(TASK.goal, env.reset().observation)
    odd = "LookUp" if expert.decide(memory)[0] != "LookUp" else "LookDown"
    memory = expert.observe(memory, odd, env.step(odd).observation)
    assert expert.decide(memory)[:2] == (None, "somebody else has acted, and the demonstration does not go on from here")


def test_what_is_not_in_sight_is_as_if_it_were_not_there(episode: Episode) -> None:
    env = env_of(episode)
    env.reset()
    answers = {
        env.step(command).observation.text for command in ("PickupObject egg 1", "PickupObject egg 77", "OpenObject safe 3")
    }
    assert len(answers) == 1
    assert UNSEEN in answers.pop()


def test_ten_failed_actions_end_an_episode_and_other_texts_do_not(episode: Episode) -> None:
    env = env_of(episode)
    env.reset()
    for _ in range(20):
        step = env.step("dance")
        assert (step.observation.accepted, step.done) == (False, False)
    ends = [env.step("OpenObject safe 9").truncated for _ in range(10)]
    assert ends == [False] * 9 + [True]
    endless = env_of(episode, failures=0)
    endless.reset()
    assert not any(endless.step("OpenObject safe 9").done for _ in range(30))


def test_a_copy_is_independent_and_a_step_before_a_reset_is_refused(episode: Episode) -> None:
    env = env_of(episode)
    with pytest.raises(OrderError):
        env.step("MoveAhead")
    env.reset()
    copy = env.copy()
    turned = copy.step("RotateLeft").observation.text
    assert env.step("RotateLeft").observation.text == turned
    assert turned != env.step("RotateLeft").observation.text
    with pytest.raises(OrderError):
        AlfredEnv(TASK, episode, Boxes, 0).copy().step("RotateLeft")


def test_its_picture_names_things_as_commands_do(episode: Episode) -> None:
    env = env_of(episode)
    assert isinstance(env, Pictured)
    env.reset()
    frame = env.frame((60, 60))
    assert frame.size == (60, 60)
    assert not any("|" in name for name in frame.names)
    known = {*episode.scene.ids, *(one.name for one in episode.scene.things)}
    assert {frame.names[number] for number in frame.ids.ravel().tolist() if number >= 0} <= known


def test_possible_commands_are_those_that_are_accepted(episode: Episode) -> None:
    env = env_of(episode)
    env.reset()
    for command in demonstrated(episode.actions, episode.scene):
        listed = env.admissible_commands()
        assert listed is not None
        assert command in listed
        assert list(listed) == sorted(set(listed))
        env.step(command)


@pytest.mark.parametrize(
    ("text", "action"),
    [
        (" moveahead\n", LowAction("MoveAhead")),
        ("PickupObject  Mug 1", LowAction("PickupObject", "mug 1")),
        ("PickupObject", None),
        ("MoveAhead mug 1", None),
        ("PickupObject Mug|+00.10|+00.90|-01.20", None),
        ("TeleportFull", None),
        ("", None),
    ],
)
def test_commands_are_read(text: str, action: LowAction | None) -> None:
    assert read_command(text) == action
    assert action is None or read_command(str(action)) == action
