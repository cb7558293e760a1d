"""YAML that people wrote, read as plain data: bounded, never evaluated, and refused by name."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

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


DEEPEST = 50
"""How deeply lists and mappings may lie in one another. What reads YAML takes time with the square of it."""


def parse_yaml(content: bytes, name: str) -> object:
    """What ``content`` says as YAML. Raises ``ConfigurationError``, also for aliases: a few lines of them fill any memory."""
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    safe: Any = YAML(typ="safe", pure=True)
    try:
        _refuse_bombs(safe.parse(content), name)
        return YAML(typ="safe", pure=True).load(content)  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
    except (YAMLError, ValueError, RecursionError, TypeError, AttributeError) as error:
        raise ConfigurationError(f"{name} is not valid YAML: {shown(' '.join(str(error).split()), 200)}.") from None


def _refuse_bombs(events: Any, name: str) -> None:
    """Go through the events of a document before anything is made of it."""
    from ruamel.yaml.events import AliasEvent, CollectionEndEvent, CollectionStartEvent

    depth = 0
    for event in events:
        depth += isinstance(event, CollectionStartEvent) - isinstance(event, CollectionEndEvent)
        if isinstance(event, AliasEvent):
            raise ConfigurationError(f"{name} uses YAML anchors and aliases, which are not read; write each thing out.")
        if depth > DEEPEST:
            raise ConfigurationError(f"{name} has lists or mappings more than {DEEPEST} deep in one another.")


def as_mapping(value: object) -> Mapping[object, object] | None:
    """``value`` as a mapping, whatever its keys; None for anything else."""
    return cast("Mapping[object, object]", value) if isinstance(value, Mapping) else None
