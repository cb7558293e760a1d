"""The engine ``boxes`` of ALFWorld: its games enacted in a simulator. And the scenes of worlds whose tasks have any."""

from __future__ import annotations

from housequest.worlds.alfred.simulator.base import Scene
from housequest.worlds.alfred.simulator.boxes import Boxes
from housequest.worlds.alfred.simulator.embodied import EnactedEnv
from housequest.worlds.alfred.simulator.scene import scene_of
from housequest.worlds.alfred.world import AlfredWorld
from housequest.worlds.alfworld.engine.game import Game, GameFile, parse_game
from housequest.worlds.alfworld.engine.native import VERSION, NativeEnv
from housequest.worlds.alfworld.world import AlfworldWorld
from housequest.worlds.base import Task, World


class BoxesEngine:
    """The native engine, whose commands are carried out in the simulator of boxes."""

    enacts = True
    version = f"{VERSION}, enacted in {Boxes.version}"

    def open(self, task: Task, game: Game, file: GameFile) -> EnactedEnv:
        return EnactedEnv(NativeEnv(task, game), scene_of(file.problem, game))

    def close(self) -> None:
        """It holds nothing."""


def scene_in(world: World, task: Task) -> Scene:
    """Hidden: where ``task`` begins, for a simulator. Raises ``GameError``, and ``ValueError`` for a world without scenes."""
    if isinstance(world, AlfredWorld):
        return world.scene(task)
    if isinstance(world, AlfworldWorld):
        problem, sentence = world.source(task)
        return scene_of(problem, parse_game(problem, sentence, task.id))
    raise ValueError(f"the world {world.name} has no scenes to simulate")
