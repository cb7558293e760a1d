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
from torch import Tensor, nn
from torch.nn import functional

from housequest.agent.models.builtin.network import FORMAT, Shape, Vocabulary
from housequest.agent.training.corpus import CorpusPart, composition, load_vocabulary
from housequest.agent.training.loop import Learner, Schedule, averaged, by_shares, shuffled, stream, train_network


class Layer(nn.Module):
    """Attention, then a gated feed-forward part."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        width = shape.width
        self.heads = shape.heads
        self.attention_norm = nn.Parameter(torch.ones(width))
        self.forward_norm = nn.Parameter(torch.ones(width))
        self.qkv = nn.Linear(width, 3 * width, bias=False)
        self.out = nn.Linear(width, width, bias=False)
        self.gate_up = nn.Linear(width, 2 * shape.hidden, bias=False)
        self.down = nn.Linear(shape.hidden, width, bias=False)

    def forward(self, x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        batch, length, width = x.shape
        qkv = self.qkv(_normed(x, self.attention_norm)).view(batch, length, 3, self.heads, -1)
        q, k, v = (part.transpose(1, 2) for part in qkv.unbind(2))
        mixed = functional.scaled_dot_product_attention(_rotated(q, cos, sin), _rotated(k, cos, sin), v, is_causal=True)
        x = x + self.out(mixed.transpose(1, 2).reshape(batch, length, width))
        gate, up = self.gate_up(_normed(x, self.forward_norm)).chunk(2, -1)
        return x + self.down(functional.silu(gate) * up)


class TorchNetwork(nn.Module):
    """Tokens to logits. Each token has the token of its word in ``base`` and its ``number``, 0 for none."""

    base: Tensor
    numbers: Tensor
    numbered: Tensor
    cos: Tensor
    sin: Tensor

    def __init__(self, shape: Shape, base: Sequence[int], number: Sequence[int]) -> None:
        super().__init__()
        self.shape = shape
        self.word = nn.Embedding(len(base), shape.width)
        self.number = nn.Embedding(max(number) + 1, shape.width)
        self.register_buffer("base", torch.tensor(base), persistent=False)
        self.register_buffer("numbers", torch.tensor(number), persistent=False)
        self.register_buffer("numbered", (torch.tensor(number) > 0).float()[:, None], persistent=False)
        self.layers = nn.ModuleList(Layer(shape) for _ in range(shape.layers))
        self.norm = nn.Parameter(torch.ones(shape.width))
        half = shape.width // shape.heads // 2
        angle = torch.outer(torch.arange(shape.context).float(), shape.base ** (-torch.arange(half).float() / half))
        self.register_buffer("cos", angle.cos(), persistent=False)
        self.register_buffer("sin", angle.sin(), persistent=False)
        for name, parameter in self.named_parameters():
            if parameter.dim() == 2:
                scale = 0.02 if "out" not in name and "down" not in name else 0.02 / (2 * shape.layers) ** 0.5
                nn.init.normal_(parameter, std=scale)

    def table(self) -> Tensor:
        """The embedding of every token, (tokens, width)."""
        return self.word(self.base) + self.numbered * self.number(self.numbers)

    def forward(self, tokens: Tensor, wanted: Tensor | None = None) -> Tensor:
        """Logits, (batch, length, tokens); with ``wanted``, a mask of (batch, length), only those it selects."""
        table = self.table()
        x = functional.embedding(tokens, table)
        length = tokens.shape[1]
        for layer in self.layers:
            x = layer(x, self.cos[:length], self.sin[:length])
        x = _normed(x, self.norm)
        return (x if wanted is None else x[wanted]) @ table.T

    def weights(self) -> dict[str, Tensor]:
        """The weights by the names of the runtime."""
        found = {"embedding": self.table(), "norm": self.norm}
        found |= {name.removesuffix(".weight"): value for name, value in self.layers.named_parameters()}
        return {name: value.detach() for name, value in found.items()}


def _normed(x: Tensor, weight: Tensor) -> Tensor:
    return functional.rms_norm(x, (x.shape[-1],), weight, 1e-5)


def _rotated(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    first, second = x.chunk(2, -1)
    return torch.cat((first * cos - second * sin, second * cos + first * sin), -1)


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
