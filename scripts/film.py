"""Screens of the program as one SVG: a still, or a film of several that plays wherever an SVG is shown, without a script.

A row that comes again is drawn once. Blocks, of which the View is made, become rectangles, so that no font leaves gaps.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from itertools import accumulate, groupby
from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.color import Color
from rich.style import Style

if TYPE_CHECKING:
    from textual.strip import Strip

Cell = tuple[str, Style]
"""A character and its style; the right half of a wide character is empty."""
Rows = Sequence[Sequence[Cell]]
_Area = tuple[float, float, float, float]
_WIDE, _HIGH, _FONT = 8.4, 17, 14
"""Pixels of a cell, and of the font."""
_EDGE, _BAR = 12, 30
_PAPER, _INK, _FRAME, _QUIET = "#121212", "#e0e0e0", "#1f1f1f", "#9aa0a6"
_DOTS = ("#ff5f57", "#febc2e", "#28c840")
_FONTS = "'Fira Code', 'DejaVu Sans Mono', Menlo, Consolas, monospace"
_BLOCKS = {
    "█": ((0, 0, 1, 1),),
    "▀": ((0, 0, 1, 0.5),),
    "▄": ((0, 0.5, 1, 0.5),),
    "▌": ((0, 0, 0.5, 1),),
    "▐": ((0.5, 0, 0.5, 1),),
    "▘": ((0, 0, 0.5, 0.5),),
    "▝": ((0.5, 0, 0.5, 0.5),),
    "▖": ((0, 0.5, 0.5, 0.5),),
    "▛": ((0, 0, 1, 0.5), (0, 0.5, 0.5, 0.5)),
    "▞": ((0.5, 0, 0.5, 0.5), (0, 0.5, 0.5, 0.5)),
}
"""Characters that are rectangles: left, top, width and height as shares of a cell."""


def cells(strip: Strip) -> list[Cell]:
    """A row of the screen cell by cell."""
    row: list[Cell] = []
    for segment in strip:
        style = segment.style or Style.null()
        for character in segment.text:
            if width := cell_len(character):
                row += [(character, style), *[("", style)] * (width - 1)]
            elif row:
                row[-1] = (row[-1][0] + character, row[-1][1])
    return row


@dataclass(frozen=True)
class Frame:
    """What the screen shows for so many ``seconds``, and what a person does or sees there."""

    rows: Rows
    caption: str = ""
    seconds: float = 1.0


def draw_film(frames: Sequence[Frame], title: str) -> str:
    """The frames as an SVG that begins again at its end; one frame is a still."""
    columns, lines = max(len(row) for row in frames[0].rows), len(frames[0].rows)
    captioned = any(frame.caption for frame in frames)
    width = round(columns * _WIDE + 2 * _EDGE)
    height = lines * _HIGH + _BAR + _EDGE + (_BAR if captioned else 0)
    names: dict[str, str] = {}
    strip: list[str] = []
    for place, frame in enumerate(frames):
        uses: list[str] = []
        for number, row in enumerate(frame.rows):
            if drawn := _row(row):
                name = names.setdefault(drawn, f"r{len(names)}")
                uses.append(f'<use href="#{name}" y="{number * _HIGH}"/>')
        caption = f'<text class="c" x="0" y="{lines * _HIGH + 22}">{escape(frame.caption)}</text>' if frame.caption else ""
        strip.append(f'<g transform="translate({place * width})">{"".join(uses)}{caption}</g>')
    rows = "".join(f'<g id="{name}">{drawn}</g>' for drawn, name in names.items())
    dots = "".join(f'<circle cx="{18 + 18 * at}" cy="15" r="5" fill="{ink}"/>' for at, ink in enumerate(_DOTS))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img">\n<title>{escape(title)}</title>\n'
        f"<style>{_style(frames, width)}</style>\n<defs>{rows}</defs>\n"
        f'<rect width="{width}" height="{height}" rx="8" fill="{_FRAME}"/>{dots}'
        f'<text class="t" x="{width / 2:g}" y="19">{escape(title)}</text>\n'
        f'<rect x="{_EDGE}" y="{_BAR}" width="{columns * _WIDE:g}" height="{lines * _HIGH}" fill="{_PAPER}"/>\n'
        f'<svg x="{_EDGE}" y="{_BAR}" width="{width - _EDGE}" height="{height - _BAR}"><g class="f">\n'
        + "\n".join(strip)
        + "\n</g></svg>\n</svg>\n"
    )


def _style(frames: Sequence[Frame], width: int) -> str:
    text = (
        f"text{{font:{_FONT}px {_FONTS};white-space:pre}}.b{{font-weight:bold}}.i{{font-style:italic}}"
        f".u{{text-decoration:underline}}.p{{shape-rendering:crispEdges}}.t{{fill:{_QUIET};text-anchor:middle}}.c{{fill:{_INK};font-size:16px}}"
    )
    if len(frames) == 1:
        return text
    ends = list(accumulate(frame.seconds for frame in frames))
    stops = "".join(
        f"{100 * begins / ends[-1]:.3f}%{{transform:translateX(-{place * width}px)}}"
        for place, begins in enumerate([0.0, *ends[:-1]])
    )
    # For who wants nothing to move, the last frame stands.
    still = f"@media (prefers-reduced-motion){{.f{{animation:none;transform:translateX(-{(len(frames) - 1) * width}px)}}}}"
    return f"{text}@keyframes f{{{stops}}}.f{{animation:f {ends[-1]:g}s steps(1,end) infinite}}{still}"


def _row(row: Sequence[Cell]) -> str:
    """What a row looks like at the top of the screen."""
    papers, inks = defaultdict[str, list[_Area]](list), defaultdict[str, list[_Area]](list)
    texts: list[str] = []
    at = 0
    for style, run in groupby(row, key=lambda cell: cell[1]):
        characters = [text for text, _ in run]
        ink, paper = _colours(style)
        if paper != _PAPER:
            papers[paper].append((at, 0, len(characters), 1))
        for block, part in groupby(enumerate(characters, at), key=lambda one: one[1]):
            places = [place for place, _ in part]
            for left, top, wide, high in _BLOCKS.get(block, ()):
                spans = [(places[0], len(places) * wide)] if wide == 1 else [(place + left, wide) for place in places]
                inks[ink] += [(begins, top, reaches, high) for begins, reaches in spans]
        kinds = "".join("b" if each in _BLOCKS else " " if each == " " else "x" for each in characters)
        for words in re.finditer(r"x+(?: x+)*", kinds):  # no gaps of several cells, whatever font shows them
            text = "".join(characters[words.start() : words.end()])
            texts.append(_text(at + words.start(), text, len(words[0]), ink, style))
        at += len(characters)
    paths = "".join(_path(*each) for each in (*papers.items(), *inks.items()))
    return (f'<g class="p" transform="scale({_WIDE:g} {_HIGH:g})">{paths}</g>' if paths else "") + "".join(texts)


def _path(colour: str, areas: Sequence[_Area]) -> str:
    places = "".join(f"M{left:g} {top:g}h{wide:g}v{high:g}h-{wide:g}z" for left, top, wide, high in areas)
    return f'<path fill="{colour}" d="{places}"/>'


def _text(at: int, text: str, cells: int, ink: str, style: Style) -> str:
    marks = "".join(name for name, holds in zip("biu", (style.bold, style.italic, style.underline), strict=True) if holds)
    kind = f' class="{" ".join(marks)}"' if marks else ""
    length = f' textLength="{round(cells * _WIDE, 1):g}"' if cells > 1 else ""
    return f'<text x="{round(at * _WIDE, 1):g}" y="13" fill="{ink}"{kind}{length}>{escape(text, quote=False)}</text>'


def _colours(style: Style) -> tuple[str, str]:
    """Ink and paper of a style."""
    ink, paper = _hex(style.color, _INK), _hex(style.bgcolor, _PAPER)
    if style.dim:
        ink = "#" + "".join(f"{(int(ink[at : at + 2], 16) + int(paper[at : at + 2], 16)) // 2:02x}" for at in (1, 3, 5))
    return (paper, ink) if style.reverse else (ink, paper)


def _hex(colour: Color | None, otherwise: str) -> str:
    return otherwise if colour is None or colour.is_default else colour.get_truecolor().hex
