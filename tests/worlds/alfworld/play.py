"""Ways of playing real houses in tests: the bundled ones, the golden ones, and the published ones where they are."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from housequest.worlds import alfworld
from housequest.worlds.alfworld.engine.game import NOTHING, Game, State, load_game
from housequest.worlds.alfworld.engine.native import NativeEnv, commands, perform, won
from housequest.worlds.base import Task

BUNDLED = sorted((Path(alfworld.__file__).parent / "houses").glob("*.json"))
GOLDEN = sorted((Path(__file__).parent / "golden" / "houses").glob("*.json"))
HOUSES = [*BUNDLED, *GOLDEN]


def name_of(path: Path) -> str:
    return path.stem


def env_of(game: Game) -> NativeEnv:
    return NativeEnv(Task("test", "alfworld", "test", 1, "", game.sentence), game)


def published(games: Path, split: str, number: int) -> list[Path]:
    """Some games of a split, evenly drawn."""
    paths = sorted((games / "json_2.1.1" / split).glob("*/*/game.tw-pddl"))
    return paths[:: max(1, len(paths) // number)][:number]


def any_commands(env: NativeEnv, seed: int, number: int) -> Iterator[str]:
    """Commands for the present state, one at a time: mostly accepted ones, the others plausible but often refused.

    Moving about is rarer than among the admissible commands, so that more happens where the agent stands.
    """
    chance = random.Random(seed)
    game = env.game
    for _ in range(number):
        if chance.random() < 0.25:
            thing, place = chance.choice(game.objects or ("mug 1",)), chance.choice(game.receptacles or ("desk 1",))
            forms = (
                f"go to {place}",
                f"open {place}",
                f"close {place}",
                f"examine {place}",
                f"examine {thing}",
                f"use {thing}",
                f"take {thing} from {place}",
                f"move {thing} to {place}",
                f"put {thing} in/on {place}",
                f"clean {thing} with {place}",
                f"slice {thing} with {chance.choice(game.objects or ('knife 1',))}",
                f"{chance.choice(('go to', 'take', 'dance', ''))} {place}",
            )
            yield chance.choice(forms)
        else:
            commands = env.admissible_commands()
            local = [command for command in commands if not command.startswith("go to ")]
            yield chance.choice(local if chance.random() < 0.6 else list(commands))


@cache
def loaded(path: Path) -> Game:
    """A game, read once; it is never mutated."""
    return load_game(path)


def wins(game: Game, listed: Iterable[str], state: State | None = None) -> bool:
    """Whether all ``listed`` commands are accepted and the goal holds after the last."""
    state = game.start if state is None else state
    for command in listed:
        action = commands(game, state).get(command)
        if action is None:
            return False
        state, _ = perform(game, state, action)
    return won(game, state)


@dataclass(frozen=True, slots=True)
class Hidden:
    """All of a state by name.

    ``contents`` has every receptacle, open or closed. ``opened`` are the openable receptacles that are open, ``here`` the
    receptacles at the agent's place, ``lying`` the objects that the game counts as at that place.
    """

    here: tuple[str, ...]
    held: str | None
    contents: Mapping[str, tuple[str, ...]]
    openable: frozenset[str]
    opened: frozenset[str]
    lying: frozenset[str]
    hot: frozenset[str]
    cool: frozenset[str]
    clean: frozenset[str]
    sliced: frozenset[str]
    lit: frozenset[str]


def hidden_of(env: NativeEnv) -> Hidden:
    """The present state by name."""
    game, state = env.game, env.state
    places, things = game.receptacles, game.objects

    def named(names: tuple[str, ...], numbers: Iterable[int]) -> frozenset[str]:
        return frozenset(names[number] for number in numbers)

    return Hidden(
        here=tuple(places[number] for number in game.receptacles_at[state.place]),
        held=None if state.held == NOTHING else things[state.held],
        contents={name: tuple(things[one] for one in inside) for name, inside in zip(places, state.contents, strict=True)},
        openable=named(places, game.openable),
        opened=named(places, state.opened & game.openable),
        lying=named(things, state.lying[state.place]),
        **{mark: named(things, getattr(state, mark)) for mark in ("hot", "cool", "clean", "sliced", "lit")},
    )
