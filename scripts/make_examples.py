"""Makes a store of in-context examples from tasks won by the world's expert.

    python -m scripts.make_examples                          # the store that ships, from made-up houses
    python -m scripts.make_examples --split train FILE       # another, from the published games; not to be shared

The same seed gives the same file.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from itertools import count
from pathlib import Path

from housequest.knowledge.examples import SHIPPED, Example, from_world, played, written
from housequest.worlds.registry import make_world

STORE = Path(__file__).resolve().parent.parent / "knowledge" / SHIPPED
TYPES = 6
LONGEST = 14
"""Most commands of an example from a made-up house: a long search teaches no more than a short one."""


def made_up(each: int, first: int) -> tuple[Example, ...]:
    """``each`` examples of every task type, from houses with the seeds from ``first`` on."""
    world = make_world("alfworld")
    found: list[Example] = []
    sentences: set[str] = set()
    for seed in count(first):
        task = world.task(f"generated:{seed}")
        often = Counter(example.type for example in found)
        if len(often) == TYPES and min(often.values()) >= each:
            break
        if often[task.type] >= each or task.goal in sentences:
            continue
        example = played(world, task, most=LONGEST)
        if example is not None:
            found.append(example)
            sentences.add(task.goal)
    return tuple(sorted(found, key=lambda example: example.type))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path, nargs="?", default=STORE, help="where the store is written")
    parser.add_argument("--split", choices=["generated", "train"], default="generated", help="where the tasks are taken from")
    parser.add_argument("--each", type=int, default=17, help="examples of each task type")
    parser.add_argument("--seed", type=int, default=100_000, help="the first made-up house, or the draw from train")
    given = parser.parse_args()
    if given.split == "train":
        examples = from_world(make_world("alfworld"), each=given.each, seed=given.seed)
    else:
        examples = made_up(given.each, given.seed)
    text = written(examples)
    given.file.write_text(text, encoding="utf-8")
    print(f"{given.file}: {len(examples)} examples, {len(text):,} bytes", file=sys.stderr)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
