"""What an episode's player is told of the world's rules, and when: the choice of a rulebook, as the episode goes on."""

from __future__ import annotations

from knowledge.choosing import RuleBudget, concern
from knowledge.rules import Rule
from worlds.base import Observation
from worlds.household.belief import Belief
from worlds.registry import belief_reader


class RuleSelector:
    """Chooses rules for one episode by what its player was told: of the task ``goal`` alone, and the type where ``granted``.

    ``opening`` is what is believed at the start, None in a world whose texts nothing reads. The belief of each turn is handed
    in and out, so that a rewound episode chooses as it did.
    """

    def __init__(self, choice: RuleBudget, world: str, goal: str, granted: str | None, opening: Observation) -> None:
        self._reader = belief_reader(world)
        self.opening = self._reader.begin(opening) if self._reader else None
        self._advice = choice.about(concern(goal, granted, self.opening))

    def update(self, belief: Belief | None, command: str, observation: Observation) -> Belief | None:
        """What is believed after ``command`` was answered."""
        return self._reader.update(belief, command, observation) if self._reader and belief is not None else None

    def rules(self, belief: Belief | None, told: tuple[str, ...]) -> tuple[Rule, ...]:
        """The rules to tell now, besides the statements ``told`` before."""
        return self._advice.next(belief, told)
