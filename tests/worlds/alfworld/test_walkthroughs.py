"""Every published game's own solution, on the native engine."""

from __future__ import annotations

from pathlib import Path

import pytest

from housequest.worlds.alfworld.engine.game import load_game
from housequest.worlds.alfworld.engine.native import NativeEnv
from housequest.worlds.base import Task


def fault(path: Path) -> str | None:
    """What goes wrong when the game's walkthrough is played; None where it wins with its last command."""
    game = load_game(path)
    env = NativeEnv(Task(path.parent.name, "alfworld", "walkthrough", 0, "", game.sentence), game)
    step = env.reset()
    for command in game.walkthrough or ():
        if step.won:
            return f"is won before {command!r}"
        if command not in env.admissible_commands():
            return f"does not offer {command!r}"
        step = env.step(command)
    return None if step.won else "is not won"


@pytest.mark.games
@pytest.mark.parametrize("split", ["train", "valid_seen"])
def test_every_walkthrough_is_admissible_and_wins(alfworld_games: Path, split: str) -> None:
    paths = sorted((alfworld_games / "json_2.1.1" / split).glob("*/*/game.tw-pddl"))
    assert len(paths) == {"train": 3553, "valid_seen": 140}[split]
    faults = [f"{path.parent.parent.name}/{path.parent.name} {found}" for path in paths if (found := fault(path))]
    assert not faults, f"{len(faults)} of {len(paths)} games:\n" + "\n".join(faults[:20])
