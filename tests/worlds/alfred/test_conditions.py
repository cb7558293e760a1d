"""ALFRED's conditions over a simulator's objects, by hand: what each type counts, and kinds whose names hold one another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest

from housequest.worlds.alfred.simulator.base import SimulatedObject, SimulatorEvent, Treated, kind_in, label_of
from housequest.worlds.alfred.tasks import AlfredGoal
from housequest.worlds.rooms.render import Frame, Size
from housequest.worlds.rooms.room import Box, Point, Pose

FIXED = {"CounterTop", "DiningTable", "Fridge", "Sink", "SinkBasin", "Desk", "Shelf"}
LAMPS = {"DeskLamp", "FloorLamp"}
UNTREATED: Treated = frozenset()


@dataclass(frozen=True)
class Seen:
    """A view of objects that are all there is."""

    objects: tuple[SimulatedObject, ...]
    visible: frozenset[str] = field(default_factory=frozenset[str])

    def frame(self, size: Size, field: float) -> Frame:
        raise NotImplementedError


def thing(id: str, *parents: str, on: bool = False) -> SimulatedObject:
    kind = kind_in(id)
    return SimulatedObject(
        id,
        kind,
        f"{kind.lower()} 1",
        label_of(id),
        Point(0, 0, 0),
        Box(0, 0, 0, 0, 0, 0),
        0.0,
        pickupable=kind not in FIXED | LAMPS,
        receptacle=kind in FIXED | {"Bowl", "Pot"},
        toggleable=kind in LAMPS,
        on=on,
        parents=parents,
    )


def after(
    *things: SimulatedObject, held: str | None = None, visible: Sequence[str] = (), treated: Treated = UNTREATED
) -> SimulatorEvent:
    return SimulatorEvent("Pass", True, "", Pose(0, 0), held, Seen(things, frozenset(visible)), treated=treated)


COUNTER, TABLE, FRIDGE, DESK = (thing(kind) for kind in ("CounterTop", "DiningTable", "Fridge", "Desk"))
BASIN, SINK = thing("Sink|1|1|1|SinkBasin"), thing("Sink|1|1|1")
SLICE_1, SLICE_2 = "Apple|1|1|1|AppleSliced_1", "Apple|1|1|1|AppleSliced_2"
SIMPLE = AlfredGoal("pick_and_place_simple", "mug", receptacle="countertop")
SLICED = AlfredGoal("pick_and_place_simple", "apple", sliced=True, receptacle="countertop")
TWO = AlfredGoal("pick_two_obj_and_place", "mug", receptacle="countertop")
TWO_SLICED = AlfredGoal("pick_two_obj_and_place", "apple", sliced=True, receptacle="countertop")
LOOK = AlfredGoal("look_at_obj_in_light", "book", lamp="desklamp")
HOT = AlfredGoal("pick_heat_then_place_in_recep", "mug", receptacle="countertop")
CLEAN_SLICED = AlfredGoal("pick_clean_then_place_in_recep", "apple", sliced=True, receptacle="diningtable")
STACK = AlfredGoal("pick_and_place_with_movable_recep", "fork", receptacle="diningtable", movable="bowl")

TABLE_OF_CASES = [
    # Put a mug on the counter.
    (SIMPLE, after(COUNTER, thing("Mug|1", "CounterTop")), (1, 1)),
    (SIMPLE, after(COUNTER, TABLE, thing("Mug|1", "DiningTable")), (0, 1)),
    (SIMPLE, after(COUNTER, thing("Mug|1"), held="Mug|1"), (0, 1)),
    # What lies in a bowl on the counter is on the counter, too.
    (SIMPLE, after(COUNTER, thing("Bowl|1", "CounterTop"), thing("Mug|1", "Bowl|1", "CounterTop")), (1, 1)),
    # A slice of an apple on the counter: one for the slice, one for the place. A whole one is none.
    (SLICED, after(COUNTER, thing("Apple|1|1|1", "CounterTop")), (0, 2)),
    (SLICED, after(COUNTER, thing(SLICE_1)), (1, 2)),
    (SLICED, after(COUNTER, thing(SLICE_1, "CounterTop")), (2, 2)),
    (
        AlfredGoal("pick_and_place_simple", "apple", receptacle="countertop"),
        after(COUNTER, thing(SLICE_1, "CounterTop")),
        (0, 1),
    ),
    # Two mugs on one counter; on two counters they count as one.
    (TWO, after(COUNTER, thing("Mug|1", "CounterTop")), (1, 2)),
    (TWO, after(COUNTER, thing("CounterTop|2"), thing("Mug|1", "CounterTop"), thing("Mug|2", "CounterTop|2")), (1, 2)),
    (TWO, after(COUNTER, *(thing(f"Mug|{n}", "CounterTop") for n in range(3))), (2, 2)),
    (TWO_SLICED, after(COUNTER, thing(SLICE_1)), (1, 4)),
    (TWO_SLICED, after(COUNTER, thing(SLICE_1), thing(SLICE_2, "CounterTop")), (3, 4)),
    # Look at a book in the light: held, and a lamp that is on and in sight.
    (LOOK, after(thing("Book|1"), thing("DeskLamp|1", on=True), held="Book|1", visible=["DeskLamp|1"]), (2, 2)),
    (LOOK, after(thing("Book|1"), thing("DeskLamp|1", on=True), held="Book|1"), (1, 2)),
    (LOOK, after(thing("Book|1"), thing("DeskLamp|1"), held="Book|1", visible=["DeskLamp|1"]), (1, 2)),
    (LOOK, after(thing("Book|1"), thing("FloorLamp|1", on=True), visible=["FloorLamp|1"]), (0, 2)),
    # Heat a mug and put it on the counter: placed, heated, and both of one mug.
    (HOT, after(COUNTER, thing("Mug|1", "CounterTop"), treated=frozenset({("heat", "Mug|1")})), (3, 3)),
    (
        HOT,
        after(COUNTER, thing("Mug|1", "CounterTop"), thing("Mug|2"), treated=frozenset({("heat", "Mug|2")})),
        (2, 3),
    ),
    (HOT, after(COUNTER, thing("Mug|1"), treated=frozenset({("heat", "Mug|1")})), (1, 3)),
    (HOT, after(COUNTER, thing("Mug|1", "CounterTop"), treated=frozenset({("clean", "Mug|1")})), (1, 3)),
    (CLEAN_SLICED, after(TABLE, thing(SLICE_1, "DiningTable"), treated=frozenset({("clean", SLICE_1)})), (4, 4)),
    (CLEAN_SLICED, after(TABLE, thing(SLICE_1), thing(SLICE_2), treated=frozenset({("clean", SLICE_1)})), (2, 4)),
    # A fork in a bowl on the table: filled, there, and both.
    (STACK, after(TABLE, thing("Bowl|1", "DiningTable"), thing("Fork|1", "Bowl|1", "DiningTable")), (3, 3)),
    (STACK, after(TABLE, thing("Bowl|1"), thing("Fork|1", "Bowl|1"), held="Bowl|1"), (1, 3)),
    (STACK, after(TABLE, thing("Bowl|1", "DiningTable"), thing("Fork|1", "DiningTable")), (1, 3)),
    (
        STACK,
        after(TABLE, thing("Bowl|1", "DiningTable"), thing("Bowl|2"), thing("Fork|1", "Bowl|2")),
        (2, 3),
    ),
]


@pytest.mark.parametrize(("goal", "event", "wanted"), TABLE_OF_CASES)
def test_conditions_by_hand(goal: AlfredGoal, event: SimulatorEvent, wanted: tuple[int, int]) -> None:
    assert (goal.seen(event), goal.total) == wanted


@pytest.mark.parametrize(
    ("wanted", "other"),
    [("pot", "Potato"), ("pen", "Pencil"), ("knife", "ButterKnife"), ("towel", "HandTowel"), ("apple", "AppleSliced")],
)
def test_a_kind_whose_name_is_in_that_of_another_is_not_it(wanted: str, other: str) -> None:
    goal = AlfredGoal("pick_and_place_simple", wanted, receptacle="countertop")
    assert goal.seen(after(COUNTER, thing(f"{other}|1", "CounterTop"))) == 0


def test_a_basin_is_no_sink() -> None:
    goal = AlfredGoal("pick_and_place_simple", "mug", receptacle="sinkbasin")
    assert goal.seen(after(BASIN, SINK, thing("Mug|1", BASIN.id))) == 1
    assert goal.seen(after(BASIN, SINK, thing("Mug|1", SINK.id))) == 0
