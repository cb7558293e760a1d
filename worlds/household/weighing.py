"""The odds of the places where a thing may be, as a search weighs them, and the sentence that tells them.

Players search by a place's chance divided by the commands that it takes to look there (`search_order`). A place's odds are its
share of the chances of all places not looked into yet, so a look in vain raises the others' odds. All sentences are made here,
from these numbers alone.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from housequest.worlds.household.belief import Belief, Receptacle, kind
from housequest.worlds.text import percentage, plural_of, with_article

LONGEST = 67
"""The length of a sentence, if it can be told so shortly: with the name before it, it fits a line of 80."""
MOST = 6
"""The most groups of places that a sentence tells apart."""
CLOSE = 1.2
"""Odds count as even up to this ratio."""
RARE, LUCKY = 0.6, 0.1
"""A look in vain is a surprise from these odds on, and a find up to these."""


class SearchPlace(NamedTuple):
    """A place to look into, the chance that the thing is there, and the commands until it can be seen."""

    place: Receptacle
    chance: float
    commands: float

    @property
    def cost(self) -> float:
        """The key of a search's order, the least first."""
        return self.commands / self.chance


def search_order(
    belief: Belief, chance: Callable[[Receptacle], float], shut: Callable[[Receptacle], float]
) -> list[SearchPlace]:
    """The places not looked into yet, by commands divided by chance, the least first.

    Args:
        belief: The house.
        chance: The chance that the thing is in a place, above 0.
        shut: The chance that a place must be opened first.

    Returns:
        The places with their numbers.
    """
    found = (SearchPlace(one, chance(one), looking_costs(belief, one, shut(one))) for one in belief.unsearched)
    return sorted(found, key=lambda each: (each.cost, each.place.kind, each.place.number))


def looking_costs(belief: Belief, one: Receptacle, shut: float) -> float:
    """The commands until a place's contents can be seen, at least one; ``shut`` is the chance that it is closed."""
    return max(1.0, (not belief.is_here(one.name)) + shut)


@dataclass(frozen=True, slots=True)
class Odds:
    """The odds that a thing is in ``place``, one of so many ``alike`` of one kind, each with the same odds."""

    place: str
    share: float
    alike: int = 1
    commands: int = 1

    @property
    def total(self) -> float:
        """The odds of all alike places together."""
        return min(1.0, self.share * self.alike)


@dataclass(frozen=True, slots=True)
class Weighed:
    """The odds of the places where one of ``things`` may be, in the order of the search.

    ``chosen`` is an index into ``odds``; the command leads there. ``here``: that place is at hand. ``rest`` are the odds of
    places that are not listed. ``missed`` was just searched in vain; in ``found`` the thing was seen, which ends the search.
    ``barred`` would have come first, but a person ruled it out.
    """

    things: tuple[str, ...]
    odds: tuple[Odds, ...] = ()
    chosen: int = 0
    here: bool = False
    rest: float = 0.0
    missed: Odds | None = None
    found: Odds | None = None
    barred: Odds | None = None

    @property
    def next(self) -> Odds | None:
        """The place that the command leads to."""
        return self.odds[self.chosen] if self.odds else None


def weigh(
    things: Sequence[str], ordered: Sequence[SearchPlace], command: str, belief: Belief, barred: Collection[str] = ()
) -> Weighed | None:
    """The odds of ``ordered`` places for one of ``things``; None if ``command`` leads to none of them.

    Args:
        things: Kinds of thing.
        ordered: All places to look into, in the order of the search.
        command: The chosen command.
        belief: The house.
        barred: Commands that a person ruled out.
    """
    chosen = next((each.place for each in ordered if command.endswith(f" {each.place.name}")), None)
    if chosen is None or not things:
        return None
    sum_of_all = sum(each.chance for each in ordered)
    groups: dict[tuple[str, float, int], Odds] = {}
    for each in ordered:
        share, commands = round(each.chance / sum_of_all, 4), round(each.commands)
        before = groups.get(key := (each.place.kind, share, commands))
        named = each.place.name if before is None or each.place is chosen else before.place
        groups[key] = Odds(named, share, before.alike + 1 if before else 1, commands)
    odds = list(groups.values())
    at = next(number for number, one in enumerate(odds) if one.place == chosen.name)
    listed = odds[:MOST] if at < MOST else [*odds[: MOST - 1], odds[at]]
    at = min(at, MOST - 1)
    ruled_out = next((one for one in odds if any(each.endswith(f" {one.place}") for each in barred)), None)
    before_chosen = ruled_out is not None and ruled_out.total > listed[at].total and ruled_out.place != chosen.name
    return Weighed(
        tuple(things),
        tuple(listed),
        at,
        belief.is_here(chosen.name),
        max(0.0, round(1 - sum(one.total for one in listed), 4)) if len(odds) > MOST else 0.0,
        barred=ruled_out if before_chosen else None,
    )


def after_a_look(before: Weighed | None, now: Weighed | None, belief: Belief) -> Weighed | None:
    """``now``, with the result of the look into the place chosen ``before``; None until that look is over."""
    looked = before.next if before else None
    place = belief.receptacle(looked.place) if looked else None
    if before is None or looked is None or place is None:
        return now
    if place.contents is None:
        return None if now is not None and now.here and now.next and now.next.place == looked.place else now
    seen = tuple(thing for thing in before.things if thing in map(kind, place.contents))
    if seen and now is None and looked.share <= LUCKY:
        return Weighed(seen, found=looked)
    if now is not None and not seen and now.things == before.things and looked.share >= RARE:
        return replace(now, missed=looked)
    return now


def told(weighed: Weighed) -> str:
    """One short sentence that tells the odds."""
    forms = list(_forms(weighed))
    return next((each for each in forms if len(each) <= LONGEST), min(forms, key=len))


def _forms(weighed: Weighed) -> Iterator[str]:
    """The sentence, then shorter ones."""
    thing = " or ".join(map(with_article, weighed.things))
    if (found := weighed.found) is not None:
        yield f"{thing} at {_at(found)}, where it had {percentage(found.share)} %: that is luck"
        yield f"{thing} here, at {percentage(found.share)} %: that is luck"
        return
    chosen = weighed.next
    assert chosen is not None
    here, odds = _the(chosen, weighed), percentage(chosen.total)
    if (missed := weighed.missed) is not None:
        none, rare = f"no {' or '.join(weighed.things)}", f"at {percentage(missed.share)} %: that is rare"
        yield f"{none} at {_at(missed)} {rare}; now {here}, {odds} %"
        yield f"{none} there, {rare}; now {here}, {odds} %"
        yield f"{none} there, {rare}"
    elif (barred := weighed.barred) is not None:
        has = "have" if chosen.alike > 1 else "has"
        yield f"you ruled out {_at(barred)}, {percentage(barred.share)} %; {here} {has} {odds} %"
    else:
        for form in _compared(weighed, chosen):
            yield from (f"for {thing} {form}", form)


def _compared(weighed: Weighed, chosen: Odds) -> Iterator[str]:
    here, several = _the(chosen, weighed), chosen.alike > 1
    be, has, needs = ("are", "have", "need") if several else ("is", "has", "needs")
    others = [one for number, one in enumerate(weighed.odds) if number != weighed.chosen]
    if not others:
        yield f"only {here} are left, one as good as the other" if several else f"{here} is the last place left"
        return
    best = max(others, key=_total)
    there, ahead, behind = _the(best, weighed), max(chosen, best, key=_total), min(best, chosen, key=_total)
    figures = f"{percentage(ahead.total)} to {percentage(behind.total)} %"
    likelier = f"{there} {'are' if best.alike > 1 else 'is'} likelier, {figures}"
    if ahead.total <= CLOSE * behind.total:
        yield f"{here} or {there}? it is nearly even, {percentage(chosen.total)} to {percentage(best.total)} %"
    elif ahead is chosen:
        yield f"{here} {be} likelier than {there}, {figures}"
    elif best.share <= chosen.share:
        yield f"{there} share {percentage(best.total)} %, but {here} alone {has} {percentage(chosen.total)} %"
    elif chosen.commands < best.commands:
        yield f"{likelier}, but {here} {f'{be} here' if weighed.here else f'{needs} no opening'}"
        yield f"{likelier}, but {here} {be} quicker"
        yield f"{likelier}, but slower"
    else:
        yield f"{there} would be likelier than {here}, {figures}"


def _total(one: Odds) -> float:
    return one.total


def _the(one: Odds, weighed: Weighed) -> str:
    """Alike places, as a sentence names them: "the fridge", "the cabinets", "the other drawers", "drawer 3"."""
    stem = kind(one.place)
    unlike = [each for each in weighed.odds if kind(each.place) == stem and each.place != one.place]
    if one.alike > 1:
        return f"the {'other ' if unlike else ''}{plural_of(stem)}"
    return one.place if unlike else _at(one)


def _at(one: Odds) -> str:
    """One place, with its number if there are or were others of its kind."""
    stem = kind(one.place)
    return f"the {stem}" if one.alike == 1 and one.place == f"{stem} 1" else one.place
