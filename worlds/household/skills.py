"""LoTa-Bench's skills (Choi et al., ICLR 2024, section 4.1): what its planners name, and what they are made of.

The 214 skills are those that demonstrations of ALFRED's ``train`` take at least once, counted anew: to find each kind that one
goes to or acts on, to pick up and put down what is carried, to open, close, slice, and switch.
"""

from __future__ import annotations

from functools import cache
from typing import Literal, NamedTuple, get_args

from housequest.worlds.household.goals import WORDS, Treatment
from housequest.worlds.text import with_article

SkillVerb = Literal["find", "pick up", "put down", "open", "close", "turn on", "turn off", "slice"]

_SPOKEN: dict[str, str] = {
    **{word.replace("-", ""): word.replace("-", " ") for word in f"{WORDS['carried']} {WORDS['places']}".split()},
    "bathtubbasin": "bathtub",
    "sinkbasin": "sink",
}
_CARRIED, PLACES, _OPENED, _SLICED, _SWITCHED = (
    WORDS[words].replace("-", "").split() for words in ("carried", "places", "opened", "sliced", "switched")
)
"""Kinds that one can do something with; ``PLACES`` are places and appliances."""
_TARGETS: dict[SkillVerb, list[str]] = {
    "find": sorted({*_CARRIED, *PLACES}),
    "pick up": _CARRIED,
    "put down": _CARRIED,
    "open": _OPENED,
    "close": _OPENED,
    "turn on": _SWITCHED,
    "turn off": _SWITCHED,
    "slice": _SLICED,
}
CONTAINERS = frozenset({"cabinet", "drawer", "fridge", "microwave", "safe"})
"""What is opened before anything is taken out of it or put into it."""


class NamedSkill(NamedTuple):
    """A skill: a verb, and the kind that it is about, as ALFWorld writes it."""

    verb: SkillVerb
    kind: str

    def __str__(self) -> str:
        return skill_words(self.verb, spoken(self.kind))


def skill_words(verb: str, name: str) -> str:
    """What a planner calls a skill: "find an apple", "open the fridge"."""
    return f"{verb} {with_article(name) if verb == 'find' else f'the {name}'}"


def spoken(kind: str) -> str:
    """A kind in words: "alarm clock"."""
    return _SPOKEN.get(kind, kind)


@cache
def named_skills() -> dict[str, NamedSkill]:
    """The 214 skills by what they are called, verb by verb."""
    return {str(skill): skill for verb in get_args(SkillVerb) for kind in _TARGETS[verb] for skill in (NamedSkill(verb, kind),)}


def read_skill(text: str) -> NamedSkill | None:
    """The skill of this name; None for any other text."""
    return named_skills().get(" ".join(text[:80].split()).lower().rstrip("."))


def taking(thing: str, place: str | None = None) -> tuple[NamedSkill, ...]:
    """The skills that take a thing, out of a ``place`` that may be closed."""
    shut = place if place in CONTAINERS else None
    return (
        NamedSkill("find", thing),
        *((NamedSkill("find", shut), NamedSkill("open", shut), NamedSkill("find", thing)) if shut else ()),
        NamedSkill("pick up", thing),
        *((NamedSkill("close", shut),) if shut else ()),
    )


def putting(thing: str, place: str) -> tuple[NamedSkill, ...]:
    """The skills that put down in a ``place`` the thing that is held."""
    put = NamedSkill("put down", thing)
    within = (NamedSkill("open", place), put, NamedSkill("close", place)) if place in CONTAINERS else (put,)
    return NamedSkill("find", place), *within


def treating(treatment: Treatment, thing: str) -> tuple[NamedSkill, ...]:
    """The skills that clean, heat or cool the thing that is held, and take it again."""
    if treatment == "clean":
        switched = (NamedSkill("find", "faucet"), NamedSkill("turn on", "faucet"), NamedSkill("turn off", "faucet"))
        return *putting(thing, "sinkbasin"), *switched, NamedSkill("find", thing), NamedSkill("pick up", thing)
    place = "microwave" if treatment == "heat" else "fridge"
    switched = (NamedSkill("turn on", place), NamedSkill("turn off", place)) if treatment == "heat" else ()
    again = (NamedSkill("open", place), NamedSkill("find", thing), NamedSkill("pick up", thing), NamedSkill("close", place))
    return *putting(thing, place), *switched, *again
