"""The words of the world: commands, and what is answered."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import chain

from housequest.worlds.graphs.actions import Action, Verb
from housequest.worlds.graphs.graph import HOLDING, Graph
from housequest.worlds.graphs.sight import beside, lies, shown_by, visible
from housequest.worlds.household.belief import by_name
from housequest.worlds.text import with_article

MANUAL = """look
inventory
walk to ROOM or THING
grab THING
put THING in THING
put THING on THING
open THING
close THING
switch on THING
switch off THING
examine THING"""
"""The forms of the commands."""
NO_COMMAND = f"This is no command. There are: {', '.join(MANUAL.splitlines())}."
_LONGEST = 200
_NAME = r"[A-Za-z0-9_-]{1,60} [0-9]{1,6}"
_ONE = re.compile(rf"(?P<verb>walk to|grab|open|close|switch on|switch off|examine) (?P<thing>{_NAME})", re.ASCII)
_PUT = re.compile(rf"put (?P<thing>{_NAME}) (?P<how>in|on) (?P<where>{_NAME})", re.ASCII)
_SHOWN = {"CLOSED": "closed", "OPEN": "open", "ON": "on", "OFF": "off"}


def read_command(text: str) -> tuple[str, ...] | None:
    """The verb of a command and the names in it; None for any other text."""
    text = text.strip()
    if len(text) > _LONGEST:
        return None
    if text in ("look", "inventory"):
        return (text,)
    if (found := _ONE.fullmatch(text)) is not None:
        return found["verb"], found["thing"]
    if (found := _PUT.fullmatch(text)) is not None:
        return f"put {found['how']}", found["thing"], found["where"]
    return None


def written(graph: Graph, action: Action) -> str:
    """An action as a command."""
    names = graph.apartment.names
    if action.where is None:
        return f"{action.verb} {names[action.thing]}"
    return f"put {names[action.thing]} {action.verb.removeprefix('put ')} {names[action.where]}"


def told_opening(graph: Graph) -> str:
    """The apartment's rooms, what is seen at first, and what is held."""
    names = graph.apartment.names
    parts = [
        f"You are in an apartment with {_listed([with_article(names[id]) for id in graph.apartment.rooms])}.",
        told_room(graph),
    ]
    parts += [told_held(graph)] if graph.held else []
    return " ".join((*parts, *(told for id in graph.held for told in _told_load(graph, id, visible(graph), empty=False))))


def told_room(graph: Graph) -> str:
    """The room in which the robot is, with all that it sees there."""
    room, seen, names = graph.room_of(graph.robot), visible(graph), graph.apartment.names
    assert room is not None
    there = sorted(seen - {room, *graph.held}, key=lambda id: by_name(names[id]))
    furniture = [_shown(graph, id) for id in there if graph.node(id).furniture]
    loose = [_shown(graph, id) for id in there if not graph.node(id).furniture and lies(graph, id) is None]
    parts = [f"You are in the {names[room]}."]
    parts += [f"Its furniture: {_listed(furniture)}."] if furniture else []
    parts += [f"Also in it: {_listed(loose)}."] if loose else []
    return " ".join((*parts, *(told for id in there for told in _told_contents(graph, id, seen, empty=False))))


def told_held(graph: Graph) -> str:
    """What the robot holds."""
    return f"You hold {_listed([with_article(graph.apartment.names[id]) for id in graph.held])}."


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


def verbs_of(graph: Graph, id: int) -> Iterator[Verb]:
    """The verbs that could be meant for a thing, but walking to it and putting it somewhere."""
    properties = graph.node(id).properties
    if "GRABBABLE" in properties:
        yield "grab"
    if "CAN_OPEN" in properties:
        yield from ("open", "close")
    if "HAS_SWITCH" in properties:
        yield from ("switch on", "switch off")


def _told_load(graph: Graph, id: int, seen: frozenset[int], *, empty: bool) -> Iterator[str]:
    """What lies on and in a thing, and on and in that."""
    yield from _told_contents(graph, id, seen, empty=empty)
    for one in chain.from_iterable(beside(graph, id, seen)):
        yield from _told_load(graph, one, seen, empty=False)


def _told_contents(graph: Graph, id: int, seen: frozenset[int], *, empty: bool) -> Iterator[str]:
    """What lies on and in a thing; that nothing does only if it is open, or is asked for where it ``empty``."""
    name, properties = graph.apartment.names[id], graph.node(id).properties
    on, inside = beside(graph, id, seen)
    shut = "CLOSED" in graph.state(id)
    if on:
        yield f"On the {name}, you see {_listed([_shown(graph, one) for one in on])}."
    if inside:
        yield f"In the {name}, you see {_listed([_shown(graph, one) for one in inside])}."
    if shut or on or inside or graph.enclosed(id):
        return
    if {"CAN_OPEN", "CONTAINERS"} <= properties:
        yield f"In the {name}, you see nothing."
    elif empty and not HOLDING.isdisjoint(properties - {"CAN_OPEN"}):
        yield f"{'In' if 'SURFACES' not in properties else 'On'} the {name}, you see nothing."


def _states(graph: Graph, id: int) -> list[str]:
    """How a thing stands that can be opened or switched."""
    node, state = graph.node(id), graph.state(id)
    wanted = (("OPEN", "CLOSED") if "CAN_OPEN" in node.properties else ()) + (
        ("ON", "OFF") if "HAS_SWITCH" in node.properties else ()
    )
    return [_SHOWN[one] for one in wanted if one in state]


def _shown(graph: Graph, id: int) -> str:
    states = ", ".join(_states(graph, id))
    return f"{with_article(graph.apartment.names[id])}{f' ({states})' if states else ''}"


def _listed(things: Sequence[str]) -> str:
    if len(things) < 2:
        return things[0] if things else "nothing"
    return f"{', '.join(things[:-1])} and {things[-1]}"
