"""In which order places are gone to: the nearest first, or the likeliest for what is sought."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from worlds.household.belief import Belief, Receptacle, kind
from worlds.household.counts import Counts


@dataclass(frozen=True, slots=True)
class Search:
    """Orders the receptacles of one belief; with ``counts`` None by name, else by cost over chance (see the expert).

    Costs are commands until one can reach in, chances those of the table that was counted over ``train``.
    """

    belief: Belief
    counts: Counts | None
    vain: Collection[str] = frozenset()

    def nearest(self, receptacles: Iterable[Receptacle]) -> list[Receptacle]:
        """By the commands until one can reach into them, then by name."""
        return sorted(receptacles, key=lambda one: (self._away(one) + self.shut_chance(one), by_name(one)))

    def unseen(self) -> list[Receptacle]:
        """The receptacles that were not seen inside."""
        return [one for one in self.belief.receptacles if one.contents is None]

    def likeliest(self, wanted: Sequence[str]) -> list[Receptacle]:
        """The receptacles that were not seen inside, best first for finding an object of one of the kinds ``wanted``."""
        if self.counts is None:
            return self.nearest_by_name(self.unseen())
        counts, room = self.counts, self.counts.room_of({one.kind for one in self.belief.receptacles})

        def cost(one: Receptacle) -> float:
            commands = max(1.0, self._away(one) + self.shut_chance(one))
            return commands / sum(counts.chance(kind(name), one.kind, room) for name in wanted)

        return sorted(self.unseen(), key=lambda one: (cost(one), by_name(one)))

    def nearest_by_name(self, receptacles: Iterable[Receptacle]) -> list[Receptacle]:
        """What is here first, then by name."""
        return sorted(receptacles, key=lambda one: (self._away(one), by_name(one)))

    def breadth(self) -> list[Receptacle]:
        """The receptacles that were not seen inside, one of each kind before the next of any, in the opening's order."""
        seen: dict[str, int] = {}
        for one in self.belief.receptacles:
            seen[one.kind] = seen.get(one.kind, 0) + (one.contents is not None)
        ranked: list[tuple[int, int, Receptacle]] = []
        for position, one in enumerate(self.unseen()):
            ranked.append((seen[one.kind], position, one))
            seen[one.kind] += 1
        return [one for *_, one in sorted(ranked, key=lambda entry: entry[:2])]

    def shut_chance(self, one: Receptacle) -> float:
        """How likely this must be opened first: as told, else like its kind in this house, else as counted."""
        if one.openness:
            return float(one.openness == "closed")
        if f"open {one.name}" in self.vain:
            return 0.0
        alike = [other.openness != "surface" for other in self.belief.receptacles if other.kind == one.kind and other.openness]
        if alike:
            return sum(alike) / len(alike)
        return self.counts.openable(one.kind) if self.counts else 0.0

    def _away(self, one: Receptacle) -> int:
        return not self.belief.is_here(one.name)


def by_name(one: Receptacle) -> tuple[str, int]:
    """A sort key by which drawer 2 comes before drawer 10."""
    stem, _, number = one.name.rpartition(" ")
    return stem, int(number)
