"""An expert with several goals, alone or in company: what others said and did, and what is left to do.

Players divide the places among them by name, say what they fetch (*claim*), finished and saw, and believe each other about what
cannot be seen, such as that a thing is hot. Without words, carrying a thing counts as a claim. If two claim one errand, it
belongs to the one who holds its thing, else to the first by name, so they do not wait for each other for ever. A player runs as
many errands as it has hands. After six rounds with nothing to do it no longer believes claims, and after six more nothing that
others said or seem to have done. So the game goes on even with a partner who forgets, or is gone.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from housequest.worlds.household.arrangement import NOTHING_ARRANGED, Arrangement
from housequest.worlds.household.base import Move
from housequest.worlds.household.belief import Belief, BeliefBuilder, Item, by_name, kind, names
from housequest.worlds.household.goals import ADJECTIVES, APPLIANCES, Goal, Treatment
from housequest.worlds.household.news import heard
from housequest.worlds.household.talk import Claimed, Dropped, Finished, Saw, read_quoted, read_talk
from housequest.worlds.shared import WAIT

PATIENCE = 6
"""After this many idle rounds, stop believing claims; after as many again, everything else."""
_MOST_TOLD = 200
LOOKED_AT = 2
"""The turn in a search of places where others look or looked."""


class ToldThing(NamedTuple):
    """A thing where another player put or saw it (None once the place was looked at), with a treatment that cannot be seen.
    ``laid`` is true if its carrier said so, and nobody was seen to take it since."""

    thing: str
    place: str | None
    treatment: Treatment | None = None
    laid: bool = False


@dataclass(frozen=True, slots=True)
class CompanyMemory:
    """A player's memory of the others, and of what it told them.

    Args:
        player: Its own name; "" if it plays alone.
        others: The names of the others.
        claims: The errands that each other player has claimed.
        mine: The errands that this player runs.
        told: What others said or seem to have done.
        looked: The places that others said they looked into.
        telling: The players who say what they saw.
        reported: The places that this player reported.
        deed: The thing that it has just put down, and where.
        says: Its words with the next command.
        idle: Its rounds with nothing to do.
        doubted: The commands that were refused once, and the place to look at because of the latest.
        revisited: The places that it looked at again.
        arrangement: What the players arranged in words.
    """

    player: str = ""
    others: tuple[str, ...] = ()
    claims: tuple[tuple[str, Claimed], ...] = ()
    mine: tuple[Claimed, ...] = ()
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
    arrangement: Arrangement = NOTHING_ARRANGED

    @property
    def heeds(self) -> bool:
        """True as long as it leaves to others what they claim."""
        return self.idle < PATIENCE

    @property
    def trusts(self) -> bool:
        """True as long as it believes, without seeing it, what others did."""
        return self.idle < 2 * PATIENCE


ALONE = CompanyMemory()


def hearing(company: CompanyMemory, before: Belief, goals: Sequence[Goal], news: Sequence[str]) -> CompanyMemory:
    """The memory after news that ``before`` does not have yet."""
    for sentence in news:
        said = read_quoted(sentence)
        if said is not None and said[0] in company.others:
            company = _told(company, goals, *said, before.hands)
        after = heard(before, (sentence,))
        for was in before.others:
            one = next(each for each in after.others if each.name == was.name)
            for thing in was.carried:
                if thing not in one.carried and one.at == was.at is not None and thing not in after.carried:
                    wanted = (kind(thing), kind(one.at))
                    goal = next((goal for goal in goals if (goal.object, goal.receptacle) == wanted), None)
                    company = _learnt(company, ToldThing(thing, one.at, goal.treatment if goal is not None else None))
        taken = {thing for one in after.others for thing in one.carried}.intersection(names(sentence))
        if said is None and taken:
            told = (one._replace(laid=False) if one.thing in taken else one for one in company.told)
            company = replace(company, told=tuple(told))
        before = after
    return company


def _told(company: CompanyMemory, goals: Sequence[Goal], who: str, said: str, hands: int) -> CompanyMemory:
    message = read_talk(said)
    theirs = [claim for one, claim in company.claims if one == who]
    match message:
        case Claimed(goal=number) if number <= len(goals):
            theirs = [*(one for one in theirs if one != message), message][-hands:]
        case Finished(goal=number, thing=thing, place=place) if number <= len(goals):
            company = _learnt(company, ToldThing(thing, place, goals[number - 1].treatment, laid=True))
            theirs = _without(theirs, number, thing)
        case Saw(place=place, things=things):
            company = replace(company, looked=company.looked | {place}, telling=company.telling | {who})
            for thing in things:
                company = _learnt(company, ToldThing(thing, place))
        case Dropped(goal=number):
            theirs = _without(theirs, number)
        case _:
            pass
    others = (one for one in company.claims if one[0] != who)
    return replace(company, claims=(*others, *((who, claim) for claim in theirs)))


def _without(claims: Sequence[Claimed], number: int, thing: str = "") -> list[Claimed]:
    """The claims without one of this goal, if possible that of this thing."""
    gone = max((one for one in claims if one.goal == number), key=lambda one: one.thing == thing, default=None)
    return [one for one in claims if one is not gone]


def _learnt(company: CompanyMemory, told: ToldThing) -> CompanyMemory:
    earlier = next((one for one in company.told if one.thing == told.thing), told)
    told = told._replace(treatment=told.treatment or earlier.treatment)
    return replace(company, told=(*(one for one in company.told if one.thing != told.thing), told)[-_MOST_TOLD:])


def observing(
    company: CompanyMemory, command: str, before: Belief, belief: Belief, *, walk: str, refused: bool
) -> CompanyMemory:
    """The memory after the answer to a command, which ``belief`` includes: its own eyes count for more than words. ``walk`` is
    the verb of commands that go somewhere."""
    named = names(command)
    if refused:
        place = named[-1] if named and not command.startswith(walk) and belief.is_here(named[-1]) else None
        return replace(company, doubted=company.doubted | {command}, check=place, deed=None)
    here = {one.name for one in belief.here() if one.openness != "closed" and one.contents is not None}
    told = tuple(one._replace(place=None) if one.place in here else one for one in company.told)
    put = len(named) == 2 and named[0] in before.carried and named[0] not in belief.carried
    deed = (named[0], named[1]) if put else None
    return replace(company, told=told, deed=deed, check=None, doubted=company.doubted - {command})


def believed(company: CompanyMemory, belief: Belief) -> Belief:
    """The belief with what others told."""
    if not company.told or not company.trusts:
        return belief
    builder, carried = BeliefBuilder(belief), {*belief.carried, *(thing for one in belief.others for thing in one.carried)}
    for told in company.told:
        if told.treatment is not None:
            known = {"clean": True} if told.treatment == "clean" else {"heat": ADJECTIVES[told.treatment]}
            builder.learn(told.thing, **known)
        if told.place is None or (told.thing in carried and not told.laid):
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
    """The work that is left of several goals, by a belief that includes what others told.

    Args:
        company: The player's memory of the others.
        goals: All goals of the task.
        belief: The state of the house, as far as known.
        target: The only receptacle that counts for all goals, if there is one.
    """

    def __init__(self, company: CompanyMemory, goals: Sequence[Goal], belief: Belief, target: str | None = None) -> None:
        self.company, self.goals, self.belief, self._target = company, goals, belief, target
        self.held = belief.item(belief.held)
        self.settled = {number: self._settled(goal) for number, goal in enumerate(goals, start=1)}
        """For each goal, the receptacle with most of its things, and these."""
        self.kept = frozenset(thing for _, things in self.settled.values() for thing in things)
        carried = {one.name: one.carried for one in belief.others}
        self.missing = {
            number: max(0, goal.count - len(self.settled[number][1])) for number, goal in self._numbered() if not goal.lamp
        }
        self.taken: dict[int, int] = {}
        """The errands of each goal that others run."""
        self.avoided: set[str] = {thing for things in carried.values() for thing in things}
        for who in company.others if company.heeds else ():
            self._leave_to(who, carried.get(who, ()))
        self.left = {number: count - self.taken.get(number, 0) for number, count in self.missing.items()}
        if company.trusts:
            self.avoided |= company.arrangement.kept
            self.left.update(dict.fromkeys(company.arrangement.left_out.intersection(self.left), 0))

    def _numbered(self) -> Iterator[tuple[int, Goal]]:
        return enumerate(self.goals, start=1)

    def _settled(self, goal: Goal) -> tuple[str, tuple[str, ...]]:
        found = [
            (one.name, tuple(name for name in self.belief.inside(one) if kind(name) == goal.object and self._ready(goal, name)))
            for one in self.belief.receptacles
            if one.kind == goal.receptacle and self._target in (None, one.name)
        ]
        place, things = max(found, key=lambda each: len(each[1]), default=("", ()))
        return place, things[: goal.count]

    def _ready(self, goal: Goal, name: str) -> bool:
        """True for a thing that is as its goal wants it; in chores, everything at its target was brought there."""
        item = self.belief.item(name) or Item(name)
        if goal.treatment is None or item.treated(goal.treatment):
            return True
        company = self.company
        return bool(company.others) and company.trusts and len(self.goals) > 1 and name not in company.doubted

    def _leave_to(self, who: str, carried: Sequence[str]) -> None:
        """Count the errands that another player runs, unless this player has the better claim."""
        claims = [claim for one, claim in self.company.claims if one == who and self.missing.get(claim.goal)]
        left = [*carried]
        for claim in claims:
            alike = [one for one in left if kind(one) == self.goals[claim.goal - 1].object]
            if alike:
                left.remove(claim.thing if claim.thing in alike else alike[0])
            self._leave(who, claim.goal, claim.thing, holds=bool(alike))
        # What somebody carries counts as claimed, even without words.
        for thing in left[: max(0, self.belief.hands - len(claims))]:
            numbers = (number for number, goal in self._numbered() if goal.object == kind(thing))
            if number := next((one for one in numbers if self.missing.get(one, 0) > self.taken.get(one, 0)), 0):
                self._leave(who, number, thing, holds=True)

    def _leave(self, who: str, number: int, thing: str, *, holds: bool) -> None:
        if number in self.company.arrangement.mine:
            return
        player, carried = self.company.player, self.belief.carried
        better = [one for one in self.company.mine if (one.thing not in carried, player) < (not holds, who)]
        if self.missing[number] - self.taken.get(number, 0) <= sum(one.goal == number for one in better):
            return
        self.taken[number] = self.taken.get(number, 0) + 1
        # If two want one thing and there is another, only one makes way.
        if all(one.thing != thing for one in better):
            self.avoided.add(thing)

    @property
    def done(self) -> bool:
        """True if it believes everything done but a task with a lamp."""
        return not any(self.missing.values())

    def wanted(self, among: Collection[int] | None = None) -> dict[str, list[int]]:
        """The kinds of things that this player should still find, each with its goals; only of those ``among`` if given."""
        found: dict[str, list[int]] = {}
        for number, count in self.left.items():
            if count > 0 and (among is None or number in among):
                found.setdefault(self.goals[number - 1].object, []).append(number)
        return found

    def purposes(self) -> dict[str, int]:
        """The goals of the things in hand; things that are not needed have none."""
        found, left = dict[str, int](), dict(self.left)
        claimed = {one.thing: one.goal for one in self.company.mine}
        for name in sorted(self.belief.carried, key=lambda name: (name not in claimed, self.belief.carried.index(name))):
            held = self.belief.item(name) or Item(name)
            numbers = [number for number, count in left.items() if count > 0 and self.goals[number - 1].object == held.kind]
            number = min(
                numbers,
                key=lambda one: (one != claimed.get(name), not held.treated(self.goals[one - 1].treatment or "clean"), one),
                default=None,
            )
            if number is not None:
                found[name] = number
                left[number] -= 1
        return found

    def search_order(self, places: Iterable[str]) -> dict[str, int]:
        """The turn of each place in a search: first the player's own, then those of others, last those where others look or
        looked. The ``places`` of a room are dealt out by name."""
        company, belief = self.company, self.belief
        if not company.trusts or not company.others:
            return dict.fromkeys(places, 0)
        players = sorted((company.player, *company.others))
        mine, looked = players.index(company.player), self._looked_by_others()
        return {
            name: LOOKED_AT if name in looked or belief.is_occupied(name) else int(number % len(players) != mine)
            for number, name in enumerate(sorted(places, key=by_name))
        }

    def _looked_by_others(self) -> frozenset[str]:
        """The places that others looked into: as they say, or as was seen of those who do not tell."""
        silent = (other.looked for other in self.belief.others if other.name not in self.company.telling)
        seen = frozenset[str]().union(*silent)
        # A player who heats or cools something also stands at a closed door.
        devices = {APPLIANCES[goal.treatment] for goal in self.goals if goal.treatment is not None}
        treating = {place for place in seen if kind(place) in devices and self.belief.places[place].openness == "closed"}
        return self.company.looked | seen - treating

    def round_again(self) -> Iterator[str]:
        """The places to look at again, the least often revisited first: somebody may have moved what is needed."""
        again = self.company.revisited
        rooms = self.belief.rooms
        names = (one.name for one in self.belief.receptacles if one.name not in rooms)
        yield from sorted(names, key=lambda name: (again.count(name), by_name(name)))

    def fixed(self, number: int) -> str:
        """The target of a goal: where one of two things is, or is going; "" if any will do."""
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
    company: CompanyMemory, claims: tuple[Claimed, ...], move: Move, says: tuple[str, ...], hands: int, revisits: str = ""
) -> CompanyMemory:
    """The memory after a decision, with the words that go with it; ``revisits`` is the place to look at again."""
    before, now = ([(one.goal, one.thing) for one in each] for each in (company.mine, claims))
    new = [one for one in claims if (one.goal, one.thing) not in before]
    finished = [one.goal for one in map(read_talk, says) if isinstance(one, Finished)]
    # A player with one hand drops an errand when it claims another.
    left = [number for number, thing in before if (number, thing) not in now] if hands > 1 or not new else []
    for number in finished:
        if number in left:
            left.remove(number)
    says = (*says, *(str(Dropped(number)) for number in left), *map(str, new))
    # After waiting in vain, do not begin to trust again.
    least = 0 if company.heeds else PATIENCE if company.trusts else 2 * PATIENCE
    idle = company.idle + 1 if move.command == WAIT or revisits else least
    revisited = (*company.revisited, *([revisits] if revisits else []))[-_MOST_TOLD:]
    return replace(company, mine=claims, says=says if company.others else (), idle=idle, revisited=revisited)
