"""Reads a rulebook's YAML as rules. Sizes are limited, nothing is run, and errors name file, line and field.

Only plain scalars, lists and mappings are read; tags, aliases and unknown fields are refused. The reader works on YAML nodes,
not on loaded objects, because a node has its line number.
"""

from __future__ import annotations

import datetime
import re
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar, cast

from knowledge.checks import Check, parse_check
from knowledge.rules import (
    EDIT_KINDS,
    EDITED,
    JUDGES,
    KINDS,
    SOURCES,
    STATUSES,
    WITNESSES,
    Edit,
    EditKind,
    Evidence,
    Origin,
    Rule,
    RuleStatus,
)
from worlds.errors import KnowledgeError, nearest, shown
from worlds.registry import DEFAULT_WORLD

_T = TypeVar("_T")

LONGEST_STATEMENT = 2_000
LONGEST_ID = 64
LONGEST_WORD = 300
MOST_WORDS = 100
LONGEST_WAS = MOST_WORDS * (LONGEST_WORD + 2)
"""Most characters of a field's old value; the longest fields are lists of words."""
MOST_EDITS = 1_000
DEEPEST = 20

FIELDS = ("id", "statement", "kind", "types", "objects", "status", "by", "origin", "check", "evidence", "history")

_PLAIN = "tag:yaml.org,2002:"
_TAKEN = {f"{_PLAIN}{name}" for name in ("str", "int", "float", "bool", "null", "timestamp", "merge", "value", "map", "seq")}
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_WORLD = re.compile(r"[\w.-]+")
_JOINERS = {"\u200c", "\u200d"}


class YamlNode(Protocol):
    """The part of ruamel's nodes used here. ``value`` is a text, a list of nodes, or a list of pairs of nodes."""

    id: str
    tag: object
    value: Any
    start_mark: Any
    flow_style: bool | None


@dataclass(frozen=True, slots=True)
class Span:
    """The lines of an item, counted from 0, from its dash to before ``end``."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Layout:
    """The lines of each item in a block list, and the column of the dashes."""

    spans: tuple[Span, ...] = ()
    column: int = 0


@dataclass(frozen=True, slots=True)
class Page:
    """The rules of a rulebook's text, and the ``world`` that they are about.

    ``layout`` is None if rules are not on lines of their own, as in a list in brackets.
    """

    rules: tuple[Rule, ...] = ()
    layout: Layout | None = Layout()
    world: str = DEFAULT_WORLD


def read_page(text: str, where: str) -> Page:
    """The rules in ``text``; ``where`` names the file in errors. Raises ``KnowledgeError``."""
    root = _compose(text, where)
    if root is None or root.tag == f"{_PLAIN}null":
        return Page()
    reader = _Reader(where)
    reader.refuse_odd(root)
    world, listed = reader.book(root)
    if listed is None:
        return Page(world=world)
    items = cast("list[YamlNode]", listed.value)
    rules = tuple(reader.rule(number, item) for number, item in enumerate(items, 1))
    lines: dict[str, int] = {}
    for rule, item in zip(rules, items, strict=True):
        if rule.id in lines:
            way_out = f"line {lines[rule.id]} has it too; give one of them another id"
            raise reader.error(item, f"there are two rules with the id {shown(rule.id)}: {way_out}", "id")
        lines[rule.id] = _line(item)
    return Page(rules, None if listed.flow_style else _layout(text, listed, items), world)


def _compose(text: str, where: str) -> YamlNode | None:
    from ruamel.yaml import YAML
    from ruamel.yaml.error import MarkedYAMLError, YAMLError

    try:
        return cast("YamlNode | None", YAML(typ="safe", pure=True).compose(text))  # pyright: ignore[reportUnknownMemberType]
    except MarkedYAMLError as error:
        mark = cast("Any", error.problem_mark)
        line = f":{mark.line + 1}" if mark is not None else ""
        problem = " ".join(str(cast("object", error.problem or error.context)).split())
        raise KnowledgeError(f"{where}{line}: this is not valid YAML: {shown(problem, 200)}.") from None
    except (YAMLError, ValueError, RecursionError, TypeError, AttributeError, IndexError, AssertionError) as error:
        reason = "it is nested too deep" if isinstance(error, RecursionError) else shown(" ".join(str(error).split()), 200)
        raise KnowledgeError(f"{where}: this is not valid YAML: {reason}.") from None


def _layout(text: str, root: YamlNode, items: Sequence[YamlNode]) -> Layout | None:
    """The lines of the items; comments and empty lines before a dash belong to the next item. None if unclear."""
    lines = text.split("\n")
    column = cast("int", root.start_mark.column)
    starts: list[int] = []
    for item in items:
        line = cast("int", item.start_mark.line)
        # A value may begin some lines below its dash.
        while line > (starts[-1] if starts else -1) and not _dashed(lines, line, column):
            line -= 1
        if line < 0 or (starts and line <= starts[-1]) or not _dashed(lines, line, column):
            return None
        starts.append(line)
    ends = [*starts[1:], len(lines)]
    spans = (Span(start, _last(lines, start, end, column)) for start, end in zip(starts, ends, strict=True))
    return Layout(tuple(spans), column)


def _dashed(lines: Sequence[str], line: int, column: int) -> bool:
    return line < len(lines) and not lines[line][:column].strip() and lines[line][column : column + 1] == "-"


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
    return cast("int", node.start_mark.line) + 1


class _Reader:
    def __init__(self, where: str) -> None:
        self.where = where
        self._rule = ""

    def error(self, node: YamlNode, reason: str, field: str = "") -> KnowledgeError:
        """An error at ``node``, with its line."""
        place = ", ".join(part for part in (self._rule, field) if part)
        return KnowledgeError(f"{self.where}:{_line(node)}: {f'{place}: ' if place else ''}{reason}.")

    def refuse_odd(self, root: YamlNode) -> None:
        """Refuse tags, aliases and deep nesting before anything else walks the nodes."""
        seen: set[int] = set()
        waiting = deque([(root, 0)])
        while waiting:
            node, depth = waiting.popleft()
            if id(node) in seen:
                raise self.error(node, "YAML anchors and aliases are not read; write each rule out")
            seen.add(id(node))
            if str(node.tag) not in _TAKEN:
                raise self.error(node, f"the tag {shown(str(node.tag))} is not read; leave it out")
            if depth > DEEPEST:
                raise self.error(node, "this is nested too deep for a rule")
            if node.id == "sequence":
                waiting += [(each, depth + 1) for each in cast("list[YamlNode]", node.value)]
            elif node.id == "mapping":
                waiting += [(each, depth + 1) for pair in cast("list[tuple[YamlNode, YamlNode]]", node.value) for each in pair]

    def book(self, root: YamlNode) -> tuple[str, YamlNode | None]:
        """The world of a book and its list of rules: the whole document, or its ``rules`` beside ``world``."""
        world, rules = DEFAULT_WORLD, root
        if root.id == "mapping":
            fields = self._fields(root, ("world", "rules"))
            if "world" in fields:
                world = self._text(fields["world"], "world", LONGEST_ID)
                if not _WORLD.fullmatch(world):
                    raise self.error(fields["world"], "a world's name is a word of letters, digits, '-', '_' and '.'", "world")
            if "rules" not in fields or fields["rules"].tag == f"{_PLAIN}null":
                return world, None
            rules = fields["rules"]
        if rules.id != "sequence":
            raise self.error(rules, "a rulebook must be a list of rules: each a statement, or a mapping with a statement")
        return world, rules

    def rule(self, number: int, item: YamlNode) -> Rule:
        """Read ``item`` as a rule; ``number`` counts from 1."""
        self._rule = f"rule {number}"
        if item.id == "scalar":
            return Rule(f"rule-{number}", self._statement(item, "statement"))
        if item.id == "sequence":
            raise self.error(item, "a rule is a statement, or a mapping with a statement")
        fields = self._fields(item, FIELDS)
        if "statement" not in fields:
            raise self.error(item, "the rule has no statement", "statement")
        name = self._id(fields["id"]) if "id" in fields else f"rule-{number}"
        origin = self._get(fields, "origin", self._origin, Origin())
        # A rule from a model or a run is a candidate until it is accepted.
        default: RuleStatus = "accepted" if origin.source == "person" else "candidate"
        status: RuleStatus = self._choice(fields, "status", STATUSES, default)
        return Rule(
            id=name,
            statement=self._statement(fields["statement"], "statement"),
            kind=self._choice(fields, "kind", KINDS, None),
            types=self._get(fields, "types", self._words, ()),
            objects=self._get(fields, "objects", self._words, ()),
            status=status,
            by=self._choice(fields, "by", JUDGES, "person"),
            origin=origin,
            check=self._get(fields, "check", self._check, None),
            evidence=self._get(fields, "evidence", self._evidence, Evidence()),
            history=self._get(fields, "history", self._history, ()),
        )

    def _get(self, fields: dict[str, YamlNode], name: str, read: Callable[[YamlNode, str], _T], default: _T) -> _T:
        node = fields.get(name)
        return default if node is None or node.tag == f"{_PLAIN}null" else read(node, name)

    def _fields(self, item: YamlNode, known: Sequence[str], field: str = "") -> dict[str, YamlNode]:
        if item.id != "mapping":
            raise self.error(item, f"this must be a mapping of {', '.join(known)}", field)
        found: dict[str, YamlNode] = {}
        for key, value in cast("list[tuple[YamlNode, YamlNode]]", item.value):
            name = str(key.value) if key.id == "scalar" else ""
            if name not in known:
                named = shown(name if name else "a list")
                raise self.error(key, f"unknown field {named}.{nearest(name, tuple(known))} Known: {', '.join(known)}", field)
            if name in found:
                raise self.error(key, "this field is there twice", f"{field}.{name}" if field else name)
            found[name] = value
        return found

    def _text(self, node: YamlNode, field: str, longest: int) -> str:
        if node.id != "scalar" or node.tag not in {f"{_PLAIN}str", f"{_PLAIN}int"}:
            way_out = "; put it in quotes if that is what you mean" if node.id == "scalar" else ""
            raise self.error(node, f"this must be a text{way_out}", field)
        text = " ".join(str(node.value).split())
        if len(text) > longest:
            raise self.error(node, f"this has at most {longest} characters, not {len(text)}", field)
        if not all(character.isprintable() or character in _JOINERS for character in text):
            raise self.error(node, "this holds characters that cannot be printed", field)
        return text

    def _statement(self, node: YamlNode, field: str) -> str:
        # A lone number is no statement about a world.
        if node.id == "scalar" and node.tag == f"{_PLAIN}int":
            raise self.error(node, "this must be a statement in words", field)
        text = self._text(node, field, LONGEST_STATEMENT)
        if not text:
            raise self.error(node, "the rule has no statement", field)
        return text

    def _id(self, node: YamlNode) -> str:
        text = self._text(node, "id", LONGEST_ID)
        if not text or not all(character.isalnum() or character in "-_." for character in text):
            raise self.error(node, "an id is a word of letters, digits, '-', '_' and '.'", "id")
        return text

    def _choice(self, fields: dict[str, YamlNode], name: str, known: tuple[_T, ...], default: _T) -> _T:
        node = fields.get(name)
        if node is None or node.tag == f"{_PLAIN}null":
            return default
        text = self._text(node, name, LONGEST_WORD)
        found = next((each for each in known if each == text), None)
        if found is None:
            names = tuple(str(each) for each in known)
            raise self.error(node, f"{shown(text)} is none of {', '.join(names)}.{nearest(text, names)}".rstrip(".?"), name)
        return found

    def _words(self, node: YamlNode, field: str) -> tuple[str, ...]:
        if node.id != "sequence":
            raise self.error(node, "this must be a list, such as [mug, cup]", field)
        nodes = cast("list[YamlNode]", node.value)
        if len(nodes) > MOST_WORDS:
            raise self.error(node, f"this has at most {MOST_WORDS} entries", field)
        return tuple(self._text(each, field, LONGEST_WORD) for each in nodes)

    def _count(self, node: YamlNode, field: str) -> int:
        text = self._text(node, field, 12)
        if not (text.isascii() and text.isdecimal()):
            raise self.error(node, f"{shown(text)} is not a count", field)
        return int(text)

    def _origin(self, node: YamlNode, field: str) -> Origin:
        fields = self._fields(node, ("source", "name"), field)
        return Origin(
            self._choice(fields, "source", SOURCES, "person"),
            self._get(fields, "name", lambda each, name: self._text(each, f"{field}.{name}", LONGEST_WORD), ""),
        )

    def _check(self, node: YamlNode, field: str) -> Check:
        text = self._text(node, field, LONGEST_STATEMENT)
        try:
            return parse_check(text)
        except KnowledgeError as error:
            raise self.error(node, str(error).rstrip("."), field) from None

    def _evidence(self, node: YamlNode, field: str) -> Evidence:
        fields = self._fields(node, ("supports", "contradicts", "witnesses", "against"), field)
        return Evidence(
            self._get(fields, "supports", self._count, 0),
            self._get(fields, "contradicts", self._count, 0),
            self._get(fields, "witnesses", self._words, ())[:WITNESSES],
            self._get(fields, "against", self._words, ())[:WITNESSES],
        )

    def _history(self, node: YamlNode, field: str) -> tuple[Edit, ...]:
        if node.id != "sequence":
            raise self.error(node, "this must be a list of what was done", field)
        nodes = cast("list[YamlNode]", node.value)
        if len(nodes) > MOST_EDITS:
            raise self.error(node, f"this has at most {MOST_EDITS} entries", field)
        return tuple(self._edit(each, field) for each in nodes)

    def _edit(self, node: YamlNode, field: str) -> Edit:
        fields = self._fields(node, ("did", "field", "by", "was", "date"), field)
        did: EditKind | None = self._choice(fields, "did", EDIT_KINDS, None)
        if did is None:
            raise self.error(node, "this does not say what was done", f"{field}.did")
        return Edit(
            did,
            self._choice(fields, "by", JUDGES, "person"),
            self._get(fields, "was", lambda each, name: self._text(each, f"{field}.{name}", LONGEST_WAS), ""),
            self._choice(fields, "field", EDITED, None),
            self._get(fields, "date", lambda each, name: self._date(each, f"{field}.{name}"), None),
        )

    def _date(self, node: YamlNode, field: str) -> datetime.date:
        text = str(node.value) if node.id == "scalar" else ""
        try:
            # Python accepts more forms of dates; other programs may not.
            return datetime.date.fromisoformat(text if _DATE.fullmatch(text) else "")
        except ValueError:
            raise self.error(node, f"{shown(text)} is no date such as 2026-01-31", field) from None
