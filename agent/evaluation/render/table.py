"""Tables and reports, and how they are written: as text, JSON, Markdown, CSV or page cells.

A `Column` defines a figure's heading, value and format; a `Table` is rows under columns; a `Report` is what a command prints,
as data for programs and as sections for people.
"""

from __future__ import annotations

import csv
import io
import json
import re
import textwrap
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from housequest.agent.evaluation.analysis.statistics import Interval
from housequest.worlds.text import percentage, printable

R = TypeVar("R")
V = TypeVar("V")

WIDTH = 80
"""Columns of a line of text."""

Cell = str | int | float | None

_SPECIAL = re.compile(r"([\\`*\[\]<>|~$&]|(?<!\w)_|_(?!\w))")
"""Characters with a meaning in Markdown inside a line; an underscore only at the edge of a word."""
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


class Strong(str):
    """A line that stands out where there are colours: the head of a table, and its total."""

    __slots__ = ()


class Warned(str):
    """A line that warns its reader, in a colour where there are any."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Column(Generic[R]):
    """A figure of each row: its heading, value and format. ``number`` columns are right-aligned."""

    heading: str
    value: Callable[[R], Any]
    write: Callable[[Any], str] = str
    number: bool = True

    def cell(self, row: R) -> str:
        """The formatted figure of ``row``."""
        return self.write(self.value(row))


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of cells under ``head``; the first cell of a row is its name, and the row named ``total`` sums up those above it."""

    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    total: str | None = "all"

    @property
    def caption(self) -> str:
        """A caption for pages: the heading of its first column, or else ``All``."""
        return self.head[0][:1].upper() + self.head[0][1:] or "All"

    @classmethod
    def of(
        cls, name: str, columns: Sequence[Column[R]], rows: Iterable[tuple[str, R | None]], total: str | None = "all"
    ) -> Table:
        """A row for each pair of a name and a value, None of what has not begun; ``name`` heads the column of names."""
        cells = ((label, *("-" if row is None else column.cell(row) for column in columns)) for label, row in rows)
        return cls((name, *(column.heading for column in columns)), tuple(cells), total)

    def text(self) -> list[str]:
        """Lines of at most 80 columns, where the figures fit; a name for which no room is left stands above its row."""
        every = (self.head, *self.rows)
        widths = [max(len(row[column]) for row in every) for column in range(len(self.head))]
        widths[0] = min(widths[0], max(8, WIDTH - sum(widths[1:]) - 2 * len(widths[1:])))
        lines: list[str] = []
        for row in every:
            if row[0] == self.total:
                lines.append("-" * (sum(widths) + 2 * len(widths[1:])))
            name, style = one_line(row[0]), Strong if row is self.head or row[0] == self.total else str
            if len(name) > widths[0]:
                lines, name = [*lines, *map(style, wrapped(name))], ""
            cells = [f"{cell:>{width}}" for cell, width in zip(row[1:], widths[1:], strict=True)]
            lines.append(style("  ".join([f"{name:<{widths[0]}}", *cells]).rstrip()))
        return lines

    def markdown(self, numbers: Sequence[int] | None = None) -> list[str]:
        """Lines of Markdown; ``numbers`` are the right-aligned columns, by default all but the first."""
        right = range(1, len(self.head)) if numbers is None else numbers
        rule = ("---:" if column in right else "---" for column in range(len(self.head)))
        return [_piped(self.head), _piped(rule), *(_piped(map(escaped, row)) for row in self.rows)]


Section = Table | Iterable[str]
"""A part of a report for people: a table, or lines."""


class Report(ABC):
    """The output of a command: figures for programs, sections for people."""

    @abstractmethod
    def data(self) -> dict[str, object]:
        """The figures as plain data: shares in [0, 1], null where a figure is unknown."""

    @abstractmethod
    def sections(self) -> Iterable[Section]:
        """The parts for people; empty ones are left out."""

    def render(self, *, as_json: bool) -> str:
        """Indented JSON or text."""
        return json.dumps(self.data(), indent=2) if as_json else self.text()

    def text(self) -> str:
        """The sections in at most 80 columns, separated by empty lines."""
        return "\n".join(self.lines()) + "\n"

    def lines(self) -> Iterator[str]:
        """The lines of the text, of which some are `Strong` or `Warned`."""
        first = True
        for section in self.sections():
            lines = section.text() if isinstance(section, Table) else list(section)
            if lines and not first:
                yield ""
            first = first and not lines
            yield from lines


class TabledReport(Report):
    """A report that is written as Markdown and on pages, too: what it is of, tables, and sentences below them."""

    heading: Sequence[tuple[str, str]]

    @abstractmethod
    def tables(self) -> Iterator[Table]:
        """The figures for people."""

    @abstractmethod
    def sentences(self) -> Iterator[str]:
        """Notes for a reader of the tables."""

    def between(self) -> Iterator[Section]:
        """Sections for people that stand between the heading and the tables."""
        return iter(())

    def sections(self) -> Iterator[Section]:
        yield named_lines(self.heading, width=10)
        yield from self.between()
        yield from self.tables()
        yield (line for sentence in self.sentences() for line in wrapped(sentence))


def csv_text(rows: Sequence[Mapping[str, Cell]], columns: Iterable[str]) -> str:
    """``rows`` as CSV under the names of their ``columns``; unknown values are empty. Text is made printable, and gets a
    leading apostrophe where a spreadsheet would read a formula.
    """
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([_safe(cell) for cell in row.values()] for row in rows)
    return file.getvalue()


def _safe(cell: Cell) -> Cell:
    if not isinstance(cell, str):
        return cell
    text = printable(cell).replace("\n", " ")
    return f"'{text}" if text.startswith(_FORMULA) else text


def _piped(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def escaped(text: str) -> str:
    """Escape ``text`` for Markdown."""
    return _SPECIAL.sub(r"\\\1", " ".join(printable(text).split()))


def named_lines(pairs: Iterable[tuple[str, str]], width: int = 8) -> Iterator[str]:
    """Names and values, one pair a line."""
    for name, value in pairs:
        yield from wrapped(value, f"{name:<{width}}")


def plain_data(value: object, *names: str) -> dict[str, Any]:
    """These attributes of ``value`` by name as plain data: an interval as its two ends."""
    found = {name: getattr(value, name) for name in names}
    return {name: ends(each) if isinstance(each, Interval) else each for name, each in found.items()}


def ends(interval: Interval | None) -> list[float] | None:
    """An interval as plain data."""
    return None if interval is None else [interval.low, interval.high]


def _or_dash(write: Callable[[V], str]) -> Callable[[V | None], str]:
    """``write``, with ``-`` for what is unknown."""
    return lambda value: "-" if value is None else write(value)


percent: Callable[[float | None], str] = _or_dash(lambda share: f"{percentage(share, 1)} %")
"""A share as a percentage."""
percents: Callable[[Interval | None], str] = _or_dash(lambda of: f"{percentage(of.low, 1)}-{percentage(of.high, 1)} %")
"""An interval of shares as percentages."""
points: Callable[[Interval | None], str] = _or_dash(lambda of: f"{of.low * 100:+.1f} to {of.high * 100:+.1f}")
"""An interval of a difference of shares, in percentage points."""
number: Callable[[float | None], str] = _or_dash(lambda value: f"{value:.1f}")
"""A number to one place."""
numbers: Callable[[Interval | None], str] = _or_dash(lambda of: f"{of.low:.1f}-{of.high:.1f}")
"""An interval of numbers."""
known: Callable[[int | None], str] = _or_dash(str)
"""A count."""


def chance(p: float) -> str:
    """The p of a test."""
    return "under 0.001" if p < 0.001 else f"{p:.3f}"


def one_line(text: str) -> str:
    """``text``, made printable, on one line."""
    return " ".join(printable(text).split())


def wrapped(text: str, first: str = "", rest: str | None = None) -> list[str]:
    """Printable ``text`` in lines of at most 80 columns."""
    rest = " " * len(first) if rest is None else rest
    return textwrap.wrap(printable(text), WIDTH, initial_indent=first, subsequent_indent=rest, break_on_hyphens=False)
