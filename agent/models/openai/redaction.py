"""Removes keys from what an endpoint sends: replies are recorded and shown, and may repeat the request."""

from __future__ import annotations

import html
import logging
import re
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import accumulate
from typing import Any, cast
from weakref import WeakSet

from housequest.agent.models.base import encodable
from housequest.agent.models.keys import PLACEHOLDER

SHORTEST_SECRET = 16
"""Shorter keys stay in replies, since they could be ordinary words; error messages never contain them."""
REDACTED = "[key]"

_LOGGERS = (
    *("httpx2", "openai._base_client", "openai._response", "openai._legacy_response"),
    *(f"httpcore2.{part}" for part in ("connection", "http11", "http2", "proxy", "socks")),
)
"""Loggers of the HTTP libraries, which may log the server's answers."""


class _Secret:
    """One key in its possible forms: plain, escaped as in JSON, URLs or HTML, in whole or in part, and in base64."""

    def __init__(self, key: str) -> None:
        self._key = key
        self.long = len(key) >= SHORTEST_SECRET
        self._plain = (key, *dict.fromkeys(_encoded(key))) if self.long else (key,)

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        # Compiling takes 0.1 s for a long key, and few texts need it.
        return re.compile("|".join(("".join(map(_spellings, self._key)), *map(re.escape, self._plain[1:]))))

    def found(self, text: str) -> Iterator[re.Match[str]]:
        """Find the key in ``text``."""
        # No form is shorter than the key itself.
        if len(text) >= len(self._key) and (any(mark in text for mark in "\\%&") or any(form in text for form in self._plain)):
            yield from self._pattern.finditer(text)


class Redactor:
    """Replaces keys by `REDACTED`."""

    def __init__(self, *keys: str) -> None:
        self._secrets = tuple(_Secret(key) for key in keys if key != PLACEHOLDER)
        self._long = tuple(secret for secret in self._secrets if secret.long)

    def text(self, text: str) -> str:
        """``text`` without the keys, however short they are."""
        return _without(text, self._secrets)

    def reply(self, value: object) -> Any:
        """Decoded JSON without keys in strings and names; short keys stay. Raises ``RecursionError``."""
        if not self._long:
            return value
        if isinstance(value, str):
            return _without(encodable(value), self._long)
        if isinstance(value, list):
            return [self.reply(each) for each in cast("list[object]", value)]
        if isinstance(value, Mapping):
            return {self.reply(name): self.reply(each) for name, each in cast("Mapping[str, object]", value).items()}
        return value

    def pieces(self, texts: Sequence[str]) -> list[str]:
        """Consecutive texts without a key that is spread over them."""
        found = list(texts)
        for secret in self._long:
            clean = list("".join(found))
            for match in secret.found("".join(found)):
                clean[match.start() : match.end()] = [REDACTED, *[""] * (len(match[0]) - 1)]
            ends = accumulate(map(len, found))
            found = ["".join(clean[end - len(text) : end]) for text, end in zip(found, ends, strict=True)]
        return found

    def guard_logs(self) -> None:
        """Keep the keys out of the logs of the HTTP libraries, as long as this object exists."""
        _GUARD.redactors.add(self)
        for name in _LOGGERS:
            logging.getLogger(name).addFilter(_GUARD)  # adding it again changes nothing


class _LogGuard(logging.Filter):
    def __init__(self) -> None:
        super().__init__()
        self.redactors: WeakSet[Redactor] = WeakSet()

    def filter(self, record: logging.LogRecord) -> bool:
        said = record.getMessage()
        clean = self._redacted(said)
        if clean != said:
            record.msg, record.args = clean, ()
        if record.exc_info:
            # An SDK logs tracebacks, which may contain the server's answer.
            traced = _TRACEBACKS.formatException(record.exc_info)
            record.exc_text = self._redacted(traced)
            if record.exc_text != traced:
                record.exc_info = None
        return True

    def _redacted(self, text: str) -> str:
        for redactor in list(self.redactors):
            text = redactor.text(text)
        return text


_GUARD = _LogGuard()
_TRACEBACKS = logging.Formatter()


def _without(text: str, secrets: Sequence[_Secret]) -> str:
    for secret in secrets:
        for found in reversed(list(secret.found(text))):
            text = f"{text[: found.start()]}{REDACTED}{text[found.end() :]}"
    return text


def _spellings(character: str) -> str:
    """A pattern for one character of a key, plain or escaped once or twice as in JSON, Python, URLs and HTML."""
    code = "".join(f"[{digit}{digit.upper()}]" if digit.isalpha() else digit for digit in f"{ord(character):02x}")
    number = rf"&#(?:0{{0,4}}{ord(character)}|[xX]0{{0,4}}{code});?"
    itself = (
        re.escape(character) if character.isalnum() else rf"{re.escape(html.escape(character))}|\\{{0,4}}{re.escape(character)}"
    )
    return rf"(?:\\{{1,4}}(?:u00|x){code}|%(?:25){{0,3}}{code}|{number}|{itself})"


def _encoded(key: str) -> list[str]:
    """The key in base64 at each of three offsets, without the ends, which depend on the text around it."""
    forms: list[str] = []
    for before in range(3):
        first, last = -(-8 * before // 6), 8 * (before + len(key)) // 6
        forms += [encode(b"\0" * before + key.encode()).decode()[first:last] for encode in (b64encode, urlsafe_b64encode)]
    return forms
