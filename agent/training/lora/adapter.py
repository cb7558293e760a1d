# pyright: basic, reportMissingImports=false
"""Writes a trained adapter as a GGUF file, as llama.cpp takes it: the two matrices of each layer under its own name for that.

llama.cpp keeps the rows of some architectures' queries and keys in another order (its rotation takes neighbours where that of
transformers takes halves), so the second matrix is written in that order. Imports gguf.
"""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

import gguf
import numpy as np
from numpy.typing import NDArray

from housequest.worlds.errors import ConfigurationError

_ARCHITECTURES: Mapping[str, tuple[gguf.MODEL_ARCH, bool]] = {
    "llama": (gguf.MODEL_ARCH.LLAMA, True),
    "mistral": (gguf.MODEL_ARCH.LLAMA, True),
    "smollm3": (gguf.MODEL_ARCH.SMOLLM3, True),
    "granite": (gguf.MODEL_ARCH.GRANITE, True),
    "qwen2": (gguf.MODEL_ARCH.QWEN2, False),
    "qwen3": (gguf.MODEL_ARCH.QWEN3, False),
    "gemma": (gguf.MODEL_ARCH.GEMMA, False),
    "gemma2": (gguf.MODEL_ARCH.GEMMA2, False),
    "gemma3_text": (gguf.MODEL_ARCH.GEMMA3, False),
    "phi3": (gguf.MODEL_ARCH.PHI3, False),
}
"""The architectures by transformers' names, each with llama.cpp's and whether it reorders queries and keys."""

_PREFIX = "base_model.model."


class UnknownArchitecture(ConfigurationError):
    """llama.cpp's names of a model's layers are not known here."""


def check_architecture(config: Any) -> None:
    """Raise ``UnknownArchitecture`` where the layers of a model with this ``config`` are not known in llama.cpp's words."""
    if config.model_type not in _ARCHITECTURES:
        raise UnknownArchitecture(
            f"How llama.cpp names the layers of {config.model_type} is not known here, so there is no adapter.gguf. peft and "
            "vLLM take such a folder; or merge the adapter with peft, and convert the whole model with llama.cpp."
        )


def write_adapter(state: Mapping[str, Any], config: Any, alpha: float, file: Path) -> str:
    """Write the matrices ``state`` of peft for a model of this ``config`` of transformers; the file's SHA-256.

    Raises ``UnknownArchitecture`` where the layers are not known in llama.cpp's words.
    """
    check_architecture(config)
    architecture, reordered = _ARCHITECTURES[config.model_type]
    names = gguf.get_tensor_name_map(architecture, config.num_hidden_layers)
    part = file.with_suffix(".part")
    writer = gguf.GGUFWriter(part, gguf.MODEL_ARCH_NAMES[architecture])
    writer.add_type(gguf.GGUFType.ADAPTER)
    writer.add_string("adapter.type", "lora")
    writer.add_float32("adapter.lora.alpha", alpha)
    heads = {"q_proj": config.num_attention_heads, "k_proj": getattr(config, "num_key_value_heads", 0)}
    for key, value in sorted(state.items()):
        layer, _, rest = key.removeprefix(_PREFIX).rpartition(".lora_")
        name = names.get_name(layer)
        if name is None:
            raise UnknownArchitecture(
                f"llama.cpp has no layer for {layer}, so there is no adapter.gguf; vLLM takes the folder."
            )
        matrix: NDArray[np.float32] = value.detach().float().cpu().numpy()
        which = "a" if rest.startswith("A") else "b"
        count = heads.get(layer.rpartition(".")[2])
        if which == "b" and reordered and count:
            matrix = _reordered(matrix, count)
        writer.add_tensor(f"{name}.weight.lora_{which}", np.ascontiguousarray(matrix))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    part.replace(file)
    return sha256(file.read_bytes()).hexdigest()


def _reordered(matrix: NDArray[np.float32], heads: int) -> NDArray[np.float32]:
    """The rows of each head, its halves taken in turn."""
    rows, columns = matrix.shape
    return matrix.reshape(heads, 2, rows // heads // 2, columns).swapaxes(1, 2).reshape(rows, columns)
