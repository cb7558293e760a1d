"""A rule as text: as it is typed into a form, with what is wrong in each field, and as it is printed, also as JSON."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from itertools import chain, count
from typing import TYPE_CHECKING, Literal, NamedTuple

from housequest.knowledge.checks import parse_check
from housequest.knowledge.rulebook import unsealed
from housequest.knowledge.rules import KINDS, LONGEST_ID, LONGEST_STATEMENT, LONGEST_WORD, MOST_WORDS, SCOPES, Rule
from housequest.knowledge.sentences import read_sentence
from housequest.tui.text import table
from housequest.worlds.errors import KnowledgeError, nearest, shown
from housequest.worlds.registry import DEFAULT_WORLD, household

if TYPE_CHECKING:
    from housequest.knowledge.judging import RuleFinding
    from housequest.knowledge.rulebook import RuleDifference
    from housequest.knowledge.rules import DecidedBy, Edit, Evidence, Standing, Worth
    from housequest.knowledge.sentences import Location

FormField = Literal["statement", "kind", "scope", "types", "objects", "check", "book", "form"]
"""The field with a fault; ``form``: no single field."""
NO_KIND = "none"
WORDS_IN_ID = 6
_JOINERS = {"\u200c", "\u200d"}  # some scripts need them
_WORD = re.compile(r"[^\W_]+")
STANDING_MARKS: dict[Standing, str] = {"supported": "+", "contradicted": "!", "undecided": "?"}
"""A character for each way that a rule can stand."""


class DraftFault(NamedTuple):
    """A fault in a field, and the way out."""

    field: FormField
    reason: str


@dataclass(frozen=True, slots=True)
class Draft:
    """The contents of the form. ``types`` and ``objects`` are separated by commas, ``book`` is where a new rule goes."""

    statement: str = ""
    kind: str = NO_KIND
    scope: str = "world"
    types: str = ""
    objects: str = ""
    check: str = ""
    book: str = ""

    @classmethod
    def of(cls, rule: Rule) -> Draft:
        """The form filled in with ``rule``."""
        check = str(rule.check) if rule.check else ""
        lists = (", ".join(rule.types), ", ".join(rule.objects))
        return cls(rule.statement, rule.kind or NO_KIND, rule.scope, *lists, check)

    def faults(self, world: str = DEFAULT_WORLD) -> Iterator[DraftFault]:
        """The faults of the draft, as a rule about ``world``, field by field."""
        statement, known = _line(self.statement), task_types(world)
        if not statement:
            yield DraftFault("statement", "Say what the rule is, in a sentence.")
        elif len(statement) > LONGEST_STATEMENT:
            yield DraftFault("statement", f"A statement has at most {LONGEST_STATEMENT:,} characters, not {len(statement):,}.")
        elif not all(character.isprintable() or character in _JOINERS for character in statement):
            yield DraftFault("statement", "This holds characters that cannot be printed; write them out.")
        lists: dict[FormField, tuple[str, ...]] = {"types": _words(self.types), "objects": _words(self.objects)}
        for name, words in lists.items():
            odd = next((word for word in words if len(word) > LONGEST_WORD or not word.isprintable()), None)
            if len(words) > MOST_WORDS:
                yield DraftFault(name, f"There are at most {MOST_WORDS} of them.")
            elif odd is not None:
                yield DraftFault(name, f"{shown(odd, 40)} is not a word; write short ones, with commas between them.")
        unknown = next((word for word in lists["types"] if word not in known and nearest(word, known)), None)
        if unknown is not None:
            yield DraftFault("types", f"{shown(unknown)} is not a task type.{nearest(unknown, known)}")
        if self.check.strip():
            try:
                parse_check(_line(self.check))
            except KnowledgeError as error:
                yield DraftFault("check", str(error))

    def rebased(self, since: Draft, theirs: Draft) -> Draft:
        """``theirs``, what somebody else made of the rule, with the fields that were changed ``since`` as they are here."""
        return replace(theirs, **{name: getattr(self, name) for name in self._changed(since)})

    def _changed(self, since: Draft | None) -> set[str]:
        return {each.name for each in fields(self) if since is None or getattr(self, each.name) != getattr(since, each.name)}

    def onto(self, rule: Rule, since: Draft | None = None) -> Rule:
        """``rule`` as a draft without faults says; with ``since``, only in fields that differ from what stood there."""
        changed, check = self._changed(since), _line(self.check)
        values = {
            "statement": _line(self.statement),
            "kind": next((kind for kind in KINDS if kind == self.kind), None),
            "scope": next((scope for scope in SCOPES if scope == self.scope), "world"),
            "types": _words(self.types),
            "objects": _words(self.objects),
            "check": parse_check(check) if check and "check" in changed else None,
        }
        return rule.edited(replace(rule, **{name: value for name, value in values.items() if name in changed}))

    def new(self, taken: Collection[str]) -> Rule:
        """A candidate rule that says this; its id is made of its words and differs from those ``taken``."""
        statement = _line(self.statement)
        words = _WORD.findall(statement.casefold())[:WORDS_IN_ID]
        stem = "-".join(words)[: LONGEST_ID - 8].strip("-") or "rule"
        names = chain([stem], (f"{stem}-{number}" for number in count(2)))
        bare = Rule(next(name for name in names if name not in taken), statement, status="candidate")
        return replace(self.onto(bare), history=())


def task_types(world: str) -> tuple[str, ...]:
    """The task types of a world; none where its texts describe no household."""
    reader = household(world)
    return tuple(reader.task_types) if reader is not None else ()


def _line(text: str) -> str:
    return " ".join(text.split())


def _words(text: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(word for each in text.split(",") if (word := _line(each))))


def figures(evidence: Evidence) -> str:
    return f"{evidence.supports}/{evidence.contradicts}" if evidence else "-"


def rule_table(rules: Sequence[Rule]) -> list[str]:
    """A row for each rule; what they are worth has a column once one was measured."""
    valued = any(each.worth for each in rules)
    head = ("id", "status", "kind", "for/against", "", *(["worth"] if valued else []), "statement")

    def row(rule: Rule) -> tuple[str, ...]:
        worth = [worth_text(rule.measured)] if valued else []
        mark = STANDING_MARKS[rule.standing]
        return (rule.id, rule.status, rule.kind or "-", figures(rule.evidence), mark, *worth, rule.statement)

    return table([head, *map(row, rules)])


def worth_text(worth: Worth | None) -> str:
    """The steps that a rule saves or takes, marked if it costs: ``-2.1 steps, 95 % -3.0 to -1.2``; ``-`` if not measured."""
    return "-" if worth is None else f"{worth}{' COSTS' if worth.costs else ''}"


def rule_lines(rule: Rule) -> Iterator[str]:
    """Everything about a rule, line by line."""
    yield f"{rule.id}: {rule.statement}"
    yield f"  {status_of(rule)}"
    scope = () if rule.scope == "world" else (rule.scope,)
    for name, words in (
        ("kind", (rule.kind,) if rule.kind else ()),
        ("scope", scope),
        ("tasks", rule.types),
        ("objects", rule.objects),
    ):
        if words:
            yield f"  {name}: {', '.join(words)}"
    if rule.check:
        yield f"  check: {rule.check}"
    if location := location_of(rule):
        yield f"  counted, with 95 % intervals: {location}"
    evidence = rule.evidence
    if evidence:
        yield f"  evidence: {evidence.supports} for, {evidence.contradicts} against: {rule.standing}"
    elif evidence.witnesses or evidence.against:
        yield "  evidence: none counted; somebody named"
    yield from (f"    for      {witness}" for witness in evidence.witnesses)
    yield from (f"    against  {witness}" for witness in evidence.against)
    yield "  story"
    yield from (f"    {line}" for line in story_lines(rule))


def difference_text(found: RuleDifference, one: str, other: str) -> str:
    """In few words, the difference between the books ``one`` and ``other`` in a rule."""
    if found.one is None or found.other is None:
        return f"only in {other if found.one is None else one}"
    words = {
        "status": f"{found.one.status} | {found.other.status}",
        "scope": f"{found.one.scope} | {found.other.scope}",
        "objects": "things",
        "types": "tasks",
    }
    return ", ".join(words.get(name, name) for name in found.fields)


def status_of(rule: Rule) -> str:
    return rule.status if rule.status == "candidate" else f"{rule.status} by {who(rule.by)}"


def location_of(rule: Rule) -> Location | None:
    """The shares that a rule tells of its places, if counting wrote it and nobody gave it other words."""
    return read_sentence(rule.statement) if rule.kind == "location" else None


def story_lines(rule: Rule) -> Iterator[str]:
    """A rule's story: who found it and in which play, who decided or changed what, and what it was measured to be worth."""
    origin, name = rule.origin, unsealed(rule.origin).name
    found = {"person": "written by a person", "run": "found by counting", "model": "found by a model"}[origin.source]
    played = ", ".join(origin.over(rule.evidence.witnesses))
    if said := next((edit for edit in reversed(rule.history) if (edit.did, edit.field) == ("edited", "statement")), None):
        found = f"in the words of {who(said.by)}, after a rule that was {found}"
    yield " · ".join(filter(None, (found, name, "" if played in name else f"in play over {played}")))
    yield from map(edit_line, rule.history)
    yield from (f"{'costs' if each.costs else 'worth'}: {each.sentence}" for each in rule.worth)


def edit_line(edit: Edit) -> str:
    """One line on a change of a rule: the change, its author and its date."""
    field = f" {edit.field}" if edit.field else ""
    day = f" on {edit.date}" if edit.date else ""
    was = f", was {edit.was or 'none'}" if edit.field else f": {edit.was}" if edit.was else ""
    return f"{edit.did}{field} by {who(edit.by)}{day}{was}"


def who(by: DecidedBy) -> str:
    return "a person" if by == "person" else by


def taken_back(before: Rule, after: Rule) -> str:
    """A note that an edit made a judged rule a candidate again; empty if it did not."""
    if after.status != "candidate" or before.status == "candidate":
        return ""
    judge = "the model's filter" if before.by == "filter" else before.by
    return f"{after.id} is a candidate again, for {judge} {before.status} it as it was before"


def finding_lines(findings: Sequence[RuleFinding], seen: Mapping[str, Location]) -> Iterator[str]:
    """The findings of a check: contradicted rules first, with the witnesses against them; undecidable ones last."""
    order = ("contradicted", "supported", "undecided")
    checked = (each for each in findings if each.rule.check)
    for finding in sorted(checked, key=lambda each: order.index(each.standing)):
        rule, evidence, before = finding.rule, finding.evidence, finding.rule.evidence
        was = f" (the book: {figures(before)})" if before and figures(before) != figures(evidence) else ""
        yield f"{finding.standing:<12}  {figures(evidence):>11}  {rule.id}: {rule.statement}{was}"
        yield from (f"{'':<14}against {witness}" for witness in evidence.against)
    by_id = {finding.rule.id: finding.rule for finding in findings}
    for name, location in seen.items():
        yield f"{'counted':<12}  {f'n={location.number}':>11}  {name}: {by_id[name].statement}"
        yield f"{'':<14}{'here':>11}  {location}"
    others = [each.rule.id for each in findings if not each.rule.check and each.rule.id not in seen]
    if others:
        yield f"{'not checked':<12}  {len(others):>11}  without a check, or not seen in these records: {', '.join(others)}"


def rule_json(rule: Rule) -> dict[str, object]:
    plain: dict[str, object] = asdict(replace(rule, check=None, history=()))
    plain |= {"check": str(rule.check) if rule.check else None, "standing": rule.standing}
    del plain["history"]  # it comes last
    plain["history"] = [
        {"did": edit.did, "field": edit.field, "by": edit.by, "was": edit.was, "date": edit.date and str(edit.date)}
        for edit in rule.history
    ]
    return plain
