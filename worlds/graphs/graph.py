"""An apartment as a graph: what is there, and how it stands now.

Nodes have a class, properties and states; edges say what is ON or INSIDE what, what is CLOSE to what, and what the robot
HOLDS, as in VirtualHome (Puig et al., CVPR 2018). All of it is immutable: a step makes a new graph, which shares what did not
change.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

Placing = Literal["ON", "INSIDE"]
"""How one thing can be at another."""
Placed = frozenset[tuple[Placing, int]]
"""What a thing is on or inside of, as ids."""

ROOMS, ROBOT = "Rooms", "character"
BUILT = frozenset({"ceiling", "ceilings", "characters", "doors", "floor", "floors", "walls"})
"""Categories of what a home is built of: nothing is done with it, and so nobody is told of it."""
USED = frozenset({"CAN_OPEN", "CONTAINERS", "GRABBABLE", "HAS_SWITCH", "SURFACES"})
"""Properties of what something can be done with."""
Classes = Mapping[str, frozenset[str]]
"""Classes of what can be used, each with all the properties that things of it have."""
HOLDING = frozenset({"CAN_OPEN", "CONTAINERS", "SURFACES"})


@dataclass(frozen=True, slots=True)
class Node:
    """A room or a thing. ``kind`` is its class in lower case."""

    id: int
    kind: str
    category: str
    properties: frozenset[str] = frozenset()

    @property
    def room(self) -> bool:
        """Whether it is a room."""
        return self.category == ROOMS

    @property
    def used(self) -> bool:
        """Whether something can be done with it, so that it has a name."""
        return self.room or (self.category.lower() not in BUILT and not USED.isdisjoint(self.properties))

    @property
    def carried(self) -> bool:
        """Whether it can be taken into a hand."""
        return "GRABBABLE" in self.properties

    @property
    def furniture(self) -> bool:
        """Whether it stays where it is."""
        return self.used and not self.room and not self.carried


@dataclass(frozen=True)
class Apartment:
    """What never changes: the nodes by id, and which of them is the robot."""

    nodes: Mapping[int, Node]
    robot: int

    @cached_property
    def names(self) -> Mapping[int, str]:
        """What can be named, by id: a class and a number, counted from 1 in the order of the ids."""
        counted: dict[str, int] = {}
        names: dict[int, str] = {}
        for id in sorted(self.nodes):
            if id != self.robot and (node := self.nodes[id]).used:
                counted[node.kind] = counted.get(node.kind, 0) + 1
                names[id] = f"{node.kind} {counted[node.kind]}"
        return names

    @cached_property
    def named(self) -> Mapping[str, int]:
        """The ids by name."""
        return {name: id for id, name in self.names.items()}

    @cached_property
    def rooms(self) -> tuple[int, ...]:
        """The rooms, by name."""
        return tuple(sorted((id for id, node in self.nodes.items() if node.room), key=lambda id: self.names[id]))

    @cached_property
    def classes(self) -> Mapping[str, tuple[int, ...]]:
        """The ids of all that there is, by class."""
        found: dict[str, tuple[int, ...]] = {}
        for id in sorted(self.nodes):
            found[self.nodes[id].kind] = (*found.get(self.nodes[id].kind, ()), id)
        return found

    @cached_property
    def properties(self) -> Classes:
        """The classes of what can be named, but for rooms."""
        found: dict[str, frozenset[str]] = {}
        for node in (self.nodes[id] for ids in self.kinds.values() for id in ids):
            found |= {} if node.room else {node.kind: found.get(node.kind, frozenset[str]()) | node.properties}
        return found

    @cached_property
    def kinds(self) -> Mapping[str, tuple[int, ...]]:
        """The ids of what can be named, by class."""
        named = {kind: tuple(id for id in ids if id in self.names) for kind, ids in self.classes.items()}
        return {kind: ids for kind, ids in named.items() if ids}


@dataclass(frozen=True, eq=False)
class Graph:
    """An apartment as it is now. Nothing here is ever changed; `Changes` makes another one.

    ``placed`` says what each thing is on and inside of, ``holds`` the same the other way round, ``close`` what is within reach
    of what, ``states`` what is open or on. ``hands`` are the right and the left one.
    """

    apartment: Apartment
    placed: Mapping[int, Placed]
    holds: Mapping[int, frozenset[int]]
    close: Mapping[int, frozenset[int]]
    states: Mapping[int, frozenset[str]]
    hands: tuple[int | None, int | None] = (None, None)

    @property
    def robot(self) -> int:
        """The robot's id."""
        return self.apartment.robot

    @property
    def held(self) -> tuple[int, ...]:
        """What is in the hands, the right one first."""
        return tuple(one for one in self.hands if one is not None)

    def node(self, id: int) -> Node:
        """The node of this id."""
        return self.apartment.nodes[id]

    def state(self, id: int) -> frozenset[str]:
        """What is said of the state of a thing: CLOSED or OPEN, OFF or ON, and others that no action here depends on."""
        return self.states.get(id, frozenset())

    def parents(self, id: int, how: Placing | None = None) -> tuple[int, ...]:
        """What a thing is on or inside of."""
        return tuple(other for placing, other in sorted(self.placed.get(id, ())) if how is None or placing == how)

    def children(self, id: int, how: Placing | None = None) -> tuple[int, ...]:
        """What is on or inside of a thing, by id."""
        inside = sorted(self.holds.get(id, ()))
        return tuple(inside if how is None else (one for one in inside if (how, id) in self.placed[one]))

    def above(self, id: int) -> Iterator[tuple[Placing, int]]:
        """What a thing is on or inside of, and then what that is on or inside of: the nearest first, from each thing once."""
        waiting, known = [id], {id}
        for one in waiting:
            for how, other in sorted(self.placed.get(one, ())):
                yield how, other
                if other not in known:
                    known.add(other)
                    waiting.append(other)

    def room_of(self, id: int) -> int | None:
        """The room that something is in; None if nothing says so."""
        if self.node(id).room:
            return id
        return next((other for _, other in self.above(id) if self.node(other).room), None)

    def enclosed(self, id: int) -> bool:
        """Whether something lies behind a closed door."""
        return self.door(id) is not None

    def door(self, id: int) -> int | None:
        """The closed thing that something is inside of, or that what it is on or in is inside of; None if there is none."""
        behind = (other for how, other in self.above(id) if how == "INSIDE" and not self.node(other).room)
        return next((other for other in behind if "CLOSED" in self.state(other)), None)

    def load(self, id: int) -> frozenset[int]:
        """What goes along when something is carried: all that lies on or in it."""
        found: set[int] = set()
        waiting = list(self.holds.get(id, ()))
        while waiting:
            one = waiting.pop()
            if one not in found:
                found.add(one)
                waiting.extend(self.holds.get(one, ()))
        return frozenset(found)

    def reached(self, id: int) -> bool:
        """Whether something is within reach: close to the robot, to what is close to it, or on that."""
        near = self.close.get(self.robot, frozenset())
        if id in near or any(other in near for other in self.parents(id, "ON")):
            return True
        return any(id in self.close.get(other, ()) for other in near)

    def edges(self) -> Iterator[tuple[int, str, int]]:
        """All edges, as VirtualHome writes them."""
        for id, placed in self.placed.items():
            yield from ((id, how, other) for how, other in placed)
        for id, close in self.close.items():
            yield from ((id, "CLOSE", other) for other in close)
        for hand, one in zip(("HOLDS_RH", "HOLDS_LH"), self.hands, strict=True):
            if one is not None:
                yield self.robot, hand, one


def within(room: int) -> Placed:
    """Where something is that is only in a room."""
    return frozenset({("INSIDE", room)})


class Changes:
    """A graph in the making: copies of what changes, until `graph` ends it."""

    def __init__(self, before: Graph) -> None:
        self.before, self.hands = before, before.hands
        self.placed, self.holds, self.close = dict(before.placed), dict(before.holds), dict(before.close)

    def place(self, id: int, placed: Placed) -> None:
        """Let a thing be on and inside of just this."""
        old = {other for _, other in self.placed.get(id, ())}
        new = {other for _, other in placed}
        for other in old - new:
            self.holds[other] = self.holds[other] - {id}
        for other in new - old:
            self.holds[other] = self.holds.get(other, frozenset()) | {id}
        self.placed[id] = placed

    def carry_into(self, id: int, room: int) -> None:
        """Let a thing be in this room and no other, on and in whatever it is."""
        nodes = self.before.apartment.nodes
        kept: Placed = frozenset((how, other) for how, other in self.placed.get(id, frozenset()) if not nodes[other].room)
        self.place(id, kept | within(room))

    def part(self, id: int, but: frozenset[int] = frozenset()) -> None:
        """Let a thing be close to nothing ``but`` these."""
        for other in self.close.get(id, frozenset()) - but:
            self.close[other] = self.close.get(other, frozenset()) - {id}
        self.close[id] = self.close.get(id, frozenset()) & but

    def join(self, id: int, others: Iterable[int]) -> None:
        """Let a thing be close to these, and they to it."""
        others = frozenset(others) - {id}
        self.close[id] = self.close.get(id, frozenset()) | others
        for other in others:
            self.close[other] = self.close.get(other, frozenset()) | {id}

    def graph(self) -> Graph:
        """The graph with all changes."""
        return Graph(self.before.apartment, self.placed, self.holds, self.close, self.before.states, self.hands)
