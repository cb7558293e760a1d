"""Examples to choose from, and the instructions that plans are asked for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from housequest.agent.models.embeddings import Embedder, EmbeddingIndex
from housequest.knowledge.selection import Bm25, at_random, best, stratified
from housequest.worlds.alfred.tasks import Demonstration, Instruction

Choice = Literal["bm25", "random", "stratified", "embeddings"]
"""How examples are chosen: by similarity of words or of embeddings, or drawn from all or evenly from each task type."""


@dataclass(frozen=True, slots=True)
class PlanTask:
    """One instruction of a demonstration: to plan for, or an example with its annotated plan."""

    demonstration: Demonstration
    instruction: Instruction

    @property
    def id(self) -> str:
        """The demonstration's id and the annotator."""
        return f"{self.demonstration.id}#{self.instruction.annotator}"

    @property
    def type(self) -> str:
        return self.demonstration.type

    @property
    def goal(self) -> str:
        return self.instruction.goal


def plan_tasks(demonstrations: Iterable[Demonstration]) -> tuple[PlanTask, ...]:
    """Every instruction of every demonstration."""
    return tuple(PlanTask(one, instruction) for one in demonstrations for instruction in one.instructions)


def drawn(examples: Sequence[PlanTask], most: int | None, seed: int) -> tuple[PlanTask, ...]:
    """``most`` of ``examples``, stratified by task type (LLM-Planner, section 5.3); all of them for None."""
    return tuple(examples) if most is None else stratified(examples, most, str(seed))


class Pool:
    """Examples to choose from, indexed once by their goals or (``stepwise``) with the step instructions.

    Similarity is that of the ``embedder``'s vectors, if there is one, or BM25.
    """

    def __init__(self, examples: Sequence[PlanTask], *, stepwise: bool = False, embedder: Embedder | None = None) -> None:
        self.examples = tuple(examples)
        told = [example.instruction.text(stepwise=stepwise) for example in examples]
        self._words = Bm25.over(told)
        self._vectors = EmbeddingIndex(told, embedder) if embedder else None
        self._origins = Counter(example.demonstration.id for example in examples)

    async def nearest(self, text: str, most: int, *, without: str) -> tuple[PlanTask, ...]:
        """The ``most`` examples most similar to ``text``, best first, without those of the demonstration ``without``.

        Raises ``ModelError`` where an embedding model fails.
        """
        scores = await self._vectors.likeness(text) if self._vectors else self._words.scores(text)
        found = best(self.examples, scores, most + self._origins[without])
        return tuple(example for example in found if example.demonstration.id != without)[:most]

    async def choose(self, choice: Choice, text: str, most: int, seed: int, *, without: str) -> tuple[PlanTask, ...]:
        """``most`` examples for ``text`` in the order of a prompt: the most similar one last, next to the question."""
        if choice in ("bm25", "embeddings"):
            return (await self.nearest(text, most, without=without))[::-1]
        others = [example for example in self.examples if example.demonstration.id != without]
        return (at_random if choice == "random" else stratified)(others, most, f"{seed} {text}")
