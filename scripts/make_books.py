"""Make the rulebooks that ship: play ``train``, check ``human`` against what was played, and count ``learned`` from it.

    python -m scripts.make_books [--runs FOLDER] [--check]

It needs the published games (``ALFWORLD_DATA``) and takes some minutes. Two runs are played or resumed in FOLDER (runs by
default): ``books-expert``, and ``books-clumsy``, which tries many refused commands. The rules of knowledge/library/human.yaml
are written by hand. The evidence of those with a check is updated, and the command fails if the data contradicts one. The
others have witnesses named by a person, and it fails if the runs lack one.
knowledge/library/learned.yaml is written whole: what commands need, counted in the two runs, and where things lie, by the
table counted over ``train`` (worlds/alfworld/counts.json), for things that tasks ask for. Equal games make equal books, so the
witnesses can be found in runs that this script makes again. The records that a book names are put into
knowledge/library/witnesses.zip, so that they can be replayed anywhere. With ``--check`` nothing is written, and it fails if a
book or these records would change. No split but ``train`` is read.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from zipfile import ZIP_LZMA, ZipFile, ZipInfo

from housequest.agent.config import configure
from housequest.agent.episodes.loop import run_episode
from housequest.agent.episodes.moments import recorded_moments
from housequest.agent.episodes.record import EpisodeRecorder
from housequest.agent.evaluation.runs.batch import run_batch
from housequest.agent.evaluation.runs.files import SelectedTask
from housequest.agent.evaluation.runs.folder import RunFolder
from housequest.agent.evaluation.runs.spec import RunSpec, make_run_spec
from housequest.knowledge.judging import examine
from housequest.knowledge.mining import Mined, mine, mine_table
from housequest.knowledge.rulebook import SUFFIX, WITNESSES, Rulebook, library, parse_book, read_book, renew, save
from housequest.knowledge.rules import Rule
from housequest.tui.desk.witnesses import MissingWitness, find_witnesses
from housequest.worlds.alfworld.text import HOUSEHOLD, load_counts
from housequest.worlds.env import expert_of
from housequest.worlds.errors import HousequestError
from housequest.worlds.household.counts import Counts
from housequest.worlds.paths import FORMAT, atomic_write
from scripts.clumsy import Clumsy

SPLIT = "train"
MOST = 80
"""Rules in ``learned``."""

HEADER = f"""\
# What counting learned over `{SPLIT}`: no model was used, and no person judged it. `python -m scripts.make_books` counts
# it anew. First what commands need, counted in two recorded games of each task; then where things lie, by the table over all
# games of `{SPLIT}`, what tasks ask for most often first. Intervals are of 95 %. The published games are MIT-licensed.
format: {FORMAT}
rules:
"""


def main(arguments: Sequence[str]) -> int:
    """Make the books and print what changed."""
    parser = argparse.ArgumentParser(prog="python -m scripts.make_books", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--runs", type=Path, default=Path("runs"), metavar="FOLDER", help="folder of the runs [runs]")
    parser.add_argument("--check", action="store_true", help="write nothing, and fail if a book would change")
    given = parser.parse_args(arguments)
    try:
        runs = asyncio.run(played(given.runs))
        books = (human(runs), learned(runs))
        missing = unseen(books[0], runs)
    except HousequestError as error:
        print(f"make_books: {error}", file=sys.stderr)
        return 1
    changed = [book for book in books if not book.path.exists() or book.path.read_text("utf-8") != book.text]
    for book in books:
        standings = Counter(rule.standing for rule in book.rules)
        print(f"{book.path.name}: {len(book.rules)} rules, {dict(standings)}; {what_of(book in changed, given.check)}")
        if book in changed and not given.check:
            save(book)
    archive, records = library().shipped / WITNESSES, witnessed(books, given.runs)
    others = not archive.exists() or contents(archive.read_bytes()) != contents(records)
    if others and not given.check:
        atomic_write(archive, records)
    print(f"{archive.name}: {len(contents(records))} records, {len(records) >> 10} KiB; {what_of(others, given.check)}")
    against = [rule for rule in books[0].rules if rule.standing == "contradicted" or (rule.check and not rule.evidence)]
    for rule in against:
        print(f"human: {rule.id} is {rule.standing}: {', '.join(rule.evidence.against)}", file=sys.stderr)
    for witness in missing:
        print(f"human: {witness.origin} is not a witness: {witness.reason}", file=sys.stderr)
    return 1 if against or missing or (given.check and (changed or others)) else 0


def what_of(changed: bool, check: bool) -> str:
    """What becomes of a file."""
    return "as it was" if not changed else "would change" if check else "written"


async def played(folder: Path) -> tuple[Path, ...]:
    """The two runs; plays what is missing."""
    expert, clumsy = folder / "books-expert", folder / "books-clumsy"
    spec = make_run_spec(configure({"agent": "expert", "split": SPLIT}))
    await run_batch(spec, expert)
    await _stumble(spec, clumsy)
    return expert, clumsy


async def _stumble(spec: RunSpec, folder: Path) -> None:
    """Play ``plan`` with the clumsy expert, which is not a registered agent."""
    run, agent = RunFolder(folder), Clumsy(expert_of(spec.setup.world))
    configuration = spec.config.model_copy(update={"agent": agent.name})
    run.begin(spec.manifest.model_copy(update={"configuration": configuration}))
    for task in spec.selection.tasks:
        selected = SelectedTask.of(task)
        if run.episode(selected).exists():
            continue
        env = spec.setup.world.open(task)
        with EpisodeRecorder(run.episode(selected)) as recorder:
            await run_episode(env, agent, spec.setup, recorder)
        env.close()
    results, _ = run.mend([SelectedTask.of(task) for task in spec.selection.tasks])
    run.rewrite(results)


def human(runs: Sequence[Path]) -> Rulebook:
    """The handwritten rules with their evidence from the runs."""
    book = read_book(library().shipped / f"human{SUFFIX}")
    findings = examine(book.rules, recorded_moments(runs))
    return book.put(replace(each.rule, evidence=each.evidence) for each in findings if each.rule.check)


def unseen(book: Rulebook, runs: Sequence[Path]) -> list[MissingWitness]:
    """The witnesses named by a person, for rules without a check, that the runs lack."""
    named = [witness for rule in book.rules if not rule.check for witness in rule.evidence.witnesses]
    return [each for each in find_witnesses(named, runs) if isinstance(each, MissingWitness)]


def witnessed(books: Sequence[Rulebook], runs: Path) -> bytes:
    """An archive of the records that the rules of ``books`` name."""
    evidence = [rule.evidence for book in books for rule in book.rules]
    records = {origin.rpartition("/")[0] for each in evidence for origin in (*each.witnesses, *each.against)}
    made = BytesIO()
    with ZipFile(made, "w", ZIP_LZMA) as archive:
        for record in sorted(records):
            run, _, task = record.partition("/")
            # With a date of its own, an archive of equal records would be another one every time.
            archive.writestr(ZipInfo(f"{record}.jsonl"), (runs / run / "episodes" / f"{task}.jsonl").read_bytes(), ZIP_LZMA)
    return made.getvalue()


def contents(archive: bytes) -> dict[str, bytes]:
    """The files in an archive: another version of the compressor may pack them otherwise."""
    with ZipFile(BytesIO(archive)) as packed:
        return {name: packed.read(name) for name in packed.namelist()}


def learned(runs: Sequence[Path]) -> Rulebook:
    """The counted rules that evidence supports: what commands need, then where things lie, the most useful first."""
    table = load_counts()
    lived = mine(recorded_moments(runs), HOUSEHOLD.commands)
    needs = tuple(need for need in lived.preconditions if _is_useful(need))
    rules = Mined(preconditions=needs).rules("books-expert books-clumsy")
    asked = _asked(table)
    locations = [each for each in mine_table(table).shown_by(lived).locations if each.thing in asked]
    locations.sort(key=lambda each: (-asked[each.thing], each.thing))
    places = Mined(locations=tuple(locations)).rules(f"counts over {table.source.split}")
    path = library().shipped / f"learned{SUFFIX}"
    present = read_book(path).read if path.exists() else None
    shown = [rule for rule in (*rules, *places)[:MOST] if rule.standing == "supported"]
    book = renew(parse_book(path, HEADER.encode()), shown, accept=True).book
    return replace(book, read=present)


def _is_useful(need: Rule) -> bool:
    """Whether a task may need the command, and the fact is more than that the thing is known."""
    check = need.check
    return check is not None and check.command.partition(" ")[0] not in {"close", "slice"} and check.before[0].text != "known"


def _asked(table: Counts) -> Counter[str]:
    """How many games ask for each kind of thing, or for its light."""
    asked: Counter[str] = Counter()
    for room in table.rooms.values():
        for by_object in room.goals.values():
            for thing, by_place in by_object.items():
                asked.update(by_place)
                asked[thing] += sum(by_place.values())
    return asked


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
