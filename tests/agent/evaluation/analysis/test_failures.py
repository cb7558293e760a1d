"""Why episodes were lost: each class on real houses, and one class for whatever events there are."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from housequest.agent.base import Decision, GiveUp, Leave, ParseFailure
from housequest.agent.episodes.emitter import FILLED
from housequest.agent.episodes.events import Body, Ended, Event, Outcome, Started, Stepped, TurnSpent
from housequest.agent.evaluation.analysis.failures import PATIENCE, Failure, FailureKind, failure_of
from housequest.agent.skills.controller import Controller, Execute
from housequest.worlds.alfworld.engine.native import NativeEnv
from housequest.worlds.alfworld.houses.house import House
from housequest.worlds.base import Step, Transition
from housequest.worlds.env import Wrapper
from housequest.worlds.errors import Boundary, WorldError
from housequest.worlds.household.base import BelievingEnv
from housequest.worlds.household.goals import GoalForm, Skill
from housequest.worlds.registry import make_world
from tests.agent.evaluation.runs.losing import env_of, house_of, lived
from tests.parts import needs

UNREAD = ParseFailure("actor", "no command in it")
TREATED: tuple[GoalForm, ...] = ("clean", "heat", "cool")


def lost(
    house: House, decisions: Sequence[Decision | str], *, turns: int | None = None, idle: str = "look", goal: str | None = None
) -> Failure:
    found = failure_of(lived(env_of(house, goal), decisions, turns=turns, idle=idle))
    assert found is not None
    return found


def at(house: House, commands: Sequence[str]) -> NativeEnv:
    """An env in which the commands were executed."""
    env = env_of(house)
    env.reset()
    for command in commands:
        assert env.step(command).observation.accepted
    return env


def admissible(house: House, commands: Sequence[str], start: str, without: str = "\0") -> str:
    """The first command of this beginning that is possible after ``commands``, and does not name ``without``."""
    listed = at(house, commands).admissible_commands()
    return next(command for command in listed if command.startswith(start) and without not in command)


def elsewhere(house: House, commands: Sequence[str], thing: str) -> list[str]:
    """Where the thing in the hand can be put, of another kind than the goal's: the way there, and the putting."""
    for one in house.game.receptacles:
        if one.startswith(f"{house.goal.receptacle} "):
            continue
        for way in ([f"go to {one}"], [f"go to {one}", f"open {one}"], []):
            env = at(house, commands)
            if all(env.step(command).observation.accepted for command in way):
                put = f"move {thing} to {one}"
                if put in env.admissible_commands():
                    return [*way, put]
    raise AssertionError("nothing else takes it")


def without(house: House, verb: str) -> list[str]:
    return [command for command in house.plan if not command.startswith(verb)]


def until(house: House, verb: str) -> list[str]:
    """The way to win as far as its last command with this verb, which is left out."""
    last = max(number for number, command in enumerate(house.plan) if command.startswith(f"{verb} "))
    return list(house.plan[:last])


def taken(house: House) -> str:
    """The object that the way to win takes last."""
    return next(command for command in reversed(house.plan) if command.startswith("take ")).split(" from ")[0][5:]


def test_every_class_has_its_words() -> None:
    assert set(get_args(Boundary)) <= set(FailureKind)


def test_what_was_won_or_has_not_ended_has_no_class() -> None:
    house = house_of("place")
    events = lived(env_of(house), house.plan)
    assert failure_of(events) is None
    assert failure_of(events[:-1]) is None
    assert failure_of([]) is None


def test_never_found_the_object() -> None:
    house = house_of("place")
    place = next(command for command in at(house, []).admissible_commands() if command.startswith("go to "))
    found = lost(house, [place, "look", "inventory"])
    assert found.kind == "not_found"
    assert found.turn == 3
    assert f"No {house.goal.object} was seen in 3 turns" in found.words


def test_one_of_two_was_never_found() -> None:
    for number in range(20):
        house = house_of("two", number)
        first = next(n for n, command in enumerate(house.plan) if command.startswith("move ")) + 1
        found = lost(house, house.plan[:first])
        if found.kind == "not_found":
            assert f"Only one {house.goal.object}" in found.words
            return
    raise AssertionError("in twenty houses both lay together")


@pytest.mark.parametrize("form", [*TREATED, "place"])
def test_the_wrong_object_was_delivered(form: GoalForm) -> None:
    for number in range(30):
        house = house_of(form, number)
        goal = next(one for one in house.game.receptacles if one.startswith(f"{house.goal.receptacle} "))
        for one in house.game.receptacles:
            env = env_of(house)
            env.reset()
            walk = [f"go to {one}", *([f"open {one}"] if f"open {one}" in _after(env, f"go to {one}") else [])]
            listed = at(house, walk).admissible_commands() if _goes(house, walk) else ()
            for take in (command for command in listed if command.startswith("take ") and house.goal.object not in command):
                thing = take.split(" from ")[0][5:]
                walked = [*walk, take, f"go to {goal}"]
                if not _goes(house, walked):
                    continue
                put = f"move {thing} to {goal}"
                if put in at(house, walked).admissible_commands():
                    found = lost(house, [*walked, put])
                    assert found.kind == "wrong_object"
                    assert found.turn == walked.index(take) + 1
                    assert found.words.lower().startswith(thing)
                    return
    raise AssertionError("no house where anything else can be delivered")


def _after(env: NativeEnv, command: str) -> tuple[str, ...]:
    env.step(command)
    return env.admissible_commands()


def _goes(house: House, commands: Sequence[str]) -> bool:
    env = env_of(house)
    env.reset()
    return all(env.step(command).observation.accepted for command in commands)


def test_a_hand_that_was_long_full_of_something_else_is_the_wrong_object_too() -> None:
    for number in range(30):
        house = house_of("place", number)
        way = until(house, "take")
        listed = at(house, way).admissible_commands()
        other = [one for one in listed if one.startswith("take ") and house.goal.object not in one]
        if other:
            walk = [f"go to {one}" for one in house.game.receptacles[:PATIENCE]]
            found = lost(house, [*way, other[0], *walk])
            assert found.kind == "wrong_object"
            assert found.turn == len(way) + 1
            return
    raise AssertionError("nothing lies beside what is sought")


@pytest.mark.parametrize("form", TREATED)
def test_a_step_was_forgotten(form: GoalForm) -> None:
    house = house_of(form)
    found = lost(house, without(house, form), turns=20)
    assert found.kind == f"forgot_{form}"
    assert found.turn == len(house.plan) - 1
    assert "never" in found.words
    assert taken(house) in found.words.lower()


def test_what_is_long_in_the_hand_and_never_heated_was_forgotten_too() -> None:
    house = house_of("heat")
    way = [*until(house, "take"), house.plan[len(until(house, "take"))]]
    places = [f"go to {one}" for one in house.game.receptacles[:PATIENCE]]
    found = lost(house, [*way, *places])
    assert found.kind == "forgot_heat"
    assert found.turn == len(way)
    assert lost(house, [*way, *places[:2]]).kind == "out_of_turns"


@pytest.mark.heavy
def test_the_light_was_forgotten() -> None:
    house = house_of("light")
    found = lost(house, [*until(house, "use"), "look", "inventory", "help"])
    assert found.kind == "forgot_light"
    assert found.turn == len(until(house, "use"))


@pytest.mark.parametrize("form", ["place", *TREATED])
def test_it_was_put_in_the_wrong_place(form: GoalForm) -> None:
    house = house_of(form)
    way = until(house, "move")
    astray = elsewhere(house, way, taken(house))
    found = lost(house, [*way, *astray], turns=60)
    assert found.kind == "wrong_place"
    assert found.turn == len(way) + len(astray)
    assert str(house.goal.receptacle) in found.words


def test_a_wrong_place_that_refused_it_is_one_too() -> None:
    house = house_of("place")
    way = until(house, "move")
    found = lost(house, [*way, f"move {taken(house)} to ceiling 1"], turns=40)
    assert found.kind == "wrong_place"
    assert found.turn == len(way) + 1


def test_two_in_two_places_are_in_the_wrong_place() -> None:
    for number in range(60):
        house = house_of("two", number)
        way = until(house, "move")
        used = house.plan[len(way)].rpartition(" to ")[2]
        others = [one for one in house.game.receptacles if one.startswith(f"{house.goal.receptacle} ") and one != used]
        for other in others:
            walk = [f"go to {other}", *([f"open {other}"] if _goes(house, [*way, f"go to {other}", f"open {other}"]) else [])]
            commands = [*way, *walk, f"move {taken(house)} to {other}"]
            if _goes(house, commands):
                found = lost(house, commands)
                assert found.kind == "wrong_place"
                assert found.turn == len(commands)
                assert "belong together" in found.words
                return
    raise AssertionError("no house with two such places")


def test_gave_up() -> None:
    house = house_of("place")
    found = lost(house, ["look", "inventory", GiveUp("I cannot\x1b[31m see it")], turns=50)
    assert found.kind == "gave_up"
    assert found.turn == 2
    assert "cannot\\x1b[31m see it" in found.words


@pytest.mark.parametrize("idle", ["look", "dance wildly"])
def test_looped(idle: str) -> None:
    house = house_of("place")
    way = until(house, "move")
    found = lost(house, way, turns=50, idle=idle)
    assert found.kind == "looped"
    assert found.turn == len(way) + 2
    assert idle in found.words


def test_a_house_that_was_searched_in_vain_is_no_loop() -> None:
    house = house_of("place")
    goal = f"put a {house.goal.object} in {house.goal.receptacle}."
    other = next(kind for kind in ("egg", "vase", "plunger") if not any(kind in one for one in house.game.objects))
    looked: list[str] = []
    for one in house.game.receptacles:
        looked += [f"go to {one}", f"open {one}", f"examine {one}"]
    found = lost(house, looked, turns=len(looked) + 40, goal=goal.replace(house.goal.object, other))
    assert found.kind == "not_found"
    assert "every place was looked into" in found.words


@pytest.mark.heavy
@pytest.mark.parametrize("form", ["place", *TREATED, "two", "light"])
def test_ran_out_of_turns_on_the_way(form: GoalForm) -> None:
    house = house_of(form)
    cut = len(until(house, "take")) + 1 if form != "light" else len(until(house, "take"))
    found = lost(house, house.plan[:cut])
    assert found.kind in ("out_of_turns", "not_found")
    assert found.turn == cut
    found = lost(house_of("place"), house_of("place").plan[:-1])
    assert found.kind == "out_of_turns"
    assert "was in the hand" in found.words


def test_replies_that_could_not_be_read() -> None:
    house = house_of("heat")
    found = lost(house, ["look", UNREAD, "inventory", UNREAD, UNREAD])
    assert found.kind == "unreadable"
    assert found.turn == 2
    assert "3 of the 5 turns" in found.words
    # A few of them do not hide what was done.
    assert lost(house, [UNREAD, *without(house, "heat")]).kind == "forgot_heat"


def test_a_model_that_failed_after_unreadable_replies_was_unreadable_only_if_they_filled_its_context() -> None:
    def ended(decisions: Sequence[Decision | str], **how: str) -> Failure:
        *events, last = lived(env_of(house_of("heat")), decisions, turns=len(decisions))
        assert isinstance(last.body, Ended)
        found = failure_of([*events, last.model_copy(update={"body": last.body.model_copy(update=how)})])
        assert found is not None
        return found

    filled = ended([UNREAD, UNREAD, "look", "look", "look"], outcome="lost", reason=FILLED)
    assert filled.kind == "unreadable"
    assert "2 of the 5 turns, and such replies filled" in filled.words
    assert ended([UNREAD], outcome="error", reason="an error", boundary="model", message="It is gone.").kind == "model"


def test_what_a_person_stopped_is_called_so() -> None:
    assert lost(house_of("place"), ["look", Leave("the player left")], turns=50).kind == "stopped"


def test_a_goal_in_peoples_words_is_guessed_where_it_can_be_and_the_guess_is_told() -> None:
    house = house_of("heat")
    words = f"warm up the {house.goal.object} and leave it on the {house.goal.receptacle}"
    found = lost(house, without(house, "heat"), goal=words)
    assert found.kind == "forgot_heat"
    assert found.words.endswith(f"(The goal was guessed: {house.goal}.)")


def test_a_goal_that_cannot_be_read_leaves_what_its_type_tells() -> None:
    house = house_of("heat")
    found = lost(house, without(house, "heat"), goal="make it nice and cosy in here")
    assert found.kind == "forgot_heat"
    assert "guessed" not in found.words
    found = lost(house_of("place"), ["look", "inventory"], goal="make it nice and cosy in here")
    assert found.kind == "out_of_turns"
    assert "0 of 1 goal condition held" in found.words


@needs("graphs")
def test_of_a_goal_of_several_things_it_says_what_was_never_seen() -> None:
    world = make_world("household-graph")
    found = failure_of(lived(world.open(world.task("generated:2")), ["look", "inventory"], turns=2))
    assert found is not None
    assert found.kind == "not_found"
    assert found.words.startswith("No coffeepot and no cupcake and no juice and no kitchentable")


def by_skills(task: str, *skills: Skill) -> list[str]:
    """The commands that carry out ``skills`` in a household graph."""
    world = make_world("household-graph")
    assert world.household is not None
    env, controller = BelievingEnv(world.open(world.task(task)), world.household), Controller(world.household)
    state = controller.begin(env.reset().observation, env.task.goal)
    commands: list[str] = []
    for skill in skills:
        state = controller.start(state, skill)
        while isinstance(outcome := (found := controller.next(state))[0], Execute):
            commands.append(outcome.command)
            state = controller.observe(found[1], (Transition(outcome.command, env.step(outcome.command).observation),))
        state = found[1]
    return commands


@needs("graphs")
@pytest.mark.parametrize(
    ("taken", "place", "kind", "words"),
    [
        ("plate", "sofa", "wrong_place", "it belongs in a kitchentable."),
        ("towel", "kitchentable", "wrong_object", "the task is about a plate."),
        ("plate", "kitchentable", "out_of_turns", "1 of 2 goal conditions held, and still to come: 1 wineglass."),
    ],
)
def test_of_a_goal_of_several_things_it_says_what_went_astray(taken: str, place: str, kind: str, words: str) -> None:
    world = make_world("household-graph")
    look = [Skill("find", one) for one in ("plate", "wineglass", "kitchentable")]
    commands = by_skills("example:1", *look, Skill("find", taken), Skill("pick", taken), Skill("put", taken, place))
    found = failure_of(lived(world.open(world.task("example:1")), commands, turns=len(commands)))
    assert found is not None
    assert (found.kind, found.words[-len(words) :]) == (kind, words)


def test_a_world_whose_texts_nothing_reads_is_classed_by_the_way_it_ended() -> None:
    world = make_world("scripted")
    assert _kind(lived(world.open(world.task("demo:1")), ["go to study", "take key", "go to hall"])) == "out_of_turns"
    assert _kind(lived(world.open(world.task("demo:1")), [], turns=30)) == "looped"
    assert _kind(lived(world.open(world.task("demo:1")), [GiveUp("no")])) == "gave_up"


@pytest.mark.parametrize("boundary", get_args(Boundary))
def test_what_broke_names_its_boundary(boundary: Boundary) -> None:
    ended = _ended("error", boundary=boundary, message="it broke\nin two")
    found = failure_of([Event(id=0, body=ended)])
    assert found == Failure(FailureKind(boundary), 3, "It broke\\nin two.")


class _Falling(Wrapper):
    """A world that breaks in the midst of a game."""

    def step(self, command: str) -> Step:
        raise WorldError("the roof fell in")


def test_a_world_that_breaks_in_the_midst_of_a_game_is_named() -> None:
    found = failure_of(lived(_Falling(env_of(house_of("place"))), ["look"]))
    assert found is not None
    assert (found.kind, found.words) == ("world", "The roof fell in.")


def test_the_branch_that_was_played_on_counts() -> None:
    events = lived(env_of(house_of("place")), ["look", "inventory", "help"])
    stepped = [event for event in events if isinstance(event.body, Stepped)]
    ended = Event(id=len(events), parent=stepped[0].id, body=_ended("lost", turns=1, reason="gave up: enough"))
    found = failure_of([*events, ended])
    assert found is not None
    assert (found.kind, found.turn) == ("gave_up", 1)


def _kind(events: Sequence[Event]) -> FailureKind | None:
    found = failure_of(events)
    return found.kind if found else None


def _ended(
    outcome: Outcome,
    *,
    turns: int = 3,
    reason: str = "out of turns",
    boundary: Boundary | None = None,
    message: str | None = None,
) -> Ended:
    return Ended(outcome=outcome, reason=reason, turns=turns, steps=turns, refused=0, boundary=boundary, message=message)


_texts = st.one_of(
    st.text(max_size=40),
    st.sampled_from(
        (
            "You pick up the egg 1 from the fridge 1.",
            "You move the egg 1 to the countertop 1.",
            "You move the mug 2 to the countertop 1.",
            "You heat the egg 1 using the microwave 1.",
            "You arrive at fridge 1. The fridge 1 is closed.",
            "You open the fridge 1. The fridge 1 is open. In it, you see a egg 1, and a mug 2.",
            "You arrive at desk 1. On the desk 1, you see a desklamp 1, and a egg 2.",
            "You turn on the desklamp 1.",
            "You turn off the desklamp 1.",
            "You pick up the egg 2 from the desk 1.",
            "You pick up the mug 2 from the fridge 1.",
            "You are not carrying anything.",
            "You are carrying: a egg 1.",
            "Nothing happens.",
        )
    ),
)
_goals = st.one_of(
    st.text(max_size=60),
    st.sampled_from(
        (
            "heat some egg and put it in countertop.",
            "put two egg in countertop.",
            "put a egg in desk.",
            "look at egg under the desklamp.",
            "warm an egg and leave it on the counter",
        )
    ),
)
_commands = st.one_of(st.text(max_size=30), st.sampled_from(("look", "move egg 1 to desk 1", "heat egg 1 with fridge 1")))
_steps = st.builds(
    Stepped, turn=st.integers(-3, 60), command=_commands, observation=_texts, accepted=st.booleans(), won=st.just(False)
)
_started = st.builds(
    Started,
    world=st.sampled_from(("alfworld", "scripted", "elsewhere")),
    engine=st.just("native 1"),
    task=st.text(max_size=5),
    split=st.just("train"),
    number=st.just(1),
    type=st.sampled_from(("pick_heat_then_place_in_recep", "pick_two_obj_and_place", "look_at_obj_in_light", "", "odd")),
    goal=_goals,
    wording=st.just("template"),
    agent=st.just("react"),
    max_turns=st.integers(0, 60),
    seed=st.just(0),
    opening=st.sampled_from(("", "Looking quickly around you, you see a countertop 1, a desk 1, and a fridge 1.")),
)
_ends = st.builds(
    Ended,
    outcome=st.sampled_from(("lost", "stopped", "error")),
    reason=st.one_of(st.text(max_size=20), st.sampled_from(("gave up: no", "out of turns (50)"))),
    turns=st.integers(-2, 60),
    steps=st.integers(0, 60),
    refused=st.integers(0, 60),
    boundary=st.sampled_from((None, *get_args(Boundary))),
    message=st.one_of(st.none(), st.text(max_size=20)),
)


@pytest.mark.heavy
@given(
    started=st.lists(_started, max_size=2),
    middle=st.lists(st.one_of(_steps, st.builds(TurnSpent, turn=st.integers(0, 60))), max_size=30),
    ended=_ends,
    parents=st.lists(st.integers(-3, 40), max_size=5),
)
@settings(max_examples=300)
def test_any_lost_events_have_exactly_one_class(
    started: list[Started], middle: list[Stepped | TurnSpent], ended: Ended, parents: list[int]
) -> None:
    bodies: list[Body] = [*started, *middle, ended]
    chain = [Event(id=n, parent=n - 1 if n else None, body=body) for n, body in enumerate(bodies)]
    astray = [replace_parent(event, parents[n]) if n < len(parents) else event for n, event in enumerate(chain)]
    for events in (chain, astray):
        found = failure_of(events)
        assert found is not None
        assert found.kind in FailureKind
        assert found.label
        assert found.words.strip()
        assert found.turn >= 0 or any(body.turn < 0 for body in middle) or ended.turns < 0
        assert failure_of(events) == found


def replace_parent(event: Event, parent: int) -> Event:
    return event.model_copy(update={"parent": parent})


def test_random_walks_have_one_class_each() -> None:
    kinds: set[FailureKind] = set()
    for number in range(20):
        house = house_of("place" if number % 2 else "heat", number // 2)
        dice, env = random.Random(number), env_of(house)
        env.reset()
        walk: list[str] = []
        for _ in range(30):
            walk.append(dice.choice(env.admissible_commands()))
            if env.step(walk[-1]).done:
                break
        found = failure_of(lived(env_of(house), walk))
        if found:
            kinds.add(found.kind)
    assert kinds
    assert kinds <= set(FailureKind) - {"unknown", "stopped", "unreadable", *get_args(Boundary)}
