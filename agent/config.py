"""Settings from the user's file, the folder's file, the environment and the flags, each with its origin.

Later sources win: ``housequest.toml`` in the user's configuration folder, then the nearest one in the working folder or above,
then ``HOUSEQUEST_*``, then flags. Every value keeps its origin, so that errors name the place to fix. A file in the working
folder may come from somebody else's repository, so it cannot assign keys to hosts, and needs the user's trust
(`housequest.agent.trust`) to choose where data is sent or to name files outside that folder.
"""

from __future__ import annotations

import os.path
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, PrivateAttr, ValidationError

from housequest.agent.evaluation.parts import family_named
from housequest.agent.models.keys import read_configuration
from housequest.agent.models.registry import beside, is_free, models_of, named_models
from housequest.agent.protocols import find_protocol
from housequest.agent.trust import Demand, FolderFile, Untrusted, as_table, counts, demands_of, is_trusted, without
from housequest.worlds.errors import ConfigurationError, nearest, shown
from housequest.worlds.options import Scalar, defaults
from housequest.worlds.paths import config_folder, given_path
from housequest.worlds.registry import DEFAULT_WORLD, Group, make_world, outs, world_names

if TYPE_CHECKING:
    from housequest.worlds.base import World

FILE_NAME = "housequest.toml"
LONGEST_VALUE = 4_000

PREFIX = "HOUSEQUEST_"
RESERVED = ("HOUSEQUEST_HOME",)
"""Environment variables that are not settings."""

USERS_OWN = ("endpoints", "keys")
"""Tables allowed only in the user's own file: API keys of hosts (``housequest.agent.models.keys``) and key bindings
(``housequest.tui.keymap``)."""

NO_RULES = "none"
"""Given instead of a rulebook's name to use none, even if a configuration file names one."""

RULES_BUDGET = 1_000

COMMON_OPTIONS = ("engine", "goals", "habits")


def _plain(value: str) -> str:
    if not value.strip():
        raise ValueError("it is empty")
    if len(value) > LONGEST_VALUE:
        raise ValueError(f"it is longer than {LONGEST_VALUE} characters")
    if not value.isprintable():
        raise ValueError("it holds characters that cannot be printed")
    return value


def _not_bool(value: object) -> object:
    if isinstance(value, bool):
        raise ValueError("it should be a number, not true or false")
    return value


Text = Annotated[str, AfterValidator(_plain)]
Number = Annotated[int, BeforeValidator(_not_bool), Field(ge=1, le=1_000_000)]
Seed = Annotated[int, BeforeValidator(_not_bool), Field(ge=0, lt=1 << 32)]
TextGrant = Literal["admissible", "diagnosis", "type"]
"""Grants for a player who only reads text."""

Grant = Literal[TextGrant, "view", "plan"]
Price = Annotated[float, BeforeValidator(_not_bool), Field(ge=0, le=1_000_000, allow_inf_nan=False)]


class Prices(BaseModel):
    """The price of a model per million tokens, in any currency: of prompts, replies and cached prompts (default: ``input``)."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    input: Price
    output: Price
    cached: Price | None = None

    def of(self, role: str) -> Prices:  # noqa: ARG002
        """The prices of the model of ``role``."""
        return self


class RolePrices(Prices):
    """The prices of several models by role; "" is any other role."""

    roles: dict[str, Prices]

    def of(self, role: str) -> Prices:
        return self.roles.get(role) or self.roles[""]


class Settings(BaseModel):
    """All settings, with the origin of each value that was set. ``None`` leaves the choice to the command.

    ``protocol`` names conditions of a measurement (`housequest.agent.protocols`). ``repeat`` is the number of episodes of each
    task, and ``retry_lost`` the number of retries of a lost one. ``players`` share one house, in place of one ``agent``: each
    is ``AGENT``, ``AGENT=MODEL`` or ``builtin``, with ``*N`` for N of them; ``talk`` is the price of a message, ``order`` says
    if they decide one after the other, and ``obey`` whose requests agents carry out. ``rules`` is a rulebook's name or file, of
    which an episode shows at most about ``rules_budget`` tokens. ``timeout`` limits one attempt at a model call, in seconds.
    ``agents`` has the settings of each agent by name, and ``set`` overrides them for the chosen agent; ``worlds`` and
    ``world_option`` do the same for world options. ``prices`` are by model name::

        [prices."openai:NAME"]
        input = 1.25
        cached = 0.125
        output = 10
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    world: Text = DEFAULT_WORLD
    engine: Text = "native"
    split: Text | None = None
    type: tuple[Text, ...] = ()
    limit: Number | None = None
    sample: Number | None = None
    sample_seed: Seed = 0
    goals: Text = "template"
    habits: Text | None = None
    world_option: dict[Text, Scalar] = {}
    seed: Seed | None = None
    protocol: Text | None = None
    repeat: Annotated[int, BeforeValidator(_not_bool), Field(ge=1, le=100)] = 1
    retry_lost: Annotated[int, BeforeValidator(_not_bool), Field(ge=0, le=100)] = 0
    agent: Text | None = None
    model: Text | None = None
    players: tuple[Text, ...] = ()
    talk: Literal["free", "turn", "off"] = "free"
    order: Literal["turns", "at-once"] = "turns"
    obey: Literal["people", "all"] = "people"
    timeout: Annotated[float, BeforeValidator(_not_bool), Field(gt=0, le=86_400, allow_inf_nan=False)] = 60.0
    rules: Annotated[Text | None, BeforeValidator(lambda value: None if value == NO_RULES else value)] = None
    rules_budget: Number = RULES_BUDGET
    grant: tuple[Grant, ...] = ()
    max_steps: Number | None = None
    concurrency: Annotated[int, BeforeValidator(_not_bool), Field(ge=1, le=10_000)] = 1
    set: dict[Text, Scalar] = {}
    agents: dict[Text, dict[Text, Scalar]] = {}
    worlds: dict[Text, dict[Text, Scalar]] = {}
    prices: dict[Text, Prices] = {}
    _origins: Mapping[str, str] = PrivateAttr(default_factory=dict[str, str])

    @classmethod
    def read(cls, values: Mapping[str, object], said: Mapping[str, SettingsSource]) -> Settings:
        """Validate ``values``, each ``said`` by a source. Raises ``ConfigurationError``."""
        try:
            settings = cls.model_validate(values)
        except ValidationError as error:
            raise ConfigurationError(_complaint(error, said)) from None
        settings._origins = {key: source.place(key) for key, source in said.items()}
        return settings

    @property
    def origins(self) -> Mapping[str, str]:
        """The flag, variable or file that set each value; defaults are not listed."""
        return self._origins

    def origin(self, key: str) -> str:
        return self._origins.get(key, "the default")

    def settings_of(self, agent: str) -> dict[str, Scalar]:
        """The settings of ``agent``; ``set`` overrides the agent's table."""
        return {**self.agents.get(agent, {}), **self.set}

    def options_of(self, world: str) -> dict[str, Scalar]:
        """The options of ``world``; ``world_option`` overrides its table, and `COMMON_OPTIONS` appear only if set."""
        habits = None if self.habits is None else str(given_path(self.habits))
        common = changed_options(engine=self.engine, goals=self.goals, habits=habits)
        return {**self.worlds.get(world, {}), **self.world_option, **common}

    def common_option(self, key: str, options: type[Any]) -> str:
        """The value of one of the `COMMON_OPTIONS`: as set, else the default in the world's ``options``."""
        world, value = defaults(options).get(key), getattr(self, key)
        return value if world is None or changed_options(**{key: value}) else str(world)

    def prices_of(self, model: str) -> Prices | None:
        """The prices of ``model`` by its full name, else without its address, else without its options; 0 if it is free. With
        models for roles, None unless all prices are known.
        """
        if len(models := models_of(model)) > 1:
            known = {role: priced for role, name in models.items() if (priced := self.prices_of(name))}
            return RolePrices(**known[""].model_dump(), roles=known) if len(known) == len(models) else None
        served = _ADDRESS.sub("", model)
        found = (self.prices.get(name) for name in (model, served, served.partition("?")[0]))
        return next(filter(None, found), None) or (Prices(input=0, output=0) if is_free(model) else None)


@dataclass(frozen=True, slots=True)
class SettingsSource:
    """Values from one place; paths begin at ``folder``, ``spelled`` has the local names of keys, ``sha256`` is of a file."""

    origin: str
    values: Mapping[str, object]
    folder: Path | None = None
    sha256: str | None = None
    spelled: Mapping[str, str] = field(default_factory=dict[str, str])

    def place(self, key: str) -> str:
        return self.spelled.get(key) or f"{key} in {self.origin}"


def configure(
    flags: Mapping[str, object] | None = None,
    folder: Path | None = None,
    besides: SettingsSource | None = None,
    uses: Collection[str] | None = None,
) -> Settings:
    """Read the settings for ``folder`` (default: the working folder).

    Args:
        flags: Values that win over all others; None means not given.
        folder: The folder from which to look upwards for ``housequest.toml``.
        besides: Values that win over files and environment.
        uses: The settings that the command uses (None: all); others are dropped if they would need trust.

    Raises:
        ConfigurationError: A value is wrong; names the file, variable or flag.
        Untrusted: A folder's file needs the user's trust.
    """
    given = [*_files(folder), _environment(os.environ), *([besides] if besides is not None else []), _flags(flags or {})]
    sources = list(_trusted(list(map(_with_whole_paths, given)), uses))
    merged, said = _merged(sources)
    settings = Settings.read(merged, said)
    if settings.protocol is not None:
        settings = _under_protocol(settings, settings.protocol, sources, merged, said)
    # A world option that is also a setting would have two values.
    for key, table in (("world_option", settings.world_option), *(("worlds", table) for table in settings.worlds.values())):
        for name in table.keys() & set(COMMON_OPTIONS):
            where = said[key].place(key)
            raise ConfigurationError(f"{where}: {name} is a setting of its own; give it as --{name} or `{name} = ...`.")
    if settings.agents or settings.worlds:
        from housequest.agent.agents.spec import agent_names

        agents: tuple[Group, Mapping[str, object], Sequence[str]] = ("housequest.agents", settings.agents, agent_names())
        worlds: tuple[Group, Mapping[str, object], Sequence[str]] = ("housequest.worlds", settings.worlds, world_names())
        for group, tables, known in (agents, worlds):
            key = group.removeprefix("housequest.")
            unknown = next((name for name in tables if name not in (*known, *outs(group))), None)
            if unknown is not None:
                raise ConfigurationError(
                    f"{said[key].origin}: there is no {key[:-1]} named {shown(unknown)}; known: {', '.join(known)}."
                    f"{nearest(unknown, known)}"
                )
    return settings


def _merged(sources: Sequence[SettingsSource]) -> tuple[dict[str, object], dict[str, SettingsSource]]:
    merged: dict[str, object] = {}
    for source in sources:
        for key, value in source.values.items():
            before = merged.get(key)
            merged[key] = _joined(before, value) if key in _TABLES else beside(before, value) if key == "model" else value
    return merged, {key: source for source in sources for key in source.values}


def _under_protocol(
    settings: Settings,
    name: str,
    sources: Sequence[SettingsSource],
    merged: Mapping[str, object],
    said: dict[str, SettingsSource],
) -> Settings:
    """Apply the protocol: it overrides sources before it, and a contradiction in later ones is an error."""
    from housequest.agent.agents.spec import resolve_settings

    protocol = find_protocol(name, said["protocol"].place("protocol"))
    first = next(place for place, source in enumerate(sources) if source is said["protocol"])
    later, places = _merged(sources[first:])
    before = {key: getattr(settings, key) for key in merged}
    given = {key: before[key] for key in later}
    found = protocol.beside(protocol.settings, given, before, protocol.settings, lambda key: places[key].place(key))
    agent = str(found.get("agent", settings.agent))
    asked = cast("dict[str, Scalar]", {**as_table(as_table(later.get("agents")).get(agent)), **as_table(later.get("set"))})
    resolved = resolve_settings(agent, {**settings.settings_of(agent), **asked})
    own = protocol.beside(
        protocol.set,
        {key: resolved[key] for key in asked if key in resolved},
        settings.settings_of(agent),
        resolved,
        lambda key: f"--set {key}" if key in as_table(later.get("set")) else f"{key} in the table of {agent}",
    )
    said |= dict.fromkeys([*found, *(["set"] if own else [])], SettingsSource(f"the protocol {name}", found))
    return Settings.read({**merged, **found, "set": {**as_table(merged.get("set")), **own}}, said)


def _trusted(sources: Sequence[SettingsSource], uses: Collection[str] | None) -> Iterator[SettingsSource]:
    """Drop values that need trust but are not used. Raises ``Untrusted`` if they are used."""
    for place, source in enumerate(sources):
        later = [other.values for other in sources[place + 1 :]]
        demands = _demands(source, later)
        counted = tuple(demand for demand in demands if counts(demand, later, uses))
        file = FolderFile(Path(source.origin), source.sha256 or "", counted)
        if file.demands and not is_trusted(file):
            raise Untrusted(file)
        idle = [demand for demand in demands if demand not in file.demands]
        yield replace(source, values=without(source.values, idle)) if idle else source


def _demands(source: SettingsSource, later: Sequence[Mapping[str, object]] = ()) -> tuple[Demand, ...]:
    if source.sha256 is None or source.folder is None:
        return ()
    return tuple(demands_of(source.folder, source.values, later))


def folder_file(folder: Path | None = None) -> FolderFile | None:
    """The file of ``folder``, or of None the nearest one, with its demands; None if there is only the user's own."""
    for source in map(_with_whole_paths, _files(folder)):
        if source.sha256 is not None and folder in (None, source.folder):
            return FolderFile(Path(source.origin), source.sha256, _demands(source))
    return None


def _with_whole_paths(source: SettingsSource) -> SettingsSource:
    """Resolve paths against the file's folder. ``rules`` may also be the name of a rulebook in the library."""
    folder, values = source.folder, dict(source.values)
    for key in _PATHS:
        if folder is not None and isinstance(value := values.get(key), str) and value.isprintable():
            from housequest.knowledge.rulebook import is_book_name

            is_name = key == "rules" and is_book_name(value) and not (folder / value).exists()
            values[key] = value if is_name else os.path.realpath(folder / value)
    return replace(source, values=values)


def _joined(before: object, after: object) -> object:
    if not isinstance(before, dict) or not isinstance(after, dict):
        return after
    old, new = cast("dict[str, Any]", before), cast("dict[str, Any]", after)
    return {**old, **{name: _joined(old.get(name), value) for name, value in new.items()}}


_TABLES = ("agents", "worlds", "prices")
"""Settings that are nested tables: merged over all files, and not read from the environment."""

_ADDRESS = re.compile(r"@https?://.*", re.DOTALL)

_TAGS = ("[key]", "str", "int", "float", "bool")
"""Parts that pydantic adds to an error's location."""


def _complaint(error: ValidationError, said: Mapping[str, SettingsSource]) -> str:
    first = error.errors(include_url=False, include_context=False)[0]
    key, *inner = (str(part) for part in first["loc"])
    within = "".join(f", {shown(part, 40)}" for part in inner if part not in _TAGS and not part.isdigit())
    if first["type"] == "missing":
        return f"{said[key].place(key)}{within} is missing; give it."
    if first["type"] == "extra_forbidden":
        return f"{said[key].place(key)}{within} is unknown.{_hint(inner[-1], tuple(Prices.model_fields))}"
    reason = first["msg"].removeprefix("Value error, ").removeprefix("Input should be ")
    wanted = reason if reason.startswith("it ") else f"it should be {reason[:200]}"
    return f"{said[key].place(key)}{within}: {shown(first['input'])} cannot be used: {wanted}."


def _files(folder: Path | None) -> Iterator[SettingsSource]:
    own = config_folder() / FILE_NAME
    yield from _file(own)
    try:
        start = Path(os.path.realpath(folder or Path(), strict=True))
    except OSError:  # the working folder was deleted
        return
    near = next((file for above in (start, *start.parents) if (file := above / FILE_NAME).is_file()), None)
    if near is not None and not (own.exists() and near.samefile(own)):
        yield from _file(near, of_folder=True)


def _file(path: Path, *, of_folder: bool = False) -> Iterator[SettingsSource]:
    read = read_configuration(path)
    if read is None:
        return
    values, content = read
    if of_folder:
        for key in {*USERS_OWN, "key_env"} & values.keys():
            what = "what the screen's keys do" if key == "keys" else "where keys go"
            raise ConfigurationError(
                f"{path} has {key!r}, which says {what}; only your own configuration may. Put it into "
                f"{config_folder() / FILE_NAME}."
            )
    _check_known(f"{path} has a key", values, (*FILE_KEYS, *USERS_OWN))
    # The digest is of the bytes that were read, even if the file has changed since.
    digest = sha256(content).hexdigest() if of_folder else None
    yield SettingsSource(str(path), {key: value for key, value in values.items() if key not in USERS_OWN}, path.parent, digest)


def _check_known(where: str, keys: Iterable[str], known: tuple[str, ...]) -> None:
    for key in keys:
        if key not in known:
            raise ConfigurationError(f"{where} {shown(key)}, which is unknown.{_hint(key, known)}")


def _hint(key: str, known: tuple[str, ...]) -> str:
    return nearest(key, known) or f" Known: {', '.join(known)}."


def _environment(environ: Mapping[str, str]) -> SettingsSource:
    ours = [variable for variable in sorted(environ) if variable.startswith(PREFIX)]
    _check_known("The environment has", ours, (*_VARIABLES, *RESERVED))
    values: dict[str, object] = {}
    for variable, key in _VARIABLES.items():
        if value := environ.get(variable, "").strip():
            parts = [part.strip() for part in value.split(",") if part.strip()]
            listed = parts if key in _LISTS else value
            values[key] = pairs(parts, variable) if key in _PAIRS else listed
    return SettingsSource("the environment", values, spelled={key: variable for variable, key in _VARIABLES.items()})


def changed_options(**common: str | None) -> dict[str, Scalar]:
    """The `COMMON_OPTIONS` that differ from their defaults; a world may not support them."""
    return {key: value for key, value in common.items() if value is not None and value != Settings.model_fields[key].default}


def world_of(settings: Settings) -> World:
    """Make the world of ``settings``. Raises ``ConfigurationError``."""
    if (family := family_named(settings.world)) is not None:
        name = settings.world
        raise ConfigurationError(f"{name} has {family.about} and nothing to play; use `housequest eval --world {name}`.")
    return make_world(settings.world, **settings.options_of(settings.world))


def check_habits(habits: str | None, split: str, world: World) -> None:
    """Raise ``ConfigurationError`` if habits are given for a split that does not use them."""
    made_up = (*world.info.endless_splits, *world.info.homes)
    if habits is not None and split.partition(":")[0] not in made_up:
        raise ConfigurationError(
            f"habits: {shown(habits)} applies to made-up houses only, and the split {shown(split)} has none; leave "
            f"it out, or play tasks of {' or '.join(made_up)}."
        )


def pairs(texts: Sequence[str], where: str) -> dict[str, str]:
    """Parse ``KEY=VALUE`` texts. Raises ``ConfigurationError`` naming ``where`` they were given."""
    found: dict[str, str] = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not equals or not key.strip():
            raise ConfigurationError(f"{where}: {shown(text)} is not of the form KEY=VALUE.")
        found[key.strip()] = value.strip()
    return found


def _flags(flags: Mapping[str, object]) -> SettingsSource:
    given = {key: value for key, value in flags.items() if value is not None and value not in ([], ())}
    _check_known("The command line has a key", given, tuple(Settings.model_fields))
    spelled = {key: f"--{key.replace('_', '-')}" for key in Settings.model_fields}
    # A caller may pass a table, or one text instead of a list.
    for key, value in given.items():
        if key in _PAIRS and not isinstance(value, Mapping):
            given[key] = pairs(cast("Sequence[str]", value), spelled[key])
        elif key in _LISTS and isinstance(value, str):
            given[key] = (value,)
        elif key == "model" and isinstance(value, list | tuple):
            given[key] = named_models(models_of(*map(str, cast("Sequence[object]", value))))
    return SettingsSource("the command line", given, spelled=spelled)


_PATHS = ("rules", "habits")
"""Settings whose relative paths begin at the configuration file's folder."""
_LISTS = ("type", "grant", "players")
_PAIRS = ("set", "world_option")
"""Settings given as KEY=VALUE; in files they are tables of an agent or a world."""
_OF_A_MEASUREMENT = ("protocol", "repeat", "retry_lost", "players", "talk", "order", "obey")
"""Settings given only with the command or an arm of a sweep, never in a file."""
FILE_KEYS = tuple(key for key in Settings.model_fields if key not in (*_PAIRS, *_OF_A_MEASUREMENT))
_VARIABLES = {f"{PREFIX}{key.upper()}": key for key in Settings.model_fields if key not in (*_TABLES, *_OF_A_MEASUREMENT)}
