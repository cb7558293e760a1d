"""The rulebooks, the user's and those that ship, and the curator's desk, which shows one to judge and check its rules."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from threading import Event as Flag

from textual import events, on, work
from textual.app import ComposeResult
from textual.containers import Container
from textual.content import Content
from textual.events import ScreenResume
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from housequest.knowledge.judging import RuleFinding
from housequest.knowledge.rulebook import Rulebook, library, read_book, save
from housequest.knowledge.rules import Rule, RuleVerdict
from housequest.tui.base_screen import RUNS, AppScreen, OpenScreen, PickDialog, in_thread
from housequest.tui.desk import state
from housequest.tui.desk.rule_dialog import MergeDialog, RuleDialog, SaveDraft
from housequest.tui.desk.rule_text import Draft, DraftFault, taken_back
from housequest.tui.desk.rule_view import FilterBar, RuleList, RulePair, RuleView
from housequest.tui.desk.witnesses import (
    ARCHIVE,
    FoundWitness,
    RuleProof,
    Witness,
    archives,
    find_witnesses,
    import_book,
    recorded_for,
    share_book,
)
from housequest.tui.keymap import TEACHING
from housequest.tui.runs.data import recorded_play
from housequest.tui.text import plural
from housequest.tui.widgets.keybar import KeyBar
from housequest.tui.widgets.lines import FramedList, flat, path_end
from housequest.worlds.errors import HousequestError

WIDE = 104
"""Columns from which on a rule stands beside the list, not below it."""
EMPTY = "No rules yet. n writes one; k in a game or in a replay makes one of what happens there"
EXPLORING = "; `housequest explore` finds some by itself"
FILTERED = "No rule fits: f, s, k, t and c change what is shown, and 0 shows all."


class BooksScreen(AppScreen, keys="books"):
    """Lists the rulebooks that ``books`` finds, those of the library by default; a chosen one is read and posted."""

    AUTO_FOCUS = "OptionList"

    def __init__(self, books: Callable[[], Sequence[state.BookSummary]] = state.list_books) -> None:
        super().__init__()
        self._list_books = books
        self._books: tuple[state.BookSummary, ...] = ()
        self._opened = ""
        self._listed = False

    def compose(self) -> ComposeResult:
        yield Static(_books_title("reading …"), id="books-title")
        yield FramedList()
        explores = f" {TEACHING['explores']}" if state.explores() else ""
        yield Static(Content(TEACHING["books"] + explores), id="books-teaching")
        yield Static(id="books-note")
        yield KeyBar()

    @on(ScreenResume)
    @work(group="look", exclusive=True)
    async def action_look(self) -> None:
        listed = self.query_one(OptionList)
        try:
            self._books = tuple(await self.in_thread(self._list_books))
        except (HousequestError, OSError) as error:
            self.say(str(error))
            return
        names = [book.name for book in self._books]
        at, count = listed.highlighted or 0, len(names)
        if self._opened in names:  # a new one is not, before it has a rule
            at, self._opened = names.index(self._opened), ""
        width = max(map(len, names), default=0)
        listed.set_options(Option(_book_row(book, width)) for book in self._books)
        listed.highlighted = min(at, count - 1) if count else None
        listed.display = bool(count)
        self.query_one("#books-title", Static).update(_books_title(plural(count, "book") if count else "there are none yet"))
        self._listed = True

    @on(OptionList.OptionSelected)
    def action_open(self) -> None:
        at = self.query_one(OptionList).highlighted
        if at is not None:
            self._open(self._books[at].name)

    def facts(self) -> Mapping[str, object]:
        return {"book": self._books or not self._listed}

    def action_new(self) -> None:
        names = () if any(book.name == state.FIRST for book in self._books) else (state.FIRST,)
        about = "Letters, digits, - and _. It is there once it has a rule."
        self.ask(PickDialog("The name of a new book", names, free=True, about=about), self._open)

    def action_other(self) -> None:
        about = "A YAML file of rules. One that is not there yet is made by the first rule."
        self.ask(PickDialog("A rulebook's file", (), free=True, about=about), self._open)

    def action_share(self) -> None:
        """Ask for a file, and write the chosen book with its witnesses to it."""
        at = self.query_one(OptionList).highlighted
        if at is not None:
            book, about = self._books[at].name, "It holds the rules and their witnesses; i adds it elsewhere."
            dialog = PickDialog(f"Share {flat(book)} as a file", (f"{book}{ARCHIVE}",), free=True, about=about)
            self.ask(dialog, lambda file: self._tell(partial(share_book, book, Path(file).expanduser(), RUNS)))

    def action_add(self) -> None:
        """Ask for a shared file, and add its book to the library."""

        def add(file: str) -> str:
            book, _ = import_book(Path(file).expanduser())
            self._opened = book.path.stem
            return f"{book.path.stem} is yours now: {plural(len(book.rules), 'rule')}."

        about = "A file of a shared book, or a YAML file of rules."
        self.ask(PickDialog("Add a shared book", (), free=True, about=about), lambda file: self._tell(partial(add, file)))

    @work(group="share", exclusive=True)
    async def _tell(self, work: Callable[[], str]) -> None:
        """Do ``work``, and tell its outcome."""
        try:
            self.notify(await self.in_thread(work), markup=False)
        except HousequestError as error:
            self.say(str(error))
            return
        self.say("")
        self.action_look()

    def _open(self, name: str) -> None:
        self.awaited = "The book is being read."  # at once: keys wait for it from now on
        self._read(name)

    @work(group="open", exclusive=True)
    async def _read(self, name: str) -> None:
        try:
            book, shipped = await self.in_thread(partial(state.open_book, name))
        except HousequestError as error:
            self.awaited = ""
            self.say(str(error))
            return
        self.say("")
        self._opened = name
        self.post_message(OpenScreen("desk", (book, RUNS, shipped), awaited=True))

    def say(self, note: str) -> None:
        self.query_one("#books-note", Static).update(Content.styled(flat(note), "$fault"))


def _books_title(about: str) -> Content:
    return Content.assemble(("Rulebooks", "bold $foreground"), f"  ·  {about}")


def _book_row(book: state.BookSummary, width: int) -> Content:
    name = (f"{flat(book.name):<{width}}  ", "bold")
    if book.fault:
        return Content.assemble(name, (f"! {flat(book.fault)}", "$fault"))
    counts = f"{book.accepted:>4} accepted  {book.candidates:>4} to judge  {book.rejected:>4} rejected   "
    return Content.assemble(name, counts, ("ships" if book.shipped else "yours", "$quiet"))


class DeskScreen(AppScreen, keys="desk"):
    """Curates ``book``, with witnesses in ``runs`` and games played here; ``shipped``: saving makes the user's own copy."""

    AUTO_FOCUS = "RuleList"

    def __init__(self, book: Rulebook, runs: Path = RUNS, shipped: bool = False) -> None:
        super().__init__()
        self.desk = state.Desk(book)
        self._turn = asyncio.Lock()
        self._runs = runs
        self._shipped = shipped
        self._check: Flag | None = None
        self._paired = False
        self._list = RuleList()

    def compose(self) -> ComposeResult:
        yield Static(id="desk-title")
        yield FilterBar()
        with Container(id="desk-list"):
            yield self._list
            yield RuleView(self._look_up, id="desk-rule")
            yield RulePair(self._look_up, id="desk-pair")
        yield Static(id="desk-note")
        yield KeyBar()

    def on_mount(self) -> None:
        if self._shipped:
            self.say(f"This book ships and is read-only: what you change goes to {self.desk.book.path}.")
        self._show()

    def on_unmount(self) -> None:
        if self._check:
            self._check.set()

    def on_resize(self, event: events.Resize) -> None:
        self.set_class(event.size.width >= WIDE, "-wide")
        self._show()

    def facts(self) -> Mapping[str, object]:
        desk = self._at_cursor
        one, other = self.query_one(RulePair).by_focus if self._paired else (desk.rule, None)
        return {
            "list": not self._paired and desk.beside is None,
            "single": desk.beside is None,
            "other": lambda: desk.difference and desk.difference.other,
            "pair": self._paired,
            "rule": one,
            "opposed": lambda: self._paired or len(desk.opposed) == 2,
            "another": lambda: not self._paired or (one and other and desk.another(one, other)),
            "changed": desk.done or self._turn.locked(),
            "marked": len(desk.marked) > 1,
            "checked": lambda: self._check is not None or any(map(_checkable, desk.marked or desk.rules)),
            "counted": any(isinstance(desk.here.get(rule.id), RuleFinding) for rule in desk.marked or (one,) if rule),
        }

    @property
    def _at_cursor(self) -> state.Desk:
        """The desk with the rule under the list's cursor, also where a key is quicker than the list's message."""
        option = self._list.highlighted_option
        return replace(self.desk, at=option.id) if option else self.desk

    def _show(self) -> None:
        self.refresh_bindings()
        desk, rules, looked = self.desk, self.desk.rules, self.desk.rule
        shown = f"{len(rules)} of {len(desk.book.rules)} rules" if desk.filter else plural(len(rules), "rule")
        marked = f"  ·  {len(desk.marked)} marked" if desk.marked else ""
        title = f"  ·  {'two rules side by side' if self._paired else shown}{marked}  ·  "
        if desk.beside is not None:
            title = f"  ·  {plural(len(desk.differences), 'rule')} not as in {flat(desk.beside.path.stem)}  ·  "
        path = path_end(flat(str(desk.book.path)), max(8, self.size.width - len("Desk") - len(title) - 2))
        self.query_one("#desk-title", Static).update(Content.assemble(("Desk", "bold $foreground"), title, path))
        self.query_one(FilterBar).show(desk.filter)
        if desk.beside is None:
            self._list.show(rules, looked, desk.chosen)
        else:
            self._list.show_differences(desk.differences, desk.difference, *self._names)
        self._look(looked)
        if self._paired:
            by_id = {rule.id: rule for rule in desk.book.rules}
            pair = self.query_one(RulePair)
            match [by_id.get(rule.id) for rule in pair.rules if rule]:
                case [Rule() as one, Rule() as other]:
                    pair.show(one, other)
                case _:  # one of the two is gone
                    self._turn_to(pair=False)

    @property
    def _names(self) -> tuple[str, str]:
        """The names of the two books, or their paths where the names are alike."""
        two = [each.path for each in (self.desk.book, self.desk.beside) if each]
        one, other = (path.stem if len({each.stem for each in two}) > 1 else str(path) for path in (two[0], two[-1]))
        return one, other

    def _look(self, rule: Rule | None) -> None:
        if found := self.desk.difference:
            self.query_one(RulePair).show(found.one, found.other, names=self._names)
            return
        nothing = FILTERED if self.desk.book.rules else f"{EMPTY}{EXPLORING if state.explores() else ''}."
        here = self.desk.here.get(rule.id) if rule else None
        self.query_one("#desk-rule", RuleView).show(rule, self.desk.contraries(rule) if rule else (), here, nothing)

    def _look_up(self, origins: Sequence[str]) -> Awaitable[tuple[Witness, ...]]:
        return self.in_thread(lambda: self._found(origins))

    def _found(self, origins: Sequence[str]) -> tuple[Witness, ...]:
        books = [book for book in (self.desk.book, self.desk.beside) if book]
        came = dict.fromkeys(archive for book in books for archive in archives(book))
        places = dict.fromkeys(place for book in books for place in recorded_for(book, self._runs))
        return find_witnesses(origins, places, tuple(came))

    @on(OptionList.OptionHighlighted, "RuleList")
    def _moved(self, message: OptionList.OptionHighlighted) -> None:
        self.desk = replace(self.desk, at=message.option_id)
        self._look(self.desk.rule)

    @on(OptionList.OptionSelected, "RuleList")
    def _entered(self) -> None:
        self.query_one("#desk-pair OptionList" if self.desk.beside else "#desk-rule OptionList").focus()

    @on(RuleView.Opened)
    def _opened(self, message: RuleView.Opened) -> None:
        witness = message.witness
        if isinstance(witness, FoundWitness):
            self.post_message(OpenScreen("replay", (witness.path, None, None, RuleProof.of(message.rule, witness))))
        else:
            self.say(witness.reason)

    def _catch_up(self) -> Rule | None:
        """Look at the rule under the list's cursor; return the one that keys act on."""
        self.desk = self._at_cursor
        return self.query_one(RulePair).by_focus[0] if self._paired else self.desk.rule

    def action_judge(self, status: RuleVerdict) -> None:
        looked = self._catch_up()
        rules = () if self._paired or self.desk.beside else self.desk.marked
        # Named now, for a save that is under way may take long enough to look at the next rule.
        names = [rule.id for rule in rules or ((looked,) if looked else ())]
        self._change(lambda desk: desk.judged(status, *names), status.capitalize())

    def action_settle(self) -> None:
        one, other = self.query_one(RulePair).by_focus
        if one and other:
            self._change(lambda desk: desk.settled(one.id, other.id), f"{one.id} accepted, {other.id} rejected")

    def action_merge(self) -> None:
        """Show the marked rules merged into the one marked first, and merge them if the person agrees."""
        chosen, merged = self.desk.chosen, self.desk.merged()
        kept, *others = self.desk.marked

        def answered(statement: str) -> None:
            self._change(lambda desk: replace(desk, chosen=chosen).merged(statement.strip() or None), "Merged")

        self.ask(MergeDialog(kept, merged.book.rule(kept.id), tuple(others)), answered)

    def action_recount(self) -> None:
        self._catch_up()
        self._change(state.Desk.recounted, "Counts taken from the records here")

    def action_undo(self) -> None:
        self._change(state.Desk.undone, f"Undone: {self.desk.done[-1][0]}" if self.desk.done else "")

    def _change(self, change: Callable[[state.Desk], state.Desk], done: str) -> None:
        self.run_worker(partial(self._do, change, done), group="save")

    async def _do(self, change: Callable[[state.Desk], state.Desk], done: str) -> DraftFault | None:
        """Make a change and save it. A refusal is shown and returned, and leaves the desk as it was."""
        try:
            async with self._turn:
                before = self.desk
                after = await in_thread(partial(change, before))
                if after.book is before.book:
                    self.desk = replace(self.desk, here=after.here)
                else:
                    book = await in_thread(partial(save, after.book))
                    now = self.desk
                    # What was looked at or marked meanwhile stays so, but for what the change itself moved.
                    at = now.at if after.at == before.at else after.at
                    chosen = now.chosen if after.chosen == before.chosen else after.chosen
                    self.desk = replace(after, book=book, filter=now.filter, at=at, chosen=chosen)
                    way_back = "" if done.startswith("Undone") else "; u undoes it"
                    self.say(f"{done}. Saved{way_back}. {book.path}")
        except HousequestError as error:
            self.say(f"{error} (r reads it again)" if self.desk.book.read else str(error))
            return DraftFault("form", f"{error} ^r reads it again and keeps what you typed.")
        self._show()
        return None

    def action_edit(self) -> None:
        if (rule := self._catch_up()) is None:
            return
        name = rule.id

        async def submit(draft: Draft, since: Draft) -> DraftFault | None:
            before = self.desk.book.rule(name)
            fault = await self._do(lambda desk: desk.put("edited", [draft.onto(desk.book.rule(name), since)]), f"{name} edited")
            if fault is None and (remark := taken_back(before, self.desk.book.rule(name))):
                self.say(f"{remark}. Saved; a accepts it, u undoes the edit.")
            return fault

        self._ask(f"Edit {name}", submit, lambda: Draft.of(self.desk.book.rule(name)))

    def action_new(self) -> None:
        def submit(draft: Draft, _: Draft) -> Awaitable[DraftFault | None]:
            def added(desk: state.Desk) -> state.Desk:
                rule = draft.new({rule.id for rule in desk.book.rules})
                return replace(desk.put("written", [rule]), at=rule.id, filter=state.RuleFilter())

            return self._do(added, "Written")

        self._ask("A new rule", submit, Draft)

    def _ask(self, title: str, submit: SaveDraft, draft: Callable[[], Draft]) -> None:
        """Open the dialog for a rule that begins as ``draft``, which is called again once the file was read again."""

        async def reread() -> Draft:
            await self._reread()
            return draft()

        self.app.push_screen(RuleDialog(title, draft(), submit, reread=reread, world=self.desk.book.world))  # pyright: ignore[reportUnknownMemberType]

    def action_pair(self) -> None:
        """Show two rules side by side: the marked ones, or this rule and one that contradicts it."""
        self._catch_up()
        pair = self.query_one(RulePair)
        if self._paired:
            one, other = pair.by_focus
            if one and other and (third := self.desk.another(one, other)):
                pair.show(one, third)
            return
        two = self.desk.opposed
        pair.show(*two)
        self._turn_to(pair=True)
        pair.action_side(0)
        told = "These two contradict each other" if two[1] in self.desk.contraries(two[0]) else "The two that you marked"
        self.say(f"{told}: ← → change sides, w accepts the one with the keys and rejects the other.")

    async def action_beside(self) -> None:
        """Ask for another book, and show in what its rules differ from this one's."""
        book = self.desk.book
        try:
            listed = await self.in_thread(state.list_books)
        except (HousequestError, OSError) as error:
            self.say(str(error))
            return
        names = [each.name for each in listed if each.world == book.world and each.path != book.path]
        self.ask(
            PickDialog("A book to put beside this one", names, free=True, about="Its name, or its file."), self._put_beside
        )

    @work(group="open", exclusive=True)
    async def _put_beside(self, name: str) -> None:
        try:
            other = await self.in_thread(lambda: library().open(name).require_world(self.desk.book.world, "Name another book."))
        except HousequestError as error:
            self.say(str(error))
            return
        beside = replace(self.desk, beside=other)
        if beside.differences:
            self.desk = beside
            self._turn_to(pair=False)
        told = "The left side is this book: ↑ ↓ the next rule, i takes the rule on the right, esc leaves the other book."
        self.say(told if beside.differences else f"All rules in {name} are as in this book.")

    def action_take(self) -> None:
        self._catch_up()
        if found := self.desk.difference:
            self._change(lambda desk: desk.taken(found.id), f"{found.id} taken")

    def _turn_to(self, *, pair: bool) -> None:
        self._paired = pair
        self.set_class(pair, "-paired")
        self.set_class(self.desk.beside is not None, "-beside")
        self.query_one(FilterBar).display = not pair and self.desk.beside is None
        self.say("")
        if not pair:
            self._list.focus()
        self._show()

    def action_check(self) -> None:
        """Check the marked rules, or all that are shown, against everything recorded; pressed again, cancel that."""
        if self._check is not None:
            self._check.set()
            return
        rules = [rule for rule in self.desk.marked or self.desk.rules if _checkable(rule)]
        self.say(f"Checking {plural(len(rules), 'rule')} …")
        self._check = Flag()
        self._run(rules, self._check)

    @work(group="check")
    async def _run(self, rules: Sequence[Rule], off: Flag) -> None:
        places, world = partial(recorded_play, self._runs), self.desk.book.world

        def tell(progress: state.CheckProgress) -> None:
            if off is self._check:
                self.say(f"Checking: {progress}; esc cancels.")

        try:
            # Progress is reported from the check's thread.
            reported = partial(self.call_later, tell)
            outcome = await self.in_thread(partial(state.check_rules, rules, places, reported, world, off))
        except (HousequestError, OSError) as error:
            self.say(f"Nothing was checked: {error}")
            return
        finally:
            self._check = None
        if outcome is None:
            self.say("Cancelled; the rules are as they were.")
            return
        before = self.desk.book
        if not await self._do(lambda desk: desk.checked(outcome), f"{plural(len(rules), 'rule')} checked"):
            saved = "saved; u undoes it" if self.desk.book is not before else "nothing new to save"
            aside = sum(isinstance(each, RuleFinding) for each in self.desk.here.values())
            keeps = f"{plural(aside, 'rule')} {'keeps' if aside == 1 else 'keep'}"
            kept = f" {keeps} what was counted elsewhere; V takes these counts instead." if aside else ""
            self.say(f"{outcome}: {saved}.{kept}")

    def action_mark(self) -> None:
        if rule := self._catch_up():
            self.desk = self.desk.toggled(rule.id)
            self._show()

    def action_words(self) -> None:
        self.query_one(Input).focus()

    def action_clear_words(self) -> None:
        self.query_one(Input).value = ""
        self.action_leave_words()

    @on(Input.Submitted)
    def action_leave_words(self) -> None:
        self._list.focus()

    @on(Input.Changed)
    def _searched(self, message: Input.Changed) -> None:
        self._filter(replace(self.desk.filter, words=message.value))

    def action_narrow(self, part: state.FilterPart) -> None:
        self._filter(self.desk.filter.narrowed(part, self.desk.types))

    def _filter(self, wanted: state.RuleFilter) -> None:
        self.desk = replace(self.desk, filter=wanted)
        self._show()

    @work(group="save")
    async def action_reload(self) -> None:
        try:
            await self._reread()
        except HousequestError as error:
            self.say(str(error))

    async def _reread(self) -> None:
        async with self._turn:
            book = self.desk.book
            # A new one has no file yet.
            read = await in_thread(
                lambda: read_book(book.path) if book.read is not None or os.path.lexists(book.path) else book
            )
            self.desk = replace(self.desk, book=read, done=())
        self.say("Read again: what was done before cannot be undone any more.")
        self._show()

    def say(self, note: str) -> None:
        self.query_one("#desk-note", Static).update(Content.styled(flat(note), "$new"))

    @property
    def leads_out(self) -> bool:
        return not self._paired and self.desk.beside is None

    def action_leave(self) -> None:
        """Cancel a running check; else go from two rules or books back to the list, and from there out."""
        if self._check is not None:
            self._check.set()
        elif not self.leads_out:
            self.desk = replace(self.desk, beside=None)
            self._turn_to(pair=False)
        else:
            super().action_leave()


def _checkable(rule: Rule) -> bool:
    """Return True if records can decide about ``rule``, or count where its thing lies."""
    return bool(rule.check or state.located(rule))
