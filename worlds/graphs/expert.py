"""The experts: one plays from the goal sentence and the texts alone, two things at a time, and searches where things likely
are; that of LoTa-Bench's skills can find what it can name, so it fetches one thing after the other.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache

from housequest.worlds.base import Observation
from housequest.worlds.graphs.env import skills_in
from housequest.worlds.graphs.goals import Wanted, modern, read_sentence, spoken
from housequest.worlds.graphs.household import GraphHousehold
from housequest.worlds.graphs.houses import APARTMENT, LYING, ROOM_OF, written_counts
from housequest.worlds.household.base import Expert, ExpertMemory, Move
from housequest.worlds.household.belief import Receptacle, by_name, kind
from housequest.worlds.household.counts import SearchPrior, drawn
from housequest.worlds.household.goals import skill_words
from housequest.worlds.text import with_article


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
    def __init__(self, memory: GraphExpertMemory, wanted: Wanted, search: SearchPrior) -> None:
        self.memory, self.belief, self.wanted = memory, memory.belief, wanted
        self.search = search
        targets = [one for one in self.belief.receptacles if one.kind == wanted.place and one.name not in self.belief.rooms]
        self.target = max(targets, key=lambda one: (self._settled(one).total(), one.name == self.belief.at), default=None)
        there = self._settled(self.target) if self.target else Counter[str]()
        self.missing = Counter(wanted.things) - there
        left, useful = Counter(self.missing), list[str]()
        for name in self.belief.carried:
            if left[kind(name)] > 0:
                left[kind(name)] -= 1
                useful.append(name)
        self.useful = tuple(useful)

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
        return Counter(kind(name) for name in one.contents or () if kind(name) in self.wanted.things)

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
                continue
            if one.name not in self.belief.rooms and name in self.belief.inside(one):
                yield from self._at(one, f"grab {name}", thought)
            # It is refused once from too far away.
            yield Move(f"grab {name}", thought)
            yield Move(f"walk to {name}", thought)

    def _seek(self, kinds: list[str], thought: str) -> Iterator[Move]:
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
        chance = sum(float(ROOM_OF.get(each) == place) + 0.01 for each in known if each not in LYING)
        chance += sum(counts.chance(each, place, APARTMENT) for each in known if each in LYING)
        cost = float(self.belief.at != one.name) + float(one.name not in self.belief.rooms)
        return cost / chance, by_name(one.name)

    def _nearness(self, one: Receptacle) -> tuple[bool, bool, bool, tuple[str, int]]:
        here = self.belief.room_of(self.belief.at)
        away = self.belief.at != one.name
        return away, self.belief.room_of(one.name) != here, one.openness == "closed", by_name(one.name)

    def _at(self, one: Receptacle, command: str, thought: str) -> Iterator[Move]:
        if command in self.memory.failed:
            return
        yield Move(command if self.belief.at == one.name else f"walk to {one.name}", thought)


_SHUT = re.compile(r"The (?P<thing>.+) \d+ is (?:in the (?P<where>.+) \d+, which is )?closed; open (?:that|it) first\.")
_FAR = re.compile(r"You are not close to the (?P<thing>.+) \d+; go to it first\.")
_SO_ALREADY = re.compile(r"The .+ \d+ is (?:open|closed|on) already\.|You hold the .+ \d+ already\.")


@dataclass(frozen=True, slots=True)
class SkillExpertMemory:
    """The skills that are left, the ``names`` of things in skills, which were gone to ``again``, and why it gives up, if it
    does."""

    todo: tuple[str, ...]
    names: frozenset[str] = frozenset()
    again: frozenset[str] = frozenset()
    lost: str = "as far as the expert can tell the goal is reached"


class SkillExpert:
    """A ``Policy`` without a model."""

    def begin(self, goal: str, observation: Observation) -> SkillExpertMemory:
        found = (skill.partition(" a ")[2] or skill.partition(" an ")[2] for skill in skills_in(observation.text))
        names = frozenset(filter(None, found))
        wanted = read_sentence(goal, names)
        if wanted is None:
            return SkillExpertMemory((), names, lost="this goal is in words that the expert cannot read")
        place = wanted.place
        todo: list[tuple[str, str]] = []
        for thing, count in wanted.things.items():
            todo += [("find", thing), ("pick up", thing), ("find", place), ("put down", thing)] * count
        todo += [("close", place), ("switch on", place)] if wanted.switched else []
        return SkillExpertMemory(tuple(skill_words(*one) for one in todo), names)

    def observe(self, memory: SkillExpertMemory, command: str, observation: Observation) -> SkillExpertMemory:
        if not memory.todo or command.strip() != memory.todo[0]:
            return memory
        text = observation.text
        if observation.accepted or _SO_ALREADY.fullmatch(text):
            return replace(memory, todo=memory.todo[1:])
        found = _SHUT.fullmatch(text) or _FAR.fullmatch(text)
        if found is not None:
            kind = found.groupdict().get("where") or found["thing"]
            # Classes that are called alike have themselves for a name.
            name = kind if kind in memory.names else spoken(kind)
            opening = skill_words("open", name)
            if found.re is _SHUT and opening not in memory.todo[:2]:
                return replace(memory, todo=(opening, *memory.todo))
            if found.re is _FAR and name not in memory.again:
                # The door of a closet is not where a box in it is.
                return replace(memory, todo=(skill_words("find", name), *memory.todo), again=memory.again | {name})
        return replace(memory, todo=(), lost=f"{memory.todo[0]} is refused: {text}")

    def decide(self, memory: SkillExpertMemory) -> tuple[str | None, str, SkillExpertMemory]:
        return (memory.todo[0], "", memory) if memory.todo else (None, memory.lost, memory)
