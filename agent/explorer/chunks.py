"""Trajectories as text for a model, in chunks of limited size; each step keeps the origin that identifies it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from agent.episodes.events import Started, Stepped
from agent.episodes.moments import episode_files
from agent.episodes.record import read_episode
from agent.roles.base import clean, load_prompt

LONGEST_OPENING = 4_000
LONGEST_OBSERVATION = 1_500
CHARACTERS = 4
"""Characters counted as one token: a rough estimate for English in any model's vocabulary."""


@dataclass(frozen=True, slots=True)
class PlayedStep:
    """An executed command and its answer; ``origin`` is run/task/step."""

    origin: str
    command: str
    observation: str


@dataclass(frozen=True, slots=True)
class EpisodeSteps:
    """An episode as an action-observation sequence (OPEx, section 3), without outcome and task id.

    ``curious`` counts the steps chosen at random.
    """

    opening: str
    steps: tuple[PlayedStep, ...]
    curious: int


@dataclass(frozen=True, slots=True)
class Chunk:
    """One prompt's ``text``, in which step N, counted from 1, is ``steps[N - 1]``."""

    number: int
    text: str
    steps: tuple[PlayedStep, ...]


@dataclass(frozen=True, slots=True)
class ChunkSize:
    """The largest size of a chunk, in ``steps`` and approximate ``tokens``. A chunk has at least one step."""

    steps: int = 80
    tokens: int = 6_000


def read_steps(run: Path) -> Iterator[EpisodeSteps]:
    """Read the episodes of a run's folder, in task order. Raises ``ConfigurationError`` for a damaged record."""
    for record in episode_files([run]):
        opening, steps, curious = "", list[PlayedStep](), 0
        for event in read_episode(record.path):
            match event.body:
                case Started() as started:
                    opening = started.opening
                case Stepped() as step:
                    said = f"{step.observation} {step.explanation or ''}".strip()
                    steps.append(PlayedStep(f"{record.run}/{record.task}/{event.id}", step.command, said))
                    curious += step.by == "curiosity"
                case _:
                    pass
        yield EpisodeSteps(opening, tuple(steps), curious)


def chunks(episodes: Iterable[EpisodeSteps], size: ChunkSize) -> Iterator[Chunk]:
    """Split the steps of ``episodes`` into chunks of at most ``size``; a house that goes on is introduced again."""
    packing = _Packing(size)
    for number, episode in enumerate(episodes, 1):
        begun = False
        for step in episode.steps:
            if packing.full(step):
                yield packing.chunk()
            if packing.house != number:
                packing.open(number, episode.opening, again=begun)
            packing.add(step)
            begun = True
    if packing.steps:
        yield packing.chunk()


class _Packing:
    """The chunk being built."""

    def __init__(self, size: ChunkSize) -> None:
        self._size = size
        self._number = 0
        self._parts: list[str] = []
        self._characters = 0
        self._houses = 0
        self.steps: list[PlayedStep] = []
        self.house: int | None = None

    def full(self, step: PlayedStep) -> bool:
        """Whether ``step`` belongs to the next chunk."""
        more = self._characters + len(step.observation[:LONGEST_OBSERVATION])
        return bool(self.steps) and (len(self.steps) >= self._size.steps or more > self._size.tokens * CHARACTERS)

    def open(self, house: int, opening: str, *, again: bool) -> None:
        """Start a house."""
        self.house = house
        self._houses += 1
        told = ", which you have seen the beginning of" if again else ""
        text = clean(opening)[:LONGEST_OPENING]
        self._write(
            load_prompt("agent.explorer", "distiller").render("house", number=str(self._houses), again=told, opening=text)
        )

    def add(self, step: PlayedStep) -> None:
        """Add a step of the current house."""
        self.steps.append(step)
        command, said = clean(step.command), clean(step.observation)[:LONGEST_OBSERVATION]
        number = str(len(self.steps))
        self._write(load_prompt("agent.explorer", "distiller").render("step", number=number, command=command, observation=said))

    def chunk(self) -> Chunk:
        """Return the finished chunk and start the next."""
        self._number += 1
        packed = Chunk(self._number, "\n".join(self._parts), tuple(self.steps))
        self._parts, self._characters, self._houses, self.steps, self.house = [], 0, 0, [], None
        return packed

    def _write(self, text: str) -> None:
        self._parts.append(f"\n{text}" if text.startswith("House ") and self._parts else text)
        self._characters += len(text)
