"""Requests to a chat endpoint and its answers, which are untrusted data: parsed here, of whatever shape they are."""

from __future__ import annotations

import json
import math
import re
from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from email.utils import parsedate_to_datetime
from itertools import zip_longest
from typing import Any, TypeGuard, cast

from housequest.agent.models.base import Completion, Message, PromptToken, Request, Timing, TokenChoice, Usage, believed
from housequest.agent.models.openai.redaction import Redactor
from housequest.agent.models.text import encodable, printable_line

FIRST_WAIT = 0.5
LONGEST_BACKOFF = 20.0
LONGEST_FINISH = 40
MOST_ALTERNATIVES = 20
_MOST_TOKENS = 4_096
_LONGEST_TOKEN = 200
_LONGEST_NUMBER = 10

PROMPT_TOKENS = "prompt_logprobs"
LIMITS = ("max_tokens", "max_completion_tokens")
_UNSUPPORTED_CODES = frozenset({"unsupported_parameter", "unsupported_value", "unknown_parameter"})
_UNSUPPORTED = re.compile(
    r"unsupported|not support|not permitted|not allowed|unknown|unrecogni[sz]ed|unexpected|extra|deprecated", re.I
)


class NotACompletion(Exception):
    """An answer is no chat completion; the message goes on from "HOST ..."."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """What an endpoint said when it refused: its words, the parameter it names, its code."""

    message: str = ""
    parameter: str = ""
    code: str = ""


def chat(messages: Sequence[Message]) -> list[dict[str, Any]]:
    """The conversation as the protocol writes it."""
    return [{"role": message.role, "content": _content(message)} for message in messages]


def _content(message: Message) -> str | list[dict[str, Any]]:
    """A text, or a text and a picture as parts.

    No ``detail`` is asked for: the pictures are small enough to be read at one level, and not every server knows it.
    """
    text = encodable(message.content)
    if message.image is None:
        return text
    url = f"data:image/png;base64,{b64encode(message.image.png).decode()}"
    return [{"type": "text", "text": text}, {"type": "image_url", "image_url": {"url": url}}]


def backoff(failures: int, chance: float, asked: float | None = None) -> float:
    """Seconds to wait after so many failures: doubling, bounded, up to a quarter less by ``chance`` in [0, 1).

    What a server has ``asked`` for is the least: one that asks for milliseconds would use up all attempts at once.
    """
    return max(min(FIRST_WAIT * 2.0 ** min(failures - 1, 30), LONGEST_BACKOFF) * (1 - chance / 4), asked or 0.0)


def retry_after(headers: Mapping[str, str], now: float) -> float | None:
    """Seconds that a server asks to wait, given as seconds, milliseconds or a date (``now``: seconds since the epoch).

    None where it asks for no wait: no time, less than none, or a date gone by. One's own back-off holds then.
    """
    for header, seconds in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        try:
            asked = float(headers.get(header, "")) * seconds
        except ValueError:
            continue
        return asked if math.isfinite(asked) and asked > 0 else None
    try:
        left = parsedate_to_datetime(headers.get("retry-after", "")).timestamp() - now
        return left if left > 0 else None
    except (ValueError, TypeError, OverflowError, OSError):
        return None


class Dialect:
    """The parameters that a model takes: a first guess, corrected whenever it refuses one.

    Newer official models refuse ``max_tokens``, and most other servers know nothing else; some models that think take neither a
    temperature nor stop texts.
    """

    def __init__(self, *, official: bool, reasoning_effort: str | None = None) -> None:
        self._reasoning_effort = reasoning_effort
        self._limit = LIMITS[official]
        self._refused: set[str] = set()

    def parameters(self, request: Request) -> dict[str, Any]:
        """What to send for what every model takes."""
        wanted = {
            self._limit: request.max_tokens,
            "temperature": request.temperature,
            "stop": [encodable(word) for word in request.stop] or None,
            "seed": request.seed,
            "reasoning_effort": self._reasoning_effort,
        }
        return {name: value for name, value in wanted.items() if value is not None and name not in self._refused}

    def learn(self, sent: Mapping[str, Any], refusal: Refusal) -> str | None:
        """The parameter of ``sent`` that a refusal is about, from now on left out or renamed; None where it is about none."""
        if refusal.code not in _UNSUPPORTED_CODES and not _UNSUPPORTED.search(refusal.message[:2_000]):
            return None
        for name in sent:
            other = LIMITS[name == LIMITS[0]]
            named = name == refusal.parameter or re.search(rf"['\"`]{name}['\"`]", refusal.message[:2_000])
            # A refused name of the limit is never tried again, so that the two cannot alternate.
            if not named or (name in LIMITS and other in self._refused):
                continue
            if name == "reasoning_effort":
                # The user asked for it, and the model's name says so: it is not left out in silence.
                return None
            self._refused.add(name)
            if name in LIMITS:
                self._limit = other
            return name
        return None


def read_refusal(body: bytes, redactor: Redactor) -> Refusal:
    """What an error's body says, in any of the shapes that servers use, without the key."""
    try:
        return _refusal(redactor.words(json.loads(body)))
    except (ValueError, RecursionError):
        return Refusal(redactor.text(body.decode("utf-8", "replace"))[:4_000])


def _refusal(value: object) -> Refusal:
    said = at(value, "error")
    said = value if said is None else said

    def word(*names: str) -> str:
        return next((text for name in names if isinstance(text := at(said, name), str)), "")

    return Refusal(said) if isinstance(said, str) else Refusal(word("message", "detail", "error"), word("param"), word("code"))


def read_completion(body: bytes, content_type: str, redactor: Redactor, *, raw: bool = False) -> Completion:
    """Read a chat completion, without the key; ``timing`` holds only what a cache served. Raises ``NotACompletion``.

    ``raw``: one of plain text, whose choices hold their text themselves.
    Its counts of tokens are whatever the endpoint says, as far as that is `believed`.
    """
    try:
        answer: object = json.loads(body)
        if not _is_table(answer):
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
        said = _refusal(reply).message
        raise NotACompletion(f"answered without a reply{f': {said}' if said else ' (no choices)'}")
    choice = choices[0]
    message, finish = choice if raw else at(choice, "message"), at(choice, "finish_reason")
    if not _is_table(message):
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
        Usage(_count(at(usage, "prompt_tokens")), _count(at(usage, "completion_tokens"))),
        Timing(cached=_count(at(usage, "prompt_tokens_details", "cached_tokens"))),
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
    number = next(iter(entry), "") if _is_table(entry) else ""
    logprob = finite(at(entry, number, "logprob"))
    if logprob is None or not (number.isascii() and number.isdigit() and len(number) <= _LONGEST_NUMBER):
        return None
    return PromptToken(int(number), logprob)


def at(value: object, *path: str) -> object:
    """What stands at ``path`` in JSON; None where it has another shape."""
    for key in path:
        value = value.get(key) if _is_table(value) else None
    return value


def _is_table(value: object) -> TypeGuard[Mapping[str, object]]:
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


def _count(value: object) -> int | None:
    return believed(value) if type(value) is int else None
