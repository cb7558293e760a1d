"""Homes: houses with habits of their own, in which every day is a task.

A home has the same receptacles every day, and each kind of thing has one to three places among them. Half of the kinds lie
where such things usually lie, and half where they seldom do, in one certain drawer say, so that only somebody who lives there
knows. Every day things are laid out anew by these habits, some of them anywhere, and a goal is drawn that fits.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, replace
from functools import cache, lru_cache

from housequest.worlds.alfworld.engine.game import parse_game, problem_text
from housequest.worlds.alfworld.engine.planner import plan
from housequest.worlds.alfworld.houses.house import (
    DRAWS,
    SEEDS,
    Dice,
    House,
    LaidThing,
    OwnHabits,
    PlacedReceptacle,
    goal_of,
    numbers_of,
    problem_of,
    thing_id,
)
from housequest.worlds.alfworld.text import goal_sentences, load_counts
from housequest.worlds.base import Task
from housequest.worlds.errors import ConfigurationError, nearest, shown
from housequest.worlds.household.counts import Counts
from housequest.worlds.household.goals import APPLIANCES, TYPES, Goal
from housequest.worlds.paths import sha256_of
from housequest.worlds.tasks import MadeUpTasks, read_split

VERSION = 1  # increased whenever a seed would give another home
LARGE, LIGHT = FAMILIES = ("household", "household-light")  # of four rooms, and of one
TURNS = {LARGE: 30, LIGHT: 20}
"""The turns of a day: enough for somebody who knows the home, and few for one who does not."""
DAYS = 1_000
SHARES = ((1.0,), (0.75, 0.25), (0.6, 0.3, 0.1))
"""How often a thing lies in each of its places, strays aside."""
STRAY = 0.1
"""The share of things that lie anywhere."""
USUAL = 0.03
"""A kind of place is usual for a kind of thing if it has at least this share of them in train."""
MOST_THINGS = 3
"""The most things of a kind on one day; their number is drawn evenly, from none."""
_SPLIT = re.compile(rf"(?P<home>(?P<family>{'|'.join(FAMILIES)}):(?P<seed>[0-9]{{1,18}}))(?::.*)?", re.ASCII)
_KEPT = 64  # days, of some 100 kB each
_SCALE = 1_000  # weights are drawn as whole numbers


class Home:
    """The home of a seed. Nothing in it depends on a model or on earlier days, so days can be played in any order.

    Args:
        seed: From 0.
        light: True for a home of one room, as small as a generated house; else it has a kitchen, a living room, a bedroom and a
            bathroom.
        own: Habits in place of some that the seed draws.

    Raises:
        ConfigurationError: There is no such home, or it lacks what ``own`` names.
    """

    def __init__(self, seed: int, *, light: bool = False, own: OwnHabits | None = None) -> None:
        if not 0 <= seed < SEEDS:
            raise ConfigurationError(f"There is no home {seed}; give a seed from 0 to {SEEDS - 1}.")
        self.seed, self.light, known = seed, light, load_counts()
        dice, rooms = self._dice("home"), {name: room.games for name, room in known.rooms.items()}
        self.rooms = (dice.pick(rooms),) if light else tuple(rooms)
        self._counted = [known.rooms[name] for name in self.rooms]
        standing = self._stand(dice)
        self.receptacles = tuple(one for one, _ in standing)
        # The game counts the names of a kind down from its lowest id.
        left = Counter(one.kind for one in self.receptacles)
        self._named: dict[str, PlacedReceptacle] = {}
        self.room_of: dict[str, str] = {}  # the room of each receptacle by name, which no text tells
        for one, room in standing:
            name = f"{one.kind} {left[one.kind]}"
            self._named[name], self.room_of[name] = one, room
            left[one.kind] -= 1
        looks = (look for room in self._counted for look in room.goals.get(TYPES["light"], {}).values())
        self._lamps = {lamp for look in looks for lamp in look}
        self.habits: Mapping[str, Mapping[str, float]] = self._habits(dice, known)
        self.own = {} if own is None else {thing: self._placed(own, thing) for thing in sorted(own.said)}
        self.habits = {**self.habits, **self.own}
        self.goals = self._possible_goals()
        self.day = lru_cache(_KEPT)(self._day)
        """Lay out a day, from 1, with a goal that can be reached. Raises ``ConfigurationError`` if there is no such day."""
        # Anything may be put anywhere.
        self._counts = replace(known, accepts=dict.fromkeys((one.kind for one in self.receptacles), known.objects()))

    @property
    def split(self) -> str:
        """The name of its split, such as ``household:7``."""
        return f"{FAMILIES[self.light]}:{self.seed}"

    def chance(self, thing: str, place: str, room: str = "") -> float:
        """Hidden: the share of things of a kind that lie in the receptacle named ``place``, strays included (`Prior`)."""
        del room
        return self.habits.get(thing, {}).get(place, 0.0) * (1 - STRAY) + STRAY / len(self.receptacles)

    def _day(self, number: int) -> House:
        if not 1 <= number <= DAYS:
            raise ConfigurationError(f"The home {self.split} has no day {number}; give one from 1 to {DAYS}.")
        dice = self._dice(f"day {number}")
        for draws in range(1, DRAWS + 1):
            things = self._lay(dice)
            if goals := self._fitting(things):
                goal = dice.pick(goals)
                sentence = goal_sentences(goal)[dice.below(2)]
                written = problem_of(goal, self.receptacles, things, self._counts)
                problem = problem_text(written, f"home_{self.seed}_{number}")
                game = parse_game(problem, sentence, f"{self.split}/day:{number}")
                found = plan(game)
                if isinstance(found, tuple) and found:
                    return House(number, "+".join(self.rooms), goal, sentence, problem, game, found, draws)
        raise ConfigurationError(f"None of {DRAWS:,} days drawn for {self.split}/day:{number} can be solved.")

    def drawn(self, day: str) -> list[tuple[str, str]]:
        """Draw the things of a ``day`` that nobody plays: their kinds, each with the name of its receptacle."""
        name_of = {one.id: name for name, one in self._named.items()}
        return [(thing.kind, name_of[thing.receptacle.id]) for thing in self._lay(self._dice(day))]

    def _dice(self, what: str) -> Dice:
        return Dice(f"housequest {FAMILIES[self.light]} {VERSION} {self.seed} {what}")

    def _stand(self, dice: Dice) -> list[tuple[PlacedReceptacle, str]]:
        """Draw the receptacles, each with its room."""
        drawn: dict[str, list[tuple[bool, str]]] = {}
        for name, room in zip(self.rooms, self._counted, strict=True):
            for kind, known in sorted(room.receptacles.items()):
                for _ in range(dice.pick(numbers_of(room, kind))):
                    drawn.setdefault(kind, []).append((dice.happens(known.openable, known.number), name))
        found = [
            (PlacedReceptacle(thing_id(kind, number), kind, opens), room)
            for kind, each in sorted(drawn.items())
            for number, (opens, room) in enumerate(each)
        ]
        return [(replace(one, place=f"loc_bar_{number:03}"), room) for number, (one, room) in enumerate(found, start=1)]

    def _habits(self, dice: Dice, known: Counts) -> dict[str, dict[str, float]]:
        """Draw the places of each kind of thing that can be carried, and of lamps, by name, with their weights."""
        there = {one.kind for one in self.receptacles}
        counted: dict[str, Counter[str]] = {}
        for thing, entry in ((thing, entry) for room in self._counted for thing, entry in room.objects.items()):
            if thing in self._lamps or "pickupable" in known.can.get(thing, ()):
                seen = {place: one.instances for place, one in entry.places.items() if place in there}
                counted.setdefault(thing, Counter()).update(seen)
        habits: dict[str, dict[str, float]] = {}
        for thing, seen in sorted((thing, seen) for thing, seen in counted.items() if seen.total()):
            usual = {kind: number for kind, number in sorted(seen.items()) if number >= USUAL * seen.total()}
            odd = dice.happens(1, 2) and thing not in self._lamps
            left = [name for name, one in self._named.items() if (one.kind in usual) != odd]
            places: list[str] = []
            for _ in SHARES[dice.below(len(SHARES))][: len(left)]:
                # Where a thing usually lies, by kind as in train. Where it seldom does, over all receptacles: by kind, those of
                # which there is but one would be drawn too often, and "which drawer?" would hardly matter.
                kinds = {self._named[name].kind for name in left}
                kind = None if odd else dice.pick({kind: number for kind, number in usual.items() if kind in kinds})
                places.append(dice.choose([name for name in left if kind in {None, self._named[name].kind}]))
                left.remove(places[-1])
            habits[thing] = dict(zip(places, SHARES[len(places) - 1], strict=True))
        return habits

    def _placed(self, own: OwnHabits, thing: str) -> dict[str, float]:
        """The places of a thing by its ``own`` habits; those of a kind of receptacle are spread over all of that kind."""
        if thing not in self.habits:
            raise own.refused(f"nothing called {shown(thing)} lies in {self.split}.{nearest(thing, tuple(self.habits))}", thing)
        found: dict[str, float] = {}
        for place, weight in own.said[thing].items():
            there = [name for name, one in self._named.items() if place in {name, one.kind}]
            if not there:
                kinds = tuple(sorted({*self._named, *(one.kind for one in self.receptacles)}))
                raise own.refused(f"{self.split} has no {shown(place)}.{nearest(place, kinds)}", thing, place)
            for name in there:
                found[name] = found.get(name, 0.0) + weight / len(there)
        return {name: weight / sum(found.values()) for name, weight in found.items()}

    def _lay(self, dice: Dice) -> list[LaidThing]:
        lying: list[LaidThing] = []
        for thing, places in self.habits.items():
            weights = {name: round(_SCALE * weight) for name, weight in places.items()}
            for number in range(dice.below(MOST_THINGS + 1)):
                stray = dice.random() < STRAY and thing not in self._lamps
                holder = dice.choose(self.receptacles) if stray else self._named[dice.pick(weights)]
                lying.append(LaidThing(thing_id(thing, number), thing, holder))
        return lying

    def _possible_goals(self) -> dict[Goal, int]:
        """The goals for which the home has what stands in it, by their weight in train."""
        there, found = {one.kind for one in self.receptacles}, Counter[Goal]()
        for room in self._counted:
            for form, things in room.goals.items():
                for thing, target, weight in ((thing, *each) for thing, targets in things.items() for each in targets.items()):
                    goal = goal_of(form, thing, target)
                    wanted = {goal.receptacle, APPLIANCES[goal.treatment] if goal.treatment else None} - {None}
                    if weight and wanted <= there:
                        found[goal] += weight
        return found

    def _fitting(self, things: list[LaidThing]) -> dict[Goal, int]:
        """The goals for which the things of a day are there, and not partly at their target already."""
        number = Counter(one.kind for one in things)
        lying = {(one.kind, one.receptacle.kind) for one in things}
        return {
            goal: weight
            for goal, weight in self.goals.items()
            if number[goal.object] >= goal.count
            and (goal.lamp is None or number[goal.lamp])
            and (goal.treatment is not None or (goal.object, goal.receptacle) not in lying)
        }


class HomeDays(MadeUpTasks):
    """The days of a home, or a range of them: a task's number is its day, from 1, and its id such as ``household:7/day:12``."""

    what = "day"

    def __init__(self, home: Home, days: range = range(1, DAYS + 1), world: str = "alfworld") -> None:
        super().__init__(home.split, days, self._task)
        self.home, self._world = home, world

    def _task(self, day: int) -> Task:
        house = self.home.day(day)
        return Task(f"{self.split}/day:{day}", self._world, self.split, day, house.goal.type, house.sentence)

    def fingerprint(self) -> str:
        """A SHA-256 over what decides a day: the version, the seed, the counts, and habits of its own."""
        own = f" {json.dumps(self.home.own)}" if self.home.own else ""
        return sha256_of(f"{VERSION} {self.split} {counts_digest()}{own}")


@cache
def counts_digest() -> str:
    return sha256_of(json.dumps(asdict(load_counts())))


_home = lru_cache(16)(Home)


def days_of(split: str, own: OwnHabits | None = None) -> HomeDays | None:
    """The days that ``split`` names, such as ``household:7`` or ``household:7:41..60``; None if it names no home. ``own``
    habits are those of `Home`.

    Raises:
        ConfigurationError: The home has no such days.
    """
    found = _SPLIT.fullmatch(split)
    if found is None:
        return None
    home, every = _home(int(found["seed"]), light=found["family"] == LIGHT, own=own), range(1, DAYS + 1)
    days = read_split(split, (found["home"],), every)[1] or every
    if days.start < 1 or (days.stop > DAYS + 1 and ".." in split):
        raise ConfigurationError(f"{split}: the home {found['home']} has days 1 to {DAYS:,}.")
    return HomeDays(home, range(days.start, min(days.stop, DAYS + 1)))
