"""A reply that comes in pieces (server-sent events), put together into the chat completion that it is."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

from housequest.agent.models.openai.wire import NotACompletion, at, listed
from housequest.agent.models.text import encodable

STREAMED = {"stream": True, "stream_options": {"include_usage": True}}
"""The parameters that ask for a reply in pieces, and for its count of tokens."""

LARGEST_STREAM = 1 << 24
"""Bytes of a streamed answer that are read: each token comes with some hundred bytes around it."""

LARGEST_EVENT = 1 << 20

Hear = Callable[[str], None]
"""Is told all of a reply so far."""

HEAR: ContextVar[Hear | None] = ContextVar("HEAR", default=None)
"""Who hears the reply to the request that is being made; None where nobody does."""


class StreamedReply:
    """Takes an answer's bytes as they come and tells ``hear`` what was said so far. Raises ``NotACompletion``."""

    def __init__(self, hear: Hear) -> None:
        self._hear = hear
        self._rest = b""
        self._said: list[str] = []
        self._refused: list[str] = []
        self._tokens: list[object] = []
        self._finish: object = None
        self._usage: object = None
        self._error: object = None
        self._over = False

    def take(self, content: bytes) -> None:
        """The next bytes, which may end in the midst of an event."""
        *lines, self._rest = (self._rest + content).split(b"\n")
        if len(self._rest) > LARGEST_EVENT:
            raise NotACompletion(f"answered with an event of more than {LARGEST_EVENT >> 20} MiB")
        for line in lines:
            self._read(line.strip())

    def _read(self, line: bytes) -> None:
        if not line.startswith(b"data:"):
            return  # comments keep a connection open
        data = line.removeprefix(b"data:").strip()
        if data == b"[DONE]":
            self._over = True
            return
        try:
            event: object = json.loads(data)
        except (ValueError, RecursionError):
            raise NotACompletion("answered with a stream whose events are not JSON") from None
        self._error = at(event, "error") or self._error
        self._usage = at(event, "usage") or self._usage
        for choice in listed(at(event, "choices"))[:1]:
            self._finish = at(choice, "finish_reason") or self._finish
            self._tokens += listed(at(choice, "logprobs", "content"))
            for name, parts in (("content", self._said), ("refusal", self._refused)):
                part = at(choice, "delta", name)
                if isinstance(part, str) and part:
                    parts.append(part)
        if self._said:
            self._hear(encodable("".join(self._said)))

    def whole(self) -> bytes | None:
        """The completion as an endpoint writes it that does not stream, an error as one too; None where it broke off."""
        if self._error is not None:
            return json.dumps({"error": self._error}).encode()
        if not self._over and self._finish is None:
            return None
        message: dict[str, Any] = {"content": "".join(self._said), "refusal": "".join(self._refused) or None}
        message["content"] = message["content"] or (None if self._refused else "")
        choice = {"message": message, "finish_reason": self._finish, "logprobs": {"content": self._tokens}}
        return json.dumps({"choices": [choice], "usage": self._usage}).encode()
