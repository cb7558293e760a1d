"""A household in which somebody walks, looks and acts: the contract of what simulates one, and AI2-THOR's kinds of object.

A `Scene` is where an episode begins. A `Simulator` carries out one of AI2-THOR's actions at a time, and answers each with a
`SimulatorEvent`. A robot may know ``ok``, ``message``, ``pose``, ``held``, and what perception makes of the frame; the objects
are hidden. ``kinds.toml`` has the kinds, and what can be done to one of each.
"""

from __future__ import annotations

import tomllib
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, Self

from housequest.worlds.rooms.render import Frame, Size
from housequest.worlds.rooms.room import EYE, Box, Point, Pose, Room

if TYPE_CHECKING:
    from numpy import bool_
    from numpy.typing import NDArray


TABLE: dict[str, Any] = tomllib.loads(Path(__file__).with_name("kinds.toml").read_text("utf-8"))
KINDS, OPENABLE, TOGGLEABLE, ENCLOSING, OPEN_AT_FIRST, LAMPS, KNIVES, DIRTYABLE = (
    frozenset(TABLE[name].split())
    for name in ("kinds", "openable", "toggleable", "enclosing", "open_at_first", "lamps", "knives", "dirtyable")
)
SLICES: Mapping[str, tuple[str, int]] = {kind: tuple(into) for kind, into in TABLE["slices"].items()}
"""What can be sliced, and into what and how many."""
MOVABLE: Mapping[str, frozenset[str]] = {kind: frozenset(takes.split()) for kind, takes in TABLE["movable"].items()}
"""What holds things and can be carried, and what it takes."""
_WORDS = {kind.lower(): kind for kind in KINDS}
_WHOLES = {sliced: kind for kind, (sliced, _) in SLICES.items()}


def kind_named(word: str) -> str:
    """The kind of a word in lower case, such as ``CD`` for "cd"; that of an unknown word is the word with a capital."""
    return _WORDS.get(word.lower(), word[:1].upper() + word[1:])


def kind_in(id: str) -> str:
    """The kind of what has this id; a slice and a basin are named in its last part."""
    parts = id.split("|")
    return parts[4].partition("_")[0] if len(parts) > 4 else parts[0]


def whole(kind: str) -> str:
    """The kind of which ``kind`` is a slice, or ``kind`` itself."""
    return _WHOLES.get(kind, kind)


Temperature = Literal["Cold", "Hot", "RoomTemp"]
SIZE: Size = (300, 300)
FIELD = 60.0  # ALFRED's camera: degrees that it sees from top to bottom.
VISIBLE = 1.5  # How far something may be that is acted on, in metres along the floor.
LOOK = 15.0  # Degrees of LookUp and LookDown if an action does not say, as in ALFRED; those of AI2-THOR 5 are 30.
HEIGHT = 0.9009992  # The y of an agent's position in AI2-THOR, where the floor is at 0: its camera is 0.675 metres above.
FLOOR = "Floor|+00.00|+00.00|+00.00"  # The id of the floor, on which lies what was dropped.


@dataclass(frozen=True, slots=True)
class Lying:
    """A thing that does not belong to the room itself: what can be carried off, and lamps. ``at`` is the id of the receptacle
    that holds it, of a movable one too, or ``FLOOR``; ``point`` is that of its id."""

    id: str
    name: str
    at: str
    point: Point
    pickupable: bool = True


@dataclass(frozen=True, slots=True, eq=False)
class Scene:
    """Where an episode begins; it equals only itself. All sets are of AI2-THOR's ids, such as ``Mug|+00.10|+00.90|-01.20``.
    ``ids`` has the id of each fixture and piece of scenery of the room by its name ("sinkbasin 1"); ``things`` is what lies
    there. ``accepts`` are the kinds that each kind of receptacle takes. ``start`` is the pose with the horizon as its pitch."""

    room: Room
    ids: Mapping[str, str]
    things: tuple[Lying, ...]
    accepts: Mapping[str, frozenset[str]]
    openable: frozenset[str]
    start: Pose
    open: frozenset[str] = frozenset()
    on: frozenset[str] = frozenset()
    dirty: frozenset[str] = frozenset()
    eye: float = EYE  # How high the camera is, in metres: in few rooms the floor is not at 0.
    floor_plan: str = ""  # AI2-THOR's name of the room, such as ``FloorPlan28``; empty for a made-up house.


@dataclass(frozen=True, slots=True)
class SimulatedObject:
    """Hidden: an object as it is. ``name`` is ALFWorld's ("mug 1"), ``distance`` that from the agent, in metres. ``parents``
    and ``contents`` are ids of receptacles around it and of what it holds."""

    id: str
    kind: str
    name: str
    position: Point
    box: Box
    distance: float
    pickupable: bool = False
    receptacle: bool = False
    openable: bool = False
    toggleable: bool = False
    sliceable: bool = False
    dirtyable: bool = False
    open: bool = False
    on: bool = False
    sliced: bool = False
    dirty: bool = False
    temperature: Temperature = "RoomTemp"
    parents: tuple[str, ...] = ()
    contents: tuple[str, ...] = ()


Treated = frozenset[tuple[str, str]]
"""What was ever treated and how, as ALFRED counts it: ``clean``, ``heat`` or ``cool``, and an id. It only grows."""
_TREATING = {("ToggleObjectOn", "Faucet"): "clean", ("ToggleObjectOn", "Microwave"): "heat", ("CloseObject", "Fridge"): "cool"}


def grown(before: Treated, action: str, id: str, inside: tuple[str, ...]) -> Treated:
    """What was ever treated, after an action on an object that was carried out and held ``inside``; ALFRED's rules. A faucet
    that is turned on cleans what its basin holds, a microwave heats, and a fridge that is closed cools."""
    treatment = _TREATING.get((action, kind_in(id)))
    return before.union((treatment, one) for one in inside) if treatment else before


@dataclass(frozen=True, slots=True)
class SimulatorEvent:
    """The answer to an action. ``held`` is the id of what is in the hand, ``returned`` what the action was asked for. ``view``
    has what the properties and methods below tell, and makes each part once it is asked for."""

    action: str
    ok: bool
    message: str
    pose: Pose
    held: str | None
    view: Any = field(repr=False)
    returned: object = None
    treated: Treated = frozenset()

    @property
    def objects(self) -> tuple[SimulatedObject, ...]:
        """Hidden: all objects, by their ids."""
        return self.view.objects

    def object(self, id: str) -> SimulatedObject | None:
        """Hidden: the object with this id."""
        return next((one for one in self.objects if one.id == id), None)

    def visible(self) -> frozenset[str]:
        """Hidden: the ids of what stands in ALFRED's picture and is near enough to be acted on. Draws no frame."""
        return self.view.visible

    def frame(self, size: Size = SIZE, field: float = FIELD) -> Frame:
        """What the camera sees: colours, depth along its axis, and whose each pixel is; names are AI2-THOR's ids."""
        return self.view.frame(size, field)


class Simulator(Protocol):
    """A household that carries out AI2-THOR's actions, one at a time. Its methods raise ``WorldError`` where it fails itself.
    ``begin`` sets the scene up and looks round. ``act`` carries out an action by AI2-THOR's name for it and its arguments; what
    is refused has ``ok`` False and says why. ``copy`` gives another one in the same state, or raises ``Unsupported`` where none
    can be. Nothing is called after ``close``."""

    def begin(self, scene: Scene, /) -> SimulatorEvent: ...
    def act(self, action: str, /, **arguments: object) -> SimulatorEvent: ...
    def copy(self) -> Self: ...
    def close(self) -> None: ...


def closest(ids: Collection[str], id: str) -> str | None:
    """The id that ``id`` means among others: itself, or that of its kind which is nearest to the point in it; None for none."""
    point = _point(id)
    if id in ids or point is None:
        return id if id in ids else None
    return nearest(point, {other: _point(other) for other in sorted(ids) if kind_in(other) == kind_in(id)})


def nearest(point: Point, others: Mapping[str, Point | None]) -> str | None:
    """The name of the nearest of ``others``, of equal ones the first; those without a point are farthest. None for none."""

    def far(name: str) -> float:
        there = others[name]
        return float("inf") if there is None else sum((a - b) ** 2 for a, b in zip(point, there, strict=True))

    return min(others, key=far, default=None)


def _point(id: str) -> Point | None:
    try:
        x, y, z = (float(part) for part in id.split("|")[1:4])
    except ValueError:
        return None
    return Point(x, y, z)


def touched(frame: Frame, mask: NDArray[bool_]) -> str | None:
    """The id of what ``mask`` means: the object whose pixels have the most in common with it, by intersection over union. So
    ALFRED reads the masks of those who act. None if there is no object below it."""
    import numpy as np

    if mask.shape != frame.ids.shape:
        raise ValueError(f"a mask is as large as its frame, {frame.ids.shape}, not {mask.shape}")

    def share(number: int) -> float:
        own = frame.ids == number
        return float((own & mask).sum() / (own | mask).sum())

    below = [number for number in map(int, np.unique(frame.ids[mask])) if number >= 0]
    return frame.names[max(below, key=share)] if below else None
