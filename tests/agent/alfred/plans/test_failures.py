"""LoTa-Bench's classes of failure, told of whole plans."""

from __future__ import annotations

from pathlib import Path

import pytest

from housequest.agent.alfred.plans.planners import PlanTask
from housequest.agent.alfred.plans.work import plan_failure
from housequest.worlds.alfred.model import read_plan
from housequest.worlds.alfred.tasks import Instruction, read_demonstration, read_split, score
from tests.worlds.alfred.annotations import SCENES, annotated, heating, placing, write
from tests.worlds.alfred.mutations import MUTATIONS, mutations

LAMP = annotated(
    ["GotoLocation desk", "PickupObject book", "GotoLocation desklamp", "ToggleObject desklamp"],
    {"type": "look_at_obj_in_light", "object_target": "book", "toggle_target": "desklamp"},
    told=["Look at a book by the lamp."],
    lying=["book", "desklamp", "floorlamp"],
)
LAMP["scene"]["scene_num"] = SCENES["bedroom"]


@pytest.mark.parametrize(
    ("content", "told", "change", "found"),
    [
        (heating("egg", "fridge", "sinkbasin", ["x"]), "Heat an egg.", ("HeatObject egg\n", ""), "action planning"),
        (placing("pot", "countertop", "fridge", ["x"]), "Chill the pot.", (" pot", " pan"), "object selection"),
        (
            placing("apple", "countertop", "fridge", ["x"]),
            "Put an apple away.",
            ("GotoLocation countertop", "GotoLocation microwave"),
            "absence of visual grounding",
        ),
        (
            placing("apple", "countertop", "fridge", ["x"]),
            "Put an apple away.",
            ("PickupObject apple", "PickupObject apple\nPickupObject apple"),
            "lack of physical understanding",
        ),
        (LAMP, "Look at a book by the lamp.", ("desklamp", "floorlamp"), "misunderstood instruction"),
        (LAMP, "Look at a book by the desk lamp.", ("desklamp", "floorlamp"), "object selection"),
        (
            placing("cup", "countertop", "fridge", ["x"]),
            "Chill a mug.",
            ("cup", "mug"),
            "ambiguous or incorrect instruction",
        ),
    ],
)
def test_each_class_of_failure(
    tmp_path: Path, content: dict[str, object], told: str, change: tuple[str, str], found: str
) -> None:
    one = read_demonstration(write(tmp_path, "train", [content]) / "traj_data.json")
    task = PlanTask(one, Instruction(1, told, ()))
    plan = read_plan("\n".join(map(str, one.plan)).replace(*change))
    assert plan_failure(plan, task, score(plan, one)) == found
    assert plan_failure(one.plan, task, score(one.plan, one)) is None


ANOTHER_ONE = {"object selection", "misunderstood instruction", "ambiguous or incorrect instruction"}
"""Which of them a plan with another thing or place than the goal's is in depends on what was said."""
CLASSES_OF = {
    "no knife": {"action planning"},
    "lamp left off": {"action planning"},
    "another lamp": ANOTHER_ONE,
    "put without being there": {"absence of visual grounding"},
    # One thing still is put where it belongs, and what comes after that goes wrong.
    "wrong receptacle": {*ANOTHER_ONE, "action planning"},
    "treated after placing": {"action planning"},
    "treated elsewhere": {"action planning"},
    "not treated": {"action planning"},
    # The hand is full, or what should be filled stays empty.
    "not put into it": {"lack of physical understanding", "action planning"},
}


@pytest.mark.games
def test_every_broken_plan_has_its_class(alfworld_games: Path) -> None:
    assert CLASSES_OF.keys() == MUTATIONS
    seen: set[tuple[str, str]] = set()
    for one in read_split("valid_seen", alfworld_games)[::2]:
        for mutation in mutations(one) if score(one.plan, one).reaches else ():
            broken, task = score(mutation.plan, mutation.task), PlanTask(mutation.task, one.instructions[0])
            found = plan_failure(mutation.plan, task, broken)
            assert found in CLASSES_OF[mutation.name], f"{mutation.name} of {task.id}"
            seen.add((mutation.name, found or ""))
            if mutation.name == "wrong receptacle" and found == "action planning":
                assert any(step.action == "PutObject" and step.receptacle == one.goal.receptacle for step in mutation.plan)
    assert len({found for _, found in seen}) == 6
