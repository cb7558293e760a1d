"""Following a high-level plan: its subgoals one after the other, each turned into text commands by the shared controller.

This is the low-level planner that LLM-Planner (section 4.5) and the Socratic Planner (section 3.5) both take from HLSM: it goes
to what a subgoal is about, and looks for it where it was not seen yet.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from agent.roles.subgoals import Subgoal
from agent.skills.controller import Controller, Execute, Failed, Pursuit
from agent.skills.naming import resolve
from agent.skills.skill import Skill, Verb
from worlds.base import Observation, Transition
from worlds.household.belief import Belief, kind

MOST_COMPLETED = 200

_VERBS: dict[str, Verb] = {"toggle": "use", "slice": "slice", "pick": "pick"}


@dataclass(frozen=True, slots=True)
class Course:
    """How far a plan is carried out; immutable plain data.

    ``at`` is the present subgoal, ``ahead`` what is left to do of it, None where it was not begun; ``steps`` commands were
    executed since. ``completed`` are the subgoals of the whole episode, of this plan or an earlier one.
    """

    pursuit: Pursuit
    plan: tuple[Subgoal, ...] = ()
    at: int = 0
    ahead: tuple[Skill, ...] | None = None
    steps: int = 0
    completed: tuple[Subgoal, ...] = ()

    @property
    def belief(self) -> Belief:
        """What is known of the house."""
        return self.pursuit.belief

    @property
    def subgoal(self) -> Subgoal | None:
        """The present subgoal; None where the plan is carried out."""
        return self.plan[self.at] if self.at < len(self.plan) else None


@dataclass(frozen=True, slots=True)
class Stuck:
    """``subgoal`` cannot be carried out, or takes too long."""

    subgoal: Subgoal
    reason: str


@dataclass(frozen=True, slots=True)
class Ended:
    """Every subgoal of the plan was carried out or skipped."""


class Follower:
    """Carries plans out through ``controller``. A subgoal that took ``patience`` commands is stuck (0: it may take any)."""

    def __init__(self, controller: Controller, patience: int) -> None:
        self._controller = controller
        self._patience = patience

    def begin(self, opening: Observation, goal: str) -> Course:
        """The course before any plan."""
        return Course(self._controller.begin(opening, goal))

    def told(self, course: Course, transitions: Sequence[Transition]) -> Course:
        """The course after these commands were executed, whoever chose them."""
        return replace(
            course, pursuit=self._controller.observe(course.pursuit, transitions), steps=course.steps + len(transitions)
        )

    def take(self, course: Course, plan: Sequence[Subgoal]) -> Course:
        """Follow ``plan`` from its beginning in place of the one before."""
        return _turned(replace(course, plan=tuple(plan)), 0)

    def skip(self, course: Course) -> Course:
        """Go on with the next subgoal, whatever came of this one."""
        return _turned(course, course.at + 1)

    def advance(self, course: Course) -> tuple[Execute | Stuck | Ended, Course]:
        """What comes next: a command, or that the present subgoal is stuck, or that the plan is at its end.

        Subgoals that hold already are passed over. Whoever advances a course that was stuck tries the subgoal anew.
        """
        while (subgoal := course.subgoal) is not None:
            if course.ahead is None:
                course = self._begun(replace(course, steps=0), skills_of(subgoal))
            if not course.ahead:
                course = _turned(_completed(course, subgoal), course.at + 1)
                continue
            outcome, pursuit = self._controller.next(course.pursuit)
            if isinstance(outcome, Failed):
                return Stuck(subgoal, outcome.reason.rstrip(".")), _turned(replace(course, pursuit=pursuit), course.at)
            if isinstance(outcome, Execute):
                if self._patience and course.steps >= self._patience:
                    return Stuck(subgoal, f"it is not done after {course.steps} commands"), _turned(course, course.at)
                return outcome, replace(course, pursuit=pursuit)
            course = self._begun(replace(course, pursuit=pursuit), course.ahead[1:])
        return Ended(), course

    def _begun(self, course: Course, skills: tuple[Skill, ...]) -> Course:
        pursuit = self._controller.start(course.pursuit, skills[0]) if skills else course.pursuit
        return replace(course, pursuit=pursuit, ahead=skills)


def skills_of(subgoal: Subgoal) -> tuple[Skill, ...]:
    """The skills that carry ``subgoal`` out: what is picked up, switched or sliced is found first."""
    match subgoal.action:
        case "navigate":
            return (Skill("go", subgoal.object),)
        case "open" | "close" as verb:
            return (Skill(verb, receptacle=subgoal.place),)
        case "put":
            return (Skill("put", subgoal.object if subgoal.receptacle else None, subgoal.place),)
        case "heat" | "cool" | "clean" as verb:
            return (Skill(verb, subgoal.object, subgoal.receptacle),)
        case action:
            return (Skill("find", subgoal.object), Skill(_VERBS[action], subgoal.object))


def seen_kinds(belief: Belief) -> tuple[str, ...]:
    """The kinds of things seen so far, in the order in which they were first seen: the papers' list of observed objects."""
    return tuple(dict.fromkeys(kind(one.name) for one in (*belief.receptacles, *belief.items)))


def was_seen(belief: Belief, said: str) -> bool:
    """Whether something that ``said`` can mean was seen."""
    return resolve(said, seen_kinds(belief), [one.name for one in (*belief.receptacles, *belief.items)]) is not None


def _completed(course: Course, subgoal: Subgoal) -> Course:
    # What was completed last and is so again brought nothing: a planner that is told of it twice learns nothing either.
    if course.completed[-1:] == (subgoal,):
        return course
    return replace(course, completed=(*course.completed, subgoal)[-MOST_COMPLETED:])


def _turned(course: Course, at: int) -> Course:
    return replace(course, at=at, ahead=None, steps=0)
