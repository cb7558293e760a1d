"""Game files for tests: published ones where they are, and made-up ones that must be refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

PLACE = "pick_and_place_simple-Mug-None-Desk-301/trial_T20190101_000000_000001"
HEAT = "pick_heat_then_place_in_recep-Egg-None-SinkBasin-7/trial_T20190101_000000_000002"
OLDER = {
    "pddl_domain": "(define (domain alfred))",
    "grammar": 'action put { template :: "put {o} in/on {r}"; } "rhs": "Your task is to: put a mug in desk."',
    "pddl_problem": "(define (problem p))",
    "solvable": True,
    "walkthrough": [],
}
"""The parts of a game of the older grammar that are read."""


def encoded(game: dict[str, Any]) -> bytes:
    return json.dumps(game).encode()


def put(data: Path, split: str, trial: str, content: bytes, file: str = "game.tw-pddl") -> Path:
    """Write one file in the published layout under ``data``."""
    path = data / "json_2.1.1" / split / trial / file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def published(games: Path, number: int, split: str = "valid_seen") -> dict[str, bytes]:
    """Some games and their annotations by their names in an archive, evenly drawn from the split."""
    files = sorted((games / "json_2.1.1" / split).glob("*/*/game.tw-pddl"))
    chosen = files[:: max(1, len(files) // number)][:number]
    both = [file.with_name(name) for file in chosen for name in ("game.tw-pddl", "traj_data.json")]
    return {file.relative_to(games).as_posix(): file.read_bytes() for file in both}


def unpacked(members: dict[str, bytes], data: Path) -> Path:
    """Write ``members`` under ``data``."""
    for name, content in members.items():
        path = data / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return data
