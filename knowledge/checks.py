"""Checks: what can be said about commands in a small language over belief, so that recorded play can confirm or refute it.

A check reads, for example::

    take {object} from {receptacle}; when holding something; then refused
    heat {object} with {receptacle}; when holding {object} and {receptacle} is a microwave; then {object} is hot
    go to {receptacle}; when {receptacle} is a fridge; then says "You arrive at {receptacle}. ..."

The first part is a pattern of commands; a word in braces is a variable that stands for a name such as "mug 1". The facts after
``when`` speak of what is known before the command, those after ``then`` of what is known afterwards, and of the answer:
``refused``, ``accepted``, and ``says``, where ``...`` is any text. ``when`` may be left out. A fact is one of::

    holding nothing | holding something | holding THING
    at nothing | at THING                   the agent is at the location of this receptacle
    THING is in THING
    THING is open | closed | surface        (surface: cannot be opened)
    THING is hot | cool | clean | sliced | lit
    THING is empty | here | known           (known: its name was told already)
    THING is a KIND or KIND ...             (receptacle and object are kinds too)

with ``not`` before it for its contrary. A THING is a variable, a name ("fridge 1"), or ``a KIND or KIND`` for any of its kind.
`knowledge.language` reads this and `knowledge.judging` decides it; nothing in it is ever run as code.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Shape = Literal["variable", "name", "kinds", "nothing"]
Relation = Literal["holding", "at", "in", "state", "kind", "refused", "says"]
State = Literal["open", "closed", "surface", "hot", "cool", "clean", "sliced", "lit", "empty", "here", "known"]
Verdict = Literal["supports", "contradicts", "undecided"]

STATES: tuple[State, ...] = ("open", "closed", "surface", "hot", "cool", "clean", "sliced", "lit", "empty", "here", "known")
ANYTHING = "..."


@dataclass(frozen=True, slots=True)
class Term:
    """What a fact is about: a variable's or a thing's name in ``words``, or several kinds, any of which will do."""

    shape: Shape
    words: tuple[str, ...] = ()

    def __str__(self) -> str:
        match self.shape:
            case "variable":
                return f"{{{self.words[0]}}}"
            case "name":
                return self.words[0]
            case "kinds":
                return f"a {' or '.join(self.words)}"
            case _:
                return self.shape


@dataclass(frozen=True, slots=True)
class Fact:
    """One thing that can be true, false or not known.

    ``subject`` is what it is about and ``other`` the second thing it names; ``text`` is the state, or the pattern of an answer.
    """

    relation: Relation
    subject: Term | None = None
    other: Term | None = None
    text: str = ""
    negated: bool = False

    def __str__(self) -> str:
        if self.relation == "refused":
            return "accepted" if self.negated else "refused"
        if self.relation == "holding" and self.negated and self.subject == Term("nothing"):
            return "holding something"
        return f"{'not ' if self.negated else ''}{self._plain()}"

    def _plain(self) -> str:
        match self.relation:
            case "holding" | "at":
                return f"{self.relation} {self.subject}"
            case "in":
                return f"{self.subject} is in {self.other}"
            case "says":
                return f'says "{self.text}"'
            case "kind":
                return f"{self.subject} is {self.other}"
            case _:
                return f"{self.subject} is {self.text}"


@dataclass(frozen=True, slots=True)
class Check:
    """A rule in a form that recorded play can decide: a pattern of commands, what is known before, and what then happens."""

    command: str
    before: tuple[Fact, ...]
    then: tuple[Fact, ...]

    def __str__(self) -> str:
        when = f"; when {' and '.join(map(str, self.before))}" if self.before else ""
        return f"{self.command}{when}; then {' and '.join(map(str, self.then))}"

    @property
    def verb(self) -> str:
        """The first word of its commands, by which checks are looked up."""
        return self.command.partition(" ")[0]
