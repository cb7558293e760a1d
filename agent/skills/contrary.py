"""Rules about one thing that cannot both stand: contrary checks, and places that exclude each other.

A rule says where a thing is with shares, or only in words. Shares exclude each other if the 95 % intervals of one place do;
words claim that most of the things are in the places that they name.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import combinations
from typing import NamedTuple

from housequest.agent.skills.naming import kind_of, mentions, named_places
from housequest.agent.skills.searching import BY_HAND, read_told
from housequest.knowledge.checks import exclude
from housequest.knowledge.rules import Rule, wilson
from housequest.knowledge.sentences import read_kept, read_sentence
from housequest.worlds.household.belief import kind
from housequest.worlds.household.counts import Counts

ANY = 0
"""The number of a receptacle that no house has: a rule that names it names all of its kind."""
MOST_NUMBERS = 30
_NUMBER = re.compile(r"\b[0-9]{1,3}\b(?! ?%)", re.ASCII)


@dataclass(frozen=True, slots=True)
class Kinds:
    """The kinds of thing and of place of a world, by which rules are read."""

    things: frozenset[str] = frozenset()
    places: tuple[str, ...] = ()

    @classmethod
    def of(cls, counts: Counts) -> Kinds:
        """Those of a table."""
        rooms = counts.rooms.values()
        return cls(frozenset(counts.objects()), tuple(sorted({place for room in rooms for place in room.receptacles})))


@lru_cache(4096)  # each rule of a book is compared with all others
def subjects(rule: Rule, kinds: Kinds) -> frozenset[str]:
    """The kinds of thing that a rule is about, and of place unless it tells where things are; none for a general rule.

    Words that name no kind of the world, such as "receptacle", are about nothing in particular.
    """
    known = kinds.things.union(kinds.places)
    said = {"".join(name.split()).lower() for name in rule.objects}
    if rule.kind == "location":
        said = said or {named for named, _, _ in mentions(kinds.things - set(kinds.places), rule.statement)}
    elif rule.check is not None:
        facts = (*rule.check.before, *rule.check.then)
        terms = [term for fact in facts for term in (fact.subject, fact.other) if term is not None]
        said |= {kind(word).lower() for term in terms if term.shape in {"name", "kinds"} for word in term.words}
    return frozenset(filter(None, (kind_of(name, known) if known else name for name in said)))


class _Claim(NamedTuple):
    """The places in a rule with their shares, by name; of kinds, by the number `ANY`."""

    shares: Mapping[str, float]
    number: int
    told: bool

    def share(self, place: str) -> tuple[float, float]:
        """The 95 % interval of the share of a place, or of a kind."""
        named = [share for name, share in self.shares.items() if place in (name, kind(name))]
        # The rule names the likeliest ones, so another one has no more than these, nor than what they leave.
        least = 0.0 if named else min(*self.shares.values(), max(0.0, 1 - sum(self.shares.values())))
        ends = wilson(min(1.0, sum(named) or least) * self.number, self.number)
        return (ends.low if named else 0.0), ends.high


@lru_cache(4096)
def _claim(rule: Rule, places: tuple[str, ...], numbers: tuple[int, ...]) -> _Claim | None:
    every = tuple(f"{place} {number}" for place in places for number in (ANY, *numbers))
    read, told = read_told(rule, every), "%" in rule.statement
    if read is None:
        return None
    # In words alone, the places that come last count too.
    found = read.shares if told else dict.fromkeys(named_places(every, rule.statement), 0.0)
    whole = {kind(name) for name in found if name.endswith(f" {ANY}")}
    shares: dict[str, float] = {}
    for name, share in found.items():
        called = kind(name) if kind(name) in whole else name
        shares[called] = shares.get(called, 0.0) + share
    counted = read_sentence(rule.statement)
    return _Claim(shares, counted.number if counted else BY_HAND, told)


def _places_exclude(one: Rule, other: Rule, kinds: Kinds) -> bool:
    text = f"{one.statement} {other.statement}"
    numbers = tuple(sorted({int(number) for number in _NUMBER.findall(text)} - {ANY})[:MOST_NUMBERS])
    first, second = (_claim(rule, kinds.places, numbers) for rule in (one, other))
    if first is None or second is None:
        return False
    # A place that either names by its kind alone is compared by its kind.
    loose = {name for claim in (first, second) for name in claim.shares if name == kind(name)}
    named, also = ({kind(name) if kind(name) in loose else name for name in claim.shares} for claim in (first, second))
    if first.told and second.told:
        intervals = ((first.share(place), second.share(place)) for place in named | also)
        return any(ours[0] > theirs[1] or theirs[0] > ours[1] for ours, theirs in intervals)
    if not (first.told or second.told):
        return named.isdisjoint(also)
    silent, counted = (named, second) if second.told else (also, first)
    best = max(counted.shares, key=lambda name: counted.shares[name])
    together = sum(share for name, share in counted.shares.items() if {name, kind(name)} & silent)
    if not silent <= {name for place in counted.shares for name in (place, kind(place))}:
        together += max(0.0, 1 - sum(counted.shares.values()))  # the others may be where only the words say so
    return not {best, kind(best)} & silent and wilson(min(1.0, together) * counted.number, counted.number).high < 0.5


def contrary(one: Rule, other: Rule, kinds: Kinds) -> bool:
    """True if two rules cannot both stand: by their checks, or by where they say that one thing is.

    Rules about different things, task types or homes do not contradict each other, nor does one about a household contradict
    one about the world.
    """
    if exclude(one.check, other.check):
        return True
    if not one.kind == other.kind == "location" or one.scope != other.scope:
        return False
    if subjects(one, kinds).isdisjoint(subjects(other, kinds)):
        return False
    if one.types and other.types and set(one.types).isdisjoint(other.types):
        return False
    if one.homes and other.homes and one.homes.isdisjoint(other.homes):
        return False
    if read_kept(one.statement) and read_kept(other.statement):
        return False  # a thing of several groups has several places
    return _places_exclude(one, other, kinds)


def strength(rule: Rule) -> tuple[int, int]:
    """A rule's evidence, to compare: how it stands, and by how many sightings if it tells shares."""
    counted = read_sentence(rule.statement)
    return ("contradicted", "undecided", "supported").index(rule.standing), counted.number if counted else 0


def held_by_person(rule: Rule) -> bool:
    """True if a person wrote, edited or judged the rule; then no program changes it."""
    written = rule.origin.source == "person" or any(edit.by == "person" for edit in rule.history)
    return written or (rule.status != "candidate" and rule.by == "person")


def retire(rules: Sequence[Rule], kinds: Kinds) -> list[Rule]:
    """Retire accepted rules until no two are contrary, other than two that a person holds.

    Args:
        rules: A book's, the newest last.
        kinds: Those of its world.

    Returns:
        The rules that changed, as they now are: of two, the one with less evidence is rejected, or with as much, the older one.
        One that contradicts a person's becomes a candidate again, for the person to decide.
    """
    now = {rule.id: rule for rule in rules if rule.status == "accepted"}
    for older, newer in combinations(now, 2):
        one, other = now[older], now[newer]
        if not one.status == other.status == "accepted" or not contrary(one, other, kinds):
            continue
        held = [rule for rule in (one, other) if held_by_person(rule)]
        if len(held) == 2:
            continue
        if held:
            loser, winner = (other, one) if held[0] is one else (one, other)
            now[loser.id] = replace(loser.disputed(winner, "evidence"), status="candidate", by="person")
        else:
            loser, winner = (one, other) if strength(one) <= strength(other) else (other, one)
            now[loser.id] = loser.disputed(winner, "evidence").judged("rejected", "evidence")
    return [rule for rule in now.values() if rule.status != "accepted"]


def retired_for(rule: Rule, rules: Mapping[str, Rule]) -> Rule | None:
    """The rule among ``rules``, by id, for which `retire` retired this one; None if it did not."""
    notes = (edit.was for edit in reversed(rule.history) if (edit.did, edit.by) == ("disputed", "evidence"))
    return next((rules[name] for name in notes if name in rules), None) if rule.status != "accepted" else None
