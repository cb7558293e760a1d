"""The contracts of a world. Read this file first.

A *world* is a family of tasks with one way of acting. A *task* is one problem; an *env* is one running task; an *observation*
is the text that a player reads, never hidden state. A *household* world also reads its texts into values of
`housequest.worlds.household`.

To add a world, write a subclass of `World` and declare it as an entry point in the group ``housequest.worlds``. Everything else
that a world can do is a protocol of its own, such as `HasExpert` or `Drawable`: a world fulfils it by having its methods, and
callers ask by ``isinstance``. `housequest.worlds.checking.check_world` checks the contract.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol, runtime_checkable

from housequest.worlds.errors import TaskNotFound, nearest, shown

if TYPE_CHECKING:
    from housequest.worlds.household.base import Household
    from housequest.worlds.household.belief import Belief
    from housequest.worlds.household.goals import Skill
    from housequest.worlds.rooms.render import Frame
    from housequest.worlds.rooms.room import Pose, Room, Situation


@dataclass(frozen=True, slots=True)
class Task:
    """One problem of a world.

    ``wording`` is the author of the goal sentence: ``template``, or ``human:N`` for annotator N. ``id``, ``number`` and
    ``source`` are for people and records; they can give the solution away, so an agent sees only ``goal``, and ``type`` if it
    is granted.
    """

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
    """The text after a command, or at the start. It never shows hidden state.

    ``accepted`` is False if the world refused the command; the text says so too ("Nothing happens."). ``explanation`` is the
    diagnosis of a refusal, if the player was granted one. ``belief`` is the belief about a household after this text; the loop
    adds it, so that each text is read once (`housequest.worlds.household.base.with_belief`), and it is never recorded or
    compared.
    """

    text: str
    accepted: bool = True
    explanation: str | None = None
    belief: Belief | None = field(default=None, compare=False, repr=False)

    def __str__(self) -> str:
        return self.text if self.explanation is None else f"{self.text} {self.explanation}"


@dataclass(frozen=True, slots=True)
class Step:
    """An env's answer to a command.

    ``terminated``: the game ended by its own rules, won or lost; ``truncated``: a limit ended it.
    """

    observation: Observation
    won: bool = False
    terminated: bool = False
    truncated: bool = False

    @property
    def done(self) -> bool:
        """True if the game is over, so that no further step is allowed."""
        return self.terminated or self.truncated


@dataclass(frozen=True, slots=True)
class Transition:
    """A command with the observation that it caused."""

    command: str
    observation: Observation


@runtime_checkable
class Env(Protocol):
    """One running task. Not thread-safe; a copy is independent of its original."""

    @property
    def task(self) -> Task:
        """The task being played."""
        ...

    def reset(self) -> Step:
        """Start, or start again.

        Returns:
            The opening; its text ends with "Your task is to: " and the goal.
        """
        ...

    def step(self, command: str) -> Step:
        """Execute a command. A refused one changes nothing, and the same commands always give the same answers.

        Args:
            command: Any text at all; spaces around it do not count.

        Returns:
            The world's answer.

        Raises:
            OrderError: The env was not reset, or its game is over.
        """
        ...

    def admissible_commands(self) -> tuple[str, ...] | None:
        """List the commands that would be accepted now.

        Returns:
            The commands, sorted; None if the world cannot list them.
        """

    def goal_conditions(self) -> tuple[int, int] | None:
        """Count the goal's conditions, for the recorder and never for an agent.

        Returns:
            The number that are met, and the number of all; None if the world cannot tell.
        """

    def copy(self) -> Env:
        """Copy the env.

        Returns:
            An independent env in the same state.

        Raises:
            Unsupported: The env cannot be copied.
        """
        ...

    def close(self) -> None:
        """Release what the env holds. It is not used afterwards."""


@runtime_checkable
class Pictured(Protocol):
    """An env that also shows what the player's camera sees; like the text, the picture shows nothing hidden."""

    def frame(self, size: tuple[int, int] = (300, 300)) -> Frame:
        """The camera's picture now; ``size`` is columns and rows of pixels. Things have the names that commands take."""
        ...

    def pose(self) -> Pose:
        """The player's own pose, which a robot knows about itself."""
        ...


@dataclass(frozen=True, slots=True)
class Reach:
    """Commands for the thing in the middle of the picture, the likeliest first; if there are none, ``why`` not."""

    commands: tuple[str, ...]
    why: str = ""


@runtime_checkable
class Reaching(Protocol):
    """A `Pictured` env in which people can act on the thing in the middle of the picture with one key."""

    def reach(self) -> Reach:
        """The commands for the thing that is in the middle now."""
        ...


@dataclass(frozen=True, slots=True)
class CommandKey:
    """A key, by Textual's name of it (``shift+up``), that sends ``command``; one that the screen uses keeps that use."""

    key: str
    command: str
    about: str


class Policy(Protocol):
    """A player without a language model, which decides from the goal and the observations alone.

    A policy that replays a benchmark's own demonstration gives up once another player has acted. ``memory`` is immutable plain
    data of the policy's own, so that an episode can be rewound.
    """

    def begin(self, goal: str, observation: Observation) -> Any:
        """Begin an episode.

        Args:
            goal: The task's goal sentence.
            observation: The opening.

        Returns:
            The memory before the first command.
        """

    def observe(self, memory: Any, command: str, observation: Observation) -> Any:
        """Take in an answer, also to a command that another player chose.

        Args:
            memory: The memory before ``command``.
            command: The command that was executed.
            observation: The world's answer to it.

        Returns:
            The memory after it.
        """

    def decide(self, memory: Any) -> tuple[str | None, str, Any]:
        """Choose the next command.

        Args:
            memory: The memory after the last observation.

        Returns:
            The command (None if it gives up), the thought behind it in a few words, and the memory after choosing it.
        """
        ...


@dataclass(frozen=True, slots=True)
class Annotated:
    """Hidden: the length of a benchmark's own demonstration of a task, and how many conditions its goal has."""

    actions: int
    conditions: int


@dataclass(frozen=True, slots=True)
class Played:
    """A task that counts, as a metric sees it.

    ``steps`` are executed commands, of which ``refused`` had no effect; ``conditions`` and ``annotated`` (the length of the
    benchmark's own demonstration) are None where they are not known.
    """

    won: bool
    met: int
    conditions: int | None
    steps: int
    annotated: int | None = None
    refused: int = 0


@dataclass(frozen=True, slots=True)
class Metric:
    """A metric of a benchmark: a ratio of two sums over all played tasks, in [0, 1].

    ``terms`` gives the numbers that a task adds above and below the line, None if they are not known. ``label`` names it in
    tables, ``key`` in JSON, and ``about`` explains it in a sentence. A ``main`` one is in every table, the others only in the
    table of all tasks. Reports show a world's own metrics in place of their own shares; one that was ``added`` to a world, by
    `housequest.register` or a package, stands beside them.
    """

    key: str
    label: str
    about: str
    terms: Callable[[Played], tuple[float, float] | None]
    main: bool = True
    added: bool = False


@dataclass(frozen=True, slots=True)
class NoOptions:
    """The options of a world without any."""


Purpose = Literal["play", "evaluate", "explore"]


@runtime_checkable
class HasHomes(Protocol):
    """A world with homes: the tasks of a split ``FAMILY:SEED`` are the days of one home, which keeps its habits."""

    def habits(self, split: str) -> Mapping[str, Mapping[str, float]]:
        """Hidden, for reference figures: the chance of each kind of thing to lie in each receptacle, by its name.

        Args:
            split: A home, such as ``household:7``, or a range of its days.

        Raises:
            TaskNotFound: There is no such home.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class WorldInfo:
    """Facts about a world, as plain values. A world whose options change one replaces its ``info`` when it is made."""

    version: str = "1"  # changes when the same commands may give other texts
    preamble: str = "a world"  # its name in prompts: a noun with its article, such as "a household"
    manual: str = ""  # the forms of the commands, one on each line, for people and prompts
    max_turns: int = 50  # turns of an episode by default
    task_types: Mapping[str, str] = field(default_factory=dict[str, str])  # in display order, each with a short word for it
    published_splits: Mapping[str, int] = field(default_factory=dict[str, int])  # with their number of tasks, installed or not
    endless_splits: tuple[str, ...] = ()  # they make a task for each seed (``SPLIT:SEED``); `World.splits` leaves them out
    chores: Mapping[str, str] = field(
        default_factory=dict[str, str]
    )  # those endless splits whose tasks are several goals for several players, with the type of all their tasks
    homes: Mapping[str, int] = field(
        default_factory=dict[str, int]
    )  # families of homes, whose days are tasks, with turns a day
    default_splits: Mapping[Purpose, str] = field(default_factory=dict[Purpose, str])  # if not the first split
    first_task: str | None = None  # the task for a person's first game; None for the first one of the split to play
    get_data: str = ""  # how to get the published splits: one sentence for people
    metrics: tuple[Metric, ...] = ()  # its benchmark's figures beside success; reports show them instead of their own means
    prior: str = "counts of where things were in train"  # the source of chances for a search by ``counts``
    skills: tuple[str, ...] = ()  # its commands, if they are whole skills from which planners select
    keys: tuple[CommandKey, ...] = ()  # keys that send a command, for people who play on the screen
    pictured: bool = False  # whether its envs show pictures (`Pictured`)
    enacts: bool = False  # whether its commands are also carried out in a simulator, to be watched (`housequest.worlds.env`)
    inline: bool = True  # whether a step takes milliseconds. If not, steps run in a thread

    def types_in(self, split: str) -> tuple[str, ...]:
        """List the types of task that an endless split may have.

        Args:
            split: One of ``endless_splits``.

        Returns:
            Some of ``task_types``, in display order.
        """
        if split in self.chores:
            return (self.chores[split],)
        return tuple(type for type in self.task_types if type not in self.chores.values())


class World(ABC):
    """A family of tasks. A subclass needs ``name``, `splits`, `tasks` and `open`; everything else has a default."""

    name: ClassVar[str]  # the name of its entry point
    Options: ClassVar[type[Any]] = NoOptions  # its options, given by name when it is made; see `housequest.worlds.options`
    info: WorldInfo = WorldInfo()
    household: Household | None = None  # reads its texts into a belief; None if it is not a household

    @property
    def engine(self) -> str:
        """The program that steps its envs, with its version; every run records it."""
        return f"{self.name} {self.info.version}"

    @abstractmethod
    def splits(self) -> Sequence[str]:
        """List the installed splits.

        Returns:
            Their names, in a fixed order.
        """

    @abstractmethod
    def tasks(self, split: str) -> Sequence[Task]:
        """List the tasks of a split.

        Args:
            split: One of `splits`, or an endless split.

        Returns:
            Every task in a fixed order, numbered from 1; in an endless split, from 0.

        Raises:
            TaskNotFound: There is no such split.
        """

    @abstractmethod
    def open(self, task: Task) -> Env:
        """Open a task to be played.

        Args:
            task: One of this world's tasks.

        Returns:
            A new env, to be reset before its first step.

        Raises:
            GameError: The game is missing or damaged.
        """

    def split_for(self, purpose: Purpose) -> str:
        """Choose a split if none is named.

        Args:
            purpose: ``play``, ``evaluate`` or ``explore``.

        Returns:
            The name of a split; the one to play must not need a download.
        """
        return self.info.default_splits.get(purpose) or self.splits()[0]

    def task(self, reference: str) -> Task:
        """Find a task.

        Args:
            reference: ``SPLIT:NUMBER``, or a task's id, which begins with ``SPLIT/``.

        Returns:
            The task.

        Raises:
            TaskNotFound: There is no such task.
        """
        split, mark, rest = reference.partition(":")
        if "/" in split:
            split, mark, rest = reference.partition("/")
        known = (*self.splits(), *self.info.endless_splits)
        if not mark and split not in known:
            where = f"give SPLIT:NUMBER or an id, of one of the splits {', '.join(known)}"
            raise TaskNotFound(f"There is no task {shown(reference)}; {where}.")
        tasks, first = self.tasks(split), 0 if split in self.info.endless_splits else 1
        if (mark == ":" or not first) and rest.isascii() and rest.isdecimal() and len(rest) < 20:
            if 0 <= (place := int(rest) - first) < len(tasks):
                return tasks[place]
        elif first and (found := next((task for task in tasks if task.id == reference), None)):
            return found
        hint = nearest(reference, [task.id for task in tasks]) if mark == "/" and first else ""
        there = f"its tasks are {split}:{first} to {split}:{len(tasks) - 1 + first}" if tasks else f"{split} has no tasks"
        raise TaskNotFound(f"There is no task {shown(reference)}: {there}.{hint}")

    def fingerprint(self, split: str) -> str:
        """Identify the tasks of a split, so that a run knows when they changed.

        Args:
            split: One of `splits`, or an endless split.

        Returns:
            A SHA-256 in hexadecimal.

        Raises:
            TaskNotFound: There is no such split.
        """
        from housequest.worlds.paths import sha256_of

        return sha256_of("\n".join((self.engine, *(f"{task.id} {task.type} {task.goal}" for task in self.tasks(split)))))

    def close(self) -> None:  # noqa: B027 (most worlds hold nothing)
        """Release what the world holds, such as processes."""


@runtime_checkable
class HasExpert(Protocol):
    """A world with a player that needs no language model."""

    def expert(self, /, **settings: Any) -> Policy:
        """The player. Raises ``ConfigurationError`` for a setting that it does not have."""
        ...


@runtime_checkable
class Solvable(Protocol):
    """A world that knows how short a solution can be."""

    def shortest(self, task: Task, *, seconds: float | None = None) -> int | None:
        """Hidden: the number of commands in the shortest solution; None if none is found.

        It is for metrics, and for people after a game. The search ends after ``seconds``, or at the world's own limit; call it
        in a thread. Raises ``GameError``.
        """


@runtime_checkable
class Explaining(Protocol):
    """A world that can say why a command was refused."""

    def explain(self, belief: Belief, command: str) -> str | None:
        """Explain a refusal to a person, only from what they know and the rules of the game.

        Args:
            belief: The belief after the answer.
            command: The command that was refused.

        Returns:
            The reason in one line; None if the belief does not show one.
        """
        ...

    def explained(self, env: Env) -> Env:
        """``env``, which is one of its own, with the diagnosis of each refusal as the observation's ``explanation``."""
        ...


@runtime_checkable
class Sandboxed(Protocol):
    """A world whose envs are slow, but which has a quick one, too."""

    def sandbox(self, task: Task) -> Env:
        """A quick env in this process, to try commands in. Raises what `World.open` raises."""
        ...


@runtime_checkable
class Skilled(Protocol):
    """A world whose skills differ from task to task."""

    def skills_at(self, opening: str) -> tuple[str, ...]:
        """The skills of the task with this opening text, in place of `WorldInfo.skills`."""
        ...


@runtime_checkable
class Drawable(Protocol):
    """A world whose tasks take place in rooms that can be drawn."""

    def room(self, task: Task) -> Room:
        """Hidden: the room in which ``task`` is drawn, by the household's names. Raises ``GameError``."""
        ...

    def situation(self, env: Env, room: Room) -> Situation | None:
        """Hidden: the true state of ``env``, for people who watch (players see what is `believed`); None if unknown."""


@runtime_checkable
class Demonstrated(Protocol):
    """A world of a benchmark that has demonstrations of its own."""

    def annotated(self, task: Task) -> Annotated | None:
        """Hidden: the benchmark's own figures of ``task``, for its metrics; None if it has none. Raises ``GameError``."""

    def annotated_plan(self, task: Task) -> tuple[Skill, ...] | None:
        """Hidden: the plan that people annotated, as skills. Raises ``GameError``."""


@runtime_checkable
class Replayed(Protocol):
    """A world some of whose records have to be replayed with other options than the default."""

    @classmethod
    def options_of(cls, engine: str) -> dict[str, str]:
        """The options under which a record is replayed, found out from the ``engine`` that it names."""
        ...
