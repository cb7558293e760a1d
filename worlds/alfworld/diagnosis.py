"""Explains why a command was refused, for players who are granted that, from belief and the rules of the game alone. The game
itself answers every refused command with the same two words."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial

from housequest.worlds.alfworld.text import COMMANDS, HOUSEHOLD, canonical, refused
from housequest.worlds.base import Env, Step
from housequest.worlds.errors import nearest, shown, unquoted
from housequest.worlds.household.base import BelievingEnv
from housequest.worlds.household.belief import Belief, Openness, kind
from housequest.worlds.household.goals import APPLIANCES, KNIVES
from housequest.worlds.household.news import read_gift
from housequest.worlds.shared import WAIT

MAX_COMMAND = 1_000
MAX_CHOICES = 6
_PARTS = re.compile(r"\{(\w+)\}")
_printable = partial(unquoted, limit=80)
_BARE = ("look", "inventory", "help")
_PATTERNS = dict(zip(_BARE, _BARE, strict=True)) | {form.pattern.partition(" ")[0]: form.pattern for form in COMMANDS.forms}
"""The form of the command of each verb."""


def explain(belief: Belief, command: str) -> str | None:
    """The reason why ``command`` was refused, in one printable line; None if the ``belief`` after it does not show one."""
    bare = canonical(command.strip())
    if len(bare) > MAX_COMMAND:
        return f"A command has a few words, not {len(bare):,} characters."
    tidy = " ".join(bare.lower().split())
    if not tidy:
        return "The command is empty; `look` and `inventory` always work."
    verb = tidy.partition(" ")[0]
    if belief.others and verb == "give":
        return next(_Reasons(belief).give(read_gift(bare)), None)
    if verb not in _PATTERNS:
        known = (*_PATTERNS, *(("give", WAIT) if belief.others else ()))
        return f"There is no command {shown(verb, 40)}.{nearest(verb, known)} Commands begin with {', '.join(known)}."
    found = re.fullmatch(_PARTS.sub(r"(?P<\1>[^ ]+(?: [^ ]+)?)", _PATTERNS[verb]), tidy)
    if found is None:
        form = _PARTS.sub(lambda part: part[1].upper(), _PATTERNS[verb])
        return f"That is written `{form}`, with names and numbers as the game gives them."
    if tidy != bare:
        return f"Commands are written in lower case with single spaces: `{_printable(tidy)}`."
    return next(_Reasons(belief).of(verb, **found.groupdict()), None)


class Diagnosed(BelievingEnv):
    """An env that explains refusals in ``Observation.explanation``, and reads the older ``put`` as ``move``."""

    def __init__(self, env: Env) -> None:
        super().__init__(env, HOUSEHOLD)

    def step(self, command: str) -> Step:
        executed = canonical(command)
        step = super().step(executed)
        if refused(step.observation):
            explanation = explain(step.observation.belief or Belief(), command)
        else:
            explanation = None if executed == command else f"Done as `{_printable(executed)}`."
        return replace(step, observation=replace(step.observation, explanation=explanation))


def _meant(name: str, known: Sequence[str]) -> str:
    """A hint for an unknown name: a kind without its number, or a typo."""
    alike = sorted(other for other in known if kind(other) == name)
    return f" Say which: {' or '.join(alike[:MAX_CHOICES])}." if len(alike) > 1 else nearest(name, alike or list(known))


class _Reasons:
    """The reasons why a command of the right form was refused, in the order in which the game checks."""

    def __init__(self, belief: Belief) -> None:
        self.belief = belief

    def of(self, verb: str, object: str = "", receptacle: str = "", thing: str = "", tool: str = "") -> Iterator[str]:
        """The reasons for one command; parts that its form lacks are empty."""
        held = self.belief.held
        match verb:
            case "go":
                yield from self._unknown(receptacle)
                if self.belief.is_here(receptacle):
                    at = self.belief.at
                    beside = f": it is in the same place as the {at}" if at not in (None, receptacle) else ""
                    yield f"You are at the {receptacle} already{beside}."
            case "open" | "close":
                yield from self._away(receptacle)
                yield from self._stuck(receptacle, "open" if verb == "open" else "closed")
            case "take":
                if held:
                    yield f"Your hands are full: you hold the {held}. Put it down first."
                yield from self._unseen(object)
                yield from self._unreachable(receptacle)
                yield from self._elsewhere(object, receptacle)
            case "move":
                yield from self._unheld(object)
                yield from self._unreachable(receptacle)
                shut = "is closed, or " if self._openness(receptacle) is None else ""
                yield f"The {receptacle} {shut}does not take a {kind(object)}."
            case "examine":
                if self.belief.receptacle(thing):
                    yield from self._away(thing)
                elif held != thing:
                    yield from self._unseen(thing)
                    yield f"An object is examined in the hand: take the {thing} first."
            case "use":
                yield from self._unseen(object)
                if held == object:
                    yield f"You hold the {object}; what is switched on stands somewhere."
                yield from self._too_far(object)
                yield f"The {object} cannot be switched on here."
            case "heat" | "cool" | "clean":
                yield from self._unknown(receptacle)
                yield from self._unheld(object)
                if kind(receptacle) != APPLIANCES[verb]:
                    yield f"A {kind(receptacle)} does not {verb}; a {APPLIANCES[verb]} does."
                yield from self._away(receptacle)
                yield f"One cannot {verb} a {kind(object)}."
            case "slice":
                if kind(tool) not in KNIVES:
                    yield f"A {_printable(kind(tool))} does not slice; a {' or a '.join(KNIVES)} does."
                yield from self._unheld(tool)
                yield from self._unseen(object)
                yield from self._too_far(object)
                yield f"The {object} cannot be sliced here."
            case _:
                return

    def give(self, gift: tuple[str, str] | None) -> Iterator[str]:
        """The reasons why a thing could not be given to another player."""
        names = [one.name for one in self.belief.others]
        here = " and ".join(names)
        if gift is None:
            yield f"That is written `give OBJECT to NAME`, with the number of the object and the name {' or '.join(names)}."
            return
        thing, name = gift
        other = next((one for one in self.belief.others if one.name.casefold() == name.casefold()), None)
        if other is None:
            yield f"Nobody else called {_printable(name)} is here, only {here}."
            return
        yield from self._unheld(thing)
        if not self.belief.is_here(other.at or ""):
            where = f"{other.name} is at the {other.at}" if other.at else f"you see {other.name} at none"
            yield f"Things are given at the same place, and {where}."
        elif other.carried:
            yield f"{other.name} has no free hand; it holds the {other.carried[0]}."

    def _stuck(self, name: str, already: str) -> Iterator[str]:
        openness = self._openness(name)
        unless = "" if openness else f", or is {already} already; examine it"
        if openness in ("surface", None):
            yield f"The {name} cannot be opened or closed{unless}."
        yield f"The {name} is {openness} already."

    def _elsewhere(self, thing: str, name: str) -> Iterator[str]:
        seen = [holder.name for holder in self.belief.holders(thing)]
        if name in seen:
            yield f"The {thing} cannot be picked up."
        yield f"The {thing} was not seen in the {name}{f'; it was seen in the {seen[0]}' if seen else ''}."

    def _openness(self, name: str) -> Openness | None:
        one = self.belief.receptacle(name)
        return one.openness if one else None

    def _unknown(self, name: str) -> Iterator[str]:
        known = [one.name for one in self.belief.receptacles]
        if name not in known:
            yield f"No {shown(name, 60)} is known in this house.{_meant(name, known)}"

    def _unseen(self, name: str) -> Iterator[str]:
        seen = [one.name for one in self.belief.items]
        if name not in seen:
            if self.belief.receptacle(name):
                yield f"The {name} is furniture; it stays where it is."
            yield f"No {shown(name, 60)} was seen so far.{_meant(name, seen)}"

    def _away(self, name: str) -> Iterator[str]:
        yield from self._unknown(name)
        if not self.belief.is_here(name):
            yield self._go_first(name)

    def _go_first(self, name: str) -> str:
        # Not "it is not here": it may share the location without having been listed.
        where = f"at the {self.belief.at}" if self.belief.at else "in the middle of the room"
        return f"You are {where}; go to the {name} first."

    def _too_far(self, name: str) -> Iterator[str]:
        holders = self.belief.holders(name)
        if holders and not any(self.belief.is_here(one.name) for one in holders):
            yield self._go_first(holders[0].name)

    def _unreachable(self, name: str) -> Iterator[str]:
        yield from self._away(name)
        if self._openness(name) == "closed":
            yield f"The {name} is closed; open it first."

    def _unheld(self, name: str) -> Iterator[str]:
        if self.belief.held != name:
            yield from self._unseen(name)
            yield f"You do not hold the {name}; you hold {f'the {self.belief.held}' if self.belief.held else 'nothing'}."
