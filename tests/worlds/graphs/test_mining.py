"""Counting alone finds what the commands of a household graph need."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

import pytest

from housequest.knowledge.judging import Moment, examine
from housequest.knowledge.mining import mine
from housequest.worlds.graphs.household import HOUSEHOLD
from housequest.worlds.registry import make_world


def wandered(first: int, last: int, most: int = 150) -> Iterator[Moment]:
    """Made-up apartments in which every other command is any of the forms with any names that were seen."""
    world = make_world("household-graph")
    for seed in range(first, last):
        env, chance = world.open(world.task(f"generated:{seed}")), Random(seed)
        belief = HOUSEHOLD.begin(env.reset().observation)
        for number in range(most):
            names = [*belief.carried, *(one.name for one in (*belief.receptacles, *belief.items))]
            words = chance.choice(HOUSEHOLD.commands.forms).pattern.split(" ")
            command = " ".join(chance.choice(names) if word.startswith("{") else word for word in words)
            command = command if chance.random() < 0.5 else chance.choice(env.admissible_commands() or ("look",))
            step = env.step(command)
            before, belief = belief, HOUSEHOLD.update(belief, command, step.observation)
            refused = HOUSEHOLD.refused(step.observation)
            yield Moment(f"wandered/{seed}/{number}", f"{seed}", before, command, step.observation, belief, refused)
            if step.done:
                break


@pytest.mark.heavy
def test_what_the_commands_of_another_household_need_is_found_and_holds_elsewhere() -> None:
    found = mine(wandered(0, 40), HOUSEHOLD.commands).rules("wandered")
    checked = [rule for rule in found if rule.check]
    assert {
        "grab {object}; when no hand is free; then refused",
        "grab {object}; when not {object} is here; then refused",
        "open {receptacle}; when not at {receptacle}; then refused",
        "open {receptacle}; when no hand is free; then refused",
        "open {receptacle}; when not {receptacle} is closed; then refused",
        "put {object} on {receptacle}; when not holding {object}; then refused",
    } <= {str(rule.check) for rule in checked}
    assert len({rule.id for rule in checked}) == len(checked)
    assert not any(rule.id.endswith("needs-holding-nothing") for rule in checked)
    general = [rule for rule in checked if " is a" not in str(rule.check) and " is not a" not in str(rule.check)]
    assert [str(each.rule.check) for each in examine(general, wandered(40, 60)) if each.standing == "contradicted"] == []
    lying = {rule.objects[0]: rule.statement for rule in found if rule.kind == "location"}
    assert lying["fridge"].startswith("To find a fridge, try a kitchen first (100 % are there); ")
    assert lying["plate"].startswith("To find a plate, try a kitchencabinet first (")
