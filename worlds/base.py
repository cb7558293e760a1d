"""The contracts of a world. Read this file first.

A *world* is a family of tasks with one way of acting. A *task* is one problem; an *env* is one running task; an *observation*
is the text that a player reads, never hidden state. A *household* world also reads its texts into values of
`housequest.worlds.household`.

To add a world, write a subclass of `World` and declare it as an entry point in the group ``housequest.worlds``.
`housequest.worlds.checking.check_world` says whether it keeps the contract.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self, runtime_checkable

from housequest.worlds.errors import TaskNotFound, Unsupported, nearest, shown

if TYPE_CHECKING:
    from housequest.worlds.household.base import Household
    from housequest.worlds.rooms.render import Frame
    from housequest.worlds.rooms.room import Pose, Room, Situation


@dataclass(frozen=True, slots=True)
class Task:
    """One problem of a world. ``wording`` says who worded the goal: ``template``, or ``human:N`` for annotator N. ``id``,
    ``number`` and ``source`` are for people and records; they can give the solution away, so an agent sees only ``goal``, and
    ``type`` if it is granted."""

    id: str
    world: str
    split: str
    number: int
    type: str
    goal: str
    wording: str = "template"
    source: Path | None = None

    @property
    def reference(self) -> str:
        """The short name of the task, ``split:number``."""
        return f"{self.split}:{self.number}"


@dataclass(frozen=True, slots=True)
class Observation:
    """The text after a command, or at the start. It never shows hidden state. ``accepted`` is False if the world refused the
    command; the text says so too ("Nothing happens."). ``explanation`` is the diagnosis of a refusal, if the player was granted
    one."""

    text: str
    accepted: bool = True
    explanation: str | None = None

    def __str__(self) -> str:
        return self.text if self.explanation is None else f"{self.text} {self.explanation}"


@dataclass(frozen=True, slots=True)
class Step:
    """What an env answers to a command. ``terminated``: the game ended by its own rules; ``truncated``: a limit ended it."""

    observation: Observation
    won: bool = False
    terminated: bool = False
    truncated: bool = False

    @property
    def done(self) -> bool:
        """Whether the game is over, so that no further step is allowed."""
        return self.terminated or self.truncated


@dataclass(frozen=True, slots=True)
class Transition:
    """A command with the observation that it caused."""

    command: str
    observation: Observation


@dataclass(frozen=True, slots=True)
class Trajectory:
    """A task's goal and opening with its transitions (the action-observation sequence of OPEx, section 3)."""

    goal: str
    opening: Observation
    transitions: tuple[Transition, ...]


@runtime_checkable
class Env(Protocol):
    """One running task. Not thread-safe; a copy is independent of its original."""

    @property
    def task(self) -> Task:
        """The task being played."""
        ...

    def reset(self) -> Step:
        """Start, or start again; the first observation ends with "Your task is to: " and the goal."""
        ...

    def step(self, command: str) -> Step:
        """Execute ``command`` (any text at all). Raises ``OrderError`` before the first reset."""
        ...

    def admissible_commands(self) -> tuple[str, ...] | None:
        """The commands that would be accepted now, sorted; None if the world cannot list them."""

    def goal_conditions(self) -> tuple[int, int] | None:
        """How many of the goal's conditions are met, and how many there are; for the recorder, never for an agent."""

    def copy(self) -> Env:
        """An independent env in the same state. Raises ``Unsupported`` if that is impossible."""
        ...

    def close(self) -> None:
        """Release what the env holds. It is not used afterwards."""


@runtime_checkable
class Pictured(Protocol):
    """An env that also shows what the player's camera sees; like the text, the picture shows nothing hidden."""

    def frame(self, size: tuple[int, int] = (300, 300)) -> Frame:
        """What the camera sees now; ``size`` is columns and rows of pixels. Things have the names that commands take."""
        ...

    def pose(self) -> Pose:
        """Where the player stands and looks: a robot knows this about itself."""
        ...


@dataclass(frozen=True, slots=True)
class Reach:
    """What can be done with the thing in the middle of the picture: commands, the likeliest first, or ``why`` nothing."""

    commands: tuple[str, ...]
    why: str = ""


@runtime_checkable
class Reaching(Protocol):
    """A `Pictured` env in which people can act on the thing in the middle of the picture with one key."""

    def reach(self) -> Reach:
        """What can be done now with the thing in the middle."""
        ...


@dataclass(frozen=True, slots=True)
class CommandKey:
    """A key, by Textual's name of it (``shift+up``), that sends ``command``; one that the screen uses keeps that use."""

    key: str
    command: str
    about: str


class Policy(Protocol):
    """A player without a language model, which decides from the goal and the observations alone. A policy that replays a
    benchmark's own demonstration gives up once somebody else has acted. ``memory`` is immutable plain data of the policy's own,
    so that an episode can be rewound."""

    def begin(self, goal: str, observation: Observation) -> Any:
        """The memory before the first command."""

    def observe(self, memory: Any, command: str, observation: Observation) -> Any:
        """The memory after ``command`` was executed, whoever chose it."""

    def decide(self, memory: Any) -> tuple[str | None, str, Any]:
        """The next command (None if it gives up), the thought behind it in a few words, and the memory after choosing it."""
        ...


@dataclass(frozen=True, slots=True)
class Annotated:
    """Hidden: the length of a benchmark's own demonstration of a task, and how many conditions its goal has."""

    actions: int
    conditions: int


@dataclass(frozen=True, slots=True)
class Played:
    """A task that counts, as a metric sees it: ``steps`` are executed commands, refused ones included; ``conditions`` and
    ``annotated`` (the length of the benchmark's own demonstration) are None where they are not known."""

    won: bool
    met: int
    conditions: int | None
    steps: int
    annotated: int | None = None


@dataclass(frozen=True, slots=True)
class Metric:
    """What a benchmark computes of its episodes by its own name: a ratio of two sums over all played tasks, in [0, 1].
    ``terms`` gives what a task adds above and below the line, None where that is not known. ``label`` names it in tables,
    ``key`` in JSON, and ``about`` says in a sentence what it is. A ``main`` one stands in every table, the others only in the
    table of all tasks."""

    key: str
    label: str
    about: str
    terms: Callable[[Played], tuple[float, float] | None]
    main: bool = True


@dataclass(frozen=True, slots=True)
class NoOptions:
    """The options of a world without any."""


class World(ABC):
    """A family of tasks. A subclass needs ``name``, `splits`, `tasks` and `open`; everything else has a default."""

    name: ClassVar[str]  # the name of its entry point
    version: ClassVar[str] = "1"  # changes when the same commands may give other texts
    Options: ClassVar[type[Any]] = NoOptions  # a frozen dataclass of what can be set; see `housequest.worlds.options`
    household: Household | None = None  # reads its texts into a belief; None if it is not a household
    preamble: ClassVar[str] = "a world"  # what prompts call this world: a noun with its article, such as "a household"
    task_types: ClassVar[Mapping[str, str]] = {}  # in display order, each with a short word for it; endless splits need them
    published_splits: ClassVar[Mapping[str, int]] = {}  # in display order, with their number of tasks, installed or not
    endless_splits: ClassVar[tuple[str, ...]] = ()  # they make tasks on demand (``SPLIT:SEED``); `splits` does not list them
    first_task: str | None = None  # the task for a person's first game; None for the first task of `example_split`
    prior: ClassVar[str] = "counts of where things were in train"  # what a search by ``counts`` goes by at first
    get_data: ClassVar[str] = ""  # how to get the published splits: one sentence for people
    metrics: tuple[Metric, ...] = ()  # what its benchmark computes beside success; reports show it instead of their own means
    max_turns: int = 50  # turns of an episode by default
    skills: tuple[str, ...] = ()  # its commands if they are whole skills; planners select from `skills_at`
    pictured: ClassVar[bool] = False  # whether its envs show pictures (`Pictured`)
    enacts: bool = False  # whether its commands are also carried out in a simulator, to be watched (`housequest.worlds.env`)
    inline: bool = True  # whether a step takes milliseconds. If not, steps run in a thread
    keys: tuple[CommandKey, ...] = ()  # keys that send a command, for people who play on the screen
    manual: str = ""  # how to act: the forms of the commands, one on each line, for people and prompts

    @classmethod
    def from_options(cls, options: Any) -> Self:
        """Make the world with ``options``, an instance of ``Options``. By default its fields become keyword arguments."""
        return cls(**{name: getattr(options, name) for name in cls.Options.__dataclass_fields__})

    @classmethod
    def options_of(cls, engine: str) -> dict[str, str]:
        """The options under which a record is replayed, found out from the ``engine`` that it names."""
        del engine
        return {}

    @property
    def engine(self) -> str:
        """The program that steps its envs, with its version; every run records it."""
        return f"{self.name} {self.version}"

    @property
    def default_split(self) -> str:
        """The split that an evaluation plays if none is named."""
        return self.splits()[0]

    @property
    def example_split(self) -> str:
        """The split that a person plays if none is named. It must not need a download."""
        return self.splits()[0]

    @property
    def training_split(self) -> str:
        """The split that exploration plays if none is named."""
        return self.default_split

    @abstractmethod
    def splits(self) -> Sequence[str]:
        """The installed splits, in a fixed order."""

    @abstractmethod
    def tasks(self, split: str) -> Sequence[Task]:
        """Every task of ``split`` in a fixed order, numbered from 1. Raises ``TaskNotFound`` for an unknown split."""

    @abstractmethod
    def open(self, task: Task, *, diagnosis: bool = False) -> Env:
        """A new env for ``task``; with ``diagnosis``, it explains refusals. Raises ``GameError`` and ``Unsupported``."""

    def task(self, reference: str) -> Task:
        """The task with this id or ``split:number``. Raises ``TaskNotFound``."""
        every = [task for split in self.splits() for task in self.tasks(split)]
        for task in every:
            if reference in (task.id, task.reference):
                return task
        hint = nearest(reference, [name for task in every for name in (task.reference, task.id)])
        splits = ", ".join(f"{split}:1 to {split}:{len(self.tasks(split))}" for split in self.splits())
        raise TaskNotFound(f"The world {self.name!r} has no task {shown(reference)}; give {splits} or an id.{hint}")

    def expert(self, /, **settings: Any) -> Policy:
        """A player that needs no language model. Raises ``Unsupported`` if the world has none."""
        del settings
        raise Unsupported(f"The world {self.name!r} has no expert.")

    def skills_at(self, opening: str) -> tuple[str, ...]:
        """The skills of the task with this opening text; by default ``skills``, the same for all tasks."""
        del opening
        return self.skills

    def sandbox(self, task: Task) -> Env:
        """A quick env in this process, to try commands in. Raises what `open` raises, and ``Unsupported``."""
        if not self.inline:
            raise Unsupported(f"The world {self.name!r} has no env that is quick enough to try commands in.")
        return self.open(task)

    def shortest(self, task: Task, *, seconds: float | None = None) -> int | None:
        """Hidden: the number of commands in the shortest solution, None if none is known: for metrics, and for people after a
        game. The search ends after ``seconds``, or at the world's own limit; call it in a thread. Raises ``GameError``."""
        del task, seconds
        return None

    def annotated(self, task: Task) -> Annotated | None:
        """Hidden: what the benchmark says of ``task``, for its ``metrics``; None if it says nothing. Raises ``GameError``."""
        del task
        return None

    def annotated_plan(self, task: Task) -> tuple[tuple[str, ...], ...] | None:
        """Hidden: subgoals that people annotated, such as ``("PutObject", "apple", "fridge")``. Raises ``GameError``."""
        del task
        return None

    def room(self, task: Task) -> Room | None:
        """Hidden: the room in which ``task`` is drawn, by the household's names; None if none is. Raises ``GameError``."""
        del task
        return None

    def situation(self, env: Env, room: Room) -> Situation | None:
        """Hidden: the true state of ``env``, for people who watch (players see what is `believed`); None if unknown."""
        del env, room
        return None

    def fingerprint(self, split: str) -> str:
        """A SHA-256, in hexadecimal, that changes whenever the tasks of ``split`` change. Raises ``TaskNotFound``."""
        import hashlib

        lines = (f"{task.id} {task.type} {task.goal}" for task in self.tasks(split))
        return hashlib.sha256("\n".join((self.engine, *lines)).encode("utf-8", "surrogatepass")).hexdigest()

    def close(self) -> None:  # noqa: B027 (most worlds hold nothing)
        """Release what the world holds, such as processes."""
