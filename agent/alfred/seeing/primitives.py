"""What skills are made of: primitives, each walked to, looked for, and done by one of ALFRED's actions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from housequest.agent.skills.skill import Skill
from housequest.worlds.household.goals import APPLIANCES, KNIVES
from housequest.worlds.household.skills import CONTAINERS

Primitive = Literal["go", "look", "explore", "pick", "put", "open", "close", "on", "off", "slice", "peek"]
"""What skills are made of: each is walked to, looked for, and done by one action, but for those without a thing. To ``peek``
is to open one receptacle of a kind after the other, to look for what the next step is about."""

ACTIONS: dict[Primitive, str] = {
    "pick": "PickupObject",
    "put": "PutObject",
    "open": "OpenObject",
    "close": "CloseObject",
    "on": "ToggleObjectOn",
    "off": "ToggleObjectOff",
    "slice": "SliceObject",
    "peek": "OpenObject",
}
"""ALFRED's action of each primitive that acts on a thing."""

UNRECOGNISED = "something"
"""The kind of what somebody else put into the hand if perception has not reported it."""
_GERUNDS = {
    "go": "going to the {}",
    "look": "looking round",
    "explore": "exploring the room",
    "pick": "picking up the {}",
    "put": "putting it on the {}",
    "open": "opening the {}",
    "close": "closing the {}",
    "on": "switching on the {}",
    "off": "switching off the {}",
    "slice": "slicing the {}",
    "peek": "looking into each {}",
}


@dataclass(frozen=True, slots=True)
class PolicyStep:
    """One primitive of the skill in progress, with the kind of thing that it is about.

    ``inside``: it belongs to a treatment, so what is put somewhere does not stay there.
    """

    primitive: Primitive
    kind: str = ""
    inside: bool = False


def steps_of(skill: Skill, held: str | None, *, left: bool = False) -> Iterator[PolicyStep]:
    """A skill as primitives, for somebody who holds ``held``; treatments are ALFRED's own sequences.

    With ``left``, a treatment failed before after the thing was put down for it: what remains is to take it out again.
    """
    thing, place = skill.object or "", skill.receptacle or ""
    treated = thing if held == UNRECOGNISED else held or thing
    match skill.verb:
        case "find" | "go" | "examine" if (thing or place) == held:
            # It is in the hand, where another one has no room.
            pass
        case "find" | "go" | "examine":
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
        case "clean" if left:
            yield PolicyStep("pick", thing, inside=True)
        case "heat" | "cool" if left:
            yield PolicyStep("open", place or APPLIANCES[skill.verb], inside=True)
            yield PolicyStep("pick", thing, inside=True)
        case "clean":
            yield PolicyStep("put", place or "sinkbasin", inside=True)
            yield PolicyStep("on", "faucet", inside=True)
            yield PolicyStep("off", "faucet", inside=True)
            yield PolicyStep("pick", treated, inside=True)
        case "heat" | "cool":
            appliance = place or APPLIANCES[skill.verb]
            yield PolicyStep("open", appliance, inside=True)
            yield PolicyStep("put", appliance, inside=True)
            yield PolicyStep("close", appliance, inside=True)
            if skill.verb == "heat":
                yield PolicyStep("on", appliance, inside=True)
                yield PolicyStep("off", appliance, inside=True)
            yield PolicyStep("open", appliance, inside=True)
            yield PolicyStep("pick", treated, inside=True)
            yield PolicyStep("close", appliance, inside=True)


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
    return _GERUNDS[step.primitive].format(step.kind)
