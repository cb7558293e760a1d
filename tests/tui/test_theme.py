"""The colours of both themes can be read."""

from __future__ import annotations

import pytest
from textual.app import App
from textual.color import Color

from housequest.tui.theme import DARK, LIGHT, register_themes

INKS = ("foreground", "quiet", "new", "goal", "fault", "won", "text-disabled")


def luminance(color: Color) -> float:
    parts = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in color.normalized]
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]


@pytest.mark.parametrize("theme", [DARK, LIGHT])
def test_every_ink_stands_out_from_every_ground(theme: str) -> None:
    app = App[None]()
    register_themes(app)
    app.theme = theme
    colours = app.get_css_variables()
    for ground in ("background", "surface", "panel"):
        for ink in INKS:
            dark, light = sorted(luminance(Color.parse(colours[name])) for name in (ink, ground))
            assert (light + 0.05) / (dark + 0.05) >= 4, f"{ink} on {ground}"
