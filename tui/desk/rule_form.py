"""The fields of a rule, to be filled in; what is wrong stands below the field it is wrong in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import get_args

from textual import events
from textual.app import ComposeResult
from textual.containers import Horizontal, VerticalScroll
from textual.content import Content
from textual.message import Message
from textual.suggester import SuggestFromList
from textual.widget import Widget
from textual.widgets import Input, Static, TextArea

from knowledge.rules import KINDS
from tui.desk.draft import NO_KIND, Draft, DraftFault, FormField
from tui.text import cut, printable
from tui.widgets.choice import Choice

LONGEST = 4_000

LABELS: dict[FormField, str] = {
    "statement": "statement",
    "kind": "kind",
    "types": "tasks",
    "objects": "things",
    "check": "check",
    "book": "book",
    "form": "",
}
HINTS: dict[FormField, str] = {
    "types": "all; or task types, with commas between them",
    "objects": "all; or kinds of thing, with commas between them",
    "check": "none; or COMMAND; when FACTS; then FACTS",
    "statement": "what holds in this world, in a sentence",
    "book": "a name, or a file",
}


class Prose(TextArea):
    """A few lines of text that are one: enter is no new line, but says that the person is done."""

    class Submitted(Message):
        """Enter was pressed."""

    def __init__(self, text: str, placeholder: str, *, id: str) -> None:
        super().__init__(text, placeholder=placeholder, id=id, compact=True, tab_behavior="focus", show_line_numbers=False)
        self.cursor_blink = False

    async def on_key(self, event: events.Key) -> None:
        """Take enter for the end of the text."""
        if event.key == "enter":
            event.stop()
            event.prevent_default()
            self.post_message(self.Submitted())


class RuleForm(VerticalScroll, can_focus=False):
    """The fields of ``draft``; with ``books``, names to be suggested, also which book it goes to. Enter posts ``Submitted``."""

    DEFAULT_CSS = """
    RuleForm {
        height: auto; max-height: 1fr; scrollbar-size-vertical: 1;
        & > Horizontal { height: auto; }
        .label { width: 11; color: $quiet; }
        Prose { height: 3; width: 1fr; background: $panel; color: $foreground; padding: 0; border: none; }
        #field-check { height: 2; }
        Input { width: 1fr; background: $panel; color: $foreground; }
        Prose:focus, Input:focus { background: $panel; background-tint: $foreground 8%; }
        .fault { height: auto; margin-left: 11; color: $fault; display: none; }
        .fault.-told { display: block; }
    }
    """

    class Submitted(Message):
        """The person is done with the form."""

    def __init__(self, draft: Draft, books: Sequence[str] | None = None, check_like: str = "") -> None:
        super().__init__()
        self._draft = draft
        self._books = books
        self._check_like = f"none; or such as: {check_like}" if check_like else HINTS["check"]

    def compose(self) -> ComposeResult:
        """A line for each field, with room for its fault."""
        draft = self._draft
        yield from self._field("statement", Prose(draft.statement, HINTS["statement"], id="field-statement"))
        yield from self._field("kind", Choice(id="field-kind"))
        yield from self._field("types", _Line(draft.types, HINTS["types"], id="field-types"))
        yield from self._field("objects", _Line(draft.objects, HINTS["objects"], id="field-objects"))
        yield from self._field("check", Prose(draft.check, self._check_like, id="field-check"))
        if self._books is not None:
            yield from self._field("book", _Line(draft.book, HINTS["book"], id="field-book", known=self._books))

    def _field(self, name: FormField, widget: Widget) -> ComposeResult:
        with Horizontal():
            yield Static(Content(LABELS[name]), classes="label")
            yield widget
        yield Static(id=f"fault-{name}", classes="fault")

    def on_mount(self) -> None:
        """Offer the kinds, and begin with the statement."""
        self.query_one(Choice).offer((NO_KIND, *KINDS), self._draft.kind)
        for text in self.query(Prose):
            text.move_cursor(text.document.end)
        self._prose("statement").focus()

    @property
    def draft(self) -> Draft:
        """What stands in the form."""
        return Draft(
            statement=self._prose("statement").text,
            kind=self.query_one(Choice).value,
            types=self._line("types").value,
            objects=self._line("objects").value,
            check=self._prose("check").text,
            book=self._line("book").value.strip() if self._books is not None else "",
        )

    def fill(self, draft: Draft) -> None:
        """Put ``draft`` into the form, where it differs."""
        for name, text in (("statement", draft.statement), ("check", draft.check)):
            if self._prose(name).text != text:
                self._prose(name).text = text
        self.query_one(Choice).offer((NO_KIND, *KINDS), draft.kind)
        self._line("types").value, self._line("objects").value = draft.types, draft.objects

    def tell(self, faults: Sequence[DraftFault]) -> None:
        """Show each of ``faults`` below its field, and go to the first of those fields; none takes all away."""
        for name in get_args(FormField):
            told = [fault.reason for fault in faults if fault.field == name]
            for place in self.query(f"#fault-{name}").results(Static):
                place.update(Content(printable(cut(" ".join(told), LONGEST))))
                place.set_class(bool(told), "-told")
        for fault in faults:
            for field in self.query(f"#field-{fault.field}"):
                field.focus()
                return

    def on_prose_submitted(self, message: Prose.Submitted) -> None:
        """Enter in a text."""
        message.stop()
        self.post_message(self.Submitted())

    def on_input_submitted(self, message: Input.Submitted) -> None:
        """Enter in a line."""
        message.stop()
        self.post_message(self.Submitted())

    def _prose(self, name: str) -> Prose:
        return self.query_one(f"#field-{name}", Prose)

    def _line(self, name: str) -> Input:
        return self.query_one(f"#field-{name}", Input)


class _Line(Input):
    """A line of one row, without a blinking cursor."""

    def __init__(self, value: str, placeholder: str, *, id: str, known: Sequence[str] = ()) -> None:
        suggester = SuggestFromList(known, case_sensitive=False) if known else None
        super().__init__(
            value, placeholder, id=id, compact=True, max_length=LONGEST, suggester=suggester, select_on_focus=False
        )
        self.cursor_blink = False
