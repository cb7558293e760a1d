"""What household tasks ask for, as values: ALFRED's and ALFWorld's six task types, and what each needs."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

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
TASK_TYPES: tuple[TaskType, ...] = tuple(TYPES.values())
"""The six task types, in ALFWorld's order."""
ADJECTIVES: dict[Treatment, str] = {"clean": "clean", "heat": "hot", "cool": "cool"}
"""What an object is that was treated so."""
TREATMENTS: dict[TaskType, Treatment] = {TYPES[treatment]: treatment for treatment in ADJECTIVES}
"""What must be done to the object, for the task types that ask for it."""


@dataclass(frozen=True, slots=True)
class GoalStep:
    """A step towards a goal: an action with the kinds of object and place that it is about."""

    action: Literal["find", "pick", "go", "put", "open", "close", "heat", "cool", "clean", "use", "slice"]
    object: str | None = None
    place: str | None = None


@dataclass(frozen=True, slots=True)
class Goal:
    """What a task asks: ``count`` objects of one kind in one receptacle of another, or an object in the light of a ``lamp``."""

    type: TaskType
    object: str
    receptacle: str | None = None
    lamp: str | None = None
    count: int = 1

    @property
    def treatment(self) -> Treatment | None:
        """What must be done to the object before it is put down."""
        return TREATMENTS.get(self.type)

    def steps(self) -> tuple[GoalStep, ...]:
        """What has to be done, one thing after the other, without the ways and searching."""
        treat = [GoalStep(self.treatment, self.object)] if self.treatment else []
        put = [GoalStep("put", self.object, self.receptacle)] if self.receptacle else []
        use = [GoalStep("use", self.lamp)] if self.lamp else []
        return (GoalStep("pick", self.object), *treat, *put, *use) * self.count

    def __str__(self) -> str:
        if self.lamp:
            return f"look at the {self.object} under the {self.lamp}"
        adjective = f"{ADJECTIVES[self.treatment]} " if self.treatment else ""
        return f"put {'two' if self.count == 2 else 'some'} {adjective}{self.object} in the {self.receptacle}"


@dataclass(frozen=True, slots=True)
class Topic:
    """What a task is about, as far as its goal says: its type (None: unknown), the kinds of thing that it names, and those that
    are ``needed`` besides. Kinds are in lower case.
    """

    type: str | None = None
    kinds: frozenset[str] = frozenset()
    needed: frozenset[str] = frozenset()


APPLIANCES: dict[Treatment, str] = {"clean": "sinkbasin", "heat": "microwave", "cool": "fridge"}
"""The receptacle that does it."""
WORDS: dict[str, Any] = json.loads(Path(__file__).with_name("words.json").read_text("utf-8"))
"""Kinds by ALFWorld's names: what else people call them, and what LoTa-Bench's robot does with which."""
SYNONYMS: dict[str, str] = {said: kind for kind, words in WORDS["synonyms"].items() for said in words.split()}
"""What people call things, by the name that the game has for them."""
KNIVES = ("knife", "butterknife")
"""What slices."""
