# pyright: basic, reportMissingImports=false
"""The loop that trains a network: its steps, checkpoints and record; and the run of a network that learns from scratch.

Of such a network, matrices are trained by Muon (Jordan et al., 2024; at equal steps it had half the loss of AdamW here), the
rest by AdamW. The rate rises briefly and falls to zero. Batches depend only on the seed and the number of the step, so a
resumed run gives the same weights as an uninterrupted one.
"""

from __future__ import annotations

import json
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, ClassVar, Generic, NamedTuple, TypeVar

import numpy as np
import torch
from torch import Tensor, nn

from housequest.agent.training.recipe import CHECKPOINT, RECORD, Record, Schedule
from housequest.worlds.errors import ConfigurationError, unquoted

_RECORDED = 50
_KEPT = 200

P = TypeVar("P")
B = TypeVar("B")
D = TypeVar("D")
M = TypeVar("M", bound="Learner")


class TrainingRun(ABC, Generic[B]):
    """A network with its optimisers, the number of steps taken, and the seconds that these took.

    ``folder`` keeps a checkpoint, from which an interrupted run goes on, and the file ``record``.
    """

    def __init__(self, model: Any, optimisers: Sequence[Any], steps: int, folder: Path, record: str = RECORD) -> None:
        self.model, self.steps = model, steps
        self.step, self.seconds = 0, 0.0
        self._optimisers, self._folder, self._record = optimisers, folder, record

    @property
    @abstractmethod
    def rate(self) -> float:
        """The learning rate of the next step."""

    @abstractmethod
    def judge(self, batch: B) -> None:
        """Add up the gradients of a batch, and remember how well the network did."""

    @abstractmethod
    def tell(self) -> Mapping[str, Any] | None:
        """What is recorded after this step, if anything is."""

    @abstractmethod
    def is_due(self) -> bool:
        """Whether it is time for a checkpoint."""

    def state(self) -> dict[str, Any]:
        """What a checkpoint keeps."""
        optimisers = [optimiser.state_dict() for optimiser in self._optimisers]
        return {"model": self.weights(), "optimisers": optimisers, "step": self.step, "seconds": self.seconds}

    def weights(self) -> dict[str, Any]:
        """What is trained of the network."""
        return self.model.state_dict()

    def load(self, weights: Mapping[str, Any]) -> None:
        """Take over ``weights`` that a checkpoint kept."""
        self.model.load_state_dict(weights)

    def restore(self, kept: Mapping[str, Any]) -> None:
        """Go on from what a checkpoint kept."""
        self.load(kept["model"])
        for optimiser, state in zip(self._optimisers, kept["optimisers"], strict=True):
            optimiser.load_state_dict(state)
        self.step, self.seconds = kept["step"], kept["seconds"]

    def keep(self) -> None:
        """Write a checkpoint."""
        part = self._folder / f"{CHECKPOINT}.part"
        torch.save(self.state(), part)
        part.replace(self._folder / CHECKPOINT)

    def learn(self, batch: B) -> None:
        """Take one step."""
        for optimiser in self._optimisers:
            for group in optimiser.param_groups:
                group["lr"] = self.rate
        self.model.zero_grad(set_to_none=True)
        self.judge(batch)
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        for optimiser in self._optimisers:
            optimiser.step()
        self.step += 1

    def train(self, batches: Iterator[B], until: int | None) -> None:
        """Take the steps that are left, each with one of ``batches``; with ``until``, up to that step."""
        record = Record(self._folder / self._record, self.step)
        began, last = time.monotonic() - self.seconds, self.steps if until is None else min(until, self.steps)
        while self.step < last:
            self.learn(next(batches))
            self.seconds = time.monotonic() - began
            if (line := self.tell()) is not None:
                record.add(line)
            if self.is_due() or self.step == last:
                self.keep()


class Learner(nn.Module, ABC):
    """A network that says how well it does on a batch."""

    @abstractmethod
    def judged(self, batch: Any) -> tuple[Tensor, Tensor]:
        """The loss (nats a decision), and the share of decisions that are right."""

    @abstractmethod
    def by_muon(self, name: str) -> bool:
        """Whether Muon trains the matrix ``name``."""


class _FromScratch(TrainingRun[NamedTuple]):
    """The run of what ``make`` makes."""

    def __init__(self, make: Callable[[], Learner], schedule: Schedule, folder: Path) -> None:
        torch.manual_seed(schedule.seed)
        self._schedule = schedule
        model = make().to(schedule.device)
        muon = {name for name, value in model.named_parameters() if value.dim() == 2 and model.by_muon(name)}
        matrices = [value for name, value in model.named_parameters() if name in muon]
        others = [value for name, value in model.named_parameters() if name not in muon]
        # Muon's steps are scaled to be as large as AdamW's, so that both have one rate.
        optimisers = (
            torch.optim.AdamW(others, lr=schedule.rate, betas=(0.9, 0.98), weight_decay=0.0),
            torch.optim.Muon(matrices, lr=schedule.rate, weight_decay=schedule.decay, adjust_lr_fn="match_rms_adamw"),
        )
        super().__init__(model, optimisers, schedule.steps, folder)
        self._judged: list[tuple[float, float]] = []

    @property
    def rate(self) -> float:
        return self._schedule.rate_at(self.step)

    def judge(self, batch: NamedTuple) -> None:
        here = (each.to(self._schedule.device) if isinstance(each, Tensor) else each for each in batch)
        loss, right = self.model.judged(batch._make(here))
        loss.backward()
        self._judged.append((loss.item(), right.item()))

    def tell(self) -> dict[str, Any] | None:
        if self.step % _RECORDED:
            return None
        loss, exact = (round(sum(each) / len(self._judged), 4) for each in zip(*self._judged, strict=True))
        self._judged.clear()
        return {"step": self.step, "loss": loss, "exact": exact, "seconds": round(self.seconds, 1)}

    def is_due(self) -> bool:
        return self.step % _KEPT == 0

    def state(self) -> dict[str, Any]:
        return super().state() | {"recipe": asdict(self._schedule)}


def train_network(
    make: Callable[[], M],
    schedule: Schedule,
    batches: Callable[[int], Iterator[NamedTuple]],
    folder: Path,
    until: int | None = None,
) -> M:
    """Train what ``make`` makes on the ``batches`` from a step on; with ``until``, up to that step.

    ``folder`` keeps the recipe, the record and the checkpoint, from which an interrupted run goes on. Raises
    ``ConfigurationError`` where it holds a run by another recipe.
    """
    torch.set_num_threads(schedule.threads)
    run = _FromScratch(make, schedule, folder)
    if (folder / CHECKPOINT).exists():
        kept = checkpoint(folder)
        _refuse_another(folder, kept["recipe"], asdict(schedule))
        run.restore(kept)
    elif schedule.begin is not None:
        run.load(torch.load(schedule.begin, weights_only=True, map_location="cpu")["model"])
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "recipe.json").write_text(json.dumps(asdict(schedule), indent=1), "utf-8")
    run.train(batches(run.step), until)
    return run.model


def checkpoint(folder: Path) -> dict[str, Any]:
    """What is kept of the run in ``folder``. Raises ``ConfigurationError`` where that does not say by which recipe it was."""
    kept: dict[str, Any] = torch.load(folder / CHECKPOINT, weights_only=True, map_location="cpu")
    if "recipe" not in kept:
        raise ConfigurationError(
            f"The checkpoint in {folder} does not say by which recipe it was trained; train in another folder (--run)."
        )
    return kept


def averaged(folders: Sequence[Path]) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """The recipe of the first of these runs, and the mean of all their weights.

    Runs that went on from one checkpoint may be averaged: the mean does what each does (Wortsman et al., ICML 2022). Raises
    ``ConfigurationError``.
    """
    kept = [checkpoint(folder) for folder in folders]
    mean: dict[str, Any] = {name: sum(one["model"][name] for one in kept) / len(kept) for name in kept[0]["model"]}
    return kept[0]["recipe"], mean


class Drawing(ABC, Generic[P, B]):
    """Draws batches from ``parts`` by their shares: ``POOL`` of them together, so that samples of like length are in one.

    They depend on the seed and the number of the pool alone.
    """

    POOL: ClassVar[int]

    def __init__(self, parts: Mapping[str, P], recipe: Schedule) -> None:
        self.parts = [parts[name] for name in recipe.shares]
        shares = np.array(list(recipe.shares.values()), float)
        self._shares, self._seed = shares / shares.sum(), recipe.seed

    @abstractmethod
    def pool(self, number: int) -> list[B]:
        """The ``POOL`` batches from ``number * POOL`` on."""

    def drawn(self, number: int, size: int) -> tuple[np.random.Generator, Sequence[int]]:
        """The randomness of a pool of batches of this ``size``, and the part that each of its samples is from."""
        random = np.random.default_rng([self._seed, number])
        return random, random.choice(len(self.parts), size * self.POOL, p=self._shares).tolist()

    def batches(self, step: int) -> Iterator[B]:
        """The batches from ``step`` on."""
        number, skipped = divmod(step, self.POOL)
        while True:
            yield from self.pool(number)[skipped:]
            number, skipped = number + 1, 0


def shuffled(drawn: Sequence[D], size: int, random: np.random.Generator) -> list[Sequence[D]]:
    """What was ``drawn`` in groups of ``size``, neighbours together, in random order."""
    groups = [drawn[at : at + size] for at in range(0, len(drawn), size)]
    return [groups[at] for at in random.permutation(len(groups))]


def _refuse_another(folder: Path, before: Mapping[str, Any], now: Mapping[str, Any]) -> None:
    # As text, in which the order of shares counts, as it does in training.
    said = [(key, json.dumps(before.get(key)), json.dumps(value)) for key, value in now.items()]
    changed = "; ".join(f"{key}: {unquoted(old, 80)} is now {unquoted(new, 80)}" for key, old, new in said if old != new)
    if changed:
        raise ConfigurationError(
            f"{folder} holds a run by another recipe ({changed}); give --run another folder, or delete that one."
        )
