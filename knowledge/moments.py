"""Moments: executed commands, each with the belief before and after it."""

from __future__ import annotations

from dataclasses import dataclass

from housequest.worlds.base import Observation
from housequest.worlds.household.belief import Belief


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
