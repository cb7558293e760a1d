"""Chunks and replies are made so small that a model whose context is known has room for both."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest
from starlette.responses import JSONResponse, Response

from housequest.agent.config import configure
from housequest.agent.evaluation.runs.batch import RunOptions
from housequest.agent.evaluation.runs.budget import BudgetTracker
from housequest.agent.explorer.explore import LEAST_REPLY, ExploreTarget, explore
from housequest.agent.explorer.plan import ExplorationReport, ExploreOptions, plan_exploration
from housequest.agent.models.llama import installed
from tests.agent.models.tiny import write_tiny
from tests.backends.server import Behaviour, Policy, Recorded, Server, completion, saying, serve


@pytest.mark.heavy
@pytest.mark.parametrize("runtime", ["xllamacpp", "llama-cpp-python"])
def test_a_chunk_that_leaves_no_room_for_a_reply_is_made_smaller(tmp_path: Path, runtime: str) -> None:
    if runtime not in installed():
        pytest.skip(f"needs {runtime}")
    model = f"llama:{write_tiny(tmp_path / 'tiny.gguf')}?runtime={runtime}&threads=1&slots=1&context=8192"
    said: list[str] = []
    exploration = plan_exploration(
        configure({"agent": "expert", "split": "generated", "timeout": 300}, tmp_path),
        ExploreOptions(episodes=4, distiller=model, reply_tokens=16),
    )
    target, options = ExploreTarget(str(tmp_path / "book.yaml")), RunOptions(say=said.append)
    report = asyncio.run(explore(exploration, tmp_path / "run", target, options, BudgetTracker()))
    assert report.chunks > 1
    assert any("no more fits" in each for each in said)
    assert not any("context of" in lost.why for lost in report.lost)


SIZE = 2_500
"""Tokens of the context of an endpoint that counts its prompt and its reply, as vLLM does."""


def tokens_of(body: Any) -> int:
    text = body["prompt"] if "prompt" in body else "".join(f"<{each['role']}>{each['content']}" for each in body["messages"])
    return len(text) // 4 + 20


def narrow(*said: str) -> Behaviour:
    """An endpoint that refuses what does not fit, and else says these replies in turn."""
    replies = cycle(said)

    async def behave(recorded: Recorded, policy: Policy) -> Response:
        del policy
        needs = tokens_of(recorded.body) + recorded.body["max_tokens"]
        if needs > SIZE:
            message = f"This model's maximum context length is {SIZE} tokens. However, you requested {needs} tokens."
            return JSONResponse({"error": {"message": message}}, 400)
        return JSONResponse(completion(next(replies), recorded))

    return behave


def learnt(folder: Path, server: Server, **options: Any) -> tuple[ExplorationReport, list[str]]:
    """The report of an exploration in ``folder``, as if its learning had broken off before its end, and what it said."""
    said: list[str] = []
    exploration = plan_exploration(
        configure({"agent": "expert", "split": "generated"}, folder),
        ExploreOptions(episodes=6, distiller=server.model(), **options),
    )
    (folder / "run" / "report.json").unlink(missing_ok=True)
    target, told = ExploreTarget(str(folder / "book.yaml")), RunOptions(say=said.append)
    return asyncio.run(explore(exploration, folder / "run", target, told, BudgetTracker())), said


@pytest.fixture
def server() -> Iterator[Server]:
    with serve() as running:
        running.beside["/tokenize"] = lambda body: {"count": tokens_of(body), "max_model_len": SIZE}
        yield running


@pytest.mark.heavy
@pytest.mark.parametrize("chats", [True, False], ids=["chat", "text"])
def test_replies_are_no_longer_than_the_context_has_room_for(tmp_path: Path, server: Server, *, chats: bool) -> None:
    # What cannot be read is asked for again, with what was said and why.
    server.behave(otherwise=narrow("I see a kitchen. " * 200, "[]"))
    server.chats, server.continues = chats, not chats
    asked_as = "messages" if chats else "prompt"
    server.beside["/tokenize"] = lambda body: (
        {"count": tokens_of(body), "max_model_len": SIZE} if asked_as in body else {"error": "no chat template"}
    )
    report, said = learnt(tmp_path, server)
    assert report.chunks > 1
    assert not any("context" in lost.why for lost in report.lost)
    most = {request.body["max_tokens"] for request in server.requests}
    assert len(most) == 1
    assert LEAST_REPLY <= most.pop() < 2_048
    assert all(("prompt" in request.body) is not chats for request in server.requests)
    assert any("no more fits" in each for each in said)


@pytest.mark.heavy
def test_a_resumed_exploration_makes_the_same_calls_in_another_context(tmp_path: Path, server: Server) -> None:
    server.behave(otherwise=narrow("[]"))
    first, _ = learnt(tmp_path, server)
    asked = len(server.requests)
    for size in (200_000, None):
        server.beside["/tokenize"] = lambda body, size=size: {"count": tokens_of(body), "max_model_len": size}
        again, _ = learnt(tmp_path, server)
        assert again == first
    assert len(server.requests) == asked, "each was answered before"


@pytest.mark.heavy
def test_an_exploration_that_answered_calls_without_such_a_file_goes_on_in_its_sizes(tmp_path: Path, server: Server) -> None:
    del server.beside["/tokenize"]
    server.behave(otherwise=saying("[]"))
    first, _ = learnt(tmp_path, server, chunk_tokens=900)
    asked = len(server.requests)
    assert not (tmp_path / "run" / "sizes.json").exists()
    server.beside["/tokenize"] = lambda body: {"count": tokens_of(body), "max_model_len": SIZE}
    assert learnt(tmp_path, server, chunk_tokens=900)[0] == first
    assert len(server.requests) == asked
