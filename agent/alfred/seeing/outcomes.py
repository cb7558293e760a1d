"""What becomes of an agent's state when a low-level action was carried out, or was not accepted: its own, or a person's."""

from __future__ import annotations

from dataclasses import replace
from math import hypot

from housequest.agent.alfred.seeing.primitives import ACTIONS, steps_of
from housequest.agent.alfred.seeing.state import LowLevelAction, SeeingState, Spot
from housequest.agent.alfred.seeing.targets import SAME, Targets, apart
from housequest.agent.alfred.seeing.walking import TILT, Stand, up_and_down
from housequest.worlds.alfred.simulator.base import VISIBLE
from housequest.worlds.rooms.room import AHEAD, EYE, GRID, Pose

_BEFORE = 0.8
"""How far ahead, and below the eye, a thing is taken to be that a person acted on and no map has, in metres."""
_PREPARING = ("go", "look", "explore", "peek", "open")
_TURNS = {"RotateRight": 90, "RotateLeft": -90}
_TILTS = {"LookDown": TILT, "LookUp": -TILT}


def carried_out(state: SeeingState, action: LowLevelAction, targets: Targets, *, accepted: bool) -> SeeingState:
    """The state after ``action`` was carried out, or was not ``accepted``."""
    return _done(state, action, targets) if accepted else _failed(state, action, adjust=targets.has.adjust)


def played(state: SeeingState, name: str, kind: str, targets: Targets, *, accepted: bool) -> SeeingState:
    """The state after somebody else acted in the agent's stead, on a thing of this ``kind``, from ``state.pose``.

    A failure of theirs is none of the agent's: a step that is refused says that the way is blocked there, and no more.
    """
    state = replace(state, aim=None, sweep=None)
    if not accepted:
        return replace(state, bumped=state.bumped | {state.ahead}) if name == "MoveAhead" else state
    if not kind:
        return state
    action = LowLevelAction(name, spot=_meant(state, kind))
    left = _done_for(state, name, kind)
    if left is not None:
        return _done(replace(state, steps=state.steps[left:]), action, targets)
    after = replace(_done(replace(state, steps=()), action, targets), steps=state.steps)
    if state.skill is None or after.held == state.held:
        return after
    # What is left of the skill is another thing with another thing in the hand.
    return replace(after, steps=tuple(steps_of(state.skill, after.held)), given=0).afresh()


def before(pose: Pose, name: str) -> Pose:
    """Where somebody was who is at ``pose`` after this action was carried out."""
    dx, dz = AHEAD[pose.quarter] if name == "MoveAhead" else (0, 0)
    yaw, pitch = (pose.yaw - _TURNS.get(name, 0)) % 360, pose.pitch - _TILTS.get(name, 0)
    return replace(pose, x=pose.x - GRID * dx, z=pose.z - GRID * dz, yaw=yaw, pitch=pitch)


def _done_for(state: SeeingState, name: str, kind: str) -> int | None:
    """The number of the step that somebody else did, if only preparations for it come before; None if it is none."""
    for number, step in enumerate(state.steps):
        if step.primitive != "peek" and ACTIONS.get(step.primitive) == name and step.kind == kind:
            return number
        if step.primitive not in _PREPARING:
            return None
    return None


def _meant(state: SeeingState, kind: str) -> Spot:
    """The thing of this kind on the map that is nearest to what is ahead, else that place itself."""
    dx, dz = AHEAD[state.pose.quarter]
    ahead = Spot(kind, state.pose.x + _BEFORE * dx, state.pose.z + _BEFORE * dz, EYE - _BEFORE)
    claims = (Spot(kind, *row) for row in state.map.points(kind, voted=False).tolist())
    near = [one for one in claims if hypot(one.x - state.pose.x, one.z - state.pose.z) <= VISIBLE]
    return min(near, key=lambda one: apart(one, ahead), default=ahead)


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
