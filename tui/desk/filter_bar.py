"""Which rules are shown: a line of words to search for, and a key for each other part of the filter."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.content import Content
from textual.widgets import Input, Static

from housequest.tui.desk.state import RuleFilter
from housequest.tui.runs.matrix import short_type

LONGEST = 200


class FilterBar(Horizontal):
    """Shows a filter, of which the words are typed here."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("down", "screen.leave_words", "to the rules"),
        Binding("escape", "screen.clear_words", "all words", key_display="esc"),
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

    def compose(self) -> ComposeResult:
        yield Static(Content.styled("f", "bold $goal"), classes="label")
        yield Input(placeholder="words", compact=True, max_length=LONGEST, select_on_focus=False)
        yield Static(id="filter-rest")

    def on_mount(self) -> None:
        self.query_one(Input).cursor_blink = False

    def show(self, wanted: RuleFilter) -> None:
        """Show the filter."""
        keys = [
            _key("s", wanted.status or "any status", on=wanted.status is not None),
            _key("k", wanted.kind or "any kind", on=wanted.kind is not None),
            _key("t", short_type(wanted.type) if wanted.type else "any task", on=wanted.type is not None),
            _key("c", "against", on=wanted.contradicted),
        ]
        self.query_one("#filter-rest", Static).update(Content("  ").join(keys))
        # What is being typed is ahead of what has been looked for so far.
        line = self.query_one(Input)
        if line.value != wanted.words and not line.has_focus:
            with self.prevent(Input.Changed):
                line.value = wanted.words


def _key(key: str, word: str, *, on: bool) -> Content:
    return Content.assemble((key, "bold $goal"), " ", (word, "bold $new" if on else "$quiet"))
