"""``housequest rules``: rulebooks listed, checked against what was played, and edited."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tui.commands import options
from tui.commands.mine import mine

if TYPE_CHECKING:
    from knowledge.library import RuleLibrary
    from knowledge.rulebook import Rulebook
    from knowledge.rules import Rule, RuleVerdict
    from tui.desk.draft import Draft

rules_app = typer.Typer(
    help="Rulebooks: mine, list, show, check against what was played, accept, reject, edit and merge.",
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
    from tui import terminal
    from tui.commands.output import show_screen
    from worlds.errors import ConfigurationError

    if not terminal.has_screen():
        raise ConfigurationError("The desk needs a terminal; without one, see `housequest rules list` and `rules show`.")
    from tui.desk.books import open_book
    from tui.desk.books_screen import BooksScreen
    from tui.desk.screen import DeskScreen

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
    from tui import terminal
    from tui.commands.output import print_json
    from tui.desk.rule_text import rule_json, rule_table

    if book is None:
        _list_books(as_json)
        return
    rules = _library().open(book).rules
    chosen = [rule for rule in rules if status in {None, rule.status} and kind in {None, rule.kind}]
    if as_json:
        print_json([rule_json(rule) for rule in chosen])
    elif chosen:
        terminal.show(rule_table(chosen))
    else:
        terminal.note("There are no such rules in it.")


@rules_app.command()
def show(book: options.BookArgument, name: RuleArgument, as_json: options.JsonOption = False) -> None:
    """Show one rule with its check, its evidence and its history."""
    from tui.commands.output import print_json, print_lines
    from tui.desk.rule_text import rule_json, rule_lines

    rule = _library().open(book).rule(name)
    if as_json:
        print_json(rule_json(rule))
    else:
        print_lines(rule_lines(rule))


@rules_app.command()
def check(
    book: options.BookArgument,
    paths: options.RecordsArgument = None,
    save: Annotated[bool, typer.Option("--save", help="Save what was found as the rules' evidence.")] = False,
    as_json: options.JsonOption = False,
) -> None:
    """Check the rules of a book against every recorded command, and name those that the records contradict."""
    from tui import terminal
    from tui.commands.mine import recorded
    from tui.commands.output import print_json, print_lines
    from tui.desk.checking import RuleCheck
    from tui.desk.rule_text import evidence_json, finding_lines

    places = recorded(paths)
    current = _library().editable(book) if save else _library().open(book)
    outcome = RuleCheck(current.rules, lambda: places, world=current.world).run()
    assert outcome is not None  # nobody cancels it
    findings, progress = outcome.findings, outcome.progress
    for damaged in progress.damaged:
        terminal.note(f"Left out: {damaged}")
    if as_json:
        found = [{"id": each.rule.id, "standing": each.standing, **evidence_json(each.evidence)} for each in findings]
        print_json({"episodes": progress.episodes, "transitions": progress.commands, "rules": found})
    else:
        print_lines(finding_lines(findings))
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
    statement: Annotated[str | None, typer.Option("--statement", metavar="TEXT", help="What the rule says.")] = None,
    kind: KindOption = None,
    check: Annotated[
        str | None,
        typer.Option("--check", metavar="CHECK", help="Its check: 'COMMAND; when ...; then ...'. Empty: none."),
    ] = None,
    objects: Annotated[list[str] | None, typer.Option("--object", metavar="KIND", help="A kind of thing it concerns.")] = None,
    types: Annotated[list[str] | None, typer.Option("--type", metavar="TYPE", help="A task type it concerns.")] = None,
) -> None:
    """Change a rule. For anything else, edit the book's file: it is plain YAML, and your comments stay."""
    from tui.desk.draft import Draft
    from worlds.errors import ConfigurationError

    current = _library().editable(book)
    rule = current.rule(name)
    given = {
        "statement": statement,
        "kind": kind,
        "types": ", ".join(types) if types else None,
        "objects": ", ".join(objects) if objects else None,
        "check": check,
    }
    changes = {field: text for field, text in given.items() if text is not None}
    if not changes:
        raise ConfigurationError(f"No change is given; see `housequest rules edit --help`, or edit {current.path}.")
    edited = _edited(current, rule, replace(Draft.of(rule), **changes))
    _put(current, [edited])
    _note_candidate(book, rule, edited)


@rules_app.command()
def merge(
    book: options.BookArgument,
    name: Annotated[str, typer.Argument(metavar="ID", help="The rule that stays.")],
    others: Annotated[list[str], typer.Argument(metavar="OTHER", help="The rules to merge into it.")],
    statement: Annotated[str | None, typer.Option("--statement", metavar="TEXT", help="What it says from now on.")] = None,
) -> None:
    """Merge rules into one. The others stay in the book as rejected, with the id of the one that replaces them."""
    from tui.desk.draft import Draft
    from worlds.errors import ConfigurationError

    current = _library().editable(book)
    before = current.rule(name)
    if name in others:
        raise ConfigurationError(f"A rule cannot be merged into itself; leave {name} out of the others.")
    merged = [current.rule(other).merged_into(before) for other in dict.fromkeys(others)]
    kept = before.including(merged)
    if statement is not None:
        kept = _edited(current, kept, replace(Draft.of(kept), statement=statement))
    _put(current, [kept, *merged])
    _note_candidate(book, before, kept)


def _judge(book: str, names: Sequence[str], status: RuleVerdict) -> None:
    current = _library().editable(book)
    _put(current, [current.rule(name).judged(status) for name in dict.fromkeys(names)])


def _put(book: Rulebook, rules: Sequence[Rule]) -> None:
    """Save ``book`` with what a person made of ``rules`` today."""
    from tui.desk.rule_text import today

    _save(book.put(rules, today()))


def _edited(book: Rulebook, rule: Rule, draft: Draft) -> Rule:
    """``rule`` as ``draft`` says. Raises ``ConfigurationError`` if something new in it is wrong."""
    from tui.desk.draft import Draft
    from worlds.errors import ConfigurationError

    since = Draft.of(rule)
    known = since.faults(book.world)
    fault = next((each for each in draft.faults(book.world) if each not in known), None)
    if fault is not None:
        flag = {"types": "--type", "objects": "--object"}.get(fault.field, f"--{fault.field}")
        way_out = "" if draft.statement.strip() else f" To drop the rule, `housequest rules reject {book.path} {rule.id}`."
        raise ConfigurationError(f"{rule.id} in {book.path} stays as it is. {flag}: {fault.reason}{way_out}")
    return draft.onto(rule, since)


def _note_candidate(book: str, before: Rule, after: Rule) -> None:
    from tui import terminal
    from tui.desk.rule_text import taken_back

    if remark := taken_back(before, after):
        terminal.note(f"{remark}; `housequest rules accept {book} {after.id}` accepts it.")


def _save(book: Rulebook) -> None:
    from knowledge.rulebook import save
    from tui import terminal

    new = book.read is None
    save(book)
    terminal.note(f"{'Your own copy is' if new else 'Saved'} {book.path}")


def _library() -> RuleLibrary:
    from knowledge.library import library

    return library()


def _list_books(as_json: bool) -> None:
    from tui import terminal
    from tui.commands.output import print_json
    from tui.desk.books import list_books
    from tui.desk.rule_text import table

    books = list_books()
    for book in books:
        if book.fault:
            terminal.note(f"{book.name} is left out: {book.fault}")
    rows = [
        (book.name, book.world, book.accepted, book.candidates, book.rejected, "ships" if book.shipped else str(book.path))
        for book in books
        if not book.fault
    ]
    if as_json:
        print_json(
            [dict(zip(("name", "world", "accepted", "candidate", "rejected", "file"), row, strict=True)) for row in rows]
        )
    elif rows:
        head = ("book", "world", "accepted", "candidates", "rejected", "file")
        terminal.show(table([head, *(tuple(map(str, row)) for row in rows)]))
    else:
        terminal.note(f"There are no rulebooks yet; put one into {_library().own}, or name a file.")
