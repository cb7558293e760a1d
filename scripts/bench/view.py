"""The View on a terminal: what one costs, and how long a key takes until it is drawn, with the View and without it."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from random import Random
from statistics import median, quantiles
from tempfile import TemporaryDirectory

SIZE = (120, 40)
COSTS = (((80, 24), "blocks", 15), ((120, 40), "blocks", 20), ((120, 40), "pixels", 80))
"""Cells of a View, the way to draw it (pixels: half of a cell's), and the milliseconds of processor that a turn may take."""
FIRST = 100
"""Milliseconds within which the first picture is to be seen, by the clock."""
TURNS = 100
ROUNDS = 60
PAUSE = 0.12
"""Seconds between keys, as of a fast typist."""


def view(data: Path | None) -> Iterator[str]:
    """Milliseconds of a View through widget and app, and from a key until it is drawn."""
    del data
    if os.name != "posix":
        yield "not measured: this needs a pty"
        return
    with TemporaryDirectory() as folder:
        place = Path(folder)
        record = _played(place / "played.jsonl")
        for cells, way, wanted in COSTS:
            yield _cost(place, record, cells, way, wanted)
        yield _keys(place, record)


def _played(path: Path) -> Path:
    """An episode of somebody who goes everywhere and opens everything."""
    from housequest.agent.episodes.events import Event, Started, Stepped
    from housequest.worlds.paths import FORMAT
    from housequest.worlds.registry import make_world
    from scripts.bench.screen_app import HOUSE

    world = make_world("alfworld")
    task = world.task(HOUSE)
    env = world.open(task)
    opening = env.reset().observation.text
    start = Started(
        world=world.name, engine=world.engine, task=task.id, split=task.split, number=task.number, type=task.type,
        goal=task.goal, wording=task.wording, agent="human", max_turns=TURNS, seed=0, opening=opening, format=FORMAT,
    )  # fmt: skip
    events = [Event(id=0, body=start)]
    dice = Random(0)
    for turn in range(1, TURNS + 1):
        command = dice.choice([one for one in env.admissible_commands() or () if one.startswith(("go", "open", "take"))])
        answer = env.step(command).observation
        step = Stepped(turn=turn, command=command, observation=answer.text, accepted=answer.accepted)
        events.append(Event(id=turn, parent=turn - 1, body=step))
    path.write_text("".join(f"{event.model_dump_json(exclude_none=True)}\n" for event in events), "utf-8")
    return path


def _cost(place: Path, record: Path, cells: tuple[int, int], way: str, wanted: int) -> str:
    from scripts.bench.screen_app import READY
    from scripts.bench.terminal import Terminal

    out = place / "cost.json"
    with Terminal(["scripts.bench.screen_app", "view", str(record), str(out), way], place, cells, _home(place, "")) as terminal:
        terminal.until(READY)
    told = json.loads(out.read_text("utf-8"))
    taken, (clock, processor) = told["ms"], told["first"]
    return (
        f"a View of {' x '.join(map(str, told['size']))} cells in {way}, drawn and painted: "
        f"median {median(taken):.1f} ms of processor a turn (wanted: at most {wanted}), 95th percentile "
        f"{_p95(taken):.1f}; {len(taken)} turns; the first picture: {clock:.0f} ms by the "
        f"clock, {processor:.0f} of processor (wanted: within {FIRST})"
    )


def _keys(place: Path, record: Path) -> str:
    """Both screens at once, a key to the one and then to the other: what else the machine does meets both."""
    from scripts.bench.terminal import Terminal

    taken: dict[str, list[float]] = {"": [], "house": []}
    with ExitStack() as stack:
        screens = {
            mode: stack.enter_context(
                Terminal(["scripts.bench.screen_app", "replay", str(record)], place, SIZE, _home(place, mode))
            )
            for mode in taken
        }
        for terminal in screens.values():
            terminal.until(f"opening of {TURNS} turns")
            terminal.rest(2)
        dice, turn = Random(0), 0
        for _ in range(ROUNDS):
            by = -1 if turn == TURNS or (turn and dice.random() < 0.3) else 1
            turn += by
            for mode, terminal in screens.items():
                terminal.press(b"\x1b[C" if by > 0 else b"\x1b[D")
                shown = f"turn {turn} of {TURNS}" if turn else f"opening of {TURNS} turns"
                taken[mode].append(1000 * terminal.until(shown))
                terminal.rest(PAUSE)
    off, on = _p95(taken[""]), _p95(taken["house"])
    return (
        f"a key that goes to another turn, until it is drawn: median {median(taken['house']):.0f} ms with the View, "
        f"{median(taken['']):.0f} without; 95th percentile {on:.0f} and {off:.0f}: {on - off:+.0f} (wanted: at most +10)"
    )


def _home(place: Path, mode: str) -> dict[str, str]:
    """A home folder in which the View shows ``mode``."""
    home = place / f"home-{mode}"
    (home / "state").mkdir(parents=True, exist_ok=True)
    (home / "state" / "recent.json").write_text(json.dumps({"view": mode}), "utf-8")
    return {"HOUSEQUEST_HOME": str(home)}


def _p95(taken: list[float]) -> float:
    return quantiles(taken, n=20)[-1]
