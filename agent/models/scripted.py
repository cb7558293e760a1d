"""A model with replies from a file: deterministic and offline, for tests, demonstrations and reproducing a bug.

The file is YAML. The first of its ``rules`` counts whose ``role`` is in the system message and whose ``match`` is in the last
user message; it has a ``reply`` or ``replies``. If none matches, ``replies`` answer one after the other, and then a
``default``. With ``images: true`` messages may have pictures, which rules ignore.

The n-th of ``replies`` answers a conversation with n - 1 assistant messages, so concurrent calls and rewound conversations get
the same replies.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Annotated

from housequest.agent.models.base import Capabilities, Completion, Model, Request, Usage, encodable, stop_at
from housequest.agent.models.registry import CallOptions, ModelProvider, file_name
from housequest.worlds.errors import ConfigurationError, ModelError, shown
from housequest.worlds.paths import given_path, read_bounded
from housequest.worlds.validation import Before, Invalid, compose, plain, read

LARGEST_FILE = 1 << 18


def _said(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError("this must be text")
    return encodable(value)


Said = Annotated[str, Before(_said)]


@dataclass(frozen=True, slots=True)
class ReplyRule:
    """Answers a conversation with ``role`` in the system message and ``match`` in the last user message: always with ``reply``,
    or with ``replies`` one after the other."""

    role: Said = ""
    match: Said = ""
    reply: Annotated[str | None, Before(_said)] = None
    replies: tuple[Said, ...] = ()


class ScriptedModel(Model):
    """A model whose replies depend only on the conversation; words count as tokens, and pictures are ignored."""

    def __init__(self, rules: Sequence[ReplyRule], *, name: str, images: bool = False) -> None:
        self._rules = tuple(rules)
        self._can = Capabilities(images=images, deterministic=True)
        self.name = name

    async def capabilities(self) -> Capabilities:
        return self._can

    async def complete(self, request: Request) -> Completion:
        request.check(self.name, self._can)
        messages = request.messages
        system = "\n".join(message.content for message in messages if message.role == "system")
        last = next((message.content for message in reversed(messages) if message.role == "user"), "")
        place = sum(message.role == "assistant" for message in messages)
        fitting = (rule for rule in self._rules if rule.role in system and rule.match in last)
        answers = (rule.replies[place] if place < len(rule.replies) else rule.reply for rule in fitting)
        reply = next((reply for reply in answers if reply is not None), None)
        if reply is None:
            missing = f"no reply number {place + 1} for a message that begins {shown(last, 80)}"
            raise ModelError(f"{self.name} has {missing}; add one, or a default.")
        text = reply[: stop_at(reply, request.stop)]
        words = list(re.finditer(r"\S+", text))
        cut = len(words) > request.max_tokens
        text = text[: words[request.max_tokens].start()].rstrip() if cut else text
        prompt = sum(len(message.content.split()) for message in messages)
        return Completion(text, "length" if cut else "stop", Usage(prompt, min(len(words), request.max_tokens)))


class ScriptedProvider(ModelProvider):
    """Replies from a file."""

    forms = ("scripted:FILE",)
    images = True

    def __init__(self, rest: str) -> None:
        super().__init__(file_name(rest))

    def make(self, *, name: str, options: CallOptions) -> Model:
        del options
        return load_script(given_path(self.rest), name=name)

    def portable(self) -> str:
        return Path(self.rest).name

    def digest(self) -> str:
        return sha256(read_script(given_path(self.rest))).hexdigest()

    @classmethod
    def about(cls) -> str:
        return "replies from a file, for trying things out"


def read_script(file: Path) -> bytes:
    """Read the bytes of a script. Raises ``ConfigurationError`` if it is unreadable or too large."""
    return read_bounded(file, LARGEST_FILE, name=str(file), way_out="Give scripted: a file.")


@dataclass(frozen=True, slots=True)
class _Script:
    rules: tuple[ReplyRule, ...] = ()
    replies: tuple[Said, ...] = ()
    default: Annotated[str | None, Before(_said)] = None
    images: bool = False


def load_script(file: Path, *, name: str) -> ScriptedModel:
    """Read a script. Raises ``ConfigurationError`` with the file, and the line if known."""
    root = None
    try:
        root = compose(read_script(file).decode("utf-8-sig"))
        if root is None:
            raise Invalid("this is empty; give it rules, replies or a default")
        script = read(_Script, plain(root))
        for place, rule in enumerate(script.rules):
            if (rule.reply is None) == (not rule.replies):
                raise Invalid("a rule has either a reply or replies", ("rules", place))
        rules = [*script.rules]
        rules += [ReplyRule(replies=script.replies)] if script.replies else []
        rules += [ReplyRule(reply=script.default)] if script.default is not None else []
        if not rules:
            raise Invalid("this says nothing; give it rules, replies or a default")
    except UnicodeDecodeError:
        raise ConfigurationError(f"{file} is not UTF-8 text, so it is not a script of replies.") from None
    except Invalid as wrong:
        found = wrong if wrong.line or root is None else wrong.located(root)
        place = f", line {found.line}" if found.line else ""
        raise ConfigurationError(f"{file}{place}: {found.sentence}") from None
    return ScriptedModel(rules, name=name, images=script.images)
