"""The built-in model's file, its vocabulary, and its forward pass in NumPy, for any number of sequences at once.

The network is a llama (RMSNorm, rotary positions, SwiGLU, tied embeddings) of about a million weights. At this size the
overhead of NumPy counts, so query, key and value are one product, and so are gate and up. Keys and values are cached.

The results for a token have the same bytes whatever other sequences are in the pass. BLAS may add the floats of a larger
product in another order, so no product's shape depends on other sequences: products with weights have `_TILE` tokens, the last
padded with zeros; products with keys and values have the sequence's own length.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from housequest.agent.networks import Floats, WeightsFormat, layer_sizes, normed, silu

BLOCK = 32
"""Tokens that attend together, from a multiple of this number on; caches are shared in whole blocks."""
_TILE = 2
SHIPPED = Path(__file__).with_name("weights") / "builtin.weights"

USER, REPLY, END, SYSTEM, SPELL, UNKNOWN = "<user>", "<reply>", "<end>", "<system>", "<spell>", "<unknown>"
SPECIAL = (USER, REPLY, END, SYSTEM, SPELL, UNKNOWN)
PIECE = "#"
LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789'"
MARKS = '\n.,:;!?-/()"%&'
LONGEST_TEXT = 20_000
_TOKEN = re.compile(r"\n|[a-z]+:|[a-z]+ [0-9]{1,3}(?![0-9a-z])|[a-z]+(?:'[a-z]+)?|[0-9]+|\S", re.ASCII)
_GLUED = frozenset(".,:;!?%)")


@dataclass(frozen=True, slots=True)
class Shape:
    """The sizes of a network; ``hidden`` is the width of the feed-forward part, ``context`` the most tokens of a sequence."""

    width: int = 128
    layers: int = 4
    heads: int = 4
    hidden: int = 352
    context: int = 1536
    base: float = 10_000.0


class Cache:
    """Keys and values of the first ``length`` tokens: (layers, heads, context, head) each.

    Values have one more number, always 1, so that the weighted sum of values also gives the sum of the weights. ``tokens`` are
    the prompt's tokens in whole blocks.
    """

    def __init__(self, shape: Shape) -> None:
        size = (shape.layers, shape.heads, shape.context, shape.width // shape.heads)
        self.keys: Floats = np.zeros(size, np.float32)
        self.values: Floats = np.zeros((*size[:3], size[3] + 1), np.float32)
        self.length = 0
        self.tokens: list[int] = []


class NetworkInput(NamedTuple):
    """Tokens to read after those in ``cache``; ``every``: return the logits after each token, not only the last."""

    tokens: Sequence[int]
    cache: Cache
    every: bool = False


class _Look:
    """A block of tokens that attend together: the ``rows`` of a pass, at positions ``start`` to ``end`` of their sequence.

    They attend to ``keys`` (layers, heads, head, end) and ``values`` (layers, heads, end, head + 1); ``new_keys`` and
    ``new_values`` are views of their own.
    """

    def __init__(self, cache: Cache, row: int, start: int, end: int) -> None:
        self.rows = slice(row, row + end - start)
        self.start, self.end, self.alone = start, end, end - start == 1
        self.keys, self.values = cache.keys[:, :, :end].swapaxes(2, 3), cache.values[:, :, :end]
        self.new_keys, self.new_values = cache.keys[:, :, start:end], cache.values[:, :, start:end, :-1]
        cache.values[:, :, start:end, -1] = 1


class Network:
    """Computes logits from tokens. Its only state are the weights, so it works with any number of caches."""

    def __init__(self, shape: Shape, weights: Mapping[str, Floats]) -> None:
        self.shape = shape
        self._embedding = _plain(weights["embedding"])
        # The norms' weights are folded into the products that follow them.
        self._layers = [
            (
                _plain((weights[f"{at}.qkv"] * weights[f"{at}.attention_norm"]).T),
                _plain(weights[f"{at}.out"].T),
                _plain((weights[f"{at}.gate_up"] * weights[f"{at}.forward_norm"]).T),
                _plain(weights[f"{at}.down"].T),
            )
            for at in range(shape.layers)
        ]
        self._output = _plain((weights["embedding"] * weights["norm"]).T)
        half = shape.width // shape.heads // 2
        rates = shape.base ** (-np.arange(half, dtype=np.float32) / half)
        angle = np.outer(np.arange(shape.context, dtype=np.float32), rates)
        self._cos: Floats = np.cos(angle).astype(np.float32)
        self._sin: Floats = np.sin(angle).astype(np.float32)

    def read(self, readings: Sequence[NetworkInput]) -> list[Floats]:
        """The logits after the last or every token of each reading, (tokens, vocabulary); the caches must be distinct."""
        if not readings:
            return []
        looks, lengths = _looks(readings), [len(reading.tokens) for reading in readings]
        rows = zip(np.cumsum(lengths).tolist(), lengths, readings, strict=True)
        wanted = [row for end, length, each in rows for row in range(end - (length if each.every else 1), end)]
        tokens = [token for reading in readings for token in reading.tokens]
        places = np.concatenate([np.arange(look.start, look.end) for look in looks])
        count, heads, size = len(tokens), self.shape.heads, self.shape.width // self.shape.heads
        scale = np.float32(size**-0.5)
        cos, sin = self._cos[places][:, None], self._sin[places][:, None]
        scores = np.empty((heads, count, max(look.end for look in looks)), np.float32)
        sums = np.empty((heads, count, size + 1), np.float32)
        # Zeros fill the last tile.
        x, mixed = np.zeros((2, count + -count % _TILE, self.shape.width), np.float32)
        x[:count] = self._embedding[tokens]
        for at, (qkv_weights, out, gate_up, down) in enumerate(self._layers):
            qkv = _product(normed(x), qkv_weights)[:count].reshape(count, 3, heads, size)
            queries = _rotated(qkv[:, 0], cos, sin).transpose(1, 0, 2) * scale
            keys, values = _rotated(qkv[:, 1], cos, sin).transpose(1, 0, 2), qkv[:, 2].transpose(1, 0, 2)
            scores.fill(-np.inf)
            for look in looks:
                look.new_keys[at], look.new_values[at] = keys[:, look.rows], values[:, look.rows]
                seen = scores[:, look.rows, : look.end]
                np.matmul(queries[:, look.rows], look.keys[at], out=seen)
                if not look.alone:
                    seen[:, :, look.start :] += _HIDDEN[: look.end - look.start, : look.end - look.start]
            shares = np.exp(scores - scores.max(-1, keepdims=True))
            for look in looks:
                np.matmul(shares[:, look.rows, : look.end], look.values[at], out=sums[:, look.rows])
            mixed[:count] = (sums[..., :-1] / sums[..., -1:]).transpose(1, 0, 2).reshape(count, -1)
            x += _product(mixed, out)
            wide = _product(normed(x), gate_up)
            gate, up = wide[:, : self.shape.hidden], wide[:, self.shape.hidden :]
            x += _product(silu(gate) * up, down)
        for reading in readings:
            reading.cache.length += len(reading.tokens)
        last = np.zeros((len(wanted) + -len(wanted) % _TILE, self.shape.width), np.float32)
        last[: len(wanted)] = x[wanted]
        logits = _product(normed(last), self._output)[: len(wanted)]
        ends = np.cumsum([len(reading.tokens) if reading.every else 1 for reading in readings])
        return np.split(logits, ends[:-1])


_HIDDEN = np.triu(np.full((BLOCK, BLOCK), -np.inf, np.float32), 1)
"""The causal mask of a block."""


def _looks(readings: Sequence[NetworkInput]) -> list[_Look]:
    found: list[_Look] = []
    row = 0
    for reading in readings:
        start, last = reading.cache.length, reading.cache.length + len(reading.tokens)
        while start < last:
            end = min(last, (start // BLOCK + 1) * BLOCK)
            found.append(_Look(reading.cache, row, start, end))
            row, start = row + end - start, end
    return found


def _product(x: Floats, weights: Floats) -> Floats:
    """``x @ weights`` in tiles, so that a row's bytes do not depend on the number of rows."""
    return x @ weights if len(x) == _TILE else (x.reshape(-1, _TILE, x.shape[1]) @ weights).reshape(len(x), -1)


def _plain(values: Floats) -> Floats:
    return np.ascontiguousarray(values, np.float32)


def _rotated(x: Floats, cos: Floats, sin: Floats) -> Floats:
    half = x.shape[-1] // 2
    first, second = x[..., :half], x[..., half:]
    return np.concatenate((first * cos - second * sin, second * cos + first * sin), -1)


class Vocabulary:
    """The tokenizer: words, objects with their numbers, and pieces of words for everything else.

    ``words`` are known words, labels (``goal:``), names with numbers (``mug 2``) and pieces of words (``#ing``), in lower case.
    A name such as ``mug 2`` is one token, because a small model confuses names of two tokens. Text is lowercased, and unknown
    words are spelt with the longest known pieces, which begin with ``#``; all letters are pieces. Decoded text is canonical:
    one space between words, none before a full stop.
    """

    def __init__(self, words: Iterable[str]) -> None:
        letters = (f"{PIECE}{letter}" for letter in LETTERS)
        self.tokens: tuple[str, ...] = tuple(dict.fromkeys((*SPECIAL, *MARKS, *letters, *words)))
        self._ids = {token: id for id, token in enumerate(self.tokens)}
        self._longest = max(len(token) for token in self.tokens if token.startswith(PIECE)) - len(PIECE)
        self.user, self.reply, self.end, self.system, self.spell, self.unknown = (self._ids[name] for name in SPECIAL)

    def __len__(self) -> int:
        return len(self.tokens)

    def id(self, token: str) -> int:
        """The number of a known token."""
        return self._ids[token]

    def encode(self, text: str, spelt: Container[str] = ()) -> list[int]:
        """The tokens of ``text``, cut to ``LONGEST_TEXT`` characters. Words in ``spelt`` are treated as unknown."""
        found: list[int] = []
        for token in _TOKEN.findall(text[:LONGEST_TEXT].lower()):
            (self._spell if token in spelt else self._add)(token, found)
        return found

    def decode(self, ids: Sequence[int]) -> str:
        """The canonical text of tokens, without special ones."""
        parts: list[str] = []
        bare = True  # at the beginning of a line
        for token in (self.tokens[id] for id in ids):
            if token == SPELL:
                parts.append("" if bare else " ")
            elif token in SPECIAL:
                continue
            elif token == "\n" or token.startswith(PIECE):
                parts.append(token.removeprefix(PIECE))
            else:
                word = token.capitalize() if bare and token.endswith(":") else token
                parts.append(word if bare or token in _GLUED else f" {word}")
            bare = token == "\n"
        return "".join(parts)

    def _add(self, piece: str, found: list[int]) -> None:
        known = self._ids.get(piece)
        if known is not None:
            found.append(known)
        elif len(piece) > 1 and piece[-1] == ":":
            self._add(piece[:-1], found)
            found.append(self._ids[":"])
        elif " " in piece:
            for part in piece.split(" "):
                self._add(part, found)
        elif piece.isascii() and piece[0].isalnum():
            self._spell(piece, found)
        else:
            found.append(self.unknown)

    def _spell(self, word: str, found: list[int]) -> None:
        found.append(self.spell)
        rest = word[:40]
        while rest:
            lengths = range(min(len(rest), self._longest), 0, -1)
            length = next(length for length in lengths if f"{PIECE}{rest[:length]}" in self._ids)
            found.append(self._ids[f"{PIECE}{rest[:length]}"])
            rest = rest[length:]


class BuiltinFile(NamedTuple):
    """A network with its vocabulary."""

    network: Network
    vocabulary: Vocabulary


def _sizes(shape: Shape, vocabulary: Vocabulary) -> dict[str, tuple[int, ...]]:
    each = layer_sizes(shape.width, shape.hidden)
    layers = {f"{at}.{name}": size for at in range(shape.layers) for name, size in each.items()}
    return {"embedding": (len(vocabulary), shape.width), "norm": (shape.width,), **layers}


FORMAT = WeightsFormat(
    title="housequest model 1",
    listed="vocabulary",
    shape=Shape,
    most={"width": 4096, "layers": 64, "heads": 64, "hidden": 16384, "context": 8192},
    fits=lambda shape: shape.width % (2 * shape.heads) == 0 and type(shape.base) in {int, float} and 1 < shape.base < 1e9,
    vocabulary=Vocabulary,
    words=lambda vocabulary: vocabulary.tokens,
    sizes=_sizes,
    refusal="is no built-in model",
    way_out="Write `builtin` for the model that ships, or name a file that training exported (docs/explanation/builtin.md).",
)


def read_builtin(file: Path) -> BuiltinFile:
    """Read a model. Raises ``ConfigurationError`` if the file is not one."""
    shape, vocabulary, weights = FORMAT.read(file)
    return BuiltinFile(Network(shape, weights), vocabulary)
