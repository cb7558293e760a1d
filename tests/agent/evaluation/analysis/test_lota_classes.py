"""LoTa-Bench's classes of lost games."""

from __future__ import annotations

import pytest

from housequest.agent.evaluation.analysis.failures import FailureKind, of_games, told

CLASSES = {
    "not_found": "absence of visual grounding",
    "wrong_object": "object selection",
    "wrong_place": "object selection",
    "forgot_clean": "action planning",
    "forgot_heat": "action planning",
    "forgot_cool": "action planning",
    "forgot_light": "action planning",
    "gave_up": "action planning",
    "planner": "action planning",
    "replanned": "action planning",
    "looped": "action planning",
    "out_of_turns": "action planning",
}
BY_A_CAMERA = {"collided", "not_acted_on", "not_opened"}
NO_PLAN_FAILED = {"unreadable", "stopped", "model", "world", "agent", "knowledge", "configuration", "unknown"} | BY_A_CAMERA


@pytest.mark.parametrize("kind", FailureKind)
def test_each_lost_game_is_in_one_class_or_in_none(kind: FailureKind) -> None:
    assert (kind in CLASSES) != (kind in NO_PLAN_FAILED), "say to which class a new kind of failure belongs"
    assert of_games({kind: ("one", "other")}) == ({CLASSES[kind]: 2} if kind in CLASSES else {})


def test_classes_are_counted_in_the_order_of_the_paper() -> None:
    lost = {FailureKind.NOT_FOUND: "a", FailureKind.LOOPED: "bc", FailureKind.WRONG_PLACE: "d", FailureKind.UNREADABLE: "e"}
    shares = "action planning 2 (50%), object selection 1 (25%), absence of visual grounding 1 (25%)"
    assert told(of_games(lost)) == f"In LoTa-Bench's classes: {shares}."
