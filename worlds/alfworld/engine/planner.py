"""The planner, which sees the hidden state: finds a shortest list of commands that wins, or shows that there is none.

The length is the L* of path-weighted metrics (Shridhar et al., CVPR 2020, section 5); a generated house is kept only if it has
a plan. The search is over an abstraction of the game's states that preserves the length of a shortest plan:

*Cast.* Only objects that the goal names matter; commands on any other can be removed from a winning plan. Without the ``take``
and ``move`` of another object (or only the ``take``) the goal is unaffected and the hand is free. Two special cases: an object
held at the start must be put down once, anywhere, and is then ignored; and a lamp could be carried to the object, but without
its ``take`` and ``move`` it is used where it stands, for at most one more ``go``. Of objects in the same receptacles and
condition, two are kept: no goal needs more, and they are interchangeable.

*Commands.* Closing, slicing, looking and examining enable no other command and no goal. Every place with a receptacle is one
``go`` away from every other, so a ``go`` can wait until just before the next command that needs its place (a ``go`` followed by
another is removed), and an ``open`` until just before the next ``take`` or ``move`` there. So a step of the search is a
``take``, ``move``, ``heat``, ``cool``, ``clean`` or ``use``, with the ``go`` and ``open`` that it needs; if a lamp is on, also
a bare ``go`` to it, which may win.

*Symmetry.* Receptacles of like kind that are alone at their place, elsewhere, unopened by the plan and without any of the cast
can be swapped without changing the state; one of them represents all.

The estimate is admissible: it counts the takes, moves and treatments that are needed at least, and a ``go`` between two of them
if no place serves both. Putting a thing down to take it again can help only if an object is in several receptacles; it costs
two commands and saves at most two ``go``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain, pairwise
from typing import NamedTuple

from housequest.worlds.alfworld.engine.game import NOTHING, NOWHERE, Game, GroundAction, State
from housequest.worlds.household.planner import NEVER, SearchLimitReached, SearchProblem, Unsolvable, shortest_way

#: Published games take 512 at most.
NODES = 20_000
_TREATMENTS = ("clean", "heat", "cool")


def plan(
    game: Game, state: State | None = None, *, nodes: int = NODES, seconds: float | None = None
) -> tuple[str, ...] | Unsolvable | SearchLimitReached:
    """The commands of a shortest way to win ``game`` from ``state``, none if the goal holds already. ``nodes`` limits the work
    reproducibly, ``seconds`` the time."""
    search = _Search(game, game.start if state is None else state)
    way = shortest_way(search, most_work=nodes, seconds=seconds)
    if not isinstance(way, tuple):
        return way
    return tuple(chain.from_iterable(search.commands(step.before, step.action, step.after) for step in way))


class _Node(NamedTuple):
    """The relevant part of a state. ``where`` has the receptacles that hold each of the cast, ``opened`` those that the plan
    opened, ``done`` the objects that are treated as the goal asks or, for ``light``, the lamps that are on."""

    place: int
    held: int
    where: tuple[frozenset[int], ...]
    opened: frozenset[int]
    done: frozenset[int]


_Step = tuple[GroundAction, int, _Node]  # an action, its cost with the ``go`` and ``open`` before it, and the node after it


class _Search(SearchProblem[_Node, GroundAction]):
    def __init__(self, game: Game, start: State) -> None:
        self.game = game
        self.goal = goal = game.goal
        self.treatment = goal.form if goal.form in _TREATMENTS else None
        self.closed = game.openable - start.opened
        none = frozenset[int]()
        treated, appliances = {
            "clean": (start.clean, game.basins),
            "heat": (start.hot, game.heaters),
            "cool": (start.cool, game.coolers),
            "light": (start.lit, none),
        }.get(goal.form, (none, none))
        where = [none] * len(game.objects)
        for receptacle, contents in enumerate(start.contents):
            for thing in contents:
                where[thing] |= {receptacle}
        self.cast = self._cast(start, where, treated)
        self.part = {thing: number for number, thing in enumerate(self.cast)}
        self.lamps = {thing: where[thing] for thing in sorted(goal.lamps - self.part.keys())}
        self.start = _Node(
            place=start.place,
            held=start.held,
            where=tuple(where[thing] for thing in self.cast),
            opened=frozenset(),
            done=treated & (goal.lamps if goal.form == "light" else frozenset(self.cast)),
        )
        kinds = {game.object_types[thing] for thing in (*self.cast, start.held) if thing != NOTHING}
        reachable = [receptacle for receptacle, place in enumerate(game.place_of) if place != NOWHERE]
        self.takers = {kind: [one for one in reachable if kind in game.accepts[one]] for kind in kinds}
        self.appliances = [one for one in reachable if one in appliances]
        self.treating = self._places(self.appliances)
        self.likeness = self._likeness(reachable)
        # All goal receptacles are of one type and all goal objects of another, so one pair stands for all.
        kind = game.object_types[min(goal.objects)] if goal.objects else ""
        self.targets = frozenset(goal.receptacles)
        self.landings = self.targets & frozenset(self.takers.get(kind, ()))
        self.landing = self._places(self.landings)
        self.weight = 1 + len(self.cast) * (len(self.targets) if goal.form == "two" else 1) // 8

    def steps(self, node: _Node) -> Iterator[_Step]:
        held = node.held
        if held == NOTHING:
            for thing, receptacles in zip(self.cast, node.where, strict=True):
                if thing in self.game.pickupable:
                    for receptacle in sorted(receptacles):
                        left = self._moved(node, thing, receptacles - {receptacle})
                        yield from self._step(
                            node, GroundAction("take", thing, receptacle), node._replace(held=thing, where=left)
                        )
        else:
            for receptacle in self._unlike(node, self.takers[self.game.object_types[held]]):
                put = self._moved(node, held, node.where[self.part[held]] | {receptacle}) if held in self.part else node.where
                yield from self._step(node, GroundAction("move", held, receptacle), node._replace(held=NOTHING, where=put))
            if self.treatment and held in self.goal.objects and held not in node.done:
                treated = node._replace(done=node.done | {held})
                for receptacle in self._unlike(node, self.appliances):
                    yield from self._step(node, GroundAction(self.treatment, held, receptacle), treated)
        for lamp in sorted(self.goal.lamps):
            for receptacle in sorted(self._of_lamp(node, lamp)):
                if lamp not in node.done:
                    yield from self._step(node, GroundAction("use", lamp, receptacle), node._replace(done=node.done | {lamp}))
                elif held in self.goal.objects:
                    yield from self._step(node, GroundAction("go", receptacle=receptacle), node)

    def estimate(self, node: _Node) -> int:
        if self.goal.form == "light":
            return self._light(node)
        if self.goal.form == "two":
            return min((self._two(node, receptacle) for receptacle in self.goal.receptacles), default=NEVER)
        parts = zip(self.cast, node.where, strict=True)
        return min((self._one(node, one, lies) for one, lies in parts if one in self.goal.objects), default=NEVER)

    def _one(self, node: _Node, thing: int, receptacles: frozenset[int]) -> int:
        """The bound until this object, treated, is in a goal receptacle."""
        treated = not self.treatment or thing in node.done
        placed = not receptacles.isdisjoint(self.targets)
        if treated and placed:
            return 0
        stages = [] if node.held == thing else [self._sources(thing, receptacles)]
        if not treated:
            stages.append(self.treating)
        # An object in several receptacles may stay in the goal's while it is treated.
        if not placed or (node.held != thing and len(receptacles) == 1):
            stages.append(self.landing)
        if not all(stages):
            return NEVER
        walks = (node.place not in stages[0]) + sum(before.isdisjoint(after) for before, after in pairwise(stages))
        return self._hand(node, thing) + len(stages) + walks

    def _two(self, node: _Node, receptacle: int) -> int:
        """The bound until two objects are in this receptacle."""
        missing = 2 - sum(receptacle in receptacles for receptacles in node.where)
        if missing <= 0:
            return 0
        if receptacle not in self.landings:
            return NEVER
        place = self.game.place_of[receptacle]
        parts = zip(self.cast, node.where, strict=True)
        outside = [(thing, lies) for thing, lies in parts if receptacle not in lies and thing in self.goal.objects]
        carried = any(thing == node.held for thing, _ in outside)
        found = [places for thing, lies in outside if thing != node.held and (places := self._sources(thing, lies))]
        if len(found) + carried < missing:
            return NEVER
        sources = frozenset[int]().union(*found)
        apart = place not in sources
        if carried:
            return 2 * missing - 1 + (node.place != place) + 2 * apart * (missing - 1)
        return self._hand(node, NOTHING) + 2 * missing + (node.place not in sources) + apart * (2 * missing - 1)

    def _light(self, node: _Node) -> int:
        """The bound until an object is held where a lamp is on."""
        carried = node.held in self.goal.objects
        sources = frozenset[int]()
        for thing, receptacles in zip(self.cast, node.where, strict=True):
            if thing in self.goal.objects:
                sources |= self._sources(thing, receptacles)
        if not carried and not sources:
            return NEVER
        kinds = (node.done, self.goal.lamps)
        lit, every = (self._places(one for lamp in lamps for one in self._of_lamp(node, lamp)) for lamps in kinds)
        if carried and node.place in lit:
            return 0
        fewest = NEVER
        for uses, shining in ((0, lit), (1, every)):
            if node.held in self.goal.lamps:  # it can be put down anywhere
                walks = 1
            elif not shining:
                continue
            elif carried:
                walks = int(node.place not in shining)
            else:
                walks = (node.place not in sources) + sources.isdisjoint(shining)
            fewest = min(fewest, uses + walks)
        return fewest if carried else min(NEVER, self._hand(node, NOTHING) + 1 + fewest)

    def _hand(self, node: _Node, wanted: int) -> int:
        """The commands needed to free the hand, unless it is empty or holds what is ``wanted``."""
        if node.held in (NOTHING, wanted):
            return 0
        return 1 if self.takers[self.game.object_types[node.held]] else NEVER

    def _step(self, node: _Node, action: GroundAction, after: _Node) -> Iterator[_Step]:
        """``action`` at its receptacle, which leads to ``after`` but for the place and what must be opened for it."""
        receptacle = action.receptacle
        place = self.game.place_of[receptacle]
        shut = action.verb in ("take", "move") and receptacle in self.closed and receptacle not in node.opened
        cost = (place != node.place) + shut + (action.verb != "go")
        if place != NOWHERE and cost:
            opened = node.opened | {receptacle} if shut else node.opened
            yield action, cost, _Node(place, after.held, after.where, opened, after.done)

    def _moved(self, node: _Node, thing: int, receptacles: frozenset[int]) -> tuple[frozenset[int], ...]:
        number = self.part[thing]
        return (*node.where[:number], receptacles, *node.where[number + 1 :])

    def _unlike(self, node: _Node, receptacles: Iterable[int]) -> Iterator[int]:
        """The receptacles, but only one of those that are interchangeable in this state."""
        touched = node.opened.union(*node.where)
        seen: set[int] = set()
        for receptacle in receptacles:
            alike = self.likeness.get(receptacle)
            if alike is not None and receptacle not in touched and self.game.place_of[receptacle] != node.place:
                if alike in seen:
                    continue
                seen.add(alike)
            yield receptacle

    def _likeness(self, reachable: Iterable[int]) -> dict[int, int]:
        """A number for each receptacle that has its place to itself and no lamp in it; the same for those of one kind."""
        lamps = frozenset[int]().union(*self.lamps.values())
        numbers: dict[tuple[bool, bool, bool, frozenset[str]], int] = {}
        found: dict[int, int] = {}
        for one in reachable:
            if len(self.game.receptacles_at[self.game.place_of[one]]) == 1 and one not in lamps:
                kind = (one in self.closed, one in self.goal.receptacles, one in self.appliances, self.game.accepts[one])
                found[one] = numbers.setdefault(kind, len(numbers))
        return found

    def _cast(self, start: State, where: list[frozenset[int]], treated: frozenset[int]) -> tuple[int, ...]:
        """The objects that the goal names, two of a kind, and a lamp in the hand, which is put down somewhere."""
        game, kept = self.game, list[int]()
        alike: dict[tuple[object, ...], int] = {}
        for thing in sorted(self.goal.objects):
            kind = (where[thing], thing == start.held, thing in treated, thing in game.pickupable, thing in self.goal.lamps)
            alike[kind] = alike.get(kind, 0) + 1
            if alike[kind] <= 2:
                kept.append(thing)
        if start.held in self.goal.lamps and start.held not in kept:
            kept.append(start.held)
        return tuple(kept)

    def _sources(self, thing: int, receptacles: frozenset[int]) -> frozenset[int]:
        """The places where the object can be taken."""
        return self._places(receptacles) if thing in self.game.pickupable else frozenset()

    def _of_lamp(self, node: _Node, lamp: int) -> frozenset[int]:
        return node.where[self.part[lamp]] if lamp in self.part else self.lamps.get(lamp, frozenset())

    def _places(self, receptacles: Iterable[int]) -> frozenset[int]:
        return frozenset(place for one in receptacles if (place := self.game.place_of[one]) != NOWHERE)

    def commands(self, node: _Node, action: GroundAction, reached: _Node) -> Iterator[str]:
        """The commands of one step of the search."""
        name, verb = self.game.receptacles[action.receptacle], action.verb
        if node.place != reached.place:
            yield f"go to {name}"
        if node.opened != reached.opened:
            yield f"open {name}"
        if verb != "go":
            rest = {"take": f" from {name}", "move": f" to {name}", "use": ""}.get(verb, f" with {name}")
            yield f"{verb} {self.game.objects[action.object]}{rest}"
