"""Every runtime computes what PyTorch and NumPy compute of the same file, with weights and cache of 32 bits."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from housequest.agent.models.base import Completion, Message, Request
from housequest.agent.models.builtin.network import Cache, Network, NetworkInput, Shape
from housequest.agent.models.llama import LlamaProvider, installed
from housequest.agent.models.llama.model import LlamaModel
from tests.agent.models.tiny import HEADS, HIDDEN, LAYERS, WIDTH, Kind, tensors_of, token_of, write_tiny

VOCABULARY = 354
SHAPE = Shape(width=WIDTH, layers=LAYERS, heads=HEADS, hidden=HIDDEN, context=512)
EXACT = "cache_type=f32&flash=off&threads=1&slots=1"
PROMPT = "an egg is in the fridge"
SPOKEN = f"[user]{PROMPT}\n[assistant]"
"""As the file's template has it."""

Floats = NDArray[np.floating[Any]]


def weights(seed: int) -> dict[str, Floats]:
    """The file's weights by the names of our own runtime, which turns halves of a head, not neighbours."""
    given = {name: np.array(values).reshape(shape) for name, shape, values in tensors_of(VOCABULARY, seed, tied=True)}

    def halves(matrix: Floats) -> Floats:
        return matrix.reshape(HEADS, WIDTH // HEADS // 2, 2, WIDTH).transpose(0, 2, 1, 3).reshape(WIDTH, WIDTH)

    found = {"embedding": given["token_embd.weight"], "norm": given["output_norm.weight"]}
    for at in range(LAYERS):
        of = {name: given[f"blk.{at}.{name}.weight"] for name in ("attn_q", "attn_k", "attn_v", "attn_output", "ffn_down")}
        gate_up = [given[f"blk.{at}.{name}.weight"] for name in ("ffn_gate", "ffn_up")]
        found |= {
            f"{at}.attention_norm": given[f"blk.{at}.attn_norm.weight"],
            f"{at}.qkv": np.concatenate([halves(of["attn_q"]), halves(of["attn_k"]), of["attn_v"]]),
            f"{at}.out": of["attn_output"],
            f"{at}.forward_norm": given[f"blk.{at}.ffn_norm.weight"],
            f"{at}.gate_up": np.concatenate(gate_up),
            f"{at}.down": of["ffn_down"],
        }
    return found


def read_by_numpy(tokens: list[int]) -> Floats:
    return Network(SHAPE, weights(seed=0)).read([NetworkInput(tokens, Cache(SHAPE), every=True)])[0]


def read_by_pytorch(tokens: list[int]) -> Floats:
    torch = pytest.importorskip("torch")
    functional = torch.nn.functional
    by_name = {name: torch.tensor(value, dtype=torch.float32) for name, value in weights(seed=0).items()}
    half = WIDTH // HEADS // 2
    angle = torch.outer(torch.arange(len(tokens)).float(), SHAPE.base ** (-torch.arange(half).float() / half))

    def turned(x: Any) -> Any:
        first, second = x.chunk(2, -1)
        cos, sin = angle.cos(), angle.sin()
        return torch.cat((first * cos - second * sin, second * cos + first * sin), -1)

    def normed(x: Any, name: str) -> Any:
        return functional.rms_norm(x, (WIDTH,), by_name[name], 1e-5)

    x = by_name["embedding"][tokens]
    for at in range(LAYERS):
        qkv = functional.linear(normed(x, f"{at}.attention_norm"), by_name[f"{at}.qkv"])
        q, k, v = qkv.view(len(tokens), 3, HEADS, -1).permute(1, 2, 0, 3)
        mixed = functional.scaled_dot_product_attention(turned(q), turned(k), v, is_causal=True)
        x = x + functional.linear(mixed.transpose(0, 1).reshape(len(tokens), WIDTH), by_name[f"{at}.out"])
        gate, up = functional.linear(normed(x, f"{at}.forward_norm"), by_name[f"{at}.gate_up"]).chunk(2, -1)
        x = x + functional.linear(functional.silu(gate) * up, by_name[f"{at}.down"])
    return functional.linear(normed(x, "norm"), by_name["embedding"]).numpy()


def likely(logits: Floats) -> Floats:
    """log p of every token."""
    return logits - logits.max() - np.log(np.exp(logits - logits.max()).sum())


@pytest.mark.heavy
@pytest.mark.parametrize("read", [read_by_numpy, read_by_pytorch])
@pytest.mark.parametrize("runtime", ["xllamacpp", "llama-cpp-python"])
def test_logits_and_greedy_tokens_agree(tmp_path: Path, runtime: str, read: Callable[[list[int]], Floats]) -> None:
    if runtime not in installed():
        pytest.skip(f"needs {runtime}")
    file = write_tiny(tmp_path / "tied.gguf", Kind(tied=True))
    letters = {character: token_of(character) for character in map(chr, range(33, 127))}

    async def run() -> Completion:
        model = LlamaModel(
            file, LlamaProvider(f"tied.gguf?runtime={runtime}&{EXACT}").options, name="llama:tied.gguf", timeout=30
        )
        try:
            # Letters alone, each of which is one token; what is told of them is what they were before they were favoured.
            favoured: dict[int | str, float] = dict.fromkeys(letters.values(), 30.0)
            return await model.complete(Request([Message("user", PROMPT)], max_tokens=6, top_logprobs=2, bias=favoured))
        finally:
            await model.aclose()

    said = asyncio.run(run())
    tokens = [1, *(letters.get(character, 3 + ord(character) if character == "\n" else 259) for character in SPOKEN)]
    assert said.usage.prompt == len(tokens)
    assert len(said.text) == len(said.tokens) == 6
    for character, told in zip(said.text, said.tokens, strict=True):
        found = likely(read(tokens)[-1])
        best = max(letters.values(), key=lambda token: float(found[token]))
        assert letters[character] == best
        assert abs(told.logprob - found[best]) < 1e-3
        tokens.append(best)
