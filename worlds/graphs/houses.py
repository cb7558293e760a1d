"""Made-up apartments without end, and the tasks in them: five families, as Watch-And-Help and LoTa-Bench have them.

The habits (the furniture of each room, and the places of things) are written by hand in ``habits.toml``, not counted. The
families and what each is about are those of Watch-And-Help (Puig et al., ICLR 2021) in LoTa-Bench's reading (Choi et al., ICLR
2024, table 5), with "wash dishes" ending in a dishwasher that runs, and without what only a second person can do.
"""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import replace
from functools import cache
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from housequest.worlds.errors import ConfigurationError
from housequest.worlds.graphs.goals import Condition, GraphGoal, How, met, modern
from housequest.worlds.graphs.graph import HOLDING, ROOMS, Apartment, Changes, Classes, Graph, Node, Placing, merged, plain
from housequest.worlds.household.counts import Counts, ObjectCount, Placement, ReceptacleCount, RoomCount, Source

VERSION = "1"  # Changes when a seed gives another apartment.
SEEDS = 1_000_000_000


class Family(NamedTuple):
    """A family of tasks, with a short ``word`` for it: ``least`` to ``most`` kinds of ``things``, up to ``each`` of one kind,
    at a place."""

    word: str
    how: How
    place: str
    things: tuple[str, ...]
    least: int = 2
    most: int = 4
    each: int = 2
    switched: bool = False


_HABITS: dict[str, Any] = tomllib.loads(Path(__file__).with_name("habits.toml").read_text("utf-8"))
FAMILIES: Mapping[str, Family] = {
    name: Family(**one)._replace(things=tuple(one["things"].split())) for name, one in _HABITS["families"].items()
}
"""The families of tasks by name."""


class Furniture(NamedTuple):
    """A kind of furniture in a room: between ``least`` and ``most`` of it."""

    kind: str
    properties: tuple[str, ...]
    least: int = 1
    most: int = 1


STANDING: Mapping[str, tuple[Furniture, ...]] = {
    room: tuple(Furniture(kind, **one)._replace(properties=tuple(one["properties"].split())) for kind, one in standing.items())
    for room, standing in _HABITS["standing"].items()
}
"""The furniture of each room."""
LYING: Mapping[str, Mapping[str, int]] = _HABITS["lying"]  # Where each kind of thing lies, by weight.
APARTMENT = "apartment"
_FURNITURE = {one.kind: one for standing in STANDING.values() for one in standing}
ROOM_OF = {one.kind: room for room, standing in STANDING.items() for one in standing}
VOCABULARY = frozenset({*LYING, *_FURNITURE})
"""The kinds in made-up apartments; those of others are known once they are seen."""
_NUMBERS = {0: 2, 1: 5, 2: 3}  # Numbers of things of a kind, by weight; at least as many as the goal wants.


class ApartmentTask(NamedTuple):
    """A made-up task: its apartment and its goal."""

    graph: Graph
    type: str
    goal: GraphGoal


def make_apartment(seed: int) -> ApartmentTask:
    dice = Random(f"household-graph {VERSION} {seed}")
    type = dice.choice(list(FAMILIES))
    goal = _goal(dice, FAMILIES[type], dict.fromkeys(LYING, 2))
    builder = _Builder(dice)
    builder.furnish()
    builder.strew(goal)
    return ApartmentTask(builder.graph(), type, goal)


def make_task(graph: Graph, seed: int) -> ApartmentTask:
    """A task of one of the families in the user's own apartment, whose classes may have the names of older graphs. Food and
    dishes are laid out if there are too few. Raises ``ConfigurationError`` if the furniture fits no family."""
    dice = Random(f"household-graph {VERSION} {seed}")
    kinds = graph.apartment.kinds
    for type in dice.sample(list(FAMILIES), len(FAMILIES)):
        family = _family_in(graph.apartment, FAMILIES[type])
        if family is None:
            continue
        places = frozenset(kinds[family.place])
        carried = (node for node in graph.apartment.nodes.values() if node.used and node.carried and node.kind in family.things)
        free = (one.kind for one in carried if places.isdisjoint(graph.parents(one.id)) and graph.room_of(one.id) is not None)
        counted = Counter(free)
        there = {kind: counted[kind] for kind in family.things if counted[kind]}
        lacking = [kind for kind in family.things if kind not in kinds] if len(there) < family.least else []
        there |= dict.fromkeys(lacking, 2)
        if len(there) < family.least:
            continue
        goal, laid = _goal(dice, family, there), graph
        if lacking:
            builder = _Builder(dice, graph)
            builder.strew(goal, lacking)
            laid = builder.graph()
        if met(goal, laid)[0] < goal.total:
            return ApartmentTask(laid, type, goal)
    wanted = ", ".join(sorted({family.place for family in FAMILIES.values()}))
    raise ConfigurationError(
        f"Nothing can be wanted in this apartment: it has no {wanted}, by these names or those of older graphs, in which or on "
        "which things can be put."
    )


def laid_out(apartment: Apartment) -> Classes:
    """The classes that `make_task` may lay out in an apartment, each with its properties."""
    families = (_family_in(apartment, family) for family in FAMILIES.values())
    kinds = (kind for family in families if family for kind in family.things if kind not in apartment.kinds)
    return dict.fromkeys(kinds, frozenset({"GRABBABLE"}))


def _family_in(apartment: Apartment, family: Family) -> Family | None:
    """A family of tasks with the classes that an apartment has; None if it lacks the furniture."""
    needed = {"SURFACES" if family.how == "on" else "CONTAINERS", *(("HAS_SWITCH",) if family.switched else ())}

    def called(kind: str, needed: Set[str]) -> list[str]:
        found = [one for one, has in apartment.properties.items() if modern(one) == kind and needed <= has]
        return sorted(found, key=lambda one: (one != kind, one))

    places = [
        kind for kind in called(family.place, needed) if any(apartment.nodes[id].furniture for id in apartment.kinds[kind])
    ]
    if not places:
        return None
    things = tuple(next(iter(called(kind, {"GRABBABLE"})), kind) for kind in family.things)
    return family._replace(place=places[0], things=things)


def _goal(dice: Random, family: Family, there: Mapping[str, int]) -> GraphGoal:
    things = [one for one in family.things if there.get(one)]
    chosen = dice.sample(things, min(len(things), dice.randint(family.least, family.most)))
    conditions = [
        Condition(family.how, kind, family.place, min(there[kind], dice.choice((1,) * 3 + (family.each,)))) for kind in chosen
    ]
    if family.switched:
        conditions.append(Condition("turnOn", family.place))
    return GraphGoal(tuple(conditions))


class _Builder(Changes):
    """Builds an apartment, or lays things out in the one ``before``. A thing laid at a place is close to that and to nothing
    else."""

    def __init__(self, dice: Random, before: Graph | None = None) -> None:
        super().__init__(before or Graph(Apartment({}, 1), {}, {}, {}))
        self.dice, self.nodes, self.states = dice, dict(self.before.apartment.nodes), dict(self.before.states)
        self.holding: dict[int, int] = {}  # The furniture that things can be laid in or on, each with its room.
        for id in sorted(self.nodes):
            if self.nodes[id].furniture and (room := self.before.room_of(id)) is not None:
                self._stands(id, room)

    def add(self, kind: str, category: str, properties: Sequence[str] = (), *placed: tuple[Placing, int]) -> int:
        id = max(self.nodes, default=0) + 1
        self.nodes[id] = Node(id, kind, category, frozenset(properties))
        if placed:
            self.placed[id] = frozenset(placed)
        opened = frozenset({"CLOSED" if self.dice.random() < 0.9 else "OPEN"}) if "CAN_OPEN" in properties else frozenset[str]()
        switched = frozenset({"ON" if kind == "fridge" else "OFF"}) if "HAS_SWITCH" in properties else frozenset[str]()
        if opened or switched:
            self.states[id] = opened | switched
        return id

    def furnish(self) -> None:
        robot = self.add("character", "Characters")
        rooms = {kind: self.add(kind, ROOMS) for kind in STANDING}
        self.placed[robot] = frozenset({("INSIDE", rooms[self.dice.choice(list(STANDING))])})
        for kind, standing in STANDING.items():
            for one in standing:
                for _ in range(self.dice.randint(one.least, one.most)):
                    self._stands(self.add(one.kind, "Furniture", one.properties, ("INSIDE", rooms[kind])), rooms[kind])

    def _stands(self, id: int, room: int) -> None:
        if not self.nodes[id].properties.isdisjoint({"CONTAINERS", "SURFACES"}):
            self.holding[id] = room

    def strew(self, goal: GraphGoal, kinds: Iterable[str] = LYING) -> None:
        """Lay out things of ``kinds``: at least those that the goal wants, and none of these at its place. If an apartment
        lacks the furniture that the habits name, things lie at any other, and without any on the floor."""
        wanted = {one.kind: one.count for one in goal.conditions if one.where}
        for kind in kinds:
            habits = LYING[kind]
            number = max(self.dice.choices(list(_NUMBERS), list(_NUMBERS.values()))[0], wanted.get(kind, 0))
            free = {id: modern(self.nodes[id].kind) for id in self.holding}
            free = {id: one for id, one in free.items() if not (kind in wanted and self.nodes[id].kind == goal.at.at)}
            weights = {id: habits[one] for id, one in free.items() if one in habits} or dict.fromkeys(free, 1)
            for _ in range(number):
                if weights:
                    where = self.dice.choices(list(weights), list(weights.values()))[0]
                    holds = self.nodes[where].properties
                    inside = "CONTAINERS" in holds and ("SURFACES" not in holds or self.dice.random() < 0.5)
                    at: Placing = "INSIDE" if inside else "ON"
                    id = self.add(kind, "Props", ("GRABBABLE",), ("INSIDE", self.holding[where]), (at, where))
                    self.join(id, (where,))
                else:
                    rooms = [node.id for node in self.nodes.values() if node.room]
                    self.add(kind, "Props", ("GRABBABLE",), ("INSIDE", self.dice.choice(rooms)))

    def graph(self) -> Graph:
        return replace(super().graph(), apartment=Apartment(self.nodes, self.before.robot), states=self.states)


def counts_of(classes: Classes) -> Counts:
    """The written habits for apartments with these ``classes``, by plain names; classes that made-up apartments lack have
    none."""
    classes = merged((plain(kind), has) for kind, has in classes.items())
    written, unknown = written_counts(), ObjectCount(1, 1, {})
    room = written.rooms[APARTMENT]
    standing = {kind: has for kind, has in classes.items() if "GRABBABLE" not in has}
    holding = {kind: has for kind, has in standing.items() if not HOLDING.isdisjoint(has)}
    places = {kind: one for kind, one in room.receptacles.items() if kind in holding or kind in STANDING}
    places |= {kind: ReceptacleCount(1, 1, int("CAN_OPEN" in has), 1, 1) for kind, has in holding.items()}
    objects: dict[str, ObjectCount] = {}
    for kind in classes:
        known = room.objects.get(modern(kind), unknown)
        called = {place: known.places[modern(place)] for place in standing if modern(place) in known.places}
        objects[kind] = replace(known, places={**known.places, **called})
    can = {kind: ("toggleable",) for kind, has in standing.items() if "HAS_SWITCH" in has}
    can |= {kind: ("pickupable",) for kind in classes if kind not in standing}
    return replace(
        written, rooms={APARTMENT: RoomCount(1, 1, places, objects)}, can={kind: can[kind] for kind in classes if kind in can}
    )


@cache
def written_counts() -> Counts:
    """The habits as a table of counts: a search by likelihood takes from it the chance that a thing is at a place or in a
    room."""
    opened = {kind: "CAN_OPEN" in one.properties for kind, one in _FURNITURE.items()}
    number = {kind: max(1.0, (one.least + one.most) / 2) for kind, one in _FURNITURE.items()}
    objects: dict[str, ObjectCount] = {}
    for kind, places in LYING.items():
        total = sum(places.values())
        found = {place: Placement(weight, weight, round(total * number[place])) for place, weight in places.items()}
        for room in STANDING:
            # The things that an unseen room shows at once.
            weight = sum(weight for place, weight in places.items() if ROOM_OF[place] == room and not opened[place])
            found[room] = Placement(weight, weight, total)
        objects[kind] = ObjectCount(total, total, found)
    # Furniture in unseen rooms is searched for, too.
    objects |= {kind: ObjectCount(1, 1, {room: Placement(1, 1, 1)}) for kind, room in ROOM_OF.items()}
    places = {kind: ReceptacleCount(1, 1, int(opens), 1, 1) for kind, opens in opened.items()}
    places |= {room: ReceptacleCount(1, 1, 0, 1, 1) for room in STANDING}
    can = dict.fromkeys(LYING, ("pickupable",))
    can |= {kind: ("toggleable",) for kind, one in _FURNITURE.items() if "HAS_SWITCH" in one.properties}
    return Counts(Source("generated", 0, "worlds/graphs/houses.py"), {APARTMENT: RoomCount(1, 1, places, objects)}, can)
