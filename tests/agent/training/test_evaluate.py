"""The figures of the model card: what is played, and what is made of it."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import islice
from pathlib import Path

import pytest

from housequest.agent.models.builtin.model import load_builtin
from housequest.agent.training.evaluate import (
    HABITS,
    TOLD,
    GameResult,
    evaluate_model,
    game_sets,
    houses_with_one_place,
    lines,
    measured,
)
from housequest.worlds.alfworld.houses.house import GeneratedHouses

GAME = GameResult("t:1", "light", "won", 8, 1, 0, 9, (), "goal")


def test_each_type_stands_beside_the_expert_in_the_games_that_both_won() -> None:
    lost, other = replace(GAME, outcome="lost", steps=50), replace(GAME, type="heat", steps=20)
    expert = [replace(GAME, steps=6), replace(GAME, steps=9), replace(other, outcome="lost", steps=50)]
    _, found = measured("some", [GAME, lost, other], expert)
    assert found["by_type"] == {
        "heat": {"won": 1, "games": 1, "success": 100.0, "steps_when_won": 20, "expert": None},
        "light": {"won": 1, "games": 2, "success": 50.0, "steps_when_won": 8, "expert": 6},
    }
    assert (found["won"], found["steps_when_won"], found["expert"], found["refused"]) == (2, 14, 6, 3)
    assert lines(found)[1:] == [
        "  heat: 1/1, 20.0 steps when won",
        "  light: 1/2, 8.0 steps when won, expert 6.0",
    ]


def test_a_true_sentence_is_true_in_its_house() -> None:
    houses = GeneratedHouses()
    for task, wanted, kind in islice(houses_with_one_place(houses, {}), 5):
        game = houses.house(task.number).game
        kept = [
            place
            for place, inside in zip(game.receptacles, game.start.contents, strict=True)
            if any(game.objects[thing].startswith(f"{wanted} ") for thing in inside)
        ]
        assert kept
        assert all(place.startswith(f"{kind} ") for place in kept)


@pytest.mark.heavy
def test_in_houses_of_other_habits_what_is_wanted_lies_elsewhere() -> None:
    kitchens, safes = game_sets("habits", None, 5)
    assert all(task.type and any(thing in task.goal for thing in ("mug", "knife", "apple")) for task in kitchens.tasks)
    assert len(kitchens.tasks) == len(safes.tasks) == 5
    assert {game.won for game in (*kitchens.expert(), *safes.expert())} == {True}


@pytest.mark.games
@pytest.mark.heavy
def test_every_set_of_the_card_is_measured(alfworld_games: Path) -> None:
    """People's sentences that stand in ``train`` are counted apart from the others."""
    found = list(evaluate_model(load_builtin(), ("seen", "admissible", "human"), alfworld_games, limit=4))
    titles = [f"valid_seen, {what}" for what in ("freely", "admissible", *(f"annotator {number}" for number in (1, 2, 3)))]
    assert [one["set"] for one in found] == titles
    for one in found:
        assert ("sentences" in one) == ("annotator" in one["set"])
        assert sum(part["games"] for part in one.get("sentences", {"all": one}).values()) == one["games"] == 4
        assert one["expert"] > 0
        assert len(lines(one)) == 1 + len(one["by_type"]) + len(one.get("sentences", ()))


@pytest.mark.slow
def test_the_worth_of_rules_is_measured_in_three_habits() -> None:
    found = list(evaluate_model(load_builtin(), ["rules"], limit=1))
    assert [one["set"] for one in found] == [f"{name}, rules {told}" for name in HABITS for told in TOLD]
    assert all(one["games"] == 1 and one["steps"] > 0 for one in found)
    for one in found:
        assert [each["games"] for each in one["by_room"].values()] == [1]
        assert len(lines(one)) == 3, "all games, by type and by room"
    assert json.dumps(found)
