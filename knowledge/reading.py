"""Reads a rulebook's YAML as rules. Sizes are limited, nothing is run, and errors name file, line and field.

A book is a mapping of ``format``, ``world`` (the default one may be left out) and ``rules``. Only plain scalars, lists and
mappings are read; tags, aliases, deep nesting and unknown fields are refused as soon as they come. The reader works on nodes,
not on loaded objects, because a node has its place in the text.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, partial
from typing import Any, Literal, NamedTuple, Protocol

from housequest.knowledge import rules
from housequest.knowledge.rules import Check, parse_check
from housequest.worlds.errors import KnowledgeError, nearest, shown
from housequest.worlds.paths import FORMAT
from housequest.worlds.registry import DEFAULT_WORLD

LONGEST_STATEMENT = 2_000
LONGEST_ID = 64
LONGEST_WORD = 300
MOST_WORDS = 100
LONGEST_WAS = MOST_WORDS * (LONGEST_WORD + 2)
"""Most characters of a field's old value; the longest fields are lists of words."""
MOST_EDITS = 1_000
DEEPEST = 20
LONGEST_TAG = 300
PLAIN = "tag:yaml.org,2002:"
_TYPES = ("str", "int", "float", "bool", "null", "timestamp", "merge", "value", "map", "seq")
_TAKEN = {"", "!", *(f"{PLAIN}{name}" for name in _TYPES)}
_NULL = f"{PLAIN}null"
_FORMAT = f"`format: {FORMAT}`"
_NEVER_NULL = {"id", "statement", "world"}
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_NAME = re.compile(r"[\w.-]+")
_JOINERS = {"\u200c", "\u200d"}


class YamlNode(Protocol):
    """A node of ruamel's. ``value`` is a text, a list of nodes, or a list of pairs of nodes; ``flow_style``: in brackets."""

    id: Literal["scalar", "sequence", "mapping"]
    tag: str
    value: Any
    start_mark: Any
    end_mark: Any
    flow_style: bool | None
    style: str | None


_Reader = Callable[[YamlNode], Any]


class Place(NamedTuple):
    """Where a node is in the text, by index; ``column`` is that of its start. ``block``: its parts have lines of their own."""

    start: int
    column: int
    end: int
    block: bool

    @classmethod
    def of(cls, node: YamlNode) -> Place:
        start, end = node.start_mark.index, node.end_mark.index
        # Nothing, where a list might be, is at the beginning of what comes next.
        block = start == end if node.id == "scalar" else not node.flow_style
        return cls(start, node.start_mark.column, end, block)


class Wrong(Exception):
    """What is wrong in a ``line``, counted from 0. ``fields`` leads to it from its rule."""

    def __init__(self, line: int, reason: str, *fields: str) -> None:
        super().__init__(reason)
        self.line = line
        self.fields = fields


@dataclass(frozen=True, slots=True)
class Page:
    """Rules with their ``places``, and their ``world``. ``listed``: the place of their list; None if ``missing`` is first."""

    rules: tuple[rules.Rule, ...] = ()
    world: str = DEFAULT_WORLD
    places: tuple[Place, ...] = ()
    listed: Place | None = None
    missing: tuple[str, ...] = (f"format: {FORMAT}", "rules:")


def _wrong(node: YamlNode, reason: str, *fields: str) -> Wrong:
    return Wrong(node.start_mark.line, reason, *fields)


def read_page(text: str, where: str) -> Page:
    """The rules in ``text``; ``where`` names the file in errors. Raises ``KnowledgeError``."""
    rule = ""
    try:
        root = compose(text, where)
        if root is None or (root.tag == _NULL and not root.value):
            return Page()
        world, listed = _book(root)
        if listed is None:
            return Page(world=world, missing=("rules:",))
        items: list[YamlNode] = listed.value or []
        by_id: dict[str, rules.Rule] = {}
        starts: dict[str, int] = {}
        for number, item in enumerate(items, 1):
            rule = f"rule {number}"
            read = _rule(item, number)
            if read.id in by_id:
                way_out = f"line {starts[read.id]} has it too; give one of them another id"
                raise _wrong(item, f"there are two rules with the id {shown(read.id)}: {way_out}", "id")
            by_id[read.id], starts[read.id] = read, item.start_mark.line + 1
    except Wrong as wrong:
        place = ", ".join(part for part in (rule, ".".join(wrong.fields)) if part)
        raise KnowledgeError(f"{where}:{wrong.line + 1}: {f'{place}: ' if place else ''}{wrong}.") from None
    return Page(tuple(by_id.values()), world, tuple(map(Place.of, items)), Place.of(listed), ())


def _book(root: YamlNode) -> tuple[str, YamlNode | None]:
    """The world of a book, and its list of rules or the nothing in its place; None if it has no ``rules``."""
    if root.id == "sequence":
        raise _wrong(root, f"this is a bare list; write the lines {_FORMAT} and `rules:` above its first rule")
    if root.id == "scalar":
        raise _wrong(root, f"this is only a text; write the lines {_FORMAT} and `rules:`, and then a list of rules")
    found: YamlNode | None = next((value for key, value in root.value if key.value == "format"), None)
    if found is None:
        raise _wrong(root, f"this names no format; write the line {_FORMAT} at its top")
    if found.value != FORMAT:
        format = shown(found.value) if found.id == "scalar" else f"a {found.id}"
        way_out = f"write {_FORMAT} there once its rules are in that format"
        raise _wrong(found, f"this book has the format {format}, and only {FORMAT} is read here; {way_out}")
    fields = _fields(root, {"format": lambda node: node, "world": partial(_name, "a world's name"), "rules": _listed})
    listed = next((value for key, value in root.value if key.value == "rules"), None)
    return fields.get("world", DEFAULT_WORLD), listed


def _listed(node: YamlNode) -> YamlNode:
    if node.id != "sequence":
        raise _wrong(node, "this must be a list of rules: each a statement, or a mapping with a statement")
    return node


def _rule(item: YamlNode, number: int) -> rules.Rule:
    if item.id == "sequence":
        raise _wrong(item, "a rule is a statement, or a mapping with a statement")
    fields = _fields(item, _RULE) if item.id == "mapping" else {"statement": _read("statement", _statement, item)}
    if "statement" not in fields:
        raise _wrong(item, "the rule has no statement", "statement")
    origin: rules.Origin = fields.get("origin", rules.Origin())
    # A rule from a model or a run is a candidate until it is accepted.
    fields.setdefault("id", f"rule-{number}")
    fields.setdefault("status", "accepted" if origin.source == "person" else "candidate")
    return rules.Rule(**fields)


def _fields(item: YamlNode, readers: Mapping[str, _Reader]) -> dict[str, Any]:
    """The values of a mapping's fields; a field that is null counts as left out, but for those in ``_NEVER_NULL``."""
    if item.id != "mapping":
        raise _wrong(item, f"this must be a mapping of {', '.join(readers)}")
    seen: set[str] = set()
    found: dict[str, Any] = {}
    for key, node in item.value:
        name = str(key.value) if key.id == "scalar" else ""
        if name not in readers:
            known = tuple(readers)
            raise _wrong(key, f"unknown field {shown(name or 'a list')}.{nearest(name, known)} Known: {', '.join(known)}")
        if name in seen:
            raise _wrong(key, "this field is there twice", name)
        seen.add(name)
        if node.tag != _NULL or name in _NEVER_NULL:
            found[name] = _read(name, readers[name], node)
    return found


def _read(name: str, reader: _Reader, node: YamlNode) -> Any:
    try:
        return reader(node)
    except Wrong as wrong:
        raise Wrong(wrong.line, str(wrong), name, *wrong.fields) from None


def _list(node: YamlNode, most: int, of: str) -> list[YamlNode]:
    if node.id != "sequence":
        raise _wrong(node, f"this must be a list{of}")
    if len(node.value) > most:
        raise _wrong(node, f"this has at most {most} entries")
    return node.value


def _text(node: YamlNode, longest: int = LONGEST_WORD) -> str:
    if node.id != "scalar" or node.tag not in {f"{PLAIN}str", f"{PLAIN}int"}:
        way_out = "; put it in quotes if that is what you mean" if node.id == "scalar" else ""
        raise _wrong(node, f"this must be a text{way_out}")
    text = " ".join(str(node.value).split())
    if len(text) > longest:
        raise _wrong(node, f"this has at most {longest} characters, not {len(text)}")
    if not text.isprintable() and not all(character.isprintable() or character in _JOINERS for character in text):
        raise _wrong(node, "this holds characters that cannot be printed")
    return text


def _statement(node: YamlNode) -> str:
    # A lone number is no statement about a world.
    if node.tag == f"{PLAIN}int":
        raise _wrong(node, "this must be a statement in words")
    text = _text(node, LONGEST_STATEMENT)
    if not text:
        raise _wrong(node, "the rule has no statement")
    return text


def _name(what: str, node: YamlNode) -> str:
    text = _text(node, LONGEST_ID)
    if not _NAME.fullmatch(text):
        raise _wrong(node, f"{what} is a word of letters, digits, '-', '_' and '.'")
    return text


def _choice(known: tuple[str, ...], node: YamlNode) -> str:
    text = _text(node)
    if text not in known:
        raise _wrong(node, f"{shown(text)} is not one of {', '.join(known)}.{nearest(text, known)}".rstrip(".?"))
    return text


def _words(node: YamlNode) -> tuple[str, ...]:
    return tuple(map(_text, _list(node, MOST_WORDS, ", such as [mug, cup]")))


def _witnesses(node: YamlNode) -> tuple[str, ...]:
    return _words(node)[: rules.WITNESSES]


def _count(node: YamlNode) -> int:
    text = _text(node, 12)
    if not (text.isascii() and text.isdecimal()):
        raise _wrong(node, f"{shown(text)} is not a count")
    return int(text)


def _check(node: YamlNode) -> Check:
    text = _text(node, LONGEST_STATEMENT)
    try:
        return parse_check(text)
    except KnowledgeError as error:
        raise _wrong(node, str(error).rstrip(".")) from None


def _date(node: YamlNode) -> datetime.date:
    text = str(node.value) if node.id == "scalar" else ""
    try:
        # Python accepts more forms of dates; other programs may not.
        return datetime.date.fromisoformat(text if _DATE.fullmatch(text) else "")
    except ValueError:
        raise _wrong(node, f"{shown(text)} is not a date such as 2026-01-31") from None


def _edit(node: YamlNode) -> rules.Edit:
    fields = _fields(node, _EDIT)
    if "did" not in fields:
        raise _wrong(node, "this does not say what was done", "did")
    return rules.Edit(**fields)


_ORIGIN: dict[str, _Reader] = {"source": partial(_choice, rules.SOURCES), "name": _text, "splits": _words}
_EVIDENCE: dict[str, _Reader] = {"supports": _count, "contradicts": _count, "witnesses": _witnesses, "against": _witnesses}
_EDIT: dict[str, _Reader] = {
    "did": partial(_choice, rules.EDIT_KINDS),
    "field": partial(_choice, rules.EDITED),
    "by": partial(_choice, rules.JUDGES),
    "was": partial(_text, longest=LONGEST_WAS),
    "date": _date,
}
_RULE: dict[str, _Reader] = {
    "id": partial(_name, "an id"),
    "statement": _statement,
    "kind": partial(_choice, rules.KINDS),
    "types": _words,
    "objects": _words,
    "status": partial(_choice, rules.STATUSES),
    "by": partial(_choice, rules.JUDGES),
    "origin": lambda node: rules.Origin(**_fields(node, _ORIGIN)),
    "check": _check,
    "evidence": lambda node: rules.Evidence(**_fields(node, _EVIDENCE)),
    "history": lambda node: tuple(map(_edit, _list(node, MOST_EDITS, " of what was done"))),
}
FIELDS: dict[type, tuple[str, ...]] = {
    rules.Rule: tuple(_RULE),
    rules.Origin: tuple(_ORIGIN),
    rules.Evidence: tuple(_EVIDENCE),
    rules.Edit: tuple(_EDIT),
}
"""The fields of each record in the order in which they are written."""


def compose(text: str, where: str) -> YamlNode | None:
    """The node of the one document in ``text``, if any; ``where`` names the file. Raises ``KnowledgeError`` and ``Wrong``."""
    from ruamel.yaml import YAML
    from ruamel.yaml.error import MarkedYAMLError, YAMLError

    yaml: Any = YAML(typ="safe", pure=True)
    yaml.Composer = _careful_composer()
    try:
        return yaml.compose(text)
    except MarkedYAMLError as marked:
        error: Any = marked
        line = f":{error.problem_mark.line + 1}" if error.problem_mark is not None else ""
        problem = error.problem or error.context
        raise KnowledgeError(f"{where}{line}: this is not valid YAML: {_said(problem)}.") from None
    except (YAMLError, ValueError, TypeError, AttributeError, IndexError, AssertionError, OverflowError) as error:
        raise KnowledgeError(f"{where}: this is not valid YAML: {_said(error)}.") from None


def _said(problem: object) -> str:
    return shown(" ".join(str(problem).split()), 200)


@cache
def _careful_composer() -> Any:
    from ruamel.yaml.composer import Composer
    from ruamel.yaml.events import AliasEvent

    class CarefulComposer(Composer):
        """ruamel's own, but for what no rulebook may hold: it is refused before anything is made of it."""

        def __init__(self, loader: Any = None) -> None:
            theirs: Any = super()  # ruamel has no types
            theirs.__init__(loader)
            self.warn_double_anchors = False
            self._nested = 0

        def compose_node(self, parent: Any, index: Any) -> Any:
            ours: Any = self
            theirs: Any = super()
            event = ours.parser.peek_event()
            line: int = event.start_mark.line
            if isinstance(event, AliasEvent):
                raise Wrong(line, "YAML anchors and aliases are not read; write each rule out")
            if event.ctag is not None:
                # ruamel takes long to decode a long tag.
                long = len(event.ctag.suffix or "") > LONGEST_TAG
                tag = str(event.ctag.suffix if long else event.ctag)
                if tag not in _TAKEN:
                    raise Wrong(line, f"the tag {shown(tag)} is not read; leave it out")
            if self._nested > DEEPEST:
                raise Wrong(line, "this is nested too deep for a rule")
            self._nested += 1
            node = theirs.compose_node(parent, index)
            self._nested -= 1
            return node

    return CarefulComposer
