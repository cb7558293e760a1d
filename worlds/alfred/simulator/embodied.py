"""The same text game, enacted: each accepted command is carried out in the simulator of boxes, and nothing of the game changes.

The native engine stays the rule for text, acceptance and who has won. A command that the simulator cannot carry out as the game
does is a *divergence*: it is counted, forced through, and changes nothing of the game.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise

from housequest.worlds.alfred.simulator.affordances import SLICES, kind_in
from housequest.worlds.alfred.simulator.base import Event, Scene
from housequest.worlds.alfred.simulator.boxes import HIGHEST, LOWEST, Boxes
from housequest.worlds.alfred.simulator.layout import State
from housequest.worlds.alfred.simulator.sight import visible
from housequest.worlds.alfworld.engine.game import Action, Game
from housequest.worlds.alfworld.engine.native import NativeEnv, commands
from housequest.worlds.base import Step, Task
from housequest.worlds.env import Wrapper
from housequest.worlds.household.enacted import Divergence, Enacted, Move
from housequest.worlds.rooms.room import AHEAD, GRID, Pose, way

_TILT = 15.0
_NEAR = 1.8
_APART = 1e-6


class EnactedEnv(Wrapper):
    """A game of the native engine whose commands are also carried out in boxes; its answers are the game's own."""

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

    def event(self) -> Event:
        """Hidden: what there is in the simulator now."""
        return self._boxes.act("Pass")

    def copy(self) -> EnactedEnv:
        other = EnactedEnv(self.env.copy(), self._scene)
        other._boxes, other.enacted = self._boxes.copy(), self.enacted
        return other

    def close(self) -> None:
        self._boxes.close()
        super().close()


class _Hand:
    """Carries out one command; ``refused`` are the reasons for which the simulator did not do as the game."""

    def __init__(self, game: Game, scene: Scene, boxes: Boxes) -> None:
        self.game, self.scene, self.boxes = game, scene, boxes
        self.moves: list[Move] = []
        self.refused: list[str] = []
        self.now = boxes.act("Pass")
        self.ids = dict(scene.ids)

    def carry_out(self, action: Action) -> None:
        """Walk, turn, look and act as the command says."""
        place = self.game.receptacles[action.receptacle] if action.receptacle >= 0 else ""
        thing = self._thing(self.game.objects[action.object]) if action.object >= 0 else ""
        at = self.ids.get(place, "")
        match action.verb:
            case "go":
                self._walk(self.scene.room.pose(place))
            case "open":
                self._act("OpenObject", at)
            case "close":
                self._act("CloseObject", at)
            case "take":
                self._act("PickupObject", thing)
            case "move":
                self._put(at)
            case "use":
                if thing not in self._state().layout.on:
                    self._act("ToggleObjectOn", thing)
            case "slice":
                if kind_in(thing) in SLICES:
                    self._act("SliceObject", thing)
            case "heat":
                self._within(at, thing, "ToggleObjectOn", "ToggleObjectOff")
            case "cool":
                self._within(at, thing)
            case "clean":
                self._put(at)
                if (faucet := self._faucet(at)) is not None:
                    self._act("ToggleObjectOn", faucet)
                    self._act("ToggleObjectOff", faucet)
                self._act("PickupObject", thing)
            case _:
                pass

    def _within(self, at: str, thing: str, *switched: str) -> None:
        """Put what is held into something, close it, switch it, and take it out again."""
        was_open = at in self._state().layout.open
        if not was_open:
            self._act("OpenObject", at)
        self._put(at)
        self._act("CloseObject", at)
        for action in switched:
            self._act(action, at)
        self._act("OpenObject", at)
        self._act("PickupObject", thing)
        if not was_open:
            self._act("CloseObject", at)

    def _state(self) -> State:
        return self.boxes.state

    def _thing(self, name: str) -> str:
        """The id of a thing by its name; of what was sliced, that of its first slice."""
        things = {one.name: one.id for one in self.scene.things}
        id = things.get(name) or self.ids.get(name, "")
        there = self._state().layout.thing
        held = self._state().layout.held
        if id in there or not id:
            return id
        return next((one for one in (held, *there) if one is not None and one.startswith(f"{id}|")), id)

    def _faucet(self, basin: str) -> str | None:
        """The faucet of a basin: the nearest."""
        found = next((one for one in self.scene.room.fixtures if self.scene.ids[one.name] == basin), None)
        taps = [one for one in self.scene.room.scenery if one.name.startswith("faucet ")]
        if found is None or not taps:
            return None
        middle = found.box.centre
        nearest = min(taps, key=lambda one: (one.box.centre.x - middle.x) ** 2 + (one.box.centre.z - middle.z) ** 2)
        return self.scene.ids[nearest.name]

    def _put(self, at: str) -> None:
        held = self._state().layout.held
        if held is None:
            self.refused.append("nothing is held")
            return
        self._act("PutObject", at)

    def _act(self, action: str, id: str) -> None:
        """Act on an object, from where it can be seen; what is refused is forced."""
        self._aim(id)
        event = self._do(action, objectId=id)
        if not event.ok:
            self.refused.append(event.message.removeprefix("NullReferenceException: "))
            self.now = self.boxes.act(action, objectId=id, forceAction=True)

    def _do(self, action: str, **arguments: object) -> Event:
        self.now = self.boxes.act(action, **arguments)
        self.moves.append(Move(f"{action} {self._name(arguments.get('objectId'))}".strip(), self.now.pose))
        return self.now

    def _name(self, id: object) -> str:
        """What is called so in the game; of a slice, the kind."""
        named = {other: name for name, other in self.ids.items()} | {one.id: one.name for one in self.scene.things}
        return named.get(str(id)) or ("" if id is None else kind_in(str(id)).lower())

    def _aim(self, id: str) -> None:
        """Look to where the object can be seen: from here, else from a step or a few aside."""
        for pose in self._poses():
            if id in visible(self.scene, replace(self._state(), pose=pose), [id]):
                self._walk(pose)
                return

    def _poses(self) -> Iterator[Pose]:
        """The poses near by: this one, others of this cell by how little they turn, then those of cells around."""
        here = self.now.pose
        yield here
        x, z = here.cell
        reach = round(_NEAR / GRID)
        cells = [
            (x + dx, z + dz)
            for dx in range(-reach, reach + 1)
            for dz in range(-reach, reach + 1)
            if (x + dx, z + dz) in self.scene.room.floor
        ]
        tilts = [HIGHEST + _TILT * step for step in range(round((LOWEST - HIGHEST) / _TILT) + 1)]
        for cell in sorted(cells, key=lambda cell: (abs(cell[0] - x) + abs(cell[1] - z), cell)):
            for turn in (0.0, 90.0, -90.0, 180.0):
                for tilt in sorted(tilts, key=lambda tilt: abs(tilt - here.pitch)):
                    yield Pose(cell[0] * GRID, cell[1] * GRID, (here.yaw + turn) % 360, tilt)

    def _walk(self, to: Pose) -> None:
        """Go to a pose by single steps, turns and tilts."""
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
