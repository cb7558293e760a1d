"""The engine ``boxes`` of ALFWorld: the same text games, enacted in a simulator; and the scenes of tasks.

The native engine alone decides text, acceptance and winning. Each accepted command is also carried out in the simulator of
boxes. If the simulator cannot do it as the game does, that is a *divergence*: it is counted and forced, and the game goes on
unchanged.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise, product
from typing import Self

from housequest.worlds.alfred.scenes import scene_of
from housequest.worlds.alfred.simulator.base import SLICES, Scene, SimulatorEvent, kind_in
from housequest.worlds.alfred.simulator.boxes import HIGHEST, LOWEST, Boxes
from housequest.worlds.alfred.simulator.layout import visible
from housequest.worlds.alfred.world import AlfredWorld
from housequest.worlds.alfworld.engine.game import Game, GameFile, GroundAction, parse_game
from housequest.worlds.alfworld.engine.native import VERSION, NativeEnv, commands
from housequest.worlds.alfworld.world import AlfworldWorld
from housequest.worlds.base import Step, Task, World
from housequest.worlds.env import Divergence, Enacted, RobotMove, Wrapper
from housequest.worlds.rooms.room import AHEAD, GRID, Pose, way

_TILT = 15.0
_NEAR = 1.8
_APART = 1e-6


class EnactedEnv(Wrapper):
    """A game of the native engine whose commands are also carried out in boxes; the answers are the game's own."""

    env: NativeEnv

    def __init__(self, env: NativeEnv, scene: Scene) -> None:
        super().__init__(env)
        self._game, self._scene = env.game, scene
        self._boxes = Boxes()
        self.enacted = Enacted()

    @property
    def task(self) -> Task:
        return self.env.task

    def reset(self) -> Step:
        self._boxes.begin(self._scene)
        self.enacted = Enacted()
        return self.env.reset()

    def step(self, command: str) -> Step:
        action = commands(self._game, self.env.state).get(command.strip())
        step = self.env.step(command)
        if action is not None:
            hand = _Hand(self._game, self._scene, self._boxes)
            hand.carry_out(action)
            found = (*self.enacted.divergences, *(Divergence(command, reason) for reason in hand.refused[:1]))
            actions = self.enacted.actions + len(hand.moves)
            self.enacted = Enacted(self.enacted.commands + 1, actions, found, tuple(hand.moves))
        else:
            self.enacted = replace(self.enacted, moves=())
        return step

    def event(self) -> SimulatorEvent:
        """Hidden: the simulator's present state."""
        return self._boxes.act("Pass")

    def copy(self) -> Self:
        other = super().copy()
        other._boxes = self._boxes.copy()
        return other

    def close(self) -> None:
        self._boxes.close()
        super().close()


class _Hand:
    """Carries out one command; ``refused`` are the reasons why the simulator differed from the game."""

    def __init__(self, game: Game, scene: Scene, boxes: Boxes) -> None:
        self.game, self.scene, self.boxes = game, scene, boxes
        self.moves: list[RobotMove] = []
        self.refused: list[str] = []
        self.now = boxes.act("Pass")
        self.ids = dict(scene.ids)

    def carry_out(self, action: GroundAction) -> None:
        place = self.game.receptacles[action.receptacle] if action.receptacle >= 0 else ""
        thing = self._thing(self.game.objects[action.object]) if action.object >= 0 else ""
        at = self.ids.get(place, "")
        match action.verb:
            case "go":
                self._walk(self.scene.room.pose(place))
            case "open" | "close" as verb:
                self._act(f"{verb.capitalize()}Object", at)
            case "take":
                self._act("PickupObject", thing)
            case "move":
                self._act("PutObject", at)
            case "use" if thing not in self.boxes.state.layout.on:
                self._act("ToggleObjectOn", thing)
            case "slice" if kind_in(thing) in SLICES:
                self._act("SliceObject", thing)
            case "heat":
                self._within(at, thing, "ToggleObjectOn", "ToggleObjectOff")
            case "cool":
                self._within(at, thing)
            case "clean":
                self._act("PutObject", at)
                room, ids = self.scene.room, self.scene.ids
                middle = next((one.box.centre for one in room.fixtures if ids[one.name] == at), None)
                taps = {ids[one.name]: one.box.centre for one in room.scenery if one.name.startswith("faucet ")}
                if middle is not None and taps:
                    faucet = min(taps, key=lambda id: (taps[id].x - middle.x) ** 2 + (taps[id].z - middle.z) ** 2)
                    for switching in ("ToggleObjectOn", "ToggleObjectOff"):
                        self._act(switching, faucet)
                self._act("PickupObject", thing)
            case _:
                pass

    def _within(self, at: str, thing: str, *switched: str) -> None:
        was_open = at in self.boxes.state.layout.open
        if not was_open:
            self._act("OpenObject", at)
        self._act("PutObject", at)
        self._act("CloseObject", at)
        for action in switched:
            self._act(action, at)
        self._act("OpenObject", at)
        self._act("PickupObject", thing)
        if not was_open:
            self._act("CloseObject", at)

    def _thing(self, name: str) -> str:
        things, layout = {one.name: one.id for one in self.scene.things}, self.boxes.state.layout
        id = things.get(name) or self.ids.get(name, "")
        if id in layout.thing or not id:
            return id
        return next((one for one in (layout.held, *layout.thing) if one is not None and one.startswith(f"{id}|")), id)

    def _act(self, action: str, id: str) -> None:
        """Act on an object from a pose where it is visible; force the action if it is refused."""
        if action == "PutObject" and self.boxes.state.layout.held is None:
            self.refused.append("nothing is held")
            return
        # Find a pose from which the object is visible: here, or a few steps aside.
        for pose in self._poses():
            if id in visible(self.scene, replace(self.boxes.state, pose=pose), [id]):
                self._walk(pose)
                break
        event = self._do(action, objectId=id)
        if not event.ok:
            self.refused.append(event.message.removeprefix("NullReferenceException: "))
            self.now = self.boxes.act(action, objectId=id, forceAction=True)

    def _do(self, action: str, **arguments: object) -> SimulatorEvent:
        self.now, id = self.boxes.act(action, **arguments), str(arguments.get("objectId", ""))
        named = {other: name for name, other in self.ids.items()} | {one.id: one.name for one in self.scene.things}
        # The object's name in the game; for a slice, its kind.
        self.moves.append(RobotMove(f"{action} {named.get(id) or kind_in(id).lower()}".strip(), self.now.pose))
        return self.now

    def _poses(self) -> Iterator[Pose]:
        """The poses near by: this one, then others by the distance of their cells and by how little they turn."""
        here, floor = self.now.pose, self.scene.room.floor
        yield here
        x, z = here.cell
        steps = range(-round(_NEAR / GRID), round(_NEAR / GRID) + 1)
        cells = [cell for dx, dz in product(steps, steps) if (cell := (x + dx, z + dz)) in floor]
        tilts = [HIGHEST + _TILT * step for step in range(round((LOWEST - HIGHEST) / _TILT) + 1)]
        tilts.sort(key=lambda tilt: abs(tilt - here.pitch))
        cells.sort(key=lambda cell: (abs(cell[0] - x) + abs(cell[1] - z), cell))
        for cell, turn, tilt in product(cells, (0.0, 90.0, -90.0, 180.0), tilts):
            yield Pose(cell[0] * GRID, cell[1] * GRID, (here.yaw + turn) % 360, tilt)

    def _walk(self, to: Pose) -> None:
        cells = way(self.scene.room.floor, self.now.pose.cell, to.cell)
        if not cells:
            self.refused.append("there is no way")
            self.now = self.boxes.act("TeleportFull", x=to.x, z=to.z, rotation=to.yaw, horizon=to.pitch, forceAction=True)
            return
        for (x, z), (next_x, next_z) in pairwise(cells):
            self._turn(90.0 * AHEAD.index((next_x - x, next_z - z)))
            if not self._do("MoveAhead").ok:
                self.refused.append(self.now.message)
        self._turn(to.yaw)
        while abs(to.pitch - self.now.pose.pitch) > _TILT - _APART:
            self._do("LookDown" if to.pitch > self.now.pose.pitch else "LookUp")

    def _turn(self, yaw: float) -> None:
        while (away := (yaw - self.now.pose.yaw) % 360) > _APART:
            self._do("RotateLeft" if away > 180 else "RotateRight")


class BoxesEngine:
    enacts = True
    version = f"{VERSION}, enacted in {Boxes.version}"

    def open(self, task: Task, game: Game, file: GameFile) -> EnactedEnv:
        return EnactedEnv(NativeEnv(task, game), scene_of(file.problem, game))

    def close(self) -> None:
        """Do nothing; there is nothing to close."""


def scene_in(world: World, task: Task) -> Scene:
    """Hidden: the scene in which ``task`` begins. Raises ``GameError``, and ``ValueError`` for a world without scenes."""
    if isinstance(world, AlfredWorld):
        return world.scene(task)
    if isinstance(world, AlfworldWorld):
        problem, sentence = world.source(task)
        return scene_of(problem, parse_game(problem, sentence, task.id))
    raise ValueError(f"the world {world.name} has no scenes to simulate")
