"""Follows a high-level plan: the shared controller turns one subgoal after the other into text commands.

This is the low-level planner that LLM-Planner (section 4.5) and the Socratic Planner (section 3.5) both take from HLSM: it goes
to a subgoal's object, and searches for it if it was not seen yet.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from agent.roles.subgoals import Subgoal
from agent.skills.controller import Controller, ControllerState, Execute, Failed
from agent.skills.naming import resolve
from agent.skills.skill import Skill, Verb
from worlds.base import Observation, Transition
from worlds.household.belief import Belief, kind

MOST_COMPLETED = 200

_VERBS: dict[str, Verb] = {"toggle": "use", "slice": "slice", "pick": "pick"}


@dataclass(frozen=True, slots=True)
class PlanProgress:
    """How far a plan is carried out; immutable plain data.

    ``at`` is the index of the present subgoal, ``ahead`` the skills left of it (None before it was begun), ``steps`` the
    commands executed for it. ``completed`` are the subgoals completed in the episode, in this plan or an earlier one.
    """

    state: ControllerState
    plan: tuple[Subgoal, ...] = ()
    at: int = 0
    ahead: tuple[Skill, ...] | None = None
    steps: int = 0
    completed: tuple[Subgoal, ...] = ()

    @property
    def belief(self) -> Belief:
        """What is known of the house."""
        return self.state.belief

    @property
    def subgoal(self) -> Subgoal | None:
        """The present subgoal; None at the end of the plan."""
        return self.plan[self.at] if self.at < len(self.plan) else None


@dataclass(frozen=True, slots=True)
class SubgoalFailed:
    """``subgoal`` cannot be carried out, or took too many commands."""

    subgoal: Subgoal
    reason: str


@dataclass(frozen=True, slots=True)
class PlanDone:
    """Every subgoal of the plan was carried out or skipped."""


class PlanFollower:
    """Carries plans out with ``controller``. A subgoal fails after ``patience`` commands (0: no limit)."""

    def __init__(self, controller: Controller, patience: int) -> None:
        self._controller = controller
        self._patience = patience

    def begin(self, opening: Observation, goal: str) -> PlanProgress:
        """The progress before any plan."""
        return PlanProgress(self._controller.begin(opening, goal))

    def observe(self, progress: PlanProgress, transitions: Sequence[Transition]) -> PlanProgress:
        """The progress after these commands were executed, whoever chose them."""
        return replace(
            progress, state=self._controller.observe(progress.state, transitions), steps=progress.steps + len(transitions)
        )

    def take(self, progress: PlanProgress, plan: Sequence[Subgoal]) -> PlanProgress:
        """Replace the plan by ``plan`` and start at its beginning."""
        return _at(replace(progress, plan=tuple(plan)), 0)

    def skip(self, progress: PlanProgress) -> PlanProgress:
        """Go on with the next subgoal."""
        return _at(progress, progress.at + 1)

    def advance(self, progress: PlanProgress) -> tuple[Execute | SubgoalFailed | PlanDone, PlanProgress]:
        """The next command, or the failure of the present subgoal, or the end of the plan.

        Subgoals that already hold are skipped. Advancing again after a failure retries the subgoal.
        """
        while (subgoal := progress.subgoal) is not None:
            if progress.ahead is None:
                progress = self._begun(replace(progress, steps=0), skills_of(subgoal))
            if not progress.ahead:
                progress = _at(_completed(progress, subgoal), progress.at + 1)
                continue
            outcome, state = self._controller.next(progress.state)
            if isinstance(outcome, Failed):
                return SubgoalFailed(subgoal, outcome.reason.rstrip(".")), _at(replace(progress, state=state), progress.at)
            if isinstance(outcome, Execute):
                if self._patience and progress.steps >= self._patience:
                    return SubgoalFailed(subgoal, f"it is not done after {progress.steps} commands"), _at(progress, progress.at)
                return outcome, replace(progress, state=state)
            progress = self._begun(replace(progress, state=state), progress.ahead[1:])
        return PlanDone(), progress

    def _begun(self, progress: PlanProgress, skills: tuple[Skill, ...]) -> PlanProgress:
        state = self._controller.start(progress.state, skills[0]) if skills else progress.state
        return replace(progress, state=state, ahead=skills)


def skills_of(subgoal: Subgoal) -> tuple[Skill, ...]:
    """The skills that carry ``subgoal`` out: an object to be picked up, switched or sliced is found first."""
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
    """The kinds of things seen so far, in the order they were first seen: the papers' list of observed objects."""
    return tuple(dict.fromkeys(kind(one.name) for one in (*belief.receptacles, *belief.items)))


def was_seen(belief: Belief, said: str) -> bool:
    """Whether something that ``said`` can refer to was seen."""
    return resolve(said, seen_kinds(belief), [one.name for one in (*belief.receptacles, *belief.items)]) is not None


def _completed(progress: PlanProgress, subgoal: Subgoal) -> PlanProgress:
    # A subgoal that is completed twice in a row is listed once.
    if progress.completed[-1:] == (subgoal,):
        return progress
    return replace(progress, completed=(*progress.completed, subgoal)[-MOST_COMPLETED:])


def _at(progress: PlanProgress, at: int) -> PlanProgress:
    return replace(progress, at=at, ahead=None, steps=0)
