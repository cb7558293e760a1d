"""YAML that people wrote, read as plain data: bounded, never evaluated, and refused by name."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import cast

from worlds.errors import ConfigurationError, shown


def read_yaml(path: Path, name: str, largest: int) -> object:
    """What the YAML file at ``path`` says; ``name`` is what errors call it. Raises ``ConfigurationError``.

    More than ``largest`` bytes are not read.
    """
    try:
        with path.open("rb") as file:
            content = file.read(largest + 1)
    except (OSError, ValueError) as error:
        raise ConfigurationError(f"{name} cannot be read: {error}.") from error
    if len(content) > largest:
        raise ConfigurationError(f"{name} has more than {largest:,} bytes.")
    return parse_yaml(content, name)


def parse_yaml(content: bytes, name: str) -> object:
    """What ``content`` says as YAML. Raises ``ConfigurationError``, also for aliases: a few lines of them fill any memory."""
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError
    from ruamel.yaml.events import AliasEvent

    try:
        events = YAML(typ="safe", pure=True).parse(content)  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
        if any(isinstance(event, AliasEvent) for event in events):  # pyright: ignore[reportUnknownVariableType]
            raise ConfigurationError(f"{name} uses YAML anchors and aliases, which are not read; write each thing out.")
        return YAML(typ="safe", pure=True).load(content)  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
    except (YAMLError, ValueError, RecursionError, TypeError, AttributeError) as error:
        raise ConfigurationError(f"{name} is not valid YAML: {shown(' '.join(str(error).split()), 200)}.") from None


def as_mapping(value: object) -> Mapping[object, object] | None:
    """``value`` as a mapping, whatever its keys; None for anything else."""
    return cast("Mapping[object, object]", value) if isinstance(value, Mapping) else None
