"""Puts what a command needs into a sentence that a person would write: "You cannot open a place where you are not"."""

from __future__ import annotations

import re
from collections.abc import Sequence

from housequest.knowledge.checks import Fact

_NOUNS = {"object": "a thing", "receptacle": "a place", "thing": "a thing", "tool": "a tool"}
_WITH = "something"
"""What a place is called that something is done with: one does not heat an egg with a place."""
_VARIABLE = re.compile(r"\{([a-z]+)\}")


def refusal(pattern: str, fact: Fact, *, whole: bool = False) -> str:
    """The sentence, without a full stop, that commands of this ``pattern`` are refused while ``fact`` is false.

    What follows the thing that the fact is about is left out, unless the ``whole`` command is to be said.
    """
    nouns = {name: _WITH if f"with {{{name}}}" in pattern else noun for name, noun in _NOUNS.items()}
    variables: list[str] = _VARIABLE.findall(pattern)
    about = [term.words[0] for term in (fact.subject, fact.other) if term is not None and term.shape == "variable"]
    if about:
        last = max(about, key=variables.index)
        place = pattern.index(f"{{{last}}}") + len(last) + 2
        there = nouns[last] == "a place" and fact.relation == "at"
        clause = f" where you {'already are' if fact.negated else 'are not'}" if there else f" that {_clause(fact)}"
        said = pattern[:place] + clause + (pattern[place:] if whole else "")
    else:
        said = (pattern if whole else pattern[: pattern.index("}") + 1]) + f" while {_state(fact)}"
    return "You cannot " + _VARIABLE.sub(lambda found: nouns.get(found[1], found[1]), said)


def _clause(fact: Fact) -> str:
    """What is so of a thing while ``fact`` is false."""
    no = "" if fact.negated else "not "
    match fact.relation:
        case "holding":
            return f"you are {no}holding"
        case "at":
            return "you are already at" if fact.negated else "you are not at"
        case "in":
            return f"it is {no}in"
        case "kind":
            return f"is {no}{_kinds(fact.other.words if fact.other else ())}"
        case _ if fact.text == "surface":
            return "cannot be opened" if fact.negated else "can be opened"
        case _ if fact.text == "known":
            return "you have seen" if fact.negated else "you have not seen"
        case _:
            return f"is {no}{fact.text}"


def _state(fact: Fact) -> str:
    """How things are with the player while ``fact`` is false."""
    if fact.relation == "free":
        return "a hand is free" if fact.negated else "no hand is free"
    held = fact.subject is not None and fact.subject.shape == "nothing"
    if fact.relation == "holding" and held:
        return "you hold nothing" if fact.negated else "you hold something"
    return str(fact) if fact.negated else f"it is not so that {fact}"


def _kinds(words: Sequence[str]) -> str:
    *first, last = words
    return with_article(f"{', '.join(first)} or {last}" if first else last)


def with_article(noun: str) -> str:
    """``noun`` after "a" or "an"."""
    return f"{'an' if noun[0] in 'aeiou' else 'a'} {noun}"
