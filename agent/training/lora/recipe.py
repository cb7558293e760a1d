"""How an adapter is trained, and the folder that it is made in, with the record of what it was made of.

::

    conversations.jsonl        what it learns from
    recipe.json                base model, lessons, recipe and versions, with their digests
    record.jsonl               step, loss and seconds
    checkpoint.pt              to go on from
    adapter_model.safetensors  the adapter as peft and vLLM take it, with adapter_config.json
    adapter.gguf               the adapter as llama.cpp takes it
    README.md                  what it is, for people
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from housequest.agent.training import CHECKPOINT
from housequest.worlds.errors import ConfigurationError, shown
from housequest.worlds.paths import atomic_write

CONVERSATIONS, RECIPE, RECORD = "conversations.jsonl", "recipe.json", "record.jsonl"
ADAPTER, CARD = "adapter.gguf", "README.md"


@dataclass(frozen=True, slots=True)
class Recipe:
    """How it is trained: matrices of this ``rank``, scaled by ``alpha / rank``, beside every linear layer.

    ``rate`` is the highest learning rate, reached after the share ``warmup`` of the steps; it falls to 0 from there. A step
    learns from ``batch`` conversations of at most ``context`` tokens.
    """

    rank: int = 8
    alpha: int = 16
    rate: float = 1e-3
    epochs: int = 2
    batch: int = 8
    context: int = 4_096
    warmup: float = 0.05
    seed: int = 1

    def check(self) -> None:
        """Raise ``ConfigurationError`` for what nothing could be trained with."""
        for name in ("rank", "alpha", "epochs", "batch", "context"):
            if getattr(self, name) < 1:
                raise ConfigurationError(f"--{name}: {getattr(self, name)} is too few; give at least 1.")
        if not 0 < self.rate < 1:
            raise ConfigurationError(f"--rate: {self.rate} is out of range; give 0.0001 to 0.01.")


@dataclass(frozen=True, slots=True)
class AdapterFolder:
    """The folder of an adapter."""

    path: Path

    def recipe(self) -> dict[str, Any]:
        """What was recorded; empty where nothing was."""
        file = self.path / RECIPE
        return json.loads(file.read_text("utf-8")) if file.exists() else {}

    def begun(self, wanted: Mapping[str, Any]) -> dict[str, Any]:
        """What was recorded of the ``wanted`` training; empty where none was begun here, or another that learned nothing yet.

        Raises ``ConfigurationError`` where another training has a checkpoint here.
        """
        before = self.recipe()
        known, asked = _flat(before), _flat(json.loads(json.dumps(wanted)))
        others = [name for name, value in asked.items() if known.get(name) != value]
        if others:
            self.refuse_to_go_on(others)
        return {} if others else before

    def refuse_to_go_on(self, others: Sequence[str]) -> None:
        """Raise ``ConfigurationError`` where a training whose ``others`` were different has a checkpoint here."""
        if (self.path / CHECKPOINT).exists():
            raise ConfigurationError(
                f"{shown(str(self.path), 200)} was begun with another {', '.join(others)}; give the same again to go on, "
                "or another --out."
            )

    def record(self, parts: Mapping[str, Any]) -> None:
        """Record ``parts``, and nothing that was recorded before."""
        atomic_write(self.path / RECIPE, json.dumps(dict(parts), indent=1).encode())


def _flat(parts: Mapping[str, Any]) -> dict[str, Any]:
    """The values of ``parts``, those of a table under its name and theirs."""
    return {
        f"{name}.{key}" if key else name: value
        for name, part in parts.items()
        for key, value in (cast("dict[str, Any]", part) if isinstance(part, dict) else {"": part}).items()
    }
