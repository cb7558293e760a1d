# pyright: basic, reportMissingImports=false
"""The loop that trains a network: its steps, checkpoints and record; and how a network is trained from scratch.

Of such a network, matrices are trained by Muon (Jordan et al., 2024; at equal steps it had half the loss of AdamW here), the
rest by AdamW. The rate rises briefly and falls to zero. Batches depend only on the seed and the number of the step, so a
resumed run gives the same weights as an uninterrupted one.
"""

from __future__ import annotations

import json
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
import torch
from torch import Tensor, nn

from housequest.agent.training import CHECKPOINT
from housequest.worlds.errors import ConfigurationError, unquoted

RECORD = "training.jsonl"
KEPT_EVERY = 60.0
"""Seconds between two checkpoints."""
_RECORDED = 50

B = TypeVar("B")
D = TypeVar("D")
M = TypeVar("M", bound="Learner")


@dataclass
class Run(Generic[B]):
    """A network with its optimisers, the number of steps taken, the seconds that these took, and what else is ``kept``.

    ``judge`` adds up the gradients of a batch, and returns how well the network did; ``rate`` gives that of the step after one.
    ``weights`` are those that are trained, and ``load`` takes them over.
    """

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
        torch.save(state | self.kept, part)
        part.replace(folder / CHECKPOINT)

    def train(
        self,
        batches: Iterator[B],
        last: int,
        folder: Path,
        record: str,
        tell: Callable[[tuple[float, float]], Mapping[str, Any] | None],
    ) -> None:
        """Take the steps up to the ``last``; what there is to ``tell`` of one becomes a line of the ``record``."""
        if (file := folder / record).exists():
            # What was recorded after the checkpoint is trained again.
            lines = file.read_text("utf-8").splitlines(keepends=True)
            whole = (line for line in lines if line.endswith("\n") and json.loads(line)["step"] <= self.step)
            file.write_text("".join(whole), "utf-8")
        began, kept = time.monotonic() - self.seconds, time.monotonic()
        with file.open("a", encoding="utf-8") as lines:
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
                    lines.write(json.dumps(line) + "\n")
                    lines.flush()
                if time.monotonic() - kept > KEPT_EVERY or self.step == last:
                    self.keep(folder)
                    kept = time.monotonic()


def risen(step: int, steps: int, warmup: int) -> float:
    """The share of the highest rate after ``step``: it rises for ``warmup`` steps, and falls to zero at the last."""
    return min((step + 1) / warmup, (steps - step) / max(1, steps - warmup))


class Learner(nn.Module, ABC):
    """A network that says how well it does on a batch."""

    @abstractmethod
    def judged(self, batch: Any) -> tuple[Tensor, Tensor]:
        """The loss (nats a decision), and the share of decisions that are right."""

    @abstractmethod
    def by_muon(self, name: str) -> bool:
        """Whether Muon trains the matrix ``name``."""


@dataclass(frozen=True, slots=True)
class Schedule:
    """What every recipe says. ``shares``: how much of each part a batch holds on average; ``warmup``: for how many of the
    ``steps`` the ``rate`` rises; ``begin``: a checkpoint to start from, with fresh optimisers; ``device``: PyTorch's.

    Raises ``ConfigurationError`` for steps that leave the rate no time to fall.
    """

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
    """Train what ``make`` makes on the ``batches`` from a step on; with ``until``, up to that step.

    ``folder`` keeps the recipe, the record and the checkpoint, from which an interrupted run goes on. Raises
    ``ConfigurationError`` where it holds a run by another recipe.
    """
    torch.set_num_threads(schedule.threads)
    torch.manual_seed(schedule.seed)
    model = make().to(schedule.device)

    def judge(batch: NamedTuple) -> tuple[float, float]:
        here = (each.to(schedule.device) if isinstance(each, Tensor) else each for each in batch)
        loss, right = model.judged(batch._make(here))
        loss.backward()
        return loss.item(), right.item()

    recipe, states = asdict(schedule), (model.state_dict, model.load_state_dict)
    run = Run(model, _optimisers(model, schedule), judge, schedule.rate_at, {"recipe": recipe}, *states)
    if (folder / CHECKPOINT).exists():
        kept = checkpoint(folder)
        _refuse_another(folder, kept["recipe"], recipe)
        run.resume(kept)
    elif schedule.begin is not None:
        run.load(torch.load(schedule.begin, weights_only=True, map_location="cpu")["model"])
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "recipe.json").write_text(json.dumps(recipe, indent=1), "utf-8")
    judged: list[tuple[float, float]] = []

    def tell(of: tuple[float, float]) -> dict[str, Any] | None:
        judged.append(of)
        if run.step % _RECORDED:
            return None
        loss, exact = (round(sum(each) / len(judged), 4) for each in zip(*judged, strict=True))
        judged.clear()
        return {"step": run.step, "loss": loss, "exact": exact, "seconds": round(run.seconds, 1)}

    last = schedule.steps if until is None else min(until, schedule.steps)
    run.train(batches(run.step), last, folder, RECORD, tell)
    return model


def _optimisers(model: Learner, schedule: Schedule) -> tuple[Any, Any]:
    named = list(model.named_parameters())
    muon = {name for name, value in named if value.dim() == 2 and model.by_muon(name)}
    matrices, others = ([value for name, value in named if (name in muon) == by_muon] for by_muon in (True, False))
    # Muon's steps are scaled to be as large as AdamW's, so that both have one rate.
    return (
        torch.optim.AdamW(others, lr=schedule.rate, betas=(0.9, 0.98), weight_decay=0.0),
        torch.optim.Muon(matrices, lr=schedule.rate, weight_decay=schedule.decay, adjust_lr_fn="match_rms_adamw"),
    )


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


def by_shares(recipe: Schedule, number: int, count: int) -> tuple[np.random.Generator, list[int]]:
    """The randomness of the pool ``number`` of batches, and the indices of the parts that ``count`` samples of it are from."""
    random, shares = np.random.default_rng([recipe.seed, number]), np.array(list(recipe.shares.values()), float)
    return random, random.choice(len(shares), count, p=shares / shares.sum()).tolist()


def stream(pool: Callable[[int], Sequence[B]], size: int, step: int) -> Iterator[B]:
    """The batches from ``step`` on, of which each ``pool`` has ``size``."""
    number, skipped = divmod(step, size)
    while True:
        yield from pool(number)[skipped:]
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
