"""Whether planned sub-tasks are the annotated ones, and how similar they are (PET, section 4.4 and table 2)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean

from housequest.agent.models.embeddings import Embedder
from housequest.knowledge.examples import in_words
from housequest.knowledge.selection import cosines
from housequest.worlds.base import World
from housequest.worlds.errors import TaskNotFound

_WORD = re.compile(r"[a-z0-9]+")
_LITTLE = frozenset({"a", "an", "the", "in", "on", "or"})
"""Words that sub-tasks may differ in: "put the egg in/on the desk" and "put egg in or on desk" are the same."""

Likeness = Callable[[str, str], float]
"""How similar two lists of sub-tasks are, as texts: 1 where they are the same."""


def annotated_subtasks(world: World, task: str) -> tuple[str, ...]:
    """The sub-tasks that the task's goal consists of, whatever words its player was told it in; empty if it is not known."""
    try:
        steps = world.household.steps(world.task(task).goal) if world.household else None
    except TaskNotFound:
        return ()
    return in_words(steps or ())


def by_words(planned: str, annotated: str) -> float:
    """The cosine similarity of two texts' counts of words."""
    counts = Counter(_words(planned)), Counter(_words(annotated))
    every = sorted(counts[0].keys() | counts[1].keys())
    (likeness,) = cosines([float(counts[0][word]) for word in every], [[float(counts[1][word]) for word in every]])
    return min(likeness, 1.0)


async def by_embeddings(pairs: Iterable[PlannedSubtasks], embedder: Embedder) -> Likeness:
    """The cosine similarity of the ``embedder``'s vectors, which are asked for once. Raises ``ModelError``."""
    texts = list(dict.fromkeys(text for pair in pairs for text in (pair.text, pair.annotated_text)))
    vectors = dict(zip(texts, await embedder.embed(texts), strict=True)) if texts else {}
    return lambda planned, annotated: cosines(vectors[planned], [vectors[annotated]])[0]


@dataclass(frozen=True, slots=True)
class PlannedSubtasks:
    """The sub-tasks that were planned for a task, and the ``annotated`` ones; ``goal`` is what the planner was told."""

    planned: tuple[str, ...]
    annotated: tuple[str, ...]
    goal: str = ""

    @property
    def text(self) -> str:
        """The planned sub-tasks as one text."""
        return ", ".join(self.planned)

    @property
    def annotated_text(self) -> str:
        """The annotated sub-tasks as one text."""
        return ", ".join(self.annotated)

    @property
    def right(self) -> bool:
        """Whether they are the same, one by one, but for small words."""
        return list(map(_words, self.planned)) == list(map(_words, self.annotated))


@dataclass(frozen=True, slots=True)
class SubtaskFigures:
    """Of ``planned`` tasks whose annotation is known, ``right`` had exactly its sub-tasks; ``similarity`` is the mean.

    ``missed`` are the others, as in the paper's table 4.
    """

    planned: int
    right: int
    similarity: float | None
    missed: tuple[PlannedSubtasks, ...] = ()

    @property
    def accuracy(self) -> float | None:
        """The share of plans that are the annotated sub-tasks."""
        return self.right / self.planned if self.planned else None


def subtask_figures(pairs: Sequence[PlannedSubtasks], likeness: Likeness = by_words) -> SubtaskFigures:
    """The figures over ``pairs``; a plan that could not be read is empty, wrong, and not similar to anything."""
    alike = [likeness(pair.text, pair.annotated_text) if pair.planned else 0.0 for pair in pairs]
    missed = tuple(pair for pair in pairs if not pair.right)
    return SubtaskFigures(len(pairs), len(pairs) - len(missed), fmean(alike) if alike else None, missed)


def _words(text: str) -> list[str]:
    return [word for word in _WORD.findall(text.lower()) if word not in _LITTLE]
