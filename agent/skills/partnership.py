"""A player's memory of what others in the house asked and told, and how that changes its own work.

Agents keep it in their memories as plain data, so going back restores it.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from housequest.agent.base import Turn
from housequest.agent.skills.language.requests import PlayerRequest
from housequest.agent.skills.language.sentences import Surroundings
from housequest.worlds.household.arrangement import NOTHING_ARRANGED, Arrangement
from housequest.worlds.household.base import Household, Move
from housequest.worlds.household.belief import Belief, BeliefBuilder, Item, Receptacle, by_name, kind, names
from housequest.worlds.household.company import CompanyMemory, Work, believed, claiming, spoken_for
from housequest.worlds.household.goals import Goal
from housequest.worlds.household.talk import Claimed, Finished, Saw, Talk
from housequest.worlds.shared import WAIT

MOST_WAITS = 6
"""After this many rounds, stop waiting for others."""
_MOST_ORIGINS = 100


@dataclass(frozen=True, slots=True)
class Partnership:
    """A player's memory of the requests to it, and of what it needs to answer.

    Args:
        arrangement: All that was arranged so far.
        round: The current round.
        origins: Where it took each thing from, the latest last.
        looked: The round in which it last saw each place's contents.
        visits: The round in which it last saw each other player at each place.
        found: Where others say that things are.
        claims: The goals that others say they work on.
        followers: The players who say that they follow it.
        reported: The places whose contents it reported.
        refused: The last command, if it was refused.
        finished: The goals that other agents say they have finished.
        insisted: The request that it answered with a question; if it comes again, carry it out.
        heeded: How many of the sentences that were said since its last turn it has taken in.
    """

    arrangement: Arrangement = NOTHING_ARRANGED
    round: int = 0
    origins: tuple[tuple[str, str], ...] = ()
    looked: tuple[tuple[str, int], ...] = ()
    visits: tuple[tuple[str, str, int], ...] = ()
    found: tuple[tuple[str, str], ...] = ()
    claims: tuple[tuple[str, int], ...] = ()
    followers: frozenset[str] = frozenset()
    reported: frozenset[str] = frozenset()
    refused: str = ""
    finished: frozenset[int] = frozenset()
    insisted: PlayerRequest | None = None
    heeded: int = 0


NOBODY_ASKED = Partnership()


class Obliged(NamedTuple):
    """The new memory, the command for a request (None to go on with the chores), and what to say."""

    partnership: Partnership
    command: str | None
    says: tuple[str, ...] = ()


def attending(partnership: Partnership, turn: Turn, belief: Belief) -> Partnership:
    """The memory at the start of a turn, updated by its transitions and the belief."""
    origins, refused = dict(partnership.origins), partnership.refused
    for transition in turn.transitions:
        command = transition.command
        refused = "" if transition.observation.accepted else command
        named = names(command)
        if not refused and command.startswith(("take ", "grab ")) and named:
            thing, *places = named
            place = next(iter(places), belief.at)
            origins.pop(thing, None)
            origins |= {thing: place} if place else {}
    here = {one.name for one in belief.here() if one.openness != "closed" and one.contents is not None}
    looked = dict(partnership.looked) | dict.fromkeys(here, turn.number)
    visits = {(who, place): when for who, place, when in partnership.visits}
    visits |= {(one.name, one.at): turn.number for one in belief.others if one.at is not None}
    return replace(
        partnership,
        round=turn.number,
        origins=tuple(origins.items())[-_MOST_ORIGINS:],
        looked=tuple(looked.items()),
        visits=tuple((who, place, when) for (who, place), when in visits.items()),
        refused=refused,
    )


def last_seen(who: str, partnership: Partnership) -> tuple[int, str] | None:
    """The round in which it last saw another player at a place, and the place."""
    return max(((when, place) for one, place, when in partnership.visits if one == who), default=None)


def telling(partnership: Partnership, who: str, message: Talk, scene: Surroundings) -> Partnership:
    claims, finished, found = dict(partnership.claims), partnership.finished, dict(partnership.found)
    goals = scene.household.read_goals(scene.goal, scene.belief.kinds)
    if isinstance(message, Claimed):
        claims[who] = message.goal
    elif isinstance(message, Saw):
        found |= {kind(thing): message.place for thing in message.things if message.place in scene.belief.places}
    elif claims.get(who) == message.goal:
        del claims[who]
    # Of two things, either may be meant.
    if isinstance(message, Finished) and message.goal <= len(goals) and goals[message.goal - 1].count == 1:
        finished |= {message.goal}
    return replace(partnership, claims=tuple(claims.items()), finished=finished, found=tuple(found.items())[-_MOST_ORIGINS:])


def settled(goal: Goal, belief: Belief) -> tuple[str, ...]:
    """The things that count towards a goal, in the receptacle with most of them."""

    def there(one: Receptacle) -> tuple[str, ...]:
        items = (belief.item(name) for name in belief.inside(one))
        ready = (item for item in items if item is not None and item.kind == goal.object)
        return tuple(item.name for item in ready if goal.treatment is None or item.treated(goal.treatment))

    return max((there(one) for one in belief.receptacles if one.kind == goal.receptacle), key=len, default=())[: goal.count]


def goal_at(number: int, sentence: str, household: Household) -> str:
    """The part of a goal sentence that states one of its goals."""
    clauses = household.goal_clauses(sentence)
    return f"{clauses[number - 1]}." if number <= len(clauses) else sentence


class Picked(NamedTuple):
    """The choice of a goal.

    Args:
        company: The memory, with what to say.
        number: The goal to plan for; 0 for all of them.
        command: What to do instead of planning; None to plan.
        house: The house for this goal: with what others told, and without what is theirs or is left to them to search.
    """

    company: CompanyMemory
    number: int
    command: str | None
    house: Belief


def picking(company: CompanyMemory, at: int, scene: Surroundings, found: Sequence[tuple[str, str]] = ()) -> Picked:
    """Pick the goal to work on, for an agent that plans for one at a time: of the thing in hand, else one that was asked of it,
    whose thing was seen, or that it is ``at``. If others do all that is left it waits, and after a while no longer believes
    them. ``found`` are the places that people named for kinds of thing."""
    belief, goals = scene.belief, scene.household.read_goals(scene.goal, scene.belief.kinds)
    house = believed(company, belief)
    work = Work(company, goals, house)
    seen = [one.name for one in belief.receptacles if one.contents is not None]
    company, says = spoken_for(work, company, seen if company.others else ())
    lamp = next((number for number, goal in enumerate(goals, start=1) if goal.lamp), None)
    if not goals or (lamp is not None and work.done):
        return Picked(replace(company, says=says), lamp or 0, None, belief)

    def near(number: int) -> str:
        """A thing for this goal that was seen and is free, the nearest first."""
        return min(
            (item for item in house.items if item.kind == goals[number - 1].object and item.where is not None and _free(item)),
            key=lambda item: (not belief.is_here(item.where or ""), item.name),
            default=Item(""),
        ).name

    def _free(item: Item) -> bool:
        return item.name not in work.kept and item.name not in work.avoided

    purposes, wanted = work.purposes(), [number for number, count in work.left.items() if count]
    number, command = 0, None
    if purposes:
        thing, number = next(iter(purposes.items()))
    elif belief.held is not None:
        thing, command = "", _putting_down(company, scene, goals)
    elif wanted:
        number = min(wanted, key=lambda one: (one not in company.arrangement.mine, not near(one), one != at))
        thing = near(number)
    else:
        # Once all is brought, something may have to be switched on, which is no goal of its own.
        last = next(reversed(scene.household.steps(scene.goal) or ()), None)
        ends = work.done and last is not None and last.verb == "use"
        thing, command = "", WAIT if company.others and not ends else None
    claims = (Claimed(number, thing, work.fixed(number) or goals[number - 1].receptacle or ""),) if thing else ()
    company = claiming(company, claims, Move(command, ""), says, belief.hands)
    if not number:
        return Picked(company, number, command, belief)
    # It takes the very thing that it says it takes.
    unclaimed = {item.name for item in house.items if thing and item.kind == kind(thing) and item.name != thing}
    others = ((work.kept | unclaimed) - {*work.settled[number][1]}) | work.avoided
    return Picked(company, number, command, _for_goal(work, goals[number - 1], house, others, found))


def _putting_down(company: CompanyMemory, scene: Surroundings, goals: Sequence[Goal]) -> str | None:
    """The next command to put what is in hand, and not needed, where it is in nobody's way; None if nothing takes it."""
    belief, commands, counts = scene.belief, scene.commands, scene.household.counts()
    held = belief.held or ""
    targets = {goal.receptacle for goal in goals if goal.object == kind(held)}

    def worse(one: Receptacle) -> tuple[bool, bool, bool, tuple[str, int]]:
        return not counts.takes(one.name, held), not belief.is_here(one.name), one.openness == "closed", by_name(one.name)

    for one in sorted((one for one in belief.receptacles if one.kind not in targets), key=worse):
        put = commands.puts[0].format(thing=held, place=one.name)
        if put not in company.doubted:
            here = f"open {one.name}" if one.openness == "closed" else put
            return here if belief.is_here(one.name) else commands.go.format(place=one.name)
    return None


def _for_goal(work: Work, goal: Goal, house: Belief, others: Container[str], found: Sequence[tuple[str, str]]) -> Belief:
    """The house without the things of ``others``, and with only those places to search that are this player's turn."""
    builder = BeliefBuilder(house)
    for name, place in house.places.items():
        if place.contents:
            builder.change(name, contents=tuple(thing for thing in place.contents if thing not in others))
    for item in house.items:
        if item.name in others and item.name not in house.carried:
            del builder.items[item.name]
    told = {place for thing, place in found if kind(thing) == goal.object}
    turns = work.search_order(one.name for one in house.receptacles)

    def turn(name: str) -> tuple[bool, int, int]:
        return name not in told, work.company.arrangement.rank(name), 0 if house.is_here(name) else turns[name]

    # With the thing in hand it only needs to know which places are shut.
    unseen = [] if goal.object in map(kind, house.carried) else [one.name for one in house.unsearched]
    first = min(map(turn, unseen), default=None)
    for name in unseen:
        if turn(name) != first:
            builder.change(name, contents=())
    return builder.belief()
