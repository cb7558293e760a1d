"""ALFRED's tasks, read from the annotations in ``traj_data.json``, with goal conditions, scores of plans, and metrics.

A `Demonstration` has the annotators' instructions, the plan, the goal and a symbolic room. An `AnnotatedTrajectory` has the
start of a task in a simulator and the demonstrated actions. A `ListedTrajectory` has only the fields for a list of tasks.

Conditions are counted as in ALFRED's evaluation ("goal-condition success", Shridhar et al. 2020, section 5): a sliced object
adds one, two objects count separately, and treating and placing count separately and once more together.

*Exact* is the papers' high-level planning accuracy: the plan is the annotated one, subgoal by subgoal. *Goal-reaching* is a
relaxed measure of our own: executed on the symbolic model, the plan is never refused and meets every goal condition. It is not
the RelaxedHLP of the Socratic Planner, which accepts a fixed list of plans. *Wherever* is goal-reaching with all places
unknown, for planners that do not know where anything is.

An episode's path weight is ``min(1, L / t)``: L is the number of low-level actions of the annotated demonstration, and t that
of the actions taken, failed ones included. Over all episodes, goal conditions are a ratio of sums, and path-weighted metrics
are weighted by L once more, so that long tasks count more. OPEx and others report "SR weighted by path" without that second
weight; here the plain means are metrics of their own.

The files are in ALFWorld's layout, ``json_2.1.1/<split>/<task>/<trial>/traj_data.json``, with or without a game beside them; a
demonstration's id is ``<split>/<task>/<trial>``. The files are untrusted. Lists are cached like ALFWorld's games
(`housequest.worlds.alfworld.games`), by path, size and modification time, so that files are opened only once.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Set
from dataclasses import dataclass
from functools import wraps
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Self, TypeVar, cast, get_args

from housequest.worlds.alfred import model
from housequest.worlds.alfworld.games import GET_DATA, LAYOUT, MAX_TRAJECTORY, TRAJECTORY_FILE, splits_of
from housequest.worlds.alfworld.text import HOUSEHOLD, goal_sentences
from housequest.worlds.base import Metric, Played
from housequest.worlds.errors import GameError, TaskNotFound, nearest, shown
from housequest.worlds.household.goals import TASK_TYPES as HOUSEHOLD_TYPES
from housequest.worlds.household.goals import TYPES, Goal, TaskType, Treatment
from housequest.worlds.paths import alfworld_data, cache_folder, read_bounded, sha256_of
from housequest.worlds.rooms.room import AHEAD, FAR, Cell, Point, Pose
from housequest.worlds.tasks import joined_sentences, plain_sentence
from housequest.worlds.text import with_article
from housequest.worlds.validation import read_cache, write_cache

if TYPE_CHECKING:
    from housequest.worlds.alfred.simulator.base import SimulatedObject, SimulatorEvent

STACK = "pick_and_place_with_movable_recep"  # A thing in a movable receptacle, and that in a place.
TASK_TYPES: tuple[str, ...] = (*HOUSEHOLD_TYPES, STACK)  # The seven task types.
Level = Literal["easy", "normal", "hard"]
LEVELS: tuple[Level, ...] = get_args(Level)
_TREATED: dict[str, model.Property] = {TYPES["clean"]: "clean", TYPES["heat"]: "hot", TYPES["cool"]: "cold"}
_SUBGOALS: dict[Treatment, model.ActionName] = {treatment: action for action, treatment in model.TREATMENTS.items()}
_EVER: dict[str, Treatment] = {TYPES[treatment]: treatment for treatment in _SUBGOALS}
_TYPED: dict[str, TaskType] = {type: type for type in HOUSEHOLD_TYPES}
_SLICE_OF = re.compile(r"\bslices? of (?=[a-z])", re.ASCII)
_STACKED = re.compile(r"put an? ([a-z]{1,40}) in an? ([a-z]{1,40}) and put that in ([a-z]{1,40})\.", re.ASCII)


@dataclass(frozen=True, slots=True)
class AlfredGoal:
    """A task's goal, by kinds: ``object`` (or a slice) in ``receptacle``, in a ``movable`` there, or under a ``lamp``."""

    type: str
    object: str
    sliced: bool = False
    receptacle: str | None = None
    movable: str | None = None
    lamp: str | None = None

    @classmethod
    def read(cls, sentence: str) -> Self | None:
        """The goal in a made-up house's sentence; None for any other wording."""
        whole, slices = _SLICE_OF.subn("", sentence)
        if stacked := _STACKED.fullmatch(whole):
            thing, movable, place = stacked.groups()
            return cls(STACK, thing, bool(slices), place, movable)
        goal = HOUSEHOLD.read_goal(whole)
        return goal and cls(goal.type, goal.object, bool(slices), goal.receptacle, lamp=goal.lamp)

    @property
    def sentence(self) -> str:
        """The goal in the words of a made-up house, for `read`: ALFWorld's, and ours for slices and stacks."""
        two = self.type == TYPES["two"]
        thing = f"{'slices' if two else 'slice'} of {self.object}" if self.sliced else self.object
        if self.movable is not None:
            return f"put {with_article(thing)} in {with_article(self.movable)} and put that in {self.receptacle}."
        return goal_sentences(Goal(_TYPED[self.type], thing, self.receptacle, self.lamp))[0]

    def plan(self) -> model.Plan:
        """The subgoals that reach it, without going and searching; after slicing, the knife may go anywhere."""
        step, thing = model.PlanStep, self.object
        cut = (step("PickupObject", "knife"), step("SliceObject", thing), step("PutObject", "knife"))
        steps = [*(cut if self.sliced else ()), step("PickupObject", thing)]
        if self.movable is not None:
            steps += [step("PutObject", thing, self.movable), step("PickupObject", self.movable)]
        if (treatment := _EVER.get(self.type)) is not None:
            steps.append(step(_SUBGOALS[treatment], thing))
        if self.lamp is not None:
            steps.append(step("ToggleObject", self.lamp))
        if self.receptacle is not None:
            steps.append(step("PutObject", self.movable or thing, self.receptacle))
        return (*steps, *(steps[-2:] if self.type == TYPES["two"] else ()))

    @property
    def total(self) -> int:
        if self.type == "pick_two_obj_and_place":
            return 4 if self.sliced else 2
        basic = {"pick_and_place_simple": 1, "look_at_obj_in_light": 2}.get(self.type, 3)
        return basic + self.sliced

    def met(self, state: model.RoomState) -> int:
        things = dict(enumerate(state.things))
        mine = {n for n, one in things.items() if one.kind == self.object and (not self.sliced or "sliced" in one.marks)}
        placed = {n for n in mine if n != state.held and state.place(n) == self.receptacle is not None}
        match self.type:
            case "look_at_obj_in_light":
                lamps = {n: one.place for n, one in things.items() if one.kind == self.lamp and "on" in one.marks}
                # At the lamp, or where it stands.
                lit = {n for n, place in lamps.items() if state.at is not None and state.at in (n, place)}
                return self._count(mine, {state.held} & mine, lit)
            case "pick_and_place_with_movable_recep":
                movables = {n for n, one in things.items() if one.kind == self.movable}
                there = {n for n in movables if n != state.held and state.place(n) == self.receptacle}
                return self._count(mine, {things[n].inside for n in mine} & movables, there)
            case _:
                wanted = _TREATED.get(self.type)
                return self._count(mine, placed, {n for n in mine if wanted in things[n].marks}, together=len(placed))

    def seen(self, event: SimulatorEvent) -> int:
        """Hidden: the number of conditions met after ``event``, counted as in ALFRED's evaluation (its ``tasks.py``).

        There is one difference, which makes no goal easier: here kinds must be equal, and a slice is not a whole. ALFRED looks
        for a kind's name anywhere in an id, so that a potato is also a pot, a pencil a pen and a butter knife a knife."""
        objects = event.objects

        def among(kind: str | None, fits: Callable[[SimulatedObject], bool]) -> dict[str, SimulatedObject]:
            return {one.id: one for one in objects if one.kind.casefold() == kind and fits(one)}

        mine = among(f"{self.object}sliced" if self.sliced else self.object, lambda one: one.pickupable)
        receptacles = among(self.receptacle, lambda one: one.receptacle)
        placed = {id for id, one in mine.items() if not receptacles.keys().isdisjoint(one.parents)}
        match self.type:
            case "look_at_obj_in_light":
                lamps = among(self.lamp, lambda one: one.toggleable and one.on).keys()
                return self._count(mine, {event.held} & mine.keys(), lamps & event.visible() if lamps else lamps)
            case "pick_and_place_with_movable_recep":
                movables = among(self.movable, lambda one: one.pickupable)
                filled = {parent for one in mine.values() for parent in one.parents} & movables.keys()
                there = {id for id, one in movables.items() if not receptacles.keys().isdisjoint(one.parents)}
                return self._count(mine, filled, there)
            case _:
                together = max((sum(place in one.parents for one in mine.values()) for place in receptacles), default=0)
                treated = {id for id in mine if (_EVER.get(self.type, ""), id) in event.treated}
                return self._count(mine, placed, treated, together=together)

    def _count(self, mine: Collection[object], one: Set[object], other: Set[object], *, together: int = 0) -> int:
        """Conditions met: one for each set that is not empty and one for a common member; or those of two ``together``."""
        two = self.type == "pick_two_obj_and_place"
        sliced = min(len(mine), 2 if two else 1) if self.sliced else 0
        return sliced + (min(together, 2) if two else bool(one) + bool(other) + bool(one & other))


def level(length: int) -> Level:
    """The Socratic Planner's level (section 4.3, figure 4): ``easy`` up to 5 steps without ``NoOp``, ``normal`` up to 10."""
    return "easy" if length <= 5 else "normal" if length <= 10 else "hard"


@dataclass(frozen=True, slots=True)
class PlanScore:
    """The score of a plan. ``met`` of ``conditions`` hold at its end or refusal, in its most favourable reading."""

    exact: bool
    reaches: bool
    wherever: bool
    met: int
    conditions: int
    refusal: model.PlanRefusal | None = None


def score(plan: model.Plan, demonstration: Demonstration) -> PlanScore:
    """Score ``plan`` against a demonstration's plan, goal and room; it may be empty."""
    goal, scene = demonstration.goal, demonstration.scene

    def outcome(scene: model.SymbolicScene) -> tuple[int, model.PlanRefusal | None]:
        execution = model.execute(plan, scene)
        return max(goal.met(state) for state in execution.states), execution.refusal

    met, refusal = outcome(scene)
    reaches = refusal is None and met == goal.total
    wherever = reaches or outcome(scene.opened()) == (goal.total, None)
    return PlanScore(plan == demonstration.plan, reaches, wherever, met, goal.total, refusal)


def _metric(
    key: str, label: str, about: str, share: str, *, weight: str = "task", by_path: bool = False, main: bool = True
) -> Metric:
    def terms(played: Played) -> tuple[float, float] | None:
        length, conditions = played.annotated, played.conditions or 0
        if (share == "met" and not conditions) or (length is None and (by_path or weight == "length")):
            return None
        if weight == "conditions":
            return float(played.met), float(conditions)
        value = float(played.won) if share == "won" else played.met / conditions
        path = min(1.0, (length or 0) / played.steps) if by_path and played.steps else 1.0
        counts = float(length or 0) if weight == "length" else 1.0
        return value * path * counts, counts

    return Metric(key, label, about, terms, main=main)


_ROWS: list[dict[str, Any]] = tomllib.loads(Path(__file__).with_name("metrics.toml").read_text("utf-8"))["metrics"]
METRICS = tuple(_metric(**row) for row in _ROWS)
UNWEIGHTED = tuple(_metric(**row) for row in _ROWS if "by_path" not in row)
"""The metrics that do not depend on the number of actions."""


T = TypeVar("T")
MOVES = ("MoveAhead", "RotateLeft", "RotateRight", "LookUp", "LookDown")
INTERACTIONS = ("PickupObject", "PutObject", "OpenObject", "CloseObject", "ToggleObjectOn", "ToggleObjectOff", "SliceObject")
"""ALFRED's low-level actions (Shridhar et al. 2020, section 3.1)."""
MOST_ACTIONS = 2_000  # The longest annotated trajectory of train and valid_seen has 234.
_MOST_ANNOTATIONS = 20
_MOST_POSES = 400
_MOST_DEGREES = 360
_LONGEST_ID = 120
_KIND = re.compile(r"[A-Za-z]{1,40}", re.ASCII)
_VERSION = "1"
_TARGETS = {"receptacle": "parent", "movable": "mrecep", "lamp": "toggle"}


@dataclass(frozen=True, slots=True)
class Instruction:
    """One annotator's goal and step-by-step instructions. ``annotator`` counts from 1."""

    annotator: int
    goal: str
    steps: tuple[str, ...]

    def text(self, *, stepwise: bool) -> str:
        """One line: the goal, followed by the steps if ``stepwise``."""
        return " ".join((self.goal, *self.steps)) if stepwise else self.goal


@dataclass(frozen=True, slots=True)
class Demonstration:
    """One ALFRED trajectory without its frames. ``plan`` is the annotated one without ``NoOp``."""

    id: str
    split: str
    type: str
    goal: AlfredGoal
    plan: model.Plan
    scene: model.SymbolicScene
    instructions: tuple[Instruction, ...]


def annotated(make: Callable[[Path, Any], T]) -> Callable[[Path], T]:
    """Make a reader of an untrusted ``traj_data.json``, which raises ``GameError`` with the file's name and the problem."""

    @wraps(make)
    def read(path: Path) -> T:
        content = read_bounded(path, MAX_TRAJECTORY, GameError)
        try:
            return make(path, json.loads(content))
        except (ValueError, LookupError, TypeError, AttributeError, OverflowError, RecursionError) as error:
            detail = f"{type(error).__name__}: {shown(str(error))}"
            raise GameError(f"{shown(str(path), 400)} holds no ALFRED annotations ({detail}). Fetch it again.") from error

    return read


def trajectory_files(folder: Path) -> list[Path]:
    return sorted(folder.glob(f"*/*/{TRAJECTORY_FILE}"), key=lambda path: path.parts[-3:-1])


def read_split(split: str, data: Path | None = None) -> tuple[Demonstration, ...]:
    """Read all demonstrations of ``split``, sorted by id. Raises ``TaskNotFound``, and ``GameError`` for a damaged file."""
    root = (data or alfworld_data()) / LAYOUT
    there = splits(data)
    if split not in there:
        known = f"there are {', '.join(there)}" if there else f"{shown(str(root), 400)} has none"
        raise TaskNotFound(f"There is no split {shown(split)} with annotations; {known}.{nearest(split, there)} {GET_DATA}")
    return tuple(read_demonstration(path) for path in trajectory_files(root / split))


def splits(data: Path | None = None) -> tuple[str, ...]:
    """The splits in the data folder, published ones first."""
    root = (data or alfworld_data()) / LAYOUT
    try:
        return splits_of(folder.name for folder in root.iterdir() if folder.is_dir())
    except OSError:
        return ()


@annotated
def read_demonstration(path: Path, content: Any) -> Demonstration:
    steps = cast("list[Any]", content["plan"]["high_pddl"])
    if len(steps) > model.LONGEST_PLAN:
        raise model.PlanError(f"{len(steps)} subgoals are too many")
    goal, plan = goal_of(content), list[model.PlanStep]()
    for action in (step["discrete_action"] for step in steps):
        names: list[Any] = action["args"]
        if action["action"] != model.NOTHING:
            # Some treatments name no object; they mean the one picked up last.
            held = next((one.thing for one in reversed(plan) if one.action == "PickupObject"), "")
            plan.append(model.plan_step(_word(action["action"]), [_kind(name or held) for name in names]))
    return Demonstration(
        id="/".join(path.parts[-4:-1]),
        split=path.parts[-4],
        type=goal.type,
        goal=goal,
        plan=tuple(plan),
        scene=_scene(content["scene"], [step["planner_action"] for step in steps], goal),
        instructions=instructions_of(content),
    )


def goal_of(content: Any) -> AlfredGoal:
    name, parameters = content["task_type"], content["pddl_params"]
    if name not in TASK_TYPES:
        raise ValueError(f"no task type {name!r}")
    named = {field: parameters[f"{key}_target"] for field, key in _TARGETS.items()}
    return AlfredGoal(
        type=name,
        object=_kind(parameters["object_target"]),
        sliced=parameters["object_sliced"] is True,
        **{field: _kind(target) if target else None for field, target in named.items()},
    )


def instructions_of(content: Any, *, steps: bool = True) -> tuple[Instruction, ...]:
    """The annotators' goals, and with ``steps`` their instructions, in the content of a ``traj_data.json``."""
    return tuple(
        Instruction(
            annotator,
            plain_sentence(_word(one["task_desc"])),
            tuple(plain_sentence(_word(step)) for step in one["high_descs"][: model.LONGEST_PLAN if steps else 0]),
        )
        for annotator, one in enumerate(content["turk_annotations"]["anns"][:_MOST_ANNOTATIONS], start=1)
    )


def _scene(scene: Any, actions: list[Any], goal: AlfredGoal) -> model.SymbolicScene:
    # Count the kinds by name ("KeyChain_2197d4a8"), then place those that the plan touched.
    poses = cast("list[Any]", scene["object_poses"])[:_MOST_POSES]
    counted = Counter(_kind(_word(pose["objectName"]).partition("_")[0]) for pose in poses)
    touched = _touched(actions)
    counted.subtract(Counter(thing.kind for thing in touched))
    rest = [model.Thing(kind) for kind in sorted(counted) if model.able(kind, "pickupable") for _ in range(counted[kind])]
    lamps = [model.Thing(goal.lamp)] if goal.lamp and all(thing.kind != goal.lamp for thing in touched) else []
    return model.SymbolicScene(model.receptacles_of(model.room_of(int(scene["scene_num"]))), (*touched, *rest, *lamps))


def _touched(actions: list[Any]) -> list[model.Thing]:
    """The objects that the plan picks up, slices or turns on, each with its place when it is first touched."""
    places: dict[str, str | None] = {}
    for action in actions:
        name = action["action"]
        if name not in ("PickupObject", "SliceObject", "ToggleObject"):
            continue
        # A slice's id begins with that of the whole object: "Bread|-01.24|+01.40|-03.20|BreadSliced_1".
        thing = "|".join(_word(action["objectId"]).split("|")[:4])
        on = action.get("coordinateReceptacleObjectId") if name == "PickupObject" else None
        if places.get(thing) is None:
            places[thing] = _kind(on[0]) if on else None
    return [model.Thing(_kind(thing.partition("|")[0]), place) for thing, place in places.items()]


def _word(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{shown(value)} is not text")
    return value


def _kind(value: Any) -> str:
    if not isinstance(value, str) or not _KIND.fullmatch(value):
        raise ValueError(f"{shown(value)} is not the name of a kind")
    return value.casefold()


@dataclass(frozen=True, slots=True)
class LowAction:
    """An annotated action; ``target`` is its object, for ``PutObject`` the receptacle, and None for a move. With a target's
    name in place of its id, its text is the command."""

    name: str
    target: str | None = None

    def __str__(self) -> str:
        return self.name if self.target is None else f"{self.name} {self.target}"


Things = tuple[tuple[str, Point], ...]


class AnnotatedRoom(NamedTuple):
    """A room as an annotated task begins. ``floor_plan`` is AI2-THOR's name of its scene; ``start`` has the horizon as its
    pitch, and ``height`` is the agent's y there. ``things`` are the movable objects, each its kind, as AI2-THOR writes it, and
    its point. ``on`` are the kinds of lamps that are on; ``dirty`` means that all dishes are dirty and empty."""

    floor_plan: str
    start: Pose
    height: float
    things: Things
    on: frozenset[str]
    dirty: bool


def posed(poses: Any) -> Things:
    """The kind and the point of each object in AI2-THOR's list of poses. Raises ``KeyError``, ``TypeError``, ``ValueError``."""
    listed = cast("list[Any]", poses)
    if len(listed) > _MOST_POSES:
        raise ValueError(f"it has {len(listed)} things")
    # "KeyChain_2197d4a8": the part after the kind differs from build to build.
    return tuple(
        (_text(pose["objectName"]).partition("_")[0], Point(*(_number(pose["position"][axis]) for axis in "xyz")))
        for pose in listed
    )


class AnnotatedTrajectory:
    """An annotated task: its goal, the room in which it begins, and people's low-level actions."""

    def __init__(self, content: Any) -> None:
        scene: Any = content["scene"]
        first: Any = scene["init_action"]
        actions = cast("list[Any]", content["plan"]["low_actions"])
        if not 0 < len(actions) <= MOST_ACTIONS:
            raise ValueError(f"it has {len(actions)} low-level actions")
        toggles = cast("list[Any]", scene["object_toggles"] or [])[:_MOST_POSES]
        x, height, z = (_number(first[axis]) for axis in "xyz")
        self.goal = goal_of(content)
        self.room = AnnotatedRoom(
            _text(scene["floor_plan"]),
            Pose(x, z, _number(first["rotation"], _MOST_DEGREES) % 360, _number(first["horizon"], _MOST_DEGREES)),
            height,
            posed(scene["object_poses"]),
            frozenset(_text(toggle["objectType"]) for toggle in toggles if toggle["isOn"] is True),
            scene["dirty_and_empty"] is True,
        )
        self.actions = tuple(_low_action(one["api_action"]) for one in actions)

    def walked(self) -> Iterator[Cell]:
        """The cells of the floor that people stood on."""
        (x, z), quarter = self.room.start.cell, self.room.start.quarter
        yield x, z
        for action in self.actions:
            quarter = (quarter + {"RotateRight": 1, "RotateLeft": -1}.get(action.name, 0)) % 4
            if action.name == "MoveAhead":
                x, z = x + AHEAD[quarter][0], z + AHEAD[quarter][1]
                yield x, z


@annotated
def read_trajectory(_: Path, content: Any) -> AnnotatedTrajectory:
    return AnnotatedTrajectory(content)


def _low_action(action: Any) -> LowAction:
    if (name := action["action"]) not in (*MOVES, *INTERACTIONS):
        raise ValueError(f"no low-level action {name!r}")
    target = "receptacleObjectId" if name == "PutObject" else "objectId"
    return LowAction(name, None if name in MOVES else _text(action[target]))


def _number(value: Any, most: float = FAR) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value) or abs(value) > most:
        raise ValueError(f"{value!r} is not a number of a room")
    return float(value)


def _text(value: Any) -> str:
    if not isinstance(value, str) or not 0 < len(value) <= _LONGEST_ID or not value.isprintable():
        raise ValueError(f"{value!r} is not a name")
    return value


class ListedTrajectory(NamedTuple):
    """A trajectory in a list: its path under the split, ``<task>/<trial>``, and each annotator's sentence, which may be
    empty."""

    trial: str
    size: int
    changed: int
    type: str
    sentences: tuple[str, ...]


def listed(folder: Path, *, steps: bool = False) -> tuple[ListedTrajectory, ...]:
    """List the trajectories in a ``folder``; with ``steps``, instructions follow each goal. Raises ``GameError``."""
    key = sha256_of(str(folder.resolve()))
    file = cache_folder() / "alfred" / f"{key[:24]}{'-steps' if steps else ''}.json"
    kept = read_cache(ListedTrajectory, file, _VERSION)
    known, found = {one.trial: one for one in kept}, list[ListedTrajectory]()

    @annotated
    def wanted(_: Path, content: Any) -> tuple[str, tuple[str, ...]]:
        told = instructions_of(content, steps=steps)
        sentences = tuple(joined_sentences((one.goal, *one.steps)) if steps and one.goal else one.goal for one in told)
        return goal_of(content).type, sentences

    for path in trajectory_files(folder):
        trial, status = "/".join(path.parts[-3:-1]), path.stat()
        at, before = (status.st_size, status.st_mtime_ns), known.get(trial)
        if before is None or (before.size, before.changed) != at:
            before = ListedTrajectory(trial, *at, *wanted(path))
        found.append(before)
    if tuple(found) != kept:
        write_cache(found, file, _VERSION)
    return tuple(found)
