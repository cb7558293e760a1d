"""Moments: executed commands, each with what was known before and after it, computed once for everything that looks at it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from worlds.base import Observation, Trajectory
from worlds.household.base import Household
from worlds.household.belief import Belief


@dataclass(frozen=True, slots=True)
class Moment:
    """One executed command: the belief before it, the answer, and the belief after it.

    ``origin`` says where it is recorded and is opaque here; equal origins are one and the same transition. ``house`` is equal
    for moments in the same house, as it was at the start. ``refused``: the world did not take the command.
    """

    origin: str
    house: str
    before: Belief
    command: str
    observation: Observation
    after: Belief
    refused: bool


def moments_of(trajectory: Trajectory, household: Household, origin: str, house: str | None = None) -> Iterator[Moment]:
    """The moments of ``trajectory``, each called ``origin/N`` with N counted from 1."""
    before = household.begin(trajectory.opening)
    for number, (command, answer) in enumerate(((one.command, one.observation) for one in trajectory.transitions), 1):
        after = household.update(before, command, answer)
        yield Moment(f"{origin}/{number}", house or origin, before, command, answer, after, household.refused(answer))
        before = after


def distinct(moments: Iterable[Moment]) -> Iterator[Moment]:
    """Each of ``moments`` once, however many branches of an episode or files share it."""
    seen: set[str] = set()
    for moment in moments:
        if moment.origin not in seen:
            seen.add(moment.origin)
            yield moment
