"""Text that is safe and readable in a terminal: made printable, wrapped, coloured where that is wanted.

What games and models say is untrusted: a control character in it is shown, never sent to the terminal.
"""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from typing import Literal

LONGEST_TEXT = 8_000

Style = Literal["goal", "command", "dim", "good", "bad"]

_COLOURS: dict[Style, str] = {"goal": "1", "command": "36", "dim": "2", "good": "1;32", "bad": "1;31"}
_KEPT = {"\n", "\u200c", "\u200d"}
"""Not printable by the letter of Unicode, but harmless: line ends, and the joiners that scripts and emoji need."""
_SPACES = {"\t": "    ", "\u00a0": " ", "\u3000": "  "}


def printable(text: str) -> str:
    """``text`` with every character that could steer a terminal, reverse its direction or break its encoding made visible."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(_visible(character) for character in text.replace("\r\n", "\n"))


def _visible(character: str) -> str:
    if character.isprintable() or character in _KEPT:
        return character
    if character in _SPACES:
        return _SPACES[character]
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


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


def cut(text: str, longest: int) -> str:
    """At most ``longest`` characters of ``text``, and how many there were beyond them."""
    return text if len(text) <= longest else f"{text[:longest]}... ({len(text) - longest} characters more)"
