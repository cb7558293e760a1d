"""The file of Action Attention: its network and its embedding, or what tells the embedding model that it was trained with."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from housequest.agent.agents.action_attention.embedding import FrozenEmbedding, WordEmbedding, embedding_sizes, frozen_sizes
from housequest.agent.agents.action_attention.network import Network, Shape
from housequest.agent.agents.action_attention.words import Words
from housequest.agent.models.embeddings import make_embedder
from housequest.agent.networks.file import WeightsFormat, title
from housequest.worlds.errors import ConfigurationError, shown

SHIPPED = Path(__file__).with_name("action-attention.weights")

_MOST = {"embedded": 4096, "width": 4096, "layers": 64, "heads": 64, "hidden": 16384}
_REFUSAL = "has no weights of Action Attention"
_WAY_OUT = "Export some with `python -m housequest.agent.agents.action_attention.training export`."


def _fits(shape: Shape) -> bool:
    return shape.width % shape.heads == 0


def _named(words: Sequence[str]) -> str:
    (name,) = words
    return name


FORMAT = WeightsFormat(
    title="housequest action attention 1",
    listed="words",
    shape=Shape,
    most=_MOST,
    fits=_fits,
    vocabulary=Words,
    words=lambda words: words.known,
    sizes=lambda shape, words: {**embedding_sizes(len(words), shape.embedded), **shape.weights()},
    refusal=_REFUSAL,
    way_out=_WAY_OUT,
)

FROZEN = WeightsFormat(
    title="housequest action attention with an embedding model 1",
    listed="embedder",
    shape=Shape,
    most=_MOST,
    fits=_fits,
    vocabulary=_named,
    words=lambda name: (name,),
    sizes=lambda shape, _: {**frozen_sizes(shape.embedded), **shape.weights()},
    refusal=_REFUSAL,
    way_out=_WAY_OUT,
)
"""The format of a network that was trained with an embedding model, which the file names."""


def read_weights(file: Path, embedder: str = "") -> tuple[Network, WordEmbedding | FrozenEmbedding]:
    """Read network and embedding; ``embedder`` names the embedding model where it was trained with one.

    The file alone never says whom to call. Raises ``ConfigurationError`` for a file that holds none, and for a model that
    is missing.
    """
    if title(file) != FROZEN.title:
        shape, words, weights = FORMAT.read(file)
        return Network(shape, weights), WordEmbedding(words, weights)
    shape, name, weights = FROZEN.read(file)
    if not embedder:
        raise ConfigurationError(
            f"The network in {shown(str(file), 400)} was trained with the embedding model {shown(name)}; "
            "name that with the setting embedder, as openai:NAME@URL or local:FOLDER."
        )
    return Network(shape, weights), FrozenEmbedding(make_embedder(embedder), name, weights)
