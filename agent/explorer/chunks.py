"""Trajectories as text for a model, in chunks of limited size; each step keeps the origin that identifies it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from housequest.agent.episodes.events import Started, Stepped
from housequest.agent.episodes.moments import episode_files
from housequest.agent.episodes.record import read_episode
from housequest.agent.roles.base import clean, load_prompt

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


def chunks(episodes: Iterable[EpisodeSteps], most_steps: int = 80, most_tokens: int = 6_000) -> Iterator[Chunk]:
    """Split the steps of ``episodes`` into chunks of limited steps and approximate tokens, with at least one step each.

    A house that goes on is introduced again.
    """
    prompt = load_prompt("housequest.agent.explorer", "distiller")
    number = houses = characters = 0
    parts, steps = list[str](), list[PlayedStep]()
    for episode in episodes:
        introduced = False
        for place, step in enumerate(episode.steps):
            more = characters + len(step.observation[:LONGEST_OBSERVATION])
            if steps and (len(steps) >= most_steps or more > most_tokens * CHARACTERS):
                number += 1
                yield Chunk(number, "\n".join(parts), tuple(steps))
                parts, steps, houses, characters, introduced = [], [], 0, 0, False
            if not introduced:
                introduced = True
                houses += 1
                again = ", which you have seen the beginning of" if place else ""
                opening = clean(episode.opening)[:LONGEST_OPENING]
                house = prompt.render("house", number=str(houses), again=again, opening=opening)
                parts.append(f"\n{house}" if parts else house)
                characters += len(house)
            steps.append(step)
            command, said = clean(step.command), clean(step.observation)[:LONGEST_OBSERVATION]
            parts.append(prompt.render("step", number=str(len(steps)), command=command, observation=said))
            characters += len(parts[-1])
    if steps:
        yield Chunk(number + 1, "\n".join(parts), tuple(steps))
