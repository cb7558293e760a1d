"""Trains the network that distils groups (`housequest.agent.explorer.groups`), on made-up homes whose habits are known.

Nobody plays there: on each day some places are looked into, in one home the same ones most of the time, in another those that
were looked into least. What was counted after some days is an example for each thing in each place where it was seen; the
answer is the share of it that is kept there. So a minute is enough, and no PyTorch is needed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import NamedTuple

import numpy as np

from housequest.agent.explorer import groups
from housequest.agent.networks import Floats
from housequest.knowledge.choosing import estimated_tokens
from housequest.knowledge.mining import Mined, home_location
from housequest.knowledge.rules import Origin
from housequest.worlds.alfworld.houses.home import Home
from housequest.worlds.alfworld.text import load_counts

FIRST_HOME = 300_000
"""The seed of the first home to learn from; the next ones follow."""
MOST_HOMES, MEASURED = 1_000, 10
"""The most homes to learn from, and how many of those after them are for measuring."""
EVENINGS = (1, 2, 3, 5, 7, 10, 14, 20, 28, 40)
WIDTH, BATCH, RATE = 16, 256, 4e-3
_HABIT, _OFTEN = 0.09, 0.2
"""The least weight of a place that is right to be named, and of one that is to be found."""


@dataclass(frozen=True, slots=True)
class TrainedDistiller:
    """A training that is over: its examples, the mean loss on them, its seconds, and what books `Found` in other homes."""

    examples: int
    loss: float
    seconds: float
    found: Mapping[str, Sequence[Found]]


def trained(homes: int, epochs: int, seed: int, file: Path) -> TrainedDistiller:
    """Train on so many homes, write the ``file``, and measure it in homes that it has not seen."""
    began = monotonic()
    signs, shares = examples(homes, seed)
    groups.FORMAT.write(file, groups.GroupShape(WIDTH), groups.SIGNS, fitted(signs, shares, epochs, seed))
    seconds, weights = monotonic() - began, groups.read_distiller(file)
    likely = groups.expected(weights, signs).clip(1e-6, 1 - 1e-6)
    loss = -np.mean(shares * np.log(likely) + (1 - shares) * np.log(1 - likely))
    others = range(FIRST_HOME + MOST_HOMES, FIRST_HOME + MOST_HOMES + MEASURED)
    return TrainedDistiller(len(signs), float(loss), seconds, measured(weights, others, seed))


class Evening(NamedTuple):
    """The counts of a home until an evening."""

    home: Home
    day: int
    seen: Mined


class Found(NamedTuple):
    """The habits that books of one kind name on one evening, over homes: the share of named places that are right, the share of
    the places to find that are named, and the tokens of a book."""

    day: int
    precision: float
    recall: float
    tokens: float


class _Named(NamedTuple):
    """The places that a book names, how many are right, how many of those to find it has, and its tokens."""

    named: int
    right: int
    found: int
    often: int
    tokens: int


def evenings(home: Home, seed: int) -> Iterator[Evening]:
    """Look around in a ``home`` day by day, and yield what was counted on `EVENINGS`."""
    random, names = np.random.default_rng((seed, home.seed)), tuple(home.room_of)
    liked, fresh, many = np.exp(random.normal(size=len(names))), random.choice((0, 0, 1, 2, 3)), random.uniform(2, 20)
    looked, days, things = Counter[str](), Counter[tuple[str, str]](), Counter[tuple[str, str]]()
    for day in range(1, EVENINGS[-1] + 1):
        weights = liked / (1 + np.array([looked[name] for name in names])) ** fresh
        chosen = random.choice(len(names), min(len(names), 1 + random.poisson(many)), replace=False, p=weights / weights.sum())
        today = [names[int(at)] for at in chosen.tolist()]
        lying = Counter(one for one in home.drawn(f"seen {seed} {day}") if one[1] in today)
        looked.update(today)
        days.update(lying.keys())
        things.update(lying)
        if day in EVENINGS:
            at: dict[str, dict[str, list[str | None]]] = {}
            for (thing, place), number in things.items():
                at.setdefault(thing, {})[place] = [None] * number
            told = tuple(home_location(thing, days, looked, steps) for thing, steps in sorted(at.items()))
            known = {name: looked[name] for name in names if looked[name]}
            yield Evening(home, day, Mined(told, scope="household", looked=known))


def examples(homes: int, seed: int) -> tuple[Floats, Floats]:
    """The signs of what was seen in so many homes, and the shares that are right."""
    train = groups.shares_in_train(load_counts())
    signs, shares = list[Floats](), list[float]()
    for number in range(homes):
        for _, _, seen in evenings(home := Home(FIRST_HOME + number), seed):
            signs.append(groups.signs_of(seen, train))
            shares += [home.habits[one.thing].get(at.receptacle, 0.0) for one in seen.locations for at in one.places]
    return np.concatenate(signs), np.array(shares, np.float32)


@dataclass
class _Adam:
    """Adam, with a rate that falls to 0 (Kingma and Ba, 2015)."""

    weights: dict[str, Floats]
    steps: int
    step: int = 0

    def __post_init__(self) -> None:
        self._mean, self._square = ({name: np.zeros_like(one) for name, one in self.weights.items()} for _ in range(2))

    def learn(self, slopes: Mapping[str, Floats]) -> None:
        self.step += 1
        for name, slope in slopes.items():
            mean = self._mean[name] = 0.9 * self._mean[name] + 0.1 * slope
            square = self._square[name] = 0.99 * self._square[name] + 0.01 * slope * slope
            mean, square = mean / (1 - 0.9**self.step), square / (1 - 0.99**self.step)
            self.weights[name] -= RATE * (1 - self.step / self.steps) * mean / (np.sqrt(square) + 1e-8)


def fitted(signs: Floats, shares: Floats, epochs: int, seed: int) -> Mapping[str, Floats]:
    """Train a network to expect the ``shares`` (logistic loss)."""
    random = np.random.default_rng(seed)
    scale: dict[str, Floats] = {"middle": signs.mean(0), "spread": signs.std(0) + np.float32(1e-3)}
    sizes = {"first": (WIDTH, signs.shape[1]), "second": (WIDTH, WIDTH), "last": (1, WIDTH)}
    drawn = {name: random.normal(size=size) * np.sqrt(2 / size[1]) for name, size in sizes.items()}
    learned: dict[str, Floats] = {name: one.astype(np.float32) for name, one in drawn.items()}
    learned |= {f"{name}_bias": np.zeros(size[0], np.float32) for name, size in sizes.items()}
    batches = max(1, len(signs) // BATCH)
    adam = _Adam(learned, epochs * batches)
    x = (signs - scale["middle"]) / scale["spread"]
    for _ in range(epochs):
        for chosen in np.array_split(random.permutation(len(signs)), batches):
            adam.learn(_slopes(learned, x[chosen], shares[chosen]))
    return learned | scale


def _slopes(weights: Mapping[str, Floats], x: Floats, shares: Floats) -> dict[str, Floats]:
    """The slopes of the loss by back-propagation."""
    first = np.maximum(x @ weights["first"].T + weights["first_bias"], 0)
    second = np.maximum(first @ weights["second"].T + weights["second_bias"], 0)
    score = second @ weights["last"].T + weights["last_bias"]
    back = (1 / (1 + np.exp(-score)) - shares[:, None]) / len(x)
    slopes: dict[str, Floats] = {"last": back.T @ second, "last_bias": back.sum(0)}
    back = (back @ weights["last"]) * (second > 0)
    slopes |= {"second": back.T @ first, "second_bias": back.sum(0)}
    back = (back @ weights["second"]) * (first > 0)
    slopes |= {"first": back.T @ x, "first_bias": back.sum(0)}
    return slopes


def measured(weights: Mapping[str, Floats], homes: Sequence[int], seed: int) -> dict[str, list[Found]]:
    """The books of groups, and those of counting with the habits that its cut finds, in ``homes`` by seed."""
    distiller, books = groups.GroupDistiller(weights, load_counts()), dict[tuple[str, int], list[_Named]]()
    for number in homes:
        for home, day, seen in evenings(Home(number), seed):
            gold = {(thing, place): weight for thing, places in home.habits.items() for place, weight in places.items()}
            often = {pair for pair, weight in gold.items() if weight >= _OFTEN}
            kept = {(thing, group.place) for group in distiller.groups(seen) for thing in group.shares}
            cut = {(one.thing, place.receptacle) for one in seen.habits.locations for place in one.places}
            for way, pairs, rules in (("groups", kept, distiller.rules(seen, Origin())), ("counts", cut, seen.rules(""))):
                right = sum(gold.get(pair, 0.0) >= _HABIT for pair in pairs)
                tokens = sum(estimated_tokens(rule.statement) for rule in rules)
                book = _Named(len(pairs), right, len(often & pairs), len(often), tokens)
                books.setdefault((way, day), []).append(book)
    found: dict[str, list[Found]] = {}
    for (way, day), each in books.items():
        named, right, hit, often_all, tokens = (sum(column) for column in zip(*each, strict=True))
        found.setdefault(way, []).append(Found(day, right / max(1, named), hit / max(1, often_all), tokens / len(each)))
    return found
