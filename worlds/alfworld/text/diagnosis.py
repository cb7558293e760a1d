"""Explains why a command was refused, for players who are granted it.

The game answers every refused command with the same two words. ``explain`` says what was wrong, as far as belief and the rules
of the game tell; it never uses hidden state.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from worlds.alfworld.text.reader import begin, canonical, refused, update
from worlds.base import Env, Step
from worlds.errors import OrderError, nearest, shown
from worlds.household.belief import Belief, Receptacle, kind
from worlds.household.goals import APPLIANCES, KNIVES, Treatment
from worlds.wrappers import Wrapper

MAX_COMMAND = 1_000
MAX_CHOICES = 6

_FORMS: dict[str, str] = {
    "look": "look",
    "inventory": "inventory",
    "help": "help",
    "go": "go to RECEPTACLE",
    "open": "open RECEPTACLE",
    "close": "close RECEPTACLE",
    "take": "take OBJECT from RECEPTACLE",
    "move": "move OBJECT to RECEPTACLE",
    "examine": "examine THING",
    "use": "use OBJECT",
    "heat": "heat OBJECT with RECEPTACLE",
    "cool": "cool OBJECT with RECEPTACLE",
    "clean": "clean OBJECT with RECEPTACLE",
    "slice": "slice OBJECT with TOOL",
}
_PARTS = re.compile(r"\b(OBJECT|RECEPTACLE|THING|TOOL)\b")
_PATTERNS = {
    verb: re.compile(_PARTS.sub(lambda part: f"(?P<{part[0].lower()}>[^ ]+(?: [^ ]+)?)", form)) for verb, form in _FORMS.items()
}


@dataclass(frozen=True, slots=True)
class _Command:
    """A command in one of the game's forms; parts that the form lacks are empty."""

    verb: str
    object: str = ""
    receptacle: str = ""
    thing: str = ""
    tool: str = ""


def explain(belief: Belief, command: str) -> str | None:
    """Why ``command`` was just refused, in one printable line of bounded length; None if belief does not tell.

    ``belief`` is the one after the refusal.
    """
    bare = canonical(command.strip())
    if len(bare) > MAX_COMMAND:
        return f"A command has a few words, not {len(bare):,} characters."
    tidy = " ".join(bare.lower().split())
    if not tidy:
        return "The command is empty; `look` and `inventory` always work."
    read = _read(tidy)
    if read is None:
        return _unreadable(tidy)
    if tidy != bare:
        return f"Commands are written in lower case with single spaces: `{_printable(tidy)}`."
    return _Explainer(belief).explain(read)


class Diagnosed(Wrapper):
    """An env that explains refusals in ``Observation.explanation`` and reads the older ``put`` as ``move``.

    The text stays the game's. If a ``put`` was executed as a ``move``, the explanation says so.
    """

    def __init__(self, env: Env) -> None:
        super().__init__(env)
        self._belief: Belief | None = None

    @property
    def belief(self) -> Belief:
        """The belief from the observations so far. Raises ``OrderError`` before the first reset."""
        if self._belief is None:
            raise OrderError("This env was used before its first reset; call reset() first.")
        return self._belief

    def reset(self) -> Step:
        step = self.env.reset()
        self._belief = begin(step.observation)
        return step

    def step(self, command: str) -> Step:
        executed = canonical(command)
        step = self.env.step(executed)
        self._belief = update(self.belief, executed, step.observation)
        if refused(step.observation):
            explanation = explain(self._belief, command)
        else:
            explanation = None if executed == command else f"Done as `{_printable(executed)}`."
        return replace(step, observation=replace(step.observation, explanation=explanation))

    def copy(self) -> Diagnosed:
        other = Diagnosed(self.env.copy())
        other._belief = self._belief
        return other


def _read(tidy: str) -> _Command | None:
    verb = tidy.partition(" ")[0]
    pattern = _PATTERNS.get(verb)
    found = pattern.fullmatch(tidy) if pattern else None
    return _Command(verb, **found.groupdict()) if found else None


def _unreadable(tidy: str) -> str:
    verb = tidy.partition(" ")[0]
    if verb in _FORMS:
        return f"That is written `{_FORMS[verb]}`, with names and numbers as the game gives them."
    return f"There is no command {shown(verb, 40)}.{nearest(verb, tuple(_FORMS))} Commands begin with {', '.join(_FORMS)}."


def _printable(text: str) -> str:
    return shown(text, 80)[1:-1]


def _meant(name: str, known: Sequence[str]) -> str:
    """A hint for an unknown name: a kind without its number, or a typo."""
    alike = sorted(other for other in known if kind(other) == name)
    return f" Say which: {' or '.join(alike[:MAX_CHOICES])}." if len(alike) > 1 else nearest(name, alike or list(known))


class _Explainer:
    """Explains a command of the right form; each method returns the first thing that is wrong, or None."""

    def __init__(self, belief: Belief) -> None:
        self.belief = belief

    def explain(self, command: _Command) -> str | None:
        match command.verb:
            case "go":
                return self._no_receptacle(command.receptacle) or self._go(command.receptacle)
            case "open" | "close":
                return self._away(command.receptacle) or self._open(command.receptacle, command.verb)
            case "take":
                return self._take(command)
            case "move":
                return self._unheld(command.object) or self._unreachable(command.receptacle) or self._unfit(command)
            case "examine":
                return self._examine(command.thing)
            case "use":
                return self._use(command.object)
            case "heat" | "cool" | "clean":
                return self._treat(command, command.verb)
            case "slice":
                return self._slice(command)
            case _:
                return None

    def _go(self, name: str) -> str | None:
        return f"You are at the {name} already." if self.belief.is_here(name) else None

    def _open(self, name: str, verb: str) -> str:
        one = self._receptacle(name)
        if one.openness == "surface":
            return f"The {name} cannot be opened or closed."
        if one.openness is None:
            return f"The {name} cannot be opened or closed, or is {'open' if verb == 'open' else 'closed'} already; examine it."
        return f"The {name} is {one.openness} already."

    def _take(self, command: _Command) -> str:
        name, source = command.object, command.receptacle
        if self.belief.held:
            return f"Your hands are full: you hold the {self.belief.held}. Put it down first."
        wrong = self._no_object(name) or self._unreachable(source)
        if wrong:
            return wrong
        one = self._receptacle(source)
        if name in self.belief.inside(one):
            return f"The {name} cannot be picked up."
        seen = [holder.name for holder in self.belief.holders(name)]
        return f"The {name} was not seen in the {source}{f'; it was seen in the {seen[0]}' if seen else ''}."

    def _unfit(self, command: _Command) -> str:
        shut = "is closed, or " if self._receptacle(command.receptacle).openness is None else ""
        return f"The {command.receptacle} {shut}does not take a {kind(command.object)}."

    def _examine(self, name: str) -> str | None:
        if self.belief.receptacle(name):
            return self._away(name)
        if self.belief.held == name:
            return None
        return self._no_object(name) or f"An object is examined in the hand: take the {name} first."

    def _use(self, name: str) -> str:
        wrong = self._no_object(name)
        if wrong:
            return wrong
        if self.belief.held == name:
            return f"You hold the {name}; what is switched on stands somewhere."
        return self._too_far(name) or f"The {name} cannot be switched on here."

    def _treat(self, command: _Command, verb: Treatment) -> str:
        wrong = self._no_receptacle(command.receptacle) or self._unheld(command.object)
        if wrong:
            return wrong
        if kind(command.receptacle) != APPLIANCES[verb]:
            return f"A {kind(command.receptacle)} does not {verb}; a {APPLIANCES[verb]} does."
        return self._away(command.receptacle) or f"One cannot {verb} a {kind(command.object)}."

    def _slice(self, command: _Command) -> str:
        if kind(command.tool) not in KNIVES:
            return f"A {_printable(kind(command.tool))} does not slice; a {' or a '.join(KNIVES)} does."
        wrong = self._unheld(command.tool) or self._no_object(command.object)
        if wrong:
            return wrong
        return self._too_far(command.object) or f"The {command.object} cannot be sliced here."

    # Shared by commands.

    def _receptacle(self, name: str) -> Receptacle:
        return self.belief.receptacle(name) or Receptacle(name, place=name)

    def _no_receptacle(self, name: str) -> str | None:
        if self.belief.receptacle(name):
            return None
        return f"No {shown(name, 60)} is known in this house.{_meant(name, [one.name for one in self.belief.receptacles])}"

    def _no_object(self, name: str) -> str | None:
        if self.belief.item(name):
            return None
        if self.belief.receptacle(name):
            return f"The {name} is furniture; it stays where it is."
        return f"No {shown(name, 60)} was seen so far.{_meant(name, [one.name for one in self.belief.items])}"

    def _away(self, name: str) -> str | None:
        if wrong := self._no_receptacle(name):
            return wrong
        return None if self.belief.is_here(name) else self._elsewhere(name)

    def _elsewhere(self, name: str) -> str:
        # Not "it is not here": it may share the location without having been listed.
        return (
            f"You are {f'at the {self.belief.at}' if self.belief.at else 'in the middle of the room'}; go to the {name} first."
        )

    def _too_far(self, name: str) -> str | None:
        holders = self.belief.holders(name)
        near = not holders or any(self.belief.is_here(one.name) for one in holders)
        return None if near else self._elsewhere(holders[0].name)

    def _unreachable(self, name: str) -> str | None:
        if wrong := self._away(name):
            return wrong
        return f"The {name} is closed; open it first." if self._receptacle(name).openness == "closed" else None

    def _unheld(self, name: str) -> str | None:
        if self.belief.held == name:
            return None
        if wrong := self._no_object(name):
            return wrong
        return f"You do not hold the {name}; you hold {f'the {self.belief.held}' if self.belief.held else 'nothing'}."
