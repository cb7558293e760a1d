"""A finished episode as `failures` looks at it: what was seen, held, treated and put where.

Everything comes from observation text and the goal sentence, which a player has too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from housequest.agent.episodes.events import POLICY, Ended, Event, Planned, Started, Stepped, Thought, TurnSpent
from housequest.worlds.base import Observation
from housequest.worlds.household.belief import Belief, Item, kind
from housequest.worlds.household.goals import TYPES, Goal, Treatment
from housequest.worlds.registry import household, shows_pictures

REPLANNING = "replanning"
"""The error mode of a plan that was made again (`housequest.agent.alfred.seeing.state.ErrorMode`)."""
_BY_TYPE: dict[str, Treatment | None] = {name: Goal(name, "").treatment for name in TYPES.values()}


@dataclass(slots=True)
class ObjectHistory:
    """The history of one object: the turns in which it was first seen, first taken, last taken (``since``), last put somewhere
    and first treated.

    ``where`` is the receptacle that the player put it in; None once it is taken again.
    """

    name: str
    seen: int
    taken: int | None = None
    since: int = 0
    put: int = 0
    where: str | None = None
    treated: int | None = None


@dataclass(frozen=True, slots=True)
class Errand:
    """How many things of a kind belong in a ``place`` of this kind, and how many are ``there`` at the end."""

    place: str
    count: int
    there: int


def _modes(played: Sequence[Event]) -> Iterator[tuple[str, str]]:
    """What a robot that sees says of its mistakes: the error mode, and what it failed for; and each plan that it made again."""
    started = next((event.body for event in played if isinstance(event.body, Started)), None)
    for event in played:
        match event.body:
            case Thought(role=role, text=text) if role == POLICY:
                mode, _, reason = text.partition(":")
                yield mode, reason.strip()
            case Planned(revision=revision, reason=reason) if revision and started and shows_pictures(started.world):
                yield REPLANNING, ""
            case _:
                pass


class EpisodeCase:
    """An episode, prepared for the rules of `failures`."""

    def __init__(self, played: Sequence[Event], ended: Ended) -> None:
        self.ended = ended
        self.started = next((event.body for event in played if isinstance(event.body, Started)), None)
        self.steps = [event.body for event in played if isinstance(event.body, Stepped)]
        spent = [event.body for event in played if isinstance(event.body, TurnSpent)]
        self.unread = [body.turn for body in spent if body.reason is None]
        self.idle = [body for body in spent if body.reason is not None]
        self.modes = list(_modes(played))
        self.last = max((ended.turns, *(step.turn for step in self.steps), *(body.turn for body in spent)))
        self._household = household(self.started.world) if self.started else None
        self.beliefs = list(self._believed())
        self.belief = self.beliefs[-1] if self.beliefs else Belief()
        self.goal, self.guessed = self._goal()
        # The task's type gives the object's treatment where the goal cannot be read.
        by_type = _BY_TYPE.get(self.started.type) if self.started else None
        self.treatment: Treatment | None = self.goal.treatment if self.goal else by_type
        self.things = self._things()
        if self.goal and self.guessed and self.met(self.goal):
            # The guess was wrong: it would have been won.
            self.goal = None

    def _believed(self) -> Iterator[Belief]:
        """The belief at the start and after each step; none in a world whose texts cannot be parsed."""
        reader = self._household
        if reader is None or self.started is None:
            return
        belief = reader.begin(Observation(self.started.opening))
        yield belief
        for step in self.steps:
            belief = reader.update(belief, step.command, Observation(step.observation, step.accepted))
            yield belief

    def _goal(self) -> tuple[Goal | None, bool]:
        """The goal, and whether it is a guess confirmed by the task's type."""
        if self.started is None or self._household is None:
            return None, False
        if read := self._household.read_goal(self.started.goal):
            return read, False
        kinds = sorted(self.beliefs[0].kinds)
        guess = self._household.guess_goal(self.started.goal, objects=self._household.counts().objects(), receptacles=kinds)
        return (guess, True) if guess and guess.type == self.started.type else (None, False)

    def _things(self) -> dict[str, ObjectHistory]:
        things: dict[str, ObjectHistory] = {}
        for step, before, after in zip(self.steps, self.beliefs, self.beliefs[1:], strict=False):
            known = {item.name: item for item in before.items}
            for item in after.items:
                thing = things.setdefault(item.name, ObjectHistory(item.name, step.turn))
                if thing.treated is None and self.treated(item) and not self.treated(known.get(item.name)):
                    thing.treated = step.turn
            for name in before.carried:
                if name in things and name not in after.carried:
                    put = after.item(name)
                    things[name].put, things[name].where = step.turn, put.where if put else None
            for name in after.carried:
                if name in things and name not in before.carried:
                    taken = things[name]
                    taken.taken, taken.since, taken.where = taken.taken or step.turn, step.turn, None
        return things

    def treated(self, item: Item | None) -> bool:
        """Whether the object is known to have had the goal's treatment."""
        if item is None or self.treatment is None:
            return False
        return bool(item.clean) if self.treatment == "clean" else item.heat == {"heat": "hot", "cool": "cool"}[self.treatment]

    def ready(self, thing: ObjectHistory) -> bool:
        """Whether the object is known to need nothing but its place at the end."""
        return self.treatment is None or self.treated(self.belief.item(thing.name))

    def right(self, goal: Goal) -> list[ObjectHistory]:
        """The objects that the goal could mean."""
        return [thing for thing in self.things.values() if kind(thing.name) == goal.object]

    def lamps(self, goal: Goal) -> list[Item]:
        """The lamps that the goal could mean."""
        return [item for item in self.belief.items if item.kind == goal.lamp]

    def settled(self, goal: Goal) -> list[list[str]]:
        """For each receptacle that the goal could mean, the right and ready objects in it."""
        right = {thing.name for thing in self.right(goal) if self.ready(thing)}
        holders = [one for one in self.belief.receptacles if one.kind == goal.receptacle]
        return [[name for name in self.belief.inside(one) if name in right] for one in holders]

    def met(self, goal: Goal) -> bool:
        """Whether the whole goal is believed true at the end."""
        if goal.lamp:
            held = self.belief.held
            return held is not None and kind(held) == goal.object and self.lamp_here(self.belief, goal, lit=True)
        return any(len(there) >= goal.count for there in self.settled(goal))

    def lamp_here(self, belief: Belief, goal: Goal, *, lit: bool) -> bool:
        """Whether a lamp that the goal could mean (``lit``: one that is on) is known to be at the player's place."""
        lamps = [item for item in belief.items if item.kind == goal.lamp and (item.lit or not lit)]
        return any(belief.is_here(holder.name) for lamp in lamps for holder in belief.holders(lamp.name))

    @cached_property
    def missing(self) -> tuple[str, ...] | None:
        """Of a goal that is no `Goal`, such as one of several things, the kinds that were never seen; None if it is unclear."""
        if self.goal or self.guessed or self.started is None or self._household is None:
            return None
        topic = self._household.topic(self.started.goal, sorted(self.belief.kinds))
        if topic is None or topic.type != self.started.type:
            return None
        return tuple(sorted(topic.kinds - {one.kind for one in (*self.belief.receptacles, *self.belief.items)}))

    @cached_property
    def errands(self) -> Mapping[str, Errand]:
        """Of a goal that is no `Goal`, where each kind of thing belongs and what is there; empty if that is unclear."""
        if self.missing is None or self.started is None or self._household is None:
            return {}
        steps = self._household.steps(self.started.goal) or ()
        puts = Counter((step.object, step.place) for step in steps if step.action == "put" and step.object and step.place)
        return {thing: Errand(place, count, self._there(thing, place)) for (thing, place), count in puts.items()}

    def _there(self, thing: str, place: str) -> int:
        """How many things of a kind are believed in the receptacle of this kind that has most of them."""
        holders = [self.belief.inside(one) for one in self.belief.receptacles if one.kind == place]
        return max((sum(kind(name) == thing for name in names) for names in holders), default=0)

    @cached_property
    def unseen(self) -> int:
        """How many receptacles were never looked into."""
        return len(self.belief.unsearched)

    def put_in(self, command: str, held: str) -> str:
        """Where ``command`` would put what is held; empty if it would not."""
        patterns = self._household.commands.puts if self._household else ()
        leads = (pattern.format(thing=held, place="") for pattern in patterns)
        return next((command[len(lead) :] for lead in leads if command.startswith(lead)), "")

    def tried(self, verb: str) -> int:
        """How many commands with this verb were refused."""
        return sum(step.command.split(" ")[0] == verb and not step.accepted for step in self.steps)
