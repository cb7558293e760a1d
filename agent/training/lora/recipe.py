"""What an adapter is made of: its base model, conversations as tokens, and how it is trained; and the folder of all that.

Conversations are written by the model's own chat template, each token with whether it is to be learned. What is learned of a
reply is its text and the mark that ends it, as the model would have to write them. The folder has::

    conversations.jsonl        what it learns from
    recipe.json                base model, lessons, recipe and versions, with their digests
    record.jsonl               step, loss and seconds
    checkpoint.pt              to go on from
    adapter_model.safetensors  the adapter as peft and vLLM take it, with adapter_config.json
    adapter.gguf               the adapter as llama.cpp takes it
    README.md                  what it is, for people
"""

from __future__ import annotations

import json
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from typing import Any, cast

from housequest.agent.models.base import Message
from housequest.agent.models.gguf import fingerprint, read_header
from housequest.agent.roles.base import plain_text
from housequest.agent.training import CHECKPOINT
from housequest.agent.training.export import Conversation
from housequest.worlds.errors import ConfigurationError, shown
from housequest.worlds.paths import atomic_write


@dataclass(frozen=True, slots=True)
class Sample:
    """The tokens of a conversation, and the places of those that are learned."""

    tokens: tuple[int, ...]
    learned: tuple[int, ...]


def encoded(conversations: Iterable[Conversation], tokenizer: Any, context: int) -> tuple[list[Sample], int]:
    """The conversations as samples of at most ``context`` tokens, and how many were cut to that.

    One is cut at its end, so it still teaches what came before. Raises ``ConfigurationError`` where the chat template does not
    take a conversation.
    """
    samples: list[Sample] = []
    cut = 0
    for conversation in conversations:
        whole = encode(conversation, tokenizer)
        cut += len(whole.tokens) > context
        learned = tuple(place for place in whole.learned if place < context)
        if learned:
            samples.append(Sample(whole.tokens[:context], learned))
    return samples, cut


def encode(conversation: Conversation, tokenizer: Any) -> Sample:
    """One conversation, as it is read in play: as one text. Raises ``ConfigurationError``."""
    messages = conversation.messages

    def rendered(prompt: Sequence[Message], *, reply: bool) -> str:
        # Plain text is continued up to the end of a line.
        return plain_text(prompt) if conversation.plain else _rendered(tokenizer, prompt, reply=reply)

    replies: list[tuple[int, int]] = []
    written = ""
    for place in conversation.learned:
        prompt = rendered(messages[:place], reply=True)
        with_reply = rendered(messages[: place + 1], reply=False)
        if not prompt.startswith(written) or not with_reply.startswith(prompt):
            raise ConfigurationError(
                "The chat template writes a conversation anew with every message, so its replies cannot be learned in one "
                "pass. Name another template in the model's tokenizer_config.json."
            )
        said = messages[place].content.strip()
        at = with_reply.find(said, len(prompt))
        replies.append((len(prompt), at + len(said) if at >= 0 else len(with_reply)))
        written = with_reply
    # The mark with which the tokenizer begins a text, unless the template wrote it.
    mark: int | None = tokenizer.bos_token_id
    adds = list(tokenizer("a")["input_ids"][:1]) == [mark]
    begin = [mark] if mark is not None and adds and not written.startswith(tokenizer.bos_token) else []
    read = tokenizer(written, add_special_tokens=False, return_offsets_mapping=True)
    starts, ends = [start for start, _ in read["offset_mapping"]], [end for _, end in read["offset_mapping"]]
    learned: list[int] = []
    for begins, text_ends in replies:
        first = bisect_left(starts, begins)
        if first and ends[first - 1] > begins:
            raise ConfigurationError(
                "The tokenizer joins the end of a prompt with the beginning of the reply, which a model cannot do in play. "
                "Name a chat template in the model's tokenizer_config.json that ends a prompt with a mark or a new line."
            )
        # The mark that ends the reply is the first token after its text; what the template adds then is not the model's.
        last = min(bisect_left(starts, text_ends) + 1, len(starts))
        learned += range(len(begin) + first, len(begin) + last)
    return Sample((*begin, *read["input_ids"]), tuple(learned))


def _rendered(tokenizer: Any, messages: Sequence[Message], *, reply: bool) -> str:
    from jinja2 import TemplateError

    if not tokenizer.chat_template:
        raise ConfigurationError(
            "The model comes without a chat template, so its prompts cannot be written. Take its instruction-tuned "
            "version, or have it learn plain text: --set form=completion."
        )
    plain = [{"role": one.role, "content": one.content} for one in messages]
    try:
        return str(tokenizer.apply_chat_template(plain, tokenize=False, add_generation_prompt=reply))
    except (TemplateError, ValueError) as error:
        raise ConfigurationError(f"The model's chat template does not take an agent's conversation: {error}.") from None


_READ = ("config.json", "tokenizer.json", "tokenizer_config.json", "*.safetensors", "*.bin")


@dataclass(frozen=True, slots=True)
class BaseModel:
    """A file or folder, and what tells it from another."""

    path: Path
    digest: str

    @property
    def is_gguf(self) -> bool:
        return self.path.is_file()

    def tokenizer(self) -> Any:
        return self._loaded("AutoTokenizer")

    def network(self, dtype: Any) -> Any:
        """Its network with weights of ``dtype``, those of a GGUF dequantised. Raises ``ConfigurationError``."""
        # Unless asked, transformers keeps the weights of some architectures packed, and warns of that with all others.
        packed = {"quantization_config": _transformers().GgufConfig(dequantize=True)} if self.is_gguf else {}
        return self._loaded("AutoModelForCausalLM", dtype=dtype, **packed)

    def _loaded(self, loader: str, **options: Any) -> Any:
        _transformers().utils.logging.disable_progress_bar()
        where: dict[str, Any] = {"gguf_file": self.path.name} if self.is_gguf else {}
        folder = self.path.parent if self.is_gguf else self.path
        try:
            return getattr(_transformers(), loader).from_pretrained(folder, local_files_only=True, **where, **options)
        except Exception as error:  # noqa: BLE001 - damaged files raise whatever the readers below transformers do
            said = " ".join(str(error).split()) or type(error).__name__
            raise ConfigurationError(
                f"{shown(str(self.path), 200)} cannot be loaded by transformers: {shown(said, 300).rstrip('.')}. Give a GGUF "
                "file of an architecture that it dequantises, or the whole folder of the original model."
            ) from None


def _transformers() -> Any:
    return import_module("transformers")


def base_model(path: Path) -> BaseModel:
    """The model at ``path``, looked at but not loaded. Raises ``ConfigurationError`` where there is none."""
    if path.is_dir():
        files = sorted({file for pattern in _READ for file in path.glob(pattern)})
        if not (path / "config.json").is_file():
            raise ConfigurationError(f"{shown(str(path), 200)} holds no config.json, so it is no model's folder.")
        parts = [f"{file.name} {fingerprint(file)}\n" for file in files]
        return BaseModel(path, sha256("".join(parts).encode()).hexdigest())
    read_header(path)
    return BaseModel(path, fingerprint(path))


CONVERSATIONS, RECIPE, RECORD = "conversations.jsonl", "recipe.json", "record.jsonl"
ADAPTER, CARD = "adapter.gguf", "README.md"


@dataclass(frozen=True, slots=True)
class Recipe:
    """How it is trained: matrices of this ``rank``, scaled by ``alpha / rank``, beside every linear layer.

    ``rate`` is the highest learning rate, reached after the share ``warmup`` of the steps; it falls to 0 from there. A step
    learns from ``batch`` conversations of at most ``context`` tokens.
    """

    rank: int = 8
    alpha: int = 16
    rate: float = 1e-3
    epochs: int = 2
    batch: int = 8
    context: int = 4_096
    warmup: float = 0.05
    seed: int = 1

    def check(self) -> None:
        """Raise ``ConfigurationError`` for what nothing could be trained with."""
        for name in ("rank", "alpha", "epochs", "batch", "context"):
            if getattr(self, name) < 1:
                raise ConfigurationError(f"--{name}: {getattr(self, name)} is too few; give at least 1.")
        if not 0 < self.rate < 1:
            raise ConfigurationError(f"--rate: {self.rate} is out of range; give 0.0001 to 0.01.")


@dataclass(frozen=True, slots=True)
class AdapterFolder:
    path: Path

    def recipe(self) -> dict[str, Any]:
        """What was recorded; empty where nothing was."""
        file = self.path / RECIPE
        return json.loads(file.read_text("utf-8")) if file.exists() else {}

    def begun(self, wanted: Mapping[str, Any]) -> dict[str, Any]:
        """What was recorded of the ``wanted`` training; empty where none was begun here, or another that learned nothing yet.

        Raises ``ConfigurationError`` where another training has a checkpoint here.
        """
        before = self.recipe()
        known, asked = _flat(before), _flat(json.loads(json.dumps(wanted)))
        others = [name for name, value in asked.items() if known.get(name) != value]
        if others:
            self.refuse_to_go_on(others)
        return {} if others else before

    def refuse_to_go_on(self, others: Sequence[str]) -> None:
        """Raise ``ConfigurationError`` where a training whose ``others`` were different has a checkpoint here."""
        if (self.path / CHECKPOINT).exists():
            raise ConfigurationError(
                f"{shown(str(self.path), 200)} was begun with another {', '.join(others)}; give the same again to go on, "
                "or another --out."
            )

    def record(self, parts: Mapping[str, Any]) -> None:
        """Record ``parts``, and nothing that was recorded before."""
        atomic_write(self.path / RECIPE, json.dumps(dict(parts), indent=1).encode())


def _flat(parts: Mapping[str, Any]) -> dict[str, Any]:
    """The values of ``parts``, those of a table under its name and theirs."""
    return {
        f"{name}.{key}" if key else name: value
        for name, part in parts.items()
        for key, value in (cast("dict[str, Any]", part) if isinstance(part, dict) else {"": part}).items()
    }
