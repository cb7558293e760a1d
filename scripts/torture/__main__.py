"""Attack the installed command, and print what was lost, doubled, miscounted, paid for twice or hung.

    python -m scripts.torture                                # 500 trials, some 20 minutes on two cores
    python -m scripts.torture --trials 60 --seed 4
    python -m scripts.torture --only kill --only damage      # these kinds alone
    python -m scripts.torture --seed 4 --only kill --trial 17

Exits with 1 if a trial failed; each is printed with the command that repeats it.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import resource
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from scripts.torture.attacks import KINDS, Planned, Torture, plan
from scripts.torture.table import failures, table

SPOKEN = 30.0
"""Seconds between progress lines."""


def main(arguments: Sequence[str] | None = None) -> int:
    given = _parser().parse_args(arguments)
    planned = plan(given.trials, given.only or tuple(KINDS), given.trial)
    if not given.command.is_file():
        print(f"{given.command} is not a command; name the installed one with --command.", file=sys.stderr)
        return 2
    began = time.monotonic()
    with TemporaryDirectory(prefix="torture-", ignore_cleanup_errors=True) as folder:
        torture = Torture(given.command.absolute(), Path(folder), given.seed, keep=given.keep)
        try:
            asyncio.run(_all(torture, planned, given.jobs))
        except KeyboardInterrupt:
            print("interrupted", file=sys.stderr)
        finally:
            for line in (*table(torture.ended), *failures(torture.ended, given.seed)):
                print(line)
            minutes = (time.monotonic() - began) / 60
            used = resource.getrusage(resource.RUSAGE_CHILDREN)
            processor = (used.ru_utime + used.ru_stime + time.process_time()) / 60
            print(
                f"{len(torture.ended)} of {len(planned)} trials in {minutes:.1f} minutes, {processor:.1f} of a processor's, "
                f"seed {given.seed}",
                flush=True,
            )
    return 1 if any(trial.found for trial in torture.ended) else 130 if len(torture.ended) < len(planned) else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m scripts.torture", description="Attack the installed command.")
    installed = Path(sys.executable).with_name("housequest")
    parser.add_argument("--trials", type=_count, default=500, help="how many in all (default %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="another seed, other moments and places (default %(default)s)")
    parser.add_argument("--only", action="append", choices=tuple(KINDS), metavar="KIND", help=", ".join(KINDS))
    parser.add_argument("--trial", type=int, help="of each kind only the trial of this number")
    cores = os.cpu_count() or 1
    parser.add_argument(
        "--jobs", type=_count, default=4 * cores, help="trials at once; most of them wait (default %(default)s)"
    )
    parser.add_argument("--command", type=Path, default=installed, help="the command to attack (default %(default)s)")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="move the folders of failed trials there")
    return parser


def _count(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{number} is less than 1")
    return number


async def _all(torture: Torture, planned: Sequence[Planned], jobs: int) -> None:
    """Run the trials, ``jobs`` at once."""
    await torture.prepare({each.kind for each in planned})
    waiting, spoken = iter(planned), time.monotonic()

    async def work() -> None:
        nonlocal spoken
        for each in waiting:
            await torture.attempt(each)
            if time.monotonic() - spoken > SPOKEN:
                spoken = time.monotonic()
                failed = sum(bool(trial.found) for trial in torture.ended)
                print(f"{len(torture.ended)} of {len(planned)}, {failed} failed", file=sys.stderr, flush=True)

    await asyncio.gather(*(work() for _ in range(jobs)))


if __name__ == "__main__":
    sys.exit(main())
