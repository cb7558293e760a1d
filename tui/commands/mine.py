"""``housequest rules mine``: what counting alone can learn, put into a rulebook."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from tui.text import printable
from worlds.registry import DEFAULT_WORLD

if TYPE_CHECKING:
    from pathlib import Path

    from agent.episodes.moments import EpisodeFile
    from knowledge.renewal import Renewal
    from knowledge.rules import Rule

LONGEST = 100
"""Characters of the runs' names in a rule's origin."""


def mine(
    paths: Annotated[
        list[str] | None,
        typer.Argument(metavar="[RUN...]", help="Runs' folders and episodes' files [all in runs/, and what you played]."),
    ] = None,
    counts: Annotated[
        bool, typer.Option("--counts", help="Where things lie by the table over train that ships; alone, or besides runs.")
    ] = False,
    into: Annotated[str, typer.Option("--into", metavar="BOOK", help="The rulebook's name, or its file.")] = "mined",
    accept: Annotated[
        str,
        typer.Option("--accept", metavar="WHO", help="Who accepts rules: person, or evidence what it supports."),
    ] = "person",
    least: Annotated[
        int, typer.Option("--least", metavar="N", help="Refusals after which a command is thought to need something.")
    ] = 5,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what was found, and write nothing.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print it as JSON.")] = False,
) -> None:
    """Count where things lie and what commands need, and put it into a book; what you wrote or decided there stays."""
    from knowledge.library import library
    from knowledge.renewal import renew
    from knowledge.rulebook import save
    from tui import terminal
    from worlds.errors import ConfigurationError

    if not 1 <= least <= 1_000_000:
        raise ConfigurationError(f"--least: {least} cannot be; give 1 to 1000000.")
    by_evidence = _accepts(accept)
    tally = _Tally()
    rules = tally.rules(paths, counts=counts, least=least)
    book = library().writable(into, tally.world)
    renewal = renew(book, rules, accept=by_evidence)
    if not dry_run and renewal.book is not book:
        save(renewal.book)
    if as_json:
        _print_json(tally, renewal, rules)
        return
    terminal.show(printable(line) for line in _told(tally, renewal, rules))
    terminal.note(f"{'Nothing was written to' if dry_run or renewal.book is book else 'Saved'} {renewal.book.path}")


def _accepts(accept: str) -> bool:
    from worlds.errors import ConfigurationError, nearest, shown

    known = ("person", "evidence")
    if accept not in known:
        raise ConfigurationError(f"--accept: {shown(accept)} is none of {', '.join(known)}.{nearest(accept, known)}")
    return accept == "evidence"


class _Tally:
    """What was counted, over what."""

    def __init__(self) -> None:
        self.games = 0
        self.episodes = 0
        self.commands = 0
        self.world = DEFAULT_WORLD

    def rules(self, paths: list[str] | None, *, counts: bool, least: int) -> tuple[Rule, ...]:
        """All that was found, as candidates: where a kind of thing lies by the table, if it has it, else by what was played."""
        found = [*(self._by_table() if counts else ()), *(self._by_play(paths, least) if paths or not counts else ())]
        first: dict[str, Rule] = {}
        for rule in found:
            first.setdefault(rule.id, rule)
        return tuple(first.values())

    def _by_table(self) -> tuple[Rule, ...]:
        from knowledge.mining import mine_table
        from worlds.alfworld.data.counts import load_counts

        table = load_counts()
        self.games = table.games
        return mine_table(table).rules(f"counts over {table.split}")

    def _by_play(self, paths: list[str] | None, least: int) -> tuple[Rule, ...]:
        from agent.episodes.moments import recorded_moments
        from knowledge.mining import mine as mine_moments
        from tui import terminal
        from tui.commands.recorded import Counted, recorded

        chosen = _learnable(recorded(paths))
        self.episodes = len(chosen)
        files = [record.path for record in chosen]
        self.world = _world_of(chosen)
        moments = Counted(recorded_moments(files, lambda error: terminal.note(f"Left out: {error}"), world=self.world))
        mined = mine_moments(moments, least)
        self.commands = moments.number
        return mined.rules(_named(chosen))


def _learnable(places: Sequence[Path]) -> list[EpisodeFile]:
    """The records under ``places`` that rules may be learned from. Raises ``ConfigurationError`` where there is none."""
    from agent.episodes.moments import episode_files, started
    from agent.explorer.plan import is_evaluation_split
    from tui import terminal
    from worlds.errors import ConfigurationError

    found = episode_files(places)
    splits = [begun.split if (begun := started(record)) else "" for record in found]
    for split, number in sorted(Counter(filter(is_evaluation_split, splits)).items()):
        terminal.note(f"Left out: {number:,} episodes of {printable(split)}, which is for evaluation.")
    chosen = [record for record, split in zip(found, splits, strict=True) if not is_evaluation_split(split)]
    if not chosen:
        raise ConfigurationError("All that is recorded there is for evaluation; name a run over train or generated.")
    return chosen


def _world_of(records: Sequence[EpisodeFile]) -> str:
    """The first world among those of ``records`` whose texts can be read."""
    from agent.episodes.moments import started
    from worlds.registry import household

    worlds = (begun.world for record in records if (begun := started(record)))
    return next((world for world in worlds if household(world) is not None), DEFAULT_WORLD)


def _named(records: Sequence[EpisodeFile]) -> str:
    """Where rules come from: the runs by name, as far as they fit."""
    runs = list(dict.fromkeys(record.run for record in records))
    return " ".join(runs) if sum(map(len, runs)) <= LONGEST else f"{runs[0][:LONGEST]} and {len(runs) - 1} more"


def _told(tally: _Tally, renewal: Renewal, rules: tuple[Rule, ...]) -> Iterator[str]:
    from tui.desk.rule_text import rule_table

    over = [f"{tally.games:,} games of train"] if tally.games else []
    over += [f"{tally.commands:,} commands of {tally.episodes:,} episodes"] if tally.episodes else []
    kinds = Counter(rule.kind for rule in rules)
    yield f"counted   over {' and '.join(over)}"
    yield f"found     where {kinds['location']} kinds of thing lie, {kinds['mechanic']} things that commands need"
    stands = {rule.id: rule for rule in renewal.book.rules}
    statuses = Counter(stands[rule.id].status for rule in rules if rule.id in stands)
    yield f"book      {', '.join(f'{number} {status}' for status, number in sorted(statuses.items())) or 'nothing of it'}"
    for name, ids, why in (
        ("added", renewal.added, ""),
        ("renewed", renewal.renewed, ""),
        ("as it was", renewal.same, ""),
        ("left", renewal.left, "; you, or another source, wrote or judged them"),
        ("known", renewal.known, "; another rule of the book has the same check"),
    ):
        if ids:
            listing = f": {', '.join(ids)}" if why else ""
            yield f"{name:<9} {len(ids)}{why}{listing}"
    if rules:
        yield ""
        yield from rule_table([stands.get(rule.id, rule) for rule in rules])


def _print_json(tally: _Tally, renewal: Renewal, rules: tuple[Rule, ...]) -> None:
    import json

    from tui import terminal
    from tui.desk.rule_text import rule_json

    stands = {rule.id: rule for rule in renewal.book.rules}
    fates = {name: getattr(renewal, name) for name in ("added", "renewed", "same", "left", "known")}
    counted = {"games": tally.games, "episodes": tally.episodes, "transitions": tally.commands}
    found = [rule_json(stands.get(rule.id, rule)) for rule in rules]
    terminal.show([json.dumps({**counted, **fates, "rules": found}, indent=2)])
