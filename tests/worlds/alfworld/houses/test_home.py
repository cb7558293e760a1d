"""Homes: the same every time, habits as promised, days that can be won, and figures between a floor and a ceiling."""

from __future__ import annotations

import hashlib
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from housequest.worlds.alfworld.engine.game import Game
from housequest.worlds.alfworld.expert import HouseholdExpert
from housequest.worlds.alfworld.houses.home import DAYS, FAMILIES, SHARES, STRAY, Home, days_of
from housequest.worlds.alfworld.houses.house import OwnHabits
from housequest.worlds.alfworld.text import load_counts
from housequest.worlds.alfworld.world import AlfworldWorld
from housequest.worlds.base import HasHomes, Policy, Task, World
from housequest.worlds.errors import ConfigurationError, TaskNotFound
from housequest.worlds.household.belief import kind
from housequest.worlds.household.goals import APPLIANCES
from housequest.worlds.registry import make_world
from housequest.worlds.tasks import as_splits, covers


@pytest.fixture(scope="module")
def world() -> World:
    return make_world("alfworld")


def lying_in(game: Game) -> list[tuple[str, str]]:
    """Each thing of a game with the receptacle in which it lies at the start."""
    held = zip(game.receptacles, game.start.contents, strict=True)
    return [(game.objects[thing], name) for name, contents in held for thing in contents]


def test_a_home_is_the_same_everywhere() -> None:
    """A digest over a home's habits and two of its days, recorded once."""
    home = Home(7)
    text = "".join((repr(home.habits), home.day(1).problem, home.day(12).problem))
    assert hashlib.sha256(text.encode()).hexdigest()[:16] == "f14f1e4ea23270bb"


@pytest.mark.parametrize("light", [False, True])
@pytest.mark.parametrize("seed", [0, 1000])
def test_habits_are_as_described(seed: int, light: bool) -> None:
    home = Home(seed, light=light)
    there = {name for day in (home.day(1), home.day(2)) for name in day.game.receptacles}
    for places in home.habits.values():
        assert tuple(places.values()) in SHARES
        assert places.keys() <= there
    for thing in home.habits:
        assert sum(home.chance(thing, place) for place in there) == pytest.approx(1.0)
    assert home.day(1).game.receptacles == home.day(40).game.receptacles


def test_half_of_the_kinds_lie_where_they_seldom_do() -> None:
    counts, odd, number = load_counts(), 0, 0
    for home in map(Home, range(1000, 1010)):
        for thing, places in home.habits.items():
            seen = Counter[str]()
            for room in counts.rooms.values():
                if thing in room.objects:
                    seen.update({place: one.instances for place, one in room.objects[thing].places.items()})
            shares = [seen[kind(place)] / seen.total() for place in places]
            odd, number = odd + all(share < 0.05 for share in shares), number + 1
    assert 0.35 < odd / number < 0.6


def test_things_lie_by_habit() -> None:
    home = Home(1003)
    lying, number = 0, 0
    for day in range(1, 31):
        for thing, holder in lying_in(home.day(day).game):
            if kind(thing) in home.habits:
                lying, number = lying + (holder in home.habits[kind(thing)]), number + 1
    assert number > 1_000
    assert abs(lying / number - (1 - STRAY)) < 0.05


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 2**40), st.integers(1, DAYS), st.booleans())
def test_a_day_can_be_won_and_is_not_won_at_the_start(seed: int, day: int, light: bool) -> None:
    house = Home(seed, light=light).day(day)
    game, goal = house.game, house.goal
    assert house.plan
    kinds = {kind(name) for name in game.receptacles}
    assert goal.receptacle is None or goal.receptacle in kinds
    assert goal.treatment is None or APPLIANCES[goal.treatment] in kinds
    if goal.treatment is None and goal.receptacle:
        assert all((kind(thing), kind(place)) != (goal.object, goal.receptacle) for thing, place in lying_in(game))


def test_days_are_tasks(world: World) -> None:
    days = world.tasks("household:7")
    assert len(days) == DAYS
    twelfth = days[11]
    assert (twelfth.id, twelfth.split, twelfth.number) == ("household:7/day:12", "household:7", 12)
    assert world.task("household:7/day:12") == world.task("household:7:12") == twelfth
    assert world.fingerprint("household:7") != world.fingerprint("household:8") != world.fingerprint("household-light:8")
    assert world.open(twelfth).reset().observation.text.endswith(twelfth.goal)
    for none in ("household:7/day:0", f"household:7/day:{DAYS + 1}", "household:x/day:1", "household:7/night:1"):
        with pytest.raises(TaskNotFound):
            world.task(none)
    assert days_of("household") is days_of("generated:7") is None
    with pytest.raises(ConfigurationError, match="no day 0"):
        Home(7).day(0)


def outcome(world: World, policy: Policy, task: Task, limit: int) -> tuple[bool, int]:
    """Play a day: won, and the steps, of which a lost game counts the limit."""
    env = world.open(task)
    step = env.reset()
    memory = policy.begin(task.goal, step.observation)
    for number in range(1, limit + 1):
        command, _, memory = policy.decide(memory)
        if command is None:
            break
        step = env.step(command)
        memory = policy.observe(memory, command, step.observation)
        if step.won:
            return True, number
    return False, limit


@pytest.mark.heavy
def test_who_knows_the_habits_wins_where_others_do_not(world: World) -> None:
    assert isinstance(world, AlfworldWorld)
    won, steps = Counter[str](), Counter[str]()
    for seed in range(1000, 1004):
        split = f"{FAMILIES[0]}:{seed}"
        players = {"floor": HouseholdExpert(load_counts()), "ceiling": HouseholdExpert(load_counts(), prior=Home(seed))}
        for name, player in players.items():
            for day in range(41, 51):
                is_won, took = outcome(world, player, world.task(f"{split}/day:{day}"), 30)
                won[name] += is_won
                steps[name] += took
    assert won["ceiling"] >= 38
    assert won["floor"] <= 30
    assert steps["ceiling"] < 0.5 * steps["floor"]


def test_days_of_a_home_are_named_as_ranges() -> None:
    """Rules learned on some days of a home say nothing of the others."""
    lived = as_splits([("household:7", day) for day in (1, 2, 3, 9)], ("generated",))
    assert lived == ("household:7:1..3", "household:7:9..9")
    assert [covers(lived, "household:7", day) for day in (1, 3, 4, 9)] == [True, True, False, True]
    assert not covers(lived, "household:8", 1)


def test_a_file_can_say_where_some_things_of_a_home_are_kept(tmp_path: Path) -> None:
    file = tmp_path / "habits.yaml"
    file.write_text("mug: {drawer 2: 3, shelf: 1}\negg:\n  fridge 1: 1\n")
    own = OwnHabits.read(file)
    drawn, home = Home(7), Home(7, own=own)
    shelves = [one for one in home.habits["mug"] if one.startswith("shelf ")]
    assert home.habits["mug"]["drawer 2"] == pytest.approx(0.75)
    assert sum(home.habits["mug"][one] for one in shelves) == pytest.approx(0.25)
    assert home.habits["egg"] == {"fridge 1": 1.0}
    assert {thing: drawn.habits[thing] for thing in drawn.habits if thing not in own.said}.items() <= home.habits.items()
    world, other = (make_world("alfworld", **options) for options in ({"habits": str(file)}, {}))
    assert world.task("household:7/day:3").id == other.task("household:7/day:3").id
    assert world.fingerprint("household:7") != other.fingerprint("household:7")
    assert isinstance(world, HasHomes) and world.habits("household:7")["egg"]["fridge 1"] > 0.9
    with pytest.raises(ConfigurationError, match="which only a home has"):
        world.tasks("generated")


@pytest.mark.parametrize(
    ("text", "line", "why"),
    [
        ("egg: {fridge 1: 1}\nmug: {drawer 99: 1}", 2, "has no 'drawer 99'"),
        ("egg: {fridge 1: 1}\n\ndragon:\n  fridge 1: 1", 3, "nothing called 'dragon'"),
        ("egg:\n  fridge 1: 1\n  moon: 1", 3, "has no 'moon'"),
    ],
)
def test_what_a_home_lacks_is_refused_with_its_line(text: str, line: int, why: str, tmp_path: Path) -> None:
    file = tmp_path / "habits.yaml"
    file.write_text(text)
    with pytest.raises(ConfigurationError, match=why) as refused:
        Home(7, own=OwnHabits.read(file))
    assert f"habits.yaml', line {line}: " in str(refused.value)
