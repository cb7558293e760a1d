"""ALFRED's annotated trajectories as tasks to play, read from ``traj_data.json``: where they begin, and what people did.

All ids are AI2-THOR's, such as ``Mug|+00.10|+00.90|-01.20``, of the build in which they were recorded. The files are untrusted.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Any, cast

from housequest.worlds.alfred.scoring import AlfredGoal
from housequest.worlds.alfred.tasks import goal_of, read_annotated
from housequest.worlds.rooms.poses import FAR, Point, Pose

MOVES = ("MoveAhead", "RotateLeft", "RotateRight", "LookUp", "LookDown")
INTERACTIONS = (
    "PickupObject",
    "PutObject",
    "OpenObject",
    "CloseObject",
    "ToggleObjectOn",
    "ToggleObjectOff",
    "SliceObject",
)
"""ALFRED's low-level actions (Shridhar et al. 2020, section 3.1)."""

MOST_ACTIONS = 2_000
"""The longest annotated trajectory of train and valid_seen has 234."""
_MOST_POSES = 400
_MOST_DEGREES = 360
_LONGEST_ID = 120


@dataclass(frozen=True, slots=True)
class LowAction:
    """An annotated action; ``target`` is what it acts on, for ``PutObject`` the receptacle, and None for a move."""

    name: str
    target: str | None = None


@dataclass(frozen=True, slots=True)
class Trajectory:
    """A task as annotated. ``floor_plan`` is AI2-THOR's name of its scene; ``start`` has the horizon as its pitch.

    ``height`` is the y of the agent where it starts. ``things`` are those that can be carried off, each its kind, as AI2-THOR
    writes it, and its point; ``on`` are kinds of lamp that are on, ``dirty`` says that whatever can be dirty is, and is empty.
    """

    goal: AlfredGoal
    floor_plan: str
    start: Pose
    height: float
    things: tuple[tuple[str, Point], ...]
    on: frozenset[str]
    dirty: bool
    actions: tuple[LowAction, ...]


def read_trajectory(path: Path) -> Trajectory:
    """Read a ``traj_data.json``. Raises ``GameError`` naming the file and what is wrong with it."""
    return read_annotated(path, _trajectory)


def _trajectory(path: Path, content: Any) -> Trajectory:
    del path
    scene: Any = content["scene"]
    first: Any = scene["init_action"]
    actions = cast("list[Any]", content["plan"]["low_actions"])
    poses = cast("list[Any]", scene["object_poses"])
    if not 0 < len(actions) <= MOST_ACTIONS or len(poses) > _MOST_POSES:
        raise ValueError(f"it has {len(actions)} low-level actions and {len(poses)} things")
    toggles = cast("list[Any]", scene["object_toggles"] or [])[:_MOST_POSES]
    x, y, z = (_number(first[axis]) for axis in "xyz")
    return Trajectory(
        goal=goal_of(content),
        floor_plan=_text(scene["floor_plan"]),
        start=Pose(x, z, _number(first["rotation"], _MOST_DEGREES) % 360, _number(first["horizon"], _MOST_DEGREES)),
        height=y,
        things=tuple(_thing(pose["objectName"], pose["position"]) for pose in poses),
        on=frozenset(_text(toggle["objectType"]) for toggle in toggles if toggle["isOn"] is True),
        dirty=scene["dirty_and_empty"] is True,
        actions=tuple(_action(action["api_action"]) for action in actions),
    )


def _thing(name: Any, at: Any) -> tuple[str, Point]:
    # "KeyChain_2197d4a8": what follows the kind differs from build to build.
    return _text(name).partition("_")[0], Point(*(_number(at[axis]) for axis in "xyz"))


def _action(action: Any) -> LowAction:
    name = action["action"]
    if name in MOVES:
        return LowAction(name)
    if name not in INTERACTIONS:
        raise ValueError(f"no low-level action {name!r}")
    return LowAction(name, _text(action["receptacleObjectId" if name == "PutObject" else "objectId"]))


def _number(value: Any, most: float = FAR) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value) or abs(value) > most:
        raise ValueError(f"{value!r} is not a number of a room")
    return float(value)


def _text(value: Any) -> str:
    if not isinstance(value, str) or not 0 < len(value) <= _LONGEST_ID or not value.isprintable():
        raise ValueError(f"{value!r} is not a name")
    return value
