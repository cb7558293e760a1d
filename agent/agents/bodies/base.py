"""The contract of a body: it carries out skills, one command at a time, and says what is known by then."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from housequest.agent.base import Emitter, Memory, Turn
from housequest.agent.impression import Impression
from housequest.agent.skills.controller import Outcome
from housequest.agent.skills.skill import Skill
from housequest.knowledge.rules import Rule
from housequest.worlds.base import Observation, Transition


@dataclass(frozen=True, slots=True)
class Told:
    """What is known, in words for prompts.

    ``places`` are the kinds of receptacle, ``seen`` those of all things in the order in which they were seen, and ``holding``
    is that of what is in the hand ("" for nothing).
    """

    found: str
    here: str
    held: str
    room: str
    places: tuple[str, ...]
    seen: tuple[str, ...]
    holding: str


class Body(Protocol):
    """Carries skills out, one command at a time. Its states are immutable, and have the ``skill`` in progress or None."""

    @property
    def picture_size(self) -> tuple[int, int] | None:
        """Columns and rows of the pictures that it looks at; None for text alone."""
        ...

    def begin(self, goal: str, observation: Observation) -> Any:
        """The state before any skill."""
        ...

    async def observe(self, state: Any, turn: Turn) -> Any:
        """The state after what was executed since the last turn, whoever chose it. What takes long runs in a thread."""
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

    def caption(self, state: Any, text: str) -> str:
        """What is seen now, in words for prompts; ``text`` is the latest observation's."""
        ...

    def was_seen(self, state: Any, said: str) -> bool:
        """Whether something that ``said`` can refer to was seen."""
        ...

    def unsearched(self, state: Any) -> tuple[str, ...]:
        """The kinds of place that are left to look into, where the skill in progress looks for something."""
        ...

    def known(self, state: Any) -> Hashable:
        """What is known, wherever one stands: states that are equal in it have learnt nothing from each other."""
        ...


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
