"""What is drawn of an episode in a world that shows pictures: what they have shown by then, and the true state."""

from __future__ import annotations

import numpy as np

from housequest.agent.episodes.drawing import draw_episode
from housequest.agent.episodes.events import Started
from housequest.worlds.base import Env, Pictured, Task, Transition, World
from housequest.worlds.paths import FORMAT
from housequest.worlds.registry import make_world
from tests.parts import needs

COMMANDS = ("RotateLeft", "RotateLeft", "MoveAhead", "RotateLeft")


def began(world: World, task: Task) -> Started:
    return Started(
        format=FORMAT,
        world=world.name,
        engine=world.engine,
        task=task.id,
        split=task.split,
        number=task.number,
        type=task.type,
        goal=task.goal,
        wording=task.wording,
        agent="human",
        max_turns=50,
        seed=0,
        opening=world.open(task).reset().observation.text,
    )


def in_picture(env: Env) -> set[str]:
    assert isinstance(env, Pictured)
    frame = env.frame((300, 300))
    return {name for name in frame.names if frame.pixels(name)}


@needs("alfred")
def test_what_was_in_no_picture_is_not_drawn() -> None:
    world = make_world("alfred")
    task = world.task("example:1")
    drawing = draw_episode(began(world, task), None, (world, task))
    env, turns = world.open(task), list[Transition]()
    env.reset()
    pictured = in_picture(env)
    drawn: list[set[str]] = []
    for command in (None, *COMMANDS):
        if command is not None:
            turns.append(Transition(command, env.step(command).observation))
            pictured |= in_picture(env)
        scene = drawing.known_scene(turns, None)
        true = drawing.true_scene(turns, None)
        assert true is not None
        names = {one.name for one in scene.room.fixtures} | {name for one in scene.situation.holders for name in one.contents}
        assert names <= pictured
        assert scene.situation.pose == true.situation.pose
        assert (scene.true, true.true) == (False, True)
        assert isinstance(env, Pictured)
        eyes = scene.picture("eyes", (40, 30))
        # It is square, as the robot's own, and nothing is added beside it.
        assert (eyes.rgb[:, 5:35] == env.frame((30, 30)).rgb).all() and np.isinf(eyes.depth[:, :5]).all()
        assert (scene.picture("eyes", (40, 15), 0.5).rgb == eyes.rgb[1::2]).all()
        drawn.append(names)
    assert drawn[0] < drawn[-1]
    assert {one.name for one in drawing.room.fixtures} > {one.name for one in drawing.known_scene((), None).room.fixtures}
