"""The expert with several goals, alone or in company: what others said and did, and what is left to do for oneself.

Players divide the places among them by name, say what they fetch (*claim*), finished and saw, and take each other's word for
what cannot be seen, such as that a thing is hot. What somebody carries counts as a claim where nothing was said. If two claim
one errand, who holds its thing has it, then who comes first by name, so nobody is polite for ever. A player who had nothing to
do for six rounds no longer believes claims, and after six more nothing that others said or seem to have done: with a partner
who forgets, or is gone, the game still goes on.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from housequest.worlds.household.base import Move
from housequest.worlds.household.belief import Belief, BeliefBuilder, Item, kind, names
from housequest.worlds.household.goals import ADJECTIVES, Goal, Treatment
from housequest.worlds.household.news import heard
from housequest.worlds.household.talk import Claimed, Dropped, Finished, Saw, read_quoted, read_talk
from housequest.worlds.shared import WAIT

PATIENCE = 6
"""The idle rounds after which claims are no longer believed, and after as many again nothing else."""
_MOST_TOLD = 200


class ToldThing(NamedTuple):
    """A thing where another player put or saw it, None once the place was looked at; with a treatment that nobody sees."""

    thing: str
    place: str | None
    treatment: Treatment | None = None


@dataclass(frozen=True, slots=True)
class CompanyMemory:
    """A player's memory of the others, and of what it told them itself.

    Args:
        player: Its own name; "" if it plays alone.
        others: The names of the others.
        claims: The errand that each other player said it is at.
        mine: The errand that this player is at.
        told: What others said or seem to have done.
        looked: The places that others said they looked into.
        telling: The players who say what they saw.
        reported: The places that this player told of.
        deed: The thing that it has just put down, and where.
        says: What it says beside its next command.
        idle: Its rounds without anything to do.
        doubted: The commands that were refused once, and the place to look at because of the last.
        revisited: The places that it looked at again.
    """

    player: str = ""
    others: tuple[str, ...] = ()
    claims: tuple[tuple[str, Claimed], ...] = ()
    mine: Claimed | None = None
    told: tuple[ToldThing, ...] = ()
    looked: frozenset[str] = frozenset()
    telling: frozenset[str] = frozenset()
    reported: frozenset[str] = frozenset()
    deed: tuple[str, str] | None = None
    says: tuple[str, ...] = ()
    idle: int = 0
    doubted: frozenset[str] = frozenset()
    check: str | None = None
    revisited: tuple[str, ...] = ()

    @property
    def heeds(self) -> bool:
        """True as long as it leaves to others what they are at."""
        return self.idle < PATIENCE

    @property
    def trusts(self) -> bool:
        """True as long as it believes what others did, without having seen it."""
        return self.idle < 2 * PATIENCE


ALONE = CompanyMemory()


def hearing(company: CompanyMemory, before: Belief, goals: Sequence[Goal], news: Sequence[str]) -> CompanyMemory:
    """The memory after news, which ``before`` does not have yet."""
    for sentence in news:
        said = read_quoted(sentence)
        if said is not None and said[0] in company.others:
            company = _told(company, goals, *said)
        after = heard(before, (sentence,))
        for was in before.others:
            one = next(each for each in after.others if each.name == was.name)
            for thing in was.carried:
                if thing not in one.carried and one.at == was.at is not None and thing not in after.carried:
                    wanted = (kind(thing), kind(one.at))
                    goal = next((goal for goal in goals if (goal.object, goal.receptacle) == wanted), None)
                    company = _learnt(company, ToldThing(thing, one.at, goal.treatment if goal is not None else None))
        before = after
    return company


def _told(company: CompanyMemory, goals: Sequence[Goal], who: str, said: str) -> CompanyMemory:
    message = read_talk(said)
    claims = dict(company.claims)
    match message:
        case Claimed(goal=number) if number <= len(goals):
            claims[who] = message
        case Finished(goal=number, thing=thing, place=place) if number <= len(goals):
            company = _learnt(company, ToldThing(thing, place, goals[number - 1].treatment))
            if who in claims and claims[who].goal == number:
                del claims[who]
        case Saw(place=place, things=things):
            company = replace(company, looked=company.looked | {place}, telling=company.telling | {who})
            for thing in things:
                company = _learnt(company, ToldThing(thing, place))
        case Dropped(goal=number) if who in claims and claims[who].goal == number:
            del claims[who]
        case _:
            pass
    return replace(company, claims=tuple(claims.items()))


def _learnt(company: CompanyMemory, told: ToldThing) -> CompanyMemory:
    earlier = next((one for one in company.told if one.thing == told.thing), told)
    told = told._replace(treatment=told.treatment or earlier.treatment)
    return replace(company, told=(*(one for one in company.told if one.thing != told.thing), told)[-_MOST_TOLD:])


def observing(company: CompanyMemory, command: str, belief: Belief, *, refused: bool) -> CompanyMemory:
    """The memory after the answer to a command, which ``belief`` has: one's own eyes count for more than words."""
    named = names(command)
    if refused:
        place = named[-1] if named and not command.startswith("go to ") and belief.is_here(named[-1]) else None
        return replace(company, doubted=company.doubted | {command}, check=place, deed=None)
    here = {one.name for one in belief.here() if one.openness != "closed" and one.contents is not None}
    told = tuple(one._replace(place=None) if one.place in here else one for one in company.told)
    put = command.startswith("move ") and len(named) == 2
    deed = (named[0], named[1]) if put else None
    return replace(company, told=told, deed=deed, check=None, doubted=company.doubted - {command})


def believed(company: CompanyMemory, belief: Belief) -> Belief:
    """The belief with what others told."""
    if not company.told:
        return belief
    builder, carried = BeliefBuilder(belief), {*belief.carried, *(thing for one in belief.others for thing in one.carried)}
    for told in company.told:
        if told.treatment is not None and company.trusts:
            known = {"clean": True} if told.treatment == "clean" else {"heat": ADJECTIVES[told.treatment]}
            builder.learn(told.thing, **known)
        if told.place is None or told.thing in carried:
            continue
        for name, place in builder.places.items():
            if told.thing in (place.contents or ()) and name != told.place:
                builder.change(name, contents=tuple(one for one in place.contents or () if one != told.thing))
        builder.learn(told.thing, where=told.place)
        there = builder.places.get(told.place)
        if there is not None and there.contents is not None and told.thing not in there.contents:
            builder.change(told.place, contents=(*there.contents, told.thing))
    return builder.belief()


class Work:
    """The work that is left of several goals, by a belief that has what others told.

    Args:
        company: The player's memory of the others.
        goals: All goals of the task.
        belief: The state of the house, as far as it is known.
    """

    def __init__(self, company: CompanyMemory, goals: Sequence[Goal], belief: Belief) -> None:
        self.company, self.goals, self.belief = company, goals, belief
        self.held = belief.item(belief.held)
        self.settled = {number: self._settled(goal) for number, goal in enumerate(goals, start=1)}
        """For each goal, the receptacle that has most of its things, and these."""
        self.kept = frozenset(thing for _, things in self.settled.values() for thing in things)
        carried = {one.name: one.carried for one in belief.others}
        self.missing = {
            number: max(0, goal.count - len(self.settled[number][1])) for number, goal in self._numbered() if not goal.lamp
        }
        self.taken: dict[int, int] = {}
        """The errands of each goal that others are at."""
        self.avoided: set[str] = {thing for things in carried.values() for thing in things}
        for who in company.others if company.heeds else ():
            self._leave_to(who, carried.get(who, ()))
        self.left = {number: count - self.taken.get(number, 0) for number, count in self.missing.items()}

    def _numbered(self) -> Iterator[tuple[int, Goal]]:
        return enumerate(self.goals, start=1)

    def _settled(self, goal: Goal) -> tuple[str, tuple[str, ...]]:
        found = [
            (one.name, tuple(name for name in self.belief.inside(one) if kind(name) == goal.object and self._ready(goal, name)))
            for one in self.belief.receptacles
            if one.kind == goal.receptacle
        ]
        place, things = max(found, key=lambda each: len(each[1]), default=("", ()))
        return place, things[: goal.count]

    def _ready(self, goal: Goal, name: str) -> bool:
        """True for a thing that is as its goal wants it; of chores nothing is at its target but what somebody brought there."""
        item = self.belief.item(name) or Item(name)
        if goal.treatment is None or item.treated(goal.treatment):
            return True
        company = self.company
        return bool(company.others) and company.trusts and len(self.goals) > 1 and name not in company.doubted

    def _leave_to(self, who: str, carried: Collection[str]) -> None:
        """Count the errand that another player is at, unless this player has the better right to it."""
        claim = dict(self.company.claims).get(who)
        number = claim.goal if claim else 0
        if not self.missing.get(number):
            wanted = (n for n, goal in self._numbered() if self.missing.get(n) and goal.object in map(kind, carried))
            number = next((n for n in wanted if self.missing[n] > self.taken.get(n, 0)), 0)
        if not number:
            return
        mine, goal = self.company.mine, self.goals[number - 1]
        holds = goal.object in map(kind, carried)
        if mine is not None and mine.goal == number and self.missing[number] - self.taken.get(number, 0) <= 1:
            held = self.held is not None and self.held.name == mine.thing
            if (not held, self.company.player) < (not holds, who):
                return
        self.taken[number] = self.taken.get(number, 0) + 1
        if claim is not None and claim.goal == number:
            self.avoided.add(claim.thing)

    @property
    def done(self) -> bool:
        """True if everything is believed done, but for a goal of light."""
        return not any(self.missing.values())

    def wanted(self) -> dict[str, list[int]]:
        """The kinds of things that this player should still find, each with its goals."""
        found: dict[str, list[int]] = {}
        for number, count in self.left.items():
            if count > 0:
                found.setdefault(self.goals[number - 1].object, []).append(number)
        return found

    def purpose(self, held: Item) -> int | None:
        """The goal for which a thing is held; None if it is not needed."""
        numbers = self.wanted().get(held.kind, [])
        mine = self.company.mine
        if mine is not None and mine.thing == held.name and mine.goal in numbers:
            return mine.goal
        return min(numbers, key=lambda one: (not held.treated(self.goals[one - 1].treatment or "clean"), one), default=None)

    def fixed(self, number: int) -> str:
        """The target that is settled for a goal: where one of two things is, or is going; "" if any will do."""
        place, things = self.settled[number]
        if self.goals[number - 1].count == 1:
            return ""
        claimed = (claim.target for _, claim in self.company.claims if claim.goal == number and names(claim.target))
        return place if things else next(claimed, "")


def spoken_for(work: Work, company: CompanyMemory, seen: Sequence[str]) -> tuple[CompanyMemory, tuple[str, ...]]:
    """The reports before a command: the errand just done, and the places ``seen`` first since the last report."""
    says: list[str] = []
    if company.deed is not None:
        thing, place = company.deed
        for number, (where, things) in work.settled.items():
            if where == place and thing in things:
                says.append(str(Finished(number, thing, place)))
    wanted = {goal.object for number, goal in enumerate(work.goals, start=1) if work.missing.get(number)}
    fresh = [name for name in seen if name not in company.reported]
    for name in fresh:
        there = work.belief.places[name]
        found = tuple(one for one in there.contents or () if kind(one) in wanted and one not in work.kept)
        says.append(str(Saw(name, found)))
    return replace(company, reported=company.reported | {*fresh}, deed=None), tuple(says)


def claiming(
    company: CompanyMemory, claim: Claimed | None, move: Move, says: tuple[str, ...], revisits: str = ""
) -> CompanyMemory:
    """The memory after a decision, with what is said beside it; ``revisits`` is the place that is looked at again."""
    before = company.mine
    if claim is not None and claim != before and (before is None or (claim.goal, claim.thing) != (before.goal, before.thing)):
        says = (*says, str(claim))
    elif claim is None and before is not None:
        says = (*says, str(Dropped(before.goal))) if not any(one.startswith("Goal ") for one in says) else says
    # Who has waited in vain does not begin to trust again.
    least = 0 if company.heeds else PATIENCE if company.trusts else 2 * PATIENCE
    idle = company.idle + 1 if move.command == WAIT or revisits else least
    revisited = (*company.revisited, *([revisits] if revisits else []))[-_MOST_TOLD:]
    return replace(company, mine=claim, says=says if company.others else (), idle=idle, revisited=revisited)
