"""An arrangement between players: who does which goal, who looks where, and what a player was asked to do.

It is plain data in a player's memory, so going back restores it. The reader of people's words is above the worlds; an expert
gets only the arrangement.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, Literal, Protocol, runtime_checkable

from housequest.worlds.household.belief import kind
from housequest.worlds.household.goals import Treatment

Mode = Literal["work", "stay", "follow"]


@dataclass(frozen=True, slots=True)
class PlayerErrand:
    """One thing to do for somebody before going on with the chores.

    Args:
        said: The player's answer, such as "I bring you bowl 1."
        thing: The thing to fetch, by kind or name; "" to go somewhere only.
        treatment: Done to the thing on the way.
        place: The place to go to, or to put the thing down at.
        whom: The player to go to and give the thing to.
        act: The last command.
        waits: The rounds in which ``whom`` could not be reached.
        stays: True if it then stays there.
        besides: The things of the same request's other errands, which are not meant here.
        several: True if the request asks for more than one thing.
    """

    said: str
    thing: str = ""
    treatment: Treatment | None = None
    place: str = ""
    whom: str = ""
    act: str = ""
    waits: int = 0
    stays: bool = False
    besides: tuple[str, ...] = ()
    several: bool = False


@dataclass(frozen=True, slots=True)
class Arrangement:
    """All that is arranged. Goals are counted from 1, and places are names or kinds.

    Args:
        mine: The goals that this player does first.
        theirs: The goals that others do.
        done: The goals that others say are done.
        first: The places that it searches first.
        avoided: The places that it searches last.
        kept: The things that stay where they were put, whatever the goals want.
        errands: The errands that it was asked to run, in order.
        mode: It works, stays where it is, or follows ``whom``.
        whom: The player whom it follows.
        rounds: The rounds that it stays; None until it is told to go on.
    """

    mine: frozenset[int] = frozenset()
    theirs: frozenset[int] = frozenset()
    done: frozenset[int] = frozenset()
    first: tuple[str, ...] = ()
    avoided: tuple[str, ...] = ()
    kept: frozenset[str] = frozenset()
    errands: tuple[PlayerErrand, ...] = ()
    mode: Mode = "work"
    whom: str = ""
    rounds: int | None = None

    @property
    def left_out(self) -> frozenset[int]:
        """The goals that this player leaves alone."""
        return self.theirs | self.done

    def rank(self, place: str) -> int:
        """A place's turn in a search: 0 is first, 2 last."""
        if _names(place, self.avoided):
            return 2
        return 0 if _names(place, self.first) else 1


NOTHING_ARRANGED = Arrangement()


def _names(place: str, places: Collection[str]) -> bool:
    return place in places or kind(place) in places


@runtime_checkable
class Arranging(Protocol):
    """A policy that follows an arrangement: it leaves goals to others, and searches in the agreed order."""

    def arranged(self, memory: Any, arrangement: Arrangement) -> Any:
        """The memory with this arrangement in place of the last one."""
        ...
