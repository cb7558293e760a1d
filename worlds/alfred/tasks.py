"""ALFRED's annotated demonstrations, read from ``traj_data.json``: people's instructions, the plan, the goal and the room.

The files are in ALFWorld's layout, ``json_2.1.1/<split>/<task>/<trial>/traj_data.json``, with or without a game beside them; a
demonstration's id is ``<split>/<task>/<trial>``. The files are untrusted.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar, cast

from housequest.worlds.alfred.model import Scene, Thing, able, receptacles_of, room_of
from housequest.worlds.alfred.plans import LONGEST_PLAN, NOTHING, Plan, PlanError, PlanStep, plan_step
from housequest.worlds.alfred.scoring import TASK_TYPES, AlfredGoal
from housequest.worlds.alfworld.data.tasks import GET_DATA, LAYOUT, MAX_TRAJECTORY, TRAJECTORY_FILE, splits_of
from housequest.worlds.errors import GameError, TaskNotFound, nearest, shown
from housequest.worlds.paths import alfworld_data, read_file
from housequest.worlds.tasks import plain_sentence

T = TypeVar("T")

_MOST_ANNOTATIONS = 20
_MOST_POSES = 400
_KIND = re.compile(r"[A-Za-z]{1,40}", re.ASCII)
_TARGETS = {"receptacle": "parent", "movable": "mrecep", "lamp": "toggle"}


@dataclass(frozen=True, slots=True)
class Instruction:
    """One annotator's goal and step-by-step instructions. ``annotator`` counts from 1."""

    annotator: int
    goal: str
    steps: tuple[str, ...]

    def text(self, *, stepwise: bool) -> str:
        """One line: the goal, followed by the steps if ``stepwise``."""
        return " ".join((self.goal, *self.steps)) if stepwise else self.goal


@dataclass(frozen=True, slots=True)
class Demonstration:
    """One ALFRED trajectory without its frames. ``plan`` is the annotated one without ``NoOp``."""

    id: str
    split: str
    type: str
    goal: AlfredGoal
    plan: Plan
    scene: Scene
    instructions: tuple[Instruction, ...]


def read_split(split: str, data: Path | None = None) -> tuple[Demonstration, ...]:
    """Every demonstration of ``split``, sorted by id. ``data`` holds ``json_2.1.1``.

    Raises ``TaskNotFound`` for an unknown split and ``GameError`` for a damaged file.
    """
    root = (data or alfworld_data()) / LAYOUT
    there = splits(data)
    if split not in there:
        known = f"there are {', '.join(there)}" if there else f"{shown(str(root), 400)} has none"
        raise TaskNotFound(f"There is no split {shown(split)} with annotations; {known}.{nearest(split, there)} {GET_DATA}")
    paths = sorted(root.joinpath(split).glob(f"*/*/{TRAJECTORY_FILE}"), key=lambda path: path.parts[-3:-1])
    return tuple(read_demonstration(path) for path in paths)


def splits(data: Path | None = None) -> tuple[str, ...]:
    """The splits in the data folder, published ones first."""
    root = (data or alfworld_data()) / LAYOUT
    try:
        return splits_of(folder.name for folder in root.iterdir() if folder.is_dir())
    except OSError:
        return ()


def read_demonstration(path: Path) -> Demonstration:
    """Read a ``traj_data.json``. Raises ``GameError`` naming the file and what is wrong with it."""
    return read_annotated(path, _demonstration)


def read_annotated(path: Path, make: Callable[[Path, Any], T]) -> T:
    """What ``make`` reads of the content of a ``traj_data.json``, which is untrusted.

    Raises ``GameError`` naming the file and what is wrong with it.
    """
    try:
        if path.stat().st_size > MAX_TRAJECTORY:
            raise GameError(f"{shown(str(path), 400)} is too large for annotations; at most {MAX_TRAJECTORY:,} bytes are read.")
        return make(path, json.loads(read_file(path)))
    except (OSError, ValueError, LookupError, TypeError, AttributeError, OverflowError, RecursionError) as error:
        detail = error.strerror if isinstance(error, OSError) else f"{type(error).__name__}: {shown(str(error))}"
        raise GameError(f"{shown(str(path), 400)} holds no ALFRED annotations ({detail}). Fetch it again.") from error


def _demonstration(path: Path, content: Any) -> Demonstration:
    steps = cast("list[Any]", content["plan"]["high_pddl"])
    if len(steps) > LONGEST_PLAN:
        raise PlanError(f"{len(steps)} subgoals are too many")
    goal = goal_of(content)
    return Demonstration(
        id="/".join(path.parts[-4:-1]),
        split=path.parts[-4],
        type=goal.type,
        goal=goal,
        plan=_plan([step["discrete_action"] for step in steps]),
        scene=_scene(content["scene"], [step["planner_action"] for step in steps], goal),
        instructions=instructions_of(content),
    )


def goal_of(content: Any) -> AlfredGoal:
    """The goal in the content of a ``traj_data.json``."""
    return _goal(content["task_type"], content["pddl_params"])


def instructions_of(content: Any, *, steps: bool = True) -> tuple[Instruction, ...]:
    """The annotators' goals and, if wanted, ``steps`` in the content of a ``traj_data.json``."""
    annotations = enumerate(content["turk_annotations"]["anns"][:_MOST_ANNOTATIONS], start=1)
    return tuple(_instruction(number, one, steps=steps) for number, one in annotations)


def _goal(name: Any, parameters: Any) -> AlfredGoal:
    if name not in TASK_TYPES:
        raise ValueError(f"no task type {name!r}")
    named = {field: parameters[f"{key}_target"] for field, key in _TARGETS.items()}
    return AlfredGoal(
        type=name,
        object=_kind(parameters["object_target"]),
        sliced=parameters["object_sliced"] is True,
        **{field: _kind(target) if target else None for field, target in named.items()},
    )


def _instruction(annotator: int, annotation: Any, *, steps: bool) -> Instruction:
    told = cast("list[Any]", annotation["high_descs"])[: LONGEST_PLAN if steps else 0]
    return Instruction(
        annotator, plain_sentence(_word(annotation["task_desc"])), tuple(plain_sentence(_word(step)) for step in told)
    )


def _plan(actions: list[Any]) -> Plan:
    plan: list[PlanStep] = []
    for action in actions:
        names: list[Any] = action["args"]
        if action["action"] != NOTHING:
            # Some treatments name nothing; they treat what was picked up last.
            held = next((one.thing for one in reversed(plan) if one.action == "PickupObject"), "")
            plan.append(plan_step(_word(action["action"]), [_kind(name or held) for name in names]))
    return tuple(plan)


def _scene(scene: Any, actions: list[Any], goal: AlfredGoal) -> Scene:
    # Count the kinds by name ("KeyChain_2197d4a8"), then place those that the plan touched.
    poses = cast("list[Any]", scene["object_poses"])[:_MOST_POSES]
    counted = Counter(_kind(_word(pose["objectName"]).partition("_")[0]) for pose in poses)
    touched = _touched(actions)
    counted.subtract(Counter(thing.kind for thing in touched))
    rest = [Thing(kind) for kind in sorted(counted) if able(kind, "pickupable") for _ in range(counted[kind])]
    lamps = [Thing(goal.lamp)] if goal.lamp and all(thing.kind != goal.lamp for thing in touched) else []
    return Scene(receptacles_of(room_of(int(scene["scene_num"]))), (*touched, *rest, *lamps))


def _touched(actions: list[Any]) -> list[Thing]:
    """What the plan picks up, slices or turns on, each with its place when it was first touched."""
    places: dict[str, str | None] = {}
    for action in actions:
        name = action["action"]
        if name not in ("PickupObject", "SliceObject", "ToggleObject"):
            continue
        # A slice is named after what it was cut from: "Bread|-01.24|+01.40|-03.20|BreadSliced_1".
        thing = "|".join(_word(action["objectId"]).split("|")[:4])
        on = action.get("coordinateReceptacleObjectId") if name == "PickupObject" else None
        if places.get(thing) is None:
            places[thing] = _kind(on[0]) if on else None
    return [Thing(_kind(thing.partition("|")[0]), place) for thing, place in places.items()]


def _word(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{shown(value)} is not text")
    return value


def _kind(value: Any) -> str:
    if not isinstance(value, str) or not _KIND.fullmatch(value):
        raise ValueError(f"{shown(value)} is not the name of a kind")
    return value.casefold()
