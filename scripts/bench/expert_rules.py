"""The expert with mined location rules, in uniform random order and in order of name: steps and success.

It plays valid_seen, made-up houses, and those of another household (``examples/habits.yaml``), of which the tasks about things
that lie elsewhere there are also reported separately. Rules are mined from ``train``, by the table that ships, and from other
houses of that household, played in random order. Places are sorted by their share in the rule divided by the number of such
places in the house; rules never send the expert to where the task puts the thing. Everything else is in random order, drawn
for each task and each of ``SEEDS``. A lost game counts ``LIMIT`` steps.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import mean
from typing import cast

from housequest.agent.evaluation.analysis.statistics import bootstrap_mean
from housequest.knowledge.judging import Moment
from housequest.knowledge.mining import mine, mine_table
from housequest.knowledge.rules import Rule
from housequest.knowledge.sentences import read_sentence
from housequest.worlds.alfworld.engine.game import Game, load_game
from housequest.worlds.alfworld.engine.native import NativeEnv
from housequest.worlds.alfworld.expert import HouseholdExpert, HouseholdExpertMemory, make_expert
from housequest.worlds.alfworld.games import GAME_FILE, LAYOUT
from housequest.worlds.alfworld.houses.house import make_house, read_habits
from housequest.worlds.alfworld.text import HOUSEHOLD, load_counts, read_goal
from housequest.worlds.base import Task, Transition
from housequest.worlds.household.counts import SearchPrior
from housequest.worlds.validation import read_yaml
from scripts.walks import Trajectory, moments_of

HABITS = Path(__file__).parents[2] / "examples" / "habits.yaml"
HOUSES = 500
MINED_FROM = 100_000
"""The seed of the first house that rules are mined from; those that are played have smaller ones."""
SEEDS = (0, 1, 2)
LIMIT = 50

Shares = Mapping[str, Mapping[str, float]]
"""By thing and place."""


@dataclass(frozen=True, slots=True)
class _Case:
    """A game with its goal sentence, and the kind of thing that it is about."""

    name: str
    sentence: str
    game: Game
    thing: str


@dataclass(frozen=True, slots=True)
class _Arm:
    """A way of searching: the expert's own ``order``, or by ``shares`` and otherwise at random."""

    label: str
    order: SearchPrior = "name"
    shares: Shares | None = None

    @property
    def seeds(self) -> tuple[int, ...]:
        return SEEDS if self.shares is not None else SEEDS[:1]


RANDOM = _Arm("uniform random order", shares={})


@dataclass(frozen=True, slots=True)
class _Played:
    """The results of a case over all seeds."""

    won: float
    steps: float


def run(data: Path | None) -> list[str]:
    """The table of each set of games, with the paired differences from random order. Lines to print."""
    train = _shares(mine_table(load_counts()).rules("train"))
    others = _shares(
        mine(_lived(_houses(range(MINED_FROM, MINED_FROM + HOUSES), HABITS)), HOUSEHOLD.commands).rules("the other household")
    )
    by_name, by_train = _Arm("order of name"), _Arm("rules mined from train", shares=train)
    usual = (by_name, by_train, _Arm("the whole table of train", "counts"))
    lines = [f"rules: {len(train)} from train, {len(others)} from {HOUSES} houses of the other household"]
    if data is not None:
        lines += _table("valid_seen", list(_published(data, "valid_seen")), usual)
    lines += _table("made-up houses", list(_houses(range(HOUSES))), usual)
    cases = list(_houses(range(HOUSES), HABITS))
    arms = (*usual, _Arm("rules mined from other such houses", shares=others))
    lines += _table("the other household", cases, arms, about=frozenset(map(str, cast("dict[object, object]", _habits()))))
    return lines


def _habits() -> object:
    return read_yaml(HABITS, HABITS.name, 100_000)


def _table(title: str, cases: Sequence[_Case], arms: Iterable[_Arm], about: frozenset[str] = frozenset()) -> Iterator[str]:
    """A row for each arm, compared with random order; again for the tasks about the named things, if any."""
    yield f"{f'{title}, {len(cases)} tasks':<38}{'success':>9}{'steps':>8}{'minus random':>14}{'95 % interval':>17}"
    chance = [_over_seeds(RANDOM, case) for case in cases]
    for arm in (RANDOM, *arms):
        played = chance if arm is RANDOM else [_over_seeds(arm, case) for case in cases]
        yield _row(arm.label, played, chance)
        of_these = [place for place, case in enumerate(cases) if case.thing in about]
        if of_these:
            label = f"  {len(of_these)} about {', '.join(sorted(about))}"
            yield _row(label, [played[place] for place in of_these], [chance[place] for place in of_these])


def _row(label: str, played: Sequence[_Played], chance: Sequence[_Played]) -> str:
    less = [one.steps - other.steps for one, other in zip(played, chance, strict=True)]
    ends = bootstrap_mean(less)
    differs = f"{mean(less):>+14.2f}{f'{ends.low:+.2f} to {ends.high:+.2f}':>17}" if played is not chance and any(less) else ""
    return f"{label:<38}{100 * mean(one.won for one in played):>7.1f} %{mean(one.steps for one in played):>8.2f}{differs}"


def _over_seeds(arm: _Arm, case: _Case) -> _Played:
    expert = make_expert(arm.order)
    games = [_play(expert, arm, case, seed) for seed in arm.seeds]
    return _Played(mean(won for won, _ in games), mean(len(game.transitions) if won else LIMIT for won, game in games))


def _play(expert: HouseholdExpert, arm: _Arm, case: _Case, seed: int) -> tuple[bool, Trajectory]:
    """Whether the game was won, and what was done in it."""
    env = NativeEnv(Task(case.name, "alfworld", "", 0, case.game.goal.form, case.sentence), case.game)
    step = env.reset()
    memory, opening = expert.begin(case.sentence, step.observation), step.observation
    if arm.shares is not None:
        memory = replace(memory, first=_order(memory, arm.shares, random.Random(f"{case.name} {seed}")))
    done: list[Transition] = []
    while not step.won and len(done) < LIMIT:
        command, _, memory = expert.decide(memory)
        if command is None:
            break
        step = env.step(command)
        memory = expert.observe(memory, command, step.observation)
        done.append(Transition(command, step.observation))
    return step.won, Trajectory(case.sentence, opening, tuple(done))


def _order(memory: HouseholdExpertMemory, shares: Shares, chance: random.Random) -> tuple[str, ...]:
    """The receptacles of a house, by name: those with the largest shares of what is sought first, others at random."""
    goal, standing = memory.goal, list(memory.belief.receptacles)
    assert goal is not None, "the template's sentences are all read"
    number = Counter(one.kind for one in standing)
    sought = [goal.object, *([goal.lamp] if goal.lamp else [])]
    likely = {kind: sum(shares.get(thing, {}).get(kind, 0) for thing in sought) / number[kind] for kind in number}
    if goal.receptacle and not goal.treatment:
        likely[goal.receptacle] = 0
    chance.shuffle(standing)
    return tuple(one.name for one in sorted(standing, key=lambda one: -likely[one.kind]))


def _shares(rules: Iterable[Rule]) -> Shares:
    """The shares in location rules, read from their statements."""
    locations = [read_sentence(rule.statement) for rule in rules if rule.kind == "location"]
    assert all(locations), "a location rule names places with their shares"
    return {each.thing: {place.receptacle: place.share for place in each.places} for each in locations if each}


def _lived(cases: Iterable[_Case]) -> Iterator[Moment]:
    """What is seen when the expert plays ``cases`` in random order."""
    expert = make_expert("name")
    for case in cases:
        yield from moments_of(_play(expert, RANDOM, case, 0)[1], HOUSEHOLD, case.name)


def _houses(seeds: Iterable[int], habits: Path | None = None) -> Iterator[_Case]:
    own = read_habits(habits) if habits else None
    for seed in seeds:
        house = make_house(seed, own)
        yield _Case(f"generated/{seed}", house.sentence, house.game, house.goal.object)


def _published(data: Path, split: str) -> Iterator[_Case]:
    for path in sorted((data / LAYOUT / split).glob(f"*/*/{GAME_FILE}")):
        game = load_game(path)
        goal = read_goal(game.sentence)
        yield _Case(path.parent.parent.name, game.sentence, game, goal.object if goal else "")
