"""Plugins by name, and the worlds among them, as installed packages declare them by entry points.

Everything that ships with housequest is declared the same way, in its own ``pyproject.toml``; code is imported on first use.
Its optional parts are folders that can be taken out of the tree: their plugins then count as not installed, and an error says
so.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, cast

from housequest.worlds.errors import ConfigurationError, HousequestError, nearest, shown
from housequest.worlds.options import read_options

if TYPE_CHECKING:
    from housequest.worlds.base import Metric, Task, World, WorldInfo
    from housequest.worlds.household.base import Household

Group = Literal[
    "housequest.worlds",
    "housequest.engines",
    "housequest.agents",
    "housequest.prompts",
    "housequest.models",
    "housequest.examples",
    "housequest.teachers",
    "housequest.bodies",
    "housequest.runs",
    "housequest.files",
    "housequest.reports",
    "housequest.clusters",
    "housequest.commands",
    "housequest.views",
    "housequest.metrics",
]
_SHIPPED = "housequest"
_ROOT = Path(__file__).parents[1]  # the folder of the package ``housequest``


class _Declaration(NamedTuple):
    """An entry point, the package that declares it, and whether its module is here; kept, since asking reads files."""

    point: EntryPoint
    package: str
    here: bool


@cache
def _declared(group: Group) -> Mapping[str, tuple[_Declaration, ...]]:
    """Every declaration of each name; read once, because every installed package is searched."""
    found: dict[str, tuple[_Declaration, ...]] = {}
    declared = map(_declaration, entry_points(group=group))
    for each in sorted(declared, key=lambda each: (each.package != _SHIPPED, each.point.name)):
        found[each.point.name] = (*found.get(each.point.name, ()), each)
    return found


def _declaration(point: EntryPoint) -> _Declaration:
    package = point.dist.name if point.dist is not None else "unknown"
    # Look for the module's file, since importing costs more.
    module = _ROOT.joinpath(*point.module.split(".")[1:])
    here = package != _SHIPPED or module.with_suffix(".py").is_file() or (module / "__init__.py").is_file()
    return _Declaration(point, package, here)


_HERE: dict[tuple[str, str], object] = {}  # what this process registered, by group and name


def register_here(group: Group, name: str, plugin: object) -> None:
    """Make ``plugin`` known under ``name`` in this process, in place of an earlier one.

    Args:
        group: The group of entry points that it belongs to.
        name: Its name.
        plugin: What an entry point would load.

    Raises:
        ConfigurationError: An installed package has that name.
    """
    if name in _declared(group):
        raise ConfigurationError(f"{shown(name)} is the name of an installed plugin of {group}; choose another name.")
    _HERE[group, name] = plugin
    for cached in (plugins, world_class):
        cached.cache_clear()


@cache
def plugins(group: Group) -> Mapping[str, EntryPoint]:
    """The entry points of ``group`` by name, what ships first, then by alphabet. Raises ``ConfigurationError``."""
    if not _declared("housequest.worlds"):
        raise ConfigurationError(f"Nothing is declared in {group}: housequest is not installed. Run `pip install -e .` here.")
    found = {name: present[0].point for name in _declared(group) if (present := _present(group, name))}
    here = {name: EntryPoint(name, f"{type(own).__module__}:{name}", group) for (of, name), own in _HERE.items() if of == group}
    return MappingProxyType(found | here)


def outs(group: Group) -> tuple[str, ...]:
    """The names that belong to parts of housequest that were taken out of this tree."""
    return tuple(name for name in _declared(group) if not _present(group, name))


def ships(group: Group, name: str) -> bool:
    """True if ``name`` comes with housequest, and from no other package too."""
    return {each.package for each in _declared(group).get(name, ())} == {_SHIPPED}


def load_plugin(group: Group, name: str, what: str, built_in: tuple[str, ...] = ()) -> Any:
    """Import and return a plugin; errors call it a ``what``, and list ``built_in`` ones too. Raises ``ConfigurationError``."""
    known = (*built_in, *plugins(group))
    if not isinstance(cast("object", name), str):
        raise ConfigurationError(f"{shown(name)} is no name of {'an' if what[0] in 'aeiou' else 'a'} {what}; give a name.")
    if name not in known:
        is_known = f"The {what} {shown(name)} is not installed here"
        gone = is_known if name in outs(group) else f"There is no {what} named {shown(name)}"
        raise ConfigurationError(f"{gone}; known: {', '.join(known) or 'none'}.{nearest(name, known)}")
    if (group, name) in _HERE:
        return _HERE[group, name]
    (point, package, _), *others = _present(group, name)
    for other in others:
        if other.point.value != point.value:
            raise ConfigurationError(
                f"Two installed packages declare the {what} {name!r}: {package} and {other.package}. Uninstall one of them."
            )
    try:
        return point.load()
    except Exception as error:
        if package == _SHIPPED:
            raise
        reason = f"{type(error).__name__}: {shown(str(error))}"
        raise ConfigurationError(f"The {what} {name!r} of the package {package} cannot be loaded: {reason}") from error


def _present(group: Group, name: str) -> list[_Declaration]:
    """The declarations of ``name`` whose modules are here."""
    return [each for each in _declared(group).get(name, ()) if each.here]


DEFAULT_WORLD = "alfworld"  # the world if none is named, also by a rulebook


def world_names() -> tuple[str, ...]:
    """List the worlds.

    Returns:
        The names of those that are installed, and of those that this process registered.
    """
    return tuple(plugins("housequest.worlds"))


@cache
def world_class(name: str) -> type[World]:
    """The class of the world ``name``. Raises ``ConfigurationError`` if it is unknown or is no `World`."""
    from housequest.worlds.base import World

    found: object = load_plugin("housequest.worlds", name, "world")
    if not isinstance(found, type) or not issubclass(found, World):
        declared = shown(repr(cast("object", found)))
        wanted = "no subclass of housequest.worlds.base.World"
        raise ConfigurationError(f"The world {shown(name)} is declared as {declared}, {wanted}.")
    if found.name != name:
        raise ConfigurationError(f"The world {shown(name)} calls itself {shown(found.name)}; name it as its entry point.")
    return found


def make_world(name: str = DEFAULT_WORLD, **options: Any) -> World:
    """Make a world by name.

    Args:
        name: An installed world; `world_names` lists them.
        options: Its options, as its ``Options`` declare them; texts are read as the field's type.

    Returns:
        The world, ready to list and open tasks.

    Raises:
        ConfigurationError: The world is unknown, or an option is unknown or out of bounds.
    """
    found = world_class(name)
    read = read_options(found.Options, options, owner=f"The world {name!r}")
    return found(**{field: getattr(read, field) for field in found.Options.__dataclass_fields__})


def known_world(world: World | str, options: Mapping[str, Any] = MappingProxyType({})) -> World:
    """A world that is given itself, or by name with its ``options``. Raises ``ConfigurationError``."""
    from housequest.worlds.base import World

    if isinstance(world, str):
        return make_world(world, **options)
    if not isinstance(cast("object", world), World):
        raise ConfigurationError(f'{shown(world)} is no world; give its name, as in "alfworld", or what make_world makes.')
    if options:
        raise ConfigurationError(f"The world is made, and so takes no {', '.join(options)}; give its name with its options.")
    return world


def known_task(world: World | str, task: Task | str) -> tuple[World, Task]:
    """A world and one of its tasks, each given itself or by name. Raises ``ConfigurationError``."""
    from housequest.worlds.base import Task

    made = known_world(world)
    if isinstance(task, str):
        return made, made.task(task)
    if not isinstance(cast("object", task), Task):
        raise ConfigurationError(f'{shown(task)} is no task; give its name, as in "generated:690", or what World.task finds.')
    return made, task


def replay_options(name: str, engine: str) -> dict[str, str]:
    """The options of the world ``name`` under which a record of ``engine`` is replayed. Raises ``ConfigurationError``."""
    from housequest.worlds.base import Replayed

    found = world_class(name)
    return found.options_of(engine) if issubclass(found, Replayed) else {}


def info_of(name: str) -> WorldInfo:
    """The facts about the world of this name; the defaults if it is not installed."""
    from housequest.worlds.base import WorldInfo

    try:
        return world_class(name).info
    except ConfigurationError:
        return WorldInfo()


def enacts(name: str, engine: str) -> bool:
    """True if commands are enacted in the world of this name with this ``engine``."""
    try:
        return make_world(name, **replay_options(name, engine)).info.enacts
    except HousequestError:
        return False


def metrics_of(world: str) -> tuple[Metric, ...]:
    """The metrics that packages and this process add to a world, named ``WORLD.KEY``. Raises ``ConfigurationError``."""
    from housequest.worlds.base import Metric

    names = [name for name in plugins("housequest.metrics") if name.partition(".")[0] == world]
    found = [(name, load_plugin("housequest.metrics", name, "metric")) for name in names]
    if wrong := [name for name, metric in found if not isinstance(metric, Metric)]:
        raise ConfigurationError(f"The metric {shown(wrong[0])} is no housequest.Metric; correct its package.")
    return tuple(replace(metric, added=True) for _, metric in found)


def household(name: str) -> Household | None:
    """The reader of the texts of the world ``name``; None if it has none or is not installed."""
    return world_class(name).household if name in plugins("housequest.worlds") else None
