"""Reads a rulebook's YAML, and rewrites it only where a rule changed: everything else, comments too, keeps its bytes.

A book is a mapping of ``format``, ``world`` (the default one may be left out) and ``rules``, each a statement or a mapping with
one. A changed field is rewritten in its place, found by the marks of YAML's nodes. The result is parsed again and refused
unless it holds exactly the intended rules.
"""

from __future__ import annotations

import datetime
import io
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import lru_cache
from typing import Any, NamedTuple, TypeAlias, cast

from housequest.knowledge.checks import Check
from housequest.knowledge.rules import Edit, Evidence, MeasuredChange, Name, Origin, Rule, Worth
from housequest.worlds.errors import KnowledgeError, shown, unquoted
from housequest.worlds.paths import FORMAT, Format
from housequest.worlds.registry import DEFAULT_WORLD
from housequest.worlds.validation import Invalid, YamlNode, compose, plain, read

WIDTH = 110

_ALWAYS = {"status", "source", "supports", "contradicts"}
_FORMAT = f"`format: {FORMAT}`"
_NEVER_NULL = {"id", "statement", "world"}

Plain: TypeAlias = "str | int | float | datetime.date | list[Plain] | dict[str, Plain] | None"


@dataclass(frozen=True, slots=True)
class Page:
    """The rules of a book and their ``world``. ``listed``: the node of their list, if any; ``missing``: lines to come first."""

    rules: tuple[Rule, ...] = ()
    world: str = DEFAULT_WORLD
    listed: YamlNode | None = field(default=None, compare=False, repr=False)
    missing: tuple[str, ...] = (f"format: {FORMAT}", "rules:")


@dataclass(frozen=True, slots=True)
class _Book:
    format: Format
    world: Name = DEFAULT_WORLD
    rules: tuple[Rule, ...] = ()


def read_page(text: str, where: str) -> Page:
    """The rules in ``text``; ``where`` names the file in errors. Raises ``KnowledgeError``."""
    root = None
    try:
        root = compose(text)
        if root is None or (root.id == "scalar" and not root.value):
            return Page()
        content, listed = _content(root)
        book = read(_Book, content)
        places: dict[str, int] = {}
        for place, rule in enumerate(book.rules):
            if (first := places.setdefault(rule.id, place)) != place and listed:
                way_out = f"line {listed.value[first].start_mark.line + 1} has it too; give one of them another id"
                raise Invalid(f"there are two rules with the id {shown(rule.id)}: {way_out}", ("rules", place, "id"))
    except Invalid as wrong:
        found = wrong if wrong.line or root is None else wrong.located(root)
        line = f":{found.line}" if found.line else ""
        raise KnowledgeError(
            ": ".join(filter(None, (f"{where}{line}", _named(found), f"{found}."))).replace("?.", "?")
        ) from None
    return Page(book.rules, book.world, listed, () if listed else ("rules:",))


def page_text(rules: Iterable[Rule], world: str = DEFAULT_WORLD) -> str:
    """A new page with these rules, as `read_page` reads it."""
    about = "" if world == DEFAULT_WORLD else f"world: {world}\n"
    return "\n".join([f"format: {FORMAT}\n{about}rules:", *map(_item, rules), ""])


def _named(wrong: Invalid) -> str:
    """The place of a fault in a book, such as "rule 2, origin.source"."""
    path = wrong.path
    rule = [f"rule {int(path[1]) + 1}"] if len(path) > 1 and path[0] == "rules" else []
    names = [unquoted(part, 40) for part in (path[2:] if rule else path) if isinstance(part, str)]
    return ", ".join([*rule, ".".join(names)]) if names else "".join(rule)


def _content(root: YamlNode) -> tuple[dict[str, Any], YamlNode | None]:
    """A book's content with its defaults filled in, and the node of its list. Raises ``Invalid``."""
    if root.id != "mapping":
        what, then = (
            ("a bare list", "above its first rule") if root.id == "sequence" else ("only a text", "and a list of rules")
        )
        raise Invalid(f"this is {what}; write the lines {_FORMAT} and `rules:` {then}", line=root.start_mark.line + 1)
    content = _without_nulls(plain(root))
    if "format" not in content:
        raise Invalid(f"this names no format; write the line {_FORMAT} at its top")
    if content["format"] != FORMAT:
        way_out = f"write {_FORMAT} there once its rules are in that format"
        raise Invalid(
            f"this book has the format {shown(content['format'])}, and only {FORMAT} is read here; {way_out}", ("format",)
        )
    listed: YamlNode | None = next((value for key, value in root.value if key.value == "rules"), None)
    if isinstance(items := content.get("rules"), list):
        content["rules"] = [_understood(item, number) for number, item in enumerate(cast("list[Any]", items), 1)]
    return content, listed


def _without_nulls(value: Any) -> Any:
    """``value`` without the fields that are null, which count as left out."""
    if isinstance(value, list):
        return list(map(_without_nulls, cast("list[Any]", value)))
    if not isinstance(value, dict):
        return value
    table = cast("dict[str, Any]", value)
    return {name: _without_nulls(each) for name, each in table.items() if each is not None or name in _NEVER_NULL}


def _understood(item: Any, number: int) -> Any:
    found: object = {"statement": item} if item is None or isinstance(item, str) else item
    if not isinstance(found, dict):
        return item
    given = cast("dict[str, Any]", found)
    origin: Any = given.get("origin")
    source = cast("dict[str, Any]", origin).get("source", "person") if isinstance(origin, dict) else "person"
    # A rule from a model or a run is a candidate until it is accepted.
    return {"id": f"rule-{number}", "status": "accepted" if source == "person" else "candidate", **given}


class _Change(NamedTuple):
    """A replacement for a part of a text; a part of no length is an insertion."""

    start: int
    end: int
    text: str


def rewrite(text: str, page: Page, changed: Mapping[int, Rule], added: Sequence[Rule], where: str) -> tuple[str, Page]:
    """``text``, which is ``page``, with rules ``changed``, by position, and ``added`` at its end. Raises ``KnowledgeError``."""
    wanted = (*(changed.get(position, rule) for position, rule in enumerate(page.rules)), *added)
    newline = "\r\n" if "\r\n" in text else "\n"
    try:
        if text and not text.endswith("\n"):
            text += newline
            page = read_page(text, where)
        listed = page.listed
        if listed is None:
            changes = [_Change(len(text), len(text), "\n".join([*page.missing, *map(_item, wanted), ""]))]
        elif not _is_lines(listed):
            # A list in brackets becomes one with lines for each rule.
            items = "".join([*_comments(text, listed, 0), "\n".join(map(_item, wanted))])
            changes = [_Change(listed.start_mark.index, listed.end_mark.index, f"\n{items}")]
        else:
            changes = [_of_rule(text, listed.value[at], page.rules[at], rule) for at, rule in changed.items()]
            column, end = listed.start_mark.column, listed.end_mark.index
            items = "".join(f"{' ' * column}{_indented(_item(rule), column)}\n" for rule in added)
            changes.append(_Change(end, end, items))
        result = _applied(text, [each._replace(text=re.sub("\r?\n", newline, each.text)) for each in changes])
        read = read_page(result, where)
        if (read.rules, read.world) != (wanted, page.world):
            raise KnowledgeError("what would be written would not be read as what was meant")
    except KnowledgeError as error:
        raise KnowledgeError(f"{where} was not changed: {str(error).rstrip('.')}. Change it by hand.") from None
    return result, read


def _applied(text: str, changes: Iterable[_Change]) -> str:
    """``text`` after ``changes``, which do not overlap; of those at one place, insertions come first."""
    parts: list[str] = []
    at = 0
    for change in sorted(changes, key=lambda change: change[:2]):
        parts += [text[at : change.start], change.text]
        at = change.end
    return "".join([*parts, text[at:]])


def _is_lines(node: YamlNode) -> bool:
    """True if the parts of a node have lines of their own."""
    # A missing list has no length, and begins where the next thing begins.
    return node.start_mark.index == node.end_mark.index if node.id == "scalar" else not node.flow_style


def _of_rule(text: str, node: YamlNode, old: Rule, new: Rule) -> _Change:
    """The change from the ``old`` rule at ``node`` to the ``new`` one: field by field where each has lines of its own."""
    column, start, end = node.start_mark.column, node.start_mark.index, node.end_mark.index
    margin, began = " " * column, start - column
    if not _is_lines(node):
        written = _indented(_dumped(_record(new), column), column)
        return _Change(start, _end(text, node), "".join([*_comments(text, node, column), written]))
    changes = _changes(text, node, _record(old), _record(new), [each.name for each in fields(Rule)])
    # The dash before the first field is a margin like that of the others.
    moved = (each._replace(start=each.start - began, end=each.end - began) for each in changes)
    return _Change(start, end, _applied(margin + text[start:end], moved).removeprefix(margin))


def _changes(
    text: str, node: YamlNode, old: Mapping[str, Plain], new: Mapping[str, Plain], order: Sequence[str]
) -> Iterator[_Change]:
    """The changes from the fields ``old`` of a mapping in block style to ``new``; ``order`` is that of all names."""
    present: dict[str, tuple[YamlNode, YamlNode]] = {key.value: (key, value) for key, value in node.value}
    kept = [name for name in present if name in new or name not in old]
    column = node.start_mark.column
    margin = " " * column
    for name, (key, value) in present.items():
        was, now = old.get(name), new.get(name)
        if was == now:
            continue
        start, end = key.start_mark.index, _end(text, value)
        rest = text.index("\n", end) + 1
        if name not in kept:
            lines = "".join(f"{margin}{line.rstrip(' ')}" for line in _comments(text, value, column, start, rest))
            yield _Change(start - column, rest, lines)
        elif _is_block(value, "mapping") and isinstance(was, dict) and isinstance(now, dict):
            yield from _changes(text, value, was, now, list(now))
        elif _is_block(value, "sequence") and isinstance(was, list) and isinstance(now, list) and now[: len(was)] == was:
            dash = value.start_mark.column
            yield _Change(rest, rest, f"{' ' * dash}{_indented(_dumped(now[len(was) :], dash), dash)}\n")
        else:
            yield _Change(start, end, "".join([*_comments(text, value, column, start), _field(name, now, column)]))
    for place, name in enumerate(order):
        if name in new and name not in present:
            before = [each for each in kept if each in order[:place]]
            if before:
                at = text.index("\n", _end(text, present[before[-1]][1])) + 1
                yield _Change(at, at, f"{margin}{_field(name, new[name], column)}\n")
            else:
                at = present[kept[0]][0].start_mark.index
                yield _Change(at, at, f"{_field(name, new[name], column)}\n{margin}")


def _is_block(node: YamlNode, id: str) -> bool:
    return node.id == id and not node.flow_style


def _end(text: str, node: YamlNode) -> int:
    """The end of the content of ``node``; the marks of a collection end where the next thing begins."""
    if node.id == "scalar" or node.flow_style:
        return len(text[: node.end_mark.index].rstrip())
    last = node.value[-1]
    return _end(text, last[1] if node.id == "mapping" else last)


def _comments(text: str, node: YamlNode, column: int, start: int | None = None, end: int | None = None) -> list[str]:
    """The comments from ``start`` to ``end`` that are in no scalar of ``node``, each as a line with the next one's indent."""
    at, gaps = node.start_mark.index if start is None else start, list[str]()
    for scalar in _scalars(node):
        begin = scalar.start_mark.index
        # A comment may follow the mark of a block.
        gaps.append(text[at : text.index("\n", begin) if scalar.style in {"|", ">"} else begin])
        at = scalar.end_mark.index
    gaps.append(text[at : end or _end(text, node)])
    return [f"{comment.rstrip()}\n{' ' * column}" for gap in gaps for comment in re.findall(r"#[^\r\n]*", gap)]


def _scalars(node: YamlNode) -> Iterator[YamlNode]:
    if node.id == "scalar":
        yield node
        return
    for each in node.value:
        for one in each if node.id == "mapping" else (each,):
            yield from _scalars(one)


@lru_cache(4096)  # the books of a life say most things again every evening
def _item(rule: Rule) -> str:
    return f"- {_indented(_dumped(_record(rule), 2), 2)}"


def _field(name: str, value: Plain, column: int) -> str:
    return _indented(_dumped({name: value}, column), column)


def _indented(text: str, column: int) -> str:
    """``text`` with all lines but the first indented by ``column``."""
    return text.replace("\n", f"\n{' ' * column}")


def _dumped(value: Plain, column: int) -> str:
    """``value`` as YAML in this ``column``, each of its parts on lines of its own, without a newline at its end."""
    from ruamel.yaml import YAML

    yaml: Any = YAML(typ="rt")
    yaml.width = WIDTH - column
    yaml.allow_unicode = True
    yaml.representer.ignore_aliases = _written_out
    styled = _styled(value)
    styled.fa.set_block_style()
    stream = io.StringIO()
    yaml.dump(styled, stream)
    # ruamel may leave a trailing space at a fold.
    return "\n".join(line.rstrip(" ") for line in stream.getvalue().rstrip("\n").split("\n"))


def _written_out(_: object) -> bool:
    """Write repeated values, such as a date of two edits, in full: the reader refuses aliases."""
    return True


def _styled(value: Plain) -> Any:
    """A value ready to write: short lists and mappings in brackets, long ones and histories an entry a line."""
    from ruamel.yaml.comments import CommentedMap, CommentedSeq
    from ruamel.yaml.scalarstring import SingleQuotedScalarString

    styled: Any = value
    if isinstance(value, dict):
        styled = CommentedMap({key: _styled(each) for key, each in value.items()})
        long = any(isinstance(each, list) for each in value.values())
        (styled.fa.set_block_style if long else styled.fa.set_flow_style)()
    elif isinstance(value, list):
        styled = CommentedSeq(map(_styled, value))
        long = any(isinstance(each, dict) for each in value) or sum(len(str(each)) for each in value) > WIDTH
        (styled.fa.set_block_style if long else styled.fa.set_flow_style)()
    elif isinstance(value, str) and value.startswith(("?", "-", ":")):
        # ruamel leaves these unquoted, but cannot read them again between brackets.
        styled = SingleQuotedScalarString(value)
    return styled


def _record(value: Rule | Origin | Evidence | Worth | MeasuredChange | Edit) -> dict[str, Plain]:
    """The fields of ``value`` that are written: those that differ from their defaults, and some always."""
    named = [(one, getattr(value, one.name)) for one in fields(value)]
    return {one.name: _written(each) for one, each in named if one.name in _ALWAYS or each != one.default}


def _written(value: object) -> Plain:
    match value:
        case Origin() | Evidence() | Worth() | MeasuredChange() | Edit():
            return _record(value)
        case tuple():
            return [_written(each) for each in cast("tuple[object, ...]", value)]
        case Check():
            return str(value)
        case _:
            return cast("Plain", value)
