"""ALFRED's robot as a body: skills become low-level actions by what its camera sees. And what its state looks like to people
who watch: its claims, its map, and what it is about to do; of a recorded one too.

Perception, the semantic maps and the deterministic action policy are `housequest.agent.alfred.seeing`. Prompts are told the
kinds that perception has reported, what is in the hand, and how actions went: no name, no id and no coordinate.

Neither pictures nor maps are recorded. A recorded agent is let play its record again, and watched meanwhile: the real loop runs
over the real house, the model repeats its recorded replies, and whatever differs from the record is an error. So what is shown
is what the agent had before it.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from itertools import groupby, pairwise

import numpy as np
from numpy import bool_, int16
from numpy.typing import NDArray

from housequest.agent import base
from housequest.agent.agents.bodies import Told
from housequest.agent.agents.spec import AgentParts, CameraSettings, agent_spec, make_agent
from housequest.agent.alfred.seeing import state as seeing
from housequest.agent.alfred.seeing.perception import Detection, Percept, kind_in, make_perception
from housequest.agent.alfred.seeing.policy import ActionPolicy, before, carried_out, played
from housequest.agent.alfred.seeing.semantic_map import CELL, SIDE, SemanticMap, way_to
from housequest.agent.episodes import events
from housequest.agent.episodes.drawing import recorded_game
from housequest.agent.episodes.events import Event, ModelCall, Started
from housequest.agent.episodes.loop import EpisodeConfig
from housequest.agent.episodes.resume import resume_episode
from housequest.agent.models.base import Capabilities, Completion, Model, Request
from housequest.agent.roles.messages import NOTHING, emit_thought
from housequest.agent.setup import worked
from housequest.agent.skills.naming import kinds_ending, resolve
from housequest.agent.skills.skill import Execute, Failed, Outcome, Skill
from housequest.knowledge.rules import Rule
from housequest.worlds.alfred.env import NAMES
from housequest.worlds.alfred.simulator.base import touched
from housequest.worlds.base import Observation, Transition
from housequest.worlds.errors import HousequestError, ModelError, Unsupported, shown
from housequest.worlds.household.belief import kind as kind_of
from housequest.worlds.registry import DEFAULT_WORLD, household, world_class
from housequest.worlds.rooms.render import Frame
from housequest.worlds.rooms.room import GRID, Pose

_NO_PICTURES = "This world shows no pictures; play alfred, or this agent without a camera in a household in text."
_NOTHING_HAPPENED = "Nothing happened yet."
_NO_ACTION = "a command that is no action"
_SLICE = re.compile(r"sliced?s?|cracked|pieces?", re.IGNORECASE)  # Words by which people and models call a slice.


@dataclass(frozen=True, slots=True, eq=False)
class RobotState:
    """The robot's state: what it knows by ``seen``, the ``skill`` in progress and the action that was ``given`` last.

    ``command`` is that action as it was sent; ``goal`` what the task asks for, in words.

    ``problem`` is why the skill cannot begin. ``frame`` is the present one until an action is given: a state is kept for each
    turn, and a picture can be rendered again. ``log`` has what was done, each with its kind of thing and whether it was
    accepted; ``told`` counts the errors that were emitted. ``nameless`` is what a person alone has called the thing that they
    put into the hand."""

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

    @property
    def knowledge(self) -> seeing.SeeingState:
        """What it knows. Only after it has seen something."""
        assert self.seen is not None
        return self.seen


class RobotBody:
    """ALFRED's robot. Its states are `RobotState`."""

    def __init__(self, parts: AgentParts[CameraSettings]) -> None:
        settings, world = parts.settings, household(DEFAULT_WORLD)
        assert world is not None
        self._counts = world.counts()
        self._receptacles = frozenset(kind for room in self._counts.rooms.values() for kind in room.receptacles)
        things = frozenset(self._counts.objects())
        self._fixed = self._receptacles - things
        self._kinds = things | self._receptacles | {seeing.sliced(kind) for kind in things} | {"faucet"}
        heuristics = seeing.Heuristics(**{one.name: getattr(settings, one.name) for one in fields(seeing.Heuristics)})
        perception = make_perception(settings.seeing, pictures=parts.world.engine)
        self.picture_size = perception.size
        self._looked: tuple[RobotState | None, Frame | None, RobotState | None] = None, None, None
        self._policy = ActionPolicy(perception, heuristics, self._chance, seed=parts.seed)

    def _chance(self, thing: str, receptacle: str) -> float:
        """How likely a receptacle of this kind holds the thing, in the rooms that have such receptacles."""
        rooms = [name for name, room in self._counts.rooms.items() if receptacle in room.receptacles]
        return max((self._counts.chance(thing, receptacle, room) for room in rooms), default=0.0)

    def begin(self, opening: Observation, goal: str) -> RobotState:
        del opening
        return RobotState(goal)

    async def attend(self, state: RobotState, turn: base.Turn) -> RobotState:
        # Who watches lets it look before it decides, which is then the same look.
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
        """The state after ``transitions`` that ended at ``pose``. All but what it gave itself is somebody else's."""
        seen, log, nameless = state.knowledge, state.log, state.nameless
        poses: list[Pose] = []
        for transition in reversed(transitions):
            # From where each command was given.
            pose = before(pose, _read(transition.command)[0]) if transition.observation.accepted else pose
            poses.insert(0, pose)
        for number, (transition, stood) in enumerate(zip(transitions, poses, strict=True)):
            accepted = transition.observation.accepted
            if number == 0 and state.given is not None and transition.command == state.command:
                action = state.given
                seen = carried_out(seen, action, self._policy.targets, accepted=accepted)
                log = (*log, (action.name, action.spot.kind if action.spot is not None else "", accepted))
                continue
            name, kind = _read(transition.command)
            known = not kind or kind in percept.kinds or _nameable(state, kind)
            thing = kind
            if name == "PickupObject" and not known:
                # Whoever played may know what perception has not reported, and prompts tell what is in the hand and was done.
                thing, nameless = seeing.UNRECOGNISED, kind
            seen = played(replace(seen, pose=stood), name, thing, self._policy.targets, accepted=accepted)
            log = (*log, (name, kind if known else "", accepted))
        return replace(state, seen=seen, log=log, nameless=nameless)

    def start(self, state: RobotState, skill: Skill | None) -> RobotState:
        if skill is None:
            return replace(state, skill=None)
        cut = {} if skill.verb == "slice" else {kind: seeing.sliced(kind) for kind, _ in state.knowledge.sliced}
        known = self._kinds.union(state.knowledge.map.found)
        named = {said: _kind(said, known, state.knowledge.map.found) for said in (skill.object, skill.receptacle) if said}
        strange = next((said for said, kind in named.items() if kind is None), None)
        thing, place = (named.get(said or "") for said in (skill.object, skill.receptacle))
        # What was sliced is a slice from then on.
        skill = Skill(skill.verb, cut.get(thing or "", thing), place)
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

    async def proceed(
        self, state: RobotState, goal: str, emit: base.Emitter, rules: Sequence[Rule] = ()
    ) -> tuple[Outcome, RobotState]:
        del goal, rules
        frame = state.frame
        assert frame is not None
        outcome, seen = self._policy.next(state.knowledge)
        if state.problem is not None:
            outcome, seen = Failed(state.problem), state.knowledge.erred("planner's fault")
        # What a skill failed for is the last that went wrong.
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
        # The mask is the robot's; whose pixels it has most of is the simulator's to say, as in ALFRED.
        name = touched(frame, outcome.mask)
        if name is None:
            reason = "there is nothing where it reached"
            emit_thought(events.POLICY, f"interaction failed: {reason}", emit)
            return Failed(reason), self.start(state, None)
        command = f"{outcome.name} {name}"
        return Execute(command), replace(state, given=replace(outcome, mask=None), command=command, frame=None)

    def impression(self, state: RobotState) -> Impression | None:
        spot = None if state.given is None else state.given.spot
        return None if state.seen is None else impression_of(state.seen, self._policy.targets, spot)

    def told(self, state: RobotState) -> Told:
        seen, found = state.knowledge, state.knowledge.map.found
        # First what more than one viewpoint saw.
        sure = [kind for kind in found if len(seen.map.points(kind, voted=True))]
        return Told(
            found=", ".join((*sure, *(f"{kind} (seen once)" for kind in found if kind not in sure))) or NOTHING,
            here=", ".join(seen.percept.kinds) or NOTHING,
            held=seen.held or NOTHING,
            room=self._counts.room_of(found).replace("livingroom", "living room"),
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
    name, _, thing = " ".join(command.split()).partition(" ")
    return (NAMES[name.lower()], kind_in(thing)) if name.lower() in NAMES else (_NO_ACTION, "")


def _recognised(state: RobotState) -> RobotState:
    """The state, with what a person put into the hand called by its kind as soon as it may be."""
    seen = state.knowledge
    if seen.held != seeing.UNRECOGNISED or not _nameable(state, state.nameless):
        return state
    return replace(state, seen=replace(seen, held=state.nameless))


def _nameable(state: RobotState, kind: str) -> bool:
    """Whether prompts may name this kind: perception has reported it, or the goal or the skill in progress says the word."""
    words = re.findall(r"[a-z]+", state.goal.lower())
    skill = (state.skill.object, state.skill.receptacle) if state.skill else ()
    worded = (*words, *map("".join, pairwise(words)), *skill, *(step.kind for step in state.knowledge.steps))
    return kind in state.knowledge.map.kinds[2:] or (bool(kind) and kind in worded)


def _kind(said: str, kinds: Collection[str], found: Collection[str]) -> str | None:
    """The one of ``kinds`` that a model's word means, rather one that was ``found``; None if it is none of them."""
    plain = "".join(said.lower().split()).rstrip("0123456789")
    if plain in kinds:
        return plain
    whole = resolve(_SLICE.sub(" ", said), kinds) if _SLICE.search(said) else None
    if whole is not None and seeing.sliced(whole) in kinds:
        return seeing.sliced(whole)
    named = resolve(said, kinds) or resolve(said, found)
    return named and kind_in(named)


Place = tuple[float, float]  # A point of the floor: x and z in metres, as in the pose of the player's camera.
LEAST_PIXELS = 1 / 3_000  # The share of a picture that a thing must fill to count as missed.


@dataclass(frozen=True, slots=True, eq=False)
class GroundMap:
    """What an agent knows of the floor, from above. Arrays are by cell (x, z); the first begins at ``corner``, in metres.
    ``explored`` was seen at all, ``blocked`` is in the way. ``kinds`` are indices into ``names`` of what is there, -1 for
    nothing; ``sure`` says of which the agent is."""

    corner: Place
    cell: float
    explored: NDArray[bool_]
    blocked: NDArray[bool_]
    kinds: NDArray[int16]
    sure: NDArray[bool_]
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Impression:
    """What an agent made of the picture at which it decided, of ``size`` columns and rows; ``claims`` is what it sees there.
    ``skill`` is in progress and ``step`` a part of it, both in words. ``target`` is where the thing is that it is after, and
    ``path`` leads to where it wants to stand, from where it stands. ``held`` is the kind that it believes to hold."""

    size: tuple[int, int]
    claims: tuple[Detection, ...]
    map: GroundMap
    skill: str
    step: str
    target: Place | None
    path: tuple[Place, ...]
    held: str | None


@dataclass(frozen=True, slots=True)
class Sighting:
    """A claim, a kind, beside what is there, a name: right or ``false``; without a claim, the thing was ``missed``. ``spot`` is
    the middle of its pixels, as shares of the picture's width and height."""

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
    """The claims of an impression beside what its picture really shows; ``frame`` is that picture, of the same size."""
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


def impression_of(state: seeing.SeeingState, targets: seeing.Targets, spot: seeing.Spot | None = None) -> Impression:
    """The impression of ``state``, whose map is M' where votes count and it knows anything. ``spot`` is acted on next."""
    aim = state.aim
    target = None if aim is None or aim.height is None else (aim.x, aim.z)
    if spot is not None:
        target = spot.x, spot.z
    way = () if aim is None or spot is not None else way_to(targets.ground(state, aim.stand), aim.stand)
    origin = state.map.origin
    return Impression(
        size=state.percept.depth.shape[::-1],
        claims=state.percept.detections,
        map=_ground_map(state.map, voted=targets.has.votes),
        skill=state.skill.text if state.skill else "",
        step=_step(state, acting=spot is not None),
        target=target,
        path=tuple((origin.x + x * GRID, origin.z + z * GRID) for x, z in way),
        held=state.held,
    )


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


def _ground_map(seen: SemanticMap, *, voted: bool) -> GroundMap:
    def cells(kind: str, *, voted: bool) -> NDArray[int16]:
        places = seen.points(kind, voted=voted)[:, :2] - (seen.origin.x, seen.origin.z)
        return np.floor(places / CELL + SIDE / 2).astype(np.int16)

    blocked, explored = seen.grid(voted=voted)
    names, every = seen.found, {name: cells(name, voted=False) for name in seen.found}
    kinds, sure = np.full((SIDE, SIDE), -1, np.int16), np.zeros((SIDE, SIDE), bool)
    # What is small lies on what is large.
    for name in sorted(names, key=lambda name: -len(every[name])):
        x, z = every[name].T
        kinds[x, z], sure[x, z] = names.index(name), not voted
        if voted:
            x, z = cells(name, voted=True).T
            sure[x, z] = True
    corner = (seen.origin.x - SIDE / 2 * CELL, seen.origin.z - SIDE / 2 * CELL)
    return GroundMap(corner, CELL, explored, blocked, kinds, sure, names)


def glimpses(recorded: Sequence[Event]) -> Mapping[int, base.Glimpse]:
    """The impressions of a recorded episode, by the event after which the picture was seen; none for an agent without a camera.
    It takes about as long as the episode took without its model, so call it in a thread. Raises ``Unsupported``, with a
    sentence for people, where the episode cannot be played again."""
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
        env = config.open(task)
        try:
            played = resume_episode(
                env,
                make,
                config,
                recorded,
                lambda _: None,
                _Over(),
                model=silent,
                watcher=lambda glimpse: found.update({glimpse.at: glimpse}),
            )
            asyncio.run(played)
        finally:
            env.close()
    except HousequestError as error:
        raise Unsupported(f"What the agent made of its pictures cannot be found out again: {error}") from error
    return found


class _Over(base.Unattended):
    """Ends the episode where its record ends."""

    async def before(self, turn: int, possible: tuple[str, ...] | None) -> base.TurnAnswer:
        del turn, possible
        return base.Stop()

    async def review(self, turn: int, proposal: str) -> base.ProposalAnswer:
        del turn, proposal
        return base.Stop()


class _Silent(Model):
    """A model that says nothing beyond the record, and can do what that of the record could: agents ask otherwise by that."""

    def __init__(self, name: str, recorded: Sequence[Event]) -> None:
        self.name = name
        self._calls = [event.body for event in recorded if isinstance(event.body, ModelCall)]

    async def capabilities(self) -> Capabilities:
        scored = any(call.candidates for call in self._calls)
        plain = any(call.plain for call in self._calls)
        return Capabilities(
            chats=not plain,
            completions=plain,
            log_probabilities=scored,
            scoring=scored,
            grammar=any(call.held for call in self._calls),
            images=True,
        )

    async def complete(self, request: Request) -> Completion:
        del request
        raise ModelError("the record ends here.")
