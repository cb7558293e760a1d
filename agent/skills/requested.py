"""The memory that a request changes, and what it names: things, places and goals."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from housequest.agent.skills.errands import nearest
from housequest.agent.skills.language import grounding
from housequest.agent.skills.language.requests import REST
from housequest.agent.skills.language.sentences import Surroundings
from housequest.agent.skills.partnership import Partnership, settled
from housequest.worlds.household.arrangement import Arrangement, Mode
from housequest.worlds.household.belief import Belief, kind
from housequest.worlds.household.goals import ADJECTIVES, Goal
from housequest.worlds.text import plural_of


@dataclass(slots=True)
class Requested:
    """The words of one player (``who``), and the memory that they change.

    ``doing`` tells in a sentence what is done now under an arrangement, and ``divides`` is true for a player that keeps to one.
    """

    partnership: Partnership
    scene: Surroundings
    who: str
    others: tuple[str, ...]
    doing: Callable[[Arrangement], str]
    divides: bool = True
    goals: tuple[Goal, ...] = ()
    started: int = 0
    rounds: int = 0
    besides: tuple[str, ...] = ()  # the things that the current request, which asks for several, already has

    def __post_init__(self) -> None:
        self.goals = self.scene.household.read_goals(self.scene.goal, self.belief.kinds)

    @property
    def belief(self) -> Belief:
        return self.scene.belief

    @property
    def arrangement(self) -> Arrangement:
        return self.partnership.arrangement

    def _arrange(self, **changed: object) -> None:
        self.partnership = replace(self.partnership, arrangement=replace(self.arrangement, **changed))

    def _turn_to(self, mode: Mode, rounds: int | None = None) -> str:
        """Work, stay for some rounds, or follow who asks; name whom it followed before."""
        whom, whom_now = self.arrangement.whom, self.who if mode == "follow" else ""
        self._arrange(mode=mode, whom=whom_now, rounds=rounds)
        return f" I no longer follow {whom}." if whom and whom != whom_now else ""

    def _meant(self, said: str) -> str:
        """The name of the thing, or its kind if none was seen yet; "" if "it" means nothing."""
        if said != "it":
            item = nearest(said, self.belief, self.arrangement.kept, self.besides)
            return said if item is None else item.name
        if self.belief.carried:
            return self.belief.carried[0]
        return self.partnership.origins[-1][0] if self.partnership.origins else ""

    def _called(self, name: str) -> str:
        return name if name != kind(name) else f"the {name}"

    def _place(self, said: str) -> tuple[str, str]:
        """The place, or the reason why there is none."""
        if (missing := self._missing((said,))) is not None:
            return "", missing
        if said in self.belief.places:
            return said, ""
        alike = [one for one in self.belief.receptacles if one.kind == said]
        return min(alike, key=lambda one: (not self.belief.is_here(one.name), one.number)).name, ""

    def _missing(self, places: Sequence[str]) -> str | None:
        for said in places:
            if kind(said) not in self.belief.kinds:
                return f"There is no {kind(said)} here."
            if said != kind(said) and said not in self.belief.places:
                return grounding.no_such_place(said, self.belief)
        return None

    def _at(self, who: str) -> str | None:
        at = next((one.at for one in self.belief.others if one.name == who), None)
        return at if at in self.belief.places else None

    def _holding(self) -> str:
        return f" I still hold {listed(self.belief.carried)}." if self.belief.carried else ""

    def _doing_now(self) -> str:
        arrangement = self.arrangement
        if arrangement.errands:
            return arrangement.errands[0].said
        if arrangement.mode == "stay":
            return "I wait, until you say go on."
        if arrangement.mode == "follow":
            return f"I follow {arrangement.whom}."
        return self.doing(arrangement)

    def _about(self, thing: str) -> frozenset[int]:
        if thing == REST:
            return frozenset(range(1, len(self.goals) + 1)) - self.arrangement.mine - self.arrangement.left_out
        name = kind(self.belief.held or "") if thing == "it" else kind(thing)
        return frozenset(number for number, goal in enumerate(self.goals, start=1) if goal.object == name)

    def _goals_about(self, thing: str) -> tuple[frozenset[int], str]:
        """The goals about a thing, and their names."""
        numbers = self._about(thing)
        name = kind(self.belief.held or "thing") if thing == "it" else kind(thing)
        return numbers, f"the {name}{', for all its chores' if len(numbers) > 1 and thing != REST else ''}"

    def _places(self, places: Sequence[str]) -> str:
        """Places in a sentence; by their kind if these are all of it."""
        kinds = list(dict.fromkeys(map(kind, places)))
        whole = {one.name for one in self.belief.receptacles if one.kind in kinds} == set(places)
        return listed([_the(one, self.belief) for one in (kinds if whole else places)])

    def _chore(self, number: int) -> str:
        goal = self.goals[number - 1]
        treated = f"{ADJECTIVES[goal.treatment]} " if goal.treatment else ""
        return f"{treated}{goal.object} in {goal.receptacle}"

    def _missing_of(self, number: int) -> int:
        """The things that a goal still needs, as far as the player knows."""
        known = number in self.arrangement.done | self.partnership.finished
        return 0 if known else max(0, self.goals[number - 1].count - len(settled(self.goals[number - 1], self.belief)))


def _the(named: str, belief: Belief) -> str:
    """A thing or place in a sentence: "the cabinets", "the fridge", "drawer 2"."""
    if named != kind(named):
        return named
    alike = sum(one.kind == named for one in belief.receptacles)
    return f"the {plural_of(named) if alike > 1 else named}"


def listed(parts: Sequence[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}" if parts else "nothing"
