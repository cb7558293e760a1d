"""Several players in one house: the same game and the time it takes, and the rounds of experts that share it.

Experts take turns, in a new random order each round, or all decide at the same time. Gain is the rounds of one divided by those
of two, as a ratio of sums with a 95 % interval by bootstrap over tasks; a lost game counts all rounds. A conflict is a refused
command to take or put something, and a place is searched twice if a player looks into it after another has. Targets stand in
brackets.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from statistics import mean
from tempfile import TemporaryDirectory
from typing import NamedTuple

from housequest.agent.config import configure
from housequest.agent.evaluation.runs.batch import RunOptions, run_batch
from housequest.agent.evaluation.runs.folder import Result, RunFolder
from housequest.agent.evaluation.runs.spec import make_run_spec
from housequest.worlds.base import Env, Task, World
from housequest.worlds.env import expert_of, shared_house
from housequest.worlds.household.talk import quoted
from housequest.worlds.registry import make_world
from housequest.worlds.shared import WAIT, Companion, Seat, Shareable
from scripts.bench import requests
from tests.backends.policy import companion
from tests.backends.server import Messages, serve

PLAYERS = ("Ann", "Bob", "Cleo", "Dan")
WORLDS = {"alfworld": "generated", "household-graph": "generated"}
STEPS = 20_000
FIRST = 200_000
TASKS, CHORES, LIVELOCK, ENDPOINT = 120, 200, 1_000, 40
MOST_ROUNDS = 200
_DRAWS = 2_000


def run(data: Path | None) -> Iterator[str]:
    """The figures, each a line."""
    for part in PARTS.values():
        yield from part(data)


def _alone(data: Path | None) -> Iterator[str]:
    """One player through a seat, against the usual env."""
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
        yield (
            f"{name}: {steps:,} steps through a seat, {differences} differences (wanted: 0), "
            f"{spent[1] / spent[0]:.2f} times as long (at most 1.20)"
        )


class Way(NamedTuple):
    """A way to play together: who hears the others, who speaks, in every how many rounds each acts; do all decide at once?"""

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


class Target(NamedTuple):
    """The least gain that experts should reach, and in percent the most tasks in which two are slower than one, and the most
    of other measures by name."""

    gain: float
    slower: float | None = None
    most: Mapping[str, float] = {}


_MOST = {"conflicts": 0.3, "refused": 1.5, "searched_twice": 5.0}
TARGETS: Mapping[tuple[str, str], Target] = {
    ("chores", "silent"): Target(1.55, 4.0, _MOST),
    ("chores", "who talk"): Target(1.6, 0.0, {**_MOST, "treated_twice": 0.0}),
    ("chores", "silent, at once"): Target(0.0, None, {"conflicts": 1.0}),
    ("chores", "who talk, at once"): Target(0.0, None, {"conflicts": 1.0}),
    ("chores", "beside an ignorant one"): Target(1.3),
    ("chores", "beside one that only listens"): Target(1.5),
    ("chores", "beside one at half speed"): Target(1.2),
    ("chores-home", "who talk"): Target(1.65, None, {**_MOST, "treated_twice": 0.0}),
    ("apartments", "silent"): Target(1.3, None, _MOST),
    ("apartments", "who talk"): Target(1.5, None, _MOST),
}
"""The targets of experts, by tasks and way."""


@dataclass(slots=True)
class Played:
    """The ``rounds`` until it was won, at most `MOST_ROUNDS`, and counts: commands, refused ones, those because somebody was
    quicker, waits, searched places, those searched after another player had told, treatments, those of a treated thing, and
    messages with their characters."""

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
            belief = memories[player].belief
            seen = {one.name for one in belief.receptacles if one.contents is not None and one.name not in belief.rooms}
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


def _room(data: Path | None) -> Iterator[str]:
    """Chores in one room, for two experts in every way."""
    del data
    yield from _compared("alfworld", "chores", CHORES, WAYS)


def _rooms(data: Path | None) -> Iterator[str]:
    """Chores in four rooms, where players see one another only within a room."""
    del data
    yield from _compared("alfworld", "chores-home", TASKS, WAYS[:5])


def _apartments(data: Path | None) -> Iterator[str]:
    """Tasks of household graphs, of several things for one place."""
    del data
    yield from _compared("household-graph", "generated", TASKS, WAYS[:5], "apartments")


def _single(data: Path | None) -> Iterator[str]:
    """Tasks of a single goal, which leave less to divide."""
    del data
    yield from _compared("alfworld", "generated", TASKS, WAYS[:3])


def _livelock(data: Path | None) -> Iterator[str]:
    """Tasks that two never finish, of a thousand each in turns and at once."""
    del data
    for name, split in (("alfworld", "chores"), ("household-graph", "generated")):
        world = make_world(name)
        for way in (FREE, next(one for one in WAYS if one.at_once and one.speaks[0])):
            played = [played_by(world, world.task(f"{split}:{FIRST + number}"), 2, way).rounds for number in range(LIVELOCK)]
            lost = sum(one == MOST_ROUNDS for one in played)
            yield f"{name} {split}, two experts {way.name}: {lost} of {LIVELOCK:,} not won (wanted: 0)"


def _endpoint(data: Path | None) -> Iterator[str]:
    """`react` alone and as two, with a policy behind an endpoint, which reads its prompts and plays like the expert."""
    del data
    with serve() as server:

        def follow(messages: Messages) -> str:
            server.requests.clear()  # those of many games would fill the memory
            return companion(messages)

        server.policy, named = follow, f"react={server.model()}"
        ways: dict[str, dict[str, object]] = {
            "alone": {"agent": "react", "model": server.model(), "set": {"form": "free"}},
            "by twos": {"players": [f"{named}*2"], "agents": {"react": {"form": "free"}}},
            "by twos, silent": {"players": [f"{named}*2"], "agents": {"react": {"form": "free"}}, "talk": "off"},
        }
        yield from _evaluated("react", ways)


def _builtin(data: Path | None) -> Iterator[str]:
    """The model that ships alone, as two, and beside an expert."""
    del data
    ways: dict[str, dict[str, object]] = {
        "alone": {"agent": "reasoner-actor"},
        "by twos": {"players": ["reasoner-actor*2"]},
        "by twos, silent": {"players": ["reasoner-actor*2"], "talk": "off"},
        "beside an expert": {"players": ["expert", "reasoner-actor"]},
    }
    yield from _evaluated("builtin", ways)


def _evaluated(name: str, ways: Mapping[str, Mapping[str, object]]) -> Iterator[str]:
    """Play the chores in each way; the first one is alone."""
    split = {"split": f"chores:{FIRST}..{FIRST + ENDPOINT - 1}", "max_steps": MOST_ROUNDS}
    first = list[Result]()
    for way, settings in ways.items():
        with TemporaryDirectory() as folder:
            asyncio.run(run_batch(make_run_spec(configure({**split, **settings})), Path(folder), RunOptions(concurrency=8)))
            run = RunFolder(Path(folder))
            games = run.results(run.manifest().tasks)
        calls, read, written = (
            mean(getattr(one, each) or 0 for one in games) for each in ("calls", "prompt_tokens", "completion_tokens")
        )
        rounds = [one.turns for one in games]
        gain = f", gain {sum(one.turns for one in first) / sum(rounds):.2f}" if first else ""
        more = f" ({(read + written) / mean(one.tokens or 1 for one in first):.2f} times)" if first else ""
        first = first or games
        yield (
            f"{name} {way}: {mean(rounds):.1f} rounds{gain}, {calls:.1f} calls, {read:,.0f} tokens read and {written:,.0f} "
            f"written a chore{more}, not won {sum(not one.won for one in games)} of {len(games)}"
        )


def _compared(name: str, split: str, number: int, ways: Sequence[Way], called: str = "") -> Iterator[str]:
    world = make_world(name)
    tasks = [world.task(f"{split}:{FIRST + one}") for one in range(number)]
    alone = [played_by(world, task, 1) for task in tasks]
    rounds = [one.rounds for one in alone]
    yield f"{name} {split}: {number} tasks, {mean(rounds):.1f} rounds alone, not won {rounds.count(MOST_ROUNDS)}"
    if (gain := _par_gain(world, tasks)) is not None:
        yield f"  par allows a gain of {gain:.2f}"
    for way in ways:
        target = TARGETS.get((called or split, way.name), Target(0.0))
        played = [played_by(world, task, 2, way) for task in tasks]
        shared = [one.rounds for one in played]
        low, high = _interval(rounds, shared)
        slower = sum(two > one for one, two in zip(rounds, shared, strict=True))
        least = f" (at least {target.gain})" if target.gain else ""
        yield (
            f"  two experts {way.name}: gain {sum(rounds) / sum(shared):.2f} [{low:.2f}, {high:.2f}]{least}, "
            f"slower than alone {100 * slower / number:.1f} %{_at_most(target.slower)}, not won {shared.count(MOST_ROUNDS)}"
        )
        each = {one.name: sum(getattr(game, one.name) for game in played) for one in fields(Played)}
        told = (
            f"{part.replace('_', ' ')} {100 * each[part] / max(1, each[whole]):.2f} %{_at_most(target.most.get(part))}"
            for part, whole in SHARES.items()
        )
        yield f"    {', '.join(told)}"
        yield f"    {each['messages'] / number:.1f} messages of {each['characters'] / number:.0f} characters in a game"


SHARES = {"conflicts": "acts", "refused": "acts", "idle": "acts", "searched_twice": "searched", "treated_twice": "treated"}


def _at_most(percent: float | None) -> str:
    return "" if percent is None else f" (at most {percent:g} %)" if percent else " (wanted: none)"


def _par_gain(world: World, tasks: Sequence[Task]) -> float | None:
    """The gain that par allows; None if par for two is unknown."""
    if not isinstance(world, Shareable):
        return None
    two = [world.par(task, 2) for task in tasks]
    one = [world.par(task, 1) for task in tasks] if all(two) else []  # takes long where par for two is not known
    known = [(a, b) for a, b in zip(one, two, strict=False) if a is not None and b]
    return sum(a for a, _ in known) / sum(b for _, b in known) if len(known) == len(tasks) else None


def _interval(alone: Sequence[int], played: Sequence[int]) -> tuple[float, float]:
    dice, pairs = random.Random(0), list(zip(alone, played, strict=True))
    drawn = (dice.choices(pairs, k=len(pairs)) for _ in range(_DRAWS))
    gains = sorted(sum(one for one, _ in draw) / sum(two for _, two in draw) for draw in drawn)
    return gains[round(0.025 * _DRAWS)], gains[round(0.975 * _DRAWS) - 1]


PARTS: dict[str, Callable[[Path | None], Iterator[str]]] = {
    "alone": _alone,
    "room": _room,
    "rooms": _rooms,
    "apartments": _apartments,
    "single": _single,
    "livelock": _livelock,
    "endpoint": _endpoint,
    "builtin": _builtin,
    "requests": requests.run,
}
