"""Filters candidate rules, to "eliminate contradictory and duplicated world knowledge" (OPEx, section 3).

Duplicates are merged. Contradictions are resolved by evidence, then by the model, and otherwise left to a person. Rules already
in the book never change: a candidate that says the same is dropped, and so is one that contradicts a rule with better evidence.
Any other contradiction is left to a person.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from housequest.agent.explorer.distiller import CandidateRule, named_steps
from housequest.agent.explorer.judges import ModelJudge
from housequest.agent.explorer.report import DropCause, DroppedRule
from housequest.knowledge.checks import exclude
from housequest.knowledge.judging import Moment, examine
from housequest.knowledge.rules import Rule, Standing

_WEIGHT: dict[Standing, int] = {"contradicted": 0, "undecided": 1, "supported": 2}


@dataclass(frozen=True, slots=True)
class FilterResult:
    """The candidates that stay, in order, and the dropped ones."""

    kept: tuple[CandidateRule, ...]
    dropped: tuple[DroppedRule, ...]


async def filter_rules(
    proposed: Sequence[CandidateRule], book: Sequence[Rule], moments: Iterable[Moment], judges: ModelJudge | None
) -> FilterResult:
    """Filter the ``proposed`` rules for a book with the rules ``book``, with ``moments`` as evidence.

    Without ``judges``, only rules with equal words count as duplicates.
    """
    rule_filter = _Filter(book)
    rule_filter.take(proposed)
    rule_filter.weigh(moments)
    if judges is not None:
        contrary = await rule_filter.compare(judges)
        await rule_filter.reconcile(contrary, judges)
    return rule_filter.result()


class _Filter:
    """The rules of the book followed by the candidates; positions count through both."""

    def __init__(self, book: Sequence[Rule]) -> None:
        self._book = list(book)
        self._all: list[CandidateRule] = [CandidateRule(rule) for rule in book]
        self._gone: set[int] = set()
        self._dropped: list[DroppedRule] = []
        self._stands_for: dict[int, int] = {}
        self._disputed: list[tuple[int, int]] = []

    def take(self, proposed: Sequence[CandidateRule]) -> None:
        """Add candidates; drop those whose words or id are there already."""
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
        """Find evidence for the rules with a check; the others keep the steps they were read from."""
        findings = examine([each.rule for each in self._all], moments)
        examined = [finding.rule.examined(finding.evidence) for finding in findings]
        self._all = [replace(candidate, rule=rule) for candidate, rule in zip(self._all, examined, strict=True)]

    async def compare(self, judges: ModelJudge) -> list[tuple[int, int]]:
        """Merge rules that say the same, and return those that contradict each other."""
        rules = [each.rule for each in self._all]
        pairs = list(similar_pairs(rules, len(self._book)))
        plain = [(one, other) for one, other in pairs if exclude(rules[one].check, rules[other].check)]
        asked = [pair for pair in pairs if pair not in set(plain)]
        said = await judges.compare([(rules[one], rules[other]) for one, other in asked])
        contrary = {pair for pair, word in zip(asked, said, strict=True) if word == "contrary"}
        self._unite([pair for pair, word in zip(asked, said, strict=True) if word == "same"])
        return sorted(contrary.union(plain), key=lambda pair: (pair[1], pair[0]))

    def _unite(self, same: Iterable[tuple[int, int]]) -> None:
        # All members of a group share one list.
        groups = {place: [place] for place in range(len(self._all))}
        for one, other in same:
            if groups[one] is not groups[other]:
                groups[one].extend(groups[other])
                for place in groups[other]:
                    groups[place] = groups[one]
        for place, members in groups.items():
            group = sorted(members)
            if place != group[0]:
                continue
            # A rule of the book wins; among candidates, the one with the best evidence.
            best = group[0] if group[0] < len(self._book) else min(group, key=lambda each: (-self._weight(each), each))
            for other in group:
                if other != best and other >= len(self._book):
                    self._stands_for[other] = best
                    self._gone.add(other)
                    self._merge(self._all[other], best, "in other words, the model says")

    def _merge(self, candidate: CandidateRule, place: int, how: str) -> None:
        """Drop ``candidate``, which says the same as the rule at ``place``."""
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

    async def reconcile(self, contrary: Iterable[tuple[int, int]], judges: ModelJudge) -> None:
        """Resolve contradictions by evidence, then by the model; otherwise leave them to a person."""
        done: set[tuple[int, int]] = set()
        for pair in contrary:
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

    async def _between(self, one: int, other: int, judges: ModelJudge) -> None:
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
        dropped = DroppedRule(
            statement=candidate.rule.statement, cause=cause, why=why + found, steps=named_steps(candidate.steps)
        )
        self._dropped.append(dropped)

    def _weight(self, place: int) -> int:
        return _WEIGHT[self._all[place].rule.standing]

    def result(self) -> FilterResult:
        """The result."""
        kept: list[CandidateRule] = []
        for place, candidate in enumerate(self._all):
            if place < len(self._book) or place in self._gone:
                continue
            found = candidate.rule.evidence
            evidence = replace(found, witnesses=named_steps(found.witnesses), against=named_steps(found.against))
            rule = replace(candidate.rule, evidence=evidence)
            # Of the rules that it contradicts, those that stay too.
            against = [self._all[other].rule for one, other in self._disputed if one == place and other not in self._gone]
            for other in against:
                rule = rule.disputed(other)
            kept.append(CandidateRule(rule, candidate.steps, tuple(other.id for other in against)))
        return FilterResult(tuple(kept), tuple(self._dropped))


NEAR = 65.0
"""The least similarity, up to 100, of two statements worth comparing."""

NEIGHBOURS = 5
"""A rule is compared with at most this many earlier rules, the most similar ones."""

_WORD = re.compile(r"\w+")
_ARTICLES = {"a", "an", "the"}


def normalized(statement: str) -> str:
    """The words of a statement without case, punctuation and articles; equal results count as the same statement."""
    return " ".join(word for word in _WORD.findall(statement.casefold()) if word not in _ARTICLES)


def similar_pairs(rules: Sequence[Rule], old: int) -> Iterator[tuple[int, int]]:
    """Pairs of positions in ``rules`` that may be duplicates or contradictions; the first ``old`` are known to differ.

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
                found |= dict.fromkeys(checks.get(rule.check.occasion, [])[-NEIGHBOURS:])
        if rule.check:
            checks.setdefault(rule.check.occasion, []).append(place)
        yield from ((other, place) for other in sorted(found))
