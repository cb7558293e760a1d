"""The order of games and the numbers of things, as alfworld and textworld draw them."""

from __future__ import annotations

import random
import re
from itertools import islice
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from housequest.worlds.dropin.games import ShuffledCycle, renumbered
from housequest.worlds.errors import ConfigurationError
from tests.worlds.alfworld.play import HOUSES, any_commands, env_of, loaded, name_of


@pytest.mark.parametrize(
    ("seed", "first", "second"),
    [
        (0, "2849167305", "9684502731"),
        (42, "8150729436", "8132074695"),
        (1234, "7291084563", "5182067943"),
        (2**32 - 1, "6951807423", "3618902475"),
    ],
)
def test_two_rounds_are_those_of_numpys_random_state(seed: int, first: str, second: str) -> None:
    assert "".join(islice(ShuffledCycle("0123456789", seed), 20)) == first + second


@given(seed=st.integers(0, 2**32 - 1), number=st.integers(1, 300))
def test_any_order_is_that_of_numpys_random_state(seed: int, number: int) -> None:
    numpy = pytest.importorskip("numpy", reason="needs NumPy, which comes with the extra gym")
    state = numpy.random.RandomState(seed)
    expected = games = [str(game) for game in range(number)]
    for _ in range(2):
        state.shuffle(games)
        expected = [*games]
    assert list(islice(ShuffledCycle([str(game) for game in range(number)], seed), number, 2 * number)) == expected


def test_without_a_seed_every_game_comes_once_a_round() -> None:
    games = [str(game) for game in range(50)]
    order = ShuffledCycle(games, None)
    assert sorted(islice(order, 50)) == sorted(islice(order, 50)) == sorted(games)


@pytest.mark.parametrize("seed", [-1, 2**32, 10**400, 1.5, "1", [1], "\ud800"])
def test_what_is_no_seed_is_refused(seed: object) -> None:
    with pytest.raises(ConfigurationError, match="not a whole number from 0 to 4294967295"):
        ShuffledCycle(["a"], seed)  # type: ignore[arg-type]


def test_no_games_are_refused_rather_than_looked_for_without_end() -> None:
    with pytest.raises(ConfigurationError, match="no games to play"):
        ShuffledCycle([], 1)


@pytest.mark.parametrize("path", HOUSES, ids=name_of)
def test_a_renumbered_game_is_the_same_but_for_its_numbers(path: Path) -> None:
    game = loaded(path)
    other = renumbered(game, random.Random(4))
    names = dict(zip((*game.objects, *game.receptacles), (*other.objects, *other.receptacles), strict=True))
    assert sorted(names) == sorted(names.values())
    assert all(old.rpartition(" ")[0] == new.rpartition(" ")[0] for old, new in names.items())

    def translated(text: str) -> str:
        return re.sub(r"[a-z]+ [0-9]+", lambda found: names.get(found[0], found[0]), text)

    ours, theirs = env_of(game), env_of(other)
    assert translated(ours.reset().observation.text) == theirs.reset().observation.text
    for command in any_commands(ours, seed=1, number=60):
        step, same = ours.step(command), theirs.step(translated(command))
        assert translated(step.observation.text) == same.observation.text
        assert step.won == same.won
        assert sorted(map(translated, ours.admissible_commands())) == list(theirs.admissible_commands())


def test_numbers_are_dealt_anew_and_the_same_by_the_same_chance() -> None:
    game = loaded(HOUSES[0])
    dealt = {renumbered(game, random.Random(seed)).receptacles for seed in range(5)}
    assert len(dealt) > 1
    assert renumbered(game, random.Random(1)) == renumbered(game, random.Random(1))
