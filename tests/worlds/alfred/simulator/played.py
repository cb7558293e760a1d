"""What tests of simulators share: the scene of a reference, and ways to stand before something."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

from housequest.worlds.alfred.env import Episode
from housequest.worlds.alfred.scenes import scene_of
from housequest.worlds.alfred.simulator.base import Scene, SimulatorEvent
from housequest.worlds.alfred.simulator.boxes import Boxes
from housequest.worlds.alfred.world import AlfredWorld
from housequest.worlds.alfworld.engine.game import parse_game
from housequest.worlds.alfworld.world import AlfworldWorld
from housequest.worlds.base import Task
from housequest.worlds.registry import make_world


class InThor(AlfredWorld):
    """ALFRED's world in AI2-THOR, whose made-up houses go by the names that our player has for them."""

    def _episode(self, task: Task) -> Episode:
        episode = super()._episode(task)
        return episode._replace(scene=replace(episode.scene, floor_plan=task.reference))


@cache
def scene(reference: str) -> Scene:
    """The scene of a task of the world alfworld."""
    world = make_world("alfworld")
    assert isinstance(world, AlfworldWorld)
    problem, sentence = world.source(world.task(reference))
    return scene_of(problem, parse_game(problem, sentence, reference))


def begun(reference: str = "example:1") -> Boxes:
    """The stand-in at the start of a task."""
    simulator = Boxes()
    simulator.begin(scene(reference))
    return simulator


def facing(simulator: Boxes, id: str) -> SimulatorEvent:
    """Stand where the object can be seen."""
    poses = simulator.act("GetInteractablePoses", objectId=id).returned
    assert isinstance(poses, list), id
    assert poses, f"{id} can be seen from nowhere"
    return simulator.act("TeleportFull", **poses[0])
