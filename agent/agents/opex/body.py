"""What OPEx's skills move, and what is told of it: the same planner, observer and executor play in text and by a camera."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from agent.agents.spec import AgentParts
from agent.base import Emitter, Turn
from agent.impression import Impression
from agent.roles.household import found_items, held_text, here_text, place_kinds
from agent.roles.messages import transcript
from agent.skills.controller import ControllerState, Outcome, PlannerSearch
from agent.skills.searcher import SearchingController
from agent.skills.skill import Skill
from knowledge.rules import Rule
from worlds.base import Observation, Transition


@dataclass(frozen=True, slots=True)
class Told:
    """What is known, in words for prompts; ``kinds`` are the kinds of receptacle, by which examples are chosen."""

    found: str
    here: str
    held: str
    places: str
    room: str
    kinds: tuple[str, ...]


class Body(Protocol):
    """Carries skills out, one command at a time. Its states are immutable, and have the ``skill`` in progress or None."""

    @property
    def picture_size(self) -> tuple[int, int] | None:
        """Columns and rows of the pictures that it looks at; None for text alone."""
        ...

    def begin(self, goal: str, observation: Observation) -> Any:
        """The state before any skill."""
        ...

    def observe(self, state: Any, turn: Turn) -> Any:
        """The state after what was executed since the last turn, whoever chose it."""
        ...

    def start(self, state: Any, skill: Skill) -> Any:
        """Start ``skill`` in place of the one in progress."""
        ...

    async def proceed(self, state: Any, goal: str, emit: Emitter, rules: Sequence[Rule]) -> tuple[Outcome, Any]:
        """The next command of the skill in progress, or how it ended. Raises ``ModelError``."""
        ...

    def told(self, state: Any) -> Told:
        """What is known."""
        ...

    def impression(self, state: Any) -> Impression | None:
        """What it made of the last picture, for people who watch; None without pictures."""
        ...

    def story(self, state: Any, transitions: Sequence[Transition]) -> str:
        """What was executed, in words for prompts."""
        ...


class TextBody:
    """A household in text: skills become commands by belief."""

    def __init__(self, parts: AgentParts[Any], search: PlannerSearch) -> None:
        self._controller = SearchingController(parts.household, parts.model, parts.sampling, search=search, seed=parts.seed)
        self._counts = parts.household.counts()
        self.picture_size = None

    def begin(self, goal: str, observation: Observation) -> ControllerState:
        return self._controller.begin(observation, goal)

    def observe(self, state: ControllerState, turn: Turn) -> ControllerState:
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
        kinds = tuple(one.kind for one in belief.receptacles)
        # The kind of room, which the paper's observer is told, is guessed from what stands in it.
        room = self._counts.room_of(set(kinds)).replace("livingroom", "living room")
        return Told(found_items(belief), here_text(belief), held_text(belief), place_kinds(belief), room, kinds)

    def story(self, state: ControllerState, transitions: Sequence[Transition]) -> str:
        del state
        return transcript(transitions)
