"""One running task of the world ``alfred`` in a simulator, played by ALFRED's low-level actions or by LoTa-Bench's skills.

Actions are text: ``MoveAhead``, ``PickupObject mug 1``. Objects have names, never AI2-THOR's ids. Skills (LoTa-Bench's appendix
F) are carried out by an oracle that reads the simulator's metadata, knows where everything is and teleports there. Its results
therefore measure only the planner, not perception or walking. One rule is ours, since LoTa-Bench has none: a skill that names
another object than the one in the hand fails.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import replace
from itertools import islice
from math import atan2, degrees, hypot
from typing import NamedTuple, Self, cast

from housequest.worlds.alfred.model import TREATMENTS, Plan
from housequest.worlds.alfred.simulator import base
from housequest.worlds.alfred.tasks import INTERACTIONS, MOVES, AlfredGoal, LowAction
from housequest.worlds.base import Observation, Reach, Step, Task
from housequest.worlds.errors import OrderError, Unsupported
from housequest.worlds.household.goals import NamedSkill, named_skills, putting, read_skill, spoken, taking, treating
from housequest.worlds.rooms.render import Frame
from housequest.worlds.rooms.room import AHEAD, EYE, Holder, Point, Pose, Room, Situation

_COMMAND = re.compile(r"([A-Za-z]{1,20})(?: ([A-Za-z]{1,40} [0-9]{1,4}))?", re.ASCII)
_ID = re.compile(r"[A-Za-z]{1,40}(?:\|[+-]?[0-9.]{1,8}){3}(?:\|\w{1,40})?", re.ASCII)
NAMES = {name.lower(): name for name in (*MOVES, *INTERACTIONS)}  # The actions by their names in lower case.
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
    """The action that a command names, with the name of its target; None for a text that is no action."""
    found = _COMMAND.fullmatch(" ".join(text.split())) if len(text) < 200 else None
    name = NAMES.get(found[1].lower()) if found else None
    if found is None or name is None or (found[2] is None) != (name in MOVES):
        return None
    return LowAction(name, found[2] and found[2].lower())


def possible(event: base.SimulatorEvent) -> Iterator[LowAction]:
    """Actions that may be possible after ``event``, by the visible objects; only trying tells which are."""
    for name in MOVES:
        yield LowAction(name)
    seen, held = event.visible(), event.held
    for one in event.objects:
        if one.id in seen and one.id != held:
            for name in interactions(one, held):
                yield LowAction(name, one.name)


def interactions(one: base.SimulatedObject, held: str | None) -> Iterator[str]:
    """The actions worth trying on an object, depending on the ``held`` one."""
    if one.pickupable and held is None:
        yield "PickupObject"
    if one.receptacle and held is not None:
        yield "PutObject"
    if one.openable:
        yield "CloseObject" if one.open else "OpenObject"
    if one.toggleable:
        yield "ToggleObjectOff" if one.on else "ToggleObjectOn"
    if one.sliceable and held is not None and base.kind_in(held) in base.KNIVES:
        yield "SliceObject"


def without_ids(message: str, name_of: Callable[[str], str | None]) -> str:
    """A simulator's message with names in place of ids; an object without a name is called by its kind."""
    plain = message.removeprefix("NullReferenceException: ")
    named = _ID.sub(lambda found: name_of(found[0]) or base.kind_in(found[0]).lower(), plain)
    return named if named.endswith((".", "!", "?")) else f"{named}."


def demonstrated(actions: Sequence[LowAction], scene: base.Scene) -> tuple[str, ...]:
    """The commands of a demonstration, whose targets are ids, in its scene."""
    names = {**{id: name for name, id in scene.ids.items()}, **{one.id: one.name for one in scene.things}}
    sliced: dict[str, int] = {}
    commands: list[str] = []
    for action in actions:
        target = action.target
        if target is not None and target not in names and (same := _same(target, names)):
            names[target] = names[same]
        if action.name == "SliceObject" and target is not None and base.kind_in(target) in base.SLICES:
            kind, number = base.SLICES[base.kind_in(target)]
            first = sliced.get(kind, 0) + 1
            names |= {f"{target}|{kind}_{piece}": f"{kind.lower()} {first + piece - 1}" for piece in range(1, number + 1)}
            sliced[kind] = first + number - 1
        known = None if target is None else names.get(target, f"{base.kind_in(target).lower()} 0")
        commands.append(str(LowAction(action.name, known)))
    return tuple(commands)


def _same(id: str, names: Mapping[str, str]) -> str | None:
    """The id of the same object with differently rounded coordinates."""
    kind, *at = id.split("|")
    for other in names:
        there = other.split("|")
        alike = there[0] == kind and there[4:] == at[3:] and len(there) > 3
        if alike and max(abs(float(a) - float(b)) for a, b in zip(at[:3], there[1:4], strict=True)) < _SAME:
            return other
    return None


UNSEEN = "Target object not found within the specified visibility."
"""The answer to an action on an object that is not in sight, whether it exists or not."""
_GLANCE = (75, 75)
_NEAR = 0.11  # The greatest distance from the middle of the picture to act on an object, as a share of its height.
_FAVOUR = 0.05
_NO_ACTION = f"This is no action. There are: {', '.join(' '.join(form.split()) for form in MANUAL.splitlines())}."


class Episode(NamedTuple):
    """The hidden parts of a task: its scene, its goal, and the actions of the annotated demonstration."""

    scene: base.Scene
    goal: AlfredGoal
    actions: tuple[LowAction, ...] = ()


def opening(task: Task, episode: Episode) -> str:
    return f"You are in a room. {told_where(episode.scene.start, None)}\n\nYour task is to: {task.goal}"


def told_where(pose: Pose, held: str | None) -> str:
    """The robot's pose and the object it holds, in words."""
    look = f"{abs(pose.pitch):.0f} degrees {'down' if pose.pitch > 0 else 'up'}" if round(pose.pitch) else "straight ahead"
    where = f"You stand at x {pose.x + 0.0:.2f}, z {pose.z + 0.0:.2f}, facing {pose.yaw % 360:.0f} degrees, looking {look}."
    return f"{where} {f'You hold the {held}.' if held else 'Your hand is empty.'}"


class AlfredEnv:
    """One running task. Not thread-safe. Texts do not tell the objects in sight; `frame` shows them. A text that is no action
    is refused and does nothing. An action that the simulator refuses has failed, and ``failures`` of them end the episode (0:
    no limit)."""

    def __init__(self, task: Task, episode: Episode, simulate: Callable[[], base.Simulator], failures: int) -> None:
        self.task, self.episode = task, episode
        self._simulate, self._limit = simulate, failures
        self._simulator: base.Simulator | None = None
        self._event: base.SimulatorEvent | None = None
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
        self._event = event or self._event
        if event is not None and event.ok:
            return self._answer("", accepted=True)
        self._failed += 1
        why = UNSEEN if event is None else without_ids(event.message, self._name)
        return self._answer(f"The action failed: {why}", accepted=False)

    def admissible_commands(self) -> tuple[str, ...] | None:
        event, simulator = self._running()
        try:
            tried = ((action, self._act(simulator.copy(), action)) for action in possible(event))
            return tuple(sorted(str(action) for action, after in tried if after is not None and after.ok))
        except Unsupported:
            return None

    def goal_conditions(self) -> tuple[int, int]:
        return self.episode.goal.seen(self._now), self.episode.goal.total

    def frame(self, size: tuple[int, int] = base.SIZE) -> Frame:
        """The frame of ALFRED's camera, 60 degrees from top to bottom, with the names that commands take."""
        event = self._now
        frame = event.frame(size)
        names = {one.id: one.name for one in event.objects}
        return replace(frame, names=tuple(names.get(id, id.partition("|")[0].lower()) for id in frame.names))

    def pose(self) -> Pose:
        return self._now.pose

    def reach(self) -> Reach:
        """The actions possible on objects near the middle of the picture, the nearest and most useful objects first."""
        import numpy as np

        frame, seen, held = self.frame(_GLANCE), self._now.visible(), self._now.held
        objects = {one.name: one for one in self._now.objects}
        rows, columns = frame.ids.shape
        down, across = np.mgrid[:rows, :columns]
        away = np.hypot(down + 0.5 - rows / 2, across + 0.5 - columns / 2) / rows
        numbers = map(int, np.unique(frame.ids[(away <= _NEAR) & (frame.ids >= 0)]))
        # The distance of each object's nearest pixel from the middle of the picture, as a share of the height.
        apart = {frame.names[number]: float(away[frame.ids == number].min()) for number in numbers}

        def order(name: str) -> tuple[float, str]:
            one = objects[name]
            # Prefer objects that can be picked up or, with an object in the hand, receptacles.
            return apart[name] - _FAVOUR * (one.pickupable if held is None else one.receptacle), name

        there = [objects[name] for name in sorted(apart.keys() & objects.keys(), key=order)]
        near = (one for one in there if one.id in seen and one.id != held)
        if commands := tuple(str(LowAction(action, one.name)) for one in near for action in interactions(one, held)):
            return Reach(commands)
        far = next((one.name for one in there if one.id not in seen), None)
        return Reach((), f"the {far} is too far away" if far else "nothing is in the middle that one could act on")

    def situation(self, room: Room) -> Situation:
        """Hidden: the present state of the room, drawn for spectators."""
        event = self._now
        objects, ids, seen = {one.id: one for one in event.objects}, self.episode.scene.ids, event.visible()
        holders: list[Holder] = []
        for fixture in room.fixtures:
            if (one := objects.get(ids.get(fixture.name, ""))) is not None:
                openness = ("open" if one.open else "closed") if one.openable else "surface"
                inside = (other.name for other in objects.values() if one.id in other.parents and other.id != event.held)
                holders.append(Holder(one.name, True, openness, tuple(inside)))
        held = objects.get(event.held or "")
        reached = [one for one in objects.values() if one.receptacle and one.id in seen and room.fixture(one.name)]
        at = min(reached, key=lambda one: one.distance, default=None)
        states = frozenset((one.name, "on") for one in objects.values() if one.on)
        return Situation(event.pose, at and at.name, tuple(holders), (held.name,) if held else (), states)

    def copy(self) -> Self:
        other = copy(self)
        other._simulator = self._simulator and self._simulator.copy()
        return other

    def close(self) -> None:
        if self._simulator is not None:
            self._simulator.close()
        self._simulator = self._event = None

    @property
    def _now(self) -> base.SimulatorEvent:
        """The last event. Raises ``OrderError`` before the first reset."""
        return self._running()[0]

    def _running(self) -> tuple[base.SimulatorEvent, base.Simulator]:
        if self._event is None or self._simulator is None:
            raise OrderError("This env was used before its first reset; call reset() first.")
        return self._event, self._simulator

    def _act(self, simulator: base.Simulator, action: LowAction) -> base.SimulatorEvent | None:
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


TRIES = 20  # Places from which an object is looked at.
WIGGLES = 14  # Other places to try if an object cannot be put down from the first.
TURNS = 50  # Skills until an episode is lost.
_FARTHEST = 1e5
_UNSEEN = 1e3
_OCCUPIED = 1e4
_SLICE = -100.0
_TILT = 0.9
NO_SKILL = "This is no skill. There are: find, pick up, put down, open, close, turn on, turn off and slice, each with a thing."
_ACTIONS = {
    "pick up": "PickupObject",
    "open": "OpenObject",
    "close": "CloseObject",
    "turn on": "ToggleObjectOn",
    "turn off": "ToggleObjectOff",
    "slice": "SliceObject",
}


class AlfredSkillEnv(AlfredEnv):
    """One running task, played by skills. Hidden state tells where objects are, so there is no search."""

    _found: str | None = None

    def reset(self) -> Step:
        self._found = None
        return super().reset()

    def step(self, command: str) -> Step:
        self._running()
        skill = read_skill(command)
        if skill is None:
            return self._answer(NO_SKILL, accepted=False)
        failure = self._carry_out(skill)
        return self._answer("" if failure is None else f"{failure}.", accepted=failure is None)

    def _told(self, text: str) -> str:
        held = self._held()
        return text or f"Done. {f'You hold the {held.name}.' if held else 'Your hand is empty.'}"

    def admissible_commands(self) -> tuple[str, ...] | None:
        def can(skill: NamedSkill) -> bool:
            one = self._nearest(skill)
            if one is None or skill.verb == "find":
                return one is not None
            ready = (self._held() is not None) == (skill.verb == "put down") or skill.verb not in ("pick up", "put down")
            return ready and self.copy()._carry_out(skill) is None

        try:
            return tuple(sorted(text for text, skill in named_skills().items() if can(skill)))
        except Unsupported:
            return None

    def _carry_out(self, skill: NamedSkill) -> str | None:
        verb, word, held = skill.verb, spoken(skill.kind), self._held()
        if verb == "put down":
            return self._put_down(skill, held)
        if verb == "pick up" and held is not None:
            return f"Robot is currently holding {_word(held)}"
        one = self._nearest(skill)
        if one is None:
            return f"Cannot find {word}{' to pick up' if verb == 'pick up' else ''}"
        if verb == "find":
            if not self._approach(one):
                return f"Cannot move to {word}"
            self._found = one.id
            return None
        if verb == "pick up" and (shut := self._shut_around(one)) is not None:
            return f"{word} is not visible because it is in {_word(shut)}"
        failure = f"Picking up {word} failed" if verb == "pick up" else f"{verb.capitalize()} action failed"
        return None if self._do(_ACTIONS[verb], one) else failure

    def _put_down(self, skill: NamedSkill, held: base.SimulatedObject | None) -> str | None:
        if held is None:
            return "Robot is not holding any object"
        if base.whole(held.kind).lower() != skill.kind:
            return f"Robot is currently holding {_word(held)}"
        event, simulator = self._running()
        place = event.object(self._found) if self._found else None
        if place is not None and place.receptacle and place.id != held.id:
            elsewhere = islice(self._stands(place), WIGGLES)
            if self._do("PutObject", place) or any(self._do("PutObject", place) for _ in elsewhere):
                return None
        self._event = simulator.act("DropHandObject")
        where = "the floor" if place is None else _word(place)
        return "put down failed" if self._event.ok else f"Putting the object on {where} failed"

    def _held(self) -> base.SimulatedObject | None:
        return self._now.object(self._now.held) if self._now.held else None

    def _do(self, action: str, one: base.SimulatedObject) -> bool:
        _, simulator = self._running()
        self._event = simulator.act(action, objectId=one.id)
        return self._event.ok

    def _nearest(self, skill: NamedSkill) -> base.SimulatedObject | None:
        """The object that a skill means: the nearest, with those out of sight or in closed receptacles last."""
        event = self._now
        seen = event.visible()
        kinds = (one for one in event.objects if base.whole(one.kind).lower() == skill.kind and one.id != event.held)
        alike = [one for one in kinds if skill.verb != "slice" or not one.sliced]

        def cost(one: base.SimulatedObject) -> float:
            shut = _FARTHEST if self._shut_around(one) else 0.0
            occupied = _OCCUPIED if one.kind == "StoveBurner" and one.contents else 0.0
            return one.distance + shut + occupied + (0.0 if one.id in seen else _UNSEEN) + (_SLICE if one.sliced else 0.0)

        return min(alike, key=lambda one: (cost(one), one.id), default=None)

    def _shut_around(self, one: base.SimulatedObject) -> base.SimulatedObject | None:
        around = (self._now.object(id) for id in one.parents)
        return next((other for other in around if other and other.openable and not other.open), None)

    def _approach(self, one: base.SimulatedObject) -> bool:
        """Teleport to where the object, or the closed receptacle around it, is visible, or else as near as possible. Return
        False if there is no place to stand."""
        sought = self._shut_around(one) or one
        first = None
        for at in islice(self._stands(sought), TRIES):
            if sought.id in self._now.visible():
                return True
            first = first or at
        if first is None:
            return False
        self._teleport(first, sought.position)
        return True

    def _stands(self, one: base.SimulatedObject) -> Iterator[tuple[float, float]]:
        """Teleport to the places from which an object might be visible, the nearest first, and yield each."""
        _, simulator = self._running()
        cells = cast("Sequence[Mapping[str, float]]", simulator.act("GetReachablePositions").returned)
        fixture = self.episode.scene.room.fixture(one.name)
        front = AHEAD[fixture.front] if fixture is not None and one.kind in base.ENCLOSING else None

        def order(at: tuple[float, float]) -> tuple[bool, float, tuple[float, float]]:
            dx, dz = at[0] - one.position.x, at[1] - one.position.z
            behind = front is not None and dx * front[0] + dz * front[1] <= abs(dx * front[1]) + abs(dz * front[0])
            return behind, hypot(dx, dz), at

        for at in sorted(((cell["x"], cell["z"]) for cell in cells), key=order):
            if self._teleport(at, one.position):
                yield at

    def _teleport(self, at: tuple[float, float], to: Point) -> bool:
        """Stand at a point and look at another, as LoTa-Bench's wrapper does: turned to it, with nine tenths of the tilt."""
        _, simulator = self._running()
        x, z = at
        away = hypot(to.x - x, to.z - z)
        tilt = max(-30.0, min(60.0, _TILT * degrees(atan2(EYE - to.y, away))))
        turn = degrees(atan2(to.x - x, to.z - z)) % 360
        self._event = simulator.act("TeleportFull", x=x, z=z, rotation=turn, horizon=tilt, standing=True)
        return self._event.ok


def demonstrated_skills(plan: Plan) -> tuple[str, ...]:
    """An annotated high-level plan as skills."""
    skills: list[NamedSkill] = []
    at: str | None = None
    for step in plan:
        match step.action:
            case "GotoLocation":
                at = step.thing
            case "PickupObject":
                skills += taking(step.thing, at)
            case "PutObject":
                skills += putting(step.thing, step.receptacle or "")
            case "SliceObject":
                skills += [NamedSkill("find", step.thing), NamedSkill("slice", step.thing)]
            case "ToggleObject":
                skills += [NamedSkill("find", step.thing), NamedSkill("turn on", step.thing)]
            case treatment:
                skills += treating(TREATMENTS[treatment], step.thing)
    return tuple(map(str, skills))


def _word(one: base.SimulatedObject) -> str:
    return spoken(base.whole(one.kind).lower())
