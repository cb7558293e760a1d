"""Rewrites the text of a rulebook only where a rule changed: comments, order and layout elsewhere stay as they are.

Only the lines of a changed rule are rewritten, by ruamel's round trip, which keeps comments within them. The result is parsed
again and refused unless it holds exactly the intended rules.
"""

from __future__ import annotations

import datetime
import io
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any, TypeAlias, cast

from housequest.knowledge.checks import Check
from housequest.knowledge.reading import FIELDS, Page, read_page
from housequest.knowledge.rules import Edit, Evidence, Origin, Rule
from housequest.worlds.errors import KnowledgeError

WIDTH = 110

_ALWAYS = {"status", "source", "supports", "contradicts"}
"""Fields that are written even if they have their default."""

Plain: TypeAlias = "str | int | datetime.date | list[Plain] | dict[str, Plain] | None"

_FIELD = re.compile(r"[- ] +[a-z]+:")


def rewrite(text: str, page: Page, changed: Mapping[int, Rule], added: Sequence[Rule], where: str) -> tuple[str, Page]:
    """``text``, which parses as ``page``, with some rules ``changed``, by position, and others ``added`` at its end.

    Raises ``KnowledgeError`` if that would change anything else.
    """
    wanted = (*(changed.get(position, rule) for position, rule in enumerate(page.rules)), *added)
    fault = ""
    for attempt in (_by_lines, _as_a_whole):
        try:
            result = attempt(text, page, changed, added)
            read = read_page(result, where)
        except KnowledgeError as error:
            fault = str(error)
            continue
        if (read.rules, read.world) == (wanted, page.world):
            return result, read
        fault = "what would be written would not be read as what was meant"
    raise KnowledgeError(f"{where} was not changed: {fault.rstrip('.')}. Change it by hand.")


def _by_lines(text: str, page: Page, changed: Mapping[int, Rule], added: Sequence[Rule]) -> str:
    if page.lines is None:
        raise KnowledgeError("its rules are not on lines of their own")
    end = "\r\n" if "\r\n" in text else "\n"
    lines = text.split("\n")
    for position in sorted(changed, reverse=True):
        place = slice(page.lines[position].start, page.lines[position].stop)
        before = [line.removesuffix("\r")[page.column :] for line in lines[place]]
        after = _item("\n".join(before) + "\n", changed[position])
        lines[place] = [f"{' ' * page.column}{line}{end[:-1]}" for line in after]
    result = "\n".join(lines)
    for rule in added:
        block = "".join(f"{' ' * page.column}{line}{end}" for line in _dumped([_updated(None, rule)]).splitlines())
        result += f"{'' if not result or result.endswith(chr(10)) else end}{block}"
    return result


def _item(text: str, rule: Rule) -> list[str]:
    """The lines of one item after changing it to ``rule``."""
    items = _loaded(text)
    if not isinstance(items, list) or len(items) != 1:
        raise KnowledgeError("a rule cannot be told from the next")
    items[0] = _updated(items[0], rule)
    # In the continuation lines of multi-line texts, ``#`` does not start a comment.
    within: set[int] = set()
    for event in _round_trip().parse(text):
        if getattr(event, "value", None) is not None:
            within.update(range(event.start_mark.line + 1, event.end_mark.line + (event.end_mark.column > 0)))
    before = [line for number, line in enumerate(text.split("\n")) if number not in within]
    return _with_comments(before, _dumped(items).splitlines())


def _with_comments(before: Sequence[str], after: Sequence[str]) -> list[str]:
    """``after`` with the comment lines that only ``before`` has, each above the same field, or at the end.

    ruamel drops comments together with the field that they follow; this puts them back.
    """
    lines = list(after)
    there = Counter(map(str.strip, after))
    below = len(lines)
    for line in reversed(before):
        text = line.strip()
        if not text.startswith("#"):
            field = _FIELD.match(line)
            below = next((at for at, other in enumerate(lines) if field and other.startswith(field[0])), below)
        elif there[text]:
            there[text] -= 1
        else:
            lines.insert(below, line)
    return lines


def _as_a_whole(text: str, _: Page, changed: Mapping[int, Rule], added: Sequence[Rule]) -> str:
    """Round-trip the whole text: for lists in brackets and anything else that cannot be changed line by line."""
    root = _loaded(text)
    if isinstance(root, dict):
        root["rules"] = root.get("rules") or []
    items: list[Any] = root["rules"] if isinstance(root, dict) else root
    for position, rule in changed.items():
        items[position] = _updated(items[position], rule)
    items.extend(_updated(None, rule) for rule in added)
    return _dumped(cast("Any", root))


def _loaded(text: str) -> list[Any] | dict[str, Any]:
    from ruamel.yaml.error import YAMLError

    try:
        loaded = _round_trip().load(text)
    except (YAMLError, ValueError, RecursionError, TypeError, AttributeError) as error:
        raise KnowledgeError(" ".join(str(error).split())[:200]) from None
    if loaded is not None and not isinstance(loaded, list | dict):
        raise KnowledgeError("it is not a list")
    return cast("list[Any] | dict[str, Any]", loaded) if loaded is not None else []


def _round_trip() -> Any:
    from ruamel.yaml import YAML

    yaml: Any = YAML(typ="rt")
    yaml.preserve_quotes = True
    yaml.width = WIDTH
    yaml.allow_unicode = True
    yaml.representer.ignore_aliases = _written_out
    return yaml


def _written_out(_: object) -> bool:
    """Write repeated values, such as a date of two edits, in full: the reader refuses aliases."""
    return True


def _dumped(items: Any) -> str:
    stream = io.StringIO()
    _round_trip().dump(items, stream)
    # ruamel may leave a trailing space where it folds a line.
    return "\n".join(line.rstrip(" ") for line in stream.getvalue().split("\n"))


def _updated(item: object, rule: Rule) -> Any:
    """A loaded item changed to ``rule``; fields with the same value stay as they were written."""
    from ruamel.yaml.comments import CommentedMap

    mapping: Any = item if isinstance(item, CommentedMap) else CommentedMap()
    _put_all(mapping, _record(rule), FIELDS[Rule])
    return mapping


def _put_all(fields: Any, values: Mapping[str, Plain], order: Sequence[str]) -> None:
    """Set ``fields`` to ``values``, in the ``order`` of names."""
    for place, name in enumerate(order):
        value = values.get(name)
        if value is None:
            fields.pop(name, None)
        elif fields.get(name) is None:
            before = set(order[:place])
            fields.pop(name, None)
            after = max((number for number, key in enumerate(fields, 1) if key in before), default=0)
            fields.insert(after, name, _styled(value))
        else:
            _put(fields, name, value)


def _put(fields: Any, name: str, value: Plain) -> None:
    """Replace a field, or only the part that is new, so that comments within the rest stay."""
    present: Any = fields[name]
    known = _plain(present)
    if known == value:
        return
    if isinstance(known, list) and isinstance(value, list) and known and value[: len(known)] == known:
        present.extend(map(_styled, value[len(known) :]))
    elif isinstance(known, dict) and isinstance(value, dict) and known and not present.fa.flow_style():
        _put_all(present, value, [*(key for key in present if key not in value), *value])
    else:
        fields[name] = _styled(value)


def _plain(value: Any) -> Plain:
    """A loaded value for comparison, with texts in single spaces as the reader returns them."""
    if isinstance(value, dict):
        return {str(key): _plain(each) for key, each in cast("dict[Any, Any]", value).items()}
    if isinstance(value, list):
        return [_plain(each) for each in cast("list[Any]", value)]
    return value if isinstance(value, int | datetime.date) else " ".join(str(value).split())


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


def _record(value: Rule | Origin | Evidence | Edit) -> dict[str, Plain]:
    """The fields of ``value`` as they are written, without those that have their default."""
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
