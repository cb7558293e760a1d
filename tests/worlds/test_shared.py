"""A house for several players: names, seats, and what every world that shares its houses has to keep to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from housequest.worlds.alfworld.engine.game import Game
from housequest.worlds.alfworld.engine.shared import SharedNative
from housequest.worlds.alfworld.world import AlfworldWorld
from housequest.worlds.base import Env, Step, Task, World
from housequest.worlds.checking import check_world
from housequest.worlds.env import OrderChecked, StepLimit, shared_house
from housequest.worlds.errors import ConfigurationError, OrderError, Unsupported
from housequest.worlds.registry import make_world
from housequest.worlds.scripted import ScriptedWorld
from housequest.worlds.shared import WAIT, Seat, Shareable, Shared, checked_players
from scripts.bench.together import SILENT, played_by
from tests import parts


def house(*players: str) -> Shared:
    world = AlfworldWorld()
    return world.share(world.task("example:1"), players)


@pytest.mark.parametrize("names", [("Ann",), ("Ann", "Bob"), ("Zoë", "José", "李", "O"), ("ann", "Bob", "Cleo")])
def test_names_that_can_be_told_apart_are_taken(names: Sequence[str]) -> None:
    assert house(*names).players == checked_players(names) == names


@pytest.mark.parametrize(
    "names",
    [
        (),
        ("Ann", "Bob", "Cleo", "Dan", "Eve"),
        ("Ann", "ann"),
        ("You", "Bob"),
        ("Nobody",),
        ("",),
        ("Ann B",),
        ("mug 1",),
        ("A" * 21,),
        ('Bob says: "x',),
        ("Bob\n",),
    ],
)
def test_other_names_are_refused(names: Sequence[str]) -> None:
    with pytest.raises(ConfigurationError):
        house(*names)


def test_only_players_have_a_seat() -> None:
    shared = house("Ann", "Bob")
    shared.reset()
    for call in (
        lambda: Seat(shared, "Cleo"),
        lambda: shared.step("Cleo", "look"),
        lambda: shared.news("Cleo"),
        lambda: shared.admissible_commands("Cleo"),
    ):
        with pytest.raises(ConfigurationError, match="Nobody called 'Cleo' plays here; players are Ann, Bob"):
            call()


def test_a_seat_is_an_env_and_its_wrappers_are_as_ever() -> None:
    shared = house("Ann", "Bob")
    ann, bob = (Seat(shared, player) for player in shared.players)
    assert isinstance(ann, Env)
    for early in (lambda: ann.step("look"), lambda: ann.step(WAIT), ann.admissible_commands):
        with pytest.raises(OrderError):
            early()
    limited = OrderChecked(StepLimit(ann, 2))
    assert limited.reset().observation.text.endswith(ann.task.goal)
    bob.step("go to fridge 1")
    assert ann.news() == ("Bob stands in the middle of the room and carries nothing.", "Bob goes to the fridge 1.")
    copied = limited.copy()
    assert limited.step("look").truncated is False
    assert ann.news() == ()
    assert limited.step("look").truncated is True
    assert copied.step("look").truncated is False
    assert ann.reset() == limited.reset()


def test_a_seat_in_a_copy_is_in_a_house_of_its_own() -> None:
    shared = house("Ann", "Bob")
    ann, bob = (Seat(shared, player) for player in shared.players)
    ann.reset()
    other = ann.copy()
    other.step("go to fridge 1")
    assert bob.news() == ("Ann stands in the middle of the room and carries nothing.",)
    assert ann.step("go to fridge 1") == Seat(other.shared, "Bob").step("go to fridge 1")


class Whispering(SharedNative):
    def news(self, player: str) -> tuple[str, ...]:
        return tuple(f"Psst: {sentence}" for sentence in super().news(player))


class Slow(SharedNative):
    def step(self, player: str, command: str) -> Step:
        return super().step(player, command if len(self.players) > 1 else WAIT)


class Joint(SharedNative):
    def copy(self) -> Joint:
        return self


class Rude(SharedNative):
    def step(self, player: str, command: str) -> Step:
        for other in self.players if command == WAIT else ():
            super().step(other, "look")
        return super().step(player, command)


class Crowded(SharedNative):
    def __init__(self, task: Task, game: Game, players: Sequence[str], rooms: Mapping[str, str] | None = None) -> None:
        super().__init__(task, game, (*players, "Zed") if len(players) > 1 else players, rooms)


BROKEN: dict[type[SharedNative], str] = {
    Whispering: "news are not a short sentence about another player ('Psst: ",
    Slow: "alone in a shared house, 'go to",
    Joint: "stepping a copy changes its original, in the shared house of",
    Rude: "'wait' changes what others can do or hear",
    Crowded: "the players are not those who were named",
}


def sharing(make: type[SharedNative]) -> World:
    class Sharing(AlfworldWorld):
        def share(self, task: Task, players: Sequence[str]) -> Shared:
            shared = super().share(task, players)
            assert isinstance(shared, SharedNative)
            return make(task, shared.envs[players[0]].game, players)

    return Sharing()


@pytest.mark.heavy
@pytest.mark.parametrize("make", BROKEN, ids=[make.__name__ for make in BROKEN])
def test_a_shared_house_that_breaks_the_contract_is_told_how(make: type[SharedNative]) -> None:
    assert BROKEN[make] in "\n".join(check_world(sharing(make)).broken)


def test_a_world_for_one_player_says_so() -> None:
    world = ScriptedWorld()
    with pytest.raises(Unsupported, match="'scripted' is for one player alone"):
        shared_house(world, world.tasks("demo")[0], ("Ann", "Bob"))


def test_a_world_is_shareable_by_its_method() -> None:
    assert isinstance(AlfworldWorld(), Shareable)
    assert "Shareable" in check_world(sharing(SharedNative)).fulfils


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("name", "tasks", "gain"),
    [("alfworld", 60, 1.1), pytest.param("household-graph", 30, 1.2, marks=parts.needs("graphs"))],
)
def test_two_experts_that_see_each_other_are_faster_than_one(name: str, tasks: int, gain: float) -> None:
    world, rounds = make_world(name), [0, 0]
    for seed in range(60_000, 60_000 + tasks):
        task = world.task(f"generated:{seed}")
        for number in (1, 2):
            rounds[number - 1] += played_by(world, task, number, SILENT).rounds
    assert rounds[0] > gain * rounds[1]
