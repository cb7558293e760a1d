"""Writes requests to an endpoint and reads its replies: untrusted data of any shape, whole or streamed.

A streamed reply is put together into the JSON of a whole one, so there is one reader. Thinking is kept apart from the reply,
wherever a server puts it. Keys are removed from what comes back.
"""

from __future__ import annotations

import json
import math
import re
import tomllib
from base64 import b64encode
from codecs import getincrementaldecoder
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import replace
from io import IncrementalNewlineDecoder
from itertools import zip_longest
from pathlib import Path
from typing import Any, TypeGuard, cast

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
from housequest.agent.models.openai.redaction import Redactor
from housequest.agent.models.thoughts import split_thoughts

STREAMED = {"stream": True, "stream_options": {"include_usage": True}}
LIMITS = ("max_tokens", "max_completion_tokens")


def chat(messages: Sequence[Message]) -> list[dict[str, Any]]:
    """The conversation as JSON."""
    return [{"role": message.role, "content": _content(message)} for message in messages]


def _content(message: Message) -> str | list[dict[str, Any]]:
    # No ``detail``: the pictures are small, and not every server knows it.
    text = encodable(message.content)
    if message.image is None:
        return text
    url = f"data:image/png;base64,{b64encode(message.image.png).decode()}"
    return [{"type": "text", "text": text}, {"type": "image_url", "image_url": {"url": url}}]


def extra_parameters(request: Request) -> dict[str, Any]:
    """The parameters that not every server accepts. A choice is asked for as JSON, for servers without grammars."""
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
        # llama.cpp's server reads the first and ignores the second; vLLM does the opposite.
        found |= {"grammar": request.grammar, "structured_outputs": {"grammar": request.grammar}}
    if request.bias:
        found["logit_bias"] = [[token, value] for token, value in request.bias.items()]
    return found


def scoring_parameters(text: str) -> dict[str, Any]:
    """The parameters of vLLM's chat completions that return the log-probability of each token of a prompt.

    With ``text``, the prompt's last message is the beginning of the model's reply. 0 stands for no alternatives.
    """
    return {PROMPT_TOKENS: 0, "add_generation_prompt": not text, **({"continue_final_message": True} if text else {})}


def with_beginning(messages: Sequence[Message], text: str) -> list[Message]:
    """Add ``text`` as the beginning of the reply, unless it is empty: servers refuse an empty message."""
    return [*messages, Message("assistant", text)] if text else list(messages)


PROMPT_TOKENS = "prompt_logprobs"
MOST_ALTERNATIVES = 20
LONGEST_FINISH = 40
LONGEST_SERVED = 100
LARGEST_EVENT = 1 << 20
_MOST_TOKENS = 4_096
_LONGEST_TOKEN = 200
_LONGEST_NUMBER = 10
_WORDINGS: Mapping[str, Any] = tomllib.loads(Path(__file__).with_name("wordings.toml").read_text("utf-8"))
KEYS: Mapping[str, Sequence[Any]] = _WORDINGS["keys"]
SAID, _MEANS = (
    {name: re.compile("|".join(each), re.IGNORECASE | re.DOTALL) for name, each in _WORDINGS[table].items()}
    for table in ("said", "means")
)
_NAMED = ("model", "system_fingerprint")
_FIELD = re.compile("(data|event|id|retry)?:")
Hear = Callable[[str], None]
HEAR: ContextVar[Hear | None] = ContextVar("HEAR", default=None)
"""Called with the reply to the present request so far; None if nobody watches."""


def at(value: object, *path: str) -> object:
    """The value at ``path`` in JSON; None if the JSON has another shape."""
    for key in path:
        value = value.get(key) if is_table(value) else None
    return value


def is_table(value: object) -> TypeGuard[Mapping[str, object]]:
    return isinstance(value, dict)


def listed(value: object) -> list[object]:
    """``value`` if it is a JSON list, else an empty list."""
    return cast("list[object]", value) if isinstance(value, list) else []


def finite(value: object) -> float | None:
    """``value`` as a float; None unless it is a finite JSON number."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        return None
    try:
        return float(value) if math.isfinite(value) else None
    except OverflowError:  # an integer too large for a float
        return None


def count(value: object, *path: str) -> int | None:
    """The count of tokens at ``path``; None if missing or not `believed`."""
    found = at(value, *path)
    return believed(found) if type(found) is int else None


class NotACompletion(Exception):
    """The answer is not a chat completion; the message continues "HOST ..."."""


class FailedInside(Exception):
    """A 200 whose ``body`` is an error with its own ``status``, if it names one."""

    def __init__(self, status: int | None, body: bytes) -> None:
        super().__init__()
        self.status, self.body = status, body


def read_completion(
    body: bytes, content_type: str, redactor: Redactor, *, raw: bool = False, limit: int | None = None, speaks: bool = False
) -> Completion:
    """Read a chat completion, or one of plain text (``raw``), without the key.

    ``limit`` is the token limit that was sent. ``speaks``: this server puts replies outside the thinking. Raises
    ``NotACompletion`` and ``FailedInside``.
    """
    try:
        # Some servers end a whole answer like a stream.
        answer: object = json.loads(body.rstrip().removesuffix(b"[DONE]").rstrip().removesuffix(b"data:").decode("utf-8-sig"))
        if not is_table(answer):
            raise NotACompletion("answered with JSON that is not a chat completion")
        # There may be thousands of these tokens, and only numbers are kept, so they need no redaction.
        tokens = read_tokens(answer)
        # Decoded first: JSON can escape a key in many ways.
        reply: Mapping[str, object] = redactor.reply({name: each for name, each in answer.items() if name != PROMPT_TOKENS})
    except (ValueError, RecursionError):
        kind = printable_line(redactor.text(content_type), 60) or "no content type"
        raise NotACompletion(f"answered with {len(body)} bytes of {kind} that are not JSON") from None
    choices = listed(at(reply, "choices"))
    choice = next((each for each in choices if str(at(each, "index")) in {"0", "None"}), None)
    if (error := _error_in(reply, choice)) is not None:
        raise FailedInside(_status_of(error), body)
    if choice is None:
        if "choices" in answer and not listed(at(answer, "choices")):
            raise FailedInside(None, b'{"error": "no choices"}')
        raise NotACompletion("answered without a reply (no choices)")
    message, finish = choice if raw else at(choice, "message") or at(choice, "delta"), at(choice, "finish_reason")
    if not is_table(message):
        raise NotACompletion("answered with a choice that holds no message")
    content, thinking = text_of(at(message, "text" if raw else "content"))
    thinking = thinking or thoughts_beside(message)
    refusal = at(message, "refusal")
    if not content and isinstance(refusal, str) and refusal:
        content, finish = refusal, "refusal"
    usage = at(reply, "usage")
    finish = printable_line(finish if isinstance(finish, str) else "", LONGEST_FINISH) or "stop"
    used, cached = _used(usage, wrote=bool(content))
    full = limit is not None and limit in (count(usage, "completion_tokens"), used.completion)
    if SAID["cut_off"].search(finish) or (full and finish == "stop"):
        finish = "length"
    if not raw:
        content, thinking = _apart(content, thinking, speaks=speaks or finish == "length")
    return Completion(
        encodable(content),
        finish,
        used,
        Timing(cached=cached, served=_served(reply)),
        _without_key(token_choices(choice), redactor),
        tokens,
        thinking=encodable(thinking),
    )


def _served(reply: Mapping[str, object]) -> str | None:
    said = (value for name in _NAMED if isinstance(value := reply.get(name), str) and value)
    return ", ".join(printable_line(each, LONGEST_SERVED) for each in said) or None


def _error_in(reply: Mapping[str, object], choice: object) -> Mapping[str, object] | None:
    """The error in a reply or its ``choice``, in any shape; None if there is none."""
    error, ended = at(reply, "error") or at(choice, "error"), at(choice, "finish_reason")
    if error or SAID["failed"].search(str(ended)):
        return {**reply, **(error if is_table(error) else {"message": error or f"the reply ended by {ended}"})}
    if choice is not None:
        return None
    flat = {**reply, **about} if is_table(about := at(reply, "base_resp")) else reply
    told = any(isinstance(words := flat.get(name), str) and words for name in KEYS["words"])
    return flat if told or flat.get("object") == "error" or _status_of(flat) else None


def _status_of(error: Mapping[str, object]) -> int | None:
    for names in (KEYS["status"], KEYS["words"]):
        said = [str(value) for name in names if isinstance(value := error.get(name), str | int)]
        found = [int(one) for one in said if re.fullmatch("[45][0-9]{2}", one)]
        found += [int(status) for status, words in _MEANS.items() if words.search(" ".join(said)[:1_000])]
        if found:
            return found[0]
    return None


def _used(usage: object, *, wrote: bool) -> tuple[Usage, int | None]:
    """The tokens of a call, and the cached ones of its prompt. Some servers count thinking only in the total, and some send
    zeros because they count nothing."""
    cached = max((found for path in KEYS["cached"] if (found := count(usage, *path)) is not None), default=None)
    prompt, written = count(usage, "prompt_tokens") or None, count(usage, "completion_tokens")
    thinking = count(usage, "completion_tokens_details", "reasoning_tokens")
    beside = (count(usage, "total_tokens") or 0) - (prompt or 0) - (written or 0)
    if prompt and beside > 0 and beside != cached:  # some count cached tokens only in the total
        thinking = thinking or (beside if written or not wrote else None)
        written = (written or 0) + beside
    elif written is not None and (thinking or 0) > written:
        written += thinking or 0
    return Usage(prompt, believed(written) if written or (prompt and not wrote) else None, thinking), cached


def text_of(content: object) -> tuple[str, str]:
    """The text and the thinking in a message's content, which may be a list of parts. Raises ``NotACompletion``."""
    other = NotACompletion("answered with a message whose content is not text")
    if content is None or isinstance(content, str):
        return content or "", ""
    if not isinstance(content, list):
        raise other
    said: list[str] = []
    thought: list[str] = []
    for part in cast("list[object]", content):
        kind = at(part, "type")
        if isinstance(part, str):
            said.append(part)
        elif isinstance(kind, str) and SAID["thinking"].search(kind):
            thought += _texts(part)
        elif isinstance(text := at(part, "text"), str):
            said.append(text)
        elif not is_table(part):
            raise other
    return "".join(said), "".join(thought)


def thoughts_beside(message: Mapping[str, object]) -> str:
    """The thinking in the fields beside a message's content; the first field counts, since some servers send it twice."""
    found = ("".join(_texts(value)) for name, value in message.items() if SAID["thinking"].search(name))
    return next(filter(None, found), "")


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for each in cast("list[object]", value):
            yield from _texts(each)
    elif is_table(value):
        for name, each in value.items():
            if name in {"text", "summary", "content"} or SAID["thinking"].search(name):
                yield from _texts(each)


def _apart(content: str, thinking: str, *, speaks: bool) -> tuple[str, str]:
    """Take marked thoughts out of the reply, and a reply out of the thinking if the server put it there."""
    if not speaks and not content.strip() and (reply := split_thoughts(thinking)[0].strip()):
        return reply, ""
    content, found = split_thoughts(content)
    return content, thinking or found


def _without_key(tokens: Sequence[TokenChoice], redactor: Redactor) -> tuple[TokenChoice, ...]:
    """Remove a key that is spread over several chosen tokens, or over the alternatives of one rank."""
    words = zip_longest(*((token.token, *(word for word, _ in token.alternatives)) for token in tokens), fillvalue="")
    clean = zip(*map(redactor.pieces, words), strict=True)
    return tuple(
        replace(token, token=chosen, alternatives=tuple(zip(others, (each for _, each in token.alternatives), strict=False)))
        for token, (chosen, *others) in zip(tokens, clean, strict=True)
    )


def token_choices(choice: object) -> tuple[TokenChoice, ...]:
    """The tokens of a choice with their log-probabilities; malformed ones are left out."""
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
    """The prompt's tokens except the first, which has no probability; none if any is malformed."""
    found = [_prompt_token(entry) for entry in listed(at(reply, PROMPT_TOKENS))[1:]]
    tokens = tuple(token for token in found if token is not None)
    return tokens if len(tokens) == len(found) else ()


def _prompt_token(entry: object) -> PromptToken | None:
    # The prompt's own token comes first; likelier ones may follow, though not asked for.
    number = next(iter(entry), "") if is_table(entry) else ""
    logprob = finite(at(entry, number, "logprob"))
    if logprob is None or not (number.isascii() and number.isdigit() and len(number) <= _LONGEST_NUMBER):
        return None
    return PromptToken(int(number), logprob)


def thought(completion: Completion) -> bool:
    """True if the model thought: there is thinking, a count of it, or far more tokens than text."""
    used, said = completion.usage, len(completion.text)
    cut = completion.finish == "length" and not said and used.completion is None and not completion.read
    return bool(completion.thinking or used.thinking or cut or (used.completion or 0) > 2 * said + 16)


def parse_choice(text: str, choices: Sequence[str], *, spelt: bool = False) -> str | None:
    """The choice in a reply to `extra_parameters`: the text itself if ``spelt``, else in JSON; None if it is not a choice."""
    if spelt:
        return text if text in choices else None
    try:
        named = at(json.loads(text), "choice")
    except (ValueError, RecursionError):
        return None
    return next((choice for choice in choices if choice == named), None)


class StreamedReply:
    """Collects a streamed completion (server-sent events); ``hear`` gets the text so far. Raises ``NotACompletion``."""

    def __init__(self, hear: Hear | None) -> None:
        self._hear, self._over = hear, False
        # Bytes that are not UTF-8 come out as they went in.
        self._decoder = IncrementalNewlineDecoder(getincrementaldecoder("utf-8-sig")("surrogateescape"), translate=True)
        self._line, self._data = "", list[str]()
        self._bare = list[str]()  # lines that are not events
        self.streams = False
        self._said: dict[str, list[str]] = {"content": [], "thinking": [], "refusal": []}
        self._tokens: list[object] = []
        self._last: dict[str, object] = {}
        """The latest error, finish reason, usage and names of the model."""

    def take(self, content: bytes) -> None:
        """Add bytes, which may end inside an event. Lines end in LF, CR or both."""
        first, *others = self._decoder.decode(content).split("\n")
        self._line += first
        if len(self._line) + sum(map(len, self._data)) > LARGEST_EVENT:
            raise NotACompletion(f"answered with an event of more than {LARGEST_EVENT >> 20} MiB")
        for line in others:
            self._take_line(self._line)
            self._line = line

    def _take_line(self, line: str) -> None:
        if line.startswith("data:"):
            self._data.append(line[5:])
        elif not line and self._data:
            self._dispatch()
        elif line and not self.streams and not _FIELD.match(line):
            self._bare.append(line)

    def _dispatch(self) -> None:
        data, self._data = "\n".join(self._data).strip(), []
        if data == "[DONE]":
            self._over = True
        elif data:
            try:
                event: object = json.loads(data)
            except (ValueError, RecursionError):
                raise NotACompletion("answered with a stream whose events are not JSON") from None
            self.add(event)

    def add(self, event: object) -> None:
        """Add a decoded event."""
        self.streams = True
        choice = next((each for each in listed(at(event, "choices")) if str(at(each, "index")) in {"0", "None"}), None)
        finish = at(choice, "finish_reason")
        error = _error_in(event, choice or self._last.get("finish")) if is_table(event) else None
        told = {"usage": at(event, "usage"), "finish": finish, "error": error, **{name: at(event, name) for name in _NAMED}}
        self._last |= {name: value for name, value in told.items() if value}
        self._tokens += listed(at(choice, "logprobs", "content"))
        # Some servers send the whole answer as one event.
        delta = next(filter(is_table, (at(choice, "delta"), at(choice, "message"))), {"content": at(choice, "text")})
        content, thinking = text_of(delta.get("content"))
        refusal = refusal if isinstance(refusal := delta.get("refusal"), str) else ""
        for name, part in (("content", content), ("thinking", thinking or thoughts_beside(delta)), ("refusal", refusal)):
            if part:
                self._said[name].append(part)
        if content and self._hear is not None:
            self._hear(encodable("".join(self._said["content"])))

    def whole(self) -> bytes | None:
        """The body of the same answer without streaming: a completion, an error, or the lines that were not events; None if the
        stream was interrupted."""
        with suppress(NotACompletion):  # the last event may be incomplete
            self.take(b"\n\n")
        if "error" in self._last:
            return json.dumps({"error": self._last["error"]}).encode()
        if not self.streams and self._bare:
            return "\n".join(self._bare).encode("utf-8", "surrogateescape")
        if not self._over and "finish" not in self._last:
            return None
        content, thinking, refusal = map("".join, self._said.values())
        message = {"content": content or (None if refusal else ""), "reasoning": thinking or None, "refusal": refusal or None}
        ended = {"finish_reason": self._last.get("finish"), "logprobs": {"content": self._tokens}}
        choice = {"message": message, "text": content, **ended}
        return json.dumps({"choices": [choice], **{name: self._last.get(name) for name in ("usage", *_NAMED)}}).encode()
