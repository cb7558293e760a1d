"""How much of an endpoint's context a prompt leaves, and what is said where it leaves nothing."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from housequest.agent.models.base import Message, Model, Request, context_left
from housequest.agent.models.keys import KeyRing
from housequest.agent.models.registry import make_model
from housequest.worlds.errors import ModelError
from tests.backends import server as backend
from tests.backends.server import Server

ASKED = [Message("system", "You act."), Message("user", "A kitchen with a fridge.")]


def model_of(server: Server) -> Model:
    return make_model(server.model(), keys=KeyRing(), timeout=5.0, retries=0)


def room(server: Server) -> int | None:
    async def asked() -> int | None:
        model = model_of(server)
        try:
            return await context_left(model, ASKED)
        finally:
            await model.aclose()

    return asyncio.run(asked())


def test_plain_text_is_counted_as_plain_text(server: Server) -> None:
    async def asked() -> int | None:
        model = model_of(server)
        try:
            return await context_left(model, ASKED, raw=True)
        finally:
            await model.aclose()

    text = "You act.A kitchen with a fridge."
    server.beside["/tokenize"] = lambda body: {"count": len(body["prompt"].split()), "max_model_len": 100}
    assert asyncio.run(asked()) == 100 - len(text.split())
    server.beside = {
        "/props": lambda _: {"default_generation_settings": {"n_ctx": 64}},
        "/tokenize": lambda body: {"tokens": body.get("content", "").split()},
    }
    assert asyncio.run(asked()) == 64 - len(text.split())


def words(body: Any) -> list[str]:
    return [word for message in body["messages"] for word in str(message["content"]).split()]


def test_vllm_counts_a_conversation(server: Server) -> None:
    # The answers of its API server, by its documentation.
    server.beside["/tokenize"] = lambda body: {
        "count": len(words(body)),
        "max_model_len": 100,
        "tokens": [1] * len(words(body)),
    }
    assert room(server) == 100 - 7


def test_llama_server_writes_it_and_counts_the_text(server: Server) -> None:
    server.beside |= {
        "/props": lambda _: {"default_generation_settings": {"n_ctx": 64}, "total_slots": 4},
        "/apply-template": lambda body: {"prompt": " ".join(words(body)) + " <reply>"},
        "/tokenize": lambda body: {"tokens": body.get("content", "").split()},
    }
    assert room(server) == 64 - 8


@pytest.mark.parametrize(
    "answers",
    [
        {},
        {"/props": {"default_generation_settings": {"n_ctx": 64}}},
        {"/tokenize": {"count": "many", "max_model_len": -1}, "/props": [], "/apply-template": 3},
        {"/props": {"default_generation_settings": {"n_ctx": 64}}, "/apply-template": {"prompt": "a"}, "/tokenize": "no"},
    ],
)
def test_a_server_that_does_not_tell_has_no_room_to_speak_of(server: Server, answers: dict[str, object]) -> None:
    server.beside |= {path: lambda _, said=said: said for path, said in answers.items()}
    assert room(server) is None
    assert not server.requests, "no reply was asked for"


@pytest.mark.parametrize(
    ("said", "more"),
    [
        ("request (5000 tokens) exceeds the available context size (4096 tokens), try increasing it", "6144"),
        ("This model's maximum context length is 4096 tokens. However, you requested 4165 tokens.", "6144"),
        ("the request exceeds the available context size", "N"),
        ("the request exceeds the context of 4096 tokens", "5120"),
    ],
)
def test_a_prompt_that_does_not_fit_is_refused_with_the_number_to_set(server: Server, said: str, more: str) -> None:
    async def asked() -> None:
        model = model_of(server)
        try:
            await model.complete(Request(ASKED))
        finally:
            await model.aclose()

    server.behave(backend.status(400, {"error": {"message": said, "type": "exceed_context_size_error", "code": 400}}))
    with pytest.raises(ModelError, match=f"too short for the prompt.*llama-server -c {more}, vLLM --max-model-len {more}"):
        asyncio.run(asked())
    assert len(server.requests) == 1
