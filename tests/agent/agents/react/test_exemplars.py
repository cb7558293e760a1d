"""ReAct with exemplars: what it shows, how a line is read, what a thought costs, and games over a real endpoint."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import pytest

from housequest.agent.agents.spec import make_agent, resolve_settings
from housequest.agent.base import RequiresCapabilities
from housequest.agent.config import configure
from housequest.agent.episodes import events
from housequest.agent.episodes.config import EpisodeConfig
from housequest.agent.episodes.events import Event
from housequest.agent.episodes.loop import run_episode
from housequest.agent.evaluation.runs.spec import make_run_spec
from housequest.agent.models.base import Capabilities
from housequest.knowledge.examples import exemplars_of, shipped, written_exemplars
from housequest.knowledge.rules import Rule
from housequest.worlds.alfworld.text import HOUSEHOLD
from housequest.worlds.base import Task, World
from housequest.worlds.errors import ConfigurationError, KnowledgeError, Unsupported
from housequest.worlds.registry import make_world
from tests.agent.golden import Answering
from tests.agent.playing import one_of_each_type, play
from tests.backends.few_shot import Continuing, episode_of, put, text_of
from tests.backends.server import Messages, Server

OWN = exemplars_of(shipped(), HOUSEHOLD)
CONTINUES = Capabilities(completions=True)


@pytest.fixture(scope="module")
def world() -> World:
    return make_world("alfworld")


@dataclass
class Told:
    """An episode's events, and the prompts of its calls."""

    bodies: list[events.Body]
    prompts: list[Messages]

    @property
    def ended(self) -> events.Ended:
        body = self.bodies[-1]
        assert isinstance(body, events.Ended)
        return body

    @property
    def commands(self) -> list[str]:
        return [body.command for body in self.bodies if isinstance(body, events.Stepped)]


def episode(
    world: World,
    policy: Callable[[Messages], str],
    settings: Mapping[str, str] | None = None,
    *,
    task: Task | None = None,
    can: Capabilities = CONTINUES,
    turns: int = 50,
    grants: frozenset[str] = frozenset(),
    goal: str | None = None,
) -> Told:
    prompts: list[Messages] = []
    bodies: list[events.Body] = []

    def answer(messages: Messages) -> str:
        prompts.append(messages)
        return policy(messages).split("\n")[0]

    player = make_agent("react", world=world, model=Answering(answer, can), settings={"exemplars": "own", **(settings or {})})
    terms = EpisodeConfig(world, grants, turns)
    env = world.open(task or world.task("example:2"))
    asyncio.run(run_episode(env, player, terms, lambda event: bodies.append(event.body) if isinstance(event, Event) else None))
    return Told(bodies, prompts)


def lines(*said: str) -> Callable[[Messages], str]:
    """One line after the other, whatever happens; the last one for ever."""
    return lambda messages: said[min(len(episode_of(messages)[1]), len(said) - 1)]


@pytest.mark.heavy
@pytest.mark.parametrize("continues", [True, False])
@pytest.mark.parametrize("wording", [str, put])
def test_a_game_is_won_over_an_endpoint_with_completions_and_without(
    server: Server, world: World, tmp_path: Path, continues: bool, wording: Callable[[str], str]
) -> None:
    server.policy, server.continues = Continuing(wording), continues
    settings = {"exemplars": "own", "thoughts": "turns", "max_tokens": "100"}
    played = play(server, world, world.task("example:2"), "react", tmp_path / "e.jsonl", settings=settings, max_turns=49)
    assert played.ended.outcome == "won"
    thoughts = sum(text_of(request.messages).count("think: so be it.") for request in played.requests[-1:])
    assert (played.ended.turns, played.calls) == (played.ended.steps + thoughts, len(played.requests))
    assert {request.path for request in played.requests} == {"/v1/completions" if continues else "/v1/chat/completions"}
    for request in played.requests:
        assert (request.body["stop"], request.body["max_tokens"]) == (["\n"], 100)
        assert text_of(request.messages).endswith("\n>")
    assert not any(body.command.startswith("put ") for each in played.events if isinstance(body := each.body, events.Stepped))


@pytest.mark.games
def test_a_published_game_of_each_type_is_won_with_puts_of_older_games(world: World, alfworld_games: Path) -> None:
    published = make_world("alfworld", data=alfworld_games)
    for task in one_of_each_type(published, "valid_seen"):
        assert episode(published, Continuing(put), task=task).ended.outcome == "won", task.type


@pytest.mark.parametrize("house", [f"generated:{number}" for number in range(200, 212)])
def test_the_exemplars_are_of_the_tasks_own_type(world: World, house: str) -> None:
    task = world.task(house)
    word = {"pick_and_place_simple": "put", "look_at_obj_in_light": "examine", "pick_two_obj_and_place": "puttwo"}
    expected = OWN[word.get(task.type, task.type.split("_")[1])]
    for settings, order in (({}, (1, 0)), ({"pair": "0-2"}, (0, 2))):
        prompt = text_of(episode(world, lines("look"), settings, task=task, turns=1).prompts[0])
        places = [prompt.index(expected[number]) for number in order]
        assert places == sorted(places)
        assert prompt.count("Your task is to:") == 3
        assert task.type not in prompt


def test_without_completions_the_same_lines_are_a_chat_and_that_is_said(world: World) -> None:
    plain, chat = (episode(world, Continuing(), can=can) for can in (CONTINUES, Capabilities()))
    assert [text_of(prompt) for prompt in plain.prompts] == [text_of(prompt) for prompt in chat.prompts]
    assert {len(prompt) for prompt in plain.prompts} == {1}
    assert len(chat.prompts[-1]) == 2 * len(chat.prompts) - 1
    (notice,) = [body for body in chat.bodies if isinstance(body, events.Thought) and "asked as a chat" in body.text]
    assert notice not in plain.bodies
    assert plain.commands == chat.commands


def test_a_thought_takes_a_turn_or_none(world: World) -> None:
    said = lines("think: hm", "look", "think: hm", "look")
    free, counted = (episode(world, said, {"thoughts": each}, turns=4) for each in ("free", "turns"))
    assert (free.ended.steps, free.ended.turns, len(free.prompts)) == (4, 4, 6)
    assert (counted.ended.steps, counted.ended.turns, len(counted.prompts)) == (2, 4, 4)
    assert [answer for line, answer in episode_of(counted.prompts[-1])[1] if line.startswith("think:")] == ["OK.", "OK."]


def test_acting_alone_is_shown_without_thoughts(world: World) -> None:
    told = episode(world, lines("think: hm", "look"), {"thoughts": "none"}, turns=4)
    first, *_, last = map(text_of, told.prompts)
    assert "think:" not in first and first.count("Your task is to:") == 3
    # What a model thinks all the same is answered as ever, and takes its turn.
    assert (told.ended.steps, told.ended.turns) == (3, 4) and "> think: hm\nOK.\n> look\n" in last


def test_who_only_thinks_comes_to_an_end(world: World) -> None:
    told = episode(world, lines("think: and on"), turns=3)
    assert (told.ended.outcome, told.ended.steps, told.ended.turns, len(told.prompts)) == ("lost", 0, 3, 27)


@pytest.mark.parametrize(
    ("line", "command"),
    [
        ("go to toilet 1", "go to toilet 1"),
        (" > go to toilet 1", "go to toilet 1"),
        ("Action: go to toilet 1", "go to toilet 1"),
        ("put soapbar 1 in/on cabinet 1", "move soapbar 1 to cabinet 1"),
        ("put soapbar 1 in cabinet 1", "move soapbar 1 to cabinet 1"),
        ("put it away", "put it away"),
    ],
)
def test_a_line_is_a_command(world: World, line: str, command: str) -> None:
    assert episode(world, lines(line), turns=1).commands == [command]


@pytest.mark.parametrize("line", ["", "   ", ">", "x" * 300, "go\x00to"])
def test_a_line_that_is_none_takes_its_turn(world: World, line: str) -> None:
    told = episode(world, lines(line, "look"), turns=2)
    assert [body.final for body in told.bodies if isinstance(body, events.ParseFailed)] == [True]
    assert (told.ended.turns, told.commands) == (2, ["look"])
    assert episode_of(told.prompts[1])[1][0][1] == "Nothing happens."


def test_grants_and_rules_are_shown_and_the_type_is_not(world: World) -> None:
    task = world.task("example:1")
    prompt = text_of(episode(world, lines("look"), task=task, turns=1, grants=frozenset({"type", "admissible"})).prompts[0])
    assert "go to fridge 1" in prompt.partition("Now it is your turn.")[2]
    assert task.type not in prompt
    assert OWN["heat"][1] in prompt
    rule = Rule("r", "An egg is often in the fridge.")
    assert rule.statement not in prompt


def test_a_file_with_older_games_is_shown_as_todays(world: World, tmp_path: Path) -> None:
    values = json.loads(written_exemplars(OWN))
    values["react_puttwo_1"] = (
        "You are in a room.\nYour task is to: x.\n> put pen 1 in/on desk 1\nYou put the pen 1 in/on the desk 1."
    )
    file = tmp_path / "prompts.json"
    file.write_text(json.dumps(values))
    prompt = text_of(episode(world, lines("look"), {"exemplars": str(file)}, turns=1).prompts[0])
    assert "> move pen 1 to desk 1\nYou move the pen 1 to the desk 1." in prompt
    assert "put pen 1" not in prompt


def test_what_cannot_be_shown_is_refused_before_anything_is_played(world: World, tmp_path: Path) -> None:
    def made(**settings: str) -> object:
        return make_agent("react", world=world, model=Answering(lines("look")), settings=settings)

    with pytest.raises(KnowledgeError, match="cannot be read"):
        made(exemplars=str(tmp_path / "nowhere.json"))
    two = tmp_path / "two.json"
    two.write_text(json.dumps({key: text for key, text in json.loads(written_exemplars(OWN)).items() if key[-1] in "01"}))
    assert made(exemplars=str(two), pair="0-1")
    with pytest.raises(Unsupported, match="react_put_2"):
        made(exemplars=str(two), pair="2-0")
    with pytest.raises(Unsupported, match="household"):
        make_agent("react", world=make_world("scripted"), model=Answering(lines("look")), settings={"exemplars": "own"})
    strict = made(exemplars="own", completions="on")
    assert isinstance(strict, RequiresCapabilities)
    with pytest.raises(Unsupported, match="no completions"):
        asyncio.run(strict.check())


def spec_of(*given: str) -> tuple[dict[str, object], dict[str, str], str]:
    spec = make_run_spec(
        configure({"agent": "react", "model": "openai:x@http://localhost:1/v1", "split": "example", "set": given})
    )
    return dict(spec.config.settings), spec.manifest.prompts, spec.default_folder.name


def test_a_run_keeps_what_is_shown(tmp_path: Path) -> None:
    plain, prompts, folder = spec_of("form=free")
    usual = {"max_tokens": 512, "temperature": 0.0, "form": "free", "exemplars": "", "thoughts": "free"}
    assert plain == resolve_settings("react", {"form": "free"}) and usual.items() <= plain.items()
    assert not {"exemplars", "exemplars/frame"} & prompts.keys()
    assert spec_of("form=free", "thoughts=free")[2] == folder
    assert spec_of()[0] == {**plain, "form": "auto"}
    file = tmp_path / "own.json"
    file.write_text(written_exemplars(OWN))
    settings, own, _ = spec_of("form=free", "exemplars=own", "thoughts=turns")
    assert settings == {**plain, "exemplars": "own", "thoughts": "turns"}
    assert own["exemplars"] == spec_of(f"exemplars={file}")[1]["exemplars"], "the digest is that of the texts"
    file.write_text(written_exemplars({**OWN, "put": OWN["put"][::-1]}))
    assert own["exemplars"] != spec_of(f"exemplars={file}")[1]["exemplars"]
    with pytest.raises(ConfigurationError, match="thoughts"):
        spec_of("thoughts=some")


def test_prompts_are_appended_to(world: World) -> None:
    prompts: Sequence[str] = [text_of(prompt) for prompt in episode(world, Continuing()).prompts]
    assert all(later.startswith(earlier) for earlier, later in pairwise(prompts))
