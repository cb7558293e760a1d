"""A recorded episode as one line, with refused turns and changes of the plan; a click goes there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from textual import events
from textual.content import Content
from textual.message import Message
from textual.widget import Widget

from tui.replay.recording import ReplayStop

LABEL = 34
"""Columns of the words to the right of the line, where there is room for them."""

HERE, LOST, PLANNED, REFUSED = "●", "!", "◆", "×"
RANK = (LOST, PLANNED, REFUSED, "")
_STYLES = {LOST: "bold $fault", PLANNED: "$goal", REFUSED: "$fault"}


@dataclass(frozen=True, slots=True)
class Playback:
    """Whether it plays, and its speed in turns a second."""

    playing: bool
    speed: float


class Timeline(Widget):
    """Shows ``stops`` from the first to the last; knows nothing of what they are stops of."""

    DEFAULT_CSS = """
    Timeline { height: 1; padding: 0 1; background: $background; color: $foreground; }
    """

    @dataclass
    class Went(Message):
        """Go to this stop."""

        place: int

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._stops: Sequence[ReplayStop] = ()
        self._place = 0
        self._pace = Playback(False, 1.0)
        self._branch = ""
        self._held = False

    def show(self, stops: Sequence[ReplayStop], place: int, pace: Playback, branch: str = "") -> None:
        """Be at ``place`` of ``stops``; ``branch`` says which branch they are of, where there are several."""
        self._stops, self._place, self._pace, self._branch = stops, place, pace, branch
        self.refresh()

    def render(self) -> Content:
        if not self._stops:
            return Content("")
        width = self._width
        sign = ("▶ ", "$new") if self._pace.playing else ("‖ ", "$quiet")
        marks = self._marks(width)
        here = self._column(self._place, width)
        line = Content.assemble(*(self._drawn(column, here, marks.get(column)) for column in range(width)))
        return Content.assemble(sign, line, "  ", self._words())

    def on_mouse_down(self, event: events.MouseDown) -> None:
        self._held = True
        self.capture_mouse()
        self._go(event)

    def on_mouse_move(self, event: events.MouseMove) -> None:
        if self._held:
            self._go(event)

    def on_mouse_up(self, event: events.MouseUp) -> None:
        del event
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

    def _column(self, place: int, width: int) -> int:
        last = len(self._stops) - 1
        return round(place * (width - 1) / last) if last else 0

    def _marks(self, width: int) -> dict[int, str]:
        """The marks by column; where several fall together, the turn at which it was lost wins, then a change of the plan."""
        marks: dict[int, str] = {}
        for place, stop in enumerate(self._stops):
            column = self._column(place, width)
            for mark, holds in ((LOST, stop.lost), (PLANNED, stop.replanned), (REFUSED, stop.refused)):
                if holds and RANK.index(mark) < RANK.index(marks.get(column, "")):
                    marks[column] = mark
        return marks

    def _drawn(self, column: int, here: int, mark: str | None) -> tuple[str, str]:
        if column == here:
            return (HERE, "bold $new")
        if mark is not None:
            return (mark, _STYLES[mark])
        return ("━", "$quiet") if column < here else ("─", "$frame")

    def _words(self) -> Content:
        stop, last = self._stops[self._place], len(self._stops) - 1
        told = [f"turn {self._place} of {last}" if self._place else f"opening of {last} turns"]
        told += [f"{REFUSED} refused"] if stop.refused else []
        told += [f"{PLANNED} plan"] if stop.replanned else []
        told += [f"{LOST} lost here"] if stop.lost and self._place else []
        told += [self._branch] if self._branch else []
        speed = f"{self._pace.speed:g}/s"
        return Content.assemble(" · ".join(told), (f" · {speed}", "$quiet"))
