"""What every world, and every wrapper round its envs, has to keep to: `check_world` says it; here it is called and broken."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from housequest.worlds.alfworld.world import AlfworldWorld
from housequest.worlds.base import Env, Step, Task, World, WorldInfo
from housequest.worlds.checking import Wrap, check_world
from housequest.worlds.env import OrderChecked, StepLimit, Wrapper
from housequest.worlds.errors import ConfigurationError, TaskNotFound, Unsupported
from housequest.worlds.registry import household, make_world, world_names
from housequest.worlds.rooms.room import Holder, Pose, Room, Situation
from housequest.worlds.scripted import ScriptedWorld

WRAPPERS: dict[str, Wrap] = {
    "bare": lambda env: env,
    "limited": lambda env: StepLimit(env, 10_000),
    "checked": OrderChecked,
    "both": lambda env: OrderChecked(StepLimit(env, 10_000)),
}


_WORLDS = [
    *(name for name in world_names() if name != "alfred"),
    pytest.param("alfred", marks=pytest.mark.heavy),
    pytest.param("alfworld, published", marks=pytest.mark.games),
]


@pytest.fixture(params=_WORLDS)
def world(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    """Every world of the registry, on what ships with it, and ALFWorld on the published games."""
    if request.param == "alfworld, published":
        return make_world("alfworld", data=request.getfixturevalue("alfworld_games"))
    monkeypatch.setenv("ALFWORLD_DATA", str(tmp_path / "nothing"))
    return make_world(request.param)


@pytest.mark.heavy
@pytest.mark.parametrize("wrap", WRAPPERS.values(), ids=WRAPPERS)
def test_a_world_keeps_its_contract(world: World, wrap: Wrap) -> None:
    report = check_world(world, wrap=wrap)
    assert len(report.demands) > 20
    assert report.broken == ()


@given(text=st.text())
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_what_is_not_there_is_not_found(world: World, text: str) -> None:
    with pytest.raises(TaskNotFound):
        world.tasks(f"no such {text}")
    with pytest.raises(TaskNotFound):
        world.task(f"no such {text}:1")


@pytest.mark.heavy
@given(commands=st.lists(st.text(st.characters(exclude_categories=())), max_size=5))
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_command_breaks_a_game(world: World, commands: list[str]) -> None:
    for wrap in WRAPPERS.values():
        env = wrap(world.open(world.tasks(world.split_for("play"))[0]))
        env.reset()
        for command in commands:
            listed = env.admissible_commands() or ()
            assert env.step(command).observation.accepted == (command.strip() in listed)


@pytest.mark.parametrize("options", [{"engine": "none"}, {"data": Path("/nowhere")}, {"goals": "none"}, {"no such": 1}])
@pytest.mark.parametrize("name", world_names())
def test_options_that_mean_nothing_are_refused(name: str, options: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError):
        make_world(name, **options)


def test_an_unknown_world_is_refused_with_the_nearest() -> None:
    with pytest.raises(ConfigurationError, match="Did you mean 'alfworld'"):
        make_world("alfwrld")
    with pytest.raises(ConfigurationError, match="Did you mean 'goals'"):
        make_world("alfworld", goal="human")


def test_a_household_is_had_without_making_a_world() -> None:
    assert household("alfworld") is not None
    assert household("scripted") is household("no such world") is None


# Worlds that break the contract, each in one way.


class Altered(Wrapper):
    """An env whose steps and commands are changed on their way out."""

    def __init__(
        self, env: Env, change: Callable[[Step], Step], commands: Callable[[Any], Any] = lambda listed: listed
    ) -> None:
        super().__init__(env)
        self.change, self.commands = change, commands

    def reset(self) -> Step:
        return self.change(self.env.reset())

    def step(self, command: str) -> Step:
        return self.change(self.env.step(command))

    def admissible_commands(self) -> tuple[str, ...] | None:
        return self.commands(self.env.admissible_commands())

    def copy(self) -> Env:
        return Altered(self.env.copy(), self.change, self.commands)


def saying(change: Callable[[str], str]) -> Callable[[Step], Step]:
    return lambda step: replace(step, observation=replace(step.observation, text=change(step.observation.text)))


class Shared(Wrapper):
    def copy(self) -> Env:
        return self


class Eager(Wrapper):
    """An env that needs no reset."""

    def __init__(self, env: Env) -> None:
        super().__init__(env)
        env.reset()

    def copy(self) -> Env:
        raise Unsupported("It cannot be copied.")


def test_a_game_may_end_lost_by_its_own_rules() -> None:
    def slammed(step: Step) -> Step:
        return replace(step, terminated=step.won or "is closed" in step.observation.text)

    broken = check_world(AlfworldWorld(), wrap=lambda env: Altered(env, slammed)).broken
    # ALFWorld's expert knows nothing of this rule.
    assert [sentence for sentence in broken if not sentence.startswith("The expert wins")] == []


COUNTER = itertools.count()
BROKEN: dict[str, tuple[Wrap, str]] = {
    "an opening without the goal": (
        lambda env: Altered(env, saying(lambda text: text[:-1])),
        "does not end with 'Your task",
    ),
    "chance": (lambda env: Altered(env, saying(lambda text: f"{next(COUNTER)} {text}")), "has another answer in a second env"),
    "a control character": (lambda env: Altered(env, saying(lambda text: f"\x1b[1m{text}")), "cannot be printed"),
    "an endless text": (lambda env: Altered(env, saying(lambda text: "go " * 20_000 + text)), "at most 50,000"),
    "an id in the text": (lambda env: Altered(env, saying(lambda text: f"{env.task.id} {text}")), "tells 'demo/"),
    "the goal in PDDL": (lambda env: Altered(env, saying(lambda text: f"(:goal (lit)) {text}")), "tells '(:goal'"),
    "unsorted commands": (lambda env: Altered(env, lambda step: step, lambda listed: listed[::-1]), "is not sorted"),
    "commands that are refused": (
        lambda env: Altered(env, lambda step: step, lambda listed: (*listed, "zap")),
        "'zap' is listed as admissible and refused",
    ),
    "whatever is said is accepted": (
        lambda env: Altered(env, lambda step: replace(step, observation=replace(step.observation, accepted=True))),
        "is accepted, and is not a command",
    ),
    "a win that goes on": (lambda env: Altered(env, lambda step: replace(step, terminated=False)), "terminated is False"),
    "a copy that is shared": (Shared, "stepping a copy changes its original"),
    "no reset": (Eager, "a step before the first reset does not raise OrderError"),
}


@pytest.mark.heavy
@pytest.mark.parametrize(("wrap", "words"), BROKEN.values(), ids=BROKEN)
def test_an_env_that_breaks_the_contract_is_told_how(wrap: Wrap, words: str) -> None:
    assert words in "\n".join(check_world(ScriptedWorld(), wrap=wrap).broken)


class Misnamed(ScriptedWorld):
    name = "My World"


class ShortFingerprint(ScriptedWorld):
    def fingerprint(self, split: str) -> str:
        return super().fingerprint(split)[:8]


class Misnumbered(ScriptedWorld):
    def tasks(self, split: str) -> list[Task]:
        return [replace(task, number=task.number + 1) for task in super().tasks(split)]


class Unpickled(ScriptedWorld):
    def expert(self, /, **settings: Any) -> Any:
        expert: Any = super().expert(**settings)
        begin = expert.begin
        expert.begin = lambda goal, observation: Held(begin(goal, observation))
        expert.decide = lambda memory, decide=expert.decide: (*decide(memory.walk)[:2], memory)
        expert.observe = lambda memory, command, observation, observe=expert.observe: Held(
            observe(memory.walk, command, observation)
        )
        return expert


class Held:
    def __init__(self, walk: Any) -> None:
        self.walk, self.held = walk, lambda: walk


class Lost(ScriptedWorld):
    def task(self, reference: str) -> Task:
        return self.tasks("demo")[0]


class Silent(ScriptedWorld):
    info = WorldInfo(preamble="a house")


class Loose(ScriptedWorld):
    Options = dict


class Long(ScriptedWorld):
    def shortest(self, task: Task, *, seconds: float | None = None) -> int:
        return 99


class Rebuilt(AlfworldWorld):
    asked = itertools.count()

    def room(self, task: Task) -> Room:
        return replace(super().room(task), start=Pose(0, 0, next(self.asked)))


class Walled(AlfworldWorld):
    """A world in whose rooms nobody can leave the start, though there is floor at each place."""

    def room(self, task: Task) -> Room:
        room = super().room(task)
        places = {one.place.cell for one in room.fixtures if one.place}
        return replace(room, floor=frozenset(places), start=Pose(99, 99))


class Emptied(AlfworldWorld):
    def room(self, task: Task) -> Room:
        return replace(super().room(task), fixtures=())


class Halved(ScriptedWorld):
    """A world with one of the two methods of `Drawable`."""

    def room(self, task: Task) -> Room:
        return AlfworldWorld().room(AlfworldWorld().task("example:1"))


class Misled(ScriptedWorld):
    def skills_at(self) -> tuple[str, ...]:
        return ()


class Unseen(ScriptedWorld):
    info = replace(ScriptedWorld.info, pictured=True)


class Elsewhere(AlfworldWorld):
    def situation(self, env: Env, room: Room) -> Situation | None:
        return Situation(room.start, holders=(Holder("cellar 1"),))


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("broken", "words"),
    [
        (Rebuilt, "changes from call to call"),
        (Walled, "nobody can walk to"),
        (Emptied, "' lacks '"),
        (Elsewhere, "tells of 'cellar 1'"),
        (Misnamed, "the name 'My World' is not of lower-case letters"),
        (ShortFingerprint, "64 lower-case hexadecimal digits"),
        (Misnumbered, "not numbered 1, 2, 3"),
        (Unpickled, "pickle local object"),
        (Lost, "does not raise TaskNotFound"),
        (Silent, "its manual is empty"),
        (Loose, "Options must be a frozen dataclass"),
        (Long, "fewer than 99"),
        (Halved, "it has room() and no situation(), so it is not Drawable"),
        (Misled, "skills_at() cannot be called as skills_at(self, opening: 'str')"),
        (Unseen, "info.pictured is True, and its envs are not Pictured"),
    ],
)
def test_a_world_that_breaks_the_contract_is_told_how(broken: type[World], words: str) -> None:
    assert words in "\n".join(check_world(broken()).broken)
