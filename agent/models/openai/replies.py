"""What an endpoint answers, whole or in pieces, replies and errors: untrusted data, read here of whatever shape it is."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import TypeGuard, cast

from housequest.agent.models.base import Completion, PromptToken, Timing, TokenChoice, Usage, believed
from housequest.agent.models.openai.redaction import Redactor
from housequest.agent.models.text import encodable, printable_line

PROMPT_TOKENS = "prompt_logprobs"
MOST_ALTERNATIVES = 20
LONGEST_FINISH = 40
LARGEST_EVENT = 1 << 20
_MOST_TOKENS = 4_096
_LONGEST_TOKEN = 200
_LONGEST_NUMBER = 10

Hear = Callable[[str], None]
HEAR: ContextVar[Hear | None] = ContextVar("HEAR", default=None)
"""Who hears the reply to the request that is being made; None where nobody does."""


def at(value: object, *path: str) -> object:
    """What stands at ``path`` in JSON; None where it has another shape."""
    for key in path:
        value = value.get(key) if is_table(value) else None
    return value


def is_table(value: object) -> TypeGuard[Mapping[str, object]]:
    """Whether ``value`` is an object of JSON."""
    return isinstance(value, dict)


def listed(value: object) -> list[object]:
    """A list of JSON; empty where ``value`` is none."""
    return cast("list[object]", value) if isinstance(value, list) else []


def finite(value: object) -> float | None:
    """A number of JSON that a float can hold; None where ``value`` is none."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        return None
    try:
        return float(value) if math.isfinite(value) else None
    except OverflowError:  # a whole number that no float holds
        return None


def count(value: object, *path: str) -> int | None:
    """The count of tokens at ``path``, as far as it is `believed`."""
    found = at(value, *path)
    return believed(found) if type(found) is int else None


class NotACompletion(Exception):
    """An answer is no chat completion; the message goes on from "HOST ..."."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """What an endpoint said when it refused: its words, the parameter it names, its code."""

    message: str = ""
    parameter: str = ""
    code: str = ""


def read_refusal(body: bytes, redactor: Redactor) -> Refusal:
    """What an error's body says, in any of the shapes that servers use, without the key."""
    try:
        return _refusal_of(redactor.words(json.loads(body)))
    except (ValueError, RecursionError):
        return Refusal(redactor.text(body.decode("utf-8", "replace"))[:4_000])


def _refusal_of(value: object) -> Refusal:
    said = at(value, "error")
    said = value if said is None else said

    def word(*names: str) -> str:
        return next((text for name in names if isinstance(text := at(said, name), str)), "")

    return Refusal(said) if isinstance(said, str) else Refusal(word("message", "detail", "error"), word("param"), word("code"))


def read_completion(body: bytes, content_type: str, redactor: Redactor, *, raw: bool = False) -> Completion:
    """Read a chat completion, or one of plain text (``raw``), without the key. Raises ``NotACompletion``."""
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
        said = _refusal_of(reply).message
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
    """A completion that comes in pieces (server-sent events); tells ``hear`` what was said. Raises ``NotACompletion``."""

    def __init__(self, hear: Hear) -> None:
        self._hear, self._rest, self._over = hear, b"", False
        self._said: dict[str, str] = {"content": "", "refusal": ""}
        self._tokens: list[object] = []
        self._last: dict[str, object] = {}
        """What an event said last of these: an error, why it ended, usage."""

    def take(self, content: bytes) -> None:
        """The next bytes, which may end in the midst of an event."""
        *lines, self._rest = (self._rest + content).split(b"\n")
        if len(self._rest) > LARGEST_EVENT:
            raise NotACompletion(f"answered with an event of more than {LARGEST_EVENT >> 20} MiB")
        for line in map(bytes.strip, lines):
            if line.startswith(b"data:"):  # comments keep a connection open
                self._read(line.removeprefix(b"data:").strip())

    def _read(self, data: bytes) -> None:
        if data == b"[DONE]":
            self._over = True
            return
        try:
            event: object = json.loads(data)
        except (ValueError, RecursionError):
            raise NotACompletion("answered with a stream whose events are not JSON") from None
        self.add(event)

    def add(self, event: object) -> None:
        """The next piece."""
        choice = next(iter(listed(at(event, "choices"))), None)
        told = {"error": at(event, "error"), "usage": at(event, "usage"), "finish": at(choice, "finish_reason")}
        self._last |= {name: value for name, value in told.items() if value}
        self._tokens += listed(at(choice, "logprobs", "content"))
        for name in self._said:
            part = at(choice, "delta", name) or (at(choice, "text") if name == "content" else "")
            self._said[name] += part if isinstance(part, str) else ""
        if self._said["content"]:
            self._hear(encodable(self._said["content"]))

    def whole(self) -> bytes | None:
        """The completion as an endpoint writes it that does not stream, an error as one too; None where it broke off."""
        if "error" in self._last:
            return json.dumps({"error": self._last["error"]}).encode()
        if not self._over and "finish" not in self._last:
            return None
        content, refusal = self._said.values()
        message = {"content": content or (None if refusal else ""), "refusal": refusal or None}
        choice = {"message": message, "finish_reason": self._last.get("finish"), "logprobs": {"content": self._tokens}}
        return json.dumps({"choices": [choice], "usage": self._last.get("usage")}).encode()
