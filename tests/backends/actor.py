"""An actor that does what a plan says and nothing else: it knows the forms of a step, and not what for."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache

from housequest.worlds.alfworld.text import begin, update
from housequest.worlds.base import Observation, Transition
from housequest.worlds.household.belief import Belief, Receptacle, kind

_FIND = re.compile(r"find (?P<which>a|another) (?P<thing>\w+): look in or on (?P<places>.+)")
_TAKE = re.compile(r"take (?P<which>the|another) (?P<thing>\w+)")
_TREAT = re.compile(r"(?P<verb>heat|cool|clean) the (?P<thing>\w+) with the (?P<place>\w+)")
_PUT = re.compile(r"put the (?P<thing>\w+) in or on the (?P<place>\w+)")
_USE = re.compile(r"use the (?P<thing>\w+)")


@dataclass(frozen=True)
class State:
    """How far the plan is carried out, and what is known by then. ``put`` is where something was put down last."""

    belief: Belief
    plan: tuple[str, ...] = ()
    step: int = 0
    put: str | None = None
    refused: frozenset[str] = field(default_factory=frozenset[str])


def follow(opening: Observation, told: Sequence[tuple[tuple[Transition, ...], tuple[str, ...] | None]]) -> str:
    """The reply to a conversation: ``told`` holds what was executed and the plan shown, message by message."""
    state = _followed(opening, tuple(told))
    if state.step >= len(state.plan):
        return f"Thought: every step of the plan is done.\nStep: {max(1, len(state.plan))}\nAction: stuck"
    step = state.plan[state.step]
    command = next((command for command in _commands(state, step) if command not in state.refused), None)
    thought = f"the plan says: {step.partition(':')[0]}" if command else f"there is no way to {step.partition(':')[0]}"
    return f"Thought: {thought}.\nStep: {state.step + 1}\nAction: {command or 'stuck'}"


@lru_cache(maxsize=4096)
def _followed(opening: Observation, told: tuple[tuple[tuple[Transition, ...], tuple[str, ...] | None], ...]) -> State:
    """The state after ``told``, which begins with what was told in the last request."""
    if not told:
        return State(begin(opening))
    state, (transitions, plan) = _followed(opening, told[:-1]), told[-1]
    for transition in transitions:
        state = _advance(_observed(state, transition))
    if plan is not None and plan != state.plan:
        state = _advance(replace(state, plan=plan, step=0))
    return state


def _observed(state: State, transition: Transition) -> State:
    belief = update(state.belief, transition.command, transition.observation)
    moved = re.fullmatch(r"move (.+) to (.+)", transition.command)
    if not transition.observation.accepted:
        learnt = belief != state.belief
        return replace(state, belief=belief, refused=state.refused if learnt else state.refused | {transition.command})
    done = moved is not None and state.step < len(state.plan) and _PUT.fullmatch(state.plan[state.step]) is not None
    return replace(state, belief=belief, put=moved[2] if moved else state.put, step=state.step + done)


def _advance(state: State) -> State:
    while state.step < len(state.plan) and _done(state, state.plan[state.step]):
        state = replace(state, step=state.step + 1)
    return state


def _done(state: State, step: str) -> bool:
    held = state.belief.item(state.belief.held)
    if found := _FIND.fullmatch(step):
        return (held is not None and held.kind == found["thing"]) or bool(_seen(state, found["thing"], found["which"]))
    if found := _TAKE.fullmatch(step):
        return held is not None and held.kind == found["thing"]
    if found := _TREAT.fullmatch(step):
        state_word = {"heat": "hot", "cool": "cool"}.get(found["verb"])
        return held is not None and (held.heat == state_word if state_word else bool(held.clean))
    return False


def _seen(state: State, thing: str, which: str) -> list[tuple[str, Receptacle]]:
    """The objects of a kind that were seen, with where; ``another`` is one that does not lie where the last was put."""
    holders = ((item.name, holder) for item in state.belief.items for holder in state.belief.holders(item.name))
    return [
        (name, holder)
        for name, holder in holders
        if kind(name) == thing and name != state.belief.held and not (which == "another" and holder.name == state.put)
    ]


def _commands(state: State, step: str) -> Iterator[str]:
    belief = state.belief
    if found := _FIND.fullmatch(step):
        for place in found["places"].split(", then "):
            for one in _of_kind(belief, place):
                if one.contents is None:
                    yield from _way(belief, one, f"examine {one.name}", inside=True)
    elif found := _TAKE.fullmatch(step):
        for name, holder in _seen(state, found["thing"], found["which"]):
            yield from _way(belief, holder, f"take {name} from {holder.name}", inside=True)
    elif found := _TREAT.fullmatch(step):
        for one in _of_kind(belief, found["place"]):
            yield from _way(belief, one, f"{found['verb']} {belief.held} with {one.name}")
    elif found := _PUT.fullmatch(step):
        moves = {one: f"move {belief.held} to {one.name}" for one in _of_kind(belief, found["place"])}
        if not state.refused.isdisjoint(moves.values()):
            return  # what one of a kind does not take, none of them takes
        for one, command in sorted(moves.items(), key=lambda pair: pair[0].name != state.put):
            yield from _way(belief, one, command, inside=True)
    elif found := _USE.fullmatch(step):
        for name, holder in _seen(state, found["thing"], "the"):
            yield from _way(belief, holder, f"use {name}")


def _of_kind(belief: Belief, wanted: str) -> Iterable[Receptacle]:
    return (one for one in belief.receptacles if one.kind == wanted)


def _way(belief: Belief, one: Receptacle, command: str, *, inside: bool = False) -> Iterator[str]:
    """The next command on the way to ``command`` at a receptacle."""
    if not belief.is_here(one.name):
        yield f"go to {one.name}"
    elif inside and one.openness in {None, "closed"}:
        yield f"open {one.name}"
        yield command
    else:
        yield command
