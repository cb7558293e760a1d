"""An OpenAI-compatible endpoint on loopback: a small ASGI app, a policy that answers, and behaviours that misbehave.

``serve(policy)`` runs it in a thread; ``server.behave(...)`` queues what happens to the next requests, one behaviour each,
after which it answers as it should. Every request is kept for the test to look at.
"""

from __future__ import annotations

import asyncio
import json
import re
import socket
import subprocess
import threading
from base64 import b64decode
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, AnyStr
from zlib import crc32, decompress

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from housequest.agent.models.openai.model import QUESTION, picture_question
from tests.waiting import wait_until

Messages = list[dict[str, str]]
Policy = Callable[[Messages], str]
"""From the conversation, and nothing else, to the reply."""


@dataclass(frozen=True)
class Recorded:
    """One request as it came in; ``raw`` are the bytes of its body."""

    path: str
    headers: Mapping[str, str]
    body: dict[str, Any]
    raw: bytes = b""

    @property
    def messages(self) -> Messages:
        """The conversation by its texts; of plain text that is to be continued, one message."""
        if "prompt" in self.body:
            return [{"role": "user", "content": self.body["prompt"]}]
        return [{**message, "content": _parts(message)[0]["text"]} for message in self.body["messages"]]

    @property
    def pngs(self) -> list[bytes]:
        """The pictures of all messages, in order."""
        parts = [part for message in self.body.get("messages", ()) for part in _parts(message)[1:]]
        return [b64decode(part["image_url"]["url"].removeprefix("data:image/png;base64,"), validate=True) for part in parts]

    @property
    def text(self) -> str:
        """The whole prompt."""
        return "\n".join(message["content"] for message in self.messages)


def _parts(message: dict[str, Any]) -> list[dict[str, Any]]:
    """A message's text, and what comes with it."""
    content = message.get("content")
    return [{"type": "text", "text": content or ""}] if content is None or isinstance(content, str) else content


_WORD = re.compile(r"\s*\S+")

_QUESTIONS = {QUESTION, picture_question().content}

NO_TEMPLATE = (
    "As of transformers v4.44, default chat template is no longer allowed, so you must provide a chat template if the "
    "tokenizer does not define one."
)

Behaviour = Callable[[Recorded, Policy], Awaitable[Response]]


def completion(
    text: str | None, recorded: Recorded, *, finish: str = "stop", cached: int | None = None, **message: Any
) -> dict[str, Any]:
    """A chat completion as the protocol writes it; words count as tokens."""
    prompt, reply = len(recorded.text.split()), len((text or "").split())
    usage: dict[str, Any] = {"prompt_tokens": prompt, "completion_tokens": reply, "total_tokens": prompt + reply}
    if cached is not None:
        usage["prompt_tokens_details"] = {"cached_tokens": cached}
    choice: dict[str, Any] = {"index": 0, "finish_reason": finish}
    plain = "prompt" in recorded.body
    return {
        "id": "chatcmpl-0",
        "object": "text_completion" if plain else "chat.completion",
        "created": 0,
        "model": recorded.body.get("model"),
        "choices": [choice | ({"text": text} if plain else {"message": {"role": "assistant", "content": text, **message}})],
        "usage": usage,
    }


def read(recorded: Recorded, policy: Policy) -> dict[str, Any]:
    """The answer to a prompt whose tokens were asked for, in the form that vLLM documents for ``prompt_logprobs``.

    A message that is over is one token, and so is what begins the next; words are those of a message that is to be continued.
    Words that the policy would say are likely, the first other one is not.
    """
    begun = bool(recorded.body.get("continue_final_message"))
    before = recorded.messages[:-1] if begun else recorded.messages
    tokens = [(f"<{message['role']}>{message['content']}</>", -2.0) for message in before]
    if begun or recorded.body.get("add_generation_prompt", True):
        tokens.append(("<assistant>", -0.5))
    if begun:
        said, likely = _WORD.findall(policy(before)), True
        for place, word in enumerate(_WORD.findall(recorded.messages[-1]["content"])):
            fits = likely and place < len(said) and said[place] == word
            tokens.append((word, -0.125 if fits else -8.0 if likely else -1.0))
            likely = fits
    told = [{str(crc32(text.encode())): {"logprob": logprob, "rank": 1, "decoded_token": text}} for text, logprob in tokens[1:]]
    return completion("", recorded, finish="length") | {"prompt_logprobs": [None, *told]}


def embeddings(recorded: Recorded) -> dict[str, Any]:
    """Vectors that count a few letters, in an order that is not that of the texts."""
    vectors = [[text.count(letter) for letter in "abcdehlmopt"] for text in recorded.body["input"]]
    data = [{"object": "embedding", "index": place, "embedding": vector} for place, vector in enumerate(vectors)]
    return {"object": "list", "data": data[::-1], "model": recorded.body["model"]}


async def answer(recorded: Recorded, policy: Policy) -> Response:
    """What the policy says, cut at the stop words; or, where that was asked, how likely a prompt is by what it would say.

    Vectors where embeddings were asked for.
    """
    if "input" in recorded.body:
        return JSONResponse(embeddings(recorded))
    if recorded.body.get("prompt_logprobs") is not None:
        return JSONResponse(read(recorded, policy))
    text = policy(recorded.messages)
    for word in recorded.body.get("stop") or ():
        text = text.split(word)[0]
    return JSONResponse(completion(text, recorded))


def saying(text: str | None, *, finish: str = "stop", cached: int | None = None, **message: Any) -> Behaviour:
    """This reply, whatever was asked."""

    async def behave(recorded: Recorded, policy: Policy) -> Response:
        return JSONResponse(completion(text, recorded, finish=finish, cached=cached, **message))

    return behave


async def seeing(recorded: Recorded, policy: Policy) -> Response:
    """The colours of a picture's upper and lower half; what the policy says where there is none."""
    if not recorded.pngs:
        return await answer(recorded, policy)
    rows = decoded(recorded.pngs[-1])
    named = {(255, 255, 0): "Yellow", (255, 0, 0): "red"}
    return JSONResponse(completion(f"{named[rows[0][0]]}, {named[rows[-1][-1]]}.", recorded))


def decoded(png: bytes) -> list[list[tuple[int, int, int]]]:
    """The rows of an opaque PNG without filters, as (red, green, blue), by another way than the one that wrote it."""
    assert png[:8] == b"\x89PNG\r\n\x1a\n"
    chunks: list[tuple[bytes, bytes]] = []
    at = 8
    while at < len(png):
        size = int.from_bytes(png[at : at + 4], "big")
        kind, body = png[at + 4 : at + 8], png[at + 8 : at + 8 + size]
        assert int.from_bytes(png[at + 8 + size : at + 12 + size], "big") == crc32(kind + body)
        chunks.append((kind, body))
        at += 12 + size
    assert [chunks[0][0], chunks[-1]] == [b"IHDR", (b"IEND", b"")]
    assert b"tRNS" not in dict(chunks)
    width, height = (int.from_bytes(chunks[0][1][place : place + 4], "big") for place in (0, 4))
    depth, kind, *rest = chunks[0][1][8:]
    assert (depth, rest) == (8, [0, 0, 0])
    wide = {2: 3, 3: 1}[kind] * width + 1
    lines = decompress(b"".join(body for name, body in chunks if name == b"IDAT"))
    assert len(lines) == height * wide
    rows = [lines[row * wide :][:wide] for row in range(height)]
    assert {row[0] for row in rows} == {0}
    samples = dict(chunks).get(b"PLTE", b"") if kind == 3 else b""
    flat = [b"".join(samples[3 * at : 3 * at + 3] for at in row[1:]) if kind == 3 else row[1:] for row in rows]
    return [[(row[at], row[at + 1], row[at + 2]) for at in range(0, len(row), 3)] for row in flat]


def streamed(text: str, more: threading.Event | None = None, ending: str = "data: [DONE]\n\n") -> Behaviour:
    """This reply in pieces, as far as its client asked for that; with ``more``, the second half once that is set."""

    async def behave(recorded: Recorded, policy: Policy) -> Response:
        whole = completion(text, recorded)
        if not recorded.body.get("stream"):
            return JSONResponse(whole)

        def event(delta: object, finish: str | None = None, **besides: object) -> str:
            said = {"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}
            return f"data: {json.dumps(said | besides)}\n\n"

        async def pieces() -> AsyncIterator[str]:
            words = _WORD.findall(text)
            yield ": a comment\n\n" + event({"role": "assistant", "content": None})
            for place, word in enumerate(words):
                if place == len(words) // 2 and more is not None:
                    await asyncio.to_thread(more.wait, 30)
                yield event({"content": word})
            if ending:
                yield event({}, "stop") + f"data: {json.dumps({'choices': [], 'usage': whole['usage']})}\n\n" + ending

        return StreamingResponse(pieces(), media_type="text/event-stream")

    return behave


def status(code: int, body: object = None, **headers: str) -> Behaviour:
    """An error; header names are given with underscores."""

    async def behave(recorded: Recorded, policy: Policy) -> Response:
        told = (
            {"error": {"message": f"no luck ({code})", "type": "test", "param": None, "code": None}} if body is None else body
        )
        return JSONResponse(told, code, {name.replace("_", "-"): value for name, value in headers.items()})

    return behave


def raw(body: bytes, *, content_type: str = "application/json", code: int = 200, **headers: str) -> Behaviour:
    """Exactly these bytes."""

    async def behave(recorded: Recorded, policy: Policy) -> Response:
        more = {name.replace("_", "-"): value for name, value in headers.items()}
        return Response(body, code, {"content-type": content_type, **more})

    return behave


def slow(seconds: float) -> Behaviour:
    """The right answer, late."""

    async def behave(recorded: Recorded, policy: Policy) -> Response:
        await asyncio.sleep(seconds)
        return await answer(recorded, policy)

    return behave


def together(count: int) -> Behaviour:
    """The right answer to each of ``count`` requests, once all of them are waiting for it."""
    waiting: list[asyncio.Event] = []

    async def behave(recorded: Recorded, policy: Policy) -> Response:
        mine = asyncio.Event()
        waiting.append(mine)
        if len(waiting) == count:
            for event in waiting:
                event.set()
        await mine.wait()
        return await answer(recorded, policy)

    return behave


async def cut_off(recorded: Recorded, policy: Policy) -> Response:
    """Half of the right answer, and then the connection is gone."""
    whole = (await answer(recorded, policy)).body

    async def half() -> AsyncIterator[bytes]:
        yield bytes(whole[: len(whole) // 2])

    return StreamingResponse(half(), headers={"content-length": str(len(whole)), "content-type": "application/json"})


async def half_json(recorded: Recorded, policy: Policy) -> Response:
    """Half of the right answer, as if that were all of it."""
    whole = (await answer(recorded, policy)).body
    return Response(whole[: len(whole) // 2], media_type="application/json")


def endless(chunk: bytes, pause: float = 0.0) -> Behaviour:
    """A body that never ends."""

    async def behave(recorded: Recorded, policy: Policy) -> Response:
        async def forever() -> AsyncIterator[bytes]:
            while True:
                yield chunk
                await asyncio.sleep(pause)

        return StreamingResponse(forever(), media_type="application/json")

    return behave


@dataclass
class Server:
    """The endpoint as a test holds it."""

    policy: Policy
    otherwise: Behaviour = answer
    probing: Behaviour = field(default_factory=lambda: saying("ready"))
    """Answers the calls by which a client finds out what the endpoint does besides chatting; ``probes`` are these."""
    embedding: Behaviour = answer
    """Answers the requests for embeddings; ``embedded`` are these."""
    requests: list[Recorded] = field(default_factory=list)
    embedded: list[Recorded] = field(default_factory=list)
    probes: list[Recorded] = field(default_factory=list)
    continues: bool = False
    """Whether it has completions of plain text."""
    chats: bool = True
    """Whether its model has a chat template; without one it says so as vLLM does."""
    beside: dict[str, Callable[[Any], object]] = field(default_factory=dict)
    """What it answers at other paths, such as ``/tokenize``, to the JSON that came."""
    port: int = 0
    _queued: deque[Behaviour] = field(default_factory=deque)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    def model(self, name: str = "tester") -> str:
        """The endpoint's model as one names it on the command line."""
        return f"openai:{name}@{self.url}"

    def behave(self, *behaviours: Behaviour, otherwise: Behaviour | None = None) -> None:
        """Queue a behaviour for each of the next requests; ``otherwise`` is for all after those."""
        self._queued.extend(behaviours)
        self.otherwise = otherwise or self.otherwise

    def reset(self) -> None:
        """Forget what was asked and what was queued, and answer as it should."""
        self.requests.clear()
        self.probes.clear()
        self.embedded.clear()
        self._queued.clear()
        self.otherwise, self.probing, self.embedding = answer, saying("ready"), answer
        self.continues, self.chats, self.beside = False, True, {}

    def await_requests(self, count: int, process: subprocess.Popen[AnyStr]) -> None:
        """Wait until so many have come, which they must before ``process`` ends."""
        wait_until(lambda: len(self.requests) >= count, process)

    def sent(self, header: str) -> set[str | None]:
        """All that was ever sent in this header."""
        return {request.headers.get(header) for request in self.requests}

    @property
    def app(self) -> Starlette:
        async def chat(request: Request) -> Response:
            raw = await request.body()
            recorded = Recorded(request.url.path, dict(request.headers), json.loads(raw), raw)
            if "prompt" in recorded.body and not self.continues:
                return JSONResponse({"error": {"message": "Not Found"}}, 404)
            if "prompt" not in recorded.body and not self.chats:
                return JSONResponse({"error": {"message": NO_TEMPLATE, "type": "BadRequestError", "code": 400}}, 400)
            if any(message["content"] in _QUESTIONS for message in recorded.messages[-2:]):
                self.probes.append(recorded)
                return await self.probing(recorded, lambda _: "ready")  # a policy knows its own prompts alone
            self.requests.append(recorded)
            behaviour = self._queued.popleft() if self._queued else self.otherwise
            return await behaviour(recorded, self.policy)

        async def embed(request: Request) -> Response:
            raw = await request.body()
            recorded = Recorded(request.url.path, dict(request.headers), json.loads(raw), raw)
            self.embedded.append(recorded)
            return await self.embedding(recorded, self.policy)

        async def models(request: Request) -> Response:
            return JSONResponse({"object": "list", "data": [{"id": "tester", "object": "model", "owned_by": "tests"}]})

        async def other(request: Request) -> Response:
            answers, raw = self.beside.get(request.url.path), await request.body()
            return Response("Not Found", 404) if answers is None else JSONResponse(answers(json.loads(raw) if raw else None))

        return Starlette(
            routes=[
                Route("/v1/chat/completions", chat, methods=["POST"]),
                Route("/v1/completions", chat, methods=["POST"]),
                Route("/v1/embeddings", embed, methods=["POST"]),
                Route("/v1/models", models),
                Route("/elsewhere/v1/chat/completions", chat, methods=["POST"]),
                Route("/{path}", other, methods=["GET", "POST"]),
            ]
        )


@contextmanager
def _running(app: Any) -> Iterator[int]:
    # Named as TCP, asyncio turns off Nagle's algorithm, which else costs 40 ms a request.
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.bind(("127.0.0.1", 0))
    listening.listen(1_024)
    config = uvicorn.Config(app, log_level="critical", lifespan="off", ws="none", timeout_graceful_shutdown=1)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    try:
        yield listening.getsockname()[1]
    finally:
        server.should_exit = True
        server.force_exit = True
        thread.join(10)
        listening.close()


@contextmanager
def serve(policy: Policy = lambda messages: "Action: look") -> Iterator[Server]:
    """Run an endpoint on a free port of loopback; it listens before this returns."""
    server = Server(policy)
    with _running(server.app) as server.port:
        yield server


@contextmanager
def serve_bytes(answers: Sequence[bytes]) -> Iterator[str]:
    """The base URL of a server below HTTP: it reads a request, sends ``answers`` in turn as they are, and hangs up."""
    listening = socket.create_server(("127.0.0.1", 0), backlog=64)
    remaining = deque(answers)

    def run() -> None:
        while True:
            try:
                connection, _ = listening.accept()
            except OSError:
                return
            with connection:
                connection.settimeout(5)
                try:
                    connection.recv(1 << 16)
                    if remaining:
                        connection.sendall(remaining.popleft())
                except OSError:
                    continue

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}/v1"
    finally:
        listening.shutdown(socket.SHUT_RDWR)
        listening.close()
        thread.join(5)
