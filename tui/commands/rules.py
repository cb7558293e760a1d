"""``housequest rules``: rulebooks mined, listed, checked against what was played, and edited."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from housequest.knowledge.rulebook import Rulebook, differences, library, renew
from housequest.knowledge.rulebook import save as save_book
from housequest.knowledge.rules import Rule, RuleVerdict
from housequest.tui import terminal
from housequest.tui.commands import options
from housequest.tui.commands.play import show_screen
from housequest.tui.commands.runs import measure
from housequest.tui.desk.rule_text import Draft, difference_text, finding_lines, rule_json, rule_lines, rule_table, taken_back
from housequest.tui.text import plural, table, words
from housequest.worlds.errors import ConfigurationError, Unsupported
from housequest.worlds.registry import DEFAULT_WORLD, household, world_class
from housequest.worlds.tasks import HELD_OUT, as_splits

if TYPE_CHECKING:
    from housequest.agent.episodes.moments import EpisodeFile
    from housequest.knowledge.judging import Moment
    from housequest.worlds.household.base import Household

LONGEST = 100
"""Characters of the runs' names in a rule's origin."""

FATES: Mapping[str, tuple[str, str]] = words("counted")
"""The words for what happened to counted rules, and why some stayed as they were."""

rules_app = typer.Typer(
    help="Rulebooks: mine, list, check, accept, edit and merge rules.", no_args_is_help=True, rich_markup_mode=None
)


@rules_app.command()
@options.described
def mine(
    paths: list[Path] | None = None,
    counts: bool = False,
    into: str = "mined",
    accept: str = "person",
    min_refusals: int = 5,
    dry_run: bool = False,
    as_json: bool = False,
) -> None:
    """Count where things are and what commands need, and put rules into a book. What you wrote or decided there stays."""
    from housequest.agent.episodes.moments import recorded_moments
    from housequest.knowledge import mining

    if not 1 <= min_refusals <= 1_000_000:
        raise ConfigurationError(f"--min-refusals: {min_refusals} is out of range; give 1 to 1000000.")
    over = {"games": 0, "episodes": 0, "transitions": 0}
    lived, played, tabled = mining.Mined(), (), ()
    episodes, world, tasks = _learnable(paths_to_mine(paths)) if paths or not counts else ([], DEFAULT_WORLD, [])
    reader = household(world)
    if reader is None:
        raise Unsupported(f"The texts of the world {world!r} are not read, so nothing can be counted in them.")
    if episodes:
        over["episodes"] = len(episodes)

        def counted() -> Iterator[Moment]:
            files = [episode.path for episode in episodes]
            for moment in recorded_moments(files, lambda error: terminal.note(f"Left out: {error}"), world=world):
                over["transitions"] += 1
                yield moment

        runs = list(dict.fromkeys(episode.run for episode in episodes))
        named = " ".join(runs) if sum(map(len, runs)) <= LONGEST else f"{runs[0][:LONGEST]} and {len(runs) - 1} more"
        info = world_class(world).info
        scope = mining.scope_of((split for split, _ in tasks), info.homes)
        lived = mining.mine(counted(), reader.commands, min_refusals, scope=scope)
        played = lived.rules(named, as_splits(tasks, info.endless_splits))
    if counts:
        shipped = reader.counts()
        source = shipped.source
        if not source.games:
            raise Unsupported(f"Nobody has counted where things are in the world {world!r}; leave --counts out.")
        over["games"] = source.games
        tabled = mining.mine_table(shipped).shown_by(lived).rules(f"counts over {source.split}", (source.split,))
    # Where both know about a kind of thing, the table wins over what was played.
    rules: dict[str, Rule] = {}
    for rule in (*tabled, *played):
        rules.setdefault(rule.id, rule)
    book = library().writable(into, world)
    renewal = renew(book, rules.values(), accept=accept == "evidence")
    retired = _retired(book, renewal.book, reader) if accept == "evidence" else []
    renewal = renewal._replace(book=renewal.book.put(retired))
    if not dry_run and renewal.book is not book:
        save_book(renewal.book)
    present = {rule.id: rule for rule in renewal.book.rules}
    found = [present.get(id, rule) for id, rule in rules.items()]
    fates: dict[str, tuple[str, ...]] = {name: getattr(renewal, name) for name in renewal._fields[1:]}
    fates["retired"] = tuple(rule.id for rule in retired)
    statuses = Counter(present[id].status for id in rules if id in present)
    result = {**over, **fates, "rules": [rule_json(rule) for rule in found]}
    terminal.print_result(result, _mined_lines(over, fates, found, statuses), as_json=as_json)
    if not as_json:
        terminal.note(f"{'Nothing was written to' if dry_run or renewal.book is book else 'Saved'} {renewal.book.path}")


def _retired(before: Rulebook, after: Rulebook, reader: Household) -> list[Rule]:
    """The rules that others exclude in the book ``after`` counting; those that were retired ``before`` stay as they were."""
    from housequest.agent.skills.contrary import Kinds, retire

    known = {rule.id: rule for rule in before.rules}
    found = ((rule, known.get(rule.id, rule)) for rule in retire(after.rules, Kinds.of(reader.counts())))
    return [old if replace(rule, history=old.history) == old else rule for rule, old in found]


def paths_to_mine(paths: Iterable[Path] | None) -> list[Path]:
    """``paths``; by default the runs in this folder and the games that were played. Raises ``ConfigurationError`` for none."""
    from housequest.tui.runs.data import recorded_play

    if found := list(paths or recorded_play(Path("runs"))):
        return found
    raise ConfigurationError("Nothing was recorded yet; name a run's folder, or play: `housequest play`, `housequest eval`.")


def _learnable(places: Sequence[Path]) -> tuple[list[EpisodeFile], str, list[tuple[str, int]]]:
    """Records that rules may be learned from, the first of their worlds that can be read, and the splits and numbers of their
    tasks. Raises ``ConfigurationError``."""
    from housequest.agent.episodes.moments import episode_files, started
    from housequest.knowledge.examples import evaluates

    chosen: list[EpisodeFile] = []
    worlds: list[str] = []
    tasks: list[tuple[str, int]] = []
    left_out: Counter[str] = Counter()
    for record in episode_files(places):
        begun = started(record)
        if begun is not None and evaluates(begun.split, begun.number):
            left_out[begun.split if evaluates(begun.split) else f"{begun.split} from {HELD_OUT.start:,} on"] += 1
            continue
        chosen.append(record)
        if begun is not None:
            worlds.append(begun.world)
            tasks.append((begun.split, begun.number))
    for split, number in sorted(left_out.items()):
        terminal.note(f"Left out: {number:,} episodes of {split}, which is for evaluation.")
    if not chosen:
        raise ConfigurationError("All that is recorded there is for evaluation; name a run over train or generated:0.")
    return chosen, next((world for world in worlds if household(world) is not None), DEFAULT_WORLD), tasks


def _mined_lines(
    over: dict[str, int], fates: dict[str, tuple[str, ...]], rules: Sequence[Rule], statuses: Counter[str]
) -> Iterator[str]:
    counted = [f"{over['games']:,} games of train"] if over["games"] else []
    counted += [f"{over['transitions']:,} commands of {over['episodes']:,} episodes"] if over["episodes"] else []
    kinds = Counter(rule.kind for rule in rules)
    yield f"counted   over {' and '.join(counted)}"
    yield f"found     where {kinds['location']} kinds of thing lie, {kinds['mechanic']} things that commands need"
    yield f"book      {', '.join(f'{number} {status}' for status, number in sorted(statuses.items())) or 'nothing of it'}"
    for fate, ids in fates.items():
        name, why = FATES[fate]
        if ids:
            yield f"{name:<9} {len(ids)}{why}" + (f": {', '.join(ids)}" if why else "")
    if rules:
        yield from ("", *rule_table(rules))


@rules_app.command()
@options.described
def desk(book: str | None = None) -> None:
    """Curate a book on the screen: each rule beside its witnesses, which can be replayed. Without a book, choose one."""
    if not terminal.has_screen():
        raise ConfigurationError("The desk needs a terminal; without one, see `housequest rules list` and `rules show`.")
    from housequest.tui.desk.screen import BooksScreen, DeskScreen
    from housequest.tui.desk.state import open_book

    if book is None:
        show_screen(BooksScreen)
    else:
        found, shipped = open_book(book, new=False)
        show_screen(lambda: DeskScreen(found, shipped=shipped))


@rules_app.command("list")
@options.described
def list_rules(book: str | None = None, status: str | None = None, kind: str | None = None, as_json: bool = False) -> None:
    """List the rules of a book; without a book, list your rulebooks and those that ship."""
    if book is None:
        _list_books(as_json)
        return
    rules = library().open(book).rules
    chosen = [rule for rule in rules if status in {None, rule.status} and kind in {None, rule.kind}]
    if chosen or as_json:
        terminal.print_result([rule_json(rule) for rule in chosen], rule_table(chosen), as_json=as_json)
    else:
        terminal.note("There are no such rules in it.")


@rules_app.command()
@options.described
def show(book: str, name: str, as_json: bool = False) -> None:
    """Show one rule with its check, its evidence and its history."""
    rule = library().open(book).rule(name)
    terminal.print_result(rule_json(rule), rule_lines(rule), as_json=as_json)


@rules_app.command()
@options.described
def check(book: str, paths: list[Path] | None = None, save: bool = False, as_json: bool = False) -> None:
    """Check the rules of a book against every recorded command, and name those that the records contradict."""
    from housequest.tui.desk.state import check_rules

    places = paths_to_mine(paths)
    current = library().editable(book) if save else library().open(book)
    outcome = check_rules(current.rules, lambda: places, world=current.world)
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
    terminal.print_result(counted, finding_lines(findings, outcome.seen), as_json=as_json)
    if not as_json:
        terminal.note(f"{outcome}.")
    if save:
        _save(current.put(each.rule.examined(each.evidence) for each in findings))


@rules_app.command()
@options.described
def accept(book: str, names: list[str]) -> None:
    """Accept rules. Agents that are given the book get them."""
    _judge(book, names, "accepted")


@rules_app.command()
@options.described
def reject(book: str, names: list[str]) -> None:
    """Reject rules. They stay in the book, and agents do not get them."""
    _judge(book, names, "rejected")


@rules_app.command()
@options.described
def edit(
    book: str,
    name: str,
    statement: str | None = None,
    kind: str | None = None,
    scope: str | None = None,
    check: str | None = None,
    objects: list[str] | None = None,
    types: list[str] | None = None,
) -> None:
    """Change a rule. For anything else, edit the book's file: it is plain YAML, and your comments stay."""
    current = library().editable(book)
    rule = current.rule(name)
    given = {"statement": statement, "kind": kind, "scope": scope, "check": check}
    changes = {field: text for field, text in given.items() if text is not None}
    changes |= {field: ", ".join(words) for field, words in (("types", types), ("objects", objects)) if words}
    if not changes:
        raise ConfigurationError(f"No change is given; see `housequest rules edit --help`, or edit {current.path}.")
    _put(book, current, rule, _edited(current, rule, changes))


@rules_app.command()
@options.described
def merge(book: str, name: str, others: list[str], statement: str | None = None) -> None:
    """Merge rules into one. The others stay in the book as rejected, with the id of the one that replaces them."""
    current = library().editable(book)
    before = current.rule(name)
    if name in others:
        raise ConfigurationError(f"A rule cannot be merged into itself; leave {name} out of the others.")
    merged = [current.rule(other).merged_into(before) for other in dict.fromkeys(others)]
    kept = before.including(merged)
    if statement is not None:
        kept = _edited(current, kept, {"statement": statement})
    _put(book, current, before, kept, *merged)


rules_app.command()(measure)


@rules_app.command("compare")
@options.described
def compare_books(book: str, other: str, as_json: bool = False) -> None:
    """Compare two books: the rules that are only in one of them, and those that differ in what they say or in their status."""
    one, two = library().open(book), library().open(other)
    found = differences(one, two)
    listed = [
        {"id": each.id, "fields": each.fields, "one": each.one is not None, "other": each.other is not None} for each in found
    ]
    rows = [(each.id, difference_text(each, book, other)) for each in found]
    terminal.print_result(listed, table([("id", "differs"), *rows]) if rows else [], as_json=as_json)
    if not found:
        terminal.note("They say the same.")


@rules_app.command("export")
@options.described
def export_book(book: str, file: Path) -> None:
    """Write a book and the steps that witness its rules into one file to share."""
    from housequest.tui.desk.witnesses import share_book

    terminal.note(share_book(book, file, Path("runs")))


@rules_app.command("import")
@options.described
def import_shared(file: Path, name: str | None = None) -> None:
    """Add a book that somebody shared to your library, with the steps that witness its rules."""
    from housequest.tui.desk.witnesses import import_book

    book, records = import_book(file, name)
    came = f"{plural(len(book.rules), 'rule')}, and {plural(records, 'record')} with their witnesses"
    terminal.note(f"Saved {book.path}: {came}. See it with `housequest rules desk {book.path.stem}`.")


def _judge(book: str, names: Sequence[str], status: RuleVerdict) -> None:
    current = library().editable(book)
    _save(current.put([current.rule(name).judged(status) for name in dict.fromkeys(names)], date.today()))


def _edited(book: Rulebook, rule: Rule, changes: dict[str, str]) -> Rule:
    """``rule`` with ``changes`` of its fields. Raises ``ConfigurationError`` if something new in it is wrong."""
    since = Draft.of(rule)
    draft, known = replace(since, **changes), list(since.faults(book.world))
    fault = next((each for each in draft.faults(book.world) if each not in known), None)
    if fault is not None:
        flag = {"types": "--task-type", "objects": "--object"}.get(fault.field, f"--{fault.field}")
        way_out = "" if draft.statement.strip() else f" To drop the rule, `housequest rules reject {book.path} {rule.id}`."
        raise ConfigurationError(f"{rule.id} in {book.path} stays as it is. {flag}: {fault.reason}{way_out}")
    return draft.onto(rule, since)


def _put(name: str, book: Rulebook, before: Rule, after: Rule, *others: Rule) -> None:
    """Save what a person made of a rule today, and say if it has to be judged again."""
    _save(book.put([after, *others], date.today()))
    if remark := taken_back(before, after):
        terminal.note(f"{remark}; `housequest rules accept {name} {after.id}` accepts it.")


def _save(book: Rulebook) -> None:
    new = book.read is None
    save_book(book)
    terminal.note(f"{'Your own copy is' if new else 'Saved'} {book.path}")


def _list_books(as_json: bool) -> None:
    from housequest.tui.desk.state import list_books

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
        terminal.note(f"There are no rulebooks yet; put one into {library().own}, or name a file.")
        return
    keys = ("name", "world", "accepted", "candidate", "rejected", "file")
    lines = table([("book", "world", "accepted", "candidates", "rejected", "file"), *(tuple(map(str, row)) for row in rows)])
    terminal.print_result([dict(zip(keys, row, strict=True)) for row in rows], lines, as_json=as_json)
