"""Several players in one house of the native engine: alone nothing differs, and together nothing is doubled, lost or told."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from housequest.worlds.alfworld.engine.game import NOTHING, Game, load_game
from housequest.worlds.alfworld.engine.native import NativeEnv
from housequest.worlds.alfworld.engine.shared import SharedNative
from housequest.worlds.alfworld.houses.home import Home, days_of
from housequest.worlds.alfworld.text import HOUSEHOLD
from housequest.worlds.alfworld.world import AlfworldWorld
from housequest.worlds.base import Observation, Task
from housequest.worlds.shared import WAIT, Seat
from tests.worlds.alfworld import test_golden
from tests.worlds.alfworld.play import HOUSES, any_commands, env_of, hidden_of, loaded, name_of

PLAYERS = ("Ann", "Bob", "Cleo", "Dan")


def shared_house(game: Game, number: int) -> SharedNative:
    return SharedNative(Task("t", "alfworld", "x", 1, "", game.sentence), game, PLAYERS[:number])


def same_alone(game: Game, seed: int, steps: int) -> None:
    env, shared = env_of(game), shared_house(game, 1)
    seat = Seat(shared, "Ann")
    assert seat.reset().observation == env.reset().observation
    for command in any_commands(env, seed, steps):
        assert seat.step(command) == env.step(command), command
        assert shared.envs["Ann"].state == env.state
        assert seat.news() == ()
    assert (seat.admissible_commands(), seat.goal_conditions()) == (env.admissible_commands(), env.goal_conditions())


@pytest.mark.parametrize("path", HOUSES, ids=name_of)
def test_one_player_plays_the_game_of_before(path: Path) -> None:
    same_alone(loaded(path), 1, 120)


@given(seed=st.integers(0, 10**6))
def test_one_player_plays_the_game_of_before_in_any_made_up_house(seed: int) -> None:
    world = AlfworldWorld()
    task = world.task(f"generated:{seed % 50}")
    env = world.open(task)
    assert isinstance(env, NativeEnv)
    same_alone(env.game, seed, 60)


@pytest.mark.heavy
def test_one_player_plays_the_game_of_before_for_20000_steps() -> None:
    world = AlfworldWorld()
    for seed in range(200):
        env = world.open(world.task(f"household:{seed}:1" if seed % 10 == 0 else f"generated:{seed}"))
        assert isinstance(env, NativeEnv)
        same_alone(env.game, seed, 100)


@pytest.mark.parametrize("house", test_golden.HOUSES)
def test_one_player_is_told_what_the_reference_tells(house: str) -> None:
    lines = (test_golden.GOLDEN / "transcripts" / f"{house}.jsonl").read_text("utf-8").splitlines()
    opening, *steps = map(json.loads, lines)
    seat = Seat(shared_house(load_game(test_golden.GOLDEN / "houses" / f"{house}.json"), 1), "Ann")
    assert seat.reset().observation.text == opening["text"]
    for line in steps:
        step = seat.step(line["command"])
        assert (step.observation.text, step.won) == (line["text"], line["won"])


def wandering(shared: SharedNative, seed: int, steps: int) -> list[tuple[str, str]]:
    """Who does what, drawn one after the other while it is done; mostly where somebody stands, often at one place."""
    dice, done = Random(seed), list[tuple[str, str]]()
    shared.reset()
    for number in range(steps):
        player = shared.players[number % len(shared.players)]
        listed = shared.admissible_commands(player) or ()
        local = [one for one in listed if not one.startswith(("go to", "help", "look", "inventory"))]
        beside = [f"go to {shared.figure(dice.choice(shared.players)).at}"]
        command = dice.choice(local if dice.random() < 0.7 else beside if dice.random() < 0.5 else list(listed))
        done.append((player, command))
        shared.step(player, command)
    return done


def held_by(shared: SharedNative) -> dict[str, str | None]:
    return {player: hidden_of(env).held for player, env in shared.envs.items()}


@pytest.mark.heavy
@pytest.mark.parametrize("number", [2, 3, 4])
@pytest.mark.parametrize("path", HOUSES[::4], ids=name_of)
def test_nothing_is_in_two_places_or_lost(path: Path, number: int) -> None:
    shared = shared_house(loaded(path), number)
    done = wandering(shared, number, 200)
    shared.reset()
    once = Counter([thing for things in hidden_of(shared.envs["Ann"]).contents.values() for thing in things])
    for player, command in done:
        before = held_by(shared)
        shared.step(player, command)
        held, views = held_by(shared), [hidden_of(env) for env in shared.envs.values()]
        assert all(view.contents == views[0].contents and view.opened == views[0].opened for view in views)
        everything = Counter([thing for things in views[0].contents.values() for thing in things])
        everything.update(thing for thing in held.values() if thing)
        assert everything.keys() == once.keys()
        # Some houses have a thing in two places until somebody takes it.
        assert everything <= once
        for other in shared.players:
            if other != player and held[other] != before[other]:
                assert command == f"give {held[other]} to {other}"
                assert before[other] is None


def test_a_thing_that_a_published_game_has_in_two_places_is_taken_once() -> None:
    game = next(game for game in map(loaded, HOUSES) if _doubled(game))
    thing, (first, second) = next(iter(_doubled(game).items()))
    shared = shared_house(game, 2)
    shared.reset()
    for player, place in (("Ann", first), ("Bob", second)):
        shared.step(player, f"go to {place}")
        shared.step(player, f"open {place}")
    assert shared.step("Ann", f"take {thing} from {first}").observation.accepted
    assert not shared.step("Bob", f"take {thing} from {second}").observation.accepted
    assert thing not in shared.step("Bob", f"examine {second}").observation.text


def _doubled(game: Game) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for place, things in zip(game.receptacles, game.start.contents, strict=True):
        for thing in things:
            if thing in game.pickupable:
                found.setdefault(game.objects[thing], []).append(place)
    return {thing: places for thing, places in found.items() if len(places) == 2}


@pytest.mark.parametrize("number", [2, 3, 4])
def test_who_acts_first_has_it(number: int) -> None:
    shared = shared_house(loaded(HOUSES[0]), number)
    done = wandering(shared, 5, 150)
    shared.reset()
    contested = 0
    for player, command in done:
        before = shared.copy()
        answers = {one: before.copy().step(one, command).observation.accepted for one in shared.players}
        shared.step(player, command)
        if command.startswith("take") and sum(answers.values()) > 1:
            contested += 1
            assert not any(shared.copy().step(one, command).observation.accepted for one in shared.players)
    assert contested


def test_copies_go_their_own_ways_and_the_same_way_if_played_alike() -> None:
    shared = shared_house(loaded(HOUSES[1]), 3)
    done = wandering(shared, 8, 90)
    shared.reset()
    for player, command in done[:45]:
        shared.step(player, command)
    copy, states = shared.copy(), [env.state for env in shared.envs.values()]
    answers = [(copy.step(player, command), copy.news("Bob")) for player, command in done[45:]]
    assert [env.state for env in shared.envs.values()] == states
    assert [(shared.step(player, command), shared.news("Bob")) for player, command in done[45:]] == answers


# What is told.

_NEWS = re.compile(
    r"(?P<who>[A-Z][a-z]+) (?:stands (?:at the (?P<at>\S+ \d+)|in the middle of the room)"
    r" and carries (?:an? (?P<carried>\S+ \d+)|nothing)"
    r"|goes to the (?P<to>\S+ \d+)|(?P<left>goes out of sight)|(?P<deed>\S+ (?:up |on )?the \S+ \d+.*))\."
)


def truth(shared: SharedNative, rooms: dict[str, str]) -> dict[str, tuple[str, int, str | None]]:
    """The room, place and thing of each player, from the states."""
    found: dict[str, tuple[str, int, str | None]] = {}
    for player, env in shared.envs.items():
        state, game = env.state, env.game
        here = game.receptacles_at[state.place]
        held = None if state.held == NOTHING else game.objects[state.held]
        found[player] = rooms.get(game.receptacles[here[0]], "?") if here else "", state.place, held
    return found


@pytest.mark.heavy
@pytest.mark.parametrize("number", [2, 3, 4])
@pytest.mark.parametrize("reference", ["example:1", "generated:60001", "household:3:2", "household:8:1"])
def test_news_are_true_and_only_about_what_is_in_sight(reference: str, number: int) -> None:
    world = AlfworldWorld()
    shared = world.share(world.task(reference), PLAYERS[:number])
    assert isinstance(shared, SharedNative)
    game = shared.envs["Ann"].game
    home = days_of(reference.rpartition(":")[0])
    rooms = dict(home.home.room_of) if home else dict.fromkeys(game.receptacles, "")
    done, kinds = wandering(shared, number, 240), Counter[str]()
    shared.reset()
    for player, command in done:
        before, heard = truth(shared, rooms), {one: shared.news(one) for one in shared.players if one != player}
        heard[player] = ()
        answer = shared.step(player, command).observation
        after = truth(shared, rooms)
        for reader in shared.players:
            fresh = shared.news(reader)[len(heard[reader]) :]
            assert shared.news(reader)[: len(heard[reader])] == heard[reader]
            assert len(fresh) <= number - 1
            for sentence in fresh:
                found = _NEWS.fullmatch(sentence)
                assert found, sentence
                who = found["who"]
                assert who in shared.players
                assert who != reader
                kinds["left" if found["left"] else "deed" if found["deed"] else "to" if found["to"] else "stands"] += 1
                if found["left"]:
                    assert who == player
                    assert before[who][0] == before[reader][0] != after[who][0]
                    continue
                assert after[who][0] == after[reader][0], "it is in sight"
                place = found["at"] or found["to"]
                if place:
                    assert game.place_of[game.receptacles.index(place)] == after[who][1]
                if found["at"]:
                    assert found["carried"] == after[who][2]
                if found["deed"]:
                    assert who == player
                    assert before[who][1] == before[reader][1], "deeds are noticed at the same place"
                    # It names no more than the actor's own command did: never the contents of what was opened.
                    own = set(re.findall(r"\S+ \d+", command))
                    assert set(re.findall(r"\S+ \d+", sentence)) <= own
                assert "you see" not in sentence
        # Nothing that can be seen is kept back: whoever is in sight and moved or carries something else is told of.
        for reader in shared.players:
            if reader != player and before[reader][0] == before[player][0] and before[player] != after[player]:
                assert len(shared.news(reader)) > len(heard[reader]), (command, answer.text)
    assert kinds["stands"]
    assert kinds["to"]
    assert kinds["deed"]
    assert bool(kinds["left"]) == reference.startswith("household:")


def test_of_two_receptacles_at_one_place_news_name_the_one_that_somebody_went_to() -> None:
    world = AlfworldWorld()
    shared = world.share(world.task("chores:60054"), PLAYERS[:2])
    assert isinstance(shared, SharedNative)
    game = shared.envs["Ann"].game
    here = next(place for place in game.receptacles_at if len(place) > 1)
    shared.reset()
    for name in (game.receptacles[one] for one in here):
        shared.step("Bob", "wait")
        away = next(one for number, one in enumerate(game.receptacles) if number not in here)
        shared.step("Ann", f"go to {away}")
        shared.step("Bob", "wait")
        shared.step("Ann", f"go to {name}")
        shared.step("Ann", "go to nowhere 1")
        assert shared.news("Bob") == (f"Ann goes to the {name}.",)
        assert shared.figure("Ann").at == name
        others = [game.receptacles[one] for one in here if game.receptacles[one] != name]
        assert not shared.step("Ann", f"go to {others[0]}").observation.accepted
        assert shared.figure("Ann").at == name


def test_what_happens_in_another_room_changes_nothing_for_a_player() -> None:
    world, compared = AlfworldWorld(), 0
    for seed in range(4):
        shared, dice = world.share(world.task(f"household:{seed}:1"), ("Ann", "Bob")), Random(seed)
        assert isinstance(shared, SharedNative)
        shared.reset()
        rooms = Home(seed).room_of
        of = {room: [name for name, its in rooms.items() if its == room] for room in dict.fromkeys(rooms.values())}
        shared.step("Ann", f"go to {of['kitchen'][0]}")
        shared.step("Bob", f"go to {of['bedroom'][0]}")
        shared.step("Ann", WAIT)
        before = shared.admissible_commands("Ann")
        for _ in range(40):
            command = dice.choice(
                [one for one in shared.admissible_commands("Bob") or () if one.removeprefix("go to ") not in of["kitchen"]]
            )
            shared.step("Bob", command)
            assert (shared.news("Ann"), shared.admissible_commands("Ann")) == ((), before)
            compared += 1
    assert compared == 160


def test_no_sentence_of_news_is_read_as_an_answer() -> None:
    shared = shared_house(loaded(HOUSES[0]), 3)
    done = wandering(shared, 3, 150)
    belief = HOUSEHOLD.begin(shared.reset()["Ann"].observation)
    for player, command in done:
        shared.step(player, command)
        for sentence in shared.news("Ann"):
            assert HOUSEHOLD.update(belief, "look", Observation(sentence)) == belief


# Company's two commands.


def test_a_thing_is_given_at_the_same_place_to_a_free_hand() -> None:
    shared = shared_house(loaded(HOUSES[0]), 3)
    done = wandering(shared, 0, 0)
    assert done == []
    game = shared.envs["Ann"].game
    place = next(
        name
        for number, name in enumerate(game.receptacles)
        if number not in game.openable and sum(thing in game.pickupable for thing in game.start.contents[number]) > 1
    )
    for player in ("Ann", "Bob"):
        shared.step(player, f"go to {place}")
    takes = [one for one in shared.admissible_commands("Ann") or () if one.startswith("take ")]
    thing, other = (one.removeprefix("take ").partition(" from ")[0] for one in takes[:2])
    assert not any("give" in one for one in shared.admissible_commands("Ann") or ())
    assert not shared.step("Ann", f"give {thing} to Bob").observation.accepted
    shared.step("Ann", takes[0])
    assert [one for one in shared.admissible_commands("Ann") or () if one.startswith("give")] == [f"give {thing} to Bob"]
    for wrong in (f"give {thing} to Cleo", f"give {thing} to Ann", f"give {thing} to Zed", f"give {other} to Bob"):
        assert shared.step("Ann", wrong).observation == Observation("Nothing happens.", accepted=False)
    for player in ("Bob", "Cleo"):
        shared.step(player, WAIT)
    assert shared.step("Ann", f" give {thing} to Bob\n").observation.text == f"You give the {thing} to Bob."
    assert held_by(shared) == {"Ann": None, "Bob": thing, "Cleo": None}
    assert shared.news("Bob")[-1] == f"Ann gives the {thing} to you."
    # Cleo is elsewhere: it sees who carries what.
    assert [one.partition(" and carries ")[2].split()[-1].rstrip(".") for one in shared.news("Cleo")][-2:] == [
        "nothing",
        thing.rpartition(" ")[2],
    ]
    shared.step("Ann", takes[1])
    assert not shared.step("Ann", f"give {other} to Bob").observation.accepted, "its hand is full"
    ann = HOUSEHOLD.update(HOUSEHOLD.begin(Observation("")), "", Observation(f"You pick up the {thing} from the {place}."))
    assert HOUSEHOLD.update(ann, "", Observation(f"You give the {thing} to Bob.")).carried == ()


def test_there_is_no_wait_and_no_gift_for_one_alone() -> None:
    shared = shared_house(loaded(HOUSES[0]), 1)
    shared.reset()
    for command in (WAIT, "give mug 1 to Ann"):
        assert not shared.step("Ann", command).observation.accepted
        assert command not in (shared.admissible_commands("Ann") or ())


def test_waiting_changes_nothing_and_reads_the_news() -> None:
    shared = shared_house(loaded(HOUSES[0]), 2)
    shared.reset()
    states = [env.state for env in shared.envs.values()]
    assert shared.news("Ann")
    assert shared.news("Ann")
    assert shared.step("Ann", WAIT).observation == Observation("You wait.")
    assert [env.state for env in shared.envs.values()] == states
    assert shared.news("Ann") == ()
    assert shared.news("Bob")


def test_who_never_reads_its_news_keeps_the_latest() -> None:
    shared = shared_house(loaded(HOUSES[0]), 2)
    shared.reset()
    places: Sequence[str] = shared.envs["Ann"].game.receptacles
    for number in range(200):
        shared.step("Ann", f"go to {places[number % 2]}")
    assert len(shared.news("Bob")) == 50


def test_all_have_won_once_one_has() -> None:
    world = AlfworldWorld()
    task = next(task for task in (world.task(f"generated:{seed}") for seed in range(50)) if "light" in task.type)
    expert = world.expert()
    shared = world.share(task, ("Ann", "Bob"))
    step = shared.reset()["Bob"]
    memory = expert.begin(task.goal, step.observation)
    while not step.won:
        assert not shared.step("Ann", WAIT).won
        command, _, memory = expert.decide(memory)
        assert command
        step = shared.step("Bob", command)
        memory = expert.observe(memory, command, step.observation)
    assert shared.step("Ann", WAIT).won
    assert shared.goal_conditions() == (2, 2)


def test_a_situation_is_of_the_body_that_sits_there() -> None:
    world = AlfworldWorld()
    task = world.task("example:1")
    shared, room = world.share(task, ("Ann", "Bob")), world.room(task)
    shared.reset()
    shared.step("Bob", "go to fridge 1")
    ann, bob = (world.situation(Seat(shared, player), room) for player in ("Ann", "Bob"))
    assert ann and bob
    assert (ann.at, bob.at) == (None, "fridge 1")


def test_a_gift_that_was_refused_is_explained_by_what_was_seen() -> None:
    world = AlfworldWorld()
    shared = world.share(world.task("example:1"), PLAYERS[:3])
    ann = world.explained(Seat(shared, "Ann"))
    ann.reset()
    shared.step("Bob", "go to countertop 2")
    for command, why in (
        ("give egg 1 to Bob", "No 'egg 1' was seen so far."),
        ("go to countertop 2", None),
        ("take egg 1 from countertop 2", None),
        ("give egg 1 to Zed", "Nobody else called Zed is here, only Bob and Cleo."),
        ("give egg 1", "That is written `give OBJECT to NAME`, with the number of the object and the name Bob or Cleo."),
        ("give egg 1 to Cleo", "Things are given at the same place, and you see Cleo at none."),
        ("give egg 1 to bob", None),
        ("take spatula 1 from countertop 2", None),
        ("give spatula 1 to bob", "Bob has no free hand; it holds the egg 1."),
        ("give egg 1 to Bob", "You do not hold the egg 1; you hold the spatula 1."),
    ):
        assert ann.step(command).observation.explanation == why, command
