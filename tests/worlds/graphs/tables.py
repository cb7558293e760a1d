"""Small graphs and tasks in the formats of VirtualHome and WAH-NL, written by hand."""

from __future__ import annotations

import json
from typing import Any

NODES = (
    (1, "character", "Characters", "", ""),
    (10, "kitchen", "Rooms", "", ""),
    (11, "livingroom", "Rooms", "", ""),
    (20, "fridge", "Appliances", "CAN_OPEN CONTAINERS HAS_SWITCH", "CLOSED ON"),
    (21, "kitchentable", "Furniture", "SURFACES", ""),
    (22, "dishwasher", "Appliances", "CAN_OPEN CONTAINERS HAS_SWITCH", "CLOSED OFF"),
    (23, "sofa", "Furniture", "SURFACES", ""),
    (30, "apple", "Food", "GRABBABLE", ""),
    (31, "plate", "Props", "GRABBABLE SURFACES", ""),
    (32, "plate", "Props", "GRABBABLE SURFACES", ""),
    (33, "cupcake", "Food", "GRABBABLE", ""),
    (34, "tv", "Electronics", "HAS_SWITCH", "OFF"),
    (35, "wall", "Walls", "", ""),
)
EDGES = (
    (1, "INSIDE", 10),
    (20, "INSIDE", 10),
    (21, "INSIDE", 10),
    (22, "INSIDE", 10),
    (23, "INSIDE", 11),
    (34, "INSIDE", 11),
    (35, "INSIDE", 11),
    (30, "INSIDE", 10),
    (30, "INSIDE", 20),
    (31, "INSIDE", 10),
    (31, "ON", 21),
    (33, "INSIDE", 10),
    (33, "ON", 31),
    (32, "INSIDE", 11),
    (32, "ON", 23),
    (23, "FACING", 34),
    (30, "CLOSE", 20),
)


def home() -> dict[str, Any]:
    """A kitchen and a living room; an apple is in the closed fridge, and a cupcake on a plate on the table."""
    return {
        "nodes": [
            {"id": id, "class_name": kind, "category": category, "properties": has.split(), "states": states.split()}
            for id, kind, category, has, states in NODES
        ],
        "edges": [{"from_id": start, "relation_type": how, "to_id": end} for start, how, end in EDGES],
    }


def task(**changed: Any) -> dict[str, Any]:
    """A task in WAH-NL's format."""
    return {
        "task_id": 7,
        "task_name": "put_dishwasher",
        "env_id": 0,
        "init_room": "livingroom",
        "task_goal": {"inside_plate_dishwasher": 2, "turnOn_dishwasher": 1},
        "nl_instructions": ["Wash both plates in the dishwasher.", "Put two plates in the dishwasher and turn it on."],
        "init_graph": home(),
        **changed,
    }


def written(value: Any) -> str:
    """A value as JSON, one entry a line."""
    return json.dumps(value, indent=1)
