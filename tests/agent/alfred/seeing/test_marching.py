"""Fast marching: as scikit-fmm answers for stored maps, and as geometry has it."""

from __future__ import annotations

import json
from math import hypot, inf
from pathlib import Path
from random import Random

import numpy as np
import pytest

from housequest.agent.alfred.seeing.semantic_map import distances

# The distances are those of scikit-fmm 2025.6.23, order 1; ``#`` is not free, ``G`` a goal. Null: no way, or not free.
STORED = json.loads(Path(__file__).with_name("marching.json").read_text("utf-8"))


@pytest.mark.parametrize("stored", STORED, ids=[stored["name"] for stored in STORED])
def test_distances_are_those_of_scikit_fmm(stored: dict[str, list[str]]) -> None:
    cells = np.array([list(row) for row in stored["map"]])
    found = distances(cells != "#", zip(*np.nonzero(cells == "G"), strict=True))
    wanted = np.array([[inf if one is None else one for one in row] for row in stored["distances"]])
    assert np.array_equal(np.isinf(found), np.isinf(wanted))
    there = np.isfinite(wanted)
    assert np.abs(found[there] - wanted[there]).max() < 1e-10


def test_other_maps_agree_with_an_installed_scikit_fmm() -> None:
    skfmm = pytest.importorskip("skfmm")
    for seed in range(30):
        draw = Random(seed)
        free = np.array([[draw.random() < 0.75 for _ in range(24)] for _ in range(20)])
        places = list(zip(*np.nonzero(free), strict=True))
        goals = draw.sample(places, 2)
        phi = np.ones(free.shape)
        phi[tuple(zip(*goals, strict=True))] = 0
        wanted = np.ma.filled(skfmm.distance(np.ma.MaskedArray(phi, ~free), order=1), inf)
        found = distances(free, goals)
        assert np.array_equal(np.isinf(found), np.isinf(wanted))
        assert np.allclose(found[free & np.isfinite(wanted)], wanted[free & np.isfinite(wanted)], atol=1e-10, rtol=0)


def test_on_open_ground_the_gradient_is_one() -> None:
    found = distances(np.ones((30, 30), bool), [(0, 0)])
    ahead, right = found[1:, 1:] - found[:-1, 1:], found[1:, 1:] - found[1:, :-1]
    assert np.allclose(ahead**2 + right**2, 1)
    assert found[20, 15] == pytest.approx(hypot(20, 15), rel=0.06)


def test_the_nearest_of_several_goals_counts_and_those_that_are_not_free_do_not() -> None:
    free = np.ones((1, 9), bool)
    free[0, 4] = False
    assert distances(free, [(0, 0), (0, 6), (0, 4), (7, 7), (-1, 0)])[0].tolist() == [0, 1, 2, 3, inf, 1, 0, 1, 2]
    assert np.isinf(distances(free, [])).all()
