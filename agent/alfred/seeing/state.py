"""What an agent that sees knows, and the skill in progress: immutable values.

Skills are made of primitives, each walked to, looked for, and done by one of ALFRED's actions. The oracle planner takes its
skills from the subgoals of an annotated plan, so that the action policy can be measured by itself: OPEx's own planner is a
language model, and what people annotated is hidden knowledge, which has to be granted.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal, NamedTuple

from housequest.agent.alfred.seeing.perception import Percept
from housequest.agent.alfred.seeing.semantic_map import SemanticMap
from housequest.agent.alfred.seeing.walking import Aim, Stand, stand_of
from housequest.agent.skills.skill import Skill
from housequest.worlds.household.skills import CONTAINERS
from housequest.worlds.options import option
from housequest.worlds.rooms.room import AHEAD, Pose

if TYPE_CHECKING:
    from numpy import bool_
    from numpy.typing import NDArray
from collections.abc import Iterator, Sequence

from housequest.worlds.alfred.model import TREATMENTS
from housequest.worlds.household.goals import APPLIANCES, KNIVES

Primitive = Literal["go", "look", "explore", "pick", "put", "open", "close", "on", "off", "slice", "peek"]
"""What skills are made of: each is walked to, looked for, and done by one action, but for those without a thing. To ``peek``
is to open one receptacle of a kind after the other, to look for what the next step is about."""

_PRIMITIVES: dict[Primitive, tuple[str | None, str]] = {
    "go": (None, "going to the {}"),
    "look": (None, "looking round"),
    "explore": (None, "exploring the room"),
    "pick": ("PickupObject", "picking up the {}"),
    "put": ("PutObject", "putting it on the {}"),
    "open": ("OpenObject", "opening the {}"),
    "close": ("CloseObject", "closing the {}"),
    "on": ("ToggleObjectOn", "switching on the {}"),
    "off": ("ToggleObjectOff", "switching off the {}"),
    "slice": ("SliceObject", "slicing the {}"),
    "peek": ("OpenObject", "looking into each {}"),
}
ACTIONS: dict[Primitive, str] = {primitive: action for primitive, (action, _) in _PRIMITIVES.items() if action}
"""ALFRED's action of each primitive that acts on a thing."""
_TREATING: dict[tuple[str, bool], tuple[Primitive, ...]] = {
    ("clean", False): ("put", "on", "off", "pick"),
    ("heat", False): ("open", "put", "close", "on", "off", "open", "pick", "close"),
    ("cool", False): ("open", "put", "close", "open", "pick", "close"),
    ("clean", True): ("pick",),
    ("heat", True): ("open", "pick"),
    ("cool", True): ("open", "pick"),
}
"""ALFRED's own sequences of treatments; and what remains of one that failed after the thing was put down for it."""

UNRECOGNISED = "something"
"""The kind of what somebody else put into the hand if perception has not reported it."""


@dataclass(frozen=True, slots=True)
class PolicyStep:
    """One primitive of the skill in progress, with the kind of thing that it is about. ``inside``: it belongs to a treatment,
    so what is put somewhere does not stay there."""

    primitive: Primitive
    kind: str = ""
    inside: bool = False


def steps_of(skill: Skill, held: str | None, *, left: bool = False) -> Iterator[PolicyStep]:
    """A skill as primitives, for somebody who holds ``held``; with ``left``, a treatment failed before after the thing was put
    down for it."""
    thing, place = skill.object or "", skill.receptacle or ""
    match skill.verb:
        case "find" | "go" | "examine":
            # What is in the hand is found: another one has no room there.
            if (thing or place) != held:
                yield PolicyStep("go", thing or place)
        case "look" | "explore":
            yield PolicyStep(skill.verb)
        case "pick":
            if place in CONTAINERS:
                yield PolicyStep("peek", place)
            yield PolicyStep("pick", thing)
        case "slice":
            yield PolicyStep("slice", thing)
        case "open" | "close":
            yield PolicyStep(skill.verb, place or thing)
        case "use":
            yield PolicyStep("on", thing)
        case "put":
            # A model that names one target names the place.
            place = place or thing
            if place in CONTAINERS:
                yield PolicyStep("open", place)
            yield PolicyStep("put", place)
        case "clean" | "heat" | "cool" as treatment:
            treated = thing if left or held == UNRECOGNISED else held or thing
            switched = {"on": "faucet", "off": "faucet"} if treatment == "clean" else {}
            names = {"pick": treated, **switched}
            for primitive in _TREATING[treatment, left]:
                yield PolicyStep(primitive, names.get(primitive, place or APPLIANCES[treatment]), inside=True)


def impossible(steps: Sequence[PolicyStep], held: str | None) -> str | None:
    """Why steps cannot be done with what is in the hand, by the first that needs it; None if they can."""
    match next((step.primitive for step in steps if step.primitive in ("pick", "put", "slice")), None):
        case "pick" if held:
            return f"the hand is full: it holds {held if held == UNRECOGNISED else f'the {held}'}"
        case "put" if not held:
            return "the hand is empty"
        case "slice" if held not in KNIVES:
            return "there is no knife in the hand"
        case _:
            return None


def gerund(step: PolicyStep) -> str:
    """What somebody is doing who carries this step out, in words."""
    return _PRIMITIVES[step.primitive][1].format(step.kind)


SLICED = {"egg": "eggcracked"}
"""What a kind is called when it was sliced, if it is not the kind with ``sliced`` after it."""


def sliced(kind: str) -> str:
    """What a slice of this kind is called."""
    return SLICED.get(kind, f"{kind}sliced")


def skills_of(plan: Sequence[tuple[str, ...]]) -> tuple[Skill, ...]:
    """The skills of an annotated plan: subgoals of ALFRED's, each an action with its names, such as ``PutObject apple fridge``.
    A ``GotoLocation`` says where the next subgoal takes place; what is sliced is a slice from then on."""
    skills: list[Skill] = []
    cut: set[str] = set()
    place: str | None = None
    for action, *names in plan:
        thing = names[0]
        named = sliced(thing) if thing in cut else thing
        match action:
            case "GotoLocation":
                place = thing
                continue
            case "PickupObject":
                skills.append(Skill("pick", named, place if place != thing else None))
            case "PutObject":
                skills.append(Skill("put", named, names[1]))
            case "SliceObject":
                skills.append(Skill("slice", thing))
                cut.add(thing)
            case "ToggleObject":
                skills.append(Skill("use", thing))
            case _:
                skills.append(Skill(TREATMENTS[action], named))
        place = None
    return tuple(skills)


ErrorMode = Literal["not found", "collision", "interaction failed", "closed receptacle", "planner's fault"]
"""What went wrong, in the terms of OPEx's table 4, and what the table sums up as others."""


@dataclass(frozen=True, slots=True)
class Heuristics:
    """Which heuristics the action policy has; without one it is a line of OPEx's table 2."""

    votes: bool = option(True, "look for things on M', the map by votes of viewpoints, before M")
    traversable: bool = option(True, "walk to a place from which a thing can be acted on, rather than to the thing")
    corners: bool = option(True, "explore the four corners of the room first")
    replay: bool = option(True, "go back to where something was sliced, to find the slices")
    look_around: bool = option(True, "look round where it is before exploring")
    adjust: bool = option(True, "try from another place what failed from one")
    peek: bool = option(True, "open closed receptacles to look for things")


class Spot(NamedTuple):
    """Where a thing of a kind is or was: a point in metres."""

    kind: str
    x: float
    z: float
    height: float = 0.0

    def near(self, other: Spot, within: float) -> bool:
        """Whether both are of one kind and within this distance, in metres."""
        apart = (self.x - other.x) ** 2 + (self.z - other.z) ** 2 + (self.height - other.height) ** 2
        return self.kind == other.kind and apart <= within**2


@dataclass(frozen=True, slots=True, eq=False)
class LowLevelAction:
    """One of ALFRED's low-level actions. What an interaction is about is a ``mask``, never a name or an id."""

    name: str
    mask: NDArray[bool_] | None = None
    spot: Spot | None = None
    """Where the thing is, as far as was perceived."""


@dataclass(frozen=True, slots=True)
class Search:
    """How far the search for a thing has come: corners and places gone to, and rotations left at this one."""

    looked: bool = False
    corners: tuple[Stand, ...] | None = None
    peeked: bool = False
    wandered: int = 0
    retried: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class SeeingState:
    """What was seen, what was done, and the skill in progress.

    ``stood`` are stands that are free, ``bumped`` those that proved blocked, ``suspected`` those beside them. ``opened`` stand
    open by the agent's own doing; ``placed`` was put down, the last time into what is at ``filled`` if nothing was picked up
    since; ``treated`` is where a thing was put to be treated, and ``others`` of its kind lay there before. ``sliced`` says
    where it stood when it sliced something. ``avoided`` are claims of the map that proved wrong, ``peeked`` receptacles that
    were looked into, ``shut`` those that do not open. ``surveyed`` counts the corners that `explore` went to, ``frames`` what
    was seen, which seeds perception; ``errors`` have their modes.

    Of the skill: ``steps`` are left to do, ``given`` counts its actions. Of the first step: ``aim`` is where it goes, ``sweep``
    the looks that are left there, ``tried`` where it looked in vain, ``vain`` where its action failed, ``refused`` how often,
    ``turns`` the rotations left of looking round.
    """

    map: SemanticMap
    percept: Percept
    pose: Pose
    frames: int = 1
    held: str | None = None
    stood: frozenset[Stand] = frozenset()
    bumped: frozenset[Stand] = frozenset()
    suspected: frozenset[Stand] = frozenset()
    opened: tuple[Spot, ...] = ()
    placed: tuple[Spot, ...] = ()
    filled: Spot | None = None
    treated: Spot | None = None
    others: tuple[Spot, ...] = ()
    sliced: tuple[tuple[str, Pose], ...] = ()
    avoided: tuple[Spot, ...] = ()
    peeked: tuple[Spot, ...] = ()
    shut: tuple[Spot, ...] = ()
    surveyed: int = 0
    errors: tuple[ErrorMode, ...] = ()
    skill: Skill | None = None
    steps: tuple[PolicyStep, ...] = ()
    given: int = 0
    aim: Aim | None = None
    sweep: tuple[tuple[int, int], ...] | None = None
    tried: frozenset[Stand] = frozenset()
    vain: frozenset[Stand] = frozenset()
    refused: int = 0
    turns: int = 0
    search: Search = field(default_factory=Search)

    @property
    def stand(self) -> Stand:
        """Where the agent stands."""
        return stand_of(self.pose, self.map.origin)

    @property
    def ahead(self) -> Stand:
        """The stand before the agent."""
        (x, z), (dx, dz) = self.stand, AHEAD[self.pose.quarter]
        return x + dx, z + dz

    @property
    def unopened(self) -> tuple[str, ...]:
        """The kinds of closed receptacle that were found, of which none was opened."""
        opened = {spot.kind for spot in (*self.peeked, *self.opened)}
        return tuple(kind for kind in self.map.found if kind in CONTAINERS and kind not in opened)

    def erred(self, mode: ErrorMode) -> SeeingState:
        """The state with one more error."""
        return replace(self, errors=(*self.errors, mode))

    def afresh(self) -> SeeingState:
        """The state at the beginning of a step."""
        none = frozenset[Stand]()
        return replace(self, aim=None, sweep=None, tried=none, vain=none, refused=0, turns=0, search=Search(), avoided=())

    def advanced(self) -> SeeingState:
        """The state after its first step."""
        first, *left = self.steps
        fresh = replace(self, steps=tuple(left)).afresh()
        # What comes after opening receptacles one by one goes on with the search that led to it.
        goes_on = first.primitive == "peek" or any(one.primitive == "peek" for one in left)
        return replace(fresh, search=self.search) if goes_on else fresh
