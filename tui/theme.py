"""The themes, dark and light: two accents, quiet text, and a hue for each role; nothing is shown by colour alone."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from textual.app import App
from textual.theme import Theme

DARK = "housequest-dark"
LIGHT = "housequest-light"

_TABLES: Mapping[str, Mapping[str, Any]] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
_COLOURS: Mapping[str, tuple[str, str]] = _TABLES["colours"]
"""Each colour in the dark theme and in the light one."""


def role_style(role: str) -> str:
    """The style of what ``role`` said, as Textual content takes it; roles without a hue of their own share one."""
    return f"$role-{role}" if f"role-{role}" in _COLOURS else "$role-other"


def theme_variables(*, dark: bool) -> dict[str, str]:
    """The colours that a theme of somebody else's lacks."""
    return {colour: both[0 if dark else 1] for colour, both in _COLOURS.items()}


def register_themes(app: App[Any]) -> None:
    """Make both themes known to ``app``, and choose the dark one."""
    for at, name in enumerate((DARK, LIGHT)):
        colours = {colour: both[at] for colour, both in _COLOURS.items()}
        parts: dict[str, Any] = {part: colours[colour] for part, colour in _TABLES["parts"].items()}
        variables = {name: colours[colour] for name, colour in _TABLES["variables"].items()}
        variables |= {**colours, "block-cursor-blurred-text-style": "bold"}
        app.register_theme(Theme(name, dark=name == DARK, **parts, variables=variables))
    app.theme = DARK
