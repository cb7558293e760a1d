"""Requests to a chat endpoint and its answers, which are untrusted data: parsed here, of whatever shape they are."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Any, cast

from agent.models.base import Completion, Message, Request, Timing, Usage
from agent.models.openai.probes import read_tokens, token_choices
from agent.models.text import encodable, printable

FIRST_WAIT = 0.5
LONGEST_BACKOFF = 20.0
LONGEST_FINISH = 40

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


def chat(messages: Sequence[Message]) -> list[dict[str, str]]:
    """The conversation as the protocol writes it."""
    return [{"role": message.role, "content": encodable(message.content)} for message in messages]


def backoff(failures: int, chance: float) -> float:
    """Seconds to wait after so many failures: doubling, bounded, up to a quarter less by ``chance`` in [0, 1)."""
    return min(FIRST_WAIT * 2.0 ** min(failures - 1, 30), LONGEST_BACKOFF) * (1 - chance / 4)


def retry_after(headers: Mapping[str, str], now: float) -> float | None:
    """Seconds that a server asks to wait, given as seconds, milliseconds or a date (``now``: seconds since the epoch)."""
    for header, seconds in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        try:
            asked = float(headers.get(header, "")) * seconds
        except ValueError:
            continue
        return asked if math.isfinite(asked) and asked >= 0 else None
    try:
        return max(0.0, parsedate_to_datetime(headers.get("retry-after", "")).timestamp() - now)
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
        wanted: dict[str, Any] = {self._limit: request.max_tokens, "temperature": request.temperature}
        if request.stop:
            wanted["stop"] = [encodable(word) for word in request.stop]
        if request.seed is not None:
            wanted["seed"] = request.seed
        if self._reasoning_effort is not None:
            wanted["reasoning_effort"] = self._reasoning_effort
        return {name: value for name, value in wanted.items() if name not in self._refused}

    def learn(self, sent: Mapping[str, Any], refusal: Refusal) -> str | None:
        """The parameter of ``sent`` that a refusal is about, from now on left out or renamed; None where it is about none."""
        if refusal.code not in _UNSUPPORTED_CODES and not _UNSUPPORTED.search(refusal.message[:2_000]):
            return None
        for name in sent:
            if name != refusal.parameter and not re.search(rf"['\"`]{name}['\"`]", refusal.message[:2_000]):
                continue
            if name == "reasoning_effort":
                # The user asked for it, and the model's name says so: it is not left out in silence.
                return None
            if name in LIMITS:
                other = LIMITS[name == LIMITS[0]]
                if other in self._refused:
                    continue
                # A refused name is never tried again, so that the two cannot alternate.
                self._refused.add(name)
                self._limit = other
            else:
                self._refused.add(name)
            return name
        return None


def read_refusal(body: bytes) -> Refusal:
    """What an error's body says, in any of the shapes that servers use."""
    try:
        value: object = json.loads(body)
    except (ValueError, RecursionError):
        return Refusal(body[:4_000].decode("utf-8", "replace"))
    fields = _mapping(value) or {}
    error = fields.get("error", fields)
    said = _mapping(error)
    if said is None:
        return Refusal(error if isinstance(error, str) else "")
    words = [said.get(name) for name in ("message", "detail", "error")]
    message = next((word for word in words if isinstance(word, str)), "")
    parameter, code = said.get("param"), said.get("code")
    return Refusal(message, parameter if isinstance(parameter, str) else "", code if isinstance(code, str) else "")


def read_completion(body: bytes, content_type: str) -> Completion:
    """Read a chat completion; ``timing`` holds only what a cache served. Raises ``NotACompletion``."""
    try:
        value: object = json.loads(body)
    except (ValueError, RecursionError):
        kind = printable(content_type, 60) or "no content type"
        raise NotACompletion(f"answered with {len(body)} bytes of {kind} that are not JSON") from None
    reply = _mapping(value)
    if reply is None:
        raise NotACompletion("answered with JSON that is no chat completion")
    choices: object = reply.get("choices")
    if not isinstance(choices, list) or not choices:
        said = read_refusal(body).message
        raise NotACompletion(f"answered without a reply{f': {said}' if said else ' (no choices)'}")
    choice = _mapping(cast("list[object]", choices)[0]) or {}
    message = _mapping(choice.get("message"))
    if message is None:
        raise NotACompletion("answered with a choice that holds no message")
    text, finish = _text(message, choice.get("finish_reason"))
    usage = _mapping(reply.get("usage")) or {}
    details = _mapping(usage.get("prompt_tokens_details")) or {}
    return Completion(
        encodable(text),
        printable(finish, LONGEST_FINISH),
        Usage(_count(usage.get("prompt_tokens")), _count(usage.get("completion_tokens"))),
        Timing(cached=_count(details.get("cached_tokens"))),
        token_choices(choice),
        read_tokens(reply),
    )


def _text(message: Mapping[str, object], finish: object) -> tuple[str, str]:
    content, refusal = message.get("content"), message.get("refusal")
    if content is None and isinstance(refusal, str) and refusal:
        return refusal, "refusal"
    if content is not None and not isinstance(content, str):
        raise NotACompletion("answered with a message whose content is not text")
    return content or "", finish if isinstance(finish, str) and finish.strip() else "stop"


def _mapping(value: object) -> Mapping[str, object] | None:
    return cast("dict[str, object]", value) if isinstance(value, dict) else None


def _count(value: object) -> int | None:
    return value if type(value) is int and 0 <= value < 2**53 else None
