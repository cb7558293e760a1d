"""A tiny random model as a GGUF file, written byte by byte: two layers of the llama architecture, one token a byte."""

from __future__ import annotations

import random
import struct
from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

WIDTH, LAYERS, HEADS, HIDDEN = 32, 2, 2, 64
CONTEXT = 16_384
TEMPLATE = (
    "{% for m in messages %}[{{ m.role }}]{{ m.content }}\n{% endfor %}{% if add_generation_prompt %}[assistant]{% endif %}"
)

_UINT, _INT, _FLOAT, _BOOL, _STRING, _ARRAY = 4, 5, 6, 7, 8, 9
_ALIGNMENT = 32


@dataclass(frozen=True)
class Kind:
    """What is odd about a file: which parts it lacks; ``tied``: it has no output matrix beside its embeddings; ``begins``: a
    prompt has a token before its text; ``spaced``: a text has a space before it."""

    template: bool = True
    weights: bool = True
    vocabulary: bool = True
    tied: bool = False
    begins: bool = True
    spaced: bool = False


def write_tiny(path: Path, kind: Kind | None = None, *, seed: int = 0) -> Path:
    """Write the model with weights drawn by ``seed``."""
    kind = kind or Kind()
    tokens = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256)), "▁", *map(chr, range(33, 127))]
    types = [2, 3, 3] + [6] * 256 + [1] * 95
    entries = [
        _string("general.architecture", "llama"),
        _string("general.name", "tiny"),
        *(
            _uint(f"llama.{key}", value)
            for key, value in {
                "context_length": CONTEXT,
                "embedding_length": WIDTH,
                "block_count": LAYERS,
                "feed_forward_length": HIDDEN,
                "attention.head_count": HEADS,
                "attention.head_count_kv": HEADS,
                "rope.dimension_count": WIDTH // HEADS,
                "vocab_size": len(tokens),
            }.items()
        ),
        _key("llama.attention.layer_norm_rms_epsilon") + struct.pack("<If", _FLOAT, 1e-5),
    ]
    if kind.vocabulary:
        scores = [0.0] * 259 + [-1000.0 - number for number in range(95)]
        entries += [
            _string("tokenizer.ggml.model", "llama"),
            _array("tokenizer.ggml.tokens", _STRING, [_text(token) for token in tokens]),
            _array("tokenizer.ggml.scores", _FLOAT, [struct.pack("<f", score) for score in scores]),
            _array("tokenizer.ggml.token_type", _INT, [struct.pack("<i", each) for each in types]),
            _uint("tokenizer.ggml.bos_token_id", 1),
            _uint("tokenizer.ggml.eos_token_id", 2),
            _key("tokenizer.ggml.add_space_prefix") + struct.pack("<I?", _BOOL, kind.spaced),
            _key("tokenizer.ggml.add_bos_token") + struct.pack("<I?", _BOOL, kind.begins),
        ]
    if kind.template:
        entries.append(_string("tokenizer.chat_template", TEMPLATE))
    tensors = tensors_of(len(tokens), seed, tied=kind.tied) if kind.weights else ()
    head = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(entries)) + b"".join(entries)
    offset = 0
    for name, shape, values in tensors:
        # The innermost dimension comes first.
        head += _text(name) + struct.pack(f"<I{len(shape)}Q", len(shape), *reversed(shape)) + struct.pack("<IQ", 0, offset)
        offset += _padded(4 * len(values))
    body = b"".join(values.tobytes().ljust(_padded(4 * len(values)), b"\0") for _, _, values in tensors)
    path.write_bytes(head.ljust(_padded(len(head)), b"\0") + body)
    return path


def token_of(character: str) -> int:
    """The token that stands for a printable ASCII character."""
    return 3 + 256 + 1 + ord(character) - 33


def tensors_of(vocabulary: int, seed: int, *, tied: bool) -> Sequence[tuple[str, tuple[int, ...], array[float]]]:
    """The weights by name, each with its shape and its values, the last dimension innermost."""
    chance = random.Random(seed)
    square, up, down = (WIDTH, WIDTH), (HIDDEN, WIDTH), (WIDTH, HIDDEN)
    layer = {"attn_q": square, "attn_k": square, "attn_v": square, "attn_output": square}
    layer |= {"ffn_gate": up, "ffn_up": up, "ffn_down": down}
    shapes = {"token_embd": (vocabulary, WIDTH)} | ({} if tied else {"output": (vocabulary, WIDTH)})
    shapes |= {f"blk.{number}.{name}": shape for number in range(LAYERS) for name, shape in layer.items()}
    found = [
        (f"{name}.weight", shape, array("f", (chance.gauss(0, 0.3) for _ in range(shape[0] * shape[1]))))
        for name, shape in shapes.items()
    ]
    norms = ["output_norm", *(f"blk.{number}.{name}_norm" for number in range(LAYERS) for name in ("attn", "ffn"))]
    return [*found, *((f"{name}.weight", (WIDTH,), array("f", [1.0] * WIDTH)) for name in norms)]


def _padded(size: int) -> int:
    return -(-size // _ALIGNMENT) * _ALIGNMENT


def _text(text: str) -> bytes:
    content = text.encode()
    return struct.pack("<Q", len(content)) + content


def _key(name: str) -> bytes:
    return _text(name)


def _uint(name: str, value: int) -> bytes:
    return _key(name) + struct.pack("<II", _UINT, value)


def _string(name: str, value: str) -> bytes:
    return _key(name) + struct.pack("<I", _STRING) + _text(value)


def _array(name: str, kind: int, values: Sequence[bytes]) -> bytes:
    return _key(name) + struct.pack("<IIQ", _ARRAY, kind, len(values)) + b"".join(values)
