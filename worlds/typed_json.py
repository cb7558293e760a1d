"""Reads untrusted JSON into frozen dataclasses: the field types say what is read, and everything else is refused."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from functools import cache
from typing import Any, TypeVar, cast, get_args, get_origin, get_type_hints

from housequest.worlds.errors import shown

T = TypeVar("T")

MOST = 10**9
LONGEST_WORD = 200


def json_name(key: str) -> Any:
    """A dataclass field that has another name in the JSON."""
    return dataclasses.field(metadata={"key": key})


def read_json(kind: type[T], value: object, name: str) -> T:
    """``value``, called ``name`` in errors, as a ``kind``; a field with a default may be missing.

    A ``kind`` is a dataclass, ``Mapping``, ``tuple[X, ...]``, ``int`` (0 to ``MOST``) or ``str`` (printable, at most
    ``LONGEST_WORD`` characters). Integer keys have at most 3 digits. Raises ``ValueError`` saying what is wrong with which key.
    """
    return cast("T", _read(kind, value, name))


def as_table(value: object, name: str) -> dict[str, object]:
    """``value`` as a JSON object. Raises ``ValueError``."""
    if not isinstance(value, dict):
        raise ValueError(f"{shown(name)} is not a table.")
    return cast("dict[str, object]", value)


def _read(kind: Any, value: object, name: str) -> object:
    origin, args = get_origin(kind), get_args(kind)
    if kind is int:
        if type(value) is not int or not 0 <= value <= MOST:
            raise ValueError(f"{shown(name)} is {shown(value)}, not a count.")
        return value
    if kind is str:
        if not isinstance(value, str) or not value.isprintable() or len(value) > LONGEST_WORD:
            raise ValueError(f"{shown(name)} is {shown(value)}, not a word.")
        return value
    if origin is tuple:
        if not isinstance(value, list):
            raise ValueError(f"{shown(name)} is not a list.")
        return tuple(_read(args[0], one, name) for one in cast("list[object]", value))
    table = as_table(value, name)
    if origin is Mapping:
        return {_key(args[0], key, name): _read(args[1], entry, key) for key, entry in table.items()}
    hints, found = _hints(kind), dict[str, object]()
    for one in dataclasses.fields(kind):
        key = one.metadata.get("key", one.name)
        required = one.default is dataclasses.MISSING and one.default_factory is dataclasses.MISSING
        if required or key in table:
            found[one.name] = _read(hints[one.name], table.get(key), key)
    return kind(**found)


def _key(kind: Any, key: str, name: str) -> str | int:
    if kind is str:
        return key
    if not (key.isascii() and key.isdecimal() and len(key) < 4):
        raise ValueError(f"{shown(name)} has the key {shown(key)}, which is not a number of things.")
    return int(key)


_hints = cache(get_type_hints)
