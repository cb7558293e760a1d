"""Replies that come in pieces: where a person attends, what was said so far is told; the reply is the same."""

from __future__ import annotations

import asyncio
import json
import threading
from typing import Any

import pytest

from housequest.agent.models.base import Completion, Message, Request
from housequest.agent.models.keys import KeyRing
from housequest.agent.models.openai.protocol import NotACompletion, StreamedReply
from housequest.agent.models.registry import make_model
from housequest.worlds.errors import ModelError
from tests.backends import server as backend
from tests.backends.server import Server

REPLY = "Thought: eggs are kept cold.\nAction: open fridge 1"
ASKED = Request([Message("user", "A kitchen.")])


async def replied(server: Server, *, attended: bool = True) -> Completion:
    model = make_model(server.model(), keys=KeyRing(), timeout=5.0, retries=2, wait=0.001, attended=attended)
    try:
        return await model.complete(ASKED)
    finally:
        await model.aclose()


@pytest.mark.anyio
async def test_what_was_said_so_far_is_told_while_the_rest_is_awaited(server: Server) -> None:
    more = threading.Event()
    server.behave(backend.streamed(REPLY, more))
    model = make_model(server.model(), keys=KeyRing(), timeout=30.0, attended=True)
    call = asyncio.create_task(model.complete(ASKED))
    while model.heard != "Thought: eggs are ":
        assert not call.done()
        await asyncio.sleep(0.005)
    more.set()
    assert (await call).text == REPLY
    assert model.heard == ""
    await model.aclose()


@pytest.mark.anyio
async def test_a_streamed_reply_is_the_reply_that_nobody_attends(server: Server) -> None:
    server.behave(otherwise=backend.streamed(REPLY))
    assert await replied(server) == await replied(server, attended=False)
    assert [request.body.get("stream") for request in server.requests] == [True, None]
    # A server that passes over the parameter answers at once.
    server.behave(otherwise=backend.saying(REPLY))
    assert (await replied(server)).text == REPLY


@pytest.mark.anyio
async def test_a_server_that_takes_no_streams_is_asked_without(server: Server) -> None:
    refusals = [{"error": {"message": f"{name} is not supported", "param": name}} for name in ("stream_options", "stream")]
    server.behave(*(backend.status(400, refusal) for refusal in refusals))
    assert (await replied(server)).text == "Action: look"
    sent = [(request.body.get("stream"), request.body.get("stream_options") is not None) for request in server.requests]
    assert sent == [(True, True), (True, False), (None, False)]


@pytest.mark.anyio
async def test_a_stream_that_breaks_off_is_no_reply(server: Server) -> None:
    server.behave(backend.streamed(REPLY, ending=""), backend.streamed(REPLY))
    assert (await replied(server)).timing.attempts == 2
    server.behave(otherwise=backend.raw(b'data: {"error": {"message": "out of memory"}}\n\n', content_type="text/event-stream"))
    with pytest.raises(ModelError, match="out of memory"):
        await replied(server)


def test_an_event_may_come_in_pieces_and_tokens_are_kept() -> None:
    heard: list[str] = []
    token: dict[str, Any] = {"token": "ä", "logprob": -0.5, "top_logprobs": []}
    events: list[Any] = [
        {"choices": [{"delta": {"content": "ä"}, "logprobs": {"content": [token]}}]},
        {"choices": [{"delta": {"content": " b"}, "finish_reason": "length"}]},
        {"choices": [], "usage": {"completion_tokens": 2}},
    ]
    sent = b"".join(f"data:{json.dumps(event, ensure_ascii=False)}\r\n\r\n".encode() for event in events)
    reply = StreamedReply(lambda reply: heard.append(reply.text))
    for place in range(len(sent)):
        reply.take(sent[place : place + 1])
    whole = json.loads(reply.whole() or b"")
    assert whole["choices"][0] == {
        "message": {"content": "ä b", "reasoning": None, "refusal": None},
        "finish_reason": "length",
        "logprobs": {"content": [token]},
    }
    assert (whole["usage"], heard) == ({"completion_tokens": 2}, ["ä", "ä b"])


@pytest.mark.parametrize("content", [b"data: {\n\n", b"data: " + b"[" * 100_000 + b"\n\n", b"data: " + b"x" * (2 << 20)])
def test_what_is_no_stream_of_events_is_refused(content: bytes) -> None:
    with pytest.raises(NotACompletion):
        StreamedReply(lambda reply: None).take(content)


def test_a_stream_without_events_is_no_reply() -> None:
    assert StreamedReply(lambda reply: None).whole() is None
