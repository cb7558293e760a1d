"""A small OpenAI-compatible server on loopback that counts what is paid for, and lies when it is told to."""

from __future__ import annotations

import asyncio
import hashlib
import json
import socket
import struct
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from scripts.torture import policy

Lie = Callable[["Call"], Awaitable[None]]
"""What happens to a call instead of an honest answer."""


CONTEXT = 1 << 20
"""Tokens that fit into the model's context."""
ELSEWHERE = "/elsewhere"
"""The path to which a redirect leads; nobody should follow it with a key."""


@dataclass(frozen=True)
class Call:
    """One request: which prompt it is, and the connection that waits for its answer."""

    endpoint: Endpoint
    headers: Mapping[str, str]
    messages: list[dict[str, Any]]
    prompt: str
    writer: asyncio.StreamWriter

    @property
    def key(self) -> str:
        """The key that came along."""
        return self.headers.get("authorization", "").removeprefix("Bearer ")

    def completion(self, text: str | None = None) -> dict[str, Any]:
        """A chat completion that says ``text``, or what the honest policy says."""
        said = policy.reply(self.messages) if text is None else text
        asked = sum(len(policy.written(message).split()) for message in self.messages)
        return {
            "id": "chatcmpl-0",
            "object": "chat.completion",
            "created": 0,
            "model": "m",
            "choices": [{"index": 0, "message": {"role": "assistant", "content": said}, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": asked, "completion_tokens": len(said.split())},
        }

    async def answer(self) -> None:
        """Answer as one should; from then on the call is paid for. A probe is counted apart, for it is asked at each start."""
        counted = self.endpoint.probes if policy.is_probe(self.messages) else self.endpoint.paid
        counted[self.prompt] += 1
        await self.send(json.dumps(self.completion()).encode())

    async def send(
        self,
        body: bytes,
        code: int = 200,
        kind: str = "application/json",
        *,
        length: int | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        """Send a response; ``length`` is what it claims to be long."""
        said = {"content-type": kind, "content-length": str(len(body) if length is None else length), **(headers or {})}
        lines = (f"HTTP/1.1 {code} So", *(f"{name}: {value}" for name, value in said.items()), "", "")
        self.writer.write("\r\n".join(lines).encode() + body)
        await self.writer.drain()

    def abort(self) -> None:
        """Reset the connection."""
        connection = self.writer.get_extra_info("socket")
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.writer.transport.abort()


def honest(call: Call) -> Lie | None:
    """No lie."""
    return None


class Endpoint:
    """The server, which also looks at pictures and counts tokens. ``paid`` counts honest answers by prompt, ``probes`` those to
    questions of what it can do; ``calls`` all requests, ``strayed`` those that followed a redirect.

    ``lie`` is asked at each request what happens to it; None is an honest answer, after ``slow`` seconds.
    """

    def __init__(self) -> None:
        self.port = 0
        self.calls = 0
        self.paid: Counter[str] = Counter()
        self.probes: Counter[str] = Counter()
        self.strayed = 0
        self.lie: Callable[[Call], Lie | None] = honest
        self.slow = 0.0
        self._server: asyncio.Server | None = None
        self._connections: set[asyncio.Task[None]] = set()

    @property
    def model(self) -> str:
        """How the command names it."""
        return f"openai:m@http://127.0.0.1:{self.port}/v1"

    async def open(self) -> None:
        """Listen, at the same port as before."""
        self._server = await asyncio.start_server(self._connected, "127.0.0.1", self.port, limit=8 << 20)
        self.port = self._server.sockets[0].getsockname()[1]

    def shut(self) -> None:
        """Listen no more; whoever connects is refused."""
        if self._server is not None:
            self._server.close()
            self._server = None

    async def close(self) -> None:
        """Shut, and drop every connection."""
        self.shut()
        for task in list(self._connections):
            task.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)

    def honest(self) -> None:
        """Lie no more."""
        self.lie, self.slow = honest, 0.0

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._connections.add(task)
        try:
            # Cancelled by `close`, and by nobody else.
            with suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
                while not writer.is_closing():
                    await self._serve(reader, writer)
        finally:
            self._connections.discard(task)
            writer.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines[1:] if line)}
        body = json.loads(await reader.readexactly(int(headers.get("content-length", "0"))) or b"{}")
        messages = body.get("messages", [])
        call = Call(self, headers, messages, policy.digest(messages), writer)
        self.calls += 1
        path = lines[0].split(" ")[1]
        if path.startswith(ELSEWHERE):
            self.strayed += 1
        elif path == "/tokenize":
            text = str(body.get("prompt") or "\n".join(map(policy.written, messages)))
            tokens = [int(hashlib.sha256(word.encode()).hexdigest()[:6], 16) for word in text.split()]
            await call.send(json.dumps({"tokens": tokens, "count": len(tokens), "max_model_len": CONTEXT}).encode())
            return
        elif (lie := self.lie(call)) is not None:
            await lie(call)
            return
        if self.slow:
            # Not without need: another call may come meanwhile, before this one counts as paid.
            await asyncio.sleep(self.slow)
        await call.answer()
