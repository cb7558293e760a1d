"""The training loop: AdamW, a rate that rises briefly and falls to zero, a checkpoint that it goes on from.

What is drawn depends on the seed and the number of the step alone, so a run that broke off goes on as if it had not.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn import functional

from agent.models.network import Shape
from agent.models.vocabulary import Vocabulary
from agent.training.corpus import NUMBERS, Part, composition, load_vocabulary
from agent.training.network import Composition, Network

CHECKPOINT = "checkpoint.pt"
RECORD = "training.jsonl"
_POOL = 16
_LOST = -100


@dataclass(frozen=True, slots=True)
class Recipe:
    """How a network is trained. ``shares`` says how much of each part a batch holds on average; ``begin`` is a checkpoint to
    start from, with a fresh optimiser."""

    shares: Mapping[str, float]
    steps: int = 3000
    batch: int = 32
    rate: float = 2e-3
    warmup: int = 100
    decay: float = 0.01
    muon: bool = True
    renumbered: float = 0.5
    seed: int = 1
    threads: int = 2
    shape: Shape = field(default_factory=Shape)
    begin: str | None = None


class Batches:
    """Draws batches: parts by their shares, samples of like length together, numbers of things changed now and then."""

    def __init__(self, parts: Mapping[str, Part], vocabulary: Vocabulary, recipe: Recipe) -> None:
        self._parts = [parts[name] for name in recipe.shares]
        shares = np.array(list(recipe.shares.values()), float)
        self._shares = shares / shares.sum()
        self._recipe = recipe
        self._renumbering = _Renumbering(vocabulary)
        self._vocabulary = vocabulary

    def pool(self, number: int) -> list[tuple[torch.Tensor, torch.Tensor]]:
        """The batches ``number * 16`` and following: tokens, and what follows each, (batch, length); -100 does not count."""
        random = np.random.default_rng([self._recipe.seed, number])
        drawn: list[tuple[int, NDArray[np.int64], int]] = []
        which = random.choice(len(self._parts), self._recipe.batch * _POOL, p=self._shares)
        for at in which:
            part = self._parts[at]
            sample = int(random.integers(len(part)))
            start, end = int(part.starts[sample]), int(part.starts[sample + 1])
            tokens = part.tokens[start:end].astype(np.int64)
            if random.random() < self._recipe.renumbered:
                tokens = self._renumbering(tokens, random)
            drawn.append((len(tokens), tokens, int(part.replies[sample]) - start))
        drawn.sort(key=lambda one: one[0])
        size = self._recipe.batch
        batches = [self._batch(drawn[at : at + size]) for at in range(0, len(drawn), size)]
        return [batches[at] for at in random.permutation(len(batches))]

    @staticmethod
    def _batch(samples: Sequence[tuple[int, NDArray[np.int64], int]]) -> tuple[torch.Tensor, torch.Tensor]:
        longest = max(length for length, _, _ in samples)
        inputs = np.zeros((len(samples), longest - 1), np.int64)
        wanted = np.full((len(samples), longest - 1), _LOST, np.int64)
        for row, (length, tokens, reply) in enumerate(samples):
            inputs[row, : length - 1] = tokens[:-1]
            wanted[row, reply - 1 : length - 1] = tokens[reply:]
        return torch.from_numpy(inputs), torch.from_numpy(wanted)


class _Renumbering:
    """Gives the things of a sample other numbers, one number everywhere the same other one."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        base, number = composition(vocabulary)
        kinds: dict[int, dict[int, int]] = {}
        for id, (word, place) in enumerate(zip(base, number, strict=True)):
            if place:
                kinds.setdefault(word, {})[place] = id
        sizes = set(NUMBERS.values())
        self._names = [
            np.array([[ids[place] for place in range(1, size + 1)] for ids in kinds.values() if len(ids) == size])
            for size in sizes
        ]
        self._same = np.arange(len(vocabulary))

    def __call__(self, tokens: NDArray[np.int64], random: np.random.Generator) -> NDArray[np.int64]:
        table = self._same.copy()
        for names in self._names:
            table[names] = names[:, random.permutation(names.shape[1])]
        return table[tokens]


def train(corpus: Path, folder: Path, recipe: Recipe) -> Network:
    """Train on the parts in ``corpus`` and keep checkpoint and record in ``folder``, where it goes on if it broke off."""
    torch.set_num_threads(recipe.threads)
    torch.manual_seed(recipe.seed)
    folder.mkdir(parents=True, exist_ok=True)
    vocabulary = load_vocabulary(corpus)
    base, number = composition(vocabulary)
    network = Network(recipe.shape, Composition(tuple(base), tuple(number)))
    matrices = [value for value in network.layers.parameters() if value.dim() == 2]
    others = [value for name, value in network.named_parameters() if value.dim() == 1 or not name.startswith("layers.")]
    optimisers: list[torch.optim.Optimizer] = [torch.optim.AdamW(others, lr=recipe.rate, betas=(0.9, 0.98), weight_decay=0.0)]
    if recipe.muon:
        optimisers.append(
            torch.optim.Muon(matrices, lr=recipe.rate, weight_decay=recipe.decay, adjust_lr_fn="match_rms_adamw")
        )
    else:
        optimisers.append(torch.optim.AdamW(matrices, lr=recipe.rate, betas=(0.9, 0.98), weight_decay=recipe.decay))
    step, spent = 0, 0.0
    file = folder / CHECKPOINT
    if file.exists():
        kept: dict[str, Any] = torch.load(file, weights_only=True)
        network.load_state_dict(kept["network"])
        for optimiser, state in zip(optimisers, kept["optimisers"], strict=True):
            optimiser.load_state_dict(state)
        step, spent = kept["step"], kept["seconds"]
    elif recipe.begin is not None:
        network.load_state_dict(torch.load(recipe.begin, weights_only=True)["network"])
    (folder / "recipe.json").write_text(json.dumps(asdict(recipe), indent=1), "utf-8")
    parts = {name: Part.load(corpus / f"{name}.npz") for name in recipe.shares}
    batches = _stream(Batches(parts, vocabulary, recipe), step)
    began = time.monotonic() - spent
    total, exact = 0.0, 0.0
    with (folder / RECORD).open("a", encoding="utf-8") as record:
        while step < recipe.steps:
            inputs, wanted = next(batches)
            for group in (group for optimiser in optimisers for group in optimiser.param_groups):
                group["lr"] = recipe.rate * min(
                    (step + 1) / recipe.warmup, (recipe.steps - step) / (recipe.steps - recipe.warmup)
                )
            mask = wanted != _LOST
            logits = network(inputs, mask)
            loss = functional.cross_entropy(logits, wanted[mask])
            network.zero_grad(set_to_none=True)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
            for optimiser in optimisers:
                optimiser.step()
            step += 1
            total += loss.item()
            exact += (logits.argmax(-1) == wanted[mask]).float().mean().item()
            if step % 50 == 0 or step == recipe.steps:
                seconds = time.monotonic() - began
                line = {"step": step, "loss": round(total / 50, 4), "exact": round(exact / 50, 4), "seconds": round(seconds, 1)}
                record.write(json.dumps(line) + "\n")
                record.flush()
                total = exact = 0.0
            if step % 200 == 0 or step == recipe.steps:
                _keep(file, network, optimisers, step, time.monotonic() - began)
    return network


def _stream(batches: Batches, step: int) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    number, skipped = divmod(step, _POOL)
    while True:
        yield from batches.pool(number)[skipped:]
        number, skipped = number + 1, 0


def _keep(file: Path, network: Network, optimisers: Sequence[torch.optim.Optimizer], step: int, seconds: float) -> None:
    part = file.with_suffix(".part")
    torch.save({"network": network.state_dict(), "optimisers": [one.state_dict() for one in optimisers], "step": step, "seconds": seconds}, part)
    part.replace(file)


def load_shape(folder: Path) -> Shape:
    """The sizes of the network that was trained in ``folder``."""
    return Shape(**json.loads((folder / "recipe.json").read_text("utf-8"))["shape"])
