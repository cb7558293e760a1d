"""Made-up houses: whether all can be solved, how the expert plays them, and how they compare with the games of train.

The houses are those of the seeds 0 to 999, none filtered out. Objects are those that lie in some receptacle: published rooms
have windows and the like too, which no player sees. The shortest paths come from the planner.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import mean, median

from housequest.worlds.alfworld.engine.game import Game, load_game
from housequest.worlds.alfworld.engine.native import NativeEnv
from housequest.worlds.alfworld.engine.planner import plan
from housequest.worlds.alfworld.expert import HouseholdExpert, make_expert
from housequest.worlds.alfworld.games import GAME_FILE, LAYOUT
from housequest.worlds.alfworld.houses.house import House, make_house
from housequest.worlds.alfworld.text import load_counts
from housequest.worlds.base import Task
from housequest.worlds.household.goals import TASK_TYPES, TYPES
from tests.worlds.alfworld.play import wins

HOUSES = 1_000
LIMIT = 50


@dataclass
class Figures:
    """Counts over games: by task type, and by room with one entry a game."""

    types: Counter[str] = field(default_factory=Counter[str])
    rooms: Counter[str] = field(default_factory=Counter[str])
    objects: dict[str, list[int]] = field(default_factory=dict[str, list[int]])
    receptacles: dict[str, list[int]] = field(default_factory=dict[str, list[int]])
    steps: list[int] = field(default_factory=list[int])

    def add(self, room: str, game: Game, shortest: int) -> None:
        self.types[TYPES[game.goal.form]] += 1
        self.rooms[room] += 1
        self.objects.setdefault(room, []).append(len({thing for contents in game.start.contents for thing in contents}))
        self.receptacles.setdefault(room, []).append(len(game.receptacles))
        self.steps.append(shortest)


def run(data: Path | None) -> list[str]:
    """Make ``HOUSES`` houses, play each with the expert, and compare with train where ``data`` holds it. Lines to print."""
    houses, seconds = _made()
    proven = sum(wins(house.game, house.plan) for house in houses)
    drawn = sum(house.draws > 1 for house in houses)
    spent = " / ".join(f"{of(seconds) * 1e3:.1f}" for of in (median, mean, max))
    lines = [
        f"{proven} of {len(houses)} solved by their shortest plan on the engine; {drawn} drawn more than once",
        f"made, with the proof, in {spent} ms each (median / mean / most)",
        *_played(houses),
    ]
    made = Figures()
    for house in houses:
        made.add(house.room, house.game, len(house.plan))
    lines += _compared(made, _of_train(data) if data else None)
    return lines if data else [*lines, "train: not here, so not compared (set ALFWORLD_DATA)"]


def _made() -> tuple[list[House], list[float]]:
    make_house(HOUSES)  # reads the table
    houses: list[House] = []
    seconds: list[float] = []
    for seed in range(HOUSES):
        began = time.perf_counter()
        houses.append(make_house(seed))
        seconds.append(time.perf_counter() - began)
    return houses, seconds


def _played(houses: Sequence[House]) -> list[str]:
    expert = make_expert()
    steps: list[int] = []
    lost: list[str] = []
    for house in houses:
        took, cause = _play(expert, house)
        steps.append(took)
        if cause:
            lost.append(f"  lost generated:{house.seed} ({house.sentence} Shortest: {len(house.plan)}): {cause}")
    won = len(houses) - len(lost)
    return [f"the expert won {won} of {len(houses)} in {mean(steps):.2f} steps on average (a lost one counts {LIMIT})", *lost]


def _play(expert: HouseholdExpert, house: House) -> tuple[int, str]:
    """The number of steps, and why the game was lost, if it was."""
    game = house.game
    env = NativeEnv(Task(game.origin, "alfworld", "generated", house.seed, house.goal.type, house.sentence), game)
    step, thought = env.reset(), ""
    memory = expert.begin(house.sentence, step.observation)
    searched = 0
    for steps in range(1, LIMIT + 1):
        command, thought, memory = expert.decide(memory)
        if command is None:
            return steps - 1, f"gave up: {thought}"
        searched += command.startswith(("go to", "open"))
        step = env.step(command)
        memory = expert.observe(memory, command, step.observation)
        if step.won:
            return steps, ""
    return LIMIT, f"{searched} of {LIMIT} steps went to places or opened them; at last: {thought}"


def _of_train(data: Path) -> Figures | None:
    """Every game of train; the kind of room is read from its furniture."""
    paths = sorted((data / LAYOUT / "train").glob(f"*/*/{GAME_FILE}"))
    counts, figures = load_counts(), Figures()
    for path in paths:
        game = load_game(path)
        shortest = plan(game)
        if isinstance(shortest, tuple):
            room = counts.room_of(name.rpartition(" ")[0] for name in game.receptacles)
            figures.add(room, game, len(shortest))
    return figures if paths else None


def _compared(made: Figures, train: Figures | None) -> list[str]:
    both = [made, *([train] if train else [])]
    rows = [("", "made up", "train")]
    rows += [("games", *(f"{len(one.steps)}" for one in both))]
    rows += [(name, *(_percent(one.types[name], one) for one in both)) for name in TASK_TYPES]
    for room in sorted(made.rooms):
        rows.append((room, *(_percent(one.rooms[room], one) for one in both)))
        rows.append(("  objects", *(_spread(one.objects.get(room, [])) for one in both)))
        rows.append(("  receptacles", *(_spread(one.receptacles.get(room, [])) for one in both)))
    rows.append(("shortest path", *(f"{mean(one.steps):.2f}, {_spread(one.steps)}" for one in both)))
    for steps in range(1, max(max(one.steps) for one in both) + 1):
        rows.append((f"  {steps} steps", *(_percent(one.steps.count(steps), one) for one in both)))
    return ["(numbers are fewest / quarter / median / quarter / most)", *(_row(row) for row in rows)]


def _row(cells: tuple[str, ...]) -> str:
    return f"{cells[0]:<32}" + "".join(f"{cell:<30}" for cell in cells[1:]).rstrip()


def _percent(number: int, figures: Figures) -> str:
    return f"{100 * number / len(figures.steps):.1f} %"


def _spread(numbers: Sequence[int]) -> str:
    if not numbers:
        return "-"
    ordered = sorted(numbers)
    return " / ".join(str(ordered[(len(ordered) - 1) * quarter // 4]) for quarter in range(5))
