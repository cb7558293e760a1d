"""Generates houses: a seed and habits give one house, the same everywhere.

A draw picks a kind of room, a task that occurs in such rooms, receptacles, and objects in them. It is written as a PDDL problem
in the published games' vocabulary and read by the same loader. The planner must find a way to win that is not empty; otherwise
the same stream of random numbers gives the next draw.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache, lru_cache, partial
from itertools import count
from math import gcd
from pathlib import Path
from random import Random
from typing import Annotated, TypeVar, cast, get_args

from housequest.worlds.alfworld.engine.game import PREDICATES, Fact, Game, Problem, parse_game, problem_text
from housequest.worlds.alfworld.engine.planner import plan
from housequest.worlds.alfworld.text import goal_sentences, load_counts
from housequest.worlds.base import Task
from housequest.worlds.errors import ConfigurationError, GameError, nearest, shown
from housequest.worlds.household.counts import Counts, RoomCount
from housequest.worlds.household.goals import APPLIANCES, TYPES, Goal, GoalForm, TaskType
from housequest.worlds.household.world import GENERATED
from housequest.worlds.tasks import EndlessTasks
from housequest.worlds.validation import Before, Invalid, read, read_yaml


@dataclass(frozen=True, slots=True)
class Ratio:
    """``part`` of ``whole``."""

    part: int
    whole: int


@dataclass(frozen=True, slots=True)
class RoomHabits:
    """The habits of one kind of room, as weights in a fixed order that is part of them. ``weight`` is that of the room itself,
    and the total for ``together`` (receptacles at one place) and ``nested`` (an object in a movable receptacle, the
    receptacle's kind first). ``receptacles`` and ``objects`` weigh the numbers of each kind, ``places`` an object's places;
    ``cool`` is, by task type, the share of objects in the fridge that are cool."""

    weight: int
    goals: tuple[tuple[Goal, int], ...]
    receptacles: Mapping[str, Mapping[int, int]]
    openable: Mapping[str, Ratio]
    together: Mapping[tuple[str, ...], int]
    objects: Mapping[str, Mapping[int, int]]
    places: Mapping[str, Mapping[str, int]]
    nested: Mapping[tuple[str, str], int]
    cool: Mapping[str, Ratio]


@dataclass(frozen=True, slots=True)
class Habits:
    """The rooms by name, the predicates of each kind of object, and what each kind of receptacle takes."""

    rooms: Mapping[str, RoomHabits]
    can: Mapping[str, tuple[str, ...]]
    accepts: Mapping[str, tuple[str, ...]]

    def placing(self, thing: str, places: Mapping[str, int]) -> Habits:
        """These habits with a ``thing`` in ``places`` by weight; each room then has these places. Raises
        ``ConfigurationError``."""
        known = tuple(sorted({kind for room in self.rooms.values() for kind in room.places}))
        if thing not in known:
            raise ConfigurationError(f"The habits have no object named {shown(thing)}.{nearest(thing, known)}")
        for place, weight in places.items():
            if place not in self.accepts:
                hint = nearest(place, tuple(self.accepts))
                raise ConfigurationError(f"The habits have no receptacle named {shown(place)}.{hint}")
            if weight <= 0:
                raise ConfigurationError(f"A {thing} cannot lie in the {place} with weight {weight}; give 1 or more.")
        if not places:
            raise ConfigurationError(f"Say where a {thing} lies: at least one receptacle with its weight.")
        rooms = dict(self.rooms)
        for name, room in self.rooms.items():
            if thing in room.places:
                receptacles, openable = dict(room.receptacles), dict(room.openable)
                for place in places:
                    some = {number: weight for number, weight in receptacles.get(place, {}).items() if number}
                    receptacles[place] = some or {1: 1}
                    if place not in openable:
                        openable[place] = next(one.openable[place] for one in self.rooms.values() if place in one.openable)
                lying = {**room.places, thing: dict(places)}
                rooms[name] = replace(room, receptacles=receptacles, openable=openable, places=lying)
        accepts = {kind: tuple(sorted({*taken, thing})) if kind in places else taken for kind, taken in self.accepts.items()}
        return replace(self, rooms=rooms, accepts=accepts)

    @property
    def digest(self) -> str:
        """A SHA-256 over everything."""
        tables = [
            {**asdict(room), "together": list(room.together.items()), "nested": list(room.nested.items())}
            for room in self.rooms.values()
        ]
        return hashlib.sha256(json.dumps([list(self.rooms), tables, self.can, self.accepts]).encode()).hexdigest()


@cache
def counted_habits() -> Habits:
    """The habits of the ``train`` games, from the shipped table."""
    return habits_of(load_counts())


def habits_of(counts: Counts) -> Habits:
    """The habits in a table of counts. Raises ``ConfigurationError`` if it counts no goals."""
    rooms = {name: _room(room) for name, room in counts.rooms.items() if room.goals}
    if not rooms or not counts.can or not counts.accepts:
        way_out = "make it again with scripts/count_locations.py"
        raise ConfigurationError(f"This table of counts says nothing of goals or kinds; {way_out}.")
    unary = tuple(predicate for predicate, kinds in PREDICATES.items() if kinds == ("object",))
    if odd := [predicate for said in counts.can.values() for predicate in said if predicate not in unary]:
        raise ConfigurationError(f"No object can be {shown(odd[0])}; known: {', '.join(unary)}.{nearest(odd[0], unary)}")
    return Habits(rooms, counts.can, counts.accepts)


def _room(room: RoomCount) -> RoomHabits:
    return RoomHabits(
        weight=room.games,
        goals=tuple(
            (_goal(task_type, thing, target), number)
            for task_type, things in room.goals.items()
            for thing, targets in things.items()
            for target, number in targets.items()
        ),
        receptacles={kind: count.each for kind, count in room.receptacles.items()},
        openable={kind: Ratio(count.openable, count.number) for kind, count in room.receptacles.items()},
        together={tuple(kinds.split("+")): number for kinds, number in room.together.items()},
        objects={kind: count.lying for kind, count in room.objects.items() if count.places},
        places={
            kind: {place: placement.instances for place, placement in count.places.items()}
            for kind, count in room.objects.items()
            if count.places
        },
        nested={(outer, inner): number for outer, inside in room.nested.items() for inner, number in inside.items()},
        cool={task_type: Ratio(count.cool, count.number) for task_type, count in room.fridge.items()},
    )


def _goal(task_type: str, thing: str, target: str) -> Goal:
    types = get_args(TaskType)
    if task_type not in types:
        raise ConfigurationError(f"The table of counts has goals of the type {shown(task_type)}.{nearest(task_type, types)}")
    known = cast("TaskType", task_type)
    if known == "look_at_obj_in_light":
        return Goal(known, thing, lamp=target)
    return Goal(known, thing, target, count=2 if known == "pick_two_obj_and_place" else 1)


_LARGEST_FILE = 100_000
_SMALLEST, _LARGEST = 0.001, 1_000_000


def _weight(value: object) -> object:
    if isinstance(value, bool) or not isinstance(value, int | float) or not _SMALLEST <= value <= _LARGEST:
        raise ValueError(f"the weight {shown(value)} must be a number from {_SMALLEST} to {_LARGEST:,}")
    return value


_Weights = Mapping[str, Annotated[float, Before(_weight)]]


def read_habits(path: Path) -> Habits:
    """The habits of ``train`` with the changes in a YAML file: for each kind of thing, its places by relative weight, as in
    ``book: {fridge: 3, bed: 1}``. Raises ``ConfigurationError`` naming the file and the fault."""
    name = f"The file of habits {shown(str(path), 400)}"
    content = read_yaml(path, name, _LARGEST_FILE)
    habits = counted_habits()
    try:
        said = read(Mapping[str, _Weights], {} if content is None else content)
        # Sorted, so that the order in the file does not matter.
        for thing, places in sorted(said.items()):
            weights = {place: round(weight / _SMALLEST) for place, weight in sorted(places.items())}
            shared = gcd(*weights.values())
            habits = habits.placing(thing, {place: weight // shared for place, weight in weights.items()})
    except Invalid as wrong:
        raise ConfigurationError(f"{name}: {wrong.with_path}") from None
    except ConfigurationError as error:
        raise ConfigurationError(f"{name}: {error}") from None
    if not said:
        raise ConfigurationError(f"{name} names no kind of thing; a line of it is, for example, mug: {{safe: 1}}")
    return habits


_T = TypeVar("_T")
VERSION = 1  # increased whenever a seed would give another house
SEEDS = 2**63 - 1  # seeds are 0 to ``SEEDS - 1``: the longest that a sequence can be
DRAWS = 100
_KEPT = 256  # houses, of 63 kB each; to make one takes some milliseconds
_FORMS: dict[TaskType, GoalForm] = {task_type: form for form, task_type in TYPES.items()}
_START = "loc_bar_000"


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


def make_house(seed: int, habits: Habits | None = None) -> House:
    """The house of ``seed``, by the habits of ``train`` by default. Raises ``ConfigurationError`` where there is none."""
    if not 0 <= seed < SEEDS:
        raise ConfigurationError(f"There is no made-up house {seed}; give a seed from 0 to {SEEDS - 1}.")
    habits = counted_habits() if habits is None else habits
    dice = _Dice(f"housequest {VERSION} {seed}")
    for draws in range(1, DRAWS + 1):
        name = dice.pick({name: room.weight for name, room in habits.rooms.items()})
        draft = _Draft(dice, habits, habits.rooms[name])
        sentence = goal_sentences(draft.goal)[dice.below(2)]
        problem = problem_text(draft.problem(), f"house_{seed}")
        try:
            game = parse_game(problem, sentence, f"generated:{seed}")
        except GameError as error:
            raise ConfigurationError(f"These habits make a house that cannot be played: {error}") from error
        found = plan(game)
        if isinstance(found, tuple) and found:
            return House(seed, name, draft.goal, sentence, problem, game, found, draws)
    raise ConfigurationError(f"By these habits none of {DRAWS:,} houses drawn for the seed {seed} can be solved.")


class _Dice(Random):
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

    def happens(self, share: Ratio) -> bool:
        return self.below(max(1, share.whole)) < share.part

    def often(self, share: Ratio) -> int:
        """A whole number that is ``share`` on average."""
        return share.part // max(1, share.whole) + self.happens(Ratio(share.part % max(1, share.whole), share.whole))


@dataclass(slots=True)
class _Receptacle:
    id: str
    kind: str
    openable: bool
    place: str = ""


@dataclass(slots=True)
class _Thing:
    id: str
    kind: str
    receptacle: _Receptacle
    cool: bool = False
    inside: str | None = None


class _Draft:
    """One draw, which has the things that the goal needs but may be unsolvable."""

    def __init__(self, dice: _Dice, habits: Habits, room: RoomHabits) -> None:
        self.dice = dice
        self.habits = habits
        self.room = room
        self.goal = dice.pick(dict(room.goals))
        self.receptacles = self._receptacles()
        self._find_places()
        self.things = self._things()
        self._nest()
        share = room.cool.get(self.goal.type)
        for thing in self.things:
            if share and thing.receptacle.kind == APPLIANCES["cool"] and "coolable" in habits.can.get(thing.kind, ()):
                thing.cool = dice.happens(share)

    def problem(self) -> Problem:
        goal = self.goal
        kinds = sorted({thing.kind for thing in self.things})
        holders = sorted({one.kind for one in self.receptacles})
        types = {"OBJECT": f"{goal.object}type", "RECEPTACLE": f"{goal.receptacle}type", "LAMP": f"{goal.lamp}type"}
        # The goal's kinds are declared even if the house has none; such a house cannot be solved.
        things = {
            "agent1": "agent",
            **{f"{kind}type": "otype" for kind in sorted({*kinds, goal.object, *([goal.lamp] if goal.lamp else [])})},
            **{f"{kind}type": "rtype" for kind in sorted({*holders, *([goal.receptacle] if goal.receptacle else [])})},
            **{thing.id: "object" for thing in self.things},
            **{one.id: "receptacle" for one in self.receptacles},
            **dict.fromkeys(sorted({_START, *(one.place for one in self.receptacles)}), "location"),
        }
        facts: dict[str, list[Fact]] = {predicate: [] for predicate in PREDICATES}
        facts["atlocation"].append(("agent1", _START))
        for one in self.receptacles:
            facts["receptacletype"].append((one.id, f"{one.kind}type"))
            facts["receptacleatlocation"].append((one.id, one.place))
            if one.openable:
                facts["openable"].append((one.id,))
        for thing in self.things:
            facts["objecttype"].append((thing.id, f"{thing.kind}type"))
            facts["inreceptacle"].append((thing.id, thing.receptacle.id))
            facts["objectatlocation"].append((thing.id, thing.receptacle.place))
            for predicate in (*self.habits.can.get(thing.kind, ()), *(("iscool",) if thing.cool else ())):
                facts[predicate].append((thing.id,))
            if thing.inside:
                facts["inreceptacleobject"].append((thing.id, thing.inside))
        for kind in holders:
            taken = self.habits.accepts.get(kind, ())
            facts["cancontain"] += [(f"{kind}type", f"{thing}type") for thing in kinds if thing in taken]
        return Problem(things, facts, _FORMS[goal.type], types)

    def _receptacles(self) -> list[_Receptacle]:
        goal, room = self.goal, self.room
        wanted = (goal.receptacle, APPLIANCES[goal.treatment] if goal.treatment else None)
        needed = {kind for kind in wanted if kind}
        found: list[_Receptacle] = []
        for kind in sorted({*room.receptacles, *needed}):
            for number in range(self._number(room.receptacles.get(kind, {}), 1 if kind in needed else 0)):
                openable = self.dice.happens(room.openable.get(kind, Ratio(0, 1)))
                found.append(_Receptacle(_id(kind, number), kind, openable))
        return found

    def _number(self, weights: Mapping[int, int], least: int) -> int:
        """A number of things of a kind: ``least`` or more."""
        enough = {number: weight for number, weight in weights.items() if number >= least and weight}
        return self.dice.pick(enough) if enough else least

    def _find_places(self) -> None:
        """Give receptacles places: some together, the others each their own."""
        places = (f"loc_bar_{number:03}" for number in count(1))
        for kinds, number in self.room.together.items():
            for _ in range(self.dice.often(Ratio(number, self.room.weight))):
                free = [one for one in self.receptacles if not one.place]
                group: list[_Receptacle] = []
                for kind in kinds:
                    group += [one for one in free if one.kind == kind and one not in group][:1]
                if len(group) == len(kinds):
                    place = next(places)
                    for one in group:
                        one.place = place
        for one in self.receptacles:
            one.place = one.place or next(places)

    def _things(self) -> list[_Thing]:
        goal, room = self.goal, self.room
        least = {goal.object: goal.count} | ({goal.lamp: 1} if goal.lamp else {})
        there = {one.kind for one in self.receptacles}
        found: list[_Thing] = []
        for kind in sorted({*room.objects, *least}):
            # An object that must only be carried somewhere never starts there.
            barred = goal.receptacle if kind == goal.object and not goal.treatment else None
            weights = room.places.get(kind, {})
            holders = {place: weight for place, weight in weights.items() if place in there and place != barred and weight}
            if holders:
                for number in range(self._number(room.objects.get(kind, {}), least.get(kind, 0))):
                    holder = self.dice.pick(holders)
                    here = [one for one in self.receptacles if one.kind == holder]
                    found.append(_Thing(_id(kind, number), kind, self.dice.choose(here)))
        return found

    def _nest(self) -> None:
        """Sometimes put a thing in a movable receptacle."""
        total = sum(self.room.nested.values())
        for _ in range(self.dice.often(Ratio(total, self.room.weight))):
            outer_kind, inner_kind = self.dice.pick(self.room.nested)
            outer = next((thing for thing in self.things if thing.kind == outer_kind), None)
            inner = next((thing for thing in self.things if thing.kind == inner_kind and thing is not outer), None)
            if outer is None or inner is None or outer.inside or inner.inside or inner_kind == self.goal.object:
                continue
            if inner_kind in self.habits.accepts.get(outer.receptacle.kind, ()):
                inner.receptacle, inner.inside = outer.receptacle, outer.id


def _id(kind: str, number: int) -> str:
    """An id from which the game derives the kind: what precedes ``_bar_``, with ``basin`` if the id has it."""
    stem = kind.removesuffix("basin")
    return f"{stem}_bar_{number:03}" if stem == kind else f"{stem}_bar_{number:03}_bar_{kind}"


class GeneratedHouses(EndlessTasks):
    """The split ``generated``: all made-up houses, by ``habits``, those of ``train`` by default."""

    split = GENERATED
    seeds = SEEDS
    what = "house"

    def __init__(self, habits: Habits | None = None, world: str = "alfworld") -> None:
        self._habits, self._world = habits, world
        self.house = lru_cache(_KEPT)(partial(make_house, habits=habits))
        """The house of a seed. Raises what `make_house` raises."""

    def made(self, seed: int) -> Task:
        house = self.house(seed)
        return Task(f"{GENERATED}/{seed}", self._world, GENERATED, seed, house.goal.type, house.sentence)

    def fingerprint(self) -> str:
        """A SHA-256 over what decides a seed's house: the generator's version and the habits."""
        habits = counted_habits() if self._habits is None else self._habits
        return hashlib.sha256(f"{VERSION} {habits.digest}".encode()).hexdigest()
