# pyright: basic, reportMissingImports=false
"""Trains the low-rank matrices of an adapter with peft, on the learned parts of each conversation.

The adapter is written for peft, and as a GGUF file for llama.cpp. Imports torch, peft and gguf.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any, NamedTuple

import gguf
import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn import functional

from housequest.agent.processes import processors
from housequest.agent.training import CHECKPOINT
from housequest.agent.training.optimise import TrainingRun, risen
from housequest.worlds.errors import ConfigurationError
from housequest.worlds.systems import replace_file

if TYPE_CHECKING:
    from housequest.agent.training.lora.run import LoraRecipe, TokenizedConversation

RECORD = "record.jsonl"

_SAME = ("llama", "smollm3", "granite", "qwen2", "qwen3", "gemma", "gemma2", "phi3")
_ARCHITECTURES = {**{name: name.upper() for name in _SAME}, "mistral": "LLAMA", "gemma3_text": "GEMMA3"}
"""llama.cpp's names of the architectures, by transformers'."""
_REORDERED = {"llama", "mistral", "smollm3", "granite"}
"""Architectures with another order of the rows of queries and keys in llama.cpp, whose rotation pairs neighbours where that of
transformers pairs halves. The second matrix is written in that order."""


class UnknownArchitecture(ConfigurationError):
    """A model for whose layers llama.cpp's names are not known here."""


def check_architecture(config: Any) -> None:
    """Raise ``UnknownArchitecture`` if llama.cpp's names for the layers of a model with this ``config`` are unknown."""
    if config.model_type not in _ARCHITECTURES:
        raise UnknownArchitecture(
            f"How llama.cpp names the layers of {config.model_type} is not known here, so there is no adapter.gguf. peft and "
            "vLLM take such a folder; or merge the adapter with peft, and convert the whole model with llama.cpp."
        )


def write_adapter(state: Mapping[str, Any], config: Any, alpha: float, file: Path) -> str:
    """Write peft's matrices ``state`` for a model with transformers' ``config``, and return the file's SHA-256. Raises
    ``UnknownArchitecture``."""
    check_architecture(config)
    architecture = gguf.MODEL_ARCH[_ARCHITECTURES[config.model_type]]
    names = gguf.get_tensor_name_map(architecture, config.num_hidden_layers)
    part = file.with_suffix(".part")
    writer = gguf.GGUFWriter(part, gguf.MODEL_ARCH_NAMES[architecture])
    writer.add_type(gguf.GGUFType.ADAPTER)
    writer.add_string("adapter.type", "lora")
    writer.add_float32("adapter.lora.alpha", alpha)
    heads = {"q_proj": config.num_attention_heads, "k_proj": getattr(config, "num_key_value_heads", 0)}
    for key, value in sorted(state.items()):
        layer, _, rest = key.removeprefix("base_model.model.").rpartition(".lora_")
        name = names.get_name(layer)
        if name is None:
            raise UnknownArchitecture(
                f"llama.cpp has no layer for {layer}, so there is no adapter.gguf; vLLM takes the folder."
            )
        matrix: NDArray[np.float32] = value.detach().float().cpu().numpy()
        which = "a" if rest.startswith("A") else "b"
        count = heads.get(layer.rpartition(".")[2])
        if which == "b" and config.model_type in _REORDERED and count:
            # Interleave the halves of each head's rows.
            rows, columns = matrix.shape
            matrix = matrix.reshape(count, 2, rows // count // 2, columns).swapaxes(1, 2).reshape(rows, columns)
        writer.add_tensor(f"{name}.weight.lora_{which}", np.ascontiguousarray(matrix))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    replace_file(part, file)
    return sha256(file.read_bytes()).hexdigest()


peft: Any = import_module("peft")

_BFLOAT16 = ("avx512_bf16", "amx_bf16", "bf16")
"""Processor instructions for bfloat16. Without them, or without oneDNN, it is slower than float32."""


@dataclass(frozen=True, slots=True)
class Machine:
    """The machine for training: the device, the ``threads`` of a processor, and the tokens computed at once. With ``bfloat16``,
    products are computed in that type, while trained weights stay in float32."""

    device: str = "cpu"
    threads: int | None = None
    batch_tokens: int = 1_024
    bfloat16: bool = False

    @property
    def dtype(self) -> torch.dtype:
        return torch.bfloat16 if self.bfloat16 else torch.float32


def machine(device: str = "auto", threads: int | None = None, batch_tokens: int | None = None) -> Machine:
    """Choose this machine's settings: the ``device``, or a GPU if there is one, and bfloat16 if the device is fast at it.
    Raises ``ConfigurationError`` for a missing GPU."""
    if device == "cuda" and not torch.cuda.is_available():
        raise ConfigurationError("--device cuda: PyTorch finds no GPU here; leave it out to train on the processor.")
    chosen = ("cuda" if torch.cuda.is_available() else "cpu") if device == "auto" else device
    able = torch.cpu.get_capabilities()
    bfloat16 = chosen == "cuda" or (torch.backends.mkldnn.is_available() and any(able.get(one) for one in _BFLOAT16))
    if chosen == "cpu":
        # torch also counts cores that a container may not use.
        threads = threads or min(torch.get_num_threads(), processors())
    return Machine(chosen, threads, batch_tokens or (32_768 if chosen == "cuda" else 1_024), bfloat16)


def about(where: Machine) -> str:
    if where.device == "cuda":
        return str(torch.cuda.get_device_name())
    threads = torch.get_num_threads() if where.threads is None else where.threads
    return f"{threads} thread{'s' * (threads != 1)} of a processor{', in bfloat16' if where.bfloat16 else ''}"


class TrainingProgress(NamedTuple):
    """The progress of training: the mean ``loss`` of the last steps (nats per learned token), and ``speed`` (tokens/s)."""

    step: int
    steps: int
    loss: float
    speed: float
    seconds: float

    @property
    def left(self) -> float:
        return self.seconds / self.step * (self.steps - self.step)


def steps_of(samples: int, recipe: LoraRecipe) -> int:
    return recipe.epochs * math.ceil(samples / recipe.batch)


def train(
    network: Any,
    samples: Sequence[TokenizedConversation],
    folder: Path,
    recipe: LoraRecipe,
    where: Machine,
    heard: Callable[[TrainingProgress], None],
    *,
    until: int | None = None,
) -> Any:
    """Train an adapter of ``network`` and return it, or resume its training.

    Args:
        folder: Keeps the record and the checkpoint of an interrupted run.
        heard: Called after each step.
        until: Stop after this step."""
    if where.threads is not None:
        torch.set_num_threads(where.threads)
    torch.manual_seed(recipe.seed)
    config = peft.LoraConfig(
        r=recipe.rank, lora_alpha=recipe.alpha, target_modules="all-linear", lora_dropout=0.0, task_type="CAUSAL_LM"
    )
    adapted: Any = peft.get_peft_model(network, config)
    adapted.to(where.device)
    adapted.train()
    trained = [each for each in adapted.parameters() if each.requires_grad]
    optimiser = torch.optim.AdamW(trained, lr=recipe.rate, betas=(0.9, 0.98), weight_decay=0.0)
    steps = steps_of(len(samples), recipe)
    warmup = max(1, round(recipe.warmup * steps))

    def judge(batch: Sequence[TokenizedConversation]) -> tuple[float, float]:
        """The loss (nats per learned token), and the tokens read."""
        learned, total = sum(len(sample.learned) for sample in batch), 0.0
        for part in _parts(batch, where.batch_tokens):
            loss = _loss(adapted, part, where) / learned
            loss.backward()
            total += loss.item()
        return total, sum(len(sample.tokens) for sample in batch)

    states = (partial(peft.get_peft_model_state_dict, adapted), partial(peft.set_peft_model_state_dict, adapted))
    kept: dict[str, Any] = {"read": 0, "losses": []}
    run = TrainingRun(adapted, [optimiser], judge, lambda step: recipe.rate * risen(step, steps, warmup), kept, *states)
    if (folder / CHECKPOINT).exists():
        run.resume(torch.load(folder / CHECKPOINT, weights_only=True, map_location=where.device))

    def tell(judged: tuple[float, float]) -> dict[str, Any]:
        losses, read = [*run.kept["losses"], judged[0]][-20:], run.kept["read"] + judged[1]
        run.kept = {"read": read, "losses": losses}
        loss = sum(losses) / len(losses)
        heard(TrainingProgress(run.step, steps, loss, read / run.seconds, run.seconds))
        return {"step": run.step, "loss": round(loss, 4), "seconds": round(run.seconds, 1)}

    last = steps if until is None else min(until, steps)
    run.train(_batches(samples, recipe, run.step, steps), last, folder, RECORD, tell)
    return adapted


def _batches(
    samples: Sequence[TokenizedConversation], recipe: LoraRecipe, step: int, steps: int
) -> Iterator[list[TokenizedConversation]]:
    """The batches from ``step`` on; each epoch has every sample once, in a new order."""
    size, each = recipe.batch, math.ceil(len(samples) / recipe.batch)
    for number in range(step, steps):
        epoch, place = divmod(number, each)
        order = list(range(len(samples)))
        Random(f"{recipe.seed} {epoch}").shuffle(order)
        yield [samples[one] for one in order[place * size : (place + 1) * size]]


def _loss(adapted: Any, part: Sequence[TokenizedConversation], where: Machine) -> torch.Tensor:
    """The summed loss of samples computed at once, padded at their ends. No token sees a later one, so the padding needs no
    mask."""
    longest = max(len(sample.tokens) for sample in part)
    tokens = torch.zeros((len(part), longest), dtype=torch.long)
    learns = torch.zeros((len(part), longest), dtype=torch.bool)
    for row, sample in enumerate(part):
        tokens[row, : len(sample.tokens)] = torch.tensor(sample.tokens)
        learns[row, torch.tensor(sample.learned) - 1] = True
    wanted = tokens.roll(-1, 1)[learns]
    device, bfloat16 = where.device, where.bfloat16
    learns = learns.to(device)
    # Compute logits only for learned tokens, since each has a number for every token of the vocabulary.
    chosen = adapted.get_output_embeddings().register_forward_pre_hook(lambda _, given: (given[0][learns][None],))
    mixed = torch.autocast(device, torch.bfloat16, enabled=bfloat16)
    with chosen, mixed, peft.helpers.disable_input_dtype_casting(adapted, active=bfloat16):
        found = adapted(input_ids=tokens.to(device), use_cache=False)
    return functional.cross_entropy(found.logits[0].float(), wanted.to(device), reduction="sum")


def _parts(batch: Sequence[TokenizedConversation], batch_tokens: int) -> Iterator[list[TokenizedConversation]]:
    """Split the batch into parts of at most ``batch_tokens`` tokens with padding, samples of similar length together."""
    part: list[TokenizedConversation] = []
    for sample in sorted(batch, key=lambda each: -len(each.tokens)):
        if part and (len(part) + 1) * len(part[0].tokens) > batch_tokens:
            yield part
            part = []
        part.append(sample)
    yield part
