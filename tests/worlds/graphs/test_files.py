"""Files of VirtualHome and WAH-NL: read as they are, and refused with the line where they are damaged."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from housequest.worlds.errors import GameError
from housequest.worlds.graphs.files import parse_apartment, parse_tasks, read_tasks
from housequest.worlds.graphs.goals import Condition
from housequest.worlds.graphs.graph import Action, after
from housequest.worlds.graphs.household import visible
from housequest.worlds.registry import make_world
from tests.worlds.graphs.tables import home, task, written

Change = Callable[[dict[str, Any]], object]


def line_of(text: str, part: str) -> int:
    return text[: text.index(part)].count("\n") + 1


def told_line(error: Exception) -> int:
    found = re.search(r", line (\d+)", str(error))
    assert found is not None
    return int(found[1])


def test_a_task_is_read_with_its_goal_its_instructions_and_its_room() -> None:
    file = parse_tasks(written([task(task_goal={"on_cupcake_kitchentable": 1, "inside_plate_fridge": 0})]), "wah")
    (one,) = file.tasks
    assert one.goal.conditions == (Condition("on", "cupcake", "kitchentable", 1),)
    assert len(one.instructions) == 2
    graph = file.graph(one)
    assert graph.apartment.names[graph.room_of(graph.robot) or 0] == "livingroom 1"
    assert graph.state(22) == {"CLOSED", "OFF"}


def test_the_goal_of_agent_0_and_a_single_task_are_read_too() -> None:
    file = parse_tasks(written(task(task_goal={"0": {"turnOn_dishwasher": 1}}, nl_instructions="Wash.")), "wah")
    assert file.tasks[0].goal.conditions == (Condition("turnOn", "dishwasher"),)
    assert file.tasks[0].instructions == ("Wash.",)


def test_a_graph_without_a_robot_gets_one_and_others_are_left_out() -> None:
    table = home()
    table["nodes"] = table["nodes"][1:]
    table["edges"] = [one for one in table["edges"] if one["from_id"] != 1]
    assert parse_apartment(written({"init_graph": table}), "g").robot == 36
    table = home()
    table["nodes"].append({"id": 2, "class_name": "character", "category": "Characters", "properties": [], "states": []})
    table["edges"].append({"from_id": 2, "relation_type": "HOLDS_RH", "to_id": 31})
    assert parse_apartment(written(table), "g").held == ()


def test_what_the_robot_holds_at_first_is_in_its_hands() -> None:
    table = home()
    table["edges"].append({"from_id": 1, "relation_type": "HOLDS_LH", "to_id": 31})
    graph = parse_apartment(written(table), "g")
    assert graph.hands == (None, 31)
    assert graph.parents(31) == (10,)


def test_things_that_are_each_in_two_others_are_read_in_no_more_time_than_others() -> None:
    """Ways up double with each of 30 layers, so nobody must walk them all."""
    table, above = home(), [23]
    for layer in range(30):
        boxes = [100 + 2 * layer, 101 + 2 * layer]
        for id in boxes:
            box = {"id": id, "class_name": "box", "category": "Props", "properties": ["GRABBABLE", "CONTAINERS"]}
            table["nodes"].append(box)
            table["edges"] += [{"from_id": id, "relation_type": "INSIDE", "to_id": other} for other in above]
        above = boxes
    graph = parse_apartment(written(table), "g")
    assert graph.door(159) is None
    assert graph.room_of(159) == 11
    assert {100, 159} <= visible(after(graph, Action("walk to", 11)))


def test_a_robot_that_begins_in_another_room_left_what_it_was_close_to() -> None:
    graph = home()
    near = (("CLOSE", 21), ("CLOSE", 32), ("HOLDS_RH", 31))
    graph["edges"] += [{"from_id": 1, "relation_type": how, "to_id": id} for how, id in near]
    graph["edges"].append({"from_id": 31, "relation_type": "CLOSE", "to_id": 21})
    moved, stayed = (
        (file := parse_tasks(written([task(init_room=room, init_graph=graph)]), "wah")).graph(file.tasks[0])
        for room in ("livingroom", "kitchen")
    )
    assert moved.close[1] == {31}
    assert not moved.reached(21)
    assert moved.room_of(33) == 11  # a cupcake, on the plate in the hand
    assert stayed.close[1] == {21, 31, 32}


def _node(number: int, **changed: Any) -> Change:
    return lambda table: table["nodes"][number].update(changed)


def _edge(**changed: Any) -> Change:
    return lambda table: table["edges"].append({"from_id": 30, "relation_type": "ON", "to_id": 21, **changed})


@pytest.mark.parametrize(
    ("change", "part", "says"),
    [
        (_node(3, id=10), '"id": 10,\n   "class_name": "fridge"', "another node has the id 10"),
        (_node(3, id=-1), '"id": -1', "-1 is not an id"),
        (_node(3, id=True), '"id": true', "True is not an id"),
        (_node(3, class_name="a\nb"), '"a\\nb"', "not the name of a class"),
        (_node(3, properties="CAN_OPEN"), '"properties": "CAN_OPEN"', "is not a list"),
        (_node(3, states=["OPEN", "CLOSED"]), '"OPEN"', "it is both CLOSED and OPEN"),
        (_edge(to_id=99), '"to_id": 99', "no node has the id 99"),
        (_edge(relation_type="UNDER"), '"UNDER"', "not a relation of VirtualHome"),
        (_edge(to_id=30), '"from_id": 30,\n   "relation_type": "ON",\n   "to_id": 30', "is ON itself"),
        (_edge(from_id=1, relation_type="HOLDS_RH", to_id=21), '"HOLDS_RH"', "cannot hold node 21"),
        (_edge(from_id=31, to_id=33), '"edges"', "on or inside of itself"),
        (lambda table: table.pop("edges"), '"nodes"', "'edges' is missing"),
    ],
)
def test_a_damaged_graph_is_refused_with_the_line(change: Change, part: str, says: str) -> None:
    table = home()
    change(table)
    text = written(table)
    with pytest.raises(GameError) as refused:
        parse_apartment(text, "home.json")
    assert says in str(refused.value)
    line = told_line(refused.value)
    at = line_of(text, part)
    # An entry of several lines is named by its first, or by the line of what is wrong in it.
    assert at - 2 <= line <= at + 1


CURTAIN = {"class_name": "curtain", "category": "Decor", "properties": ["CAN_OPEN", "MOVABLE"], "states": []}


@pytest.mark.parametrize("circle", [(50, 51), (50, 51, 52), (50, 51, 50, 52)])
def test_fixed_things_inside_each_other_are_an_artefact_of_their_boxes(circle: tuple[int, ...]) -> None:
    table = home()
    room = next(node["id"] for node in table["nodes"] if node.get("category") == "Rooms")
    table["nodes"] += [{"id": id, **CURTAIN} for id in (50, 51, 52, 53)]
    pairs = [*pairwise(circle), (circle[-1], circle[0]), *((id, room) for id in (50, 51, 52, 53))]
    table["edges"] += [{"from_id": one, "relation_type": "INSIDE", "to_id": other} for one, other in pairs]
    table["edges"] += [
        {"from_id": 53, "relation_type": "ON", "to_id": 50},
        {"from_id": 50, "relation_type": "FACING", "to_id": 53},
    ]
    graph = parse_apartment(written(table), "home.json")
    assert graph.apartment.dropped == len({*pairwise(circle), (circle[-1], circle[0])})
    assert {graph.placed[id] for id in (50, 51, 52)} == {frozenset({("INSIDE", room)})}
    assert graph.placed[53] == {("INSIDE", room), ("ON", 50)}  # not on the circle
    assert parse_apartment(written(home()), "home.json").apartment.dropped == 0


def test_the_engine_of_a_run_counts_the_relations_left_out(tmp_path: Path) -> None:
    table = home()
    table["nodes"] += [{"id": id, **CURTAIN} for id in (50, 51)]
    table["edges"] += [{"from_id": one, "relation_type": "INSIDE", "to_id": other} for one, other in ((50, 51), (51, 50))]
    for name, apartment, told in (("circle", table, ", without 2 relations that"), ("plain", home(), "")):
        file = tmp_path / f"{name}.json"
        file.write_text(written(apartment), "utf-8")
        assert make_world("household-graph", apartment=str(file)).engine.startswith(f"graphs 2{told}")


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"task_goal": {}}, "a goal has 1 to"),
        ({"task_goal": {"holds_book_character": 1}}, "is not a condition"),
        ({"task_goal": {"on_apple": 1}}, "does not say what is wanted where"),
        ({"task_goal": {"on_apple_sofa": -1}}, "is wanted -1 times"),
        ({"task_goal": {"on_apple_sofa": True}}, "is wanted True times"),
        ({"nl_instructions": [3]}, "3 is not a sentence"),
        ({"task_id": None}, "None is not a task_id"),
        ({"task_name": "a b"}, "is not a task_name"),
    ],
)
def test_a_damaged_task_is_refused_with_the_line(changed: dict[str, Any], says: str) -> None:
    (key,) = changed
    text = written([task(), task(**({"task_id": 8} | changed))])
    with pytest.raises(GameError) as refused:
        parse_tasks(text, "wah.json")
    line = text[: text.rindex(f'"{key}"')].count("\n") + 1
    assert says in str(refused.value)
    assert line <= told_line(refused.value) <= line + 1


def test_a_task_is_refused_that_asks_for_what_is_not_there_and_two_of_one_id() -> None:
    file = parse_tasks(written([task(task_goal={"on_dragon_sofa": 1})]), "wah")
    with pytest.raises(GameError, match=r"task_goal\.on_dragon_sofa: a dragon is wanted, which is not in the graph"):
        file.graph(file.tasks[0])
    file = parse_tasks(written([task(task_goal={"on_wall_sofa": 1})]), "wah")
    with pytest.raises(GameError, match="a wall is wanted, with which nothing can be done"):
        file.graph(file.tasks[0])
    with pytest.raises(GameError, match="there is no room 'attic'"):
        (file := parse_tasks(written([task(init_room="attic")]), "wah")).graph(file.tasks[0])
    with pytest.raises(GameError, match="another task has the task_id '7'"):
        parse_tasks(written([task(), task()]), "wah")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "line 1, column 1: this is not JSON"),
        ("\n[]", "line 2: the list is empty, so there is no task to play"),
        ("[\n{},", "line 2"),
        (f"[{json.dumps(task())},\n]", r"line 1, column \d+, task 1: a comma comes before the end of the list"),
        ("[\n{}\n{}]", "line 2, task 1, task_id: None is not a task_id"),
        ("[" * 100_000, "nested too deeply"),
        (written(task())[:-1] + "]", r"line \d+, column 1: this is not JSON"),
        (f"[{json.dumps(task())}, {json.dumps(task(task_id=8))} 7]", r"line 1, column \d+, task 2: a comma or the end"),
        ('{"task_id": ' + "9" * 5_000 + "}", "too many digits"),
        ('{"task_id": 1} x', "there is more after the end"),
        ("7", "line 1: 7 is not a table"),
    ],
)
def test_what_is_no_json_is_refused_with_the_line(text: str, says: str) -> None:
    with pytest.raises(GameError, match=says):
        parse_tasks(text, "wah")


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"task_goal": {"on_apple": 1}}, r"task 2, task_goal\.on_apple: 'on_apple' does not say"),
        ({"task_goal": {"0": {"fly to": 1}}}, r"task 2, task_goal\.0\['fly to'\]: 'fly to' is not a condition"),
        ({"nl_instructions": ["Wash.", 3]}, r"task 2, nl_instructions\[1\]: 3 is not a sentence"),
        (
            {"task_goal": {"turnOn_dishwasher": 3}},
            r"task 2, task_goal\.turnOn_dishwasher: 3 are wanted, and a goal is measured",
        ),
        ({"task_goal": {"turnOn_plate": 1}}, r"task 2, task_goal\.turnOn_plate: no plate has a switch"),
        ({"task_goal": {"inside_plate_sofa": 1}}, r"task 2, task_goal\.inside_plate_sofa: nothing can be put in a sofa"),
        ({"task_goal": {"on_plate_fridge": 1}}, r"task 2, task_goal\.on_plate_fridge: nothing can be put on a fridge"),
        (
            {"task_goal": {"0": {"on_plate_sofa": 99}}},
            r"task 2, task_goal\.0\.on_plate_sofa: 99 of plate are wanted, and there are 2",
        ),
        ({"init_room": True}, "task 2, init_room: there is no room True"),
        ({"init_room": "attic"}, "task 2, init_room: there is no room 'attic'"),
        ({"init_graph": {**home(), "edges": [{"from_id": 1}]}}, r"task 2, init_graph\.edges\[0\]\.to_id: None is not an id"),
    ],
)
def test_in_a_file_of_one_line_the_task_and_the_key_are_named(change: dict[str, Any], says: str) -> None:
    with pytest.raises(GameError, match=f"'wah', line 1, {says}"):
        file = parse_tasks(json.dumps([task(), task(**({"task_id": 8} | change))]), "wah")
        file.graph(file.tasks[1])


@pytest.mark.parametrize(
    ("key", "there", "meant"),
    [
        ("on_plate_coffee_table", ("coffee_table",), ("plate", "coffee_table")),
        ("on_wine_glass_coffee_table", ("coffee_table", "wine_glass", "table"), ("wine_glass", "coffee_table")),
        ("inside_Wine_Glass_fridge", ("wine_glass",), ("wine_glass", "fridge")),
        ("turnOn_coffee_maker", ("coffee_maker",), ("coffee_maker", None)),
    ],
)
def test_names_of_several_words_in_a_goal_are_those_that_the_graph_has(
    key: str, there: tuple[str, ...], meant: tuple[str, str | None]
) -> None:
    table = home()
    properties = ["CAN_OPEN", "CONTAINERS", "GRABBABLE", "HAS_SWITCH", "SURFACES"]
    for id, kind in enumerate(there, start=50):
        table["nodes"].append({"id": id, "class_name": kind, "category": "Props", "properties": properties})
        table["edges"].append({"from_id": id, "relation_type": "INSIDE", "to_id": 11})
    file = parse_tasks(written(task(task_goal={key: 1}, init_graph=table)), "wah")
    (condition,) = file.tasks[0].goal.conditions
    assert (condition.kind, condition.where) == meant
    file.graph(file.tasks[0])


def test_names_in_a_goal_that_can_be_told_apart_in_two_ways_are_refused() -> None:
    table = home()
    for id, kind in enumerate(("wine", "wine_glass", "glass_table", "table"), start=50):
        table["nodes"].append({"id": id, "class_name": kind, "category": "Props", "properties": ["GRABBABLE", "SURFACES"]})
    with pytest.raises(GameError, match="can mean wine on glass_table or wine_glass on table"):
        parse_tasks(written(task(task_goal={"on_wine_glass_table": 1}, init_graph=table)), "wah")


def test_a_goal_of_a_great_many_words_is_refused_at_once() -> None:
    with pytest.raises(GameError, match="does not say what is wanted where"):
        parse_tasks(written(task(task_goal={f"on{'_a' * 100_000}": 1})), "wah")


def test_a_file_that_is_no_text_is_refused_with_the_line(tmp_path: Path) -> None:
    path = tmp_path / "wah_nl_test.json"
    path.write_bytes(b"[\n\xff]")
    with pytest.raises(GameError, match="line 2: this is not UTF-8 text"):
        read_tasks(path)


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)


def _paths(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    found = [path] if path else []
    entries = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in entries:
        found += _paths(inner, (*path, key))
    return found


@given(data=st.data(), value=_JSON)
def test_any_change_of_a_file_is_read_or_refused_with_a_line_that_it_has(data: st.DataObject, value: object) -> None:
    whole: Any = [task()]
    *path, last = data.draw(st.sampled_from(_paths(whole)))
    inner = whole
    for key in path:
        inner = inner[key]
    inner[last] = value
    text = json.dumps(whole, indent=1)
    try:
        file = parse_tasks(text, "wah")
        for one in file.tasks:
            file.graph(one)
    except GameError as error:
        assert 1 <= told_line(error) <= text.count("\n") + 1
        assert str(error).isprintable()


@given(st.data())
def test_a_file_that_is_cut_off_is_refused(data: st.DataObject) -> None:
    text = written([task()])
    with pytest.raises(GameError):
        parse_tasks(text[: data.draw(st.integers(0, len(text) - 1))], "wah")
