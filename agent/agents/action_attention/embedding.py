"""Texts as vectors: by words trained from scratch with the network, or by an embedding model, which stays as it is.

The paper takes a frozen language model's; the file that ships has words. By words, the vector of a text is the sum of its
words' and names', and a correction by one feed-forward layer. A name's is its word's, times one of its number and plus
another, so that ``mug 2`` is told from ``mug 3`` in any sum, and ``mug 7`` is known too. Each counts once more times a
vector of the word before it, which tells "from the desk" from "to the desk".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from housequest.agent.agents.action_attention.words import MOST_NUMBER, Words
from housequest.agent.models.embeddings import Embedder, Vector
from housequest.agent.networks.layers import Floats, normed, silu
from housequest.knowledge.choosing import cosines
from housequest.worlds.errors import ModelError

NUMBERS = MOST_NUMBER + 1


def embedding_sizes(words: int, size: int) -> dict[str, tuple[int, int]]:
    """The weights by name, with their sizes, in the order of the file."""
    tables = {"words": (words, size), "left": (words, size), "signs": (NUMBERS, size), "numbers": (NUMBERS, size)}
    return {**tables, "wide": (2 * size, size), "narrow": (size, 2 * size)}


PROBE = "Put a clean mug on the desk."
"""A text whose vector tells one embedding model from another."""
_ALIKE = 0.99
"""The least cosine similarity of two vectors of the probe by one model, which may compute in other precision."""


def frozen_sizes(size: int) -> dict[str, tuple[int, ...]]:
    """What is kept of an embedding model in the order of the file: the mean of its vectors in training, and the probe's."""
    return {"middle": (size,), "probe": (size,)}


def scaled(vectors: Sequence[Vector]) -> Floats:
    """Vectors of an embedding model, each divided by its root mean square, as they are trained on and kept."""
    return normed(np.array(vectors, np.float32))


class FrozenEmbedding:
    """The embedding of a model that stays as it is, less the mean of what it gave in training: its vectors are often all alike.

    ``trained_with`` is what the model was called in training. Another model than that is told by the vector of the probe.
    """

    def __init__(self, embedder: Embedder, trained_with: str, weights: Mapping[str, Floats]) -> None:
        self._embedder, self._trained_with, self._weights = embedder, trained_with, weights
        self._checked = False

    async def embed(self, texts: Sequence[str]) -> Sequence[Floats]:
        """A vector for each of ``texts``. Raises ``ModelError``, which is fatal where this is another model."""
        found = await self._embedder.embed(texts if self._checked else (PROBE, *texts))
        if not self._checked:
            self._check(found[0])
            found = found[1:]
        return list(scaled(found) - self._weights["middle"])

    def _check(self, probe: Vector) -> None:
        kept = tuple(map(float, self._weights["probe"]))
        if len(probe) != len(kept) or cosines(probe, [kept])[0] < _ALIKE:
            raise ModelError(
                f"{self._embedder.name} gives other vectors than {self._trained_with}, with which the network was trained; "
                "give that model, or train a network with yours.",
                fatal=True,
            )
        self._checked = True


class WordEmbedding:
    """The embedding that was trained from scratch."""

    def __init__(self, words: Words, weights: Mapping[str, Floats]) -> None:
        self._words = words
        self._weights = weights

    async def embed(self, texts: Sequence[str]) -> Sequence[Floats]:
        """A vector for each of ``texts``."""
        return [self.vector(text) for text in texts]

    def vector(self, text: str) -> Floats:
        """The vector of ``text``."""
        # Each text by itself, since a product of matrices may round a row otherwise than one of a vector.
        w = self._weights
        x = np.zeros(w["words"].shape[1], np.float32)
        tokens = self._words.read(text)
        if tokens:
            word, number = np.array(tokens).T
            each = w["words"][word] * (1 + w["signs"][number]) + w["numbers"][number]
            x = normed((each * (1 + w["left"][[1, *word[:-1]]])).sum(0))
        return x + w["narrow"] @ silu(w["wide"] @ x)
