"""The keys of a live game, in the order in which they are shown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from textual.binding import Binding

KEYS = (
    Binding("space", "step", "Step"),
    Binding("a", "auto", "Auto"),
    Binding("plus,equals_sign", "pace(1)", "Pace", key_display="+ -"),
    Binding("minus", "pace(-1)", "Slower", show=False),
    Binding("escape", "escape", "Back", key_display="esc"),
    Binding("left", "back", "Rewind", key_display="← →"),
    Binding("right", "forward", "Forward", show=False),
    Binding("b", "branch", "Branch"),
    Binding("r", "retry", "Try again"),
    Binding("p", "replay", "Replay"),
    Binding("n", "next", "Next"),
    Binding("colon", "line", "Type", key_display=":"),
    Binding("g", "commands", "Possible"),
    Binding("R", "race", "Race"),
    Binding("k", "teach", "Teach"),
    Binding("m", "model", "Model"),
    Binding("t", "take_over", "Take over"),
    Binding("enter", "accept", "Accept"),
    Binding("e", "edit", "Edit"),
    Binding("o", "other", "Other"),
    Binding("question_mark", "hint", "Hint", key_display="?"),
    Binding("f", "fold", "Thoughts"),
    Binding("1", "pane('story')", "Story", show=False),
    Binding("2", "pane('house')", "House", show=False),
    Binding("3", "pane('mind')", "Mind", show=False),
    Binding("tab", "next_pane", "Next region", show=False),
    Binding("slash", "app.command_palette", "Palette", key_display="/"),
    Binding("q", "home", "Home"),
)

LAST = ("app.command_palette", "home")
"""The actions that are always shown, at the end."""


def explained(keys: Sequence[Binding]) -> list[Binding]:
    """``keys``, each followed by what it does where it does not hold: the action ``explain`` is given the refused one."""
    return [one for key in keys for one in (key, replace(key, action=f"explain('{_name(key)}')", description="", show=False))]


def _name(key: Binding) -> str:
    return key.action.partition("(")[0]
