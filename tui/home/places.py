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

from tui.home.catalogue import GameSource
from tui.text import printable

WIDTH = 24


class SourceList(OptionList, inherit_bindings=False):
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

    def show(self, places: Sequence[GameSource], at: GameSource) -> None:
        """List ``places``, with the cursor on ``at``; nothing is posted."""
        options: list[Option | None] = []
        for number, place in enumerate(places):
            if number and place.world != places[number - 1].world:
                options.append(None)
            options.append(Option(_line(place, place.key == at.key), id=place.key))
            last = [each for each in places if each.kind == "missing" and each.world == place.world][-1:]
            if [place] == last and (command := re.search("`([^`]+)`", place.missing)):
                options.append(Option(Content.styled(printable(command[1])[:WIDTH], "$goal"), disabled=True))
        with self.prevent(OptionList.OptionHighlighted):
            self.set_options(options)
            if any(place.key == at.key for place in places):
                self.highlighted = self.get_option_index(at.key)


def _line(place: GameSource, here: bool) -> Content:
    count = {"made-up": "no end", "missing": "not here"}.get(place.kind) or ("" if place.count is None else f"{place.count:,}")
    mark = "▸ " if here else "  "
    title = printable(place.title)[: WIDTH - 3 - len(count)]
    gap = " " * max(1, WIDTH - 2 - cell_len(title) - cell_len(count))
    style = "$quiet" if place.kind == "missing" else "$foreground"
    return Content.assemble((f"{mark}{title}", style), gap, (count, "$quiet"))
