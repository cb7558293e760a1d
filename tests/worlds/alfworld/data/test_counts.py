"""The counted table: what ships is whole and says where it comes from, and a damaged one is refused by name."""

from __future__ import annotations

import json
import re
from importlib.resources import files
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from housequest.worlds.alfworld.text import load_counts
from housequest.worlds.errors import KnowledgeError
from housequest.worlds.household.belief import kind
from housequest.worlds.household.counts import Placement, parse_counts
from scripts.count_locations import ROOMS, SPLIT, count, dump
from tests.worlds.alfworld.play import BUNDLED, loaded, published

CONTENT = files("housequest.worlds.alfworld").joinpath("counts.json").read_bytes()


def test_the_shipped_table_says_where_it_comes_from() -> None:
    counts = load_counts()
    assert (counts.source.split, counts.source.games) == ("train", 3_553)
    assert (Path(__file__).parents[4] / counts.source.script).is_file()
    assert len(CONTENT) < 200_000
    assert load_counts() is counts


def test_the_shipped_table_adds_up() -> None:
    counts = load_counts()
    assert set(counts.rooms) == {"bathroom", "bedroom", "kitchen", "livingroom"}
    assert sum(room.games for room in counts.rooms.values()) == counts.source.games
    for room in counts.rooms.values():
        assert room.scenes <= 30
        for receptacle in room.receptacles.values():
            assert 0 <= receptacle.openable <= receptacle.number
            assert receptacle.fewest <= receptacle.number / room.games <= receptacle.most
            assert receptacle.games <= room.games
        for thing in room.objects.values():
            assert 0 < thing.games <= min(room.games, thing.number)
            for place, placement in thing.places.items():
                assert 0 < placement.holding <= min(placement.instances, placement.available)
                assert placement.available <= room.receptacles[place].number


def test_the_table_is_readable_and_sorted() -> None:
    text = CONTENT.decode()
    assert max(map(len, text.splitlines())) < 160
    table = json.loads(text)
    assert dump(table) + "\n" == text
    for room in table["rooms"].values():
        assert list(room["objects"]) == sorted(room["objects"])
        assert list(room["receptacles"]) == sorted(room["receptacles"])


@pytest.mark.parametrize(
    ("receptacles", "room"),
    [
        (["fridge", "countertop", "cabinet"], "kitchen"),
        (["toilet", "sinkbasin", "garbagecan"], "bathroom"),
        (["bed", "desk", "drawer"], "bedroom"),
        (["sofa", "coffeetable", "armchair"], "livingroom"),
    ],
)
def test_rooms_are_told_by_their_furniture(receptacles: list[str], room: str) -> None:
    assert load_counts().room_of(receptacles) == room
    assert load_counts().room_of([*receptacles, "spaceship"]) == room


@pytest.mark.games
@pytest.mark.parametrize("split", ["train", "valid_seen"])
def test_published_rooms_are_told_by_their_furniture(split: str, alfworld_games: Path) -> None:
    for path in published(alfworld_games, split, 200):
        scene = int(path.parent.parent.name.rpartition("-")[2])
        assert load_counts().room_of(kind(name) for name in loaded(path).receptacles) == ROOMS[scene // 100]


def test_chances_rank_places_as_people_would() -> None:
    counts = load_counts()
    for thing, likely, unlikely, room in (
        ("lettuce", "countertop", "garbagecan", "kitchen"),
        ("pan", "stoveburner", "cabinet", "kitchen"),
        ("toiletpaper", "toilet", "sinkbasin", "bathroom"),
        ("pillow", "bed", "drawer", "bedroom"),
        ("lettuce", "countertop", "sofa", "bedroom"),
    ):
        assert counts.chance(thing, likely, room) > counts.chance(thing, unlikely, room) > 0
    assert 0 < counts.chance("dragon", "volcano", "kitchen") < 0.01
    assert counts.openable("fridge") == 1
    assert counts.openable("desk") == counts.openable("volcano") == 0


def test_the_script_counts_what_lies_where(tmp_path: Path) -> None:
    games = {1: "kitchen", 301: "bedroom", 401: "bathroom"}
    paths: list[Path] = []
    for scene, name in games.items():
        source = next(path for path in BUNDLED if path.stem == name)
        paths.append(tmp_path / f"task-{scene}" / "trial" / "game.json")
        paths[-1].parent.mkdir(parents=True)
        paths[-1].write_bytes(source.read_bytes())
    counts = parse_counts(dump(count(paths)).encode(), "counted")
    assert counts.source.games == 3
    game = loaded(paths[0])
    room = counts.rooms["kitchen"]
    assert sum(one.number for one in room.objects.values()) == len(game.objects)
    assert sum(one.number for one in room.receptacles.values()) == len(game.receptacles)
    assert sum(place.instances for thing in room.objects.values() for place in thing.places.values()) == sum(
        map(len, game.start.contents)
    )


@pytest.mark.games
@pytest.mark.slow
def test_the_shipped_table_is_what_the_script_counts(alfworld_games: Path) -> None:
    paths = sorted((alfworld_games / "json_2.1.1" / SPLIT).glob("*/*/game.tw-pddl"))
    assert dump(count(paths)) + "\n" == CONTENT.decode()


def test_a_table_can_be_read_from_a_path(tmp_path: Path) -> None:
    path = tmp_path / "mine.json"
    path.write_bytes(CONTENT)
    assert load_counts(path) == load_counts()


def test_a_missing_table_is_named(tmp_path: Path) -> None:
    with pytest.raises(KnowledgeError, match=re.escape("nowhere.json")):
        load_counts(tmp_path / "nowhere.json")
    with pytest.raises(KnowledgeError):
        load_counts(tmp_path)


SOURCE = {"split": "train", "games": 1, "script": "x.py"}
ROOM = {"games": 1, "scenes": 1, "receptacles": {}, "objects": {}}
PLACED = {"mug": {"games": 1, "number": 1, "in": {"desk": {"instances": 1, "holding": 1, "available": 2}}}}


@pytest.mark.parametrize(
    ("table", "problem"),
    [
        ([], "must be a table"),
        ({}, "source: this is missing"),
        ({"source": SOURCE, "rooms": {}}, "no room"),
        ({"source": SOURCE | {"games": -1}, "rooms": {"kitchen": ROOM}}, "source.games: this is -1, not a count"),
        ({"source": SOURCE | {"games": True}, "rooms": {"kitchen": ROOM}}, "source.games: this is True, not a count"),
        ({"source": SOURCE | {"split": "\x1b[2J"}, "rooms": {"kitchen": ROOM}}, "not a word"),
        ({"source": SOURCE, "rooms": {"kitchen": ROOM | {"objects": {"mug": 3}}}}, "objects.mug: this must be a table"),
        (
            {"source": SOURCE, "rooms": {"kitchen": ROOM | {"receptacles": {"bed": {"games": 1}}}}},
            "bed.number: this is missing",
        ),
        ({"source": SOURCE, "rooms": {"kitchen": ROOM | {"scenes": 10**400}}}, "scenes: this is"),
    ],
)
def test_a_damaged_table_is_refused_by_name(table: object, problem: str) -> None:
    with pytest.raises(KnowledgeError, match=re.escape("my.json")) as caught:
        parse_counts(json.dumps(table).encode(), "my.json")
    assert problem in str(caught.value)
    assert "count_locations.py" in str(caught.value)


def test_a_small_table_of_ones_own_is_read() -> None:
    table = {"source": SOURCE, "rooms": {"kitchen": ROOM | {"objects": PLACED}}}
    counts = parse_counts(json.dumps(table).encode(), "my.json")
    assert counts.rooms["kitchen"].objects["mug"].places == {"desk": Placement(1, 1, 2)}
    assert counts.room_of(["bed"]) == "kitchen"


@given(st.one_of(st.binary(max_size=200), st.integers(0, len(CONTENT)).map(lambda cut: CONTENT[:cut] + CONTENT[cut + 1 :])))
def test_any_bytes_are_a_table_or_refused(content: bytes) -> None:
    try:
        parse_counts(content, "my.json")
    except KnowledgeError as error:
        assert "my.json" in str(error)
        assert str(error).isprintable()


@pytest.mark.parametrize(
    "content", [b"[" * 200_000, b'{"a":' * 100_000, b"9" * 5_000, b"\xff\xfe", b" " * 3_000_000], ids=range(5)
)
def test_odd_bytes_are_refused(content: bytes) -> None:
    with pytest.raises(KnowledgeError):
        parse_counts(content, "my.json")


def test_a_room_is_called_by_its_kind_only_once_its_furniture_leaves_no_doubt() -> None:
    counts = load_counts()
    assert counts.sure_of_room(()) is None
    assert counts.sure_of_room(["mug", "knife", "laptop"]) is None, (
        "things say nothing, and rooms have unequal numbers of games"
    )
    assert counts.sure_of_room(["garbagecan"]) is None
    assert counts.sure_of_room(["fridge", "stoveburner", "bowl"]) == "kitchen"
    assert counts.sure_of_room(["bathtubbasin", "toilet"]) == "bathroom"
