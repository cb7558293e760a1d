"""A minimal OpenAI-compatible endpoint: ``python -m scripts.bench.endpoint SECONDS``.

It answers each call after that time with the same reply. It prints its port, and when its input ends, the number of answered
calls and their seconds of processor time.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time

REPLY = "Thought: I look round.\nAction: look"

_BODY = json.dumps(
    {
        "id": "chatcmpl-0",
        "object": "chat.completion",
        "created": 0,
        "model": "bench",
        "choices": [{"index": 0, "message": {"role": "assistant", "content": REPLY}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110},
    }
).encode()
_ANSWER = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n" % len(_BODY) + _BODY


class _Connection(asyncio.Protocol):
    """One connection, kept alive: calls come one after the other."""

    answered = 0
    seconds = 0.0

    def __init__(self) -> None:
        self._heard = bytearray()
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._heard += data
        head = self._heard.find(b"\r\n\r\n")
        if head < 0:
            return
        lines = bytes(self._heard[:head]).lower().split(b"\r\n")
        length = next(int(line.partition(b":")[2]) for line in lines if line.startswith(b"content-length:"))
        if len(self._heard) >= head + 4 + length:
            del self._heard[: head + 4 + length]
            asyncio.get_running_loop().call_later(self.seconds, self._answer)

    def _answer(self) -> None:
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(_ANSWER)
            _Connection.answered += 1


async def _serve(seconds: float) -> None:
    _Connection.seconds = seconds
    server = await asyncio.get_running_loop().create_server(_Connection, "127.0.0.1", 0, backlog=2048)
    print(server.sockets[0].getsockname()[1], flush=True)
    before = time.process_time()
    await asyncio.to_thread(sys.stdin.read)
    print(json.dumps({"calls": _Connection.answered, "seconds": time.process_time() - before}), flush=True)


if __name__ == "__main__":
    asyncio.run(_serve(float(sys.argv[1])))
