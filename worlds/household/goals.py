"""Goals of household tasks, as values: ALFRED's and ALFWorld's six task types, the steps of each, and skills for them.

The skills are LoTa-Bench's (Choi et al., ICLR 2024, section 4.1), by its names. The 214 are those that demonstrations of
ALFRED's ``train`` use at least once, by our own count: find (each kind that is gone to or acted on), pick up, put down, open,
close, slice and switch.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

from housequest.worlds.text import with_article

GoalForm = Literal["place", "light", "clean", "heat", "cool", "two"]
TaskType = Literal[
    "pick_and_place_simple",
    "look_at_obj_in_light",
    "pick_clean_then_place_in_recep",
    "pick_heat_then_place_in_recep",
    "pick_cool_then_place_in_recep",
    "pick_two_obj_and_place",
]
Treatment = Literal["clean", "heat", "cool"]
TYPES: dict[GoalForm, TaskType] = dict(zip(get_args(GoalForm), get_args(TaskType), strict=True))
"""The task type of each form of goal."""
TASK_TYPES: tuple[TaskType, ...] = tuple(TYPES.values())  # the six task types, in ALFWorld's order
CHORES = "chores"  # the task type of several goals at once
ADJECTIVES: dict[Treatment, str] = {"clean": "clean", "heat": "hot", "cool": "cool"}  # after the treatment
TREATMENTS: dict[TaskType, Treatment] = {TYPES[treatment]: treatment for treatment in ADJECTIVES}
"""The treatment of the object, for the task types that ask for one."""


Verb = Literal[
    "find", "go", "pick", "put", "open", "close", "heat", "cool", "clean", "use", "slice", "examine", "look", "explore"
]
AT_RECEPTACLE: frozenset[Verb] = frozenset({"go", "open", "close"})
_TEXTS: dict[Verb, str] = {
    "go": "go to {receptacle}",
    "pick": "pick up {object}",
    "put": "put {object} in {receptacle}",
    "use": "turn on {object}",
    "look": "look around",
    "explore": "explore the room",
    **{verb: f"{verb} {{object}}" for verb in ("find", "slice", "examine")},
    **{verb: f"{verb} {{receptacle}}" for verb in ("open", "close")},
    **{verb: f"{verb} {{object}} with {{receptacle}}" for verb in ("heat", "cool", "clean")},
}


@dataclass(frozen=True, slots=True)
class Skill:
    """A verb with its targets, each a kind ("mug"), a name ("mug 1") or None: a step of a goal or a plan, or what a player does
    next. Without a receptacle, ``put`` is at the end of the last skill, and ``heat``, ``cool`` and ``clean`` use their
    appliance. ``find``, ``go`` and ``examine`` also take a receptacle as ``object``."""

    verb: Verb
    object: str | None = None
    receptacle: str | None = None

    @property
    def text(self) -> str:
        """The skill in words, for prompts and people: "put the mug in the fridge 1"."""
        pattern = _TEXTS[self.verb]
        if self.receptacle is None and self.verb not in AT_RECEPTACLE:
            pattern = "put down {object}" if self.verb == "put" else pattern.partition(" with ")[0]
        thing = _said(self.object, any_one=self.verb == "find")
        return pattern.format(object=thing, receptacle=_said(self.receptacle))


def _said(name: str | None, *, any_one: bool = False) -> str:
    if name is None:
        return "it"
    return with_article(name) if any_one and not name[-1].isdigit() else f"the {name}"


@dataclass(frozen=True, slots=True)
class Goal:
    """The goal of a task: ``count`` objects of one kind in one receptacle of another, or an object in the light of a
    ``lamp``."""

    type: TaskType
    object: str
    receptacle: str | None = None
    lamp: str | None = None
    count: int = 1

    @property
    def treatment(self) -> Treatment | None:
        """The treatment of the object before it is put down."""
        return TREATMENTS.get(self.type)

    def steps(self) -> tuple[Skill, ...]:
        """The steps in order, without walking and searching."""
        treat = [Skill(self.treatment, self.object)] if self.treatment else []
        put = [Skill("put", self.object, self.receptacle)] if self.receptacle else []
        use = [Skill("use", self.lamp)] if self.lamp else []
        return (Skill("pick", self.object), *treat, *put, *use) * self.count

    def __str__(self) -> str:
        if self.lamp:
            return f"look at the {self.object} under the {self.lamp}"
        adjective = f"{ADJECTIVES[self.treatment]} " if self.treatment else ""
        return f"put {'two' if self.count == 2 else 'some'} {adjective}{self.object} in the {self.receptacle}"


@dataclass(frozen=True, slots=True)
class Topic:
    """The topic of a goal: its type, the kinds that it names (in lower case), and those ``needed`` besides."""

    type: str | None = None
    kinds: frozenset[str] = frozenset()
    needed: frozenset[str] = frozenset()


APPLIANCES: dict[Treatment, str] = {"clean": "sinkbasin", "heat": "microwave", "cool": "fridge"}  # the receptacle that does it
_WORDS: dict[str, Any] = json.loads(Path(__file__).with_name("words.json").read_text("utf-8"))
"""Kinds by ALFWorld's names: people's other words for them, and the skills of LoTa-Bench's robot."""
SYNONYMS: dict[str, str] = {said: kind for kind, words in _WORDS["synonyms"].items() for said in words.split()}
"""The game's name for each word that people use."""
KNIVES = ("knife", "butterknife")  # tools for slicing
SkillVerb = Literal["find", "pick up", "put down", "open", "close", "turn on", "turn off", "slice"]
_SPOKEN: dict[str, str] = {
    **{word.replace("-", ""): word.replace("-", " ") for word in f"{_WORDS['carried']} {_WORDS['places']}".split()},
    "bathtubbasin": "bathtub",
    "sinkbasin": "sink",
}
_CARRIED, PLACES, _OPENED, _SLICED, _SWITCHED = (
    _WORDS[words].replace("-", "").split() for words in ("carried", "places", "opened", "sliced", "switched")
)
"""Kinds by the actions that are possible; ``PLACES`` are places and appliances."""
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
"""Receptacles that are opened before anything is taken out or put in."""


class NamedSkill(NamedTuple):
    """A skill: a verb, and the kind that it is about, as ALFWorld writes it."""

    verb: SkillVerb
    kind: str

    def __str__(self) -> str:
        return skill_words(self.verb, spoken(self.kind))


def skill_words(verb: str, name: str) -> str:
    """A skill in a planner's words: "find an apple", "open the fridge"."""
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
