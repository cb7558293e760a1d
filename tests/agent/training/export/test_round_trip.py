"""What is exported of an episode is what was sent: every prompt, byte for byte."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from housequest.agent.training.export import FORMATS, RecordedEpisodes
from housequest.worlds.registry import make_world
from tests.agent.playing import CHATTING, play
from tests.backends.completing import Completing
from tests.backends.few_shot import Continuing
from tests.backends.policy import Solver
from tests.backends.server import Messages, Server

pytestmark = pytest.mark.heavy


def lines(folder: Path, format: str) -> list[dict[str, Any]]:
    return [line for episode in RecordedEpisodes([folder], lost=True) for line in FORMATS[format](episode)]


def prompts(line: Mapping[str, Any]) -> list[bytes]:
    """Each prompt of an exported conversation with its reply, as the SDK writes messages."""
    said = [{"role": one["role"], "content": one["content"]} for one in line["messages"]]
    places = [place for place, one in enumerate(line["messages"]) if one.get("weight")]
    return [json.dumps(said[:place], ensure_ascii=False, separators=(",", ":")).encode() for place in places]


@pytest.mark.parametrize("agent", CHATTING)
def test_every_reply_to_learn_stands_behind_the_prompt_that_was_sent(server: Server, tmp_path: Path, agent: str) -> None:
    world = make_world("alfworld")
    played = play(server, world, world.task("example:1"), agent, tmp_path / "episode.jsonl")
    found = [prompt for line in lines(tmp_path, "messages") for prompt in prompts(line)]
    assert len(found) == len(played.requests) > 0
    for sent in played.requests:
        messages = json.dumps(sent.body["messages"], ensure_ascii=False, separators=(",", ":")).encode()
        assert messages in sent.raw
        assert messages in found


def test_unreadable_replies_stand_in_the_prompts_that_were_sent_and_are_not_learned(server: Server, tmp_path: Path) -> None:
    solver, world = Solver(), make_world("alfworld")

    def now_and_then(messages: Messages) -> str:
        stories = {5: "I am telling a story. " * 30, 11: "", 13: "what?"}
        return stories.get(len(messages) - 1) or solver(messages) if len(messages) % 3 else stories[5]

    server.policy = now_and_then
    played = play(server, world, world.task("example:1"), "react", tmp_path / "episode.jsonl", max_turns=12)
    found = [prompt for line in lines(tmp_path, "messages") for prompt in prompts(line)]
    sent = [json.dumps(one.body["messages"], ensure_ascii=False, separators=(",", ":")).encode() for one in played.requests]
    unread = sum(kind == "unreadable" for kind in played.kinds())
    assert unread > 0
    assert len(found) == len(sent) - unread
    assert set(found) <= set(sent)


@pytest.mark.parametrize("continues", [True, False], ids=["plain text", "chat"])
@pytest.mark.parametrize("label", ["", "> ", "act: "])
def test_lines_of_few_shot_react_stand_behind_what_was_sent(
    server: Server, tmp_path: Path, label: str, continues: bool
) -> None:
    server.policy, server.continues = Continuing(lambda command: f"{label}{command}"), continues
    world = make_world("alfworld")
    settings = {"exemplars": "own", "thoughts": "turns", "max_tokens": "100"}
    played = play(server, world, world.task("example:2"), "react", tmp_path / "e.jsonl", settings=settings, max_turns=49)
    if continues:
        sent = [one.body["prompt"] for one in played.requests]
        assert [line["instruction"] for line in lines(tmp_path, "alpaca")] == sent
    else:
        found = [prompt for line in lines(tmp_path, "messages") for prompt in prompts(line)]
        assert [json.loads(prompt) for prompt in found] == [one.body["messages"] for one in played.requests]


def test_plain_text_is_exported_as_it_was_sent(server: Server, tmp_path: Path) -> None:
    server.policy, server.continues, server.chats = Completing(Solver()), True, False
    world = make_world("alfworld")
    played = play(server, world, world.task("example:1"), "react", tmp_path / "episode.jsonl", settings={"form": "completion"})
    assert [line["instruction"] for line in lines(tmp_path, "alpaca")] == [one.body["prompt"] for one in played.requests]
