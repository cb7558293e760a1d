"""What never reaches a prompt: ids and paths, hidden contents, the goal's PDDL, the win, the expert's next command.

Real episodes are played through the endpoint, and every prompt that it received is held against what had been told by then.
The strongest of these tests asks for no list of secrets: two houses that look alike, and differ in everything that was not
told, must bring about the same prompts to the letter.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path

import pytest

from housequest.agent.episodes import events
from housequest.worlds.alfworld.engine.game import load_game
from housequest.worlds.alfworld.text import HOUSEHOLD, load_counts
from housequest.worlds.base import Observation, Task, World
from housequest.worlds.household.goals import TASK_TYPES
from housequest.worlds.registry import make_world
from tests.agent.playing import EVERY, LOOKING, Played, in_turn, one_of_each_type, play
from tests.backends.policy import Solver
from tests.backends.server import Recorded, Server

pytestmark = pytest.mark.heavy

HOUSES = ("example:1", "example:2", "example:3")
VIEW = frozenset({"view"})
CANARY = "canary-2f9c"


def scores() -> set[str]:
    """What the agent saycan has scored."""
    from housequest.agent.agents.lota.selector import DONE, fixed_skills, said

    return {said(text) for text in (*(skill.text for skill in fixed_skills(HOUSEHOLD).skills), DONE)}


SENT = {"model", "messages", "max_tokens", "temperature", "stop", "seed", "prompt_logprobs", "add_generation_prompt"}

NAME = re.compile(r"\b(?!step )[a-z]+ \d+\b")
SECRET_WORDS = re.compile(
    r"_bar_|_minus_|_plus_|_dot_|\btrial_|pddl|walkthrough|\bwon\b|terminated|truncated|goal_cond|\bsplit\b|valid_|"
    + "|".join(TASK_TYPES),
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Exchange:
    """One call: the prompt that went out, what had been told by then, and the commands executed by then."""

    request: Recorded
    told: str
    executed: tuple[tuple[str, Observation], ...]
    replies: tuple[str, ...]

    @property
    def written(self) -> str:
        """What the agent wrote into the prompt; the system message is held against other tasks' instead."""
        return "\n".join(message["content"] for message in self.request.messages if message["role"] == "user")


def exchanges(played: Played) -> Iterator[Exchange]:
    started = played.events[0].body
    assert isinstance(started, events.Started)
    told = f"{started.opening}\n{started.goal}\n"
    executed: tuple[tuple[str, Observation], ...] = ()
    replies: tuple[str, ...] = ()
    requests = iter(played.requests)
    for event in played.events:
        match event.body:
            case events.ModelCall(reply=reply, calls=calls):
                prompt = next(requests)
                yield Exchange(prompt, told, executed, replies)
                scored = [next(requests) for _ in range((calls or 1) - 1)]
                # What is scored comes from the one list of skills, whatever the house, and all else is the prompt.
                assert {request.messages[-1]["content"] for request in scored} <= scores()
                assert all(request.messages[:-1] == prompt.messages for request in scored)
                replies += (reply,)
            case events.Stepped(command=command, observation=text, accepted=accepted):
                executed += ((command, Observation(text, accepted)),)
                told += f"> {command}\n{text}\n"
            case _:
                pass
    assert next(requests, None) is None


def names(text: str) -> set[str]:
    return set(NAME.findall(text))


def hidden(task: Task) -> set[str]:
    """Everything there is in the game, by name."""
    assert task.source is not None
    game = load_game(task.source)
    return {*game.objects, *game.receptacles}


def next_command(world: World, exchange: Exchange) -> str:
    """What the expert would do now."""
    expert = world.expert()
    opening, _, goal = exchange.told.split("> ")[0].rstrip("\n").rpartition("\n")
    memory = expert.begin(goal, Observation(opening))
    for command, observation in exchange.executed:
        _, _, memory = expert.decide(memory)
        memory = expert.observe(memory, command, observation)
    return expert.decide(memory)[0]


def check(world: World, task: Task, played: Played) -> None:
    secret = [task.id, task.reference, str(task.source), *Path(str(task.source)).parts[-3:-1], *task.id.split("/")[1:], CANARY]
    # The kind of room follows from the places that the opening names.
    secret = [word for word in secret if word not in load_counts().rooms]
    everything = hidden(task)
    kept_hidden = 0
    for exchange in exchanges(played):
        prompt = exchange.request.text
        assert exchange.request.body.keys() <= SENT
        assert not [word for word in secret if word in prompt]
        assert not SECRET_WORDS.search(prompt), SECRET_WORDS.search(prompt)
        known = names(exchange.told)
        assert names(exchange.written) <= known
        unseen = everything - known
        assert not [name for name in unseen if re.search(rf"\b{name}\b", exchange.written)]
        kept_hidden += len(unseen)
        replies = [message["content"] for message in exchange.request.messages if message["role"] == "assistant"]
        assert set(replies) <= set(exchange.replies)
        coming = next_command(world, exchange)
        commands = {command for command, _ in exchange.executed}
        assert coming in commands or not re.search(rf"\b{coming}\b", exchange.written)
    assert kept_hidden


@pytest.fixture(scope="module")
def world() -> World:
    return make_world("alfworld")


@pytest.mark.parametrize(("agent", "house"), in_turn(HOUSES))
def test_a_prompt_holds_what_was_told_and_nothing_else(
    server: Server, world: World, tmp_path: Path, agent: str, house: str
) -> None:
    server.policy = Solver(wrong_first_plan=True)
    task = world.task(house)
    check(world, task, play(server, world, task, agent, tmp_path / "e.jsonl"))


@pytest.mark.games
@pytest.mark.parametrize("agent", EVERY)
def test_published_games_do_not_leak(server: Server, alfworld_games: Path, tmp_path: Path, agent: str) -> None:
    world = make_world("alfworld", data=alfworld_games)
    server.policy = Solver(wrong_first_plan=True)
    for task in one_of_each_type(world, "valid_seen"):
        check(world, task, play(server, world, task, agent, tmp_path / f"{task.type}.jsonl"))


def test_the_check_finds_a_leak(server: Server, world: World, tmp_path: Path) -> None:
    task = world.task("example:1")
    for grant in ("admissible", "type"):
        played = play(server, world, task, "react", tmp_path / "e.jsonl", grants=frozenset({grant}))
        with pytest.raises(AssertionError):
            check(world, task, played)


@pytest.mark.parametrize("agent", EVERY)
def test_grants_show_what_they_say_alone(server: Server, world: World, tmp_path: Path, agent: str) -> None:
    task = world.task("example:1")
    grants = frozenset({"admissible", "type", "diagnosis"})
    played = play(server, world, task, agent, tmp_path / "e.jsonl", grants=grants)
    for exchange in exchanges(played):
        prompt = exchange.request.text.replace(task.type, "")
        assert task.id not in prompt
        assert not SECRET_WORDS.search(prompt)
        # Admissible commands name receptacles and what can be taken here, all of which was told.
        assert names(exchange.written) <= names(exchange.told)


@pytest.mark.parametrize("agent", EVERY)
def test_the_system_message_knows_no_task(server: Server, world: World, tmp_path: Path, agent: str) -> None:
    systems = [
        {request.messages[0]["content"] for request in play(server, world, world.task(house), agent, tmp_path / "e").requests}
        for house in HOUSES
    ]
    assert systems[0] == systems[1] == systems[2]


def as_file(world: World, house: str, folder: Path, change: Callable[[str], str]) -> Task:
    """The house at another path, its PDDL changed."""
    source = world.task(house).source
    assert source is not None
    described = json.loads(source.read_text("utf-8"))
    described["pddl_problem"] = change(described["pddl_problem"])
    folder.mkdir(parents=True)
    (folder / f"{CANARY}.json").write_text(json.dumps(described), "utf-8")
    return world.task(str(folder / f"{CANARY}.json"))


def prompts(played: Played) -> list[object]:
    return [request.body for request in played.requests if "continue_final_message" not in request.body]


SEEING = [
    *(
        pytest.param(agent, house, VIEW, id=f"{house}-{agent}-view")
        for agent, house in zip(LOOKING, cycle(HOUSES), strict=False)
    ),
    pytest.param("react", HOUSES[1], VIEW, id=f"{HOUSES[1]}-react-view"),
]


@pytest.mark.parametrize(("agent", "house", "grants"), [*in_turn(HOUSES, frozenset[str]()), *SEEING])
def test_what_was_not_told_makes_no_difference(
    server: Server, world: World, tmp_path: Path, agent: str, house: str, grants: frozenset[str]
) -> None:
    # Some of the agents that plan are shown what they see where a plan fails.
    server.policy = Solver(wrong_first_plan=bool(grants))
    task = world.task(house)
    original = play(server, world, task, agent, tmp_path / "original.jsonl", grants=grants)
    assert bool(grants) == any(request.pngs for request in original.requests)
    *_, last = exchanges(original)
    final = last.told + "\n".join(text.text for _, text in last.executed)
    kinds = {name.rpartition(" ")[0] for name in hidden(task)}
    told = {name.rpartition(" ")[0] for name in names(final)}
    unseen = {kind for kind in kinds - told if not re.search(rf"\b{kind}\b", final)}
    assert unseen

    def rename(pddl: str) -> str:
        return re.sub(rf"\b({'|'.join(unseen)})_bar_", r"Hidden\1_bar_", pddl, flags=re.IGNORECASE)

    twin = as_file(world, house, tmp_path / CANARY, rename)
    assert any(name.startswith("hidden") for name in hidden(twin))
    copy = play(server, world, twin, agent, tmp_path / "twin.jsonl", grants=grants)
    # Byte for byte, pictures included.
    assert prompts(copy) == prompts(original)
    assert copy.ended.outcome == "won"


def test_closed_doors_hide_from_the_eyes(server: Server, world: World, tmp_path: Path) -> None:
    """Before a closed fridge, houses that differ in what is in it, and in size and place of that, look the same."""
    lines = ("go to fridge 1", "look", "open fridge 1", "look")
    server.policy = lambda messages: f"Thought: so.\nAction: {lines[len(messages) // 2 - 1]}"

    def moved(pddl: str) -> str:
        inside = set(re.findall(r"\(inReceptacle (\S+) (?:Fridge)_bar_\S+\)", pddl))
        assert inside
        for number, thing in enumerate(inside):
            pddl = pddl.replace(thing, f"Laptop_bar__minus_0{number}_dot_11_bar__plus_00_dot_99_bar__plus_02_dot_{number}2")
        return pddl

    task = world.task("example:1")
    original = play(server, world, task, "react", tmp_path / "original.jsonl", grants=VIEW, max_turns=4)
    twin = as_file(world, "example:1", tmp_path / CANARY, moved)
    copy = play(server, world, twin, "react", tmp_path / "twin.jsonl", grants=VIEW, max_turns=4)
    # Until it is open; then what was moved is seen.
    assert prompts(copy)[:3] == prompts(original)[:3]
    assert original.requests[2].pngs
    assert prompts(copy)[3] != prompts(original)[3]
    assert copy.requests[3].pngs != original.requests[3].pngs


@pytest.mark.parametrize(("agent", "house"), in_turn(HOUSES))
def test_what_wins_makes_no_difference(server: Server, world: World, tmp_path: Path, agent: str, house: str) -> None:
    def unwinnable(pddl: str) -> str:
        problem, goal, wanted = pddl.partition("(:goal")
        wanted = re.sub(r"\(objectType (\?\w+) (?!DeskLamp)\w+Type\)", r"(objectType \1 PlungerlessType)", wanted)
        return problem.replace("(:objects", "(:objects PlungerlessType - otype", 1) + goal + wanted

    original = play(server, world, world.task(house), agent, tmp_path / "original.jsonl")
    twin = as_file(world, house, tmp_path / CANARY, unwinnable)
    turns = original.ended.turns + 3
    copy = play(server, world, twin, agent, tmp_path / "twin.jsonl", max_turns=turns)
    assert (original.ended.outcome, copy.ended.outcome) == ("won", "lost")
    assert prompts(copy)[: len(prompts(original))] == prompts(original)
