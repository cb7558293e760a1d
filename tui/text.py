"""Text that is safe and readable in a terminal: made printable, wrapped, coloured where that is wanted.

What games and models say is untrusted: a control character in it is shown, never sent to the terminal.
"""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from typing import Literal

from worlds.text import cut, printable

__all__ = ["Look", "Style", "cut", "printable"]

LONGEST_TEXT = 8_000

Style = Literal["goal", "command", "dim", "good", "bad"]

_COLOURS: dict[Style, str] = {"goal": "1", "command": "36", "dim": "2", "good": "1;32", "bad": "1;31"}


@dataclass(frozen=True, slots=True)
class Look:
    """How text is laid out: columns, and whether the terminal shows colours."""

    width: int = 80
    colour: bool = False

    def paint(self, style: Style, text: str) -> str:
        """``text`` in ``style``, where there are colours."""
        return f"\x1b[{_COLOURS[style]}m{text}\x1b[0m" if self.colour and text else text

    def wrapped(self, text: str, first: str = "", rest: str | None = None) -> list[str]:
        """``text`` made printable and broken into lines, the first and the others indented."""
        rest = first if rest is None else rest
        lines: list[str] = []
        for line in printable(cut(text, LONGEST_TEXT)).split("\n"):
            indent = first if not lines else rest
            width = max(self.width, len(indent) + 20)
            lines += textwrap.wrap(
                line, width, initial_indent=indent, subsequent_indent=rest, break_on_hyphens=False, replace_whitespace=False
            ) or [indent.rstrip()]
        return lines
