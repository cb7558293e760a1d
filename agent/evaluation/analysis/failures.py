"""Classify why an episode was not won, by rules over its events, with the turn at which it was lost.

The rules read what a player could read (the goal sentence, and observation text as a belief), never hidden state. The first
that applies gives the class, in this order:

1. What broke (``model``, ``world``, ...), and ``stopped``.
2. ``unreadable``: no reply could be read in at least half of the turns, so the others say little; or such replies ended it, or
   filled the model's context. A robot that sees says itself what went wrong: what its last skill failed for, else what
   happened most.
3. Mistakes that still stood at the end, the first link of the chain object, step, place first: ``wrong_object``, ``forgot_*``,
   ``wrong_place``. They say more than how the episode ended: after delivering a cold egg a player may wander, repeat commands
   or give up.
4. ``gave_up``: the player said so.
5. ``looped``: the last stretch only repeated commands with the answers they had before, or idled for the same reason. It comes
   before ``not_found`` because it is where the turns went, and does not count after a whole house was searched in vain.
6. What was left undone: ``wrong_object`` where the hand was long full of something else, ``not_found``, ``forgot_*`` where the
   object was held long, else ``out_of_turns``.

In LoTa-Bench's terms (table 1), action planning failures are ``forgot_*`` and object selection failures ``wrong_object``; in
OPEx's (table 4), goal object not found is ``not_found`` and language processing errors are ``unreadable``. Both have a class
for attempts at closed receptacles and the like; here these are refused commands, which an episode survives, or ``looped``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from itertools import islice, takewhile
from typing import Self

from housequest.agent.episodes import events
from housequest.agent.episodes.emitter import FILLED, UNREAD
from housequest.agent.episodes.events import Ended, Event, Planned, Started, Stepped, Thought, TurnSpent, branch
from housequest.worlds.errors import unquoted
from housequest.worlds.household.belief import Belief, Item, kind
from housequest.worlds.household.goals import TYPES, Goal, Treatment
from housequest.worlds.registry import household, info_of
from housequest.worlds.text import many, with_article

REPLANNING = "replanning"
"""The error mode of a plan that was made again."""
_BY_TYPE: dict[str, Treatment | None] = {name: Goal(name, "").treatment for name in TYPES.values()}
LEAST_LOOP = 6
LOOP_SHARE = 5
"""A loop takes at least the last fifth of an episode."""
PATIENCE = 8
"""Turns that an object may be held before its treatment counts as forgotten: going, opening and treating takes three."""
LONGEST = 240
"""The most characters of a quoted reason or message."""
_DONE: dict[Treatment, str] = {"clean": "cleaned", "heat": "heated", "cool": "cooled"}


class LotaClass(StrEnum):
    """LoTa-Bench's six classes of failure (Choi et al., ICLR 2024, table 1), in its order and in few words. People assigned
    them there, and rules do here. Of a game they follow from its `FailureKind`: a text world has no space to run out of, and
    what somebody meant is not in it, so three of them are never told. Of a whole plan all six are, where it is scored.
    """

    PLANNING = "action planning"
    SELECTION = "object selection"
    SEEING = "absence of visual grounding"
    PHYSICS = "lack of physical understanding"
    MISUNDERSTOOD = "misunderstood instruction"
    AMBIGUOUS = "ambiguous or incorrect instruction"


class FailureKind(StrEnum):
    """Why an episode was not won; ``label`` says it in a few words, ``lota`` is its class there. In the order of tables."""

    label: str
    lota: LotaClass | None

    NOT_FOUND = "not_found", "never found the object", LotaClass.SEEING
    WRONG_OBJECT = "wrong_object", "took the wrong object", LotaClass.SELECTION
    FORGOT_CLEAN = "forgot_clean", "forgot to clean it", LotaClass.PLANNING
    FORGOT_HEAT = "forgot_heat", "forgot to heat it", LotaClass.PLANNING
    FORGOT_COOL = "forgot_cool", "forgot to cool it", LotaClass.PLANNING
    FORGOT_LIGHT = "forgot_light", "forgot the light", LotaClass.PLANNING
    WRONG_PLACE = "wrong_place", "put it in the wrong place", LotaClass.SELECTION
    GAVE_UP = "gave_up", "gave up", LotaClass.PLANNING
    LOOPED = "looped", "went round in circles", LotaClass.PLANNING
    COLLIDED = "collided", "bumped into things"
    NOT_ACTED_ON = "not_acted_on", "failed to act on things"
    NOT_OPENED = "not_opened", "left closed what may hold it"
    PLANNER = "planner", "the plan could not be carried out", LotaClass.PLANNING
    REPLANNED = "replanned", "planned again and again in vain", LotaClass.PLANNING
    OUT_OF_TURNS = "out_of_turns", "ran out of turns on the way", LotaClass.PLANNING
    UNREADABLE = "unreadable", "its replies could not be read"
    STOPPED = "stopped", "stopped by a person"
    MODEL = "model", "the model failed"
    WORLD = "world", "the world failed"
    AGENT = "agent", "a fault in the agent"
    KNOWLEDGE = "knowledge", "the rules could not be read"
    CONFIGURATION = "configuration", "wrongly configured"
    UNKNOWN = "unknown", "not known why"

    def __new__(cls, value: str, label: str, lota: LotaClass | None = None) -> Self:
        """Each member is its name in records, with its label."""
        kind = str.__new__(cls, value)
        kind._value_, kind.label, kind.lota = value, label, lota
        return kind


@dataclass(frozen=True, slots=True)
class Failure:
    """Why an episode was not won: the class, the ``turn`` at which it was lost (from 1; 0: before the first), and a sentence
    for a person, which may quote the model.
    """

    kind: FailureKind
    turn: int
    words: str

    @property
    def label(self) -> str:
        """The class in a few words."""
        return self.kind.label


def failure_of(events: Sequence[Event]) -> Failure | None:
    """The class of an episode's ``events``, on the branch that was played on; None if it was won or has not ended."""
    played = branch(events)
    ended = next((event.body for event in reversed(played) if isinstance(event.body, Ended)), None)
    if ended is None or ended.outcome == "won":
        return None
    if ended.outcome == "lost" and any(event.player is not None for event in played):
        return _together(played, ended)
    return next(_failures(EpisodeCase(played, ended)))


def _together(played: Sequence[Event], ended: Ended) -> Failure:
    """Classify a lost game of several players, only by rules about all of them."""
    believed = tuple(events.with_beliefs(played))
    names = dict.fromkeys(event.player for event in believed if event.player is not None)
    cases = [EpisodeCase([one for one in believed if one.player in (None, name)], ended) for name in names]
    last = max(case.last for case in cases)
    if ended.reason == FILLED or ended.reason.startswith(UNREAD):
        return Failure(FailureKind.UNREADABLE, last, f"Nobody's replies could be read any more: {unquoted(ended.reason)}.")
    if ended.reason.startswith("gave up"):
        return Failure(FailureKind.GAVE_UP, last, f"All of them gave up; the last one {unquoted(ended.reason, LONGEST)}.")
    if len(looped := [failure for case in cases for failure in islice(_looped(case), 1)]) == len(cases):
        start = max(one.turn for one in looped)
        return Failure(FailureKind.LOOPED, start, f"From round {start} on they only repeated themselves.")
    known = [step for case in cases for step in case.steps if step.met is not None]
    end = max(known, key=lambda step: (step.turn, step.met or 0), default=None)
    held = f": {end.met} of {many(end.conditions or 0, 'goal condition')} held" if end is not None else ""
    return Failure(FailureKind.OUT_OF_TURNS, last, f"The {many(last, 'round')} were over{held}.")


def _by_camera(case: EpisodeCase) -> Failure:
    """Classify an episode by the error modes that a robot that sees reported, in OPEx's terms (table 4)."""
    last, reason = case.modes[-1]
    counted = Counter(mode for mode, _ in case.modes)
    # Who gives up on the last plan although no skill of it failed has planned too often.
    final = reason or (last == REPLANNING and case.ended.reason.startswith("gave up"))
    mode = last if final else counted.most_common(1)[0][0]
    often = ", ".join(f"{name} {many(number, 'time')}" for name, number in counted.items())
    words = f"{mode}{f' ({unquoted(reason, LONGEST)})' if reason else ''}; in all: {often}."
    return Failure(_MODES.get(mode, FailureKind.GAVE_UP), case.last, _sentence(words.rstrip(".")))


def _failures(case: EpisodeCase) -> Iterator[Failure]:
    """Apply the rules in their order; the first that matches counts."""
    ended, last, goal = case.ended, case.last, case.goal
    if ended.outcome == "error":
        told = unquoted(ended.message or ended.reason, LONGEST)
        yield Failure(FailureKind(ended.boundary or "unknown"), last, _sentence(told))
    if ended.outcome == "stopped":
        yield Failure(FailureKind.STOPPED, last, f"It was stopped after {many(last, 'turn')}.")
    filled = ended.reason == FILLED
    if filled or ended.reason.startswith(UNREAD) or (case.unread and 2 * len(case.unread) >= last):
        words = f"No reply could be read in {len(case.unread)} of the {many(last, 'turn')}"
        words = f"{words}, and such replies filled the model's context." if filled else f"{words}."
        yield Failure(FailureKind.UNREADABLE, case.unread[0] if case.unread else last, words)
    if case.modes:
        yield _by_camera(case)
    if goal and case.met(goal):
        # The engine or the record is not the game's own.
        yield case.failure(FailureKind.UNKNOWN, last, "as far as the text tells, all that the goal asks for was done.")
    if goal:
        yield from _wrong_object(case, goal)
    yield from _forgot(case)
    if goal:
        yield from _wrong_place(case, goal)
    yield from _astray(case)
    if ended.reason.startswith("gave up"):
        words = _sentence(f"after {many(last, 'turn')} it {unquoted(ended.reason, LONGEST)}")
        yield case.failure(FailureKind.GAVE_UP, last, words)
    yield from _looped(case)
    if goal:
        yield from _left_undone(case, goal)
    if case.missing:
        yield _not_found(case, f"no {' and no '.join(case.missing)}")
    refused = sum(not step.accepted for step in case.steps)
    often = f" {refused} of its {len(case.steps)} commands were refused." if 2 * refused > len(case.steps) else ""
    unclear = "what was missing cannot be told, for the goal could not be read"
    seen = "all kinds of thing that the goal names were seen" if case.missing is not None else ""
    # How much of the goal held at the end, as the world counts it, and what was not brought where it belongs.
    end = case.steps[-1] if case.steps else None
    known = end is not None and end.met is not None
    held = f"{end.met} of {many(end.conditions, 'goal condition')} held" if end and known and end.conditions else ""
    left = [many(one.count - one.there, thing) for thing, one in case.errands.items() if one.there < one.count]
    to_bring = f"still to come: {', '.join(left)}" if left else ""
    far = _so_far(case) or ", and ".join(filter(None, (seen, held, to_bring))) or unclear
    yield case.failure(FailureKind.OUT_OF_TURNS, last, f"the {many(last, 'turn')} were over: {far}.{often}")


def of_games(lost: Mapping[FailureKind, Collection[object]]) -> dict[LotaClass, int]:
    """Count the games ``lost``, given by their own class, in each class. What broke, was stopped or could not be read is in
    none: no plan failed there, nor where a robot that sees only bumped into things, failed to act on them or left them closed.
    """
    return counted(kind.lota for kind, games in lost.items() for _ in games)


def counted(classes: Iterable[LotaClass | None]) -> dict[LotaClass, int]:
    """Count each class, in the paper's order, without those that do not occur."""
    counts = Counter(classes)
    return {each: counts[each] for each in LotaClass if counts[each]}


def told(counts: dict[LotaClass, int]) -> str:
    """The counts in a sentence; empty if there are none."""
    total = sum(counts.values())
    shares = ", ".join(f"{each} {count} ({count / total:.0%})" for each, count in counts.items())
    return f"In LoTa-Bench's classes: {shares}." if counts else ""


@dataclass(slots=True)
class ObjectHistory:
    """The history of one object: the turns in which it was first seen, first taken, last taken (``since``), last put somewhere
    and first treated. ``where`` is the receptacle that the player put it in; None once it is taken again.
    """

    name: str
    seen: int
    taken: int | None = None
    since: int = 0
    put: int = 0
    where: str | None = None
    treated: int | None = None

    @property
    def delivery(self) -> str:
        """The last place and turn in which it was put down, in words."""
        return f"{self.name} was put in {self.where} in turn {self.put}"


@dataclass(frozen=True, slots=True)
class Errand:
    """The ``count`` of things of a kind that belong in a ``place`` of this kind, and how many are ``there`` at the end."""

    place: str
    count: int
    there: int


def _modes(played: Sequence[Event]) -> Iterator[tuple[str, str]]:
    """The mistakes that a robot that sees reported: error modes with their reasons, and each plan that it made again."""
    started = next((event.body for event in played if isinstance(event.body, Started)), None)
    for event in played:
        match event.body:
            case Thought(role=role, text=text) if role == events.POLICY:
                mode, _, reason = text.partition(":")
                yield mode, reason.strip()
            case Planned(revision=revision, reason=reason) if revision and started and info_of(started.world).pictured:
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
        self.beliefs = [event.belief for event in events.with_beliefs(played) if event.belief is not None]
        self.belief = self.beliefs[-1] if self.beliefs else Belief()
        self.goal, self.guessed = self._goal()
        # The task's type gives the object's treatment where the goal cannot be read.
        by_type = _BY_TYPE.get(self.started.type) if self.started else None
        self.treatment: Treatment | None = self.goal.treatment if self.goal else by_type
        self.things = self._things()
        if self.goal and self.guessed and self.met(self.goal):
            # The guess was wrong: it would have been won.
            self.goal = None

    def _goal(self) -> tuple[Goal | None, bool]:
        """The goal, and whether it is a guess confirmed by the task's type."""
        if self.started is None or self._household is None:
            return None, False
        if read := self._household.read_goal(self.started.goal):
            return read, False
        guess = self._household.read_goal(self.started.goal, sorted(self.beliefs[0].kinds))
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
        """True if the object is known to have had the goal's treatment."""
        return item is not None and self.treatment is not None and item.treated(self.treatment)

    def ready(self, thing: ObjectHistory) -> bool:
        """True if the object is known to need nothing but its place at the end."""
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
        """True if the whole goal is believed to hold at the end."""
        if goal.lamp:
            held = self.belief.held
            return held is not None and kind(held) == goal.object and self.lamp_here(self.belief, goal, lit=True)
        return any(len(there) >= goal.count for there in self.settled(goal))

    def lamp_here(self, belief: Belief, goal: Goal, *, lit: bool) -> bool:
        """True if a lamp that the goal could mean (``lit``: one that is on) is known to be at the player's place."""
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
        put = ((step.object, step.receptacle) for step in steps if step.verb == "put")
        puts = Counter((thing, place) for thing, place in put if thing and place)
        # What is believed in each receptacle: of those of one kind, that which has most of the things counts.
        inside = [(one.kind, Counter(map(kind, self.belief.inside(one)))) for one in self.belief.receptacles]
        there = {(thing, place): max((of[thing] for at, of in inside if at == place), default=0) for thing, place in puts}
        return {thing: Errand(place, count, there[thing, place]) for (thing, place), count in puts.items()}

    def put_in(self, command: str, held: str) -> str:
        """The place where ``command`` would put what is held; empty if it would not."""
        patterns = self._household.commands.puts if self._household else ()
        leads = (pattern.format(thing=held, place="") for pattern in patterns)
        return next((command[len(lead) :] for lead in leads if command.startswith(lead)), "")

    def failure(self, kind: FailureKind, turn: int, words: str) -> Failure:
        """The failure with its sentence, which says so if the goal was guessed."""
        guess = f" (The goal was guessed: {self.goal}.)" if self.guessed and self.goal else ""
        return Failure(kind, turn, f"{words[:1].upper()}{words[1:]}{guess}")


_MODES = {
    "not found": FailureKind.NOT_FOUND,
    "collision": FailureKind.COLLIDED,
    "interaction failed": FailureKind.NOT_ACTED_ON,
    "closed receptacle": FailureKind.NOT_OPENED,
    "planner's fault": FailureKind.PLANNER,
    REPLANNING: FailureKind.REPLANNED,
}
"""The class of each error mode of a robot that sees."""


def _wrong_object(case: EpisodeCase, goal: Goal) -> Iterator[Failure]:
    right = case.right(goal)
    if not any(thing.taken for thing in right):
        wrong = [thing for thing in case.things.values() if thing.taken and kind(thing.name) != goal.object]
        for thing in sorted(wrong, key=lambda one: one.taken or 0):
            if then := _misused(case, goal, thing):
                words = f"{thing.name} was taken in turn {thing.taken} and {then}; {_about(goal.object)}."
                yield case.failure(FailureKind.WRONG_OBJECT, thing.taken or 0, words)
        return
    # One object was treated, and another of its kind delivered.
    ready = [thing for thing in right if goal.treatment and case.ready(thing)]
    there = [one for one in right if one not in ready and one.where and kind(one.where) == goal.receptacle]
    if ready and there:
        words = f"{there[0].delivery}, but {ready[0].name} is the one that was {_DONE[goal.treatment or 'clean']}."
        yield case.failure(FailureKind.WRONG_OBJECT, there[0].put, words)


def _misused(case: EpisodeCase, goal: Goal, thing: ObjectHistory) -> str:
    """The way in which a wrong object was used as if it were the right one; empty if it was not."""
    if thing.where and kind(thing.where) == goal.receptacle:
        return f"put in {thing.where}"
    if goal.treatment and thing.treated:
        return _DONE[goal.treatment]
    if goal.lamp and case.belief.held == thing.name and case.lamp_here(case.belief, goal, lit=True):
        return f"held under the {goal.lamp}"
    return ""


def _forgot(case: EpisodeCase) -> Iterator[Failure]:
    goal, treatment = case.goal, case.treatment
    if goal and goal.lamp and not any(lamp.lit for lamp in case.lamps(goal)):
        for step, belief in zip(case.steps[:-1], case.beliefs[1:], strict=False):
            if belief.held and kind(belief.held) == goal.object and case.lamp_here(belief, goal, lit=False):
                words = f"{belief.held} was held beside the {goal.lamp} in turn {step.turn}, which was not turned on."
                yield case.failure(FailureKind.FORGOT_LIGHT, step.turn, words)
    meant = case.right(goal) if goal else list(case.things.values())
    put = [thing for thing in meant if thing.where]
    if treatment and put and not any(case.ready(thing) for thing in meant):
        # The one delivered untreated, if any; else the one that was put down last.
        thing = max(put, key=lambda one: (goal is not None and kind(one.where or "") == goal.receptacle, one.put))
        undone = f"and is no longer {treatment}" if thing.treated else f"never {_DONE[treatment]}{_in_vain(case, treatment)}"
        words = f"{thing.name} was found in turn {thing.seen} and put in {thing.where} in turn {thing.put}, {undone}."
        yield case.failure(FailureKind(f"forgot_{treatment}"), thing.put, words)


def _wrong_place(case: EpisodeCase, goal: Goal) -> Iterator[Failure]:
    held, belongs = case.belief.held, f"it belongs in {with_article(goal.receptacle or '')}"
    if held and kind(held) == goal.object:
        # The world refused to put it in a wrong place, and it was never put in a right one.
        tries = [(step.turn, place) for step in case.steps if not step.accepted and (place := case.put_in(step.command, held))]
        right = any(kind(place) == goal.receptacle for _, place in tries)
        if tries and not right and not goal.lamp and case.ready(case.things[held]):
            turn, place = tries[0]
            words = f"{held} was to be put in {unquoted(place, 60)} in turn {turn}, which was refused; {belongs}."
            yield case.failure(FailureKind.WRONG_PLACE, turn, words)
        return
    put = [thing for thing in case.right(goal) if thing.where and case.ready(thing)]
    astray = [thing for thing in put if kind(thing.where or "") != goal.receptacle]
    if astray:
        thing = max(astray, key=lambda one: one.put)
        wanted = f"it was to be held under the {goal.lamp}" if goal.lamp else belongs
        yield case.failure(FailureKind.WRONG_PLACE, thing.put, f"{thing.delivery}; {wanted}.")
    elif put and goal.count > 1 and sum(map(len, case.settled(goal))) >= goal.count:
        thing = max(put, key=lambda one: one.put)
        words = f"{thing.delivery}, the other one elsewhere; they belong together."
        yield case.failure(FailureKind.WRONG_PLACE, thing.put, words)


def _astray(case: EpisodeCase) -> Iterator[Failure]:
    """Of several things that belong somewhere, one was put elsewhere; or another was put there in its stead."""
    short = {thing: errand for thing, errand in case.errands.items() if errand.there < errand.count}
    put = sorted((thing for thing in case.things.values() if thing.where), key=lambda one: one.put)
    for thing in put:
        errand = short.get(kind(thing.name))
        if errand and kind(thing.where or "") != errand.place:
            words = f"{thing.delivery}; it belongs in {with_article(errand.place)}."
            yield case.failure(FailureKind.WRONG_PLACE, thing.put, words)
    taken = {kind(thing.name) for thing in case.things.values() if thing.taken}
    never = [name for name in short if name not in taken]
    for thing in put:
        if never and kind(thing.name) not in case.errands and kind(thing.where or "") in {short[name].place for name in never}:
            yield case.failure(FailureKind.WRONG_OBJECT, thing.put, f"{thing.delivery}; {_about(never[0])}.")


def _looped(case: EpisodeCase) -> Iterator[Failure]:
    # What each turn was used for: a command and its answer, or no command and why.
    moves = [(step.turn, step.command, step.observation) for step in case.steps]
    moves += [(body.turn, "", body.reason or "") for body in case.idle]
    moves.sort(key=lambda move: move[0])
    done: set[tuple[str, str]] = set()
    again: list[bool] = []
    for _, command, answer in moves:
        again.append((command, answer) in done)
        done.add((command, answer))
    length = sum(takewhile(bool, reversed(again)))
    in_vain = case.goal and _missing(case, case.goal) and not case.belief.unsearched
    if length < max(LEAST_LOOP, len(again) / LOOP_SHARE) or in_vain:
        return
    start, tail = moves[-length][0], moves[-length:]
    command, times = Counter(command or answer for _, command, answer in tail).most_common(1)[0]
    most = f" ({unquoted(command, 60)}, {times} times)" if times > 1 else ""
    far = f"; {_so_far(case)}" if case.goal else ""
    words = f"from turn {start} on it only repeated what it had done before{most}{far}."
    yield case.failure(FailureKind.LOOPED, start, words)


def _missing(case: EpisodeCase, goal: Goal) -> str:
    """The objects and places of the goal that were never seen, in words; empty if all were."""
    seen = len(case.right(goal))
    if not seen:
        return f"no {goal.object}"
    if seen < goal.count:
        return f"only one {goal.object}"
    return f"no {goal.lamp}" if goal.lamp and not case.lamps(goal) else ""


def _not_found(case: EpisodeCase, missing: str) -> Failure:
    rest = "every place was looked into"
    if unseen := len(case.belief.unsearched):
        never = f"{'was' if unseen == 1 else 'were'} never looked into"
        rest = f"{unseen} of {len(case.belief.receptacles)} places {never}"
    return case.failure(FailureKind.NOT_FOUND, case.last, f"{missing} was seen in {many(case.last, 'turn')}; {rest}.")


def _left_undone(case: EpisodeCase, goal: Goal) -> Iterator[Failure]:
    held = case.things.get(case.belief.held or "")
    patient = held is None or case.last - held.since < PATIENCE
    if held and not patient and kind(held.name) != goal.object:
        words = f"{held.name} was taken in turn {held.since} and kept to the end; {_about(goal.object)}."
        yield case.failure(FailureKind.WRONG_OBJECT, held.since, words)
    if missing := _missing(case, goal):
        yield _not_found(case, missing)
    if held and held.taken is not None and not patient:
        words = f"{held.name} was found in turn {held.seen}, taken in turn {held.taken}, and"
        if (treatment := goal.treatment) and not case.ready(held):
            words = f"{words} never {_DONE[treatment]}{_in_vain(case, treatment)}."
            yield case.failure(FailureKind(f"forgot_{treatment}"), held.taken, words)
        elif goal.lamp and not any(lamp.lit for lamp in case.lamps(goal)):
            yield case.failure(FailureKind.FORGOT_LIGHT, held.taken, f"{words} no {goal.lamp} was turned on.")


def _so_far(case: EpisodeCase) -> str:
    """The progress of the episode, in words; empty where unknown."""
    goal = case.goal
    if goal is None:
        return ""
    right = case.right(goal)
    if not right:
        return f"no {goal.object} was seen"
    held = next((thing for thing in right if thing.name == case.belief.held), None)
    if held:
        treated = f" and {_DONE[goal.treatment]}" if goal.treatment and case.ready(held) else ""
        return f"{held.name}, found in turn {held.seen}{treated}, was in the hand"
    if put := max((thing for thing in right if thing.where), key=lambda one: one.put, default=None):
        return f"{put.delivery}, and another was still to come"
    first = min(right, key=lambda one: one.seen)
    return f"{first.name} was seen in turn {first.seen} and was still to be taken"


def _about(thing: str) -> str:
    return f"the task is about {with_article(thing)}"


def _in_vain(case: EpisodeCase, treatment: Treatment) -> str:
    tried = sum(step.command.split(" ")[0] == treatment and not step.accepted for step in case.steps)
    return f" (tried in vain {many(tried, 'time')})" if tried else ""


def _sentence(text: str) -> str:
    text = text.strip() or "it ended without a word"
    return f"{text[:1].upper()}{text[1:].removesuffix('.')}{'' if text.endswith('…') else '.'}"
