"""The curator's desk as a value: a rulebook, the filter over its rules, what is marked, and what can be undone.

A change is a new `Desk`; `SavedDesk` saves its book and keeps the old desk if that fails, so that nothing is lost.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from functools import partial
from typing import Literal

from housequest.knowledge.judging import RuleFinding
from housequest.knowledge.mining import Location
from housequest.knowledge.rulebook import Rulebook, read_book, save
from housequest.knowledge.rules import KINDS, STATUSES, Evidence, Rule, RuleKind, RuleStatus, RuleVerdict, exclude
from housequest.tui.base_screen import in_thread
from housequest.tui.desk.records import CheckOutcome
from housequest.tui.desk.rule_text import task_types
from housequest.worlds.errors import ConfigurationError

CountedHere = RuleFinding | Location
"""What was counted for a rule: the evidence for its check, or where its thing was seen to lie."""
FilterPart = Literal["status", "kind", "type", "contradicted", "all"]
"""What a key changes; ``all`` takes everything away."""


@dataclass(frozen=True, slots=True)
class RuleFilter:
    """Which rules are shown: those that match all that is set. A ``type`` also fits the rules that name none."""

    status: RuleStatus | None = None
    kind: RuleKind | None = None
    type: str | None = None
    words: str = ""
    contradicted: bool = False

    def __bool__(self) -> bool:
        return self != RuleFilter()

    def fits(self, rule: Rule) -> bool:
        text = " ".join((rule.id, rule.statement, *rule.types, *rule.objects)).casefold()
        return (
            self.status in {None, rule.status}
            and self.kind in {None, rule.kind}
            and (not rule.types or self.type in {None, *rule.types})
            and (not self.contradicted or rule.evidence.contradicts > 0)
            and all(word in text for word in self.words.casefold().split())
        )

    def narrowed(self, part: FilterPart, types: Sequence[str]) -> RuleFilter:
        """The filter with the next value of ``part``; after the last one comes any. ``types`` are the task types."""
        if part == "all":
            return RuleFilter()
        every = {"status": (None, *STATUSES), "kind": (None, *KINDS), "type": (None, *types), "contradicted": (False, True)}
        values, now = every[part], getattr(self, part)
        after = values.index(now) + 1 if now in values else 0
        return replace(self, **{part: values[after % len(values)]})


@dataclass(frozen=True, slots=True)
class DeskChange:
    """A change that can be undone: its name for people, and the book before it."""

    name: str
    before: Rulebook


@dataclass(frozen=True, slots=True)
class Desk:
    """A rulebook being curated. ``at`` is the id of the highlighted rule, ``chosen`` the ids of the marked ones, in order.

    ``here`` is what the last check counted in the records here, by rule, beside what the book holds from elsewhere.
    """

    book: Rulebook
    filter: RuleFilter = RuleFilter()
    at: str | None = None
    chosen: tuple[str, ...] = ()
    done: tuple[DeskChange, ...] = field(default=(), repr=False)
    here: Mapping[str, CountedHere] = field(default_factory=dict[str, CountedHere], repr=False)

    @property
    def rules(self) -> tuple[Rule, ...]:
        """The rules that match the filter, in the order of the book."""
        return tuple(rule for rule in self.book.rules if self.filter.fits(rule))

    @property
    def rule(self) -> Rule | None:
        """The highlighted rule; if the filter hides it, as it may after it was judged, the next one."""
        shown = self.rules
        ids = [rule.id for rule in self.book.rules]
        if not shown or self.at not in ids:
            return shown[0] if shown else None
        after = set(ids[ids.index(self.at) :])
        return next((rule for rule in shown if rule.id in after), shown[-1])

    @property
    def types(self) -> tuple[str, ...]:
        """The types of task that rules can concern: those of the games, and others that the book names."""
        return tuple(dict.fromkeys((*task_types(self.book.world), *(name for rule in self.book.rules for name in rule.types))))

    @property
    def opposed(self) -> tuple[Rule, ...]:
        """Two rules to compare: the marked ones, or the highlighted one and one that contradicts it; else fewer."""
        if len(self.marked) == 2:
            return self.marked
        return (self.rule, *self.contraries(self.rule))[:2] if self.rule else ()

    @property
    def marked(self) -> tuple[Rule, ...]:
        """The marked rules in the order of marking, also those that the filter hides."""
        by_id = {rule.id: rule for rule in self.book.rules}
        return tuple(by_id[name] for name in self.chosen if name in by_id)

    def contraries(self, rule: Rule) -> tuple[Rule, ...]:
        """The rules that contradict ``rule``: one of the two notes that, or their checks exclude each other."""

        def opposed(other: Rule) -> bool:
            pairs = ((rule, other), (other, rule))
            noted = any(edit.did == "disputed" and edit.was == that.id for this, that in pairs for edit in this.history)
            return noted or exclude(rule.check, other.check)

        return tuple(other for other in self.book.rules if other.id != rule.id and opposed(other))

    def another(self, rule: Rule, other: Rule) -> Rule | None:
        """The next rule after ``other`` that also contradicts ``rule``; None where there is none."""
        others = self.contraries(rule)
        return others[(others.index(other) + 1) % len(others)] if other in others and len(others) > 1 else None

    def toggled(self, name: str) -> Desk:
        rest = tuple(each for each in self.chosen if each != name)
        return replace(self, chosen=rest if len(rest) < len(self.chosen) else (*rest, self.book.rule(name).id))

    def judged(self, status: RuleVerdict, *names: str) -> Desk:
        """The desk with these rules accepted or rejected; by default the marked ones, or the highlighted one."""
        rules = tuple(self.book.rule(name) for name in names) or self.marked or ((self.rule,) if self.rule else ())
        return self.put(status, [rule.judged(status) for rule in rules])

    def settled(self, kept: str, dropped: str) -> Desk:
        """The desk with ``kept`` accepted and ``dropped`` rejected, in one change."""
        rules = [self.book.rule(kept).judged("accepted"), self.book.rule(dropped).judged("rejected")]
        return self.put(f"{kept} kept, {dropped} rejected", rules)

    def checked(self, outcome: CheckOutcome) -> Desk:
        """The desk with what was found as the evidence of rules that are as they were; evidence from elsewhere stays."""
        by_id = {rule.id: rule for rule in self.book.rules}
        aside: dict[str, CountedHere] = {}
        rules: list[Rule] = []
        for found in outcome.findings:
            rule = by_id.get(found.rule.id)
            if rule and rule.check == found.rule.check and found.evidence:
                if _recounts(rule.evidence, found.evidence, outcome.records):
                    rules.append(rule.examined(found.evidence))
                else:
                    aside[rule.id] = found
        return replace(self.put("checked", rules), here={**aside, **outcome.seen})

    def recounted(self) -> Desk:
        """The desk with what was counted here as the evidence of the marked rules. Raises ``ConfigurationError``."""
        rules = self.marked or ((self.rule,) if self.rule else ())
        pairs = [(rule, found) for rule in rules if isinstance(found := self.here.get(rule.id), RuleFinding)]
        if not pairs:
            raise ConfigurationError("There are no other counts for it; v counts in the records that are here.")
        done = self.put("recounted", [rule.examined(found.evidence) for rule, found in pairs])
        taken = {rule.id for rule, _ in pairs}
        return replace(done, here={name: found for name, found in self.here.items() if name not in taken})

    def merged(self, statement: str | None = None) -> Desk:
        """The desk with the marked rules merged into the first, which says ``statement``. Raises ``ConfigurationError``."""
        if len(self.marked) < 2:
            raise ConfigurationError("Choose two rules or more to merge; the first chosen is the one that stays.")
        kept, *others = self.marked
        whole = kept.including(others)
        whole = whole if statement is None else whole.edited(replace(whole, statement=" ".join(statement.split())))
        done = self.put("merged", [whole, *(other.merged_into(kept) for other in others)])
        return replace(done, chosen=(), at=kept.id)

    def put(self, name: str, rules: Sequence[Rule]) -> Desk:
        """The desk with ``rules`` in its book, as a change; itself if nothing changes. Raises ``KnowledgeError``."""
        book = self.book.put(rules, date.today())
        return self if book is self.book else replace(self, book=book, done=(*self.done, DeskChange(name, self.book)))

    def undone(self) -> Desk:
        """The desk before its last change. Raises ``ConfigurationError`` if there is none."""
        if not self.done:
            raise ConfigurationError("Nothing was changed here: there is nothing to undo.")
        *earlier, last = self.done
        return replace(self, book=self.book.restored(last.before), done=tuple(earlier))


class SavedDesk:
    """A desk and its file: a change is saved before it counts, one at a time; the book changes through `do` alone."""

    def __init__(self, desk: Desk) -> None:
        self.desk = desk
        self._turn = asyncio.Lock()

    async def do(self, change: Callable[[Desk], Desk]) -> bool:
        """Apply ``change`` and save; whether the book changed. Raises ``HousequestError``; the desk is then as it was."""
        async with self._turn:
            before = self.desk
            after = await in_thread(partial(change, before))
            if after.book is before.book:
                self.desk = replace(self.desk, here=after.here)
                return False
            saved = replace(after, book=await in_thread(partial(save, after.book)))
            now = self.desk
            # What was looked at or marked meanwhile stays so, but for what the change itself moved.
            at = now.at if saved.at == before.at else saved.at
            chosen = now.chosen if saved.chosen == before.chosen else saved.chosen
            self.desk = replace(saved, filter=now.filter, at=at, chosen=chosen)
            return True

    async def read_again(self) -> None:
        """Read the book again, if it has a file; earlier changes cannot be undone any more. Raises ``KnowledgeError``."""

        def read(book: Rulebook) -> Rulebook:
            return read_book(book.path) if book.read is not None or os.path.lexists(book.path) else book

        async with self._turn:
            book = await in_thread(partial(read, self.desk.book))
            self.desk = replace(self.desk, book=book, done=())


def _recounts(before: Evidence, now: Evidence, records: Collection[str]) -> bool:
    """Whether ``now``, counted over ``records``, has all that ``before`` counted, as far as the witnesses tell."""
    named = {origin.rpartition("/")[0] for origin in (*before.witnesses, *before.against)}
    fewer = now.supports + now.contradicts < before.supports + before.contradicts
    return not before or (bool(named) and named.issubset(records) and not fewer)
