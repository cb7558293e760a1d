# pyright: basic, reportMissingImports=false
"""Trains Action Attention by behaviour cloning.

Each step of a play is learned either under its sub-task, in one of its wordings, or under the whole goal.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from housequest.agent.agents.action_attention import network
from housequest.agent.agents.action_attention.training.plays import Plays, load_embedder, load_words
from housequest.agent.training import optimise as training
from housequest.agent.training.corpus import spread


class TorchEmbedding(nn.Module):
    """Texts to vectors, as `housequest.agent.agents.action_attention.network`."""

    words: nn.Parameter
    left: nn.Parameter
    signs: nn.Parameter
    numbers: nn.Parameter
    wide: nn.Parameter
    narrow: nn.Parameter
    real: Tensor

    def __init__(self, words: int, size: int) -> None:
        super().__init__()
        for name, sizes in network.embedding_sizes(words, size).items():
            self.register_parameter(name, nn.Parameter(torch.empty(sizes)))
        nn.init.normal_(self.words, std=1.0)
        nn.init.normal_(self.left, std=0.1)
        nn.init.normal_(self.signs, std=0.7)
        nn.init.normal_(self.numbers, std=0.3)
        for name in ("wide", "narrow"):
            nn.init.normal_(getattr(self, name), std=getattr(self, name).shape[1] ** -0.5)
        with torch.no_grad():
            self.narrow.mul_(0.3)
        # A word without a number has none of either.
        self.register_buffer("real", (torch.arange(network.NUMBERS) > 0).float()[:, None], persistent=False)

    def forward(self, tokens: Tensor, text: Tensor, count: int) -> Tensor:
        """The vectors of ``count`` texts: ``tokens`` (tokens, 3) of all, and the ``text`` to which each belongs."""
        word, number, before = tokens.unbind(1)
        each = self.words[word] * (1 + (self.signs * self.real)[number]) + (self.numbers * self.real)[number]
        each = each * (1 + self.left[before])
        bag = each.new_zeros(count, each.shape[1]).index_add_(0, text, each)
        x = training.normed(bag)
        return x + functional.silu(x @ self.wide.T) @ self.narrow.T

    def weights(self) -> dict[str, Tensor]:
        found = {name: value.detach() for name, value in self.named_parameters()}
        return found | {name: found[name] * self.real for name in ("signs", "numbers")}


class TorchFrozen(nn.Module):
    """Vectors of an embedding model less their mean, as in `housequest.agent.agents.action_attention.network`; not trained."""

    middle: Tensor

    def __init__(self, middle: Tensor) -> None:
        super().__init__()
        self.register_buffer("middle", middle)

    def forward(self, vectors: Tensor) -> Tensor:
        return vectors - self.middle

    def weights(self) -> dict[str, Tensor]:
        return {"middle": self.middle}


class TorchScorer(nn.Module):
    """Scores of commands, for many steps at once."""

    def __init__(self, shape: network.AttentionShape) -> None:
        super().__init__()
        self.shape, width = shape, shape.width
        self.enter = nn.Parameter(torch.randn(width, shape.embedded) * shape.embedded**-0.5)
        self.roles = nn.Parameter(torch.randn(network.ROLES, width) * width**-0.5)
        self.layers = nn.ModuleList(training.Layer(width, shape.heads, shape.hidden) for _ in range(shape.layers))
        for name, value in self.layers.named_parameters():
            if value.dim() == 2:
                narrowed = (2 * shape.layers) ** 0.5 if name.endswith((".out.weight", ".down.weight")) else 1
                nn.init.normal_(value, std=value.shape[1] ** -0.5 / narrowed)
        self.norm = nn.Parameter(torch.ones(width))
        self.query, self.key = (nn.Parameter(torch.randn(width, width) * width**-0.5) for _ in range(2))

    def weights(self) -> dict[str, Tensor]:
        return {name.removesuffix(".weight"): value.detach() for name, value in self.named_parameters()}

    def forward(self, context: Tensor, commands: Tensor, given: Tensor) -> Tensor:
        """Scores, (steps, commands), -inf if there is none. ``context`` (steps, 3, embedded) is task, history and
        observation; ``commands`` (steps, commands, embedded), of which those ``given`` (steps, commands) are real."""
        query = self.roles[network.CONTEXT].expand(len(given), 1, -1)
        told = training.normed(context) @ self.enter.T + self.roles[: network.CONTEXT]
        x = torch.cat((told, query, training.normed(commands) @ self.enter.T + self.roles[network.CONTEXT + 1]), 1)
        # The query attends to everything real, a command to the context and itself.
        seen = torch.from_numpy(network.attention_mask(x.shape[1])).to(x.device).repeat(len(given), 1, 1, 1)
        seen[:, 0, network.CONTEXT, network.CONTEXT + 1 :] = given
        for layer in self.layers:
            x = layer(x, lambda part: part, seen)
        x = training.normed(x, self.norm)
        scores = torch.einsum("sad,sd->sa", x[:, network.CONTEXT + 1 :] @ self.key.T, x[:, network.CONTEXT] @ self.query.T)
        return (scores * self.shape.width**-0.5).masked_fill(~given, -torch.inf)


_POOL = 8


@dataclass(frozen=True, slots=True)
class AttentionRecipe(training.Schedule):
    """The training settings. ``plays`` is the size of a batch; ``whole`` is the share of steps under the whole goal, and
    ``human`` that of people's words among those. For each step, ``commands`` permissible ones are drawn (0: all), with the
    expert's. ``limit`` is the most plays of each part."""

    steps: int = 1500
    plays: int = 16
    whole: float = 0.6
    human: float = 0.5
    commands: int = 16
    limit: int | None = None
    shape: network.AttentionShape = field(default_factory=network.AttentionShape)


class StepBatch(NamedTuple):
    """Steps of some plays; texts are numbered within the batch. ``vectors`` are those of an embedding model; without one
    they are empty, and the ``tokens`` of each ``text`` are read. ``before`` (steps, steps) gives the average of the
    observations before each step."""

    vectors: Tensor
    tokens: Tensor
    text: Tensor
    count: int
    task: Tensor
    seen: Tensor
    before: Tensor
    commands: Tensor
    given: Tensor
    chosen: Tensor


class StepBatches:
    """Draws batches: parts by their shares, and plays with a similar number of commands together."""

    def __init__(self, parts: Mapping[str, Plays], recipe: AttentionRecipe) -> None:
        self._parts, self._recipe = [parts[name] for name in recipe.shares], recipe
        self._plays = [spread(range(len(part)), recipe.limit) for part in self._parts]

    def pool(self, number: int) -> list[StepBatch]:
        """The eight batches from ``number * 8`` on."""
        recipe = self._recipe
        drawn: list[tuple[float, int, int]] = []
        random, which = training.by_shares(recipe, number, recipe.plays * _POOL)
        for at in which:
            part = self._parts[at]
            play = self._plays[at][int(random.integers(len(self._plays[at])))]
            first, last = part.steps[play], part.steps[play + 1]
            commands = (part.permissible_starts[last] - part.permissible_starts[first]) / (last - first)
            drawn.append((float(commands), at, play))
        drawn.sort()
        return [
            self._batch([(at, play) for _, at, play in group], random)
            for group in training.shuffled(drawn, recipe.plays, random)
        ]

    def _batch(self, plays: Sequence[tuple[int, int]], random: np.random.Generator) -> StepBatch:
        recipe = self._recipe
        ids: dict[tuple[int, int], int] = {}
        task, seen, lengths, commands = list[int](), list[int](), list[int](), list[list[int]]()
        for at, play in plays:
            part = self._parts[at]
            first, last = int(part.steps[play]), int(part.steps[play + 1])
            lengths.append(last - first)
            templates, human = np.split(part.goals[play], [2])
            goal = int(random.choice(human if random.random() < recipe.human else templates))
            # Half of the sub-tasks have the ground truth's words. A play keeps to one wording.
            wording = 0 if random.random() < 0.5 else int(random.integers(1, part.subtasks.shape[1]))
            whole = random.random(last - first) < recipe.whole
            for step in range(first, last):
                told = goal if whole[step - first] else int(part.subtasks[step, wording])
                task.append(ids.setdefault((at, told), len(ids)))
                seen.append(ids.setdefault((at, int(part.seen[step])), len(ids)))
                listed = part.permissible[part.permissible_starts[step] : part.permissible_starts[step + 1]]
                wanted = int(part.chosen[step])
                others = np.delete(listed, wanted)
                if 0 < recipe.commands <= len(others):
                    others = random.choice(others, recipe.commands - 1, replace=False)
                # The expert's choice comes first; the network does not see the order.
                commands.append([ids.setdefault((at, int(one)), len(ids)) for one in (listed[wanted], *others)])
        most = max(map(len, commands))
        padded = np.zeros((len(commands), most), np.int64)
        given = np.zeros((len(commands), most), bool)
        for row, listed in enumerate(commands):
            padded[row, : len(listed)], given[row, : len(listed)] = listed, True
        tokens, counts, vectors = [], [], []
        for at, text in ids:
            part = self._parts[at]
            vectors.append(part.vectors[text])
            tokens.append(part.texts.reshape(-1, 3)[part.text_starts[text] : part.text_starts[text + 1]])
            counts.append(len(tokens[-1]))
        before = torch.block_diag(*(torch.ones(n, n).tril(-1) / torch.arange(n).clamp(min=1)[:, None] for n in lengths))
        return StepBatch(
            torch.from_numpy(np.stack(vectors).astype(np.float32)),
            torch.from_numpy(np.concatenate(tokens).astype(np.int64)),
            torch.repeat_interleave(torch.tensor(counts)),
            len(ids),
            torch.tensor(task),
            torch.tensor(seen),
            before,
            torch.from_numpy(padded),
            torch.from_numpy(given),
            torch.zeros(len(commands), dtype=torch.long),
        )


class TorchPolicy(training.Learner):
    """Embedding and network. ``middle`` is the mean of an embedding model's vectors; without one, ``words`` are learned."""

    by_muon = ("layers.", "wide", "narrow", "network.query", "network.key", "enter")

    def __init__(self, words: int, shape: network.AttentionShape, middle: Tensor | None = None) -> None:
        super().__init__()
        self.embedding = TorchEmbedding(words, shape.embedded) if middle is None else TorchFrozen(middle)
        self.network = TorchScorer(shape)

    def forward(self, batch: StepBatch) -> Tensor:
        if isinstance(self.embedding, TorchFrozen):
            vectors = self.embedding(batch.vectors)
        else:
            vectors = self.embedding(batch.tokens, batch.text, batch.count)
        seen = vectors[batch.seen]
        context = torch.stack((vectors[batch.task], batch.before @ seen, seen), 1)
        return self.network(context, vectors[batch.commands], batch.given)

    def judged(self, batch: StepBatch) -> tuple[Tensor, Tensor]:
        scores = self(batch)
        return functional.cross_entropy(scores, batch.chosen), (scores.argmax(-1) == batch.chosen).float().mean()


def train(folder: Path, run_folder: Path, recipe: AttentionRecipe, *, until: int | None = None) -> TorchPolicy:
    """Train on the plays in ``folder``, in ``run_folder`` and with ``until`` as `training.train_network` does. If the plays
    have vectors of an embedding model, these stand for the texts and are not trained."""
    words = len(load_words(folder))
    parts = {name: Plays.load(folder / f"{name}.npz") for name in recipe.shares}
    middle = None
    if load_embedder(folder) is not None:
        vectors = np.concatenate([part.vectors for part in parts.values() if len(part)])
        middle = torch.from_numpy(vectors.mean(0, dtype=np.float32))
        recipe = replace(recipe, shape=replace(recipe.shape, embedded=len(middle)))
    batches = partial(training.stream, StepBatches(parts, recipe).pool, _POOL)
    return training.train_network(lambda: TorchPolicy(words, recipe.shape, middle), recipe, batches, run_folder, until)


def export(folder: Path, run_folder: Path, file: Path) -> None:
    """Write the weights of the checkpoint in ``run_folder``."""
    words, embedded = load_words(folder), load_embedder(folder)
    recipe, state = training.averaged([run_folder])
    shape = network.AttentionShape(**recipe["shape"])
    model = TorchPolicy(len(words), shape, None if embedded is None else torch.zeros(shape.embedded))
    model.load_state_dict(state)
    weights = {name: value.numpy() for name, value in (model.embedding.weights() | model.network.weights()).items()}
    if embedded is None:
        network.FORMAT.write(file, shape, words, weights)
    else:
        name, probe = embedded
        network.FROZEN.write(file, shape, name, weights | {"probe": np.array(probe, np.float32)})
