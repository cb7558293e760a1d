"""Options as a frozen dataclass, in which worlds, agents and models declare what can be set, with types and defaults."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from functools import cache
from typing import Any, Literal, TypeVar, cast, get_args, get_origin, get_type_hints

from housequest.worlds.errors import ConfigurationError, nearest, shown

Scalar = str | int | float | bool
T = TypeVar("T")
_TRUTH = {"true": True, "on": True, "yes": True, "1": True, "false": False, "off": False, "no": False, "0": False}
_MOST = 1_000_000


def option(default: Scalar | None, help: str = "", *, least: float = 0, most: float = _MOST) -> Any:
    """A field of an options dataclass, with a line of ``help`` and the bounds of a number."""
    return dataclasses.field(default=default, metadata={"help": help, "least": least, "most": most})


def defaults(options: type[Any]) -> dict[str, Scalar | None]:
    """The options that ``options`` declares, with their defaults, in their order."""
    return {field.name: cast("Scalar | None", field.default) for field in dataclasses.fields(options)}


def read_options(options: type[T], given: Mapping[str, object], *, owner: str, word: str = "option") -> T:
    """Make ``options`` from the values ``given``, texts or numbers, each read as its field's type. ``owner`` and ``word`` say
    in errors whose options these are and what they are called there. Raises ``ConfigurationError`` for an unknown key, a value
    of another type, one out of bounds, and one that is none of a ``Literal``'s."""
    fields = {field.name: field for field in dataclasses.fields(options)}  # pyright: ignore[reportArgumentType]
    hints = _hints(options)
    read: dict[str, Any] = {}
    for key, value in given.items():
        if key not in fields:
            known = ", ".join(fields) or "none"
            raise ConfigurationError(f"{owner} has no {word} {shown(key)}; known: {known}.{nearest(key, tuple(fields))}")
        read[key] = _read(f"The {word} {key} of {owner[:1].lower()}{owner[1:]}", value, hints[key], fields[key].metadata)
    return options(**read)


_hints = cache(get_type_hints)


def _read(what: str, value: object, kind: Any, bounds: Mapping[str, Any]) -> Any:
    if get_origin(kind) is Literal:
        known = tuple(str(each) for each in get_args(kind))
        if str(value) not in known:
            hint = nearest(str(value), known)
            raise ConfigurationError(f"{what} must be one of {', '.join(known)}, not {shown(value)}.{hint}")
        return str(value)
    kinds = get_args(kind) or (kind,)
    if type(None) in kinds and value is None:
        return None
    words = tuple(str(word) for each in kinds if get_origin(each) is Literal for word in get_args(each))
    text = str(value).strip()
    if text in words:
        return text
    wanted = next(each for each in kinds if each is not type(None) and get_origin(each) is not Literal)
    if wanted is str:
        return text
    try:
        number = _TRUTH[text.lower()] if wanted is bool else wanted(text)
    except (KeyError, ValueError):
        form = " or ".join(({bool: "on or off", int: "a whole number", float: "a number"}[wanted], *words))
        raise ConfigurationError(f"{what} must be {form}, not {shown(text)}.") from None
    least, most = bounds.get("least", 0), bounds.get("most", _MOST)
    if not least <= number <= most:
        raise ConfigurationError(f"{what} must lie between {least:g} and {most:g}, not {shown(text)}.")
    return number
