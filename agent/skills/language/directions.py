"""Carries out what a person told an agent to do: the next command, given what is known of the house by then."""

from __future__ import annotations

import re
from collections.abc import Container
from dataclasses import dataclass, replace

from housequest.agent.skills.language import grounding
from housequest.agent.skills.language.sentences import HopedFor, Surroundings, Understood
from housequest.worlds.household.base import Commands
from housequest.worlds.household.belief import Belief


@dataclass(frozen=True, slots=True)
class Directions:
    """The orders in a hint: go to ``places`` in this order and look into each, then carry out ``acts``, and take what is then
    seen of the ``wanted`` kind, at its place. A ``search`` ends when something wanted is found that was not ``known``."""

    hint: str
    commands: Commands
    places: tuple[str, ...] = ()
    acts: tuple[str, ...] = ()
    search: bool = False
    known: frozenset[str] = frozenset()
    wanted: HopedFor | None = None

    def then(self, more: Directions) -> Directions:
        """These directions, and then ``more``; the latter alone if their places would come before these acts."""
        if self.acts and more.places:
            return more
        hint, places = f"{self.hint}, {more.hint}", (*self.places, *more.places)
        return replace(more, hint=hint, places=places, acts=(*self.acts, *more.acts))

    def next(self, belief: Belief, wanted: str, barred: Container[str] = ()) -> tuple[str, Directions] | None:
        """The next command that is not ``barred``, and the directions left; ``wanted`` is any text that names wanted kinds."""
        kinds = frozenset(re.findall(r"[a-z]+", wanted.lower()))
        if self.search and any(item.kind in kinds and item.name not in self.known for item in belief.items):
            return None
        for at, place in enumerate(self.places):
            one = belief.receptacle(place)
            shut = one is not None and one.openness == "closed"
            move = self.commands.go.format(place=place) if not belief.is_here(place) else f"open {place}" if shut else None
            if move is not None and move not in barred:
                return move, replace(self, places=self.places[at:])
        for at, act in enumerate(self.acts):
            move = step_towards(act, belief, self.commands)
            if move is not None and move not in barred:
                return move, replace(self, places=(), acts=self.acts[at + (move == act) :])
        found = None if self.wanted is None else self.wanted.found(belief)
        if found is not None and found.where is not None:
            act = self.commands.take.format(thing=found.name, place=found.where)
            move = step_towards(act, belief, self.commands)
            if move is not None and move not in barred:
                return move, replace(self, places=(), acts=(), wanted=self.wanted if move != act else None)
        return None


def directed(reading: Understood, scene: Surroundings) -> Directions | None:
    """Directions for an agent from a reading; None if it tells nothing to do."""
    acts, commands = list(reading.acts), scene.commands
    places = list(reading.look) + [place for _, place in reading.known]
    # To go to a place or to open it is to look there.
    while acts and (place := _visited(acts[0], commands)) is not None:
        places.append(place)
        acts.pop(0)
    if reading.wanted is not None and reading.wanted.place and reading.wanted.place not in places:
        places.append(reading.wanted.place)
    if not places and not acts:
        return None
    known = frozenset(item.name for item in scene.belief.items)
    return Directions(reading.said, commands, tuple(places), tuple(acts), search=not acts, known=known, wanted=reading.wanted)


def _visited(act: str, commands: Commands) -> str | None:
    names = grounding.names_of(act)
    if len(names) == 1 and act in (commands.go.format(place=names[0]), f"open {names[0]}"):
        return names[0]
    return None


def step_towards(act: str, belief: Belief, commands: Commands) -> str | None:
    """The next command on the way to ``act``, which is ``act`` itself where it can be given; None if it is done already."""
    names = grounding.names_of(act)
    verb = act.partition(" ")[0]
    place = next((name for name in reversed(names) if name in belief.places), None)
    if place is None:
        item = next((belief.item(name) for name in names if belief.item(name) is not None), None)
        place = None if item is None or verb == "examine" else item.where
    if names and act == commands.go.format(place=names[-1]):
        return None if belief.is_here(names[-1]) else act
    if act.startswith(commands.take.split()[0]) and names and names[0] in belief.carried:
        return None
    there = belief.receptacle(place)
    if there is None:
        return act
    if not belief.is_here(there.name):
        return commands.go.format(place=there.name)
    if verb in ("open", "close"):
        return None if there.openness == {"open": "open", "close": "closed"}[verb] else act
    treats = commands.treat is not None and verb in ("heat", "cool", "clean")
    if there.openness == "closed" and not treats and verb != "examine":
        return f"open {there.name}"
    return act
