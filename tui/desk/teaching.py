"""Teaching: a step of a game or of a replay becomes a candidate rule, with that step as its witness."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, cast

from textual.app import App
from textual.screen import Screen

from housequest.agent.episodes.moments import episode_files
from housequest.knowledge.rulebook import save
from housequest.knowledge.rules import Evidence
from housequest.tui.base_screen import RUNS, in_thread
from housequest.tui.desk.books import latest_book, list_books, open_book
from housequest.tui.desk.draft import Draft, DraftFault
from housequest.tui.desk.rule_dialog import RuleDialog
from housequest.tui.episode.state import EpisodeMoment
from housequest.tui.runs.data import recorded_play
from housequest.tui.text import cut
from housequest.worlds.errors import HousequestError
from housequest.worlds.registry import DEFAULT_WORLD

SHOWN = 150
"""Characters of an answer that the dialog shows."""

_NAME = re.compile(r"([A-Za-z][\w-]*) ([0-9]+)", re.ASCII)


@dataclass(frozen=True, slots=True)
class TaughtStep:
    """The step that a rule is made from: a command, its answer, and its ``event`` in the ``record`` (None: not recorded).

    ``receptacles`` are the names of furniture in the command; a check needs to tell them from objects. The rule is about
    ``world``.
    """

    command: str
    observation: str
    accepted: bool
    event: int
    record: Path | None
    receptacles: frozenset[str] = frozenset()
    world: str = DEFAULT_WORLD

    @property
    def objects(self) -> tuple[str, ...]:
        """The kinds of thing that the command names."""
        return tuple(dict.fromkeys(kind for kind, _ in _NAME.findall(self.command)))

    @property
    def check(self) -> str:
        """The simplest check that this command would support."""
        taken: list[str] = []

        def variable(found: re.Match[str]) -> str:
            name = "receptacle" if found[0] in self.receptacles else "object"
            taken.append(name if name not in taken else f"other_{name}")
            return f"{{{taken[-1]}}}"

        return f"{_NAME.sub(variable, self.command)}; then {'accepted' if self.accepted else 'refused'}"


def taught_step(moment: EpisodeMoment, record: Path | None) -> TaughtStep | None:
    """The last command of ``moment``; None before there is one."""
    for entry in reversed(moment.story):
        if entry.command is not None:
            names = frozenset(receptacle.name for receptacle in (moment.belief.receptacles if moment.belief else ()))
            world = moment.started.world if moment.started else DEFAULT_WORLD
            return TaughtStep(entry.command, entry.observation, entry.accepted, entry.id, record, names, world)
    return None


def teach(screen: Screen[Any], moment: EpisodeMoment, record: Path | None) -> str:
    """Have a rule made from the last command of ``moment``; return why none can be, or an empty text."""
    lesson = taught_step(moment, record)
    if lesson is None:
        return "No command was played by then; a rule is made of one."
    app = cast("App[Any]", screen.app)  # pyright: ignore[reportUnknownMemberType]
    app.run_worker(partial(_teach, app, lesson), group="teach", exclusive=True)
    return ""


async def _teach(app: App[Any], lesson: TaughtStep) -> None:
    def closed(saved: bool | None) -> None:
        if saved:
            app.notify("Saved as a candidate, for you to judge at the desk.", title="Taught", markup=False)

    try:
        app.push_screen(await dialog_for(lesson, RUNS), closed)
    except (HousequestError, OSError) as error:
        app.notify(str(error), severity="warning", markup=False)


async def dialog_for(lesson: TaughtStep, runs: Path) -> RuleDialog:
    """The dialog that makes a rule from ``lesson``, in a book that the person chooses. ``runs`` is the folder of runs.

    Raises ``HousequestError`` and ``OSError`` where the record or the books cannot be read.
    """
    witness = await in_thread(partial(witness_origin, lesson, runs))
    names = [book.name for book in await in_thread(list_books) if book.world == lesson.world]
    draft = Draft(objects=", ".join(lesson.objects), book=await in_thread(partial(latest_book, lesson.world)))

    async def submit(draft: Draft, since: Draft) -> DraftFault | None:
        del since
        return await in_thread(partial(save_taught_rule, draft, witness, lesson.world))

    seen = f"witness {witness}" if witness else "No record of this game is kept, so the rule has no witness."
    about = f"> {lesson.command}\n{cut(' '.join(lesson.observation.split()), SHOWN)}\n{seen}"
    return RuleDialog("Teach a rule", draft, submit, about=about, books=names, check_like=lesson.check, world=lesson.world)


def witness_origin(lesson: TaughtStep, runs: Path) -> str:
    """The origin of ``lesson``, run/task/event, as the desk looks it up; empty if it was not recorded."""
    record = lesson.record
    if record is None:
        return ""
    task = record.name.removesuffix(".part").removesuffix(".jsonl")
    every = episode_files(recorded_play(runs))
    # A game that ends meanwhile is recorded under another name in the same folder.
    here = [each for each in every if each.task == task and each.path.parent.samefile(record.parent)]
    found = here or episode_files([record])
    return f"{found[0].run}/{found[0].task}/{lesson.event}"


def save_taught_rule(draft: Draft, witness: str, world: str = DEFAULT_WORLD) -> DraftFault | None:
    """Save ``draft``, a rule about ``world``, in its book as a candidate; return what went wrong, if anything."""
    if not draft.book.strip():
        return DraftFault("book", "Name a book: one of yours, a new name, or a file.")
    try:
        book = open_book(draft.book.strip(), world=world).book
    except HousequestError as error:
        return DraftFault("book", str(error))
    rule = draft.new({rule.id for rule in book.rules})
    witnesses = Evidence(witnesses=(witness,)) if witness else Evidence()
    try:
        save(book.put([replace(rule, evidence=witnesses)]))
    except HousequestError as error:
        return DraftFault("form", f"{error} enter tries again.")
    return None
