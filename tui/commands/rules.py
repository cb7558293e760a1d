"""``housequest rules``: rulebooks listed, checked against what was played, and edited."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from datetime import date
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from housequest.tui import terminal
from housequest.tui.commands import options
from housequest.tui.commands.measure import measure
from housequest.tui.commands.mine import mine, paths_to_mine
from housequest.tui.commands.output import print_result, show_screen
from housequest.tui.desk.rule_text import finding_lines, rule_json, rule_lines, rule_table, table, taken_back
from housequest.worlds.errors import ConfigurationError

if TYPE_CHECKING:
    from housequest.knowledge.rulebook import Rulebook, RuleLibrary
    from housequest.knowledge.rules import Rule, RuleVerdict

rules_app = typer.Typer(
    help="Rulebooks: mine, list, check, accept, edit and merge rules.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

OptionalBook = Annotated[str | None, typer.Argument(metavar="BOOK", help="A rulebook's name, or its file.")]
RuleArgument = Annotated[str, typer.Argument(metavar="ID", help="The rule's id.")]
RulesArgument = Annotated[list[str], typer.Argument(metavar="ID", help="The rules' ids.")]
KindOption = Annotated[
    str | None, options.choice("--kind", "The kind of rule.", "mechanic", "affordance", "location", "strategy")
]

rules_app.command()(mine)


@rules_app.command()
def desk(book: OptionalBook = None) -> None:
    """Curate a book on the screen: each rule beside its witnesses, which can be replayed. Without a book, choose one."""
    if not terminal.has_screen():
        raise ConfigurationError("The desk needs a terminal; without one, see `housequest rules list` and `rules show`.")
    from housequest.tui.desk.books import open_book
    from housequest.tui.desk.books_screen import BooksScreen
    from housequest.tui.desk.screen import DeskScreen

    found = open_book(book, new=False) if book is not None else None
    show_screen(partial(DeskScreen, found.book, Path("runs"), shipped=found.shipped) if found else BooksScreen)


@rules_app.command("list")
def list_rules(
    book: OptionalBook = None,
    status: Annotated[
        str | None, options.choice("--status", "Only rules with this status.", "candidate", "accepted", "rejected")
    ] = None,
    kind: KindOption = None,
    as_json: options.JsonOption = False,
) -> None:
    """List the rules of a book; without one, the rulebooks there are."""
    if book is None:
        _list_books(as_json)
        return
    rules = _library().open(book).rules
    chosen = [rule for rule in rules if status in {None, rule.status} and kind in {None, rule.kind}]
    if not (chosen or as_json):
        terminal.note("There are no such rules in it.")
    else:
        print_result([rule_json(rule) for rule in chosen], rule_table(chosen), as_json=as_json)


@rules_app.command()
def show(book: options.BookArgument, name: RuleArgument, as_json: options.JsonOption = False) -> None:
    """Show one rule with its check, its evidence and its history."""
    rule = _library().open(book).rule(name)
    print_result(rule_json(rule), rule_lines(rule), as_json=as_json)


@rules_app.command()
def check(
    book: options.BookArgument,
    paths: options.RecordsArgument = None,
    save: Annotated[bool, typer.Option("--save", help="Save what was found as the rules' evidence.")] = False,
    as_json: options.JsonOption = False,
) -> None:
    """Check the rules of a book against every recorded command, and name those that the records contradict."""
    from housequest.tui.desk.checking import RuleCheck

    places = paths_to_mine(paths)
    current = _library().editable(book) if save else _library().open(book)
    outcome = RuleCheck(current.rules, lambda: places, world=current.world).run()
    assert outcome is not None  # nobody cancels it
    findings, progress = outcome.findings, outcome.progress
    for damaged in progress.damaged:
        terminal.note(f"Left out: {damaged}")
    found = [
        {"id": each.rule.id, "standing": each.standing, **asdict(each.evidence)}
        | ({"seen": str(place)} if (place := outcome.seen.get(each.rule.id)) else {})
        for each in findings
    ]
    counted = {"episodes": progress.episodes, "transitions": progress.commands, "rules": found}
    print_result(counted, finding_lines(outcome), as_json=as_json)
    if not as_json:
        terminal.note(f"{outcome}.")
    if save:
        _save(current.put(each.rule.examined(each.evidence) for each in findings))


@rules_app.command()
def accept(book: options.BookArgument, names: RulesArgument) -> None:
    """Accept rules: agents that are given the book get them."""
    _judge(book, names, "accepted")


@rules_app.command()
def reject(book: options.BookArgument, names: RulesArgument) -> None:
    """Reject rules. They stay in the book, and agents do not get them."""
    _judge(book, names, "rejected")


@rules_app.command()
def edit(
    book: options.BookArgument,
    name: RuleArgument,
    statement: Annotated[str | None, options.value("--statement", "TEXT", "What the rule says.")] = None,
    kind: KindOption = None,
    check: Annotated[
        str | None, options.value("--check", "CHECK", "Its check: 'COMMAND; when ...; then ...'. Empty: none.")
    ] = None,
    objects: Annotated[list[str] | None, options.value("--object", "KIND", "A kind of thing it concerns.")] = None,
    types: Annotated[list[str] | None, options.value("--type", "TYPE", "A task type it concerns.")] = None,
) -> None:
    """Change a rule. For anything else, edit the book's file: it is plain YAML, and your comments stay."""
    current = _library().editable(book)
    rule = current.rule(name)
    given = {"statement": statement, "kind": kind, "check": check}
    changes = {field: text for field, text in given.items() if text is not None}
    changes |= {field: ", ".join(words) for field, words in (("types", types), ("objects", objects)) if words}
    if not changes:
        raise ConfigurationError(f"No change is given; see `housequest rules edit --help`, or edit {current.path}.")
    _put(book, current, rule, _edited(current, rule, changes))


@rules_app.command()
def merge(
    book: options.BookArgument,
    name: Annotated[str, typer.Argument(metavar="ID", help="The rule that stays.")],
    others: Annotated[list[str], typer.Argument(metavar="OTHER", help="The rules to merge into it.")],
    statement: Annotated[str | None, options.value("--statement", "TEXT", "What it says from now on.")] = None,
) -> None:
    """Merge rules into one. The others stay in the book as rejected, with the id of the one that replaces them."""
    current = _library().editable(book)
    before = current.rule(name)
    if name in others:
        raise ConfigurationError(f"A rule cannot be merged into itself; leave {name} out of the others.")
    merged = [current.rule(other).merged_into(before) for other in dict.fromkeys(others)]
    kept = before.including(merged)
    if statement is not None:
        kept = _edited(current, kept, {"statement": statement})
    _put(book, current, before, kept, *merged)


rules_app.command()(measure)


def _judge(book: str, names: Sequence[str], status: RuleVerdict) -> None:
    current = _library().editable(book)
    _save(current.put([current.rule(name).judged(status) for name in dict.fromkeys(names)], date.today()))


def _edited(book: Rulebook, rule: Rule, changes: dict[str, str]) -> Rule:
    """``rule`` with ``changes`` of its fields. Raises ``ConfigurationError`` if something new in it is wrong."""
    from housequest.tui.desk.draft import Draft

    since = Draft.of(rule)
    draft, known = replace(since, **changes), since.faults(book.world)
    fault = next((each for each in draft.faults(book.world) if each not in known), None)
    if fault is not None:
        flag = {"types": "--type", "objects": "--object"}.get(fault.field, f"--{fault.field}")
        way_out = "" if draft.statement.strip() else f" To drop the rule, `housequest rules reject {book.path} {rule.id}`."
        raise ConfigurationError(f"{rule.id} in {book.path} stays as it is. {flag}: {fault.reason}{way_out}")
    return draft.onto(rule, since)


def _put(name: str, book: Rulebook, before: Rule, after: Rule, *others: Rule) -> None:
    """Save what a person made of a rule today, and say if it has to be judged again."""
    _save(book.put([after, *others], date.today()))
    if remark := taken_back(before, after):
        terminal.note(f"{remark}; `housequest rules accept {name} {after.id}` accepts it.")


def _save(book: Rulebook) -> None:
    from housequest.knowledge.rulebook import save

    new = book.read is None
    save(book)
    terminal.note(f"{'Your own copy is' if new else 'Saved'} {book.path}")


def _library() -> RuleLibrary:
    from housequest.knowledge.rulebook import library

    return library()


def _list_books(as_json: bool) -> None:
    from housequest.tui.desk.books import list_books

    books = list_books()
    for book in books:
        if book.fault:
            terminal.note(f"{book.name} is left out: {book.fault}")
    rows = [
        (book.name, book.world, book.accepted, book.candidates, book.rejected, "ships" if book.shipped else str(book.path))
        for book in books
        if not book.fault
    ]
    if not (rows or as_json):
        terminal.note(f"There are no rulebooks yet; put one into {_library().own}, or name a file.")
        return
    keys = ("name", "world", "accepted", "candidate", "rejected", "file")
    lines = table([("book", "world", "accepted", "candidates", "rejected", "file"), *(tuple(map(str, row)) for row in rows)])
    print_result([dict(zip(keys, row, strict=True)) for row in rows], lines, as_json=as_json)
