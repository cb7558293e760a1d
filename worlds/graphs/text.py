"""What the robot sees, and the words of the world: commands, and what is answered.

It sees all that is in its room and not behind a closed door, and what it opens from there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain

from housequest.worlds.graphs.goals import WORDS, listed
from housequest.worlds.graphs.graph import HOLDING, Action, Graph, Placed, Placing
from housequest.worlds.household.belief import by_name
from housequest.worlds.text import with_article


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


def beside(graph: Graph, id: int, seen: frozenset[int]) -> tuple[list[int], list[int]]:
    """What of ``seen`` lies on something, and what in it, by name."""
    inner = sorted(
        seen.difference(graph.held).intersection(graph.children(id)), key=lambda one: by_name(graph.apartment.names[one])
    )
    on, inside = ([one for one in inner if lies(graph, one) == (how, id)] for how in ("ON", "INSIDE"))
    return on, inside


MANUAL: str = WORDS["commands"]["manual"]  # The forms of the commands.
NO_COMMAND = f"This is no command. There are: {', '.join(MANUAL.splitlines())}."
_LONGEST = 200
NAME = r"[A-Za-z0-9_-]{1,60} [0-9]{1,6}"
_COMMAND = re.compile(
    rf"(?P<bare>look|inventory)|(?P<verb>walk to|grab|open|close|switch on|switch off|examine) (?P<thing>{NAME})"
    rf"|put (?P<put>{NAME}) (?P<how>in|on) (?P<where>{NAME})",
    re.ASCII,
)


def read_command(text: str) -> tuple[str, ...] | None:
    """The verb of a command and the names in it; None for any other text."""
    text = text.strip()
    found = _COMMAND.fullmatch(text) if len(text) <= _LONGEST else None
    if found is None:
        return None
    bare, verb, thing, put, how, where = found.groups()
    return (bare,) if bare else (verb, thing) if verb else (f"put {how}", put, where)


def written(graph: Graph, action: Action) -> str:
    """An action as a command."""
    names, verb = graph.apartment.names, action.verb
    if action.where is None:
        return f"{verb} {names[action.thing]}"
    return f"put {names[action.thing]} {verb.removeprefix('put ')} {names[action.where]}"


def told_opening(graph: Graph) -> str:
    """The apartment's rooms, what is seen at first, and what is held."""
    rooms = listed([with_article(graph.apartment.names[id]) for id in graph.apartment.rooms])
    parts = [f"You are in an apartment with {rooms}.", told_room(graph), *([told_held(graph)] if graph.held else [])]
    return " ".join((*parts, *(told for id in graph.held for told in _told_load(graph, id, visible(graph), empty=False))))


def told_room(graph: Graph) -> str:
    """The room in which the robot is, with all that it sees there."""
    room, seen, names = graph.room_of(graph.robot), visible(graph), graph.apartment.names
    assert room is not None
    there = sorted(seen - {room, *graph.held}, key=lambda id: by_name(names[id]))
    furniture = [_shown(graph, id) for id in there if graph.node(id).furniture]
    loose = [_shown(graph, id) for id in there if not graph.node(id).furniture and lies(graph, id) is None]
    parts = [f"You are in the {names[room]}."]
    parts += [f"Its furniture: {listed(furniture)}."] if furniture else []
    parts += [f"Also in it: {listed(loose)}."] if loose else []
    return " ".join((*parts, *(told for id in there for told in _told_contents(graph, id, seen, empty=False))))


def told_held(graph: Graph) -> str:
    """What the robot holds."""
    return f"You hold {listed([with_article(graph.apartment.names[id]) for id in graph.held])}."


def told_thing(graph: Graph, id: int) -> str:
    """A thing from close by: how it stands, and what is in and on it."""
    if graph.node(id).room:
        return told_room(graph)
    states, seen = _states(graph, id), shown_by(graph, id)
    parts = [f"The {graph.apartment.names[id]} is {' and '.join(states)}."] if states else []
    parts += _told_load(graph, id, seen, empty=graph.node(id).furniture)
    return " ".join(parts) or f"There is nothing special about the {graph.apartment.names[id]}."


def told_done(before: Graph, action: Action, now: Graph) -> str:
    """The answer to an action that was possible."""
    the = f"the {before.apartment.names[action.thing]}"
    match action.verb:
        case "walk to":
            id = action.thing
            elsewhere = now.node(id).room or before.room_of(before.robot) != now.room_of(now.robot)
            parts = [f"You walk to {the}.", *([told_room(now)] if elsewhere else [])]
            # The room tells how its things stand and what is on and in them, but not of what a door hides.
            told = elsewhere and id in visible(now)
            tells_nothing = not now.node(id).furniture and not _states(now, id)
            return " ".join(parts if told or tells_nothing else (*parts, told_thing(now, id)))
        case "grab":
            where = lies(before, action.thing)
            return f"You grab {the}{'' if where is None else f' from the {before.apartment.names[where[1]]}'}."
        case "open":
            return " ".join((f"You open {the}.", *_told_load(now, action.thing, shown_by(now, action.thing), empty=True)))
        case "close" | "switch on" | "switch off" as verb:
            return f"You {verb} {the}."
        case "put in" | "put on" as verb:
            assert action.where is not None
            return f"You put {the} {verb.removeprefix('put ')} the {before.apartment.names[action.where]}."


def _told_load(graph: Graph, id: int, seen: frozenset[int], *, empty: bool) -> Iterator[str]:
    yield from _told_contents(graph, id, seen, empty=empty)
    for one in chain.from_iterable(beside(graph, id, seen)):
        yield from _told_load(graph, one, seen, empty=False)


def _told_contents(graph: Graph, id: int, seen: frozenset[int], *, empty: bool) -> Iterator[str]:
    """What lies on and in a thing; that nothing does only if it is open, or is asked for where it ``empty``."""
    name, properties = graph.apartment.names[id], graph.node(id).properties
    on, inside = beside(graph, id, seen)
    shut = "CLOSED" in graph.state(id)
    if on:
        yield f"On the {name}, you see {listed([_shown(graph, one) for one in on])}."
    if inside:
        yield f"In the {name}, you see {listed([_shown(graph, one) for one in inside])}."
    if shut or on or inside or graph.enclosed(id):
        return
    if {"CAN_OPEN", "CONTAINERS"} <= properties:
        yield f"In the {name}, you see nothing."
    elif empty and not HOLDING.isdisjoint(properties - {"CAN_OPEN"}):
        yield f"{'In' if 'SURFACES' not in properties else 'On'} the {name}, you see nothing."


def _states(graph: Graph, id: int) -> list[str]:
    properties, state = graph.node(id).properties, graph.state(id)
    pairs = (("CAN_OPEN", ("OPEN", "CLOSED")), ("HAS_SWITCH", ("ON", "OFF")))
    return [one.lower() for needed, wanted in pairs if needed in properties for one in wanted if one in state]


def _shown(graph: Graph, id: int) -> str:
    states = ", ".join(_states(graph, id))
    return f"{with_article(graph.apartment.names[id])}{f' ({states})' if states else ''}"
