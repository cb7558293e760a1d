"""The keys that do something now, on one line, as many as fit.

Textual's own footer does not keep some keys at the right end, nor say that others did not fit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from textual import events
from textual.binding import Binding
from textual.content import Content
from textual.screen import Screen
from textual.widget import Widget
from textual.widgets import Input

_GAP = 2
_MORE = " …"

SEND = Binding("enter", "send", "Send")


@dataclass(frozen=True, slots=True)
class _Key:
    """A key as it stands on the line."""

    label: str
    does: str
    press: str

    @property
    def width(self) -> int:
        return len(self.label) + 1 + len(self.does)

    def content(self) -> Content:
        return Content.assemble((self.label, "bold"), " ", (self.does, "$quiet"))


class KeyBar(Widget):
    """Shows those of ``keys`` that hold, those of the actions ``last`` at the right end; a click presses the key.

    ``keys`` are the screen's own unless others are given.

    While something is typed on, whose keys those are, it shows the keys of the line instead, those of ``line`` first.
    """

    DEFAULT_CSS = """
    KeyBar { dock: bottom; height: 1; padding: 0 1; background: $background; color: $foreground; }
    """

    def __init__(
        self, keys: Sequence[Binding] | None = None, last: Sequence[str] = (), line: Sequence[Binding] = (SEND,)
    ) -> None:
        super().__init__()
        self._line = tuple(line)
        self._keys = keys
        self._last = tuple(last)
        self._left: list[_Key] = []
        self._right: list[_Key] = []

    def on_mount(self) -> None:
        self.screen.bindings_updated_signal.subscribe(self, self._changed)  # pyright: ignore[reportUnknownMemberType]

    def render(self) -> Content:
        width = self.content_size.width
        right = Content(" " * _GAP).join(key.content() for key in self._right)
        shown = list(self._fitting(width - right.cell_length - _GAP))
        left = Content(" " * _GAP).join(key.content() for key in shown)
        if len(shown) < len(self._left):
            left += Content.styled(_MORE, "$quiet")
        return (left.pad_right(max(0, width - right.cell_length - left.cell_length)) + right).truncate(width)

    def on_click(self, event: events.Click) -> None:
        for start, key in self._places(self.content_size.width):
            if start <= event.x - 1 < start + key.width:
                self.app.simulate_key(key.press)  # pyright: ignore[reportUnknownMemberType]
                return

    def _changed(self, screen: Screen[object]) -> None:
        if screen is not self.screen or not self.is_attached:
            return
        typing = isinstance(screen.focused, Input)
        held = self._of_the_line(screen) if typing else [key for key in self._shown(screen) if _holds(screen, key)]
        left = [self._key(key) for key in held if key.action not in self._last]
        right = [self._key(key) for action in self._last for key in held if key.action == action]
        if (left, right) != (self._left, self._right):
            self._left, self._right = left, right
            self.refresh()

    def _shown(self, screen: Screen[object]) -> Iterator[Binding]:
        """All keys, whether or not a widget that has the focus takes one for itself at the moment."""
        keys = Binding.make_bindings(screen.BINDINGS) if self._keys is None else self._keys
        return (key for key in keys if key.show)

    def _of_the_line(self, screen: Screen[object]) -> list[Binding]:
        active = screen.active_bindings.values()
        own = [one.binding for one in active if one.node not in {screen, self.app} and one.enabled and one.binding.show]  # pyright: ignore[reportUnknownMemberType]
        return [*self._line, *own]

    def _key(self, binding: Binding) -> _Key:
        label: str = self.app.get_key_display(binding)  # pyright: ignore[reportUnknownMemberType]
        return _Key(label, binding.description.lower(), binding.key.partition(",")[0])

    def _fitting(self, room: int) -> Iterator[_Key]:
        for place, key in enumerate(self._left):
            more = len(_MORE) if place < len(self._left) - 1 else 0
            if key.width + more > room:
                return
            room -= key.width + _GAP
            yield key

    def _places(self, width: int) -> Iterator[tuple[int, _Key]]:
        right = sum(key.width for key in self._right) + _GAP * max(0, len(self._right) - 1)
        start = 0
        for key in self._fitting(width - right - _GAP):
            yield start, key
            start += key.width + _GAP
        start = width - right
        for key in self._right:
            yield start, key
            start += key.width + _GAP


def _holds(screen: Screen[object], key: Binding) -> bool:
    name, _, _ = key.action.partition("(")
    return name.startswith("app.") or bool(screen.check_action(name, ()))
