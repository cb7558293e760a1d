"""How well the expert plays valid_seen, searching by the counted table and in order of name, and how fast."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from statistics import mean
from typing import get_args

from housequest.worlds.alfworld.engine.game import load_game
from housequest.worlds.alfworld.engine.native import NativeEnv
from housequest.worlds.alfworld.expert import HouseholdExpert, make_expert
from housequest.worlds.alfworld.games import GAME_FILE, LAYOUT, PUBLISHED
from housequest.worlds.base import Task
from housequest.worlds.household.counts import SearchPrior

SPLIT = "valid_seen"
LIMIT = 50


@dataclass(frozen=True, slots=True)
class _Game:
    name: str
    won: bool
    steps: int
    cause: str


def run(data: Path | None) -> list[str]:
    """Won of the split, mean steps (a lost game counts all ``LIMIT``) and seconds with loading, for each way of searching."""
    if data is None:
        return [f"needs the published games of {SPLIT}"]
    paths = sorted((data / LAYOUT / SPLIT).glob(f"*/*/{GAME_FILE}"))
    if not paths:
        return [f"there is no {SPLIT} under {data.name}/{LAYOUT}"]
    lines: list[str] = []
    for search in get_args(SearchPrior):
        began = time.perf_counter()
        expert = make_expert(search)
        games = [_play(expert, path) for path in paths]
        seconds = time.perf_counter() - began
        lost = [game for game in games if not game.won]
        lines.append(
            f"by {search:<7} won {len(games) - len(lost)} of {len(games)} (the split has {PUBLISHED[SPLIT]}), "
            f"{mean(game.steps for game in games):.2f} steps on average, {seconds:.2f} s"
        )
        lines += [f"  lost {game.name}: {game.cause}" for game in lost]
    return lines


def _play(expert: HouseholdExpert, path: Path) -> _Game:
    game = load_game(path)
    env = NativeEnv(Task(path.parent.name, "alfworld", SPLIT, 0, game.goal.form, game.sentence), game)
    step, steps, thought = env.reset(), 0, ""
    memory = expert.begin(game.sentence, step.observation)
    while not step.won and steps < LIMIT:
        command, thought, memory = expert.decide(memory)
        if command is None:
            break
        step = env.step(command)
        memory = expert.observe(memory, command, step.observation)
        steps += 1
    return _Game(path.parent.parent.name, step.won, steps, "" if step.won else f"after {steps} steps: {thought}")
