"""Decides checks on moments, in three values: a fact that the belief does not settle is unknown.

`examine` counts and names the moments that support or contradict rules. A check is compiled into closures once and evaluated
on many moments; `BeliefView` caches lookups that checks share.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

from housequest.knowledge.rules import ANYTHING, WITNESSES, Check, CheckVerdict, Evidence, Fact, Rule, Standing, Term
from housequest.worlds.base import Observation
from housequest.worlds.household.belief import Belief, Item, Receptacle, kind

Truth = bool | None
"""None: unknown."""
Bindings = Mapping[str, str]
_NAME = r"[A-Za-z][\w-]{0,59} [0-9]{1,6}"
_VARIABLE = re.compile(r"\{([a-z_]+)\}")


@dataclass(frozen=True, slots=True)
class Moment:
    """One executed command, with the belief before and after it. ``origin`` says where it is recorded; equal origins are the
    same transition. Moments in the same house, as it was at the start, have equal ``house``.
    """

    origin: str
    house: str
    before: Belief
    command: str
    observation: Observation
    after: Belief
    refused: bool


class BeliefView:
    """A belief with cached lookups for checks."""

    def __init__(self, belief: Belief) -> None:
        self.belief = belief
        self._elsewhere: dict[str, bool] = {}

    @cached_property
    def items(self) -> dict[str, Item]:
        return {one.name: one for one in self.belief.items}

    @cached_property
    def receptacles(self) -> dict[str, Receptacle]:
        return {one.name: one for one in self.belief.receptacles}

    @cached_property
    def here(self) -> dict[str, Receptacle]:
        return {one.name: one for one in self.belief.here()}

    def at(self, name: str) -> Truth:
        """True if the agent is at the location of this receptacle."""
        if name in self.here:
            return True
        if name not in self._elsewhere:
            self._elsewhere[name] = self.belief.is_elsewhere(name)
        return False if self._elsewhere[name] else None

    def holds(self, receptacle: str, fits: Callable[[str], bool]) -> Truth:
        """True if something that ``fits`` is in this receptacle, fixed or movable."""
        fixed = self.receptacles.get(receptacle)
        if fixed is None:
            movable = self.items.get(receptacle)
            return None if movable is None or movable.inside is None else any(map(fits, movable.inside))
        if fixed.contents is not None:
            return any(map(fits, fixed.contents))
        return True if any(map(fits, self.belief.inside(fixed))) else None

    def present(self, name: str) -> Truth:
        """True if this object lies in a receptacle at the agent's location."""
        if self.belief.at is None:
            return False
        if any(self.holds(one, name.__eq__) for one in self.here):
            return True
        # Unknown receptacles may share the location.
        where = self.items[name].where if self.belief.in_one_place and name in self.items else None
        return False if where is not None and self.at(where) is False else None


class Occasion(NamedTuple):
    """A moment prepared for checks."""

    moment: Moment
    before: BeliefView
    after: BeliefView


def occasions(moments: Iterable[Moment]) -> Iterator[Occasion]:
    """The ``moments`` prepared for checks, each once, even if several branches or files share it."""
    seen: set[str] = set()
    view: BeliefView | None = None
    for moment in moments:
        if moment.origin in seen:
            continue
        seen.add(moment.origin)
        before = view if view is not None and view.belief is moment.before else BeliefView(moment.before)
        # A refused command rarely changes the belief: one view is enough.
        view = before if moment.after is moment.before else BeliefView(moment.after)
        yield Occasion(moment, before, view)


FactReader = Callable[[BeliefView, Bindings], Truth]
_OutcomeReader = Callable[[Occasion, Bindings], Truth]


class CompiledCheck:
    """A check compiled for repeated evaluation."""

    def __init__(self, check: Check) -> None:
        self._before = [compile_fact(fact) for fact in check.before]
        self._then = [_outcome(fact) for fact in check.then]

    def verdict(self, now: Occasion, names: Bindings) -> CheckVerdict:
        """Evaluate the check on ``now``, whose command bound ``names``; undecided if the facts before do not hold."""
        if any(fact(now.before, names) is not True for fact in self._before):
            return "undecided"
        truths = [outcome(now, names) for outcome in self._then]
        return "contradicts" if False in truths else "undecided" if None in truths else "supports"


def command_pattern(command: str) -> re.Pattern[str]:
    """A pattern that matches the commands of a check and binds its variables as groups."""
    parts: list[str] = []
    for word in command.split(" "):
        found = _VARIABLE.fullmatch(word)
        known = found is not None and f"(?P<{found[1]}>{_NAME})" in parts
        parts.append(re.escape(word) if found is None else f"(?P={found[1]})" if known else f"(?P<{found[1]}>{_NAME})")
    return re.compile(" ".join(parts), re.ASCII)


def _outcome(fact: Fact) -> _OutcomeReader:
    if fact.relation == "refused":
        return lambda now, _: now.moment.refused is not fact.negated
    if fact.relation == "says":
        said = _said(fact.text)
        return lambda now, names: said(now.moment.observation.text, names) is not fact.negated
    read = compile_fact(fact)
    return lambda now, names: read(now.after, names)


def _said(pattern: str) -> Callable[[str, Bindings], bool]:
    """A test whether a text matches ``pattern``; it takes linear time for any text."""
    pieces = pattern.split(ANYTHING)

    def said(text: str, names: Bindings) -> bool:
        text = text.strip()
        first, *others = (_VARIABLE.sub(lambda found: names[found[1]], piece) for piece in pieces)
        if not others:
            return text == first
        *middle, last = others
        place = len(first)
        for piece in middle:
            found = text.find(piece, place)
            if found < 0:
                return False
            place = found + len(piece)
        return text.startswith(first) and text.endswith(last) and len(text) - len(last) >= place

    return said


def compile_fact(fact: Fact) -> FactReader:
    """A function that decides ``fact``, which must be about a belief."""
    plain = _positive(fact)

    def contrary(view: BeliefView, names: Bindings) -> Truth:
        truth = plain(view, names)
        return None if truth is None else not truth

    return contrary if fact.negated else plain


def _positive(fact: Fact) -> FactReader:
    subject, other = fact.subject or Term("nothing"), fact.other or Term("kinds")
    fits = _fits(subject)
    match fact.relation:
        case "holding" if subject.shape == "nothing":
            return lambda view, _: not view.belief.carried
        case "holding":
            return lambda view, names: any(map(fits(names), view.belief.carried))
        case "free":
            return lambda view, _: len(view.belief.carried) < view.belief.hands
        case "at" if subject.shape == "nothing":
            return lambda view, _: view.belief.at is None
        case "at":
            return lambda view, names: _any(map(view.at, _things(subject, view, names)))
        case "in":
            return lambda view, names: _any(view.holds(name, fits(names)) for name in _things(other, view, names))
        case "kind":
            kinds = frozenset(other.words)
            return lambda view, names: _any(_is_a(view, name, kinds) for name in _things(subject, view, names))
        case _:
            return lambda view, names: _any(_is(view, name, fact.text) for name in _things(subject, view, names))


def _fits(term: Term) -> Callable[[Bindings], Callable[[str], bool]]:
    """Given the variables' values, a test whether a name is one that ``term`` means."""
    word, kinds = term.words[0] if term.words else "", frozenset(term.words)
    match term.shape:
        case "variable":
            return lambda names: names[word].__eq__
        case "name":
            return lambda _: word.__eq__
        case _:
            return lambda _: lambda name: kind(name) in kinds


def _things(term: Term, view: BeliefView, names: Bindings) -> Iterable[str]:
    """The thing that ``term`` names, or all known ones of its kinds."""
    if term.shape == "variable":
        return (names[term.words[0]],)
    if term.shape == "name":
        return term.words
    return [name for known in (view.receptacles, view.items) for name in known if kind(name) in term.words]


def _any(truths: Iterable[Truth]) -> Truth:
    """True if one of them is true; unknown if there are none, because unseen things may exist."""
    found: Truth = None
    for truth in truths:
        if truth:
            return True
        if truth is None:
            return None if not any(truths) else True
        found = False
    return found


def _is_a(view: BeliefView, name: str, kinds: frozenset[str]) -> Truth:
    if kind(name) in kinds:
        return True
    if name in view.receptacles:
        return "receptacle" in kinds
    # The opening lists all furniture: any other name is an object's, or does not exist.
    return "object" in kinds if name in view.items else None if kinds & {"object", "receptacle"} else False


def _is(view: BeliefView, name: str, state: str) -> Truth:
    place, item = view.receptacles.get(name), view.items.get(name)
    match state:
        case "open" | "closed" | "surface":
            return None if place is None or place.openness is None else place.openness == state
        case "empty":
            held = view.holds(name, lambda _: True)
            return None if held is None else not held
        case "here":
            return view.present(name)
        case "known":
            return item is not None or place is not None
        case _ if item is None:
            return None
        case "hot":
            return None if item.heat is None else item.heat == "hot"
        case "cool":  # Something both hot and cool counts as hot.
            return None if item.heat in {None, "hot"} else item.heat == "cool"
        case _:
            return {"clean": item.clean, "sliced": item.sliced, "lit": item.lit}[state]


class RuleFinding(NamedTuple):
    """The evidence found for a rule. A rule without a check gets none and is undecided."""

    rule: Rule
    evidence: Evidence

    @property
    def standing(self) -> Standing:
        return replace(self.rule, evidence=self.evidence).standing


def examine(rules: Sequence[Rule], moments: Iterable[Moment]) -> tuple[RuleFinding, ...]:
    """Evaluate each of ``rules``, in order, on ``moments``; equal origins count once."""
    # The moments for and against each rule, by origin.
    tallies: list[dict[CheckVerdict, list[str]]] = [{"supports": [], "contradicts": []} for _ in rules]
    # By verb, then by command pattern, which is matched once for all checks that share it.
    forms: dict[str, dict[re.Pattern[str], list[tuple[CompiledCheck, dict[CheckVerdict, list[str]]]]]] = {}
    for rule, tally in zip(rules, tallies, strict=True):
        if rule.check:
            verb = rule.check.command.partition(" ")[0]
            alike = forms.setdefault(verb, {}).setdefault(command_pattern(rule.check.command), [])
            alike.append((CompiledCheck(rule.check), tally))
    for now in occasions(moments):
        command = now.moment.command.strip()
        for pattern, alike in forms.get(command.partition(" ")[0], {}).items():
            if (found := pattern.fullmatch(command)) is not None:
                for check, tally in alike:
                    if (verdict := check.verdict(now, found.groupdict())) in tally:
                        tally[verdict].append(now.moment.origin)
    evidence = (
        Evidence(len(found), len(against), tuple(found[:WITNESSES]), tuple(against[:WITNESSES]))
        for found, against in (tally.values() for tally in tallies)
    )
    return tuple(map(RuleFinding, rules, evidence))
