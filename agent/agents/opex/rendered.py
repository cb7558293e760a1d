"""OPEx by a camera: the body that its skills move is ALFRED's robot, which sees frames (Shi et al., section 3).

Perception, the semantic maps and the deterministic action policy are `agent.seeing`. Prompts are told the kinds that perception
has reported, what is in the hand, and how actions went: no name, no id and no coordinate. With ``planner=oracle``, the
annotated plan is carried out without any model, which measures the policy alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import TYPE_CHECKING

from agent.agents.opex.body import Told
from agent.agents.spec import AgentParts
from agent.base import Act, Decision, Emitter, GiveUp, Grants, Turn
from agent.episodes import events
from agent.impression import Impression
from agent.roles.messages import emit_thought
from agent.seeing.impression import impression_of
from agent.seeing.narrate import found_kinds, held_kind, places_found, room_kind, seen_kinds
from agent.seeing.oracle import skills_of, sliced
from agent.seeing.perception import kind_in
from agent.seeing.policy import ActionPolicy
from agent.seeing.registry import make_perception
from agent.seeing.state import Heuristics, LowLevelAction, SeeingState
from agent.skills.controller import Done, Execute, Failed, Outcome
from agent.skills.naming import resolve
from agent.skills.skill import Skill
from knowledge.rules import Rule
from worlds.base import Observation, Transition
from worlds.errors import ConfigurationError, Unsupported
from worlds.household.simulator import touched
from worlds.registry import DEFAULT_WORLD, household
from worlds.rooms.frame import Frame

if TYPE_CHECKING:
    from agent.agents.opex import OpexSettings

SIZE = (150, 150)
"""Columns and rows of the frames: half of ALFRED's each way, at a quarter of the cost."""
_NO_PICTURES = "This world shows no pictures; play alfred, or OPEx without a camera in a household in text."
_NOTHING_HAPPENED = "Nothing happened yet."


@dataclass(frozen=True, slots=True, eq=False)
class RobotState:
    """The robot's state: what it knows by ``seen``, the ``skill`` in progress and the action that was ``given`` last.

    ``frame`` is the present one, kept only while the agent decides. ``log`` has what was done, each with its kind of thing and
    whether it was accepted; ``told`` counts the errors that were emitted.
    """

    skill: Skill | None = None
    seen: SeeingState | None = None
    frame: Frame | None = None
    given: LowLevelAction | None = None
    log: tuple[tuple[str, str, bool], ...] = ()
    told: int = 0


class RobotBody:
    """ALFRED's robot: skills become low-level actions by what it sees."""

    def __init__(self, parts: AgentParts[OpexSettings]) -> None:
        settings, world = parts.settings, household(DEFAULT_WORLD)
        assert world is not None
        self._counts = world.counts()
        self._receptacles = frozenset(kind for room in self._counts.rooms.values() for kind in room.receptacles)
        things = frozenset(self._counts.objects())
        self._kinds = things | self._receptacles | {sliced(kind) for kind in things} | {"faucet"}
        heuristics = Heuristics(
            votes=settings.votes,
            traversable=settings.traversable,
            corners=settings.corners,
            replay=settings.replay,
            around=settings.look_around,
            adjust=settings.adjust,
            peek=settings.peek,
        )
        self._heuristics = heuristics
        perception = make_perception(settings.seeing, pictures=parts.world.engine)
        self.picture_size = SIZE
        self._policy = ActionPolicy(perception, heuristics, self._chance, seed=parts.seed)

    def _chance(self, thing: str, receptacle: str) -> float:
        """How likely a receptacle of this kind holds the thing, in the rooms that have such receptacles."""
        rooms = [name for name, room in self._counts.rooms.items() if receptacle in room.receptacles]
        return max((self._counts.chance(thing, receptacle, room) for room in rooms), default=0.0)

    def begin(self, goal: str, observation: Observation) -> RobotState:
        del goal, observation
        return RobotState()

    def observe(self, state: RobotState, turn: Turn) -> RobotState:
        frame, pose = turn.frame, turn.pose
        if frame is None or pose is None:
            raise Unsupported(_NO_PICTURES)
        if state.seen is None:
            return replace(state, seen=self._policy.begin(frame, pose), frame=frame)
        seen, log = state.seen, state.log
        for transition in turn.transitions:
            name, _, thing = transition.command.partition(" ")
            action = state.given if state.given is not None and state.given.name == name else LowLevelAction(name)
            seen = self._policy.carried_out(seen, action, accepted=transition.observation.accepted)
            kind = action.spot.kind if action.spot is not None else kind_in(thing)
            log = (*log, (name, kind, transition.observation.accepted))
        if turn.transitions:
            seen = self._policy.see(seen, frame, pose)
        return replace(state, seen=seen, frame=frame, given=None, log=log)

    def start(self, state: RobotState, skill: Skill) -> RobotState:
        assert state.seen is not None
        skill = Skill(skill.verb, self._kind(skill.object), self._kind(skill.receptacle))
        return replace(state, skill=skill, seen=self._policy.start(state.seen, skill))

    def _kind(self, said: str | None) -> str | None:
        """The kind that a model's word means: a slice stays one."""
        if said is None:
            return None
        plain = "".join(said.lower().split()).rstrip("0123456789")
        return plain if plain in self._kinds else resolve(said, self._kinds) or plain

    async def proceed(
        self, state: RobotState, goal: str, emit: Emitter, rules: Sequence[Rule] = ()
    ) -> tuple[Outcome, RobotState]:
        del goal, rules
        frame = state.frame
        assert state.seen is not None and frame is not None
        outcome, seen = self._policy.next(state.seen)
        # What a skill failed for is the last that went wrong.
        modes: list[str] = [*seen.errors[state.told :]]
        if modes and isinstance(outcome, Failed):
            modes[-1] = f"{modes[-1]}: {outcome.reason}"
        for mode in modes:
            emit_thought(events.POLICY, mode, emit)
        state = replace(state, seen=seen, told=len(seen.errors))
        if not isinstance(outcome, LowLevelAction):
            return outcome, replace(state, skill=None)
        if outcome.mask is None:
            return Execute(outcome.name), replace(state, given=outcome, frame=None)
        # The mask is the robot's; whose pixels it has most of is the simulator's to say, as in ALFRED.
        name = touched(frame, outcome.mask)
        if name is None:
            reason = "there is nothing where it reached"
            emit_thought(events.POLICY, f"interaction failed: {reason}", emit)
            return Failed(reason), replace(state, skill=None)
        return Execute(f"{outcome.name} {name}"), replace(state, given=replace(outcome, mask=None), frame=None)

    def impression(self, state: RobotState) -> Impression | None:
        """What people who watch are shown of ``state``; None before the first picture."""
        spot = None if state.given is None else state.given.spot
        return None if state.seen is None else impression_of(state.seen, voted=self._heuristics.votes, spot=spot)

    def told(self, state: RobotState) -> Told:
        seen = state.seen
        assert seen is not None
        return Told(
            found=found_kinds(seen),
            here=seen_kinds(seen),
            held=held_kind(seen),
            places=places_found(seen, self._receptacles),
            room=room_kind(seen, self._counts),
            kinds=tuple(kind for kind in seen.map.found if kind in self._receptacles),
        )

    def story(self, state: RobotState, transitions: Sequence[Transition]) -> str:
        recent = state.log[len(state.log) - min(len(state.log), len(transitions)) :]
        lines = [_line(done, len(list(same))) for done, same in groupby(recent)]
        return "\n".join(lines) or _NOTHING_HAPPENED


def _line(done: tuple[str, str, bool], times: int) -> str:
    name, kind, accepted = done
    often = f" {times} times" if times > 1 else ""
    return f"{name}{f' on the {kind}' if kind else ''}{often}: {'done' if accepted else 'failed'}"


@dataclass(frozen=True, slots=True, eq=False)
class OracleMemory:
    """The annotated plan as skills, and the number of the one in progress."""

    skills: tuple[Skill, ...]
    state: RobotState
    step: int = -1
    again: bool = False


class OraclePlayer:
    """OPEx's action policy with the annotated plan in place of planner, observer and executor. Calls no model.

    A skill that fails is tried once more; if it fails again, the player gives up.
    """

    name = "opex"

    def __init__(self, parts: AgentParts[OpexSettings]) -> None:
        self._body = RobotBody(parts)
        self.picture_size = self._body.picture_size

    def begin(self, goal: str, observation: Observation, grants: Grants) -> OracleMemory:
        if grants.plan is None:
            raise ConfigurationError("planner=oracle carries out the annotated plan, which is hidden; give --grant plan.")
        return OracleMemory(skills_of(grants.plan), self._body.begin(goal, observation))

    def doing(self, memory: OracleMemory) -> str:
        return memory.state.skill.text if memory.state.skill is not None else ""

    def impression(self, memory: OracleMemory) -> Impression | None:
        return self._body.impression(memory.state)

    async def decide(self, memory: OracleMemory, turn: Turn, emit: Emitter) -> tuple[Decision, OracleMemory]:
        memory = replace(memory, state=self._body.observe(memory.state, turn))
        if memory.step < 0:
            steps = tuple(skill.text for skill in memory.skills)
            emit(events.Planned(role="oracle", steps=steps, revision=0, reason="people annotated it"))
            memory = self._started(memory, 0, emit)
        while memory.step < len(memory.skills):
            outcome, state = await self._body.proceed(memory.state, "", emit)
            memory = replace(memory, state=state)
            match outcome:
                case Execute(command=command):
                    return Act(command), memory
                case Done():
                    memory = self._started(memory, memory.step + 1, emit)
                case Failed(reason=reason) if memory.again:
                    return GiveUp(f"{memory.skills[memory.step].text}: {reason}"), memory
                case Failed():
                    skill = memory.skills[memory.step]
                    memory = replace(memory, again=True, state=self._body.start(memory.state, skill))
        return GiveUp("the annotated plan is carried out, and the task is not done"), memory

    def _started(self, memory: OracleMemory, step: int, emit: Emitter) -> OracleMemory:
        """``memory`` at the skill ``step``."""
        if step >= len(memory.skills):
            return replace(memory, step=step)
        if step:
            emit(events.Progressed(role="oracle", step=step))
        return replace(memory, step=step, again=False, state=self._body.start(memory.state, memory.skills[step]))
