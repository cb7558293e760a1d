"""The form of a reply, declared once: as a grammar, as a JSON schema, and as a strict reader.

A model that can be held to a grammar or to a schema (`Capabilities`) is held to the form of its role; the replies of any other
model are read, strictly first. A reply by a schema is JSON: `Form.written` turns it into the text that the grammar would have
allowed, so what is recorded and what the model is shown of its own words does not depend on how it was held.
"""

from __future__ import annotations

import json
import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import groupby, takewhile
from typing import Any, Literal, cast

FormChoice = Literal["auto", "free", "held", "completion"]
"""Whether replies are held to their forms: where the model can be, never, or always.

With ``completion`` a model is no chat model: it continues plain text after examples (`housequest.agent.roles.base`), held
where it can be.
"""

LONGEST_THOUGHT = 300
"""Characters of a thought that is held to a form: two or three sentences, some eighty tokens."""
THOUGHT = "thought"
"""The name of what is said before it counts; a reply that was cut off is asked for again without it."""
NO_THOUGHT = "None."
"""Stands for a thought without any letter, such as "" or "1.": what counts comes after it."""

_FREE = r"[^\x00-\x1F\x7F]"
"""A character of free text on one line, in grammars and in regular expressions alike."""
_FIRST = r"[A-Z\u00C0-\u1FFF\u3040-\uD7A3]"
"""Its first one is a letter, in English a capital: small models that begin with a number or a mark repeat it without end."""
_LETTER = _FIRST.replace("[", "[a-z")
_NAMED = re.compile(r"[A-Za-z0-9_'-]+", re.ASCII)


class Value(ABC):
    """A part of a form: what texts it allows."""

    @property
    @abstractmethod
    def pattern(self) -> str:
        """A regular expression of its texts, without groups that capture."""

    @property
    @abstractmethod
    def schema(self) -> Mapping[str, Any]:
        """The JSON schema of its values. No lengths of texts: strict endpoints refuse them."""

    @property
    @abstractmethod
    def longest(self) -> int:
        """Characters that its text has at most."""

    @abstractmethod
    def expression(self, rules: Rules) -> str:
        """Its grammar (GBNF), as an expression; what it refers to is added to ``rules``."""

    @abstractmethod
    def written(self, value: object) -> str | None:
        """The text of a JSON ``value``; None where it is none of its values."""


@dataclass(slots=True)
class Rules:
    """The rules of a grammar, by their names; equal ones are written once."""

    named: dict[str, str] = field(default_factory=dict[str, str])
    _known: dict[Value, str] = field(default_factory=dict["Value", str])

    def of(self, value: Value) -> str:
        """The name of the rule for ``value``."""
        name = self._known.get(value)
        if name is None:
            name = self._known[value] = f"r{len(self._known)}"
            self.named[name] = ""  # its place, before those of its parts
            self.named[name] = value.expression(self)
        return name


def grammar_of(value: Value) -> str:
    """The grammar (GBNF) whose texts are those of ``value``."""
    rules = Rules()
    root = value.expression(rules)
    return "\n".join(f"{name} ::= {body}" for name, body in {"root": root, **rules.named}.items())


@dataclass(frozen=True)
class _Text(Value):
    """A text of ``most`` characters."""

    most: int

    @property
    def schema(self) -> Mapping[str, Any]:
        return {"type": "string"}

    @property
    def longest(self) -> int:
        return self.most


@dataclass(frozen=True)
class Words(_Text):
    """Free text on one line, of ``most`` characters; a ``sentence`` begins with a capital."""

    sentence: bool = True

    @property
    def pattern(self) -> str:
        # Bytes that are no text are read as a mark each, up to four for what a grammar counts as one character.
        return f"{_FIRST if self.sentence else _LETTER}{_FREE}{{0,{4 * self.most}}}"

    def expression(self, rules: Rules) -> str:  # noqa: ARG002 (it refers to none)
        # After a space by itself a small model goes on in any script; a capital brings it back to words.
        return f"[{'A-Z' if self.sentence else 'A-Za-z'}] {_FREE}{{0,{self.most - 1}}}"

    def written(self, value: object) -> str | None:
        said = value if isinstance(value, str) else ""
        line = " ".join("".join(each if each.isprintable() else " " for each in said).split())
        begun = re.search(_LETTER, line)
        if begun is None:
            return None
        first, raised = begun[0], begun[0].upper()
        if self.sentence and re.match(_FIRST, raised):
            first = raised
        return f"{first}{line[begun.end() :]}"[: self.most].rstrip()


@dataclass(frozen=True)
class Choice(Value):
    """One of ``texts``, of which there is at least one."""

    texts: tuple[str, ...]

    @property
    def pattern(self) -> str:
        # The longest first, since a regular expression takes the first that fits.
        return f"(?:{'|'.join(map(re.escape, sorted(self.texts, key=len, reverse=True)))})"

    @property
    def schema(self) -> Mapping[str, Any]:
        return {"type": "string", "enum": list(dict.fromkeys(text.strip() for text in self.texts))}

    @property
    def longest(self) -> int:
        return max(map(len, self.texts))

    def expression(self, rules: Rules) -> str:
        return _trie(sorted(set(self.texts)), rules)

    def written(self, value: object) -> str | None:
        said = value.strip() if isinstance(value, str) else None
        return next((text for text in self.texts if text.strip() == said), None)


@dataclass(frozen=True)
class Either(Value):
    """One of several ``options``."""

    options: tuple[Value, ...]

    @property
    def pattern(self) -> str:
        return f"(?:{'|'.join(option.pattern for option in self.options)})"

    @property
    def schema(self) -> Mapping[str, Any]:
        return {"anyOf": [option.schema for option in self.options]}

    @property
    def longest(self) -> int:
        return max(option.longest for option in self.options)

    def expression(self, rules: Rules) -> str:
        return " | ".join(option.expression(rules) for option in self.options)

    def written(self, value: object) -> str | None:
        return next((text for option in self.options if (text := option.written(value)) is not None), None)


@dataclass(frozen=True)
class Name(_Text):
    """A name of plain words, of ``most`` characters."""

    @property
    def pattern(self) -> str:
        return f"[A-Za-z][A-Za-z0-9_' -]{{0,{self.most - 1}}}"

    def expression(self, rules: Rules) -> str:  # noqa: ARG002 (it refers to none)
        return self.pattern.replace("][", "] [")

    def written(self, value: object) -> str | None:
        words = " ".join(_NAMED.findall(value)) if isinstance(value, str) else ""
        return words.lstrip("0123456789 _'-")[: self.most].rstrip() or None


@dataclass(frozen=True)
class Listed(Value):
    """One to ``most`` items in their order, with ``between`` two of them, and ``begin`` before all.

    Each begins with its number where they are counted from ``first``. A ``#`` in the fixed texts of an item is its number.
    """

    item: Value
    most: int
    between: str = "\n"
    begin: str = ""
    first: int | None = None

    @property
    def pattern(self) -> str:
        found = ""
        for place in range(self.most - 1, -1, -1):
            text = f"{re.escape(self._before(place))}{self._item(place).pattern}{found}"
            found = f"(?:{text})?" if place else text
        return found

    @property
    def schema(self) -> Mapping[str, Any]:
        return {"type": "array", "items": self.item.schema, "minItems": 1, "maxItems": self.most}

    @property
    def longest(self) -> int:
        return self.most * self.item.longest + sum(len(self._before(place)) for place in range(self.most))

    def expression(self, rules: Rules) -> str:
        found = ""
        for place in range(self.most - 1, -1, -1):
            before = self._before(place)
            text = " ".join(filter(None, (before and _quoted(before), rules.of(self._item(place)), found)))
            found = f"({text})?" if place else text
        return found

    def written(self, value: object) -> str | None:
        if not isinstance(value, list):
            return None
        given = cast("list[object]", value)[: self.most]
        texts = [self._item(place).written(each) for place, each in enumerate(given)]
        known = [text for text in texts if text is not None]
        if not known or len(known) < len(texts):
            return None
        return "".join(f"{self._before(place)}{text}" for place, text in enumerate(known))

    def _item(self, place: int) -> Value:
        return self.item.numbered(place + 1) if isinstance(self.item, Form) else self.item

    def _before(self, place: int) -> str:
        number = "" if self.first is None else f"{self.first + place}. "
        return f"{self.between if place else self.begin}{number}"


@dataclass(frozen=True)
class Form(Value):
    """A text in ``parts``: fixed texts, and values with their names. Its JSON is an object with these names.

    A role is held to one; so is each kind of command.
    """

    parts: tuple[str | tuple[str, Value], ...]

    @cached_property
    def _strict(self) -> re.Pattern[str]:
        parts = (re.escape(part) if isinstance(part, str) else f"({part[1].pattern})" for part in self.parts)
        return re.compile("".join(parts))

    @property
    def pattern(self) -> str:
        return "".join(re.escape(part) if isinstance(part, str) else f"(?:{part[1].pattern})" for part in self.parts)

    @property
    def schema(self) -> Mapping[str, Any]:
        named = {part[0]: part[1].schema for part in self.parts if not isinstance(part, str)}
        return {"type": "object", "properties": named, "required": list(named), "additionalProperties": False}

    @property
    def longest(self) -> int:
        return sum(len(part) if isinstance(part, str) else part[1].longest for part in self.parts)

    @property
    def grammar(self) -> str:
        """The grammar (GBNF) whose texts are those of this form."""
        return grammar_of(self)

    def expression(self, rules: Rules) -> str:
        return " ".join(_quoted(part) if isinstance(part, str) else rules.of(part[1]) for part in self.parts)

    def written(self, value: object) -> str | None:
        if not isinstance(value, dict):
            return None
        given = cast("dict[str, object]", value)
        texts = [part if isinstance(part, str) else _written(*part, given.get(part[0])) for part in self.parts]
        known = [text for text in texts if text is not None]
        return "".join(known) if len(known) == len(texts) else None

    def read(self, text: str) -> Mapping[str, str] | None:
        """The text of each named value in ``text``; None where it is none of this form's."""
        found = self._strict.fullmatch(text)
        names = (part[0] for part in self.parts if not isinstance(part, str))
        return None if found is None else dict(zip(names, found.groups(), strict=True))

    def from_json(self, text: str) -> str | None:
        """The text of the JSON object ``text``; None where that is none of this form."""
        try:
            return self.written(json.loads(text))
        except (ValueError, RecursionError):
            return None

    def numbered(self, number: int) -> Form:
        """The same with ``number`` in place of each ``#`` in its fixed texts."""
        parts = (part.replace("#", str(number)) if isinstance(part, str) else part for part in self.parts)
        return replace(self, parts=tuple(parts))

    @property
    def continued(self) -> Form:
        """The same after a space, as it follows in a text that is continued."""
        return replace(self, parts=(" ", *self.parts))

    @property
    def without_thought(self) -> Form:
        """The same without what is only thought."""
        at = next((at for at, part in enumerate(self.parts) if not isinstance(part, str) and part[0] == THOUGHT), None)
        if at is None:
            return self
        before, after = self.parts[: max(0, at - 1)], self.parts[at + 1 :]
        if not before and after and isinstance(after[0], str):
            after = (after[0].lstrip("\n"), *after[1:])
        return replace(self, parts=(*before, *after))


def _written(name: str, part: Value, value: object) -> str | None:
    """The text of the ``value`` that ``part`` has in a JSON object."""
    text = part.written(value)
    return NO_THOUGHT if text is None and name == THOUGHT and isinstance(value, str) else text


def _trie(texts: Sequence[str], rules: Rules) -> str:
    """An expression for ``texts``, which are sorted and differ: each rule is a fork.

    It is their trie, with a rule for each fork: sampling then checks the branches of one fork, and not some hundred texts for
    every token of the vocabulary.
    """
    return " | ".join(_branches(texts, rules))


def _branches(texts: Sequence[str], rules: Rules) -> Iterator[str]:
    for _, group in groupby(texts, key=lambda text: text[:1]):
        branch = list(group)
        # They are sorted, so a prefix of the first and the last is a prefix of all.
        ends = zip(branch[0], branch[-1], strict=False)
        shared = "".join(one for one, _ in takewhile(lambda pair: pair[0] == pair[1], ends))
        below = tuple(text[len(shared) :] for text in branch)
        yield _quoted(shared) if len(branch) == 1 else f"{_quoted(shared)} {rules.of(Choice(below))}"


def _quoted(text: str) -> str:
    # JSON's escapes are the grammar's own.
    return json.dumps(text, ensure_ascii=False)
