"""What every training says of itself: its recipe, and the record of its steps. Nothing here needs PyTorch."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from housequest.worlds.errors import ConfigurationError

CHECKPOINT = "checkpoint.pt"
RECORD = "training.jsonl"


@dataclass(frozen=True, slots=True)
class Schedule:
    """What every recipe of a network says that is trained from scratch.

    ``shares``: how much of each part a batch holds on average; ``warmup``: for how many of the ``steps`` the ``rate`` rises;
    ``begin``: a checkpoint to start from, with fresh optimisers; ``device``: PyTorch's.

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
        return self.rate * risen(step, self.steps, self.warmup)


def risen(step: int, steps: int, warmup: int) -> float:
    """The share of the highest rate after ``step``: it rises for ``warmup`` steps, and falls to zero at the last."""
    return min((step + 1) / warmup, (steps - step) / max(1, steps - warmup))


class Record:
    """A file with a line of JSON for each step that is told of.

    Lines of steps after ``step`` are left out, since these are trained again, and so is one that was cut off.
    """

    def __init__(self, file: Path, step: int) -> None:
        told = file.read_text("utf-8").splitlines(keepends=True) if file.exists() else []
        kept = [line for line in told if line.endswith("\n") and json.loads(line)["step"] <= step]
        file.write_text("".join(kept), "utf-8")
        self._file = file

    def add(self, line: Mapping[str, Any]) -> None:
        """Write a line."""
        with self._file.open("a", encoding="utf-8") as lines:
            lines.write(json.dumps(line) + "\n")
