"""Moments: executed commands, each with what was known before and after it, computed once for all who look at it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from worlds.alfworld.text.reader import begin, update
from worlds.base import Observation, Trajectory
from worlds.household.belief import Belief


@dataclass(frozen=True, slots=True)
class Moment:
    """One executed command: what was believed before, what was answered, and what is believed after it.

    ``origin`` says where it is recorded and is opaque here; equal origins are one and the same transition. ``house`` is equal
    for moments in the same house, as it was at the start.
    """

    origin: str
    house: str
    before: Belief
    command: str
    observation: Observation
    after: Belief


def relive(trajectory: Trajectory, origin: str, house: str | None = None) -> Iterator[Moment]:
    """The moments of ``trajectory``, each called ``origin/N`` with N counted from 1."""
    belief = begin(trajectory.opening)
    for number, transition in enumerate(trajectory.transitions, 1):
        after = update(belief, transition.command, transition.observation)
        yield Moment(f"{origin}/{number}", house or origin, belief, transition.command, transition.observation, after)
        belief = after


def distinct(moments: Iterable[Moment]) -> Iterator[Moment]:
    """Each of ``moments`` once, however many branches of an episode or files share it."""
    seen: set[str] = set()
    for moment in moments:
        if moment.origin not in seen:
            seen.add(moment.origin)
            yield moment
