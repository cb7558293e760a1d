"""A household in text: skills become commands by belief."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

from housequest.agent.agents.bodies.base import Told
from housequest.agent.agents.spec import AgentParts
from housequest.agent.base import Emitter, Turn
from housequest.agent.roles.household import found_items, held_text, here_text
from housequest.agent.roles.messages import transcript
from housequest.agent.skills.controller import ControllerState, Outcome, PlannerSearch
from housequest.agent.skills.naming import resolve
from housequest.agent.skills.searcher import SearchingController
from housequest.agent.skills.skill import Skill
from housequest.knowledge.rules import Rule
from housequest.worlds.base import Observation, Transition
from housequest.worlds.household.belief import Belief, kind


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
        return Told(
            found_items(belief),
            here_text(belief),
            held_text(belief),
            room,
            places,
            _seen_kinds(belief),
            kind(belief.held or ""),
        )

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
