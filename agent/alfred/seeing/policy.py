"""The deterministic action policy: turns a skill into ALFRED's low-level actions, from the frame and the semantic map.

It follows OPEx (section 3, "Deterministic Action Policy"): if the target is on M', or else on M, it walks there by fast
marching; otherwise it explores the room, the four corners first. It acts on a target in reach through its mask, and after a
failure it tries again from another place. `carried_out` and `played` update the state after the agent's own action or a
person's. Every method is a pure function of state::

    state = policy.begin(frame, pose)
    state = policy.start(state, Skill("pick", "mug"))
    outcome, state = policy.next(state)                    # a LowLevelAction, Done(...) or Failed(...)
    state = carried_out(state, outcome, policy.targets, accepted=True)
    state = policy.perceived(state, policy.perceive(state, frame), pose)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import hypot

from housequest.agent.agents.spec import CameraSettings
from housequest.agent.alfred.seeing import semantic_map as maps
from housequest.agent.alfred.seeing.perception import Percept, Perception
from housequest.agent.alfred.seeing.state import (
    ACTIONS,
    APART,
    NEARLY,
    SAME,
    SEARCHING,
    VIEWED,
    ErrorMode,
    LowLevelAction,
    PolicyStep,
    SeeingState,
    Spot,
    Targets,
    gerund,
    impossible,
    steps_of,
)
from housequest.agent.skills.skill import Done, Failed
from housequest.worlds.alfred.simulator.base import VISIBLE
from housequest.worlds.household.goals import CONTAINERS, Skill
from housequest.worlds.rooms.render import Frame
from housequest.worlds.rooms.room import AHEAD, EYE, GRID, Pose

LIKELY = 0.005  # The least probability for which a receptacle is opened in a search, unless the object is to be picked up.
MOST_ACTIONS = 350  # Low-level actions until a skill fails.
MOST_REFUSED = 4
MOST_STANDS = 4  # Places from which an object is tried before the map counts as wrong.
MOST_WANDERED = 6
CORNERS = 4
MOST_THOUGHTS = 200  # States that a skill may pass through without an action; more would be a bug in the policy.
Chance = Callable[[str, str], float]  # The prior probability that a receptacle of the second kind holds the first.
Outcome = LowLevelAction | Done | Failed
_Next = tuple[LowLevelAction | None, SeeingState]


class ActionPolicy:
    """Carries out skills by low-level actions. Each ablation of its ``heuristics`` is a line of OPEx's table 2. ``chance``
    orders the receptacles that are opened in a search."""

    def __init__(self, perception: Perception, heuristics: CameraSettings, chance: Chance, *, seed: int = 0) -> None:
        self._perception, self._has, self._chance, self._seed = perception, heuristics, chance, seed
        self.targets = Targets(heuristics)

    def begin(self, frame: Frame, pose: Pose) -> SeeingState:
        """The state after the first frame, from ``pose``."""
        percept = self._perception.see(frame, 0)
        state = SeeingState(maps.SemanticMap.empty(pose).seen(percept, pose), percept, pose)
        return replace(state, stood=frozenset({state.stand}))

    def perceive(self, state: SeeingState, frame: Frame) -> Percept:
        return self._perception.see(frame, state.frames)

    def perceived(self, state: SeeingState, percept: Percept, pose: Pose) -> SeeingState:
        """The state after the next frame, perceived as ``percept`` from ``pose``."""
        seen = state.map.seen(percept, pose)
        state = replace(state, map=seen, percept=percept, pose=pose, frames=state.frames + 1)
        return replace(state, stood=state.stood | {state.stand})

    def start(self, state: SeeingState, skill: Skill) -> SeeingState:
        """The state with ``skill`` in place of the one in progress."""
        left = state.held is None and state.treated is not None
        steps = tuple(steps_of(skill, state.held, left=left))
        return replace(state, skill=skill, steps=steps, given=0).afresh()

    def next(self, state: SeeingState) -> tuple[Outcome, SeeingState]:
        """The next action of the skill in progress, or its end, after which the state has no skill."""
        skill = state.skill
        if skill is None:
            return Failed("there is no skill to carry out"), state
        over = replace(state, skill=None, steps=(), aim=None, sweep=None)
        if state.steps and not state.given and (problem := impossible(state.steps, state.held)):
            return Failed(problem), over.erred("planner's fault")
        for _ in range(MOST_THOUGHTS):
            if not state.steps:
                return Done(f"done: {skill.text}"), replace(state, skill=None)
            if state.given >= MOST_ACTIONS:
                return Failed(f"{gerund(state.steps[-1])} is not done after {MOST_ACTIONS} movements"), over.erred("not found")
            if state.refused >= MOST_REFUSED:
                return Failed(f"{gerund(state.steps[0])} failed {state.refused} times"), replace(over, errors=state.errors)
            found = self._act(state)
            if isinstance(found, Failed):
                # An object put down for a treatment cannot be hidden in another receptacle.
                closed = state.steps[-1].kind and not state.steps[0].inside and state.unopened
                mode: ErrorMode = "closed receptacle" if closed else "not found"
                return found, replace(over, errors=state.errors).erred(mode)
            action, state = found
            if action is not None:
                return action, replace(state, given=state.given + 1)
        return Failed(f"{gerund(state.steps[0])} led to no movement"), over.erred("not found")

    def _act(self, state: SeeingState) -> _Next | Failed:
        step = state.steps[0]
        match step.primitive:
            case "look" if not state.search.looked:
                return None, replace(state, search=replace(state.search, looked=True), turns=4)
            case "look" if not state.turns:
                return None, state.advanced()
            case "look":
                return LowLevelAction("RotateRight"), replace(state, turns=state.turns - 1)
            case "explore":
                return self._explore(state)
            case "open" if self.targets.stands_open(state, step.kind):
                return None, state.advanced()
            case "peek" | "view":
                return self._peek(state)
            case _:
                return self._pursue(state, step, lambda spot: self.targets.meant(state, step, spot))

    def _pursue(self, state: SeeingState, step: PolicyStep, wanted: Callable[[Spot], bool]) -> _Next | Failed:
        """Act on an object in reach; otherwise go to it, or search for it."""
        in_reach = self.targets.in_reach(state, step, wanted)
        if in_reach is not None and not (self._has.adjust and state.stand in state.vain):
            if step.primitive == "go":
                return None, state.advanced()
            return LowLevelAction(ACTIONS[step.primitive], in_reach.detection.mask, in_reach.spot), state
        if step.inside and state.aim is None and (swept := self._swept(state)):
            return swept
        if state.turns:
            # Looking around ends when the object comes into the picture and can be approached.
            if self.targets.approach(state, step, wanted) is None:
                return LowLevelAction("RotateRight"), replace(state, turns=state.turns - 1)
            state = replace(state, turns=0)
        if state.aim is None and (replayed := self.targets.replayed(state, step)):
            state = replace(state, aim=replayed, sweep=None)
        if state.aim is None or (state.aim.height is None and self.targets.claims(state, step.kind, wanted)):
            aim = self.targets.approach(state, step, wanted)
            if aim is not None:
                state = replace(state, aim=aim, sweep=None)
        if state.aim is not None:
            return self._follow(state, step)
        return self._seek(state, step)

    def _follow(self, state: SeeingState, step: PolicyStep) -> _Next | Failed:
        """Walk to the aim, then look at it from there, up and down and to both sides."""
        aim = state.aim
        assert aim is not None
        apart = abs(state.stand[0] - aim.stand[0]) + abs(state.stand[1] - aim.stand[1])
        if apart > (NEARLY if aim.height is None else 0) and state.sweep is None:
            around = self.targets.ground(state, aim.stand)
            move = maps.next_move(around, state.pose.quarter, aim.stand)
            if move == "MoveAhead" and state.ahead == aim.stand and aim.stand in state.bumped:
                move = None
            if move is not None:
                return LowLevelAction(maps.walking(state.pose, move)), state
            if self._has.traversable:
                # There is no path after all.
                return None, replace(state, aim=None, tried=state.tried | {aim.stand})
        if state.sweep is None:
            if aim.height is None:
                # At a place of the search, look around at eye level, since objects hang on walls.
                action = maps.looked(state.pose, (state.pose.quarter, 0))
                if action is not None:
                    return LowLevelAction(action), state
                return None, replace(state, aim=None, turns=3, tried=state.tried | {aim.stand})
            state = replace(state, sweep=tuple(maps.looks_at(aim, state.pose)))
        swept = self._swept(state)
        if swept is not None:
            return swept
        # It was not seen from here.
        tried = state.tried | {state.stand, aim.stand}
        state = replace(state, aim=None, sweep=None, tried=tried)
        if len(tried) >= MOST_STANDS or not self._has.adjust:
            spot = Spot(step.kind, aim.x, aim.z, aim.height or 0.0)
            gone = state.map.without(step.kind, aim.x, aim.z, 2 * SAME)
            return None, replace(state, map=gone, avoided=(*state.avoided, spot), tried=frozenset[maps.Stand]())
        return None, state

    def _swept(self, state: SeeingState) -> tuple[LowLevelAction, SeeingState] | None:
        left = state.sweep or ()
        while left:
            action = maps.looked(state.pose, left[0])
            if action is not None:
                return LowLevelAction(action), replace(state, sweep=left)
            left = left[1:]
        return None

    def _seek(self, state: SeeingState, step: PolicyStep) -> _Next | Failed:
        """Search for an object that is not on the map: all around, in the corners, in closed receptacles, then anywhere."""
        search = state.search
        if step.inside and step.primitive == "pick":
            return Failed(f"the {step.kind} was not found any more")
        if step.primitive == "slice" and any(kind == step.kind for kind, _ in state.sliced):
            return Failed(f"the {step.kind} is sliced already")
        if state.refused and state.avoided and (step.kind in APART or step.primitive not in ("open", "pick")):
            # There is no other candidate, so try the refused ones again.
            return None, replace(state, avoided=(), tried=frozenset[maps.Stand]())
        if not search.looked:
            turns = 3 if self._has.look_around else 0
            return None, replace(state, search=replace(search, looked=True), turns=turns)
        if self._has.corners and search.corners is None:
            found = maps.corners(state.map, self.targets.ground(state))
            return None, replace(state, search=replace(search, corners=found))
        if search.corners:
            goal, *left = search.corners
            return None, replace(state, search=replace(search, corners=tuple(left)), aim=maps.Aim(goal))
        if self._has.peek and not search.peeked:
            state = replace(state, search=replace(search, peeked=True))
            least = 0.0 if step.primitive == "pick" else LIKELY
            chances = {kind: self._chance(step.kind, kind) for kind in state.map.found}
            kinds = [
                kind
                for kind, chance in chances.items()
                if (chance >= least if kind in CONTAINERS else self._has.careful and chance)
            ]
            likely = sorted(kinds, key=lambda kind: (-chances[kind], kind))
            places = (PolicyStep("peek" if kind in CONTAINERS else "view", kind) for kind in likely)
            return None, replace(state, steps=(*places, *state.steps))
        if search.wandered < MOST_WANDERED:
            goal = self.targets.wander(state, f"{self._seed}/{search.wandered}")
            state = replace(state, search=replace(search, wandered=search.wandered + 1))
            return None, state if goal is None else replace(state, aim=maps.Aim(goal))
        if search.retried == 0 and (state.avoided or state.placed):
            # One of the objects ruled out may have been the right one.
            again = replace(search, retried=1)
            return None, replace(state, avoided=(), placed=(), tried=frozenset[maps.Stand](), search=again)
        return Failed(f"no {step.kind} was found")

    def _explore(self, state: SeeingState) -> _Next | Failed:
        if state.turns:
            return LowLevelAction("RotateRight"), replace(state, turns=state.turns - 1)
        if state.aim is not None:
            return self._follow(state, state.steps[0])
        if state.search.wandered:
            return None, state.advanced()
        goal = None
        if self._has.corners and state.surveyed < CORNERS:
            far = maps.corners(state.map, self.targets.ground(state))
            goal = far[min(state.surveyed, len(far) - 1)] if far else None
            state = replace(state, surveyed=state.surveyed + 1)
        if goal is None:
            goal = self.targets.wander(state, f"{self._seed}/{state.frames}")
        state = replace(state, search=replace(state.search, wandered=1))
        return None, replace(state, turns=3) if goal is None else replace(state, aim=maps.Aim(goal))

    def _peek(self, state: SeeingState) -> _Next | Failed:
        """Open the receptacles of a kind one by one, or look at them, until the object is seen or none is left."""
        step = state.steps[0]
        goal = next(one for one in state.steps if one.primitive not in SEARCHING)

        def sought(spot: Spot) -> bool:
            return self.targets.meant(state, goal, spot)

        if self.targets.in_reach(state, goal, sought) or self.targets.claims(state, goal.kind, sought):
            left = tuple(one for one in state.steps if one.primitive not in SEARCHING)
            return None, replace(state, steps=left, aim=None, sweep=None, turns=0, tried=frozenset[maps.Stand](), refused=0)
        # Look up and down into the receptacle that was just opened.
        if state.aim is None and (swept := self._swept(state)):
            return swept

        apart = VIEWED if step.primitive == "view" else APART.get(step.kind, SAME)

        def unopened(spot: Spot) -> bool:
            return self.targets.meant(state, step, spot) and not any(
                one.near(spot, apart) for one in (*state.peeked, *state.opened, *state.avoided)
            )

        if step.primitive == "view" and (near := self.targets.in_reach(state, step, unopened)):
            around = tuple(maps.looks_at(maps.Aim(state.stand, near.spot.x, near.spot.z, near.spot.height), state.pose))[:3]
            return None, replace(state, peeked=(*state.peeked, near.spot), aim=None, sweep=around, tried=frozenset(), turns=0)
        there = self.targets.in_reach(state, step, unopened) or self.targets.claims(state, step.kind, unopened)
        left = state.aim is not None or state.turns or there
        found = self._pursue(state, step, unopened) if left else None
        return (None, state.advanced()) if found is None or isinstance(found, Failed) else found


_BEFORE = 0.8  # The assumed distance ahead and below the eye of an object that a person used and the map lacks, in metres.
_PREPARING = ("go", "look", "explore", "open", *SEARCHING)
_TURNS = {"RotateRight": 90, "RotateLeft": -90}
_TILTS = {"LookDown": maps.TILT, "LookUp": -maps.TILT}


def carried_out(
    state: SeeingState, action: LowLevelAction, targets: Targets, *, accepted: bool, unseen: bool = False
) -> SeeingState:
    """The state after ``action``, which may not have been ``accepted``, perhaps because its object was ``unseen``."""
    if not accepted:
        return _failed(state, action, adjust=targets.has.adjust, unseen=unseen)
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
                # Things are put behind an open door, not on it.
                front = [one for one in state.opened if one.near(spot, 1.5)]
                state = replace(state, held=None, treated=front[-1] if front else spot, others=others)
            else:
                state = replace(state, held=None, placed=(*state.placed, spot._replace(kind=held)), filled=spot)
        case "OpenObject":
            state = replace(state, opened=(*state.opened, spot))
        case "CloseObject":
            # The nearest of the same kind, since a door or drawer moves as it opens.
            mine = [one for one in state.opened if one.kind == spot.kind]
            nearest = min(mine, key=lambda one: one.apart(spot), default=None)
            state = replace(state, opened=tuple(one for one in state.opened if one is not nearest))
        case "SliceObject":
            gone = state.map.without(spot.kind, spot.x, spot.z, SAME)
            state = replace(state, map=gone, sliced=(*state.sliced, (spot.kind, state.pose)))
        case _:
            pass
    if step is None or ACTIONS.get(step.primitive) != action.name:
        return state
    if step.primitive == "peek":
        return replace(state, peeked=(*state.peeked, spot), aim=None, sweep=tuple(maps.up_and_down(state.pose)), refused=0)
    state = state.advanced()
    if action.name == "OpenObject" and any(one.primitive == "pick" and one.inside for one in state.steps[:1]):
        # The treated thing may lie above or below the picture.
        return replace(state, sweep=tuple((state.pose.quarter, pitch) for pitch in reversed(maps.PITCHES)))
    return state


def played(state: SeeingState, name: str, kind: str, targets: Targets, *, accepted: bool) -> SeeingState:
    """The state after a person acted for the agent, on an object of this ``kind``, from ``state.pose``. A person's failure is
    not counted as the agent's: a refused step only marks the cell as blocked."""
    state = replace(state, aim=None, sweep=None)
    if not accepted:
        return replace(state, bumped=state.bumped | {state.ahead}) if name == "MoveAhead" else state
    if not kind:
        return state
    dx, dz = AHEAD[state.pose.quarter]
    ahead = Spot(kind, state.pose.x + _BEFORE * dx, state.pose.z + _BEFORE * dz, EYE - _BEFORE)
    claims = (Spot(kind, *row) for row in state.map.points(kind, voted=False).tolist())
    near = [one for one in claims if hypot(one.x - state.pose.x, one.z - state.pose.z) <= VISIBLE]
    # The object on the map that is nearest to the place ahead, or that place itself.
    action = LowLevelAction(name, spot=min(near, key=lambda one: one.apart(ahead), default=ahead))
    # The person did a step of the skill if only preparations come before that step.
    for number, step in enumerate(state.steps):
        if step.primitive != "peek" and ACTIONS.get(step.primitive) == name and step.kind == kind:
            return carried_out(replace(state, steps=state.steps[number:]), action, targets, accepted=True)
        if step.primitive not in _PREPARING:
            break
    after = replace(carried_out(replace(state, steps=()), action, targets, accepted=True), steps=state.steps)
    if state.skill is None or after.held == state.held:
        return after
    # The remaining steps depend on the object in the hand.
    return replace(after, steps=tuple(steps_of(state.skill, after.held)), given=0).afresh()


def before(pose: Pose, name: str) -> Pose:
    """The pose before this action was carried out and led to ``pose``."""
    dx, dz = AHEAD[pose.quarter] if name == "MoveAhead" else (0, 0)
    yaw, pitch = (pose.yaw - _TURNS.get(name, 0)) % 360, pose.pitch - _TILTS.get(name, 0)
    return replace(pose, x=pose.x - GRID * dx, z=pose.z - GRID * dz, yaw=yaw, pitch=pitch)


def _failed(state: SeeingState, action: LowLevelAction, *, adjust: bool, unseen: bool) -> SeeingState:
    if action.name == "MoveAhead":
        x, z = ahead = state.ahead
        # An unseen obstacle is often a wall, which continues to both sides.
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
    opening = action.name == "OpenObject" and not unseen
    if state.refused % 2 == 0 or opening:
        # It failed from two places, or does not open, so another object must be meant.
        other, peeked = (*state.avoided, action.spot), (*state.peeked, action.spot)
        if opening:
            state = replace(state, shut=(*state.shut, action.spot))
        state = replace(state, avoided=other, tried=frozenset[maps.Stand](), vain=frozenset[maps.Stand]())
        if state.steps and state.steps[0].primitive == "peek":
            return replace(state, peeked=peeked, refused=0)
    return state
