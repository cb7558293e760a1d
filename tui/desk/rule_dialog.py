"""Dialogs about rules: one in which a rule is written, and one that shows what merging will make of several.

Teaching opens the first for a step of a game or a replay, which becomes the witness of a candidate rule.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Collection, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, cast

from textual import on, work
from textual.app import App, ComposeResult
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.content import Content
from textual.messages import Prune
from textual.screen import Screen
from textual.suggester import SuggestFromList
from textual.widgets import Input, Static, TextArea

from housequest.agent.episodes.moments import episode_files
from housequest.knowledge.rulebook import save
from housequest.knowledge.rules import KINDS, SCOPES, Evidence, Rule
from housequest.tui.base_screen import RUNS, Dialog, in_thread
from housequest.tui.desk.rule_text import NO_KIND, Draft, DraftFault, FormField
from housequest.tui.desk.state import latest_book, list_books, open_book
from housequest.tui.episode.state import EpisodeMoment, TurnEntry
from housequest.tui.runs.data import recorded_play
from housequest.tui.text import cut, printable
from housequest.tui.widgets.lines import ChoiceBar, flat, labelled
from housequest.worlds.errors import HousequestError
from housequest.worlds.registry import DEFAULT_WORLD, household

SaveDraft = Callable[[Draft, Draft], Awaitable[DraftFault | None]]
"""Saves a draft that has no faults, given also what stood there at first; returns what stood in the way."""
LABEL = 10
AROUND = 6
"""Rows of the frame and of what stands above the part that scrolls."""
SHOWN = 150
"""Characters of an answer that the dialog for teaching shows."""
LONGEST = 2_000
LONGEST_TEXT = 4_000
_NAME = re.compile(r"([A-Za-z][\w-]*) ([0-9]+)", re.ASCII)


class RuleDialog(Dialog[bool], keys="rule"):
    """Asks for a rule, beginning with ``draft``, until it is saved or the person discards it; answers whether one was saved.

    ``about`` stands above the fields. With ``books``, names of rulebooks, it asks for the book too. With ``reread``, a key
    reads what somebody else has made of it in its file, and what was typed stays. ``world`` is the one that the rule is about;
    ``check_like`` is an example of a check, one of that world's if not given.
    """

    def __init__(
        self,
        title: str,
        draft: Draft,
        submit: SaveDraft,
        *,
        about: str = "",
        books: Sequence[str] | None = None,
        reread: Callable[[], Awaitable[Draft]] | None = None,
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
        self._warned: Draft | None = None
        self._saving = False
        reader = household(world)
        like = check_like or (reader.commands.checks[0] if reader else "")
        check = f"none; or such as: {like}" if like else "none; or COMMAND; when FACTS; then FACTS"
        prose = partial(TextArea, compact=True)
        line = partial(Input, compact=True, max_length=LONGEST_TEXT, select_on_focus=False)
        self._fields: dict[FormField, TextArea | ChoiceBar | Input] = {
            "statement": prose(draft.statement, placeholder="what holds in this world, in a sentence", id="field-statement"),
            "kind": ChoiceBar(id="field-kind"),
            "scope": ChoiceBar(id="field-scope"),
            "types": line(draft.types, "all; or task types, with commas between them", id="field-types"),
            "objects": line(draft.objects, "all; or kinds of thing, with commas between them", id="field-objects"),
            "check": prose(draft.check, placeholder=check, id="field-check"),
        }
        if books is not None:
            known = SuggestFromList(books, case_sensitive=False)
            self._fields["book"] = line(draft.book, "a name, or a file", suggester=known, id="field-book")

    def compose(self) -> ComposeResult:
        labels: dict[FormField, str] = {"types": "tasks", "objects": "things"}
        with Vertical() as box:
            box.border_title = Content(printable(cut(self._title, 60)))
            box.border_subtitle = Content("tab next field · enter save · esc leave")
            if self._about:
                yield Static(Content(printable(cut(self._about, LONGEST))), id="dialog-about")
            with VerticalScroll(can_focus=False):
                for name, field in self._fields.items():
                    with Horizontal():
                        yield Static(Content(labels.get(name, name)), classes="label")
                        yield field
                    yield Static(id=f"fault-{name}", classes="fault")
            yield Static(id="dialog-note")

    def on_mount(self) -> None:
        self._fill(self._began)
        for field in self._fields.values():
            if not isinstance(field, ChoiceBar):
                field.cursor_blink = False
            if isinstance(field, TextArea):
                field.move_cursor(field.document.end)

    @property
    def draft(self) -> Draft:
        fields = self._fields.items()
        return Draft(**{name: field.text if isinstance(field, TextArea) else field.value for name, field in fields})

    @property
    def at_stake(self) -> str:
        return "This rule is not saved." if self.draft != self._began else ""

    def _fill(self, draft: Draft) -> None:
        for name, field in self._fields.items():
            text: str = getattr(draft, name)
            if isinstance(field, ChoiceBar):
                field.offer((NO_KIND, *KINDS) if name == "kind" else SCOPES, text)
            elif isinstance(field, Input):
                field.value = text
            elif field.text != text:
                field.text = text

    def action_save(self) -> None:
        draft = self.draft
        faults = list(draft.faults(self._world))
        self._show_faults(*faults)
        if not faults and not self._saving:
            self._saving = True
            self._save(draft)

    @work(group="dialog")
    async def _save(self, draft: Draft) -> None:
        try:
            fault = await self._submit(draft, self._began)
        finally:
            self._saving = False
        if fault is None:
            self.dismiss(True)
        else:
            self._show_faults(fault)

    @work(group="dialog")
    async def action_reread(self) -> None:
        if self._reread is None:
            return
        try:
            theirs = await self._reread()
        except HousequestError as error:
            self._show_faults(DraftFault("form", str(error)))
            return
        changed = theirs != self._began
        self._fill(self.draft.rebased(self._began, theirs))
        self._began = theirs
        self._show_faults()
        news = "the fields that you had not touched now say what it says" if changed else "this rule is as it was"
        self._say(f"The file was read again: {news}. enter saves.")

    def action_leave(self) -> None:
        """Close; changes are discarded only when this is asked for twice."""
        draft = self.draft
        if draft in {self._began, self._warned}:
            self.dismiss(False)
        else:
            self._warned = draft
            self._say("This is not saved: enter saves it, esc once more throws it away.")

    def _show_faults(self, *faults: DraftFault) -> None:
        """Show each of ``faults`` below its field and focus the first of those fields; without faults, clear them."""
        for name in self._fields:
            reasons = " ".join(fault.reason for fault in faults if fault.field == name)
            place = self.query_one(f"#fault-{name}", Static)
            place.update(Content(printable(cut(reasons, LONGEST_TEXT))))
            place.display = bool(reasons)
        if first := next((self._fields[fault.field] for fault in faults if fault.field in self._fields), None):
            first.focus()
        self._say(" ".join(fault.reason for fault in faults if fault.field == "form"))

    def _say(self, text: str) -> None:
        self.query_one("#dialog-note", Static).update(Content(printable(cut(text, LONGEST))))

    @on(Prune)
    def _end_workers(self) -> None:
        # As on any screen that can be left at any moment: a worker would look for the widgets in vain.
        self.workers.cancel_node(self)  # pyright: ignore[reportUnknownMemberType]


class MergeDialog(Dialog[str | None], keys="merge"):
    """Shows what merging ``others`` makes of ``before``: ``kept``. The answer is what that says; None: nothing is merged."""

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
        before, kept, own = self._before, self._kept, self._kept.evidence
        yield Content("")
        for name, was, now in (("tasks", before.types, kept.types), ("things", before.objects, kept.objects)):
            change = f"{', '.join(now) or 'all'}" + (f"  (was {', '.join(was) or 'all'})" if was != now else "")
            yield from labelled(name, Content(flat(change)), width, LABEL)
        found = f"{own.supports:,} for · {own.contradicts:,} against" if own else "none counted"
        yield from labelled("evidence", Content(f"{found}; the others keep theirs"), width, LABEL)
        yield Content("")
        for other in self._others:
            text = Content.assemble((f"{flat(other.id)}: ", "bold"), flat(other.statement))
            yield from labelled("× rejected", text, width, LABEL)
        yield Content.styled(f"Rejected rules stay in the book and name {flat(self._kept.id)}; u undoes the merge.", "$quiet")

    def action_page(self, by: int) -> None:
        shown = self.query_one(VerticalScroll)
        shown.scroll_relative(y=by * max(1, shown.size.height - 1), animate=False)

    def action_merge(self) -> None:
        self.dismiss(self.query_one(TextArea).text)


def check_like(turn: TurnEntry, receptacles: Collection[str] = ()) -> str:
    """The simplest check that the command of ``turn`` would support; of what it names, ``receptacles`` are no objects."""
    taken: list[str] = []

    def variable(found: re.Match[str]) -> str:
        name = "receptacle" if found[0] in receptacles else "object"
        taken.append(name if name not in taken else f"other_{name}")
        return f"{{{taken[-1]}}}"

    return f"{_NAME.sub(variable, turn.command or '')}; then {'accepted' if turn.observation.accepted else 'refused'}"


def teach(screen: Screen[Any], moment: EpisodeMoment, record: Path | None) -> None:
    """Ask for a rule about the last command of ``moment``, in which one was played."""
    turn = next(entry for entry in reversed(moment.story) if entry.command is not None)
    app = cast("App[Any]", screen.app)  # pyright: ignore[reportUnknownMemberType]
    app.run_worker(partial(_teach, app, moment, turn, record), group="teach", exclusive=True)


async def _teach(app: App[Any], moment: EpisodeMoment, turn: TurnEntry, record: Path | None) -> None:
    """Ask for the rule, in a book that the person chooses."""

    def closed(saved: bool | None) -> None:
        if saved:
            app.notify("Saved as a candidate, for you to judge at the desk.", title="Taught", markup=False)

    command, world = turn.command or "", moment.started.world if moment.started else DEFAULT_WORLD
    try:
        witness = "" if record is None else await in_thread(partial(_origin, record, turn))
        names = [book.name for book in await in_thread(list_books) if book.world == world]
        objects = dict.fromkeys(kind for kind, _ in _NAME.findall(command))
        draft = Draft(objects=", ".join(objects), book=await in_thread(partial(latest_book, world)))
    except (HousequestError, OSError) as error:
        app.notify(str(error), severity="warning", markup=False)
        return
    seen = f"witness {witness}" if witness else "No record of this game is kept, so the rule has no witness."
    about = f"> {command}\n{cut(' '.join(turn.observation.text.split()), SHOWN)}\n{seen}"

    def submit(draft: Draft, _: Draft) -> Awaitable[DraftFault | None]:
        return in_thread(partial(save_taught_rule, draft, witness, world))

    like = check_like(turn, {one.name for one in moment.belief.receptacles} if moment.belief else ())
    app.push_screen(RuleDialog("Teach a rule", draft, submit, about=about, books=names, check_like=like, world=world), closed)


def _origin(record: Path, turn: TurnEntry) -> str:
    """The origin of ``turn`` in ``record``, run/task/event, as the desk looks it up."""
    task = record.name.removesuffix(".part").removesuffix(".jsonl")
    every = episode_files(recorded_play(RUNS))
    # A game that ends meanwhile is recorded under another name in the same folder.
    here = [each for each in every if each.task == task and each.path.parent.samefile(record.parent)]
    found = here or episode_files([record])
    return f"{found[0].run}/{found[0].task}/{turn.id}"


def save_taught_rule(draft: Draft, witness: str, world: str = DEFAULT_WORLD) -> DraftFault | None:
    """Save ``draft``, a rule about ``world``, in its book as a candidate; return what went wrong, if anything."""
    if not draft.book.strip():
        return DraftFault("book", "Name a book: one of yours, a new name, or a file.")
    try:
        book, _ = open_book(draft.book.strip(), world=world)
    except HousequestError as error:
        return DraftFault("book", str(error))
    rule = draft.new({rule.id for rule in book.rules})
    witnesses = Evidence(witnesses=(witness,)) if witness else Evidence()
    try:
        save(book.put([replace(rule, evidence=witnesses)]))
    except HousequestError as error:
        return DraftFault("form", f"{error} enter tries again.")
    return None
