"""A dialog that shows what merging rules will make of them, before it is done."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.widgets import Static, TextArea

from housequest.knowledge.rules import Rule
from housequest.tui.dialogs import Dialog
from housequest.tui.widgets.lines import flat, hung

LABEL = 10
AROUND = 6
"""Rows of the frame and of what stands above the part that scrolls."""


class MergeDialog(Dialog[str | None]):
    """Shows ``kept`` as it will be, ``before`` as it is, and the ``others``, which will be rejected.

    The answer is what the rule says from now on, or None where nothing is to be merged.
    """

    GROUP = "rules"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "dismiss", "Leave"),
        Binding("ctrl+s,enter", "merge", "Merge", priority=True),
        Binding("pageup", "page(-1)", "Up", priority=True),
        Binding("pagedown", "page(1)", "Down", priority=True),
    ]
    DEFAULT_CSS = """
    MergeDialog {
        TextArea { height: 3; background: $panel; color: $foreground; padding: 0; border: none; }
        VerticalScroll { height: auto; scrollbar-size-vertical: 1; }
        Static { height: auto; }
    }
    """

    def __init__(self, before: Rule, kept: Rule, others: tuple[Rule, ...]) -> None:
        super().__init__()
        self._before = before
        self._kept = kept
        self._others = others

    def compose(self) -> ComposeResult:
        with Vertical() as box:
            box.border_title = Content(f"Merge {len(self._others) + 1} rules into {flat(self._kept.id)}")
            yield Static(Content.styled("The merged rule will say (you can change it):", "$quiet"))
            said = TextArea(self._kept.statement, compact=True)
            said.cursor_blink = False
            yield said
            with VerticalScroll(can_focus=False):
                yield Static(id="merge-outcome")

    def on_mount(self) -> None:
        said = self.query_one(TextArea)
        said.move_cursor(said.document.end)

    def on_resize(self) -> None:
        width = max(30, min(92, int(self.size.width * 0.96)) - 6)
        self.query_one("#merge-outcome", Static).update(Content("\n").join(self._lines(width)))
        # Fractions would count the rows above as its own.
        self.query_one(VerticalScroll).styles.max_height = max(1, int(self.size.height * 0.96) - AROUND)
        self.call_after_refresh(self._name_keys)

    def _name_keys(self) -> None:
        more = "pgup pgdn more · " if self.query_one(VerticalScroll).max_scroll_y else ""
        self.query_one(Vertical).border_subtitle = f"{more}enter merge · esc cancel"

    def _lines(self, width: int) -> Iterator[Content]:
        yield Content("")
        for name, was, now in (
            ("tasks", self._before.types, self._kept.types),
            ("things", self._before.objects, self._kept.objects),
        ):
            change = f"{', '.join(now) or 'all'}" + (f"  (was {', '.join(was) or 'all'})" if was != now else "")
            yield from hung(_label(name), Content(flat(change)), width)
        own = self._kept.evidence
        found = f"{own.supports:,} for · {own.contradicts:,} against" if own else "none counted"
        evidence = f"{found}; the others keep theirs"
        yield from hung(_label("evidence"), Content(evidence), width)
        yield Content("")
        for other in self._others:
            mark = Content.styled(f"{'× rejected':<{LABEL}}  ", "$quiet")
            yield from hung(mark, Content.assemble((f"{flat(other.id)}: ", "bold"), flat(other.statement)), width)
        yield Content.styled(f"Rejected rules stay in the book and name {flat(self._kept.id)}; u undoes the merge.", "$quiet")

    def action_page(self, by: int) -> None:
        """Scroll what does not fit."""
        shown = self.query_one(VerticalScroll)
        shown.scroll_relative(y=by * max(1, shown.size.height - 1), animate=False)

    def action_merge(self) -> None:
        self.dismiss(self.query_one(TextArea).text)


def _label(word: str) -> Content:
    return Content.styled(f"{word:<{LABEL}}  ", "$quiet")
