"""The shortest way to a goal, searched for among real actions; it sees the whole apartment, so it is for proofs and metrics
alone.

Only what can help is tried: walking to rooms, to what is wanted, to what that lies in or on and to where it should be; opening
that; grabbing and putting what is wanted. Closing is tried only of what is to be switched on, and of things that are alike in
one place the first is taken. A way found among these actions can be played; that there is no shorter one holds as long as
nothing else helps. How many actions are left is estimated by the cheapest set of places that have all that is lacking.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from functools import lru_cache
from itertools import chain
from typing import cast

from housequest.worlds.graphs.env import Moment, advance, begun
from housequest.worlds.graphs.goals import GraphGoal, met
from housequest.worlds.graphs.graph import Action, Graph, problem
from housequest.worlds.household.planner import Problem, shortest_way

MOST_STATES = 8_000  # After so many a search ends, whatever the machine.


def plan(graph: Graph, goal: GraphGoal, *, seconds: float | None = None, greed: float = 1.0) -> tuple[Action, ...] | None:
    """The actions of a way to ``goal``, at most ``greed`` times as long as the shortest; None if none was found in time."""
    way = shortest_way(_Search(graph, goal), most_states=MOST_STATES, seconds=seconds, greed=greed, newest_first=True)
    return tuple(step.action for step in way) if isinstance(way, tuple) else None


class _Search(Problem[Moment, Action]):
    def __init__(self, graph: Graph, goal: GraphGoal) -> None:
        self.start = begun(graph)
        classes = graph.apartment.classes
        self.goal = goal
        self.wanted = {one.kind for one in goal.conditions if one.how != "turnOn"}
        self.things = tuple(id for kind in sorted(self.wanted) for id in classes.get(kind, ()) if graph.node(id).carried)
        self.switched = tuple(id for one in goal.conditions if one.how == "turnOn" for id in classes.get(one.kind, ()))
        self.targets = tuple(dict.fromkeys(id for one in goal.conditions for id in classes.get(one.at, ())))
        walked = {*self.targets, *self.things, *(place for id in self.things for place in _places(graph, id))}
        around = {other for id in walked for other in (*_places(graph, id), *graph.children(id, "INSIDE"))}
        # All that the robot can come close to by the actions that are tried.
        near = walked | around | graph.close.get(graph.robot, frozenset())
        self.apart = not any(graph.node(place).carried for id in self.things for place in _places(graph, id)) and all(
            graph.node(id).carried
            or all(
                graph.node(other).carried and id in graph.parents(other) for other in graph.close.get(id, frozenset()) & near
            )
            for id in near
        )
        self.how = {one.kind: one.how for one in goal.conditions if one.how != "turnOn"}
        self.kinds = tuple(sorted(self.wanted))
        self.numbers = tuple(sum(one.count for one in goal.conditions if one.kind == kind) for kind in self.kinds)
        self.closing = all("CAN_OPEN" in graph.node(id).properties for id in self.switched)
        rooms = {graph.room_of(id) for id in self.targets}
        self.at_room = next(iter(rooms)) if len(rooms) == 1 else None

    def estimate(self, moment: Moment) -> int:
        """Never more than the actions that are left until the goal is reached."""
        graph = moment.graph
        reached, total = met(self.goal, graph)
        switching = int(bool(self.switched) and not any("ON" in graph.state(id) for id in self.switched))
        missing = max(0, total - reached - switching)
        held = min(missing, sum(graph.node(id).kind in self.wanted for id in graph.held))
        # What is open is closed before it is switched on; what is closed may be switched on first and opened then.
        shut = [id for id in self.targets if "CLOSED" in graph.state(id)]
        switching += int(bool(switching) and self.closing and not shut)
        walks = self._walks(moment, missing - held, held) if self.apart else 0
        return missing + (missing - held) + switching + walks

    def _walks(self, moment: Moment, unheld: int, held: int) -> int:
        """How often one must still walk and open, where nothing is within reach of two places: two things go in a trip."""
        graph = moment.graph
        near = graph.close.get(graph.robot, frozenset())
        at_target = not near.isdisjoint(self.targets)
        arrivals = -(-(unheld + (0 if at_target else held)) // 2)
        offers: dict[tuple[int, bool], list[int]] = {}
        for id in self.things:
            if id not in graph.held and not self._settled(graph, id):
                for place in _places(graph, id) or (id,):
                    offer = place, graph.door(id) == place
                    offers.setdefault(offer, [0] * len(self.kinds))[self.kinds.index(graph.node(id).kind)] += 1
        here = sum(sum(counts) for (place, _), counts in offers.items() if place in near)
        known = _rooms_seen(moment)
        entered = self.at_room is not None and self.at_room not in known and unheld + held > 0
        known |= {self.at_room} if entered else set()
        rooms: dict[int | None, list[_Offer]] = {}
        for (place, behind), counts in sorted(offers.items()):
            # Who came for what lies on a closed thing need not walk again for what is in it.
            cost = int(place not in near and not (behind and (place, False) in offers)) + int(behind)
            room = graph.room_of(place)
            rooms.setdefault(None if room in known else room, []).append((cost, tuple(counts)))
        # What is at some target or in a hand counts as brought.
        brought = [graph.node(id).kind for id in self.things if id in graph.held or self._settled(graph, id)]
        lacking = (max(0, number - brought.count(kind)) for kind, number in zip(self.kinds, self.numbers, strict=True))
        collecting = _collecting(tuple(lacking), tuple((room is not None, tuple(sorted(of))) for room, of in rooms.items()))
        fetches = max(collecting, -(-(unheld - min(here, 2 - len(graph.held))) // 2))
        shut = [id for id in self.targets if "CLOSED" in graph.state(id)]
        opening = int(unheld + held > 0 and "inside" in self.how.values() and len(shut) == len(self.targets))
        return arrivals + fetches + opening + int(entered)

    def key(self, moment: Moment) -> Hashable:
        """What tells one state from another, as far as the goal is concerned."""
        graph = moment.graph
        near = graph.close.get(graph.robot, frozenset())
        placed = ((id, graph.placed.get(id, ()) if id not in graph.held else (("held", 0),)) for id in self.things)
        lying = tuple(sorted((graph.node(id).kind, *sorted(f"{how} {other}" for how, other in at)) for id, at in placed))
        opened = frozenset(id for id, states in graph.states.items() if "OPEN" in states)
        lit = frozenset(id for id in self.switched if "ON" in graph.state(id))
        held = tuple(sorted(graph.node(id).kind for id in graph.held))
        rooms = frozenset(room for room in graph.apartment.rooms if not moment.seen.isdisjoint(graph.holds.get(room, ())))
        fixed = frozenset(id for id in near if not graph.node(id).carried)
        return lying, fixed, opened, lit, held, rooms, graph.room_of(graph.robot)

    def steps(self, moment: Moment) -> Iterator[tuple[Action, int, Moment]]:
        """The actions worth trying. What is wanted at the one place within reach is put there at once: it must be some time."""
        graph = moment.graph
        if len(self.targets) == 1 and (putting := next(self._puts(graph), None)) is not None:
            yield putting, 1, advance(moment, putting)
            return
        useful = [id for id in self.things if id not in graph.held and not self._settled(graph, id)]
        doors = {graph.door(id) for id in useful} - {None}
        holders = {other for id in useful for other in _places(graph, id)} | cast("set[int]", doors)
        places = dict.fromkeys((*self.targets, *sorted(holders)))
        seen = _rooms_seen(moment)
        rooms = (room for room in graph.apartment.rooms if room not in seen)
        walks = (*rooms, *places, *(id for id in useful if not graph.parents(id, "ON") and not graph.enclosed(id)))
        tried: list[Action] = [
            Action("walk to", id) for id in walks if id in moment.seen and id not in graph.close.get(graph.robot, frozenset())
        ]
        tried += [Action("open", id) for id in places]
        tried += [Action("close", id) for id in self.switched]
        tried += [Action("switch on", id) for id in self.switched]
        first: dict[Hashable, int] = {}
        for id in useful:
            if id in moment.seen and graph.reached(id):
                first.setdefault((graph.node(id).kind, graph.placed.get(id)), id)
        tried += [Action("grab", id) for id in first.values()]
        possible = chain((action for action in tried if problem(graph, action) is None), self._puts(graph))
        yield from ((action, 1, advance(moment, action)) for action in possible)

    def _puts(self, graph: Graph) -> Iterator[Action]:
        """What is held and still wanted, put at a target that is within reach."""
        for id in graph.held:
            if (how := self.how.get(graph.node(id).kind)) is not None:
                puts = (Action("put in" if how == "inside" else "put on", id, target) for target in self.targets)
                yield from (action for action in puts if problem(graph, action) is None)

    def _settled(self, graph: Graph, id: int) -> bool:
        how = self.how[graph.node(id).kind]
        return any(target in self.targets for target in graph.parents(id, "INSIDE" if how == "inside" else "ON"))


_Offer = tuple[int, tuple[int, ...]]  # What it costs to reach into a place, and how many of each kind lie there.


@lru_cache(maxsize=100_000)
def _collecting(lacking: tuple[int, ...], rooms: tuple[tuple[bool, tuple[_Offer, ...]], ...]) -> int:
    """The least that it costs to reach into places that together have what is lacking; an unknown room costs one more."""
    best = {lacking: 0}
    for unknown, offers in rooms:
        within = {need: cost + unknown for need, cost in best.items()}
        for price, counts in offers:
            for need, cost in list(within.items()):
                left = tuple(max(0, one - other) for one, other in zip(need, counts, strict=True))
                within[left] = min(within.get(left, cost + price), cost + price)
        for need, cost in within.items():
            best[need] = min(best.get(need, cost), cost)
    return best.get((0,) * len(lacking), 0)


def _places(graph: Graph, id: int) -> tuple[int, ...]:
    """What a thing is on or in, but for rooms."""
    return tuple(other for other in graph.parents(id) if not graph.node(other).room)


def _rooms_seen(moment: Moment) -> set[int | None]:
    return {moment.graph.room_of(id) for id in moment.seen if not moment.graph.node(id).room}
