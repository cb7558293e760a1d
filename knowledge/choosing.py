"""Which rules of a book an agent is told: those that matter for its task and for the moment, within a budget of tokens.

All of it follows from what the agent was told itself: the goal sentence, the task's type where that is granted, and what it has
observed. What was told stays told, for prompts are only appended to; so the budget is that of a whole episode.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from knowledge.rules import Rule
from worlds.alfworld.data.counts import load_counts
from worlds.alfworld.text.goals import guess_goal, read_goal
from worlds.household.belief import Belief, kind
from worlds.household.goals import APPLIANCES, Goal

BYTES = 4
"""Bytes of UTF-8 that are taken for a token: near enough for English in any model's vocabulary."""

KEPT = 0.25
"""The share of the budget that is kept at most for rules about what is yet to come up."""

_DASH = len("- \n")
_WORDS = 3
"""Words of a goal that may be one kind of thing, as in "desk lamp"."""
_LONGEST_GOAL = 1_000


def tokens(statement: str) -> int:
    """About how many tokens a rule costs where it is told, on a line of its own: a quarter of its bytes, rounded up."""
    return -(-(len(statement.encode("utf-8", "replace")) + _DASH) // BYTES)


@dataclass(frozen=True, slots=True)
class Concern:
    """What a task is about, as far as its player was told: its type, None where it cannot be told, and kinds of thing."""

    type: str | None = None
    kinds: frozenset[str] = frozenset()


def concern(goal: str, granted: str | None = None, belief: Belief | None = None) -> Concern:
    """What the sentence ``goal`` is about; ``granted`` is the task's type where the player was told it.

    People's sentences are guessed at, as far as ``belief`` says what stands in the house.
    """
    read = read_goal(goal) or (_guessed(goal, belief) if belief is not None else None)
    return Concern(granted or (read.type if read else None), _named(goal) | _needed(read))


@dataclass(frozen=True, slots=True)
class RuleBudget:
    """The ``rules`` that may be told, in the order of their book, and the ``budget`` of tokens for all that are told."""

    rules: tuple[Rule, ...]
    budget: int

    @property
    def cost(self) -> int:
        """About how many tokens all of the rules would be."""
        return sum(tokens(rule.statement) for rule in self.rules)

    def about(self, task: Concern) -> Advice:
        """Those that may matter in one episode: at once, the first first, and those that wait for what they are about."""
        entries = [_Entry(place, rule.statement, tokens(rule.statement)) for place, rule in enumerate(self.rules)]
        ranked = [(rank, entry) for entry in entries if (rank := _rank(self.rules[entry.place], task)) is not None]
        ranked.sort(key=lambda found: (found[0], found[1].place))
        waiting = [(_kinds(self.rules[entry.place]), entry) for entry in entries if _waits(self.rules[entry.place], task)]
        return Advice(self.rules, self.budget, tuple(entry for _, entry in ranked), tuple(waiting))


@dataclass(frozen=True, slots=True)
class _Entry:
    place: int
    statement: str
    cost: int


@dataclass(frozen=True, slots=True)
class Advice:
    """What there is to tell in one episode; ``next`` is asked at each of its turns.

    Rules about the task's type or the things it names come first, then those about all tasks; where the type cannot be told,
    those about some type come last. A rule about other things waits until one of them is held or at hand, for which a part of
    the budget is kept. Where things lie matters for what the task names alone. What no longer fits is passed over.
    """

    rules: tuple[Rule, ...]
    budget: int
    first: tuple[_Entry, ...]
    waiting: tuple[tuple[frozenset[str], _Entry], ...]

    @property
    def kept(self) -> int:
        """The tokens that are kept for rules which wait."""
        return min(int(self.budget * KEPT), sum(entry.cost for _, entry in self.waiting))

    def next(self, belief: Belief | None = None, told: Sequence[str] = ()) -> tuple[Rule, ...]:
        """The rules to tell now, in the order of the book, to one who was ``told`` these statements before."""
        seen, left, kept = set(told), self.budget - sum(map(tokens, told)), self.kept
        near = _at_hand(belief) if belief is not None else frozenset[str]()
        come_up = (entry for kinds, entry in self.waiting if not near.isdisjoint(kinds))
        chosen: list[int] = []
        for entry, least in (*((entry, kept) for entry in self.first), *((entry, 0) for entry in come_up)):
            if entry.statement not in seen and left - entry.cost >= least:
                chosen.append(entry.place)
                seen.add(entry.statement)
                left -= entry.cost
        return tuple(self.rules[place] for place in sorted(chosen))


def _rank(rule: Rule, task: Concern) -> int | None:
    """How soon a rule is told at the beginning: 0 first, None not yet or never."""
    if not _of_type(rule, task) or not _of_things(rule, task):
        return None
    if rule.types and task.type is None:
        return 2
    return 0 if rule.types or rule.objects else 1


def _waits(rule: Rule, task: Concern) -> bool:
    """Whether a rule is about something else than the task names, which may still come up in it."""
    return rule.kind != "location" and _of_type(rule, task) and not _of_things(rule, task)


def _of_type(rule: Rule, task: Concern) -> bool:
    """Whether a rule may be about tasks of this type; one names it whole, or by a word of it, as in ``heat``."""
    if not rule.types or task.type is None:
        return True
    return not {task.type, *task.type.split("_")}.isdisjoint(rule.types)


def _of_things(rule: Rule, task: Concern) -> bool:
    """Whether a rule is about a thing that the task names, or about none in particular."""
    return not rule.objects or not task.kinds.isdisjoint(_kinds(rule))


def _kinds(rule: Rule) -> frozenset[str]:
    return frozenset(_joined(name.split()) for name in rule.objects)


def _joined(words: Iterable[str]) -> str:
    return "".join(words).lower()


def _at_hand(belief: Belief) -> frozenset[str]:
    """The kinds of thing that are held, stand where the agent is, or are seen in what stands there."""
    here = belief.here()
    inside = (name for one in here if one.openness != "closed" for name in belief.inside(one))
    names = (belief.held or "", *(one.name for one in here), *belief.beside, *inside)
    return frozenset(kind(name).lower() for name in names)


def _named(goal: str) -> frozenset[str]:
    """Whatever in a goal may be the name of a kind of thing, with and without a plural's ending."""
    words = re.findall(r"[a-z]+", goal[:_LONGEST_GOAL].lower())
    runs = {_joined(words[at : at + size]) for at in range(len(words)) for size in range(1, _WORDS + 1)}
    return frozenset(form for run in runs for form in (run, run.removesuffix("s"), run.removesuffix("es")))


def _needed(goal: Goal | None) -> frozenset[str]:
    """The kinds of thing that a goal needs, also those that its sentence leaves out."""
    if goal is None:
        return frozenset()
    appliance = APPLIANCES[goal.treatment] if goal.treatment else None
    return frozenset(name.lower() for name in (goal.object, goal.receptacle, goal.lamp, appliance) if name)


def _guessed(goal: str, belief: Belief) -> Goal | None:
    return guess_goal(goal, objects=load_counts().objects(), receptacles=sorted({one.kind for one in belief.receptacles}))
