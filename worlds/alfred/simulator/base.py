"""The contract of simulators, and AI2-THOR's kinds of objects.

An episode begins in a `Scene`. A `Simulator` carries out AI2-THOR's actions one at a time, and answers each with a
`SimulatorEvent`. A robot may know its ``ok``, ``message``, ``pose`` and ``held``, and perceive the frame; the objects are
hidden. ``kinds.toml`` lists the kinds and their properties.
"""

from __future__ import annotations

import tomllib
import zlib
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from decimal import ROUND_HALF_UP, Decimal
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
"""The kinds that can be sliced, each with the kind and number of its slices."""
MOVABLE: Mapping[str, frozenset[str]] = {kind: frozenset(takes.split()) for kind, takes in TABLE["movable"].items()}
"""The movable receptacles, each with the kinds that it takes."""
_WORDS = {kind.lower(): kind for kind in KINDS}
_WHOLES = {sliced: kind for kind, (sliced, _) in SLICES.items()}


def kind_named(word: str) -> str:
    """The kind of a word in lower case, such as ``CD`` for "cd"; an unknown word gets a capital."""
    return _WORDS.get(word.lower(), word[:1].upper() + word[1:])


def kind_in(id: str) -> str:
    """The kind of the object with this id; for slices and basins it is in the last part."""
    parts = id.split("|")
    return parts[4].partition("_")[0] if len(parts) > 4 else parts[0]


def id_at(kind: str, point: Point) -> str:
    """AI2-THOR's id of an object of a kind at a point; a basin is a part of its sink or tub."""
    whole, basin, _ = kind.partition("Basin")
    parts = [whole, *map(_metres, point)]
    return "|".join([*parts, kind] if basin else parts)


def _metres(part: float) -> str:
    """A coordinate as .NET writes it in an id: first to seven digits, then with halves away from zero, so -1.06499982 is
    -01.07; a negative number that rounds to zero has no sign."""
    rounded = Decimal(f"{part:.7g}").quantize(Decimal("0.01"), ROUND_HALF_UP)
    return f"{'+' if part >= 0 else '-' if rounded else ''}{abs(rounded):05.2f}"


def label_of(id: str) -> str:
    """A name in AI2-THOR's own form, "Mug_fee30bc3", for the object with this id."""
    return f"{kind_in(id)}_{zlib.crc32(id.encode()):08x}"


def whole(kind: str) -> str:
    """The kind that ``kind`` is a slice of, or ``kind`` itself."""
    return _WHOLES.get(kind, kind)


Temperature = Literal["Cold", "Hot", "RoomTemp"]
SIZE: Size = (300, 300)
FIELD = 60.0  # The vertical field of view of ALFRED's camera, in degrees.
VISIBLE = 1.5  # The greatest distance along the floor to act on an object, in metres.
LOOK = 15.0  # The default degrees of LookUp and LookDown, as in ALFRED; AI2-THOR 5 has 30.
HEIGHT = 0.9009992  # The y of an agent's position in AI2-THOR if the floor is at 0; its camera is 0.675 metres higher.
FLOOR = "Floor|+00.00|+00.00|+00.00"  # The id of the floor, which holds dropped objects.


@dataclass(frozen=True, slots=True)
class Lying:
    """A movable object or a lamp. ``at`` is the id of the receptacle that holds it, which may be movable, or ``FLOOR``;
    ``point`` is its position, as in its id."""

    id: str
    name: str
    at: str
    point: Point
    pickupable: bool = True


@dataclass(frozen=True, slots=True, eq=False)
class Scene:
    """The beginning of an episode; it equals only itself. All sets are of AI2-THOR's ids, such as
    ``Mug|+00.10|+00.90|-01.20``. ``ids`` has the id of each fixture and piece of scenery by its name ("sinkbasin 1"), and
    ``things`` are the objects. ``accepts`` has the kinds that each kind of receptacle takes. ``start`` is the pose with the
    horizon as its pitch."""

    room: Room
    ids: Mapping[str, str]
    things: tuple[Lying, ...]
    accepts: Mapping[str, frozenset[str]]
    openable: frozenset[str]
    start: Pose
    open: frozenset[str] = frozenset()
    on: frozenset[str] = frozenset()
    dirty: frozenset[str] = frozenset()
    eye: float = EYE  # The height of the camera, in metres, since in a few rooms the floor is not at 0.
    floor_plan: str = ""  # AI2-THOR's name of the room, such as ``FloorPlan28``; empty for a made-up house.


UPRIGHT = Point(0.0, 0.0, 0.0)


@dataclass(frozen=True, slots=True)
class SimulatedObject:
    """Hidden: the state of an object. ``name`` is ALFWorld's ("mug 1"), ``label`` AI2-THOR's ("Mug_fee30bc3"), and ``distance``
    is from the agent, in metres.
    ``parents`` are the ids of the receptacles around it, and ``contents`` those of the objects in it. Furniture that can be
    pushed is ``moveable``."""

    id: str
    kind: str
    name: str
    label: str
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
    moveable: bool = False
    rotation: Point = UPRIGHT
    temperature: Temperature = "RoomTemp"
    parents: tuple[str, ...] = ()
    contents: tuple[str, ...] = ()


Treated = frozenset[tuple[str, str]]
"""All treatments so far, as ALFRED counts them: pairs of ``clean``, ``heat`` or ``cool`` and an id. The set only grows."""
_TREATING = {("ToggleObjectOn", "Faucet"): "clean", ("ToggleObjectOn", "Microwave"): "heat", ("CloseObject", "Fridge"): "cool"}


def grown(before: Treated, action: str, id: str, inside: tuple[str, ...]) -> Treated:
    """Add the treatments by an action on the object ``id``, which holds ``inside``, by ALFRED's rules: turning on a faucet
    cleans the objects in its basin, turning on a microwave heats, and closing a fridge cools."""
    treatment = _TREATING.get((action, kind_in(id)))
    return before.union((treatment, one) for one in inside) if treatment else before


@dataclass(frozen=True, slots=True)
class SimulatorEvent:
    """The answer to an action. ``held`` is the id of the object in the hand, and ``returned`` the result of a query. ``view``
    computes the properties and methods below when they are needed."""

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
        """Hidden: all objects, sorted by id."""
        return self.view.objects

    def object(self, id: str) -> SimulatedObject | None:
        """Hidden: the object with this id."""
        return next((one for one in self.objects if one.id == id), None)

    def visible(self) -> frozenset[str]:
        """Hidden: the ids of the objects in ALFRED's picture that are near enough to act on. Draws no frame."""
        return self.view.visible

    def frame(self, size: Size = SIZE, field: float = FIELD) -> Frame:
        """The camera's frame: colours, depth along its axis, and the object of each pixel, named by AI2-THOR's id."""
        return self.view.frame(size, field)


class Simulator(Protocol):
    """A household that carries out AI2-THOR's actions, one at a time. Its methods raise ``WorldError`` if the simulator itself
    fails. ``begin`` sets up the scene. ``act`` carries out an action by AI2-THOR's name and arguments; a refused one has ``ok``
    False and a message. ``copy`` returns a simulator in the same state, or raises ``Unsupported``. Nothing is called after
    ``close``."""

    def begin(self, scene: Scene, /) -> SimulatorEvent: ...
    def act(self, action: str, /, **arguments: object) -> SimulatorEvent: ...
    def copy(self) -> Self: ...
    def close(self) -> None: ...


def closest(ids: Collection[str], id: str) -> str | None:
    """The id among ``ids`` that ``id`` means: itself, or the one of its kind nearest to its point; None if there is none."""
    point = _point(id)
    if id in ids or point is None:
        return id if id in ids else None
    return nearest(point, {other: _point(other) for other in sorted(ids) if kind_in(other) == kind_in(id)})


def nearest(point: Point, others: Mapping[str, Point | None]) -> str | None:
    """The name of the nearest of ``others``, the first of equal ones; those without a point are farthest. None for none."""

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
    """The id of the object that ``mask`` means: the one with the greatest intersection over union, as in ALFRED; None if the
    mask covers no object."""
    import numpy as np

    if mask.shape != frame.ids.shape:
        raise ValueError(f"a mask is as large as its frame, {frame.ids.shape}, not {mask.shape}")

    def share(number: int) -> float:
        own = frame.ids == number
        return float((own & mask).sum() / (own | mask).sum())

    below = [number for number in map(int, np.unique(frame.ids[mask])) if number >= 0]
    return frame.names[max(below, key=share)] if below else None
