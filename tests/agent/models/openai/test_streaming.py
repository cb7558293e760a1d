"""Replies that come in pieces: where a person attends, what was said so far is told; the reply is the same."""

from __future__ import annotations

import asyncio
import gzip
import json
import threading
import zlib
from typing import Any

import pytest
from starlette.responses import Response

from housequest.agent.models.base import Completion, Message, ReplyProgress, Request, unwatched
from housequest.agent.models.keys import PLACEHOLDER, KeyRing
from housequest.agent.models.openai.protocol import FailedInside, NotACompletion, StreamedReply, read_completion
from housequest.agent.models.openai.redaction import Redactor
from housequest.agent.models.registry import make_model
from housequest.worlds.errors import ModelError
from tests.backends import server as backend
from tests.backends.server import Policy, Recorded, Server

REPLY = "Thought: eggs are kept cold.\nAction: open fridge 1"
ASKED = Request([Message("user", "A kitchen.")])


async def replied(server: Server, *, attended: bool = True) -> Completion:
    model = make_model(
        server.model(), keys=KeyRing(), timeout=5.0, retries=2, wait=0.001, watch=unwatched if attended else None
    )
    try:
        return await model.complete(ASKED)
    finally:
        await model.aclose()


async def hear(server: Server, more: threading.Event) -> None:
    """Hear the beginning of a reply while the rest, which comes once ``more`` is set, is awaited."""
    seen: list[ReplyProgress] = []
    model = make_model(server.model(), keys=KeyRing(), timeout=30.0, watch=seen.append)
    call = asyncio.create_task(model.complete(ASKED))
    while ReplyProgress("Thought: eggs are ") not in seen:
        assert not call.done()
        await asyncio.sleep(0.005)
    more.set()
    assert (await call).text == REPLY
    assert seen[-1] == ReplyProgress()
    await model.aclose()


@pytest.mark.anyio
async def test_what_was_said_so_far_is_told_while_the_rest_is_awaited(server: Server) -> None:
    more = threading.Event()
    server.behave(backend.streamed(REPLY, more))
    await hear(server, more)


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


WHOLE = {"choices": [{"message": {"content": REPLY}, "finish_reason": "stop"}]}
JSON = json.dumps(WHOLE).encode()
EVENTS = b"".join(
    f"data: {json.dumps({'choices': [{'delta': {'content': word}}]})}\n\n".encode() for word in (REPLY[:9], REPLY[9:])
)
DONE = b"data: [DONE]\n\n"


@pytest.mark.heavy
@pytest.mark.anyio
@pytest.mark.parametrize("attended", [False, True])
@pytest.mark.parametrize("content_type", ["application/json", "text/event-stream", "text/plain; charset=utf-8", ""])
@pytest.mark.parametrize(
    "body",
    [
        JSON,
        JSON + b"\n\n" + DONE,
        b"\xef\xbb\xbf" + JSON,
        b": PROCESSING\n\n: PROCESSING\r\n    \n" + json.dumps(WHOLE, indent=2).encode(),
        EVENTS + DONE,
        b"\xef\xbb\xbf\r\n\n: PROCESSING\n\nevent: message\n" + EVENTS + DONE,
        b"id: 1\ndata: " + JSON + b"\n\n" + DONE,
    ],
)
async def test_what_comes_is_told_by_itself(server: Server, body: bytes, content_type: str, attended: bool) -> None:
    server.behave(otherwise=backend.raw(body, content_type=content_type))
    assert (await replied(server, attended=attended)).text == REPLY


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("encoding", "content"),
    [("gzip", gzip.compress(EVENTS + DONE)), ("deflate", zlib.compress(JSON)), ("GZIP", gzip.compress(JSON))],
)
async def test_what_comes_compressed_unasked_is_read(server: Server, encoding: str, content: bytes) -> None:
    server.behave(otherwise=backend.raw(content, content_encoding=encoding))
    assert (await replied(server)).text == REPLY


@pytest.mark.anyio
async def test_events_of_another_type_are_told_while_they_come(server: Server) -> None:
    more = threading.Event()
    events = backend.streamed(REPLY, more)

    async def as_text(recorded: Recorded, policy: Policy) -> Response:
        answer = await events(recorded, policy)
        answer.headers["content-type"] = "text/plain; charset=utf-8"
        return answer

    server.behave(as_text)
    await hear(server, more)


@pytest.mark.parametrize(
    "event",
    [
        {"object": "error", "message": "The engine is dead", "type": "InternalServerError", "code": 500},
        {"error": "The engine is dead", "error_type": "generation", "status": 500},
        {"code": "500", "msg": "The engine is dead"},
        {"choices": [{"delta": {}, "error": {"code": 500, "message": "The engine is dead"}}]},
    ],
)
def test_an_error_among_events_is_one_in_whatever_words(event: object) -> None:
    reply = StreamedReply(None)
    reply.take(EVENTS + b"data:" + json.dumps(event).encode() + b"\n\n" + DONE)
    body = reply.whole() or b""
    with pytest.raises(FailedInside) as raised:
        read_completion(body, "", Redactor(PLACEHOLDER))
    assert (raised.value.status, b"The engine is dead" in raised.value.body) == (500, True)


def test_a_word_after_the_end_of_a_reply_is_no_error() -> None:
    reply = StreamedReply(None)
    ended = b'data: {"choices": [{"delta": {}, "finish_reason": "stop"}]}\n\n'
    reply.take(EVENTS + ended + b'data: {"message": "thank you"}\n\n' + DONE)
    assert read_completion(reply.whole() or b"", "", Redactor(PLACEHOLDER)).text == REPLY


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
    reply = StreamedReply(heard.append)
    for place in range(len(sent)):
        reply.take(sent[place : place + 1])
    whole = json.loads(reply.whole() or b"")
    assert whole["choices"][0] == {
        "message": {"content": "ä b", "reasoning": None, "refusal": None},
        "text": "ä b",
        "finish_reason": "length",
        "logprobs": {"content": [token]},
    }
    assert (whole["usage"], heard) == ({"completion_tokens": 2}, ["ä", "ä b"])


@pytest.mark.parametrize("content", [b"data: {\n\n", b"data: " + b"[" * 100_000 + b"\n\n", b"data: " + b"x" * (2 << 20)])
def test_what_is_no_stream_of_events_is_refused(content: bytes) -> None:
    with pytest.raises(NotACompletion):
        StreamedReply(None).take(content)


def test_a_stream_without_events_is_no_reply() -> None:
    assert StreamedReply(None).whole() is None
