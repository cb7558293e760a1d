# pyright: basic, reportMissingImports=false
"""The model that is adapted: a Hugging Face causal model in a folder, or a GGUF file that transformers can dequantise."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from housequest.agent.models.gguf import fingerprint, read_header
from housequest.worlds.errors import ConfigurationError, shown

_READ = ("config.json", "tokenizer.json", "tokenizer_config.json", "*.safetensors", "*.bin")


@dataclass(frozen=True, slots=True)
class BaseModel:
    """A file or folder, and what tells it from another."""

    path: Path
    digest: str

    @property
    def is_gguf(self) -> bool:
        """Whether it is one file for llama.cpp."""
        return self.path.is_file()

    def tokenizer(self) -> Any:
        """Its tokenizer. Raises ``ConfigurationError``."""
        from transformers import AutoTokenizer

        return self._loaded(AutoTokenizer)

    def network(self, dtype: Any) -> Any:
        """Its network with weights of ``dtype``, those of a GGUF dequantised. Raises ``ConfigurationError``."""
        from transformers import AutoModelForCausalLM, GgufConfig

        # Unless asked, transformers keeps the weights of some architectures packed, and warns of that with all others.
        packed = {"quantization_config": GgufConfig(dequantize=True)} if self.is_gguf else {}
        return self._loaded(AutoModelForCausalLM, dtype=dtype, **packed)

    def _loaded(self, loader: Any, **options: Any) -> Any:
        from transformers.utils import logging

        logging.disable_progress_bar()
        where: dict[str, Any] = {"gguf_file": self.path.name} if self.is_gguf else {}
        folder = self.path.parent if self.is_gguf else self.path
        try:
            return loader.from_pretrained(folder, local_files_only=True, **where, **options)
        except Exception as error:  # noqa: BLE001 - damaged files raise whatever the readers below transformers do
            said = " ".join(str(error).split()) or type(error).__name__
            raise ConfigurationError(
                f"{shown(str(self.path), 200)} cannot be loaded by transformers: {shown(said, 300).rstrip('.')}. Give a GGUF "
                "file of an architecture that it dequantises, or the whole folder of the original model."
            ) from None


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
