"""ReAct with a window: what a prompt has, how replies are read, and a whole game."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from housequest.agent.agents.spec import make_agent
from housequest.agent.config import configure
from housequest.agent.episodes import events
from housequest.agent.episodes.config import EpisodeConfig
from housequest.agent.episodes.events import CallTiming, Event
from housequest.agent.episodes.loop import run_episode
from housequest.agent.evaluation.runs.spec import make_run_spec
from housequest.worlds.base import World
from housequest.worlds.errors import ConfigurationError
from housequest.worlds.registry import make_world
from tests.agent.golden import Answering
from tests.backends.server import Messages, Policy
from tests.backends.windowed import Windowed


@pytest.fixture(scope="module")
def world() -> World:
    return make_world("alfworld")


def episode(
    world: World, policy: Policy, *, turns: int = 50, grants: frozenset[str] = frozenset({"admissible"}), **settings: str
) -> list[object]:
    bodies: list[object] = []
    player = make_agent("react", world=world, model=Answering(policy), settings={"window": "2", **settings})
    terms = EpisodeConfig(world, grants, turns)

    def listen(event: Event | CallTiming) -> None:
        if isinstance(event, Event):
            bodies.append(event.body)

    asyncio.run(run_episode(world.open(world.task("example:2")), player, terms, listen))
    return bodies


def test_a_game_is_won_on_prompts_of_the_last_two_steps(world: World) -> None:
    policy = Windowed(world.task("example:2").goal)
    bodies = episode(world, policy)
    ended = bodies[-1]
    assert isinstance(ended, events.Ended)
    assert ended.outcome == "won"
    assert len(policy.prompts) == ended.steps
    assert [prompt.count(" and did: ") for prompt in policy.prompts] == [0, 1, *[2] * (ended.steps - 2)]
    assert all(policy.goal in prompt for prompt in policy.prompts)
    assert max(map(len, policy.prompts)) < 2 * min(map(len, policy.prompts)) + 2_000, "they do not grow"
    thoughts = [body.text for body in bodies if isinstance(body, events.Thought)]
    assert thoughts == ["step by step"] * ended.steps
    assert {body.kept for body in bodies if isinstance(body, events.ModelCall)} == {0}


def test_without_the_grant_it_is_told_the_forms_of_commands(world: World) -> None:
    prompts: list[str] = []

    def said(messages: Messages) -> str:
        prompts.append(messages[-1]["content"])
        return "<action>look</action>"

    episode(world, said, turns=1, grants=frozenset())
    assert "What you can do now" not in prompts[0]
    assert world.info.manual in prompts[0]


@pytest.mark.parametrize(
    ("reply", "command"),
    [
        ("<think>hm</think><action>look</action>", "look"),
        ("<thinking>hm</thinking>\n<ACTION> look </ACTION>", "look"),
        ("<action>Go To Toilet 1</action>", "go to toilet 1"),
        ("<action>go to\ntoilet 1", "<action>go to toilet 1"),
        ("I think it is best. Thought: hm\nAction: look", "best. thought: hm action: look"),
        ("<think>hm <action>open</action></think><action>look</action>", "open"),
    ],
)
def test_a_reply_is_read(world: World, reply: str, command: str) -> None:
    steps = [body for body in episode(world, lambda messages: reply, turns=1) if isinstance(body, events.Stepped)]
    assert [step.command for step in steps] == [command]


@pytest.mark.parametrize("reply", ["", "<action></action>", f"<action>{'x' * 300}</action>", "<action>a\x00b</action>"])
def test_a_reply_that_cannot_be_read_takes_its_turn_and_is_not_asked_again(world: World, reply: str) -> None:
    bodies = episode(world, lambda messages: reply, turns=2)
    assert [body.final for body in bodies if isinstance(body, events.ParseFailed)] == [True, True]
    assert len([body for body in bodies if isinstance(body, events.ModelCall)]) == 2
    assert not [body for body in bodies if isinstance(body, events.Stepped)]


def test_help_is_not_listed(world: World) -> None:
    prompts: list[str] = []

    def said(messages: Messages) -> str:
        prompts.append(messages[-1]["content"])
        return "<action>look</action>"

    episode(world, said, turns=1)
    listed = prompts[0].partition("What you can do now:\n")[2].partition("\n\n")[0].splitlines()
    assert "look" in listed
    assert "help" not in listed


THEIRS = '''\
# A file of prompts in the form of verl-agent's.
import os
ALFWORLD_TEMPLATE_NO_HIS = """See {current_observation}; can [{admissible_actions}] {{x}}"""

ALFWORLD_TEMPLATE = """
Do: {task_description} ({step_count} taken; {history_length}: {action_history})
Now {current_step}: {current_observation}; can [{admissible_actions}]."""
'''


def test_the_prompt_is_that_of_a_given_file(world: World, tmp_path: Path) -> None:
    file = tmp_path / "alfworld.py"
    file.write_text(THEIRS)
    prompts: list[str] = []

    def said(messages: Messages) -> str:
        (message,) = messages
        prompts.append(message["content"])
        return "<action>LOOK</action>" if len(prompts) > 1 else "so be it"

    episode(world, said, turns=4, window_prompt=str(file))
    first, second, third, fourth = prompts
    assert first.startswith("See -= Welcome to TextWorld, ALFRED! =-")
    assert first.endswith("{x}")
    assert "\n 'inventory'\n 'look'" in first
    assert "'help'" not in first
    goal = world.task("example:2").goal
    assert f"Do: {goal} (1 taken; 1: [Observation 1: '-= Welcome" in second
    assert "', Action 1: 'so be it'])" in second
    assert "Now 2: Nothing happens.; can ['" in second
    assert "(2 taken; 2: [Observation 1: '" in third
    assert fourth.count("[Observation ") == 2
    assert "[Observation 2: 'Nothing happens.', Action 2: 'look']\n[Observation 3: '" in fourth


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("", "no text ALFWORLD_TEMPLATE_NO_HIS"),
        ("x = (", "cannot be read"),
        (THEIRS.replace("{current_step}", "{__class__}"), "the field '__class__'"),
        ("#" * 70_000, "it has more than 65,536 bytes"),
    ],
)
def test_a_file_that_is_none_of_prompts_is_refused_with_the_reason(
    world: World, tmp_path: Path, content: str, told: str
) -> None:
    file = tmp_path / "alfworld.py"
    file.write_text(content)
    with pytest.raises(ConfigurationError, match=told):
        episode(world, str, window_prompt=str(file))


def test_its_prompts_need_a_window_and_what_can_be_done(world: World, tmp_path: Path) -> None:
    file = tmp_path / "alfworld.py"
    file.write_text(THEIRS)
    with pytest.raises(ConfigurationError, match="needs window"):
        make_agent("react", world=world, model=Answering(str), settings={"window_prompt": str(file)})
    ended = episode(world, str, grants=frozenset(), window_prompt=str(file))[-1]
    assert isinstance(ended, events.Ended)
    assert ended.boundary == "configuration"
    assert "--grant admissible" in (ended.message or "")


def test_another_file_is_another_run(tmp_path: Path) -> None:
    def prompts() -> dict[str, str]:
        flags = {"agent": "react", "split": "example", "grant": ["admissible"], "model": "openai:x@http://localhost:1/v1"}
        own = {"window": 2, "window_prompt": str(tmp_path / "alfworld.py")}
        return make_run_spec(configure({**flags, "set": own})).manifest.prompts

    (tmp_path / "alfworld.py").write_text(THEIRS)
    before = prompts()
    (tmp_path / "alfworld.py").write_text(f"{THEIRS}\n# a remark")
    assert prompts() == before
    (tmp_path / "alfworld.py").write_text(THEIRS.replace("Do:", "Done:"))
    assert prompts() != before


def test_a_window_and_exemplars_are_two_ways(world: World) -> None:
    with pytest.raises(ConfigurationError, match="not both"):
        make_agent("react", world=world, model=Answering(str), settings={"window": "2", "exemplars": "own"})
