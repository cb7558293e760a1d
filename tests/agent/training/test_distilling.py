"""The distiller of groups is trained in made-up homes, by Python and by the command."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from housequest.agent.explorer import groups
from housequest.agent.training import distilling
from housequest.worlds.alfworld.houses.home import Home


def test_an_evening_has_what_was_looked_at() -> None:
    first, second, *_ = distilling.evenings(Home(7), seed=0)
    assert (first.day, second.day) == (1, 2)
    assert set(first.seen.looked.values()) == {1} and set(first.seen.looked) <= set(second.seen.looked)
    places = [place for one in second.seen.locations for place in one.places]
    assert places and all(0 < place.seen <= place.looks == second.seen.looked[place.receptacle] for place in places)
    signs = groups.signs_of(second.seen, {})
    assert signs.shape == (len(places), len(groups.SIGNS)) and np.isfinite(signs).all()


@pytest.mark.heavy
def test_a_small_training_finds_more_habits_in_fewer_tokens_than_counting(tmp_path: Path) -> None:
    learned = distilling.trained(6, 20, 0, tmp_path / "distiller.weights")
    assert learned.examples > 1_000 and learned.loss < 0.6
    for ours, counted in zip(learned.found["groups"], learned.found["counts"], strict=True):
        assert ours.tokens < 0.7 * counted.tokens
        assert ours.recall > counted.recall and ours.precision > 0.7
    # Equal trainings are equal bytes.
    again = distilling.trained(6, 20, 0, tmp_path / "again.weights")
    assert again.found == learned.found
    assert (tmp_path / "again.weights").read_bytes() == (tmp_path / "distiller.weights").read_bytes()
