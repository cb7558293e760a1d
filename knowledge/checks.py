"""A check: a statement about commands in a small language, which recorded play can confirm or refute. It reads, for example::

    take {object} from {receptacle}; when holding something; then refused
    heat {object} with {receptacle}; when holding {object} and {receptacle} is a microwave; then {object} is hot
    go to {receptacle}; when {receptacle} is a fridge; then says "You arrive at {receptacle}. ..."

The first part is a pattern of commands; a word in braces is a variable for a name such as "mug 1". The facts after ``when``,
which may be left out, are about what the player knows before the command. Those after ``then`` are about what it knows
afterwards and about the answer: ``refused``, ``accepted`` and ``says "TEXT"``, where ``...`` is any text. A fact is one of::

    holding nothing | holding something | holding THING
    a hand is free | no hand is free
    at nothing | at THING                   the agent is where this receptacle is
    THING is in THING
    THING is open | closed | surface        (surface: cannot be opened)
    THING is hot | cool | clean | sliced | lit
    THING is empty | here | known           (here: an object at the agent's location; known: its name has been seen)
    THING is a KIND or KIND ...             (receptacle and object are kinds too)

or ``not`` and a fact. Facts are joined by ``and``. A THING is a variable, a name ("fridge 1"), or ``a KIND or KIND`` for
anything of these kinds. `housequest.knowledge.judging` decides checks; nothing is run as code.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal, cast, get_args

from housequest.worlds.errors import KnowledgeError, nearest, shown

TermShape = Literal["variable", "name", "kinds", "nothing"]
Relation = Literal["holding", "free", "at", "in", "state", "kind", "refused", "says"]
ThingState = Literal["open", "closed", "surface", "hot", "cool", "clean", "sliced", "lit", "empty", "here", "known"]
CheckVerdict = Literal["supports", "contradicts", "undecided"]

STATES: tuple[ThingState, ...] = get_args(ThingState)
ANYTHING = "..."


@dataclass(frozen=True, slots=True)
class Term:
    """The subject of a fact: ``words`` holds a variable's name, a thing's name, or kinds of which any will do."""

    shape: TermShape
    words: tuple[str, ...] = ()

    def __str__(self) -> str:
        words = " or ".join(self.words)
        return {"variable": f"{{{words}}}", "name": words, "kinds": f"a {words}", "nothing": "nothing"}[self.shape]


@dataclass(frozen=True, slots=True)
class Fact:
    """A statement that is true, false or unknown. ``text`` is a state, or the pattern of an answer."""

    relation: Relation
    subject: Term | None = None
    other: Term | None = None
    text: str = ""
    negated: bool = False

    def __str__(self) -> str:
        match self.relation:
            case "refused":
                return "accepted" if self.negated else "refused"
            case "holding" if self.negated and self.subject == Term("nothing"):
                return "holding something"
            case "free":
                return "no hand is free" if self.negated else "a hand is free"
            case "holding" | "at":
                plain = f"{self.relation} {self.subject}"
            case "in":
                plain = f"{self.subject} is in {self.other}"
            case "says":
                plain = f'says "{self.text}"'
            case "kind":
                plain = f"{self.subject} is {self.other}"
            case _:
                plain = f"{self.subject} is {self.text}"
        return f"{'not ' if self.negated else ''}{plain}"


@dataclass(frozen=True, slots=True)
class Check:
    """A statement that recorded play can decide: a pattern of commands, the facts before, and what then happens."""

    command: str
    before: tuple[Fact, ...]
    then: tuple[Fact, ...]

    @property
    def occasion(self) -> str:
        """The condition under which the check applies: its command pattern and the facts before, in any order."""
        return " and ".join([self.command, *sorted(map(str, self.before))])

    def __str__(self) -> str:
        when = f"; when {' and '.join(map(str, self.before))}" if self.before else ""
        return f"{self.command}{when}; then {' and '.join(map(str, self.then))}"


def exclude(one: Check | None, other: Check | None) -> bool:
    """True if two checks state opposite facts for the same commands and facts before."""
    if one is None or other is None or one.occasion != other.occasion:
        return False
    return any(replace(fact, negated=not fact.negated) in other.then for fact in one.then)


LONGEST = 600
MOST_VARIABLES = 4
MOST_FACTS = 8
MOST_KINDS = 40
MOST_GAPS = 8

_VARIABLE = re.compile(r"\{([a-z][a-z_]{0,19})\}", re.ASCII)
_WORD = re.compile(r"[A-Za-z][\w-]{0,59}", re.ASCII)
_NAME = re.compile(r"[A-Za-z][\w-]{0,59} [0-9]{1,6}", re.ASCII)
_VERB = re.compile(r"[a-z]{1,20}", re.ASCII)
_ARTICLES = ("a", "an")
_EXAMPLE = "for example: open {receptacle}; when {receptacle} is closed; then {receptacle} is open"


def parse_check(text: str) -> Check:
    """Parse a check. Raises ``KnowledgeError`` with the part that cannot be read and a form that can."""
    if len(text) > LONGEST:
        raise KnowledgeError(f"a check has at most {LONGEST} characters, not {len(text)}.")
    if not text.replace("\n", " ").isprintable():
        raise KnowledgeError(f"a check is written in printable characters, which {shown(text)} is not.")
    parts = [part.strip() for part in _split(text, ";")]
    if len(parts) not in {2, 3}:
        raise KnowledgeError(f"a check is COMMAND; when FACTS; then FACTS; {_EXAMPLE}.")
    command = " ".join(parts[0].split())
    variables = _variables(command)
    before = _facts(parts[1], "when", variables) if len(parts) == 3 else ()
    wrong = next((fact for fact in before if fact.relation in {"refused", "says"}), None)
    if wrong is not None:
        raise KnowledgeError(f"{str(wrong)!r} cannot hold before the command; write it after `then`.")
    return Check(command, before, _facts(parts[-1], "then", variables))


def _variables(command: str) -> tuple[str, ...]:
    words = command.split(" ")
    if not _VERB.fullmatch(words[0]):
        raise KnowledgeError(f"a command begins with its verb, in lower case, not with {shown(words[0])}; {_EXAMPLE}.")
    for word in words:
        if not (_VARIABLE.fullmatch(word) or re.fullmatch(r"[A-Za-z0-9_/-]+", word)):
            raise KnowledgeError(f"{shown(word)} in the command is neither a word nor a variable such as {{object}}.")
    found = tuple(dict.fromkeys(cast("list[str]", _VARIABLE.findall(command))))
    if len(found) > MOST_VARIABLES:
        raise KnowledgeError(f"a command has at most {MOST_VARIABLES} variables.")
    return found


def _facts(part: str, word: str, variables: tuple[str, ...]) -> tuple[Fact, ...]:
    head, _, rest = part.partition(" ")
    if head != word:
        raise KnowledgeError(f"{shown(part)} should begin with `{word}`; {_EXAMPLE}.")
    texts = [text.strip() for text in _split(rest, " and ")]
    if len(texts) > MOST_FACTS:
        raise KnowledgeError(f"there are at most {MOST_FACTS} facts after `{word}`.")
    return tuple(_fact(" ".join(text.split()) if '"' not in text else text, variables) for text in texts)


def _fact(text: str, variables: tuple[str, ...]) -> Fact:
    head, _, rest = text.partition(" ")
    match head:
        case "not" if rest:
            fact = _fact(rest, variables)
            return replace(fact, negated=not fact.negated)
        case "refused" | "accepted" if not rest:
            return Fact("refused", negated=head == "accepted")
        case "says":
            return Fact("says", text=_pattern(rest.strip(), variables))
        case "holding" if rest == "something":
            return Fact("holding", Term("nothing"), negated=True)
        case "a" | "no" if rest == "hand is free":
            return Fact("free", negated=head == "no")
        case "holding" | "at":
            return Fact(head, Term("nothing") if rest == "nothing" else _term(rest, variables))
        case _:
            return _described(text, variables)


def _described(text: str, variables: tuple[str, ...]) -> Fact:
    subject, verb, rest = text.partition(" is ")
    if not verb:
        raise KnowledgeError(
            f"{shown(text)} is not a fact; write `holding THING`, `at THING`, `THING is ...`, `refused` or `says`."
        )
    if rest.startswith("not "):
        fact = _described(f"{subject} is {rest.removeprefix('not ')}", variables)
        return replace(fact, negated=not fact.negated)
    term = _term(subject, variables)
    if rest.startswith("in "):
        return Fact("in", term, _term(rest.removeprefix("in ").strip(), variables))
    if rest.partition(" ")[0] in _ARTICLES:
        return Fact("kind", term, _term(rest, variables))
    if rest not in STATES:
        known = f"It can be {', '.join(STATES)}, in THING, or a KIND."
        raise KnowledgeError(f"{shown(rest)} is nothing that a thing can be.{nearest(rest, STATES)} {known}")
    return Fact("state", term, text=rest)


def _term(text: str, variables: tuple[str, ...]) -> Term:
    if found := _VARIABLE.fullmatch(text):
        if found[1] not in variables:
            raise KnowledgeError(f"{text} is not in the command; write it there too.{nearest(found[1], variables)}")
        return Term("variable", (found[1],))
    if _NAME.fullmatch(text):
        return Term("name", (text,))
    article, _, rest = text.partition(" ")
    kinds = tuple(rest.split(" or ")) if article in _ARTICLES else ()
    # People write "a knife or a butterknife".
    kinds = tuple(kind.removeprefix("a ").removeprefix("an ") for kind in kinds)
    if not kinds or len(kinds) > MOST_KINDS or not all(_WORD.fullmatch(kind) for kind in kinds):
        raise KnowledgeError(
            f"{shown(text)} names no thing; write {{variable}}, a name such as `fridge 1`, or `a fridge or safe`."
        )
    return Term("kinds", kinds)


def _pattern(text: str, variables: tuple[str, ...]) -> str:
    if len(text) < 3 or text[0] != '"' or text[-1] != '"' or '"' in text[1:-1]:
        raise KnowledgeError('what the game says is written in quotation marks: says "You arrive at {receptacle}. ..."')
    pattern = text[1:-1]
    unknown = next((name for name in cast("list[str]", _VARIABLE.findall(pattern)) if name not in variables), None)
    if unknown is not None:
        raise KnowledgeError(f"{{{unknown}}} is not in the command; write it there too.{nearest(unknown, variables)}")
    if pattern.count(ANYTHING) > MOST_GAPS:
        raise KnowledgeError(f"what the game says has at most {MOST_GAPS} gaps ({ANYTHING}).")
    return pattern


def _split(text: str, mark: str) -> Iterator[str]:
    """Split ``text`` at ``mark``, except within quotation marks."""
    text = text.replace("\n", " ")
    masked = re.sub('"[^"]*"?', lambda quoted: "_" * len(quoted[0]), text)
    start = 0
    for part in masked.split(mark):
        yield text[start : start + len(part)]
        start += len(part) + len(mark)
