"""Rewrites the text of a rulebook only where a rule changed: all else, comments too, stays byte for byte as it was.

A field that changed is written anew in its place. The result is parsed again and refused unless it holds exactly the intended
rules.
"""

from __future__ import annotations

import datetime
import io
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from typing import Any, NamedTuple, TypeAlias, cast

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq
from ruamel.yaml.scalarstring import SingleQuotedScalarString

from housequest.knowledge.reading import FIELDS, Page, Place, YamlNode, compose, read_page
from housequest.knowledge.rules import Check, Edit, Evidence, Origin, Rule
from housequest.worlds.errors import KnowledgeError

WIDTH = 110

_ALWAYS = {"status", "source", "supports", "contradicts"}

Plain: TypeAlias = "str | int | datetime.date | list[Plain] | dict[str, Plain] | None"


class _Change(NamedTuple):
    """What comes in place of a part of a text; a part of no length is an insertion."""

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
        elif not listed.block:
            # A list in brackets becomes one with lines for each rule.
            comments = _comments(*_alone(text, listed), 0)
            changes = [_Change(listed.start, listed.end, "\n" + "".join([*comments, "\n".join(map(_item, wanted))]))]
        else:
            changes = [_changed(text, page, position, rule) for position, rule in changed.items()]
            items = "".join(f"{' ' * listed.column}{_indented(_item(rule), listed.column)}\n" for rule in added)
            changes.append(_Change(listed.end, listed.end, items))
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


def _alone(text: str, place: Place) -> tuple[str, YamlNode]:
    """What stands at ``place``, in the column that it has, and its node."""
    part = " " * place.column + text[place.start : place.end]
    node = compose(part, "a part")
    if node is None:
        raise KnowledgeError("a rule cannot be told from the next")
    return part, node


def _changed(text: str, page: Page, position: int, rule: Rule) -> _Change:
    """The item at ``position`` after changing it to ``rule``: field by field where each has lines of its own."""
    place = page.places[position]
    part, node = _alone(text, place)
    if place.block:
        part = _applied(part, _changes(part, node, _record(page.rules[position]), _record(rule), FIELDS[Rule]))
    else:
        new = _indented(_dumped(_record(rule), place.column), place.column)
        part = "".join([" " * place.column, *_comments(part, node, place.column), new, part[_end(part, node) :]])
    return _Change(place.start, place.end, part.removeprefix(" " * place.column))


def _changes(
    text: str, node: YamlNode, old: Mapping[str, Plain], new: Mapping[str, Plain], order: Sequence[str]
) -> Iterator[_Change]:
    """What makes the fields ``new`` of the ``old`` ones of a mapping in block style; ``order`` is that of all names."""
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
    """Where what ``node`` says ends; the marks of a collection end where the next thing begins."""
    if node.id == "scalar" or node.flow_style:
        return len(text[: node.end_mark.index].rstrip())
    last = node.value[-1]
    return _end(text, last[1] if node.id == "mapping" else last)


def _comments(text: str, node: YamlNode, column: int, start: int | None = None, end: int | None = None) -> list[str]:
    """The comments from ``start`` to ``end`` that are in no scalar of ``node``, each as a line with the next one's indent."""
    at, gaps = node.start_mark.index if start is None else start, list[str]()
    for scalar in _scalars(node):
        begin = scalar.start_mark.index
        # Behind the mark of a block there may be a comment, too.
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


def _item(rule: Rule) -> str:
    return f"- {_indented(_dumped(_record(rule), 2), 2)}"


def _field(name: str, value: Plain, column: int) -> str:
    return _indented(_dumped({name: value}, column), column)


def _indented(text: str, column: int) -> str:
    """``text`` with all lines but the first indented by ``column``."""
    return text.replace("\n", f"\n{' ' * column}")


def _dumped(value: Plain, column: int) -> str:
    """``value`` as it is written in this ``column``, each of its parts on lines of its own, without a newline at its end."""
    yaml: Any = YAML(typ="rt")
    yaml.width = WIDTH - column
    yaml.allow_unicode = True
    yaml.representer.ignore_aliases = _written_out
    styled = _styled(value)
    styled.fa.set_block_style()
    stream = io.StringIO()
    yaml.dump(styled, stream)
    # ruamel may leave a trailing space where it folds a line.
    return "\n".join(line.rstrip(" ") for line in stream.getvalue().rstrip("\n").split("\n"))


def _written_out(_: object) -> bool:
    """Write repeated values, such as a date of two edits, in full: the reader refuses aliases."""
    return True


def _styled(value: Plain) -> Any:
    """A value ready to write: short lists and mappings in brackets, long ones and histories an entry a line."""
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


def _record(value: Rule | Origin | Evidence | Edit) -> dict[str, Plain]:
    defaults = {one.name: one.default for one in fields(value) if one.name not in _ALWAYS}
    values = {name: getattr(value, name) for name in FIELDS[type(value)]}
    return {name: _written(each) for name, each in values.items() if name not in defaults or each != defaults[name]}


def _written(value: object) -> Plain:
    match value:
        case Origin() | Evidence() | Edit():
            return _record(value)
        case tuple():
            return [_written(each) for each in cast("tuple[object, ...]", value)]
        case Check():
            return str(value)
        case _:
            return cast("Plain", value)
