"""The file of the built-in model: weights as half floats, vocabulary and sizes, in one ``.npz``.

Nothing in it is code: arrays of numbers, and two JSON texts as bytes. It is checked before a network is made of it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, cast
from zipfile import BadZipFile

import numpy as np

from agent.models.network import Floats, Network, Shape
from agent.models.vocabulary import Vocabulary
from worlds.errors import ConfigurationError, shown

LARGEST_FILE = 64 << 20
MOST = {"width": 4096, "layers": 64, "heads": 64, "hidden": 16384, "context": 8192}


@dataclass(frozen=True, slots=True)
class BuiltinFile:
    """A network with its vocabulary."""

    network: Network
    vocabulary: Vocabulary


def write_builtin(file: Path, shape: Shape, vocabulary: Vocabulary, weights: Mapping[str, Floats]) -> None:
    """Write a model; its weights are rounded to 16 bits."""
    arrays: dict[str, Any] = {name: values.astype(np.float16) for name, values in weights.items()}
    arrays["shape"] = _bytes(asdict(shape))
    arrays["vocabulary"] = _bytes(vocabulary.tokens)
    with file.open("wb") as opened:
        np.savez_compressed(opened, allow_pickle=False, **arrays)


def read_builtin(file: Path) -> BuiltinFile:
    """Read a model. Raises ``ConfigurationError`` for a file that is none."""
    try:
        if file.stat().st_size > LARGEST_FILE:
            raise ConfigurationError(
                f"{shown(str(file), 400)} is larger than {LARGEST_FILE >> 20} MiB; that is no built-in model."
            )
        with np.load(file, allow_pickle=False) as content:
            arrays = {name: content[name] for name in content.files}
    except OSError as error:
        raise ConfigurationError(f"{shown(str(file), 400)} cannot be read: {error.strerror or error}.") from None
    except (ValueError, EOFError, BadZipFile, NotImplementedError):
        raise ConfigurationError(_no_model(file, "it is no .npz file")) from None
    try:
        sizes: dict[str, Any] = _json(arrays.pop("shape"))
        shape = Shape(**sizes)
        words = cast("list[str]", _json(arrays.pop("vocabulary")))
        vocabulary = Vocabulary(words)
    except (KeyError, ValueError, TypeError, AttributeError, RecursionError):
        raise ConfigurationError(_no_model(file, "its sizes or its vocabulary are missing")) from None
    wanted = _sizes(shape, len(vocabulary)) if _sensible(shape) else {}
    if {name: array.shape for name, array in arrays.items()} != wanted or any(a.dtype != np.float16 for a in arrays.values()):
        raise ConfigurationError(_no_model(file, "its weights do not fit its sizes"))
    return BuiltinFile(Network(shape, {name: array.astype(np.float32) for name, array in arrays.items()}), vocabulary)


def _no_model(file: Path, why: str) -> str:
    return f"{shown(str(file), 400)} is no built-in model: {why}. Export one with `python -m agent.training export`."


def _bytes(value: Any) -> Any:
    return np.frombuffer(json.dumps(value).encode(), np.uint8)


def _json(array: Any) -> Any:
    return json.loads(array.tobytes())


def _sensible(shape: Shape) -> bool:
    whole = all(type(getattr(shape, name)) is int and 0 < getattr(shape, name) <= most for name, most in MOST.items())
    return whole and shape.width % (2 * shape.heads) == 0 and isinstance(shape.base, int | float) and shape.base > 1


def _sizes(shape: Shape, words: int) -> dict[str, tuple[int, ...]]:
    width, hidden = shape.width, shape.hidden
    each = {
        "attention_norm": (width,),
        "qkv": (3 * width, width),
        "out": (width, width),
        "forward_norm": (width,),
        "gate_up": (2 * hidden, width),
        "down": (width, hidden),
    }
    layers = {f"{at}.{name}": size for at in range(shape.layers) for name, size in each.items()}
    return {"embedding": (words, width), "norm": (width,), **layers}
