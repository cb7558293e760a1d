"""What the trials found, as a table of counts and a list of what failed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import get_args

from scripts.torture.trial import Trial
from scripts.torture.whole import Fault

FAULTS: tuple[Fault, ...] = get_args(Fault)
MOST = 3
"""Notes that are printed of one failed trial."""


def table(trials: Sequence[Trial]) -> Iterator[str]:
    """A line for each kind: its trials, and how many of them had each fault."""
    kinds = dict.fromkeys(trial.kind for trial in sorted(trials, key=lambda trial: trial.kind))
    yield _row("", ("trials", *FAULTS))
    for kind in (*kinds, "all"):
        mine = [trial for trial in trials if kind in {trial.kind, "all"}]
        counts = Counter(fault for trial in mine for fault in {fault for fault, _ in trial.found})
        yield _row(kind, (str(len(mine)), *(str(counts[fault] or "-") for fault in FAULTS)))


def failures(trials: Sequence[Trial], seed: int) -> Iterator[str]:
    """Each failed trial: what it did, how to repeat it, what it found."""
    for trial in sorted(trials, key=lambda trial: (trial.kind, trial.number)):
        if trial.found:
            yield ""
            yield f"{trial.kind} {trial.number}: {trial.about}"
            yield f"  python -m scripts.torture --seed {seed} --only {trial.kind} --trial {trial.number}"
            yield from (f"  {fault}: {note}" for fault, note in trial.found[:MOST])
            if len(trial.found) > MOST:
                yield f"  and {len(trial.found) - MOST} more"


def _row(name: str, cells: Sequence[str]) -> str:
    return f"{name:16}" + "".join(
        f"{cell:>{max(len(head), 6) + 2}}" for cell, head in zip(cells, ("trials", *FAULTS), strict=True)
    )
