"""A recorded episode as one line, with refused turns and changes of the plan; a click goes there."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from textual import events
from textual.content import Content
from textual.message import Message
from textual.widget import Widget

from tui.replay.recording import ReplayStop

LABEL = 34
"""Columns of the words to the right of the line, where there is room for them."""

LOST, PLANNED, REFUSED = "!", "◆", "×"
_LOOKS = {LOST: ("lost here", "bold $fault"), PLANNED: ("plan", "$goal"), REFUSED: ("refused", "$fault")}
"""The words and the style of each mark. Where several fall together, the first of these is shown."""


class Timeline(Widget):
    """Shows ``stops`` from the first to the last; knows nothing of what they are stops of."""

    DEFAULT_CSS = "Timeline { height: 1; padding: 0 1; }"

    @dataclass
    class Went(Message):
        """Go to this stop."""

        place: int

    _stops: Sequence[ReplayStop] = ()
    _place = 0
    _speed = 1.0
    _playing = False
    _branch = ""
    _held = False

    def show(self, stops: Sequence[ReplayStop], place: int, speed: float, playing: bool = False, branch: str = "") -> None:
        """Be at ``place`` of ``stops``, at ``speed`` turns a second; ``branch`` says which one it is, of several."""
        self._stops, self._place, self._speed, self._playing, self._branch = stops, place, speed, playing, branch
        self.refresh()

    def render(self) -> Content:
        if not self._stops:
            return Content("")
        width = self._width
        last = max(1, len(self._stops) - 1)
        marks = defaultdict[int, set[str]](set)
        for place, stop in enumerate(self._stops):
            marks[round(place * (width - 1) / last)].update(_marks(stop))
        here = round(self._place * (width - 1) / last)
        line: list[tuple[str, str]] = []
        for column in range(width):
            mark = next((mark for mark in _LOOKS if mark in marks[column]), "")
            rail = ("━", "$quiet") if column < here else ("─", "$frame")
            line.append(("●", "bold $new") if column == here else (mark, _LOOKS[mark][1]) if mark else rail)
        sign = ("▶ ", "$new") if self._playing else ("‖ ", "$quiet")
        return Content.assemble(sign, *line, "  ", self._words())

    def on_mouse_down(self, event: events.MouseDown) -> None:
        self._held = True
        self.capture_mouse()
        self._go(event)

    def on_mouse_move(self, event: events.MouseMove) -> None:
        if self._held:
            self._go(event)

    def on_mouse_up(self) -> None:
        self._held = False
        self.release_mouse()

    def _go(self, event: events.MouseEvent) -> None:
        last = len(self._stops) - 1
        if last < 1:
            return
        column, width = event.x - 3, self._width
        if self._held or 0 <= column < width:
            place = min(last, max(0, round(column * last / max(1, width - 1))))
            if place != self._place:
                self.post_message(self.Went(place))

    @property
    def _width(self) -> int:
        label = self._words().cell_length
        return max(8, self.content_size.width - 4 - max(label, min(LABEL, self.content_size.width // 3)))

    def _words(self) -> Content:
        stop, last = self._stops[self._place], len(self._stops) - 1
        words = [f"turn {self._place} of {last}" if self._place else f"opening of {last} turns"]
        words += [f"{mark} {_LOOKS[mark][0]}" for mark in _marks(stop) if self._place]
        words += [self._branch] if self._branch else []
        return Content.assemble(" · ".join(words), (f" · {self._speed:g}/s", "$quiet"))


def _marks(stop: ReplayStop) -> list[str]:
    marks = {REFUSED: stop.refused, PLANNED: stop.replanned, LOST: stop.lost}
    return [mark for mark, holds in marks.items() if holds]
