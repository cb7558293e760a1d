"""The keys that do something now, on one line, and those that come too early: a sentence is no row of commands.

Textual's own footer does not keep some keys at the right end, nor say that others did not fit.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from math import inf
from typing import Any, cast

from textual.actions import parse
from textual.binding import Binding
from textual.content import Content
from textual.events import Key
from textual.screen import ModalScreen, Screen
from textual.style import Style
from textual.widget import Widget
from textual.widgets import Input

from housequest.tui.base_screen import AppScreen
from housequest.tui.keymap import LEAVE, PALETTE_KEY, Equipped, action_anywhere, name_of

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
_GAP = "  "
_MORE = " …"
SEND = Binding("enter", "send", "Send")


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
        """Return True if ``key`` must do nothing on ``screen``; if so, the person is told.

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
            if not going_on and (screen.takes_early(action) if awaited else action in screen.TAKES_LATE):
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


class KeyBar(Equipped, Widget):
    """Shows those of ``keys`` (None: the screen's) that hold, those of the actions ``last`` at the right; a click presses one.

    While something is typed, it shows the keys of the line instead, those of ``line`` first.
    """

    def __init__(
        self,
        keys: Sequence[Binding] | None = None,
        last: Sequence[str] = (PALETTE_KEY.action, LEAVE),
        line: Sequence[Binding] = (SEND,),
    ) -> None:
        super().__init__()
        self._keys = keys
        self._last = last
        self._line = line
        self._held: list[Binding] = []
        self._elsewhere: frozenset[str] = frozenset()
        self.auto_links = False

    def leave_out(self, actions: Iterable[str]) -> None:
        """Leave out the keys of these actions, which are shown elsewhere."""
        if (elsewhere := frozenset(actions)) != self._elsewhere:
            self._elsewhere = elsewhere
            self.refresh()

    def on_mount(self) -> None:
        self.screen.bindings_updated_signal.subscribe(self, self._changed)  # pyright: ignore[reportUnknownMemberType]

    def render(self) -> Content:
        width = self.content_size.width
        last = [key for action in self._last for key in self._held if key.action == action]
        right = Content(_GAP).join(map(self._key, last))
        room = width - right.cell_length - len(_GAP)
        keys = [key for key in self._held if key.action not in {*self._last, *self._elsewhere}]
        left = Content("")
        for at, key in enumerate(keys):
            longer = left + _GAP + self._key(key) if at else self._key(key)
            if longer.cell_length + (len(_MORE) if at < len(keys) - 1 else 0) > room:
                left += Content.styled(_MORE, "$quiet")
                break
            left = longer
        left = left.pad_right(max(0, width - right.cell_length - left.cell_length))
        return (left + right).truncate(width)

    def _key(self, binding: Binding) -> Content:
        app = cast("Any", self.app)  # pyright: ignore[reportUnknownMemberType]
        # A chosen key may have another name when it is pressed.
        chosen = binding.id in getattr(app, "chosen_keys", {})
        click = action_anywhere(binding) if chosen else f"app.simulate_key({binding.key.partition(',')[0]!r})"
        shown = Content.assemble((app.get_key_display(binding), "bold"), " ", (binding.description.lower(), "$quiet"))
        return shown.stylize(Style.from_meta({"@click": click}))

    def _changed(self, screen: Screen[object]) -> None:
        if screen is not self.screen or not self.is_attached:
            return
        if isinstance(screen.focused, Input):
            active = screen.active_bindings.values()
            held = [one.binding for one in active if one.node not in {screen, self.app} and one.enabled and one.binding.show]  # pyright: ignore[reportUnknownMemberType]
            held = [*self._line, *held]
        else:

            def holds(action: str) -> bool:
                _, name, parameters = parse(action)
                return action.startswith("app.") or bool(screen.check_action(name, parameters))

            # Also a key that the widget with the focus takes for itself at the moment.
            keys = Binding.make_bindings(screen.BINDINGS) if self._keys is None else self._keys
            held = [replace(key, description=name_of(key, screen)) for key in keys if key.show and holds(key.action)]
        if held != self._held:
            self._held = held
            self.refresh()
