"""What an episode's player is told of the world's rules, and when: the choice of a rulebook, as the episode goes on."""

from __future__ import annotations

from knowledge.choosing import Choice, Concern, concern
from knowledge.rules import Rule
from worlds.alfworld.belief import Belief
from worlds.base import Observation
from worlds.registry import belief_reader


class Counsel:
    """Chooses rules for one episode from what its player was told; it knows no more of the task than ``goal`` and the type,
    where that is ``granted``.

    The belief is handed in and out, so that a rewound episode chooses as it did.
    """

    def __init__(self, choice: Choice, world: str, goal: str, granted: str | None) -> None:
        self._choice = choice
        self._reader = belief_reader(world)
        self._goal = goal
        self._granted = granted
        self._concern = Concern()

    def begin(self, opening: Observation) -> Belief | None:
        """What is believed at the start; None in a world whose texts nothing reads."""
        belief = self._reader.begin(opening) if self._reader else None
        self._concern = concern(self._goal, self._granted, belief)
        return belief

    def update(self, belief: Belief | None, command: str, observation: Observation) -> Belief | None:
        """What is believed after ``command`` was answered."""
        return self._reader.update(belief, command, observation) if self._reader and belief is not None else None

    def rules(self, belief: Belief | None, told: tuple[str, ...]) -> tuple[Rule, ...]:
        """The rules to tell now, besides the statements ``told`` before."""
        return self._choice.next(self._concern, belief, told)
