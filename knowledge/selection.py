"""Selects examples for a task: at random, by task type, stratified by type, or by similarity.

LLM-Planner draws a hundred stratified by task type and shows the nearest nine (sections 4.3 and 5.1); OPEx the nearest of ten
of each type (section 3, "Example Selector"); LoTa-Bench compares random, task-specific and semantic choice (section 6.1). The
same task, store and seed always give the same examples.
"""

from __future__ import annotations

import math
import random
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from heapq import nsmallest
from itertools import zip_longest
from typing import Protocol, TypeVar


class Choosable(Protocol):
    """Anything with a goal sentence and a task type."""

    @property
    def goal(self) -> str: ...

    @property
    def type(self) -> str: ...


E = TypeVar("E", bound=Choosable)

Vector = Sequence[float]

_WORD = re.compile(r"[a-z0-9]+")
_SATURATION, _LENGTH = 1.5, 0.75
"""The usual constants of Okapi BM25, k1 and b (Robertson and Zaragoza, 2009)."""


def at_random(examples: Sequence[E], most: int, seed: str) -> tuple[E, ...]:
    """``most`` of ``examples``, drawn by ``seed``."""
    return tuple(random.Random(seed).sample(examples, min(most, len(examples))))


def of_type(examples: Sequence[E], task_type: str | None, most: int, seed: str) -> tuple[E, ...]:
    """``most`` examples of a task type, drawn by ``seed``; of any type if there are none of this one."""
    alike = [example for example in examples if example.type == task_type]
    return at_random(alike or examples, most, seed)


def stratified(examples: Sequence[E], most: int, seed: str) -> tuple[E, ...]:
    """``most`` examples, the same number of each task type (or one more), drawn by ``seed``."""
    by_type: dict[str, list[E]] = {}
    for example in at_random(examples, len(examples), seed):
        by_type.setdefault(example.type, []).append(example)
    in_turn = zip_longest(*(by_type[name] for name in sorted(by_type)))
    return tuple(example for each in in_turn for example in each if example is not None)[:most]


@dataclass(frozen=True, slots=True)
class Bm25:
    """Okapi BM25 over short texts; it needs no model."""

    size: int
    weights: Mapping[str, Sequence[tuple[int, float]]]
    """For each word, the positions of the texts that have it and its weight in each."""

    @classmethod
    def over(cls, texts: Iterable[str]) -> Bm25:
        """An index of ``texts``."""
        documents = [Counter(_words(text)) for text in texts]
        size = len(documents)
        average = (sum(document.total() for document in documents) / size if size else 0.0) or 1.0
        having = Counter(word for document in documents for word in document)
        rarity = {word: math.log(1 + (size - number + 0.5) / (number + 0.5)) for word, number in having.items()}
        weights: dict[str, list[tuple[int, float]]] = {word: [] for word in having}
        for place, document in enumerate(documents):
            length = _SATURATION * (1 - _LENGTH + _LENGTH * document.total() / average)
            for word, often in document.items():
                weights[word].append((place, rarity[word] * often * (_SATURATION + 1) / (often + length)))
        return cls(size, weights)

    def scores(self, query: str) -> list[float]:
        """How similar each text is to ``query``."""
        scores = [0.0] * self.size
        for word, asked in Counter(_words(query)).items():
            for place, weight in self.weights.get(word, ()):
                scores[place] += asked * weight
        return scores


def cosines(query: Vector, vectors: Iterable[Vector]) -> list[float]:
    """The cosine similarity of ``query`` to each of ``vectors``; 0 if either is zero or not finite."""

    def cosine(vector: Vector) -> float:
        sizes = math.hypot(*query) * math.hypot(*vector)
        finite = math.isfinite(sizes) and sizes
        return math.fsum(a * b for a, b in zip(query, vector, strict=True)) / sizes if finite else 0.0

    return [cosine(vector) for vector in vectors]


def best(examples: Sequence[E], scores: Sequence[float], most: int) -> tuple[E, ...]:
    """The ``most`` examples with the highest scores, best first; ties in the store's order."""
    ranked = nsmallest(most, range(len(examples)), key=lambda place: -scores[place])
    return tuple(examples[place] for place in ranked)


def nearest_examples(examples: Sequence[E], goal: str, most: int) -> tuple[E, ...]:
    """The ``most`` examples whose goals are most similar to ``goal`` by BM25, best first."""
    return best(examples, _index(tuple([example.goal for example in examples])).scores(goal), most)


@lru_cache(8)
def _index(texts: tuple[str, ...]) -> Bm25:
    """A store is asked about many goals, one in each game."""
    return Bm25.over(texts)


def _words(text: str) -> list[str]:
    return _WORD.findall(text.lower())
