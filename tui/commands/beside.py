"""Two episodes of one task beside each other, turn by turn, as lines of plain text."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from itertools import zip_longest

from agent.evaluation.analysis.transcript import Transcript, TranscriptNote, TranscriptTurn, aligned
from tui.text import TextLayout, TextStyle, cut, printable

NARROW = 100
"""Columns below which the second episode's turn stands under the first's."""

LONGEST_ASIDE = 600

_BETWEEN = " | "

Line = tuple[TextStyle | None, str]


def beside(first: Transcript, second: Transcript, names: tuple[str, str], look: TextLayout) -> Iterator[str]:
    """``first`` and ``second``, called by ``names``, laid out for ``look``."""
    start = first.started or second.started
    if start is not None:
        blank: Line = (None, "")
        lines = [*_fitted(start.goal.strip(), look, "", "", "goal"), blank, *_fitted(start.opening.strip(), look, "", "", None)]
        yield from (_painted(line, look) for line in [*lines, blank])
    columns = _Columns(look) if look.width >= NARROW else _Stack(look, names)
    yield from columns.row([("goal", printable(name)) for name in names[:1]], [("goal", printable(name)) for name in names[1:]])
    for one, other in aligned(first, second):
        yield from columns.row(_turn(one, columns.look), _turn(other, columns.look))
    yield from columns.row(_end(first, columns.look), _end(second, columns.look))


class _Columns:
    """Two columns of equal width."""

    def __init__(self, look: TextLayout) -> None:
        self._whole = look
        self.look = TextLayout((look.width - len(_BETWEEN)) // 2, look.colour)

    def row(self, left: list[Line], right: list[Line]) -> Iterator[str]:
        nothing: Line = (None, "")
        for one, other in zip_longest(left, right, fillvalue=nothing):
            fill = " " * max(0, self.look.width - cells(one[1]))
            yield f"{_painted(one, self.look)}{fill}{_BETWEEN}{_painted(other, self.look)}".rstrip()
        yield f"{' ' * self.look.width}{_BETWEEN}".rstrip()


class _Stack:
    """One below the other, each with its name."""

    def __init__(self, look: TextLayout, names: tuple[str, str]) -> None:
        self.look = look
        self._names = [printable(name) for name in names]

    def row(self, left: list[Line], right: list[Line]) -> Iterator[str]:
        told = [(name, lines) for name, lines in zip(self._names, (left, right), strict=True) if lines != [("goal", name)]]
        for name, lines in told:
            if lines:
                yield self.look.paint("dim", f"-- {name}")
                yield from (_painted(line, self.look) for line in lines)
        if told:
            yield ""


def _painted(line: Line, look: TextLayout) -> str:
    style, text = line
    return look.paint(style, text) if style else text


def _turn(told: TranscriptTurn | None, look: TextLayout) -> list[Line]:
    if told is None:
        return []
    lines = [line for aside in told.asides for line in _aside(aside, look)]
    if told.command is None:
        return [*lines, ("dim", f"{told.number:>2}   (no command)")]
    by = {"agent": "", "person": " (by a person)", "curiosity": " (by chance)"}[told.by]
    lines += _fitted(f"{told.command}{by}", look, f"{told.number:>2} > ", "     ", "command")
    said = f"{told.observation.strip()} {told.explanation or ''}".strip()
    return lines + _fitted(said, look, "     ", "     ", None if told.accepted else "dim")


def _end(transcript: Transcript, look: TextLayout) -> list[Line]:
    won = transcript.ended is not None and transcript.ended.outcome == "won"
    lines = [line for aside in transcript.after if isinstance(aside, TranscriptNote) for line in _aside(aside, look)]
    outcome = transcript.outcome
    return lines + _fitted(f"{outcome[:1].upper()}{outcome[1:]}.", look, "", "", "good" if won else "bad")


def _aside(aside: TranscriptNote, look: TextLayout) -> list[Line]:
    text = " ".join(cut(aside.text, LONGEST_ASIDE).split())
    return _fitted(f"{aside.who}: {text}", look, "     ", "       ", "dim")


def _fitted(text: str, look: TextLayout, first: str, rest: str, style: TextStyle | None) -> list[Line]:
    lines = look.wrapped(text, first, rest)
    if any(cells(line) > look.width for line in lines):
        # Characters two columns wide: half as many fit.
        lines = TextLayout(look.width // 2, look.colour).wrapped(text, first, rest)
    return [(style, line) for line in lines]


def cells(text: str) -> int:
    """How many columns of a terminal ``text`` takes."""
    return sum(
        0 if unicodedata.combining(character) else 2 if unicodedata.east_asian_width(character) in "WF" else 1
        for character in text
    )
