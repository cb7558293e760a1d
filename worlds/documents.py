"""Reads untrusted YAML as plain data, with bounded size and depth."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from housequest.worlds.errors import ConfigurationError, shown
from housequest.worlds.paths import read_file


def read_yaml(path: Path, name: str, largest: int) -> object:
    """Read the YAML file at ``path``, of at most ``largest`` bytes. Raises ``ConfigurationError``, calling it ``name``."""
    try:
        content = read_file(path, largest + 1)
    except (OSError, ValueError) as error:
        raise ConfigurationError(f"{name} cannot be read: {error}.") from error
    if len(content) > largest:
        raise ConfigurationError(f"{name} has more than {largest:,} bytes.")
    return parse_yaml(content, name)


DEEPEST = 50
"""The deepest nesting; parsing takes time quadratic in it."""


def parse_yaml(content: bytes, name: str) -> object:
    """Parse YAML. Raises ``ConfigurationError``, also for aliases: a few lines of them can fill the memory."""
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError
    from ruamel.yaml.events import AliasEvent, CollectionEndEvent, CollectionStartEvent

    safe: Any = YAML(typ="safe", pure=True)
    depth = 0
    try:
        for event in safe.parse(content):
            depth += isinstance(event, CollectionStartEvent) - isinstance(event, CollectionEndEvent)
            if isinstance(event, AliasEvent):
                raise ConfigurationError(f"{name} uses YAML anchors and aliases, which are not read; write each thing out.")
            if depth > DEEPEST:
                raise ConfigurationError(f"{name} has lists or mappings more than {DEEPEST} deep in one another.")
        return YAML(typ="safe", pure=True).load(content)  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
    except (YAMLError, ValueError, RecursionError, TypeError, AttributeError) as error:
        raise ConfigurationError(f"{name} is not valid YAML: {shown(' '.join(str(error).split()), 200)}.") from None
