# pyright: basic, reportMissingImports=false
"""The network while it is trained: a small transformer of the llama architecture, in PyTorch.

Root mean square norms before each part (Zhang and Sennrich, 2019), rotary positions (Su et al., 2021), gated feed-forward
layers (Shazeer, 2020), output weights tied to the embeddings (Press and Wolf, 2017). The embedding of a name with a number is
the sum of its word's and its number's, so that ``mug 7`` is known when ``mug 2`` is. The resulting table is exported.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional

from housequest.agent.models.builtin.network import Shape


class Layer(nn.Module):
    """Attention, then a gated feed-forward part."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        width = shape.width
        self.heads = shape.heads
        self.attention_norm = nn.Parameter(torch.ones(width))
        self.forward_norm = nn.Parameter(torch.ones(width))
        self.qkv = nn.Linear(width, 3 * width, bias=False)
        self.out = nn.Linear(width, width, bias=False)
        self.gate_up = nn.Linear(width, 2 * shape.hidden, bias=False)
        self.down = nn.Linear(shape.hidden, width, bias=False)

    def forward(self, x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        batch, length, width = x.shape
        qkv = self.qkv(_normed(x, self.attention_norm)).view(batch, length, 3, self.heads, -1)
        q, k, v = (part.transpose(1, 2) for part in qkv.unbind(2))
        mixed = functional.scaled_dot_product_attention(_rotated(q, cos, sin), _rotated(k, cos, sin), v, is_causal=True)
        x = x + self.out(mixed.transpose(1, 2).reshape(batch, length, width))
        gate, up = self.gate_up(_normed(x, self.forward_norm)).chunk(2, -1)
        return x + self.down(functional.silu(gate) * up)


class TorchNetwork(nn.Module):
    """Tokens to logits. Each token has the token of its word in ``base`` and its ``number``, 0 for none."""

    base: Tensor
    numbers: Tensor
    numbered: Tensor
    cos: Tensor
    sin: Tensor

    def __init__(self, shape: Shape, base: Sequence[int], number: Sequence[int]) -> None:
        super().__init__()
        self.shape = shape
        self.word = nn.Embedding(len(base), shape.width)
        self.number = nn.Embedding(max(number) + 1, shape.width)
        self.register_buffer("base", torch.tensor(base), persistent=False)
        self.register_buffer("numbers", torch.tensor(number), persistent=False)
        self.register_buffer("numbered", (torch.tensor(number) > 0).float()[:, None], persistent=False)
        self.layers = nn.ModuleList(Layer(shape) for _ in range(shape.layers))
        self.norm = nn.Parameter(torch.ones(shape.width))
        half = shape.width // shape.heads // 2
        angle = torch.outer(torch.arange(shape.context).float(), shape.base ** (-torch.arange(half).float() / half))
        self.register_buffer("cos", angle.cos(), persistent=False)
        self.register_buffer("sin", angle.sin(), persistent=False)
        for name, parameter in self.named_parameters():
            if parameter.dim() == 2:
                scale = 0.02 if "out" not in name and "down" not in name else 0.02 / (2 * shape.layers) ** 0.5
                nn.init.normal_(parameter, std=scale)

    def table(self) -> Tensor:
        """The embedding of every token, (tokens, width)."""
        return self.word(self.base) + self.numbered * self.number(self.numbers)

    def forward(self, tokens: Tensor, wanted: Tensor | None = None) -> Tensor:
        """Logits, (batch, length, tokens); with ``wanted``, a mask of (batch, length), only those it selects."""
        table = self.table()
        x = functional.embedding(tokens, table)
        length = tokens.shape[1]
        for layer in self.layers:
            x = layer(x, self.cos[:length], self.sin[:length])
        x = _normed(x, self.norm)
        return (x if wanted is None else x[wanted]) @ table.T

    def weights(self) -> dict[str, Tensor]:
        """The weights by the names of the runtime."""
        found = {"embedding": self.table(), "norm": self.norm}
        found |= {name.removesuffix(".weight"): value for name, value in self.layers.named_parameters()}
        return {name: value.detach() for name, value in found.items()}


def _normed(x: Tensor, weight: Tensor) -> Tensor:
    return functional.rms_norm(x, (x.shape[-1],), weight, 1e-5)


def _rotated(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    first, second = x.chunk(2, -1)
    return torch.cat((first * cos - second * sin, second * cos + first * sin), -1)
