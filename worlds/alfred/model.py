"""ALFRED's high-level plans, and a symbolic model of rooms and actions that executes them.

Plans are written one step a line: ``PutObject apple fridge``. A model's reply is untrusted: `read_plan` takes any text in
linear time, and finds the plan among other words.

Preconditions and effects are those of ALFRED's planning domain (Shridhar et al. 2020, section 3.2); opening and closing are
implicit, as in its annotated plans. A subgoal names kinds, so it can mean several objects. All readings are followed at once,
and a plan is refused when none of them can go on. Receptacles of one kind count as one.

The annotations give places only for the few objects that a demonstration touched. Any other place is unknown (None) and is
decided in the plan's favour when it is first needed: a refused plan is certainly wrong, and an accepted one may still fail.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Literal, NamedTuple, get_args

from housequest.worlds.alfworld.text import load_counts
from housequest.worlds.errors import nearest, shown
from housequest.worlds.household.goals import KNIVES, Skill, Treatment

ActionName = Literal[
    "GotoLocation", "PickupObject", "PutObject", "SliceObject", "CleanObject", "HeatObject", "CoolObject", "ToggleObject"
]
"""ALFRED's high-level actions without ``NoOp``, which ends most annotated plans and does nothing."""
ARGUMENTS: dict[ActionName, int] = {**dict.fromkeys(get_args(ActionName), 1), "PutObject": 2}
"""The number of names that each action takes: the object, and for ``PutObject`` also the receptacle."""
TREATMENTS: dict[ActionName, Treatment] = {"CleanObject": "clean", "HeatObject": "heat", "CoolObject": "cool"}
"""The actions that clean, heat and cool."""
NOTHING = "NoOp"
LONGEST_PLAN = 60  # In steps; the longest annotated plan of ``train`` has 19.
LONGEST_TEXT = 20_000  # The longest reply that is read, in characters.
_LONGEST_NAME = 40
_WORD = re.compile(r"[A-Za-z]+|\n", re.ASCII)
_LITTLE = frozenset(
    {"a", "an", "and", "from", "in", "into", "it", "on", "onto", "some", "the", "them", "then", "to", "up", "with"}
)
"""Function words: they mark prose, and name nothing."""
_FULL: dict[str, ActionName] = {action.casefold(): action for action in ARGUMENTS}
_ACTIONS: dict[str, ActionName] = {
    **_FULL,
    **{name.removesuffix("object"): action for name, action in _FULL.items()},
    "goto": "GotoLocation",
    "navigation": "GotoLocation",
}
"""Actions by full and by short name (``put``)."""


class PlanError(ValueError):
    """A text is not a plan; the message says why."""


@dataclass(frozen=True, slots=True)
class PlanStep:
    """One step of a plan. Names are kinds in lower case, without a number (``sinkbasin``). ``thing`` of a ``GotoLocation`` is a
    receptacle or an object; only ``PutObject`` has a ``receptacle``."""

    action: ActionName
    thing: str
    receptacle: str | None = None

    def __str__(self) -> str:
        return " ".join(filter(None, (self.action, self.thing, self.receptacle)))


Plan = tuple[PlanStep, ...]


def read_plan(text: str) -> Plan:
    """Read a plan with full or short names of actions, whatever words are around it. Raises ``PlanError`` for no step or too
    many."""
    if len(text) > LONGEST_TEXT:
        raise PlanError(f"{len(text):,} characters are no plan; at most {LONGEST_TEXT:,} are read.")
    words: list[str] = [word.casefold() for word in _WORD.findall(text)]
    plan, no_name = list[PlanStep](), {*_ACTIONS, *_LITTLE, "\n"}
    for place, word in enumerate(words, start=1):
        if (action := _ACTIONS.get(word)) is not None:
            names = words[place : place + ARGUMENTS[action]]
            fit = len(names) == ARGUMENTS[action] and all(len(name) <= _LONGEST_NAME for name in names)
            if fit and no_name.isdisjoint(names):
                plan.append(PlanStep(action, *names))
    if not plan:
        raise PlanError("There is no subgoal in it.")
    if len(plan) > LONGEST_PLAN:
        raise PlanError(f"A plan of {len(plan):,} subgoals does not end; at most {LONGEST_PLAN} are read.")
    return tuple(plan)


def plan_step(action: str, names: list[str]) -> PlanStep:
    """Make a step. Raises ``PlanError`` for an unknown action or a wrong number of names."""
    known = _FULL.get(action.casefold())
    if known is None:
        raise PlanError(
            f"There is no action {shown(action)}; known: {', '.join(ARGUMENTS)}.{nearest(action, tuple(ARGUMENTS))}"
        )
    if len(names) != ARGUMENTS[known]:
        raise PlanError(f"{known} takes {ARGUMENTS[known]} name(s), and {shown(' '.join(names))} has {len(names)}.")
    return PlanStep(known, *(name.casefold() for name in names))


SLICED = {"egg": "eggcracked"}  # The names of sliced kinds that do not end in ``sliced``.


def sliced(kind: str) -> str:
    return SLICED.get(kind, f"{kind}sliced")


def skills_of(plan: Plan) -> tuple[Skill, ...]:
    """The skills of an annotated plan. A ``GotoLocation`` gives the place of the next subgoal, and a sliced object is named as
    a slice from then on."""
    skills: list[Skill] = []
    cut: set[str] = set()
    place: str | None = None
    for step in plan:
        thing = step.thing
        named = sliced(thing) if thing in cut else thing
        match step.action:
            case "GotoLocation":
                place = thing
                continue
            case "PickupObject":
                skills.append(Skill("pick", named, place if place != thing else None))
            case "PutObject":
                skills.append(Skill("put", named, step.receptacle))
            case "SliceObject":
                skills.append(Skill("slice", thing))
                cut.add(thing)
            case "ToggleObject":
                skills.append(Skill("use", thing))
            case treatment:
                skills.append(Skill(TREATMENTS[treatment], named))
        place = None
    return tuple(skills)


Property = Literal["sliced", "clean", "hot", "cold", "on"]
KNIVES_LEFT = frozenset({"cabinet", "fridge", "garbagecan", "microwave"})
"""Receptacles that hold no knife in any game, but in which annotated plans of ``train`` leave knives after slicing."""
_ROOMS = {0: "kitchen", 2: "livingroom", 3: "bedroom", 4: "bathroom"}


@dataclass(frozen=True, slots=True)
class Thing:
    """A movable object or a lamp. ``place`` is the kind of receptacle it is in or on, None if unknown; ``inside`` is the index
    of the movable receptacle that holds it."""

    kind: str
    place: str | None = None
    inside: int | None = None
    marks: frozenset[Property] = frozenset()


@dataclass(frozen=True, slots=True)
class RoomState:
    """A room at one moment. ``held`` is the index of the object that the agent holds. ``at`` is the agent's place: a kind of
    receptacle, the index of an object whose place is unknown, or None before the first ``GotoLocation``."""

    things: tuple[Thing, ...]
    at: str | int | None = None
    held: int | None = None

    @property
    def in_hand(self) -> Thing | None:
        return None if self.held is None else self.things[self.held]

    def base(self, index: int) -> int:
        """The index of the outermost movable receptacle that holds object ``index``, or ``index`` itself."""
        while (outer := self.things[index].inside) is not None:
            index = outer
        return index

    def place(self, index: int) -> str | None:
        """The kind of receptacle that object ``index`` is in, directly or not; None if unknown or held."""
        return self.things[self.base(index)].place

    def having(self, index: int, **changes: Any) -> RoomState:
        thing = replace(self.things[index], **changes)
        return replace(self, things=(*self.things[:index], thing, *self.things[index + 1 :]))


@dataclass(frozen=True, slots=True)
class SymbolicScene:
    """A room at the start. ``receptacles`` are the kinds of its fixed receptacles."""

    receptacles: frozenset[str]
    things: tuple[Thing, ...]

    def opened(self) -> SymbolicScene:
        return replace(self, things=tuple(replace(thing, place=None) for thing in self.things))


def room_of(floor_plan: int) -> str | None:
    """The kind of room of AI2-THOR's floor plan of that number (1-30, 201-230, 301-330, 401-430); None for any other."""
    return _ROOMS.get(floor_plan // 100) if 0 < floor_plan % 100 <= 30 else None


@cache
def receptacles_of(room: str | None) -> frozenset[str]:
    """The kinds of fixed receptacles in rooms of this kind in ``train``, or in all rooms if ``room`` is None."""
    rooms = load_counts().rooms
    return frozenset(kind for name, counted in rooms.items() if room in (name, None) for kind in counted.receptacles)


def able(kind: str, what: str) -> bool:
    """True if objects of this kind have the property ``what`` (``pickupable``, ``sliceable``, ...) in ``train``."""
    return what in load_counts().can.get(kind, ())


def accepts(receptacle: str, kind: str) -> bool:
    """True if the receptacle takes this kind; a movable one takes all that can be picked up but other movable ones."""
    if able(receptacle, "isreceptacleobject"):
        return able(kind, "pickupable") and not able(kind, "isreceptacleobject")
    return kind in load_counts().accepts.get(receptacle, ()) or (kind in KNIVES and receptacle in KNIVES_LEFT)


def known(kind: str) -> bool:
    """True if any room of ``train`` has such an object or receptacle."""
    return kind in load_counts().can or kind in receptacles_of(None)


Cause = Literal[
    "unknown name",
    "not in this room",
    "not here",
    "hand full",
    "not in hand",
    "no knife in hand",
    "not at the appliance",
    "not possible with it",
    "does not go there",
]
READINGS = 200
"""The most states followed at once. Annotated plans need a handful; the limit bounds the cost of a hostile plan."""
_TREATMENTS: dict[str, tuple[str, Property, Property | None]] = {
    "CleanObject": ("sinkbasin", "clean", None),
    "HeatObject": ("microwave", "hot", "cold"),
    "CoolObject": ("fridge", "cold", "hot"),
}
"""The appliance, the property that the object gains and the one that it loses."""
_NEEDED = {
    **{"PickupObject": "pickupable", "SliceObject": "sliceable", "ToggleObject": "toggleable"},
    **{action: f"{treatment}able" for action, treatment in TREATMENTS.items()},
}
"""The property that the object must have."""


class PlanRefusal(NamedTuple):
    """The step at which a plan failed, counted from 1, with its subgoal and the cause."""

    step: int
    subgoal: PlanStep
    cause: Cause

    def __str__(self) -> str:
        return f"step {self.step}, {self.subgoal}: {self.cause}"


class Execution(NamedTuple):
    """The possible states after a plan (never empty), and the refusal that ended it, if any."""

    states: tuple[RoomState, ...]
    refusal: PlanRefusal | None = None


def execute(plan: Plan, scene: SymbolicScene) -> Execution:
    """Execute ``plan`` in ``scene`` up to its end or its first refused step."""
    named = {name for subgoal in plan for name in (subgoal.thing, subgoal.receptacle)}
    states: tuple[RoomState, ...] = (RoomState(tuple(thing for thing in scene.things if thing.kind in named)),)
    for step, subgoal in enumerate(plan, start=1):
        after: dict[RoomState, None] = {}
        causes: list[Cause] = []
        for state in states:
            outcome = _apply(subgoal, state, scene)
            if isinstance(outcome, str):
                causes.append(outcome)
            else:
                after.update(dict.fromkeys(outcome))
        if not after:
            return Execution(states, PlanRefusal(step, subgoal, causes[0]))
        states = tuple(after)[:READINGS]
    return Execution(states)


def _apply(subgoal: PlanStep, state: RoomState, scene: SymbolicScene) -> list[RoomState] | Cause:
    action, kind, receptacle = subgoal.action, subgoal.thing, subgoal.receptacle or ""
    held, index = state.in_hand, -1 if state.held is None else state.held
    if not known(kind) or (receptacle and not known(receptacle)):
        return "unknown name"
    if action == "PickupObject" and held is not None:
        return "hand full"
    if action == "SliceObject" and (held is None or held.kind not in KNIVES):
        return "no knife in hand"
    if (action == "PutObject" or action in _TREATMENTS) and (held is None or held.kind != kind):
        return "not in hand"
    if action in _NEEDED and not able(kind, _NEEDED[action]):
        return "not possible with it"
    match action:
        case "GotoLocation":
            if kind in scene.receptacles:
                return [replace(state, at=kind)]
            found = [state.base(index) for index in _distinct(kind, state)]
            return [replace(state, at=state.things[base].place or base) for base in found] or "not in this room"
        case "PutObject" if not accepts(receptacle, kind):
            return "does not go there"
        case "PutObject" if receptacle in scene.receptacles:
            there = _standing(receptacle, state)
            return "not here" if there is None else [replace(there.having(index, place=receptacle), held=None)]
        case "CleanObject" | "HeatObject" | "CoolObject":
            appliance, gains, loses = _TREATMENTS[action]
            marks = ((held.marks if held else frozenset[Property]()) - {loses}) | {gains}
            there = _standing(appliance, state)
            return "not at the appliance" if there is None else [there.having(index, marks=marks)]
        case _:
            sought = receptacle if action == "PutObject" else kind
    after: list[RoomState] = []
    for number, near in _near(sought, state, whole=action == "SliceObject"):
        thing = near.things[number]
        match action:
            case "PickupObject":
                after.append(replace(near.having(number, place=None, inside=None), held=number))
            case "PutObject":
                after.append(replace(near.having(index, inside=number), held=None))
            case "ToggleObject":
                after.append(near.having(number, marks=thing.marks ^ {"on"}))
            case _:
                # Two slices, since no goal asks for more.
                cut = near.having(number, marks=thing.marks | {"sliced"})
                after.append(replace(cut, things=(*cut.things, cut.things[number])))
    return after or ("not here" if any(thing.kind == sought for thing in state.things) else "not in this room")


def _distinct(kind: str, state: RoomState) -> Iterator[int]:
    """The objects of this kind that are not carried; of identical ones, only the first."""
    seen: set[object] = set()
    used = {thing.inside for thing in state.things} | {state.at}
    for index, thing in enumerate(state.things):
        if thing.kind != kind or state.base(index) == state.held:
            continue
        sort = (thing, index if index in used else None)
        if sort not in seen:
            seen.add(sort)
            yield index


def _near(kind: str, state: RoomState, *, whole: bool = False) -> list[tuple[int, RoomState]]:
    """Objects of this kind (``whole``: unsliced) within reach, each with its state; those of unknown place if none is sure."""
    wanted = [index for index in _distinct(kind, state) if not (whole and "sliced" in state.things[index].marks)]
    reached = [(index, near) for index in wanted if (near := _beside(index, state)) is not None]
    certain = [(index, near) for index, near in reached if near is state]
    return certain or reached


def _beside(index: int, state: RoomState) -> RoomState | None:
    """The state in which object ``index`` is at the agent's place; None if that is impossible."""
    base, place = state.base(index), state.place(index)
    if state.at is None:
        return None
    if isinstance(state.at, int):
        if base == state.at or place is None:
            return state
        return _standing(place, state)
    if place is not None:
        return state if place == state.at else None
    return state.having(base, place=state.at) if _may_lie(state.things[base].kind, state.at) else None


def _standing(receptacle: str, state: RoomState) -> RoomState | None:
    """The state in which the agent, and the object it went to, are at ``receptacle``; None if that is impossible."""
    if not isinstance(state.at, int):
        return state if state.at == receptacle else None
    lying = state.things[state.at]
    settled = replace(state, at=receptacle)
    if state.at == state.held or lying.place is not None or lying.inside is not None:
        return settled
    return settled.having(state.at, place=receptacle) if _may_lie(lying.kind, receptacle) else None


def _may_lie(kind: str, receptacle: str) -> bool:
    # Lamps stand on anything, or beside it.
    return able(kind, "toggleable") or accepts(receptacle, kind)
