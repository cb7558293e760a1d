"""Chores: four to six goals over one made-up house or home, to be reached together.

A seed draws houses and goals until so many fit. All goals must hold at once, each with things of its own. Nothing is half done
at the start, so that par counts whole errands, and there are no lamps: light is a moment, and not a state that stays.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial

from housequest.worlds.alfworld.engine.game import NOWHERE, Game
from housequest.worlds.alfworld.houses.home import Home, counts_digest
from housequest.worlds.alfworld.houses.house import DRAWS, SEEDS, Dice, goal_of, make_house
from housequest.worlds.alfworld.text import chores_sentence, load_counts
from housequest.worlds.base import Task
from housequest.worlds.errors import ConfigurationError
from housequest.worlds.household.goals import APPLIANCES, CHORES, Goal
from housequest.worlds.paths import sha256_of
from housequest.worlds.tasks import MadeUpTasks

VERSION = 1  # increased whenever a seed would give other chores
IN_A_ROOM, IN_A_HOME = CHORES_SPLITS = ("chores", "chores-home")  # of one room, and of four
FEWEST, MOST = 4, 6
_TRIES = 60  # goals drawn in a house before another one is drawn
_KEPT = 64


@dataclass(frozen=True, slots=True)
class Chores:
    """The chores of a seed: the game with all goals, and the room of each receptacle in a home of several rooms."""

    goals: tuple[Goal, ...]
    game: Game
    rooms: Mapping[str, str] | None


def make_chores(split: str, seed: int) -> Chores:
    """The chores of a seed. Raises ``ConfigurationError`` if there are none."""
    if not 0 <= seed < SEEDS:
        raise ConfigurationError(f"There are no chores {seed}; give a seed from 0 to {SEEDS - 1}.")
    dice = Dice(f"housequest {split} {VERSION} {seed}")
    number = FEWEST + dice.below(MOST - FEWEST + 1)
    for _ in range(DRAWS):
        game, weights, rooms = _in_home(dice) if split == IN_A_HOME else _in_room(dice)
        goals: list[Goal] = []
        for _ in range(_TRIES if weights else 0):
            goal = dice.pick(weights)
            if not any(_faults(game, goals, goal)):
                goals.append(goal)
            if len(goals) == number:
                first, *more = (game.condition(one) for one in goals)
                game = replace(game, sentence=chores_sentence(goals), origin=f"{split}:{seed}", goal=first, more=tuple(more))
                return Chores(tuple(goals), game, rooms)
    raise ConfigurationError(f"In none of {DRAWS:,} houses drawn for {split}:{seed} there are chores.")


def _in_room(dice: Dice) -> tuple[Game, dict[Goal, int], Mapping[str, str] | None]:
    house = make_house(dice.below(SEEDS))
    counted = load_counts().rooms[house.room].goals
    found = {
        goal_of(form, thing, target): weight
        for form, things in counted.items()
        for thing, targets in things.items()
        for target, weight in targets.items()
    }
    return house.game, {goal: weight for goal, weight in found.items() if weight}, None


def _in_home(dice: Dice) -> tuple[Game, dict[Goal, int], Mapping[str, str] | None]:
    home = Home(dice.below(SEEDS))
    return home.day(1).game, dict(home.goals), home.room_of


def _faults(game: Game, goals: Sequence[Goal], goal: Goal) -> Iterator[bool]:
    """The reasons why a goal cannot be a further one, each true or false."""
    yield goal.lamp is not None
    yield any((one.object, one.receptacle) == (goal.object, goal.receptacle) for one in goals)
    wanted = game.condition(goal)
    placed = [one for one in wanted.receptacles if game.place_of[one] != NOWHERE]
    yield not placed
    yield goal.treatment is not None and not any(
        game.place_of[one] != NOWHERE
        for one in {"sinkbasin": game.basins, "microwave": game.heaters, "fridge": game.coolers}[APPLIANCES[goal.treatment]]
    )
    start = game.start
    treated = {"clean": start.clean, "heat": start.hot, "cool": start.cool}.get(wanted.form, frozenset[int]())
    yield not wanted.objects.isdisjoint(treated)
    yield any(not wanted.objects.isdisjoint(game.start.contents[one]) for one in placed)
    yield not _enough(game, [*goals, goal])


def _enough(game: Game, goals: Sequence[Goal]) -> bool:
    """True if each goal can have things of its own: a matching, by augmenting paths (Kuhn)."""
    wants = [game.condition(goal).objects for goal in goals for _ in range(goal.count)]
    taken: dict[int, int] = {}

    def finds(number: int, seen: set[int]) -> bool:
        for thing in wants[number]:
            if thing not in seen:
                seen.add(thing)
                if thing not in taken or finds(taken[thing], seen):
                    taken[thing] = number
                    return True
        return False

    return all(finds(number, set()) for number in range(len(wants)))


class ChoresTasks(MadeUpTasks):
    """The tasks of a split of chores without end, by the habits of ``train``."""

    what = "house with chores"

    def __init__(self, split: str, world: str = "alfworld") -> None:
        super().__init__(split, range(SEEDS), self._task)
        self._world = world
        self.chores = lru_cache(_KEPT)(partial(make_chores, split))
        """The chores of a seed. Raises ``ConfigurationError``."""

    def _task(self, seed: int) -> Task:
        return Task(f"{self.split}/{seed}", self._world, self.split, seed, CHORES, self.chores(seed).game.sentence)

    def fingerprint(self) -> str:
        """A SHA-256 over what decides the chores of a seed."""
        return sha256_of(f"{VERSION} {self.split} {counts_digest()}")
