"""The expert, which plays from goal sentence and belief alone. It searches in order of cost over chance, the best order for
opening independent boxes; costs are commands, chances come from the table of counts. As a baseline it searches in a random
order or by name instead."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from pathlib import Path

from housequest.worlds.alfworld.text import HOUSEHOLD, guess_goal, load_counts, read_goals
from housequest.worlds.base import Observation
from housequest.worlds.household.arrangement import Arrangement
from housequest.worlds.household.base import Expert, ExpertMemory, ExpertSettings, Move, belief_after
from housequest.worlds.household.belief import Belief, Item, Receptacle, by_name, kind
from housequest.worlds.household.company import (
    ALONE,
    CompanyMemory,
    Work,
    believed,
    claiming,
    hearing,
    observing,
    spoken_for,
)
from housequest.worlds.household.counts import Counts, Prior, SearchPrior, drawn
from housequest.worlds.household.goals import APPLIANCES, Goal
from housequest.worlds.household.talk import Claimed
from housequest.worlds.household.weighing import SearchPlace, Weighed, looking_costs, weigh
from housequest.worlds.shared import WAIT
from housequest.worlds.text import with_article

# In no game of train is an object already where it must be carried, so such places are searched last.
AT_ITS_GOAL = 0.001


@dataclass(frozen=True, slots=True, kw_only=True)
class HouseholdExpertMemory(ExpertMemory):
    """The memory, with the goal, read or guessed, the kind of room, and the places to search first and last. ``goals`` are all
    those that must hold at once, of which ``goal`` is the first; ``company`` is what it knows of other players."""

    goal: Goal | None
    guessed: bool
    room: str
    first: tuple[str, ...] = ()
    last: tuple[str, ...] = ()
    goals: tuple[Goal, ...] = ()
    company: CompanyMemory = ALONE

    @property
    def together(self) -> bool:
        """True if there is more to consider than one goal and one player."""
        return bool(self.goals) and (len(self.goals) > 1 or bool(self.company.others))


@dataclass(frozen=True, slots=True)
class HouseholdExpertSettings(ExpertSettings):
    """The settings, with the file of a ``table`` of counts to search by."""

    table: str | None = None


def make_expert(search: SearchPrior = "counts", table: str | None = None, seed: int = 0) -> HouseholdExpert:
    """An expert with the `HouseholdExpertSettings`. Raises ``KnowledgeError``."""
    return HouseholdExpert(load_counts(None if table is None else Path(table)), search, seed)


class HouseholdExpert(Expert[HouseholdExpertMemory]):
    """ALFWorld's expert. It takes the kinds of thing from ``counts``, and for the search by counts the prior too, unless it is
    given another ``prior``."""

    def __init__(self, counts: Counts, search: SearchPrior = "counts", seed: int = 0, prior: Prior | None = None) -> None:
        super().__init__(HOUSEHOLD, search, seed)
        self.counts = counts if search == "counts" else None
        self.prior = prior or counts
        self._objects = counts.objects()

    def searching_by(self, prior: Prior, /) -> HouseholdExpert:
        """The same expert with other chances, if it searches by chances at all."""
        other = copy(self)
        other.prior = prior
        return other if self.counts else self

    def begin(self, goal: str, observation: Observation) -> HouseholdExpertMemory:
        belief = belief_after(self.household, observation)
        kinds = sorted({one.kind for one in belief.receptacles})
        several = read_goals(goal)
        read = several[0] if several else None
        guess = None if read else guess_goal(goal, objects=self._objects, receptacles=kinds)
        room, salt = self.counts.room_of(kinds) if self.counts else "", self.salt(belief)
        goals = several or ((guess,) if guess else ())
        return HouseholdExpertMemory(
            belief=belief, salt=salt, goal=read or guess, guessed=guess is not None, room=room, goals=goals
        )

    def hear(
        self, memory: HouseholdExpertMemory, player: str, others: Sequence[str], news: Sequence[str]
    ) -> HouseholdExpertMemory:
        company = replace(memory.company, player=player, others=tuple(others), says=())
        company = hearing(company, memory.belief, memory.goals, news)
        return replace(memory, belief=self.household.hear(memory.belief, news), company=company)

    def says(self, memory: HouseholdExpertMemory) -> tuple[str, ...]:
        return memory.company.says

    def arranged(self, memory: HouseholdExpertMemory, arrangement: Arrangement) -> HouseholdExpertMemory:
        return replace(memory, company=replace(memory.company, arrangement=arrangement))

    def observe(self, memory: HouseholdExpertMemory, command: str, observation: Observation) -> HouseholdExpertMemory:
        after = super().observe(memory, command, observation)
        if not memory.together:
            return after
        refused, command = self.household.refused(observation), command.strip()
        company = observing(memory.company, command, memory.belief, after.belief, walk="go to ", refused=refused)
        if refused and command not in memory.company.doubted:
            after = replace(after, failed=memory.failed)  # somebody else may have been quicker: look first
        return replace(after, company=company)

    def has_failed(self, memory: HouseholdExpertMemory, command: str, belief: Belief) -> bool:
        # A refusal that changes the belief (the receptacle is here already) changes the next decision, so it is no failure.
        return command == memory.chosen and belief == memory.belief

    def moves(self, memory: HouseholdExpertMemory) -> Iterator[Move]:
        return _Decision(memory, self.counts, self.prior).moves()

    def last_resort(self, memory: HouseholdExpertMemory) -> Move:
        del memory
        return Move("look", "nothing is left to try; look")

    def decide(self, memory: HouseholdExpertMemory) -> tuple[str | None, str, HouseholdExpertMemory]:
        if memory.together:
            return self._with_others(memory)
        command, thought, after = super().decide(memory)
        first = memory.chosen is None and memory.guessed
        return command, f"the goal seems to be: {memory.goal}; {thought}" if first else thought, after

    def weighs(self, memory: HouseholdExpertMemory) -> Weighed | None:
        if memory.together or self.counts is None or memory.chosen is None:
            return None
        return _Decision(memory, self.counts, self.prior).weighed(memory.chosen)

    def _with_others(self, memory: HouseholdExpertMemory) -> tuple[str | None, str, HouseholdExpertMemory]:
        company = memory.company
        seen = [one.name for one in memory.belief.receptacles if one.contents is not None]
        decision = _Errands(replace(memory, belief=believed(company, memory.belief)), self.counts, self.prior)
        company, says = spoken_for(decision.work, company, seen if company.others else ())
        possible = (move for move in decision.moves() if move.command not in memory.failed)
        move = next(possible, None) or self.last_resort(memory)
        company = claiming(company, decision.claims, move, says, memory.belief.hands, decision.revisits)
        return move.command, move.thought, replace(memory, chosen=move.command, company=company)


class _Decision:
    def __init__(self, memory: HouseholdExpertMemory, counts: Counts | None, prior: Prior) -> None:
        self.memory = memory
        self.belief = memory.belief
        self.counts, self.prior = counts, prior
        self.here = {one.name for one in memory.belief.here()}
        self._openable: dict[str, float] = {}

    def moves(self) -> Iterator[Move]:
        goal, held = self.memory.goal, self.belief.item(self.belief.held)
        if goal is None:
            yield Move(None, "this goal is in words that the expert cannot read")
        elif self._met(goal):
            yield Move(None, f"as far as the expert can tell the goal is reached ({goal})")
        elif held is None:
            yield from self._fetch(goal)
            yield from self._search(goal, self._sought(goal, held))
        elif held.kind == goal.object:
            yield from self._light(goal, held, goal.lamp) if goal.lamp else self._deliver(goal, held)
        else:
            yield from self._put_down(held)

    def _met(self, goal: Goal) -> bool:
        """True if the goal is believed reached; if the game goes on, the goal was misread."""
        if goal.lamp:
            held = self.belief.item(self.belief.held)
            lit = [item.name for item in self.belief.items if item.kind == goal.lamp and item.lit]
            shining = any(self.belief.is_here(holder.name) for name in lit for holder in self.belief.holders(name))
            return held is not None and held.kind == goal.object and shining
        return any(len(self._settled(goal, one)) >= goal.count for one in self.belief.receptacles)

    # With the object in hand.

    def _deliver(self, goal: Goal, held: Item) -> Iterator[Move]:
        if goal.treatment and not held.treated(goal.treatment):
            for one in self._all_of(APPLIANCES[goal.treatment]):
                yield from self._at(one, f"{goal.treatment} {held.name} with {one.name}", f"{goal.treatment} the {held.name}")
            return
        # Two objects must be in the same receptacle, so the second goes where the first is.
        for one in sorted(self._all_of(goal.receptacle or ""), key=lambda one: -len(self._settled(goal, one))):
            yield from self._at(one, f"move {held.name} to {one.name}", f"put the {held.name} in the {one.name}", inside=True)

    def _put_down(self, held: Item, wanted: Collection[str | None] = ()) -> Iterator[Move]:
        """Put down what is not needed, where such things are known to go before other places; not where they are ``wanted``."""
        counts = self.counts or HOUSEHOLD.counts()
        places = self._nearest(one for one in self.belief.receptacles if one.kind not in wanted)
        for one in sorted(places, key=lambda one: not counts.takes(one.name, held.name)):
            thought = f"the {held.name} is not needed; put it down"
            yield from self._at(one, f"move {held.name} to {one.name}", thought, inside=True)

    def _light(self, goal: Goal, held: Item, lamp: str) -> Iterator[Move]:
        holders = {holder.name: item for item in self._found(lamp) for holder in self.belief.holders(item.name)}
        for one in self._nearest(one for one in self.belief.receptacles if one.name in holders):
            item = holders[one.name]
            yield from self._at(one, f"use {item.name}", f"see the {held.name} by the light of the {item.name}")
        yield from self._search(goal, [lamp])

    # With empty hands.

    def _fetch(self, goal: Goal) -> Iterator[Move]:
        """Take an object of the wanted kind, the nearest first; the first of two stays where it was put."""
        targets = (self._settled(goal, one) for one in self.belief.receptacles) if goal.count > 1 else ()
        settled = max(targets, key=len, default=())
        found = {
            one.name: wanted
            for one in self.belief.receptacles
            if (wanted := [name for name in self.belief.inside(one) if kind(name) == goal.object and name not in settled])
        }
        for one in self._nearest(one for one in self.belief.receptacles if one.name in found):
            for name in sorted(found[one.name], key=lambda name: not self._is_ready(goal, name)):
                yield from self._at(one, f"take {name} from {one.name}", f"take the {name} from the {one.name}", inside=True)

    def _sought(self, goal: Goal, held: Item | None) -> list[str]:
        """The kinds of thing that it now searches for."""
        lamp = [goal.lamp] if goal.lamp and not self._found(goal.lamp) else []
        return [goal.object, *lamp] if held is None else lamp if held.kind == goal.object else []

    def weighed(self, command: str) -> Weighed | None:
        """The odds of the search that chose ``command``; None if no search did."""
        goal, held = self.memory.goal, self.belief.item(self.belief.held)
        if goal is None or not (wanted := self._sought(goal, held)):
            return None
        ordered = [
            SearchPlace(one, self._chance(one, goal, wanted), self._looking_costs(one))
            for one in self._search_order(goal, wanted)
            if {f"go to {one.name}", f"open {one.name}", f"examine {one.name}"}.isdisjoint(self.memory.failed)
        ]
        return weigh(wanted, ordered, command, self.belief)

    def _search_order(self, goal: Goal, wanted: list[str]) -> list[Receptacle]:
        return sorted(self.belief.unsearched, key=lambda one: (self._rank(one), self._delay(one, goal, wanted)))

    def _search(self, goal: Goal, wanted: list[str]) -> Iterator[Move]:
        sought = " or ".join(with_article(name) for name in wanted)
        for one in self._search_order(goal, wanted):
            if one.name in self.here:
                verb = "open" if self._shut(one) else "examine"
                yield Move(f"{verb} {one.name}", f"see whether {sought} is in the {one.name}")
            elif self.counts:
                yield Move(f"go to {one.name}", f"{sought} is likeliest found at the {one.name}; look there")
            else:
                by = "by chance" if self.memory.salt else "by name"
                yield Move(f"go to {one.name}", f"the {one.name} is next {by}; look there for {sought}")
        yield Move("look", f"every place was searched and there is no {' or '.join(wanted)} to take; look again")

    def _rank(self, one: Receptacle) -> int:
        first, names = self.memory.first, {one.name, one.kind}
        if not names.isdisjoint(self.memory.last) or self.belief.is_occupied(one.name):
            return len(first) + 1
        return next((rank for rank, name in enumerate(first) if name in names), len(first))

    def _delay(self, one: Receptacle, goal: Goal, wanted: list[str]) -> tuple[float, str, int]:
        """The search order: cost over chance, plus the walk that remains if it is found there."""
        if self.counts is None:
            return self._by_chance_or_name(one)
        ahead = 0.0 if goal.treatment and one.kind == APPLIANCES[goal.treatment] else 1.0
        return (self._looking_costs(one) / self._chance(one, goal, wanted) + ahead, *by_name(one.name))

    def _chance(self, one: Receptacle, goal: Goal, wanted: list[str]) -> float:
        chance = sum(self.prior.chance(name, one.name, self.memory.room) for name in wanted)
        return chance * AT_ITS_GOAL if one.kind == goal.receptacle and not goal.treatment else chance

    def _looking_costs(self, one: Receptacle) -> float:
        return looking_costs(self.belief, one, self._shut_chance(one))

    def _by_chance_or_name(self, one: Receptacle) -> tuple[float, str, int]:
        name, number = (drawn(self.memory.salt, one.name), 0) if self.memory.salt else by_name(one.name)
        return (self._looking_costs(one) if one.name in self.here else 2.0, name, number)

    # Facts about the house, and movement.

    def _found(self, lamp: str) -> list[Item]:
        return [item for item in self.belief.items if item.kind == lamp and self.belief.holders(item.name)]

    def _all_of(self, wanted: str) -> list[Receptacle]:
        """The receptacles of a kind, nearest first; if the opening listed none, one named number 1."""
        found = self._nearest(one for one in self.belief.receptacles if one.kind == wanted)
        return found or [Receptacle(f"{wanted} 1", place="", openness="surface")]

    def _settled(self, goal: Goal, one: Receptacle) -> tuple[str, ...]:
        """The objects in this receptacle that count towards the goal."""
        if one.kind != goal.receptacle:
            return ()
        wanted = (name for name in self.belief.inside(one) if kind(name) == goal.object)
        return tuple(name for name in wanted if self._is_ready(goal, name))

    def _is_ready(self, goal: Goal, name: str) -> bool:
        item = self.belief.item(name)
        return goal.treatment is None or (item is not None and item.treated(goal.treatment))

    def _shut(self, one: Receptacle) -> bool:
        return self._shut_chance(one) > 0.5

    def _shut_chance(self, one: Receptacle) -> float:
        """The probability that this must be opened first: observed, else like its kind in this house, else by the counts. What
        could not be opened is open: if it was closed before, by somebody else."""
        if one.openness or f"open {one.name}" in self.memory.failed:
            return float(one.openness == "closed" and f"open {one.name}" not in self.memory.failed)
        if one.kind not in self._openable:
            alike = [each.openness != "surface" for each in self.belief.receptacles if each.openness and each.kind == one.kind]
            usual = self.counts.openable(one.kind) if self.counts else 0.0
            self._openable[one.kind] = sum(alike) / len(alike) if alike else usual
        return self._openable[one.kind]

    def _nearest(self, receptacles: Iterable[Receptacle]) -> list[Receptacle]:
        """The receptacles by the number of commands needed to reach into them, then by name."""
        return sorted(receptacles, key=lambda one: ((one.name not in self.here) + self._shut_chance(one), by_name(one.name)))

    def _at(self, one: Receptacle, command: str, thought: str, *, inside: bool = False) -> Iterator[Move]:
        """The next step towards ``command`` at a receptacle, opened first if it acts ``inside``; none if it has failed."""
        if command in self.memory.failed:
            return
        if one.name not in self.here:
            yield Move(f"go to {one.name}", thought)
        elif inside and self._shut(one):
            yield Move(f"open {one.name}", thought)
        else:
            yield Move(command, thought)


class _Errands(_Decision):
    """A decision with several goals, or in company: whatever is known to be needed is fetched, the nearest first."""

    def __init__(self, memory: HouseholdExpertMemory, counts: Counts | None, prior: Prior) -> None:
        super().__init__(memory, counts, prior)
        self.company = memory.company
        self.work = Work(memory.company, memory.goals, memory.belief)
        self.claims: tuple[Claimed, ...] = ()
        self.revisits = ""
        self._turns = self.work.search_order(one.name for one in self.belief.receptacles)

    def moves(self) -> Iterator[Move]:
        held, work = self.work.held, self.work
        if self.company.check in self.here:
            self.claims = self.company.mine
            yield Move(f"examine {self.company.check}", f"that was refused; look at the {self.company.check}")
        lamp = next((goal for goal in self.memory.goals if goal.lamp), None)
        if lamp is not None and work.done and (held is None or held.kind == lamp.object):
            alone = _Decision(replace(self.memory, goal=lamp), self.counts, self.prior).moves()
            # In company nobody leaves before the game is over.
            yield from (move for move in alone if move.command is not None or not self.company.others)
            return
        if held is not None:
            yield from self._bring(held)
            return
        if asked := work.wanted(self.company.arrangement.mine):
            yield from self._gather(asked)
            yield from self._look_for(sorted(asked))
        wanted = work.wanted()
        yield from self._gather(wanted)
        if wanted:
            yield from self._look_for(sorted(wanted))
        self.claims = ()
        if not self.company.others:
            yield Move(None, "as far as the expert can tell all goals are reached")
        elif wanted or not self.company.trusts:
            yield from self._look_again()
        yield Move(WAIT, "the others do all that is left; wait")

    def _bring(self, held: Item) -> Iterator[Move]:
        number = self.work.purposes().get(held.name)
        if number is None:
            self.claims = ()
            yield from self._put_down(held, {goal.receptacle for goal in self.memory.goals if goal.object == held.kind})
            return
        goal = self.memory.goals[number - 1]
        targets = self._targets(number)
        self.claims = (Claimed(number, held.name, targets[0].name),)
        if goal.treatment and not held.treated(goal.treatment):
            for one in self._all_of(APPLIANCES[goal.treatment]):
                yield from self._at(one, f"{goal.treatment} {held.name} with {one.name}", f"{goal.treatment} the {held.name}")
            return
        for one in targets:
            yield from self._at(one, f"move {held.name} to {one.name}", f"put the {held.name} in the {one.name}", inside=True)

    def _targets(self, number: int) -> list[Receptacle]:
        """The places for a goal's thing, the best first: two share one, by convention the first by number."""
        goal, fixed = self.memory.goals[number - 1], self.work.fixed(number)
        found = self._all_of(goal.receptacle or "")
        if goal.count > 1 and self.company.others:
            found = sorted(found, key=lambda one: by_name(one.name))
        return sorted(found, key=lambda one: one.name != fixed)

    def _gather(self, wanted: Mapping[str, list[int]]) -> Iterator[Move]:
        """Take something ``wanted`` that was seen, the nearest first."""
        work = self.work
        found: dict[str, list[str]] = {}
        for one in self.belief.receptacles:
            names = [name for name in self.belief.inside(one) if kind(name) in wanted]
            if names := [name for name in names if name not in work.kept and name not in work.avoided]:
                found[one.name] = names
        for one in self._nearest(one for one in self.belief.receptacles if one.name in found):
            for name in found[one.name]:
                item, numbers = self.belief.item(name), wanted[kind(name)]
                number = min(numbers, key=lambda each: (not self._fits(item, self.memory.goals[each - 1]), each))
                self.claims = (Claimed(number, name, self._targets(number)[0].name),)
                yield from self._at(one, f"take {name} from {one.name}", f"take the {name} from the {one.name}", inside=True)

    def _fits(self, item: Item | None, goal: Goal) -> bool:
        return item is not None and goal.treatment is not None and item.treated(goal.treatment)

    def _look_for(self, wanted: list[str]) -> Iterator[Move]:
        self.claims = ()
        sought = " or ".join(with_article(name) for name in wanted)
        unseen = [one for one in self.belief.receptacles if one.contents is None]
        arranged = self.company.arrangement.rank
        for one in sorted(
            unseen, key=lambda one: (arranged(one.name), self._turn(one), self._rank(one), self._cost(one, wanted))
        ):
            if one.name in self.here:
                yield Move(
                    f"{'open' if self._shut(one) else 'examine'} {one.name}", f"see whether {sought} is in the {one.name}"
                )
            else:
                yield Move(f"go to {one.name}", f"{sought} may be at the {one.name}; look there")

    def _look_again(self) -> Iterator[Move]:
        for name in self.work.round_again():
            if name not in self.here:
                self.revisits = name
                yield Move(f"go to {name}", f"look again at the {name}")
                self.revisits = ""

    def _turn(self, one: Receptacle) -> int:
        """The order of a search in company: first the place at hand."""
        return 0 if one.name in self.here else self._turns[one.name]

    def _cost(self, one: Receptacle, wanted: list[str]) -> tuple[float, str, int]:
        if self.counts is None:
            return self._by_chance_or_name(one)
        chance, goals = 0.0, self.memory.goals
        # Of several goals nothing lies at its target; of a single one, what is yet to be treated may.
        targets = {goal.object for goal in goals if goal.receptacle == one.kind and (len(goals) > 1 or not goal.treatment)}
        for name in wanted:
            chance += self.prior.chance(name, one.name, self.memory.room) * (AT_ITS_GOAL if name in targets else 1.0)
        return (self._looking_costs(one) / chance, *by_name(one.name))
