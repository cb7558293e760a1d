"""Chooses what prompts show: the rules of a book that matter for a task and situation, and the examples of other tasks.

Rules are chosen within a budget of tokens for a whole episode, from the agent's own knowledge: the goal sentence, the task's
type if it is granted, and its observations. Prompts only grow: a rule that was shown stays.

Examples are chosen at random, by task type, stratified by type, or by similarity. LLM-Planner draws a hundred stratified by
task type and shows the nearest nine (sections 4.3 and 5.1); OPEx the nearest of ten of each type (section 3, "Example
Selector"); LoTa-Bench compares random, task-specific and semantic choice (section 6.1). The same task, store and seed give the
same examples.
"""

from __future__ import annotations

import math
import operator
import random
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from hashlib import sha256
from heapq import nsmallest
from itertools import zip_longest
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeVar

from housequest.knowledge.rules import Rule
from housequest.worlds.household.base import Household
from housequest.worlds.household.belief import Belief, kind
from housequest.worlds.household.goals import Topic

if TYPE_CHECKING:
    from housequest.knowledge.rulebook import Rulebook

BYTES_PER_TOKEN = 4
"""Bytes of UTF-8 counted as one token: a rough estimate for English in any model's vocabulary."""
RESERVED = 0.25
"""The largest share of the budget that is reserved for rules about things not seen yet."""
_DASH = len("- \n")
_WORDS = 3
"""Words of a goal that may name one kind of thing, as in "desk lamp"."""
_LONGEST_GOAL = 1_000


def estimated_tokens(statement: str) -> int:
    """Estimate the tokens of a rule on its own line: a quarter of its bytes, rounded up."""
    return -(-(len(statement.encode("utf-8", "replace")) + _DASH) // BYTES_PER_TOKEN)


def topic_of(goal: str, granted: str | None = None, belief: Belief | None = None, household: Household | None = None) -> Topic:
    """The topic of ``goal``, with the ``granted`` type if any, as ``household`` reads it or guesses it from the house in
    ``belief``."""
    kinds = None if belief is None else sorted({one.kind for one in belief.receptacles})
    read = (household.topic(goal, kinds) if household else None) or Topic()
    return replace(read, type=granted or read.type, kinds=named_kinds(goal) | read.kinds)


@dataclass(frozen=True, slots=True)
class RuleBudget:
    """The ``rules`` that an agent may be shown, in book order, in a ``budget`` of tokens for an episode (None: show all).

    A run's record keeps it. ``file`` names the book and ``sha256`` is of what these rules tell; rules without an id come from
    no book and are always shown. ``part`` says which of the book's rules if not all accepted ones, and ``learned_from`` the
    splits and ranges that they were learned from, as far as the book says.
    """

    rules: tuple[Rule, ...]
    budget: int | None = None
    file: str = ""
    sha256: str = ""
    part: str = ""
    learned_from: tuple[str, ...] = field(default=(), metadata={"exclude_if": operator.not_})

    @classmethod
    def of_statements(cls, statements: Iterable[str]) -> RuleBudget | None:
        """Rules from no book, all of which are shown; None if there are none."""
        rules = tuple(Rule("", statement) for statement in statements)
        return cls(rules) if rules else None

    @classmethod
    def of_book(cls, book: Rulebook, rules: Iterable[Rule], budget: int | None = None, part: str = "") -> RuleBudget:
        """The given ``rules`` of ``book``."""
        rules = tuple(rules)
        learned = {split for rule in rules for split in rule.origin.over(rule.evidence.witnesses)}
        # Neither a comment nor what was measured in between makes it another run.
        digest = sha256(repr([(rule.id, *rule.told) for rule in rules]).encode("utf-8", "backslashreplace"))
        return cls(rules, budget, book.path.name, digest.hexdigest(), part, tuple(sorted(learned)))

    @property
    def label(self) -> str | None:
        """A short name of the book for an episode's record."""
        return f"{self.file}@{self.sha256[:12]} {self.part}".rstrip() if self.file else None

    @property
    def cost(self) -> int:
        return sum(estimated_tokens(rule.statement) for rule in self.rules)

    def possible(self, topic: Topic) -> tuple[Rule, ...]:
        """The rules that may be shown at some time of an episode about ``topic``; the others change nothing in it."""
        return tuple(
            rule
            for rule in self.rules
            if not rule.id or (_of_type(rule, topic) and (rule.kind != "location" or _of_things(rule, topic)))
        )

    def select(self, topic: Topic, belief: Belief | None = None, shown: Sequence[Rule] = ()) -> tuple[Rule, ...]:
        """The rules to show now in an episode about ``topic``, in book order, given those already ``shown``.

        Rules about the task's type or things come first, then rules about all tasks, and about a type if that is unknown. A
        rule about other things waits until one of them is held or nearby; part of the budget is reserved for this. Location
        rules are shown only for things that the task names.
        """
        rules, limit = self.possible(topic), self.cost if self.budget is None else self.budget
        ranked = sorted((rank, place) for place, rule in enumerate(rules) if (rank := _rank(rule, topic)) is not None)
        # Things that the task does not name may come up later.
        waiting = [place for place, rule in enumerate(rules) if rule.id and not _of_things(rule, topic)]
        reserved = min(int(limit * RESERVED), sum(estimated_tokens(rules[place].statement) for place in waiting))
        near = _at_hand(belief) if belief is not None else frozenset[str]()
        come_up = (place for place in waiting if not near.isdisjoint(_kinds(rules[place])))
        seen = {rule.statement for rule in shown}
        left = limit - sum(map(estimated_tokens, seen))
        chosen: list[int] = []
        for place, least in (*((place, reserved) for _, place in ranked), *((place, 0) for place in come_up)):
            rule = rules[place]
            cost = estimated_tokens(rule.statement)
            fits = left - cost >= least or self.budget is None or not rule.id
            if fits and rule.statement not in seen:
                chosen.append(place)
                seen.add(rule.statement)
                left -= cost
        return tuple(rules[place] for place in sorted(chosen))


def _rank(rule: Rule, topic: Topic) -> int | None:
    """The rank of a rule at the start of an episode, lowest first; None: not yet, or never."""
    if not rule.id:
        return -1
    if not _of_type(rule, topic) or not _of_things(rule, topic):
        return None
    if rule.types and topic.type is None:
        return 2
    return 0 if rule.types or rule.objects else 1


def _of_type(rule: Rule, topic: Topic) -> bool:
    """True if a rule may apply to this task type; rules name types in full or by one word, such as ``heat``."""
    if not rule.types or topic.type is None:
        return True
    return not {topic.type, *topic.type.split("_")}.isdisjoint(rule.types)


def _of_things(rule: Rule, topic: Topic) -> bool:
    """True if a rule is about a thing that the task names, or about no thing in particular."""
    return not rule.objects or not (topic.kinds | topic.needed).isdisjoint(_kinds(rule))


def _kinds(rule: Rule) -> frozenset[str]:
    return frozenset("".join(name.split()).lower() for name in rule.objects)


def _at_hand(belief: Belief) -> frozenset[str]:
    here = belief.here()
    inside = (name for one in here if one.openness != "closed" for name in belief.inside(one))
    names = (*belief.carried, *(one.name for one in here), *belief.beside, *inside)
    return frozenset(kind(name).lower() for name in names)


def named_kinds(goal: str) -> frozenset[str]:
    """All words and phrases of a goal that may name a kind of thing, with and without a plural ending."""
    words = re.findall(r"[a-z]+", goal[:_LONGEST_GOAL].lower())
    runs = {"".join(words[at : at + size]) for at in range(len(words)) for size in range(1, _WORDS + 1)}
    return frozenset(form for run in runs for form in (run, run.removesuffix("s"), run.removesuffix("es")))


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


class Bm25(NamedTuple):
    """Okapi BM25 over short texts; it needs no model."""

    size: int
    weights: Mapping[str, Sequence[tuple[int, float]]]
    """For each word, the positions of the texts that have it and its weight in each."""

    @classmethod
    def over(cls, texts: Iterable[str]) -> Bm25:
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
