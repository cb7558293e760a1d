"""A rule is written in a dialog over a screen, which stays until the rule is saved or the person throws it away."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.messages import Prune
from textual.screen import ModalScreen
from textual.widgets import Static

from tui.desk.draft import Draft, DraftFault
from tui.desk.rule_form import RuleForm
from tui.text import cut, printable
from worlds.errors import HousequestError

SaveDraft = Callable[[Draft, Draft], Awaitable[DraftFault | None]]
"""Saves a draft that has no faults, given also what stood there at first; returns what stood in the way."""

ReloadDraft = Callable[[], Awaitable[Draft]]
"""The rule as somebody else has left it in its file. Raises ``HousequestError``."""

LONGEST = 2_000


class RuleDialog(ModalScreen[bool]):
    """Asks for a rule, beginning with ``draft``; it answers whether one was saved.

    ``about`` stands above the fields. With ``books``, names of rulebooks, it asks for the book too; with ``reread``, a key
    reads the file again where somebody else changed it, and what was typed stays. ``check_like`` is an example of a check.
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
    ) -> None:
        super().__init__()
        self._title = title
        self._began = draft
        self._submit = submit
        self._about = about
        self._reread = reread
        self._form = RuleForm(draft, books, check_like)
        self._warned: Draft | None = None
        self._saving = False

    def compose(self) -> ComposeResult:
        """What it is about, the fields, and what stands in the way."""
        with Vertical() as box:
            box.border_title = Content(printable(cut(self._title, 60)))
            box.border_subtitle = Content("tab next field · enter save · esc leave")
            if self._about:
                yield Static(Content(printable(cut(self._about, LONGEST))), id="dialog-about")
            yield self._form
            yield Static(id="dialog-note")

    @on(RuleForm.Submitted)
    def action_save(self) -> None:
        """Save the rule, unless something is wrong with it."""
        draft = self._form.draft
        faults = draft.faults()
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
        """Read the file again; what was typed stays."""
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
        """Save nothing; what was typed is thrown away only when it is asked for twice."""
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
