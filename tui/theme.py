"""How the screen looks, dark and light: two accents (what is new, what the goal names), quiet text, and a hue for each role.

Widgets name these as ``$new``, ``$goal``, ``$quiet``, ``$fault``, ``$won`` and ``role_style(role)``; nothing is shown by colour
alone.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from textual.app import App
from textual.theme import Theme

DARK = "housequest-dark"
LIGHT = "housequest-light"

_COLOURS = {
    "background": ("#14161b", "#fbfaf7"),
    "surface": ("#1a1d24", "#f3f1ec"),
    "panel": ("#232733", "#e7e4dc"),
    "foreground": ("#d9dce3", "#23262e"),
    "frame": ("#5b6478", "#8a8778"),
    "quiet": ("#8b93a5", "#646a76"),
    "new": ("#7fd1b9", "#0f766e"),
    "goal": ("#f2c14e", "#8a5a00"),
    "fault": ("#f0857d", "#b3261e"),
    "won": ("#8fd694", "#2e7d32"),
    "role-reasoner": ("#c3a6ff", "#6a3fb5"),
    "role-actor": ("#7fb8ff", "#1f5fa8"),
    "role-react": ("#7fb8ff", "#1f5fa8"),
    "role-expert": ("#9fc5a8", "#3b6b45"),
    "role-person": ("#ffb37a", "#a84f0a"),
    "role-other": ("#d6a6c9", "#8a3b76"),
}
"""Each colour in the dark theme and in the light one."""


def style_sheet(module: str) -> str:
    """The style sheet beside the file of a module, for the widgets in it: ``DEFAULT_CSS`` of each."""
    return Path(module).with_suffix(".tcss").read_text("utf-8")


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
        theme = Theme(
            name,
            dark=name == DARK,
            background=colours["background"],
            surface=colours["surface"],
            panel=colours["panel"],
            foreground=colours["foreground"],
            primary=colours["frame"],
            secondary=colours["quiet"],
            accent=colours["goal"],
            success=colours["won"],
            warning=colours["new"],
            error=colours["fault"],
            variables={
                **colours,
                "text-disabled": colours["quiet"],  # also what an empty line suggests
                "scrollbar": colours["frame"],
                "scrollbar-hover": colours["quiet"],
                "scrollbar-active": colours["quiet"],
                "scrollbar-background": colours["background"],
                "block-cursor-foreground": colours["foreground"],
                "block-cursor-background": colours["panel"],
                "block-cursor-blurred-background": colours["panel"],
                "block-cursor-blurred-text-style": "bold",
                "block-hover-background": colours["surface"],
            },
        )
        app.register_theme(theme)
    app.theme = DARK
