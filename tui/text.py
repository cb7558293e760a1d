"""Text that is safe and readable in a terminal: control characters in what games and models say are shown, never sent."""

from __future__ import annotations

import re
import textwrap
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal

from housequest.worlds.text import cut, percentage, printable

__all__ = ["cut", "percentage", "printable"]

LONGEST_TEXT = 8_000

TextStyle = Literal["goal", "command", "dim", "good", "bad", "news"]

_COLOURS: dict[TextStyle, str] = {"goal": "1", "command": "36", "dim": "2", "good": "1;32", "bad": "1;31", "news": "35"}


@dataclass(frozen=True, slots=True)
class TextLayout:
    """The width of text in columns, and whether the terminal shows colours."""

    width: int = 80
    colour: bool = False

    def paint(self, style: TextStyle, text: str) -> str:
        """``text`` in ``style``, where there are colours."""
        return f"\x1b[{_COLOURS[style]}m{text}\x1b[0m" if self.colour and text else text

    def painted(self, style: TextStyle, text: str, first: str = "", rest: str | None = None) -> list[str]:
        """The lines of ``wrapped``, each in ``style``."""
        return [self.paint(style, line) for line in self.wrapped(text, first, rest)]

    def wrapped(self, text: str, first: str = "", rest: str | None = None) -> list[str]:
        """``text``, made printable, in lines; ``first`` and ``rest`` are the indents of the first line and the others."""
        if not text.isascii():
            from rich.cells import cell_len

            if any(cell_len(line) > self.width for line in self._wrapped(text, first, rest)):
                # Some characters are two columns wide: half as many fit.
                return TextLayout(self.width // 2)._wrapped(text, first, rest)
        return self._wrapped(text, first, rest)

    def _wrapped(self, text: str, first: str, rest: str | None) -> list[str]:
        rest = first if rest is None else rest
        lines: list[str] = []
        for line in printable(cut(text, LONGEST_TEXT)).split("\n"):
            indent = first if not lines else rest
            width = max(self.width, len(indent) + 20)
            lines += textwrap.wrap(
                line, width, initial_indent=indent, subsequent_indent=rest, break_on_hyphens=False, replace_whitespace=False
            ) or [indent.rstrip()]
        return lines


@cache
def _tables() -> Mapping[str, Mapping[str, Any]]:
    return tomllib.loads(Path(__file__).with_name("commands").joinpath("words.toml").read_text("utf-8"))


def words(table: str) -> Mapping[str, Any]:
    """A table of ``commands/words.toml``: what is said of each kind of thing."""
    return _tables()[table]


def one_line(text: str, longest: int = LONGEST_TEXT) -> str:
    """At most ``longest`` characters of ``text``, made printable, on one line, with single spaces."""
    return printable(" ".join(cut(text, longest).split()))


def natural(text: str) -> tuple[tuple[str | int, ...], str]:
    """A key to sort by, in which numbers are in order of size: cabinet 2 comes before cabinet 10."""
    parts = re.split(r"(\d{1,9})", text.lower())
    return tuple(int(part) if at % 2 else part for at, part in enumerate(parts)), text


def plural(number: int | None, word: str) -> str:
    """``number`` with ``word``: "1 turn", "2,000 turns"."""
    return f"{number if number is None else f'{number:,}'} {word}{'' if number == 1 else 's'}"


def bar_text(share: float, width: int) -> str:
    """A bar of at most ``width`` cells for a ``share`` from 0 to 1, to an eighth of a cell; empty only for 0."""
    eighths = min(8 * width, max(round(8 * width * share), share > 0))
    return "█" * (eighths // 8) + " ▏▎▍▌▋▊▉"[eighths % 8].strip()


def table(rows: Sequence[tuple[str, ...]]) -> list[str]:
    """Rows in columns, safe to print; the first is the heading."""
    safe = [tuple(map(printable, row)) for row in rows]
    widths = [max(map(len, column)) for column in zip(*safe, strict=True)]
    return ["  ".join(map(str.ljust, row, widths)).rstrip() for row in safe]
