"""Generates houses: a seed and habits, which are a table of counts, give one house, the same everywhere.

A draw picks a kind of room, a task that occurs in such rooms, receptacles, and objects in them. It is written as a PDDL problem
in the published games' vocabulary and read by the same loader. The planner must find a way to win that is not empty; otherwise
the same stream of random numbers gives the next draw.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import lru_cache, partial
from itertools import count
from math import gcd
from pathlib import Path
from random import Random
from typing import Annotated, TypeVar, cast

from housequest.worlds.alfworld.engine.game import PREDICATES, Fact, Game, Problem, parse_game, problem_text
from housequest.worlds.alfworld.engine.planner import plan
from housequest.worlds.alfworld.text import goal_sentences, load_counts
from housequest.worlds.base import Task
from housequest.worlds.errors import ConfigurationError, GameError, nearest, shown
from housequest.worlds.household.counts import Counts, ObjectCount, Placement, RoomCount
from housequest.worlds.household.goals import APPLIANCES, TYPES, Goal, GoalForm, TaskType
from housequest.worlds.household.world import GENERATED
from housequest.worlds.paths import read_bounded
from housequest.worlds.tasks import MadeUpTasks
from housequest.worlds.validation import Before, Invalid, compose, parse_yaml, read


def placing(habits: Counts, thing: str, places: Mapping[str, int]) -> Counts:
    """The ``habits`` with a ``thing`` in ``places`` by weight; each room that has such things then has these places. Raises
    ``ConfigurationError``."""
    known = tuple(sorted({kind for room in habits.rooms.values() for kind, one in room.objects.items() if one.places}))
    if thing not in known:
        raise ConfigurationError(f"The habits have no object named {shown(thing)}.{nearest(thing, known)}")
    for place, weight in places.items():
        if place not in habits.accepts:
            hint = nearest(place, tuple(habits.accepts))
            raise ConfigurationError(f"The habits have no receptacle named {shown(place)}.{hint}")
        if weight <= 0:
            raise ConfigurationError(f"A {thing} cannot lie in the {place} with weight {weight}; give 1 or more.")
    if not places:
        raise ConfigurationError(f"Say where a {thing} lies: at least one receptacle with its weight.")
    rooms = dict(habits.rooms)
    for name, room in habits.rooms.items():
        if thing in room.objects and room.objects[thing].places:
            receptacles = dict(room.receptacles)
            for place in places:
                each = {number: weight for number, weight in numbers_of(room, place).items() if number} or {1: 1}
                like = next(one.receptacles[place] for one in (room, *habits.rooms.values()) if place in one.receptacles)
                receptacles[place] = replace(like, each=each)
            lying = {place: Placement(weight, weight, weight) for place, weight in places.items()}
            objects = {**room.objects, thing: replace(room.objects[thing], places=lying)}
            rooms[name] = replace(room, receptacles=receptacles, objects=objects)
    accepts = {kind: tuple(sorted({*taken, thing})) if kind in places else taken for kind, taken in habits.accepts.items()}
    return replace(habits, rooms=rooms, accepts=accepts)


def numbers_of(room: RoomCount, kind: str) -> Mapping[int, int]:
    """The numbers of receptacles of a kind in a room, by weight."""
    return room.receptacles[kind].each if kind in room.receptacles else {}


_LARGEST_FILE = 100_000
_SMALLEST, _LARGEST = 0.001, 1_000_000


def _weight(value: object) -> object:
    if isinstance(value, bool) or not isinstance(value, int | float) or not _SMALLEST <= value <= _LARGEST:
        raise ValueError(f"the weight {shown(value)} must be a number from {_SMALLEST} to {_LARGEST:,}")
    return value


_Weights = Mapping[str, Annotated[float, Before(_weight)]]


@dataclass(frozen=True, slots=True, eq=False)
class OwnHabits:
    """The habits that a YAML file states: for each kind of thing, its places by relative weight, as in ``book: {fridge: 3, bed:
    1}``. Of a home, a place may be one receptacle, as in ``mug: {drawer 7: 1}``. ``name`` is the file's, for errors."""

    name: str
    said: Mapping[str, _Weights]
    content: bytes

    @classmethod
    def read(cls, path: Path) -> OwnHabits:
        """Read the file at ``path``. Raises ``ConfigurationError`` naming it and the fault."""
        name = f"The file of habits {shown(str(path), 400)}"
        content = read_bounded(path, _LARGEST_FILE, name=name)
        values = parse_yaml(content, name)
        own = cls(name, {}, content)
        try:
            said = read(Mapping[str, _Weights], {} if values is None else values)
        except Invalid as wrong:
            raise own.refused(wrong.with_path, *wrong.path) from None
        if not said:
            raise ConfigurationError(f"{name} names no kind of thing; a line of it is, for example, mug: {{safe: 1}}")
        return replace(own, said=said)

    @property
    def of_a_home(self) -> bool:
        """True if it names single receptacles, which only a home has."""
        return any(place[-1:].isdecimal() for places in self.said.values() for place in places)

    def refused(self, reason: str, *where: str | int) -> ConfigurationError:
        """The error that something in the file is wrong, with its line."""
        root = compose(self.content)
        line = None if root is None else Invalid(reason, where).located(root).line
        return ConfigurationError(f"{self.name}{f', line {line}' if line else ''}: {reason}")

    def counts(self) -> Counts:
        """The habits of ``train`` with these in their place. Raises ``ConfigurationError`` naming the file and the line."""
        habits = load_counts()
        # Sorted, so that the order in the file does not matter.
        for thing, places in sorted(self.said.items()):
            weights = {place: round(weight / _SMALLEST) for place, weight in sorted(places.items())}
            shared = gcd(*weights.values())
            try:
                habits = placing(habits, thing, {place: weight // shared for place, weight in weights.items()})
            except ConfigurationError as error:
                raise self.refused(str(error), thing) from None
        return habits


def read_habits(path: Path) -> Counts:
    """Read a file of `OwnHabits` as a table. Raises ``ConfigurationError`` naming the file, the line and the fault."""
    return OwnHabits.read(path).counts()


_T = TypeVar("_T")
VERSION = 1  # increased whenever a seed would give another house
SEEDS = 2**63 - 1  # seeds are 0 to ``SEEDS - 1``: the longest that a sequence can be
DRAWS = 100
_KEPT = 256  # houses, of 63 kB each; to make one takes some milliseconds
FORMS: dict[TaskType, GoalForm] = {task_type: form for form, task_type in TYPES.items()}
START = "loc_bar_000"
_UNKNOWN = ObjectCount(0, 0, {})


@dataclass(frozen=True, slots=True)
class House:
    """A generated house: its game, the PDDL problem, and a shortest way to win. ``draws`` is how many draws it took."""

    seed: int
    room: str
    goal: Goal
    sentence: str
    problem: str
    game: Game
    plan: tuple[str, ...]
    draws: int


def make_house(seed: int, habits: Counts | None = None) -> House:
    """The house of ``seed``, by the habits of ``train`` by default. Raises ``ConfigurationError`` if there is none."""
    if not 0 <= seed < SEEDS:
        raise ConfigurationError(f"There is no made-up house {seed}; give a seed from 0 to {SEEDS - 1}.")
    habits = load_counts() if habits is None else habits
    dice = Dice(f"housequest {VERSION} {seed}")
    for draws in range(1, DRAWS + 1):
        name = dice.pick({name: room.games for name, room in habits.rooms.items()})
        draft = _Draft(dice, habits, habits.rooms[name])
        sentence = goal_sentences(draft.goal)[dice.below(2)]
        problem = problem_text(problem_of(draft.goal, draft.receptacles, draft.things, habits), f"house_{seed}")
        try:
            game = parse_game(problem, sentence, f"generated:{seed}")
        except GameError as error:
            raise ConfigurationError(f"These habits make a house that cannot be played: {error}") from error
        found = plan(game)
        if isinstance(found, tuple) and found:
            return House(seed, name, draft.goal, sentence, problem, game, found, draws)
    raise ConfigurationError(f"By these habits none of {DRAWS:,} houses drawn for the seed {seed} can be solved.")


class Dice(Random):
    """Draws from one stream, using only ``random``, which is the same in every version of Python."""

    def below(self, number: int) -> int:
        return int(self.random() * number)

    def pick(self, weights: Mapping[_T, int]) -> _T:
        """One of the keys, by weight."""
        left = self.below(sum(weights.values()))
        for value, weight in weights.items():
            left -= weight
            if left < 0:
                return value
        raise ConfigurationError("These habits weigh nothing where something must be drawn.")

    def choose(self, values: Sequence[_T]) -> _T:
        return values[self.below(len(values))]

    def happens(self, part: int, whole: int) -> bool:
        """True in ``part`` of ``whole`` cases."""
        return self.below(max(1, whole)) < part

    def often(self, part: int, whole: int) -> int:
        """A whole number that is ``part / whole`` on average."""
        return part // max(1, whole) + self.happens(part % max(1, whole), whole)


@dataclass(slots=True)
class PlacedReceptacle:
    """A receptacle of a house: its id, its kind, if it can be opened, and where it stands."""

    id: str
    kind: str
    openable: bool
    place: str = ""


@dataclass(slots=True)
class LaidThing:
    """A thing in a house: its id, its kind, and where it lies, ``inside`` another thing perhaps."""

    id: str
    kind: str
    receptacle: PlacedReceptacle
    cool: bool = False
    inside: str | None = None


def goal_of(form: str, thing: str, target: str) -> Goal:
    """The goal that a table of counts names by its type, a thing, and a receptacle or lamp."""
    task_type = cast("TaskType", form)
    if task_type == TYPES["light"]:
        return Goal(task_type, thing, lamp=target)
    return Goal(task_type, thing, target, count=2 if task_type == TYPES["two"] else 1)


def problem_of(goal: Goal, receptacles: Sequence[PlacedReceptacle], things: Sequence[LaidThing], habits: Counts) -> Problem:
    """The PDDL problem of a house; ``habits`` say what can be done with its things, and what its receptacles take."""
    kinds = sorted({thing.kind for thing in things})
    holders = sorted({one.kind for one in receptacles})
    types = {"OBJECT": f"{goal.object}type", "RECEPTACLE": f"{goal.receptacle}type", "LAMP": f"{goal.lamp}type"}
    # The goal's kinds are declared even if the house has none; such a house cannot be solved.
    declared = {
        "agent1": "agent",
        **{f"{kind}type": "otype" for kind in sorted({*kinds, goal.object, *([goal.lamp] if goal.lamp else [])})},
        **{f"{kind}type": "rtype" for kind in sorted({*holders, *([goal.receptacle] if goal.receptacle else [])})},
        **{thing.id: "object" for thing in things},
        **{one.id: "receptacle" for one in receptacles},
        **dict.fromkeys(sorted({START, *(one.place for one in receptacles)}), "location"),
    }
    facts: dict[str, list[Fact]] = {predicate: [] for predicate in PREDICATES}
    facts["atlocation"].append(("agent1", START))
    for one in receptacles:
        facts["receptacletype"].append((one.id, f"{one.kind}type"))
        facts["receptacleatlocation"].append((one.id, one.place))
        if one.openable:
            facts["openable"].append((one.id,))
    for thing in things:
        facts["objecttype"].append((thing.id, f"{thing.kind}type"))
        facts["inreceptacle"].append((thing.id, thing.receptacle.id))
        facts["objectatlocation"].append((thing.id, thing.receptacle.place))
        for predicate in (*habits.can.get(thing.kind, ()), *(("iscool",) if thing.cool else ())):
            facts[predicate].append((thing.id,))
        if thing.inside:
            facts["inreceptacleobject"].append((thing.id, thing.inside))
    for kind in holders:
        taken = habits.accepts.get(kind, ())
        facts["cancontain"] += [(f"{kind}type", f"{thing}type") for thing in kinds if thing in taken]
    return Problem(declared, facts, FORMS[goal.type], types)


class _Draft:
    """One draw, which has the things that the goal needs but may be unsolvable."""

    def __init__(self, dice: Dice, habits: Counts, room: RoomCount) -> None:
        self.dice = dice
        self.habits = habits
        self.room = room
        self.goal = self._goal()
        self.receptacles = self._receptacles()
        self._find_places()
        self.things = self._things()
        self._nest()
        share = room.fridge.get(self.goal.type)
        for thing in self.things:
            if share and thing.receptacle.kind == APPLIANCES["cool"] and "coolable" in habits.can.get(thing.kind, ()):
                thing.cool = dice.happens(share.cool, share.number)

    def _goal(self) -> Goal:
        form, thing, target = self.dice.pick(
            {
                (form, thing, target): number
                for form, things in self.room.goals.items()
                for thing, targets in things.items()
                for target, number in targets.items()
            }
        )
        return goal_of(form, thing, target)

    def _receptacles(self) -> list[PlacedReceptacle]:
        goal, room = self.goal, self.room
        wanted = (goal.receptacle, APPLIANCES[goal.treatment] if goal.treatment else None)
        needed = {kind for kind in wanted if kind}
        found: list[PlacedReceptacle] = []
        for kind in sorted({*room.receptacles, *needed}):
            known = room.receptacles.get(kind)
            for number in range(self._number(numbers_of(room, kind), 1 if kind in needed else 0)):
                openable = self.dice.happens(known.openable if known else 0, known.number if known else 1)
                found.append(PlacedReceptacle(thing_id(kind, number), kind, openable))
        return found

    def _number(self, weights: Mapping[int, int], least: int) -> int:
        """A number of things of a kind: ``least`` or more."""
        enough = {number: weight for number, weight in weights.items() if number >= least and weight}
        return self.dice.pick(enough) if enough else least

    def _find_places(self) -> None:
        """Give receptacles places: some together, the others each their own."""
        places = (f"loc_bar_{number:03}" for number in count(1))
        for kinds, number in self.room.together.items():
            for _ in range(self.dice.often(number, self.room.games)):
                free = [one for one in self.receptacles if not one.place]
                group: list[PlacedReceptacle] = []
                for kind in kinds.split("+"):
                    group += [one for one in free if one.kind == kind and one not in group][:1]
                if len(group) == kinds.count("+") + 1:
                    place = next(places)
                    for one in group:
                        one.place = place
        for one in self.receptacles:
            one.place = one.place or next(places)

    def _things(self) -> list[LaidThing]:
        goal, room = self.goal, self.room
        least = {goal.object: goal.count} | ({goal.lamp: 1} if goal.lamp else {})
        there = {one.kind for one in self.receptacles}
        found: list[LaidThing] = []
        for kind in sorted({*room.objects, *least}):
            # An object that must only be carried somewhere never starts there.
            barred = goal.receptacle if kind == goal.object and not goal.treatment else None
            known = room.objects.get(kind, _UNKNOWN)
            weights = {place: one.instances for place, one in known.places.items() if place in there and place != barred}
            if holders := {place: weight for place, weight in weights.items() if weight}:
                for number in range(self._number(known.lying, least.get(kind, 0))):
                    holder = self.dice.pick(holders)
                    here = [one for one in self.receptacles if one.kind == holder]
                    found.append(LaidThing(thing_id(kind, number), kind, self.dice.choose(here)))
        return found

    def _nest(self) -> None:
        """Sometimes put a thing in a movable receptacle."""
        nested = {(outer, inner): many for outer, inside in self.room.nested.items() for inner, many in inside.items()}
        for _ in range(self.dice.often(sum(nested.values()), self.room.games)):
            outer_kind, inner_kind = self.dice.pick(nested)
            outer = next((thing for thing in self.things if thing.kind == outer_kind), None)
            inner = next((thing for thing in self.things if thing.kind == inner_kind and thing is not outer), None)
            if outer is None or inner is None or outer.inside or inner.inside or inner_kind == self.goal.object:
                continue
            if inner_kind in self.habits.accepts.get(outer.receptacle.kind, ()):
                inner.receptacle, inner.inside = outer.receptacle, outer.id


def thing_id(kind: str, number: int) -> str:
    """An id from which the game derives the kind: what precedes ``_bar_``, with ``basin`` if the id has it."""
    stem = kind.removesuffix("basin")
    return f"{stem}_bar_{number:03}" if stem == kind else f"{stem}_bar_{number:03}_bar_{kind}"


class GeneratedHouses(MadeUpTasks):
    """The split ``generated``: all made-up houses, by ``habits``, those of ``train`` by default."""

    what = "house"

    def __init__(self, habits: Counts | None = None, world: str = "alfworld") -> None:
        super().__init__(GENERATED, range(SEEDS), self._task)
        self._habits, self._world = habits, world
        self.house = lru_cache(_KEPT)(partial(make_house, habits=habits))
        """The house of a seed. Raises what `make_house` raises."""

    def _task(self, seed: int) -> Task:
        house = self.house(seed)
        return Task(f"{GENERATED}/{seed}", self._world, GENERATED, seed, house.goal.type, house.sentence)

    def fingerprint(self) -> str:
        """A SHA-256 over what decides a seed's house: the generator's version and the habits."""
        habits = load_counts() if self._habits is None else self._habits
        return hashlib.sha256(json.dumps([VERSION, asdict(habits)]).encode()).hexdigest()
