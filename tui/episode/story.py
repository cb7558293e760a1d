"""The Story pane: turns, observations and folded thoughts. It follows the game until one scrolls up.

`_Layout` lays a turn out in the order of events: its notes (each folded to one line until it is opened), the command beside
its number, and the observation below. All of it is untrusted text: made printable, never read as markup.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, takewhile
from typing import ClassVar, NamedTuple

from textual import events
from textual.actions import SkipAction
from textual.content import Content
from textual.geometry import Size
from textual.message import Message
from textual.strip import Strip

from housequest.agent.episodes.events import Started
from housequest.tui.episode.house import wanted_kinds
from housequest.tui.episode.state import PERSON, WAITED, YOU, EpisodeMoment, StoryNote, TurnEntry, ViewState
from housequest.tui.text import LONGEST_TEXT, cut, one_line, plural, printable
from housequest.tui.theme import role_style
from housequest.tui.widgets.lines import FramedPane

_CONTEXT = 2  # lines kept in sight above and below a turn that is scrolled to
_AIRY = 30  # lines from which on a blank one separates turns
_MEASURE = 96  # the longest line, in cells: longer ones are hard to follow
_NAMES = 8  # cells for a role's name where there is room, so that notes line up
_ROOMY = 48

_Fold = tuple[int | None, int, StoryNote]
"""A note that can be opened: the event it follows, its place among the notes there, and itself."""


_Mark = tuple[int | None, Collection[str]]
"""The event that ended a turn, and words to mark in it."""


class _Line(NamedTuple):
    """A line of the story; a click opens or closes its ``fold``. ``turn``: it is part of the command or the observation."""

    margin: Content
    text: Content
    fold: _Fold | None = None
    turn: bool = False


class _Layout:
    """Lays out an episode for one width, ``wanted`` kinds of things highlighted; ``airy`` puts a blank line between turns.
    Of one turn the words of ``mark`` are marked, too."""

    def __init__(
        self, opened: Callable[[_Fold], bool], width: int, wanted: Collection[str], airy: bool, mark: _Mark = (None, ())
    ) -> None:
        self._opened = opened
        self._marked, deciding = mark
        self._deciding = re.compile("|".join(rf"(?<!\w){re.escape(word)}(?!\w)" for word in deciding)) if deciding else None
        self._width = max(12, min(width - len(_INDENT) - 1, _MEASURE))
        words = "|".join(sorted(map(re.escape, wanted), key=lambda word: (-len(word), word)))
        # Things of these kinds: after an article, or before a number.
        found = rf"(?:(?<=\ba )|(?<=\ban )|(?<=\bthe ))(?:{words})(?: \d+)?\b|\b(?:{words}) \d+\b"
        self._wanted = re.compile(found, re.IGNORECASE) if words else None
        self.gap = (_BLANK,) if airy else ()
        self._end = () if airy else (_BLANK,)

    def opening(self, started: Started) -> tuple[_Line, ...]:
        """The first observation, with the task highlighted."""
        goal = started.goal.strip()
        rows: list[_Line] = []
        for line in _lines(started.opening):
            if goal and goal in line:
                text = Content(line).stylize("bold $goal")
            else:
                text = self._observed(line, quiet=line.startswith(_BANNER))
            rows += (_Line(_INDENT, part, turn=True) for part in _wrapped(text, self._width))
        return (*rows, *self._end)

    def entry(self, entry: TurnEntry, after: int | None) -> tuple[_Line, ...]:
        """One turn, which followed the event ``after``."""
        # A note that repeats the command which a person gave is left out.
        given = f"\u201c{entry.command}\u201d" if entry.by == "person" else None
        notes = [note for note in entry.notes if note.kind != "person" or given is None or given not in note.text]
        told = entry.observation
        lines = (self._decisive(entry, self._observed(line, quiet=not told.accepted)) for line in _lines(told.text))
        seen = [_wrapped(line, self._width) for line in lines]
        answer = chain(*seen, self._wrapped(told.explanation or "", "italic"))
        below = (_Line(_INDENT, line, turn=True) for line in answer)
        return (*self.gap, *self.notes(notes, after), *self._command(entry), *below)

    def words(self, text: str) -> list[_Line]:
        """Text of the screen's own."""
        return [_Line(_INDENT, line) for line in self._wrapped(text, "$quiet")]

    def notes(self, notes: Sequence[StoryNote], after: int | None, *, failed: bool = False) -> Iterator[_Line]:
        """The notes after an event; if a model ``failed`` and a person is asked, the reason is open where others are not."""
        present = len(notes) - 1 if failed and notes and notes[-1].kind == "fault" else None
        for number, note in enumerate(notes):
            talk = note.kind in {"said", "news"}
            roomy = self._width >= _ROOMY or talk
            fold = after, number, note
            hue = "$fault" if note.kind == "fault" else role_style(PERSON if note.role == YOU else note.role)
            who = one_line(note.role) + (":" if note.kind == "said" else "")
            name = f"{who:<{_NAMES}}  " if roomy and not talk else f"{who} "
            hang = len(name) if roomy else 0
            style = hue if note.kind in {"fault", "person"} else "" if note.kind in {"answer", "rule", "said"} else "$quiet"
            said = Content(one_line(note.text))
            room = max(1, self._width - 2 - len(name))
            whole = said.cell_length <= room and "\n" not in note.text.strip()
            if whole or self._opened(fold) == (number == present):
                mark = _MARKS.get(note.kind, "·" if whole else "▸")
                text = said if whole else said.truncate(room - 1).rstrip() + "…"
                lines = [text.stylize(style)]
            else:
                mark = _MARKS[note.kind] if note.kind in _OPEN else "▾"
                lines = self._wrapped(note.text, style, 2 + hang)
                if not roomy:
                    lines = [Content(""), *lines]
            margin = Content.assemble(_INDENT, (f"{mark} {name}", hue))
            for line in lines:
                yield _Line(margin, line, fold)
                margin = Content(" " * (len(_INDENT) + 2 + hang))

    def _command(self, entry: TurnEntry) -> Iterator[_Line]:
        if entry.command is None:
            waited = entry.spent == WAITED
            text = Content("the round went on without you" if waited else "no command: the turn is spent").stylize(
                "italic $quiet"
            )
        else:
            text = Content(one_line(entry.command)).stylize("bold $foreground" if entry.observation.accepted else "$quiet")
        if entry.by != "agent":
            text += Content(f"  {entry.by}").stylize(role_style("person"))
        margin = Content(f" {entry.turn:>2} ".ljust(len(_INDENT))).stylize("$quiet")
        for line in _wrapped(self._decisive(entry, text), self._width):
            yield _Line(margin, line, turn=True)
            margin = _INDENT

    def _decisive(self, entry: TurnEntry, text: Content) -> Content:
        """``text`` with the words that are to be marked in this turn."""
        if self._deciding is not None and entry.id == self._marked:
            for word in self._deciding.finditer(text.plain):
                text = text.stylize("bold reverse", *word.span())
        return text

    def _wrapped(self, text: str, style: str, hang: int = 0) -> list[Content]:
        return [line for part in _lines(text) for line in _wrapped(Content(part).stylize(style), self._width - hang)]

    def _observed(self, line: str, *, quiet: bool) -> Content:
        text = Content(line).stylize("$quiet" if quiet else "")
        if self._wanted is not None and not quiet:
            for name in self._wanted.finditer(line):
                text = text.stylize("bold $goal", *name.span())
        return text


_INDENT = Content(" " * 5)
_BLANK = _Line(Content(""), Content(""))
_BANNER = "-="  # begins the game's greeting, which tells nothing
_MARKS = {"plan": "◆", "rule": "§", "fault": "!", "person": "»", "answer": "«", "said": "“", "news": "•"}
"""Marks of notes other than thoughts, so that nothing depends on colour alone."""


_OPEN = {"answer", "said", "news"}  # the kinds of notes that never fold by themselves


class _Block(NamedTuple):
    """The lines of the opening, of one turn, or of what came since the last turn; a click on them picks ``event``."""

    rows: Sequence[_Line]
    event: int | None = None


class Story(FramedPane, keys="story"):
    """Shows an episode, after ``teaching``; it stays at its end until one scrolls up, and lays out only what is new."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"story--selected"}
    BORDER_TITLE = "Story"

    @dataclass
    class Picked(Message):
        """The turn that the event ``event_id`` ended was clicked, or the opening."""

        event_id: int

    def __init__(self, teaching: str = "", *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._teaching = teaching
        self._moment = EpisodeMoment()
        self._start: int | None = None
        self._all_open = False
        self._toggled = set[_Fold]()
        self._selected: int | None = None
        self._followed = True
        self.following = True  # whether it stays at its end
        self._known = 0
        self._mark: _Mark = (None, ())
        self._story_layout = _Layout(self._opened, 80, (), False)
        self._fits: tuple[int, frozenset[str], bool] | None = None
        self._laid_out: dict[int, _Block] = {}
        self._blocks: list[_Block] = []
        self._lines: list[int] = [0]

    def show(self, state: ViewState) -> None:
        """Show ``state``; only what differs from the last one is laid out."""
        moment, was = state.moment, self._moment
        if moment.started is not was.started:
            self._start = next((event for event, after in state.moments.items() if after.started is moment.started), None)
            self._moment = moment
            self._lay_out()
        elif moment.last is not was.last or moment.notes != was.notes:
            self._moment = moment
            alike = takewhile(lambda turns: turns[0] is turns[1], zip(was.story, moment.story, strict=False))
            self._append(1 + sum(1 for _ in alike))

    def teach(self, teaching: str) -> None:
        """Show ``teaching`` until the first turn."""
        self._teaching = teaching
        self._append(len(self._moment.story) + 1)

    def mark(self, event_id: int, words: Collection[str]) -> None:
        """Mark ``words`` in the turn that this event ended, from the first layout on."""
        self._mark = event_id, words

    def select(self, event_id: int | None) -> None:
        """Mark the turn that this event ended, or the opening, and scroll to it."""
        if event_id == self._selected:
            return
        if self._selected is None:
            self._followed = self.following
        self._selected = event_id
        place = self._place(event_id)
        if place is not None:
            self._into_sight(place)
        elif self._followed and event_id is None:
            self._to_the_end()
        self.refresh()

    def fold_all(self) -> None:
        """Open all notes, or close them all."""
        self._all_open = not self._all_open
        self._toggled.clear()
        self._lay_out()

    def render_line(self, y: int) -> Strip:
        line = self.scroll_offset.y + y
        if line >= self._lines[-1]:
            return self.strip(None)
        block, row = self._at(line)
        if row.turn and block.event == self._selected:
            return self.strip(Content.assemble("▌", row.margin[1:], row.text), "story--selected")
        return self.strip(row.margin + row.text)

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        super().watch_scroll_y(old_value, new_value)
        follow = self.is_vertical_scroll_end
        if follow != self.following:
            self.following = follow
            self._known = len(self._moment.story)
        self._show_hidden()

    def action_unfold(self) -> None:
        place = self._place(self._selected)
        rows = () if place is None else self._blocks[place].rows
        folds = {row.fold for row in rows if row.fold is not None}
        if place is None or not folds:
            raise SkipAction
        opened = all(map(self._opened, folds))
        self._toggled ^= {fold for fold in folds if self._opened(fold) == opened}
        self._lay_out(place)
        self._into_sight(place)

    def on_resize(self) -> None:
        # A note below the story changes its height alone, and each line stays as it is.
        if self._fitting() != self._fits:
            self._lay_out()
        else:
            self._append(len(self._blocks) - 1)

    def on_click(self, event: events.Click) -> None:
        place = event.get_content_offset(self)
        if place is None:
            if event.y == self.outer_size.height - 1:
                self._to_the_end()
        elif self.scroll_offset.y + place.y < self._lines[-1]:
            line = self.scroll_offset.y + place.y
            block, row = self._at(line)
            if row.fold is not None:
                self._toggled ^= {row.fold}
                self._lay_out(self._block_at(line))
            elif block.event is not None:
                self.post_message(self.Picked(block.event))

    def _opened(self, fold: _Fold) -> bool:
        """Return True if a note is open: either all are or only answers and words, except toggled ones."""
        return (fold in self._toggled) != (self._all_open or fold[2].kind in _OPEN)

    def _block_at(self, line: int) -> int:
        return bisect_right(self._lines, line) - 1

    def _at(self, line: int) -> tuple[_Block, _Line]:
        place = self._block_at(line)
        block = self._blocks[place]
        return block, block.rows[line - self._lines[place]]

    def _place(self, event: int | None) -> int | None:
        return None if event is None else next((n for n, block in enumerate(self._blocks) if block.event == event), None)

    def _show_hidden(self) -> None:
        new = len(self._moment.story) - self._known
        below = self._lines[-1] - self.scroll_offset.y - self.scrollable_content_region.height
        count = f"{new} new below" if new > 0 else f"{plural(below, 'line')} below"
        self.border_subtitle = "" if self.following or below <= 0 else Content(f"{count} · End")

    def _fitting(self) -> tuple[int, frozenset[str], bool]:
        """The inputs of the layout: the width, the kinds of things that the goal names, whether turns stand apart."""
        size = self.scrollable_content_region.size
        return size.width, wanted_kinds(self._moment), size.height >= _AIRY

    def _lay_out(self, only: int | None = None) -> None:
        """Lay everything out again, or ``only`` one block; what is at the top stays there."""
        top = min(self._block_at(self.scroll_offset.y), len(self._blocks) - 1)
        within = self.scroll_offset.y - self._lines[top] if top >= 0 else 0
        if only is None:
            self._fits = self._fitting()
            self._story_layout = _Layout(self._opened, *self._fits, self._mark)
            self._laid_out.clear()
        elif (event := self._blocks[only].event) is not None:
            self._laid_out.pop(event, None)
        self._append(only or 0)
        if not self.following and 0 <= top < len(self._blocks):
            self.scroll_to(y=self._lines[top] + min(within, len(self._blocks[top].rows) - 1), immediate=True)

    def _append(self, kept: int) -> None:
        """Lay out what follows the first ``kept`` blocks."""
        moment = self._moment
        del self._blocks[kept:], self._lines[kept + 1 :]
        if not self._blocks:
            self._add(_Block(self._story_layout.opening(moment.started) if moment.started else (), self._start))
        after = self._blocks[-1].event
        for entry in moment.story[len(self._blocks) - 1 :]:
            # A rewind removes turns and may bring them back: they are laid out once.
            if entry.id not in self._laid_out:
                self._laid_out[entry.id] = _Block(self._story_layout.entry(entry, after), entry.id)
            self._add(self._laid_out[entry.id])
            after = entry.id
        self._known = min(self._known, len(moment.story))
        pending = [*self._story_layout.notes(moment.notes, after, failed=moment.failure is not None)]
        if moment.last is None and not pending:
            pending = self._story_layout.words(self._teaching)
        self._add(_Block((*self._story_layout.gap, *pending) if pending else ()))
        self.virtual_size = Size(self.scrollable_content_region.width, self._lines[-1])
        if self.following:
            self._to_the_end()
        self._show_hidden()
        self.refresh()

    def _add(self, block: _Block) -> None:
        self._blocks.append(block)
        self._lines.append(self._lines[-1] + len(block.rows))

    def _to_the_end(self) -> None:
        self.following = True
        self.scroll_to(y=self.max_scroll_y, immediate=True, force=True)

    def _into_sight(self, place: int) -> None:
        top, bottom = self._lines[place], self._lines[place + 1]
        height = self.scrollable_content_region.height
        if top < self.scroll_offset.y + _CONTEXT:
            self.scroll_to(y=max(0, top - _CONTEXT), immediate=True, force=True)
        elif bottom > self.scroll_offset.y + height - _CONTEXT:
            self.scroll_to(y=min(top, bottom + _CONTEXT - height), immediate=True, force=True)


def _wrapped(text: Content, width: int) -> list[Content]:
    """``text``, which has no line ends, in lines of ``width`` cells; most of what is said fits, and wrapping is slow."""
    return [text] if text.cell_length <= width else text.wrap(width)


def _lines(text: str) -> list[str]:
    """The lines of ``text`` that are not blank, made printable."""
    return [line for line in printable(cut(text, LONGEST_TEXT)).split("\n") if line.strip()]
