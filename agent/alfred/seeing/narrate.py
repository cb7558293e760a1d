"""What an agent knows by seeing, in words for prompts: kinds that perception reported, and never a name, an id or a place."""

from __future__ import annotations

from collections.abc import Iterable

from housequest.agent.alfred.seeing.state import SeeingState
from housequest.worlds.household.counts import Counts

NOTHING = "nothing"


def found_kinds(state: SeeingState) -> str:
    """The kinds that were found so far, those first that more than one viewpoint saw."""
    kinds = state.map.found
    sure = [kind for kind in kinds if len(state.map.points(kind, voted=True))]
    return _listed([*sure, *(f"{kind} (seen once)" for kind in kinds if kind not in sure)])


def seen_kinds(state: SeeingState) -> str:
    """The kinds in the picture."""
    return _listed(state.percept.kinds)


def held_kind(state: SeeingState) -> str:
    """What is in the hand."""
    return state.held or NOTHING


def room_kind(state: SeeingState, counts: Counts) -> str:
    """The kind of room that has such things, as far as was seen."""
    return counts.room_of(state.map.found).replace("livingroom", "living room")


def _listed(kinds: Iterable[str]) -> str:
    return ", ".join(kinds) or NOTHING
