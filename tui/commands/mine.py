"""``housequest rules mine``: what counting alone can learn, put into a rulebook."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tui.commands import options
from worlds.registry import DEFAULT_WORLD

if TYPE_CHECKING:
    from agent.episodes.moments import EpisodeFile
    from knowledge.moments import Moment
    from knowledge.renewal import Renewal
    from knowledge.rules import Rule

LONGEST = 100
"""Characters of the runs' names in a rule's origin."""


def mine(
    paths: options.RecordsArgument = None,
    counts: Annotated[
        bool, typer.Option("--counts", help="Use the table that ships of where things lie in train; alone, or besides runs.")
    ] = False,
    into: options.IntoOption = "mined",
    accept: Annotated[
        str, options.choice("--accept", "Who accepts rules: you, or the evidence.", "person", "evidence")
    ] = "person",
    least: Annotated[
        int, typer.Option("--least", metavar="N", help="Refusals after which a command is thought to need something.")
    ] = 5,
    dry_run: options.DryRunOption = False,
    as_json: options.JsonOption = False,
) -> None:
    """Count where things lie and what commands need, and put it into a book; what you wrote or decided there stays."""
    from knowledge.library import library
    from knowledge.renewal import renew
    from knowledge.rulebook import save
    from tui import terminal
    from tui.commands.output import print_json, print_lines
    from tui.desk.rule_text import rule_json
    from worlds.errors import ConfigurationError

    if not 1 <= least <= 1_000_000:
        raise ConfigurationError(f"--least: {least} is out of range; give 1 to 1000000.")
    tally = _Tally()
    rules = tally.rules(paths, counts=counts, least=least)
    book = library().writable(into, tally.world)
    renewal = renew(book, rules, accept=accept == "evidence")
    if not dry_run and renewal.book is not book:
        save(renewal.book)
    present = {rule.id: rule for rule in renewal.book.rules}
    found = [present.get(rule.id, rule) for rule in rules]
    if as_json:
        fates = {name: getattr(renewal, name) for name in ("added", "renewed", "same", "left", "known")}
        counted = {"games": tally.games, "episodes": tally.episodes, "transitions": tally.commands}
        print_json({**counted, **fates, "rules": [rule_json(rule) for rule in found]})
        return
    statuses = Counter(present[rule.id].status for rule in rules if rule.id in present)
    print_lines(_lines(tally, renewal, found, statuses))
    terminal.note(f"{'Nothing was written to' if dry_run or renewal.book is book else 'Saved'} {renewal.book.path}")


class _Tally:
    """What was counted, over what."""

    def __init__(self) -> None:
        self.games = 0
        self.episodes = 0
        self.commands = 0
        self.world = DEFAULT_WORLD

    def rules(self, paths: list[Path] | None, *, counts: bool, least: int) -> tuple[Rule, ...]:
        """All that was found, as candidates; where both know about a kind of thing, the table wins over what was played."""
        played = self._by_play(paths, least) if paths or not counts else ()
        found = [*(self._by_table() if counts else ()), *played]
        first: dict[str, Rule] = {}
        for rule in found:
            first.setdefault(rule.id, rule)
        return tuple(first.values())

    def _by_table(self) -> tuple[Rule, ...]:
        from knowledge.mining import mine_table
        from worlds.errors import Unsupported
        from worlds.registry import household

        reader = household(self.world)
        if reader is None:
            raise Unsupported(f"The world {self.world!r} has no table of where things lie; leave --counts out.")
        table = reader.counts()
        self.games = table.games
        return mine_table(table).rules(f"counts over {table.split}")

    def _by_play(self, paths: list[Path] | None, least: int) -> tuple[Rule, ...]:
        from agent.episodes.moments import recorded_moments
        from knowledge.mining import mine as mine_moments
        from tui import terminal

        chosen = _learnable(recorded(paths))
        self.episodes = len(chosen)
        self.world = _world_of(chosen)
        files = [record.path for record in chosen]
        moments = recorded_moments(files, lambda error: terminal.note(f"Left out: {error}"), world=self.world)
        return mine_moments(self._counted(moments), least).rules(_named(chosen))

    def _counted(self, moments: Iterable[Moment]) -> Iterator[Moment]:
        for moment in moments:
            self.commands += 1
            yield moment


def recorded(paths: Iterable[Path] | None) -> list[Path]:
    """``paths``; by default the runs in this folder and the games that were played. Raises ``ConfigurationError`` for none."""
    from tui.runs.data import recorded_play
    from worlds.errors import ConfigurationError

    found = list(paths or recorded_play(Path("runs")))
    if not found:
        raise ConfigurationError(
            "Nothing was recorded yet; name a run's folder, or play: `housequest play`, `housequest eval`."
        )
    return found


def _learnable(places: Sequence[Path]) -> list[EpisodeFile]:
    """The records under ``places`` that rules may be learned from. Raises ``ConfigurationError`` if there are none."""
    from agent.episodes.moments import episode_files, started
    from agent.explorer.plan import is_evaluation_split
    from tui import terminal
    from worlds.errors import ConfigurationError

    found = episode_files(places)
    splits = [begun.split if (begun := started(record)) else "" for record in found]
    for split, number in sorted(Counter(filter(is_evaluation_split, splits)).items()):
        terminal.note(f"Left out: {number:,} episodes of {split}, which is for evaluation.")
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


def _lines(tally: _Tally, renewal: Renewal, rules: Sequence[Rule], statuses: Counter[str]) -> Iterator[str]:
    from tui.desk.rule_text import rule_table

    over = [f"{tally.games:,} games of train"] if tally.games else []
    over += [f"{tally.commands:,} commands of {tally.episodes:,} episodes"] if tally.episodes else []
    kinds = Counter(rule.kind for rule in rules)
    yield f"counted   over {' and '.join(over)}"
    yield f"found     where {kinds['location']} kinds of thing lie, {kinds['mechanic']} things that commands need"
    yield f"book      {', '.join(f'{number} {status}' for status, number in sorted(statuses.items())) or 'nothing of it'}"
    for name, ids, why in (
        ("added", renewal.added, ""),
        ("renewed", renewal.renewed, ""),
        ("as it was", renewal.same, ""),
        ("left", renewal.left, "; you, or another source, wrote or judged them"),
        ("known", renewal.known, "; another rule of the book has the same check"),
    ):
        if ids:
            yield f"{name:<9} {len(ids)}{why}" + (f": {', '.join(ids)}" if why else "")
    if rules:
        yield ""
        yield from rule_table(rules)
