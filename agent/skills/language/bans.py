"""Acts that a person rules out: "don't heat it", "don't open anything", "don't touch the knife or the fork"."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace

from housequest.agent.skills import naming
from housequest.agent.skills.language import grounding, wording
from housequest.agent.skills.language.grounding import Grounder
from housequest.worlds.household.base import Commands
from housequest.worlds.household.belief import kind
from housequest.worlds.household.goals import APPLIANCES, Goal, Skill

_ACTS = frozenset({"open", "close", "take", "put", "use", "take_off", "slice", *APPLIANCES})
_COVERS = {"touch": _ACTS, "use": _ACTS, "search": frozenset({"go", "open", "examine"})}
"""The verbs of commands that a more general verb rules out."""
_SHAPES = wording.phrases("bans")
_OR = re.compile(r",? (?:and|or|nor) |, ")


@dataclass(frozen=True, slots=True)
class Ban:
    """An act that is ruled out: a ``verb`` as `Grounder` takes it, with a ``thing`` at a ``place``, each by kind or name, or
    empty for any; ``said`` in a person's words."""

    said: str
    verb: str
    thing: str = ""
    place: str = ""

    def covers(self, verb: str | None) -> bool:
        """True if it rules out acts of this verb."""
        return verb is not None and verb in _COVERS.get(self.verb, (self.verb,))

    def forbids(self, command: str, commands: Commands) -> bool:
        """True if it rules out a command."""
        named = grounding.names_of(command)
        wanted = filter(None, (self.thing, self.place))
        meant = all(any(naming.matches(name, one) for name in named) for one in wanted)
        return meant and self.covers(grounding.verb_of(command, commands))

    def rules_out(self, step: Skill) -> bool:
        """True if it rules out a step of a goal, whichever thing and place of their kinds are taken for it."""
        verb = {"pick": "take"}.get(step.verb, step.verb)
        place = next((device for treatment, device in APPLIANCES.items() if treatment == step.verb), step.receptacle)
        there = self.thing in ("", step.object) and self.place in ("", place)
        return self.covers(verb) and (there or (not self.thing and self.place == step.object))

    def is_about(self, names: Collection[str]) -> bool:
        """True if one of these things and places is meant."""
        return any(naming.matches(name, one) for name in names for one in (self.thing, self.place) if one)


@dataclass(frozen=True, slots=True)
class Barred:
    """The commands that a person ruled out: those ``listed``, and all that a ban forbids."""

    listed: frozenset[str]
    bans: tuple[Ban, ...]
    commands: Commands

    def __contains__(self, command: object) -> bool:
        return command in self.listed or any(ban.forbids(str(command), self.commands) for ban in self.bans)

    def __iter__(self) -> Iterator[str]:
        return iter(self.listed)

    def __len__(self) -> int:
        return len(self.listed) + len(self.bans)

    def also(self, more: Iterable[str]) -> Barred:
        """These, and ``more``."""
        return replace(self, listed=self.listed.union(more))


def unmet(bans: Collection[Ban], goals: Iterable[Goal]) -> str | None:
    """Say which step of a goal the ``bans`` rule out; None if there is a way."""
    steps = (step for goal in goals for step in goal.steps())
    step = next((one for one in steps if any(ban.rules_out(one) for ban in bans)), None)
    return None if step is None else f"The task asks me to {step.text}, so I cannot finish it unless you take that back."


def forbidden(clause: str, ground: Grounder, goals: Iterable[Goal]) -> tuple[Ban, ...]:
    """The acts that a clause rules out; none if it is about places to leave out, or about nothing."""
    begun = _SHAPES["begins"].match(clause)
    text = clause[begun.end() :] if begun is not None else ""
    found, bare = list[Ban](), list[str]()
    verb = ""
    for part in filter(None, (one.strip(" ,.!") for one in _OR.split(text))):
        verb, rest = _verb_of(part) or (verb, part)
        if not verb:
            return ()
        if not rest:
            # "Do not open or close anything" names it once.
            bare.append(verb)
            continue
        about = _about(rest, verb, ground, goals)
        if about is None:
            return ()
        found += [Ban(_said(one, *each), one, *each) for one in (*bare, verb) for each in about]
        bare.clear()
    return (*found, *(Ban(_said(one), one) for one in bare if one in _ACTS))


def _verb_of(part: str) -> tuple[str, str] | None:
    if (touch := _SHAPES["touch"].match(part)) is not None:
        return "touch", part[touch.end() :].strip()
    found = wording.verb_of(part)
    return found if found is not None and found[0] in (*_ACTS, "go", "search") else None


def _about(text: str, verb: str, ground: Grounder, goals: Iterable[Goal]) -> list[tuple[str, str]] | None:
    """The things that are named, with their places; None for names that no house has."""
    text = grounding.in_names_of_the_house(re.sub(r"\bdoor\b", "", text), ground.belief)
    named = [*grounding.mentions(text, ground.belief, ground.household)]
    pronoun = re.search(r"\b(?:it|that|this|them|these|those|one)\b", text)
    if not named and pronoun is None and not _SHAPES["any"].fullmatch(text):
        return None
    if verb in ("go", "search"):
        # Known places are left out in another way.
        return [("", one.said) for one in named] if not any(one.kind in ground.belief.kinds for one in named) else None
    if verb in ("open", "close"):
        spoken = (ground.place or ground.belief.at or "") if pronoun is not None else ""
        return [("", one.said) for one in named] or [("", spoken)]
    at = [one.said for one in named if one.is_place]
    it = _meant(verb, ground, goals) if pronoun is not None and not (at and verb in ("touch", "use")) else ""
    return [(thing, there) for thing in [one.said for one in named if not one.is_place] or [it] for there in at or [""]]


def _meant(verb: str, ground: Grounder, goals: Iterable[Goal]) -> str:
    """The thing that "it" means: what is held or was spoken of, else that of the task; treated ones by kind."""
    thing = ground.held or ground.thing or next((goal.object for goal in goals), "")
    return kind(thing) if verb in (*APPLIANCES, "slice") and thing else thing


def _said(verb: str, thing: str = "", place: str = "") -> str:
    words = {"take_off": "switch off", "search": "look into", "go": "look into"}.get(verb, verb)
    at = {"take": "from", "put": "in"}.get(verb, "with")
    return f"{words} {thing} {at} {place}" if thing and place else f"{words} {thing or place or 'anything'}"
