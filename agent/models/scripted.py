"""A model with replies from a file: deterministic and offline, for tests, demonstrations and reproducing a bug.

The file is YAML. Its ``rules`` are tried in turn: one fits where the system message holds its ``role`` and the last message of
the user its ``match``, and has a ``reply`` or ``replies``. Where none fits, ``replies`` answer one after the other, and then a
``default``. With ``images: true`` messages may have pictures, which no rule looks at.

The n-th of ``replies`` answers a conversation with n - 1 assistant messages, so that concurrent calls and rewound conversations
get the same replies.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple, cast

from housequest.agent.models.base import Capabilities, Completion, Model, Request, Usage, encodable, stop_at
from housequest.agent.models.registry import CallOptions, ModelProvider, file_name
from housequest.worlds.errors import ConfigurationError, ModelError, nearest, shown
from housequest.worlds.paths import given_path, read_file

LARGEST_FILE = 1 << 18


_Node = Any
"""A node of ruamel's: what is read of it are its ``id``, ``tag``, ``value`` and ``start_mark``."""


class ReplyRule(NamedTuple):
    """Answers a conversation whose system message holds ``role`` and whose last user message holds ``match``. It answers with
    the same ``reply`` always, or with ``replies`` one after the other."""

    role: str = ""
    match: str = ""
    reply: str | None = None
    replies: tuple[str, ...] = ()


class ScriptedModel(Model):
    """A model whose replies are a pure function of the conversation; words count as tokens, pictures are not looked at."""

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

    def parse(self, rest: str) -> str:
        return file_name(rest)

    def make(self, rest: str, *, name: str, options: CallOptions) -> Model:
        del options
        return load_script(given_path(rest), name=name)

    def portable(self, rest: str) -> str:
        return Path(rest).name

    def digest(self, rest: str) -> str:
        return sha256(read_script(given_path(rest))).hexdigest()

    def about(self) -> str:
        return "replies from a file, for trying things out"


def read_script(file: Path) -> bytes:
    """The bytes of a script. Raises ``ConfigurationError`` for a file that cannot be read or is too large."""
    try:
        content = read_file(file, LARGEST_FILE + 1)
    except OSError as error:
        raise ConfigurationError(f"{file} cannot be read: {error.strerror}. Give scripted: a file.") from None
    if len(content) > LARGEST_FILE:
        raise ConfigurationError(f"{file} is larger than {LARGEST_FILE >> 10} KiB; that is not a script of replies.")
    return content


def load_script(file: Path, *, name: str) -> ScriptedModel:
    """Read a script. Raises ``ConfigurationError`` naming the file, and the line where one is to blame."""
    read = _Reader(file)
    top = read.fields(_composed(file), ("rules", "replies", "default", "images"))
    rules = [read.rule(node) for node in read.items(top["rules"])] if "rules" in top else []
    if "replies" in top:
        rules.append(ReplyRule(replies=read.texts(top["replies"])))
    if "default" in top:
        rules.append(ReplyRule(reply=read.text(top["default"])))
    if not rules:
        raise ConfigurationError(f"{file} says nothing; give it rules, replies or a default.")
    images = read.text(top["images"]) if "images" in top else "false"
    if images not in ("true", "false"):
        raise read.error(top["images"], f"images is true or false, not {shown(images, 40)}")
    return ScriptedModel(rules, name=name, images=images == "true")


def _composed(file: Path) -> _Node:
    """The nodes of a script rather than its values: they know their lines, scalars stay text, and aliases are not expanded."""
    from ruamel.yaml import YAML
    from ruamel.yaml.error import MarkedYAMLError, YAMLError

    content = read_script(file)
    yaml: Any = YAML(typ="safe", pure=True)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of an anchor that is set twice: as YAML has it, the last one counts
            root: _Node | None = yaml.compose(content.decode("utf-8-sig"))
    except UnicodeDecodeError:
        raise ConfigurationError(f"{file} is not UTF-8 text, so it is not a script of replies.") from None
    except MarkedYAMLError as error:
        marked: Any = error
        line = "" if marked.problem_mark is None else f", line {marked.problem_mark.line + 1}"
        raise ConfigurationError(f"{file}{line} is not YAML: {marked.problem}."[:400]) from None
    except (YAMLError, ValueError, RecursionError) as error:
        raise ConfigurationError(f"{file} is not YAML: {shown(str(error))}.") from None
    if root is None:
        raise ConfigurationError(f"{file} is empty; give it rules, replies or a default.")
    return root


@dataclass(frozen=True)
class _Reader:
    file: Path

    def rule(self, node: _Node) -> ReplyRule:
        fields = self.fields(node, ("role", "match", "reply", "replies"))
        if ("reply" in fields) == ("replies" in fields):
            raise self.error(node, "a rule has either a reply or replies")
        texts = {key: self.text(value) for key, value in fields.items() if key != "replies"}
        return ReplyRule(**texts, replies=self.texts(fields["replies"]) if "replies" in fields else ())

    def fields(self, node: _Node, known: tuple[str, ...]) -> dict[str, _Node]:
        if node.id != "mapping":
            raise self.error(node, f"here must be a mapping with {', '.join(known)}")
        fields: dict[str, _Node] = {}
        for key_node, value in cast("list[tuple[_Node, _Node]]", node.value):
            key = self.text(key_node)
            if key not in known:
                suggestion = nearest(key, known) or f" Known: {', '.join(known)}"
                raise self.error(key_node, f"there is no setting {shown(key, 40)}.{suggestion}")
            if key in fields:
                raise self.error(key_node, f"{key} is there twice")
            fields[key] = value
        return fields

    def items(self, node: _Node) -> list[_Node]:
        if node.id != "sequence":
            raise self.error(node, "here must be a list")
        return node.value

    def texts(self, node: _Node) -> tuple[str, ...]:
        return tuple(map(self.text, self.items(node)))

    def text(self, node: _Node) -> str:
        if node.id != "scalar" or node.tag == "tag:yaml.org,2002:null":
            raise self.error(node, "here must be text")
        return encodable(str(node.value))

    def error(self, node: _Node, what: str) -> ConfigurationError:
        return ConfigurationError(f"{self.file}, line {node.start_mark.line + 1}: {what}{'' if what.endswith('?') else '.'}")
