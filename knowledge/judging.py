"""Decides checks on moments, in three values: a fact that the belief does not settle is unknown.

`examine` counts and names the moments that support or contradict rules. A check is compiled into closures once and evaluated
on many moments.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

from housequest.knowledge.checks import ANYTHING, Check, CheckVerdict, Fact, Term
from housequest.knowledge.rules import WITNESSES, Evidence, Rule, Standing
from housequest.worlds.base import Observation
from housequest.worlds.household.belief import Belief, kind

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


def distinct(moments: Iterable[Moment]) -> Iterator[Moment]:
    """The ``moments``, each once, even if several branches or files share it."""
    seen: set[str] = set()
    for moment in moments:
        if moment.origin not in seen:
            seen.add(moment.origin)
            yield moment


FactReader = Callable[[Belief, Bindings], Truth]
_OutcomeReader = Callable[[Moment, Bindings], Truth]


class CompiledCheck:
    """A check compiled for repeated evaluation."""

    def __init__(self, check: Check) -> None:
        self._before = [compile_fact(fact) for fact in check.before]
        self._then = [_outcome(fact) for fact in check.then]

    def verdict(self, now: Moment, names: Bindings) -> CheckVerdict:
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
        return lambda now, _: now.refused is not fact.negated
    if fact.relation == "says":
        said = _said(fact.text)
        return lambda now, names: said(now.observation.text, names) is not fact.negated
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

    def contrary(belief: Belief, names: Bindings) -> Truth:
        truth = plain(belief, names)
        return None if truth is None else not truth

    return contrary if fact.negated else plain


def _positive(fact: Fact) -> FactReader:
    subject, other = fact.subject or Term("nothing"), fact.other or Term("kinds")
    fits = _fits(subject)
    match fact.relation:
        case "holding" if subject.shape == "nothing":
            return lambda belief, _: not belief.carried
        case "holding":
            return lambda belief, names: any(map(fits(names), belief.carried))
        case "free":
            return lambda belief, _: len(belief.carried) < belief.hands
        case "at" if subject.shape == "nothing":
            return lambda belief, _: belief.at is None
        case "at":
            return lambda belief, names: _any(map(partial(_at, belief), _things(subject, belief, names)))
        case "in":
            return lambda belief, names: _any(_holds(belief, name, fits(names)) for name in _things(other, belief, names))
        case "kind":
            kinds = frozenset(other.words)
            return lambda belief, names: _any(_is_a(belief, name, kinds) for name in _things(subject, belief, names))
        case _:
            return lambda belief, names: _any(_is(belief, name, fact.text) for name in _things(subject, belief, names))


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


def _things(term: Term, belief: Belief, names: Bindings) -> Iterable[str]:
    """The thing that ``term`` names, or all known ones of its kinds."""
    if term.shape == "variable":
        return (names[term.words[0]],)
    if term.shape == "name":
        return term.words
    return [name for known in (belief.places, belief.things) for name in known if kind(name) in term.words]


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


def _at(belief: Belief, name: str) -> Truth:
    """True if the agent is at the location of this receptacle."""
    return True if belief.is_here(name) else False if belief.is_elsewhere(name) else None


def _holds(belief: Belief, receptacle: str, fits: Callable[[str], bool]) -> Truth:
    """True if something that ``fits`` is in this receptacle, fixed or movable."""
    fixed = belief.receptacle(receptacle)
    if fixed is None:
        movable = belief.item(receptacle)
        return None if movable is None or movable.inside is None else any(map(fits, movable.inside))
    if fixed.contents is not None:
        return any(map(fits, fixed.contents))
    return True if any(map(fits, belief.inside(fixed))) else None


def _present(belief: Belief, name: str) -> Truth:
    """True if this object lies in a receptacle at the agent's location."""
    if belief.at is None:
        return False
    if any(_holds(belief, one.name, name.__eq__) for one in belief.here()):
        return True
    # Unknown receptacles may share the location.
    item = belief.item(name) if belief.in_one_place else None
    return False if item and item.where is not None and _at(belief, item.where) is False else None


def _is_a(belief: Belief, name: str, kinds: frozenset[str]) -> Truth:
    if kind(name) in kinds:
        return True
    if name in belief.places:
        return "receptacle" in kinds
    # The opening lists all furniture: any other name is an object's, or does not exist.
    return "object" in kinds if name in belief.things else None if kinds & {"object", "receptacle"} else False


def _is(belief: Belief, name: str, state: str) -> Truth:
    place, item = belief.receptacle(name), belief.item(name)
    match state:
        case "open" | "closed" | "surface":
            return None if place is None or place.openness is None else place.openness == state
        case "empty":
            held = _holds(belief, name, lambda _: True)
            return None if held is None else not held
        case "here":
            return _present(belief, name)
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
    for now in distinct(moments):
        command = now.command.strip()
        for pattern, alike in forms.get(command.partition(" ")[0], {}).items():
            if (found := pattern.fullmatch(command)) is not None:
                for check, tally in alike:
                    if (verdict := check.verdict(now, found.groupdict())) in tally:
                        tally[verdict].append(now.origin)
    evidence = (
        Evidence(len(found), len(against), tuple(found[:WITNESSES]), tuple(against[:WITNESSES]))
        for found, against in (tally.values() for tally in tallies)
    )
    return tuple(map(RuleFinding, rules, evidence))


def deciding_words(rule: Rule, command: str, answer: str) -> tuple[str, ...]:
    """The words of a step that decide about ``rule``, for people to look at.

    These are the names that its check binds or asks about, what the game must have said, and for a rule about places the names
    of the things and places that it is about.
    """
    check, kinds = rule.check, {"".join(word.split()).lower() for word in rule.objects}
    found: dict[str, None] = {}
    if check is not None and (bound := command_pattern(check.command).fullmatch(command.strip())) is not None:
        names = bound.groupdict()
        found |= dict.fromkeys(names.values())
        terms = [term for fact in (*check.before, *check.then) for term in (fact.subject, fact.other) if term is not None]
        kinds |= {word for term in terms if term.shape == "kinds" for word in term.words}
        found |= dict.fromkeys(word for term in terms if term.shape == "name" for word in term.words)
        for fact in check.then:
            said = (
                fact.text.split(ANYTHING)
                if fact.relation == "says"
                else answer.split("\n")
                if fact.relation == "refused"
                else []
            )
            found |= dict.fromkeys(_VARIABLE.sub(lambda one: names[one[1]], piece).strip() for piece in said)
    elif rule.kind == "location":
        kinds |= set(re.findall(r"[a-z]+", rule.statement.lower()))
    named: list[str] = re.findall(_NAME, f"{command}\n{answer}", re.ASCII)
    found |= dict.fromkeys(name for name in named if kind(name).lower() in kinds)
    return tuple(word for word in found if word)
