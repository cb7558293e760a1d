"""The curator's desk as a value: a rulebook, which of its rules are looked at, which are chosen, and what can be undone.

Nothing here reads or writes a file. A change is a new ``Desk``; whoever saves its ``book`` hands the saved one back by
``saved``, and drops the new desk where the save was refused, so that nothing is lost.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from agent.explorer.filtering import exclude
from knowledge.evidence import Finding
from knowledge.rulebook import Rulebook
from knowledge.rules import Kind, Rule, Status, Verdict
from tui.desk.rule_text import today
from worlds.errors import ConfigurationError
from worlds.household.goals import TASK_TYPES


@dataclass(frozen=True, slots=True)
class RuleFilter:
    """Which rules are looked at; a rule must fit all that is set.

    ``type`` is a task type: rules that name none concern it too. ``words`` are sought in a rule's id, statement, types and
    objects.
    """

    status: Status | None = None
    kind: Kind | None = None
    type: str | None = None
    words: str = ""
    contradicted: bool = False

    def __bool__(self) -> bool:
        return self != RuleFilter()

    def fits(self, rule: Rule) -> bool:
        """Whether ``rule`` is looked at."""
        if self.status not in {None, rule.status} or self.kind not in {None, rule.kind}:
            return False
        if self.type is not None and rule.types and self.type not in rule.types:
            return False
        if self.contradicted and not rule.evidence.contradicts:
            return False
        text = " ".join((rule.id, rule.statement, *rule.types, *rule.objects)).casefold()
        return all(word in text for word in self.words.casefold().split())


@dataclass(frozen=True, slots=True)
class DeskChange:
    """Something that was done at this sitting: its name for people, and the book before it."""

    name: str
    before: Rulebook


@dataclass(frozen=True, slots=True)
class Desk:
    """A rulebook as it is curated. ``at`` is the id of the rule that is looked at, ``chosen`` those marked, in that order."""

    book: Rulebook
    filter: RuleFilter = RuleFilter()
    at: str | None = None
    chosen: tuple[str, ...] = ()
    done: tuple[DeskChange, ...] = field(default=(), repr=False)

    @property
    def rules(self) -> tuple[Rule, ...]:
        """The rules that the filter lets through, in the order of the book."""
        return tuple(rule for rule in self.book.rules if self.filter.fits(rule))

    @property
    def rule(self) -> Rule | None:
        """The rule that is looked at; where that one is filtered out, as one that was just judged may be, the next one."""
        shown = self.rules
        ids = [rule.id for rule in self.book.rules]
        if not shown or self.at not in ids:
            return shown[0] if shown else None
        after = set(ids[ids.index(self.at) :])
        return next((rule for rule in shown if rule.id in after), shown[-1])

    @property
    def types(self) -> tuple[str, ...]:
        """The types of task that rules can concern: those of the games, and others that the book names."""
        return tuple(dict.fromkeys((*TASK_TYPES, *(name for rule in self.book.rules for name in rule.types))))

    @property
    def opposed(self) -> tuple[Rule, ...]:
        """Two rules to be put side by side: those marked, or the one looked at and one that contradicts it; else fewer."""
        if len(self.marked) == 2:
            return self.marked
        return (self.rule, *self.contraries(self.rule))[:2] if self.rule else ()

    @property
    def marked(self) -> tuple[Rule, ...]:
        """The chosen rules, in the order in which they were chosen; a filter does not hide them."""
        by_id = {rule.id: rule for rule in self.book.rules}
        return tuple(by_id[name] for name in self.chosen if name in by_id)

    def filtered(self, wanted: RuleFilter) -> Desk:
        """The desk with other rules looked at."""
        return replace(self, filter=wanted)

    def looking(self, name: str) -> Desk:
        """The desk with another rule looked at."""
        return replace(self, at=name)

    def contraries(self, rule: Rule) -> tuple[Rule, ...]:
        """The rules that cannot be true together with ``rule``: one of the two says so, or their checks exclude each other."""
        return tuple(
            other
            for other in self.book.rules
            if other.id != rule.id and (_disputes(rule, other) or _disputes(other, rule) or exclude(rule.check, other.check))
        )

    def another(self, rule: Rule, other: Rule) -> Rule | None:
        """The rule after ``other`` that contradicts ``rule`` too; None where there is none."""
        others = self.contraries(rule)
        return others[(others.index(other) + 1) % len(others)] if other in others and len(others) > 1 else None

    def toggled(self, name: str) -> Desk:
        """The desk with a rule chosen, or no longer."""
        rest = tuple(each for each in self.chosen if each != name)
        return replace(self, chosen=rest if len(rest) < len(self.chosen) else (*rest, self.book.rule(name).id))

    def judged(self, status: Verdict, *names: str) -> Desk:
        """The desk with the rules of these ids accepted or rejected; none given, the chosen ones, or the one looked at."""
        rules = tuple(self.book.rule(name) for name in names) or self.marked or ((self.rule,) if self.rule else ())
        return self.put(status, [rule.judged(status) for rule in rules])

    def settled(self, kept: str, dropped: str) -> Desk:
        """The desk with the rule ``kept`` accepted and ``dropped`` rejected, as one deed."""
        rules = [self.book.rule(kept).judged("accepted"), self.book.rule(dropped).judged("rejected")]
        return self.put(f"{kept} kept, {dropped} rejected", rules)

    def checked(self, findings: Sequence[Finding]) -> Desk:
        """The desk with what was found for its rules as their evidence.

        A rule whose check has changed since, or that is gone, is left as it is.
        """
        by_id = {rule.id: rule for rule in self.book.rules}
        found: list[Rule] = []
        for finding in findings:
            rule = by_id.get(finding.rule.id)
            if rule is not None and rule.check == finding.rule.check:
                found.append(rule.examined(finding.evidence))
        return self.put("checked", found)

    def merged(self, statement: str | None = None) -> Desk:
        """The desk with the chosen rules as one, the first, which says ``statement`` from now on.

        Raises ``ConfigurationError`` unless there are two.
        """
        if len(self.marked) < 2:
            raise ConfigurationError("Choose two rules or more to merge; the first chosen is the one that stays.")
        kept, *others = self.marked
        whole = kept.including(others)
        whole = whole if statement is None else whole.edited(replace(whole, statement=" ".join(statement.split())))
        done = self.put("merged", [whole, *(other.merged_into(kept) for other in others)])
        return replace(done, chosen=(), at=kept.id)

    def put(self, name: str, rules: Sequence[Rule]) -> Desk:
        """The desk with ``rules`` in its book, as a deed that can be undone; the same desk where they change nothing.

        Raises ``KnowledgeError`` for what a rulebook cannot hold.
        """
        book = self.book.put(rules, today())
        return self if book is self.book else replace(self, book=book, done=(*self.done, DeskChange(name, self.book)))

    def undone(self) -> Desk:
        """The desk before its last deed, to be saved over what became of it. Raises ``ConfigurationError`` if there is none."""
        if not self.done:
            raise ConfigurationError("Nothing was changed at this sitting: there is nothing to undo.")
        *earlier, last = self.done
        return replace(self, book=self.book.restored(last.before), done=tuple(earlier))

    def saved(self, book: Rulebook) -> Desk:
        """The desk after its book was saved, as ``book``."""
        return replace(self, book=book)

    def reloaded(self, book: Rulebook) -> Desk:
        """The desk over the file as somebody else left it. What was done before is not undone over their changes."""
        return replace(self, book=book, done=())


def _disputes(one: Rule, other: Rule) -> bool:
    """Whether ``one`` has a note that it and ``other`` exclude each other."""
    return any(edit.did == "disputed" and edit.was == other.id for edit in one.history)
