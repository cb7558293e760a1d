"""A built-in model of a few thousand random weights, which says nonsense by the same rules as a trained one."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from housequest.agent.models.builtin.network import FORMAT, Shape, Vocabulary
from housequest.agent.networks import Floats

SHAPE = Shape(width=32, layers=2, heads=2, hidden=48, context=1536)
WORDS = (
    *(f"{label}:" for label in ("goal", "places", "plan", "thought", "step", "action", "hint", "rule")),
    *["go", "to", "take", "from", "open", "put", "a", "mug", "in", "the", "cabinet", "look", "find", "and", "it"],
    *(f"{kind} {number}" for kind in ("mug", "cabinet") for number in range(1, 6)),
)


def vocabulary() -> Vocabulary:
    return Vocabulary(WORDS)


def weights(shape: Shape, words: int, seed: int = 0) -> dict[str, Floats]:
    """Random weights that half floats hold exactly."""
    random = np.random.default_rng(seed)

    def drawn(*size: int) -> Floats:
        return random.normal(0, 0.3, size).astype(np.float16).astype(np.float32)

    found = {"embedding": drawn(words, shape.width), "norm": 1 + drawn(shape.width)}
    for at in range(shape.layers):
        found |= {
            f"{at}.attention_norm": 1 + drawn(shape.width),
            f"{at}.qkv": drawn(3 * shape.width, shape.width),
            f"{at}.out": drawn(shape.width, shape.width),
            f"{at}.forward_norm": 1 + drawn(shape.width),
            f"{at}.gate_up": drawn(2 * shape.hidden, shape.width),
            f"{at}.down": drawn(shape.width, shape.hidden),
        }
    return {name: value.astype(np.float16).astype(np.float32) for name, value in found.items()}


def write_tiny(folder: Path, seed: int = 0) -> Path:
    """The file of such a model."""
    file = folder / f"tiny-{seed}.weights"
    known = vocabulary()
    FORMAT.write(file, SHAPE, known, weights(SHAPE, len(known), seed))
    return file
