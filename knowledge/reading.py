"""Reads a rulebook's YAML as rules. Sizes are limited, nothing is run, and errors name file, line and field.

Only plain scalars, lists and mappings are read; tags, aliases and unknown fields are refused. The reader works on nodes, not on
loaded objects, because a node has its line number.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, cast

from housequest.knowledge.checks import Check, parse_check
from housequest.knowledge.rules import (
    EDIT_KINDS,
    EDITED,
    JUDGES,
    KINDS,
    SOURCES,
    STATUSES,
    WITNESSES,
    Edit,
    Evidence,
    Origin,
    Rule,
)
from housequest.worlds.errors import KnowledgeError, nearest, shown
from housequest.worlds.registry import DEFAULT_WORLD

LONGEST_STATEMENT = 2_000
LONGEST_ID = 64
LONGEST_WORD = 300
MOST_WORDS = 100
LONGEST_WAS = MOST_WORDS * (LONGEST_WORD + 2)
"""Most characters of a field's old value; the longest fields are lists of words."""
MOST_EDITS = 1_000
DEEPEST = 20

_PLAIN = "tag:yaml.org,2002:"
_NULL = f"{_PLAIN}null"
_UNTAGGED = {"", "!"}
_NEVER_NULL = {"id", "statement", "world"}
_TAKEN = {f"{_PLAIN}{name}" for name in ("str", "int", "float", "bool", "null", "timestamp", "merge", "value", "map", "seq")}
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_NAME = re.compile(r"[\w.-]+")
_JOINERS = {"\u200c", "\u200d"}


@dataclass(slots=True)
class YamlNode:
    """A part of a text in YAML, with its place in it, counted from 0.

    ``value`` is a text, a list of nodes, or a list of pairs of nodes; ``flow``: it is a collection in brackets.
    """

    id: Literal["scalar", "sequence", "mapping"]
    tag: str
    value: Any
    line: int
    column: int
    flow: bool = False


_Reader = Callable[[YamlNode], Any]


@dataclass(frozen=True, slots=True)
class Page:
    """The rules of a rulebook's text, and the ``world`` that they are about.

    ``lines`` are those of each rule in a block list, counted from 0, and ``column`` is that of the dashes. ``lines`` is None
    if rules are not on lines of their own, as in a list in brackets.
    """

    rules: tuple[Rule, ...] = ()
    world: str = DEFAULT_WORLD
    lines: tuple[range, ...] | None = ()
    column: int = 0


class _Wrong(Exception):
    """What is wrong with a node. ``fields`` leads to it from its rule."""

    def __init__(self, node: YamlNode, reason: str, *fields: str) -> None:
        super().__init__(reason)
        self.node = node
        self.fields = fields


def read_page(text: str, where: str) -> Page:
    """The rules in ``text``; ``where`` names the file in errors. Raises ``KnowledgeError``."""
    rule = ""
    try:
        root = _compose(text, where)
        if root is None or root.tag == _NULL:
            return Page()
        world, listed = _book(root)
        if listed is None:
            return Page(world=world)
        items = listed.value
        rules: dict[str, Rule] = {}
        starts: dict[str, int] = {}
        for number, item in enumerate(items, 1):
            rule = f"rule {number}"
            read = _rule(item, number)
            if read.id in rules:
                way_out = f"line {starts[read.id]} has it too; give one of them another id"
                raise _Wrong(item, f"there are two rules with the id {shown(read.id)}: {way_out}", "id")
            rules[read.id], starts[read.id] = read, _line(item)
    except _Wrong as wrong:
        place = ", ".join(part for part in (rule, ".".join(wrong.fields)) if part)
        raise KnowledgeError(f"{where}:{_line(wrong.node)}: {f'{place}: ' if place else ''}{wrong}.") from None
    column = listed.column
    lines = None if listed.flow else _lines(text.split("\n"), column, items)
    return Page(tuple(rules.values()), world, lines, column)


def _compose(text: str, where: str) -> YamlNode | None:
    from ruamel.yaml import YAML
    from ruamel.yaml.error import MarkedYAMLError, YAMLError

    yaml: Any = YAML(typ="safe", pure=True)
    try:
        return _root(yaml.parse(text), yaml.resolver.resolve)
    except MarkedYAMLError as error:
        mark = cast("Any", error.problem_mark)
        line = f":{mark.line + 1}" if mark is not None else ""
        problem = " ".join(str(cast("object", error.problem or error.context)).split())
        raise KnowledgeError(f"{where}{line}: this is not valid YAML: {shown(problem, 200)}.") from None
    except (YAMLError, ValueError, TypeError, AttributeError, IndexError, AssertionError, OverflowError) as error:
        reason = shown(" ".join(str(error).split()), 200)
        raise KnowledgeError(f"{where}: this is not valid YAML: {reason}.") from None


def _root(events: Iterable[Any], resolve: Callable[..., object]) -> YamlNode | None:
    """The node of the one document in ruamel's ``events``. Aliases, tags and deep nesting are refused as soon as they come.

    ruamel would build all of its own nodes before anything could be refused, and takes longer for them than for the events.
    """
    from ruamel.yaml.composer import ComposerError
    from ruamel.yaml.events import (
        AliasEvent,
        CollectionEndEvent,
        DocumentStartEvent,
        NodeEvent,
        ScalarEvent,
        SequenceStartEvent,
    )
    from ruamel.yaml.nodes import ScalarNode

    root: YamlNode | None = None
    parents: list[YamlNode] = []
    tags: dict[tuple[str, tuple[bool, bool]], str] = {}  # a book says the same words again and again
    for event in events:
        if isinstance(event, CollectionEndEvent):
            ended = parents.pop()
            if ended.id == "mapping":
                ended.value = list(zip(ended.value[::2], ended.value[1::2], strict=True))
            continue
        mark: Any = event.start_mark
        if isinstance(event, DocumentStartEvent) and root is not None:
            raise ComposerError("expected a single document", root, "but found another document", mark)
        if not isinstance(event, NodeEvent):
            continue
        node = YamlNode("scalar", "", "", mark.line, mark.column)
        if isinstance(event, AliasEvent):
            raise _Wrong(node, "YAML anchors and aliases are not read; write each rule out")
        one: Any = event
        if one.ctag is not None and len(one.ctag.suffix or "") > LONGEST_WORD:
            raise _Wrong(node, f"the tag {shown(one.ctag.suffix)} is not read; leave it out")  # ruamel decodes it slowly
        tag = "" if one.ctag is None else str(one.ctag)
        if tag not in _UNTAGGED and tag not in _TAKEN:
            raise _Wrong(node, f"the tag {shown(tag)} is not read; leave it out")
        if len(parents) > DEEPEST:
            raise _Wrong(node, "this is nested too deep for a rule")
        if isinstance(event, ScalarEvent):
            node.value = one.value
            if tag in _UNTAGGED:
                untagged = (one.value, one.implicit)
                tag = tags.get(untagged) or tags.setdefault(untagged, str(resolve(ScalarNode, *untagged)))
        else:
            node.id, node.value, node.flow = (
                "sequence" if isinstance(event, SequenceStartEvent) else "mapping",
                [],
                one.flow_style,
            )
        node.tag = tag
        if parents:
            parents[-1].value.append(node)
        else:
            root = node
        if node.id != "scalar":
            parents.append(node)
    return root


def _book(root: YamlNode) -> tuple[str, YamlNode | None]:
    """The world of a book and its list of rules: the whole document, or its ``rules`` beside ``world``."""
    world, rules = DEFAULT_WORLD, root
    if root.id == "mapping":
        fields = _fields(root, {"world": _name("a world's name"), "rules": lambda node: node})
        world, rules = fields.get("world", DEFAULT_WORLD), fields.get("rules")
        if rules is None:
            return world, None
    if rules.id != "sequence":
        raise _Wrong(rules, "a rulebook must be a list of rules: each a statement, or a mapping with a statement")
    return world, rules


def _lines(lines: Sequence[str], column: int, items: Sequence[YamlNode]) -> tuple[range, ...] | None:
    """The lines of the items; comments and empty lines before a dash belong to the next item. None if unclear."""
    dashed = {at for at, line in enumerate(lines) if not line[:column].strip() and line[column : column + 1] == "-"}
    # A value may begin some lines below its dash.
    starts = [next((line for line in range(_line(item) - 1, -1, -1) if line in dashed), -1) for item in items]
    if -1 in starts or len(set(starts)) < len(starts):
        return None
    ends = [*starts[1:], len(lines)]
    return tuple(range(start, _last(lines, start, end, column)) for start, end in zip(starts, ends, strict=True))


def _last(lines: Sequence[str], start: int, end: int, column: int) -> int:
    """The end of an item, at most ``end``, without empty lines and comments indented no deeper than its dash."""
    while end > start + 1:
        line = lines[end - 1]
        stripped = line.lstrip(" ")
        if stripped.strip() and not (stripped.startswith("#") and len(line) - len(stripped) <= column):
            break
        end -= 1
    return end


def _line(node: YamlNode) -> int:
    return node.line + 1


def _rule(item: YamlNode, number: int) -> Rule:
    if item.id == "sequence":
        raise _Wrong(item, "a rule is a statement, or a mapping with a statement")
    fields = _fields(item, _RULE) if item.id == "mapping" else {"statement": _read("statement", _statement, item)}
    if "statement" not in fields:
        raise _Wrong(item, "the rule has no statement", "statement")
    origin: Origin = fields.get("origin", Origin())
    # A rule from a model or a run is a candidate until it is accepted.
    fields.setdefault("id", f"rule-{number}")
    fields.setdefault("status", "accepted" if origin.source == "person" else "candidate")
    return Rule(**fields)


def _fields(item: YamlNode, readers: Mapping[str, _Reader]) -> dict[str, Any]:
    """The values of a mapping's fields; a field that is null counts as left out, but for those in ``_NEVER_NULL``."""
    if item.id != "mapping":
        raise _Wrong(item, f"this must be a mapping of {', '.join(readers)}")
    seen: set[str] = set()
    found: dict[str, Any] = {}
    for key, node in item.value:
        name = str(key.value) if key.id == "scalar" else ""
        if name not in readers:
            known = tuple(readers)
            raise _Wrong(key, f"unknown field {shown(name or 'a list')}.{nearest(name, known)} Known: {', '.join(known)}")
        if name in seen:
            raise _Wrong(key, "this field is there twice", name)
        seen.add(name)
        if node.tag != _NULL or name in _NEVER_NULL:
            found[name] = _read(name, readers[name], node)
    return found


def _read(name: str, reader: _Reader, node: YamlNode) -> Any:
    try:
        return reader(node)
    except _Wrong as wrong:
        raise _Wrong(wrong.node, str(wrong), name, *wrong.fields) from None


def _list(node: YamlNode, most: int, of: str) -> list[YamlNode]:
    if node.id != "sequence":
        raise _Wrong(node, f"this must be a list{of}")
    if len(node.value) > most:
        raise _Wrong(node, f"this has at most {most} entries")
    return node.value


def _text(node: YamlNode, longest: int = LONGEST_WORD) -> str:
    if node.id != "scalar" or node.tag not in {f"{_PLAIN}str", f"{_PLAIN}int"}:
        way_out = "; put it in quotes if that is what you mean" if node.id == "scalar" else ""
        raise _Wrong(node, f"this must be a text{way_out}")
    text = " ".join(str(node.value).split())
    if len(text) > longest:
        raise _Wrong(node, f"this has at most {longest} characters, not {len(text)}")
    if not text.isprintable() and not all(character.isprintable() or character in _JOINERS for character in text):
        raise _Wrong(node, "this holds characters that cannot be printed")
    return text


def _statement(node: YamlNode) -> str:
    # A lone number is no statement about a world.
    if node.tag == f"{_PLAIN}int":
        raise _Wrong(node, "this must be a statement in words")
    text = _text(node, LONGEST_STATEMENT)
    if not text:
        raise _Wrong(node, "the rule has no statement")
    return text


def _name(what: str) -> _Reader:
    def read(node: YamlNode) -> str:
        text = _text(node, LONGEST_ID)
        if not _NAME.fullmatch(text):
            raise _Wrong(node, f"{what} is a word of letters, digits, '-', '_' and '.'")
        return text

    return read


def _choice(known: tuple[str, ...]) -> _Reader:
    def read(node: YamlNode) -> str:
        text = _text(node)
        if text not in known:
            raise _Wrong(node, f"{shown(text)} is not one of {', '.join(known)}.{nearest(text, known)}".rstrip(".?"))
        return text

    return read


def _words(node: YamlNode) -> tuple[str, ...]:
    return tuple(map(_text, _list(node, MOST_WORDS, ", such as [mug, cup]")))


def _witnesses(node: YamlNode) -> tuple[str, ...]:
    return _words(node)[:WITNESSES]


def _count(node: YamlNode) -> int:
    text = _text(node, 12)
    if not (text.isascii() and text.isdecimal()):
        raise _Wrong(node, f"{shown(text)} is not a count")
    return int(text)


def _check(node: YamlNode) -> Check:
    text = _text(node, LONGEST_STATEMENT)
    try:
        return parse_check(text)
    except KnowledgeError as error:
        raise _Wrong(node, str(error).rstrip(".")) from None


def _date(node: YamlNode) -> datetime.date:
    text = str(node.value) if node.id == "scalar" else ""
    try:
        # Python accepts more forms of dates; other programs may not.
        return datetime.date.fromisoformat(text if _DATE.fullmatch(text) else "")
    except ValueError:
        raise _Wrong(node, f"{shown(text)} is not a date such as 2026-01-31") from None


def _edit(node: YamlNode) -> Edit:
    fields = _fields(node, _EDIT)
    if "did" not in fields:
        raise _Wrong(node, "this does not say what was done", "did")
    return Edit(**fields)


_ORIGIN: dict[str, _Reader] = {"source": _choice(SOURCES), "name": _text}
_EVIDENCE: dict[str, _Reader] = {"supports": _count, "contradicts": _count, "witnesses": _witnesses, "against": _witnesses}
_EDIT: dict[str, _Reader] = {
    "did": _choice(EDIT_KINDS),
    "field": _choice(EDITED),
    "by": _choice(JUDGES),
    "was": partial(_text, longest=LONGEST_WAS),
    "date": _date,
}
_RULE: dict[str, _Reader] = {
    "id": _name("an id"),
    "statement": _statement,
    "kind": _choice(KINDS),
    "types": _words,
    "objects": _words,
    "status": _choice(STATUSES),
    "by": _choice(JUDGES),
    "origin": lambda node: Origin(**_fields(node, _ORIGIN)),
    "check": _check,
    "evidence": lambda node: Evidence(**_fields(node, _EVIDENCE)),
    "history": lambda node: tuple(map(_edit, _list(node, MOST_EDITS, " of what was done"))),
}
FIELDS: dict[type, tuple[str, ...]] = {
    Rule: tuple(_RULE),
    Origin: tuple(_ORIGIN),
    Evidence: tuple(_EVIDENCE),
    Edit: tuple(_EDIT),
}
"""The fields of each record in the order in which they are written."""
