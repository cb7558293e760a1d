"""The request format that one model at one server accepts: a first guess, corrected after each refusal.

No server is recognised by its name. A refusal of any shape is searched for the parameters and messages it complains about;
those are left out, renamed or moved from then on, in all episodes at once. If it names nothing, the plainest request is tried.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any, cast

from housequest.agent.models.base import OWN_TEMPERATURE, Message, Request, encodable
from housequest.agent.models.keys import filled
from housequest.agent.models.openai.protocol import KEYS, LIMITS, PROMPT_TOKENS, SAID, STREAMED, chat, is_table
from housequest.agent.models.openai.redaction import Redactor

THOUGHT_ROOM = 8_192
"""Extra tokens for a model that turned out to think."""
LEAST_ROOM = 1_024
LEAST_CUT, GROWN = 1_000, 2.0
"""Prompts of fewer tokens are not checked for truncation; a prompt this many times longer must count more tokens."""
_LONGEST_WORDS = 8_000
_MOST_LEAVES = 400
_NEEDED = frozenset({"model", "messages", "prompt"})
_OPTIONAL = ("seed", "stop", "temperature")
"""Parameters that can be left out, the least important first."""
_WANTED_BACK = re.compile(r"\b(reasoning_content|reasoning|thinking)\b(?!_)")
_NUMBER = re.compile(r"(?<![\w.-])\d{1,8}(?![\w-]|\.\d|\s?(?:[KMG]i?B\b|s\b|sec|min|image|%))")
LEAST_BOUND, LEAST_HALF = 16, 256
"""Tokens: a smaller stated bound is not one of a reply; an unstated bound is searched down to the second number."""
NO_THOUGHT = "(nothing)"
"""Sent as the thinking of a reply without any, to servers that require some."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """A parsed error: the ``message`` for people, all ``words``, the parameter names given ``apart``, and the ``code``."""

    message: str = ""
    words: str = ""
    apart: frozenset[str] = frozenset()
    code: str = ""


def read_refusal(body: bytes, redactor: Redactor) -> Refusal:
    """Parse an error's body, in any shape that servers use, without the key."""
    try:
        found = islice(_leaves(json.loads(body.decode("utf-8-sig")), ""), _MOST_LEAVES)
        leaves = [(key, redactor.text(encodable(text))) for key, text in found]
    except (ValueError, RecursionError):
        text = redactor.text(body.decode("utf-8", "replace"))[:_LONGEST_WORDS]
        return Refusal(text[:4_000], text)
    apart = [text for key, text in leaves if key in KEYS["parameter"]]
    told = [text for place in KEYS["say"] for key, text in leaves if key == place and text.strip()] or [
        text for key, text in leaves if key == "" and text.strip()
    ]
    said: list[str] = []
    for text in dict.fromkeys(told):
        if not any(text in other for other in said):
            said.append(text)
    message = "; ".join(said[:3])
    unsaid = [name for name in dict.fromkeys(apart) if name not in message and name not in {"body", "None", ""}]
    if message and unsaid:
        message = f"{message} ({', '.join(unsaid[:8])})"
    codes = [text for key, text in leaves if key == "code"]
    return Refusal(
        message[:4_000],
        "\n".join(text for key, text in leaves if key != "code")[:_LONGEST_WORDS],
        frozenset(part for name in apart for part in re.split(r"[.\[\]/$ ,]+", name) if part),
        codes[0] if codes else "",
    )


def _leaves(value: object, key: str) -> Iterator[tuple[str, str]]:
    """The strings in JSON, in order, each with its nearest key; also numbers under "code"."""
    if isinstance(value, str):
        yield key, value
    elif isinstance(value, list):
        for each in cast("list[object]", value):
            yield from _leaves(each, key)
    elif is_table(value):
        for name, each in value.items():
            yield from _leaves(each, name)
    elif key == "code" and isinstance(value, int):
        yield key, str(value)


@dataclass(frozen=True, slots=True)
class Dialect:
    """The request format that a model accepts.

    ``limit`` is the name of the parameter for the reply's token limit, ``least`` and ``most`` are the bounds of its value, and
    ``room`` are extra tokens for thinking. ``left_out`` are parameters that it refuses. ``folded``: it has no system role;
    ``in_turn``: roles must alternate; ``thinking_back``: the field in which it wants its thinking back; ``streams``: it only
    streams; ``speaks``: it replies outside its thinking. ``way`` is the index of the current way to set ``thinking``.
    """

    thinking: str | None = None
    more: Mapping[str, Any] = field(default_factory=dict[str, Any])
    limit: str = LIMITS[0]
    least: int = 1
    most: int | None = None
    room: int = 0
    left_out: frozenset[str] = frozenset()
    folded: bool = False
    in_turn: bool = False
    thinking_back: str = ""
    streams: bool = False
    speaks: bool = False
    way: int = 0
    unheeded: int | None = None
    """A way that was accepted, but had no effect."""
    heedless: bool = False
    """True if no way has an effect."""
    longest: tuple[int, int] = (0, 0)
    """Characters and tokens of the prompt with the highest token count."""
    cuts: bool = False
    """True if it silently drops the beginning of long prompts: they grow, but its token count does not."""

    def body(self, model: str, request: Request, wanted: Mapping[str, Any]) -> dict[str, Any]:
        """Build the JSON to send; ``wanted`` are parameters for capabilities beyond a chat."""
        # The thinking budget counts towards the limit.
        thoughts = int(self.thinking) if self.thinking is not None and self.thinking.isdecimal() else 0
        most = max(request.max_tokens + (0 if request.raw else max(self.room, thoughts)), self.least)
        parameters = {
            self.limit: most if self.most is None else min(most, self.most),
            "temperature": request.temperature,
            "stop": [encodable(word) for word in request.stop] or None,
            "seed": request.seed,
            **(STREAMED if self.streams and not request.raw and PROMPT_TOKENS not in wanted else {}),
            **wanted,
        }
        kept = {name: value for name, value in parameters.items() if value is not None and name not in self.left_out}
        said = {"prompt": encodable(request.text)} if request.raw else {"messages": self.chat(request.messages)}
        return {"model": model, **said, **kept, **self._told_to_think(), **self.more}

    def chat(self, messages: Sequence[Message]) -> list[dict[str, Any]]:
        sent = chat(messages)
        if self.thinking_back:
            for message, one in zip(sent, messages, strict=True):
                if one.role == "assistant":
                    message[self.thinking_back] = one.thinking or NO_THOUGHT
        if self.folded:
            for message in sent:
                message["role"] = "user" if message["role"] == SYSTEM else message["role"]
        return _joined(sent) if self.folded or self.in_turn else sent

    def told_to_think(self, refusal: Refusal, sent: Mapping[str, Any]) -> bool:
        """True if ``refusal`` is about a thinking parameter that was ``sent``."""
        return bool(self._told_to_think().keys() & {name for names in blamed(sent, refusal) for name in names})

    def _told_to_think(self) -> Mapping[str, Any]:
        ways = ways_to_think(self.thinking)
        return ways[self.way] if self.way < len(ways) else {}

    def otherwise(self, sent: Mapping[str, Any], refusal: Refusal, *, surely: bool, doubtful: bool) -> Iterator[Dialect]:
        """Variants to try after a refusal of ``sent``, most likely first.

        With ``surely``, only parameters that it names apart or in quotes count, since it may not be a refusal at all. If it is
        ``doubtful`` what it is about, the last variants leave out everything optional.
        """
        words = f"{refusal.message}\n{refusal.words}"[:_LONGEST_WORDS]
        said = cast("Sequence[Mapping[str, Any]]", sent.get("messages", ()))
        system = any(message["role"] == SYSTEM for message in said)
        folded = replace(self, folded=True)
        if system and SAID["no_system"].search(words):
            yield folded
        if said and SAID["in_turn"].search(words):
            yield replace(self, in_turn=True)
            yield folded
        back = _WANTED_BACK.search(words)
        if back and back[0] not in sent and not self.thinking_back and SAID["wanted_back"].search(words):
            yield replace(self, thinking_back=back[0])
        if "stream" not in sent and SAID["streams_alone"].search(words):
            yield replace(self, streams=True)
        for name, way in ((name, number) for number, one in enumerate(ways_to_think(self.thinking)) for name in one):
            if name not in sent and re.search(rf"(?<!\w){name}(?!\w)", words):
                yield replace(self, way=way)
        groups = blamed(sent, refusal, surely=surely)
        for names in groups:
            if len(names) == 1:
                yield from self._without(names[0], sent, words)
            else:
                yield self._without_all(names, sent, words)
        if doubtful:
            # The message may be in any language and name no parameter.
            spared = [name for name in (*_OPTIONAL, *STREAMED) if name in sent]
            if system:
                yield folded
            yield from (self.leaving(name) for name in spared if name in _OPTIONAL)
            yield self.leaving(*spared)
            yield replace(self.leaving(*spared), folded=system or self.folded)

    def leaving(self, *names: str) -> Dialect:
        return replace(self, left_out=self.left_out | {*names})

    def _without_all(self, names: Sequence[str], sent: Mapping[str, Any], words: str) -> Dialect:
        found = self
        for name in names:
            found = next(found._without(name, sent, words), found)
        return found

    def _without(self, name: str, sent: Mapping[str, Any], words: str) -> Iterator[Dialect]:
        if name in LIMITS:
            other, given = LIMITS[name == LIMITS[0]], cast("int", sent[name])
            # A refused name of the limit is never tried again, so that the two cannot alternate.
            renamed = [replace(self.leaving(name), limit=other)] if other not in self.left_out else []
            if other in words:
                yield from renamed
            for bound in _bounds(words, given):
                yield replace(self, least=bound) if bound > given else replace(self, most=bound)
            yield from renamed
            while SAID["at_most"].search(words) and (given := given // 2) >= LEAST_HALF:
                yield replace(self, most=given)
            yield self.leaving(name)
        elif name in self._told_to_think():
            # The user asked for it, so it is never left out silently: after the last way the call fails.
            yield from (replace(self, way=way) for way in range(self.way + 1, len(ways_to_think(self.thinking))))
            if self.unheeded is not None:
                yield replace(self, way=self.unheeded, heedless=True)
        elif name in STREAMED or name in _OPTIONAL:
            yield self.leaving(name)

    def smaller(self) -> Iterator[Dialect]:
        """Variants with less room for thinking, for a context that is too short."""
        room = self.room
        while (room := room // 2) >= LEAST_ROOM:
            yield replace(self, room=room)

    def with_learned(self, before: Dialect, after: Dialect) -> Dialect:
        """Merge the changes from ``before`` to ``after`` into this; other calls may have changed it meanwhile."""
        pairs = ((name, getattr(before, name), getattr(after, name)) for name in self.__dataclass_fields__)
        changed = {name: new for name, old, new in pairs if old != new}
        return replace(self, **{**changed, "left_out": self.left_out | (after.left_out - before.left_out)})

    def heeding(self, *, thought: bool, way: int) -> Dialect:
        """Move to the next way if ``way`` had no effect: the model ``thought`` although it was told not to, or the other way
        round."""
        told = self.thinking is not None and (self.thinking == "off" or self.thinking.isdecimal())
        if not told or thought == (self.thinking not in {"off", "0"}) or way != self.way or self.heedless:
            return self
        last = self.way + 1 >= len(ways_to_think(self.thinking))
        return replace(self, heedless=last, unheeded=self.way, way=self.way + (not last))

    def reading(self, characters: int, tokens: int | None) -> Dialect:
        """Note the ``tokens`` that it counted for a prompt of so many ``characters``."""
        before, most = self.longest
        if tokens is not None and tokens > most:
            return replace(self, longest=(characters, tokens))
        if tokens is not None and most >= LEAST_CUT and characters > GROWN * before:
            return replace(self, cuts=True)
        return self

    def told(self) -> tuple[str, ...]:
        """Describe what was learned, for people and for the run's record."""
        way = self._told_to_think()
        ways = {
            OWN_TEMPERATURE: "temperature" in self.left_out,
            "seed not taken": "seed" in self.left_out,
            "stop texts not taken: replies are cut here": "stop" in self.left_out,
            "replies are not streamed": "stream" in self.left_out,
            "replies are streamed alone": self.streams,
            f"the limit is called {self.limit}": LIMITS[0] in self.left_out and self.limit not in self.left_out,
            "no limit of a reply's tokens is taken": {*LIMITS} <= self.left_out,
            f"replies of at most {self.most or 0:,} tokens": self.most is not None,
            f"replies of at least {self.least:,} tokens allowed": self.least > 1,
            f"{self.room:,} tokens more for thinking": self.room > 0,
            "the system message stands in the first message": self.folded,
            "messages of one role are joined": self.in_turn,
            f"its thinking is sent back as {self.thinking_back}": bool(self.thinking_back),
            f"thinking={self.thinking} by {', '.join(way)}": bool(way) and not self.heedless,
            f"thinking={self.thinking} is not heeded": self.heedless,
            f"the beginning of prompts of more than about {self.longest[1]:,} tokens is dropped": self.cuts,
        }
        return tuple(words for words, holds in ways.items() if holds)

    def asking(self, other: Dialect) -> Dialect:
        """The same with the parameters that the user of ``other`` asks for."""
        return replace(self, thinking=other.thinking, more=other.more)


SYSTEM = "system"


@cache
def ways_to_think(thinking: str | None) -> tuple[Mapping[str, Any], ...]:
    """The parameters that may set how much a model thinks, in the order to try; none if ``thinking`` is None."""
    if thinking is None:
        return ()
    kind = "off" if thinking == "off" else "budget" if thinking.isdecimal() else "effort"
    table = tomllib.loads(Path(__file__).with_name("thinking.toml").read_text("utf-8"))
    value = int(thinking) if thinking.isdecimal() else thinking
    ways = (way[kind] for way in table["way"] if kind in way)
    return tuple(filled(way, lambda _, each: value if each == "$" else each) for way in ways)


def blamed(sent: Mapping[str, Any], refusal: Refusal, *, surely: bool = False) -> list[list[str]]:
    """The parameters of ``sent`` that a refusal names, as groups to leave out: one group of those named apart, or else each
    alone (quoted ones first), then all together. A quoted name before a colon counts less: servers repeat what was sent.
    """
    names = [name for name in sent if name not in _NEEDED and name != PROMPT_TOKENS]
    words = f"{refusal.message}\n{refusal.words}"[:_LONGEST_WORDS]
    apart = {_plain(name) for name in refusal.apart}
    if found := [name for name in names if apart & {_plain(each) for each in _names(name)}]:
        return [found]
    patterns = [r"['\"`“‘«\[]{}['\"`”’»\]](?!\s*:)", r"['\"`“‘«]?(?<![\w-]){}['\"`”’»]?\s*[=:]"]
    if not surely and SAID["untaken"].search(f"{refusal.code} {words}"):
        patterns.append(r"(?<![A-Za-z0-9_-]){}(?![A-Za-z0-9_-])")
    found = dict.fromkeys(
        name
        for pattern in patterns[: 1 if surely else None]
        for name in names
        if re.search(pattern.format(_spelled(name)), words, re.IGNORECASE)
    )
    return [*([name] for name in found), *([list(found)] if len(found) > 1 else [])]


def _names(name: str) -> Sequence[str]:
    return next((names for names in KEYS["aliases"] if name in names), (name,))


def _plain(name: str) -> str:
    return name.replace("_", "").replace("-", "").lower()


def _spelled(name: str) -> str:
    """A pattern for the spellings of a parameter: max_tokens, maxTokens, max-tokens, max tokens."""
    return f"(?:{'|'.join('[_ -]?'.join(map(re.escape, each.split('_'))) for each in _names(name))})"


def _bounds(words: str, sent: int) -> list[int]:
    """Token limits that a refusal of ``sent`` says are allowed, nearest first."""
    numbers = {int(number) for found in SAID["allowed"].findall(words) for number in _NUMBER.findall(found)} - {sent, 0}
    less, more = sorted(each for each in numbers if LEAST_BOUND <= each < sent), sorted(each for each in numbers if each > sent)
    return [*(more[:1] if SAID["at_least"].search(words) else ()), *less[::-1][:2]]


def _joined(sent: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for message in sent:
        if found and found[-1]["role"] == message["role"]:
            found[-1] = {**found[-1], **message, "content": _both(found[-1]["content"], message["content"])}
        else:
            found.append(message)
    return found


def _both(one: Any, other: Any) -> Any:
    if isinstance(one, str) and isinstance(other, str):
        return f"{one}\n\n{other}"
    parts = [[{"type": "text", "text": each}] if isinstance(each, str) else each for each in (one, other)]
    return [*parts[0], *parts[1]]
