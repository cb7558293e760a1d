"""Layers in NumPy in single precision, and the file format of weights, for all shipped networks.

A file is a line of JSON with sizes and vocabulary, then the weights as 16-bit floats in a fixed order, so the sizes determine
the length of the file, and nothing in it is ever executed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from hashlib import sha256
from math import prod
from pathlib import Path
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from housequest.worlds.errors import ConfigurationError, shown
from housequest.worlds.paths import atomic_write, read_bounded

Floats = NDArray[np.floating[Any]]
"""Real numbers; all computation is in single precision."""

_SMALL = np.float32(1e-5)


def normed(x: Floats) -> Floats:
    """``x`` divided by its root mean square."""
    return x / np.sqrt(np.mean(x * x, -1, keepdims=True, dtype=np.float32) + _SMALL)


def shares(scores: Floats) -> Floats:
    """The softmax of ``scores`` over the last axis."""
    raised = np.exp(scores - scores.max(-1, keepdims=True))
    return raised / raised.sum(-1, keepdims=True)


def silu(x: Floats) -> Floats:
    """``x`` times its logistic function."""
    return x / (1 + np.exp(-x))


def layer_sizes(width: int, hidden: int) -> dict[str, tuple[int, ...]]:
    """The sizes of a layer's weights by name, in file order."""
    return {
        "attention_norm": (width,),
        "qkv": (3 * width, width),
        "out": (width, width),
        "forward_norm": (width,),
        "gate_up": (2 * hidden, width),
        "down": (width, hidden),
    }


def use_one_thread() -> None:
    """Let BLAS use one thread in this process from now on: for such small matrices more threads are slower."""
    threadpool_limits(1, "blas")


S = TypeVar("S")
"""The sizes of a network, a dataclass."""
V = TypeVar("V")
"""Its vocabulary."""

LARGEST_FILE = 64 << 20
LONGEST_WORD = 100


@dataclass(frozen=True, slots=True)
class WeightsFormat(Generic[S, V]):
    """The file format of one kind of network.

    ``title`` is the name of the format in the first line, and ``listed`` the key of the words. ``most`` bounds the integers of
    a shape; ``fits`` checks that they are consistent. ``vocabulary`` makes a vocabulary from words, and ``words`` is the
    inverse. ``sizes`` are those of the weights by name, in file order. ``refusal`` and ``way_out`` are the error for other
    files.
    """

    title: str
    listed: str
    shape: type[S]
    most: Mapping[str, int]
    fits: Callable[[S], bool]
    vocabulary: Callable[[Sequence[str]], V]
    words: Callable[[V], tuple[str, ...]]
    sizes: Callable[[S, V], Mapping[str, tuple[int, ...]]]
    refusal: str
    way_out: str

    def write(self, file: Path, shape: S, vocabulary: V, weights: Mapping[str, Floats]) -> None:
        """Write a network with weights rounded to 16 bits; replaces an existing file atomically."""
        sizes: Any = shape
        head = {"format": self.title, "shape": asdict(sizes), self.listed: self.words(vocabulary)}
        values = (weights[name].astype("<f2").tobytes() for name in self.sizes(shape, vocabulary))
        atomic_write(file, b"".join((json.dumps(head).encode(), b"\n", *values)))

    def read(self, file: Path) -> tuple[S, V, dict[str, Floats]]:
        """Read a network. Raises ``ConfigurationError`` if the file is not of this kind."""
        head, _, values = content(file).partition(b"\n")
        try:
            said: dict[str, Any] = json.loads(head)
            if said["format"] != self.title:
                raise ValueError
            shape = self.shape(**said["shape"])
            words = tuple(word for word in said[self.listed] if isinstance(word, str))
            vocabulary = self.vocabulary(words)
        except (KeyError, ValueError, TypeError, RecursionError):
            raise self._refused(file, "it does not begin with sizes and a vocabulary") from None
        # The values in the file may be of any type.
        sound = all(type(size := getattr(shape, name)) is int and 0 < size <= most for name, most in self.most.items())
        sizes = self.sizes(shape, vocabulary) if sound and self.fits(shape) else dict[str, tuple[int, ...]]()
        whole = self.words(vocabulary) == words and len(words) == len(said[self.listed])
        if not whole or len(values) != 2 * sum(map(prod, sizes.values())) or not values:
            raise self._refused(file, "its weights do not fit its sizes")
        # Words are shown and recorded.
        if not all(word == "\n" or (len(word) <= LONGEST_WORD and word.isprintable()) for word in words):
            raise self._refused(file, "its vocabulary holds what cannot be shown")
        flat = np.frombuffer(values, "<f2").astype(np.float32)
        if not np.isfinite(flat).all():
            raise self._refused(file, "some of its weights are not numbers")
        parts = np.split(flat, np.cumsum([prod(size) for size in sizes.values()])[:-1])
        return shape, vocabulary, {name: part.reshape(sizes[name]) for name, part in zip(sizes, parts, strict=True)}

    def _refused(self, file: Path, why: str) -> ConfigurationError:
        return ConfigurationError(f"{shown(str(file), 400)} {self.refusal}: {why}. {self.way_out}")


def title(file: Path) -> object:
    """The name of a file's format; None if it has none. Raises ``ConfigurationError``."""
    try:
        said: Any = json.loads(content(file).partition(b"\n")[0])
        return said["format"]
    except (KeyError, ValueError, TypeError, RecursionError):
        return None


def content(file: Path) -> bytes:
    """All bytes of a network's file. Raises ``ConfigurationError``."""
    return read_bounded(file, LARGEST_FILE)


def digest(file: Path) -> str:
    """The SHA-256 of a network's file. Raises ``ConfigurationError``."""
    return sha256(content(file)).hexdigest()
