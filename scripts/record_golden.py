"""Records the output of the real alfworld, with which the native engine is compared character for character.

Recording needs the compiled reference, ``pip install "housequest[alfworld]"`` (some minutes of compiling); comparing needs only
the records.

    python -m scripts.record_golden houses          # the small houses in tests/worlds/alfworld/golden/houses
    python -m scripts.record_golden games DIR       # published train games under DIR/json_2.1.1
    python -m scripts.record_golden houses --check  # write nothing; exit with 1 if the reference says something else now

A transcript is a run of JSON lines. Its first has ``game``; each later one the ``command``, exactly as it was typed. All have
the ``text`` and ``won``, the first all ``admissible`` commands, later ones how that list changed (``added``, ``removed``).
Small houses play the commands written for them, then wander; published games play their walkthrough with other commands in
between, and on after the win, then wander from the start. Every choice is seeded: the same reference gives the same file.
"""

from __future__ import annotations

import argparse
import json
import lzma
import random
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from housequest.worlds.alfworld.engine.game import PLACEHOLDER, GameFile
from housequest.worlds.dropin.reference import Reference, check_installed
from housequest.worlds.errors import ConfigurationError

GOLDEN = Path(__file__).resolve().parent.parent / "tests" / "worlds" / "alfworld" / "golden"
STRAYS = (
    "",
    "   ",
    "Look",
    "look around",
    "go to",
    "go to 1",
    "open",
    "take",
    "examine",
    "xyzzy",
    "help me",
    "go  to desk 1",
    "\N{RED APPLE}",
)
WEIGHTS = {"look": 1, "inventory": 1, "help": 0.3, "examine": 1, "go": 3, "slice": 20, "heat": 20, "cool": 20, "clean": 20}
USEFUL = ("knife", "microwave", "fridge", "sinkbasin")


Recorded = Iterator[tuple[Path, str]]
"""Files of transcripts, each with its records."""


class Recorder:
    """The real game, one at a time, as lines of a transcript."""

    def __init__(self) -> None:
        self.reference = Reference()
        self.admissible: list[str] = []

    def load_house(self, house: dict[str, str]) -> None:
        """Load one of our houses under the domain and grammar of the installed alfworld."""
        grammar = self.reference.grammar.replace(PLACEHOLDER, house["goal"])
        self.reference.load(GameFile(house["pddl_problem"], house["goal"], grammar=grammar))

    def load_game(self, path: Path) -> None:
        """Load a published game."""
        game = json.loads(path.read_text(encoding="utf-8"))
        self.reference.load(GameFile(game["pddl_problem"], "", game["pddl_domain"], game["grammar"]))

    def reset(self, game: str) -> dict[str, Any]:
        told = self.reference.reset()
        self.admissible = list(told.commands)
        return {"game": game, "text": told.text, "admissible": self.admissible, "won": told.won}

    def step(self, command: str) -> dict[str, Any]:
        told = self.reference.step(command)
        before, self.admissible = set(self.admissible), list(told.commands)
        changes = {"added": sorted(set(self.admissible) - before), "removed": sorted(before - set(self.admissible))}
        return {"command": command, "text": told.text, **{k: v for k, v in changes.items() if v}, "won": told.won}


def wander(recorder: Recorder, rng: random.Random, steps: int, strays: float) -> Iterator[dict[str, Any]]:
    """Random commands: a verb first, so that the many places to go to do not drown the rest, and ``strays`` refused ones.

    Knives and appliances are favoured, or next to nothing would be heated or sliced.
    """
    past: list[str] = ["look"]
    for _ in range(steps):
        by_verb: dict[str, list[str]] = {}
        for command in recorder.admissible:
            by_verb.setdefault(command.split()[0], []).append(command)
        if rng.random() < strays:
            old = rng.choice(past)
            command = rng.choice((*STRAYS, old, old.upper(), f" {old} ", old.replace("move", "put"), f"{old} 1"))
        else:
            verbs = list(by_verb)
            listed = by_verb[rng.choices(verbs, [WEIGHTS.get(verb, 5) for verb in verbs])[0]]
            useful = [command for command in listed if any(word in command for word in USEFUL)]
            command = rng.choice(useful if useful and rng.random() < 0.4 else listed)
        past.extend(by_verb.get("take", ()))
        past.append(command)
        yield recorder.step(command)


def through(recorder: Recorder, rng: random.Random, walkthrough: Sequence[str]) -> Iterator[dict[str, Any]]:
    """The walkthrough, with commands in between that change nothing."""
    for command in walkthrough:
        while rng.random() < 0.4:
            idle = [other for other in recorder.admissible if other.startswith(("look", "inventory", "examine", "help"))]
            yield recorder.step(rng.choice([*idle, rng.choice(STRAYS)]))
        yield recorder.step(command)


def written(lines: list[dict[str, Any]]) -> str:
    return "".join(json.dumps(line, ensure_ascii=True) + "\n" for line in lines)


def record_houses(recorder: Recorder, seed: int, steps: int) -> Recorded:
    for path in sorted((GOLDEN / "houses").glob("*.json")):
        rng = random.Random(f"{seed} {path.stem}")
        commands: list[str] = json.loads((GOLDEN / "commands" / path.name).read_text(encoding="utf-8"))
        recorder.load_house(json.loads(path.read_text(encoding="utf-8")))
        lines = [recorder.reset(path.stem), *map(recorder.step, commands), *wander(recorder, rng, steps, strays=0.1)]
        print(f"{path.stem}: {len(lines) - 1} steps", file=sys.stderr)
        yield GOLDEN / "transcripts" / f"{path.stem}.jsonl", written(lines)


def record_games(recorder: Recorder, data: Path, seed: int, steps: int, each: int) -> Recorded:
    root = data / "json_2.1.1"
    by_type: dict[str, list[Path]] = {}
    for path in sorted(root.glob("train/*/*/game.tw-pddl")):
        by_type.setdefault(path.parent.parent.name.split("-")[0], []).append(path)
    lines: list[dict[str, Any]] = []
    for kind, paths in sorted(by_type.items()):
        for path in sorted(random.Random(f"{seed} {kind}").sample(paths, each)):
            name = path.parent.relative_to(root).as_posix()
            rng = random.Random(f"{seed} {name}")
            recorder.load_game(path)
            lines.append(recorder.reset(name))
            lines.extend(through(recorder, rng, json.loads(path.read_text(encoding="utf-8"))["walkthrough"]))
            lines.extend(wander(recorder, rng, steps // 4, strays=0.1))
            lines.append(recorder.reset(name))
            lines.extend(wander(recorder, rng, steps, strays=0.15))
            print(f"{name}: {len(lines)} lines so far", file=sys.stderr)
    yield GOLDEN / "train.jsonl.xz", written(lines)


def stored(path: Path) -> str:
    """The transcripts in a file; empty if there is none yet."""
    if not path.exists():
        return ""
    content = path.read_bytes()
    return (lzma.decompress(content) if path.suffix == ".xz" else content).decode()


def store(path: Path, text: str) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(lzma.compress(text.encode(), preset=9) if path.suffix == ".xz" else text.encode())


def main() -> int:
    parser = argparse.ArgumentParser(description="Record what the real alfworld says.")
    parser.add_argument("what", choices=["houses", "games"])
    parser.add_argument("data", nargs="?", type=Path, help="the folder that holds json_2.1.1 (for games)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--steps", type=int, default=30, help="how long to wander (default %(default)s)")
    parser.add_argument("--each", type=int, default=15, help="published games of each task type (default %(default)s)")
    parser.add_argument("--check", action="store_true", help="compare with what is stored, and write nothing")
    given = parser.parse_args()
    if given.what == "games" and given.data is None:
        parser.error("games needs the folder that holds json_2.1.1")
    try:
        check_installed()
    except ConfigurationError as error:
        parser.error(str(error))
    recorder = Recorder()
    if given.what == "houses":
        recorded = record_houses(recorder, given.seed, given.steps)
    else:
        recorded = record_games(recorder, given.data, given.seed, given.steps, given.each)
    differing = 0
    for path, text in recorded:
        if not given.check:
            store(path, text)
        elif stored(path) != text:
            differing += 1
            print(f"{path.name} differs from what the reference says now", file=sys.stderr)
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
