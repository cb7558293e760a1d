"""The curator's desk: a rulebook's rules, the one that is looked at in full, and its witnesses, which lead into the replay."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.message import Message
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from knowledge.rulebook import Rulebook, read_book, save
from knowledge.rules import STATUSES, Rule
from tui.aside import aside
from tui.desk import Desk
from tui.leaving import LeavingScreen
from tui.rules import MARKS, described, figures
from tui.runs import played
from tui.text import printable
from tui.widgets.keybar import KeyBar
from tui.widgets.lines import flat
from tui.witness import Seen, Witness, look_up
from worlds.errors import HousequestError


class DeskScreen(LeavingScreen):
    """Curates ``book``; witnesses are looked for in the runs in ``runs`` and the games that were played.

    ``shipped``: the book is the user's copy, to be made by the first save, of one that ships.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("a", "judge('accepted')", "Accept"),
        Binding("x", "judge('rejected')", "Reject"),
        Binding("space", "mark", "Mark"),
        Binding("m", "merge", "Merge"),
        Binding("u", "undo", "Undo"),
        Binding("s", "status", "Status"),
        Binding("c", "contradicted", "Contradicted"),
        Binding("tab", "turn", "Witnesses", priority=True),
        Binding("r", "reload", "Read again"),
        Binding("slash", "app.command_palette", "Palette", key_display="/"),
        Binding("q", "leave", "Back"),
        Binding("escape", "leave", "Back", show=False),
    ]
    AUTO_FOCUS = "#desk-rules"

    DEFAULT_CSS = """
    DeskScreen {
        background: $background;
        #desk-title { height: 1; padding: 0 1; color: $quiet; }
        #desk-note { height: auto; max-height: 4; padding: 0 1; }
        OptionList {
            height: 2fr; border: round $frame; padding: 0 1; background: transparent; scrollbar-size-vertical: 1;
            border-title-color: $quiet;
            &:focus { border: round $foreground; background-tint: transparent; }
            & > .option-list--option-highlighted, &:focus > .option-list--option-highlighted {
                background: $panel; color: $foreground; text-style: bold;
            }
        }
        #desk-witnesses { height: 1fr; min-height: 5; }
        #desk-card { height: 1fr; min-height: 4; padding: 0 2; }
    }
    """

    @dataclass
    class OpenStep(Message):
        """The replay of this record is asked for, at the turn of this event."""

        path: Path
        event: int

    class Left(Message):
        """The person is done here."""

    def __init__(self, book: Rulebook, runs: Path, *, shipped: bool = False) -> None:
        super().__init__()
        self.desk = Desk(book)
        self._runs = runs
        self._shipped = shipped
        self._witnesses: tuple[Witness, ...] = ()
        self._shown: Rule | None = None
        self._saving = False

    def compose(self) -> ComposeResult:
        """A title, the rules, the one that is looked at, its witnesses, and the keys."""
        yield Static(id="desk-title")
        yield OptionList(id="desk-rules", markup=False)
        with VerticalScroll(id="desk-card", can_focus=False):
            yield Static(id="desk-rule")
        yield OptionList(id="desk-witnesses", markup=False)
        yield Static(id="desk-note")
        yield KeyBar(last=("app.command_palette", "leave"))

    def on_mount(self) -> None:
        """Show the book."""
        self.query_one("#desk-rules").border_title = Content("Rules")
        self.query_one("#desk-witnesses").border_title = Content("Witnesses")
        if self._shipped:
            self._say(f"This book ships and is read-only: what you change goes to {self.desk.book.path}.")
        self._show()

    def _show(self) -> None:
        desk, rules = self.desk, self.desk.rules
        looked = desk.rule
        listed = self.query_one("#desk-rules", OptionList)
        with self.prevent(OptionList.OptionHighlighted):
            listed.set_options(Option(_row(rule, rule.id in desk.chosen)) for rule in rules)
            listed.highlighted = rules.index(looked) if looked else None
        wanted = desk.filter
        told = [wanted.status or "", "contradicted" if wanted.contradicted else ""]
        of = f"{len(rules)} of {len(desk.book.rules)} rules {' '.join(word for word in told if word)}".rstrip()
        self.query_one("#desk-title", Static).update(Content(f"Desk  ·  {of}  ·  {flat(str(desk.book.path))}"))
        self._look(looked)

    def _look(self, rule: Rule | None) -> None:
        if rule == self._shown and rule is not None:
            return
        self._shown = rule
        lines = described(rule) if rule else iter(["No rule fits: s and c change what is shown."])
        self.query_one("#desk-rule", Static).update(Content("\n".join(printable(line) for line in lines)))
        self._witnesses = ()
        self.query_one("#desk-witnesses", OptionList).clear_options()
        if rule and rule.evidence:
            self.run_worker(partial(self._read, rule), group="witnesses", exclusive=True)

    async def _read(self, rule: Rule) -> None:
        origins = (*rule.evidence.witnesses, *rule.evidence.against)
        try:
            found = await aside(lambda: look_up(origins, played(self._runs)))
        except (HousequestError, OSError) as error:
            self._say(f"The witnesses cannot be read: {error}")
            return
        self._witnesses = found
        supporting = len(rule.evidence.witnesses)
        listed = self.query_one("#desk-witnesses", OptionList)
        listed.set_options(Option(_witnessed(each, place < supporting)) for place, each in enumerate(found))
        listed.highlighted = 0 if found else None

    @on(OptionList.OptionHighlighted, "#desk-rules")
    def _moved(self, message: OptionList.OptionHighlighted) -> None:
        rule = self.desk.rules[message.option_index]
        self.desk = self.desk.looking(rule.id)
        self._look(rule)

    @on(OptionList.OptionSelected, "#desk-rules")
    def action_turn(self) -> None:
        """Go from the rules to the witnesses, or back."""
        there = self.query_one("#desk-witnesses", OptionList)
        (self.query_one("#desk-rules") if there.has_focus else there).focus()

    @on(OptionList.OptionSelected, "#desk-witnesses")
    def _opened(self, message: OptionList.OptionSelected) -> None:
        match self._witnesses[message.option_index]:
            case Seen(path=path, event=event):
                self.post_message(self.OpenStep(path, event))
            case missing:
                self._say(missing.reason)

    def action_judge(self, status: str) -> None:
        """Accept or reject the marked rules, or the one that is looked at."""
        self._change(lambda desk: desk.judged("accepted" if status == "accepted" else "rejected"), status)

    def action_merge(self) -> None:
        """Make the marked rules one, the first that was marked."""
        self._change(Desk.merged, "merged")

    def action_undo(self) -> None:
        """Take the last change of this sitting back, in the file too."""
        self._change(Desk.undone, f"undone: {self.desk.done[-1].name}" if self.desk.done else "")

    def _change(self, change: Callable[[Desk], Desk], name: str) -> None:
        if not self._saving:
            self._saving = True
            self.run_worker(partial(self._save, change, name), group="save")

    async def _save(self, change: Callable[[Desk], Desk], name: str) -> None:
        """Change the book and save it; where that is refused, the desk is as it was."""
        before = self.desk
        try:
            changed = await aside(partial(change, before))
            if changed.book is not before.book:
                changed = changed.saved(await aside(partial(save, changed.book)))
                self._say(f"{name}, and saved; u undoes it. {changed.book.path}")
        except HousequestError as error:
            self._say(f"{error} (r reads it again)" if before.book.read else str(error))
            return
        finally:
            self._saving = False
        # What was looked at or marked meanwhile stays so, but for what the change itself moved.
        moved = self.desk is not before
        self.desk = replace(changed, at=self.desk.at, filter=self.desk.filter) if moved else changed
        self._show()

    def action_mark(self) -> None:
        """Mark the rule that is looked at, or no longer."""
        if self.desk.rule:
            self.desk = self.desk.toggled(self.desk.rule.id)
            self._show()

    def action_status(self) -> None:
        """Look at rules of the next status, or of all."""
        every = (None, *STATUSES)
        now = self.desk.filter
        self.desk = self.desk.filtered(replace(now, status=every[(every.index(now.status) + 1) % len(every)]))
        self._show()

    def action_contradicted(self) -> None:
        """Look at those alone that something speaks against, or at all."""
        now = self.desk.filter
        self.desk = self.desk.filtered(replace(now, contradicted=not now.contradicted))
        self._show()

    async def action_reload(self) -> None:
        """Read the file again, where somebody else changed it."""
        try:
            self.desk = self.desk.reloaded(await aside(partial(read_book, self.desk.book.path)))
        except HousequestError as error:
            self._say(str(error))
            return
        self._say("Read again; what was done before cannot be undone any more.")
        self._show()

    def _say(self, text: str) -> None:
        self.query_one("#desk-note", Static).update(Content.styled(flat(text), "$new"))

    def action_leave(self) -> None:
        """Back to where one came from."""
        self.post_message(self.Left())


def _row(rule: Rule, marked: bool) -> Content:
    style = "$fault" if rule.standing == "contradicted" else "$won" if rule.standing == "supported" else "$quiet"
    return Content.assemble(
        ("▪ " if marked else "  ", "$goal"),
        (f"{MARKS[rule.standing]} {figures(rule.evidence):>9}  ", style),
        (f"{rule.status:<9}  {rule.kind or '-':<10}  ", "$quiet"),
        flat(rule.statement),
    )


def _witnessed(witness: Witness, supports: bool) -> Content:
    side = ("for      ", "$won") if supports else ("against  ", "$fault")
    match witness:
        case Seen():
            told = Content.assemble("> ", flat(witness.command), ("  ", ""), (flat(witness.observation), "$quiet"))
        case _:
            told = Content.styled(f"not on disk  {flat(witness.reason)}", "$quiet")
    return Content.assemble(side, told, (f"  {flat(witness.origin)}", "$quiet"))
