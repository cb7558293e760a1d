"""Which rules are shown: a line of words to search for, and a key for each other part of the filter."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar, Literal, TypeVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.content import Content
from textual.message import Message
from textual.widgets import Input, Static

from knowledge.rules import KINDS, STATUSES
from tui.desk.state import RuleFilter
from tui.runs.matrix import short_type

LONGEST = 200

FilterPart = Literal["status", "kind", "type", "contradicted", "all"]
"""What a key changes; ``all`` takes everything away."""

_T = TypeVar("_T")


class FilterBar(Horizontal):
    """Shows a filter. Posts ``Changed``, and ``Left`` when the line loses the focus."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("down", "leave", "to the rules"),
        Binding("escape", "clear", "all words", key_display="esc"),
    ]
    DEFAULT_CSS = """
    FilterBar {
        height: 1; padding: 0 1;
        & > .label { width: auto; padding-right: 1; }
        & > Input { width: 1fr; min-width: 10; max-width: 32; background: $surface; color: $foreground; }
        & > Input:focus { background: $panel; background-tint: $background 0%; }
        & > #filter-rest { width: auto; padding-left: 2; }
    }
    """

    class Changed(Message):
        """Another filter is wanted."""

        def __init__(self, wanted: RuleFilter) -> None:
            super().__init__()
            self.wanted = wanted

    class Left(Message):
        """The list of rules should get the focus."""

    def __init__(self) -> None:
        super().__init__()
        self._filter = RuleFilter()
        self._types: tuple[str, ...] = ()

    def compose(self) -> ComposeResult:
        yield Static(Content.styled("f", "bold $goal"), classes="label")
        yield Input(placeholder="words", compact=True, max_length=LONGEST, select_on_focus=False)
        yield Static(id="filter-rest")

    def on_mount(self) -> None:
        self._line.cursor_blink = False

    def show(self, wanted: RuleFilter, types: Sequence[str]) -> None:
        """Show the filter; ``types`` are the task types to choose from."""
        self._filter, self._types = wanted, tuple(types)
        told = [
            _key("s", wanted.status or "any status", on=wanted.status is not None),
            _key("k", wanted.kind or "any kind", on=wanted.kind is not None),
            _key("t", short_type(wanted.type) if wanted.type else "any task", on=wanted.type is not None),
            _key("c", "against", on=wanted.contradicted),
        ]
        self.query_one("#filter-rest", Static).update(Content("  ").join(told))
        # What is being typed is ahead of what has been looked for so far.
        if self._line.value != wanted.words and not self._line.has_focus:
            with self.prevent(Input.Changed):
                self._line.value = wanted.words

    def focus_words(self) -> None:
        self._line.focus()

    def narrow(self, what: FilterPart) -> None:
        """Set a part of the filter to its next value; after the last one comes any."""
        now = self._filter
        match what:
            case "status":
                wanted = replace(now, status=_next(STATUSES, now.status))
            case "kind":
                wanted = replace(now, kind=_next(KINDS, now.kind))
            case "type":
                wanted = replace(now, type=_next(self._types, now.type))
            case "contradicted":
                wanted = replace(now, contradicted=not now.contradicted)
            case "all":
                wanted = RuleFilter()
        self.post_message(self.Changed(wanted))

    @on(Input.Changed)
    def _typed(self, message: Input.Changed) -> None:
        message.stop()
        self.post_message(self.Changed(replace(self._filter, words=message.value)))

    @on(Input.Submitted)
    def _submitted(self, message: Input.Submitted) -> None:
        message.stop()
        self.action_leave()

    def action_leave(self) -> None:
        self.post_message(self.Left())

    def action_clear(self) -> None:
        self._line.value = ""
        self.post_message(self.Left())

    @property
    def _line(self) -> Input:
        return self.query_one(Input)


def _key(key: str, word: str, *, on: bool) -> Content:
    return Content.assemble((key, "bold $goal"), " ", (word, "bold $new" if on else "$quiet"))


def _next(values: tuple[_T, ...], now: _T | None) -> _T | None:
    every = (None, *values)
    return every[(every.index(now) + 1) % len(every)] if now in every else None
