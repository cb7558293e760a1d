"""Writes and reads the world's texts: views, commands and answers. In the belief read from them, rooms are receptacles that
hold their furniture and the things that lie in none.

The text of a room names its furniture and the things on its floor. A player who walks to a piece of furniture, examines it or
opens it is told its contents. Commands can name only things from the texts.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property, lru_cache
from itertools import chain
from pathlib import Path

from housequest.worlds.base import Observation
from housequest.worlds.errors import KnowledgeError, shown
from housequest.worlds.graphs.goals import WORDS, Wanted, listed, modern, read_sentence
from housequest.worlds.graphs.graph import HOLDING, Action, Classes, Graph, Placed, Placing, plain
from housequest.worlds.graphs.houses import FAMILIES, VOCABULARY, counts_of, written_counts
from housequest.worlds.household.base import Commands, Household, Terms
from housequest.worlds.household.belief import MAX_TEXT, Belief, BeliefBuilder, Openness, Receptacle, by_name
from housequest.worlds.household.counts import Counts
from housequest.worlds.household.goals import Goal, Skill, Topic
from housequest.worlds.text import with_article


def visible(graph: Graph) -> frozenset[int]:
    """The named things in sight, with the room itself and the things in the hands."""
    room = graph.room_of(graph.robot)
    assert room is not None
    names, found, waiting = graph.apartment.names, {room, *graph.held}, [room, *graph.held]
    while waiting:
        above = waiting.pop()
        shut = above != room and "CLOSED" in graph.state(above)
        for id in graph.holds.get(above, ()):
            if id in found or (shut and ("INSIDE", above) in graph.placed[id]):
                continue
            # INSIDE of a room holds at any depth: a thing is seen if no holder hides it.
            if len(graph.placed[id]) == 1 or not graph.enclosed(id):
                found.add(id)
                waiting.append(id)
    return frozenset(id for id in found if id in names)


def shown_by(graph: Graph, id: int) -> frozenset[int]:
    """The things that a look at a thing shows: those on and in it, wherever it is, that are not behind a closed door. For a
    room these are its furniture, and the things on its floor."""
    if graph.node(id).room:
        return frozenset(one for part in _in_room(graph) for one in part)
    load = frozenset(one for one in graph.load(id) if one in graph.apartment.names and not graph.enclosed(one))
    return frozenset(_lying(graph, id, load))


def _lying(graph: Graph, id: int, seen: frozenset[int]) -> Iterator[int]:
    """The part of ``seen`` that lies on or in a thing, and on or in these, in words."""
    for one in chain.from_iterable(beside(graph, id, seen)):
        yield one
        yield from _lying(graph, one, seen)


def _in_room(graph: Graph) -> tuple[list[int], list[int], frozenset[int]]:
    """The furniture of the robot's room, the things on its floor, both by name, and the contents of the latter."""
    room, seen, names = graph.room_of(graph.robot), visible(graph), graph.apartment.names
    there = sorted(seen - {room, *graph.held}, key=lambda id: by_name(names[id]))
    furniture = [id for id in there if graph.node(id).holder]
    loose = [id for id in there if not graph.node(id).holder and lies(graph, id) is None]
    left = seen - {*furniture}
    return furniture, loose, frozenset(one for id in loose for one in _lying(graph, id, left))


def examinable(graph: Graph, seen: frozenset[int]) -> frozenset[int]:
    """The part of ``seen`` that the robot can look at closely: its room, and the things within reach that are not behind a
    closed door."""
    here = graph.room_of(graph.robot)
    return frozenset(id for id in seen if (id == here if graph.node(id).room else graph.reached(id) and not graph.enclosed(id)))


def lies(graph: Graph, id: int) -> tuple[Placing, int] | None:
    """The holder of a thing, as people say it: the one that it is in, else the one that it is on; None if it is only in a
    room."""
    placed: Placed = graph.placed.get(id, frozenset())
    named = [one for one in placed if one[1] in graph.apartment.names]
    return min((one for one in named if not graph.node(one[1]).room), default=None)  # INSIDE sorts before ON


def beside(graph: Graph, id: int, seen: frozenset[int]) -> tuple[list[int], list[int]]:
    """The parts of ``seen`` that lie on something and in it, each sorted by name."""
    inner = sorted(
        seen.difference(graph.held).intersection(graph.children(id)), key=lambda one: by_name(graph.apartment.names[one])
    )
    on, inside = ([one for one in inner if lies(graph, one) == (how, id)] for how in ("ON", "INSIDE"))
    return on, inside


def standing_at(graph: Graph) -> str:
    """The name of the furniture in its room that the robot is close to, else of the room."""
    names, here = graph.apartment.names, graph.room_of(graph.robot)
    assert here is not None
    near = (id for id in sorted(graph.close.get(graph.robot, ())) if id in names and graph.node(id).furniture)
    return names[next((id for id in near if graph.room_of(id) == here), here)]


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
    """The apartment's rooms, the first view, and the things in the hands."""
    rooms = listed([with_article(graph.apartment.names[id]) for id in graph.apartment.rooms])
    parts = [f"You are in an apartment with {rooms}.", told_room(graph), *([told_held(graph)] if graph.held else [])]
    return " ".join((*parts, *(told for id in graph.held for told in _told_load(graph, id, visible(graph), empty=False))))


def told_room(graph: Graph) -> str:
    """The robot's room with its furniture, and the things on its floor with their contents."""
    room, (furniture, loose, lying) = graph.room_of(graph.robot), _in_room(graph)
    assert room is not None
    parts = [f"You are in the {graph.apartment.names[room]}."]
    parts += [f"Its furniture: {listed([_shown(graph, id) for id in furniture])}."] if furniture else []
    parts += [f"Also in it: {listed([_shown(graph, id) for id in loose])}."] if loose else []
    return " ".join((*parts, *(told for id in loose for told in _told_load(graph, id, lying, empty=False))))


def told_held(graph: Graph) -> str:
    return f"You hold {listed([with_article(graph.apartment.names[id]) for id in graph.held])}."


def told_thing(graph: Graph, id: int) -> str:
    """A thing from close by: its states and contents."""
    if graph.node(id).room:
        return told_room(graph)
    return " ".join(_told_close(graph, id)) or f"There is nothing special about the {graph.apartment.names[id]}."


def _told_close(graph: Graph, id: int) -> Iterator[str]:
    if states := _states(graph, id):
        yield f"The {graph.apartment.names[id]} is {' and '.join(states)}."
    yield from _told_load(graph, id, shown_by(graph, id), empty=graph.node(id).furniture)


def told_done(before: Graph, action: Action, now: Graph) -> str:
    """The answer to an action that was possible."""
    the = f"the {before.apartment.names[action.thing]}"
    match action.verb:
        case "walk to":
            id, room = action.thing, now.room_of(now.robot)
            if now.node(id).room:
                return f"You walk to {the}. {told_room(now)}"
            there = "" if room is None or room == before.room_of(before.robot) else f" in the {now.apartment.names[room]}"
            return " ".join((f"You walk to {the}{there}.", *_told_close(now, id)))
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
    """The contents of a thing in words. "Nothing" is said only of an open one, or with ``empty``."""
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
    """A thing in a list. Only a look from near tells if it is on."""
    states = [state for state in _states(graph, id) if state in ("open", "closed")]
    return f"{with_article(graph.apartment.names[id])}{f' ({states[0]})' if states else ''}"


MAX_NAMES = 3_000
HANDS: int = WORDS["terms"]["hands"]
_ENTRY = re.compile(rf"\b(?:a|an) (?P<name>{NAME})(?: \((?P<states>[a-z, ]{{1,30}})\))?", re.ASCII)
_FORMS = {word: re.compile(form.replace("NAME", NAME), re.ASCII) for word, form in WORDS["told"].items()}


class _Reading(BeliefBuilder):
    def __init__(self, belief: Belief) -> None:
        super().__init__(belief)
        self._told = set[str]()
        self._room: str | None = None
        self._shown: list[str] | None = None
        self._walked = False

    def read(self, text: str) -> Belief:
        for sentence in (one.strip().rstrip(".") for one in text[:MAX_TEXT].replace("\n", " ").split(". ")):
            found = ((word, form.fullmatch(sentence)) for word, form in _FORMS.items())
            if (said := next(((word, one) for word, one in found if one is not None), None)) is not None:
                self._take(*said)
        at = self.at
        if at is not None and at not in self.places:
            item = self.items.get(at)
            at = item.where if item and item.where in self.places else self._room or self.before.at
        for name in filter(None, (at, self._room)):
            self.change(name, visited=True)
        if self._walked and at in self.places and self._unknown(at) and not self._shut(at):
            self.change(at, contents=())  # The text told of it, and it held nothing.
        self.at = at if at is not None else self._room
        if self._walked and self.at is not None:
            # All receptacles are elsewhere but its holders and the furniture in or on it.
            there = self.places.get(self.at)
            inside = there.contents or () if there and self.at not in self.rooms else ()
            holders = (one.name for one in self.places.values() if self.at in (one.contents or ()))
            near = {self.at, *inside, *holders}
            self.apart = frozenset((name, self.at) for name in self.places if name not in near)
        if self._shown is not None:
            self.beside = tuple(self._shown)
        return self.belief()

    def _take(self, word: str, found: re.Match[str]) -> None:
        said = found.groupdict()
        one, listed = said.get("one") or "", list(_ENTRY.finditer(said.get("list") or ""))[:MAX_NAMES]
        entries = [(each["name"], (each["states"] or "").split(", ")) for each in listed]
        match word:
            case "apartment":
                for name, _ in entries:
                    self._enter(name)
            case "room":
                self._room, self._shown = one, []
                self._enter(one)
                self.places[one] = replace(self.places[one], contents=())
            case "furniture":
                for name, states in entries:
                    self._stands(name, states)
            case "loose":
                for name, states in entries:
                    self._lies(name, self._room, states)
            case "contents":
                self._contents(one, entries)
            case "walked":
                self.at, self._walked, self._shown = one, True, []
                self._room = said["where"] or self._room
            case "opened" if said["how"] == "open":
                # Its contents follow in the text, if it has any.
                self.change(one, openness="open", contents=())
                self._told.add(one)
            case "opened":
                self.change(one, openness="closed")
            case "switched":
                self.learn(one, lit=said["how"] == "on")
            case "put":
                self.carried = tuple(name for name in self.carried if name != one)
                self._lies(one, said["where"], ())
            case "gave":
                self.carried = tuple(name for name in self.carried if name != one)
                self.learn(one, where=None)
            case "state":
                states = said["list"].split(" and ")
                if one in self.places and not {"open", "closed"}.isdisjoint(states):
                    self.change(one, openness="open" if "open" in states else "closed")
                self._lit(one, states)
            case "grabbed":
                if said["where"] in self.items.keys() - self.places.keys():
                    # A robot close to a plate need not be close to the table under it.
                    self.at = self.before.room_of(self.before.at)
                self._hold(one)
            case _:
                self.carried = ()
                self._hold(*(name for name, _ in entries[:HANDS]))

    def _hold(self, *names: str) -> None:
        self.hold(*names)
        for name in self.carried:
            self._leave(name)

    def _lit(self, name: str, states: Sequence[str]) -> None:
        if not {"on", "off"}.isdisjoint(states):
            self.learn(name, lit="on" in states)

    def _enter(self, room: str) -> None:
        self.places.setdefault(room, Receptacle(room, place=room))
        if room not in self.rooms:
            self.rooms = (*self.rooms, room)

    def _stands(self, name: str, states: Sequence[str]) -> None:
        """Read a piece of the room's furniture; only a look from near tells its contents."""
        openness: Openness = "closed" if "closed" in states else "open" if "open" in states else "surface"
        self.places[name] = replace(self.places.get(name) or Receptacle(name, place=name), openness=openness)
        for room in self.rooms:  # a rug is carried with the furniture on it
            if room != self._room and name in (there := self.places[room].contents or ()):
                self.change(room, contents=_without(there, name))
        self._add(self._room, name)

    def _contents(self, name: str, entries: Sequence[tuple[str, Sequence[str]]]) -> None:
        if name in self.places and not self._shut(name):
            # The things on it and the things in it are two sentences.
            self.change(name, contents=() if name not in self._told else self.places[name].contents)
            self._told.add(name)
        elif name not in self.places and name in self.items:
            self.learn(name, inside=() if name not in self._told else self.items[name].inside)
            self._told.add(name)
        for one, states in entries:
            self._lies(one, name, states)

    def _lies(self, name: str, where: str | None, states: Sequence[str]) -> None:
        self._leave(name)
        self._add(where, name)
        if self._shown is not None:
            self._shown.append(name)
        item = self.items.get(where or "")
        self.learn(name, where=where if where in self.places else item and item.where)
        self._lit(name, states)

    def _leave(self, name: str) -> None:
        """Remove a thing from its place; furniture that stands on something stays in its room."""
        for place, one in self.places.items():
            if name in (one.contents or ()) and not (name in self.places and place in self.rooms):
                self.places[place] = replace(one, contents=_without(one.contents, name))
        for holder, item in self.items.items():
            if name in (item.inside or ()):
                self.items[holder] = replace(item, inside=_without(item.inside, name))

    def _add(self, where: str | None, name: str) -> None:
        place, item = self.places.get(where or ""), self.items.get(where or "")
        if place is None and item is not None and len(item.inside or ()) < MAX_NAMES:
            self.items[item.name] = replace(item, inside=(*(item.inside or ()), name))
        if place is None or self._unknown(place.name):
            return
        if name not in (place.contents or ()) and len(place.contents or ()) < MAX_NAMES:
            self.change(place.name, contents=(*(place.contents or ()), name))

    def _unknown(self, name: str) -> bool:
        return self.places[name].contents is None

    def _shut(self, name: str) -> bool:
        """True for a closed receptacle that nobody has looked into; things on top of it do not matter."""
        return self._unknown(name) and self.places[name].openness == "closed"


def _without(names: Sequence[str] | None, gone: str) -> tuple[str, ...]:
    return tuple(name for name in names or () if name != gone)


class GraphHousehold(Household):
    """Reads the world's texts, and of a goal its parts, one for each kind of thing. ``classes`` gives those of the user's
    apartments, each with its properties; by default they are those of made-up ones. Planners can name only these."""

    def __init__(self, classes: Callable[[], Classes] | None = None) -> None:
        self._classes = classes

    task_types: tuple[str, ...] = tuple(FAMILIES)
    commands = Commands.read(Path(__file__).with_name("commands.json"))
    terms = Terms(HANDS, explains=True, kinds=WORDS["terms"]["kinds"], ways=tuple(WORDS["terms"]["ways"]))

    def begin(self, opening: Observation, /) -> Belief:
        return _Reading(Belief(hands=HANDS, in_one_place=True)).read(opening.text.partition("Your task is to:")[0])

    def update(self, belief: Belief, command: str, observation: Observation, /) -> Belief:
        del command
        return _Reading(belief).read(observation.text) if observation.accepted else belief

    def read_goals(self, sentence: str, receptacles: Sequence[str] | None = None, /) -> tuple[Goal, ...]:
        wanted = self.wanted(sentence, frozenset(receptacles or ()))
        return () if wanted is None else wanted.goals()

    def goal_clauses(self, sentence: str, receptacles: Sequence[str] | None = None, /) -> tuple[str, ...]:
        wanted = self.wanted(sentence, frozenset(receptacles or ()))
        return () if wanted is None else wanted.clauses()

    def steps(self, sentence: str, /) -> tuple[Skill, ...] | None:
        wanted = self.wanted(sentence)
        if wanted is None:
            return None
        brought = (
            step
            for thing, count in wanted.things.items()
            for step in (Skill("pick", thing), Skill("put", thing, wanted.place)) * count
        )
        return (*brought, *((Skill("use", wanted.place),) if wanted.switched else ()))

    def topic(self, sentence: str, receptacles: Sequence[str] | None = None, /) -> Topic | None:
        wanted = self.wanted(sentence, frozenset(receptacles or ()))
        if wanted is None:
            return None
        things, place = set(map(modern, wanted.things)), modern(wanted.place)
        at = [name for name, one in FAMILIES.items() if one.place == place and things <= set(one.things)]
        return Topic(at[0] if len(at) == 1 else None, frozenset({*wanted.things, wanted.place}))

    def counts(self, path: Path | None = None, /) -> Counts:
        if path is not None:
            raise KnowledgeError(f"{shown(str(path))}: the habits of household graphs are written, and no table replaces them.")
        if self._counts is None:
            self._counts = written_counts() if self._classes is None else counts_of(self._classes())
        return self._counts

    def wanted(self, sentence: str, seen: frozenset[str] = frozenset()) -> Wanted | None:
        """The goal in a sentence about the household's classes and the ``seen`` kinds, all by plain names; None if it is
        unclear."""
        return _wanted(sentence, self._vocabulary, seen)

    @cached_property
    def _vocabulary(self) -> frozenset[str]:
        return VOCABULARY if self._classes is None else frozenset(self._classes())

    _counts: Counts | None = None


@lru_cache(maxsize=256)
def _wanted(sentence: str, classes: frozenset[str], seen: frozenset[str]) -> Wanted | None:
    read = read_sentence(sentence, classes | (seen - {plain(kind) for kind in classes}))
    if read is None:
        return None
    called = {kind: kind if kind in seen else plain(kind) for kind in (*read.things, read.place)}
    things = Counter[str]()
    for kind, count in read.things.items():
        things[called[kind]] += count
    return read._replace(things=things, place=called[read.place])


HOUSEHOLD = GraphHousehold()
