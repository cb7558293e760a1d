"""ALFRED as a world: annotated trajectories played action by action in a simulator, and made-up houses beside them."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache, partial
from importlib import metadata
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from housequest.worlds.alfred.env import MANUAL, AlfredEnv, AlfredSkillEnv, Episode, demonstrated, demonstrated_skills, opening
from housequest.worlds.alfred.env import TURNS as TURNS_OF_SKILLS
from housequest.worlds.alfred.houses import GOALS, AlfredHouses
from housequest.worlds.alfred.model import skills_of
from housequest.worlds.alfred.scenes import files_on, scene_at, scene_of
from housequest.worlds.alfred.tasks import METRICS, UNWEIGHTED, AlfredGoal, listed, read_demonstration, read_trajectory, splits
from housequest.worlds.alfworld import games
from housequest.worlds.alfworld.engine.game import parse_game
from housequest.worlds.base import Annotated, CommandKey, Env, Observation, Policy, Task, WorldInfo
from housequest.worlds.env import unwrapped
from housequest.worlds.errors import ConfigurationError, GameError, shown
from housequest.worlds.household.goals import TYPES, Skill, named_skills
from housequest.worlds.household.world import EXAMPLE, GENERATED, HouseholdWorld
from housequest.worlds.options import option
from housequest.worlds.paths import alfworld_data, read_bounded, sha256_of
from housequest.worlds.tasks import GoalSource, parse_goal_source

if TYPE_CHECKING:
    from housequest.worlds.alfred.simulator.base import Scene, Simulator
    from housequest.worlds.alfworld.world import AlfworldWorld
    from housequest.worlds.rooms.room import Room, Situation

_NAME = "alfred"
PUBLISHED = {"train": 6574, "valid_seen": 251, "valid_unseen": 255}
"""The number of trajectories in each published split. Two in three have three annotators; some have up to six."""
FAILURES = 10
TURNS = 1_000  # ALFRED's limits: failed actions, and actions.
EVERY = "every"
_HOUSES = (EXAMPLE, GENERATED)  # splits without annotations
_BY_ORACLE = ", skills by an oracle that reads its metadata"
_TRAJECTORIES_KEPT = 64


@dataclass(frozen=True, slots=True)
class AlfredOptions:
    engine: Literal["boxes", "thor"] = option("boxes", "The simulator: boxes, our stand-in, or thor, AI2-THOR 5's client.")
    player: str | None = option(None, "The program that thor starts, such as a Unity build [the client's own download].")
    platform: Literal["CloudRendering", "Linux64", "OSXIntel64"] | None = option(
        None, "The build of thor: CloudRendering draws by Vulkan, without a display [what the client chooses]."
    )
    display: str | None = option(None, "The X display on which thor draws [$DISPLAY, :0].")
    gpu: int | None = option(None, "The number of the GPU on which thor draws.")
    starting: float = option(300.0, "The seconds for thor to start; a download before that may take another hour.")
    data: str | None = option(None, "The folder that holds json_2.1.1 [$ALFWORLD_DATA, ~/.cache/alfworld].")
    goals: str = option("human", "The goals: human, human:N (annotator N), human:seed=N, human+steps, or every annotator's.")
    failures: int = option(FAILURES, "Failed actions that end an episode; 0: no limit.")
    skills: Literal["none", "oracle"] = option("none", "oracle: commands are LoTa-Bench's skills, by a robot that sees all.")


class AlfredWorld(HouseholdWorld[AlfredHouses]):
    """The trajectories in a data folder and, as the splits ``example`` and ``generated``, ALFWorld's houses without
    annotations. It takes the `AlfredOptions` by name. With the goals ``every``, each annotator's goal is a task of its own, as
    in ALFRED's evaluation. Raises ``ConfigurationError``."""

    name = _NAME
    Options = AlfredOptions
    info = WorldInfo(
        preamble="a room, in which you see through a camera",
        manual=MANUAL,
        metrics=METRICS,
        max_turns=TURNS,
        task_types={**{type: form for form, type in TYPES.items()}, "pick_and_place_with_movable_recep": "stack"},
        published_splits=PUBLISHED,
        endless_splits=(GENERATED,),
        default_splits=games.DEFAULT_SPLITS,
        first_task=f"{EXAMPLE}:1",
        get_data=games.GET_DATA,
        pictured=True,
        keys=(
            CommandKey("shift+up", "MoveAhead", "Forward"),
            CommandKey("shift+left", "RotateLeft", "Left"),
            CommandKey("shift+right", "RotateRight", "Right"),
            CommandKey("pageup", "LookUp", "Up"),
            CommandKey("pagedown", "LookDown", "Down"),
        ),
        inline=False,
    )

    def __init__(self, **given: Any) -> None:
        super().__init__()
        options = AlfredOptions(**given)
        self._simulate, self._version = _simulators(options)
        self._every = options.goals == EVERY
        self._goals = GoalSource(human=True) if self._every else parse_goal_source(options.goals)
        if not self._goals.human:
            raise ConfigurationError(
                "ALFRED's goals are people's sentences; give human, human:N (annotator N), human:seed=N, human+steps or every."
            )
        self._data = alfworld_data() if options.data is None else Path(options.data)
        if options.data is not None and not self._data.joinpath(games.LAYOUT).is_dir():
            raise ConfigurationError(
                f"{shown(str(options.data), 400)} holds no folder {games.LAYOUT}, so it is not ALFRED's data. {games.GET_DATA}"
            )
        self._failures = options.failures
        skills = tuple(named_skills()) if options.skills == "oracle" else ()
        if skills:
            self.info = replace(self.info, skills=skills, max_turns=TURNS_OF_SKILLS, manual="\n".join(skills), keys=())
        first, *rest = UNWEIGHTED if skills else METRICS
        about = f"{first.about} All figures are of {self._version}; do not compare them with ALFRED's or a paper's."
        self.info = replace(self.info, metrics=(replace(first, about=about), *rest))
        self.searched = str(self._data / games.LAYOUT)
        self._opened: dict[str, Task] = {}
        self._read = lru_cache(_TRAJECTORIES_KEPT)(read_trajectory)
        self._begun = lru_cache(_TRAJECTORIES_KEPT)(self._episode)
        self._shown = lru_cache(_TRAJECTORIES_KEPT)(self._commands)

    @classmethod
    def options_of(cls, engine: str) -> dict[str, str]:
        return {"skills": "oracle"} if engine.endswith(_BY_ORACLE) else {}

    @property
    def engine(self) -> str:
        return f"{self._version}{_BY_ORACLE}" if self.info.skills else self._version

    def make_generated(self) -> AlfredHouses:
        return AlfredHouses()

    def installed(self) -> Sequence[str]:
        return splits(self._data)

    def listed(self, split: str) -> Iterable[Task]:
        if split == EXAMPLE:
            return [replace(task, world=_NAME) for task in self._houses.tasks(split)]
        found: list[Task] = []
        for one in listed(self._data / games.LAYOUT / split, steps=self._goals.steps):
            told = [(annotator, sentence) for annotator, sentence in enumerate(one.sentences, start=1) if sentence]
            trial = f"{split}/{one.trial}"
            # If the wanted annotator did not describe a trajectory, take the first one's goal.
            chosen = self._goals.choose(trial, one.sentences)
            for annotator, sentence in told if self._every else [chosen] if chosen else told[:1]:
                id, wording = f"{trial}/{annotator}" if self._every else trial, self._goals.wording(annotator)
                source = self._data / games.LAYOUT / trial / games.TRAJECTORY_FILE
                found.append(Task(id, _NAME, split, len(found) + 1, one.type, sentence, wording, source))
        return found

    def open(self, task: Task) -> Env:
        episode = self._begun(task)
        self._opened[opening(task, episode)] = task
        if self.info.skills:
            return AlfredSkillEnv(task, episode, self._simulate, 0)
        return AlfredEnv(task, episode, self._simulate, self._failures)

    def sandbox(self, task: Task) -> Env:
        return self.open(task)

    def annotated(self, task: Task) -> Annotated | None:
        if task.split in _HOUSES:
            return None
        trajectory = self._read(_source(task))
        return Annotated(len(self._shown(task) if self.info.skills else trajectory.actions), trajectory.goal.total)

    def annotated_plan(self, task: Task) -> tuple[Skill, ...] | None:
        return None if task.split in _HOUSES else skills_of(read_demonstration(_source(task)).plan)

    def room(self, task: Task) -> Room:
        scene = self._begun(task).scene
        return replace(scene.room, start=scene.start) if scene.start.cell in scene.room.floor else scene.room

    def scene(self, task: Task) -> Scene:
        """Hidden: the scene in which ``task`` begins. Raises ``GameError``."""
        return self._begun(task).scene

    def situation(self, env: Env, room: Room) -> Situation | None:
        inner = unwrapped(env)
        return inner.situation(room) if isinstance(inner, AlfredEnv) else None

    def expert(self, /, **settings: Any) -> Policy:
        if settings:
            raise ConfigurationError(f"ALFRED's expert plays what people did; leave out {shown(min(settings))}.")
        return DemonstrationPolicy(self._demonstration)

    def fingerprint(self, split: str) -> str:
        """A SHA-256 of the engine, the split's annotated tasks, and the files that furnish its rooms."""
        if split in _HOUSES:
            lines = [self._houses.fingerprint(split), str(GOALS)]
        else:
            tasks, folder = self.tasks(split), self._data / games.LAYOUT / split
            found = ((task, read_bounded(_source(task), games.MAX_TRAJECTORY, GameError)) for task in tasks)
            lines = [f"{task.id} {task.goal} {hashlib.sha256(content).hexdigest()}" for task, content in found]
            # The files that furnish a split's rooms, with sizes.
            for number in sorted({task.id.split("/")[1].rpartition("-")[2] for task in tasks}):
                there = chain(*files_on(folder, f"FloorPlan{number}"))
                lines += [f"{file.relative_to(folder.parent).as_posix()} {file.stat().st_size}" for file in there]
        return sha256_of("\n".join((self.engine, *lines)))

    @cached_property
    def _houses(self) -> AlfworldWorld:
        from housequest.worlds.alfworld.world import AlfworldWorld

        return AlfworldWorld()

    def _episode(self, task: Task) -> Episode:
        if task.split not in _HOUSES:
            trajectory = self._read(_source(task))
            return Episode(scene_at(_source(task), trajectory.room), trajectory.goal, trajectory.actions)
        # There is no demonstration of this task.
        problem, sentence = self._houses.source(self._houses.task(task.id))
        goal = self.generated.goal(task.number) if task.split == GENERATED else AlfredGoal.read(sentence)
        if goal is None:
            raise GameError(f"The goal {shown(sentence)} of {shown(task.id)} is not one of ALFRED's.")
        return Episode(scene_of(problem, parse_game(problem, sentence, task.id)), goal)

    def _commands(self, task: Task) -> tuple[str, ...]:
        if self.info.skills:
            return () if task.split in _HOUSES else demonstrated_skills(read_demonstration(_source(task)).plan)
        episode = self._begun(task)
        return demonstrated(episode.actions, episode.scene)

    def _demonstration(self, begun: str) -> tuple[str, ...]:
        task = self._opened.get(begun)
        return () if task is None else self._shown(task)


@dataclass(frozen=True, slots=True)
class Playing:
    """The expert's memory: the annotated commands ``left`` of ``total``, and why it gives up without any."""

    left: tuple[str, ...]
    total: int
    over: str


class DemonstrationPolicy:
    """Plays the annotated low-level actions. This is hidden knowledge, for people and benchmarks, and no agent sees it. It
    gives up once somebody else has acted, since the actions lead nowhere from another place.

    Args:
        demonstration: Returns the commands for the task with an opening text; none for an unknown one."""

    def __init__(self, demonstration: Callable[[str], tuple[str, ...]]) -> None:
        self._demonstration = demonstration

    def begin(self, goal: str, observation: Observation) -> Playing:  # noqa: ARG002 (the opening has it)
        left = self._demonstration(observation.text)
        return Playing(left, len(left), "the demonstration is over" if left else "nobody showed how this task is done")

    def observe(self, memory: Playing, command: str, observation: Observation) -> Playing:  # noqa: ARG002 (a failure changes nothing)
        if not memory.left or command.strip() == memory.left[0]:
            return replace(memory, left=memory.left[1:])
        return Playing((), memory.total, "somebody else has acted, and the demonstration does not go on from here")

    def decide(self, memory: Playing) -> tuple[str | None, str, Playing]:
        if not memory.left:
            return None, memory.over, memory
        number = memory.total - len(memory.left) + 1
        return memory.left[0], f"action {number} of {memory.total} of the demonstration", memory


def _source(task: Task) -> Path:
    if task.source is None:
        raise GameError(f"The task {shown(task.id)} does not say where its annotations are; take it from `World.task`.")
    return task.source


def _simulators(options: AlfredOptions) -> tuple[Callable[[], Simulator], str]:
    """The factory of this engine's simulators, and its version. Raises ``ConfigurationError``."""
    from housequest.worlds.alfred.simulator.boxes import Boxes

    if options.engine == Boxes.name:
        return Boxes, Boxes.version
    if (options.gpu is not None and options.gpu < 0) or not 0 < options.starting < 1e6:
        raise ConfigurationError("gpu is the number of a device, from 0 on, and starting a number of seconds above 0.")
    from housequest.worlds.alfred.simulator.thor import MAJOR, Thor

    try:
        client = metadata.version("ai2thor")
    except metadata.PackageNotFoundError:
        raise ConfigurationError(
            'The engine thor needs the client of AI2-THOR 5, which is not installed: pip install "housequest[thor]".'
        ) from None
    if not client.startswith(MAJOR):
        raise ConfigurationError(
            f'The engine thor needs the client of AI2-THOR 5, and this is ai2thor {client}: pip install "housequest[thor]".'
        )
    machine = {"platform": options.platform, "display": options.display, "gpu": options.gpu, "starting": options.starting}
    return partial(Thor, options.player, **machine), f"ai2thor {client}"
