"""The native engine against transcripts of the real alfworld (``scripts/record_golden.py``), character for character."""

from __future__ import annotations

import json
import lzma
from pathlib import Path
from typing import Any

import pytest

from housequest.worlds.alfworld.engine.game import Game, load_game
from housequest.worlds.alfworld.engine.native import REFUSED, NativeEnv
from housequest.worlds.base import Step, Task

GOLDEN = Path(__file__).parent / "golden"
HOUSES = sorted(path.stem for path in (GOLDEN / "houses").glob("*.json"))


def transcripts(lines: list[str]) -> list[list[dict[str, Any]]]:
    found: list[list[dict[str, Any]]] = []
    for line in map(json.loads, lines):
        if "game" in line:
            found.append([])
        found[-1].append(line)
    return found


def replay(game: Game, transcript: list[dict[str, Any]]) -> None:
    """Play the recorded commands on a new env and compare all that is said."""
    env = NativeEnv(Task("golden", "alfworld", "golden", 0, "", game.sentence), game)
    opening, *steps = transcript
    step, admissible = env.reset(), set(opening["admissible"])
    compare("(start)", opening, step, env, admissible)
    for number, line in enumerate(steps, 1):
        admissible = (admissible - set(line.get("removed", ()))) | set(line.get("added", ()))
        compare(f"step {number}, {line['command']!r}", line, env.step(line["command"]), env, admissible)


def compare(where: str, line: dict[str, Any], step: Step, env: NativeEnv, admissible: set[str]) -> None:
    assert step.observation.text == line["text"], where
    assert step.observation.accepted == (line["text"] != REFUSED), where
    assert step.won == line["won"], where
    assert env.admissible_commands() == tuple(sorted(admissible)), where


@pytest.mark.parametrize("house", HOUSES)
def test_small_houses_agree_with_the_reference(house: str) -> None:
    text = (GOLDEN / "transcripts" / f"{house}.jsonl").read_text(encoding="utf-8")
    (transcript,) = transcripts(text.splitlines())
    replay(load_game(GOLDEN / "houses" / f"{house}.json"), transcript)


def test_small_houses_are_enough_to_mean_something() -> None:
    assert len(HOUSES) >= 12
    forms = {load_game(GOLDEN / "houses" / f"{house}.json").goal.form for house in HOUSES}
    assert forms == {"place", "clean", "heat", "cool", "two", "light"}


@pytest.mark.games
def test_published_games_agree_with_the_reference(alfworld_games: Path) -> None:
    recorded = transcripts(lzma.decompress((GOLDEN / "train.jsonl.xz").read_bytes()).decode().splitlines())
    names = {transcript[0]["game"] for transcript in recorded}
    assert len(names) >= 60
    assert len({name.split("/")[1].split("-")[0] for name in names}) == 6
    for transcript in recorded:
        name = transcript[0]["game"]
        try:
            replay(load_game(alfworld_games / "json_2.1.1" / name / "game.tw-pddl"), transcript)
        except AssertionError as error:
            raise AssertionError(f"{name}: {error}") from error
