"""Annotations of our own in ALFRED's format, for tests without the published data."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

SCENES = {"kitchen": 5, "bedroom": 305}


def annotated(
    plan: Sequence[str], goal: Mapping[str, object], *, told: Sequence[str], lying: Sequence[str] = ()
) -> dict[str, Any]:
    """A ``traj_data.json``: ``plan`` in text, ``goal`` over ALFRED's empty parameters, what annotators ``told``.

    A thing that is picked up lay where the plan last went to.
    """
    steps: list[dict[str, Any]] = []
    at = ""
    for line in plan:
        action, *names = line.split()
        at = names[0] if action == "GotoLocation" else at
        steps.append({"discrete_action": {"action": action, "args": names}, "planner_action": _planned(action, names, at)})
    parameters = {"mrecep_target": "", "object_sliced": False, "object_target": "", "parent_target": "", "toggle_target": ""}
    return {
        "task_type": goal["type"],
        "pddl_params": parameters | {key: value for key, value in goal.items() if key != "type"},
        "plan": {
            "high_pddl": [*steps, {"discrete_action": {"action": "NoOp", "args": []}, "planner_action": {"action": "End"}}]
        },
        "scene": {"scene_num": SCENES["kitchen"], "object_poses": [{"objectName": f"{kind}_1a2b"} for kind in lying]},
        "turk_annotations": {"anns": [{"task_desc": text, "high_descs": [f"Step: {line}." for line in plan]} for text in told]},
    }


def _planned(action: str, names: Sequence[str], at: str) -> dict[str, Any]:
    planned: dict[str, Any] = {"action": action}
    if action in ("PickupObject", "SliceObject", "ToggleObject"):
        planned["objectId"] = f"{names[0]}|+00.10|+00.20|+00.30"
    if action == "PickupObject" and at and at != names[0]:
        planned["coordinateReceptacleObjectId"] = [at, [0.0]]
    return planned


def placing(thing: str, start: str, end: str, told: Sequence[str]) -> dict[str, Any]:
    """A demonstration that carries ``thing`` from one receptacle to another."""
    plan = [f"GotoLocation {start}", f"PickupObject {thing}", f"GotoLocation {end}", f"PutObject {thing} {end}"]
    goal = {"type": "pick_and_place_simple", "object_target": thing, "parent_target": end}
    return annotated(plan, goal, told=told, lying=[thing])


def heating(thing: str, start: str, end: str, told: Sequence[str]) -> dict[str, Any]:
    """A demonstration that heats ``thing`` on its way."""
    plan = [
        f"GotoLocation {start}",
        f"PickupObject {thing}",
        "GotoLocation microwave",
        f"HeatObject {thing}",
        f"GotoLocation {end}",
        f"PutObject {thing} {end}",
    ]
    goal = {"type": "pick_heat_then_place_in_recep", "object_target": thing, "parent_target": end}
    return annotated(plan, goal, told=told, lying=[thing])


def write(data: Path, split: str, demonstrations: Sequence[Mapping[str, Any]]) -> Path:
    """Write them as the demonstrations of ``split`` under ``data``; the folder of the first."""
    folders = [data / "json_2.1.1" / split / f"task-{number}" / "trial" for number in range(1, len(demonstrations) + 1)]
    for folder, content in zip(folders, demonstrations, strict=True):
        folder.mkdir(parents=True)
        (folder / "traj_data.json").write_text(json.dumps(content), encoding="utf-8")
    return folders[0]


TRAIN = (
    placing(
        "apple", "countertop", "diningtable", ["Move an apple from the counter to the table.", "Put the apple on the table."]
    ),
    heating("potato", "fridge", "countertop", ["Put a warm potato on the counter."]),
    heating("egg", "fridge", "sinkbasin", ["Microwave an egg and leave it in the sink."]),
    placing("mug", "cabinet", "coffeemachine", ["Bring a mug to the coffee machine."]),
)
SEEN = (
    placing("apple", "countertop", "diningtable", ["Carry an apple over to the table.", "Have an apple lie on the table."]),
    heating("potato", "fridge", "diningtable", ["Heat up a potato and place it on the table."]),
)


def small_world(data: Path) -> Path:
    """The two splits that a run needs, under ``data``."""
    write(data, "train", TRAIN)
    write(data, "valid_seen", SEEN)
    return data
