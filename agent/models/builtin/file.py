"""The file of the built-in model: a line of JSON with sizes and vocabulary, then the weights as 16-bit floats.

The weights follow in a fixed order, so the sizes say how long the file must be, and nothing in it is ever code.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from hashlib import sha256
from math import prod
from pathlib import Path
from typing import Any, cast

import numpy as np

from agent.models.builtin.network import Floats, Network, Shape
from agent.models.builtin.vocabulary import Vocabulary
from worlds.errors import ConfigurationError, shown
from worlds.paths import read_file

SHIPPED = Path(__file__).with_name("weights") / "builtin.weights"
FORMAT = "housequest model 1"
LARGEST_FILE = 64 << 20
LONGEST_WORD = 100
MOST = {"width": 4096, "layers": 64, "heads": 64, "hidden": 16384, "context": 8192}


@dataclass(frozen=True, slots=True)
class BuiltinFile:
    """A network with its vocabulary."""

    network: Network
    vocabulary: Vocabulary


def write_builtin(file: Path, shape: Shape, vocabulary: Vocabulary, weights: Mapping[str, Floats]) -> None:
    """Write a model; its weights are rounded to 16 bits."""
    head = {"format": FORMAT, "shape": asdict(shape), "vocabulary": vocabulary.tokens}
    values = [weights[name].astype("<f2").tobytes() for name in _sizes(shape, len(vocabulary))]
    file.write_bytes(b"".join((json.dumps(head).encode(), b"\n", *values)))


def digest(file: Path) -> str:
    """The sha256 of a model's file, which tells it from another. Raises ``ConfigurationError``."""
    return sha256(_content(file)).hexdigest()


def read_builtin(file: Path) -> BuiltinFile:
    """Read a model. Raises ``ConfigurationError`` for a file that is none."""
    content = _content(file)
    head, _, values = content.partition(b"\n")
    try:
        said: dict[str, Any] = json.loads(head)
        if said["format"] != FORMAT:
            raise ValueError
        shape = Shape(**said["shape"])
        words = cast("list[object]", said["vocabulary"])
        vocabulary = Vocabulary([word for word in words if isinstance(word, str)])
    except (KeyError, ValueError, TypeError, RecursionError):
        raise ConfigurationError(_damaged(file, "it does not begin with sizes and a vocabulary")) from None
    sizes = _sizes(shape, len(vocabulary)) if _valid(shape) else {}
    if len(vocabulary) != len(words) or len(values) != 2 * sum(map(prod, sizes.values())) or not values:
        raise ConfigurationError(_damaged(file, "its weights do not fit its sizes"))
    # Replies are shown and recorded.
    if not all(word == "\n" or (len(word) <= LONGEST_WORD and word.isprintable()) for word in vocabulary.tokens):
        raise ConfigurationError(_damaged(file, "its vocabulary holds what cannot be shown"))
    flat = np.frombuffer(values, "<f2").astype(np.float32)
    if not np.isfinite(flat).all():
        raise ConfigurationError(_damaged(file, "some of its weights are no numbers"))
    parts = np.split(flat, np.cumsum([prod(size) for size in sizes.values()])[:-1])
    weights: dict[str, Floats] = {name: part.reshape(sizes[name]) for name, part in zip(sizes, parts, strict=True)}
    return BuiltinFile(Network(shape, weights), vocabulary)


def _content(file: Path) -> bytes:
    try:
        return read_file(file, LARGEST_FILE + 1)
    except (OSError, ValueError) as error:
        raise ConfigurationError(f"{shown(str(file), 400)} cannot be read: {error}.") from None


def _damaged(file: Path, why: str) -> str:
    return f"{shown(str(file), 400)} is no built-in model: {why}. Export one with `python -m agent.training export`."


def _valid(shape: Shape) -> bool:
    # What the file says may be of any type.
    sizes: dict[str, Any] = asdict(shape)
    whole = all(type(sizes[name]) is int and 0 < sizes[name] <= most for name, most in MOST.items())
    return whole and shape.width % (2 * shape.heads) == 0 and type(sizes["base"]) in {int, float} and 1 < shape.base < 1e9


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
