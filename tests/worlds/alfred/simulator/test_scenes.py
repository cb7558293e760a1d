"""Scenes: rooms with AI2-THOR's ids, for those who simulate them."""

from __future__ import annotations

import re

import pytest

from housequest.worlds.alfred.scenes import thor_id, written
from housequest.worlds.alfred.simulator.base import FLOOR, kind_named
from housequest.worlds.rooms.room import Point
from tests.worlds.alfred.simulator.played import scene

ID = re.compile(r"[A-Z][A-Za-z]+(\|[+-]?\d\d\.\d\d){3}(\|[A-Z][A-Za-z]+)?")


@pytest.mark.parametrize("reference", ["example:1", "generated:690"])
def test_everything_has_an_id_of_its_own_and_lies_in_something_that_is_there(reference: str) -> None:
    found = scene(reference)
    ids = [*found.ids.values(), *(one.id for one in found.things)]
    assert len(ids) == len(set(ids))
    assert all(ID.fullmatch(id) for id in ids)
    assert {one.at for one in found.things} <= {*ids, FLOOR}
    assert set(found.ids) == {one.name for one in (*found.room.fixtures, *found.room.scenery) if " " in one.name}
    assert found.openable <= set(ids)


@pytest.mark.parametrize("reference", ["example:1", "generated:690"])
def test_each_sink_has_a_faucet(reference: str) -> None:
    found = scene(reference)
    faucets = [one.box.centre for one in found.room.scenery if one.name.startswith("faucet ")]
    for basin in found.room.fixtures:
        if basin.name.startswith("sinkbasin "):
            middle = basin.box.centre
            assert any(abs(one.x - middle.x) < 1 and abs(one.z - middle.z) < 1 for one in faucets)


def test_ids_are_those_of_ai2thor() -> None:
    assert thor_id("mug_bar__plus_00_dot_10_bar__minus_01_dot_20_bar__plus_12_dot_00") == "Mug|+00.10|-01.20|+12.00"
    assert thor_id("toilet_bar__minus_00_dot_41_bar_00_dot_00_bar__minus_00_dot_55") == "Toilet|-00.41|00.00|-00.55"
    assert (
        thor_id("sink_bar__minus_00_dot_10_bar__plus_00_dot_89_bar__plus_02_dot_00_bar_sinkbasin")
        == "Sink|-00.10|+00.89|+02.00|SinkBasin"
    )
    assert written("CD", Point(-0.001, 0.0, 1.006)) == "CD|-00.00|00.00|+01.01"
    assert [kind_named(word) for word in ("tvstand", "cd", "remotecontrol", "gizmo")] == [
        "TVStand",
        "CD",
        "RemoteControl",
        "Gizmo",
    ]
