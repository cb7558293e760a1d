"""Options of worlds, agents and models, which declare them as a frozen dataclass with types and defaults."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, TypeVar, cast

from housequest.worlds.errors import ConfigurationError, nearest, shown
from housequest.worlds.validation import Invalid, read

Scalar = str | int | float | bool
T = TypeVar("T")
_MOST = 1_000_000


def option(default: Scalar | None, help: str = "", *, least: float = 0, most: float = _MOST) -> Any:
    """Declare an option: a field of a frozen dataclass, read from texts and numbers.

    Args:
        default: The value if none is given; its type is the field's annotation.
        help: A line for people, shown in lists of settings.
        least: The smallest number that is accepted.
        most: The largest number that is accepted.

    Returns:
        A dataclass field.
    """
    bounds = {"ge": least, "le": most} if isinstance(default, int | float) and not isinstance(default, bool) else {}
    return dataclasses.field(default=default, metadata={"description": help, **bounds})


def defaults(options: type[Any]) -> dict[str, Scalar | None]:
    """The options that ``options`` declares, with their defaults, in their order."""
    return {field.name: cast("Scalar | None", field.default) for field in dataclasses.fields(options)}


def read_options(options: type[T], given: Mapping[str, object], *, owner: str, word: str = "option") -> T:
    """Make ``options`` from the values ``given``, texts or numbers, each read as its field's type.

    Errors name the ``owner`` and call an option a ``word``. Raises ``ConfigurationError`` for an unknown key and a value of
    another type, out of bounds, or outside a ``Literal``.
    """
    known = tuple(defaults(options))
    for key in given:
        if key not in known:
            raise ConfigurationError(
                f"{owner} has no {word} {shown(key)}; known: {', '.join(known) or 'none'}.{nearest(key, known)}"
            )
    if not given:
        return options()  # Without pydantic, which takes long to import.
    try:
        return read(options, {key: value if value is None else str(value).strip() for key, value in given.items()})
    except Invalid as wrong:
        what = f"The {word} {wrong.path[0]} of {owner[:1].lower()}{owner[1:]}"
        raise ConfigurationError(f"{what} {wrong.sentence.removeprefix('this ')}") from None
