"""ALFRED's low-level actions as text: ``MoveAhead``, ``PickupObject mug 1``. Things have names, never AI2-THOR's ids."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence

from housequest.worlds.alfred.simulator.affordances import KNIVES, SLICES, kind_in
from housequest.worlds.alfred.simulator.base import Event, Scene, SimulatedObject
from housequest.worlds.alfred.tasks import INTERACTIONS, MOVES, LowAction

_COMMAND = re.compile(r"([A-Za-z]{1,20})(?: ([A-Za-z]{1,40} [0-9]{1,4}))?", re.ASCII)
_ID = re.compile(r"[A-Za-z]{1,40}(?:\|[+-]?[0-9.]{1,8}){3}(?:\|\w{1,40})?", re.ASCII)
NAMES = {name.lower(): name for name in (*MOVES, *INTERACTIONS)}
"""The actions by their names in lower case."""
_SAME = 0.03

MANUAL = "\n".join(
    (
        *MOVES,
        "PickupObject OBJECT",
        "PutObject RECEPTACLE",
        *(f"{name} THING" for name in ("OpenObject", "CloseObject", "ToggleObjectOn", "ToggleObjectOff", "SliceObject")),
    )
)
"""The forms of the commands, one a line."""


def read_command(text: str) -> LowAction | None:
    """The action that a command names, with the name of its target; None if it is none."""
    found = _COMMAND.fullmatch(" ".join(text.split())) if len(text) < 200 else None
    name = NAMES.get(found[1].lower()) if found else None
    if found is None or name is None or (found[2] is None) != (name in MOVES):
        return None
    return LowAction(name, found[2] and found[2].lower())


def written_command(action: LowAction) -> str:
    """The command for an action whose target has a name."""
    return action.name if action.target is None else f"{action.name} {action.target}"


def possible(event: Event) -> Iterator[LowAction]:
    """Actions that may be possible after ``event``, by what can be seen; whether they are is found out by trying."""
    for name in MOVES:
        yield LowAction(name)
    seen, held = event.visible(), event.held
    for one in event.objects:
        if one.id in seen and one.id != held:
            for name in interactions(one, held):
                yield LowAction(name, one.name)


def interactions(one: SimulatedObject, held: str | None) -> Iterator[str]:
    """The actions that one might try on an object with the hand as it is."""
    if one.pickupable and held is None:
        yield "PickupObject"
    if one.receptacle and held is not None:
        yield "PutObject"
    if one.openable:
        yield "CloseObject" if one.open else "OpenObject"
    if one.toggleable:
        yield "ToggleObjectOff" if one.on else "ToggleObjectOn"
    if one.sliceable and held is not None and kind_in(held) in KNIVES:
        yield "SliceObject"


def without_ids(message: str, name_of: Callable[[str], str | None]) -> str:
    """A simulator's message with names in place of ids; what has no name is called by its kind."""
    plain = message.removeprefix("NullReferenceException: ")
    named = _ID.sub(lambda found: name_of(found[0]) or kind_in(found[0]).lower(), plain)
    return named if named.endswith((".", "!", "?")) else f"{named}."


def demonstrated(actions: Sequence[LowAction], scene: Scene) -> tuple[str, ...]:
    """The commands of a demonstration, whose targets are ids, in its scene."""
    names = {**{id: name for name, id in scene.ids.items()}, **{one.id: one.name for one in scene.things}}
    sliced: dict[str, int] = {}
    commands: list[str] = []
    for action in actions:
        target = action.target
        if target is not None and target not in names and (same := _same(target, names)):
            names[target] = names[same]
        if action.name == "SliceObject" and target is not None and kind_in(target) in SLICES:
            kind, number = SLICES[kind_in(target)]
            first = sliced.get(kind, 0) + 1
            names |= {f"{target}|{kind}_{piece}": f"{kind.lower()} {first + piece - 1}" for piece in range(1, number + 1)}
            sliced[kind] = first + number - 1
        known = None if target is None else names.get(target, f"{kind_in(target).lower()} 0")
        commands.append(written_command(LowAction(action.name, known)))
    return tuple(commands)


def _same(id: str, names: Mapping[str, str]) -> str | None:
    """The id of the same thing as ``id``, whose coordinates are rounded otherwise."""
    kind, *at = id.split("|")
    alike = (other for other in names if (there := other.split("|"))[0] == kind and there[4:] == at[3:] and len(there) > 3)
    return next((other for other in alike if _apart(at, other.split("|")[1:]) < _SAME), None)


def _apart(one: Sequence[str], other: Sequence[str]) -> float:
    return max(abs(float(a) - float(b)) for a, b in zip(one[:3], other[:3], strict=True))
