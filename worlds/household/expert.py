"""What the experts of household worlds share.

An expert keeps no plan: every decision is made from the current belief, whoever chose the last command. It never repeats a
command that was refused without new information.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Generic, NamedTuple, TypeVar

from housequest.worlds.base import Observation
from housequest.worlds.household.base import Household
from housequest.worlds.household.belief import Belief
from housequest.worlds.household.counts import SearchPrior, salt_of

MAX_FAILED = 200


class Move(NamedTuple):
    """A command, None to give up, and the thought behind it."""

    command: str | None
    thought: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpertMemory:
    """What an expert knows, as plain data: the belief, what was refused, what it chose last, and what draws a random order."""

    belief: Belief
    failed: frozenset[str] = frozenset()
    chosen: str | None = None
    salt: str = ""


M = TypeVar("M", bound=ExpertMemory)


class Expert(ABC, Generic[M]):
    """A ``Policy`` without a model. ``search`` says by what places are looked into, and ``seed`` draws a random order."""

    def __init__(self, household: Household, search: SearchPrior = "counts", seed: int = 0) -> None:
        self.household = household
        self.search: SearchPrior = search
        self._seed = seed

    @abstractmethod
    def begin(self, goal: str, observation: Observation) -> M:
        """The memory before the first command."""

    @abstractmethod
    def moves(self, memory: M) -> Iterator[Move]:
        """The next moves, best first; the first that has not failed is made."""

    @abstractmethod
    def last_resort(self, memory: M) -> Move:
        """What is done if all moves have failed."""

    def salt(self, belief: Belief) -> str:
        """What draws the order of a random search in the house of this first belief."""
        return salt_of(self._seed, (one.name for one in belief.receptacles)) if self.search == "random" else ""

    def has_failed(self, memory: M, command: str, belief: Belief) -> bool:
        """Whether a command that was just refused is not to be tried again; ``belief`` is the one after it."""
        del memory, command, belief
        return True

    def worth_trying_again(self, command: str, failed: str) -> bool:
        """Whether the command that was just accepted makes one that had failed worth another try."""
        del command, failed
        return False

    def observe(self, memory: M, command: str, observation: Observation) -> M:
        belief, failed = self.household.update(memory.belief, command, observation), memory.failed
        command = command.strip()
        if not self.household.refused(observation):
            failed = frozenset(one for one in failed if not self.worth_trying_again(command, one))
        elif len(failed) < MAX_FAILED and self.has_failed(memory, command, belief):
            failed |= {command}
        return replace(memory, belief=belief, failed=failed)

    def decide(self, memory: M) -> tuple[str | None, str, M]:
        possible = (move for move in self.moves(memory) if move.command not in memory.failed)
        move = next(possible, None) or self.last_resort(memory)
        return move.command, move.thought, replace(memory, chosen=move.command)
