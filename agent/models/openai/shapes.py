"""JSON of whatever shape, as an endpoint may send it: what is asked for, or None where it is not there."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TypeGuard, cast

from housequest.agent.models.base import believed


def at(value: object, *path: str) -> object:
    """What stands at ``path`` in JSON; None where it has another shape."""
    for key in path:
        value = value.get(key) if is_table(value) else None
    return value


def is_table(value: object) -> TypeGuard[Mapping[str, object]]:
    """Whether ``value`` is an object of JSON."""
    return isinstance(value, dict)


def listed(value: object) -> list[object]:
    """A list of JSON; empty where ``value`` is none."""
    return cast("list[object]", value) if isinstance(value, list) else []


def finite(value: object) -> float | None:
    """A number of JSON that a float can hold; None where ``value`` is none."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        return None
    try:
        return float(value) if math.isfinite(value) else None
    except OverflowError:  # a whole number that no float holds
        return None


def count(value: object, *path: str) -> int | None:
    """The count of tokens at ``path``, as far as it is `believed`."""
    found = at(value, *path)
    return believed(found) if type(found) is int else None
