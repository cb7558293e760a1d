"""Random walks through made-up houses, with many invalid commands, so that rules both hold and fail; and their moments."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass

from housequest.knowledge.judging import Moment
from housequest.worlds.alfworld.engine.native import NativeEnv
from housequest.worlds.alfworld.houses.house import make_house
from housequest.worlds.base import Observation, Task, Transition
from housequest.worlds.household.base import Household
from tests.worlds.alfworld.play import hidden_of

_RARE = {"heat", "cool", "clean", "slice", "use", "take", "move"}


@dataclass(frozen=True, slots=True)
class Trajectory:
    """A task's goal and opening with its transitions (the action-observation sequence of OPEx, section 3)."""

    goal: str
    opening: Observation
    transitions: tuple[Transition, ...]


def walk(seed: int, steps: int) -> Trajectory:
    """``steps`` commands in the made-up house ``seed``, drawn with the same seed."""
    house = make_house(seed)
    env = NativeEnv(Task(f"generated/{seed}", "alfworld", "generated", seed, house.goal.type, house.sentence), house.game)
    opening = env.reset().observation
    taken = ((command, env.step(command).observation) for command in _commands(env, random.Random(seed), steps))
    return Trajectory(house.sentence, opening, tuple(Transition(command, answer) for command, answer in taken))


def moments_of(trajectory: Trajectory, household: Household, origin: str, house: str | None = None) -> Iterator[Moment]:
    """The moments of ``trajectory``; their origins are ``origin/N``, with N from 1."""
    before = household.begin(trajectory.opening)
    for number, (command, answer) in enumerate(((one.command, one.observation) for one in trajectory.transitions), 1):
        after = household.update(before, command, answer)
        yield Moment(f"{origin}/{number}", house or origin, before, command, answer, after, household.refused(answer))
        before = after


def _commands(env: NativeEnv, chance: random.Random, steps: int) -> Iterator[str]:
    for _ in range(steps):
        admissible = env.admissible_commands()
        near = [command for command in admissible if not command.startswith("go to ")]
        # Treating, slicing and lighting are rarer than looking, and tell more.
        rare = [command for command in near if command.split(" ")[0] in _RARE]
        draw = chance.random()
        if draw < 0.35:
            yield _any(env, chance)
        elif rare and draw < 0.65:
            yield chance.choice(rare)
        else:
            yield chance.choice(near if draw < 0.82 else admissible)


def _any(env: NativeEnv, chance: random.Random) -> str:
    """A valid or nearly valid command about things here or elsewhere."""
    game, hidden = env.game, hidden_of(env)
    here = [name for place in hidden.here for name in hidden.contents[place]]
    things = [hidden.held or "", *here, chance.choice(game.objects or ("mug 1",))]
    thing = chance.choice([name for name in things if name])
    place = chance.choice([*hidden.here, chance.choice(game.receptacles or ("desk 1",))])
    tool = chance.choice([hidden.held or thing, chance.choice(game.objects or ("knife 1",))])
    verb = chance.choice(("heat", "cool", "clean"))
    forms = (
        f"go to {place}",
        f"go to {thing}",
        f"open {place}",
        f"close {place}",
        f"take {thing} from {place}",
        f"move {thing} to {place}",
        f"examine {place}",
        f"examine {thing}",
        f"use {thing}",
        f"{verb} {thing} with {place}",
        f"slice {thing} with {tool}",
        f"put {thing} in/on {place}",
        f"dance {thing}",
    )
    return chance.choice(forms)
