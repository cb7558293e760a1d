"""What an endpoint answers, whole or in pieces: untrusted data, read here of whatever shape it is."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from dataclasses import replace
from itertools import zip_longest
from typing import Any

from housequest.agent.models.base import Completion, PromptToken, Timing, TokenChoice, Usage
from housequest.agent.models.openai.failures import NotACompletion, refusal_of
from housequest.agent.models.openai.redaction import Redactor
from housequest.agent.models.openai.requests import MOST_ALTERNATIVES, PROMPT_TOKENS
from housequest.agent.models.openai.shapes import at, count, finite, is_table, listed
from housequest.agent.models.text import encodable, printable_line

LONGEST_FINISH = 40
_MOST_TOKENS = 4_096
_LONGEST_TOKEN = 200
_LONGEST_NUMBER = 10

LARGEST_EVENT = 1 << 20
"""Bytes of one event of a reply that comes in pieces."""

Hear = Callable[[str], None]
"""Is told all of a reply so far."""

HEAR: ContextVar[Hear | None] = ContextVar("HEAR", default=None)
"""Who hears the reply to the request that is being made; None where nobody does."""


def read_completion(body: bytes, content_type: str, redactor: Redactor, *, raw: bool = False) -> Completion:
    """Read a chat completion, without the key; ``timing`` holds only what a cache served. Raises ``NotACompletion``.

    ``raw``: one of plain text, whose choices hold their text themselves.
    Its counts of tokens are whatever the endpoint says, as far as that is `believed`.
    """
    try:
        answer: object = json.loads(body)
        if not is_table(answer):
            raise NotACompletion("answered with JSON that is not a chat completion")
        # There are thousands of these tokens, of which numbers alone are kept.
        tokens = read_tokens(answer)
        # Decoded first: JSON has many ways of writing a key.
        reply: object = redactor.reply({name: each for name, each in answer.items() if name != PROMPT_TOKENS})
    except (ValueError, RecursionError):
        kind = printable_line(redactor.text(content_type), 60) or "no content type"
        raise NotACompletion(f"answered with {len(body)} bytes of {kind} that are not JSON") from None
    choices = listed(at(reply, "choices"))
    if not choices:
        said = refusal_of(reply).message
        raise NotACompletion(f"answered without a reply{f': {said}' if said else ' (no choices)'}")
    choice = choices[0]
    message, finish = choice if raw else at(choice, "message"), at(choice, "finish_reason")
    if not is_table(message):
        raise NotACompletion("answered with a choice that holds no message")
    content, refusal = at(message, "text" if raw else "content"), at(message, "refusal")
    if content is None and isinstance(refusal, str) and refusal:
        content, finish = refusal, "refusal"
    if not isinstance(content, str | None):
        raise NotACompletion("answered with a message whose content is not text")
    usage = at(reply, "usage")
    return Completion(
        encodable(content or ""),
        printable_line(finish if isinstance(finish, str) else "", LONGEST_FINISH) or "stop",
        Usage(count(usage, "prompt_tokens"), count(usage, "completion_tokens")),
        Timing(cached=count(usage, "prompt_tokens_details", "cached_tokens")),
        _without_key(token_choices(choice), redactor),
        tokens,
    )


def _without_key(tokens: Sequence[TokenChoice], redactor: Redactor) -> tuple[TokenChoice, ...]:
    """The tokens without a key that is spread over several of them, be they those chosen or the alternatives of one rank."""
    words = zip_longest(*((token.token, *(word for word, _ in token.alternatives)) for token in tokens), fillvalue="")
    clean = zip(*map(redactor.pieces, words), strict=True)
    return tuple(
        replace(token, token=chosen, alternatives=tuple(zip(others, (each for _, each in token.alternatives), strict=False)))
        for token, (chosen, *others) in zip(tokens, clean, strict=True)
    )


def token_choices(choice: object) -> tuple[TokenChoice, ...]:
    """The tokens of one choice of a completion with their log-probabilities; malformed ones are left out."""
    found: list[TokenChoice] = []
    for entry in listed(at(choice, "logprobs", "content"))[:_MOST_TOKENS]:
        here = _likely(entry)
        if here is not None:
            others = map(_likely, listed(at(entry, "top_logprobs"))[:MOST_ALTERNATIVES])
            found.append(TokenChoice(*here, tuple(other for other in others if other is not None)))
    return tuple(found)


def _likely(entry: object) -> tuple[str, float] | None:
    """A token and its log-probability."""
    word, logprob = at(entry, "token"), finite(at(entry, "logprob"))
    if not isinstance(word, str) or logprob is None:
        return None
    return encodable(word[:_LONGEST_TOKEN]), logprob


def read_tokens(reply: object) -> tuple[PromptToken, ...]:
    """The tokens of the prompt but the first, which has no probability; none where one cannot be read."""
    found = [_prompt_token(entry) for entry in listed(at(reply, PROMPT_TOKENS))[1:]]
    tokens = tuple(token for token in found if token is not None)
    return tokens if len(tokens) == len(found) else ()


def _prompt_token(entry: object) -> PromptToken | None:
    # The token that stands there comes first; likelier ones, which were not asked for, would follow.
    number = next(iter(entry), "") if is_table(entry) else ""
    logprob = finite(at(entry, number, "logprob"))
    if logprob is None or not (number.isascii() and number.isdigit() and len(number) <= _LONGEST_NUMBER):
        return None
    return PromptToken(int(number), logprob)


class StreamedReply:
    """A reply that comes in pieces (server-sent events), put together into the chat completion that it is.

    Takes an answer's bytes as they come and tells ``hear`` what was said so far. Raises ``NotACompletion``."""

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
