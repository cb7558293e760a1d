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
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from typing import Any, cast

from housequest.agent.models.gguf import fingerprint, read_header
from housequest.agent.training import CHECKPOINT
from housequest.worlds.errors import ConfigurationError, shown
from housequest.worlds.paths import atomic_write

_READ = ("config.json", "tokenizer.json", "tokenizer_config.json", "*.safetensors", "*.bin")


@dataclass(frozen=True, slots=True)
class BaseModel:
    """A file or folder, and what tells it from another."""

    path: Path
    digest: str

    @property
    def is_gguf(self) -> bool:
        return self.path.is_file()

    def tokenizer(self) -> Any:
        return self._loaded("AutoTokenizer")

    def network(self, dtype: Any) -> Any:
        """Its network with weights of ``dtype``, those of a GGUF dequantised. Raises ``ConfigurationError``."""
        # Unless asked, transformers keeps the weights of some architectures packed, and warns of that with all others.
        packed = {"quantization_config": _transformers().GgufConfig(dequantize=True)} if self.is_gguf else {}
        return self._loaded("AutoModelForCausalLM", dtype=dtype, **packed)

    def _loaded(self, loader: str, **options: Any) -> Any:
        _transformers().utils.logging.disable_progress_bar()
        where: dict[str, Any] = {"gguf_file": self.path.name} if self.is_gguf else {}
        folder = self.path.parent if self.is_gguf else self.path
        try:
            return getattr(_transformers(), loader).from_pretrained(folder, local_files_only=True, **where, **options)
        except Exception as error:  # noqa: BLE001 - damaged files raise whatever the readers below transformers do
            said = " ".join(str(error).split()) or type(error).__name__
            raise ConfigurationError(
                f"{shown(str(self.path), 200)} cannot be loaded by transformers: {shown(said, 300).rstrip('.')}. Give a GGUF "
                "file of an architecture that it dequantises, or the whole folder of the original model."
            ) from None


def _transformers() -> Any:
    return import_module("transformers")


def base_model(path: Path) -> BaseModel:
    """The model at ``path``, looked at but not loaded. Raises ``ConfigurationError`` where there is none."""
    if path.is_dir():
        files = sorted({file for pattern in _READ for file in path.glob(pattern)})
        if not (path / "config.json").is_file():
            raise ConfigurationError(f"{shown(str(path), 200)} holds no config.json, so it is no model's folder.")
        parts = [f"{file.name} {fingerprint(file)}\n" for file in files]
        return BaseModel(path, sha256("".join(parts).encode()).hexdigest())
    read_header(path)
    return BaseModel(path, fingerprint(path))


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
