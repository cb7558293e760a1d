"""What the robot sees: all that is in its room and not behind a closed door, and what it opens from there."""

from __future__ import annotations

from housequest.worlds.graphs.graph import Graph, Placed, Placing
from housequest.worlds.household.belief import by_name


def visible(graph: Graph) -> frozenset[int]:
    """What can be named and is in sight, with the room itself and what is held."""
    room = graph.room_of(graph.robot)
    assert room is not None
    names, found, waiting = graph.apartment.names, {room, *graph.held}, [room, *graph.held]
    while waiting:
        above = waiting.pop()
        shut = above != room and "CLOSED" in graph.state(above)
        for id in graph.holds.get(above, ()):
            if id in found or (shut and ("INSIDE", above) in graph.placed[id]):
                continue
            # What is in a room is so at any depth: it is seen if nothing that it is in or on hides it.
            if len(graph.placed[id]) == 1 or not graph.enclosed(id):
                found.add(id)
                waiting.append(id)
    return frozenset(id for id in found if id in names)


def shown_by(graph: Graph, id: int) -> frozenset[int]:
    """What can be named of all that is on and in a thing, and not behind a closed door; what is within reach may be in another
    room."""
    return frozenset(one for one in graph.load(id) if one in graph.apartment.names and not graph.enclosed(one))


def examinable(graph: Graph, seen: frozenset[int]) -> frozenset[int]:
    """What of ``seen`` the robot can look at from close by: its room, and what is within reach and not behind a closed door."""
    here = graph.room_of(graph.robot)
    return frozenset(id for id in seen if (id == here if graph.node(id).room else graph.reached(id) and not graph.enclosed(id)))


def lies(graph: Graph, id: int) -> tuple[Placing, int] | None:
    """Where a thing is, as people say it: in what holds it, else on what is under it; None if it is only in a room."""
    placed: Placed = graph.placed.get(id, frozenset())
    named = [one for one in placed if one[1] in graph.apartment.names]
    return min((one for one in named if not graph.node(one[1]).room), default=None)  # INSIDE sorts before ON


def beside(graph: Graph, id: int, seen: frozenset[int]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """What of ``seen`` lies on something, and what in it, by name."""
    names = graph.apartment.names
    inner = [one for one in graph.children(id) if one in seen and one not in graph.held]
    found = [(how[0], one) for one in inner if (how := lies(graph, one)) is not None and how[1] == id]
    on, inside = ([one for how, one in found if how == wanted] for wanted in ("ON", "INSIDE"))
    return tuple(sorted(on, key=lambda one: by_name(names[one]))), tuple(sorted(inside, key=lambda one: by_name(names[one])))
