"""``housequest rules``: rulebooks read, checked against what was played, and edited."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from tui.commands.mine import mine

if TYPE_CHECKING:
    from knowledge.evidence import Finding
    from knowledge.library import RuleLibrary
    from knowledge.rulebook import Rulebook
    from knowledge.rules import Rule, RuleVerdict
    from tui.desk.draft import Draft

_T = TypeVar("_T")

rules_app = typer.Typer(
    help="Rulebooks: mine, list, show, check against what was played, accept, reject, edit and merge.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

Book = Annotated[str, typer.Argument(metavar="BOOK", help="A rulebook's name, or its file.")]
Name = Annotated[str, typer.Argument(metavar="ID", help="The rule's id.")]
Names = Annotated[list[str], typer.Argument(metavar="ID...", help="The rules' ids.")]
Json = Annotated[bool, typer.Option("--json", help="Print it as JSON.")]
Kind = Annotated[str | None, typer.Option("--kind", metavar="KIND", help="mechanic, affordance, location or strategy.")]

rules_app.command()(mine)


@rules_app.command()
def desk(
    book: Annotated[str | None, typer.Argument(metavar="[BOOK]", help="A rulebook's name, or its file [choose one].")] = None,
) -> None:
    """Curate a book on the screen: each rule beside its witnesses, which lead into the replay."""
    from pathlib import Path

    from tui import terminal
    from worlds.errors import ConfigurationError

    if not terminal.has_screen():
        raise ConfigurationError("The desk needs a terminal; without one, see `housequest rules list` and `rules show`.")
    from tui.app import HousequestApp
    from tui.desk.books import open_book
    from tui.desk.books_screen import BooksScreen
    from tui.desk.screen import DeskScreen

    found = open_book(book, new=False) if book is not None else None
    start = partial(DeskScreen, found.book, Path("runs"), shipped=found.shipped) if found else BooksScreen
    app = HousequestApp(start)
    app.run()
    if app.return_code:
        raise typer.Exit(app.return_code)


@rules_app.command("list")
def list_rules(
    book: Annotated[str | None, typer.Argument(metavar="[BOOK]", help="A rulebook's name, or its file.")] = None,
    status: Annotated[str | None, typer.Option("--status", metavar="STATUS", help="candidate, accepted or rejected.")] = None,
    kind: Kind = None,
    as_json: Json = False,
) -> None:
    """List the rules of a book; without one, the rulebooks there are."""
    from knowledge.rules import KINDS, STATUSES
    from tui import terminal
    from tui.desk.rule_text import rule_json, rule_table

    if book is None:
        _list_books(as_json)
        return
    wanted = _one_of("--status", status, STATUSES)
    of_kind = _one_of("--kind", kind, KINDS)
    chosen = [rule for rule in _library().open(book).rules if wanted in {None, rule.status} and of_kind in {None, rule.kind}]
    if as_json:
        _print_json([rule_json(rule) for rule in chosen])
    elif chosen:
        terminal.show(rule_table(chosen))
    else:
        terminal.note("There are no such rules in it.")


@rules_app.command()
def show(book: Book, name: Name, as_json: Json = False) -> None:
    """Show one rule with its check, its evidence and its history."""
    from tui import terminal
    from tui.desk.rule_text import rule_json, rule_lines
    from tui.text import printable

    rule = _library().open(book).rule(name)
    if as_json:
        _print_json(rule_json(rule))
        return
    terminal.show(printable(line) for line in rule_lines(rule))


@rules_app.command()
def check(
    book: Book,
    paths: Annotated[
        list[str] | None,
        typer.Argument(metavar="[RUN...]", help="Runs' folders and episodes' files [all in runs/, and what you played]."),
    ] = None,
    save: Annotated[bool, typer.Option("--save", help="Write what was found into the book, as the rules' evidence.")] = False,
    as_json: Json = False,
) -> None:
    """Check the rules of a book against every recorded command, and name those that the records contradict."""
    from agent.episodes.moments import episode_files, recorded_moments
    from knowledge.evidence import examine
    from tui import terminal
    from tui.commands.recorded import Counted, recorded
    from tui.desk.rule_text import finding_lines
    from tui.text import printable

    places = recorded(paths)
    shelf = _library()
    current = shelf.editable(book) if save else shelf.open(book)
    episodes = len(episode_files(places))
    moments = Counted(recorded_moments(places, lambda error: terminal.note(f"Left out: {error}"), world=current.world))
    findings = examine(current.rules, moments)
    if as_json:
        _print_json({"episodes": episodes, "transitions": moments.number, "rules": [_found(each) for each in findings]})
    else:
        terminal.show(printable(line) for line in finding_lines(findings))
        standings = Counter(each.standing for each in findings)
        told_of = ", ".join(f"{standings[each]} {each}" for each in ("supported", "contradicted", "undecided"))
        terminal.note(f"{told_of}; {moments.number:,} commands of {episodes:,} episodes.")
    if save:
        _save(current.put(each.rule.examined(each.evidence) for each in findings))


@rules_app.command()
def accept(book: Book, names: Names) -> None:
    """Accept rules: agents that are given the book are told them."""
    _judge(book, names, "accepted")


@rules_app.command()
def reject(book: Book, names: Names) -> None:
    """Reject rules. They stay in the book, and agents are not told them."""
    _judge(book, names, "rejected")


@rules_app.command()
def edit(
    book: Book,
    name: Name,
    statement: Annotated[str | None, typer.Option("--statement", metavar="TEXT", help="What the rule says.")] = None,
    kind: Kind = None,
    check: Annotated[
        str | None,
        typer.Option("--check", metavar="CHECK", help="Its check: 'COMMAND; when ...; then ...'. Empty: none."),
    ] = None,
    objects: Annotated[list[str] | None, typer.Option("--object", metavar="KIND", help="A kind of thing it concerns.")] = None,
    types: Annotated[list[str] | None, typer.Option("--type", metavar="TYPE", help="A task type it concerns.")] = None,
) -> None:
    """Change a rule. For anything else, edit the book's file: it is plain YAML, and your comments stay."""
    from knowledge.rules import KINDS
    from tui import terminal
    from tui.desk.draft import Draft
    from tui.desk.rule_text import taken_back
    from worlds.errors import ConfigurationError

    current = _library().editable(book)
    rule = current.rule(name)
    if statement is None and kind is None and check is None and not objects and not types:
        raise ConfigurationError(f"Nothing to change is given; see `housequest rules edit --help`, or edit {current.path}.")
    since = Draft.of(rule)
    draft = Draft(
        statement=since.statement if statement is None else statement,
        kind=_one_of("--kind", kind, KINDS) or since.kind,
        types=", ".join(types) if types else since.types,
        objects=", ".join(objects) if objects else since.objects,
        check=since.check if check is None else check,
    )
    _refuse(current, rule, draft, since)
    edited = draft.onto(rule, since)
    _save(_put(current, [edited]))
    if remark := taken_back(rule, edited):
        terminal.note(f"{remark}; `housequest rules accept {book} {name}` accepts it.")


@rules_app.command()
def merge(
    book: Book,
    name: Annotated[str, typer.Argument(metavar="ID", help="The rule that stays.")],
    others: Annotated[list[str], typer.Argument(metavar="OTHER...", help="The rules that it says too.")],
    statement: Annotated[str | None, typer.Option("--statement", metavar="TEXT", help="What it says from now on.")] = None,
) -> None:
    """Merge rules into one. The others stay in the book as rejected, with the id of the one that says it."""
    from tui import terminal
    from tui.desk.draft import Draft
    from tui.desk.rule_text import taken_back
    from worlds.errors import ConfigurationError

    current = _library().editable(book)
    kept = current.rule(name)
    if name in others:
        raise ConfigurationError(f"A rule cannot be merged into itself; leave {name} out of the others.")
    merged = [current.rule(other).merged_into(kept) for other in dict.fromkeys(others)]
    kept = kept.including(merged)
    if statement is not None:
        draft = replace(Draft.of(kept), statement=statement)
        _refuse(current, kept, draft, Draft.of(kept))
        kept = draft.onto(kept, Draft.of(kept))
    _save(_put(current, [kept, *merged]))
    if remark := taken_back(current.rule(name), kept):
        terminal.note(f"{remark}; `housequest rules accept {book} {name}` accepts it.")


def _judge(book: str, names: Sequence[str], status: RuleVerdict) -> None:
    current = _library().editable(book)
    _save(_put(current, [current.rule(name).judged(status) for name in dict.fromkeys(names)]))


def _put(book: Rulebook, rules: Sequence[Rule]) -> Rulebook:
    """``book`` with what a person has made of ``rules`` today."""
    from tui.desk.rule_text import today

    return book.put(rules, today())


def _refuse(book: Rulebook, rule: Rule, draft: Draft, since: Draft) -> None:
    """Raise ``ConfigurationError`` with rule, flag and way out where something new in ``draft`` is wrong."""
    from worlds.errors import ConfigurationError

    flags = {"statement": "--statement", "types": "--type", "objects": "--object", "check": "--check"}
    known = since.faults()
    fault = next((each for each in draft.faults() if each not in known), None)
    if fault is not None:
        way_out = "" if draft.statement.strip() else f" To be rid of the rule, `housequest rules reject {book.path} {rule.id}`."
        raise ConfigurationError(f"{rule.id} in {book.path} stays as it is. {flags[fault.field]}: {fault.reason}{way_out}")


def _save(book: Rulebook) -> None:
    from knowledge.rulebook import save
    from tui import terminal

    new = book.read is None
    save(book)
    terminal.note(f"{'Your own copy is' if new else 'Saved'} {book.path}")


def _library() -> RuleLibrary:
    from knowledge.library import library

    return library()


def _one_of(flag: str, value: str | None, known: tuple[_T, ...]) -> _T | None:
    from worlds.errors import ConfigurationError, nearest, shown

    if value is None:
        return None
    found = next((each for each in known if each == value), None)
    if found is None:
        names = tuple(str(each) for each in known)
        raise ConfigurationError(f"{flag}: {shown(value)} is none of {', '.join(names)}.{nearest(value, names)}")
    return found


def _found(finding: Finding) -> dict[str, object]:
    from tui.desk.rule_text import evidence_json

    return {"id": finding.rule.id, "standing": finding.standing, **evidence_json(finding.evidence)}


def _list_books(as_json: bool) -> None:
    from tui import terminal
    from tui.desk.rule_text import table
    from worlds.errors import KnowledgeError

    shelf = _library()
    rows: list[tuple[str, ...]] = []
    for name in shelf.names():
        path = shelf.find(name)
        try:
            statuses = Counter(rule.status for rule in shelf.open(name).rules)
        except KnowledgeError as error:
            terminal.note(f"{name} is left out: {error}")
            continue
        counts = (str(statuses[each]) for each in ("accepted", "candidate", "rejected"))
        rows.append((name, *counts, "ships" if shelf.is_shipped(path) else str(path)))
    if as_json:
        keys = ("name", "accepted", "candidate", "rejected", "file")
        _print_json([dict(zip(keys, (row[0], *map(int, row[1:4]), row[4]), strict=True)) for row in rows])
    elif rows:
        terminal.show(table([("book", "accepted", "candidates", "rejected", "file"), *rows]))
    else:
        terminal.note(f"There are no rulebooks yet; put one into {shelf.own}, or name a file.")


def _print_json(value: object) -> None:
    import json

    from tui import terminal

    terminal.show([json.dumps(value, indent=2)])
