"""Par: the rounds in which players who see the hidden state can reach several goals at once.

Goals are made of *errands*: a thing is taken, treated where its goal asks for it, and put down at a target, with the ``go``
and ``open`` that this needs. One player does them in the best order, with the best things, appliances and targets: for a
single goal this is a shortest plan. For two, the errands are divided in the best way, and each player does its own. Doors that
the other opened are opened again, so this is an upper bound: two who help each other may need a round less.

Receptacles that have their place to themselves, and where nothing else is to be done, are alike; one stands for all.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from itertools import pairwise, product
from typing import NamedTuple

from housequest.worlds.alfworld.engine.game import NOWHERE, Game, WinCondition
from housequest.worlds.household.planner import NEVER, SearchProblem, shortest_way

_STATES = 200_000  # a chore of six goals takes some hundreds


def par(game: Game, players: int = 1) -> int | None:
    """The rounds that one or two players need for all goals of ``game``, 0 if they are met; None if that is not known, as for a
    goal of light, for more players, and where the goals cannot be reached."""
    goals = (game.goal, *game.more)
    if players not in (1, 2) or any(one.form == "light" for one in goals):
        return None
    house = _House(game, goals)
    whole = tuple(house.counts)
    alone = house.errands(whole)
    if alone is None or players == 1:
        return None if alone is None else alone.rounds
    return house.divided(whole, alone.rounds)


class _Done(NamedTuple):
    """A player's errands: the rounds, the things used, and the target of each goal for two things."""

    rounds: int
    used: frozenset[int]
    shared: tuple[int, ...]


class _Node(NamedTuple):
    """A player between two errands: its place, the number of errands left of each goal, the things used up, the doors that it
    opened, and the target of each goal for two things, `NOWHERE` until it is chosen."""

    place: int
    left: tuple[int, ...]
    used: frozenset[int]
    opened: frozenset[int]
    shared: tuple[int, ...]


class _House:
    """The goals of a house, with what is there for them at the start."""

    def __init__(self, game: Game, goals: Sequence[WinCondition]) -> None:
        self.game, self.goals, state = game, goals, game.start
        self.shut = game.openable - state.opened
        self.lies = {thing: holder for holder, contents in enumerate(state.contents) for thing in contents}
        treating: dict[str, frozenset[int]] = {"clean": game.basins, "heat": game.heaters, "cool": game.coolers}
        self.treated = {"clean": state.clean, "heat": state.hot, "cool": state.cool}
        standing = [one for one, place in enumerate(game.place_of) if place != NOWHERE]
        self.appliances = [[one for one in standing if one in treating.get(goal.form, ())] for goal in goals]
        self.targets = [self._targets(goal) for goal in goals]
        there = [self._there(goal) for goal in goals]
        self.counts = [max(0, (2 if goal.form == "two" else 1) - len(one[1])) for goal, one in zip(goals, there, strict=True)]
        self.shared = tuple(holder if goal.form == "two" else NOWHERE for goal, (holder, _) in zip(goals, there, strict=True))
        self.settled = frozenset(thing for _, things in there for thing in things)
        self.things = [[one for one in sorted(goal.objects & game.pickupable) if self._reachable(one)] for goal in goals]
        sought = Counter({thing: self.lies[thing] for things in self.things for thing in things}.values())
        wanted = {one for each in (*self.targets, *self.appliances) for one in each}
        alone = {one for here in game.receptacles_at if len(here) == 1 for one in here}
        self.plain_targets = alone - sought.keys() - {one for each in self.appliances for one in each}
        number = Counter(self.lies.values())
        self.plain_sources = {one for one in alone - wanted if number[one] == 1}
        targets = {one for each in self.targets for one in each}
        ends = {game.place_of[one] for one in targets} | {game.start.place}
        self.walked = {one for one in sought if game.place_of[one] not in ends}
        """The receptacles of things to which a player must walk, wherever its last errand ended."""
        self.doors = {one for one in self.shut.intersection(sought) if sought[one] == 1 and one not in targets}
        """The receptacles that are opened for one thing only."""
        self.behind = {frozenset(each) for each in self.targets if self.shut.issuperset(each)}
        """The targets of which one must be opened, whichever it is."""
        self.sizes = [min(map(self._size, self.ways(number)), default=NEVER) for number in range(len(goals))]
        self._known: dict[_Node, _Done | None] = {}

    def _targets(self, goal: WinCondition) -> list[int]:
        kinds = {self.game.object_types[thing] for thing in goal.objects}
        place, accepts = self.game.place_of, self.game.accepts
        return [one for one in goal.receptacles if place[one] != NOWHERE and not kinds.isdisjoint(accepts[one])]

    def _reachable(self, thing: int) -> bool:
        return thing in self.lies and self.game.place_of[self.lies[thing]] != NOWHERE

    def _there(self, goal: WinCondition) -> tuple[int, frozenset[int]]:
        """The target where things are ready at the start, and these; none in chores, which begin with nothing done."""
        ready = goal.objects & self.treated.get(goal.form, goal.objects)
        found = [(one, ready.intersection(self.game.start.contents[one])) for one in goal.receptacles]
        holder, things = max(found, key=lambda each: len(each[1]), default=(NOWHERE, frozenset[int]()))
        return (holder, things) if things else (NOWHERE, things)

    def ways(self, number: int) -> Iterator[tuple[int, int | None, int]]:
        """The things, appliances (None for a thing that needs no treatment) and targets of a goal."""
        for thing, target in product(self.things[number], self.targets[number]):
            needs = self.goals[number].form in self.treated and thing not in self.treated[self.goals[number].form]
            for appliance in self.appliances[number] if needs else (None,):
                yield thing, appliance, target

    def _size(self, way: tuple[int, int | None, int]) -> int:
        """A lower bound on the rounds of an errand: walks and doors that another errand may save are left out."""
        thing, appliance, target = way
        place, source = self.game.place_of, self.lies[thing]
        stops = [place[source], *([] if appliance is None else [place[appliance]]), place[target]]
        walks = sum(one != other for one, other in pairwise(stops))
        return 2 + (appliance is not None) + walks + (source in self.doors) + (source in self.walked)

    def bound(self, left: Sequence[int], opened: frozenset[int] = frozenset()) -> int:
        """A lower bound on the rounds for so many errands of each goal, with these doors ``opened``."""
        shut = {targets for number, targets in enumerate(map(frozenset, self.targets)) if left[number]} & self.behind
        return sum(count * size for count, size in zip(left, self.sizes, strict=True)) + sum(map(opened.isdisjoint, shut))

    def node(
        self, place: int, left: tuple[int, ...], used: frozenset[int], opened: frozenset[int], shared: tuple[int, ...]
    ) -> _Node:
        """A node with only what matters for the errands that are left."""
        sought, wanted = set[int](), set[int]()
        for number, count in enumerate(left):
            if count:
                sought.update(self.things[number])
                wanted.update(self.targets[number])
        wanted.update(self.lies[thing] for thing in sought - used)
        chosen = tuple(one if count else NOWHERE for one, count in zip(shared, left, strict=True))
        return _Node(place, left, used & sought, opened & wanted, chosen)

    def errands(self, left: tuple[int, ...], used: frozenset[int] = frozenset(), shared: tuple[int, ...] = ()) -> _Done | None:
        """One player's way to do so many errands of each goal, without what the other ``used``; None if there is none."""
        start = self.node(self.game.start.place, left, used | self.settled, frozenset(), shared or self.shared)
        if start not in self._known:
            way = shortest_way(_Errands(self, start), most_states=_STATES)
            if isinstance(way, tuple):
                chosen = {step.action.number: step.action.target for step in way}
                self._known[start] = _Done(
                    sum(step.action.rounds for step in way),
                    frozenset(step.action.thing for step in way),
                    tuple(chosen.get(number, NOWHERE) for number in range(len(left))),
                )
            else:
                self._known[start] = None
        return self._known[start]

    def divided(self, whole: tuple[int, ...], best: int) -> int:
        """The fewest rounds of two players; ``best`` are those of one alone."""
        parts = product(*(range(count + 1) for count in whole))
        pairs = [(part, tuple(count - one for count, one in zip(whole, part, strict=True))) for part in parts]
        for first, second in sorted(pairs, key=lambda pair: (max(map(self.bound, pair)), pair)):
            if max(self.bound(first), self.bound(second)) >= best:
                break
            # Who comes first chooses among the things, and the target of two.
            one = self.errands(first)
            if one is None or one.rounds >= best:
                continue
            shared = (
                mine if goal.form == "two" and mine != NOWHERE else at
                for goal, mine, at in zip(self.goals, one.shared, self.shared, strict=True)
            )
            other = self.errands(second, one.used, tuple(shared))
            if other is not None:
                best = min(best, max(one.rounds, other.rounds))
        return best


class _Errand(NamedTuple):
    """An errand of a goal, by number, with the rounds that it takes."""

    number: int
    thing: int
    target: int
    rounds: int


class _Errands(SearchProblem[_Node, _Errand]):
    """The search for the best order of one player's errands."""

    def __init__(self, house: _House, start: _Node) -> None:
        self.house, self.start = house, start

    def estimate(self, node: _Node, /) -> int:
        return self.house.bound(node.left, node.opened)

    def steps(self, node: _Node, /) -> Iterator[tuple[_Errand, int, _Node]]:
        house = self.house
        for number, count in enumerate(node.left):
            if not count:
                continue
            left = (*node.left[:number], count - 1, *node.left[number + 1 :])
            seen = set[Hashable]()
            for thing, appliance, target in house.ways(number):
                if thing in node.used or node.shared[number] not in (NOWHERE, target):
                    continue
                source = house.lies[thing]
                alike = (
                    source in house.shut if source in house.plain_sources else (source, thing),
                    appliance,
                    self._alike(node, target),
                )
                if alike in seen:
                    continue
                seen.add(alike)
                rounds, opened = self._rounds(node, source, appliance, target)
                shared = node.shared
                if house.goals[number].form == "two":
                    shared = (*shared[:number], target, *shared[number + 1 :])
                after = house.node(house.game.place_of[target], left, node.used | {thing}, opened, shared)
                yield _Errand(number, thing, target, rounds), rounds, after

    def _alike(self, node: _Node, target: int) -> Hashable:
        house = self.house
        plain = target in house.plain_targets and target not in node.opened and house.game.place_of[target] != node.place
        return target in house.shut if plain and target not in node.shared else (target,)

    def _rounds(self, node: _Node, source: int, appliance: int | None, target: int) -> tuple[int, frozenset[int]]:
        place_of, here, opened = self.house.game.place_of, node.place, node.opened
        rounds = 0
        for holder, door in ((source, True), (appliance, False), (target, True)):
            if holder is None:
                continue
            rounds += 1 + (place_of[holder] != here)
            here = place_of[holder]
            if door and holder in self.house.shut and holder not in opened:
                rounds += 1
                opened = opened if holder in self.house.plain_sources else opened | {holder}
        return rounds, opened
