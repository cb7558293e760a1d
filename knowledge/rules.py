"""A rule: one statement about the world, with its origin, its evidence, and who accepted it."""

from __future__ import annotations

import datetime
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, get_args

from housequest.knowledge.checks import Check

RuleKind = Literal["mechanic", "affordance", "location", "strategy"]
RuleStatus = Literal["candidate", "accepted", "rejected"]
DecidedBy = Literal["person", "filter", "evidence"]
RuleVerdict = Literal["accepted", "rejected"]
Source = Literal["person", "run", "model"]
EditKind = Literal["accepted", "rejected", "edited", "merged", "disputed"]
RuleField = Literal["statement", "kind", "types", "objects", "check", "evidence", "status"]
Standing = Literal["supported", "contradicted", "undecided"]
KINDS: tuple[RuleKind, ...] = get_args(RuleKind)
STATUSES: tuple[RuleStatus, ...] = get_args(RuleStatus)
JUDGES: tuple[DecidedBy, ...] = get_args(DecidedBy)
SOURCES: tuple[Source, ...] = get_args(Source)
EDIT_KINDS: tuple[EditKind, ...] = get_args(EditKind)
EDITED: tuple[RuleField, ...] = get_args(RuleField)
USUAL: tuple[RuleKind, ...] = ("location", "strategy")
"""Kinds of rule about what is usual: a single exception does not refute them."""
WITNESSES = 5
"""How many transitions are named for and against a rule; the others are only counted."""


@dataclass(frozen=True, slots=True)
class Origin:
    """Who stated a rule first; ``name`` is the name of the run or the model."""

    source: Source = "person"
    name: str = ""


@dataclass(frozen=True, slots=True)
class Evidence:
    """How many transitions support and contradict a rule, and the first ``WITNESSES`` of each, as run/task/step."""

    supports: int = 0
    contradicts: int = 0
    witnesses: tuple[str, ...] = ()
    against: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.supports or self.contradicts)


@dataclass(frozen=True, slots=True)
class Edit:
    """What was done to a rule, and by whom.

    ``was`` is the old value of ``field`` (older books do not name it: the statement or the check), the statement that was
    merged into the rule, or the id of the rule that it was merged into or contradicts. ``date`` is the day; edits by programs
    have none, so that repeating them makes the same book.
    """

    did: EditKind
    by: DecidedBy = "person"
    was: str = ""
    field: RuleField | None = None
    date: datetime.date | None = None


@dataclass(frozen=True, slots=True)
class Rule:
    """One statement about the world, for people and models, about task ``types`` and kinds of thing (empty: all). ``by`` says
    who set its status. ``check`` is the part that recorded play can decide.
    """

    id: str
    statement: str
    kind: RuleKind | None = None
    types: tuple[str, ...] = ()
    objects: tuple[str, ...] = ()
    status: RuleStatus = "accepted"
    by: DecidedBy = "person"
    origin: Origin = Origin()
    check: Check | None = None
    evidence: Evidence = Evidence()
    history: tuple[Edit, ...] = ()

    @property
    def standing(self) -> Standing:
        """The verdict of the evidence: what is usual is decided once the 95 % interval of how often it held lies on one side
        of a half, and any other rule is contradicted by a single exception.
        """
        supports, contradicts = self.evidence.supports, self.evidence.contradicts
        if not self.evidence:
            return "undecided"
        if self.kind not in USUAL:
            return "contradicted" if contradicts else "supported"
        ends = wilson(supports, supports + contradicts)
        return "supported" if ends.low > 0.5 else "contradicted" if ends.high < 0.5 else "undecided"

    def judged(self, status: RuleVerdict, by: DecidedBy = "person") -> Rule:
        """The rule accepted or rejected; unchanged if it already is."""
        if (self.status, self.by) == (status, by):
            return self
        return replace(self, status=status, by=by, history=(*self.history, Edit(status, by)))

    def edited(self, wanted: Rule, by: DecidedBy = "person") -> Rule:
        """The rule with the statement, kind, types, objects and check of ``wanted``; its history records each change.

        If what is checked changes, counted evidence is dropped. If evidence or a model had judged the rule, changing its
        statement, kind or check makes it a candidate again.
        """
        rule = replace(
            wanted, id=self.id, status=self.status, by=self.by, origin=self.origin, evidence=self.evidence, history=self.history
        )
        if self.evidence and (rule.check or rule.statement) != (self.check or self.statement):
            rule = replace(rule, evidence=Evidence())
        judged = (self.statement, self.kind, self.check)
        if self.by != "person" and self.status != "candidate" and (rule.statement, rule.kind, rule.check) != judged:
            rule = replace(rule, status="candidate", by="person")
        before, after = _said(self), _said(rule)
        edits = (Edit("edited", by, before[name], name) for name in EDITED if before[name] != after[name])
        return replace(rule, history=(*self.history, *edits))

    def examined(self, evidence: Evidence) -> Rule:
        """The rule with new evidence for its check; if there is none, the old evidence stays."""
        return replace(self, evidence=evidence) if evidence else self

    def disputed(self, other: Rule, by: DecidedBy = "filter") -> Rule:
        """The rule with a note that it contradicts ``other``, for a person to decide."""
        return replace(self, history=(*self.history, Edit("disputed", by, other.id)))

    def merged_into(self, other: Rule, by: DecidedBy = "person") -> Rule:
        """The rule rejected because ``other`` says the same. It stays in its book."""
        return replace(self, status="rejected", by=by, history=(*self.history, Edit("merged", by, other.id)))

    def including(self, others: Sequence[Rule], by: DecidedBy = "person") -> Rule:
        """The rule after merging ``others`` into it, with their types and objects."""
        together = (self, *others)
        return replace(
            self,
            types=_united([rule.types for rule in together]),
            objects=_united([rule.objects for rule in together]),
            history=(*self.history, *(Edit("merged", by, other.statement) for other in others)),
        )


def _said(rule: Rule) -> dict[RuleField, str]:
    """The editable fields of ``rule`` as its history records them."""
    evidence = rule.evidence
    return {
        "statement": rule.statement,
        "kind": rule.kind or "",
        "types": ", ".join(rule.types),
        "objects": ", ".join(rule.objects),
        "check": str(rule.check or ""),
        "evidence": f"{evidence.supports} for, {evidence.contradicts} against" if evidence else "",
        "status": rule.status if rule.by == "person" else f"{rule.status} by {rule.by}",
    }


def _united(words: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    """All words, each once; empty, which means everything, if one of the lists is empty."""
    return tuple(dict.fromkeys(word for each in words for word in each)) if all(words) else ()


def accepted(rules: Sequence[Rule]) -> tuple[Rule, ...]:
    """The accepted rules, which agents are shown."""
    return tuple(rule for rule in rules if rule.status == "accepted")


Z95 = 1.959963984540054
"""The 97.5 % point of the standard normal distribution, for two-sided 95 % intervals."""


@dataclass(frozen=True, slots=True)
class Interval:
    """A confidence interval: within [0, 1] for a rate, [-1, 1] for a difference of rates, unbounded for a mean."""

    low: float
    high: float


def wilson(successes: float, trials: float, z: float = Z95) -> Interval:
    """Wilson's score interval of a binomial rate; it is accurate for few trials and for rates near 0 and 1.

    Solves ``|p - successes/trials| = z * sqrt(p(1-p)/trials)`` for p. Source: E. B. Wilson, "Probable inference, the law of
    succession, and statistical inference", Journal of the American Statistical Association 22 (1927), 209-212. No trials
    give [0, 1]; counts need not be whole, such as those of an effective sample. Raises ``ValueError`` unless
    ``0 <= successes <= trials``.
    """
    if not 0 <= successes <= trials:
        raise ValueError(f"{successes} successes in {trials} trials cannot be.")
    if trials == 0:
        return Interval(0.0, 1.0)
    rate, square = successes / trials, z * z
    centre = rate + square / (2 * trials)
    reach = z * math.sqrt(rate * (1 - rate) / trials + square / (4 * trials * trials))
    scale = 1 + square / trials
    # At the ends the formula gives exactly 0 and 1, but floating point does not.
    low = 0.0 if successes == 0 else (centre - reach) / scale
    high = 1.0 if successes == trials else (centre + reach) / scale
    return Interval(low, high)
