"""What the House shows: belief and nothing else, the present place first, what is new and what the goal names marked."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from housequest.agent.agents.spec import make_agent
from housequest.agent.episodes import events
from housequest.agent.episodes.config import EpisodeConfig
from housequest.agent.episodes.events import CallTiming, Event, with_beliefs
from housequest.agent.episodes.loop import run_episode
from housequest.tui.episode.house import HouseView, ObjectView, ReceptacleGroup, ReceptacleView, house_view
from housequest.tui.episode.state import EpisodeMoment, ViewState, apply, replayed
from housequest.worlds.paths import FORMAT
from housequest.worlds.registry import make_world

OPENING = (
    "You are in the middle of a room. Looking quickly around you, you see a cabinet 3, a cabinet 2, a cabinet 1, a drawer 1, "
    "a fridge 1, and a countertop 1.\n\nYour task is to: put a hot egg in countertop."
)


def started(goal: str = "put a hot egg in countertop.", world: str = "alfworld", opening: str = OPENING) -> events.Started:
    return events.Started(
        world=world, engine="native", task="t", split="example", number=1, type="heat", goal=goal, wording="template",
        agent="expert", max_turns=50, seed=0, opening=opening, format=FORMAT,
    )  # fmt: skip


def after(*turns: tuple[str, str], goal: str = "put a hot egg in countertop.") -> EpisodeMoment:
    """The moment after commands with what they were answered."""
    bodies: list[events.Body] = [started(goal)]
    for number, (command, answer) in enumerate(turns, start=1):
        refused = answer == "Nothing happens."
        bodies.append(events.Stepped(turn=number, command=command, observation=answer, accepted=not refused))
    chain = (Event(id=number, parent=number - 1 if number else None, body=body) for number, body in enumerate(bodies))
    return replayed(with_beliefs(chain)).moment


def shown(moment: EpisodeMoment) -> HouseView:
    house = house_view(moment)
    assert house is not None
    return house


ARRIVE = ("go to countertop 1", "You arrive at countertop 1. On the countertop 1, you see a egg 2, a cup 1, and a egg 1.")
TAKE = ("take egg 1 from countertop 1", "You pick up the egg 1 from the countertop 1.")
FRIDGE = ("go to fridge 1", "You arrive at fridge 1. The fridge 1 is closed.")
OPEN = ("open fridge 1", "You open the fridge 1. The fridge 1 is open. In it, you see nothing.")


def test_nothing_is_known_before_a_game_and_where_no_belief_reads() -> None:
    assert house_view(EpisodeMoment()) is None
    assert house_view(apply(ViewState(), Event(id=0, body=started(world="scripted"))).moment) is None


def test_the_opening_is_folded_by_kind() -> None:
    house = shown(after())
    assert house.rest == {
        "not visited": (
            ReceptacleGroup("cabinet", ("1-3",)),
            ReceptacleGroup("drawer", ("1",)),
            ReceptacleGroup("fridge", ("1",)),
            ReceptacleGroup("countertop", ("1",), wanted=True),
        ),
    }
    assert (house.held, house.hand_changed, house.here, house.known) == ((), False, (), ())


def test_the_present_place_tells_what_is_new_and_what_the_goal_names_first() -> None:
    house = shown(after(ARRIVE))
    eggs = (ObjectView("egg 1", new=True, wanted=True), ObjectView("egg 2", new=True, wanted=True))
    assert house.here == (ReceptacleView("countertop 1", things=(*eggs, ObjectView("cup 1", new=True)), new=True, wanted=True),)
    again = shown(after(ARRIVE, ("look", "Nothing happens.")))
    assert [thing.new for place in again.here for thing in place.things] == [False] * 3
    assert not again.here[0].new


def test_what_was_left_keeps_its_place_below() -> None:
    house = shown(after(ARRIVE, TAKE, FRIDGE))
    assert house.held == (ObjectView("egg 1", wanted=True),)
    assert not house.hand_changed
    assert house.here == (ReceptacleView("fridge 1", "closed", new=True),)
    assert house.known == (
        ReceptacleView("countertop 1", things=(ObjectView("egg 2", wanted=True), ObjectView("cup 1")), wanted=True),
    )
    assert shown(after(ARRIVE, TAKE)).hand_changed


def test_open_closed_and_empty_are_told_apart() -> None:
    house = shown(after(FRIDGE, OPEN))
    assert house.here == (ReceptacleView("fridge 1", "open, empty", new=True),)
    drawer = ("go to drawer 1", "You arrive at drawer 1. The drawer 1 is closed.")
    cabinet = ("go to cabinet 2", "You arrive at cabinet 2. On the cabinet 2, you see nothing.")
    house = shown(after(FRIDGE, OPEN, drawer, cabinet, ARRIVE))
    assert [(state, [(row.kind, row.numbers) for row in rows]) for state, rows in house.rest.items()] == [
        ("empty", [("cabinet", ("2",))]),
        ("open, empty", [("fridge", ("1",))]),
        ("closed", [("drawer", ("1",))]),
        ("not visited", [("cabinet", ("1", "3"))]),
    ]


def test_what_was_done_to_a_thing_is_told_and_new_once() -> None:
    heat = ("heat egg 1 with microwave 1", "You heat the egg 1 using the microwave 1.")
    assert shown(after(ARRIVE, TAKE, heat)).held == (ObjectView("egg 1", ("hot",), new=True, wanted=True),)
    assert shown(after(ARRIVE, TAKE, heat, ("inventory", "You are carrying: a egg 1."))).held == (
        ObjectView("egg 1", ("hot",), wanted=True),
    )
    clean = ("examine cup 1", "This is a cool and clean cup 1.")
    lamp = ("use desklamp 1", "You turn on the desklamp 1.")
    inside = ("examine cup 1", "This is a normal cup 1. In it, you see a fork 3.")
    house = shown(after(ARRIVE, clean, lamp, inside))
    cup = next(thing for thing in house.here[0].things if thing.name == "cup 1")
    assert cup.known == ("cool", "clean", "holds fork 3")
    assert house.stray == (ObjectView("desklamp 1", ("on",)),)


def test_an_unreadable_turn_makes_nothing_new() -> None:
    step = events.Stepped(turn=1, command=ARRIVE[0], observation=ARRIVE[1], accepted=True)
    told = Event(id=0, body=started()), Event(id=1, parent=0, body=step), Event(id=2, parent=1, body=events.TurnSpent(turn=2))
    moment = replayed(with_beliefs(told)).moment
    assert not any(thing.new for place in shown(moment).here for thing in place.things)

    house = shown(after(goal="leave all cabinets alone"))
    assert [row.kind for rows in house.rest.values() for row in rows if row.wanted] == ["cabinet"]


def names(house: HouseView) -> Iterator[str]:
    """Every receptacle that a house shows, ranges written out."""
    for place in (*house.here, *house.known):
        yield place.name
    for rows in house.rest.values():
        for row in rows:
            for number in row.numbers:
                first, _, last = number.partition("-")
                for one in range(int(first), int(last or first) + 1):
                    yield f"{row.kind} {one}"


@pytest.mark.parametrize("seed", [2, 11, 690])
def test_a_real_game_shows_each_receptacle_once_and_only_what_was_told(seed: int) -> None:
    live: list[Event] = []

    def listen(event: Event | CallTiming) -> None:
        if isinstance(event, Event):
            live.append(event)

    world = make_world("alfworld")
    env = world.open(world.task(f"generated:{seed}"))
    asyncio.run(run_episode(env, make_agent("expert", world=world), EpisodeConfig(world), listen))
    state, text = ViewState(), ""
    for event in live:
        state = apply(state, event)
        if isinstance(event.body, events.Started):
            text = event.body.opening.partition("Your task is to:")[0]
        elif isinstance(event.body, events.Stepped):
            text += event.body.observation
        house, belief = shown(state.moment), state.moment.belief
        assert belief is not None
        assert sorted(names(house)) == sorted(one.name for one in belief.receptacles)
        assert [place.name for place in house.here][:1] == ([belief.at] if belief.at else [])
        things = [thing for place in (*house.here, *house.known) for thing in place.things]
        held = list(house.held)
        assert {thing.name for thing in (*things, *house.stray, *held)} <= {item.name for item in belief.items}
        for thing in (*things, *house.stray, *held):
            assert thing.name in text
        assert sorted(thing.name for thing in things) == sorted(
            name for one in belief.receptacles for name in belief.inside(one)
        )
    assert any(thing.wanted for place in shown(state.moment).here for thing in place.things)


@given(st.text(max_size=100), st.text(max_size=200), st.text(max_size=40), st.text(max_size=200))
def test_any_texts_give_a_house(goal: str, opening: str, command: str, answer: str) -> None:
    first = Event(id=0, body=started(goal, opening=f"Looking quickly around you, you see {opening}. a cabinet 1."))
    step = events.Stepped(turn=1, command=command, observation=answer, accepted=True)
    assert house_view(replayed(with_beliefs((first, Event(id=1, parent=0, body=step)))).moment) is not None
