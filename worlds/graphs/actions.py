"""What a robot with two hands can do in an apartment: VirtualHome's actions, when each is possible, and what comes of it.

When an action is possible is what LoTa-Bench's wrapper checks (its ``check_step``), and what comes of it is what VirtualHome's
own ``evolving_graph`` does; `tests/worlds/graphs/test_evolving_graph.py` lists where the two and this differ, and why.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal, NamedTuple

from housequest.worlds.graphs.graph import Changes, Graph, Placed, Placing, within

Verb = Literal["walk to", "grab", "open", "close", "switch on", "switch off", "put in", "put on"]
_STATE = {"open": "OPEN", "close": "CLOSED", "switch on": "ON", "switch off": "OFF"}
_OPPOSITE = {"OPEN": "CLOSED", "CLOSED": "OPEN", "ON": "OFF", "OFF": "ON"}


class Action(NamedTuple):
    """A verb, the thing that it is done with, and for ``put in`` and ``put on`` the thing that this is put in or on."""

    verb: Verb
    thing: int
    where: int | None = None


def problem(graph: Graph, action: Action) -> str | None:
    """Why an action is not possible now, in words without its end mark; None if it is."""
    match action.verb:
        case "walk to":
            return None if graph.room_of(action.thing) is not None else f"There is no way to {_the(graph, action.thing)}"
        case "grab":
            return _grabbing(graph, action.thing)
        case "open" | "close" | "switch on" | "switch off" as verb:
            return _turning(graph, action.thing, verb)
        case "put in" | "put on" as verb:
            assert action.where is not None
            return _putting(graph, action.thing, action.where, verb)


def after(graph: Graph, action: Action) -> Graph:
    """The graph after an action that is possible."""
    match action.verb:
        case "walk to":
            return _walked(graph, action.thing)
        case "grab":
            return _grabbed(graph, action.thing)
        case "open" | "close" | "switch on" | "switch off" as verb:
            id, wanted = action.thing, _STATE[verb]
            return replace(graph, states={**graph.states, id: graph.state(id) - {_OPPOSITE[wanted]} | {wanted}})
        case "put in" | "put on" as verb:
            assert action.where is not None
            return _put(graph, action.thing, action.where, "INSIDE" if verb == "put in" else "ON")


def _the(graph: Graph, id: int) -> str:
    return f"the {graph.apartment.names.get(id, graph.node(id).kind)}"


def _out_of_reach(graph: Graph, id: int) -> str | None:
    the = _the(graph, id)
    if not graph.reached(id):
        return f"You are not close to {the}; go to it first"
    door = graph.door(id)
    return None if door is None else f"{the.capitalize()} is in {_the(graph, door)}, which is closed; open that first"


def _full(graph: Graph) -> str | None:
    if None in graph.hands:
        return None
    return f"You have no free hand: you hold {' and '.join(_the(graph, id) for id in graph.held)}"


def _grabbing(graph: Graph, id: int) -> str | None:
    the = _the(graph, id)
    if not graph.node(id).carried:
        return f"{the.capitalize()} cannot be carried"
    if id in graph.held:
        return f"You hold {the} already"
    return _out_of_reach(graph, id) or _full(graph)


def _turning(graph: Graph, id: int, verb: Verb) -> str | None:
    """Why something cannot be opened, closed or switched."""
    the, wanted, states, properties = _the(graph, id), _STATE[verb], graph.state(id), graph.node(id).properties
    if verb in ("open", "close"):
        unfit = None if "CAN_OPEN" in properties else f"{the.capitalize()} cannot be opened or closed"
    else:
        unfit = None if "HAS_SWITCH" in properties else f"{the.capitalize()} has no switch"
    if (wrong := unfit or _out_of_reach(graph, id) or _full(graph)) is not None:
        return wrong
    if _OPPOSITE[wanted] not in states:
        return f"{the.capitalize()} is {wanted.lower()} already"
    if wanted == "ON" and "PLUGGED_OUT" in states:
        return f"{the.capitalize()} is not plugged in"
    if wanted == "ON" and "CAN_OPEN" in properties and "CLOSED" not in states:
        return f"{the.capitalize()} is open; close it first"
    return None


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


def _walked(graph: Graph, id: int) -> Graph:
    """Close to the thing, to what it is in or on, to what is in it, and to what is held; to nothing else any more."""
    node, robot, changes = graph.node(id), graph.robot, Changes(graph)
    room = graph.room_of(id)
    assert room is not None
    changes.part(robot)
    changes.place(robot, within(room))
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
    """The thing, and what lies on or in it, is nowhere but in the hand; what it was on or in stays within reach."""
    robot, changes, right_is_free = graph.robot, Changes(graph), graph.hands[0] is None
    room = graph.room_of(robot)
    assert room is not None
    load = graph.load(id)
    left = [other for how in ("ON", "INSIDE") for other in graph.parents(id, how) if not graph.node(other).room]
    changes.part(id, load)
    changes.place(id, within(room))
    for one in load:
        changes.carry_into(one, room)
    changes.join(robot, (id, *left[:1]))
    changes.hands = (id, graph.hands[1]) if right_is_free else (graph.hands[0], id)
    return changes.graph()


def _put(graph: Graph, id: int, where: int, how: Placing) -> Graph:
    robot, changes = graph.robot, Changes(graph)
    right, left = graph.hands
    changes.hands = (None if right == id else right, None if left == id else left)
    there: Placed = frozenset({(how, where)})
    changes.place(id, graph.placed[id] | there)
    changes.join(robot, (where,))
    changes.join(id, (where,))
    return changes.graph()
