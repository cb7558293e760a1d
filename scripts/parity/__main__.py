"""Compare the native engine with the real alfworld, and report what was compared.

    make parity                                 # at most 30 minutes; the same command resumes
    python -m scripts.parity --minutes 0        # until all is done
    python -m scripts.parity --report           # the totals so far
    python -m scripts.parity --slice            # a fixed part in at most 8 minutes, for CI
    python -m scripts.parity --try train:17 'go to desk 1' 'look'      # both engines, command by command

Needs the reference, ``pip install "housequest[alfworld]"``, and the published games. Exits with 1 if there is a difference
or the reference failed, with 2 if nothing can be compared (a slice then says so and exits with 0).
"""

from __future__ import annotations

import argparse
import math
import os
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from housequest.worlds.alfworld.world import AlfworldWorld
from housequest.worlds.dropin.reference import Workers, check_installed, versions
from housequest.worlds.errors import ConfigurationError, HousequestError
from housequest.worlds.paths import cache_folder
from scripts.parity.compare import compare
from scripts.parity.plan import Item, full, slice_of_games, slice_of_houses
from scripts.parity.report import difference, left_out, totals
from scripts.parity.sweep import Editions, Record, Results, Sweep, both, editions

SITTING = 30.0
SLICE = 8.0
SPOKEN = 60.0
"""Seconds between progress lines."""


def main(arguments: Sequence[str] | None = None) -> int:
    parser = _parser()
    given = parser.parse_args(arguments)
    if given.processes < 1:
        parser.error(f"argument --processes: {given.processes} plays nothing; give at least 1")
    world = AlfworldWorld()
    try:
        if given.attempt:
            return _try(world, given.attempt, plain=given.plain)
        if given.slice:
            return _slice(world, given)
        return _sweep(world, given)
    except HousequestError as error:
        print(error, file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("interrupted; what was finished is kept where a sweep keeps it", file=sys.stderr)
        return 130


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m scripts.parity", description="Compare the engines of ALFWorld.")
    parser.add_argument("--results", type=Path, help="where finished comparisons are kept (default: the user's cache folder)")
    parser.add_argument("--minutes", type=float, help="stop after this long; 0: never (default: 30, of a slice 8)")
    parser.add_argument(
        "--processes", type=int, default=min(2, os.cpu_count() or 1), help="references at once (default %(default)s)"
    )
    parser.add_argument("--plain", action="store_true", help="the unmodified reference, three times slower")
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--report", action="store_true", help="compare nothing; print the totals so far")
    what.add_argument("--slice", action="store_true", help="a fixed part; results are not kept")
    what.add_argument("--try", dest="attempt", nargs="+", metavar="TASK COMMAND", help="play these commands on both")
    return parser


def _sweep(world: AlfworldWorld, given: argparse.Namespace) -> int:
    results = Results(given.results or cache_folder() / "parity")
    these = editions(plain=given.plain)
    records = results.read()
    plan = full(world)
    done = {record.item for record in records}
    left = [item for item in plan if item not in done]
    broken: list[str] = []
    if not given.report:
        check_installed()
        with results.open() as file:

            def keep(record: Record) -> None:
                records.append(record)
                file.write(record.dump())
                file.flush()

            broken = _play(world, left, given, SITTING, these, keep)
        done = {record.item for record in records}
        left = [item for item in plan if item not in done]
    print(f"{len(plan) - len(left):,} of {len(plan):,} comparisons done, kept in {results.path}")
    return _conclude(records, left, broken, these)


def _slice(world: AlfworldWorld, given: argparse.Namespace) -> int:
    try:
        check_installed()
    except ConfigurationError as error:
        print(f"skipped: the comparison with the reference. {error}")
        return 0
    these, items, records = editions(plain=given.plain), slice_of_houses(world), list[Record]()
    beyond: list[Item] = []
    try:
        items += slice_of_games(world)
        beyond = sorted(set(full(world)).difference(items), key=lambda item: item.key)
    except ConfigurationError as error:
        print(f"skipped: the published games. {error}")
    broken = _play(world, items, given, SLICE, these, records.append)
    done = {record.item for record in records}
    print("a slice; these are left to `make parity`:")
    for line in left_out(beyond):
        print(f"  {line}")
    return _conclude(records, [item for item in items if item not in done], broken, these)


def _play(
    world: AlfworldWorld,
    items: Sequence[Item],
    given: argparse.Namespace,
    usual: float,
    these: Editions,
    keep: Callable[[Record], None],
) -> list[str]:
    """Play ``items`` within the time limit; returns what failed."""
    minutes = usual if given.minutes is None else given.minutes
    began = spoken = time.monotonic()
    finished = 0

    def told(record: Record) -> None:
        nonlocal finished, spoken
        finished += 1
        keep(record)
        for line in difference(record):
            print(line, flush=True)
        now = time.monotonic()
        if now - spoken >= SPOKEN:
            spoken = now
            each = (now - began) / finished
            print(f"{finished:,} of {len(items):,}, {each:.2f} s each", file=sys.stderr, flush=True)

    sweep = Sweep(world, these, given.processes, began + 60 * minutes if minutes else math.inf, told)
    sweep.run(items)
    return sweep.broken


def _conclude(records: Sequence[Record], left: Sequence[Item], broken: Sequence[str], these: Editions) -> int:
    for line in (*totals(records, these), *left_out(left), *(f"BROKE OFF {line}" for line in broken)):
        print(line)
    differing = [record for record in records if record.played.difference is not None]
    for record in differing:
        print("\n".join(difference(record)))
    return 1 if differing or broken else 0


def _try(world: AlfworldWorld, attempt: Sequence[str], *, plain: bool) -> int:
    check_installed()
    commands, workers = attempt[1:], Workers(editions(plain=plain).worker)
    native, reference = both(world, attempt[0], workers)
    try:
        played = compare(native, reference, commands)
        step = native.reset()
        print(step.observation)
        for command in commands[: played.steps]:
            step = native.step(command)
            print(f"> {command}\n{step.observation}")
        found = played.difference
        if found is None:
            print(f"({versions()} says the same{', and that it is won' if played.won else ''})")
            return 0
        print(f"DIFFERENCE: {found.field}\n  native:    {found.native!r}\n  reference: {found.reference!r}")
        return 1
    finally:
        workers.close()


if __name__ == "__main__":
    sys.exit(main())
