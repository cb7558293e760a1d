"""The filter of an exploration, which is to "eliminate contradictory and duplicated world knowledge" (OPEx, section 3).

Duplicates are merged. Contradictions are resolved by evidence first, by the model second, and else left to a person.

What is in the book already is never changed here: a candidate that says the same is dropped, and one that contradicts it has to
have the evidence, or is left to a person.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from agent.explorer.candidates import CandidateRule, named
from agent.explorer.judges import ArbiterVerdict, PairLabel
from agent.explorer.report import DropCause, DroppedRule
from knowledge.checks import Check
from knowledge.evidence import examine
from knowledge.moments import Moment
from knowledge.rules import Rule, Standing

_WEIGHT: dict[Standing, int] = {"contradicted": 0, "undecided": 1, "supported": 2}


class RuleJudge(Protocol):
    """Who is asked where words and evidence do not tell."""

    async def compare(self, pairs: Sequence[tuple[Rule, Rule]]) -> list[PairLabel]:
        """How the rules of each pair are alike."""
        ...

    async def decide(self, one: CandidateRule, other: CandidateRule) -> ArbiterVerdict:
        """Which of two candidates that exclude each other is right."""
        ...


@dataclass(frozen=True, slots=True)
class KeptRule:
    """A candidate that stays; ``disputes`` names the rules that it excludes, where a person has to decide."""

    rule: Rule
    disputes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class FilterResult:
    """What is left of the candidates, in their order, and what was dropped."""

    kept: tuple[KeptRule, ...]
    dropped: tuple[DroppedRule, ...]


async def filter_rules(
    proposed: Sequence[CandidateRule], book: Sequence[Rule], moments: Iterable[Moment], judges: RuleJudge | None
) -> FilterResult:
    """Filter what was ``proposed`` for a book that has the rules ``book``, with ``moments`` as evidence.

    Without ``judges`` nothing but equal words is taken for the same.
    """
    sieve = _Sieve(book)
    sieve.take(proposed)
    sieve.weigh(moments)
    if judges is not None:
        await sieve.compare(judges)
        await sieve.reconcile(judges)
    return sieve.sifted()


class _Sieve:
    """The rules of the book, then the candidates; places count through both."""

    def __init__(self, book: Sequence[Rule]) -> None:
        self._book = list(book)
        self._all: list[CandidateRule] = [CandidateRule(rule) for rule in book]
        self._gone: set[int] = set()
        self._dropped: list[DroppedRule] = []
        self._contrary: list[tuple[int, int]] = []
        self._stands_for: dict[int, int] = {}
        self._disputed: list[tuple[int, int]] = []

    def take(self, proposed: Sequence[CandidateRule]) -> None:
        """Take candidates in; those whose words, or whose id, are there already are dropped."""
        ids = {rule.id: place for place, rule in enumerate(self._book)}
        words = {normalized(rule.statement): place for place, rule in reversed(list(enumerate(self._book)))}
        for candidate in proposed:
            said = normalized(candidate.rule.statement)
            place = words.get(said, ids.get(candidate.rule.id))
            if place is None:
                words[said] = len(self._all)
                self._all.append(candidate)
            else:
                self._merge(candidate, place, "in the same words")

    def weigh(self, moments: Iterable[Moment]) -> None:
        """Find the evidence for and against what can be checked; what cannot is left with the steps it was read from."""
        findings = examine([each.rule for each in self._all], moments)
        for place, finding in enumerate(findings):
            candidate = self._all[place]
            self._all[place] = replace(candidate, rule=candidate.rule.examined(finding.evidence))

    async def compare(self, judges: RuleJudge) -> None:
        """Merge what says the same, and find out what excludes each other."""
        rules = [each.rule for each in self._all]
        pairs = list(similar_pairs(rules, len(self._book)))
        plain = [(one, other) for one, other in pairs if exclude(rules[one].check, rules[other].check)]
        asked = [pair for pair in pairs if pair not in set(plain)]
        said = await judges.compare([(rules[one], rules[other]) for one, other in asked])
        contrary = {pair for pair, word in zip(asked, said, strict=True) if word == "contrary"}
        self._unite([pair for pair, word in zip(asked, said, strict=True) if word == "same"])
        self._contrary = sorted(contrary.union(plain), key=lambda pair: (pair[1], pair[0]))

    def _unite(self, same: Iterable[tuple[int, int]]) -> None:
        groups: dict[int, list[int]] = {place: [place] for place in range(len(self._all))}
        for one, other in same:
            if groups[one] is not groups[other]:
                groups[one].extend(groups[other])
                for place in groups[other]:
                    groups[place] = groups[one]
        for place in sorted(groups):
            group = sorted(groups[place])
            if place != group[0] or len(group) == 1:
                continue
            # One of the book's own stays what it is; among candidates, the one with the best evidence speaks for all.
            best = group[0] if group[0] < len(self._book) else min(group, key=lambda each: (-self._weight(each), each))
            for other in group:
                if other != best and other >= len(self._book):
                    self._stands_for[other] = best
                    self._gone.add(other)
                    self._merge(self._all[other], best, "in other words, the model says")

    def _merge(self, candidate: CandidateRule, place: int, how: str) -> None:
        """Drop ``candidate`` for the rule at ``place``, which says it too."""
        present = self._all[place]
        rule = present.rule
        if place < len(self._book):
            self._drop(candidate, "known", f"the book has it {how}: {rule.id} ({rule.status})")
            return
        self._drop(candidate, "duplicate", f"{rule.id} says it {how}")
        joined = replace(present, steps=tuple(dict.fromkeys((*present.steps, *candidate.steps))))
        if how != "in the same words":
            joined = replace(joined, rule=rule.including([candidate.rule], "filter"))
        self._all[place] = joined

    async def reconcile(self, judges: RuleJudge) -> None:
        """Resolve contradictions: by evidence, then by the model, and else leave them to a person."""
        done: set[tuple[int, int]] = set()
        for pair in self._contrary:
            one, other = sorted(self._stands_for.get(place, place) for place in pair)
            if one == other or (one, other) in done or {one, other} & self._gone or other < len(self._book):
                continue
            done.add((one, other))
            if one < len(self._book):
                self._against_book(one, other)
            else:
                await self._between(one, other, judges)

    def _against_book(self, one: int, other: int) -> None:
        known = self._all[one].rule
        if known.status == "rejected":
            return
        if self._weight(one) > self._weight(other):
            self._lose(other, f"{known.id}, which is in the book, excludes it and has the evidence")
        else:
            self._disputed.append((other, one))

    async def _between(self, one: int, other: int, judges: RuleJudge) -> None:
        if self._weight(one) != self._weight(other):
            loser, winner = sorted((one, other), key=self._weight)
            self._lose(loser, f"{self._all[winner].rule.id} excludes it and has the evidence")
            return
        right = await judges.decide(self._all[one], self._all[other])
        if right == "unsure":
            self._disputed += [(one, other), (other, one)]
        else:
            loser, winner = (other, one) if right == "first" else (one, other)
            self._lose(loser, f"{self._all[winner].rule.id} excludes it and is right, the model says")

    def _lose(self, loser: int, why: str) -> None:
        self._gone.add(loser)
        self._drop(self._all[loser], "contradiction", why)

    def _drop(self, candidate: CandidateRule, cause: DropCause, why: str) -> None:
        evidence = candidate.rule.evidence
        found = f" ({evidence.supports} for, {evidence.contradicts} against)" if evidence and cause == "contradiction" else ""
        dropped = DroppedRule(statement=candidate.rule.statement, cause=cause, why=why + found, steps=named(candidate.steps))
        self._dropped.append(dropped)

    def _weight(self, place: int) -> int:
        return _WEIGHT[self._all[place].rule.standing]

    def sifted(self) -> FilterResult:
        """What is left."""
        places = (place for place in range(len(self._book), len(self._all)) if place not in self._gone)
        return FilterResult(tuple(self._kept(place) for place in places), tuple(self._dropped))

    def _kept(self, place: int) -> KeptRule:
        """The candidate at ``place``, with a note of each rule that it excludes and that stays too."""
        rule = self._all[place].rule
        evidence = replace(rule.evidence, witnesses=named(rule.evidence.witnesses), against=named(rule.evidence.against))
        rule = replace(rule, evidence=evidence)
        against = [self._all[other].rule for one, other in self._disputed if one == place and other not in self._gone]
        for other in against:
            rule = rule.disputed(other)
        return KeptRule(rule, tuple(other.id for other in against))


NEAR = 65.0
"""The likeness, of at most 100, from which on two statements are worth comparing."""

NEIGHBOURS = 5
"""How many of the rules before it a rule is compared with, at most: the most similar ones."""

_WORD = re.compile(r"\w+")
_ARTICLES = {"a", "an", "the"}


def normalized(statement: str) -> str:
    """The words of a statement without case, marks and articles: where these are equal, it says the same."""
    return " ".join(word for word in _WORD.findall(statement.casefold()) if word not in _ARTICLES)


def similar_pairs(rules: Sequence[Rule], old: int) -> Iterator[tuple[int, int]]:
    """The pairs of ``rules`` that may say the same or exclude each other, by place; the first ``old`` are known to differ.

    Similarity is RapidFuzz's ``token_set_ratio`` over normal words.
    """
    from rapidfuzz import fuzz, process

    words = [normalized(rule.statement) for rule in rules]
    checks: dict[str, list[int]] = {}
    for place, rule in enumerate(rules):
        found: dict[int, None] = {}
        if place >= old:
            nearest = process.extract(
                words[place], words[:place], scorer=fuzz.token_set_ratio, score_cutoff=NEAR, limit=NEIGHBOURS
            )
            found = {other: None for _, _, other in nearest}
            if rule.check:
                found |= dict.fromkeys(checks.get(_occasion(rule.check), [])[-NEIGHBOURS:])
        if rule.check:
            checks.setdefault(_occasion(rule.check), []).append(place)
        yield from ((other, place) for other in sorted(found))


def exclude(one: Check | None, other: Check | None) -> bool:
    """Whether two checks say contrary things of the same occasion."""
    if one is None or other is None or _occasion(one) != _occasion(other):
        return False
    return any(replace(fact, negated=not fact.negated) in other.then for fact in one.then)


def _occasion(check: Check) -> str:
    """When a check comes up: its commands, and what is known before."""
    return " and ".join([check.command, *sorted(map(str, check.before))])
