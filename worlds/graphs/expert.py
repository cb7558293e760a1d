"""The expert: plays from the goal sentence and the texts alone, two things at a time, and searches where things likely are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from housequest.worlds.base import Observation
from housequest.worlds.graphs.household import GraphHousehold
from housequest.worlds.graphs.houses import LYING, STANDING, written_counts
from housequest.worlds.graphs.sentences import Wanted, modern, read_sentence, spoken
from housequest.worlds.household.belief import Receptacle, by_name, kind
from housequest.worlds.household.counts import SearchPrior, drawn
from housequest.worlds.household.expert import Expert, ExpertMemory, Move
from housequest.worlds.text import with_article

ROOM = "apartment"
_ROOMS = {one.kind: room for room, standing in STANDING.items() for one in standing}


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphExpertMemory(ExpertMemory):
    """What is known, and the goal sentence, which is read anew as more is seen."""

    goal: str


class GraphExpert(Expert[GraphExpertMemory]):
    """The expert of household graphs, which reads sentences about the household's kinds and about what it has seen."""

    household: GraphHousehold

    def begin(self, goal: str, observation: Observation) -> GraphExpertMemory:
        belief = self.household.begin(observation)
        return GraphExpertMemory(belief=belief, salt=self.salt(belief), goal=goal)

    def worth_trying_again(self, command: str, failed: str) -> bool:
        # From close by, what was refused may be taken.
        return command.startswith("walk to ") and failed.endswith(command.removeprefix("walk to"))

    def moves(self, memory: GraphExpertMemory) -> Iterator[Move]:
        wanted = self._wanted(memory)
        return _Decision(memory, wanted, self.search).moves() if wanted else iter(())

    def last_resort(self, memory: GraphExpertMemory) -> Move:
        lost = "nothing is left to try" if self._wanted(memory) else "this goal is in words that the expert cannot read"
        return Move(None, lost)

    def _wanted(self, memory: GraphExpertMemory) -> Wanted | None:
        seen = {one.kind for one in (*memory.belief.receptacles, *memory.belief.items)}
        return _wanted(memory.goal, self.household.vocabulary | seen)


_wanted = lru_cache(maxsize=256)(read_sentence)


class _Decision:
    """The next moves from one memory."""

    def __init__(self, memory: GraphExpertMemory, wanted: Wanted, search: SearchPrior) -> None:
        self.memory, self.belief, self.wanted = memory, memory.belief, wanted
        self.search = search
        targets = [one for one in self.belief.receptacles if one.kind == wanted.place and one.name not in self.belief.rooms]
        self.target = max(targets, key=lambda one: (self._settled(one).total(), one.name == self.belief.at), default=None)
        there = self._settled(self.target) if self.target else Counter[str]()
        self.missing = Counter(wanted.things) - there
        self.useful = self._useful()

    def moves(self) -> Iterator[Move]:
        target, carried = self.target, self.belief.carried
        if not self.missing:
            yield from self._finish()
            return
        for name in carried:
            if name not in self.useful:
                yield from self._lay_down(name, f"the {name} is not needed; put it down")
        if target is None:
            yield from self._seek([self.wanted.place], f"find the {spoken(self.wanted.place)}")
        more = self.missing - Counter(kind(name) for name in self.useful)
        full = len(carried) >= self.belief.hands
        shut = target is not None and target.openness == "closed"
        if target and self.useful and (full or not more or shut or self.belief.at == target.name):
            yield from self._deliver(target)
        if more and not full:
            yield from self._fetch(more)
            yield from self._seek(sorted(more), f"look for {' or '.join(with_article(spoken(one)) for one in sorted(more))}")
        if target and self.useful:
            yield from self._deliver(target)

    def _settled(self, one: Receptacle) -> Counter[str]:
        """What lies at a place that is wanted there."""
        return Counter(kind(name) for name in one.contents or () if kind(name) in self.wanted.things)

    def _useful(self) -> tuple[str, ...]:
        left, useful = Counter(self.missing), list[str]()
        for name in self.belief.carried:
            if left[kind(name)] > 0:
                left[kind(name)] -= 1
                useful.append(name)
        return tuple(useful)

    def _finish(self) -> Iterator[Move]:
        if self.wanted.switched and self.target:
            for name in self.belief.carried[: max(0, 1 + len(self.belief.carried) - self.belief.hands)]:
                yield from self._lay_down(name, "a hand must be free")
            thought = f"switch the {self.target.name} on"
            if self.target.openness == "open":
                yield from self._at(self.target, f"close {self.target.name}", thought)
            yield from self._at(self.target, f"switch on {self.target.name}", thought)
        yield Move(None, f"as far as the expert can tell the goal is reached ({self.wanted})")

    def _deliver(self, target: Receptacle) -> Iterator[Move]:
        name = self.useful[0]
        thought = f"bring the {name} to the {target.name}"
        if target.openness == "closed" and self.wanted.how == "inside":
            if len(self.belief.carried) >= self.belief.hands:
                yield from self._lay_down(name, f"a hand must be free to open the {target.name}")
            yield from self._at(target, f"open {target.name}", thought)
        for how in ("in", "on") if self.wanted.how == "inside" else ("on", "in"):
            yield from self._at(target, f"put {name} {how} {target.name}", thought)

    def _lay_down(self, name: str, thought: str) -> Iterator[Move]:
        """Put something somewhere, but not where such things are wanted: here if that is possible."""
        places = [one for one in self.belief.receptacles if one.openness == "surface" and one.kind != self.wanted.place]
        for one in sorted(places, key=self._nearness):
            for how in ("on", "in"):
                yield from self._at(one, f"put {name} {how} {one.name}", thought)

    def _fetch(self, more: Counter[str]) -> Iterator[Move]:
        """Grab what is wanted and was seen, the nearest first; what is where it should be stays."""
        found: list[tuple[Receptacle, str]] = []
        for one in self.belief.receptacles:
            if self.target is not None and one.name == self.target.name:
                continue
            found += [(one, name) for name in self.belief.inside(one) if more[kind(name)] > 0]
        for item in self.belief.items:
            # What lies on a plate is not told with the table under it.
            holder = next((one for one in self.belief.items if item.name in (one.inside or ())), None)
            place = self.belief.receptacle(holder.where) if holder else None
            if place and more[item.kind] > 0 and item.name not in self.belief.carried:
                found.append((place, item.name))
        for one, name in sorted(found, key=lambda each: (*self._nearness(each[0]), each[1])):
            thought = f"take the {name}"
            if one.openness == "closed":
                yield from self._at(one, f"open {one.name}", thought)
            elif one.name in self.belief.rooms or name not in self.belief.inside(one):
                yield from self._near(name, f"grab {name}", thought)
            else:
                yield from self._at(one, f"grab {name}", thought)
                yield from self._near(name, f"grab {name}", thought)

    def _seek(self, kinds: list[str], thought: str) -> Iterator[Move]:
        """Look into rooms and closed furniture that were not looked into yet."""
        unseen = [one for one in self.belief.receptacles if one.contents is None]
        for one in sorted(unseen, key=lambda one: self._promise(one, kinds)):
            if one.name in self.belief.rooms:
                yield Move(f"walk to {one.name}", thought)
            else:
                yield from self._at(one, f"open {one.name}", thought)

    def _promise(self, one: Receptacle, kinds: list[str]) -> tuple[float, tuple[str, int]]:
        """The order of a search: cost over chance."""
        if self.search != "counts":
            return 0.0 if self.search == "name" else float(int(drawn(self.memory.salt, one.name)[:12], 16)), by_name(one.name)
        counts, place, known = written_counts(), modern(one.kind), [modern(each) for each in kinds]
        chance = sum(float(_ROOMS.get(each) == place) + 0.01 for each in known if each not in LYING)
        chance += sum(counts.chance(each, place, ROOM) for each in known if each in LYING)
        return self._cost(one) / chance, by_name(one.name)

    def _cost(self, one: Receptacle) -> float:
        return float(self.belief.at != one.name) + float(one.name not in self.belief.rooms)

    def _nearness(self, one: Receptacle) -> tuple[bool, bool, bool, tuple[str, int]]:
        here = self.belief.room_of(self.belief.at)
        away = self.belief.at != one.name
        return away, self.belief.room_of(one.name) != here, one.openness == "closed", by_name(one.name)

    def _at(self, one: Receptacle, command: str, thought: str) -> Iterator[Move]:
        """The next step towards a command at a place."""
        if command in self.memory.failed:
            return
        yield Move(command if self.belief.at == one.name else f"walk to {one.name}", thought)

    def _near(self, name: str, command: str, thought: str) -> Iterator[Move]:
        """The next step towards a command with a thing that was seen: it is refused once from too far away."""
        yield Move(command, thought)
        yield Move(f"walk to {name}", thought)
