"""Numbers of turns as bars beneath each other, so that who was quicker is seen before it is read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.cells import cell_len
from textual.content import Content

from housequest.tui.widgets.lines import flat

_BAR = "━"
_GAP = 2
_LEAST = 4
_BROADEST = 3
"""Cells that a turn is given at most."""


@dataclass(frozen=True, slots=True)
class Bar:
    """One bar: whose it is, how many turns (None: not known), and in which style, with a ``note`` behind it."""

    label: str
    turns: int | None
    style: str = "$quiet"
    note: str = ""


def bars(rows: Sequence[Bar], width: int) -> list[Content]:
    """A line of at most ``width`` columns for each of ``rows``: some cells a turn, the same number in all of them.

    Where there is no room for a bar, the numbers stand alone.
    """
    labels = [flat(row.label) for row in rows]
    noted = max((cell_len(row.note) + _GAP for row in rows if row.note and row.turns is not None), default=0)
    longest = max((row.turns or 0 for row in rows), default=0)
    indent = min(max((cell_len(label) for label in labels), default=0), max(width // 2, 1)) + _GAP
    room = width - indent - len(str(longest)) - _GAP - noted
    return [
        _line(row, label, indent, room, longest).truncate(width, ellipsis=True) for row, label in zip(rows, labels, strict=True)
    ]


def _line(row: Bar, label: str, indent: int, room: int, longest: int) -> Content:
    name = Content.styled(label, "$quiet").truncate(indent - _GAP, ellipsis=True)
    name = name.pad_right(max(0, indent - name.cell_length))
    if row.turns is None:
        return name + Content.styled(row.note, "$quiet")
    scale = min(_BROADEST, room // max(longest, 1)) or room / max(longest, 1)
    bar = _BAR * max(round(row.turns * scale), 1 if row.turns else 0) if room >= _LEAST else ""
    note = f"  {row.note}" if row.note else ""
    return Content.assemble(name, (f"{bar}  " if bar else "", row.style), (str(row.turns), "bold"), (note, "$quiet"))
