"""An apartment as a graph: its things, their state now, and the actions of a robot with two hands.

As in VirtualHome (Puig et al., CVPR 2018), nodes have a class, properties and states, and edges are ON, INSIDE, CLOSE and
HOLDS. Everything is immutable: a step makes a new graph, which shares the unchanged parts. An action is possible by the rules
of LoTa-Bench's wrapper (its ``check_step``), and has the effect of VirtualHome's own ``evolving_graph``;
`tests/worlds/graphs/test_evolving_graph.py` lists the differences and their reasons.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, NamedTuple

Placing = Literal["ON", "INSIDE"]  # The relations of a thing to its holder.
Placed = frozenset[tuple[Placing, int]]  # The holders of a thing, as ids.
ROOMS, ROBOT = "Rooms", "character"
BUILT = frozenset({"ceiling", "ceilings", "characters", "doors", "floor", "floors", "walls"})
"""Categories of the parts of a building: no action uses them, so no text names them."""
USED = frozenset({"CAN_OPEN", "CONTAINERS", "GRABBABLE", "HAS_SWITCH", "SURFACES"})
"""Properties that make a thing usable."""
Classes = Mapping[str, frozenset[str]]  # Usable classes, each with all properties of its things.
HOLDING = frozenset({"CAN_OPEN", "CONTAINERS", "SURFACES"})

_MISSPELT = {"coffemaker": "coffeemaker"}


def plain(kind: str) -> str:
    """A class in one word, as texts name it: VirtualHome's older ``coffe_maker`` is a ``coffeemaker``."""
    joined = kind.replace("_", "")
    return _MISSPELT.get(joined, joined)


def merged(classes: Iterable[tuple[str, frozenset[str]]]) -> Classes:
    """Classes, each with all properties of any of its things."""
    found: dict[str, frozenset[str]] = {}
    for kind, has in classes:
        found[kind] = found.get(kind, frozenset()) | has
    return found


@dataclass(frozen=True, slots=True)
class Node:
    """A room or a thing. ``kind`` is its class in lower case."""

    id: int
    kind: str
    category: str
    properties: frozenset[str] = frozenset()

    @property
    def room(self) -> bool:
        return self.category == ROOMS

    @property
    def used(self) -> bool:
        """True if something can be done with it, so that it has a name."""
        return self.room or (self.category.lower() not in BUILT and not USED.isdisjoint(self.properties))

    @property
    def carried(self) -> bool:
        return "GRABBABLE" in self.properties

    @property
    def furniture(self) -> bool:
        """True if it stays where it is."""
        return self.used and not self.room and not self.carried

    @property
    def holder(self) -> bool:
        """True for furniture that can hold something, unlike a lamp."""
        return self.furniture and not HOLDING.isdisjoint(self.properties)


@dataclass(frozen=True)
class Apartment:
    """The constant part: the nodes by id, and which of them is the robot. ``dropped`` counts the relations of its file that
    put things inside of themselves."""

    nodes: Mapping[int, Node]
    robot: int
    dropped: int = 0

    @cached_property
    def names(self) -> Mapping[int, str]:
        """The names by id: a plain class and a number, counted from 1 in the order of the ids. Classes with the same plain name
        keep their own."""
        used = {id: self.nodes[id].kind for id in sorted(self.nodes) if id != self.robot and self.nodes[id].used}
        alike = Counter(map(plain, {*used.values()}))
        counted, names = Counter[str](), dict[int, str]()
        for id, kind in used.items():
            called = plain(kind) if alike[plain(kind)] == 1 else kind
            counted[called] += 1
            names[id] = f"{called} {counted[called]}"
        return names

    @cached_property
    def named(self) -> Mapping[str, int]:
        return {name: id for id, name in self.names.items()}

    @cached_property
    def rooms(self) -> tuple[int, ...]:
        """The rooms, by name."""
        return tuple(sorted((id for id, node in self.nodes.items() if node.room), key=lambda id: self.names[id]))

    @cached_property
    def classes(self) -> Mapping[str, tuple[int, ...]]:
        """All ids, by class."""
        found: dict[str, tuple[int, ...]] = {}
        for id in sorted(self.nodes):
            found[self.nodes[id].kind] = (*found.get(self.nodes[id].kind, ()), id)
        return found

    @cached_property
    def properties(self) -> Classes:
        """The classes that can be named, without rooms."""
        named = (self.nodes[id] for ids in self.kinds.values() for id in ids)
        return merged((node.kind, node.properties) for node in named if not node.room)

    @cached_property
    def kinds(self) -> Mapping[str, tuple[int, ...]]:
        """The ids of things with a name, by class."""
        named = {kind: tuple(id for id in ids if id in self.names) for kind, ids in self.classes.items()}
        return {kind: ids for kind, ids in named.items() if ids}


@dataclass(frozen=True, eq=False)
class Graph:
    """An apartment as it is now; `Changes` makes another one. ``placed`` has the things that each thing is on and inside
    of, ``close`` those that are close to it, and ``states`` is, for example, OPEN or ON. ``hands`` are the right and the
    left one."""

    apartment: Apartment
    placed: Mapping[int, Placed]
    close: Mapping[int, frozenset[int]]
    states: Mapping[int, frozenset[str]]
    hands: tuple[int | None, int | None] = (None, None)

    @cached_property
    def holds(self) -> Mapping[int, frozenset[int]]:
        holds: dict[int, set[int]] = {}
        for id, above in self.placed.items():
            for _, other in above:
                holds.setdefault(other, set()).add(id)
        return {id: frozenset(held) for id, held in holds.items()}

    @property
    def robot(self) -> int:
        return self.apartment.robot

    @property
    def held(self) -> tuple[int, ...]:
        """The things in the hands, the right one first."""
        return tuple(one for one in self.hands if one is not None)

    def node(self, id: int) -> Node:
        return self.apartment.nodes[id]

    def state(self, id: int) -> frozenset[str]:
        """The states of a thing: CLOSED or OPEN, OFF or ON, and others that no action here depends on."""
        return self.states.get(id, frozenset())

    def parents(self, id: int, how: Placing | None = None) -> tuple[int, ...]:
        return tuple(other for placing, other in sorted(self.placed.get(id, ())) if how is None or placing == how)

    def children(self, id: int, how: Placing | None = None) -> tuple[int, ...]:
        inside = sorted(self.holds.get(id, ()))
        return tuple(inside if how is None else (one for one in inside if (how, id) in self.placed[one]))

    def above(self, id: int) -> Iterator[tuple[Placing, int]]:
        """The things that a thing is on or inside of, then those that these are on or inside of: the nearest first, each
        followed once."""
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
        """True if something lies behind a closed door."""
        return self.door(id) is not None

    def door(self, id: int) -> int | None:
        """The closed thing that something is inside of, directly or through other things; None if there is none."""
        behind = (other for how, other in self.above(id) if how == "INSIDE" and not self.node(other).room)
        return next((other for other in behind if "CLOSED" in self.state(other)), None)

    def load(self, id: int) -> frozenset[int]:
        """Everything on or in a thing, which is carried with it."""
        waiting, found = [id], set[int]()
        for one in waiting:
            more = self.holds.get(one, frozenset()) - found
            found |= more
            waiting += more
        return frozenset(found)

    def reached(self, id: int) -> bool:
        """True if something is within reach: close to the robot or to a thing close to it, or on a thing close to it."""
        near = self.close.get(self.robot, frozenset())
        if id in near or any(other in near for other in self.parents(id, "ON")):
            return True
        return any(id in self.close.get(other, ()) for other in near)


def within(room: int) -> Placed:
    return frozenset({("INSIDE", room)})


class Changes:
    """Builds a changed graph: copies of the parts that change, until `graph` makes it."""

    def __init__(self, before: Graph) -> None:
        self.before, self.hands = before, before.hands
        self.placed, self.close = dict(before.placed), dict(before.close)

    def carry_into(self, id: int, room: int) -> None:
        """Put a thing into this room and no other; the things it is on and in stay."""
        nodes = self.before.apartment.nodes
        kept: Placed = frozenset((how, other) for how, other in self.placed.get(id, frozenset()) if not nodes[other].room)
        self.placed[id] = kept | within(room)

    def release(self, id: int) -> None:
        """Take a thing out of the hands."""
        right, left = self.hands
        self.hands = (None if right == id else right, None if left == id else left)

    def part(self, id: int, but: frozenset[int] = frozenset()) -> None:
        """Make a thing close to nothing ``but`` these."""
        for other in self.close.get(id, frozenset()) - but:
            self.close[other] = self.close.get(other, frozenset()) - {id}
        self.close[id] = self.close.get(id, frozenset()) & but

    def join(self, id: int, others: Iterable[int]) -> None:
        """Make a thing close to these, and them to it."""
        others = frozenset(others) - {id}
        self.close[id] = self.close.get(id, frozenset()) | others
        for other in others:
            self.close[other] = self.close.get(other, frozenset()) | {id}

    def graph(self) -> Graph:
        return Graph(self.before.apartment, self.placed, self.close, self.before.states, self.hands)


Verb = Literal["walk to", "grab", "open", "close", "switch on", "switch off", "put in", "put on"]
_STATE = {"open": "OPEN", "close": "CLOSED", "switch on": "ON", "switch off": "OFF"}
_OPPOSITE = {"OPEN": "CLOSED", "CLOSED": "OPEN", "ON": "OFF", "OFF": "ON"}


class Action(NamedTuple):
    """A verb, its thing, and for ``put in`` and ``put on`` the target."""

    verb: Verb
    thing: int
    where: int | None = None


def problem(graph: Graph, action: Action) -> str | None:
    """The reason why an action is not possible now, without a full stop; None if it is possible."""
    verb, id, where = action
    the, node = _the(graph, id), graph.node(id)
    match verb:
        case "walk to":
            return None if graph.room_of(id) is not None else f"There is no way to {the}"
        case "put in" | "put on":
            assert where is not None
            return _putting(graph, id, where, verb)
        case "grab" if not node.carried:
            return f"{the.capitalize()} cannot be carried"
        case "grab" if id in graph.held:
            return f"You hold {the} already"
        case "open" | "close" if "CAN_OPEN" not in node.properties:
            return f"{the.capitalize()} cannot be opened or closed"
        case "switch on" | "switch off" if "HAS_SWITCH" not in node.properties:
            return f"{the.capitalize()} has no switch"
        case _:
            pass
    if (wrong := _out_of_reach(graph, id)) is not None:
        return wrong
    if None not in graph.hands:
        return f"You have no free hand: you hold {' and '.join(_the(graph, id) for id in graph.held)}"
    if verb == "grab":
        return None
    wanted, states = _STATE[verb], graph.state(id)
    if _OPPOSITE[wanted] not in states:
        return f"{the.capitalize()} is {wanted.lower()} already"
    if wanted == "ON" and "PLUGGED_OUT" in states:
        return f"{the.capitalize()} is not plugged in"
    if wanted == "ON" and "CAN_OPEN" in node.properties and "CLOSED" not in states:
        return f"{the.capitalize()} is open; close it first"
    return None


def _the(graph: Graph, id: int) -> str:
    return f"the {graph.apartment.names.get(id, graph.node(id).kind)}"


def _out_of_reach(graph: Graph, id: int) -> str | None:
    the = _the(graph, id)
    if not graph.reached(id):
        return f"You are not close to {the}; go to it first"
    door = graph.door(id)
    return None if door is None else f"{the.capitalize()} is in {_the(graph, door)}, which is closed; open that first"


def _putting(graph: Graph, id: int, where: int, verb: Literal["put in", "put on"]) -> str | None:
    the, there, properties = _the(graph, id), _the(graph, where), graph.node(where).properties
    if id not in graph.held:
        return f"You do not hold {the}"
    if where == id or where in graph.load(id):
        return f"{there.capitalize()} is in your hand with {the}"
    if (wrong := _out_of_reach(graph, where)) is not None:
        return wrong
    if verb == "put on":
        return None if "SURFACES" in properties else f"Nothing can be put on {there}"
    if "CONTAINERS" not in properties:
        return f"Nothing can be put in {there}"
    shut = "CAN_OPEN" in properties and "OPEN" not in graph.state(where)
    return f"{there.capitalize()} is closed; open it first" if shut else None


def after(graph: Graph, action: Action) -> Graph:
    """The graph after an action that is possible."""
    verb, id, where = action
    match verb:
        case "walk to":
            return _walked(graph, id)
        case "grab":
            return _grabbed(graph, id)
        case "put in" | "put on":
            assert where is not None
            there: Placed = frozenset({("INSIDE" if verb == "put in" else "ON", where)})
            changes = Changes(graph)
            changes.release(id)
            changes.placed[id] = graph.placed[id] | there
            changes.join(graph.robot, (where,))
            changes.join(id, (where,))
            return changes.graph()
        case _:
            wanted = _STATE[verb]
            return replace(graph, states={**graph.states, id: graph.state(id) - {_OPPOSITE[wanted]} | {wanted}})


def _walked(graph: Graph, id: int) -> Graph:
    """The robot is now close to the thing, its holders, its contents and the things in its hands, and to nothing else."""
    node, robot, changes = graph.node(id), graph.robot, Changes(graph)
    room = graph.room_of(id)
    assert room is not None
    changes.part(robot)
    changes.placed[robot] = within(room)
    if not node.room:
        inside = graph.children(id, "INSIDE") if "CAN_OPEN" in node.properties else ()
        around = (other for other in graph.parents(id) if not graph.node(other).room)
        changes.join(robot, (id, *around, *inside))
    for one in graph.held:
        load = graph.load(one)
        changes.part(one, load)
        for each in (one, *load):
            changes.carry_into(each, room)
        changes.join(robot, (one,))
    return changes.graph()


def _grabbed(graph: Graph, id: int) -> Graph:
    """The thing and its load are now only in the hand; the thing that it was on or in stays within reach."""
    robot, changes, right_is_free = graph.robot, Changes(graph), graph.hands[0] is None
    room = graph.room_of(robot)
    assert room is not None
    load = graph.load(id)
    left = [other for how in ("ON", "INSIDE") for other in graph.parents(id, how) if not graph.node(other).room]
    changes.part(id, load)
    changes.placed[id] = within(room)
    for one in load:
        changes.carry_into(one, room)
    changes.join(robot, (id, *left[:1]))
    changes.hands = (id, graph.hands[1]) if right_is_free else (graph.hands[0], id)
    return changes.graph()
