"""Moments: executed commands, each with the belief before and after it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from worlds.base import Observation, Trajectory
from worlds.household.base import Household
from worlds.household.belief import Belief


@dataclass(frozen=True, slots=True)
class Moment:
    """One executed command: the belief before it, the answer, and the belief after it.

    ``origin`` says where it is recorded; equal origins are the same transition. Moments in the same house, as it was at the
    start, have equal ``house``. ``refused``: the world did not accept the command.
    """

    origin: str
    house: str
    before: Belief
    command: str
    observation: Observation
    after: Belief
    refused: bool


def moments_of(trajectory: Trajectory, household: Household, origin: str, house: str | None = None) -> Iterator[Moment]:
    """The moments of ``trajectory``; their origins are ``origin/N``, with N from 1."""
    before = household.begin(trajectory.opening)
    for number, (command, answer) in enumerate(((one.command, one.observation) for one in trajectory.transitions), 1):
        after = household.update(before, command, answer)
        yield Moment(f"{origin}/{number}", house or origin, before, command, answer, after, household.refused(answer))
        before = after
