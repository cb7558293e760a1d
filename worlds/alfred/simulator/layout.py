"""What can change in a simulated household, as a value, and what stands where in it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from math import hypot

from housequest.worlds.alfred.simulator.affordances import DIRTYABLE, MOVABLE, SLICES, TOGGLEABLE, kind_in
from housequest.worlds.alfred.simulator.base import FLOOR, NOTHING_TREATED, Lying, Scene, SimulatedObject, Treated
from housequest.worlds.rooms import stage
from housequest.worlds.rooms.room import AHEAD, Box, Fixture, Point, Pose, kind_of
from housequest.worlds.rooms.stage import BOARD

HAND = "hand"
"""Where a thing is that is held."""


@dataclass(frozen=True)
class Layout:
    """All that can change in a scene but where the agent stands. Sets are of ids; ``hot`` and ``cold`` are temperatures."""

    things: tuple[Lying, ...]
    open: frozenset[str]
    on: frozenset[str]
    dirty: frozenset[str]
    hot: frozenset[str] = frozenset()
    cold: frozenset[str] = frozenset()

    @cached_property
    def thing(self) -> Mapping[str, Lying]:
        """What lies there by its id."""
        return {one.id: one for one in self.things}

    @cached_property
    def contents(self) -> Mapping[str, tuple[str, ...]]:
        """The ids of what each receptacle holds itself."""
        found: dict[str, list[str]] = {}
        for one in self.things:
            found.setdefault(one.at, []).append(one.id)
        return {at: tuple(ids) for at, ids in found.items()}

    @property
    def held(self) -> str | None:
        """The id of what is in the hand."""
        return next(iter(self.contents.get(HAND, ())), None)

    def around(self, id: str) -> Iterator[str]:
        """The ids of the receptacles around a thing, the nearest first; ``HAND`` and ``FLOOR`` are among them."""
        while (one := self.thing.get(id)) is not None:
            yield one.at
            id = one.at

    def within(self, id: str) -> Iterator[str]:
        """The ids of all that a receptacle holds, at any depth."""
        for inner in self.contents.get(id, ()):
            yield inner
            yield from self.within(inner)

    def moved(self, id: str, at: str, point: Point) -> Layout:
        """The layout with a thing, and what it holds, elsewhere; it lies last in its receptacle."""
        one = self.thing[id]
        dx, dy, dz = (a - b for a, b in zip(point, one.point, strict=True))
        along = frozenset(self.within(id))
        rest = [
            replace(other, point=Point(other.point.x + dx, other.point.y + dy, other.point.z + dz))
            if other.id in along
            else other
            for other in self.things
            if other.id != id
        ]
        return replace(self, things=(*rest, replace(one, at=at, point=point)))


@dataclass(frozen=True, slots=True)
class State:
    """A simulated household at one moment."""

    pose: Pose
    layout: Layout
    treated: Treated = NOTHING_TREATED


def begun(scene: Scene) -> State:
    """The state in which an episode begins."""
    basins = {scene.ids[one.name]: one.box for one in scene.room.fixtures if one.kind.form == "basin"}
    machines = {scene.ids[one.name]: one for one in scene.room.fixtures if one.name.startswith("coffeemachine ")}
    things = tuple(
        _within(one, basins[one.at])
        if one.at in basins
        else replace(one, point=before(machines[one.at], one.name))
        if one.at in machines
        else one
        for one in scene.things
    )
    return State(scene.start, Layout(things, scene.open, scene.on, scene.dirty))


def before(machine: Fixture, name: str) -> Point:
    """Where a thing of this name stands in front of a machine that has no inside."""
    middle, (dx, dz) = machine.box.centre, AHEAD[machine.front]
    out = machine.box.spans(machine.front)[1] / 2 + kind_of(name).depth / 2
    return stage.pivot(name, middle.x + dx * out, machine.box.y0, middle.z + dz * out)


def _within(one: Lying, basin: Box) -> Lying:
    """A thing within the rim of its basin, which is smaller than the one in the game."""
    kind = kind_of(one.name)
    x, _, z = (
        min(max(at, low + share), high - share) if high - low > 2 * share else (low + high) / 2
        for at, low, high, share in zip(
            one.point, basin[:3], basin[3:], (kind.width / 2 + BOARD, 0.0, kind.depth / 2 + BOARD), strict=True
        )
    )
    return replace(one, point=one.point._replace(x=x, z=z))


def fixtures(scene: Scene) -> Iterator[tuple[str, Fixture]]:
    """The id of each fixture and piece of scenery that is an object."""
    for one in (*scene.room.fixtures, *scene.room.scenery):
        if (id := scene.ids.get(one.name)) is not None:
            yield id, one


def box_at(one: Lying) -> Box:
    """The box of a thing where it lies."""
    return stage.box_at(one.name, one.point)


def apart(pose: Pose, box: Box) -> float:
    """How far the nearest point of a box is from somebody, along the floor."""
    return hypot(max(0.0, box.x0 - pose.x, pose.x - box.x1), max(0.0, box.z0 - pose.z, pose.z - box.z1))


def listed(scene: Scene, state: State) -> tuple[SimulatedObject, ...]:
    """All objects, by their ids."""
    receptacles = {scene.ids[one.name] for one in scene.room.fixtures}
    found = [
        _object(scene, state, id, one.name, one.box.centre, _nearest(state.pose, one), id in receptacles)
        for id, one in fixtures(scene)
    ]
    for thing in state.layout.things:
        movable = kind_in(thing.id) in MOVABLE
        found.append(_object(scene, state, thing.id, thing.name, thing.point, box_at(thing), movable, thing))
    return tuple(sorted(found, key=lambda one: one.id))


def _nearest(pose: Pose, one: Fixture) -> Box:
    """The box of a fixture, of a counter the piece that is nearest to the agent."""
    return min(one.boxes, key=lambda box: apart(pose, box))


def _object(
    scene: Scene, state: State, id: str, name: str, point: Point, box: Box, receptacle: bool, thing: Lying | None = None
) -> SimulatedObject:
    layout, kind = state.layout, kind_in(id)
    return SimulatedObject(
        id,
        kind,
        name,
        point,
        box,
        0.0 if HAND in layout.around(id) else apart(state.pose, box),
        pickupable=thing is not None and thing.pickupable,
        receptacle=receptacle,
        openable=id in scene.openable,
        toggleable=kind in TOGGLEABLE,
        sliceable=kind in SLICES,
        dirtyable=kind in DIRTYABLE,
        open=id in layout.open,
        on=id in layout.on,
        sliced=id.count("|") > 3 and thing is not None,
        dirty=id in layout.dirty,
        temperature="Hot" if id in layout.hot else "Cold" if id in layout.cold else "RoomTemp",
        parents=tuple(at for at in layout.around(id) if at not in (HAND, FLOOR)),
        contents=layout.contents.get(id, ()),
    )
