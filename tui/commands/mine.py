"""``housequest rules mine``: what counting alone can learn, put into a rulebook."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from housequest.tui import terminal
from housequest.tui.commands import options
from housequest.tui.commands.output import print_result
from housequest.tui.desk.rule_text import rule_json, rule_table
from housequest.worlds.errors import ConfigurationError, Unsupported
from housequest.worlds.registry import DEFAULT_WORLD, household

if TYPE_CHECKING:
    from housequest.agent.episodes.moments import EpisodeFile
    from housequest.knowledge.judging import Moment
    from housequest.knowledge.rulebook import Renewal
    from housequest.knowledge.rules import Rule

LONGEST = 100
"""Characters of the runs' names in a rule's origin."""


def mine(
    paths: options.RecordsArgument = None,
    counts: Annotated[
        bool, typer.Option("--counts", help="Use the shipped counts of where things lie in train, alone or with runs.")
    ] = False,
    into: options.IntoOption = "mined",
    accept: Annotated[
        str, options.choice("--accept", "Who accepts rules: you, or the evidence.", "person", "evidence")
    ] = "person",
    least: Annotated[int, options.value("--least", "N", "Refusals after which a command is thought to need something.")] = 5,
    dry_run: options.DryRunOption = False,
    as_json: options.JsonOption = False,
) -> None:
    """Count where things lie and what commands need, and put it into a book; what you wrote or decided there stays."""
    from housequest.agent.episodes.moments import recorded_moments
    from housequest.knowledge.mining import Mined, mine_table
    from housequest.knowledge.mining import mine as mine_moments
    from housequest.knowledge.rulebook import library, renew, save

    if not 1 <= least <= 1_000_000:
        raise ConfigurationError(f"--least: {least} is out of range; give 1 to 1000000.")
    over = {"games": 0, "episodes": 0, "transitions": 0}
    world = DEFAULT_WORLD
    lived = Mined()
    played: tuple[Rule, ...] = ()
    tabled: tuple[Rule, ...] = ()
    episodes: Sequence[EpisodeFile] = ()
    if paths or not counts:
        episodes, world = _learnable(paths_to_mine(paths))
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

        lived = mine_moments(counted(), reader.commands, least)
        played = lived.rules(_named(episodes))
    if counts:
        table = reader.counts()
        if not table.games:
            raise Unsupported(f"Where things lie was not counted in the world {world!r}; leave --counts out.")
        over["games"] = table.games
        tabled = mine_table(table).shown_by(lived).rules(f"counts over {table.split}")
    # Where both know about a kind of thing, the table wins over what was played.
    rules: dict[str, Rule] = {}
    for rule in (*tabled, *played):
        rules.setdefault(rule.id, rule)
    book = library().writable(into, world)
    renewal = renew(book, rules.values(), accept=accept == "evidence")
    if not dry_run and renewal.book is not book:
        save(renewal.book)
    present = {rule.id: rule for rule in renewal.book.rules}
    found = [present.get(id, rule) for id, rule in rules.items()]
    fates = {name: getattr(renewal, name) for name in ("added", "renewed", "same", "left", "known")}
    statuses = Counter(present[id].status for id in rules if id in present)
    result = {**over, **fates, "rules": [rule_json(rule) for rule in found]}
    print_result(result, _lines(over, renewal, found, statuses), as_json=as_json)
    if not as_json:
        terminal.note(f"{'Nothing was written to' if dry_run or renewal.book is book else 'Saved'} {renewal.book.path}")


def paths_to_mine(paths: Iterable[Path] | None) -> list[Path]:
    """``paths``; by default the runs in this folder and the games that were played. Raises ``ConfigurationError`` for none."""
    from housequest.tui.runs.data import recorded_play

    found = list(paths or recorded_play(Path("runs")))
    if not found:
        raise ConfigurationError(
            "Nothing was recorded yet; name a run's folder, or play: `housequest play`, `housequest eval`."
        )
    return found


def _learnable(places: Sequence[Path]) -> tuple[list[EpisodeFile], str]:
    """The records under ``places`` that rules may be learned from, and the first of their worlds whose texts can be read.

    Raises ``ConfigurationError`` if there are none.
    """
    from housequest.agent.episodes.moments import episode_files, started
    from housequest.knowledge.examples import is_evaluation_split

    chosen: list[EpisodeFile] = []
    worlds: list[str] = []
    left_out: Counter[str] = Counter()
    for record in episode_files(places):
        begun = started(record)
        if begun is not None and is_evaluation_split(begun.split):
            left_out[begun.split] += 1
            continue
        chosen.append(record)
        worlds += [begun.world] if begun is not None else []
    for split, number in sorted(left_out.items()):
        terminal.note(f"Left out: {number:,} episodes of {split}, which is for evaluation.")
    if not chosen:
        raise ConfigurationError("All that is recorded there is for evaluation; name a run over train or generated.")
    return chosen, next((world for world in worlds if household(world) is not None), DEFAULT_WORLD)


def _named(records: Sequence[EpisodeFile]) -> str:
    """Where rules come from: the runs by name, as far as they fit."""
    runs = list(dict.fromkeys(record.run for record in records))
    return " ".join(runs) if sum(map(len, runs)) <= LONGEST else f"{runs[0][:LONGEST]} and {len(runs) - 1} more"


def _lines(over: dict[str, int], renewal: Renewal, rules: Sequence[Rule], statuses: Counter[str]) -> Iterator[str]:
    counted = [f"{over['games']:,} games of train"] if over["games"] else []
    counted += [f"{over['transitions']:,} commands of {over['episodes']:,} episodes"] if over["episodes"] else []
    kinds = Counter(rule.kind for rule in rules)
    yield f"counted   over {' and '.join(counted)}"
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
