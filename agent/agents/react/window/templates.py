"""The prompts of verl-agent from a user's copy of its file, so that models trained on its words are asked in them."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from housequest.worlds.errors import ConfigurationError, shown
from housequest.worlds.paths import read_file

LARGEST = 1 << 16
FIRST, LATER = "ALFWORLD_TEMPLATE_NO_HIS", "ALFWORLD_TEMPLATE"
"""The names of its two templates: for the first step, and for those after it."""

_AT_FIRST = frozenset({"current_observation", "admissible_actions"})
_LATER = _AT_FIRST | {"task_description", "step_count", "history_length", "action_history", "current_step"}
_FIELD = re.compile(r"\{(?P<name>\w*)\}|\{\{|\}\}")


@dataclass(frozen=True, slots=True)
class Templates:
    """The prompt of the first step and of those after it, with fields in braces."""

    first: str
    later: str


def read_templates(path: Path) -> Templates:
    """The templates in a copy of verl-agent's ``prompts/alfworld.py``, which is read and never run.

    Raises ``ConfigurationError``.
    """
    try:
        content = read_file(path, LARGEST + 1)
        if len(content) > LARGEST:
            raise _wrong(path, f"a file of templates has at most {LARGEST:,} bytes.")
        found = _texts(ast.parse(content))
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise _wrong(path, f"it cannot be read: {error}.") from error
    for name, fields in ((FIRST, _AT_FIRST), (LATER, _LATER)):
        if name not in found:
            raise _wrong(path, f"it has no text {name}.")
        if unknown := {each["name"] for each in _FIELD.finditer(found[name]) if each["name"] is not None} - fields:
            raise _wrong(path, f"{name} has the field {shown(min(unknown))}; known: {', '.join(sorted(fields))}.")
    return Templates(found[FIRST], found[LATER])


def _texts(module: ast.Module) -> dict[str, str]:
    """The texts that a module gives names to."""
    return {
        target.id: line.value.value
        for line in module.body
        if isinstance(line, ast.Assign) and isinstance(line.value, ast.Constant) and isinstance(line.value.value, str)
        for target in line.targets
        if isinstance(target, ast.Name)
    }


def _wrong(path: Path, what: str) -> ConfigurationError:
    return ConfigurationError(f"{shown(str(path))}: {what} Give window_prompt a copy of verl-agent's prompts/alfworld.py.")


def filled(template: str, values: Mapping[str, str]) -> str:
    """``template`` with the fields in braces filled in. Values are never read as templates."""
    return _FIELD.sub(lambda found: values[found["name"]] if found["name"] is not None else found[0][0], template)
