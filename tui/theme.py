"""How the screen looks, dark and light: two accents (what is new, what the goal names), quiet text, and a hue for each role.

Widgets name these as ``$new``, ``$goal``, ``$quiet``, ``$fault``, ``$won`` and ``role_style(role)``; nothing is told by colour
alone.
"""

from __future__ import annotations

from typing import Any

from textual.app import App
from textual.theme import Theme

DARK = "housequest-dark"
LIGHT = "housequest-light"

_ROLES = ("reasoner", "actor", "react", "expert", "person")
"""Roles with a hue of their own; others share one."""


def _theme(name: str, *, dark: bool, background: str, surface: str, panel: str, foreground: str, **variables: str) -> Theme:
    return Theme(
        name=name,
        dark=dark,
        background=background,
        surface=surface,
        panel=panel,
        foreground=foreground,
        primary=variables["frame"],
        secondary=variables["quiet"],
        accent=variables["goal"],
        success=variables["won"],
        warning=variables["new"],
        error=variables["fault"],
        variables={**variables, "block-cursor-text-style": "none"},
    )


THEMES = (
    _theme(
        DARK,
        dark=True,
        background="#14161b",
        surface="#1a1d24",
        panel="#232733",
        foreground="#d9dce3",
        frame="#5b6478",
        quiet="#8b93a5",
        new="#7fd1b9",
        goal="#f2c14e",
        fault="#f0857d",
        won="#8fd694",
        **{
            "role-reasoner": "#c3a6ff",
            "role-actor": "#7fb8ff",
            "role-react": "#7fb8ff",
            "role-expert": "#9fc5a8",
            "role-person": "#ffb37a",
            "role-other": "#d6a6c9",
        },
    ),
    _theme(
        LIGHT,
        dark=False,
        background="#fbfaf7",
        surface="#f3f1ec",
        panel="#e7e4dc",
        foreground="#23262e",
        frame="#8a8778",
        quiet="#646a76",
        new="#0f766e",
        goal="#8a5a00",
        fault="#b3261e",
        won="#2e7d32",
        **{
            "role-reasoner": "#6a3fb5",
            "role-actor": "#1f5fa8",
            "role-react": "#1f5fa8",
            "role-expert": "#3b6b45",
            "role-person": "#a84f0a",
            "role-other": "#8a3b76",
        },
    ),
)


def role_style(role: str) -> str:
    """The style of what ``role`` said, as Textual content takes it."""
    return f"$role-{role if role in _ROLES else 'other'}"


def register(app: App[Any]) -> None:
    """Make both themes known to ``app``, and choose the dark one."""
    for theme in THEMES:
        app.register_theme(theme)
    app.theme = DARK
