"""Names on a drawing: what is named first, and that no name lies over another."""

from __future__ import annotations

from dataclasses import replace
from typing import get_args

from hypothesis import given
from hypothesis import strategies as st
from rich.style import Style

from housequest.agent.episodes.drawing import DrawnScene
from housequest.tui.episode.view_drawing import LabelKind, labels
from housequest.tui.widgets.blocks import ASPECT, Overlay
from housequest.worlds.rooms.room import Situation
from housequest.worlds.rooms.stage import AGENT
from tests.worlds.rooms.houses import house

SIZE = (60, 24)
STYLES: dict[LabelKind, Style] = {kind: Style(link=kind) for kind in get_args(LabelKind)}


def scene(**changes: object) -> DrawnScene:
    """A kitchen of which all is known, at the fridge, which is open."""
    _, room, now = house("kitchen")
    holders = tuple(replace(one, openness="open") if one.name == "fridge 1" else one for one in now.holders)
    there = replace(now, holders=holders, at="fridge 1", pose=room.pose("fridge 1"))
    return replace(DrawnScene(room, there, kinds=frozenset({"egg", "diningtable"})), **changes)  # type: ignore[arg-type]


def cells(told: DrawnScene) -> dict[str, tuple[int, int]]:
    found = told.picture("house", (2 * SIZE[0], 2 * SIZE[1]), ASPECT).spots()
    return {name: (column // 2, row // 2) for name, (column, row) in found.items()}


def named(told: DrawnScene, size: tuple[int, int] = SIZE) -> dict[str, Overlay]:
    found = labels(told, cells(told), size, STYLES, hidden=True)
    return {one.text.lstrip("+*"): one for one in found}


def overlapping(found: list[Overlay]) -> list[tuple[str, str]]:
    pairs = ((one, other) for at, one in enumerate(found) for other in found[:at])
    return [(one.text, other.text) for one, other in pairs if one.y == other.y and one.x < other.end and other.x < one.end]


def test_the_goal_then_what_is_at_hand_then_what_is_new_then_the_rest() -> None:
    told = scene(new=frozenset({"lettuce 1"}))
    texts = {one.text: one.style.link for one in labels(told, cells(told), SIZE, STYLES, hidden=True)}
    assert texts["*egg 2"] == texts["*diningtable 1"] == "goal"
    assert texts["fridge 1"] == "near" and texts["+lettuce 1"] == "new"
    assert "far" in texts.values()
    inside = next(one.contents for one in told.situation.holders if one.name == "countertop 1")
    assert not {text.lstrip("+*") for text in texts} & set(inside)


def test_things_that_do_not_matter_are_few() -> None:
    """Names of all that lies on a table would hide the table."""
    told = scene(kinds=frozenset[str]())
    there = replace(told.situation, at="diningtable 1", pose=told.room.pose("diningtable 1"))
    found = labels(replace(told, situation=there), cells(told), SIZE, STYLES, hidden=True)
    things = next(one.contents for one in there.holders if one.name == "diningtable 1")
    assert len(things) > 3 == len({one.text for one in found} & set(things))


def test_what_the_goal_names_is_named_where_it_is_hidden_but_not_in_the_eyes() -> None:
    told = scene()
    shut = tuple(replace(one, openness="closed") if one.name == "fridge 1" else one for one in told.situation.holders)
    told = replace(told, situation=replace(told.situation, holders=shut))
    seen = cells(told)
    assert "egg 2" not in seen
    fridge = seen["fridge 1"]
    label = named(told)["egg 2"]
    assert abs(label.y - fridge[1]) <= 1 and label.x - 2 <= fridge[0] <= label.end + 1
    assert not any("egg 2" in one.text for one in labels(told, seen, SIZE, STYLES, hidden=False))


def test_what_is_held_is_named_beside_the_agent() -> None:
    told = scene()
    told = replace(told, situation=replace(told.situation, carried=("egg 2",)), new=frozenset({"egg 2"}))
    assert labels(told, {AGENT: (30, 10)}, SIZE, STYLES, hidden=True)[0] == Overlay(32, 10, "+*egg 2", STYLES["goal"])


def test_where_there_is_no_room_a_mark_stands_in_for_a_name() -> None:
    told = scene(new=frozenset({"lettuce 1"}))
    found = labels(told, {"egg 2": (2, 1), "lettuce 1": (4, 1)}, (6, 3), STYLES, hidden=True)
    assert [(one.x, one.y, one.text) for one in found] == [(2, 1, "*"), (4, 1, "+")]


def test_nothing_is_named_that_is_not_known() -> None:
    _, room, _ = house("kitchen")
    told = DrawnScene(room, Situation(room.start), kinds=frozenset({"egg"}))
    assert not any("egg" in one.text for one in labels(told, cells(told), SIZE, STYLES, hidden=True))


@given(
    st.integers(12, 90),
    st.integers(5, 30),
    st.dictionaries(st.sampled_from(["egg 1", "egg 2", "fridge 1", "lettuce 1", "diningtable 1", "cabinet 1", AGENT]),
                    st.tuples(st.integers(0, 89), st.integers(0, 29))),
    st.sets(st.sampled_from(["egg 1", "lettuce 1", "fridge 1"])),
)  # fmt: skip
def test_names_stay_within_the_drawing_and_off_each_other(
    width: int, height: int, where: dict[str, tuple[int, int]], new: set[str]
) -> None:
    told = scene(new=frozenset(new))
    where = {name: (x % width, y % height) for name, (x, y) in where.items()}
    found = labels(told, where, (width, height), STYLES, hidden=True)
    assert all(one.x >= 0 and one.end <= width and 0 <= one.y < height for one in found)
    assert overlapping(found) == []
    assert len({one.text for one in found if len(one.text) > 1}) == len([one for one in found if len(one.text) > 1])
