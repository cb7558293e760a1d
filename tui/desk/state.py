"""The curator's desk as a value, and what it reads: rulebooks, and records that rules are checked against.

A change is a new `Desk`. A check reports its progress and can be cancelled. What reads files is to be called in a thread.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from pathlib import Path
from threading import Event as Flag
from time import monotonic
from typing import Literal, NamedTuple, get_args

from housequest.agent.episodes.moments import OtherWorld, episode_files, moments
from housequest.agent.episodes.record import read_episode
from housequest.knowledge.checks import exclude
from housequest.knowledge.judging import Moment, RuleFinding, examine
from housequest.knowledge.mining import Sightings
from housequest.knowledge.rulebook import Rulebook, RuleDifference, differences, library
from housequest.knowledge.rules import KINDS, STATUSES, Evidence, Rule, RuleKind, RuleStatus, RuleVerdict, Standing
from housequest.knowledge.sentences import Location
from housequest.tui.desk.rule_text import task_types
from housequest.tui.text import plural
from housequest.worlds.errors import ConfigurationError, KnowledgeError
from housequest.worlds.registry import DEFAULT_WORLD, plugins

FIRST = "mine"
"""The name of a person's first book unless they choose another."""
OFTEN = 0.1
"""Seconds between two reports of a check's progress."""


class BookSummary(NamedTuple):
    """A rulebook in the library: how many rules it has of each status, or why it cannot be read."""

    name: str
    path: Path
    shipped: bool
    accepted: int = 0
    candidates: int = 0
    rejected: int = 0
    fault: str = ""
    world: str = ""


def explores() -> bool:
    """Return True if the command that explores, an optional part, is installed."""
    return "explore" in plugins("housequest.commands")


def list_books() -> tuple[BookSummary, ...]:
    """The books in the library, by name."""
    books = library()
    found: list[BookSummary] = []
    for name in books.names():
        path = books.find(name)
        shipped = books.is_shipped(path)
        try:
            book = books.open(name)
        except KnowledgeError as error:
            found.append(BookSummary(name, path, shipped, fault=str(error).replace(str(path), path.name)))
            continue
        of = Counter(rule.status for rule in book.rules)
        found.append(BookSummary(name, path, shipped, of["accepted"], of["candidate"], of["rejected"], world=book.world))
    return tuple(found)


def open_book(name: str, *, new: bool = True, world: str | None = None) -> tuple[Rulebook, bool]:
    """A book to be changed, by name or file; a new one if ``new``, about ``world`` if given. Raises ``KnowledgeError``.

    Returns also whether it is the user's copy of one that ships, which the first save makes.
    """
    books = library()
    book = books.writable(name, world) if world else books.writable(name) if new else books.editable(name)
    return book, name in books.names() and books.is_shipped(books.find(name))


def latest_book(world: str = DEFAULT_WORLD) -> str:
    """The name of the user's book about ``world`` that changed last; a new name if they have none."""
    every = list_books()
    own = [book.path for book in every if not book.shipped and book.world == world]
    if own:
        return max(own, key=lambda path: path.stat().st_mtime if path.is_file() else 0.0).stem
    return FIRST if FIRST not in {book.name for book in every} else world


@dataclass(slots=True)
class CheckProgress:
    """The progress of a check: episodes and commands so far, damaged records, and those of ``others``, other worlds."""

    episodes: int
    read: int = 0
    commands: int = 0
    damaged: list[str] = field(default_factory=list[str])
    others: int = 0

    def __str__(self) -> str:
        return f"{self.read:,} of {self.episodes:,} episodes, {self.commands:,} commands"


@dataclass(frozen=True, slots=True)
class CheckOutcome:
    """The findings of a check in ``records`` (run/task); ``seen``: locations that rules without a check are about."""

    findings: tuple[RuleFinding, ...]
    progress: CheckProgress
    records: frozenset[str] = frozenset()
    seen: Mapping[str, Location] = field(default_factory=dict[str, Location])

    def __str__(self) -> str:
        standings: tuple[Standing, ...] = get_args(Standing)
        found = [finding.standing for finding in self.findings if finding.rule.check]
        counts = ", ".join(f"{found.count(each)} {each}" for each in standings)
        counts += f", {len(self.seen)} counted" if self.seen else ""
        damaged, others = len(self.progress.damaged), self.progress.others
        left = f"; {plural(damaged, 'damaged record')} left out" if damaged else ""
        left += f"; {plural(others, 'record')} of other worlds left out" if others else ""
        played = f"{plural(self.progress.commands, 'command')} of {plural(self.progress.episodes, 'episode')}"
        return f"{counts}; {played}{left}"


def located(rule: Rule) -> str:
    """The kind of thing whose place ``rule`` states without a check, so that it can be counted anew; empty for other rules."""
    return rule.objects[0] if rule.kind == "location" and rule.check is None and len(rule.objects) == 1 else ""


def _home_of(moment: Moment) -> str:
    """The home in which something happened, such as household:7; empty for any other house."""
    _, split, *_ = moment.house.split("/")
    return split if ":" in split else ""


def check_rules(
    rules: Sequence[Rule],
    places: Callable[[], Sequence[Path]],
    report: Callable[[CheckProgress], object] = lambda _: None,
    world: str | None = None,
    off: Flag | None = None,
) -> CheckOutcome | None:
    """Check ``rules`` about ``world`` against all records under ``places``; return None if ``off`` was set, which cancels.

    ``report`` is told how far it is. Raises ``ConfigurationError`` where nothing is recorded.
    """
    if not (found := episode_files(places())):
        raise ConfigurationError(
            "Nothing was recorded yet that rules could be checked against; play, or run `housequest eval`."
        )
    progress, sightings, off = CheckProgress(len(found)), Sightings(), off or Flag()
    homes = defaultdict[str, Sightings](lambda: Sightings(by_name=True))

    def recorded() -> Iterator[Moment]:
        reported = 0.0
        for record in found:
            if monotonic() - reported >= OFTEN:
                report(replace(progress))
                reported = monotonic()
            try:
                for moment in moments(read_episode(record.path), record.run, record.task, world):
                    if off.is_set():
                        return
                    progress.commands += 1
                    sightings.add(moment)
                    if home := _home_of(moment):
                        homes[home].add(moment)
                    yield moment
            except OtherWorld:
                progress.others += 1
            except ConfigurationError as error:
                progress.damaged.append(str(error))
            progress.read += 1

    findings = examine(rules, recorded())
    lying = {each.thing: each for each in sightings.locations()}
    at_home = {home: {each.thing: each for each in lived.locations()} for home, lived in homes.items()}

    def counted(rule: Rule) -> Location | None:
        lived_in = set(rule.homes) or set(at_home)
        known = at_home.get(lived_in.pop(), {}) if len(lived_in) == 1 else dict[str, Location]()
        return (lying if rule.scope == "world" else known).get(located(rule))

    seen = {rule.id: there for rule in rules if (there := counted(rule)) is not None}
    records = frozenset(f"{record.run}/{record.task}" for record in found)
    return None if off.is_set() else CheckOutcome(findings, progress, records, seen)


CountedHere = RuleFinding | Location
"""The counts for a rule: evidence for its check, or the places where its thing was seen."""
FilterPart = Literal["status", "kind", "type", "contradicted", "all"]
"""The part of the filter that a key changes; ``all`` clears the filter."""


@dataclass(frozen=True, slots=True)
class RuleFilter:
    """Shows the rules that match all that is set. A ``type`` also fits the rules that name none."""

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
class Desk:
    """A rulebook being curated. ``at`` is the id of the highlighted rule, ``chosen`` the ids of the marked ones, in order.

    ``done`` are the changes that can be undone: what people call each, and the book before it. ``here`` is what the last check
    counted in the records here, by rule, beside what the book holds from elsewhere. With another book ``beside`` it, the rules
    are those that differ there.
    """

    book: Rulebook
    filter: RuleFilter = RuleFilter()
    at: str | None = None
    chosen: tuple[str, ...] = ()
    done: tuple[tuple[str, Rulebook], ...] = field(default=(), repr=False)
    here: Mapping[str, CountedHere] = field(default_factory=dict[str, CountedHere], repr=False)
    beside: Rulebook | None = None

    @property
    def differences(self) -> tuple[RuleDifference, ...]:
        """The rules that are not the same in the book beside this one."""
        return differences(self.book, self.beside) if self.beside else ()

    @property
    def difference(self) -> RuleDifference | None:
        """The highlighted difference, else the first."""
        found = self.differences
        return next((each for each in found if each.id == self.at), found[0] if found else None)

    @property
    def rules(self) -> tuple[Rule, ...]:
        """The rules that match the filter, in the order of the book."""
        if self.beside:
            return tuple(each.one for each in self.differences if each.one)
        return tuple(rule for rule in self.book.rules if self.filter.fits(rule))

    @property
    def rule(self) -> Rule | None:
        """The highlighted rule; if the filter hides it, as it may after it was judged, the next one."""
        if self.beside:
            return self.difference.one if self.difference else None
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
        """The next rule after ``other`` that also contradicts ``rule``; None if there is none."""
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

    def taken(self, name: str) -> Desk:
        """The desk with the rule ``name`` as the book beside it has it; what changes is in the rule's history."""
        mine, theirs, _ = next(each for each in self.differences if each.id == name)
        assert theirs is not None
        if mine is not None:
            edited = mine.edited(theirs)
            edited = edited if edited.evidence else replace(edited, evidence=theirs.evidence, origin=theirs.origin)
            status = theirs.status
            theirs = replace(edited, status=status) if status == "candidate" else edited.judged(status)
        return self.put(f"{name} taken", [theirs])

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
        return self if book is self.book else replace(self, book=book, done=(*self.done, (name, self.book)))

    def undone(self) -> Desk:
        """The desk before its last change. Raises ``ConfigurationError`` if there is none."""
        if not self.done:
            raise ConfigurationError("Nothing was changed here: there is nothing to undo.")
        *earlier, (_, before) = self.done
        return replace(self, book=self.book.restored(before), done=tuple(earlier))


def _recounts(before: Evidence, now: Evidence, records: Collection[str]) -> bool:
    """Return True if ``now``, counted over ``records``, includes all of ``before``, as far as the witnesses tell."""
    named = {origin.rpartition("/")[0] for origin in (*before.witnesses, *before.against)}
    fewer = now.supports + now.contradicts < before.supports + before.contradicts
    return not before or (bool(named) and named.issubset(records) and not fewer)
