"""What becomes of an agent's state when a low-level action was carried out, or was not accepted."""

from __future__ import annotations

from dataclasses import replace

from agent.seeing.looking import up_and_down
from agent.seeing.primitives import ACTIONS
from agent.seeing.state import LowLevelAction, SeeingState, Spot
from agent.seeing.targets import SAME, Targets, apart
from agent.seeing.walking import Stand


def carried_out(state: SeeingState, action: LowLevelAction, targets: Targets, *, accepted: bool) -> SeeingState:
    """The state after ``action`` was carried out, or was not ``accepted``."""
    return _done(state, action, targets) if accepted else _failed(state, action, adjust=targets.has.adjust)


def _done(state: SeeingState, action: LowLevelAction, targets: Targets) -> SeeingState:
    spot = action.spot
    step = state.steps[0] if state.steps else None
    if spot is None:
        return state
    match action.name:
        case "PickupObject":
            gone = state.map.without(spot.kind, spot.x, spot.z, SAME)
            placed = tuple(one for one in state.placed if not one.near(spot, 2 * SAME))
            state = replace(state, held=spot.kind, map=gone, placed=placed, treated=None, filled=None)
        case "PutObject":
            held = state.held or ""
            if step is not None and step.inside:
                others = tuple(one.spot for one in targets.seen(state, held))
                # An open door is not where things are put.
                front = [one for one in state.opened if one.near(spot, 1.5)]
                state = replace(state, held=None, treated=front[-1] if front else spot, others=others)
            else:
                state = replace(state, held=None, placed=(*state.placed, spot._replace(kind=held)), filled=spot)
        case "OpenObject":
            state = replace(state, opened=(*state.opened, spot))
        case "CloseObject":
            state = replace(state, opened=_without_nearest(state.opened, spot))
        case "SliceObject":
            gone = state.map.without(spot.kind, spot.x, spot.z, SAME)
            state = replace(state, map=gone, sliced=(*state.sliced, (spot.kind, state.pose)))
        case _:
            pass
    if step is None or ACTIONS.get(step.primitive) != action.name:
        return state
    if step.primitive == "peek":
        return replace(state, peeked=(*state.peeked, spot), aim=None, sweep=tuple(up_and_down(state.pose)), refused=0)
    return state.advanced()


def _failed(state: SeeingState, action: LowLevelAction, *, adjust: bool) -> SeeingState:
    if action.name == "MoveAhead":
        x, z = ahead = state.ahead
        # What could not be seen is often a wall, which goes on to both sides.
        beside = {(x, z - 1), (x, z + 1)} if state.pose.quarter % 2 else {(x - 1, z), (x + 1, z)}
        bumped, suspected = state.bumped | {ahead}, state.suspected | beside - state.stood
        return replace(state, bumped=bumped, suspected=suspected, aim=None, sweep=None).erred("collision")
    if action.spot is None:
        return state
    state = replace(state, refused=state.refused + 1).erred("interaction failed")
    if not adjust:
        return state
    vain = state.vain | {state.stand}
    state = replace(state, tried=state.tried | {state.stand}, vain=vain, aim=None, sweep=None)
    opening = action.name == "OpenObject"
    if state.refused % 2 == 0 or opening:
        # It was tried from two places, or does not open: it is another thing that is meant.
        other, peeked = (*state.avoided, action.spot), (*state.peeked, action.spot)
        if opening:
            state = replace(state, shut=(*state.shut, action.spot))
        state = replace(state, avoided=other, tried=frozenset[Stand](), vain=frozenset[Stand]())
        if state.steps and state.steps[0].primitive == "peek":
            return replace(state, peeked=peeked, refused=0)
    return state


def _without_nearest(spots: tuple[Spot, ...], spot: Spot) -> tuple[Spot, ...]:
    """The spots without the nearest one of the same kind: that of a door or drawer moves as it opens."""
    mine = [one for one in spots if one.kind == spot.kind]
    if not mine:
        return spots
    nearest = min(mine, key=lambda one: apart(one, spot))
    return tuple(one for one in spots if one is not nearest)
