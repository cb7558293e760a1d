"""Keys that come too early: a sentence that is typed while a screen opens is no row of commands."""

from __future__ import annotations

from math import inf
from typing import Any

from textual.events import Key
from textual.screen import ModalScreen, Screen
from textual.widgets import Input

from housequest.tui.base_screen import AppScreen
from housequest.tui.keymap import LEAVE

PAUSE = 1.0
"""Seconds without a key after which what was typed too early has ended."""
TOLD = 6.0
"""Seconds that a notice about it is shown."""

_STARTING = "housequest is starting."
_DROPPED = "{} What you type now is dropped."
_DROPPED_STILL = "You began to type this too early, so it is dropped. After a pause of a second, keys count."
_LEAVING = frozenset((LEAVE, "quit"))
_TYPED = frozenset(("enter", "backspace", "tab"))
"""Keys that belong to typing, besides those that are characters."""


class EarlyKeys:
    """Knows which keys were typed before a screen was ready, or go on with such a text without a `PAUSE`.

    It goes by the times at which keys were pressed, not by those at which the app gets round to them.
    """

    def __init__(self) -> None:
        self._last = -inf
        self._told = ""
        self._leaving = False
        self._why = ""

    def refuse(self, key: Key, screen: Screen[Any], why: str) -> None:
        """Drop the text that goes on from ``key``, which leads into no line now; the person is told ``why``."""
        self._last, self._why = key.time, why
        self._tell(screen, _DROPPED.format(why), again=False)

    def drop(self, key: Key, screen: Screen[Any]) -> bool:
        """Whether ``key`` must do nothing on ``screen``; if so, the person is told.

        While a screen waits, its line takes what is typed, keys that do no harm count where no text goes before them, and the
        key that leaves has to be pressed twice, and is a letter within a text. Keys that are no text are never dropped, nor
        those of a dialog.
        """
        if isinstance(screen, ModalScreen) or not (key.is_printable or key.key in _TYPED):
            return False
        going_on = key.time - self._last < PAUSE
        self._why = self._why if going_on else ""
        opened = isinstance(screen, AppScreen)
        typing = isinstance(screen.focused, Input)
        awaited = screen.awaited if opened else _STARTING
        before = opened and key.time < screen.ready_since and not typing
        if not (going_on or awaited or before):
            return False
        leaving, self._leaving = self._leaving, False
        if opened:
            bound = screen.active_bindings.get(key.key)  # pyright: ignore[reportUnknownMemberType]
            action = bound.binding.action if bound else ""
            if awaited and action in _LEAVING and not typing and (leaving or not going_on):
                self._last, self._leaving = key.time, True
                return not screen.confirmed(f"{awaited} The same key once more leaves.")
            if not going_on and (screen.takes_early(action) if awaited else screen.takes_late(action)):
                self._last = self._last if typing else key.time
                return False
        why = awaited or self._why
        self._tell(screen, _DROPPED.format(why) if why else _DROPPED_STILL, again=going_on)
        self._last = key.time
        return True

    def _tell(self, screen: Screen[Any], text: str, *, again: bool) -> None:
        """Say it once in a text, and once more when it is something else."""
        if not again or text != self._told:
            screen.app.clear_notifications()  # pyright: ignore[reportUnknownMemberType]
            screen.notify(text, timeout=TOLD, markup=False)
        self._told = text
