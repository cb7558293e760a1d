"""Classify why an episode was not won, by rules over its events, with the turn at which it was lost.

The rules read what a player could read (the goal sentence, and observation text as a belief), never hidden state. The first
that applies gives the class, in this order:

1. What broke (``model``, ``world``, ...), and ``stopped``.
2. ``unreadable``: no reply could be read in at least half of the turns, so the others say little.
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
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Literal

from agent.episodes.events import Ended, Event, branch
from agent.evaluation.analysis.case import EpisodeCase, ObjectHistory
from worlds.errors import shown
from worlds.household.belief import kind
from worlds.household.goals import Goal, Treatment

FailureKind = Literal[
    "not_found",
    "wrong_object",
    "forgot_clean",
    "forgot_heat",
    "forgot_cool",
    "forgot_light",
    "wrong_place",
    "gave_up",
    "looped",
    "out_of_turns",
    "unreadable",
    "stopped",
    "model",
    "world",
    "agent",
    "knowledge",
    "configuration",
    "unknown",
]

LABELS: dict[FailureKind, str] = {
    "not_found": "never found the object",
    "wrong_object": "took the wrong object",
    "forgot_clean": "forgot to clean it",
    "forgot_heat": "forgot to heat it",
    "forgot_cool": "forgot to cool it",
    "forgot_light": "forgot the light",
    "wrong_place": "put it in the wrong place",
    "gave_up": "gave up",
    "looped": "went round in circles",
    "out_of_turns": "ran out of turns on the way",
    "unreadable": "its replies could not be read",
    "stopped": "stopped by a person",
    "model": "the model failed",
    "world": "the world failed",
    "agent": "a fault in the agent",
    "knowledge": "the rules could not be read",
    "configuration": "wrongly configured",
    "unknown": "not known why",
}
"""Each class in a few words, in the order of tables."""

LEAST_LOOP = 6
LOOP_SHARE = 5
"""A loop takes at least the last fifth of an episode."""
PATIENCE = 8
"""How many turns an object may be held before its treatment counts as forgotten: going, opening and treating takes three."""
LONGEST = 240
"""The most characters of a quoted reason or message."""

_FORGOT: dict[Treatment, FailureKind] = {"clean": "forgot_clean", "heat": "forgot_heat", "cool": "forgot_cool"}
_DONE: dict[Treatment, str] = {"clean": "cleaned", "heat": "heated", "cool": "cooled"}


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
        return LABELS[self.kind]


def failure_of(events: Sequence[Event]) -> Failure | None:
    """Classify the episode of these ``events``, on the branch that was played on; None if it was won or has not ended.

    Any sequence of events gives exactly one class.
    """
    played = branch(events)
    ended = next((event.body for event in reversed(played) if isinstance(event.body, Ended)), None)
    if ended is None or ended.outcome == "won":
        return None
    case = EpisodeCase(played, ended)
    return next(found for rule in _RULES if (found := rule(case)))


def _broke(case: EpisodeCase) -> Failure | None:
    if case.ended.outcome != "error":
        return None
    told = shown(case.ended.message or case.ended.reason, LONGEST)[1:-1]
    return Failure(case.ended.boundary or "unknown", case.last, _sentence(told))


def _stopped(case: EpisodeCase) -> Failure | None:
    if case.ended.outcome != "stopped":
        return None
    return Failure("stopped", case.last, f"It was stopped after {_turns(case.last)}.")


def _unreadable(case: EpisodeCase) -> Failure | None:
    if not case.unread or 2 * len(case.unread) < case.last:
        return None
    return Failure("unreadable", case.unread[0], f"No reply could be read in {len(case.unread)} of the {_turns(case.last)}.")


def _inconsistent(case: EpisodeCase) -> Failure | None:
    """The text says that the goal was reached, so the engine or the record is not the game's own."""
    if case.goal is None or not case.met(case.goal):
        return None
    return _failure(case, "unknown", case.last, "as far as the text tells, all that the goal asks for was done.")


def _wrong_object(case: EpisodeCase) -> Failure | None:
    goal = case.goal
    if goal is None:
        return None
    right = case.right(goal)
    if any(thing.taken for thing in right):
        return _another(case, goal, right)
    wrong = [thing for thing in case.things.values() if thing.taken and kind(thing.name) != goal.object]
    for thing in sorted(wrong, key=lambda one: one.taken or 0):
        if then := _misused(case, goal, thing):
            words = f"{thing.name} was taken in turn {thing.taken} and {then}; the task is about {_a(goal.object)}."
            return _failure(case, "wrong_object", thing.taken or 0, words)
    return None


def _misused(case: EpisodeCase, goal: Goal, thing: ObjectHistory) -> str:
    """How a wrong object was treated as if it were the right one; empty if it was not."""
    if thing.where and kind(thing.where) == goal.receptacle:
        return f"put in {thing.where}"
    if goal.treatment and thing.treated:
        return _DONE[goal.treatment]
    if goal.lamp and case.belief.held == thing.name and case.lamp_here(case.belief, goal, lit=True):
        return f"held under the {goal.lamp}"
    return ""


def _another(case: EpisodeCase, goal: Goal, right: Sequence[ObjectHistory]) -> Failure | None:
    """One object was treated, and another of its kind delivered."""
    ready = [thing for thing in right if goal.treatment and case.ready(thing)]
    there = [one for one in right if one not in ready and one.where and kind(one.where) == goal.receptacle]
    if not (ready and there):
        return None
    done = _DONE[goal.treatment or "clean"]
    return _failure(
        case,
        "wrong_object",
        there[0].put,
        f"{there[0].name} was put in {there[0].where} in turn {there[0].put}, but {ready[0].name} is the one that was {done}.",
    )


def _forgot(case: EpisodeCase) -> Failure | None:
    goal, treatment = case.goal, case.treatment
    if goal and goal.lamp:
        return _forgot_light(case, goal)
    if treatment is None:
        return None
    meant = case.right(goal) if goal else list(case.things.values())
    if any(case.ready(thing) for thing in meant):
        return None
    put = [thing for thing in meant if thing.where]
    if not put:
        return None
    # The one delivered untreated, if any; else the one that was put down last.
    thing = max(put, key=lambda one: (goal is not None and kind(one.where or "") == goal.receptacle, one.put))
    undone = f"and is no longer {case.treatment}" if thing.treated else f"never {_DONE[treatment]}{_in_vain(case, treatment)}"
    words = f"{thing.name} was found in turn {thing.seen} and put in {thing.where} in turn {thing.put}, {undone}."
    return _failure(case, _FORGOT[treatment], thing.put, words)


def _forgot_light(case: EpisodeCase, goal: Goal) -> Failure | None:
    if any(lamp.lit for lamp in case.lamps(goal)):
        return None
    for step, belief in zip(case.steps[:-1], case.beliefs[1:], strict=False):
        if belief.held and kind(belief.held) == goal.object and case.lamp_here(belief, goal, lit=False):
            words = f"{belief.held} was held beside the {goal.lamp} in turn {step.turn}, which was not turned on."
            return _failure(case, "forgot_light", step.turn, words)
    return None


def _wrong_place(case: EpisodeCase) -> Failure | None:
    goal = case.goal
    if goal is None:
        return None
    if case.belief.held and kind(case.belief.held) == goal.object:
        return _refused_place(case, goal, case.belief.held)
    put = [thing for thing in case.right(goal) if thing.where and case.ready(thing)]
    astray = [thing for thing in put if kind(thing.where or "") != goal.receptacle]
    if astray:
        thing = max(astray, key=lambda one: one.put)
        wanted = f"it was to be held under the {goal.lamp}" if goal.lamp else f"it belongs in {_a(goal.receptacle or '')}"
        words = f"{thing.name} was put in {thing.where} in turn {thing.put}; {wanted}."
        return _failure(case, "wrong_place", thing.put, words)
    if put and goal.count > 1 and sum(map(len, case.settled(goal))) >= goal.count:
        thing = max(put, key=lambda one: one.put)
        words = f"{thing.name} was put in {thing.where} in turn {thing.put}, the other one elsewhere; they belong together."
        return _failure(case, "wrong_place", thing.put, words)
    return None


def _refused_place(case: EpisodeCase, goal: Goal, held: str) -> Failure | None:
    """The world refused to put the held object in a wrong place, and it was never put in a right one."""
    lead = f"move {held} to "
    tries = [step for step in case.steps if step.command.startswith(lead) and not step.accepted]
    right = any(kind(step.command[len(lead) :]) == goal.receptacle for step in tries)
    if goal.lamp or right or not tries or not case.ready(case.things[held]):
        return None
    place, turn = shown(tries[0].command[len(lead) :], 60)[1:-1], tries[0].turn
    words = f"{held} was to be put in {place} in turn {turn}, which was refused; it belongs in {_a(goal.receptacle or '')}."
    return _failure(case, "wrong_place", turn, words)


def _gave_up(case: EpisodeCase) -> Failure | None:
    if not case.ended.reason.startswith("gave up"):
        return None
    return _failure(
        case, "gave_up", case.last, _sentence(f"after {_turns(case.last)} it {shown(case.ended.reason, LONGEST)[1:-1]}")
    )


def _looped(case: EpisodeCase) -> Failure | None:
    done: set[tuple[str, str]] = set()
    again: list[bool] = []
    moves = _moves(case)
    for move in moves:
        again.append((move.command, move.answer) in done)
        done.add((move.command, move.answer))
    length = sum(takewhile(bool, reversed(again)))
    if length < max(LEAST_LOOP, len(again) / LOOP_SHARE) or _searched_in_vain(case):
        return None
    tail = moves[-length:]
    command, times = Counter(move.command or move.answer for move in tail).most_common(1)[0]
    most = f" ({shown(command, 60)[1:-1]}, {times} times)" if times > 1 else ""
    far = f"; {_so_far(case)}" if case.goal else ""
    words = f"from turn {tail[0].turn} on it only repeated what it had done before{most}{far}."
    return _failure(case, "looped", tail[0].turn, words)


@dataclass(frozen=True, slots=True)
class _Move:
    """What a turn was used for: a command and its answer, or no command and why."""

    turn: int
    command: str
    answer: str


def _moves(case: EpisodeCase) -> list[_Move]:
    moves = [_Move(step.turn, step.command, step.observation) for step in case.steps]
    moves += [_Move(body.turn, "", body.reason or "") for body in case.idle]
    return sorted(moves, key=lambda move: move.turn)


def _searched_in_vain(case: EpisodeCase) -> bool:
    return case.goal is not None and bool(_missing(case, case.goal)) and not case.unseen


def _missing(case: EpisodeCase, goal: Goal) -> str:
    """The objects and places of the goal that were never seen, in words; empty if all were."""
    seen = len(case.right(goal))
    if not seen:
        return f"no {goal.object}"
    if seen < goal.count:
        return f"only one {goal.object}"
    return f"no {goal.lamp}" if goal.lamp and not case.lamps(goal) else ""


def _kept(case: EpisodeCase) -> Failure | None:
    """The hand was full of something else, so that nothing right could be taken."""
    goal, held = case.goal, case.things.get(case.belief.held or "")
    if goal is None or held is None or kind(held.name) == goal.object or case.last - held.since < PATIENCE:
        return None
    words = f"{held.name} was taken in turn {held.since} and kept to the end; the task is about {_a(goal.object)}."
    return _failure(case, "wrong_object", held.since, words)


def _not_found(case: EpisodeCase) -> Failure | None:
    missing = _missing(case, case.goal) if case.goal else ""
    if not missing:
        return None
    total = len(case.belief.receptacles)
    rest = (
        f"{case.unseen} of {total} places {'was' if case.unseen == 1 else 'were'} never looked into"
        if case.unseen
        else "every place was looked into"
    )
    return _failure(case, "not_found", case.last, f"{missing} was seen in {_turns(case.last)}; {rest}.")


def _neglected(case: EpisodeCase) -> Failure | None:
    goal, held = case.goal, case.things.get(case.belief.held or "")
    if goal is None or held is None or held.taken is None or kind(held.name) != goal.object:
        return None
    if case.last - held.since < PATIENCE:
        return None
    words = f"{held.name} was found in turn {held.seen}, taken in turn {held.taken}, and"
    if (treatment := goal.treatment) and not case.ready(held):
        return _failure(case, _FORGOT[treatment], held.taken, f"{words} never {_DONE[treatment]}{_in_vain(case, treatment)}.")
    if goal.lamp and not any(lamp.lit for lamp in case.lamps(goal)):
        return _failure(case, "forgot_light", held.taken, f"{words} no {goal.lamp} was turned on.")
    return None


def _out_of_turns(case: EpisodeCase) -> Failure:
    refused = sum(not step.accepted for step in case.steps)
    many = f" {refused} of its {len(case.steps)} commands were refused." if 2 * refused > len(case.steps) else ""
    far = _so_far(case) or "what was missing cannot be told, for the goal could not be read"
    return _failure(case, "out_of_turns", case.last, f"the {_turns(case.last)} were over: {far}.{many}")


def _so_far(case: EpisodeCase) -> str:
    """How far the episode got, in words; empty where unknown."""
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
        return f"{put.name} was put in {put.where} in turn {put.put}, and another was still to come"
    first = min(right, key=lambda one: one.seen)
    return f"{first.name} was seen in turn {first.seen} and was still to be taken"


Rule = Callable[[EpisodeCase], Failure | None]
_RULES: tuple[Rule, ...] = (
    _broke,
    _stopped,
    _unreadable,
    _inconsistent,
    _wrong_object,
    _forgot,
    _wrong_place,
    _gave_up,
    _looped,
    _kept,
    _not_found,
    _neglected,
    _out_of_turns,
)


def _failure(case: EpisodeCase, kind: FailureKind, turn: int, words: str) -> Failure:
    """The failure with its sentence, which says so if the goal was guessed."""
    words = f"{words[:1].upper()}{words[1:]}"
    guess = f" (The goal was guessed: {case.goal}.)" if case.guessed and case.goal else ""
    return Failure(kind, turn, f"{words}{guess}")


def _in_vain(case: EpisodeCase, treatment: Treatment) -> str:
    tried = case.tried(treatment)
    return f" (tried in vain {tried} {'time' if tried == 1 else 'times'})" if tried else ""


def _turns(number: int) -> str:
    return f"{number} turn{'' if number == 1 else 's'}"


def _a(name: str) -> str:
    return f"{'an' if name[:1] in 'aeiou' else 'a'} {name}"


def _sentence(text: str) -> str:
    text = text.strip() or "it ended without a word"
    return f"{text[:1].upper()}{text[1:].removesuffix('.')}."
