"""Lays out an episode as lines of text, without a screen.

A turn is laid out in the order of events: its notes (each folded to one line until it is opened), the command beside its
number, and the observation below. All of it is untrusted text: made printable, never read as markup.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

from textual.content import Content

from housequest.agent.episodes.events import Started
from housequest.tui.episode.state import StoryNote, TurnEntry
from housequest.tui.text import LONGEST_TEXT, cut, printable
from housequest.tui.theme import role_style

MEASURE = 96
"""The longest line, in cells: longer ones are hard to follow."""

_NAMES = 8
"""Cells for a role's name where there is room, so that notes line up."""
_ROOMY = 48


@dataclass(frozen=True, slots=True)
class FoldableNote:
    """A note that can be opened: the event it follows, its place among the notes there, and itself."""

    after: int | None
    number: int
    note: StoryNote


@dataclass(frozen=True, slots=True)
class StoryLine:
    """One line of the story: its margin and its text.

    ``fold`` is the note that a click opens or closes. ``turn``: it is part of the command or the observation.
    """

    margin: Content
    text: Content
    fold: FoldableNote | None = None
    turn: bool = False


class StoryLayout:
    """Lays out an episode for one width, in cells.

    ``wanted`` are the kinds of things to highlight in observations. ``airy`` puts a blank line between turns.
    """

    def __init__(self, width: int, wanted: Collection[str] = (), *, airy: bool = False) -> None:
        self._width = max(12, min(width - len(_INDENT) - 1, MEASURE))
        words = "|".join(sorted(map(re.escape, wanted), key=lambda word: (-len(word), word)))
        # Things of these kinds: after an article, or before a number.
        found = rf"(?:(?<=\ba )|(?<=\ban )|(?<=\bthe ))(?:{words})(?: \d+)?\b|\b(?:{words}) \d+\b"
        self._wanted = re.compile(found, re.IGNORECASE) if words else None
        self._gap = (_BLANK,) if airy else ()
        self._end = () if airy else (_BLANK,)

    def opening(self, started: Started) -> tuple[StoryLine, ...]:
        """The first observation, with the task highlighted."""
        goal = started.goal.strip()
        rows: list[StoryLine] = []
        for line in _lines(started.opening):
            if goal and goal in line:
                text = Content(line).stylize("bold $goal")
            else:
                text = self._observed(line, quiet=line.startswith(_BANNER))
            rows += _beneath(_wrapped(text, self._width), turn=True)
        return (*rows, *self._end)

    def entry(self, entry: TurnEntry, after: int | None, opened: Container[FoldableNote]) -> tuple[StoryLine, ...]:
        """One turn, which followed the event ``after``; the notes in ``opened`` are shown in full."""
        # A note that repeats the command which a person gave is left out.
        given = f"\u201c{entry.command}\u201d" if entry.by == "person" else None
        notes = [note for note in entry.notes if note.kind != "person" or given is None or given not in note.text]
        return (*self._gap, *self._notes(notes, after, opened), *self._command(entry), *self._observation(entry))

    def notes(
        self, notes: Sequence[StoryNote], after: int | None, opened: Container[FoldableNote], *, failed: bool = False
    ) -> tuple[StoryLine, ...]:
        """The notes after the event ``after``, each folded unless it is in ``opened``.

        If a model ``failed`` and a person is asked what to do, the reason is open, and folded if it is in ``opened``.
        """
        present = len(notes) - 1 if failed and notes and notes[-1].kind == "fault" else None
        rows = tuple(self._notes(notes, after, opened, present))
        return (*self._gap, *rows) if rows else ()

    def words(self, text: str) -> tuple[StoryLine, ...]:
        """Text of the screen's own."""
        lines = self._wrapped(text, "$quiet")
        return (*self._gap, *_beneath(lines)) if lines else ()

    def _notes(
        self, notes: Iterable[StoryNote], after: int | None, opened: Container[FoldableNote], present: int | None = None
    ) -> Iterator[StoryLine]:
        roomy = self._width >= _ROOMY
        for number, note in enumerate(notes):
            fold = FoldableNote(after, number, note)
            hue = "$fault" if note.kind == "fault" else role_style(note.role)
            name = f"{_one_line(note.role):<{_NAMES}}  " if roomy else f"{_one_line(note.role)} "
            hang = len(name) if roomy else 0
            style = hue if note.kind in {"fault", "person"} else "" if note.kind == "answer" else "$quiet"
            said = Content(_one_line(note.text))
            room = max(1, self._width - 2 - len(name))
            whole = said.cell_length <= room and "\n" not in note.text.strip()
            if whole or (fold in opened) == (number == present):
                mark = _MARKS.get(note.kind, "·" if whole else "▸")
                text = said if whole else said.truncate(room - 1).rstrip() + "…"
                lines = [text.stylize(style)]
            else:
                mark = _MARKS["answer"] if note.kind == "answer" else "▾"
                lines = self._wrapped(note.text, style, 2 + hang)
                if not roomy:
                    lines = [Content(""), *lines]
            margin = Content.assemble(_INDENT, (f"{mark} {name}", hue))
            for line in lines:
                yield StoryLine(margin, line, fold)
                margin = Content(" " * (len(_INDENT) + 2 + hang))

    def _command(self, entry: TurnEntry) -> Iterator[StoryLine]:
        if entry.command is None:
            text = Content("no command: the turn is spent").stylize("italic $quiet")
        else:
            text = Content(_one_line(entry.command)).stylize("bold $foreground" if entry.accepted else "$quiet")
        if entry.by != "agent":
            text += Content(f"  {entry.by}").stylize(role_style("person"))
        margin = Content(f" {entry.turn:>2} ".ljust(len(_INDENT))).stylize("$quiet")
        for line in _wrapped(text, self._width):
            yield StoryLine(margin, line, turn=True)
            margin = _INDENT

    def _observation(self, entry: TurnEntry) -> tuple[StoryLine, ...]:
        seen = [_wrapped(self._observed(line, quiet=not entry.accepted), self._width) for line in _lines(entry.observation)]
        return _beneath([*chain(*seen), *self._wrapped(entry.explanation or "", "italic")], turn=True)

    def _wrapped(self, text: str, style: str, hang: int = 0) -> list[Content]:
        return [line for part in _lines(text) for line in _wrapped(Content(part).stylize(style), self._width - hang)]

    def _observed(self, line: str, *, quiet: bool) -> Content:
        text = Content(line).stylize("$quiet" if quiet else "")
        if self._wanted is not None and not quiet:
            for name in self._wanted.finditer(line):
                text = text.stylize("bold $goal", *name.span())
        return text


_INDENT = Content(" " * 5)
_BLANK = StoryLine(Content(""), Content(""))
_BANNER = "-="
"""Begins the game's greeting, which tells nothing."""
_MARKS = {"plan": "◆", "fault": "!", "person": "»", "answer": "«"}
"""Marks of notes other than thoughts, so that nothing depends on colour alone."""


def _beneath(lines: Sequence[Content], *, turn: bool = False) -> tuple[StoryLine, ...]:
    return tuple(StoryLine(_INDENT, line, turn=turn) for line in lines)


def _wrapped(text: Content, width: int) -> list[Content]:
    """``text``, which has no line ends, in lines of ``width`` cells; most of what is said fits, and wrapping is slow."""
    return [text] if text.cell_length <= width else text.wrap(width)


def _lines(text: str) -> list[str]:
    """The lines of ``text`` that are not blank, made printable."""
    return [line for line in printable(cut(text, LONGEST_TEXT)).split("\n") if line.strip()]


def _one_line(text: str) -> str:
    return printable(" ".join(cut(text, LONGEST_TEXT).split()))
