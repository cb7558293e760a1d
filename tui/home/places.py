"""The list of where games come from, each with how many there are."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import ClassVar

from rich.cells import cell_len
from textual.binding import BindingType
from textual.content import Content
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from housequest.tui.home.catalogue import GameSource
from housequest.tui.text import printable
from housequest.tui.widgets.paged_list import PagedList

WIDTH = 24
"""Columns of a line; where the window is `BROAD`, as many as the longest needs."""
BROAD = 100
_FRAME = 4


class SourceList(PagedList, inherit_bindings=False):
    """Lists sources of games, each with its key as the option's id."""

    # Without those of a scroll view: left and right change the pane.
    BINDINGS: ClassVar[list[BindingType]] = OptionList.BINDINGS
    BORDER_TITLE = "housequest"
    DEFAULT_CSS = """
    SourceList {
        width: 28; height: 1fr; max-height: 100%; padding: 0 0 0 1; text-wrap: nowrap; text-overflow: ellipsis;
        border: round $frame; border-title-color: $foreground; background: $background; scrollbar-size-vertical: 1;
        & > .option-list--option-highlighted { text-style: none; }
        & > .option-list--option-disabled { color: $quiet; }
        & > .option-list--separator { color: $frame; }
        &:focus { border: round $goal; background-tint: $background 0%; }
        &:focus > .option-list--option-highlighted { text-style: bold; }
    }
    """

    _shown: tuple[Sequence[GameSource], GameSource] | None = None
    _width = WIDTH

    def on_resize(self) -> None:
        if self._shown is not None and self._room(self._shown[0]) != self._width:
            self.show(*self._shown)

    def _room(self, places: Sequence[GameSource]) -> int:
        """Columns of a line."""
        longest = max((cell_len(printable(place.title)) + len(_count(place)) + _FRAME for place in places), default=WIDTH)
        return max(WIDTH, longest) if self.app.size.width >= BROAD else WIDTH  # pyright: ignore[reportUnknownMemberType]

    def show(self, places: Sequence[GameSource], at: GameSource) -> None:
        """List ``places``, with the cursor on ``at``; nothing is posted."""
        self._shown, self._width = (places, at), self._room(places)
        self.styles.width = self._width + _FRAME
        options: list[Option | None] = []
        for number, place in enumerate(places):
            if number and place.world != places[number - 1].world:
                options.append(None)
            options.append(Option(_line(place, place.key == at.key, self._width), id=place.key))
            last = [each for each in places if each.kind == "missing" and each.world == place.world][-1:]
            if [place] == last and (command := re.search("`([^`]+)`", place.missing)):
                options.append(Option(Content.styled(printable(command[1])[: self._width], "$goal"), disabled=True))
        with self.prevent(OptionList.OptionHighlighted):
            self.set_options(options)
            if any(place.key == at.key for place in places):
                self.highlighted = self.get_option_index(at.key)


def _count(place: GameSource) -> str:
    return {"made-up": "endless", "missing": "not here"}.get(place.kind) or ("" if place.count is None else f"{place.count:,}")


def _line(place: GameSource, here: bool, width: int) -> Content:
    count, title = _count(place), Content(printable(place.title))
    if place.kind == "made-up" and title.cell_length > width - 3 - len(count):
        count = ""  # the name says more
    mark = "▸ " if here else "  "
    title = title.truncate(width - 3 - len(count), ellipsis=True)
    gap = " " * max(1, width - 2 - title.cell_length - len(count))
    style = "$quiet" if place.kind == "missing" else "$foreground"
    return Content.assemble((f"{mark}{title.plain}", style), gap, (count, "$quiet"))
