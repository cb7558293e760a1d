"""Bodies: what planners of skills move, one command at a time, and what they know by then.

OPEx, LLM-Planner and the Socratic Planner plan alike for a household in text and for the body with a camera of the group
``housequest.bodies``.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from housequest.agent.agents.spec import AgentParts, CameraSettings
from housequest.agent.base import Emitter, Impression, Memory, Turn
from housequest.agent.roles.messages import found_items, held_text, here_text, transcript
from housequest.agent.skills.controller import SearchingController
from housequest.agent.skills.naming import resolve
from housequest.agent.skills.skill import ControllerState, Outcome, PlannerSearch, Skill
from housequest.knowledge.rules import Rule
from housequest.worlds.base import Observation, Transition
from housequest.worlds.household.belief import Belief, kind
from housequest.worlds.registry import load_plugin


@dataclass(frozen=True, slots=True)
class Told:
    """What is known, in words for prompts, and the kinds of receptacle, of all things ``seen`` in order, and what is held."""

    found: str
    here: str
    held: str
    room: str
    places: tuple[str, ...]
    seen: tuple[str, ...]
    holding: str


class Body(Protocol):
    """Carries skills out, one command at a time. Its states are immutable, and have the ``skill`` in progress or None.

    It looks at pictures of ``picture_size`` (columns, rows), None for text alone; ``impression`` is what it made of the last
    one. ``observe`` gives the state after what was executed since the last turn, whoever chose it; what takes long runs in a
    thread. ``start`` puts a skill in place of the one in progress. ``proceed`` gives its next command, or how it ended; it
    raises ``ModelError``. ``story`` (what was executed) and ``caption`` (what is seen now, beside the latest observation's
    text) are words for prompts. ``unsearched`` are the kinds of place left to look into, where the skill looks for something.
    States that are equal in what is ``known``, wherever one stands, have learnt nothing from each other.
    """

    @property
    def picture_size(self) -> tuple[int, int] | None: ...
    def begin(self, goal: str, observation: Observation) -> Any: ...
    async def observe(self, state: Any, turn: Turn) -> Any: ...
    def start(self, state: Any, skill: Skill) -> Any: ...
    async def proceed(self, state: Any, goal: str, emit: Emitter, rules: Sequence[Rule]) -> tuple[Outcome, Any]: ...
    def told(self, state: Any) -> Told: ...
    def impression(self, state: Any) -> Impression | None: ...
    def story(self, state: Any, transitions: Sequence[Transition]) -> str: ...
    def caption(self, state: Any, text: str) -> str: ...
    def was_seen(self, state: Any, said: str) -> bool: ...
    def unsearched(self, state: Any) -> tuple[str, ...]: ...
    def known(self, state: Any) -> Hashable: ...


class BodyPlayer:
    """What agents that move a body share: their memories have its ``state``."""

    _body: Body
    picture_size: tuple[int, int] | None

    async def attend(self, memory: Memory, turn: Turn) -> Memory:
        return replace(memory, state=await self._body.observe(memory.state, turn))

    def doing(self, memory: Memory) -> str:
        skill: Skill | None = memory.state.skill
        return skill.text if skill is not None else ""

    def impression(self, memory: Memory) -> Impression | None:
        return self._body.impression(memory.state)


class TextBody:
    """A household in text. Its states are `ControllerState`."""

    def __init__(self, parts: AgentParts[Any], search: PlannerSearch) -> None:
        self._controller = SearchingController(parts.household, parts.model, parts.sampling, search=search, seed=parts.seed)
        self._counts = parts.household.counts()
        self.picture_size = None

    def begin(self, goal: str, observation: Observation) -> ControllerState:
        return self._controller.begin(observation, goal)

    async def observe(self, state: ControllerState, turn: Turn) -> ControllerState:
        return self._controller.observe(state, turn.transitions, turn.hints)

    def start(self, state: ControllerState, skill: Skill) -> ControllerState:
        return self._controller.start(state, skill)

    async def proceed(
        self, state: ControllerState, goal: str, emit: Emitter, rules: Sequence[Rule]
    ) -> tuple[Outcome, ControllerState]:
        return await self._controller.proceed(state, goal, emit, rules)

    def impression(self, state: ControllerState) -> None:
        del state

    def told(self, state: ControllerState) -> Told:
        belief = state.belief
        places = belief.kinds
        # The kind of room, which OPEx's observer is told, is guessed from what stands in it.
        room = self._counts.room_of(set(places)).replace("livingroom", "living room")
        found, here, held = found_items(belief), here_text(belief), held_text(belief)
        return Told(found, here, held, room, places, _seen_kinds(belief), kind(belief.held or ""))

    def story(self, state: ControllerState, transitions: Sequence[Transition]) -> str:
        del state
        return transcript(transitions)

    def caption(self, state: ControllerState, text: str) -> str:
        belief = state.belief
        where = f"at the {belief.at}" if belief.at else "in the middle of the room"
        there = f" There: {here_text(belief)}." if belief.at else ""
        return f"{text} The robot is {where}, holding {held_text(belief)}.{there}"

    def was_seen(self, state: ControllerState, said: str) -> bool:
        belief = state.belief
        names = [one.name for one in (*belief.receptacles, *belief.items)]
        return resolve(said, _seen_kinds(belief), names) is not None

    def unsearched(self, state: ControllerState) -> tuple[str, ...]:
        if state.skill is None or state.skill.verb != "find":
            return ()
        return tuple(dict.fromkeys(one.kind for one in state.belief.unsearched))

    def known(self, state: ControllerState) -> Hashable:
        return state.belief.elsewhere


def _seen_kinds(belief: Belief) -> tuple[str, ...]:
    return tuple(dict.fromkeys(kind(one.name) for one in (*belief.receptacles, *belief.items)))


def make_body(parts: AgentParts[CameraSettings], search: PlannerSearch) -> Body:
    """What an agent's skills move in its world, searching by ``search`` in text. Raises ``ConfigurationError``."""
    if parts.world.pictured:
        return load_plugin("housequest.bodies", "camera", "body")(parts)
    return TextBody(parts, search)
