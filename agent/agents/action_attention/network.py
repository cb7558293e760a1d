"""The Action Attention network (Wu et al., 2023, section 3.4) in NumPy, from texts to a score for each permissible command.

Texts become vectors by words trained from scratch with the network, or by a frozen embedding model, as in the paper; the file
that ships has words. By words, a text's vector is the sum of those of its words and names, plus a correction by one
feed-forward layer. A name's vector is its word's, times one of its number and plus another, which tells ``mug 2`` from ``mug
3`` in any sum and also covers ``mug 7``. Each is added again times a vector of the word before it, which tells "from the desk"
from "to the desk".

One transformer reads the task, the average of the history, the present observation and the commands, each as one vector. A
command attends to the first three and to itself, and only the query's own vector attends to commands. So one pass gives all
keys; in the paper (equation 4), with a pass for each command, the other three may attend to that command too. The query attends
to everything (equation 3). A score is the product of the query and a key (equation 5).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from housequest.agent.models.embeddings import Embedder, Vector, make_embedder
from housequest.agent.networks import Floats, WeightsFormat, layer_sizes, normed, shares, silu, title, use_one_thread
from housequest.knowledge.choosing import cosines
from housequest.worlds.errors import ConfigurationError, ModelError, shown
from housequest.worlds.household.goals import SYNONYMS

SHIPPED = Path(__file__).with_name("action-attention.weights")
UNKNOWN, BEGINNING = "<unknown>", "<beginning>"
MOST_NUMBER = 63
NUMBERS = MOST_NUMBER + 1
LONGEST_TEXT = 20_000
MOST_REMEMBERED = 20_000
ROLES = 5  # The roles of vectors: task, history, observation, query, command.
CONTEXT = 3
PROBE = "Put a clean mug on the desk."  # The vector of this text tells embedding models apart.
_ALIKE = 0.99  # The least cosine similarity of two such vectors by one model, which may compute in another precision.

_ARTICLES = frozenset(("a", "an", "the"))
_PIECE = re.compile(r"(?P<word>[a-z]+)(?: (?P<number>[0-9]{1,6})(?![0-9a-z]))?", re.ASCII)

Token = tuple[int, int]  # A word by its place in the vocabulary, and the number after it (0: none).


class WordVocabulary:
    """A vocabulary of words and names of things with their numbers (``mug 2``), in lowercase. All unknown words are one, but
    names written apart ("coffee machine") and usual synonyms are known. Articles are left out, so that "from" comes right
    before the name."""

    def __init__(self, words: Iterable[str]) -> None:
        self.known: tuple[str, ...] = tuple(dict.fromkeys(words))
        self._ids = {word: id for id, word in enumerate((UNKNOWN, BEGINNING, *self.known))}

    def __len__(self) -> int:
        return len(self._ids)

    def read(self, text: str) -> tuple[Token, ...]:
        """The tokens of ``text``, of which at most ``LONGEST_TEXT`` characters are read."""
        found = ((one["word"], int(one["number"] or 0)) for one in _PIECE.finditer(text[:LONGEST_TEXT].lower()))
        pieces = [(word, number) for word, number in found if word not in _ARTICLES]
        tokens: list[Token] = []
        at = 0
        while at < len(pieces):
            word, number = pieces[at]
            if number == 0 and at + 1 < len(pieces) and (joined := word + pieces[at + 1][0]) in self._ids:
                word, number = joined, pieces[at + 1][1]
                at += 1
            forms = (word, SYNONYMS.get(word, ""), word.removesuffix("s"), word.removesuffix("es"))
            tokens.append((next((self._ids[form] for form in forms if form in self._ids), 0), min(number, MOST_NUMBER)))
            at += 1
        return tuple(tokens)


def embedding_sizes(words: int, size: int) -> dict[str, tuple[int, ...]]:
    """The weights of a `WordEmbedding` by name, with their sizes, in the order of the file."""
    tables = {"words": (words, size), "left": (words, size), "signs": (NUMBERS, size), "numbers": (NUMBERS, size)}
    return {**tables, "wide": (2 * size, size), "narrow": (size, 2 * size)}


class WordEmbedding:
    """The embedding that was trained from scratch."""

    def __init__(self, words: WordVocabulary, weights: Mapping[str, Floats]) -> None:
        self._words, self._weights = words, weights

    async def embed(self, texts: Sequence[str]) -> Sequence[Floats]:
        return [self.vector(text) for text in texts]

    def vector(self, text: str) -> Floats:
        # One text at a time, since a product of matrices may round a row in another way than a single vector.
        w = self._weights
        x = np.zeros(w["words"].shape[1], np.float32)
        tokens = self._words.read(text)
        if tokens:
            word, number = np.array(tokens).T
            each = w["words"][word] * (1 + w["signs"][number]) + w["numbers"][number]
            x = normed((each * (1 + w["left"][[1, *word[:-1]]])).sum(0))
        return x + w["narrow"] @ silu(w["wide"] @ x)


def scaled(vectors: Sequence[Vector]) -> Floats:
    """Vectors of an embedding model, each divided by its root mean square, as in training."""
    return normed(np.array(vectors, np.float32))


class FrozenEmbedding:
    """The embedding of a frozen model, less the mean of its vectors in training, which are often all alike. ``trained_with``
    is the model's name in training. Another model is recognised by its vector of the probe."""

    def __init__(self, embedder: Embedder, trained_with: str, weights: Mapping[str, Floats]) -> None:
        self._embedder, self._trained_with, self._weights = embedder, trained_with, weights
        self._checked = False

    async def embed(self, texts: Sequence[str]) -> Sequence[Floats]:
        """A vector for each of ``texts``. Raises ``ModelError``, which is fatal if this is another model."""
        found = await self._embedder.embed(texts if self._checked else (PROBE, *texts))
        if not self._checked:
            probe, *found = found
            kept = tuple(map(float, self._weights["probe"]))
            if len(probe) != len(kept) or cosines(probe, [kept])[0] < _ALIKE:
                raise ModelError(
                    f"{self._embedder.name} gives other vectors than {self._trained_with}, with which the network was trained; "
                    "give that model, or train a network with yours.",
                    fatal=True,
                )
            self._checked = True
        return list(scaled(found) - self._weights["middle"])


Embedding = WordEmbedding | FrozenEmbedding


@dataclass(frozen=True, slots=True)
class AttentionShape:
    """The sizes of a network: ``embedded`` is the length of a text's vector, ``hidden`` that of the feed-forward parts."""

    embedded: int = 256
    width: int = 128
    layers: int = 2
    heads: int = 4
    hidden: int = 256

    def weights(self) -> dict[str, tuple[int, ...]]:
        """The weights by name, with their sizes, in the order of the file."""
        width, each = self.width, layer_sizes(self.width, self.hidden)
        layers = {f"layers.{at}.{name}": size for at in range(self.layers) for name, size in each.items()}
        inputs = {"enter": (width, self.embedded), "roles": (ROLES, width)}
        return {**inputs, **layers, "norm": (width,), "query": (width, width), "key": (width, width)}


class AttentionNetwork:
    """Turns vectors of texts into scores of commands. It holds nothing but its weights."""

    def __init__(self, shape: AttentionShape, weights: Mapping[str, Floats]) -> None:
        self.shape, self._weights = shape, weights

    def scores(self, task: Floats, history: Floats, observation: Floats, commands: Floats) -> Floats:
        """The scores of ``commands``, (commands, embedded), by the other vectors, (embedded,) each."""
        w, shape = self._weights, self.shape
        entered = normed(np.vstack((task, history, observation))) @ w["enter"].T
        roles = w["roles"]
        x = np.vstack((entered + roles[:CONTEXT], roles[CONTEXT], normed(commands) @ w["enter"].T + roles[CONTEXT + 1]))
        hidden = np.where(attention_mask(len(x)), np.float32(0), np.float32(-np.inf))
        for at in range(shape.layers):
            name = f"layers.{at}."
            x = x + self._mixed(normed(x) * w[name + "attention_norm"], name, hidden)
            wide = (normed(x) * w[name + "forward_norm"]) @ w[name + "gate_up"].T
            gate, up = wide[:, : shape.hidden], wide[:, shape.hidden :]
            x = x + (silu(gate) * up) @ w[name + "down"].T
        x = normed(x) * w["norm"]
        return (x[CONTEXT + 1 :] @ w["key"].T) @ (w["query"] @ x[CONTEXT]) * np.float32(shape.width**-0.5)

    def _mixed(self, x: Floats, name: str, hidden: Floats) -> Floats:
        heads, count = self.shape.heads, len(x)
        qkv = (x @ self._weights[name + "qkv"].T).reshape(count, 3, heads, -1).transpose(1, 2, 0, 3)
        raised = qkv[0] @ qkv[1].transpose(0, 2, 1) * np.float32(qkv.shape[-1] ** -0.5) + hidden
        mixed = shares(raised) @ qkv[2]
        return mixed.transpose(1, 0, 2).reshape(count, -1) @ self._weights[name + "out"].T


def attention_mask(count: int) -> NDArray[np.bool_]:
    """The attention of ``count`` vectors: all attend to the context, each to itself, and the query to everything."""
    places = np.arange(count)
    return (places[None, :] < CONTEXT) | (places[None, :] == places[:, None]) | (places[:, None] == CONTEXT)


class AttentionPolicy:
    """Scores commands by the network and the embedding of its training. Safe for many games at once; caches texts' vectors."""

    def __init__(self, network: AttentionNetwork, embedding: Embedding) -> None:
        self._network, self._embedding = network, embedding
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


def _fits(shape: AttentionShape) -> bool:
    return shape.width % shape.heads == 0


_BOTH: dict[str, Any] = {
    "shape": AttentionShape,
    "fits": _fits,
    "most": {"embedded": 4096, "width": 4096, "layers": 64, "heads": 64, "hidden": 16384},
    "refusal": "has no weights of Action Attention",
    "way_out": "Export some with `python -m housequest.agent.agents.action_attention.training export`.",
}


def _only(words: Sequence[str]) -> str:
    (name,) = words
    return name


FORMAT: WeightsFormat[AttentionShape, WordVocabulary] = WeightsFormat(
    title="housequest action attention 1",
    listed="words",
    vocabulary=WordVocabulary,
    words=lambda words: words.known,
    sizes=lambda shape, words: {**embedding_sizes(len(words), shape.embedded), **shape.weights()},
    **_BOTH,
)
FROZEN: WeightsFormat[AttentionShape, str] = WeightsFormat(
    title="housequest action attention with an embedding model 1",
    listed="embedder",
    vocabulary=_only,
    words=lambda name: (name,),
    sizes=lambda shape, _: {"middle": (shape.embedded,), "probe": (shape.embedded,), **shape.weights()},
    **_BOTH,
)
"""The format of a network that was trained with an embedding model, which the file names. It keeps the mean of that model's
vectors in training, and that of the probe."""


def read_weights(file: Path, embedder: str = "") -> tuple[AttentionNetwork, Embedding]:
    """Read a network with its embedding. ``embedder`` names the embedding model if it was trained with one; the file alone
    never decides which model is called. Raises ``ConfigurationError`` if the file holds no network, or a model is missing."""
    if title(file) != FROZEN.title:
        shape, words, weights = FORMAT.read(file)
        return AttentionNetwork(shape, weights), WordEmbedding(words, weights)
    shape, name, weights = FROZEN.read(file)
    if not embedder:
        raise ConfigurationError(
            f"The network in {shown(str(file), 400)} was trained with the embedding model {shown(name)}; "
            "name that with the setting embedder, as openai:NAME@URL or local:FOLDER."
        )
    return AttentionNetwork(shape, weights), FrozenEmbedding(make_embedder(embedder), name, weights)


def load_policy(file: Path = SHIPPED, embedder: str = "") -> AttentionPolicy:
    """Load the policy that ships, or the one in ``file`` with its embedding model. Raises ``ConfigurationError``."""
    return AttentionPolicy(*read_weights(file, embedder))
