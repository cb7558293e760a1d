"""The list of where games come from, each with how many there are."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from rich.cells import cell_len
from textual import on
from textual.binding import BindingType
from textual.content import Content
from textual.message import Message
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from tui.home.catalogue import GameSource
from tui.text import printable

WIDTH = 24
_BACKQUOTED = re.compile("`([^`]+)`")
LONGEST_COUNT = 10


class SourceList(OptionList, inherit_bindings=False):
    """Lists sources of games; moving to another one posts ``Chosen``."""

    # Without those of a scroll view: left and right change the pane.
    BINDINGS: ClassVar[list[BindingType]] = OptionList.BINDINGS
    DEFAULT_CSS = """
    SourceList {
        width: 28;
        height: 1fr;
        max-height: 100%;
        padding: 0 1;
        text-wrap: nowrap;
        text-overflow: ellipsis;
        border: round $frame;
        border-title-color: $foreground;
        background: $background;
        scrollbar-size-vertical: 1;
        scrollbar-color: $frame;
        scrollbar-background: $background;
        & > .option-list--option-highlighted { background: $panel; color: $foreground; }
        & > .option-list--option-disabled { color: $quiet; }
        & > .option-list--separator { color: $frame; }
        & > .option-list--option-hover { background: $surface; }
        &:focus { border: round $goal; background-tint: $background 0%; }
        &:focus > .option-list--option-highlighted { background: $panel; color: $foreground; text-style: bold; }
    }
    """

    @dataclass
    class Chosen(Message):
        """Show ``place``."""

        place: GameSource

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id, markup=False)
        self._places: Sequence[GameSource] = ()
        self._at = ""

    def show(self, places: Sequence[GameSource], at: GameSource) -> None:
        """List ``places``, with the cursor on ``at``; nothing is posted."""
        self._places, self._at = places, at.key
        options: list[Option | None] = []
        group = ""
        for place in places:
            if group and _group(place) != group:
                options.append(None)
            group = _group(place)
            options.append(Option(_line(place, place.key == at.key), id=place.key))
            last = [each for each in places if each.kind == "missing" and each.world == place.world][-1:]
            if [place] == last and (command := _BACKQUOTED.search(missing(place))):
                options.append(Option(Content.styled(printable(command[1])[:WIDTH], "$goal"), disabled=True))
        with self.prevent(OptionList.OptionHighlighted):
            self.set_options(options)
            if any(place.key == at.key for place in places):
                self.highlighted = self.get_option_index(at.key)

    @on(OptionList.OptionHighlighted)
    def _moved(self, moved: OptionList.OptionHighlighted) -> None:
        moved.stop()
        place = next((place for place in self._places if place.key == moved.option_id), None)
        if place is not None and place.key != self._at:
            self.post_message(self.Chosen(place))


def name(place: GameSource) -> str:
    """What a source is called; splits of the default world go without its name."""
    from agent.config import DEFAULT_WORLD

    if place.of_records:
        return place.kind
    split = "made-up houses" if place.kind == "made-up" and place.world == DEFAULT_WORLD else place.split
    return split if place.world == DEFAULT_WORLD else f"{split} · {place.world}"


def missing(place: GameSource) -> str:
    """How to get the games of a split that is not installed; empty for other sources."""
    from worlds.registry import world_class

    if place.kind != "missing":
        return ""
    return f"The games of {name(place)} are not on this machine. {world_class(place.world).get_data}"


def _group(place: GameSource) -> str:
    return place.world or "records"


def _line(place: GameSource, here: bool) -> Content:
    count = {"made-up": "no end", "missing": "not here"}.get(place.kind) or ("" if place.count is None else f"{place.count:,}")
    mark = "▸ " if here else "  "
    title = printable(name(place))[: WIDTH - 3 - len(count)]
    gap = " " * max(1, WIDTH - 2 - cell_len(title) - cell_len(count))
    quiet = place.kind == "missing"
    return Content.assemble((f"{mark}{title}", "$quiet" if quiet else "$foreground"), gap, (count, "$quiet"))
