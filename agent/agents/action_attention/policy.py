"""The policy: texts in, a score for each permissible command out. It remembers the vectors of texts, and nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

import numpy as np

from housequest.agent.agents.action_attention.file import SHIPPED, read_weights
from housequest.agent.agents.action_attention.network import Network
from housequest.agent.networks.layers import Floats, shares, use_one_thread

MOST_REMEMBERED = 20_000


class Embedding(Protocol):
    """Gives texts as vectors; one text always gets the same."""

    async def embed(self, texts: Sequence[str]) -> Sequence[Floats]:
        """A vector for each of ``texts``, of one length. Raises ``ModelError``."""
        ...


class Policy:
    """Scores commands by the network, through any embedding that it was trained with. Safe for many games at once."""

    def __init__(self, network: Network, embedding: Embedding) -> None:
        self._network = network
        self._embedding = embedding
        self._vectors: dict[str, Floats] = {}
        use_one_thread()

    async def shares(self, task: str, seen: Sequence[str], commands: Sequence[str]) -> Floats:
        """The probability of each of ``commands`` (at least one), given all observations ``seen``, the present one last."""
        vectors = await self._embedded((task, *seen, *commands))
        told, observed, possible = vectors[0], vectors[1 : len(seen) + 1], vectors[len(seen) + 1 :]
        history: Floats = np.stack(observed[:-1]).mean(0) if len(observed) > 1 else np.zeros_like(told)
        return shares(self._network.scores(told, history, observed[-1], np.stack(possible)))

    async def _embedded(self, texts: Sequence[str]) -> list[Floats]:
        known = self._vectors
        new = [text for text in dict.fromkeys(texts) if text not in known]
        if new:
            found = await self._embedding.embed(new)
            if len(known) + len(new) > MOST_REMEMBERED:
                known = self._vectors = {text: known[text] for text in texts if text in known}
            known.update(zip(new, found, strict=True))
        return [known[text] for text in texts]


def load_policy(file: Path = SHIPPED, embedder: str = "") -> Policy:
    """The policy that ships, or the one in ``file`` with its embedding model. Raises ``ConfigurationError``."""
    return Policy(*read_weights(file, embedder))
