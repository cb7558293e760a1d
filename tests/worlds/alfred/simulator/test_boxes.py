"""The stand-in: what AI2-THOR's actions need, do and answer in a room of boxes."""

from __future__ import annotations

import pytest

from housequest.worlds.alfred.simulator.base import ENCLOSING, kind_in, touched
from housequest.worlds.alfred.simulator.boxes import ACTIONS, Boxes
from housequest.worlds.errors import WorldError
from housequest.worlds.rooms.room import GRID
from tests.worlds.alfred.simulator.played import begun, facing, scene

SCENE = "example:1"


def first(simulator: Boxes, kind: str, *, inside: str | None = None) -> str:
    """The first object of a kind, in a receptacle of the kind ``inside`` if given."""
    return next(
        one.id
        for one in simulator.act("Pass").objects
        if one.kind == kind and (inside is None or any(kind_in(at) == inside for at in one.parents))
    )


def test_one_walks_on_the_floor_and_turns_and_tilts() -> None:
    simulator = begun()
    start = simulator.act("Pass").pose
    turned = [simulator.act("RotateRight").pose.yaw for _ in range(4)]
    assert turned == [(start.yaw + 90 * turn) % 360 for turn in (1, 2, 3, 4)]
    tilts = [simulator.act("LookUp") for _ in range(6)]
    assert [one.ok for one in tilts] == [True] * round((start.pitch + 30) / 15) + [False] * (6 - round((start.pitch + 30) / 15))
    assert tilts[-1].pose.pitch == -30
    floor = scene(SCENE).room.floor
    for _ in range(50):
        event = simulator.act("MoveAhead")
        assert event.pose.cell in floor
        if not event.ok:
            assert "is blocking Agent 0 from moving by" in event.message
            break
    else:
        pytest.fail("nothing stops who walks on and on")


@pytest.mark.heavy
def test_what_is_taken_is_held_and_what_is_put_lies_there_to_be_seen() -> None:
    simulator = begun()
    apple, table = first(simulator, "Apple", inside="DiningTable"), first(simulator, "DiningTable")
    assert not simulator.act("PutObject", objectId=table).ok
    facing(simulator, apple)
    event = simulator.act("PickupObject", objectId=apple)
    assert event.ok
    assert event.held == apple
    assert apple not in event.frame((100, 100)).names
    taken = simulator.act("PickupObject", objectId=first(simulator, "Bowl"))
    assert not taken.ok
    assert "hand has something in it" in taken.message
    event = simulator.act("PutObject", objectId=table)
    assert event.ok, event.message
    assert event.held is None
    assert apple in event.visible()
    put = event.object(apple)
    assert put is not None
    assert put.parents == (table,)


@pytest.mark.heavy
@pytest.mark.parametrize("reference", ["example:1", "example:2", "example:3"])
def test_what_is_put_into_a_basin_can_be_seen_again(reference: str) -> None:
    """Also if one does not see into the basin from where it is put."""
    house = scene(reference)
    basins = [id for id in house.ids.values() if kind_in(id) == "SinkBasin"]
    small = [one.id for one in house.things if one.pickupable and kind_in(one.id) in house.accepts["SinkBasin"]]
    for basin in basins:
        simulator = begun(reference)
        _, x, _, z, *_ = basin.replace("|", " ").split()
        cell = min(house.room.floor, key=lambda cell: abs(cell[0] * GRID - float(x)) + abs(cell[1] * GRID - float(z)))
        assert simulator.act("TeleportFull", x=cell[0] * GRID, z=cell[1] * GRID, rotation=0.0, horizon=-30.0).ok
        assert simulator.act("PickupObject", objectId=small[0], forceAction=True).ok
        assert simulator.act("PutObject", objectId=basin, forceAction=True).ok
        assert simulator.act("GetInteractablePoses", objectId=small[0]).returned


@pytest.mark.heavy
def test_a_closed_receptacle_hides_what_it_holds_and_takes_nothing() -> None:
    simulator = begun()
    inside = next(
        one for one in simulator.act("Pass").objects if one.parents and kind_in(one.parents[0]) in {"Fridge", "Cabinet"}
    )
    holder = inside.parents[0]
    assert simulator.act("GetInteractablePoses", objectId=inside.id).returned == []
    facing(simulator, holder)
    assert simulator.act("OpenObject", objectId=holder).ok
    again = simulator.act("OpenObject", objectId=holder)
    assert not again.ok
    assert "already open" in again.message
    assert simulator.act("CloseObject", objectId=holder).ok
    assert kind_in(holder) in ENCLOSING


@pytest.mark.heavy
def test_faucet_microwave_and_fridge_treat_and_what_was_treated_stays_so() -> None:
    simulator = begun()
    apple = first(simulator, "Apple", inside="DiningTable")
    facing(simulator, apple)
    simulator.act("PickupObject", objectId=apple)
    microwave, fridge = first(simulator, "Microwave"), first(simulator, "Fridge")
    facing(simulator, microwave)
    assert simulator.act("OpenObject", objectId=microwave).ok
    put = simulator.act("PutObject", objectId=microwave)
    assert put.ok, put.message
    assert not simulator.act("ToggleObjectOn", objectId=microwave).ok
    assert simulator.act("CloseObject", objectId=microwave).ok
    heated = simulator.act("ToggleObjectOn", objectId=microwave)
    assert ("heat", apple) in heated.treated
    assert not simulator.act("OpenObject", objectId=microwave).ok
    assert simulator.act("ToggleObjectOff", objectId=microwave).ok
    assert simulator.act("OpenObject", objectId=microwave).ok
    assert simulator.act("PickupObject", objectId=apple).ok
    facing(simulator, fridge)
    simulator.act("OpenObject", objectId=fridge)
    assert simulator.act("PutObject", objectId=fridge).ok
    cooled = simulator.act("CloseObject", objectId=fridge)
    assert ("cool", apple) in cooled.treated
    assert ("heat", apple) in cooled.treated
    cold = cooled.object(apple)
    assert cold is not None
    assert cold.temperature == "Cold"


def test_a_mask_means_the_object_below_it() -> None:
    simulator = begun()
    apple = first(simulator, "Apple", inside="DiningTable")
    frame = facing(simulator, apple).frame((100, 100))
    assert touched(frame, frame.ids == frame.names.index(apple)) == apple
    assert touched(frame, frame.ids < 0) is None


@pytest.mark.heavy
def test_what_is_visible_is_what_has_pixels_in_the_frame() -> None:
    simulator = begun()
    agreed = total = 0
    for fixture in scene(SCENE).room.fixtures:
        if fixture.place is None:
            continue
        event = simulator.act("TeleportFull", x=fixture.place.x, z=fixture.place.z, rotation=fixture.place.yaw, horizon=45)
        frame, near = event.frame(), {one.id for one in event.objects if one.distance <= 1.5}
        drawn = {name for name in frame.names if frame.pixels(name) >= 8} & near
        agreed += len(drawn & event.visible())
        total += len(drawn | event.visible())
    assert agreed / total > 0.95


def test_equal_actions_give_equal_events_and_a_copy_goes_its_own_way() -> None:
    one, other = begun(), begun()
    for action in ("MoveAhead", "RotateLeft", "LookDown", "MoveBack"):
        assert one.act(action) == other.act(action)
    copy = one.copy()
    copy.act("RotateLeft")
    assert one.act("Pass") == other.act("Pass") != copy.act("Pass")


def test_what_cannot_be_meant_is_an_error_of_the_world_and_an_id_that_is_not_there_is_refused() -> None:
    simulator = begun()
    with pytest.raises(WorldError, match="Jump"):
        simulator.act("Jump")
    with pytest.raises(WorldError, match="objectId"):
        simulator.act("PickupObject")
    assert "is not the objectId on any object" in simulator.act("PickupObject", objectId="Mug|+09.00|+09.00|+09.00").message
    with pytest.raises(WorldError, match="begun"):
        Boxes().act("Pass")
    assert len(ACTIONS) > 20
