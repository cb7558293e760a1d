"""A player's memory of what others in the house asked and told, and how that changes its own work.

Agents keep it in their memories as plain data, so going back restores it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

from housequest.agent.base import Turn
from housequest.agent.skills.language.requests import PlayerRequest
from housequest.agent.skills.language.sentences import Surroundings
from housequest.worlds.household.arrangement import NOTHING_ARRANGED, Arrangement
from housequest.worlds.household.base import Household
from housequest.worlds.household.belief import Belief, Receptacle, by_name, kind, names
from housequest.worlds.household.goals import Goal
from housequest.worlds.household.talk import Claimed, Finished, Saw, Talk
from housequest.worlds.shared import WAIT

MOST_WAITS = 6
"""After this many rounds, stop waiting for others; after as many again, stop believing them."""
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
        goal: The goal that it works on, for an agent that plans for one at a time; 0 for none.
        finished: The goals that other agents say they have finished.
        idle: Its rounds with nothing to do.
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
    goal: int = 0
    finished: frozenset[int] = frozenset()
    idle: int = 0
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


def picking(partnership: Partnership, scene: Surroundings) -> Obliged:
    """Pick the goal to work on, for an agent that plans for one at a time, by what it holds, was asked to do, has seen, and
    what nobody else works on. If others work on all that is left it waits, and after a while no longer believes them."""
    belief, arrangement = scene.belief, partnership.arrangement
    goals = scene.household.read_goals(scene.goal, belief.kinds)
    held = {kind(name) for name in belief.carried}
    claimed = {number for _, number in partnership.claims}
    told = arrangement.left_out | partnership.finished if partnership.idle < 2 * MOST_WAITS else frozenset[int]()
    if len(goals) < 2 and not told.intersection({1}):
        return Obliged(partnership, None)  # with a single goal, everybody searches
    missing = [number for number, goal in enumerate(goals, start=1) if len(settled(goal, belief)) < goal.count]
    left = [number for number in missing if number not in told]
    last = next(reversed(scene.household.steps(scene.goal) or ()), None)
    # Once all is brought, something may have to be switched on, which is no goal of its own.
    ends = not left and last is not None and last.verb == "use" and not any(goal.lamp for goal in goals)

    def order(number: int) -> tuple[bool, ...]:
        thing = goals[number - 1].object
        at = number == partnership.goal
        seen = any(item.kind == thing and item.where is not None for item in belief.items)
        return thing not in held, number not in arrangement.mine, number in claimed, not at, not seen

    if partnership.idle < MOST_WAITS:
        left = [number for number in left if number not in claimed or goals[number - 1].object in held]
    says: tuple[str, ...] = ()
    if partnership.goal and partnership.goal not in missing:
        thing = settled(goals[partnership.goal - 1], belief)[-1]
        where = next((one.name for one in belief.holders(thing)), "")
        says = (str(Finished(partnership.goal, thing, where)),) if where else ()
    if not left:
        return Obliged(replace(partnership, goal=0, idle=partnership.idle + 1), None if ends or not goals else WAIT, says)
    number = min(left, key=order)
    goal = goals[number - 1]
    if number != partnership.goal and goal.receptacle:
        says = (*says, str(Claimed(number, goal.object, goal.receptacle or "")))
    return Obliged(replace(partnership, goal=number), None, says)


class Arranged(NamedTuple):
    """The command to search where an arrangement says first, and the commands that it rules out."""

    command: str | None
    barred: frozenset[str]


def arranged(partnership: Partnership, scene: Surroundings, *, sought: bool) -> Arranged:
    """Apply the arrangements about places and things, for an agent that searches by itself; ``sought`` if it searches now."""
    belief, commands, arrangement = scene.belief, scene.commands, partnership.arrangement
    unseen = sorted(belief.unsearched, key=lambda one: by_name(one.name))
    last = [one for one in unseen if arrangement.rank(one.name) == 2]
    barred = set[str]()
    if sought and len(last) < len(unseen):
        barred = {form.format(place=one.name) for one in last for form in (commands.go, "open {place}")}
    goals = scene.household.read_goals(scene.goal, belief.kinds)
    done = {name for number, goal in enumerate(goals, start=1) if number != partnership.goal for name in settled(goal, belief)}
    for name in done | arrangement.kept:
        item = belief.item(name)
        if item is not None and item.where is not None:
            barred.add(commands.take.format(thing=name, place=item.where))
    told = [place for thing, place in partnership.found if partnership.goal and thing == goals[partnership.goal - 1].object]
    first = [one for one in unseen if one.name in told] + [one for one in unseen if arrangement.rank(one.name) == 0]
    if not sought or not first:
        return Arranged(None, frozenset(barred))
    place = first[0]
    if not belief.is_here(place.name):
        return Arranged(commands.go.format(place=place.name), frozenset(barred))
    return Arranged(f"{'open' if place.openness == 'closed' else 'examine'} {place.name}", frozenset(barred))
