"""Reads YAML and JSON that people and programs wrote as frozen dataclasses, which pydantic checks. Errors name line and field.

A dataclass declares its fields as usual; ``field(metadata=...)`` takes the arguments of pydantic's ``Field``, such as ``le``,
and ``Annotated[..., Before(function)]`` a check of its own. pydantic and ruamel are imported when something is first read.
"""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from types import GenericAlias, NoneType, UnionType
from typing import Annotated, Any, Literal, Protocol, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from housequest.worlds.errors import ConfigurationError, nearest, shown, unquoted
from housequest.worlds.paths import atomic_write, read_bounded, read_file

T = TypeVar("T")

DEEPEST = 50
"""The deepest nesting of YAML: parsing takes time quadratic in it."""
_LONGEST_TAG = 300
_PLAIN = "tag:yaml.org,2002:"
_TYPES = ("str", "int", "float", "bool", "null", "timestamp", "merge", "value", "map", "seq")
_TAKEN = {"", "!", *(f"{_PLAIN}{name}" for name in _TYPES)}

Place = tuple[str | int, ...]


class Invalid(Exception):
    """A value that cannot be read: the reason, the ``path`` of keys and positions to it, and its ``line`` if that is known."""

    def __init__(self, reason: str, path: Place = (), line: int | None = None) -> None:
        super().__init__(reason)
        self.path = path
        self.line = line

    @property
    def sentence(self) -> str:
        return str(self) if str(self).endswith("?") else f"{self}."

    @property
    def with_path(self) -> str:
        """The sentence after the path, such as "steps.3: this is missing."."""
        path = ".".join(str(part) if isinstance(part, int) else unquoted(part, 40) for part in self.path)
        return f"{path}: {self.sentence}" if path else self.sentence

    def located(self, root: YamlNode) -> Invalid:
        """The same with the line in the document ``root``: of the key, or of the entry in a list."""
        node, line = root, root.start_mark.line
        for part in self.path:
            if node.id == "mapping":
                key, node = next((pair for pair in node.value if pair[0].value == part), (node, node))
                line = key.start_mark.line
            elif node.id == "sequence" and isinstance(part, int):
                node = node.value[part]
                line = node.start_mark.line
        return Invalid(str(self), self.path, line + 1)


class Before:
    """Marks a field as read by ``function`` before its type is checked; that raises ``ValueError``."""

    def __init__(self, function: Callable[[Any], object]) -> None:
        self.function = function

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        from pydantic_core import core_schema

        return core_schema.no_info_before_validator_function(self.function, handler(source))


def read(kind: type[T], value: object) -> T:
    """``value`` as a ``kind``, whose fields are the only ones; texts are read as numbers where these are wanted. Raises
    ``Invalid``."""
    from pydantic import ValidationError

    try:
        return _adapter(kind).validate_python((value,))[0]
    except ValidationError as error:
        raise _invalid(tuple[kind], error, 1) from None


def read_json(kind: type[T], content: bytes) -> T:
    """JSON as a ``kind``; fields that it does not have are skipped. Raises ``Invalid``."""
    from pydantic import ValidationError

    try:
        return _json_adapter(kind).validate_json(content, strict=True)
    except ValidationError as error:
        raise _invalid(kind, error) from None


def read_cache(kind: type[T], file: Path, version: str) -> tuple[T, ...]:
    """Read the rows that `write_cache` kept, named tuples of this ``kind``; none if the file is missing, damaged or of another
    version."""
    form: Any = GenericAlias(tuple, (str, GenericAlias(tuple, (kind, ...))))
    try:
        found, kept = cast("tuple[str, tuple[T, ...]]", read_json(form, read_file(file)))
    except (OSError, ValueError, Invalid):
        return ()
    return kept if found == version else ()


def write_cache(rows: Sequence[tuple[object, ...]], file: Path, version: str) -> None:
    with suppress(OSError):  # without a cache the next reading is slower, and nothing else is wrong
        atomic_write(file, json.dumps([version, rows]).encode())


@cache
def _adapter(kind: Any) -> Any:
    from pydantic import ConfigDict, TypeAdapter

    # A dataclass takes its configuration from the type around it.
    whole: Any = GenericAlias(tuple, (kind,))
    return TypeAdapter(whole, config=ConfigDict(extra="forbid"))


@cache
def _json_adapter(kind: Any) -> Any:
    from pydantic import TypeAdapter

    return TypeAdapter(kind)


_UNKNOWN = "unexpected_keyword_argument"
_WANTED = {
    "string": "a text",
    "int": "a whole number",
    "float": "a number",
    "finite": "a number",
    "bool": "on or off",
    "tuple": "a list",
    "dict": "a table",
    "mapping": "a table",
    "dataclass": "a table",
    "date": "a date such as 2026-01-31",
}


def _invalid(kind: Any, error: Any, skip: int = 0) -> Invalid:
    """The first error that pydantic found, in plain words; those of the types of a union are one."""
    errors: list[dict[str, Any]] = error.errors(include_url=False)
    first = errors[0]
    if first["type"] == "missing":
        # A misspelled field is also reported as missing.
        wrong = (each for each in errors if each["type"] == _UNKNOWN and each["loc"][:-1] == first["loc"][:-1])
        first = next(wrong, first)
    path, owner = _path(kind, first["loc"])
    inner = path[skip:]
    match first["type"]:
        case "value_error":
            return Invalid(str(first["ctx"]["error"]), inner)
        case "json_invalid":
            return Invalid(f"this is not JSON: {first['ctx']['error']}")
        case "missing":
            return Invalid("this is missing", inner)
        case "unexpected_keyword_argument":
            known = tuple(field.name for field in dataclasses.fields(owner))
            return Invalid(f"this field is not known.{nearest(str(path[-1]), known)} Known: {', '.join(known)}", inner)
        case _:
            same = [each for each in errors if _path(kind, each["loc"])[0] == path]
            wanted = " or ".join(dict.fromkeys(map(_wanted, same)))
            hint = nearest(str(first["input"]), _choices(first)) if len(same) == 1 else ""
            return Invalid(f"this must be {wanted}, not {shown(first['input'])}{f'.{hint}' if hint else ''}", inner)


def _wanted(error: Mapping[str, Any]) -> str:
    context = error.get("ctx", {})
    match error["type"]:
        case "literal_error":
            known = _choices(error)
            return f"one of {', '.join(known)}" if len(known) > 1 else "".join(known)
        case "greater_than_equal":
            return f"at least {context['ge']:,.9g}"
        case "less_than_equal":
            return f"at most {context['le']:,.9g}"
        case "too_long":
            return f"a list of at most {context['max_length']:,} entries"
        case _:
            return _WANTED.get(str(error["type"]).partition("_")[0], str(error["msg"]))


def _choices(error: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(re.findall(r"'([^']*)'", error.get("ctx", {}).get("expected", "")))


def _path(kind: Any, place: Place) -> tuple[Place, Any]:
    """``place`` without what pydantic adds to it, such as the types of a union; and the dataclass that it is in."""
    path: list[str | int] = []
    owner = kind
    for part in place:
        kind = _plain(kind)
        if dataclasses.is_dataclass(kind):
            owner, kind = kind, _hints(kind).get(str(part))
        elif get_origin(kind) not in (None, Literal, Union, UnionType) and part != "[key]":
            kind = next((each for each in reversed(get_args(kind)) if each is not Ellipsis), None)
        else:
            continue
        path.append(part)
    return tuple(path), owner


def _plain(kind: Any) -> Any:
    """A type without its annotations and without None."""
    while get_origin(kind) is Annotated or NoneType in get_args(kind):
        kind = next(each for each in get_args(kind) if each is not NoneType)
    return kind


@cache
def _hints(kind: Any) -> dict[str, Any]:
    return get_type_hints(kind, include_extras=True)


class YamlNode(Protocol):
    """A node of ruamel's. ``value`` is a text, a list of nodes, or a list of pairs of nodes; ``flow_style``: in brackets."""

    id: Literal["scalar", "sequence", "mapping"]
    tag: str
    value: Any
    start_mark: Any
    end_mark: Any
    flow_style: bool | None
    style: str | None


class Unquoted(str):
    """A scalar that YAML does not take for text, as it is written; ``kind`` is YAML's type."""

    kind: str = ""


def plain(node: YamlNode) -> Any:
    """The lists, mappings and texts in ``node``: scalars stay as they are written, but for null. Raises ``Invalid``."""
    if node.id == "sequence":
        return [plain(each) for each in node.value]
    if node.id == "mapping":
        found: dict[str, object] = {}
        for key, value in node.value:
            name = str(key.value) if key.id == "scalar" else "a list"
            if name in found:
                raise Invalid(f"{shown(name)} is there twice", line=key.start_mark.line + 1)
            found[name] = plain(value)
        return found
    kind = node.tag.removeprefix(_PLAIN)
    if kind == "null":
        return None
    if kind == "str":
        return str(node.value)
    text = Unquoted(node.value)
    text.kind = kind
    return text


def compose(content: str | bytes) -> YamlNode | None:
    """The node of the one document in ``content``, if any. Raises ``Invalid``."""
    return _careful(lambda yaml: yaml.compose(content))


def read_yaml(path: Path, name: str, largest: int) -> Any:
    """Read the YAML file at ``path``, of at most ``largest`` bytes. Raises ``ConfigurationError``, calling it ``name``."""
    return parse_yaml(read_bounded(path, largest, name=name), name)


def parse_yaml(content: bytes, name: str) -> Any:
    """The values in YAML. Raises ``ConfigurationError``."""
    try:
        return _careful(lambda yaml: yaml.load(content))
    except Invalid as wrong:
        raise ConfigurationError(f"{name}{f', line {wrong.line}' if wrong.line else ''}: {wrong.sentence}") from None


def _careful(use: Callable[[Any], T]) -> T:
    """The result of ``use`` with ruamel's parser, which refuses tags, aliases and deep nesting as soon as they come."""
    from ruamel.yaml import YAML
    from ruamel.yaml.error import MarkedYAMLError, YAMLError

    yaml: Any = YAML(typ="safe", pure=True)
    yaml.Composer = _careful_composer()
    try:
        return use(yaml)
    except MarkedYAMLError as marked:
        error: Any = marked
        line = error.problem_mark.line + 1 if error.problem_mark is not None else None
        raise Invalid(_not_yaml(error.problem or error.context), line=line) from None
    except (YAMLError, ValueError, TypeError, AttributeError, IndexError, AssertionError, OverflowError) as error:
        raise Invalid(_not_yaml(error)) from None


def _not_yaml(problem: object) -> str:
    return f"this is not valid YAML: {shown(' '.join(str(problem).split()), 200)}"


@cache
def _careful_composer() -> Any:
    from ruamel.yaml.composer import Composer
    from ruamel.yaml.events import AliasEvent

    class CarefulComposer(Composer):
        """ruamel's own, which also refuses some events before it makes anything of them."""

        def __init__(self, loader: Any = None) -> None:
            theirs: Any = super()  # ruamel has no types
            theirs.__init__(loader)
            self.warn_double_anchors = False
            self._nested = 0

        def compose_node(self, parent: Any, index: Any) -> Any:
            ours: Any = self
            theirs: Any = super()
            event = ours.parser.peek_event()
            line: int = event.start_mark.line + 1
            if isinstance(event, AliasEvent):
                # A few lines of them can fill the memory.
                raise Invalid("YAML anchors and aliases are not read; write each thing out", line=line)
            if event.ctag is not None:
                # ruamel takes long to decode a long tag.
                long = len(event.ctag.suffix or "") > _LONGEST_TAG
                tag = str(event.ctag.suffix if long else event.ctag)
                if tag not in _TAKEN:
                    raise Invalid(f"the tag {shown(tag)} is not read; leave it out", line=line)
            if self._nested > DEEPEST:
                raise Invalid("this is nested too deep", line=line)
            self._nested += 1
            node = theirs.compose_node(parent, index)
            self._nested -= 1
            return node

    return CarefulComposer
