# pyright: basic, reportMissingImports=false
"""The loop that trains a network: its optimisers, rate, checkpoints and record.

Matrices are trained by Muon (Jordan et al., 2024; at equal steps it had half the loss of AdamW here), the rest by AdamW. The
rate rises briefly and falls to zero. Batches depend only on the seed and the number of the step, so a resumed run gives the
same weights as an uninterrupted one.
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

from housequest.worlds.errors import ConfigurationError, unquoted

CHECKPOINT = "checkpoint.pt"
RECORD = "training.jsonl"
_RECORDED = 50
_KEPT = 200

B = TypeVar("B", bound=NamedTuple)
D = TypeVar("D")
M = TypeVar("M", bound="Learner")


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
        """The rate of the step after ``step``."""
        return self.rate * min((step + 1) / self.warmup, (self.steps - step) / (self.steps - self.warmup))


class _Run(Generic[M]):
    """A network with its optimisers and the number of steps taken."""

    def __init__(self, make: Callable[[], M], schedule: Schedule) -> None:
        torch.manual_seed(schedule.seed)
        self.schedule = schedule
        self.model = make().to(schedule.device)
        self.step, self.seconds = 0, 0.0
        muon = {name for name, value in self.model.named_parameters() if value.dim() == 2 and self.model.by_muon(name)}
        matrices = [value for name, value in self.model.named_parameters() if name in muon]
        others = [value for name, value in self.model.named_parameters() if name not in muon]
        # Muon's steps are scaled to be as large as AdamW's, so that both have one rate.
        self._optimisers = (
            torch.optim.AdamW(others, lr=schedule.rate, betas=(0.9, 0.98), weight_decay=0.0),
            torch.optim.Muon(matrices, lr=schedule.rate, weight_decay=schedule.decay, adjust_lr_fn="match_rms_adamw"),
        )

    def resume(self, folder: Path) -> None:
        """Go on from the checkpoint in ``folder`` if there is one, else from the weights that the schedule begins with."""
        if (folder / CHECKPOINT).exists():
            kept = checkpoint(folder)
            _refuse_another(folder, kept["recipe"], asdict(self.schedule))
            self.model.load_state_dict(kept["model"])
            for optimiser, state in zip(self._optimisers, kept["optimisers"], strict=True):
                optimiser.load_state_dict(state)
            self.step, self.seconds = kept["step"], kept["seconds"]
        elif self.schedule.begin is not None:
            begun = torch.load(self.schedule.begin, weights_only=True, map_location="cpu")
            # An earlier version called them so.
            self.model.load_state_dict(begun["model"] if "model" in begun else begun["network"])

    def keep(self, folder: Path) -> None:
        """Write a checkpoint."""
        part = folder / f"{CHECKPOINT}.part"
        states = [optimiser.state_dict() for optimiser in self._optimisers]
        kept = {"model": self.model.state_dict(), "optimisers": states, "step": self.step, "seconds": self.seconds}
        torch.save(kept | {"recipe": asdict(self.schedule)}, part)
        part.replace(folder / CHECKPOINT)

    def learn(self, batch: NamedTuple) -> tuple[float, float]:
        """Take one step; return its loss and share of right decisions."""
        for optimiser in self._optimisers:
            for group in optimiser.param_groups:
                group["lr"] = self.schedule.rate_at(self.step)
        here = (each.to(self.schedule.device) if isinstance(each, Tensor) else each for each in batch)
        loss, right = self.model.judged(batch._make(here))
        self.model.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        for optimiser in self._optimisers:
            optimiser.step()
        self.step += 1
        return loss.item(), right.item()


def train_network(
    make: Callable[[], M], schedule: Schedule, batches: Callable[[int], Iterator[B]], folder: Path, until: int | None = None
) -> M:
    """Train what ``make`` makes on the ``batches`` from a step on; with ``until``, up to that step.

    ``folder`` keeps the recipe, the record and the checkpoint, from which an interrupted run goes on. Raises
    ``ConfigurationError`` where it holds a run by another recipe.
    """
    torch.set_num_threads(schedule.threads)
    run = _Run(make, schedule)
    run.resume(folder)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "recipe.json").write_text(json.dumps(asdict(schedule), indent=1), "utf-8")
    _cut_record(folder / RECORD, run.step)
    coming, began = batches(run.step), time.monotonic() - run.seconds
    last = schedule.steps if until is None else min(until, schedule.steps)
    judged: list[tuple[float, float]] = []
    with (folder / RECORD).open("a", encoding="utf-8") as record:
        while run.step < last:
            judged.append(run.learn(next(coming)))
            run.seconds = time.monotonic() - began
            if run.step % _RECORDED == 0:
                loss, exact = (round(sum(each) / len(judged), 4) for each in zip(*judged, strict=True))
                line = {"step": run.step, "loss": loss, "exact": exact, "seconds": round(run.seconds, 1)}
                record.write(json.dumps(line) + "\n")
                record.flush()
                judged.clear()
            if run.step % _KEPT == 0 or run.step == last:
                run.keep(folder)
    return run.model


def checkpoint(folder: Path) -> dict[str, Any]:
    """What is kept of the run in ``folder``. Raises ``ConfigurationError`` where that was by a version that kept no recipe."""
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


def _cut_record(file: Path, step: int) -> None:
    """Leave out what was recorded after the checkpoint at ``step``, since it is trained again."""
    if file.exists():
        lines = file.read_text("utf-8").splitlines(keepends=True)
        file.write_text("".join(line for line in lines if line.endswith("\n") and json.loads(line)["step"] <= step), "utf-8")
