"""A sweep's results as lines to print."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Collection, Sequence

from scripts.parity.plan import WALKS, WALKTHROUGH, Item
from scripts.parity.sweep import Editions, Record


def totals(records: Sequence[Record], these: Editions) -> list[str]:
    """Games, steps, refused commands and differences by kind; the commands that were accepted; the editions compared."""
    row = "{:<12} {:>7} {:>8} {:>9} {:>9} {:>7} {:>12}".format
    lines = [row("kind", "games", "steps", "accepted", "refused", "won", "differences")]
    for kind in (WALKTHROUGH, *WALKS, "all"):
        chosen = [record for record in records if kind in (record.kind, "all")]
        if not chosen:
            continue
        steps, refused = (sum(getattr(record.played, name) for record in chosen) for name in ("steps", "refused"))
        games = len({record.task for record in chosen})
        won = sum(record.played.won for record in chosen)
        differences = sum(record.played.difference is not None for record in chosen)
        lines.append(row(kind, *(f"{n:,}" for n in (games, steps, steps - refused, refused, won, differences))))
    verbs = Counter[str]()
    for record in records:
        verbs.update(record.played.verbs)
    if verbs:
        lines.append("accepted: " + ", ".join(f"{verb} {count:,}" for verb, count in verbs.most_common()))
    for compared, count in Counter(record.editions for record in records).most_common():
        present = "this one" if compared.native == these.native else f"not this one, {these.native}"
        lines.append(
            f"{count:,} comparisons of native edition {compared.native} ({present}) with {compared.reference} "
            f"in {compared.worker}"
        )
    return lines


def difference(record: Record) -> list[str]:
    """How to reproduce one difference, and what each engine says."""
    found = record.played.difference
    if found is None:
        return []
    return [
        f"DIFFERENCE in {record.item.key}: {found.field} after {found.after} commands; {len(record.script)} are enough:",
        f"  python -m scripts.parity --try {shlex.join((record.task, *record.script))}",
        f"  native:    {found.native!r}",
        f"  reference: {found.reference!r}",
    ]


def left_out(left: Collection[Item]) -> list[str]:
    """The parts of the plan that were not compared, by kind."""
    counts = Counter(item.kind for item in left)
    return [f"not compared: {count:,} of kind {kind}" for kind, count in counts.items()]
