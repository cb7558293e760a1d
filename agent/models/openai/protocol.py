"""What is sent to an endpoint, and what it answers: untrusted data, whole or in pieces, read here of whatever shape it is.

A key is taken out of what comes back: replies are recorded and shown, and an endpoint may say back what it was sent.
"""

from __future__ import annotations

import html
import json
import logging
import math
import re
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate, zip_longest
from typing import Any, TypeGuard, cast
from weakref import WeakSet

from housequest.agent.models.base import (
    Completion,
    Message,
    PromptToken,
    Request,
    Timing,
    TokenChoice,
    Usage,
    believed,
    encodable,
    printable_line,
)
from housequest.agent.models.keys import PLACEHOLDER

STREAMED = {"stream": True, "stream_options": {"include_usage": True}}
LIMITS = ("max_tokens", "max_completion_tokens")
_UNSUPPORTED_CODES = frozenset({"unsupported_parameter", "unsupported_value", "unknown_parameter"})
_UNSUPPORTED = re.compile(
    r"unsupported|not support|not permitted|not allowed|unknown|unrecogni[sz]ed|unexpected|extra|deprecated", re.I
)


def conversation(request: Request) -> dict[str, Any]:
    """What the model is to answer: a chat, or a text that it continues."""
    return {"prompt": encodable(request.text)} if request.raw else {"messages": chat(request.messages)}


def chat(messages: Sequence[Message]) -> list[dict[str, Any]]:
    """The conversation as the protocol writes it."""
    return [{"role": message.role, "content": _content(message)} for message in messages]


def _content(message: Message) -> str | list[dict[str, Any]]:
    """A text, or a text and a picture as parts. No ``detail`` is asked for: the pictures are small enough to be read at one
    level, and not every server knows it."""
    text = encodable(message.content)
    if message.image is None:
        return text
    url = f"data:image/png;base64,{b64encode(message.image.png).decode()}"
    return [{"type": "text", "text": text}, {"type": "image_url", "image_url": {"url": url}}]


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


def extra_parameters(request: Request) -> dict[str, Any]:
    """The parameters for what not every server takes. One of given texts is asked for as JSON, for servers without grammars."""
    found: dict[str, Any] = {}
    if request.top_logprobs:
        found |= {"logprobs": True, "top_logprobs": min(request.top_logprobs, MOST_ALTERNATIVES)}
    wanted = request.schema
    if request.choices is not None:
        named = {"choice": {"type": "string", "enum": list(dict.fromkeys(request.choices))}}
        wanted = {"type": "object", "properties": named, "required": ["choice"], "additionalProperties": False}
    if wanted is not None:
        found["response_format"] = {"type": "json_schema", "json_schema": {"name": "reply", "strict": True, "schema": wanted}}
    if request.grammar is not None:
        # llama.cpp's server takes the one and passes over the other, and vLLM does so the other way round.
        found |= {"grammar": request.grammar, "structured_outputs": {"grammar": request.grammar}}
    if request.bias:
        found["logit_bias"] = [[token, value] for token, value in request.bias.items()]
    return found


def scoring_parameters(text: str) -> dict[str, Any]:
    """The parameters that ask for the log-probability of each token of a prompt.

    With ``text``, the prompt's last message is the beginning of the model's reply. As vLLM's chat completions have it:
    ``prompt_logprobs`` (0: no alternatives), ``continue_final_message``, ``add_generation_prompt``.
    """
    return {PROMPT_TOKENS: 0, "add_generation_prompt": not text, **({"continue_final_message": True} if text else {})}


def with_beginning(messages: Sequence[Message], text: str) -> list[Message]:
    """The conversation with ``text`` as the reply's beginning; servers refuse an empty message."""
    return [*messages, Message("assistant", text)] if text else list(messages)


SHORTEST_SECRET = 16
"""Shorter keys stay in replies, since they could be ordinary words; error messages never hold them."""
REDACTED = "[key]"

_LOGGERS = (
    *("httpx2", "openai._base_client", "openai._response", "openai._legacy_response"),
    *(f"httpcore2.{part}" for part in ("connection", "http11", "http2", "proxy", "socks")),
)
"""What the libraries beneath log, where a program asks for that, has the server's words too."""


class Redactor:
    """Replaces ``key`` by `REDACTED`: in plain, with some or all characters escaped as in JSON, URLs or HTML, and in base64."""

    def __init__(self, key: str) -> None:
        self._secret = key != PLACEHOLDER
        self._in_replies = self._secret and len(key) >= SHORTEST_SECRET
        self._key = key
        self._plain = (key, *dict.fromkeys(_encoded(key))) if self._in_replies else (key,)

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        # For a long key this takes a tenth of a second, and few texts need it.
        return re.compile("|".join(("".join(map(_spellings, self._key)), *map(re.escape, self._plain[1:]))))

    def _suspects(self, text: str) -> bool:
        """Whether ``text`` may hold the key, none of whose forms is shorter than itself."""
        if not self._secret or len(text) < len(self._key):
            return False
        return any(mark in text for mark in "\\%&") or any(form in text for form in self._plain)

    def text(self, text: str) -> str:
        """``text`` without the key, however short it is."""
        return self._pattern.sub(REDACTED, text) if self._suspects(text) else text

    def words(self, value: object) -> Any:
        """Decoded JSON without the key in any text, names included. Raises ``RecursionError`` if it nests too deeply."""
        if isinstance(value, str):
            return self.text(encodable(value))
        if isinstance(value, list):
            return [self.words(each) for each in cast("list[object]", value)]
        if isinstance(value, Mapping):
            return {self.words(name): self.words(each) for name, each in cast("Mapping[str, object]", value).items()}
        return value

    def reply(self, value: object) -> Any:
        """Like `words`, but a short key is left in."""
        return self.words(value) if self._in_replies else value

    def pieces(self, texts: Sequence[str]) -> list[str]:
        """Texts that follow one another, without a key that is spread over them."""
        whole = "".join(texts)
        if not (self._in_replies and self._suspects(whole)):
            return list(texts)
        clean = list(whole)
        for found in self._pattern.finditer(whole):
            clean[found.start() : found.end()] = [REDACTED, *[""] * (len(found[0]) - 1)]
        ends = accumulate(map(len, texts))
        return ["".join(clean[end - len(text) : end]) for text, end in zip(texts, ends, strict=True)]

    def guard_logs(self) -> None:
        """Keep the key out of what the libraries beneath log, as long as this exists."""
        _GUARD.redactors.add(self)
        for name in _LOGGERS:
            logging.getLogger(name).addFilter(_GUARD)  # adding it again changes nothing


class _LogGuard(logging.Filter):
    """Takes the keys of every connection out of log records."""

    def __init__(self) -> None:
        super().__init__()
        self.redactors: WeakSet[Redactor] = WeakSet()

    def filter(self, record: logging.LogRecord) -> bool:
        said = record.getMessage()
        clean = self._redacted(said)
        if clean != said:
            record.msg, record.args = clean, ()
        if record.exc_info:
            # An SDK logs the error of the library beneath with its traceback, which has the server's words.
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


def _spellings(character: str) -> str:
    """A pattern for one character of a key: itself, or its code as JSON, Python, URLs and HTML escape it, also twice."""
    code = "".join(f"[{digit}{digit.upper()}]" if digit.isalpha() else digit for digit in f"{ord(character):02x}")
    number = rf"&#(?:0{{0,4}}{ord(character)}|[xX]0{{0,4}}{code});?"
    itself = (
        re.escape(character) if character.isalnum() else rf"{re.escape(html.escape(character))}|\\{{0,4}}{re.escape(character)}"
    )
    return rf"(?:\\{{1,4}}(?:u00|x){code}|%(?:25){{0,3}}{code}|{number}|{itself})"


def _encoded(key: str) -> list[str]:
    """What base64 makes of the key, wherever it begins within a text; without the ends, which depend on what is beside it."""
    forms: list[str] = []
    for before in range(3):
        first, last = -(-8 * before // 6), 8 * (before + len(key)) // 6
        forms += [encode(b"\0" * before + key.encode()).decode()[first:last] for encode in (b64encode, urlsafe_b64encode)]
    return forms


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
        # Other lines are comments that keep a connection open.
        for data in (line[5:].strip() for line in map(bytes.strip, lines) if line.startswith(b"data:")):
            if data == b"[DONE]":
                self._over = True
                continue
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
