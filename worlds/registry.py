"""Worlds by name. A world is any entry point of the group ``housequest.worlds``; its code is imported when it is asked for."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, cast

from housequest.worlds.errors import ConfigurationError, HousequestError, shown
from housequest.worlds.options import read_options
from housequest.worlds.plugins import load_plugin, plugins

if TYPE_CHECKING:
    from housequest.worlds.base import Household, World


DEFAULT_WORLD = "alfworld"
"""The world if none is named, also by a rulebook."""


def world_names() -> tuple[str, ...]:
    """The installed worlds."""
    return tuple(plugins("housequest.worlds"))


@cache
def world_class(name: str) -> type[World]:
    """The class of the world ``name``. Raises ``ConfigurationError`` if it is unknown or is no `World`."""
    from housequest.worlds.base import World

    found: object = load_plugin("housequest.worlds", name, "world")
    if not isinstance(found, type) or not issubclass(found, World):
        declared = repr(cast("object", found))
        raise ConfigurationError(
            f"The world {shown(name)} is declared as {shown(declared)}, no subclass of housequest.worlds.base.World."
        )
    if found.name != name:
        raise ConfigurationError(f"The world {shown(name)} calls itself {shown(found.name)}; name it as its entry point.")
    return found


def make_world(name: str = DEFAULT_WORLD, **options: Any) -> World:
    """Make the world ``name``; ``options`` are those that its ``Options`` declare.

    Raises ``ConfigurationError`` for an unknown world or option, and for a value that the world refuses.
    """
    found = world_class(name)
    return found.from_options(read_options(found.Options, options, owner=f"The world {name!r}"))


def shows_pictures(name: str) -> bool:
    """Whether one plays by a camera in the world of this name; False for an unknown one."""
    try:
        return world_class(name).pictured
    except ConfigurationError:
        return False


def enacts(name: str, engine: str) -> bool:
    """Whether commands are enacted where the world of this name has this ``engine``."""
    try:
        return make_world(name, **world_class(name).options_of(engine)).enacts
    except HousequestError:
        return False


def household(name: str) -> Household | None:
    """What reads the texts of the world ``name``; None if it reads none or is not installed."""
    return world_class(name).household if name in plugins("housequest.worlds") else None
