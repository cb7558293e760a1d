"""The Action Attention network (Wu et al., 2023, section 3.4) in NumPy: scores for any number of permissible commands.

One transformer reads the task, the average of the history, the present observation and the commands, each as one vector. A
command attends to the first three and to itself, and nothing but the query's own vector attends to a command. So one pass
gives all keys; in the paper's (equation 4), a pass for each command, the other three may attend to that command too. The query
attends to everything (equation 3). A score is the product of the query and a key (equation 5).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod

import numpy as np
from numpy.typing import NDArray

from housequest.agent.networks.layers import Floats, layer_sizes, normed, shares, silu

ROLES = 5
"""Task, history, observation, query, command: what a vector stands for."""
CONTEXT = 3


@dataclass(frozen=True, slots=True)
class Shape:
    """The sizes of a network: ``embedded`` is the length of a text's vector, ``hidden`` that of the feed-forward parts."""

    embedded: int = 256
    width: int = 128
    layers: int = 2
    heads: int = 4
    hidden: int = 256

    def weights(self) -> dict[str, tuple[int, ...]]:
        """The weights by name, with their sizes, in the order of the file."""
        width, each = self.width, layer_sizes(self.width, self.hidden)
        layers = {f"layers.{at}.{name}": size for at in range(self.layers) for name, size in each.items()}
        inputs = {"enter": (width, self.embedded), "roles": (ROLES, width)}
        return {**inputs, **layers, "norm": (width,), "query": (width, width), "key": (width, width)}

    @property
    def size(self) -> int:
        """The number of weights."""
        return sum(map(prod, self.weights().values()))


class Network:
    """Vectors of texts to scores of commands; holds nothing but its weights."""

    def __init__(self, shape: Shape, weights: Mapping[str, Floats]) -> None:
        self.shape = shape
        self._weights = weights

    def scores(self, task: Floats, history: Floats, observation: Floats, commands: Floats) -> Floats:
        """The scores of ``commands``, (commands, embedded), by the other vectors, (embedded,) each."""
        w, shape = self._weights, self.shape
        entered = normed(np.vstack((task, history, observation))) @ w["enter"].T
        roles = w["roles"]
        x = np.vstack((entered + roles[:CONTEXT], roles[CONTEXT], normed(commands) @ w["enter"].T + roles[CONTEXT + 1]))
        allowed = attention_mask(len(x))
        hidden = np.where(allowed, np.float32(0), np.float32(-np.inf))
        for at in range(shape.layers):
            name = f"layers.{at}."
            x = x + self._mixed(normed(x) * w[name + "attention_norm"], name, hidden)
            wide = (normed(x) * w[name + "forward_norm"]) @ w[name + "gate_up"].T
            gate, up = wide[:, : shape.hidden], wide[:, shape.hidden :]
            x = x + (silu(gate) * up) @ w[name + "down"].T
        x = normed(x) * w["norm"]
        return (x[CONTEXT + 1 :] @ w["key"].T) @ (w["query"] @ x[CONTEXT]) * np.float32(shape.width**-0.5)

    def _mixed(self, x: Floats, name: str, hidden: Floats) -> Floats:
        heads, count = self.shape.heads, len(x)
        qkv = (x @ self._weights[name + "qkv"].T).reshape(count, 3, heads, -1).transpose(1, 2, 0, 3)
        raised = qkv[0] @ qkv[1].transpose(0, 2, 1) * np.float32(qkv.shape[-1] ** -0.5) + hidden
        mixed = shares(raised) @ qkv[2]
        return mixed.transpose(1, 0, 2).reshape(count, -1) @ self._weights[name + "out"].T


def attention_mask(count: int) -> NDArray[np.bool_]:
    """Which of ``count`` vectors attends to which: all to the context, each to itself, and the query to everything."""
    places = np.arange(count)
    return (places[None, :] < CONTEXT) | (places[None, :] == places[:, None]) | (places[:, None] == CONTEXT)
