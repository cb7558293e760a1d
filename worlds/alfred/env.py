"""One running task of the world ``alfred``: low-level actions as commands, carried out by a simulator."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from housequest.worlds.alfred.scoring import AlfredGoal, conditions
from housequest.worlds.alfred.simulator.base import KNIVES, SIZE, SLICES, Event, Scene, SimulatedObject, Simulator, kind_in
from housequest.worlds.alfred.tasks import INTERACTIONS, MOVES, LowAction
from housequest.worlds.base import Observation, Reach, Step, Task
from housequest.worlds.errors import OrderError, Unsupported
from housequest.worlds.rooms.render import Frame
from housequest.worlds.rooms.room import Holder, Pose, Room, Situation

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


TILT = 15.0
"""Degrees of ALFRED's LookUp and LookDown; AI2-THOR 5 has others if none are named."""
UNSEEN = "Target object not found within the specified visibility."
"""The answer to an action on what is not in sight, whether there is such a thing or not."""
_GLANCE = (75, 75)
_NEAR = 0.11
"""How far from the middle of the picture a thing may be that one acts on, as a share of its height."""
_FAVOUR = 0.05
_NO_ACTION = f"This is no action. There are: {', '.join(' '.join(form.split()) for form in MANUAL.splitlines())}."


@dataclass(frozen=True, slots=True)
class Episode:
    """What a task is, hidden from who plays it: where it begins, what it asks for, and what people did to get there."""

    scene: Scene
    goal: AlfredGoal
    actions: tuple[LowAction, ...] = ()


def opening(task: Task, episode: Episode) -> str:
    """The first observation of a task."""
    return f"You are in a room. {told_where(episode.scene.start, None)}\n\nYour task is to: {task.goal}"


def told_where(pose: Pose, held: str | None) -> str:
    """What a robot knows of itself, in words."""
    look = f"{abs(pose.pitch):.0f} degrees {'down' if pose.pitch > 0 else 'up'}" if round(pose.pitch) else "straight ahead"
    where = f"You stand at x {pose.x + 0.0:.2f}, z {pose.z + 0.0:.2f}, facing {pose.yaw % 360:.0f} degrees, looking {look}."
    return f"{where} {f'You hold the {held}.' if held else 'Your hand is empty.'}"


class AlfredEnv:
    """One running task. Not thread-safe. What is in sight is not told in text: `frame` shows it. A text that is no action is
    refused and does nothing; an action that the simulator refuses counts as failed, and so many failures end the episode."""

    def __init__(self, task: Task, episode: Episode, simulate: Callable[[], Simulator], failures: int) -> None:
        """``failures`` is after how many failed actions the episode ends, 0 for no limit."""
        self.task = task
        self.episode = episode
        self._simulate, self._limit = simulate, failures
        self._simulator: Simulator | None = None
        self._event: Event | None = None
        self._failed = 0

    def reset(self) -> Step:
        self._simulator = self._simulator or self._simulate()
        self._event = self._simulator.begin(self.episode.scene)
        self._failed = 0
        return Step(Observation(opening(self.task, self.episode)))

    def step(self, command: str) -> Step:
        _, simulator = self._running()
        action = read_command(command)
        if action is None:
            return self._answer(_NO_ACTION, accepted=False)
        event = self._act(simulator, action)
        if event is None:
            self._failed += 1
            return self._answer(f"The action failed: {UNSEEN}", accepted=False)
        self._event = event
        if event.ok:
            return self._answer("", accepted=True)
        self._failed += 1
        return self._answer(f"The action failed: {without_ids(event.message, self._name)}", accepted=False)

    def admissible_commands(self) -> tuple[str, ...] | None:
        event, simulator = self._running()
        try:
            tried = ((action, self._act(simulator.copy(), action)) for action in possible(event))
            return tuple(sorted(written_command(action) for action, after in tried if after is not None and after.ok))
        except Unsupported:
            return None

    def goal_conditions(self) -> tuple[int, int]:
        return conditions(self.episode.goal, self._now)

    def frame(self, size: tuple[int, int] = SIZE) -> Frame:
        """What ALFRED's camera sees, 60 degrees from top to bottom; things have the names that commands take."""
        event = self._now
        frame = event.frame(size)
        names = {one.id: one.name for one in event.objects}
        return replace(frame, names=tuple(names.get(id, id.partition("|")[0].lower()) for id in frame.names))

    def pose(self) -> Pose:
        """Where the robot stands and looks."""
        return self._now.pose

    def reach(self) -> Reach:
        """What can be done with what is near the middle of the picture: what is carried off before what it lies on."""
        event = self._now
        frame, seen = self.frame(_GLANCE), event.visible()
        objects = {one.name: one for one in event.objects}
        apart = _from_the_middle(frame)
        held = event.held

        def order(name: str) -> tuple[float, str]:
            one = objects[name]
            # First of all what the hand, as it is, has a use for.
            return apart[name] - _FAVOUR * (one.pickupable if held is None else one.receptacle), name

        there = sorted((name for name in apart if name in objects), key=order)
        commands = [
            written_command(LowAction(action, name))
            for name in there
            if objects[name].id in seen and objects[name].id != held
            for action in interactions(objects[name], held)
        ]
        if commands:
            return Reach(tuple(commands))
        far = next((name for name in there if objects[name].id not in seen), None)
        return Reach((), f"the {far} is too far away" if far else "nothing is in the middle that one could act on")

    def situation(self, room: Room) -> Situation:
        """Hidden: all that is so now, as it is drawn for people who watch."""
        event = self._now
        objects = {one.id: one for one in event.objects}
        ids = self.episode.scene.ids
        holders: list[Holder] = []
        for fixture in room.fixtures:
            if (one := objects.get(ids.get(fixture.name, ""))) is not None:
                openness = ("open" if one.open else "closed") if one.openable else "surface"
                inside = tuple(other.name for other in objects.values() if one.id in other.parents and other.id != event.held)
                holders.append(Holder(one.name, True, openness, inside))
        held = objects.get(event.held or "")
        lit = frozenset(one.name for one in objects.values() if one.on)
        seen = event.visible()
        reached = [one for one in objects.values() if one.receptacle and one.id in seen and room.fixture(one.name)]
        at = min(reached, key=lambda one: one.distance, default=None)
        return Situation(event.pose, at and at.name, tuple(holders), held and held.name, lit)

    def copy(self) -> AlfredEnv:
        other = type(self)(self.task, self.episode, self._simulate, self._limit)
        other._simulator = self._simulator and self._simulator.copy()
        other._event, other._failed = self._event, self._failed
        return other

    def close(self) -> None:
        if self._simulator is not None:
            self._simulator.close()
        self._simulator = self._event = None

    @property
    def _now(self) -> Event:
        """What there is, by the last action. Raises ``OrderError`` before the first reset."""
        return self._running()[0]

    def _running(self) -> tuple[Event, Simulator]:
        if self._event is None or self._simulator is None:
            raise OrderError("This env was used before its first reset; call reset() first.")
        return self._event, self._simulator

    def _act(self, simulator: Simulator, action: LowAction) -> Event | None:
        if action.name in ("LookUp", "LookDown"):
            return simulator.act(action.name, degrees=TILT)
        if action.name in MOVES:
            return simulator.act(action.name)
        target = next((one.id for one in self._now.objects if one.name == action.target), None)
        if target is None or target not in self._now.visible():
            return None
        return simulator.act(action.name, objectId=target)

    def _answer(self, text: str, *, accepted: bool) -> Step:
        met, total = self.goal_conditions()
        over = 0 < self._limit <= self._failed
        return Step(
            Observation(self._told(text), accepted), won=met == total, terminated=met == total, truncated=over and met < total
        )

    def _told(self, text: str) -> str:
        return f"{text} {told_where(self._now.pose, self._name(self._now.held))}".strip()

    def _name(self, id: str | None) -> str | None:
        one = None if id is None else self._now.object(id)
        return one and one.name


def _from_the_middle(frame: Frame) -> dict[str, float]:
    """How far from the middle of a picture the nearest pixel of each thing is that is near it, as a share of the height."""
    import numpy as np

    rows, columns = frame.ids.shape
    down, across = np.mgrid[:rows, :columns]
    away = np.hypot(down + 0.5 - rows / 2, across + 0.5 - columns / 2) / rows
    near = (away <= _NEAR) & (frame.ids >= 0)
    return {frame.names[number]: float(away[frame.ids == number].min()) for number in map(int, np.unique(frame.ids[near]))}
