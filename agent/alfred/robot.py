"""ALFRED's robot as a body, which turns skills into low-level actions from camera frames, and the view of it for spectators.

Perception, the semantic maps and the deterministic action policy are in `housequest.agent.alfred.seeing`. Prompts contain the
kinds that perception reported, the object in the hand, and the results of actions, but no names, ids or coordinates.

Pictures and maps are not recorded. To show them for a recorded episode, the episode is played again: the real loop runs in the
real house, the model repeats its recorded replies, and any difference from the record is an error.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Collection, Hashable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import groupby, pairwise

import numpy as np
from numpy import bool_, int16
from numpy.typing import NDArray

from housequest.agent import base
from housequest.agent.agents.bodies import Told
from housequest.agent.agents.spec import AgentParts, CameraSettings, agent_spec, make_agent
from housequest.agent.alfred.seeing import state as seeing
from housequest.agent.alfred.seeing.perception import Percept, kind_in, make_perception
from housequest.agent.alfred.seeing.policy import ActionPolicy, before, carried_out, played
from housequest.agent.alfred.seeing.semantic_map import CELL, SIDE, SemanticMap, way_to
from housequest.agent.episodes import events
from housequest.agent.episodes.config import EpisodeConfig
from housequest.agent.episodes.drawing import recorded_game
from housequest.agent.episodes.events import Event, ModelCall, Started
from housequest.agent.episodes.resume import resume_episode
from housequest.agent.models.base import Capabilities, Completion, Model, Request
from housequest.agent.roles.messages import NOTHING, emit_thought
from housequest.agent.setup import worked
from housequest.agent.skills.naming import kinds_ending, resolve
from housequest.agent.skills.skill import Execute, Failed, Outcome
from housequest.knowledge.rules import Rule
from housequest.worlds.alfred.env import UNSEEN, read_command
from housequest.worlds.alfred.model import accepts, skills_of, sliced
from housequest.worlds.alfred.simulator.base import touched
from housequest.worlds.alfred.tasks import AlfredGoal
from housequest.worlds.base import Observation, Transition
from housequest.worlds.errors import HousequestError, ModelError, Unsupported, shown
from housequest.worlds.household.belief import kind as kind_of
from housequest.worlds.household.goals import CONTAINERS, Skill
from housequest.worlds.registry import DEFAULT_WORLD, household, world_class
from housequest.worlds.rooms.render import Frame
from housequest.worlds.rooms.room import GRID, Pose

_NO_PICTURES = "This world shows no pictures; play alfred, or this agent without a camera in a household in text."
_UNSURE = "room of a kind that is not known yet"
_NOTHING_HAPPENED = "Nothing happened yet."
_ANYWHERE = "countertop"  # Put things down here if no place for them was seen.
_OPEN = ("already open", "not an Openable object")  # A refusal to open what one can look into all the same.
_LASTING = ("is not a valid Object Type", "CanBeSliced", "CanPickup", "not toggleable", "NOT a receptacle")
"""Refusals that are about a thing's kind."""
_NO_ACTION = "a command that is no action"
_SLICE = re.compile(r"sliced?s?|cracked|pieces?", re.IGNORECASE)  # Words by which people and models call a slice.


@dataclass(frozen=True, slots=True, eq=False)
class RobotState:
    """The robot's state: its knowledge (``seen``), the ``skill`` in progress and the action that was ``given`` last.

    ``command`` is that action as it was sent, and ``goal`` the goal sentence. ``problem`` says why the skill cannot begin.
    ``frame`` is dropped once an action is given: a state is kept for each turn, and a picture can be rendered again. ``log``
    lists the actions, each with the kind of its object and whether it was accepted. ``told`` counts the errors that were
    emitted. ``nameless`` is the kind of an object that a person picked up and that perception has not reported.
    ``lasting`` is a refusal of the skill's action that would be the same at any place. ``standing_open`` names what it opened,
    ``put_down`` what it put down to stay there, and ``in_hand`` what it holds."""

    goal: str = ""
    skill: Skill | None = None
    seen: seeing.SeeingState | None = None
    problem: str | None = None
    frame: Frame | None = None
    given: seeing.LowLevelAction | None = None
    command: str = ""
    log: tuple[tuple[str, str, bool], ...] = ()
    told: int = 0
    nameless: str = ""
    lasting: str | None = None
    standing_open: frozenset[str] = frozenset()
    in_hand: str = ""
    put_down: frozenset[str] = frozenset()

    @property
    def knowledge(self) -> seeing.SeeingState:
        """The knowledge of a robot that has seen its first frame."""
        assert self.seen is not None
        return self.seen


class RobotBody:
    def __init__(self, parts: AgentParts[CameraSettings]) -> None:
        settings, world = parts.settings, household(DEFAULT_WORLD)
        assert world is not None
        self._counts = world.counts()
        self._receptacles = frozenset(kind for room in self._counts.rooms.values() for kind in room.receptacles)
        things = frozenset(self._counts.objects())
        self._fixed = self._receptacles - things
        self._kinds = things | self._receptacles | {sliced(kind) for kind in things} | {"faucet"}
        perception = make_perception(settings.seeing, pictures=parts.world.engine)
        self.picture_size = perception.size
        self._looked: tuple[RobotState | None, Frame | None, RobotState | None] = None, None, None
        self._careful = settings.careful
        self._policy = ActionPolicy(perception, settings, self._chance, seed=parts.seed)

    def _chance(self, thing: str, receptacle: str) -> float:
        """The probability that such a receptacle holds the thing, in the kind of room where that is likeliest."""
        rooms = [name for name, room in self._counts.rooms.items() if receptacle in room.receptacles]
        return max((self._counts.chance(thing, receptacle, room) for room in rooms), default=0.0)

    def begin(self, opening: Observation, goal: str) -> RobotState:
        del opening
        return RobotState(goal)

    def steps(self, goal: str) -> tuple[Skill, ...] | None:
        wanted = AlfredGoal.read(goal)
        return wanted and skills_of(wanted.plan())

    async def attend(self, state: RobotState, turn: base.Turn) -> RobotState:
        # A spectator may have made the robot look at this frame already.
        earlier, frame, after = self._looked
        if earlier is not state or frame is not turn.frame or after is None:
            after = await self._look(state, turn)
            self._looked = state, turn.frame, after
        return after

    async def _look(self, state: RobotState, turn: base.Turn) -> RobotState:
        frame, pose = turn.frame, turn.pose
        if frame is None or pose is None:
            raise Unsupported(_NO_PICTURES)
        if state.seen is None:
            seen = await asyncio.to_thread(self._policy.begin, frame, pose)
            state = self._after(replace(state, seen=seen), seen.percept, turn.transitions, pose)
            return _recognised(replace(state, seen=replace(state.knowledge, pose=pose), frame=frame))
        if not turn.transitions:
            return replace(state, frame=frame, given=None)
        percept = await asyncio.to_thread(self._policy.perceive, state.seen, frame)
        state = self._after(state, percept, turn.transitions, pose)
        seen = await asyncio.to_thread(self._policy.perceived, state.knowledge, percept, pose)
        return _recognised(replace(state, seen=seen, frame=frame, given=None))

    def _after(self, state: RobotState, percept: Percept, transitions: Sequence[Transition], pose: Pose) -> RobotState:
        """The state after ``transitions`` that ended at ``pose``. A person gave all commands but the robot's own last one."""
        seen, log, nameless = state.knowledge, state.log, state.nameless
        poses: list[Pose] = []
        for transition in reversed(transitions):
            # The pose from which each command was given.
            pose = before(pose, _read(transition.command)[0]) if transition.observation.accepted else pose
            poses.insert(0, pose)
        for number, (transition, stood) in enumerate(zip(transitions, poses, strict=True)):
            accepted = transition.observation.accepted
            if accepted and (closed := transition.command.removeprefix("CloseObject ")) != transition.command:
                state = replace(state, standing_open=state.standing_open - {closed})
            if number == 0 and state.given is not None and transition.command == state.command:
                action, text = state.given, transition.observation.text
                stands_open = action.name == "OpenObject" and (accepted or any(why in text for why in _OPEN))
                name = transition.command.partition(" ")[2]
                if stands_open:
                    state = replace(state, standing_open=state.standing_open | {name})
                elif accepted and action.name == "PickupObject":
                    state = replace(state, in_hand=name)
                elif accepted and action.name == "PutObject" and seen.steps and not seen.steps[0].inside:
                    state = replace(state, put_down=state.put_down | {state.in_hand})
                meant = action.spot is not None and _read(transition.command)[1] == action.spot.kind
                if not accepted and meant and any(why in text for why in _LASTING):
                    doing = seeing.gerund(seen.steps[0]) if seen.steps else action.name
                    state = replace(state, lasting=f"{doing} is not possible with things of these kinds")
                done, unseen = accepted or stands_open, UNSEEN in text
                seen = carried_out(seen, action, self._policy.targets, accepted=done, unseen=unseen)
                log = (*log, (action.name, action.spot.kind if action.spot is not None else "", accepted))
                continue
            name, kind = _read(transition.command)
            known = not kind or kind in percept.kinds or _nameable(state, kind)
            thing = kind
            if name == "PickupObject" and not known:
                # A person may know a kind that perception has not reported, and prompts must not tell it.
                thing, nameless = seeing.UNRECOGNISED, kind
            seen = played(replace(seen, pose=stood), name, thing, self._policy.targets, accepted=accepted)
            log = (*log, (name, kind if known else "", accepted))
        return replace(state, seen=seen, log=log, nameless=nameless)

    def start(self, state: RobotState, skill: Skill | None) -> RobotState:
        state = replace(state, lasting=None)
        if skill is None:
            return replace(state, skill=None)
        cut = {} if skill.verb == "slice" else {kind: sliced(kind) for kind, _ in state.knowledge.sliced}
        known = self._kinds.union(state.knowledge.map.found)
        named = {said: _kind(said, known, state.knowledge.map.found) for said in (skill.object, skill.receptacle) if said}
        strange = next((said for said, kind in named.items() if kind is None), None)
        thing, place = (named.get(said or "") for said in (skill.object, skill.receptacle))
        # After slicing, the whole object's name means a slice.
        skill = self._placing(state, Skill(skill.verb, cut.get(thing or "", thing), place))
        problem = None
        if strange is not None:
            several = kinds_ending("".join(strange.lower().split()), known)
            said, choice = shown(strange, 60), " or the ".join(several)
            problem = (
                f"{said} may be the {choice}; say which" if len(several) > 1 else f"there is no kind of thing called {said}"
            )
        if skill.verb == "pick" and thing in self._fixed:
            problem = f"the {thing} is a place that cannot be picked up; things can be put there"
        state = _recognised(replace(state, skill=skill, problem=problem))
        return replace(state, seen=self._policy.start(state.knowledge, skill))

    def _placing(self, state: RobotState, skill: Skill) -> Skill:
        """The skill with its place: the one target that a model named, or anywhere to put a thing down."""
        held, thing = state.knowledge.held, skill.object
        if skill.verb != "put" or skill.receptacle is not None or held is None:
            return skill
        if thing is not None and thing != held and (thing in self._receptacles or accepts(thing, held)):
            return Skill("put", held, thing)
        open_ones = (one for one in state.knowledge.map.found if one in self._receptacles - CONTAINERS)
        return Skill("put", held, next((one for one in open_ones if accepts(one, held)), _ANYWHERE))

    async def proceed(
        self, state: RobotState, goal: str, emit: base.Emitter, rules: Sequence[Rule] = ()
    ) -> tuple[Outcome, RobotState]:
        del goal, rules
        frame = state.frame
        assert frame is not None
        outcome, seen = self._policy.next(state.knowledge)
        while self._careful and isinstance(outcome, seeing.LowLevelAction):
            known = self._known_by_name(state, seen, outcome)
            if known is None:
                break
            outcome, seen = self._policy.next(known)
        if (problem := state.problem or state.lasting) is not None:
            outcome, seen = Failed(problem, final=problem == state.lasting), state.knowledge.erred("planner's fault")
        # The last error is the one that made the skill fail.
        modes: list[str] = [*seen.errors[state.told :]]
        if modes and isinstance(outcome, Failed):
            modes[-1] = f"{modes[-1]}: {outcome.reason}"
        for mode in modes:
            emit_thought(events.POLICY, mode, emit)
        state = replace(state, seen=seen, told=len(seen.errors))
        if not isinstance(outcome, seeing.LowLevelAction):
            return outcome, self.start(state, None)
        if outcome.mask is None:
            return Execute(outcome.name), replace(state, given=outcome, command=outcome.name, frame=None)
        # The robot gives a mask, and the simulator decides which object it means, as in ALFRED.
        name = touched(frame, outcome.mask)
        if name is None:
            reason = "there is nothing where it reached"
            emit_thought(events.POLICY, f"interaction failed: {reason}", emit)
            return Failed(reason), self.start(state, None)
        command = f"{outcome.name} {name}"
        return Execute(command), replace(state, given=replace(outcome, mask=None), command=command, frame=None)

    def _known_by_name(
        self, state: RobotState, seen: seeing.SeeingState, action: seeing.LowLevelAction
    ) -> seeing.SeeingState | None:
        """The state without ``action`` if that would open what stands open, or take what was put down on purpose; else None."""
        if action.mask is None or action.spot is None or state.frame is None:
            return None
        name = touched(state.frame, action.mask)
        if action.name == "OpenObject" and name in state.standing_open:
            return carried_out(seen, action, self._policy.targets, accepted=True)
        if action.name == "PickupObject" and name in state.put_down:
            return replace(seen, avoided=(*seen.avoided, action.spot), aim=None, sweep=None)
        return None

    def impression(self, state: RobotState) -> Impression | None:
        spot = None if state.given is None else state.given.spot
        return None if state.seen is None else Impression(state.seen, self._policy.targets, spot)

    def told(self, state: RobotState) -> Told:
        seen, found = state.knowledge, state.knowledge.map.found
        # Kinds seen from more than one viewpoint come first.
        sure = [kind for kind in found if len(seen.map.points(kind, voted=True))]
        return Told(
            found=", ".join((*sure, *(f"{kind} (seen once)" for kind in found if kind not in sure))) or NOTHING,
            here=", ".join(seen.percept.kinds) or NOTHING,
            held=seen.held or NOTHING,
            room=(self._counts.sure_of_room(found) or _UNSURE).replace("livingroom", "living room"),
            places=tuple(kind for kind in found if kind in self._receptacles),
            seen=found,
            holding=seen.held or "",
        )

    def story(self, state: RobotState, transitions: Sequence[Transition]) -> str:
        lines: list[str] = []
        for (name, kind, accepted), same in groupby(state.log[len(state.log) - min(len(state.log), len(transitions)) :]):
            times, done = len(list(same)), "done" if accepted else "failed"
            lines.append(f"{name}{f' on the {kind}' if kind else ''}{f' {times} times' if times > 1 else ''}: {done}")
        return "\n".join(lines) or _NOTHING_HAPPENED

    def caption(self, state: RobotState, text: str) -> str:
        del text
        return f"{', '.join(state.knowledge.percept.kinds) or NOTHING}. The robot holds {state.knowledge.held or NOTHING}."

    def was_seen(self, state: RobotState, said: str) -> bool:
        found = state.knowledge.map.found
        return _kind(said, found, found) is not None

    def unsearched(self, state: RobotState) -> tuple[str, ...]:
        return state.knowledge.unopened if state.knowledge.search.looked else ()

    def known(self, state: RobotState) -> Hashable:
        seen = state.knowledge
        return seen.map.found, seen.held, seen.placed, seen.opened, seen.peeked, seen.sliced


def _read(command: str) -> tuple[str, str]:
    action = read_command(command)
    return (action.name, kind_in(action.target or "")) if action else (_NO_ACTION, "")


def _recognised(state: RobotState) -> RobotState:
    """Name the object that a person picked up, once prompts may name its kind."""
    seen = state.knowledge
    if seen.held != seeing.UNRECOGNISED or not _nameable(state, state.nameless):
        return state
    return replace(state, seen=replace(seen, held=state.nameless))


def _nameable(state: RobotState, kind: str) -> bool:
    """True if perception reported this kind, or the goal or the skill in progress names it, so that prompts may name it."""
    words = re.findall(r"[a-z]+", state.goal.lower())
    skill = (state.skill.object, state.skill.receptacle) if state.skill else ()
    worded = (*words, *map("".join, pairwise(words)), *skill, *(step.kind for step in state.knowledge.steps))
    return kind in state.knowledge.map.kinds[2:] or (bool(kind) and kind in worded)


def _kind(said: str, kinds: Collection[str], found: Collection[str]) -> str | None:
    """The kind that a model's word means, preferably one that was ``found``; None if it is none of ``kinds``."""
    plain = "".join(said.lower().split()).rstrip("0123456789")
    if plain in kinds:
        return plain
    whole = resolve(_SLICE.sub(" ", said), kinds) if _SLICE.search(said) else None
    if whole is not None and sliced(whole) in kinds:
        return sliced(whole)
    named = resolve(said, kinds) or resolve(said, found)
    return named and kind_in(named)


Place = tuple[float, float]  # A point on the floor: x and z in metres, in the coordinates of the camera's pose.
LEAST_PIXELS = 1 / 3_000  # The share of a picture that an object must fill to count as missed.


class GroundMap:
    """An agent's map of the floor, from above; with ``voted``, it is sure only of what several viewpoints voted for.

    Arrays are indexed by cell (x, z), from ``corner`` on, in metres. ``explored`` cells were seen, and ``blocked`` cells have
    an obstacle. ``kinds`` are indices into ``names``, -1 for nothing, and ``sure`` marks those that the agent is sure of."""

    cell = CELL

    def __init__(self, seen: SemanticMap, *, voted: bool) -> None:
        def cells(kind: str, *, voted: bool) -> NDArray[int16]:
            places = seen.points(kind, voted=voted)[:, :2] - (seen.origin.x, seen.origin.z)
            return np.floor(places / CELL + SIDE / 2).astype(np.int16)

        self.corner: Place = seen.origin.x - SIDE / 2 * CELL, seen.origin.z - SIDE / 2 * CELL
        self.blocked, self.explored = seen.grid(voted=voted)
        self.names = seen.found
        self.kinds, self.sure = np.full((SIDE, SIDE), -1, np.int16), np.zeros((SIDE, SIDE), bool)
        every = {name: cells(name, voted=False) for name in self.names}
        # Small objects lie on large ones, so they are drawn last.
        for name in sorted(self.names, key=lambda name: -len(every[name])):
            x, z = every[name].T
            self.kinds[x, z], self.sure[x, z] = self.names.index(name), not voted
            if voted:
                x, z = cells(name, voted=True).T
                self.sure[x, z] = True


class Impression:
    """An agent's view of the picture on which it decided, of ``size`` columns and rows; ``claims`` are its detections.

    ``skill`` is in progress and ``step`` is a part of it, both in words. ``target`` is the position of the object it wants, and
    ``path`` leads from where it stands to where it wants to stand. ``held`` is the kind that it believes it holds. The object
    at ``spot``, if given, is acted on next."""

    def __init__(self, state: seeing.SeeingState, targets: seeing.Targets, spot: seeing.Spot | None) -> None:
        aim, origin = state.aim, state.map.origin
        way = () if aim is None or spot is not None else way_to(targets.ground(state, aim.stand), aim.stand)
        seen = None if aim is None or aim.height is None else (aim.x, aim.z)
        rows, columns = state.percept.depth.shape
        self.size: tuple[int, int] = columns, rows
        self.claims = state.percept.detections
        self.map = GroundMap(state.map, voted=targets.has.votes)
        self.skill = state.skill.text if state.skill else ""
        self.step = _step(state, acting=spot is not None)
        self.target: Place | None = seen if spot is None else (spot.x, spot.z)
        self.path = tuple((origin.x + x * GRID, origin.z + z * GRID) for x, z in way)
        self.held = state.held


@dataclass(frozen=True, slots=True)
class Sighting:
    """A claimed kind beside the name of the object that is really there. The claim may be ``false``; without a claim, the
    object was ``missed``. ``spot`` is the middle of its pixels, as shares of the picture's width and height."""

    claim: str | None
    name: str | None
    spot: tuple[float, float]

    @property
    def missed(self) -> bool:
        return self.claim is None

    @property
    def false(self) -> bool:
        return self.claim is not None and (self.name is None or kind_of(self.name).replace(" ", "").lower() != self.claim)


def sightings(impression: Impression, frame: Frame) -> tuple[Sighting, ...]:
    """Compare the claims of an impression with ``frame``, the picture they were made on, of the same size."""
    found: list[Sighting] = []
    claimed: set[str] = set()
    for claim in impression.claims:
        name = touched(frame, claim.mask)
        claimed.update(() if name is None else (name,))
        found.append(Sighting(claim.kind, name, _middle(claim.mask)))
    for number, name in enumerate(frame.names):
        mask = frame.ids == number
        if name not in claimed and mask.sum() >= LEAST_PIXELS * mask.size:
            found.append(Sighting(None, name, _middle(mask)))
    return tuple(found)


def _middle(mask: NDArray[bool_]) -> tuple[float, float]:
    rows, columns = np.nonzero(mask)
    if not len(rows):
        return 0.5, 0.5
    best = int(((rows - rows.mean()) ** 2 + (columns - columns.mean()) ** 2).argmin())
    return (float(columns[best]) + 0.5) / mask.shape[1], (float(rows[best]) + 0.5) / mask.shape[0]


def _step(state: seeing.SeeingState, *, acting: bool) -> str:
    if not state.steps:
        return ""
    step, way = state.steps[0], ", on its way"
    if acting or not step.kind:
        way = ""
    elif state.turns or state.sweep is not None:
        way = ", looking"
    elif state.aim is None or state.aim.height is None:
        way = ", searching"
    return seeing.gerund(step) + way


def glimpses(recorded: Sequence[Event]) -> Mapping[int, base.Glimpse]:
    """Play a recorded episode again and collect the agent's impressions. This takes as long as the episode did without its
    model, so call it in a thread.

    Returns:
        The impressions by the id of the event after which the picture was seen; empty for an agent without a camera.

    Raises:
        Unsupported: The episode cannot be played again."""
    started = recorded[0].body if recorded else None
    found: dict[int, base.Glimpse] = {}
    try:
        if not isinstance(started, Started) or not (
            world_class(started.world).info.pictured and "camera" in agent_spec(started.agent).takes
        ):
            return found
        if started.rules is not None:
            raise Unsupported("the record does not hold the rules that the agent was shown.")
        world, task = recorded_game(started)
        if world.engine != started.engine:
            raise Unsupported(f"it was played with {shown(started.engine)}.")
        settings = {name: value for name, value in started.settings.items() if value is not None}
        silent = _Silent(started.model or "", recorded) if agent_spec(started.agent).needs_model_with(settings) else None
        config = EpisodeConfig(
            world,
            grants=frozenset(started.grants),
            max_turns=started.max_turns,
            seed=started.seed,
            model=started.model,
            habits=started.habits,
            settings=settings,
            curiosity=started.curiosity,
        )

        def make(model: Model | None, question: base.AskPerson | None = None) -> base.Agent:
            name, seed = started.agent, started.seed
            return make_agent(name, world=world, model=model, settings=settings, seed=seed, question=question, worked=worked)

        if not isinstance(make(silent), base.Watchable):
            return found
        with closing(config.open(task)) as env:

            def watch(glimpse: base.Glimpse) -> None:
                found[glimpse.at] = glimpse

            over = _Over()
            asyncio.run(resume_episode(env, make, config, recorded, lambda _: None, over, model=silent, watcher=watch))
    except HousequestError as error:
        raise Unsupported(f"The agent's view of its pictures cannot be shown: {error}") from error
    return found


class _Over(base.Unattended):
    async def before(self, turn: int, possible: tuple[str, ...] | None) -> base.TurnAnswer:
        del turn, possible
        return base.Stop()

    async def review(self, turn: int, proposal: str) -> base.ProposalAnswer:
        del turn, proposal
        return base.Stop()


class _Silent(Model):
    """A model for playing a record again. It scores texts if the recorded one did, since agents' prompts depend on that; how
    else calls were made is known to what resumes episodes. It fails where the record ends."""

    def __init__(self, name: str, recorded: Sequence[Event]) -> None:
        self.name = name
        self._scored = any(isinstance(event.body, ModelCall) and event.body.candidates for event in recorded)

    async def capabilities(self) -> Capabilities:
        return Capabilities(log_probabilities=self._scored, scoring=self._scored, images=True)

    async def complete(self, request: Request) -> Completion:
        del request
        raise ModelError("the record ends here.")
