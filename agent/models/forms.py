"""Forms of replies: one declaration gives a grammar, a JSON schema and a strict parser.

A model that supports grammars or schemas (`Capabilities`) is held to the form of its role; replies of other models are parsed,
strictly first. `written` turns a JSON reply into the text that the grammar would have produced, so records and later
prompts do not depend on the method.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, reduce
from itertools import groupby
from typing import Any, Literal, cast

from housequest.agent.models.base import shared_prefix

FormChoice = Literal["auto", "free", "held", "completion"]
"""Hold replies to their forms if the model supports it (``auto``), never (``free``), or always (``held``).

With ``completion`` the model continues plain text after examples (`housequest.agent.roles.base`), in its form if possible.
"""
LONGEST_THOUGHT = 300
"""Characters of a thought in a form: two or three sentences, about eighty tokens."""
THOUGHT = "thought"
"""The name of the thought before the answer; after a reply that was cut off, the retry leaves it out."""
NO_THOUGHT = "None."
"""Replaces a thought without letters, such as "" or "1."."""
_FREE = r"[^\x00-\x1F\x7F]"
"""A character of free text on one line, in grammars and in regular expressions alike."""
_FIRST = r"[A-Z\u00C0-\u1FFF\u3040-\uD7A3]"
"""The first character is a letter, in English a capital: small models that begin with a number or a mark repeat it."""
_LETTER = _FIRST.replace("[", "[a-z")
_NAMED = re.compile(r"[A-Za-z0-9_'-]+", re.ASCII)


@dataclass(frozen=True)
class Words:
    """Free text on one line, of at most ``most`` characters; a ``sentence`` begins with a capital."""

    most: int
    sentence: bool = True


@dataclass(frozen=True)
class Name:
    """A name of plain words, of at most ``most`` characters."""

    most: int


@dataclass(frozen=True)
class Choice:
    """One of ``texts``, which must not be empty."""

    texts: tuple[str, ...]


@dataclass(frozen=True)
class Either:
    """One of several ``options``."""

    options: tuple[Value, ...]


@dataclass(frozen=True)
class Listed:
    """One to ``most`` items, separated by ``between``, with ``begin`` before the first. With ``first``, items are numbered from
    there. A ``#`` in the fixed texts of an item is replaced by its number."""

    item: Value
    most: int
    between: str = "\n"
    begin: str = ""
    first: int | None = None

    @property
    def places(self) -> list[tuple[str, Value]]:
        """Each item of the list with the text before it."""
        numbers = ["" if self.first is None else f"{self.first + place}. " for place in range(self.most)]
        items = [self.item.numbered(place + 1) if isinstance(self.item, Form) else self.item for place in range(self.most)]
        return [(f"{self.between if at else self.begin}{numbers[at]}", item) for at, item in enumerate(items)]


@dataclass(frozen=True)
class Form:
    """A text of ``parts``: fixed texts and named values. Its JSON is an object with these names."""

    parts: tuple[str | tuple[str, Value], ...]

    @cached_property
    def _strict(self) -> re.Pattern[str]:
        return re.compile(
            "".join(re.escape(part) if isinstance(part, str) else f"({_pattern(part[1])})" for part in self.parts)
        )

    def read(self, text: str) -> Mapping[str, str] | None:
        """Parse ``text`` into its named values; None if it does not match."""
        found = self._strict.fullmatch(text)
        names = (part[0] for part in self.parts if not isinstance(part, str))
        return None if found is None else dict(zip(names, found.groups(), strict=True))

    def from_json(self, text: str) -> str | None:
        """Turn the JSON in ``text`` into a text of this form; None if it does not match."""
        try:
            return written(self, json.loads(text))
        except (ValueError, RecursionError):
            return None

    def numbered(self, number: int) -> Form:
        """Replace each ``#`` in the fixed texts by ``number``."""
        parts = (part.replace("#", str(number)) if isinstance(part, str) else part for part in self.parts)
        return replace(self, parts=tuple(parts))

    @property
    def continued(self) -> Form:
        """The form after a space, as it follows in a text that is continued."""
        return replace(self, parts=(" ", *self.parts))

    @property
    def without_thought(self) -> Form:
        """The form without its thought."""
        at = next((at for at, part in enumerate(self.parts) if not isinstance(part, str) and part[0] == THOUGHT), None)
        if at is None:
            return self
        before, after = self.parts[: max(0, at - 1)], self.parts[at + 1 :]
        if not before and after and isinstance(after[0], str):
            after = (after[0].lstrip("\n"), *after[1:])
        return replace(self, parts=(*before, *after))


Value = Words | Name | Choice | Either | Listed | Form
"""A part of a form, with the texts that it allows."""


def _pattern(value: Value) -> str:
    """A regular expression for the value, without capturing groups."""
    match value:
        case Words(most, sentence):
            # Each undecodable byte becomes a character: up to four for one character of the grammar.
            return f"{_FIRST if sentence else _LETTER}{_FREE}{{0,{4 * most}}}"
        case Name(most):
            return f"[A-Za-z][A-Za-z0-9_' -]{{0,{most - 1}}}"
        case Choice(texts):
            # The longest first, since a regular expression takes the first match.
            return f"(?:{'|'.join(map(re.escape, sorted(texts, key=len, reverse=True)))})"
        case Either(options):
            return f"(?:{'|'.join(map(_pattern, options))})"
        case Listed():
            first, *others = [f"{re.escape(before)}{_pattern(item)}" for before, item in value.places]
            return f"{first}{''.join(f'(?:{other}' for other in others)}{')?' * len(others)}"
        case Form(parts):
            return "".join(re.escape(part) if isinstance(part, str) else f"(?:{_pattern(part[1])})" for part in parts)


def schema_of(value: Value) -> Mapping[str, Any]:
    """The JSON schema of ``value``, without lengths of texts, which strict endpoints refuse."""
    match value:
        case Words() | Name():
            return {"type": "string"}
        case Choice(texts):
            return {"type": "string", "enum": list(dict.fromkeys(text.strip() for text in texts))}
        case Either(options):
            return {"anyOf": [schema_of(option) for option in options]}
        case Listed(item, most):
            return {"type": "array", "items": schema_of(item), "minItems": 1, "maxItems": most}
        case Form(parts):
            named = {part[0]: schema_of(part[1]) for part in parts if not isinstance(part, str)}
            return {"type": "object", "properties": named, "required": list(named), "additionalProperties": False}


def longest_of(value: Value) -> int:
    """The most characters of a text of ``value``."""
    match value:
        case Words(most) | Name(most):
            return most
        case Choice(texts):
            return max(map(len, texts))
        case Either(options):
            return max(map(longest_of, options))
        case Listed(item, most):
            return most * longest_of(item) + sum(len(before) for before, _ in value.places)
        case Form(parts):
            return sum(len(part) if isinstance(part, str) else longest_of(part[1]) for part in parts)


def written(value: Value, said: object) -> str | None:
    """Turn decoded JSON into a text of ``value``; None if it does not match."""
    match value:
        case Words(most, sentence):
            line = " ".join("".join(each if each.isprintable() else " " for each in _text(said)).split())
            begun = re.search(_LETTER, line)
            if begun is None:
                return None
            first, raised = begun[0], begun[0].upper()
            if sentence and re.match(_FIRST, raised):
                first = raised
            return f"{first}{line[begun.end() :]}"[:most].rstrip()
        case Name(most):
            return " ".join(_NAMED.findall(_text(said))).lstrip("0123456789 _'-")[:most].rstrip() or None
        case Choice(texts):
            return next((text for text in texts if isinstance(said, str) and text.strip() == said.strip()), None)
        case Either(options):
            return next((text for option in options if (text := written(option, said)) is not None), None)
        case Listed():
            given = cast("list[object]", said) if isinstance(said, list) else []
            places = list(zip(value.places, given, strict=False))
            texts = [part for (before, item), each in places for part in (before, written(item, each))]
            return _joined(texts) if texts else None
        case Form(parts):
            if not isinstance(said, dict):
                return None
            given = cast("dict[str, object]", said)
            return _joined([part if isinstance(part, str) else _named(*part, given.get(part[0])) for part in parts])


def _text(said: object) -> str:
    return said if isinstance(said, str) else ""


def _joined(texts: Sequence[str | None]) -> str | None:
    known = [text for text in texts if text is not None]
    return "".join(known) if len(known) == len(texts) else None


def _named(name: str, part: Value, said: object) -> str | None:
    text = written(part, said)
    return NO_THOUGHT if text is None and name == THOUGHT and isinstance(said, str) else text


@dataclass(slots=True)
class _Rules:
    named: dict[str, str] = field(default_factory=dict[str, str])
    _known: dict[Value, str] = field(default_factory=dict["Value", str])

    def of(self, value: Value) -> str:
        name = self._known.get(value)
        if name is None:
            name = self._known[value] = f"r{len(self._known)}"
            self.named[name] = ""  # reserves its place before the rules of its parts
            self.named[name] = self.expression(value)
        return name

    def expression(self, value: Value) -> str:
        """The grammar expression for ``value``; its parts become rules."""
        match value:
            case Words(most, sentence):
                # After a lone space a small model goes on in any script; a capital keeps it to words.
                return f"[{'A-Z' if sentence else 'A-Za-z'}] {_FREE}{{0,{most - 1}}}"
            case Name():
                return _pattern(value).replace("][", "] [")
            case Choice(texts):
                return " | ".join(self._branches(sorted(set(texts))))
            case Either(options):
                return " | ".join(map(self.expression, options))
            case Listed():
                places = [f"{_quoted(before)} " * bool(before) + self.of(item) for before, item in reversed(value.places)]
                return reduce(lambda after, place: f"{place} ({after})?", places)
            case Form(parts):
                return " ".join(_quoted(part) if isinstance(part, str) else self.of(part[1]) for part in parts)

    def _branches(self, texts: Sequence[str]) -> Iterator[str]:
        """The branches of sorted, distinct ``texts``, as a trie with a rule for each fork: sampling then checks one fork, not
        hundreds of texts, for every token of the vocabulary."""
        for _, group in groupby(texts, key=lambda text: text[:1]):
            branch = list(group)
            # They are sorted, so a prefix of the first and the last is a prefix of all.
            shared = branch[0][: shared_prefix(branch[0], branch[-1])]
            below = tuple(text[len(shared) :] for text in branch)
            yield _quoted(shared) if len(branch) == 1 else f"{_quoted(shared)} {self.of(Choice(below))}"


def grammar_of(value: Value) -> str:
    """The grammar of ``value`` (GBNF)."""
    rules = _Rules()
    root = rules.expression(value)
    return "\n".join(f"{name} ::= {body}" for name, body in {"root": root, **rules.named}.items())


def _quoted(text: str) -> str:
    # GBNF has the same escapes as JSON.
    return json.dumps(text, ensure_ascii=False)
