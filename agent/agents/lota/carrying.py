"""Who carries out the skills that are selected: a controller that gives text commands, or the world itself.

A world whose commands are whole skills (`World.skills`), such as LoTa-Bench's robot, takes a skill as it is and says whether it
failed. In any other household, the controller works it out from what the text said.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import TYPE_CHECKING

from housequest.agent.agents.lota.selector import fixed_skills
from housequest.agent.base import Emitter
from housequest.agent.skills.controller import ControllerState, Done, Execute, Failed, Outcome, SearchingController
from housequest.agent.skills.skill import Skill, example_skills
from housequest.knowledge.examples import Example
from housequest.knowledge.rules import Rule
from housequest.worlds.base import Observation, Transition, World
from housequest.worlds.household.goals import GoalStep, NamedSkill, SkillVerb, treating

if TYPE_CHECKING:
    from housequest.agent.agents.lota import LotaSettings, SayCanSettings
    from housequest.agent.agents.spec import AgentParts


class Controlled(SearchingController):
    """Skills that a controller carries out by text commands, from what the text said."""

    def __init__(self, parts: AgentParts[LotaSettings] | AgentParts[SayCanSettings]) -> None:
        search, seed = parts.settings.search, parts.seed
        super().__init__(parts.household, parts.model, parts.sampling, search=search, seed=seed, near=True)
        self._set = fixed_skills(parts.household)
        self._by_text = {skill.text: skill for skill in self._set.skills}

    def skills(self, state: ControllerState) -> tuple[str, ...]:
        del state
        return tuple(self._by_text)

    def take_up(self, state: ControllerState, skill: str) -> ControllerState:
        """Start the skill that is written so."""
        return self.start(state, self._by_text[skill])

    def possible(self, state: ControllerState, admissible: Sequence[str]) -> frozenset[str]:
        """The skills that can be begun where these commands are possible."""
        return frozenset(skill.text for skill in self._set.possible(state.belief, admissible))

    def places(self, state: ControllerState) -> frozenset[str]:
        """The kinds of receptacle that are known."""
        return frozenset(state.belief.kinds)

    def demonstrated(self, example: Example) -> tuple[str, ...]:
        """The skills that win an example, as this world has them."""
        return tuple(listed_skill(skill).text for skill in example_skills(example))


def listed_skill(skill: Skill) -> Skill:
    """``skill`` as the set has it: ``find`` in place of going, and ``put`` without a place."""
    match skill.verb:
        case "go":
            return Skill("find", skill.receptacle or skill.object)
        case "open" | "close":
            return skill
        case verb:
            return Skill(verb, skill.object)


@dataclass(frozen=True, slots=True)
class Given:
    """A skill that the world carries out: one of its ``skills``, how often it was given, and why it failed."""

    skills: tuple[str, ...]
    skill: str | None = None
    given: int = 0
    failure: str | None = None


class ByWorld:
    """Skills that are the world's own commands, as `Controlled` has others."""

    def __init__(self, world: World) -> None:
        self._world = world

    def skills(self, state: Given) -> tuple[str, ...]:
        return state.skills

    def begin(self, observation: Observation, goal: str) -> Given:
        del goal
        return Given(self._world.skills_at(observation.text))

    def observe(self, state: Given, transitions: Sequence[Transition], hints: Sequence[str]) -> Given:
        del hints
        answered = next((one.observation for one in reversed(transitions) if one.command == state.skill), None)
        if answered is None or not state.given:
            return state
        return replace(state, failure=None if answered.accepted else answered.text.rstrip("."))

    def take_up(self, state: Given, skill: str) -> Given:
        return Given(state.skills, skill)

    async def proceed(self, state: Given, goal: str, emit: Emitter, rules: Sequence[Rule]) -> tuple[Outcome, Given]:
        del goal, emit, rules
        if state.skill is not None and not state.given:
            return Execute(state.skill), replace(state, given=1)
        # Whether it was carried out is known from the answer, so what comes next is another skill.
        return (Done("done") if state.failure is None else Failed(state.failure)), Given(state.skills)

    def possible(self, state: Given, admissible: Sequence[str]) -> frozenset[str]:
        del state
        return frozenset(admissible)

    def places(self, state: Given) -> frozenset[str]:
        del state
        return frozenset()

    def demonstrated(self, example: Example) -> tuple[str, ...]:
        """Examples of this world are its skills; those of text games are put in their words."""
        commands = tuple(one.command for one in example.trajectory.transitions)
        if set(commands) <= set(self._world.skills_at(example.trajectory.opening.text)):
            return commands
        skills = (str(skill) for subgoal in example.subgoals() for skill in _named(subgoal))
        return tuple(skill for skill, _ in groupby(skills))


_NAMES: dict[str, SkillVerb] = {
    **{"open": "open", "close": "close", "slice": "slice", "go": "find", "find": "find"},
    **{"pick": "pick up", "put": "put down", "use": "turn on"},
}


def _named(subgoal: GoalStep) -> Sequence[NamedSkill]:
    if subgoal.action in ("heat", "cool", "clean"):
        return treating(subgoal.action, subgoal.object or subgoal.place or "")
    of_place = subgoal.action in ("open", "close", "go")
    first, other = (subgoal.place, subgoal.object) if of_place else (subgoal.object, subgoal.place)
    return [NamedSkill(_NAMES[subgoal.action], first or other or "")]
