"""Belief: what it asserts is true in the hidden state, and no text at all upsets it."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from housequest.worlds.alfworld.engine.game import Game
from housequest.worlds.alfworld.engine.native import NativeEnv
from housequest.worlds.alfworld.text import begin, refused, update
from housequest.worlds.base import Observation
from housequest.worlds.household.belief import Belief, Item, Receptacle, kind
from tests.worlds.alfworld.play import HOUSES, any_commands, env_of, hidden_of, loaded, name_of, published

OPENING = Observation(
    "-= Welcome to TextWorld, ALFRED! =-\n\nYou are in the middle of a room. Looking quickly around you, you see a bed 1, "
    "a desk 1, a drawer 2, and a drawer 1.\n\nYour task is to: put some You are facing the sofa 1. on bed."
)


def told(*steps: tuple[str, str], opening: Observation = OPENING) -> Belief:
    belief = begin(opening)
    for command, text in steps:
        belief = update(belief, command, Observation(text, accepted=text != "Nothing happens."))
    return belief


def assert_true(belief: Belief, env: NativeEnv) -> None:
    """Whatever ``belief`` asserts holds in the hidden state."""
    hidden, game = hidden_of(env), env.game
    here = {one.name for one in belief.here()}
    assert here <= set(hidden.here)
    assert (belief.at is None) == (not here)
    assert belief.held == hidden.held
    assert set(belief.beside) <= hidden.lying
    places: dict[str, set[int]] = {}
    for one in belief.receptacles:
        places.setdefault(one.place, set()).add(game.place_of[game.receptacles.index(one.name)])
        if one.contents is not None:
            assert sorted(one.contents) == sorted(hidden.contents[one.name]), one.name
        assert set(belief.inside(one)) <= set(hidden.contents[one.name])
        if one.openness is not None:
            assert (one.openness != "surface") == (one.name in hidden.openable), one.name
            assert (one.openness == "open") == (one.name in hidden.opened), one.name
    assert all(len(where) == 1 for where in places.values())
    for item in belief.items:
        assert_item(item, env)


def assert_item(item: Item, env: NativeEnv) -> None:
    hidden, game = hidden_of(env), env.game
    number = game.objects.index(item.name)
    assert item.where is None or item.name in hidden.contents[item.where]
    for known, true in ((item.clean, hidden.clean), (item.sliced, hidden.sliced), (item.lit, hidden.lit)):
        assert known is None or known == (item.name in true), item
    hot, cool = item.name in hidden.hot, item.name in hidden.cool
    assert {None: True, "hot": hot, "cool": cool and not hot, "neither": not hot and not cool}[item.heat], item
    if item.inside is not None:
        assert [game.objects[inner] for inner in game.inside[number]] == list(item.inside)


def check_random_play(game: Game, seed: int, steps: int) -> Belief:
    env = env_of(game)
    belief = begin(env.reset().observation)
    assert_true(belief, env)
    for command in any_commands(env, seed, steps):
        observation = env.step(command).observation
        assert refused(observation) == (not observation.accepted)
        belief = update(belief, command, observation)
        assert_true(belief, env)
    return belief


@pytest.mark.heavy
@pytest.mark.parametrize("house", HOUSES, ids=name_of)
def test_belief_is_true_however_a_house_is_played(house: Path) -> None:
    for seed in range(4):
        check_random_play(loaded(house), seed, 120)


@pytest.mark.games
def test_belief_is_true_in_published_games(alfworld_games: Path) -> None:
    for seed, path in enumerate(published(alfworld_games, "train", 100)):
        game = loaded(path)
        check_random_play(game, seed, 60)
        env = env_of(game)
        belief = begin(env.reset().observation)
        for command in game.walkthrough or ():
            belief = update(belief, command, env.step(command).observation)
            assert_true(belief, env)


@pytest.mark.parametrize("house", HOUSES, ids=name_of)
def test_looking_everywhere_leaves_nothing_unknown(house: Path) -> None:
    game = loaded(house)
    env = env_of(game)
    belief = begin(env.reset().observation)
    for name in game.receptacles:
        for command in (f"go to {name}", f"open {name}", f"examine {name}"):
            belief = update(belief, command, env.step(command).observation)
    known = {one.name: sorted(one.contents or ()) for one in belief.receptacles if one.contents is not None}
    there = {name: sorted(contents) for name, contents in hidden_of(env).contents.items()}
    reachable = {name for name, place in zip(game.receptacles, game.place_of, strict=True) if place >= 0}
    assert known == {name: contents for name, contents in there.items() if name in reachable}


def test_opening_lists_receptacles_and_the_goal_is_not_something_seen() -> None:
    belief = told()
    assert [one.name for one in belief.receptacles] == ["bed 1", "desk 1", "drawer 2", "drawer 1"]
    assert (belief.at, belief.held, belief.items) == (None, None, ())
    assert all(one.openness is None and one.contents is None and not one.visited for one in belief.receptacles)


def test_what_is_taken_and_put_down_is_followed() -> None:
    went = ("go to desk 1", "You arrive at desk 1. On the desk 1, you see a mug 2, and a pen 1.")
    belief = told(went, ("take mug 2 from desk 1", "You pick up the mug 2 from the desk 1."))
    assert belief.held == "mug 2"
    assert belief.receptacle("desk 1") == Receptacle("desk 1", "desk 1", True, "surface", ("pen 1",))
    belief = update(belief, "", Observation("You arrive at drawer 1. The drawer 1 is closed."))
    belief = update(belief, "", Observation("You open the drawer 1. The drawer 1 is open. In it, you see nothing."))
    belief = update(belief, "put mug 2 in/on drawer 1", Observation("You move the mug 2 to the drawer 1."))
    belief = update(belief, "close drawer 1", Observation("You close the drawer 1."))
    assert belief.held is None
    assert belief.receptacle("drawer 1") == Receptacle("drawer 1", "drawer 1", True, "closed", ("mug 2",))
    assert [one.name for one in belief.holders("mug 2")] == ["drawer 1"]


def test_an_object_in_two_receptacles_is_still_in_the_other() -> None:
    belief = told(
        ("go to desk 1", "You arrive at desk 1. On the desk 1, you see a cd 1."),
        ("go to bed 1", "You arrive at bed 1. On the bed 1, you see a cd 1."),
        ("take cd 1 from bed 1", "You pick up the cd 1 from the bed 1."),
    )
    assert [one.name for one in belief.holders("cd 1")] == ["desk 1"]


def test_what_is_put_where_nobody_looked_is_known_to_be_there() -> None:
    belief = told(
        ("inventory", "You are carrying: a cd 1."),
        ("move cd 1 to desk 1", "You move the cd 1 to the desk 1."),
    )
    desk = belief.receptacle("desk 1")
    assert desk and desk.contents is None and belief.inside(desk) == ("cd 1",)


def test_a_refused_go_to_tells_that_a_receptacle_is_here() -> None:
    steps = (("go to drawer 2", "You arrive at drawer 2. The drawer 2 is closed."), ("go to drawer 1", "Nothing happens."))
    belief = told(*steps)
    assert [one.name for one in belief.here()] == ["drawer 2", "drawer 1"]
    assert not told(("go to drawer 1", "Nothing happens.")).here(), "in the middle of the room it tells nothing"
    padded = f"go to desk 1{' ' * 60_000}please"
    assert told(*steps, (padded, "Nothing happens.")) == belief, "neither does one that goes on after the name"
    assert told(*steps, ("go to sofa 7", "Nothing happens.")) == belief, "neither does one for what does not exist"


def test_look_tells_all_that_stands_and_lies_here() -> None:
    belief = told(
        ("go to drawer 2", "You arrive at drawer 2. The drawer 2 is closed."),
        ("look", "You are facing the drawer 2, drawer 1, and desk 1. Next to it, you see a pen 2."),
    )
    assert [one.name for one in belief.here()] == ["desk 1", "drawer 2", "drawer 1"]
    assert belief.beside == ("pen 2",)
    assert not update(belief, "go to bed 1", Observation("You arrive at bed 1. On the bed 1, you see nothing.")).beside


@pytest.mark.parametrize(
    ("text", "known"),
    [
        ("This is a hot and clean sliced apple 1.", {"heat": "hot", "clean": True, "sliced": True}),
        ("This is a cool and clean apple 1.", {"heat": "cool", "clean": True, "sliced": False}),
        ("This is a cold apple 1.", {"heat": "cool", "clean": False, "sliced": False}),
        ("This is a clean sliced apple 1.", {"heat": "neither", "clean": True, "sliced": True}),
        ("There's nothing special about apple 1.", {"heat": "neither", "clean": False}),
        ("This apple 1 is on.", {"lit": True}),
        ("You turn off the apple 1.", {"lit": False}),
        ("You sliced the apple 1 with the knife 1.", {"sliced": True}),
        ("This is a normal apple 1. In it, you see a pen 1, and a cd 2.", {"inside": ("pen 1", "cd 2")}),
        ("This is a normal apple 1. In it, you see nothing.", {"inside": ()}),
    ],
)
def test_descriptions(text: str, known: dict[str, object]) -> None:
    item = told(("examine apple 1", text)).item("apple 1")
    assert item == replace(Item("apple 1"), **known)


def test_heating_undoes_cooling_and_cleaning_stays() -> None:
    belief = told(
        ("clean mug 1 with sinkbasin 1", "You clean the mug 1 using the sinkbasin 1."),
        ("cool mug 1 with fridge 1", "You cool the mug 1 using the fridge 1."),
        ("heat mug 1 with microwave 1", "You heat the mug 1 using the microwave 1."),
    )
    assert belief.item("mug 1") == Item("mug 1", clean=True, heat="hot")


NAMES = st.sampled_from(
    ["desk 1", "drawer 2", "mug 1", "mug 12", "x 1", "sofa 999999", "", "desk", "a b 1", "désk 1", "\u202eksed 1"]
)
PIECES = st.sampled_from(
    [
        "You arrive at ",
        "On the ",
        ", you see ",
        "You are facing the ",
        ". Next to it, you see ",
        "You pick up the ",
        " from the ",
        "You move the ",
        " to the ",
        "You open the ",
        "The ",
        " is open. In it, you see ",
        " is closed.",
        "You are carrying: ",
        "This is a hot and ",
        "This is a normal ",
        ". ",
        "a ",
        ", and ",
        "Looking quickly around you, you see ",
        "Nothing happens.",
    ]
)
LIKELY = st.lists(st.one_of(PIECES, NAMES), max_size=12).map("".join)
ANY_TEXT = st.one_of(st.text(st.characters(), max_size=200), LIKELY)


@given(opening=ANY_TEXT, steps=st.lists(st.tuples(ANY_TEXT, ANY_TEXT, st.booleans()), max_size=6))
def test_any_text_gives_a_belief(opening: str, steps: list[tuple[str, str, bool]]) -> None:
    belief = begin(Observation(opening))
    for command, text, accepted in steps:
        before, plain = belief, asdict(belief)
        belief = update(belief, command, Observation(text, accepted))
        assert update(before, command, Observation(text, accepted)) == belief
        assert asdict(before) == plain, "an update changes nothing that was"
        hash(belief)
        assert len({one.name for one in belief.receptacles}) == len(belief.receptacles)
        assert len({one.name for one in belief.items}) == len(belief.items)
        assert belief.at is None or belief.is_here(belief.at)


@pytest.mark.parametrize(
    "text",
    [
        "You are facing the " + ", ".join(f"desk {number}" for number in range(20_000)) + ". Next to it, you see nothing.",
        "You arrive at desk 1. On the desk 1, you see " + "a mug 1, " * 200_000,
        "You pick up the " + "a" * 1_000_000,
        "This is a " + "hot and " * 100_000,
        "Looking quickly around you, you see " * 50_000,
        "a" * 60 + " " + "1" * 1_000_000,
    ],
    ids=["many receptacles", "long list", "long name", "many adjectives", "many openings", "long number"],
)
def test_huge_text_is_cut(text: str) -> None:
    belief = update(begin(Observation(text)), text, Observation(text))
    assert len(belief.receptacles) <= 2_001
    assert len(belief.items) <= 2_001


def test_kind_is_the_name_without_its_number() -> None:
    assert [kind(name) for name in ("drawer 12", "mug", "")] == ["drawer", "mug", ""]


def test_places_that_one_went_between_are_apart() -> None:
    belief = begin(Observation("Looking quickly around you, you see a bed 1, a desk 1, a drawer 1, and a shelf 1."))
    assert belief.is_elsewhere("bed 1")
    belief = update(belief, "go to desk 1", Observation("You arrive at desk 1. On the desk 1, you see nothing."))
    assert not belief.is_elsewhere("bed 1")
    belief = update(belief, "go to drawer 1", Observation("Nothing happens.", accepted=False))
    belief = update(belief, "go to bed 1", Observation("You arrive at bed 1. On the bed 1, you see nothing."))
    assert [belief.is_elsewhere(name) for name in ("desk 1", "drawer 1", "shelf 1", "bed 1", "sofa 1")] == [
        True,
        True,
        *[False] * 3,
    ]
    belief = update(belief, "look", Observation("You are facing the bed 1. Next to it, you see nothing."))
    assert belief.is_elsewhere("shelf 1")


@pytest.mark.heavy
def test_what_is_believed_to_be_elsewhere_is_elsewhere() -> None:
    for path in HOUSES:
        env = env_of(loaded(path))
        belief = begin(env.reset().observation)
        for command in any_commands(env, 7, 300):
            belief = update(belief, command, env.step(command).observation)
            here = hidden_of(env).here
            assert not any(belief.is_elsewhere(name) for name in here)
