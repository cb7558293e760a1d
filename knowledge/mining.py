"""What counting alone can learn, without a model: where things lie, and what each command needs."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from knowledge.judging import Scene, pair
from knowledge.moments import Moment, distinct
from knowledge.places import Location, Sights, tabled
from knowledge.preconditions import Needs, Precondition
from knowledge.rules import Evidence, Origin, Rule
from knowledge.statistics import Interval
from worlds.household.counts import Counts

FEWEST = 10
"""Objects of a kind that must have been counted for a rule about where they lie."""

PLACES = 3
"""Places that such a rule names, at most."""

TYPES = {
    "heat": ("pick_heat_then_place_in_recep",),
    "cool": ("pick_cool_then_place_in_recep",),
    "clean": ("pick_clean_then_place_in_recep",),
    "use": ("look_at_obj_in_light",),
}
"""The types of task that the commands with these verbs are for; the others are for all."""


@dataclass(frozen=True, slots=True)
class Mined:
    """What was counted, as figures; ``rules`` says it in words."""

    locations: tuple[Location, ...] = ()
    preconditions: tuple[Precondition, ...] = ()

    def rules(self, name: str) -> tuple[Rule, ...]:
        """All of it as candidates, found in what is called ``name``."""
        origin = Origin("run", name)
        lying = (place_rule(each, origin) for each in self.locations if each.number >= FEWEST)
        return (*lying, *(need_rule(each, origin) for each in self.preconditions))


def mine(moments: Iterable[Moment], least: int = 5) -> Mined:
    """Count over ``moments``, each origin once; what a command needs is believed after ``least`` refusals."""
    sights, needs = Sights(), Needs(least)
    scene: Scene | None = None
    for moment in distinct(moments):
        both = pair(moment, scene)
        scene = both.after
        sights.add(moment)
        needs.add(moment, both)
    return Mined(sights.locations(), needs.preconditions())


def mine_table(counts: Counts) -> Mined:
    """The same over a table of counts, which knows of places alone."""
    return Mined(locations=tabled(counts))


def place_rule(location: Location, origin: Origin) -> Rule:
    """A location as a rule: its likeliest places, with the 95 % interval of each and the number of objects counted.

    What supports it are the objects that were seen in the places it names. Those elsewhere do not contradict it, for it says
    how many they are.
    """
    named = location.places[:PLACES]
    # Beyond the first, a place that one cannot tell from nothing helps nobody.
    named = (named[0], *(place for place in named[1:] if place.share >= 0.05))
    listed = ", ".join(f"{place.receptacle} {place.share * 100:.0f} % ({_percent(place.interval)})" for place in named)
    article = "An" if location.thing[0] in "aeiou" else "A"
    return Rule(
        id=f"where-{location.thing}",
        statement=f"{article} {location.thing} is most often in {listed}, n={location.number}.",
        kind="location",
        objects=(location.thing,),
        status="candidate",
        origin=origin,
        evidence=Evidence(sum(place.seen for place in named)),
    )


def need_rule(need: Precondition, origin: Origin) -> Rule:
    """A precondition as a rule, which can be checked. Its id comes from the fact, so that counting again finds it again."""
    verb = need.command.partition(" ")[0]
    named = f"kind of {need.fact.subject}" if need.fact.relation == "kind" else str(need.fact)
    words = "-".join(re.findall("[a-z]+", named))
    low = f"{need.interval.low * 100:.3g}"
    counted = f"refused {need.refused:,} of {need.refused:,} times otherwise ({low}-100 %)"
    return Rule(
        id=f"{verb}-needs-{words}",
        statement=f"`{need.command}` works only if {need.fact}: {counted}, taken {need.taken:,} times with it.",
        kind="mechanic",
        types=TYPES.get(verb, ()),
        status="candidate",
        origin=origin,
        check=need.check,
        evidence=Evidence(need.refused, 0, need.witnesses),
    )


def _percent(interval: Interval) -> str:
    return f"{interval.low * 100:.0f}-{interval.high * 100:.0f}"
