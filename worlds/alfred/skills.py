"""LoTa-Bench's skills as commands (its appendix F): an oracle that reads the simulator's metadata carries them out.

It knows where everything is and teleports there, so what it reaches is a planner's share alone, and nothing of perception or of
walking. What LoTa-Bench does not say is ours: a skill that names another thing than the one in the hand fails.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from math import atan2, degrees, hypot
from typing import cast

from housequest.worlds.alfred.env import AlfredEnv
from housequest.worlds.alfred.model import TREATMENTS, Plan
from housequest.worlds.alfred.simulator.base import ENCLOSING, SimulatedObject, whole
from housequest.worlds.base import Step
from housequest.worlds.errors import Unsupported
from housequest.worlds.household.skills import NamedSkill, named_skills, putting, read_skill, spoken, taking, treating
from housequest.worlds.rooms.room import AHEAD, EYE, Point

TRIES = 20
"""Places from which a thing is looked at."""
WIGGLES = 14
"""Other places from which something is put down that could not be put down from the first."""
TURNS = 50
"""Skills until an episode is lost."""
_FARTHEST = 1e5
_UNSEEN = 1e3
_OCCUPIED = 1e4
_SLICE = -100.0
_TILT = 0.9
NO_SKILL = "This is no skill. There are: find, pick up, put down, open, close, turn on, turn off and slice, each with a thing."


class SkillEnv(AlfredEnv):
    """One running task, played by skills. Hidden state tells where things are, so nothing is searched for."""

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
        try:
            return tuple(sorted(text for text, skill in named_skills().items() if self._can(skill)))
        except Unsupported:
            return None

    def copy(self) -> SkillEnv:
        other = super().copy()
        assert isinstance(other, SkillEnv)
        other._found = self._found
        return other

    def _can(self, skill: NamedSkill) -> bool:
        one = self._nearest(skill)
        if one is None or skill.verb == "find":
            return one is not None
        ready = (self._held() is not None) == (skill.verb == "put down") or skill.verb not in ("pick up", "put down")
        return ready and self.copy()._carry_out(skill) is None

    def _carry_out(self, skill: NamedSkill) -> str | None:
        word, held = spoken(skill.kind), self._held()
        if skill.verb == "put down":
            return self._put_down(skill, held)
        if skill.verb == "pick up" and held is not None:
            return f"Robot is currently holding {_word(held)}"
        one = self._nearest(skill)
        if one is None:
            return f"Cannot find {word}{' to pick up' if skill.verb == 'pick up' else ''}"
        match skill.verb:
            case "find":
                if not self._approach(one):
                    return f"Cannot move to {word}"
                self._found = one.id
                return None
            case "pick up":
                if (shut := self._shut_around(one)) is not None:
                    return f"{word} is not visible because it is in {_word(shut)}"
                return None if self._do("PickupObject", one) else f"Picking up {word} failed"
            case "open" | "close" as verb:
                return None if self._do(f"{verb.capitalize()}Object", one) else f"{verb.capitalize()} action failed"
            case "turn on" | "turn off" as verb:
                done = self._do("ToggleObjectOn" if verb == "turn on" else "ToggleObjectOff", one)
                return None if done else f"{verb.capitalize()} action failed"
            case _:
                return None if self._do("SliceObject", one) else "Slice action failed"

    def _put_down(self, skill: NamedSkill, held: SimulatedObject | None) -> str | None:
        if held is None:
            return "Robot is not holding any object"
        if whole(held.kind).lower() != skill.kind:
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

    def _held(self) -> SimulatedObject | None:
        return self._now.object(self._now.held) if self._now.held else None

    def _do(self, action: str, one: SimulatedObject) -> bool:
        _, simulator = self._running()
        self._event = simulator.act(action, objectId=one.id)
        return self._event.ok

    def _nearest(self, skill: NamedSkill) -> SimulatedObject | None:
        """The thing that a skill means: the nearest, but those in closed receptacles and those out of sight last."""
        event = self._now
        seen = event.visible()
        kinds = (one for one in event.objects if whole(one.kind).lower() == skill.kind and one.id != event.held)
        alike = [one for one in kinds if skill.verb != "slice" or not one.sliced]

        def cost(one: SimulatedObject) -> float:
            shut = _FARTHEST if self._shut_around(one) else 0.0
            occupied = _OCCUPIED if one.kind == "StoveBurner" and one.contents else 0.0
            return one.distance + shut + occupied + (0.0 if one.id in seen else _UNSEEN) + (_SLICE if one.sliced else 0.0)

        return min(alike, key=lambda one: (cost(one), one.id), default=None)

    def _shut_around(self, one: SimulatedObject) -> SimulatedObject | None:
        around = (self._now.object(id) for id in one.parents)
        return next((other for other in around if other and other.openable and not other.open), None)

    def _approach(self, one: SimulatedObject) -> bool:
        """Teleport to where the thing is seen, or what hides it; else as near as possible. Whether one got anywhere."""
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

    def _stands(self, one: SimulatedObject) -> Iterator[tuple[float, float]]:
        """Teleport to one place after the other from which one might see a thing, the nearest first."""
        _, simulator = self._running()
        cells = cast("Sequence[Mapping[str, float]]", simulator.act("GetReachablePositions").returned)
        fixture = self.episode.scene.room.fixture(one.name)
        front = AHEAD[fixture.front] if fixture is not None and one.kind in ENCLOSING else None

        def order(at: tuple[float, float]) -> tuple[bool, float, tuple[float, float]]:
            dx, dz = at[0] - one.position.x, at[1] - one.position.z
            behind = front is not None and dx * front[0] + dz * front[1] <= abs(dx * front[1]) + abs(dz * front[0])
            return behind, hypot(dx, dz), at

        for at in sorted(((cell["x"], cell["z"]) for cell in cells), key=order):
            if self._teleport(at, one.position):
                yield at

    def _teleport(self, at: tuple[float, float], to: Point) -> bool:
        """Stand at a point and look to another, as LoTa-Bench's wrapper does: turned to it, and tilted nine tenths of it."""
        _, simulator = self._running()
        x, z = at
        away = hypot(to.x - x, to.z - z)
        tilt = max(-30.0, min(60.0, _TILT * degrees(atan2(EYE - to.y, away))))
        turn = degrees(atan2(to.x - x, to.z - z)) % 360
        self._event = simulator.act("TeleportFull", x=x, z=z, rotation=turn, horizon=tilt, standing=True)
        return self._event.ok


def demonstrated_skills(plan: Plan) -> tuple[str, ...]:
    """An annotated high-level plan in these skills."""
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


def _word(one: SimulatedObject) -> str:
    return spoken(whole(one.kind).lower())
