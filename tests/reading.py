"""Texts of a household read into beliefs, for tests that play without the episode loop."""

from __future__ import annotations

from collections.abc import Iterable

from housequest.worlds.base import Observation, Transition
from housequest.worlds.household.base import Household, with_belief


def read(household: Household, opening: Observation, played: Iterable[Transition] = ()) -> tuple[Observation, list[Transition]]:
    """The opening and what was played, each answer with the belief after it."""
    opening = answer = with_belief(household, opening)
    told: list[Transition] = []
    for one in played:
        answer = with_belief(household, one.observation, answer.belief, one.command)
        told.append(Transition(one.command, answer))
    return opening, told
