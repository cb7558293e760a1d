# pyright: basic, reportMissingImports=false
"""Training of networks: the loop with checkpoints and a record, layers, and the built-in model's network.

Networks trained from scratch use Muon for matrices (Jordan et al., 2024; at equal steps it had half the loss of AdamW here) and
AdamW for the rest. The rate rises briefly and falls to zero. Batches depend only on the seed and the step, so a resumed run
gives the same weights as an uninterrupted one.
"""

from __future__ import annotations

import json
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Generic, NamedTuple, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from housequest.agent.models.builtin.network import FORMAT, Shape, Vocabulary
from housequest.agent.training import CHECKPOINT
from housequest.agent.training.corpus import CorpusPart, composition, load_vocabulary
from housequest.worlds.errors import ConfigurationError, unquoted
from housequest.worlds.locks import held
from housequest.worlds.paths import atomic_write, open_file
from housequest.worlds.systems import replace_file

RECORD = "training.jsonl"
KEPT_EVERY = 60.0  # Seconds between two checkpoints.
_RECORDED = 50

B = TypeVar("B")
D = TypeVar("D")
M = TypeVar("M", bound="Learner")


@dataclass
class TrainingRun(Generic[B]):
    """A network in training, with its optimisers, steps and seconds so far, and other values for checkpoints (``kept``).
    ``judge`` adds up the gradients of a batch and returns two figures on it, such as the loss. ``rate`` returns the rate after
    a number of steps. ``weights`` returns the trained weights, and ``load`` sets them."""

    model: Any
    optimisers: Sequence[Any]
    judge: Callable[[B], tuple[float, float]]
    rate: Callable[[int], float]
    kept: dict[str, Any]
    weights: Callable[[], dict[str, Any]]
    load: Callable[[Mapping[str, Any]], Any]
    step: int = 0
    seconds: float = 0.0

    def resume(self, checkpoint: Mapping[str, Any]) -> None:
        self.load(checkpoint["model"])
        for optimiser, state in zip(self.optimisers, checkpoint["optimisers"], strict=True):
            optimiser.load_state_dict(state)
        self.step, self.seconds = checkpoint["step"], checkpoint["seconds"]
        self.kept = {name: checkpoint[name] for name in self.kept}

    def keep(self, folder: Path) -> None:
        part = folder / f"{CHECKPOINT}.part"
        states = [optimiser.state_dict() for optimiser in self.optimisers]
        state = {"model": self.weights(), "optimisers": states, "step": self.step, "seconds": self.seconds}
        with open_file(part, "wb") as file:
            torch.save(state | self.kept, file)
        replace_file(part, folder / CHECKPOINT)

    def train(
        self,
        batches: Iterator[B],
        last: int,
        folder: Path,
        record: str,
        tell: Callable[[tuple[float, float]], Mapping[str, Any] | None],
    ) -> None:
        """Train up to the step ``last``. If ``tell`` returns data on a step, it becomes a line of the ``record``."""
        if (file := folder / record).exists():
            # Steps after the checkpoint are trained again, so drop their lines.
            lines = file.read_text("utf-8").splitlines(keepends=True)
            whole = (line for line in lines if line.endswith("\n") and json.loads(line)["step"] <= self.step)
            atomic_write(file, "".join(whole).encode())
        began, kept = time.monotonic() - self.seconds, time.monotonic()
        with open_file(file, "ab") as lines:
            while self.step < last:
                for optimiser in self.optimisers:
                    for group in optimiser.param_groups:
                        group["lr"] = self.rate(self.step)
                self.model.zero_grad(set_to_none=True)
                judged = self.judge(next(batches))
                torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
                for optimiser in self.optimisers:
                    optimiser.step()
                self.step += 1
                self.seconds = time.monotonic() - began
                if (line := tell(judged)) is not None:
                    lines.write(f"{json.dumps(line)}\n".encode())
                    lines.flush()
                if time.monotonic() - kept > KEPT_EVERY or self.step == last:
                    self.keep(folder)
                    kept = time.monotonic()


def risen(step: int, steps: int, warmup: int) -> float:
    """The share of the highest rate after ``step``: it rises for ``warmup`` steps, and falls to zero at the last."""
    return min((step + 1) / warmup, (steps - step) / max(1, steps - warmup))


class Learner(nn.Module, ABC):
    """A network with a loss."""

    by_muon: ClassVar[tuple[str, ...]]  # Parts of the names of the matrices that Muon trains.

    @abstractmethod
    def judged(self, batch: Any) -> tuple[Tensor, Tensor]:
        """The loss (nats per decision) and the share of right decisions."""


@dataclass(frozen=True, slots=True)
class Schedule:
    """The settings of every recipe. ``shares`` are the mean shares of the parts in a batch. The ``rate`` rises for ``warmup``
    of the ``steps``. ``begin`` is a checkpoint to start from, with fresh optimisers, and ``device`` is PyTorch's. Raises
    ``ConfigurationError`` for too few steps."""

    shares: Mapping[str, float]
    steps: int
    rate: float = 4e-3
    warmup: int = 50
    decay: float = 0.01
    seed: int = 1
    threads: int = 1
    begin: str | None = None
    device: str = "cpu"

    def __post_init__(self) -> None:
        if not 0 < self.warmup < self.steps:
            raise ConfigurationError(f"The rate rises for {self.warmup} steps, so {self.steps} are too few; train for more.")

    def rate_at(self, step: int) -> float:
        return self.rate * risen(step, self.steps, self.warmup)


def train_network(
    make: Callable[[], M],
    schedule: Schedule,
    batches: Callable[[int], Iterator[NamedTuple]],
    folder: Path,
    until: int | None = None,
) -> M:
    """Train a new network, or resume its training.

    Args:
        make: Makes the network.
        batches: Returns the batches from a step on.
        folder: Keeps the recipe, the record and the checkpoint of an interrupted run.
        until: Stop after this step.

    Raises:
        ConfigurationError: The folder holds a run with another recipe, or another command trains there."""
    torch.set_num_threads(schedule.threads)
    torch.manual_seed(schedule.seed)
    model = make().to(schedule.device)

    def judge(batch: NamedTuple) -> tuple[float, float]:
        here = (each.to(schedule.device) if isinstance(each, Tensor) else each for each in batch)
        loss, right = model.judged(batch._make(here))
        loss.backward()
        return loss.item(), right.item()

    recipe, states = asdict(schedule), (model.state_dict, model.load_state_dict)
    run = TrainingRun(model, _optimisers(model, schedule), judge, schedule.rate_at, {"recipe": recipe}, *states)
    judged: list[tuple[float, float]] = []

    def tell(of: tuple[float, float]) -> dict[str, Any] | None:
        judged.append(of)
        if run.step % _RECORDED:
            return None
        loss, exact = (round(sum(each) / len(judged), 4) for each in zip(*judged, strict=True))
        judged.clear()
        return {"step": run.step, "loss": loss, "exact": exact, "seconds": round(run.seconds, 1)}

    last = schedule.steps if until is None else min(until, schedule.steps)
    with held(folder / ".lock", f"{folder} is being trained by another command; wait for it or stop it."):
        if (folder / CHECKPOINT).exists():
            kept = checkpoint(folder)
            _refuse_another(folder, kept["recipe"], recipe)
            run.resume(kept)
        elif schedule.begin is not None:
            run.load(torch.load(schedule.begin, weights_only=True, map_location="cpu")["model"])
        atomic_write(folder / "recipe.json", json.dumps(recipe, indent=1).encode())
        run.train(batches(run.step), last, folder, RECORD, tell)
    return model


def _optimisers(model: Learner, schedule: Schedule) -> tuple[Any, Any]:
    named = list(model.named_parameters())
    muon = {name for name, value in named if value.dim() == 2 and any(part in name for part in model.by_muon)}
    matrices, others = ([value for name, value in named if (name in muon) == by_muon] for by_muon in (True, False))
    # Muon's steps are scaled to the size of AdamW's, so that both use one rate.
    return (
        torch.optim.AdamW(others, lr=schedule.rate, betas=(0.9, 0.98), weight_decay=0.0),
        torch.optim.Muon(matrices, lr=schedule.rate, weight_decay=schedule.decay, adjust_lr_fn="match_rms_adamw"),
    )


def checkpoint(folder: Path) -> dict[str, Any]:
    """Load the checkpoint in ``folder``. Raises ``ConfigurationError`` if it has no recipe."""
    kept: dict[str, Any] = torch.load(folder / CHECKPOINT, weights_only=True, map_location="cpu")
    if "recipe" not in kept:
        raise ConfigurationError(
            f"The checkpoint in {folder} does not say by which recipe it was trained; train in another folder (--run)."
        )
    return kept


def averaged(folders: Sequence[Path]) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """The recipe of the first of these runs, and the mean of all weights. The runs must have continued from one checkpoint;
    then the mean works like each of them (Wortsman et al., ICML 2022). Raises ``ConfigurationError``."""
    kept = [checkpoint(folder) for folder in folders]
    mean: dict[str, Any] = {name: sum(one["model"][name] for one in kept) / len(kept) for name in kept[0]["model"]}
    return kept[0]["recipe"], mean


def by_shares(recipe: Schedule, number: int, count: int) -> tuple[np.random.Generator, list[int]]:
    """The random generator of the pool ``number`` of batches, and the indices of the parts of its ``count`` samples."""
    random, shares = np.random.default_rng([recipe.seed, number]), np.array(list(recipe.shares.values()), float)
    return random, random.choice(len(shares), count, p=shares / shares.sum()).tolist()


def stream(pool: Callable[[int], Sequence[B]], size: int, step: int) -> Iterator[B]:
    """The batches from ``step`` on, from pools of ``size`` batches."""
    number, skipped = divmod(step, size)
    while True:
        yield from pool(number)[skipped:]
        number, skipped = number + 1, 0


def shuffled(drawn: Sequence[D], size: int, random: np.random.Generator) -> list[Sequence[D]]:
    """Group neighbours among the samples ``drawn`` by ``size``, and shuffle the groups."""
    groups = [drawn[at : at + size] for at in range(0, len(drawn), size)]
    return [groups[at] for at in random.permutation(len(groups))]


def _refuse_another(folder: Path, before: Mapping[str, Any], now: Mapping[str, Any]) -> None:
    # Compare as text, since the order of shares matters in training.
    said = [(key, json.dumps(before.get(key)), json.dumps(value)) for key, value in now.items()]
    changed = "; ".join(f"{key}: {unquoted(old, 80)} is now {unquoted(new, 80)}" for key, old, new in said if old != new)
    if changed:
        raise ConfigurationError(
            f"{folder} holds a run by another recipe ({changed}); give --run another folder, or delete that one."
        )


class Layer(nn.Module):
    """Attention, then a gated feed-forward part."""

    def __init__(self, width: int, heads: int, hidden: int) -> None:
        super().__init__()
        self.heads = heads
        self.attention_norm = nn.Parameter(torch.ones(width))
        self.forward_norm = nn.Parameter(torch.ones(width))
        self.qkv = nn.Linear(width, 3 * width, bias=False)
        self.out = nn.Linear(width, width, bias=False)
        self.gate_up = nn.Linear(width, 2 * hidden, bias=False)
        self.down = nn.Linear(hidden, width, bias=False)

    def forward(self, x: Tensor, turn: Callable[[Tensor], Tensor], seen: Tensor | None = None) -> Tensor:
        """Rotate queries and keys by ``turn``. Without the mask ``seen``, each token sees those before it."""
        batch, length, width = x.shape
        qkv = self.qkv(normed(x, self.attention_norm)).view(batch, length, 3, self.heads, -1)
        q, k, v = (part.transpose(1, 2) for part in qkv.unbind(2))
        mixed = functional.scaled_dot_product_attention(turn(q), turn(k), v, seen, is_causal=seen is None)
        x = x + self.out(mixed.transpose(1, 2).reshape(batch, length, width))
        gate, up = self.gate_up(normed(x, self.forward_norm)).chunk(2, -1)
        return x + self.down(functional.silu(gate) * up)


class TorchNetwork(Learner):
    """A network from tokens to logits. ``base`` has the word of each token, and ``number`` its number, 0 for none."""

    base: Tensor
    numbers: Tensor
    numbered: Tensor
    cos: Tensor
    sin: Tensor
    by_muon = ("layers.",)

    def __init__(self, shape: Shape, base: Sequence[int], number: Sequence[int]) -> None:
        super().__init__()
        self.shape = shape
        self.word = nn.Embedding(len(base), shape.width)
        self.number = nn.Embedding(max(number) + 1, shape.width)
        self.register_buffer("base", torch.tensor(base), persistent=False)
        self.register_buffer("numbers", torch.tensor(number), persistent=False)
        self.register_buffer("numbered", (torch.tensor(number) > 0).float()[:, None], persistent=False)
        self.layers = nn.ModuleList(Layer(shape.width, shape.heads, shape.hidden) for _ in range(shape.layers))
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
        """Logits (batch, length, tokens); with the mask ``wanted`` (batch, length), only those it selects."""
        table = self.table()
        x = functional.embedding(tokens, table)
        length = tokens.shape[1]
        for layer in self.layers:
            x = layer(x, lambda part: _rotated(part, self.cos[:length], self.sin[:length]))
        x = normed(x, self.norm)
        return (x if wanted is None else x[wanted]) @ table.T

    def judged(self, batch: Batch) -> tuple[Tensor, Tensor]:
        mask = batch.wanted != _LOST
        logits, wanted = self(batch.inputs, mask), batch.wanted[mask]
        return functional.cross_entropy(logits, wanted), (logits.argmax(-1) == wanted).float().mean()

    def weights(self) -> dict[str, Tensor]:
        """The weights by the runtime's names."""
        found = {"embedding": self.table(), "norm": self.norm}
        found |= {name.removesuffix(".weight"): value for name, value in self.layers.named_parameters()}
        return {name: value.detach() for name, value in found.items()}


def normed(x: Tensor, weight: Tensor | None = None) -> Tensor:
    return functional.rms_norm(x, (x.shape[-1],), weight, 1e-5)


def _rotated(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    first, second = x.chunk(2, -1)
    return torch.cat((first * cos - second * sin, second * cos + first * sin), -1)


_POOL = 16
_LOST = -100


@dataclass(frozen=True, slots=True)
class Recipe(Schedule):
    """The settings of the network's training. ``batch`` is the number of samples in a step, and ``renumbered`` the share of
    samples whose objects get other numbers."""

    steps: int = 3000
    warmup: int = 100
    threads: int = 2
    batch: int = 32
    renumbered: float = 0.5
    shape: Shape = field(default_factory=Shape)


class Batch(NamedTuple):
    """Tokens, and the next token of each or -100 to ignore it; both (batch, length)."""

    inputs: Tensor
    wanted: Tensor


class Batches:
    """Draws batches from the parts by their shares, with samples of similar length together and some renumbered."""

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
        # Kinds with equally many numbers are renumbered together.
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


def train(corpus: Path, folder: Path, recipe: Recipe, *, until: int | None = None) -> TorchNetwork:
    """Train on the parts in ``corpus``; ``folder`` and ``until`` are those of `train_network`."""
    vocabulary = load_vocabulary(corpus)
    parts = {name: CorpusPart.load(corpus / f"{name}.npz") for name in recipe.shares}
    batches = partial(stream, Batches(parts, vocabulary, recipe).pool, _POOL)
    return train_network(lambda: TorchNetwork(recipe.shape, *composition(vocabulary)), recipe, batches, folder, until)


def export_network(corpus: Path, folder: Path, file: Path, besides: Sequence[Path] = ()) -> None:
    """Write the network of the checkpoint in ``folder`` to ``file``, averaged with the runs ``besides``."""
    vocabulary = load_vocabulary(corpus)
    recipe, state = averaged([folder, *besides])
    shape = Shape(**recipe["shape"])
    network = TorchNetwork(shape, *composition(vocabulary))
    network.load_state_dict(state)
    FORMAT.write(file, shape, vocabulary, {name: value.numpy() for name, value in network.weights().items()})
