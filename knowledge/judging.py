"""Decides checks against moments, in three values: a fact that belief does not tell is neither true nor false.

A check is made into closures once and then asked of many moments, of which `Scene` looks up what several checks ask.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from knowledge.checks import ANYTHING, Check, Fact, Term, Verdict
from knowledge.moments import Moment
from worlds.base import Observation
from worlds.household.belief import Belief, Item, Receptacle, kind

Truth = bool | None
"""None: not known."""

Names = Mapping[str, str]
"""What the variables of a command stand for."""

_ONE = r"[A-Za-z][\w-]{0,59} [0-9]{1,6}"
_VARIABLE = re.compile(r"\{([a-z_]+)\}")


class Scene:
    """A belief, with what checks ask of it looked up once."""

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
        # More may share the location than is known, and a thing may lie in two places.
        return True if any(self.holds(one, name.__eq__) for one in self.here) else None


@dataclass(frozen=True, slots=True)
class Pair:
    """A moment as checks look at it."""

    before: Scene
    after: Scene
    answer: Observation
    refused: bool


Reader = Callable[[Scene, Names], Truth]
Outcome = Callable[[Pair, Names], Truth]


class Judge:
    """A check, ready to be asked."""

    def __init__(self, check: Check) -> None:
        self.check = check
        self._before = [reader(fact) for fact in check.before]
        self._then = [_outcome(fact) for fact in check.then]

    def verdict(self, pair: Pair, names: Names) -> Verdict:
        """What ``pair``, whose command has bound ``names``, says about the check; undecided where it did not come up."""
        for fact in self._before:
            if fact(pair.before, names) is not True:
                return "undecided"
        verdict: Verdict = "supports"
        for outcome in self._then:
            truth = outcome(pair, names)
            if truth is False:
                return "contradicts"
            if truth is None:
                verdict = "undecided"
        return verdict


def pair(moment: Moment, before: Scene | None = None) -> Pair:
    """Make ``moment`` ready to be judged; ``before`` is the scene of its belief before, where that was made already."""
    first = before if before is not None and before.belief is moment.before else Scene(moment.before)
    # A refusal mostly teaches nothing: one scene will do.
    last = first if moment.after is moment.before else Scene(moment.after)
    return Pair(first, last, moment.observation, moment.refused)


def command_pattern(command: str) -> re.Pattern[str]:
    """What matches the commands of a check and binds its variables."""
    parts: list[str] = []
    seen: set[str] = set()
    for word in command.split(" "):
        found = _VARIABLE.fullmatch(word)
        if found is None:
            parts.append(re.escape(word))
        elif found[1] in seen:
            parts.append(f"(?P={found[1]})")
        else:
            seen.add(found[1])
            parts.append(f"(?P<{found[1]}>{_ONE})")
    return re.compile(" ".join(parts), re.ASCII)


def judge(check: Check, moment: Moment) -> Verdict:
    """What one ``moment`` says about ``check``."""
    found = command_pattern(check.command).fullmatch(moment.command.strip())
    return Judge(check).verdict(pair(moment), found.groupdict()) if found else "undecided"


def _outcome(fact: Fact) -> Outcome:
    if fact.relation == "refused":
        wanted = not fact.negated
        return lambda pair, _: pair.refused is wanted
    if fact.relation == "says":
        said = _said(fact.text)
        return lambda pair, names: said(pair.answer.text, names) is not fact.negated
    read = reader(fact)
    return lambda pair, names: read(pair.after, names)


def reader(fact: Fact) -> Reader:
    """What tells whether ``fact``, one that speaks of a belief, is true of a scene."""
    plain = _positive(fact)
    if not fact.negated:
        return plain

    def contrary(scene: Scene, names: Names) -> Truth:
        truth = plain(scene, names)
        return None if truth is None else not truth

    return contrary


def _positive(fact: Fact) -> Reader:
    subject = fact.subject or Term("nothing")
    match fact.relation:
        case "holding":
            return _holding(subject)
        case "at":
            return _at(subject)
        case "in":
            return _inside(subject, fact.other or Term("nothing"))
        case "kind":
            return _of_kind(subject, fact.other or Term("kinds"))
        case _:
            read = _STATES[fact.text]
            return _each(subject, read)


def _fits(term: Term) -> Callable[[Names], Callable[[str], bool]]:
    """For given names of the variables, whether a name is one that ``term`` means."""
    word = term.words[0] if term.words else ""
    if term.shape == "variable":
        return lambda names: names[word].__eq__
    if term.shape == "name":
        return lambda _: word.__eq__
    kinds = frozenset(term.words)
    return lambda _: lambda name: kind(name) in kinds


def _holding(term: Term) -> Reader:
    if term.shape == "nothing":
        return lambda scene, _: scene.belief.held is None
    fits = _fits(term)
    return lambda scene, names: scene.belief.held is not None and fits(names)(scene.belief.held)


def _at(term: Term) -> Reader:
    if term.shape == "nothing":
        return lambda scene, _: scene.belief.at is None
    return _each(term, lambda scene, name: scene.at(name))


def _inside(subject: Term, other: Term) -> Reader:
    fits = _fits(subject)

    def inside(scene: Scene, names: Names) -> Truth:
        wanted = fits(names)
        return _any(scene.holds(name, wanted) for name in _things(other, scene, names))

    return inside


def _of_kind(subject: Term, other: Term) -> Reader:
    kinds = frozenset(other.words)

    def is_a(scene: Scene, name: str) -> Truth:
        if kind(name) in kinds:
            return True
        if name in scene.receptacles:
            return "receptacle" in kinds
        # The opening lists all the furniture, so that any other name is an object's, or nothing's.
        return "object" in kinds if name in scene.items else None if kinds & {"object", "receptacle"} else False

    return _each(subject, is_a)


def _each(term: Term, ask: Callable[[Scene, str], Truth]) -> Reader:
    """Ask of what ``term`` names, or of all things of its kinds, one of which will do."""
    if term.shape == "variable":
        word = term.words[0]
        return lambda scene, names: ask(scene, names[word])
    if term.shape == "name":
        return lambda scene, _: ask(scene, term.words[0])
    return lambda scene, names: _any(ask(scene, name) for name in _things(term, scene, names))


def _things(term: Term, scene: Scene, names: Names) -> Iterable[str]:
    if term.shape == "variable":
        return (names[term.words[0]],)
    if term.shape == "name":
        return term.words
    return [name for known in (scene.receptacles, scene.items) for name in known if kind(name) in term.words]


def _any(truths: Iterable[Truth]) -> Truth:
    """Whether one of them is true; not known where there are none, for more things may be there than were seen."""
    found: Truth = None
    for truth in truths:
        if truth:
            return True
        if truth is None:
            return None if not any(truths) else True
        found = False
    return found


def _openness(wanted: str) -> Callable[[Scene, str], Truth]:
    def read(scene: Scene, name: str) -> Truth:
        one = scene.receptacles.get(name)
        return None if one is None or one.openness is None else one.openness == wanted

    return read


def _heat(wanted: str) -> Callable[[Scene, str], Truth]:
    def read(scene: Scene, name: str) -> Truth:
        one = scene.items.get(name)
        if one is None or one.heat is None:
            return None
        # What is both hot and cool is called hot.
        return None if one.heat == "hot" and wanted == "cool" else one.heat == wanted

    return read


def _told(read: Callable[[Item], Truth]) -> Callable[[Scene, str], Truth]:
    def of(scene: Scene, name: str) -> Truth:
        one = scene.items.get(name)
        return None if one is None else read(one)

    return of


def _empty(scene: Scene, name: str) -> Truth:
    held = scene.holds(name, lambda _: True)
    return None if held is None else not held


_STATES: dict[str, Callable[[Scene, str], Truth]] = {
    "open": _openness("open"),
    "closed": _openness("closed"),
    "surface": _openness("surface"),
    "hot": _heat("hot"),
    "cool": _heat("cool"),
    "clean": _told(lambda item: item.clean),
    "sliced": _told(lambda item: item.sliced),
    "lit": _told(lambda item: item.lit),
    "empty": _empty,
    "here": lambda scene, name: scene.present(name),
    "known": lambda scene, name: name in scene.items or name in scene.receptacles,
}


def _said(pattern: str) -> Callable[[str, Names], bool]:
    """Whether a text is the one of ``pattern``; in time linear in the text, whatever it holds."""
    pieces = pattern.split(ANYTHING)

    def said(text: str, names: Names) -> bool:
        text = text.strip()
        first, *others = (_VARIABLE.sub(lambda found: names[found[1]], piece) for piece in pieces)
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

    return said
