"""The program in a window that nobody sees, for pictures of it: what is typed, what is shown, and when it has settled."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scripts.film import Rows, cells

if TYPE_CHECKING:
    from textual.app import App
    from textual.pilot import Pilot

SIZE = (120, 40)
PATIENCE = 240.0
_SAME = 5
"""Looks at a screen that must be alike before it is drawn."""
_DECIDING = "deciding"
_GAME = "game"
"""Workers of this group are at work as long as their game."""


def keys_of(command: str) -> tuple[str, ...]:
    return (*({" ": "space", "'": "apostrophe"}.get(character, character) for character in command), "enter")


async def settle(app: App[None], pilot: Pilot[None]) -> None:
    """Wait until nothing is read or drawn any more, nor does an agent decide."""
    shown, same = "", 0
    while same < _SAME:
        await pilot.pause(0.1)
        before, shown = shown, text_of(app)
        busy = _DECIDING in shown or any(not worker.is_finished and worker.group != _GAME for worker in app.workers)
        same = 0 if busy or shown != before else same + 1


def rows_of(app: App[None]) -> Rows:
    """What stands on the screen, cell by cell."""
    return [cells(strip) for strip in app.screen._compositor.render_strips()]  # pyright: ignore[reportPrivateUsage]


def text_of(app: App[None]) -> str:
    return "\n".join("".join(text for text, _ in row) for row in rows_of(app))
