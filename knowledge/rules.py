"""A rule: one statement about the world, with its origin, its evidence, who accepted it, and what it was measured to be worth.

Recorded play can decide a rule that has a check (`housequest.knowledge.checks`).
"""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Annotated, Literal, cast, get_args

from housequest.knowledge.checks import Check, parse_check
from housequest.worlds.errors import KnowledgeError, shown
from housequest.worlds.validation import Before, Unquoted

RuleKind = Literal["mechanic", "affordance", "location", "strategy"]
RuleScope = Literal["world", "household"]
RuleStatus = Literal["candidate", "accepted", "rejected"]
DecidedBy = Literal["person", "filter", "evidence"]
RuleVerdict = Literal["accepted", "rejected"]
Source = Literal["person", "run", "model"]
EditKind = Literal["accepted", "rejected", "edited", "merged", "disputed"]
Beside = Literal["book", "nothing"]
RuleField = Literal["statement", "kind", "scope", "types", "objects", "check", "evidence", "status"]
Standing = Literal["supported", "contradicted", "undecided"]
KINDS: tuple[RuleKind, ...] = get_args(RuleKind)
SCOPES: tuple[RuleScope, ...] = get_args(RuleScope)
STATUSES: tuple[RuleStatus, ...] = get_args(RuleStatus)
USUAL: tuple[RuleKind, ...] = ("location", "strategy")
"""Kinds of rule about what is usual: a single exception does not refute them."""
WITNESSES = 5
"""The number of transitions named for and against a rule; the others are only counted."""
LONGEST_STATEMENT = 2_000
LONGEST_ID = 64
LONGEST_WORD = 300
MOST_WORDS = 100
LONGEST_WAS = MOST_WORDS * (LONGEST_WORD + 2)
"""Most characters of a field's old value; the longest fields are lists of words."""
MOST_EDITS = 1_000
MOST_MEASURED = 20
_JOINERS = {"\u200c", "\u200d"}


def _text(value: object, longest: int = LONGEST_WORD) -> str:
    """``value`` in one line; a number is a text, too."""
    if not isinstance(value, str) or (isinstance(value, Unquoted) and value.kind != "int"):
        raise ValueError(
            f"this must be a text{'; put it in quotes if that is what you mean' if isinstance(value, str) else ''}"
        )
    text = " ".join(value.split())
    if len(text) > longest:
        raise ValueError(f"this has at most {longest} characters, not {len(text)}")
    if not text.isprintable() and not all(character.isprintable() or character in _JOINERS for character in text):
        raise ValueError("this holds characters that cannot be printed")
    return text


def _statement(value: object) -> str:
    # A lone number is no statement about a world.
    text = _text(value, LONGEST_STATEMENT)
    if not text or isinstance(value, Unquoted):
        raise ValueError("this must be a statement in words")
    return text


def _name(value: object) -> str:
    text = _text(value, LONGEST_ID)
    if not re.fullmatch(r"[\w.-]+", text):
        raise ValueError("this must be a word of letters, digits, '-', '_' and '.'")
    return text


def _day(value: object) -> datetime.date:
    # Python accepts more forms of dates; other programs may not.
    text = value if isinstance(value, str) and re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", value, re.ASCII) else ""
    try:
        return datetime.date.fromisoformat(text)
    except ValueError:
        raise ValueError(f"{shown(value)} is not a date such as 2026-01-31") from None


def _checked(value: object) -> Check:
    try:
        return parse_check(_text(value, LONGEST_STATEMENT))
    except KnowledgeError as error:
        raise ValueError(str(error).rstrip(".")) from None


def _first_ones(value: object) -> object:
    return cast("list[object]", value)[:WITNESSES] if isinstance(value, list) else value


Word = Annotated[str, Before(_text)]
Name = Annotated[str, Before(_name)]
Words = tuple[Word, ...]
Witnesses = Annotated[Words, Before(_first_ones)]
_FEW = {"max_length": MOST_WORDS}
_COUNT = {"ge": 0, "le": 10**12}
_FINITE = {"allow_inf_nan": False, "ge": -1e9, "le": 1e9}
_DAY = re.compile(r"[^/]+/[0-9]{4,}-(?P<home>[a-z_-]+)-(?P<seed>[0-9]+)-day-(?P<day>[0-9]+)/[0-9]+", re.ASCII)
_WITNESS = re.compile(r"[^/]+/[0-9]{4,}-(?P<split>[a-z_]+)-((?P<seed>[0-9]+)|[^/]+)/[0-9]+", re.ASCII)


@dataclass(frozen=True, slots=True)
class Origin:
    """The first source of a rule; ``name`` is the run or the model, and ``splits`` are the splits and ranges of the tasks that
    it was learned from."""

    source: Source = "person"
    name: Word = ""
    splits: Words = field(default=(), metadata=_FEW)

    def over(self, witnesses: Iterable[str]) -> tuple[str, ...]:
        """Its splits; those of ``witnesses`` where it does not name them."""
        named = map(_split_of, witnesses) if self.source != "person" else ()
        return self.splits or tuple(dict.fromkeys(filter(None, named)))


def _split_of(witness: str) -> str:
    """The part of a split that a witness is of, as far as its name tells."""
    if day := _DAY.fullmatch(witness):
        return "{home}:{seed}:{day}..{day}".format_map(day.groupdict())
    found = _WITNESS.fullmatch(witness)
    return "" if found is None else "{split}:{seed}..{seed}".format_map(found.groupdict()) if found["seed"] else found["split"]


@dataclass(frozen=True, slots=True)
class Evidence:
    """The numbers of transitions for and against a rule, and the first ``WITNESSES`` of each, as run/task/step."""

    supports: int = field(default=0, metadata=_COUNT)
    contradicts: int = field(default=0, metadata=_COUNT)
    witnesses: Witnesses = ()
    against: Witnesses = ()

    def __bool__(self) -> bool:
        return bool(self.supports or self.contradicts)


@dataclass(frozen=True, slots=True)
class Edit:
    """A change to a rule, and who made it.

    ``was`` is the old value of ``field`` (older books do not name it: the statement or the check), the statement that was
    merged into the rule, or the id of the rule that it was merged into or contradicts. ``date`` is the day; edits by programs
    have none, so that repeating them makes the same book.
    """

    did: EditKind
    field: RuleField | None = None
    by: DecidedBy = "person"
    was: Annotated[str, Before(partial(_text, longest=LONGEST_WAS))] = ""
    date: Annotated[datetime.date | None, Before(_day)] = None


@dataclass(frozen=True, slots=True)
class MeasuredChange:
    """The mean of paired differences, with its 95 % interval; without ``low`` and ``high`` if they do not tell a spread."""

    value: float = field(metadata=_FINITE)
    low: float | None = field(default=None, metadata=_FINITE)
    high: float | None = field(default=None, metadata=_FINITE)

    def told(self, unit: str, scale: float = 1.0) -> str:
        """The change in words, such as ``-2.1 steps, 95 % -3.0 to -1.2``; ``scale`` makes points of shares."""
        value, low, high = (None if end is None else end * scale for end in (self.value, self.low, self.high))
        interval = "" if low is None or high is None else f", 95 % {low:+.1f} to {high:+.1f}"
        return f"{value:+.1f} {unit}{interval}"


@dataclass(frozen=True, slots=True)
class Worth:
    """The difference that a rule made, over the ``games`` that it can change, played without and with it.

    It was added to the other accepted rules of its book, or to nothing (``beside``). The games are those of ``split``, with
    the numbers ``tasks`` if it has no end; ``agent`` and ``model`` played them. ``steps`` are those of an episode, in which a
    game that is not won counts its limit, and ``success`` is a share.
    """

    steps: MeasuredChange
    success: MeasuredChange
    games: int = field(metadata=_COUNT)
    beside: Beside = "book"
    split: Word = ""
    tasks: Word = ""
    agent: Word = ""
    model: Word = ""

    @property
    def costs(self) -> bool:
        """True if the rule takes steps or success away, by the whole of an interval."""
        steps, success = self.steps, self.success
        return (steps.low is not None and steps.low > 0) or (success.high is not None and success.high < 0)

    @property
    def pays(self) -> bool:
        """True if the rule saves steps or brings success, by the whole of an interval, and costs nothing."""
        steps, success = self.steps, self.success
        saves = (steps.high is not None and steps.high < 0) or (success.low is not None and success.low > 0)
        return saves and not self.costs

    def __str__(self) -> str:
        return self.steps.told("steps")

    @property
    def sentence(self) -> str:
        """All of it in a line."""
        player = " with ".join(filter(None, (self.agent, self.model)))
        to = "added to the other rules" if self.beside == "book" else "alone"
        where = ":".join(filter(None, (self.split, self.tasks)))
        played = f"{self.games:,} game{'s' * (self.games != 1)} of {where} by {player}, {to}"
        return f"{self}; success {self.success.told('points', 100)}; in {played}"


_IN_BOOKS = {"exclude": True}


@dataclass(frozen=True, slots=True)
class Rule:
    """A statement about the world, or with the ``scope`` of a household about one home, for task ``types`` and kinds of thing
    (empty: all). Recorded play can decide ``check``. A run freezes the fields that an agent is shown or selected by; the others
    stay in the book."""

    id: Name
    statement: Annotated[str, Before(_statement)]
    kind: RuleKind | None = None
    types: Words = field(default=(), metadata=_FEW)
    objects: Words = field(default=(), metadata=_FEW)
    status: RuleStatus = field(default="accepted", metadata=_IN_BOOKS)
    by: DecidedBy = field(default="person", metadata=_IN_BOOKS)
    origin: Origin = field(default=Origin(), metadata=_IN_BOOKS)
    scope: RuleScope = field(default="world", metadata={"exclude_if": "world".__eq__})
    check: Annotated[Check | None, Before(_checked)] = field(default=None, metadata=_IN_BOOKS)
    evidence: Evidence = field(default=Evidence(), metadata=_IN_BOOKS)
    worth: tuple[Worth, ...] = field(default=(), metadata={**_IN_BOOKS, "max_length": MOST_MEASURED})
    history: tuple[Edit, ...] = field(default=(), metadata={**_IN_BOOKS, "max_length": MOST_EDITS})

    @property
    def standing(self) -> Standing:
        """The verdict of the evidence. A rule about what is usual is decided once the 95 % interval of its share lies on one
        side of a half; any other rule is contradicted by a single exception. In one home, whatever was seen there counts."""
        supports, contradicts = self.evidence.supports, self.evidence.contradicts
        if not self.evidence:
            return "undecided"
        if self.kind not in USUAL or (self.scope == "household" and not contradicts):
            return "contradicted" if contradicts else "supported"
        ends = wilson(supports, supports + contradicts)
        return "supported" if ends.low > 0.5 else "contradicted" if ends.high < 0.5 else "undecided"

    @property
    def homes(self) -> frozenset[str]:
        """The homes that a rule about a household was learned in, such as ``household:7``, as far as that is known."""
        return frozenset(":".join(part.split(":")[:2]) for part in self.days)

    @property
    def days(self) -> tuple[str, ...]:
        """The days from which a household's rule was learned, such as ``household:7:1..20``."""
        return self.origin.over(self.evidence.witnesses) if self.scope == "household" else ()

    @property
    def told(self) -> tuple[object, ...]:
        """The fields that an agent is shown, or by which it is shown the rule."""
        return self.statement, self.kind, self.scope, self.types, self.objects

    @property
    def measured(self) -> Worth | None:
        """The last of its measured worths, beside the other rules of its book if there is one; None if it was not measured."""
        return next((each for each in reversed(self.worth) if each.beside == "book"), self.worth[-1] if self.worth else None)

    def valued(self, found: Iterable[Worth]) -> Rule:
        """The rule with new measurements of its worth, in place of those over the same split by the same agent."""
        new = {_measurement(each): each for each in found}
        kept = (each for each in self.worth if _measurement(each) not in new)
        return replace(self, worth=(*kept, *new.values())[-MOST_MEASURED:])

    def following(self, before: Rule) -> Rule:
        """The rule with the measured worth of the rule that it takes the place of, if agents are told the same."""
        return replace(self, worth=before.worth if self.told == before.told else ())

    def judged(self, status: RuleVerdict, by: DecidedBy = "person") -> Rule:
        """The rule accepted or rejected; unchanged if it already is."""
        if (self.status, self.by) == (status, by):
            return self
        return replace(self, status=status, by=by, history=(*self.history, Edit(status, by=by)))

    def edited(self, wanted: Rule, by: DecidedBy = "person") -> Rule:
        """The rule with the statement, kind, scope, types, objects and check of ``wanted``; its history records each change.

        Counted evidence is dropped if the check changes, and measured worth if agents are told something else. If evidence or
        a model had judged the rule, a new statement, kind, scope or check makes it a candidate again.
        """
        rule = replace(
            wanted, id=self.id, status=self.status, by=self.by, origin=self.origin, evidence=self.evidence, history=self.history
        )
        if self.evidence and (rule.check or rule.statement) != (self.check or self.statement):
            rule = replace(rule, evidence=Evidence())
        judged = (self.statement, self.kind, self.scope, self.check)
        if self.by != "person" and self.status != "candidate" and (rule.statement, rule.kind, rule.scope, rule.check) != judged:
            rule = replace(rule, status="candidate", by="person")
        rule = rule.following(self)
        before, after = _said(self), _said(rule)
        edits = (Edit("edited", name, by, before[name]) for name in before if before[name] != after[name])
        return replace(rule, history=(*self.history, *edits))

    def differing(self, other: Rule) -> tuple[RuleField, ...]:
        """The fields in which ``other`` says something else: all that people edit, and the status whoever decided it."""
        one, two = _said(self), _said(other)
        one |= {"status": self.status, "evidence": ""}
        two |= {"status": other.status, "evidence": ""}
        return tuple(name for name in one if one[name] != two[name])

    def examined(self, evidence: Evidence) -> Rule:
        """The rule with new evidence for its check; if there is none, the old evidence stays."""
        return replace(self, evidence=evidence) if evidence else self

    def disputed(self, other: Rule, by: DecidedBy = "filter") -> Rule:
        """The rule with a note that it contradicts ``other``, for a person to decide."""
        return replace(self, history=(*self.history, Edit("disputed", by=by, was=other.id)))

    def merged_into(self, other: Rule, by: DecidedBy = "person") -> Rule:
        """The rule rejected because ``other`` says the same. It stays in its book."""
        return replace(self, status="rejected", by=by, history=(*self.history, Edit("merged", by=by, was=other.id)))

    def including(self, others: Sequence[Rule], by: DecidedBy = "person") -> Rule:
        """The rule after merging ``others`` into it, with their types and objects."""
        together = (self, *others)
        rule = replace(
            self,
            types=_united([rule.types for rule in together]),
            objects=_united([rule.objects for rule in together]),
            history=(*self.history, *(Edit("merged", by=by, was=other.statement) for other in others)),
        )
        return rule.following(self)


def _measurement(worth: Worth) -> tuple[object, ...]:
    return worth.beside, worth.split, worth.agent, worth.model


def _said(rule: Rule) -> dict[RuleField, str]:
    """The editable fields of ``rule`` as its history records them."""
    evidence = rule.evidence
    return {
        "statement": rule.statement,
        "kind": rule.kind or "",
        "scope": rule.scope,
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
