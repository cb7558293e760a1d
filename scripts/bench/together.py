"""Several players in one house: the same game and the time it takes, and the rounds of experts that share it.

Experts take turns, in an order drawn anew in each round, or all decide at once on the house as it was at the beginning of the
round. Gain is the rounds of one alone over those of two, as a ratio of sums with a 95 % interval by bootstrap over tasks; a
lost game counts all rounds. A conflict is a refused command to take or put something, and a place is searched twice if its
searcher looks into it after another player has.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from statistics import mean
from typing import NamedTuple

from housequest.worlds.base import Env, Task, World
from housequest.worlds.env import expert_of, shared_house
from housequest.worlds.household.talk import quoted
from housequest.worlds.registry import make_world
from housequest.worlds.shared import WAIT, Companion, Seat, Shareable

PLAYERS = ("Ann", "Bob", "Cleo", "Dan")
WORLDS = {"alfworld": "generated", "household-graph": "generated"}
STEPS = 20_000
FIRST = 200_000
TASKS, CHORES, HOME_CHORES, LIVELOCK = 120, 200, 80, 1_000
MOST_ROUNDS = 200
_DRAWS = 2_000


def run(data: Path | None) -> Iterator[str]:
    """The figures, each a line."""
    for part in PARTS.values():
        yield from part(data)


def _alone(data: Path | None) -> Iterator[str]:
    """One player through a seat, against the env of before."""
    del data
    for name, split in WORLDS.items():
        world, spent, differences, steps, seed = make_world(name), [0.0, 0.0], 0, 0, FIRST
        while steps < STEPS:
            task, dice = world.task(f"{split}:{seed}"), random.Random(seed)
            envs: tuple[Env, Env] = (world.open(task), Seat(shared_house(world, task, PLAYERS[:1]), PLAYERS[0]))
            differences += envs[0].reset() != envs[1].reset()
            for _ in range(100):
                command = dice.choice(envs[0].admissible_commands() or ("look",)) if dice.random() < 0.9 else "dance"
                answers: list[object] = []
                for number, env in enumerate(envs):
                    start = time.perf_counter()
                    answers.append((env.step(command), env.admissible_commands()))
                    spent[number] += time.perf_counter() - start
                differences += answers[0] != answers[1]
            steps, seed = steps + 100, seed + 1
        yield f"{name}: {steps:,} steps through a seat, {differences} differences, {spent[1] / spent[0]:.2f} times as long"


class Way(NamedTuple):
    """A way to play together: who hears of the others, who speaks, every how many rounds each acts; do all decide at once?"""

    name: str
    hears: tuple[bool, ...] = (True,) * len(PLAYERS)
    speaks: tuple[bool, ...] = (True,) * len(PLAYERS)
    every: tuple[int, ...] = (1,) * len(PLAYERS)
    at_once: bool = False


_ONE, _NOBODY = (True, *(False,) * 3), (False,) * 4
SILENT = Way("silent", speaks=_NOBODY)
FREE = Way("who talk")
WAYS = (
    Way("that know nothing of each other", hears=_NOBODY),
    SILENT,
    FREE,
    Way("silent, at once", speaks=_NOBODY, at_once=True),
    Way("who talk, at once", at_once=True),
    Way("beside an ignorant one", hears=_ONE, speaks=_ONE),
    Way("beside one that only listens", speaks=_ONE),
    Way("beside one at half speed", every=(1, 2, 1, 1)),
)


@dataclass(slots=True)
class Played:
    """The ``rounds`` until it was won, at most `MOST_ROUNDS`, and counts: commands, those refused and those because somebody
    was quicker, waits, places searched, by one who could have known that another had, treatments and those of a treated thing,
    and messages with their characters."""

    rounds: int = 0
    acts: int = 0
    refused: int = 0
    conflicts: int = 0
    idle: int = 0
    searched: int = 0
    searched_twice: int = 0
    treated: int = 0
    treated_twice: int = 0
    messages: int = 0
    characters: int = 0


def played_by(world: World, task: Task, number: int, way: Way = FREE) -> Played:
    """One task played by a number of experts in this way."""
    shared, expert, household = shared_house(world, task, PLAYERS[:number]), expert_of(world), world.household
    assert household is not None
    memories = {player: expert.begin(task.goal, step.observation) for player, step in shared.reset().items()}
    said: dict[str, list[str]] = {player: [] for player in shared.players}
    known: dict[str, set[str]] = {player: set() for player in shared.players}
    treated, played = set[tuple[str, ...]](), Played(MOST_ROUNDS)

    def decide(player: str) -> tuple[str, str, tuple[str, ...]]:
        place, memory, speaks = PLAYERS.index(player), memories[player], False
        if number > 1 and way.hears[place]:
            news, others = (*shared.news(player), *said[player]), tuple(one for one in shared.players if one != player)
            said[player] = []
            if isinstance(expert, Companion):
                memory, speaks = expert.hear(memory, player, others, news), way.speaks[place]
            else:
                memory = replace(memory, belief=household.hear(memory.belief, news))
        command, thought, memories[player] = expert.decide(memory)
        says = expert.says(memories[player]) if speaks and isinstance(expert, Companion) else ()
        return command or WAIT, thought, says

    for turn in range(1, MOST_ROUNDS + 1):
        order = random.Random(f"{task.id} {turn}").sample(shared.players, number)
        order = [player for player in order if not turn % way.every[PLAYERS.index(player)]]
        decided = {player: decide(player) for player in order} if way.at_once else {}
        for player in order:
            command, thought, says = decided[player] if way.at_once else decide(player)
            step = shared.step(player, command)
            accepted = step.observation.accepted
            for one in shared.players:
                said[one] += [quoted(player, text) for text in says if one != player]
            memories[player] = expert.observe(memories[player], command, step.observation)
            seen = {one.name for one in memories[player].belief.receptacles if one.contents is not None}
            if any(words in thought for words in ("look there", "see whether", "look for")):
                fresh = seen - known[player]
                played.searched += len(fresh)
                played.searched_twice += sum(any(one in known[other] for other in shared.players) for one in fresh)
            known[player] |= seen
            verb, *rest = command.split()
            if accepted and verb in ("heat", "cool", "clean"):
                played.treated += 1
                played.treated_twice += (verb, *rest[:2]) in treated
                treated.add((verb, *rest[:2]))
            played.acts += 1
            played.refused += not accepted
            played.conflicts += not accepted and verb in ("take", "grab", "move", "put")
            played.idle += command == WAIT
            played.messages += len(says)
            played.characters += sum(map(len, says))
            if step.won:
                played.rounds = turn
                return played
    return played


def _chores(data: Path | None) -> Iterator[str]:
    """Chores in one room and in four, for two experts in every way."""
    del data
    yield from _compared("alfworld", "chores", CHORES, WAYS)
    yield from _compared("alfworld", "chores-home", HOME_CHORES, WAYS)


def _single(data: Path | None) -> Iterator[str]:
    """Tasks of a single goal, which leave less to divide."""
    del data
    for name, split in WORLDS.items():
        yield from _compared(name, split, TASKS, WAYS[:3])


def _livelock(data: Path | None) -> Iterator[str]:
    """Chores that two never finish, of a thousand each in turns and at once."""
    del data
    world = make_world("alfworld")
    for way in (FREE, next(one for one in WAYS if one.at_once and one.speaks[0])):
        played = [played_by(world, world.task(f"chores:{FIRST + number}"), 2, way).rounds for number in range(LIVELOCK)]
        yield f"chores, two experts {way.name}: {sum(one == MOST_ROUNDS for one in played)} of {LIVELOCK:,} not won"


def _compared(name: str, split: str, number: int, ways: Sequence[Way]) -> Iterator[str]:
    world = make_world(name)
    tasks = [world.task(f"{split}:{FIRST + one}") for one in range(number)]
    alone = [played_by(world, task, 1) for task in tasks]
    rounds = [one.rounds for one in alone]
    yield f"{name} {split}: {number} tasks, {mean(rounds):.1f} rounds alone, not won {rounds.count(MOST_ROUNDS)}"
    if (gain := _par_gain(world, tasks)) is not None:
        yield f"  par allows a gain of {gain:.2f}"
    for way in ways:
        played = [played_by(world, task, 2, way) for task in tasks]
        shared = [one.rounds for one in played]
        low, high = _interval(rounds, shared)
        slower = sum(two > one for one, two in zip(rounds, shared, strict=True))
        yield (
            f"  two experts {way.name}: gain {sum(rounds) / sum(shared):.2f} [{low:.2f}, {high:.2f}], "
            f"slower than alone {slower}, not won {shared.count(MOST_ROUNDS)}"
        )
        each = {one.name: sum(getattr(game, one.name) for game in played) for one in fields(Played)}
        shares = {"conflicts": "acts", "refused": "acts", "idle": "acts", "searched_twice": "searched"}
        told = (f"{part.replace('_', ' ')} {100 * each[part] / max(1, each[whole]):.2f} %" for part, whole in shares.items())
        yield (
            f"    {', '.join(told)}, treated twice {each['treated_twice']} of {each['treated']}, "
            f"{each['messages'] / number:.1f} messages of {each['characters'] / number:.0f} characters in a game"
        )


def _par_gain(world: World, tasks: Sequence[Task]) -> float | None:
    """The gain that par allows; None if par for two is unknown."""
    if not isinstance(world, Shareable):
        return None
    one, two = ([world.par(task, players) for task in tasks] for players in (1, 2))
    known = [(a, b) for a, b in zip(one, two, strict=True) if a is not None and b]
    return sum(a for a, _ in known) / sum(b for _, b in known) if len(known) == len(tasks) else None


def _interval(alone: Sequence[int], played: Sequence[int]) -> tuple[float, float]:
    dice, pairs = random.Random(0), list(zip(alone, played, strict=True))
    drawn = (dice.choices(pairs, k=len(pairs)) for _ in range(_DRAWS))
    gains = sorted(sum(one for one, _ in draw) / sum(two for _, two in draw) for draw in drawn)
    return gains[round(0.025 * _DRAWS)], gains[round(0.975 * _DRAWS) - 1]


PARTS: dict[str, Callable[[Path | None], Iterator[str]]] = {
    "alone": _alone,
    "chores": _chores,
    "single": _single,
    "livelock": _livelock,
}
