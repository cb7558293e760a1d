"""Reads VirtualHome's graphs and LoTa-Bench's tasks (WAH-NL). Errors name the line and key of a fault.

The files are the user's, and untrusted. A task's graph is only read when the task is opened, since each has hundreds of nodes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, cast

from housequest.worlds.errors import GameError, shown
from housequest.worlds.graphs.goals import Condition, GraphGoal, How
from housequest.worlds.graphs.graph import ROBOT, Action, Apartment, Changes, Classes, Graph, Node, Placing, after, within
from housequest.worlds.paths import read_bounded
from housequest.worlds.validation import Invalid, Place

MOST_BYTES = 512 << 20
_SPACE = re.compile(r"[ \t\r\n]*")
_KEY = re.compile(r"[A-Za-z0-9_-]{1,120}", re.ASCII)
_DECODER = json.JSONDecoder()


class JsonPosition(NamedTuple):
    """The start of a value in a text, and its name in errors (``called``), such as "task 3"; "" for all of the text."""

    at: int
    called: str = ""


@dataclass(frozen=True, slots=True)
class JsonText:
    """A text, and its ``origin`` for errors."""

    origin: str
    text: str

    def elements(self, called: str) -> Iterator[tuple[JsonPosition, Any]]:
        """The elements of a list, each named by ``called`` and its number; or the text's one value, without a name. Raises
        ``GameError`` with the line."""
        at = self._skip(0)
        if self.text[at : at + 1] != "[":
            yield self.whole()
            return
        at, number = self._skip(at + 1), 1
        while self.text[at : at + 1] != "]":
            place = JsonPosition(at, f"{called} {number}")
            value, end = self._decoded(place)
            yield place, value
            end, number = self._skip(end), number + 1
            if self.text[end : end + 1] not in (",", "]"):
                raise self._broken(end, place, "a comma or the end of the list is missing")
            at = self._skip(end + 1) if self.text[end] == "," else end
            if self.text[end] == "," and self.text[at : at + 1] == "]":
                raise self._broken(end, place, "a comma comes before the end of the list")
        self._ends(at + 1)

    def whole(self) -> tuple[JsonPosition, Any]:
        """The text's one value. Raises ``GameError`` with the line."""
        place = JsonPosition(self._skip(0))
        value, end = self._decoded(place)
        self._ends(end)
        return place, value

    def value(self, place: JsonPosition) -> Any:
        """The value at a place where one was read before."""
        return _DECODER.raw_decode(self.text, place.at)[0]

    def refused(self, place: JsonPosition, fault: Invalid) -> GameError:
        """The error that something is wrong in the value at a place, with the way to it: ``init_graph.nodes[3].id``."""
        path = "".join(
            f"[{one}]" if isinstance(one, int) else f".{one}" if _KEY.fullmatch(one) else f"[{shown(one)}]"
            for one in fault.path
        )
        return self._error(self._at(place.at, fault.path), (place.called, path.removeprefix(".")), str(fault))

    def _ends(self, at: int) -> None:
        if (rest := self._skip(at)) < len(self.text):
            raise self._broken(rest, JsonPosition(0), "there is more after the end")

    def _decoded(self, place: JsonPosition) -> tuple[Any, int]:
        try:
            return _DECODER.raw_decode(self.text, place.at)
        except json.JSONDecodeError as error:
            raise self._broken(error.pos, place, f"this is not JSON: {error.msg}") from None
        except (ValueError, RecursionError) as error:
            what = "it is nested too deeply" if isinstance(error, RecursionError) else "a number has too many digits"
            raise self._error(place.at, (place.called,), what) from None

    def _skip(self, at: int) -> int:
        found = _SPACE.match(self.text, at)
        return at if found is None else found.end()

    def _at(self, at: int, where: Place) -> int:
        """The start of the value that these keys lead to, or of the innermost one around it that exists."""
        text = self.text
        for step in where:
            start, at = at, self._skip(at + 1)
            count = 0
            while text[at] not in "]}":
                key: object = count
                if text[start] == "{":
                    key, at = _DECODER.raw_decode(text, at)
                    at = self._skip(self._skip(at) + 1)
                if key == step:
                    break
                _, at = _DECODER.raw_decode(text, at)
                at = self._skip(at)
                at = self._skip(at + 1) if text[at] == "," else at
                count += 1
            else:
                return start
        return at

    def _broken(self, at: int, place: JsonPosition, what: str) -> GameError:
        """The error that this is no JSON from ``at`` on, within or after the value at a place."""
        return self._error(at, (f"column {at - self.text.rfind(chr(10), 0, at)}", place.called), what)

    def _error(self, at: int, names: tuple[str, ...], what: str) -> GameError:
        line = f"line {self.text.count(chr(10), 0, at) + 1}"
        return GameError(f"{', '.join((shown(self.origin, 400), line, *filter(None, names)))}: {what}.")


def read_text(path: Path) -> str:
    """The text of a file. Raises ``GameError``."""
    content = read_bounded(path, MOST_BYTES, GameError)
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise GameError(f"{shown(str(path), 400)}, line {line}: this is not UTF-8 text; save it as UTF-8.") from error


def table_at(value: object, where: Place = ()) -> dict[str, Any]:
    """``value`` as a table. Raises ``Invalid``."""
    if not isinstance(value, dict):
        raise Invalid(_other(value, where, "table"), where)
    return cast("dict[str, Any]", value)


def list_at(value: object, where: Place, most: int) -> list[object]:
    """``value`` as a list of ``most`` entries at most. Raises ``Invalid``."""
    if not isinstance(value, list):
        raise Invalid(_other(value, where, "list"), where)
    listed = cast("list[object]", value)
    if len(listed) > most:
        raise Invalid(f"it has {len(listed):,} entries, and at most {most:,} are read", where)
    return listed


def _other(value: object, where: Place, wanted: str) -> str:
    return f"{where[-1]!r} is missing" if value is None and where else f"{shown(value)} is not a {wanted}"


MOST_NODES, MOST_EDGES, MOST_TASKS = 5_000, 500_000, 10_000
MOST_WANTED, MOST_CONDITIONS = 100, 100
DEEPEST = 40  # Things in or on each other; VirtualHome's are at most four deep.
LONGEST_KIND = 60
_KIND = re.compile(rf"[A-Za-z][A-Za-z0-9_-]{{0,{LONGEST_KIND - 1}}}", re.ASCII)
_RELATIONS = frozenset({"ON", "INSIDE", "CLOSE", "HOLDS_RH", "HOLDS_LH", "FACING", "BETWEEN", "SITTING"})
_HOW: Mapping[str, How] = {"on": "on", "inside": "inside", "turnon": "turnOn"}


class WahTask(NamedTuple):
    """A task of WAH-NL without its graph: ``place`` is its place in the text of its file, ``keys`` the path to each condition
    of its goal."""

    id: str
    name: str
    goal: GraphGoal
    keys: tuple[Place, ...]
    instructions: tuple[str, ...]
    place: JsonPosition


@dataclass(frozen=True)
class TaskFile:
    """The tasks of a file, and its text, from which their graphs are read."""

    source: JsonText
    tasks: tuple[WahTask, ...]

    @cached_property
    def properties(self) -> Classes:
        """The classes that can be named in the apartments. Raises ``GameError`` with the line."""
        found: dict[int, Node] = {}
        for task in self.tasks:
            graph = self.source.value(task.place).get("init_graph")
            try:
                listed = list_at(table_at(graph, ("init_graph",)).get("nodes"), ("init_graph", "nodes"), MOST_NODES)
                for number, one in enumerate(listed):
                    at = ("init_graph", "nodes", number)
                    found[len(found)] = _node(table_at(one, at), at)[0]
            except Invalid as fault:
                raise self.source.refused(task.place, fault) from None
        return Apartment(found, -1).properties

    def graph(self, task: WahTask) -> Graph:
        """The graph in which a task begins. Raises ``GameError`` with the line."""
        value = self.source.value(task.place)
        try:
            graph = read_graph(value.get("init_graph"), ("init_graph",), room=value.get("init_room"))
            for one, key in zip(task.goal.conditions, task.keys, strict=True):
                if (why := _out_of_question(one, graph)) is not None:
                    raise Invalid(why, key)
        except Invalid as fault:
            raise self.source.refused(task.place, fault) from None
        return graph


def read_tasks(path: Path) -> TaskFile:
    """The tasks of a file in WAH-NL's format: a list of tasks, or one. Raises ``GameError`` with line, task and key."""
    return parse_tasks(read_text(path), str(path))


def parse_tasks(text: str, origin: str) -> TaskFile:
    """The tasks in a text; ``origin`` names it in errors. Raises ``GameError`` with line, task and key."""
    source, found, ids = JsonText(origin, text), list[WahTask](), set[str]()
    for place, value in source.elements("task"):
        try:
            found.append(_task(value, place))
            if len(found) > MOST_TASKS:
                raise Invalid(f"there are more than {MOST_TASKS:,} tasks")
            if found[-1].id in ids:
                raise Invalid(f"another task has the task_id {shown(found[-1].id)} already", ("task_id",))
            ids.add(found[-1].id)
        except Invalid as fault:
            raise source.refused(place, fault) from None
    if not found:
        raise source.refused(JsonPosition(text.index("[")), Invalid("the list is empty, so there is no task to play"))
    return TaskFile(source, tuple(found))


def read_apartment(path: Path) -> Graph:
    """The graph in a file of VirtualHome's: nodes and edges, or the same as ``init_graph``. Raises ``GameError``."""
    return parse_apartment(read_text(path), str(path))


def parse_apartment(text: str, origin: str) -> Graph:
    """The graph in a text; ``origin`` names it in errors. Raises ``GameError`` with line and key."""
    source = JsonText(origin, text)
    place, value = source.whole()
    try:
        table = table_at(value)
        return read_graph(table["init_graph"], ("init_graph",)) if "init_graph" in table else read_graph(table)
    except Invalid as fault:
        raise source.refused(place, fault) from None


def read_graph(value: object, where: Place = (), *, room: object = None) -> Graph:
    """A graph of nodes and edges. The character with the lowest id is the robot, and others are left out. If there is none, or
    it is in no room, the robot stands in ``room`` (a class or an id), else in the first room. Things that can be opened or
    switched are closed or off if they have no such state, as in VirtualHome, and CLOSE holds both ways. Edges that no action
    depends on (FACING, BETWEEN, SITTING) are left out."""
    table = table_at(value, where)
    nodes: dict[int, Node] = {}
    states: dict[int, frozenset[str]] = {}
    characters: list[int] = []
    listed = list_at(table.get("nodes"), (*where, "nodes"), MOST_NODES)
    for number, one in enumerate(listed):
        at = (*where, "nodes", number)
        node, state = _node(table_at(one, at), at)
        if node.id in nodes or node.id in characters:
            raise Invalid(f"another node has the id {node.id} already", (*at, "id"))
        if node.kind == ROBOT:
            characters.append(node.id)
        else:
            nodes[node.id] = node
            states[node.id] = state
    if not any(node.room for node in nodes.values()):
        raise Invalid("no node has the category Rooms, so there is nowhere to be", (*where, "nodes"))
    robot = min(characters, default=max(nodes) + 1)
    nodes[robot] = Node(robot, ROBOT, "Characters")
    placed: dict[int, set[tuple[Placing, int]]] = {}
    close: dict[int, set[int]] = {}
    hands: dict[str, int] = {}
    for number, one in enumerate(list_at(table.get("edges"), (*where, "edges"), MOST_EDGES)):
        at = (*where, "edges", number)
        edge = table_at(one, at)
        start, end = (_id(edge.get(key), (*at, key)) for key in ("from_id", "to_id"))
        relation = edge.get("relation_type")
        if not isinstance(relation, str) or relation.upper() not in _RELATIONS:
            raise Invalid(f"{shown(relation)} is not a relation of VirtualHome", (*at, "relation_type"))
        for key, id in (("from_id", start), ("to_id", end)):
            if id not in nodes and id not in characters:
                raise Invalid(f"no node has the id {id}", (*at, key))
        if not {start, end} <= nodes.keys():
            continue  # another character's
        match relation.upper():
            case "ON" | "INSIDE" as how if start == end:
                raise Invalid(f"node {start} is {how} itself", at)
            case "ON" | "INSIDE" as how if end != robot:
                placed.setdefault(start, set()).add((how, end))
            case "CLOSE" if start != end:
                close.setdefault(start, set()).add(end)
                close.setdefault(end, set()).add(start)
            case "HOLDS_RH" | "HOLDS_LH" as hand if start == robot:
                if (
                    not nodes[end].carried
                    or hands.get(hand, end) != end
                    or end in (hands[other] for other in hands if other != hand)
                ):
                    raise Invalid(
                        f"the robot cannot hold node {end} like this: each hand holds one thing that is GRABBABLE", at
                    )
                hands[hand] = end
            case _:
                pass
    dropped = _drop_circles(nodes, placed)
    graph = Graph(
        Apartment(nodes, robot, dropped),
        {id: frozenset(above) for id, above in placed.items()},
        {id: frozenset(near) for id, near in close.items()},
        {id: state for id, state in states.items() if state},
        (hands.get("HOLDS_RH"), hands.get("HOLDS_LH")),
    )
    return _settled(graph, room, where)


def _drop_circles(nodes: Mapping[int, Node], placed: dict[int, set[tuple[Placing, int]]]) -> int:
    """Drop the relations by which things that nobody can carry are on or inside of each other in a circle, such as two curtains
    whose bounding boxes overlap, and return their number. Circles of anything else stay, and are refused."""
    fixed = {
        one: {other for _, other in above if not nodes[other].carried}
        for one, above in placed.items()
        if not nodes[one].carried
    }
    holders = {one: above & fixed.keys() for one, above in fixed.items()}
    while True:
        # What holds nothing of these, or is held by none of these, is on no circle.
        held = set[int]().union(*holders.values())
        left = {one: above & holders.keys() for one, above in holders.items() if above and one in held}
        if left == holders:
            break
        holders = left
    for one, above in holders.items():
        placed[one] = {(how, other) for how, other in placed[one] if other not in above}
    return sum(map(len, holders.values()))


def _settled(graph: Graph, room: object, where: Place) -> Graph:
    """The graph, once nothing is in itself and the robot is in one room; into any but its own it walks."""
    apartment, changes = graph.apartment, Changes(graph)
    named = apartment.classes.get(room, ()) if isinstance(room, str) else (room,) if type(room) is int else ()
    rooms = [id for id in apartment.rooms if id in named]
    if room is not None and not rooms:
        raise Invalid(f"there is no room {shown(room)}", (*where[:-1], "init_room"))
    inside = sorted(id for id in graph.parents(graph.robot) if apartment.nodes[id].room)
    here = (rooms or inside or apartment.rooms)[0]
    changes.placed |= dict.fromkeys((graph.robot, *graph.held), within(here))
    changes.join(graph.robot, graph.held)
    deep = changes.placed
    for _ in range(DEEPEST - 1):
        deep = {id: above for id, above in deep.items() if any(other in deep for _, other in above)}
    if deep:
        raise Invalid(f"node {min(deep)} is on or inside of itself, or more than {DEEPEST} things deep", (*where, "edges"))
    return changes.graph() if here in inside else after(changes.graph(), Action("walk to", here))


def _node(table: Mapping[str, object], where: Place) -> tuple[Node, frozenset[str]]:
    kind, category = table.get("class_name"), table.get("category")
    if not isinstance(kind, str) or not _KIND.fullmatch(kind):
        raise Invalid(f"{shown(kind)} is not the name of a class; use letters, digits, _ and -", (*where, "class_name"))
    if category is not None and not isinstance(category, str):
        raise Invalid(f"{shown(category)} is not a category; give text", (*where, "category"))
    properties = _words(table.get("properties", []), (*where, "properties"))
    states = set(_words(table.get("states", []), (*where, "states")))
    if "CAN_OPEN" in properties and states.isdisjoint({"OPEN", "CLOSED"}):
        states.add("CLOSED")
    if "HAS_SWITCH" in properties and states.isdisjoint({"ON", "OFF"}):
        states.add("OFF")
    if "CAN_OPEN" not in properties:
        # The counters of VirtualHome's apartments are CLOSED for ever, and sinks are INSIDE of them.
        states -= {"OPEN", "CLOSED"}
    for pair in ({"OPEN", "CLOSED"}, {"ON", "OFF"}):
        if pair <= states:
            raise Invalid(f"it is both {' and '.join(sorted(pair))}", (*where, "states"))
    return Node(_id(table.get("id"), (*where, "id")), kind.lower(), category or "", properties), frozenset(states)


def _task(value: object, place: JsonPosition) -> WahTask:
    table = table_at(value)
    id, name = table.get("task_id"), table.get("task_name", "task")
    if isinstance(id, bool) or not isinstance(id, int | str) or not 0 < len(str(id)) <= 80 or not str(id).isprintable():
        raise Invalid(f"{shown(id)} is not a task_id; give a number or a short text", ("task_id",))
    if not isinstance(name, str) or not _KIND.fullmatch(name):
        raise Invalid(f"{shown(name)} is not a task_name; use letters, digits, _ and -", ("task_name",))
    told = table.get("nl_instructions", [])
    told = [told] if isinstance(told, str) else told
    for number, one in enumerate(list_at(told, ("nl_instructions",), 1_000)):
        if not isinstance(one, str):
            raise Invalid(f"{shown(one)} is not a sentence; give text", ("nl_instructions", number))
    # The classes of a graph that is not checked yet: its faults are reported when the task is opened.
    graph: Any = table.get("init_graph")
    nodes: Any = cast("dict[str, Any]", graph).get("nodes") if isinstance(graph, dict) else None
    listed = cast("list[Any]", nodes)[:MOST_NODES] if isinstance(nodes, list) else []
    found = [cast("dict[str, Any]", one).get("class_name") for one in listed if isinstance(one, dict)]
    kinds = frozenset(kind.lower() for kind in found if isinstance(kind, str))
    goal, keys = _goal(table.get("task_goal"), ("task_goal",), kinds)
    return WahTask(str(id), name, goal, keys, tuple(cast("list[str]", told)), place)


def _goal(value: object, where: Place, kinds: frozenset[str]) -> tuple[GraphGoal, tuple[Place, ...]]:
    """The goal in ``{"on_apple_coffeetable": 1}``, which may be the value of agent "0", as in Watch-And-Help, and the path to
    each condition. Conditions with the count 0 are left out."""
    table = table_at(value, where)
    if isinstance(table.get("0"), dict):
        where, table = (*where, "0"), table_at(table["0"], where)
    keys = tuple((*where, key) for key, count in table.items() if count != 0)
    found = tuple(_condition(str(key[-1]), table[key[-1]], key, kinds) for key in keys)
    if not 0 < len(found) <= MOST_CONDITIONS:
        raise Invalid(f"a goal has 1 to {MOST_CONDITIONS} conditions, and this has {len(found)}", where)
    return GraphGoal(found), keys


def _out_of_question(one: Condition, graph: Graph) -> str | None:
    """The reason why a condition can never be met in this apartment; None if it may be possible."""
    for kind in (one.kind, one.at):
        if kind not in graph.apartment.classes:
            return f"a {kind} is wanted, which is not in the graph"
        if kind not in graph.apartment.kinds:
            return f"a {kind} is wanted, with which nothing can be done"
    places = [graph.node(id) for id in graph.apartment.kinds[one.at]]
    if one.how == "turnOn":
        if one.count > 1:
            return f"{one.count} are wanted, and a goal is measured at one {one.kind}"
        can = any("HAS_SWITCH" in place.properties or "ON" in graph.state(place.id) for place in places)
        return None if can else f"no {one.kind} has a switch"
    how: Placing = "ON" if one.how == "on" else "INSIDE"
    needed, word = ("SURFACES", "on") if one.how == "on" else ("CONTAINERS", "in")
    things = graph.apartment.kinds[one.kind]
    most = 0
    for place in places:
        there = [id for id in things if (how, place.id) in graph.placed.get(id, ())]
        carried = [id for id in things if graph.node(id).carried and id != place.id] if needed in place.properties else []
        most = max(most, len({*there, *carried}))
    if most >= one.count:
        return None
    if not any(needed in place.properties for place in places):
        return f"nothing can be put {word} a {one.at}, which is not among {needed}"
    return f"{one.count} of {one.kind} are wanted, and there are {most} that can be {word} a {one.at}"


def _condition(key: str, count: object, where: Place, kinds: frozenset[str]) -> Condition:
    word, _, rest = key.lower().partition("_")
    how = _HOW.get(word)
    if how is None:
        raise Invalid(f"{shown(key)} is not a condition; give on_THING_PLACE, inside_THING_PLACE or turnOn_THING", where)
    if type(count) is not int or not 0 < count <= MOST_WANTED:
        raise Invalid(f"{shown(key)} is wanted {shown(count)} times; give 1 to {MOST_WANTED}", where)
    if how == "turnOn" and _KIND.fullmatch(rest):
        return Condition(how, rest, None, count)
    # Names of classes may have a _ too, so the graph's classes decide where one ends.
    cuts = [at for at, mark in enumerate(rest[: 2 * LONGEST_KIND + 2]) if mark == "_" and how != "turnOn"]
    named = [(rest[:at], rest[at + 1 :]) for at in cuts]
    pairs = [pair for pair in named if all(map(_KIND.fullmatch, pair))]
    meant = [pair for pair in pairs if kinds.issuperset(pair)] or pairs[-1:]
    if not meant:
        raise Invalid(
            f"{shown(key)} does not say what is wanted where: on_THING_PLACE, inside_THING_PLACE or turnOn_THING", where
        )
    if len(meant) > 1:
        ways = " or ".join(f"{kind} {word} {place}" for kind, place in meant)
        raise Invalid(f"{shown(key)} can mean {ways}, since the graph has all of these", where)
    return Condition(how, *meant[0], count)


def _words(value: object, where: Place) -> frozenset[str]:
    words = list_at(value, where, 100)
    for number, one in enumerate(words):
        if not isinstance(one, str) or not _KIND.fullmatch(one):
            raise Invalid(f"{shown(one)} is not a word of VirtualHome", (*where, number))
    return frozenset(str(one).upper() for one in words)


def _id(value: object, where: Place) -> int:
    if type(value) is not int or not 0 <= value <= 10**9:
        raise Invalid(f"{shown(value)} is not an id; give a whole number", where)
    return value
