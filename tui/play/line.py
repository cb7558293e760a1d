"""The command line: a command, completed from those that are possible, or a hint after a question mark."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

from textual import events
from textual.actions import SkipAction
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.content import Content
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Input, Static

from housequest.tui.play.complete import CommandCompleter, CommandMatch, names_in, spelled
from housequest.tui.text import printable

ROWS = 6
"""Completions that are seen at once."""
LONGEST = 1_000
"""Characters that the line takes."""
HINT = "?"
"""What a hint begins with."""
REMEMBERED = 200


class CompletionList(Widget):
    """The list above the command line: matching commands, the chosen one marked; one that is clicked is ``picked``."""

    DEFAULT_CSS = """
    CompletionList {
        overlay: screen;
        constrain: none inside;
        display: none;
        width: 100%;
        height: auto;
        padding: 0 1;
        border: round $frame;
        border-subtitle-color: $quiet;
        background: $surface;
    }
    """

    def __init__(self, picked: Callable[[str], None]) -> None:
        super().__init__()
        self._picked = picked
        self.matches: tuple[CommandMatch, ...] = ()
        self.chosen: int | None = None
        self._first = 0

    @property
    def command(self) -> str | None:
        """The chosen command."""
        return None if self.chosen is None else self.matches[self.chosen].command

    def show(self, matches: tuple[CommandMatch, ...]) -> None:
        """Offer ``matches``, none of them chosen; hide if there are none."""
        if not matches and not self.matches:
            return
        self.matches, self.chosen, self._first = matches, None, 0
        self.display = bool(matches)
        self._placed()

    def move(self, by: int) -> None:
        """Choose the next or the previous match; beyond either end, none."""
        place = by + (-1 if self.chosen is None and by > 0 else len(self.matches) if self.chosen is None else self.chosen)
        self.chosen = place if 0 <= place < len(self.matches) else None
        if self.chosen is not None:
            self._first = min(max(self._first, self.chosen - ROWS + 1), self.chosen)
        self._placed()

    def render(self) -> Content:
        lines = [self._line(place) for place in range(self._first, min(self._first + ROWS, len(self.matches)))]
        return Content("\n").join(lines)

    def on_click(self, event: events.Click) -> None:
        event.stop()
        place = event.get_content_offset(self)
        if place is not None and place.y + self._first < len(self.matches):
            self._picked(self.matches[place.y + self._first].command)

    def _line(self, place: int) -> Content:
        match = self.matches[place]
        # Marks are places in the command as it is, so one that has to be made printable goes without.
        name = printable(match.command).replace("\n", " ")
        text = Content(name)
        for mark in match.marks if name == match.command else ():
            text = text.stylize("$new", mark, mark + 1)
        chosen = place == self.chosen
        text = Content.assemble("▸ " if chosen else "  ", text).truncate(self.content_size.width, pad=True)
        return text.stylize_before("bold on $panel") if chosen else text

    def _placed(self) -> None:
        count = len(self.matches)
        rows = min(ROWS, count)
        at = f"{count} possible" if self.chosen is None else f"{self.chosen + 1} of {count}"
        self.border_subtitle = f"{at} · ↑↓ choose · tab takes · enter sends"
        self.styles.offset = (0, -rows - 2)
        self.refresh(layout=True)


class CommandLine(Widget):
    """One line of input; the keys below act while it has the focus.

    It posts ``Submitted``, ``Hinted`` and ``Left``, and never moves the focus itself. Without ``hints`` it does not
    mention them; one that is typed is posted all the same, and the screen refuses it. By the ``patterns`` of the world's
    commands it knows what is misspelled among what is not possible yet.
    """

    DEFAULT_CSS = """
    CommandLine {
        height: 1;
        padding: 0 1;
        layout: vertical;
        Horizontal { height: 1; }
        .line--mark { width: 2; color: $quiet; }
        &.-typing .line--mark { color: $new; text-style: bold; }
        Input, Input:focus {
            background: $background;
            background-tint: $background 0%;
            & > .input--placeholder { color: $quiet; }
            & > .input--cursor { background: $foreground; color: $background; text-style: none; }
        }
    }
    """
    GROUP = "commands"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "back", "Choose above, or an earlier line", show=False),
        Binding("down", "forward", "Choose below", show=False),
        Binding("tab", "take", "complete"),
        Binding("escape", "leave", "leave the line"),
    ]

    @dataclass
    class Submitted(Message):
        """Execute this command."""

        command: str

    @dataclass
    class Hinted(Message):
        """Give the agent this hint."""

        text: str

    @dataclass
    class Doubted(Message):
        """What was ``typed`` is no command, and is close to one, which stands in the line now: ``meant``.

        ``possible``: it would be accepted now.
        """

        typed: str
        meant: str
        possible: bool

    class Left(Message):
        """Give the focus back."""

    def __init__(self, *, hints: bool = True, patterns: Sequence[str] = (), id: str | None = None) -> None:
        super().__init__(id=id)
        self._hints = hints
        self._patterns = patterns
        self._names = set[str]()
        self._completer = CommandCompleter()
        self._history: list[str] = []
        self._recalled: int | None = None
        self._listed = False
        self._doubted = ""
        self._input = Input(placeholder=self._offered(False), compact=True, select_on_focus=False, max_length=LONGEST)
        self._input.cursor_blink = False
        self._list = CompletionList(self.prefill)

    def compose(self) -> ComposeResult:
        yield self._list
        with Horizontal():
            yield Static("› ", classes="line--mark")
            yield self._input

    @property
    def value(self) -> str:
        return self._input.value

    def offer(self, commands: tuple[str, ...] | None) -> None:
        """Complete from ``commands``; None: from what was sent before."""
        completer = CommandCompleter(self._history if commands is None else commands)
        if completer.commands == self._completer.commands:
            return
        self._completer = completer
        self._names |= names_in(commands or ())
        self._listed = bool(commands)
        self._input.placeholder = self._offered(bool(commands))
        self._complete()

    def prefill(self, text: str) -> None:
        """Put ``text`` in the line, to be edited."""
        self._put(text)
        self.focus()

    def focus(self, scroll_visible: bool = True) -> Self:
        # At once, since the next key may be waiting already.
        self.screen.set_focus(self._input, scroll_visible)
        return self

    def action_back(self) -> None:
        """Choose the match above; without matches, recall the line sent before."""
        if self._list.matches:
            self._list.move(-1)
        elif self._history:
            place = len(self._history) if self._recalled is None else self._recalled
            self._recall(max(0, place - 1))

    def action_forward(self) -> None:
        """Choose the match below; in an empty line, list what is possible."""
        if self._list.matches:
            self._list.move(1)
        elif self._recalled is not None:
            self._recall(self._recalled + 1)
        elif not self.value.strip():
            self._list.show(self._completer.ranked(""))

    def action_take(self) -> None:
        """Put the chosen match in the line, or the best one."""
        if self._list.matches:
            self._put(self._list.command or self._list.matches[0].command)
        elif self.value.strip():
            raise SkipAction
        else:
            self._list.show(self._completer.ranked(""))

    def action_leave(self) -> None:
        self._list.show(())
        self.post_message(self.Left())

    def on_input_changed(self, message: Input.Changed) -> None:
        message.stop()
        if (safe := printable(message.value).replace("\n", " ")) != message.value:
            self._input.value = safe[:LONGEST]
        elif self._recalled is None or message.value != self._history[self._recalled]:
            self._recalled = None
            self._complete()

    def on_input_submitted(self, message: Input.Submitted) -> None:
        message.stop()
        text = " ".join(self.value.split())
        if text.startswith(HINT):
            self._send(self.Hinted(text.removeprefix(HINT).strip()), text)
            return
        command = self._completer.exact(text) or self._list.command
        doubtful = command is None and self._listed and text != self._doubted
        near = self._completer.near(text) if doubtful else None
        meant = near or (spelled(text, self._patterns, self._names) if doubtful else None)
        if meant is not None:
            self._doubted = text
            self._put(meant)
            self.post_message(self.Doubted(text, meant, near is not None))
        elif command or text:
            self._send(self.Submitted(command or text), command or text)

    def on_descendant_focus(self) -> None:
        self.add_class("-typing")

    def on_descendant_blur(self) -> None:
        self.remove_class("-typing")
        self._list.show(())

    def on_click(self) -> None:
        self.focus()

    def _offered(self, listed: bool) -> str:
        """The placeholder."""
        return f"a command{' · ↓ lists what is possible' if listed else ''}{' · ?words for a hint' if self._hints else ''}"

    def _send(self, message: Message, line: str) -> None:
        if not self._history or self._history[-1] != line:
            self._history = [*self._history[-REMEMBERED:], line]
        self._doubted = ""
        self._put("")
        self.post_message(message)

    def _put(self, text: str) -> None:
        self._recalled = None
        self._input.value = printable(text[:LONGEST]).replace("\n", " ")
        self._input.cursor_position = len(self._input.value)
        self._list.show(())

    def _recall(self, place: int) -> None:
        known = place < len(self._history)
        self._put(self._history[place] if known else "")
        self._recalled = place if known else None

    def _complete(self) -> None:
        typed = self.value
        meant = bool(typed.strip()) and not typed.lstrip().startswith(HINT) and self._completer.exact(typed) is None
        self._list.show(self._completer.ranked(typed) if meant and self._input.has_focus else ())
