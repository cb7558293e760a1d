"""A framed pane of lines that redraws only lines that changed.

Its frame says how many lines lie above and below, in place of a scroll bar.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest
from typing import Any

from textual.actions import SkipAction
from textual.content import Content
from textual.geometry import Size
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.visual import Visual

from housequest.tui.text import cut, printable
from housequest.tui.theme import style_sheet

_LONGEST = 2_000


class FramedPane(ScrollView, can_focus=True):
    """A pane in a frame, which scrolls without a scroll bar and without gliding."""

    DEFAULT_CSS = style_sheet(__file__)

    def scroll_to(self, x: float | None = None, y: float | None = None, *, animate: bool = True, **how: Any) -> None:
        del animate
        super().scroll_to(x, y, animate=False, **how)

    def strip(self, text: Content | None, component: str | None = None) -> Strip:
        """``text`` as a line across the pane, in the style of ``component`` or of the pane itself."""
        width = self.scrollable_content_region.width
        style = self.get_visual_style(component) if component else self.visual_style
        strips = [] if text is None else Visual.to_strips(self, text, width, 1, style)
        return strips[0].crop_extend(0, width, style.rich_style) if strips else Strip.blank(width, style.rich_style)


class LinesPane(FramedPane):
    """A pane that shows what ``lines`` gives for its width and height; with the focus on it, all of it."""

    DEFAULT_CSS = style_sheet(__file__)

    _lines: tuple[Content, ...] = ()
    _hidden: str = ""

    def lines(self, width: int, height: int, whole: bool) -> Sequence[Content]:
        """What to show in ``width`` columns, each no longer than that.

        ``height`` lines are seen at once; unless ``whole``, what matters less may be left out to keep within them.
        """
        raise NotImplementedError

    def relay(self) -> None:
        """Lay the lines out again, and draw those that changed."""
        size = self.scrollable_content_region.size
        if not size.width or not size.height:
            return
        old, self._lines = self._lines, tuple(self.lines(size.width, size.height, self.has_focus))
        for y, (before, now) in enumerate(zip_longest(old, self._lines)):
            if before is None or now is None or not before.is_same(now):
                self.refresh_line(y)
        if len(old) != len(self._lines) or self.virtual_size.width != size.width:
            self.virtual_size = Size(size.width, len(self._lines))
            self.scroll_to(y=min(self.scroll_offset.y, max(0, len(self._lines) - size.height)))
        self._show_hidden()

    def render_line(self, y: int) -> Strip:
        line = y + self.scroll_offset.y
        return self.strip(self._lines[line] if line < len(self._lines) else None)

    def on_resize(self) -> None:
        self.relay()

    def on_show(self) -> None:
        # What changed while it was hidden could not be laid out.
        self.relay()

    def watch_has_focus(self, value: bool) -> None:
        super().watch_has_focus(value)
        self.relay()
        if not value:
            self.scroll_home(animate=False)

    def action_scroll_end(self) -> None:
        if not self.allow_vertical_scroll:
            raise SkipAction
        self.scroll_end(animate=False, immediate=True)

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        super().watch_scroll_y(old_value, new_value)
        self._show_hidden()

    def _show_hidden(self) -> None:
        above = self.scroll_offset.y
        below = max(0, len(self._lines) - self.scrollable_content_region.height - above)
        hidden = "  ".join(f"{arrow} {count}" for arrow, count in (("↑", above), ("↓", below)) if count)
        if hidden != self._hidden:
            self._hidden = hidden
            self.border_subtitle = Content(hidden)


def flat(text: str) -> str:
    """``text`` made printable, on one line, and of a length that a pane can hold."""
    return printable(cut(text, _LONGEST)).replace("\n", " ")


def path_end(text: str, room: int) -> str:
    """The last ``room`` characters of ``text``: the end of a path says more than its beginning."""
    return text if len(text) <= room else f"…{text[1 - room :]}"


def cut_lines(lines: Sequence[Content], most: int, width: int) -> list[Content]:
    """At most ``most`` of ``lines``, the last of which says if there were more."""
    kept = list(lines[:most])
    if len(lines) > most:
        kept[-1] = (kept[-1].rstrip() + Content(" …")).truncate(width, ellipsis=True)
    return kept


def hung(mark: Content, text: Content, width: int) -> list[Content]:
    """``text`` wrapped to ``width`` columns, with ``mark`` before its first line and as much room before the others."""
    indent = mark.cell_length
    room = max(width - indent, 4)
    first, *rest = text.wrap(room) or [Content("")]
    return [(mark + first).truncate(width), *(line.pad_left(indent).truncate(width) for line in rest)]
