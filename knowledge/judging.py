"""Decides checks on moments, in three values: a fact that the belief does not settle is unknown.

`examine` counts and names the moments that support or contradict rules. `BeliefView` caches lookups that checks share.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache, partial

from knowledge.checks import ANYTHING, Check, CheckVerdict, Fact, Term
from knowledge.moments import Moment
from knowledge.rules import WITNESSES, Evidence, Rule, Standing
from worlds.household.belief import Belief, Item, Receptacle, kind

Truth = bool | None
"""None: unknown."""

Bindings = Mapping[str, str]
"""The values of a command's variables."""

_NAME = r"[A-Za-z][\w-]{0,59} [0-9]{1,6}"
_VARIABLE = re.compile(r"\{([a-z_]+)\}")


class BeliefView:
    """A belief with cached lookups for checks."""

    def __init__(self, belief: Belief) -> None:
        self.belief = belief
        self._elsewhere: dict[str, bool] = {}

    @cached_property
    def items(self) -> dict[str, Item]:
        """The objects by name."""
        return {one.name: one for one in self.belief.items}

    @cached_property
    def receptacles(self) -> dict[str, Receptacle]:
        """The receptacles by name."""
        return {one.name: one for one in self.belief.receptacles}

    @cached_property
    def here(self) -> dict[str, Receptacle]:
        """The receptacles known to be at the agent's location."""
        return {one.name: one for one in self.belief.here()}

    def at(self, name: str) -> Truth:
        """Whether the agent is at the location of this receptacle."""
        if name in self.here:
            return True
        if name not in self._elsewhere:
            self._elsewhere[name] = self.belief.is_elsewhere(name)
        return False if self._elsewhere[name] else None

    def holds(self, receptacle: str, fits: Callable[[str], bool]) -> Truth:
        """Whether something that ``fits`` is in this receptacle, fixed or movable."""
        fixed = self.receptacles.get(receptacle)
        if fixed is None:
            movable = self.items.get(receptacle)
            return None if movable is None or movable.inside is None else any(map(fits, movable.inside))
        if fixed.contents is not None:
            return any(map(fits, fixed.contents))
        return True if any(map(fits, self.belief.inside(fixed))) else None

    def present(self, name: str) -> Truth:
        """Whether this object lies in a receptacle at the agent's location."""
        if self.belief.at is None:
            return False
        # Unknown receptacles may share the location, and a thing may lie in two places.
        return True if any(self.holds(one, name.__eq__) for one in self.here) else None

    def is_a(self, name: str, kinds: Sequence[str]) -> Truth:
        """Whether the thing of this name is of one of ``kinds``."""
        if kind(name) in kinds:
            return True
        if name in self.receptacles:
            return "receptacle" in kinds
        # The opening lists all furniture: any other name is an object's, or does not exist.
        if name in self.items:
            return "object" in kinds
        return None if {"object", "receptacle"}.intersection(kinds) else False

    def is_in_state(self, name: str, state: str) -> Truth:
        """Whether the thing of this name is in this state, one of ``STATES``."""
        match state:
            case "empty":
                return _contrary(self.holds(name, lambda _: True))
            case "here":
                return self.present(name)
            case "known":
                return name in self.items or name in self.receptacles
            case "open" | "closed" | "surface":
                openness = self.receptacles[name].openness if name in self.receptacles else None
                return None if openness is None else openness == state
            case _:
                return _is(self.items[name], state) if name in self.items else None


def _is(item: Item, state: str) -> Truth:
    match state:
        case "clean":
            return item.clean
        case "sliced":
            return item.sliced
        case "lit":
            return item.lit
        case _:
            # Something both hot and cool counts as hot, so it may be cool.
            return None if item.heat is None or (item.heat, state) == ("hot", "cool") else item.heat == state


@dataclass(frozen=True, slots=True)
class Occasion:
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


@lru_cache(4096)
def command_pattern(command: str) -> re.Pattern[str]:
    """A pattern that matches the commands of a check and binds its variables as groups."""
    parts: list[str] = []
    for word in command.split(" "):
        found = _VARIABLE.fullmatch(word)
        known = found is not None and f"(?P<{found[1]}>{_NAME})" in parts
        parts.append(re.escape(word) if found is None else f"(?P={found[1]})" if known else f"(?P<{found[1]}>{_NAME})")
    return re.compile(" ".join(parts), re.ASCII)


def decide_check(check: Check, now: Occasion, names: Bindings) -> CheckVerdict:
    """Decide ``check`` on an occasion whose command bound ``names``; undecided if the facts before do not hold."""
    if any(truth(fact, now.before, names) is not True for fact in check.before):
        return "undecided"
    outcomes = [_outcome(fact, now, names) for fact in check.then]
    return "contradicts" if False in outcomes else "undecided" if None in outcomes else "supports"


def _outcome(fact: Fact, now: Occasion, names: Bindings) -> Truth:
    if fact.relation == "refused":
        return now.moment.refused is not fact.negated
    if fact.relation == "says":
        return _says(fact.text, now.moment.observation.text.strip(), names) is not fact.negated
    return truth(fact, now.after, names)


def truth(fact: Fact, view: BeliefView, names: Bindings) -> Truth:
    """Whether ``fact``, which must be about a belief, holds."""
    return _contrary(_positive(fact, view, names)) if fact.negated else _positive(fact, view, names)


def _contrary(found: Truth) -> Truth:
    return None if found is None else not found


def _positive(fact: Fact, view: BeliefView, names: Bindings) -> Truth:
    subject, other = fact.subject or Term("nothing"), fact.other or Term("nothing")
    match fact.relation:
        case "holding" if subject.shape == "nothing":
            return view.belief.held is None
        case "holding":
            return view.belief.held is not None and _means(subject, names, view.belief.held)
        case "at" if subject.shape == "nothing":
            return view.belief.at is None
        case "at":
            return _any(view.at(name) for name in _things(subject, view, names))
        case "in":
            fits = partial(_means, subject, names)
            return _any(view.holds(name, fits) for name in _things(other, view, names))
        case "kind":
            return _any(view.is_a(name, other.words) for name in _things(subject, view, names))
        case _:
            return _any(view.is_in_state(name, fact.text) for name in _things(subject, view, names))


def _means(term: Term, names: Bindings, name: str) -> bool:
    """Whether ``term`` means the thing of this ``name``."""
    match term.shape:
        case "variable":
            return name == names[term.words[0]]
        case "name":
            return name == term.words[0]
        case _:
            return kind(name) in term.words


def _things(term: Term, view: BeliefView, names: Bindings) -> Iterable[str]:
    if term.shape == "variable":
        return (names[term.words[0]],)
    if term.shape == "name":
        return term.words
    return [name for known in (view.receptacles, view.items) for name in known if kind(name) in term.words]


def _any(truths: Iterable[Truth]) -> Truth:
    """Whether one of them is true; unknown if there are none, because unseen things may exist."""
    found = set(truths)
    return True if True in found else False if found == {False} else None


def _says(pattern: str, text: str, names: Bindings) -> bool:
    """Whether ``text`` matches ``pattern``, in linear time."""
    first, *others = (_VARIABLE.sub(lambda found: names[found[1]], piece) for piece in pattern.split(ANYTHING))
    if not others:
        return text == first
    *middle, last = others
    if not text.startswith(first):
        return False
    place = len(first)
    for piece in middle:
        found = text.find(piece, place)
        if found < 0:
            return False
        place = found + len(piece)
    return text.endswith(last) and len(text) - len(last) >= place


@dataclass(frozen=True, slots=True)
class RuleFinding:
    """The evidence found for a rule. A rule without a check gets none and is undecided."""

    rule: Rule
    evidence: Evidence

    @property
    def standing(self) -> Standing:
        """The verdict of the evidence."""
        return replace(self.rule, evidence=self.evidence).standing


def examine(rules: Sequence[Rule], moments: Iterable[Moment]) -> tuple[RuleFinding, ...]:
    """Evaluate each of ``rules``, in order, on ``moments``; equal origins count once."""
    # By verb, then by command pattern, which is matched once for all checks that share it.
    forms: dict[str, dict[str, list[tuple[str, Check]]]] = {}
    for rule in rules:
        if rule.check:
            command = rule.check.command
            forms.setdefault(command.partition(" ")[0], {}).setdefault(command, []).append((rule.id, rule.check))
    supports, contradicts = defaultdict[str, list[str]](list), defaultdict[str, list[str]](list)
    for now in occasions(moments):
        command = now.moment.command.strip()
        for form, alike in forms.get(command.partition(" ")[0], {}).items():
            if found := command_pattern(form).fullmatch(command):
                names = found.groupdict()
                for name, check in alike:
                    said = decide_check(check, now, names)
                    if said != "undecided":
                        (supports if said == "supports" else contradicts)[name].append(now.moment.origin)
    return tuple(RuleFinding(rule, _evidence(supports[rule.id], contradicts[rule.id])) for rule in rules)


def _evidence(supports: Sequence[str], contradicts: Sequence[str]) -> Evidence:
    return Evidence(len(supports), len(contradicts), tuple(supports[:WITNESSES]), tuple(contradicts[:WITNESSES]))
