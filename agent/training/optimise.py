# pyright: basic, reportMissingImports=false
"""Trains the built-in model's network and exports it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from housequest.agent.models.builtin.network import FORMAT, Shape, Vocabulary
from housequest.agent.training.corpus import CorpusPart, composition, load_vocabulary
from housequest.agent.training.loop import Learner, Schedule, averaged, by_shares, shuffled, stream, train_network
from housequest.agent.training.network import TorchNetwork

_POOL = 16
_LOST = -100


@dataclass(frozen=True, slots=True)
class Recipe(Schedule):
    """How the network is trained. ``batch``: samples in a step; ``renumbered``: the share of samples whose objects get other
    numbers.
    """

    steps: int = 3000
    warmup: int = 100
    threads: int = 2
    batch: int = 32
    renumbered: float = 0.5
    shape: Shape = field(default_factory=Shape)


class Batch(NamedTuple):
    """Tokens, and the next token of each or -100 to ignore it, (batch, length) each."""

    inputs: Tensor
    wanted: Tensor


class Batches:
    """Draws batches: parts by their shares, samples of similar length together, some with their objects renumbered."""

    def __init__(self, parts: Mapping[str, CorpusPart], vocabulary: Vocabulary, recipe: Recipe) -> None:
        self._parts, self._recipe = [parts[name] for name in recipe.shares], recipe
        self._renumbering = _Renumbering(vocabulary)

    def pool(self, number: int) -> list[Batch]:
        """Sixteen batches from ``number * 16`` on."""
        drawn: list[tuple[int, NDArray[np.int64], int]] = []
        random, which = by_shares(self._recipe, number, self._recipe.batch * _POOL)
        for part in (self._parts[at] for at in which):
            sample = int(random.integers(len(part)))
            start, end = int(part.starts[sample]), int(part.starts[sample + 1])
            tokens = part.tokens[start:end].astype(np.int64)
            if random.random() < self._recipe.renumbered:
                tokens = self._renumbering(tokens, random)
            drawn.append((len(tokens), tokens, int(part.replies[sample]) - start))
        drawn.sort(key=lambda one: one[0])
        return [self._batch(group) for group in shuffled(drawn, self._recipe.batch, random)]

    @staticmethod
    def _batch(samples: Sequence[tuple[int, NDArray[np.int64], int]]) -> Batch:
        longest = max(length for length, _, _ in samples)
        inputs = np.zeros((len(samples), longest - 1), np.int64)
        wanted = np.full((len(samples), longest - 1), _LOST, np.int64)
        for row, (length, tokens, reply) in enumerate(samples):
            inputs[row, : length - 1] = tokens[:-1]
            wanted[row, reply - 1 : length - 1] = tokens[reply:]
        return Batch(torch.from_numpy(inputs), torch.from_numpy(wanted))


class _Renumbering:
    """Renumbers the objects of a sample, the same number always to the same other one."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        base, number = composition(vocabulary)
        kinds: dict[int, dict[int, int]] = {}
        for id, (word, place) in enumerate(zip(base, number, strict=True)):
            if place:
                kinds.setdefault(word, {})[place] = id
        # Kinds that are numbered equally far are renumbered together.
        self._names = [
            np.array([[ids[place] for place in sorted(ids)] for ids in kinds.values() if len(ids) == size])
            for size in sorted({len(ids) for ids in kinds.values()})
        ]
        self._same = np.arange(len(vocabulary))

    def __call__(self, tokens: NDArray[np.int64], random: np.random.Generator) -> NDArray[np.int64]:
        table = self._same.copy()
        for names in self._names:
            table[names] = names[:, random.permutation(names.shape[1])]
        return table[tokens]


class Model(TorchNetwork, Learner):
    """The network as it learns: the next token wherever one is wanted."""

    def judged(self, batch: Batch) -> tuple[Tensor, Tensor]:
        mask = batch.wanted != _LOST
        logits, wanted = self(batch.inputs, mask), batch.wanted[mask]
        return functional.cross_entropy(logits, wanted), (logits.argmax(-1) == wanted).float().mean()

    def by_muon(self, name: str) -> bool:
        return name.startswith("layers.")


def train(corpus: Path, folder: Path, recipe: Recipe, *, until: int | None = None) -> Model:
    """Train on the parts in ``corpus``, in ``folder`` and with ``until`` as `train_network` does."""
    vocabulary = load_vocabulary(corpus)
    parts = {name: CorpusPart.load(corpus / f"{name}.npz") for name in recipe.shares}
    batches = partial(stream, Batches(parts, vocabulary, recipe).pool, _POOL)
    return train_network(lambda: Model(recipe.shape, *composition(vocabulary)), recipe, batches, folder, until)


def export_network(corpus: Path, folder: Path, file: Path, besides: Sequence[Path] = ()) -> None:
    """Write the network of the checkpoint in ``folder`` to ``file``; with runs ``besides``, the mean of all their weights."""
    vocabulary = load_vocabulary(corpus)
    recipe, state = averaged([folder, *besides])
    shape = Shape(**recipe["shape"])
    network = Model(shape, *composition(vocabulary))
    network.load_state_dict(state)
    FORMAT.write(file, shape, vocabulary, {name: value.numpy() for name, value in network.weights().items()})
