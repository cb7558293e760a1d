"""Reads alfworld's configuration, a YAML file of nested settings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar, cast

from housequest.worlds.errors import ConfigurationError, nearest, shown
from housequest.worlds.validation import parse_yaml, read_yaml

_T = TypeVar("_T")
_LARGEST_FILE = 1_000_000
_WORDS: Mapping[Any, str] = {int: "a whole number", float: "a number", str: "text", bool: "true or false", Sequence: "a list"}


def load_config(arguments: Sequence[str] | None = None) -> dict[str, Any]:
    """The configuration named by a script's arguments: ``CONFIG_FILE [-p key.subkey=value ...]``. Like alfworld's
    ``generic.load_config``, but values of ``-p`` are read as YAML: ``3`` is a number here, a string there. Raises
    ``ConfigurationError`` for an unreadable file and for unknown keys."""
    import argparse

    parser = argparse.ArgumentParser()
    parser.add_argument("config_file", type=Path, help="the configuration, a YAML file")
    parser.add_argument("-p", "--params", nargs="+", default=[], metavar="key.subkey=value", help="replaces what the file says")
    given = parser.parse_args(arguments)
    config = read_config(given.config_file)
    for param in cast("list[str]", given.params):
        key, equals, value = param.partition("=")
        if not equals:
            raise ConfigurationError(f"{shown(param)} sets nothing; write key.subkey=value.")
        *outer, last = key.split(".")
        place = config
        for name in outer:
            place = _known(place, name, key)[name]
        _known(place, last, key)[last] = parse_yaml(value.encode("utf-8", "surrogatepass"), f"The value of {shown(key)}")
    return config


def read_config(file: Path) -> dict[str, Any]:
    """The configuration in a YAML file. Raises ``ConfigurationError``."""
    name = f"The configuration {shown(str(file), 400)}"
    config = read_yaml(file, name, _LARGEST_FILE)
    if not isinstance(config, dict):
        raise ConfigurationError(
            f"{name} is not a mapping of settings; write lines such as `section:` and, indented, `key: value`."
        )
    return cast("dict[str, Any]", config)


def setting(config: Mapping[str, Any], key: str, kind: type[_T], default: _T | None = None) -> _T:
    """The value under a dotted key, in plain mappings or those of OmegaConf. An integer is accepted as a float, and a float
    without a fraction as an integer. Raises ``ConfigurationError`` for another type and for a missing key without ``default``.
    """
    value: Any = config
    for name in key.split("."):
        value = cast("Mapping[str, Any]", value).get(name) if isinstance(value, Mapping) else None
    if value is None and default is not None:
        return default
    if value is None:
        raise ConfigurationError(f"The configuration gives no {key}, which is needed here.")
    if kind is float and type(value) is int:
        value = float(value)
    elif kind is int and isinstance(value, float) and value.is_integer():
        value = int(value)
    misread = (kind is int and isinstance(value, bool)) or (kind is Sequence and isinstance(value, str))
    if misread or not isinstance(value, kind):
        raise ConfigurationError(f"{key} is {shown(value)}; give {_WORDS[kind]}.")
    return cast("_T", value)


def _known(place: object, name: str, key: str) -> dict[str, Any]:
    settings = cast("dict[str, Any]", place) if isinstance(place, dict) else {}
    if name not in settings:
        hint = nearest(name, [str(other) for other in settings])
        raise ConfigurationError(f"The configuration has no {shown(key)}.{hint}")
    return settings
