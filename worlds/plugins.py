"""Worlds, agents and models by name: the entry points of installed packages, housequest's own ``pyproject.toml`` among them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from types import MappingProxyType
from typing import Any, Literal

from worlds.errors import ConfigurationError, nearest, shown

Group = Literal["housequest.worlds", "housequest.agents", "housequest.models"]

_SHIPPED = "housequest"


@cache
def _declared(group: Group) -> Mapping[str, tuple[EntryPoint, ...]]:
    """Every declaration of each name; read once, because it takes a look into each installed package."""
    found: dict[str, tuple[EntryPoint, ...]] = {}
    for point in sorted(entry_points(group=group), key=lambda point: (_package(point) != _SHIPPED, point.name)):
        found[point.name] = (*found.get(point.name, ()), point)
    return found


@cache
def plugins(group: Group) -> Mapping[str, EntryPoint]:
    """The entry points by name, those that ship first; nothing is imported. Raises ``ConfigurationError`` if there are none."""
    if not (declared := _declared(group)):
        raise ConfigurationError(f"Nothing is declared in {group}: housequest is not installed. Run `pip install -e .` here.")
    return MappingProxyType({name: points[0] for name, points in declared.items()})


def load_plugin(group: Group, name: str, what: str) -> Any:
    """What ``name`` stands for, imported. Raises ``ConfigurationError``, also if two packages declare it or it cannot load."""
    known = plugins(group)
    if name not in known:
        raise ConfigurationError(
            f"There is no {what} named {shown(name)}; known: {', '.join(known)}.{nearest(name, tuple(known))}"
        )
    point, *others = _declared(group)[name]
    for other in others:
        if other.value != point.value:
            raise ConfigurationError(
                f"Two installed packages declare the {what} {name!r}: {_package(point)} and {_package(other)}. "
                "Uninstall one of them."
            )
    try:
        return point.load()
    except Exception as error:
        if _package(point) == _SHIPPED:
            raise
        reason = f"{type(error).__name__}: {shown(str(error))}"
        raise ConfigurationError(f"The {what} {name!r} of the package {_package(point)} cannot be loaded: {reason}") from error


def _package(point: EntryPoint) -> str:
    return point.dist.name if point.dist is not None else "unknown"
