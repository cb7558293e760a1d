# pyright: basic, reportMissingImports=false
"""Action Attention's network and embeddings while they are trained, in PyTorch.

Names and sizes of weights are the runtime's.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from housequest.agent.agents.action_attention.embedding import NUMBERS, embedding_sizes
from housequest.agent.agents.action_attention.network import CONTEXT, Shape


class TorchEmbedding(nn.Module):
    """Texts to vectors, as `housequest.agent.agents.action_attention.embedding`."""

    words: nn.Parameter
    left: nn.Parameter
    signs: nn.Parameter
    numbers: nn.Parameter
    wide: nn.Parameter
    narrow: nn.Parameter
    real: Tensor

    def __init__(self, words: int, size: int) -> None:
        super().__init__()
        for name, sizes in embedding_sizes(words, size).items():
            self.register_parameter(name, nn.Parameter(torch.empty(sizes)))
        nn.init.normal_(self.words, std=1.0)
        nn.init.normal_(self.left, std=0.1)
        nn.init.normal_(self.signs, std=0.7)
        nn.init.normal_(self.numbers, std=0.3)
        for name in ("wide", "narrow"):
            nn.init.normal_(getattr(self, name), std=getattr(self, name).shape[1] ** -0.5)
        with torch.no_grad():
            self.narrow.mul_(0.3)
        # A word without a number has none of either.
        self.register_buffer("real", (torch.arange(NUMBERS) > 0).float()[:, None], persistent=False)

    def forward(self, tokens: Tensor, text: Tensor, count: int) -> Tensor:
        """The vectors of ``count`` texts: ``tokens`` (tokens, 3) of all, and to which ``text`` each belongs."""
        word, number, before = tokens.unbind(1)
        each = self.words[word] * (1 + (self.signs * self.real)[number]) + (self.numbers * self.real)[number]
        each = each * (1 + self.left[before])
        bag = each.new_zeros(count, each.shape[1]).index_add_(0, text, each)
        x = _normed(bag)
        return x + functional.silu(x @ self.wide.T) @ self.narrow.T

    def weights(self) -> dict[str, Tensor]:
        """The weights by the names of the runtime."""
        found = {name: value.detach() for name, value in self.named_parameters()}
        return found | {name: found[name] * self.real for name in ("signs", "numbers")}


class TorchFrozen(nn.Module):
    """Vectors of an embedding model less their mean, as `housequest.agent.agents.action_attention.embedding`. Nothing of it is
    learned."""

    middle: Tensor

    def __init__(self, middle: Tensor) -> None:
        super().__init__()
        self.register_buffer("middle", middle)

    def forward(self, vectors: Tensor) -> Tensor:
        """The vectors of texts, (texts, size)."""
        return vectors - self.middle

    def weights(self) -> dict[str, Tensor]:
        """The weights by the names of the runtime."""
        return {"middle": self.middle}


class TorchNetwork(nn.Module):
    """Scores of commands, for many steps at once."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.shape = shape
        self.inner = nn.ParameterDict()
        for name, sizes in shape.weights().items():
            value = torch.ones(sizes) if len(sizes) == 1 else torch.randn(sizes) * sizes[1] ** -0.5
            if name.endswith((".out", ".down")):
                value = value / (2 * shape.layers) ** 0.5
            self.inner[name.replace(".", "/")] = nn.Parameter(value)

    def weights(self) -> dict[str, Tensor]:
        """The weights by the names of the runtime."""
        return {name.replace("/", "."): value.detach() for name, value in self.inner.items()}

    def forward(self, context: Tensor, commands: Tensor, given: Tensor) -> Tensor:
        """Scores, (steps, commands), -inf where there is none.

        ``context`` (steps, 3, embedded) is task, history and observation; ``commands`` (steps, commands, embedded), of which
        those ``given`` (steps, commands) are real.
        """
        shape = self.shape
        w = {name.replace("/", "."): value for name, value in self.inner.items()}
        steps = len(given)
        roles = w["roles"]
        x = torch.cat(
            (
                _normed(context) @ w["enter"].T + roles[:CONTEXT],
                roles[CONTEXT].expand(steps, 1, -1),
                _normed(commands) @ w["enter"].T + roles[CONTEXT + 1],
            ),
            1,
        )
        for at in range(shape.layers):
            name = f"layers.{at}."
            qkv = _normed(x) * w[name + "attention_norm"] @ w[name + "qkv"].T
            x = x + self._mixed(qkv, given) @ w[name + "out"].T
            gate, up = (_normed(x) * w[name + "forward_norm"] @ w[name + "gate_up"].T).chunk(2, -1)
            x = x + functional.silu(gate) * up @ w[name + "down"].T
        x = _normed(x) * w["norm"]
        query = x[:, CONTEXT] @ w["query"].T
        scores = torch.einsum("sad,sd->sa", x[:, CONTEXT + 1 :] @ w["key"].T, query) * shape.width**-0.5
        return scores.masked_fill(~given, -torch.inf)

    def _mixed(self, qkv: Tensor, given: Tensor) -> Tensor:
        steps, length, _ = qkv.shape
        q, k, v = qkv.view(steps, length, 3, self.shape.heads, -1).permute(2, 0, 3, 1, 4)
        size = q.shape[-1]
        # The context, and the commands, which attend to the context and themselves.
        n = CONTEXT
        to_context = q @ k[:, :, :n].transpose(2, 3) * size**-0.5
        itself = (q * k).sum(-1, keepdim=True) * size**-0.5
        among = functional.softmax(to_context[:, :, :n], -1) @ v[:, :, :n]
        shares = functional.softmax(torch.cat((to_context[:, :, n + 1 :], itself[:, :, n + 1 :]), -1), -1)
        alone = shares[..., :n] @ v[:, :, :n] + shares[..., n:] * v[:, :, n + 1 :]
        # The query attends to everything.
        real = functional.pad(given, (n + 1, 0), value=True)[:, None, None]
        over = (q[:, :, n : n + 1] @ k.transpose(2, 3) * size**-0.5).masked_fill(~real, -torch.inf)
        asked = functional.softmax(over, -1) @ v
        return torch.cat((among, asked, alone), 2).transpose(1, 2).reshape(steps, length, -1)


def _normed(x: Tensor) -> Tensor:
    return functional.rms_norm(x, (x.shape[-1],), None, 1e-5)
