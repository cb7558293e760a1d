"""Reads the problem half of a game: what there is, what is true at the start, and a goal of one of six forms.

The domain is the same in every game and is built into the engine, so this reads only what a problem can say about it.
Everything is lowercased, as planners do; nothing recurses and every count is bounded, since a game file is untrusted.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from housequest.worlds.errors import GameError, nearest, shown
from housequest.worlds.household.goals import GoalForm

_DOMAIN: dict[str, dict[Any, str]] = json.loads(Path(__file__).with_name("domain.json").read_text("utf-8"))
_GOALS: dict[GoalForm, str] = _DOMAIN["goals"]
"""The goals as the published problems write them, with the types that vary in capitals."""
PREDICATES: dict[str, tuple[str, ...]] = {name: tuple(kinds.split()) for name, kinds in _DOMAIN["predicates"].items()}
"""The domain's predicates and the kinds of thing each takes. Some steer nothing, but whatever they mention is numbered."""
KINDS = ("agent", "location", "receptacle", "object", "rtype", "otype")
#: Bounds well above any published game (90 kB, 363 things, 1,144 facts), so that a hostile file stays cheap.
MAX_TEXT = 2_000_000
MAX_THINGS = 2_000
MAX_FACTS = 20_000
Fact = tuple[str, ...]
_HOLES = ("OBJECT", "RECEPTACLE", "LAMP")
_TOKEN = re.compile(r"[()]|[^\s()]+")


@dataclass(frozen=True, slots=True)
class Problem:
    """A problem as written: ``things`` by id with their kind, the arguments of ``facts`` by predicate, and the goal.

    The goal is one of six ``form``s with its ``types`` under OBJECT, RECEPTACLE and LAMP, as far as the form has them.
    """

    things: dict[str, str]
    facts: dict[str, list[Fact]]
    form: GoalForm
    types: dict[str, str]

    def pairs(self, predicate: str) -> list[tuple[str, str]]:
        """The facts of a predicate that takes two things."""
        return [(fact[0], fact[1]) for fact in self.facts[predicate]]


def parse_problem(text: str, origin: str) -> Problem:
    """Read a PDDL problem of the ALFWorld domain. Raises ``GameError``, which names ``origin`` and the reason."""
    if len(text) > MAX_TEXT:
        raise GameError(f"{origin}: its PDDL problem has {len(text):,} characters; at most {MAX_TEXT:,} are read.")
    text = re.sub(r";[^\n]*", "", text)
    if not text.isascii():
        odd = next(character for character in text if not character.isascii())
        raise GameError(f"{origin}: its PDDL problem holds the non-ASCII character {shown(odd)}.")
    # Each piece but the first starts with the "(" that opens it, or follows a ")".
    sections = _sections(text.lower().replace("(", ")(").split(")"), origin)
    for name in (":objects", ":init", ":goal"):
        if name not in sections:
            raise GameError(f"{origin}: its PDDL problem has no {name} section.")
    things = _things(sections[":objects"], origin)
    facts = _facts(sections[":init"], things, origin)
    # The text that was cut into pieces, its words with single spaces.
    goal = " ".join(_TOKEN.findall(")".join(sections[":goal"]).replace(")(", "(")))
    for form in _GOALS:
        if found := _goal_pattern(form).fullmatch(goal):
            types = found.groupdict()
            for hole, named in types.items():
                kind = "rtype" if hole == "RECEPTACLE" else "otype"
                if things.get(named) != kind:
                    raise GameError(f"{origin}: its goal needs a declared {kind}, which {shown(named)} is not.")
            return Problem(things, facts, form, types)
    raise GameError(f"{origin}: its goal does not have one of ALFWorld's six forms ({', '.join(_GOALS)}).")


def problem_text(problem: Problem, name: str) -> str:
    """``problem`` as PDDL, a thing or a fact a line, which ``parse_problem`` reads back; ``name`` is a PDDL name."""
    things = "".join(f"  {thing} - {kind}\n" for thing, kind in problem.things.items())
    facts = "".join(
        f"  ({predicate} {' '.join(fact)})\n" for predicate, found in problem.facts.items() for fact in dict.fromkeys(found)
    )
    words: list[str] = _TOKEN.findall(_GOALS[problem.form])
    goal = " ".join(problem.types.get(word, word) for word in words).replace("( ", "(").replace(" )", ")")
    return f"(define (problem {name})\n(:domain alfred)\n(:objects\n{things})\n(:init\n{facts})\n(:goal {goal}))\n"


def _sections(pieces: list[str], origin: str) -> dict[str, list[str]]:
    """The pieces of each section by its name, which is taken from the first."""
    head = _TOKEN.findall("".join(pieces[:2]))
    if head[:2] != ["(", "define"]:
        raise GameError(f"{origin}: its PDDL problem does not start with (define.")
    found: dict[str, list[str]] = {}
    depth, start, stray = 1, 0, head[2:]
    for position, piece in enumerate(pieces[2:], start=2):
        if piece.startswith("("):
            depth += 1
            if depth == 2:
                start = position
        else:
            depth -= 1
            if depth == 1:
                name, first, *_ = (*pieces[start][1:].split(None, 1), "", "")
                if name in found:
                    raise GameError(f"{origin}: its PDDL problem has two {shown(name)} sections.")
                found[name] = [first, *pieces[start + 1 : position]]
                stray = piece.split()
            elif depth == 0 and (position != len(pieces) - 1 or piece.strip()):
                raise GameError(f"{origin}: its PDDL problem goes on after its last bracket.")
        if stray:
            raise GameError(f"{origin}: its PDDL problem has a stray {shown(stray[0])} between sections.")
    if depth:
        raise GameError(f"{origin}: its PDDL problem is cut off: a bracket is never closed.")
    return found


def _things(pieces: list[str], origin: str) -> dict[str, str]:
    things: dict[str, str] = {}
    waiting: list[str] = []
    if len(pieces) > 1:
        raise GameError(f"{origin}: a stray bracket among the things of :objects.")
    words = iter(pieces[0].split())
    for word in words:
        if word != "-":
            waiting.append(word)
            continue
        kind = next(words, "")
        if kind not in KINDS:
            raise GameError(f"{origin}: {shown(kind)} is not a kind of thing; known: {', '.join(KINDS)}.")
        for thing in waiting:
            if thing in things:
                raise GameError(f"{origin}: {shown(thing)} is declared twice.")
            things[thing] = kind
        waiting.clear()
        if len(things) > MAX_THINGS:
            raise GameError(f"{origin}: it declares more than {MAX_THINGS:,} things.")
    if waiting:
        raise GameError(f"{origin}: {shown(waiting[0])} is declared without a kind.")
    return things


def _facts(pieces: list[str], things: dict[str, str], origin: str) -> dict[str, list[Fact]]:
    facts: dict[str, list[Fact]] = {predicate: [] for predicate in PREDICATES}
    kind_of = things.get
    for position, piece in enumerate(pieces):
        if position % 2:
            predicate, *arguments = piece[1:].split() or [""]
            fact = tuple(arguments)
            if PREDICATES.get(predicate) != tuple(map(kind_of, fact)):
                raise _fault(predicate, fact, things, origin)
            facts[predicate].append(fact)
        elif words := piece.split():  # between two facts
            raise GameError(f"{origin}: a stray {shown(words[0])} among the facts of :init.")
    if len(pieces) // 2 > MAX_FACTS:
        raise GameError(f"{origin}: it states more than {MAX_FACTS:,} facts.")
    return facts


def _fault(predicate: str, arguments: Fact, things: dict[str, str], origin: str) -> GameError:
    """What is wrong with a fact."""
    kinds = PREDICATES.get(predicate)
    if kinds is None:
        hint = nearest(predicate, tuple(PREDICATES))
        return GameError(f"{origin}: {shown(predicate)} is not a predicate of the domain.{hint}")
    if len(arguments) != len(kinds):
        return GameError(f"{origin}: {predicate} takes one {' and one '.join(kinds)}, not {len(arguments)} things.")
    argument, kind = next(pair for pair in zip(arguments, kinds, strict=True) if things.get(pair[0]) != pair[1])
    return GameError(f"{origin}: {predicate} needs a declared {kind}, which {shown(argument)} is not.")


@cache
def _goal_pattern(form: GoalForm) -> re.Pattern[str]:
    """What matches the words of a goal, its types as groups; a type that is named again must be the same."""
    pattern: list[str] = []
    named: set[str] = set()
    for word in _TOKEN.findall(_GOALS[form]):
        if word not in _HOLES:
            pattern.append(re.escape(word.lower()))
        else:
            pattern.append(f"(?P={word})" if word in named else rf"(?P<{word}>\S+)")
            named.add(word)
    return re.compile(" ".join(pattern))
