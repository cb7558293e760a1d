"""Makes a file of exemplars in the form of ReAct's, from tasks won by the world's expert, with thoughts of ours.

    python -m scripts.make_exemplars FILE                    # what exemplars=own shows, to be edited
    python -m scripts.make_exemplars --split train FILE      # from the published games; not to be shared

The same seed gives the same file.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from housequest.knowledge.examples import EXEMPLARS_EACH, exemplars_of, from_world, shipped, written_exemplars
from housequest.worlds.registry import make_world


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path, help="where the exemplars are written")
    parser.add_argument("--split", choices=["generated", "train"], default="generated", help="where the tasks are taken from")
    parser.add_argument("--each", type=int, default=EXEMPLARS_EACH, help="exemplars of each task type")
    parser.add_argument("--seed", type=int, default=0, help="the draw from train")
    given = parser.parse_args()
    world = make_world("alfworld")
    household = world.household
    assert household is not None
    examples = from_world(world, each=2 * given.each, seed=given.seed) if given.split == "train" else shipped()
    text = written_exemplars(exemplars_of(examples, household, given.each))
    given.file.write_text(text, encoding="utf-8")
    print(f"{given.file}: {6 * given.each} exemplars, {len(text):,} bytes", file=sys.stderr)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
