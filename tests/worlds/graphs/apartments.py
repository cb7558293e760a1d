"""Random apartments in VirtualHome's format, with edges and properties that no made-up one has, and random actions in them."""

from __future__ import annotations

from random import Random
from typing import Any

from housequest.worlds.graphs.files import read_graph
from housequest.worlds.graphs.graph import Action, Graph

PROPERTIES = ("CAN_OPEN", "CONTAINERS", "GRABBABLE", "HAS_SWITCH", "SURFACES")
VERBS = ("walk to", "grab", "open", "close", "switch on", "switch off", "put in", "put on")


def random_table(dice: Random) -> dict[str, Any]:
    """A graph as VirtualHome writes one."""
    rooms, furniture, things = range(10, 10 + dice.randint(1, 4)), range(20, 28), range(40, 54)
    nodes = [{"id": 1, "class_name": "character", "category": "Characters", "properties": [], "states": []}]
    nodes += [{"id": id, "class_name": f"room{id}", "category": "Rooms", "properties": [], "states": []} for id in rooms]
    edges: list[tuple[int, str, int]] = [(1, "INSIDE", dice.choice(rooms))]
    for id in (*furniture, *things):
        portable = id in things
        chosen = {one for one in PROPERTIES if dice.random() < 0.4} - {"GRABBABLE"} | ({"GRABBABLE"} if portable else set())
        states = [dice.choice(("OPEN", "CLOSED"))] if "CAN_OPEN" in chosen else []
        states += [dice.choice(("ON", "OFF"))] if "HAS_SWITCH" in chosen else []
        states += ["PLUGGED_OUT"] if dice.random() < 0.1 else []
        nodes.append(
            {"id": id, "class_name": f"kind{id % 7}", "category": "Props", "properties": sorted(chosen), "states": states}
        )
        room = dice.choice(rooms)
        below = dice.choice((*furniture, *(one for one in things if one < id))) if portable and dice.random() < 0.8 else None
        if below is not None:
            room = next(end for start, how, end in edges if start == below and how == "INSIDE" and end in rooms)
            edges.append((id, dice.choice(("ON", "INSIDE")), below))
        edges.append((id, "INSIDE", room))
    for _ in range(dice.randint(0, 30)):
        start, end = dice.sample((*furniture, *things), 2)
        edges += [(start, "CLOSE", end), *([(end, "CLOSE", start)] if dice.random() < 0.9 else [])]
    return {
        "nodes": nodes,
        "edges": [{"from_id": start, "relation_type": how, "to_id": end} for start, how, end in dict.fromkeys(edges)],
    }


def random_graph(dice: Random) -> Graph:
    """The same, read."""
    return read_graph(random_table(dice))


def random_action(dice: Random, graph: Graph) -> Action:
    """Any action at all, more often than not one that could be possible."""
    nodes = [id for id in graph.apartment.nodes if id != graph.robot]
    things = [id for id in nodes if not graph.node(id).room]
    near = [id for id in things if graph.reached(id)] or things
    verb = dice.choice(VERBS)
    thing = dice.choice(nodes if verb == "walk to" else near if dice.random() < 0.8 else things)
    if verb.startswith("put"):
        held = graph.held
        thing = dice.choice(held) if held and dice.random() < 0.9 else thing
        return Action(verb, thing, dice.choice(near if dice.random() < 0.8 else things))
    return Action(verb, thing)


def edges_of(graph: Graph) -> set[tuple[int, str, int]]:
    """All edges, as VirtualHome writes them."""
    placed = {(id, how, other) for id, above in graph.placed.items() for how, other in above}
    close = {(id, "CLOSE", other) for id, near in graph.close.items() for other in near}
    hands = zip(("HOLDS_RH", "HOLDS_LH"), graph.hands, strict=True)
    return placed | close | {(graph.robot, hand, one) for hand, one in hands if one is not None}


def as_table(graph: Graph) -> dict[str, Any]:
    """A graph as VirtualHome writes it."""
    nodes = [
        {
            "id": id,
            "class_name": node.kind,
            "category": node.category,
            "properties": sorted(node.properties),
            "states": sorted(graph.state(id)),
        }
        for id, node in graph.apartment.nodes.items()
    ]
    return {
        "nodes": nodes,
        "edges": [{"from_id": start, "relation_type": how, "to_id": end} for start, how, end in sorted(edges_of(graph))],
    }
