"""Runs an errand step by step: fetch a thing, treat it, and bring it to a place or a player; or go somewhere."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from typing import NamedTuple

from housequest.agent.skills.language import grounding
from housequest.agent.skills.language.directions import step_towards
from housequest.agent.skills.language.sentences import Surroundings
from housequest.agent.skills.partnership import MOST_WAITS, Partnership, last_seen
from housequest.agent.skills.searching import look_for
from housequest.worlds.household.arrangement import PlayerErrand
from housequest.worlds.household.belief import Belief, Item, Other, Receptacle, by_name, kind
from housequest.worlds.household.goals import APPLIANCES, Treatment
from housequest.worlds.household.news import gift
from housequest.worlds.shared import WAIT


class ErrandStep(NamedTuple):
    """A step of an errand: the command, and the errand after it; both None if it is over. ``kept`` is a thing that now lies
    where somebody wants it."""

    command: str | None
    errand: PlayerErrand | None
    says: tuple[str, ...] = ()
    reached: bool = False
    kept: str = ""


@dataclass(slots=True)
class RunningErrand:
    """One errand, and what the player knows of the house."""

    errand: PlayerErrand
    scene: Surroundings
    partnership: Partnership

    @property
    def belief(self) -> Belief:
        return self.scene.belief

    def next(self) -> ErrandStep:
        errand = self.errand
        step = self._thing() if errand.thing else self._nothing()
        if step.command is not None and step.command == self.partnership.refused:
            return self._over(f"That does not work: {step.command} is refused.")
        return step

    def _over(self, why: str = "", *, reached: bool = False, kept: str = "") -> ErrandStep:
        return ErrandStep(None, None, (why,) if why else (), reached, kept)

    def _nothing(self) -> ErrandStep:
        errand = self.errand
        if errand.act:
            place = self.belief.receptacle(grounding.names_of(errand.act)[-1])
            if place is not None and place.openness == "surface":
                return self._over(f"{place.name.capitalize()} cannot be opened or closed.")
            command = step_towards(errand.act, self.belief, self.scene.commands)
            return self._over() if command is None else ErrandStep(command, None if command == errand.act else errand)
        if errand.whom:
            return self._come()
        if self.belief.is_here(errand.place):
            return self._over(reached=True)
        return self._go(errand.place)

    def _go(self, place: str) -> ErrandStep:
        return ErrandStep(self.scene.commands.go.format(place=place), self.errand)

    def _come(self) -> ErrandStep:
        at = self._other().at
        if at is None or at not in self.belief.places:
            return self._wait("I do not see you any more, so I go on with the chores.")
        return self._over(f"I am with you at {at}.", reached=True) if self.belief.is_here(at) else self._go(at)

    def _other(self) -> Other:
        whom = self.errand.whom
        return next((one for one in self.belief.others if one.name == whom), Other(whom))

    def _wait(self, why: str) -> ErrandStep:
        waits = self.errand.waits + 1
        return self._over(why) if waits > MOST_WAITS else ErrandStep(WAIT, replace(self.errand, waits=waits))

    def _thing(self) -> ErrandStep:
        errand, belief = self.errand, self.belief
        item = nearest(
            errand.thing, belief, self.partnership.arrangement.kept if errand.whom or errand.several else (), errand.besides
        )
        if errand.whom and item is not None and item.name in self._other().carried:
            return self._over()
        if errand.place and item is not None and item.where == errand.place and not self._untreated(item):
            return self._over(kept=item.name)
        if item is None or item.name not in belief.carried:
            return self._fetch(item)
        errand = self.errand = replace(errand, thing=item.name)
        if self._untreated(item):
            return self._treat(item, errand.treatment or "clean")
        if errand.place:
            return self._put(item.name, errand.place)
        return self._give(item.name) if errand.whom else self._over()

    def _untreated(self, item: Item) -> bool:
        return self.errand.treatment is not None and not item.treated(self.errand.treatment)

    def _fetch(self, item: Item | None) -> ErrandStep:
        belief, commands, errand = self.belief, self.scene.commands, self.errand
        if item is not None and item.where is None:
            who = next((one.name for one in belief.others if item.name in one.carried), None)
            if who is not None:
                return self._over(f"{who} carries {item.name}.")
        if len(belief.carried) >= belief.hands:
            return self._lay_down(belief.carried[-1])
        if item is None or item.where is None:
            return self._search()
        self.errand = replace(errand, thing=item.name)
        command = step_towards(commands.take.format(thing=item.name, place=item.where), belief, commands)
        return self._over() if command is None else ErrandStep(command, self.errand)

    def _search(self) -> ErrandStep:
        belief, counts, sought = self.belief, self.scene.household.counts(), kind(self.errand.thing)
        told = [place for thing, place in self.partnership.found if kind(thing) == sought]
        unseen = {one.name for one in belief.unsearched}
        for place in told:
            if place in unseen:
                shut = belief.places[place].openness == "closed"
                there = f"open {place}" if shut else f"examine {place}"
                return ErrandStep(there, self.errand) if belief.is_here(place) else self._go(place)
        barred = {self.partnership.refused} if self.partnership.refused else set[str]()
        found = look_for((sought,), belief, counts, counts, barred)
        if found is None:
            return self._over(f"I have looked everywhere and seen no {sought}.")
        go = re.fullmatch(r"go to (.*)", found[1])
        return self._go(go[1]) if go else ErrandStep(found[1], self.errand)

    def _lay_down(self, thing: str) -> ErrandStep:
        """Free the hand: put down what it holds at the nearest place that takes it."""
        place = spare_place(thing, self.scene)
        if place is None:
            return self._over(f"I find no place to put down {thing}.")
        return self._put(thing, place)

    def _put(self, thing: str, place: str) -> ErrandStep:
        command = step_towards(grounding.put(thing, place, self.belief, self.scene.commands), self.belief, self.scene.commands)
        return self._over() if command is None else ErrandStep(command, self.errand)

    def _treat(self, item: Item, treatment: Treatment) -> ErrandStep:
        pattern, device = self.scene.commands.treat, appliance(treatment, self.belief)
        if pattern is None or device is None:
            return self._over(f"I cannot {treatment} anything here.")
        act = pattern.format(verb=treatment, thing=item.name, place=device.name)
        return ErrandStep(step_towards(act, self.belief, self.scene.commands), self.errand)

    def _give(self, thing: str) -> ErrandStep:
        other, belief = self._other(), self.belief
        at = other.at
        if self.errand.waits >= MOST_WAITS:
            place = spare_place(thing, self.scene)
            if place is None:
                return self._over(f"I cannot reach you, and keep {thing}.")
            self.errand = replace(self.errand, whom="", place=place)
            return self._put(thing, place)._replace(says=(f"I cannot reach you, so I put {thing} on {place}.",))
        first = not self.errand.waits
        nowhere = at is None or at not in belief.places
        if nowhere and (seen := last_seen(other.name, self.partnership)) and not belief.is_here(seen[1]):
            return self._go(seen[1])
        self.errand = replace(self.errand, waits=self.errand.waits + 1)
        if at is None or nowhere:
            says = (f"I have {thing}; stand at a place where I see you, and I hand it over.",) if first else ()
            return ErrandStep(WAIT, self.errand, says)
        if not belief.is_here(at):
            return self._go(at)
        if len(other.carried) < belief.hands:
            return ErrandStep(gift(thing, other.name), self.errand)
        if not self.scene.household.counts().takes(at, thing):
            return ErrandStep(WAIT, self.errand)
        self.errand = replace(self.errand, whom="", place=at)
        return self._put(thing, at)._replace(says=(f"Your hands are full, so I put {thing} on {at}.",))


def nearest(said: str, belief: Belief, kept: Iterable[str] = (), besides: Collection[str] = ()) -> Item | None:
    """The nearest thing of this name or kind: in hand, then here, then anywhere; last come things that are ``kept`` where they
    are or that others carry. None if none was seen ``besides`` those."""
    found = [item for item in belief.items if said in (item.name, item.kind) and item.name not in besides]
    carried = {thing for one in belief.others for thing in one.carried}
    here = {one.name for one in belief.here()}
    kept = set(kept)

    def order(item: Item) -> tuple[object, ...]:
        lost = item.where is None and item.name not in belief.carried
        return (
            item.name not in belief.carried,
            item.name in carried,
            lost,
            item.name in kept,
            item.where not in here,
            by_name(item.name),
        )

    return min(found, key=order, default=None)


def appliance(treatment: Treatment, belief: Belief) -> Receptacle | None:
    """The nearest receptacle that heats, cools or cleans."""
    alike = [one for one in belief.receptacles if one.kind == APPLIANCES[treatment]]
    return min(alike, key=lambda one: (not belief.is_here(one.name), one.number), default=None)


def spare_place(thing: str, scene: Surroundings) -> str | None:
    """The nearest place to put a thing down, open ones first; never where a goal wants it."""
    belief, goals = scene.belief, scene.household.read_goals(scene.goal, scene.belief.kinds)
    targets = {goal.receptacle for goal in goals if goal.object == kind(thing)}
    takers = [
        one for one in belief.receptacles if one.name not in belief.rooms and scene.household.counts().takes(one.name, thing)
    ]
    found = [one for one in takers if one.kind not in targets] or takers

    def order(one: Receptacle) -> tuple[object, ...]:
        shut = one.openness == "closed" or (one.openness is None and scene.household.counts().openable(one.kind) > 0.5)
        return (not belief.is_here(one.name)) + shut, one.kind == "garbagecan", *by_name(one.name)

    return min(found, key=order).name if found else None
