"""Search by rules: one that says where things are kept becomes a chance for each place, by code and not by a model's reading.

A rule about the world adds to what was counted over a training split, as a few more sightings would; a rule about one household
nearly replaces it, since nothing that is true elsewhere need be true there. A book that says how often each place in a home was
looked into tells where things were not, too; a player who lingers looks where it was least.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from housequest.agent.skills.naming import denied_places, mentions, numbers_after
from housequest.knowledge.rules import Rule
from housequest.knowledge.sentences import looked_into, read_kept, read_sentence
from housequest.worlds.household.belief import Belief, kind
from housequest.worlds.household.counts import Counts, Prior
from housequest.worlds.household.goals import Goal
from housequest.worlds.household.weighing import SearchPlace, search_order

BY_ORDER = ((1.0,), (0.7, 0.3), (0.6, 0.3, 0.1))
"""The shares of the places in a rule that tells none: the first is the likeliest."""
HOUSEHOLD, WORLD = 2.0, 30.0
"""The weight of earlier chances against a rule about a household, and the weight of a rule about the world."""
BY_HAND = 20
"""The sightings that a rule about a household counts for if it does not say how many there were."""
SIMILAR, EARLIER = 0.5, 1.0
"""The weight, in days, of earlier chances against places of the same kind, and of these against the place itself."""
LOOKS = 5
"""The looks into a place that a rule about what is kept there counts for, if the book does not say how many there were."""
SPARE = 2
"""The turns that a player who lingers keeps beyond those that the rest of the task takes."""
_SHARE = re.compile(r"[^.;()]{0,30}\((\d{1,3}) %", re.ASCII)


@dataclass(frozen=True, slots=True)
class ToldPlaces:
    """A rule about where something is kept: the share of each receptacle by name, and the sightings that it counts for."""

    rule: Rule
    shares: Mapping[str, float]
    weight: float
    days: Mapping[str, float] | None = None
    """In a home that is counted by days: those on which one was there, by place."""


@lru_cache(4096)  # a game asks about the same rules at every step
def read_told(rule: Rule, places: tuple[str, ...]) -> ToldPlaces | None:
    """Read the ``places`` that a location rule names in order of likelihood; None if it names none of them.

    Args:
        rule: A rule of the kind ``location``; a place is named by its kind, or by its number too, and is ruled out by "not".
        places: The names of the receptacles in this house.

    Returns:
        The shares that the rule tells in per cent, else `BY_ORDER`. Those of a kind are spread over its receptacles.
    """
    location = read_sentence(rule.statement)
    if location is not None and location.places[0].looks:
        named_there = [one for one in location.places if one.receptacle in places]
        shares = {one.receptacle: one.share for one in named_there}
        days = {one.receptacle: one.seen for one in named_there}
        return ToldPlaces(rule, shares, float(location.number), days) if shares and rule.kind == "location" else None
    text, ruled_out, said = rule.statement, denied_places(places, rule.statement), list[tuple[list[str], float | None]]()
    for named, _, after in mentions({kind(one) for one in places}, text):
        numbers, end = numbers_after(text, after)
        some = [one for one in places if kind(one) == named and (not numbers or int(one.split()[-1]) in numbers)]
        if (some := [one for one in some if one not in ruled_out]) and rule.kind == "location":
            share = _SHARE.match(text, end)
            said.append((some, int(share[1]) / 100 if share else None))
    if not said:
        return None
    in_order = dict(enumerate(BY_ORDER[min(len(said), len(BY_ORDER)) - 1]))
    silent = all(share is None for _, share in said)
    shares: dict[str, float] = {}
    for at, (some, share) in enumerate(said):
        for name in some:
            shares[name] = shares.get(name, 0.0) + (in_order.get(at, 0.0) if silent else share or 0.0) / len(some)
    weight = WORLD if rule.scope == "world" else float(location.number if location else BY_HAND)
    told = {name: min(1.0, share) for name, share in shares.items() if share}
    return ToldPlaces(rule, told, weight) if told else None  # "0 % are there" tells of no place


class ToldPrior:
    """The chances of finding things by rules, over those known before.

    A chance is ``(s * before + a * share) / (s + a)`` for each rule about the thing in turn. For a rule about the world, ``s``
    is the number of such things that were counted and ``a`` is `WORLD`; for one about a household, ``s`` is `HOUSEHOLD` and
    ``a`` the number of its sightings. Where a book says how often each place was looked into, a place has the chance ``(EARLIER
    * alike + days) / (EARLIER + looks)``, and those of its kind together ``alike = (SIMILAR * before + days) / (SIMILAR +
    looks)``. A group of things that are kept in a place stands for the days that its shares come to.

    Args:
        before: The chances without rules.
        counts: The table over a training split.
        rules: Any rules; those that are about other things or name no place here change nothing.
        belief: The house.
    """

    def __init__(self, before: Prior, counts: Counts, rules: Iterable[Rule], belief: Belief) -> None:
        self._before, self._counts = before, counts
        places = tuple(one.name for one in belief.receptacles)
        rules = [rule for rule in rules if rule.kind == "location"]
        self._looked = looked_into(rules)
        self._told: dict[str, list[ToldPlaces]] = {}
        for rule in rules:
            if (kept := read_kept(rule.statement)) is not None:
                looks = self._looked.setdefault(kept.place, LOOKS)
                for thing, share in kept.shares.items():
                    days = {kept.place: share * (EARLIER + looks)}
                    self._told.setdefault(thing, []).append(ToldPlaces(rule, {kept.place: share}, float(looks), days))
            elif (told := read_told(rule, places)) is not None:
                for thing in rule.objects:
                    self._told.setdefault("".join(thing.split()).lower(), []).append(told)
        self._of_kind = Counter[str]()
        for place, looks in self._looked.items():
            self._of_kind[kind(place)] += looks

    def chance(self, thing: str, place: str, room: str) -> float:
        chance, told = self._before.chance(thing, place, room), self._told.get(thing, ())
        if self._looked:
            days = {one: number for each in reversed(told) for one, number in (each.days or {}).items()}
            alike = sum(number for one, number in days.items() if kind(one) == kind(place))
            alike = (SIMILAR * chance + alike) / (SIMILAR + self._of_kind[kind(place)])
            chance = (EARLIER * alike + days.get(place, 0)) / (EARLIER + self._looked.get(place, 0))
        for each in told:
            if each.days is None or not self._looked:
                seen = sum(room.objects[thing].number for room in self._counts.rooms.values() if thing in room.objects)
                before = HOUSEHOLD if each.rule.scope == "household" else max(1.0, seen)
                chance = (before * chance + each.weight * each.shares.get(place, 0.0)) / (before + each.weight)
        return chance

    def says(self, thing: str, place: str) -> Rule | None:
        """The rule that speaks most for looking for a ``thing`` in ``place``; None if none does."""
        speaking = [told for told in self._told.get(thing, ()) if told.shares.get(place)]
        return max(speaking, key=lambda told: told.weight * told.shares[place]).rule if speaking else None

    def says_of_command(self, thing: str, command: str, belief: Belief) -> Rule | None:
        """The rule that speaks most for a ``command`` which leads to a place that was not looked into; None if none does."""
        places = [one.name for one in belief.unsearched if command.endswith(f" {one.name}")]
        return self.says(thing, places[0]) if places else None

    def about(self, things: Iterable[str]) -> bool:
        """True if a rule tells where one of these kinds of thing is, or is not."""
        sought = set(things)
        return bool(sought) and (bool(self._looked) or not self._told.keys().isdisjoint(sought))


def likeliest(things: Sequence[str], belief: Belief, prior: Prior, counts: Counts) -> list[SearchPlace]:
    """The places to search for one of ``things``, in the order of `look_for`, which has the same arguments."""
    room = counts.room_of(belief.kinds)
    return search_order(
        belief,
        lambda one: sum(prior.chance(thing, one.name, room) for thing in things),
        lambda one: counts.openable(one.kind) if one.openness is None else float(one.openness == "closed"),
    )


def look_for(
    things: Sequence[str], belief: Belief, prior: Prior, counts: Counts, barred: Container[str]
) -> tuple[str, str] | None:
    """The place to look into next for one of ``things``, and the command on the way there; None if every place was searched.

    Places are in the order of the commands until one can look in, over the chance that something is there.

    Args:
        things: Kinds of thing that are looked for.
        belief: The house.
        prior: The chances.
        counts: The table over a training split, for what can be opened.
        barred: Commands that must not be given.
    """
    for one, _, _ in likeliest(things, belief, prior, counts):
        there = f"open {one.name}" if one.openness == "closed" else f"examine {one.name}"
        command = there if belief.is_here(one.name) else f"go to {one.name}"
        if command not in barred:
            return one.name, command
    return None


class _LeastLooked:
    """Chances that put first the places into which was looked least, by the rules of a home. One more look tells less and less,
    so a closed place, which takes two turns, is looked into somewhat less often."""

    def __init__(self, rules: Iterable[Rule]) -> None:
        self._looked = looked_into(rules)

    def chance(self, thing: str, place: str, room: str) -> float:
        del thing, room
        return (1 + self._looked.get(place, 0)) ** -2


def _rest(goal: Goal) -> int:
    """The most turns that a task takes with all found and one thing in hand: go, open, put; go and treat; go and take another,
    go back and put."""
    return 2 if goal.lamp else 3 + 2 * (goal.treatment is not None) + 4 * (goal.count - 1)


def linger(
    goal: Goal | None, belief: Belief, rules: Iterable[Rule], counts: Counts, left: int, barred: Iterable[str]
) -> str | None:
    """The command of a player that gets to know a home: with all that the task needs found, and time left, look where was
    looked least.

    Args:
        goal: The task's goal; None if it is not understood.
        belief: The house.
        rules: The book of the home.
        counts: The table over a training split, for what can be opened.
        left: The turns that remain, this one included; those that the task still takes are left to it, and `SPARE` more.
        barred: Commands that must not be given, such as those that were refused.

    Returns:
        The command; None if the task itself goes first.
    """
    if goal is None or left <= _rest(goal) + SPARE or goal.object not in map(kind, belief.carried):
        return None
    found = Counter(item.kind for item in belief.items)
    if found[goal.object] < goal.count or (goal.lamp is not None and not found[goal.lamp]):
        return None
    place = look_for((goal.object,), belief, _LeastLooked(rules), counts, set(barred))
    return None if place is None else place[1]
