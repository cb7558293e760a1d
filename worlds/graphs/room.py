"""An apartment as a drawing takes it: its rooms in a made-up plan, since no graph says where in a room something stands."""

from __future__ import annotations

from housequest.worlds.graphs.graph import Graph
from housequest.worlds.graphs.text import lies
from housequest.worlds.household.belief import Openness
from housequest.worlds.rooms.plans import Furnished, apartment
from housequest.worlds.rooms.room import Holder, Room, Situation


def plan_of(graph: Graph) -> Room:
    """Hidden: the plan of all rooms with all their furniture."""
    names = graph.apartment.names
    standing: dict[int, list[str]] = {room: [] for room in graph.apartment.rooms}
    for id, name in names.items():
        room = graph.room_of(id)
        if graph.node(id).furniture and room is not None:
            standing[room].append(name)
    return apartment([Furnished(names[room], tuple(furniture)) for room, furniture in standing.items()])


def situation(graph: Graph, room: Room) -> Situation:
    """Hidden: all of a state. The robot stands before furniture that it is close to, else in the middle of its room."""
    names = graph.apartment.names
    contents: dict[str, list[str]] = {one.name: [] for one in room.fixtures}
    for id, name in names.items():
        lain, inside = lies(graph, id), graph.room_of(id)
        where = lain[1] if lain is not None else inside
        if graph.node(id).carried and where is not None and names[where] in contents and id not in graph.held:
            contents[names[where]].append(name)
    near = (id for id in sorted(graph.close.get(graph.robot, ())) if id in names and graph.node(id).furniture)
    here = graph.room_of(graph.robot)
    at = next((names[id] for id in near if graph.room_of(id) == here), None if here is None else names[here])
    held = [names[id] for id in graph.held]
    return Situation(
        room.pose(at),
        at,
        tuple(Holder(name, True, _openness(graph, name), tuple(lying)) for name, lying in contents.items()),
        held[0] if held else None,
        frozenset(name for id, name in names.items() if "ON" in graph.state(id)),
        tuple(held[1:]),
    )


def _openness(graph: Graph, name: str) -> Openness | None:
    id = graph.apartment.named[name]
    if graph.node(id).room:
        return None
    state = graph.state(id)
    return "open" if "OPEN" in state else "closed" if "CLOSED" in state else "surface"
