"""The annotated plans of `train` and `valid_seen`: all but those that the docs list are accepted, and none once broken."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.worlds.alfred.mutations import broken
from worlds.alfred.goals import level
from worlds.alfred.scoring import score
from worlds.alfred.tasks import Demonstration, read_split

PAGE = Path(__file__).parents[3] / "docs" / "alfred-plans.md"


def excepted() -> set[str]:
    """The demonstrations that the docs page lists as not accepted."""
    return set(re.findall(r"^    ((?:train|valid_seen)/\S+)$", PAGE.read_text(encoding="utf-8"), re.MULTILINE))


def check(demonstrations: tuple[Demonstration, ...], split: str) -> None:
    """Every plan reaches its goal but the listed ones, and no mutation does."""
    refused = {one.id for one in demonstrations if not score(one.plan, one).reaches}
    assert refused == {one for one in excepted() if one.startswith(f"{split}/")}
    for one in demonstrations:
        mutations = broken(one)
        if one.id not in refused:
            assert mutations, one.id
        reaching = [name for name, plan in mutations.items() if score(plan, one).reaches]
        assert not reaching, (one.id, reaching)


@pytest.mark.games
def test_annotated_plans_are_accepted_and_broken_ones_are_not(alfworld_games: Path) -> None:
    demonstrations = read_split("valid_seen", alfworld_games)
    assert len(demonstrations) == 251
    assert sum(len(one.instructions) for one in demonstrations) == 820
    check(demonstrations, "valid_seen")
    assert {level(len(one.plan)) for one in demonstrations} == {"easy", "normal", "hard"}


@pytest.mark.games
@pytest.mark.slow
def test_so_it_is_in_train(alfworld_games: Path) -> None:
    demonstrations = read_split("train", alfworld_games)
    assert len(demonstrations) == 6574
    check(demonstrations, "train")
