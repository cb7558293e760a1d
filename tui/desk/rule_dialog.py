"""A dialog in which a rule is written. It stays open until the rule is saved or the person discards it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import ClassVar, get_args

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.content import Content
from textual.message import Message
from textual.messages import Prune
from textual.screen import ModalScreen
from textual.suggester import SuggestFromList
from textual.widget import Widget
from textual.widgets import Input, Static, TextArea

from knowledge.rules import KINDS
from tui.desk.draft import NO_KIND, Draft, DraftFault, FormField
from tui.text import cut, printable
from tui.widgets.choice import ChoiceBar
from worlds.errors import HousequestError
from worlds.registry import DEFAULT_WORLD

SaveDraft = Callable[[Draft, Draft], Awaitable[DraftFault | None]]
"""Saves a draft that has no faults, given also what stood there at first; returns what stood in the way."""

ReloadDraft = Callable[[], Awaitable[Draft]]
"""The rule as somebody else has left it in its file. Raises ``HousequestError``."""

LONGEST = 2_000


LONGEST_TEXT = 4_000

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
    """One line of text on several rows: Enter submits it."""

    class Submitted(Message):
        """Enter was pressed."""

    def __init__(self, text: str, placeholder: str, *, id: str) -> None:
        super().__init__(text, placeholder=placeholder, id=id, compact=True, tab_behavior="focus", show_line_numbers=False)
        self.cursor_blink = False

    async def on_key(self, event: events.Key) -> None:
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
        """The form was submitted."""

    def __init__(self, draft: Draft, books: Sequence[str] | None = None, check_like: str = "") -> None:
        super().__init__()
        self._draft = draft
        self._books = books
        self._check_like = f"none; or such as: {check_like}" if check_like else HINTS["check"]

    def compose(self) -> ComposeResult:
        draft = self._draft
        yield from self._field("statement", Prose(draft.statement, HINTS["statement"], id="field-statement"))
        yield from self._field("kind", ChoiceBar(id="field-kind"))
        yield from self._field("types", _input("types", draft.types))
        yield from self._field("objects", _input("objects", draft.objects))
        yield from self._field("check", Prose(draft.check, self._check_like, id="field-check"))
        if self._books is not None:
            yield from self._field("book", _input("book", draft.book, self._books))

    def _field(self, name: FormField, widget: Widget) -> ComposeResult:
        with Horizontal():
            yield Static(Content(LABELS[name]), classes="label")
            yield widget
        yield Static(id=f"fault-{name}", classes="fault")

    def on_mount(self) -> None:
        self.query_one(ChoiceBar).offer((NO_KIND, *KINDS), self._draft.kind)
        for text in self.query(Prose):
            text.move_cursor(text.document.end)
        self._prose("statement").focus()

    @property
    def draft(self) -> Draft:
        """The contents of the form."""
        return Draft(
            statement=self._prose("statement").text,
            kind=self.query_one(ChoiceBar).value,
            types=self._line("types").value,
            objects=self._line("objects").value,
            check=self._prose("check").text,
            book=self._line("book").value.strip() if self._books is not None else "",
        )

    def fill(self, draft: Draft) -> None:
        """Put ``draft`` into the form."""
        for name, text in (("statement", draft.statement), ("check", draft.check)):
            if self._prose(name).text != text:
                self._prose(name).text = text
        self.query_one(ChoiceBar).offer((NO_KIND, *KINDS), draft.kind)
        self._line("types").value, self._line("objects").value = draft.types, draft.objects

    def tell(self, faults: Sequence[DraftFault]) -> None:
        """Show each of ``faults`` below its field and focus the first of those fields; without faults, clear them."""
        for name in get_args(FormField):
            told = [fault.reason for fault in faults if fault.field == name]
            for place in self.query(f"#fault-{name}").results(Static):
                place.update(Content(printable(cut(" ".join(told), LONGEST_TEXT))))
                place.set_class(bool(told), "-told")
        for fault in faults:
            for field in self.query(f"#field-{fault.field}"):
                field.focus()
                return

    @on(Prose.Submitted)
    @on(Input.Submitted)
    def _submit(self, message: Prose.Submitted | Input.Submitted) -> None:
        message.stop()
        self.post_message(self.Submitted())

    def _prose(self, name: str) -> Prose:
        return self.query_one(f"#field-{name}", Prose)

    def _line(self, name: str) -> Input:
        return self.query_one(f"#field-{name}", Input)


def _input(name: FormField, value: str, suggestions: Sequence[str] = ()) -> Input:
    suggester = SuggestFromList(suggestions, case_sensitive=False) if suggestions else None
    line = Input(
        value,
        HINTS[name],
        id=f"field-{name}",
        compact=True,
        max_length=LONGEST_TEXT,
        suggester=suggester,
        select_on_focus=False,
    )
    line.cursor_blink = False
    return line


class RuleDialog(ModalScreen[bool]):
    """Asks for a rule, beginning with ``draft``; answers whether one was saved.

    ``about`` stands above the fields. With ``books``, names of rulebooks, it asks for the book too. With ``reread``, a key
    reads the file again after somebody else changed it, and what was typed stays. ``check_like`` is an example of a check;
    ``world`` is the one that the rule is about.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "leave", "Leave"),
        Binding("ctrl+s", "save", "Save", priority=True),
        Binding("ctrl+r", "reread", "Read again", priority=True),
    ]
    DEFAULT_CSS = """
    RuleDialog {
        align: center middle;
        background: $background 60%;
        & > Vertical {
            width: 92;
            max-width: 96%;
            height: auto;
            max-height: 96%;
            padding: 0 1;
            background: $surface;
            border: round $foreground;
            border-title-color: $foreground;
            border-subtitle-color: $quiet;
        }
        #dialog-about { height: auto; max-height: 4; margin-bottom: 1; color: $quiet; }
        #dialog-note { height: auto; max-height: 6; color: $fault; }
    }
    """

    def __init__(
        self,
        title: str,
        draft: Draft,
        submit: SaveDraft,
        *,
        about: str = "",
        books: Sequence[str] | None = None,
        reread: ReloadDraft | None = None,
        check_like: str = "",
        world: str = DEFAULT_WORLD,
    ) -> None:
        super().__init__()
        self._world = world
        self._title = title
        self._began = draft
        self._submit = submit
        self._about = about
        self._reread = reread
        self._form = RuleForm(draft, books, check_like)
        self._warned: Draft | None = None
        self._saving = False

    def compose(self) -> ComposeResult:
        with Vertical() as box:
            box.border_title = Content(printable(cut(self._title, 60)))
            box.border_subtitle = Content("tab next field · enter save · esc leave")
            if self._about:
                yield Static(Content(printable(cut(self._about, LONGEST))), id="dialog-about")
            yield self._form
            yield Static(id="dialog-note")

    @on(RuleForm.Submitted)
    def action_save(self) -> None:
        draft = self._form.draft
        faults = draft.faults(self._world)
        self._tell(faults)
        if not faults and not self._saving:
            self._saving = True
            self.run_worker(self._save(draft), group="dialog")

    async def _save(self, draft: Draft) -> None:
        try:
            fault = await self._submit(draft, self._began)
        finally:
            self._saving = False
        if fault is None:
            self.dismiss(True)
        else:
            self._tell((fault,))

    def action_reread(self) -> None:
        if self._reread is not None:
            self.run_worker(self._read(self._reread), group="dialog")

    async def _read(self, reread: ReloadDraft) -> None:
        try:
            theirs = await reread()
        except HousequestError as error:
            self._tell((DraftFault("form", str(error)),))
            return
        mine = self._form.draft
        changed = theirs != self._began
        self._form.fill(mine.rebased(self._began, theirs))
        self._began = theirs
        self._form.tell(())
        told = "the fields that you had not touched now say what it says" if changed else "this rule is as it was"
        self._say(f"The file was read again: {told}. enter saves.")

    def action_leave(self) -> None:
        """Close; changes are discarded only when this is asked for twice."""
        draft = self._form.draft
        if draft in {self._began, self._warned}:
            self.dismiss(False)
            return
        self._warned = draft
        self._say("This is not saved: enter saves it, esc once more throws it away.")

    def _tell(self, faults: Sequence[DraftFault]) -> None:
        self._form.tell(faults)
        self._say(" ".join(fault.reason for fault in faults if fault.field == "form"))

    def _say(self, text: str) -> None:
        self.query_one("#dialog-note", Static).update(Content(printable(cut(text, LONGEST))))

    @on(Prune)
    def _end_workers(self) -> None:
        # As on any screen that can be left at any moment: a worker would look for the widgets in vain.
        self.workers.cancel_node(self)  # pyright: ignore[reportUnknownMemberType]
