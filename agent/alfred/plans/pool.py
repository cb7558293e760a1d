"""Examples to choose from, and the instructions that plans are asked for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from housequest.agent.models.embeddings import Embedder, EmbeddingIndex
from housequest.knowledge.selection import Bm25, at_random, best, stratified
from housequest.worlds.alfred.plans import Plan
from housequest.worlds.alfred.tasks import Demonstration, Instruction

Choice = Literal["bm25", "random", "stratified", "embeddings"]
"""How examples are chosen: by similarity of words or of embeddings, or drawn from all or evenly from each task type."""


@dataclass(frozen=True, slots=True)
class PlanTask:
    """One instruction of a demonstration."""

    demonstration: Demonstration
    instruction: Instruction

    @property
    def id(self) -> str:
        """The demonstration's id and the annotator."""
        return f"{self.demonstration.id}#{self.instruction.annotator}"


@dataclass(frozen=True, slots=True)
class WorkedExample:
    """An instruction with its annotated plan; ``goal`` is the text that similarity is computed on."""

    origin: str
    type: str
    goal: str
    instruction: Instruction
    plan: Plan


def worked(demonstrations: Iterable[Demonstration], *, stepwise: bool) -> tuple[WorkedExample, ...]:
    """Every annotation as an example, indexed by the goal alone or (``stepwise``) with the step instructions."""
    return tuple(
        WorkedExample(one.id, one.type, instruction.text(stepwise=stepwise), instruction, one.plan)
        for one in demonstrations
        for instruction in one.instructions
    )


def drawn(examples: Sequence[WorkedExample], most: int | None, seed: int) -> tuple[WorkedExample, ...]:
    """``most`` of ``examples``, stratified by task type (LLM-Planner, section 5.3); all of them for None."""
    return tuple(examples) if most is None else stratified(examples, most, str(seed))


class Pool:
    """Examples to choose from, indexed once. Similarity is that of the ``embedder``'s vectors, if there is one, or BM25."""

    def __init__(self, examples: Sequence[WorkedExample], embedder: Embedder | None = None) -> None:
        self.examples = tuple(examples)
        goals = [example.goal for example in examples]
        self._words = Bm25.over(goals)
        self._vectors = EmbeddingIndex(goals, embedder) if embedder else None
        self._origins = Counter(example.origin for example in examples)

    async def nearest(self, text: str, most: int, *, without: str) -> tuple[WorkedExample, ...]:
        """The ``most`` examples most similar to ``text``, best first, without those of the demonstration ``without``.

        Raises ``ModelError`` where an embedding model fails.
        """
        scores = await self._vectors.likeness(text) if self._vectors else self._words.scores(text)
        found = best(self.examples, scores, most + self._origins[without])
        return tuple(example for example in found if example.origin != without)[:most]

    async def choose(self, choice: Choice, text: str, most: int, seed: int, *, without: str) -> tuple[WorkedExample, ...]:
        """``most`` examples for ``text`` in the order of a prompt: the most similar one last, next to the question."""
        if choice in ("bm25", "embeddings"):
            return (await self.nearest(text, most, without=without))[::-1]
        others = [example for example in self.examples if example.origin != without]
        return (at_random if choice == "random" else stratified)(others, most, f"{seed} {text}")
